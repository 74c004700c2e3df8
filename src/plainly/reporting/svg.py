"""Figures as SVG: one drawing that follows the width of a page and has a fixed width in a file.

A drawing consists of a *field* and margins. Within the field horizontal coordinates are percentages of its width, so
nothing has to be computed again when a page becomes wider; names and numbers stand in margins of a fixed size. On a
page the style sheet supplies colours for the light and the dark theme; a file carries the same style, light.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from plainly.core.errors import BadInput, MissingExtra
from plainly.core.files import write_whole
from plainly.reporting.geometry import text_width

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
_ROW = 19  # pixels of a line of a legend in a file
PAGE = Path(__file__).parent / "page"


def read_asset(name: str) -> str:
    """The content of a file beside the templates."""
    return (PAGE / name).read_text(encoding="utf-8")


def element(tag: str, content: str = "", **attributes: object) -> str:
    """An SVG element. Attribute values are escaped, the content is not; None leaves an attribute out."""
    written = "".join(
        f' {name.strip("_").replace("_", "-")}="{escape(_format(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{content}</{tag}>"


def _format(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def percent(value: float) -> str:
    """A coordinate in percent of the field."""
    return f"{_format(float(value))}%"


def draw_text(content: str, x: object, y: object, kind: str, **attributes: object) -> str:
    """A text; ``dx`` and ``dy`` move it by pixels from coordinates in percent."""
    return element("text", escape(content), x=x, y=y, class_=kind, **attributes)


def draw_tip(name: str, said: str) -> str:
    """What is known of a mark: browsers show it over the mark, and the page's script in its own way."""
    return element("title", escape(f"{name}\n{said}"))


def draw_line(x1: object, y1: object, x2: object, y2: object, kind: str) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def draw_mark(shape: str, x: object, y: object, size: float = 1) -> str:
    """A mark around a point, with the colours of the group that it is in."""
    smaller = f"scale({size:g})" if size != 1 else None
    path = element("path", d=_SHAPES[shape], class_="mark cross" if shape == "cross" else "mark", transform=smaller)
    return element("svg", path, x=x, y=y, overflow="visible")


def hue(series: int) -> str:
    """The class that gives a system, or another series, its colour."""
    return f"c{series % HUES}"


def series_shape(series: int) -> str:
    """The shape that tells a series from others of the same colour; 35 series have no two alike."""
    return _SERIES_SHAPES[series % len(_SERIES_SHAPES)]


@dataclass(frozen=True)
class Entry:
    """A line of a legend; with attributes it is a button on the page."""

    text: str
    series: int | None = None
    tip: str = ""
    attributes: Mapping[str, object] = field(default_factory=dict)

    def page(self) -> str:
        """The entry as HTML."""
        icon = ""
        if self.series is not None:
            mark = element("g", draw_mark(series_shape(self.series), 7, 7), class_=hue(self.series))
            icon = element("svg", mark, class_="figure icon", width=14, height=14, aria_hidden="true")
        name = element("span", escape(self.text), dir="auto")
        if not self.attributes:
            return element("li", icon + name)
        tip = {"data_name": self.text, "data_tip": self.tip}
        return element("li", element("button", icon + name, type="button", **tip, **self.attributes))


@dataclass(frozen=True)
class Drawing:
    """The elements of a field, its height and its margins in pixels, and a legend below it."""

    body: str
    label: str  # what it shows, for readers who do not see it
    height: float
    left: float
    right: float
    top: float
    bottom: float
    role: str = "group"  # its marks can be reached one by one; "img" where they cannot
    kind: str = ""
    least: float = 0  # the narrowest width of the field; a page scrolls it where there is less
    legend: tuple[Entry, ...] = ()
    legend_kind: str = "series"
    title: str = ""
    subtitle: str = ""

    def with_title(self, title: str, subtitle: str = "") -> "Drawing":
        """The drawing with a heading of its own, in a file."""
        return replace(self, label=title, title=title, subtitle=subtitle)

    def page(self) -> str:
        """The drawing as HTML, as wide as its place on the page."""
        style = f"margin:{self.top:g}px {self.right:g}px {self.bottom:g}px {self.left:g}px;"
        style += f"width:calc(100% - {self.left + self.right:g}px);"
        style += f"min-width:{self.least:g}px;" if self.least else ""
        style += f"height:{self.height:g}px" if self.kind != "scatter" else ""  # the style sheet says how high
        drawn = element(
            "svg", self.body, class_=f"figure {self.kind}", role=self.role, aria_label=self.label, style=style
        )
        if self.least:
            scroll = {"class_": "scroll", "tabindex": 0, "role": "region", "aria_label": self.label}
            drawn = element("div", drawn, **scroll)
        entries = "".join(entry.page() for entry in self.legend)
        return drawn + (element("ul", entries, class_=self.legend_kind) if entries else "")

    def place(self, x: float, y: float, width: float) -> tuple[str, float]:
        """The drawing with title and legend, in a file: as an element, and where it ends."""
        parts = []
        for text, kind in ((self.title, "title"), (self.subtitle, "unit")):
            if text:
                parts.append(draw_text(text, x, y + 13, kind))
                y += _ROW
        wide = width - self.left - self.right
        field_box = {"x": x + self.left, "y": y + self.top, "width": wide, "height": self.height}
        parts.append(element("svg", self.body, **field_box, overflow="visible"))
        y += self.top + self.height + self.bottom
        for line in _wrap(self.legend, width):
            at = x
            for entry in line:
                if entry.series is not None:
                    parts.append(
                        element("g", draw_mark(series_shape(entry.series), at + 7, y + 8), class_=hue(entry.series))
                    )
                    at += 18
                parts.append(draw_text(entry.text, at, y + 13, "name"))
                at += text_width(entry.text) + 14
            y += _ROW
        return "".join(parts), y


