"""One set of templates, one style and one script for all pages: the report and the field look and work alike."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from plainly.core.errors import MissingExtra
from plainly.core.formatting import number, short, visible
from plainly.reporting.panel import Panel

_PAGE = Path(__file__).parent / "page"
_LONGEST = 40  # letters of a name in the cell of a table


def asset(name: str) -> str:
    """What stands in a file beside the templates."""
    return (_PAGE / name).read_text(encoding="utf-8")


def environment(what: str) -> Any:
    """The templates, or an error that says what must be installed to write ``what``."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtra(what, package="jinja2", extra="report") from None
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    templates.filters["num"] = lambda value, sign=False: number(value, sign=sign, page=True)
    templates.filters["visible"] = visible
    templates.filters["cut"] = lambda name: name if len(name) <= _LONGEST else f"{short(name)[: _LONGEST - 2]}…"
    return templates


def figures(panels: Iterable[Panel | None]) -> list[dict[str, Any]]:
    """Plots as a template shows them."""
    return [
        {
            "name": panel.name,
            "section": panel.section,
            "title": visible(panel.title),
            "caption": visible(panel.caption).replace(" %", "\u00a0%"),
            "cut": visible(panel.figure.cut),
            "drawn": panel.figure,
        }
        for panel in panels
        if panel is not None
    ]
