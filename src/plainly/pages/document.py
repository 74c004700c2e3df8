"""The page: one HTML file with style, script, plots and texts inside, that loads nothing and runs no other script."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import plainly
from plainly.errors import MissingExtra
from plainly.pages import evidence, paper
from plainly.pages.charts import direction, plots
from plainly.pages.items import payload, script_json
from plainly.pages.material import Material
from plainly.pages.render import Plot
from plainly.pages.summary import scope, sentences
from plainly.pages.tradeoff import axes
from plainly.pages.words import label, listed, number, short, visible

_PAGE = Path(__file__).parent / "page"
# Section → name in the navigation, heading, and what stands above its plots.
_SECTIONS = {
    "tradeoff": ("Trade-off", "Simpler, or closer in meaning?", ""),
    "spread": ("Spread", "How do scores spread over the items?", "A mean hides who fails badly on a few."),
    "length": ("Length", "Does it depend on how long the source is?", ""),
    "habits": (
        "Habits",
        "What do systems do, beside people?",
        "None of these has a better side. Far from what people do is a reason to look at the items.",
    ),
    "operations": ("Operations", "Which operations?", "Labels come from an automatic labeller and have errors."),
    "tricks": ("Alarms", "Can the scores be trusted?", ""),
    "ratings": ("Ratings", "Do the metrics go with what people say?", ""),
}


def page(material: Material, drawn: Sequence[Plot] | None = None) -> str:
    """The whole report as HTML. ``drawn`` are the plots, where they were made already."""
    jinja2 = _jinja2()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    safe = jinja2.utils.markupsafe.Markup  # for what is ours or was escaped already
    css, js = ((_PAGE / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    by_section: dict[str, list[dict[str, Any]]] = {"scores": []}
    for plot in plots(material) if drawn is None else drawn:
        by_section.setdefault(plot.section, []).append(
            {
                "name": plot.name,
                "title": visible(plot.title),
                "caption": visible(plot.caption),
                "svg": safe(plot.inline()),
            }
        )
    sections = list(_sections(material, by_section))
    digest = base64.b64encode(hashlib.sha256(js.encode("utf-8")).digest()).decode("ascii")
    return str(
        environment.get_template("report.html").render(
            title=visible(material.title),
            version=plainly.__version__,
            css=safe(css),
            js=safe(js),
            script_hash=f"sha256-{digest}",
            navigation=_navigation(material, sections),
            scope=scope(material),
            sentences=sentences(material),
            linked={"scores", *(section["id"] for section in sections), *(["warnings"] if material.findings else [])},
            plots=by_section,
            sections=sections,
            evidence=[_evidence(material, spec) for spec in material.specs],
            operation_labels=[] if material.operations is None else list(material.operations.labels.items()),
            browsable=bool(material.outputs),
            exports=_exports(material),
            warnings=[{"code": each.code, "message": visible(each.message)} for each in material.findings],
            absent=[visible(reason) for reason in material.absent],
            data=safe(script_json(payload(material))) if material.outputs else safe("null"),
            **_table(material),
        )
    )


def _sections(material: Material, by_section: Mapping[str, Any]) -> Any:
    for key, (_, title, intro) in _SECTIONS.items():
        alarms = material.alarms if key == "tricks" else ()
        drawn = by_section.get(key, [])
        if not drawn and not alarms:
            continue
        yield {
            "id": key,
            "title": title,
            "intro": _intro(material, key) or intro,
            "plots": drawn,
            "alarms": [{"metric": each.metric, "message": visible(each.message)} for each in alarms],
        }


def _intro(material: Material, key: str) -> str:
    if key == "tradeoff" and (chosen := axes(material)):
        simplicity, meaning = chosen
        return (
            f"{simplicity.spec} stands for simplicity and {meaning.spec} for meaning; both are stand-ins. Circles on "
            "the dashed line: no other system is better on both. Triangles: some system is."
        )
    if key == "tricks" and material.gains:
        what = {gain.trick: gain.what for gain in material.gains}
        tricks = listed([f"{trick} ({done})" for trick, done in what.items()], most=10)
        return (
            f"Tricks that make text worse, on up to 100 outputs of {listed([short(s) for s in material.audited])}: "
            f"{tricks}. A metric that improves is fooled (triangles)."
        )
    if key == "ratings":
        return f"Pearson correlation over the outputs rated in {visible(material.rated)}, with 95 % intervals."
    return ""


def _navigation(material: Material, sections: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    links = [("summary", "Summary"), ("scores", "Scores")]
    links += [(section["id"], _SECTIONS[section["id"]][0]) for section in sections]
    links += [("items", "Items"), ("paper", "For a paper")]
    return links + ([("warnings", "Warnings")] if material.findings or material.absent else [])


def _table(material: Material) -> dict[str, Any]:
    columns: list[dict[str, Any]] = [{"name": "System", "hint": "", "part": False, "better": "neither"}]
    shown: list[tuple[str, str, bool]] = []
    for spec in material.specs:
        metric = material.metric(spec)
        headline = metric.outputs[0]
        name = spec if headline == metric.name else f"{spec}: {headline}"
        columns.append({"name": name, "hint": direction(metric), "part": False, "better": metric.better})
        shown.append((spec, headline, False))
        for part in getattr(metric, "shown", ()):
            if part != headline:
                columns.append({"name": part, "hint": spec, "part": True, "better": "neither"})
                shown.append((spec, part, True))
    first = material.ranking(material.specs[0]) if material.specs else list(material.systems)
    rows = [
        {"name": label(system), "cells": [_cell(material, system, *column) for column in shown]} for system in first
    ]
    estimates = [e for system in material.systems for spec in material.specs if (e := material.estimate(system, spec))]
    return {
        "columns": columns,
        "rows": rows,
        "compared": bool(material.comparisons),
        "level": f"{estimates[0].level:.0%}" if estimates else "",
        "has_parts": any(part for *_, part in shown),
    }


def _cell(material: Material, system: str, spec: str, output: str, part: bool) -> dict[str, Any]:
    scores = material.evaluation[system][spec]
    value = scores.corpus[output]
    estimate = None if part else scores.intervals.get(output)
    defined = estimate is not None and not math.isnan(estimate.low)
    return {
        "value": "" if math.isnan(value) else repr(value),
        "text": number(value),
        "range": f"[{number(estimate.low)}, {number(estimate.high)}]" if estimate is not None and defined else "",
        "standing": "" if part else material.standing(spec, system),
        "part": part,
    }


def _evidence(material: Material, spec: str) -> dict[str, Any]:
    found = evidence.of(material.metric(spec))
    return {"spec": spec, "measures": found.measures, "blind": found.blind, "papers": found.papers}


def _exports(material: Material) -> list[dict[str, str]]:
    return [
        {"title": "Methods paragraph", "text": paper.methods(material)},
        {"title": "Table in LaTeX (booktabs)", "text": paper.table(material, "latex")},
        {"title": "Table in Markdown", "text": paper.table(material, "markdown")},
        {"title": "Table in CSV", "text": paper.table(material, "csv")},
        {"title": "BibTeX", "text": paper.bibtex(material)},
    ]


def _jinja2() -> Any:
    try:
        import jinja2
        import jinja2.utils
    except ImportError:
        raise MissingExtra("A report", package="jinja2", extra="report") from None
    return jinja2