def _wrap(legend: Sequence[Entry], width: float) -> Iterator[list[Entry]]:
    """The lines of a legend."""
    line: list[Entry] = []
    used = 0.0
    for entry in legend:
        wide = text_width(entry.text) + (32 if entry.series is not None else 14)
        if line and used + wide > width:
            yield line
            line, used = [], 0.0
        line.append(entry)
        used += wide
    if line:
        yield line


@dataclass(frozen=True)
class Figure:
    """Drawings side by side, to be saved as a file or shown in a notebook."""

    drawings: tuple[Drawing, ...]
    width: float = WIDTH  # of each drawing
    columns: int = 3

    @property
    def svg(self) -> str:
        """The figure as an SVG file with its style."""
        parts, bottom, gap, edge = [], 6.0, 28.0, 6.0
        for start in range(0, len(self.drawings), self.columns):
            ends = []
            for column, drawing in enumerate(self.drawings[start : start + self.columns]):
                body, end = drawing.place(edge + column * (self.width + gap), bottom, self.width)
                parts.append(body)
                ends.append(end)
            bottom = max(ends) + gap / 2
        columns = min(self.columns, len(self.drawings))
        wide, high = 2 * edge + columns * self.width + (columns - 1) * gap, bottom - gap / 2 + edge
        paper = element("rect", class_="paper", width="100%", height="100%")
        label = "; ".join(drawing.label for drawing in self.drawings)
        return element(
            "svg", element("style", _style()) + paper + "".join(parts), xmlns="http://www.w3.org/2000/svg",
            class_="figure plainly-figure", width=wide, height=high, viewBox=f"0 0 {wide:g} {high:g}",
            font_family="'Liberation Sans', Arial, Helvetica, sans-serif", role="img", aria_label=label,
        )  # fmt: skip

    def render(self, form: str) -> str | bytes:
        """The figure as the content of a file: svg, pdf, png (large enough for print) or html."""
        if form == "svg":
            return self.svg
        if form == "html":
            head = '<!doctype html><meta charset="utf-8"><meta name="generator" content="plainly"><title>Figure</title>'
            return f"{head}{self.svg}\n"
        convert = _converter()
        return bytes(convert.svg_to_png(self.svg, scale=3) if form == "png" else convert.svg_to_pdf(self.svg))

    def save(self, path: str | Path) -> Path:
        """Write the figure; the suffix of the path is its format."""
        form = Path(path).suffix.lower().removeprefix(".")
        if form not in FORMATS:
            endings = ", ".join(f".{name}" for name in FORMATS)
            raise BadInput(f"Cannot tell from {path} how to draw; let it end in {endings}.")
        write_whole(path, self.render(form))
        return Path(path)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg


def _converter() -> Any:
    """vl-convert, which writes PDF and PNG without a browser or a network."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("drawing plots", package="vl-convert-python", extra="plots") from None
    return vl_convert


@cache
def _style() -> str:
    """The style of figures with the colours of the light theme, without what only a page needs."""
    light = dict(re.findall(r"--(\w+):light-dark\((#\w+),", read_asset("page.css")))
    style = read_asset("figure.css").partition("/* Only on a page")[0]
    return re.sub(r"var\(--(\w+)\)", lambda name: light[name[1]], style)
