"""From an Altair chart to SVG, PDF and PNG, with no network and no JavaScript left in what comes out."""

from __future__ import annotations

import re
import xml.etree.ElementTree as tree
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from plainly.render import plots

if TYPE_CHECKING:
    import altair

_SVG = "http://www.w3.org/2000/svg"
# All that a chart is made of. What else a renderer might write (scripts, links, foreign objects) has no place here.
_ELEMENTS = {"svg", "g", "path", "rect", "line", "circle", "text", "tspan", "defs", "clipPath"}
_ATTRIBUTES = {
    "width", "height", "viewBox", "transform", "d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry",
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-miterlimit",
    "stroke-linecap", "stroke-linejoin", "opacity", "text-anchor", "font-size", "font-weight", "font-style", "dy", "dx",
    "id", "clip-path", "display",
}  # fmt: skip


@dataclass(frozen=True)
class Plot:
    """A chart with the question it answers, its words for those who do not see it, and the section it belongs to."""

    name: str
    section: str
    title: str
    caption: str
    chart: altair.TopLevelMixin = field(repr=False)

    @cached_property
    def described(self) -> dict[str, Any]:
        """The Vega-Lite specification."""
        # Validation is the tests' affair; it takes longer than drawing.
        return dict(self.chart.to_dict(validate=False))

    def drawn(self, form: str) -> str | bytes:
        """The chart as a file: svg, pdf or png, large enough for print."""
        return plots.drawn(self.described, form, scale=3)

    def inline(self) -> str:
        """The SVG for a page: only shapes and text, an image to assistive technology, its ids its own."""
        return inline(str(self.drawn("svg")), label=f"{self.title}. {self.caption}", prefix=self.name)


def inline(svg: str, *, label: str, prefix: str) -> str:
    """An SVG cleaned for a page; colours are left as they are for the page's style sheet to turn."""
    tree.register_namespace("", _SVG)
    root = tree.fromstring(svg)
    _clean(root, re.sub(r"[^A-Za-z0-9]+", "-", prefix))
    for child in list(root):
        if child.tag == f"{{{_SVG}}}rect" and child.get("fill") == "white":
            root.remove(child)
    root.set("role", "img")
    root.set("aria-label", label)
    return tree.tostring(root, encoding="unicode")


def _clean(element: tree.Element, prefix: str) -> None:
    for name in list(element.attrib):
        value = element.attrib[name]
        if name not in _ATTRIBUTES or "javascript:" in value:
            del element.attrib[name]
        elif name == "id":
            element.set(name, f"{prefix}-{value}")
        elif "url(#" in value:
            element.set(name, value.replace("url(#", f"url(#{prefix}-"))
        elif "url(" in value:
            del element.attrib[name]
    for child in list(element):
        local = child.tag.removeprefix(f"{{{_SVG}}}") if isinstance(child.tag, str) else ""
        empty = local == "path" and (child.get("display") == "none" or not child.get("d"))
        if local not in _ELEMENTS or empty:
            element.remove(child)
        else:
            _clean(child, prefix)
    element.attrib.pop("class", None)
