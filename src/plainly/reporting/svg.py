"""Figures as SVG: one drawing that follows the width of a page and has a fixed width in a file.

A drawing consists of a *field* and margins. Within the field horizontal coordinates are percentages of its width, so
nothing is computed again when a page becomes wider; names and numbers stand in margins of a fixed size. On a
page the style sheet supplies colours for the light and the dark theme; a file carries the same style, light.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path

from plainly.core.errors import BadInput, require_package
from plainly.core.files import write_whole

FORMATS = ("svg", "pdf", "png", "html")
WIDTH = 328  # pixels of a drawing in a file: a column of a paper
HUES = 7  # colours that tell systems apart, c0 to c6 in figure.css
_SHAPES = {
    "circle": "M-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0Z",
    "up": "M0 -6.5L6 5L-6 5Z",
    "square": "M-5 -5H5V5H-5Z",
    "diamond": "M0 -6.5L6.5 0L0 6.5L-6.5 0Z",
    "down": "M0 6.5L6 -5L-6 -5Z",
    "right": "M-5 -5.5L6 0L-5 5.5Z",
    "left": "M5 -5.5L-6 0L5 5.5Z",
    "cross": "M-4 -4L4 4M-4 4L4 -4",
}
_SERIES_SHAPES = ("circle", "up", "square", "diamond", "down")
_ROW, _GAP, _EDGE = 19.0, 28.0, 6.0  # pixels in a file: of a line of text, between drawings, around them
PAGE = Path(__file__).parent / "page"


def read_asset(name: str) -> str:
    """Return the content of a file beside the templates."""
    return (PAGE / name).read_text(encoding="utf-8")


def element(tag: str, content: str = "", **attributes: object) -> str:
    """Return an SVG element. Attribute values are escaped, the content is not; None leaves an attribute out."""
    pairs = "".join(
        f' {name.strip("_").replace("_", "-")}="{escape(_format(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{pairs}>{content}</{tag}>"


def _format(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def percent(value: float) -> str:
    """Return a coordinate in percent of the field."""
    return f"{_format(float(value))}%"


def text(content: str, x: object, y: object, kind: str, **attributes: object) -> str:
    """Return a text element; ``dx`` and ``dy`` move it by pixels from coordinates in percent."""
    return element("text", escape(content), x=x, y=y, class_=kind, **attributes)


def tip(name: str, details: str) -> str:
    """Return the tip of a mark, which browsers show over the mark and the page's script in its own way."""
    return element("title", escape(f"{name}\n{details}"))


def line(x1: object, y1: object, x2: object, y2: object, kind: str) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def path(points: Sequence[tuple[float, float]], kind: str) -> str:
    """Draw a line through points in percent, piece by piece, since an SVG path cannot have such coordinates."""
    pieces = pairwise([(percent(x), percent(y)) for x, y in points])
    return "".join(line(x1, y1, x2, y2, kind) for (x1, y1), (x2, y2) in pieces)


def area(points: Sequence[tuple[float, float]]) -> str:
    """Draw a shape between points in percent."""
    shape = element("polygon", points=" ".join(f"{x},{y}" for x, y in points), class_="area")
    return element("svg", shape, viewBox="0 0 100 100", preserveAspectRatio="none", width="100%", height="100%")


def mark(shape: str, x: object, y: object, size: float = 1) -> str:
    """Draw a mark around a point, in the colours of its group."""
    smaller = f"scale({size:g})" if size != 1 else None
    kind = "mark cross" if shape == "cross" else "mark"
    shape_path = element("path", d=_SHAPES[shape], class_=kind, transform=smaller)
    return element("svg", shape_path, x=x, y=y, overflow="visible")


def hue(series: int) -> str:
    """Return the class that gives a system, or another series, its colour."""
    return f"c{series % HUES}"


def series_shape(series: int) -> str:
    """Return the shape of a series; with the colour it tells 35 series apart."""
    return _SERIES_SHAPES[series % len(_SERIES_SHAPES)]


