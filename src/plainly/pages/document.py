"""The page: one HTML file with style, script, plots and texts inside, that loads nothing and runs no other script."""

import base64
import hashlib
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import plainly
from plainly.errors import MissingExtra, for_python
from plainly.metrics.evidence import evidence
from plainly.pages import paper
from plainly.pages.items import payload, script_json
from plainly.pages.marks import direction
from plainly.pages.picture import Plot
from plainly.questions.overview import Overview
from plainly.questions.overview.alarms import MOST_TRIED
from plainly.questions.overview.front import axes
from plainly.questions.overview.summary import scope
from plainly.render.names import label, short, visible
from plainly.render.numbers import interval, listed

_PAGE = Path(__file__).parent / "page"
_SECTIONS: dict[str, list[str]] = tomllib.loads((_PAGE / "sections.toml").read_text(encoding="utf-8"))


def page(overview: Overview, title: str, draw: Callable[[], Iterable[Plot]]) -> str:
    """The whole report as HTML; ``draw`` makes the plots, once it is known that a page can be written."""
    jinja2 = _jinja2()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    safe = jinja2.utils.markupsafe.Markup  # for what is ours or was escaped already
    css, js = ((_PAGE / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    figures = _figures(draw(), safe)
    sections = list(_sections(overview, figures))
    digest = base64.b64encode(hashlib.sha256(js.encode("utf-8")).digest()).decode("ascii")
    return str(
        environment.get_template("report.html").render(
            title=visible(title),
            version=plainly.__version__,
            css=safe(css),
            js=safe(js),
            script_hash=f"sha256-{digest}",
            navigation=_navigation(overview, sections),
            scope=scope(overview),
            sentences=overview.summary,
            linked={"scores", *(section["id"] for section in sections), *(["warnings"] if overview.cautions else [])},
            plots=figures,
            sections=sections,
            evidence=[{"spec": spec, **vars(evidence(overview.metric(spec)))} for spec in overview.specs],
            operation_labels=[] if overview.operations is None else list(overview.operations.labels.items()),
            browsable=bool(overview.outputs),
            exports=[{"title": title, "text": text(overview)} for title, _, text in paper.EXPORTS],
            warnings=[
                {"code": caution.code, "message": visible(for_python(caution.message))} for caution in overview.cautions
            ],
            absent=[visible(for_python(reason)) for reason in overview.left_out],
            data=safe(script_json(payload(overview))) if overview.outputs else safe("null"),
            **_table(overview),
        )
    )


def _figures(plots: Iterable[Plot], safe: Callable[[str], Any]) -> dict[str, list[dict[str, Any]]]:
    """The plots by section, ready for the page."""
    figures: dict[str, list[dict[str, Any]]] = {"scores": []}
    for plot in plots:
        text = {"title": visible(plot.title), "caption": visible(plot.caption)}
        figures.setdefault(plot.section, []).append({"name": plot.name, **text, "svg": safe(plot.inline())})
    return figures


def _sections(overview: Overview, figures: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key, (_, title, intro) in _SECTIONS.items():
        alarms = overview.alarms if key == "tricks" else ()
        plots = figures.get(key, [])
        if not plots and not alarms:
            continue
        yield {
            "id": key,
            "title": title,
            "intro": _intro(overview, key) or intro,
            "plots": plots,
            "alarms": [{"metric": alarm.metric, "message": visible(alarm.message)} for alarm in alarms],
        }


def _intro(overview: Overview, key: str) -> str:
    if key == "tradeoff" and (chosen := axes(overview.evaluation)):
        simplicity, meaning = chosen
        return (
            f"{simplicity.spec} stands for simplicity and {meaning.spec} for meaning; both are stand-ins. Circles on "
            "the dashed line: no other system is better on both. Triangles: some system is."
        )
    if key == "tricks" and overview.tricks.gains:
        what = {gain.trick: gain.what for gain in overview.tricks.gains}
        tricks = listed([f"{trick} ({done})" for trick, done in what.items()], most=10)
        tried = listed([short(system) for system in overview.tricks.systems])
        return (
            f"Tricks that make text worse, on up to {MOST_TRIED} outputs of {tried}: {tricks}. A metric that improves "
            "is fooled (triangles)."
        )
    if key == "ratings":
        level = 100 * overview.correlations[0].estimate.level
        rated = visible(overview.ratings)
        return f"Pearson correlation over the outputs rated in {rated}, with {level:g} % intervals."
    return ""


def _navigation(overview: Overview, sections: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    links = [("summary", "Summary"), ("scores", "Scores")]
    links += [(section["id"], _SECTIONS[section["id"]][0]) for section in sections]
    links += [("items", "Items"), ("paper", "For a paper")]
    return links + ([("warnings", "Warnings")] if overview.cautions or overview.left_out else [])


def _table(overview: Overview) -> dict[str, Any]:
    columns: list[dict[str, Any]] = [{"name": "System", "hint": "", "part": False, "better": "neither"}]
    shown: list[tuple[str, str, bool]] = []
    for spec in overview.specs:
        metric = overview.metric(spec)
        headline = metric.outputs[0]
        name = spec if headline == metric.name else f"{spec}: {headline}"
        columns.append({"name": name, "hint": direction(metric), "part": False, "better": metric.better})
        shown.append((spec, headline, False))
        for part in getattr(metric, "shown", ()):
            if part != headline:
                columns.append({"name": part, "hint": spec, "part": True, "better": "neither"})
                shown.append((spec, part, True))
    rows = [
        {"name": label(system), "cells": [_cell(overview, system, *column) for column in shown]}
        for system in overview.evaluation.ranking(overview.specs[0])
    ]
    return {
        "columns": columns,
        "rows": rows,
        "compared": overview.comparisons is not None,
        "level": f"{overview.estimates[0].level:.0%}" if overview.estimates else "",
        "has_parts": any(part for *_, part in shown),
    }


def _cell(overview: Overview, system: str, spec: str, output: str, part: bool) -> dict[str, Any]:
    scores = overview.evaluation[system][spec]
    value = scores.corpus[output]
    estimate = None if part else scores.intervals.get(output)
    low, high = (estimate.low, estimate.high) if estimate is not None else (None, None)
    text, _, range_ = interval(value, low, high, page=True).partition(" ")
    return {
        "value": "" if math.isnan(value) else repr(value),
        "text": text,
        "range": range_,
        "standing": "" if part else overview.standing(spec, system),
        "part": part,
    }


def _jinja2() -> Any:
    try:
        import jinja2
        import jinja2.utils
    except ImportError:
        raise MissingExtra("A report", package="jinja2", extra="report") from None
    return jinja2
