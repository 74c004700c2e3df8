"""Figures as SVG: one drawing that follows the width of a page and has a fixed width in a file.

A drawing consists of a *field* and margins. Within the field horizontal coordinates are percentages of its width, so
nothing is computed again when a page becomes wider; names and numbers stand in margins of a fixed size. On a
page the style sheet supplies colours for the light and the dark theme; a file carries the same style, light.
"""

import re
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
    "ring": "M-4.6 0a4.6 4.6 0 1 0 9.2 0a4.6 4.6 0 1 0 -9.2 0Z",
    "right": "M-9 0H4M-1 -5L5 0L-1 5",
    "left": "M9 0H-4M1 -5L-5 0L1 5",
    "cross": "M-4 -4L4 4M-4 4L4 -4",
}
_OUTLINES = {"ring": " ring", "right": " stroke", "left": " stroke", "cross": " stroke"}  # drawn by their line
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


def text(content: str, x: object, y: object, kind: str, small: str = "", **attributes: object) -> str:
    """Return a text element; ``dx`` and ``dy`` move it by pixels, ``small`` follows it in small print."""
    after = " " + element("tspan", escape(small), class_="code", dx=3) if small else ""
    return element("text", escape(content) + after, x=x, y=y, class_=kind, **attributes)


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
    shape_path = element("path", d=_SHAPES[shape], class_=f"mark{_OUTLINES.get(shape, '')}", transform=smaller)
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
    nameless: tuple[tuple[str, ...], ...] = ()  # names that do not fit beside their points, in each field
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
        return content + "".join(
            element("p", escape(_describe_nameless(names)), class_=f"nameless width-{number}")
            for number, names in enumerate(self.nameless, start=1)
            if names
        )

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
        if any(self.nameless):
            parts.append(text(_describe_nameless(self.nameless[0]), x, y + 13, "name"))
            y += _ROW
        return "".join(parts), y


def _describe_nameless(names: Sequence[str]) -> str:
    """Return a sentence about points whose names do not fit."""
    return f"{len(names)} names do not fit beside their points." if len(names) > 1 else f"Without a name: {names[0]}."


@dataclass(frozen=True)
class Figure:
    """Drawings side by side, to be saved as a file or shown in a notebook."""

    drawings: tuple[Drawing, ...]
    width: float = WIDTH  # of each drawing
    columns: int = 3
    label: str = ""
    title: str = ""  # of the page, if it is written as HTML
    summary: tuple[str, ...] = ()  # sentences of the page

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
            return write_page(self.title or self.label or "Figure", self.summary, self.drawings)
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


def read_style() -> str:
    """Return the style sheet of all pages."""
    return read_asset("page.css") + read_asset("figure.css")


def write_page(title: str, summary: Sequence[str], drawings: Sequence[Drawing], columns: int = 3) -> str:
    """Return drawings as a page in the style of a report that fits any width, without scripts."""
    figures = "".join(
        f'<figure class="plot"><figcaption><strong>{escape(each.title)}</strong>'
        f"{f' <span>{escape(each.subtitle)}</span>' if each.subtitle else ''}</figcaption>"
        f'<div class="drawn">{each.page(each.title)}</div></figure>'
        for each in drawings
    )
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in summary)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="generator" content="plainly">'
        f"<title>{escape(title)}</title><style>{read_style()}</style></head><body><main>"
        f'<section class="lead"><h1>{escape(title)}</h1>'
        f"{f'<ul class=sentences>{sentences}</ul>' if sentences else ''}</section>"
        f'<section><div class="plots" style="--columns:{min(columns, len(drawings))}">{figures}</div></section>'
        "</main></body></html>\n"
    )


@cache
def _style() -> str:
    """Return the style of figures in the colours of the light theme, without the rules that only a page needs."""
    light = dict(re.findall(r"--(\w+):light-dark\((#\w+),", read_asset("page.css")))
    style = read_asset("figure.css").partition("/* Only on a page")[0]
    return re.sub(r"var\(--(\w+)\)", lambda name: light[name[1]], style)