@dataclass(frozen=True)
class Drawing:
    """The elements of a field, its height, and its margins in pixels."""

    body: str
    height: float
    left: float
    right: float
    top: float = 4
    bottom: float = 44
    role: str = "group"
    kind: str = ""
    least: float = 0  # the narrowest width of the field; narrower pages scroll it
    key: tuple[str, ...] = ()  # the names of points that have numbers
    key_kind: str = ""
    title: str = ""
    subtitle: str = ""

    def page(self, label: str) -> str:
        """Return the drawing as HTML, as wide as its place on the page; ``label`` is for screen readers."""
        style = f"margin:{self.top:g}px {self.right:g}px {self.bottom:g}px {self.left:g}px;"
        style += f"width:calc(100% - {self.left + self.right:g}px);min-width:{self.least:g}px;"
        style += f"height:{self.height:g}px" if self.kind != "scatter" else ""  # that height is in the style sheet
        content = element("svg", self.body, class_=f"figure {self.kind}", role=self.role, aria_label=label, style=style)
        if self.least:
            content = element("div", content, class_="scroll", tabindex=0, role="region", aria_label=label)
        names = "".join(element("li", escape(name), dir="auto") for name in self.key)
        return content + (element("ol", names, class_=f"numbers {self.key_kind}") if names else "")

    def place(self, x: float, y: float, width: float) -> tuple[str, float]:
        """Return the elements of the drawing in a file, with title and list of names, and their lower end."""
        parts = []
        for heading, kind in ((self.title, "title"), (self.subtitle, "unit")):
            if heading:
                parts.append(text(heading, x, y + 13, kind))
                y += _ROW
        field = {"x": x + self.left, "y": y + self.top, "width": width - self.left - self.right}
        parts.append(element("svg", self.body, height=self.height, overflow="visible", **field))
        y += self.top + self.height + self.bottom
        key = "; ".join(f"{number}\u00a0{name}" for number, name in enumerate(self.key, start=1))
        for names in textwrap.wrap(key, round(width / 7)):
            parts.append(text(names, x, y + 13, "name"))
            y += _ROW
        return "".join(parts), y


@dataclass(frozen=True)
class Figure:
    """Drawings side by side, to be saved as a file or shown in a notebook."""

    drawings: tuple[Drawing, ...]
    width: float = WIDTH  # of each drawing
    columns: int = 3
    label: str = ""

    @property
    def svg(self) -> str:
        """The figure as an SVG file with its style."""
        parts = [element("style", _style()), element("rect", class_="paper", width="100%", height="100%")]
        bottom = _EDGE
        for start in range(0, len(self.drawings), self.columns):
            row = self.drawings[start : start + self.columns]
            places = [each.place(_EDGE + k * (self.width + _GAP), bottom, self.width) for k, each in enumerate(row)]
            parts += [body for body, _ in places]
            bottom = max(end for _, end in places) + _GAP / 2
        columns = min(self.columns, len(self.drawings))
        wide, high = 2 * _EDGE + columns * (self.width + _GAP) - _GAP, bottom - _GAP / 2 + _EDGE
        label = self.label or "; ".join(drawing.title for drawing in self.drawings)
        return element(
            "svg", "".join(parts), xmlns="http://www.w3.org/2000/svg", class_="figure plainly-figure",
            width=wide, height=high, viewBox=f"0 0 {wide:g} {high:g}", role="img", aria_label=label,
            font_family="'Liberation Sans', Arial, Helvetica, sans-serif",
        )  # fmt: skip

    def render(self, form: str) -> str | bytes:
        """Return the content of a file: svg, pdf, png (large enough for print) or html."""
        if form == "svg":
            return self.svg
        if form == "html":
            head = '<!doctype html><meta charset="utf-8"><meta name="generator" content="plainly"><title>Figure</title>'
            return f"{head}{self.svg}\n"
        with require_package("drawing plots", package="vl-convert-python", extra="plots"):
            import vl_convert as convert  # writes PDF and PNG without a browser or a network
        return bytes(convert.svg_to_png(self.svg, scale=3) if form == "png" else convert.svg_to_pdf(self.svg))

    def save(self, path: str | Path) -> Path:
        """Write the figure; the suffix of the path is its format."""
        form = Path(path).suffix.lower().removeprefix(".")
        if form not in FORMATS:
            endings = ", ".join(f".{name}" for name in FORMATS)
            raise BadInput(f"Cannot tell the format of a figure from {path}. End the name in one of {endings}.")
        write_whole(path, self.render(form))
        return Path(path)

    def _repr_svg_(self) -> str:
        return self.svg


@cache
def _style() -> str:
    """Return the style of figures in the colours of the light theme, without the rules that only a page needs."""
    light = dict(re.findall(r"--(\w+):light-dark\((#\w+),", read_asset("page.css")))
    style = read_asset("figure.css").partition("/* Only on a page")[0]
    return re.sub(r"var\(--(\w+)\)", lambda name: light[name[1]], style)
