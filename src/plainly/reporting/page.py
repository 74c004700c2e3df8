"""The page: one HTML file that contains its style, script, plots and texts, and loads nothing else."""

import base64
import datetime
import hashlib
import json
import math
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import plainly
from plainly.auditing.attacks import ATTACKS
from plainly.checks.gate import OUTCOME_NAMES, Gate
from plainly.core.errors import require_package
from plainly.core.formatting import interval, label, listed, number, p_value, replace_surrogates, short, visible
from plainly.core.result import Table
from plainly.factcheck.facts import FactChecks
from plainly.factcheck.pairs import PairCheck
from plainly.factcheck.reasons import add_facts
from plainly.metrics.evidence import evidence
from plainly.reporting import paper
from plainly.reporting.figures import SIDES, Panel
from plainly.reporting.findings import MOST_TRIED, PlacedGroup, PlacedOperations
from plainly.reporting.overview import Overview, axes, lead, scope
from plainly.reporting.svg import PAGE, read_asset
from plainly.text.sentence_alignment import OUTCOMES

_TALL = 18  # systems in the picture
_LONGEST = 40  # letters of a name in the cell of a table
_SECTIONS: dict[str, list[str]] = tomllib.loads(read_asset("sections.toml"))


def page(
    overview: Overview,
    title: str,
    panels: Iterable[Panel],
    *,
    gate: Gate | None = None,
    command: str = "",
    agreement: Table | None = None,
) -> str:
    """Return the whole report as HTML; ``agreement`` is how far its learned scores agree with people."""
    template = environment("A report").get_template("report.html")
    from markupsafe import Markup as safe  # for trusted or already escaped text

    js = f"{read_asset('page.js')}{read_asset('items.js')}"
    plots: dict[str, list[dict[str, Any]]] = {"scores": []}
    for plot in show_panels(panels):
        plots.setdefault(plot["section"], []).append(plot)
    sections = list(_sections(overview, plots))
    links = {
        "summary": "Summary",
        **({"gate": "Gate"} if gate is not None else {}),
        **{section["id"]: _SECTIONS[section["id"]][0] for section in sections if section["first"]},
        "scores": "Scores",
        **{section["id"]: _SECTIONS[section["id"]][0] for section in sections if not section["first"]},
        "items": "Items",
        "paper": "For a paper",
        **({"warnings": "Warnings"} if overview.cautions or overview.left_out else {}),
        "made": "How made",
    }
    # The caption of the first plot is not repeated beside it.
    captions = [plot["caption"] for plot in plots["scores"][:1]]
    summary = [sentence for sentence in overview.summary if sentence.text not in captions]
    # All sentences fit beside a tall picture.
    first = summary if len(overview.systems) > _TALL else lead(summary)
    epoch, zone = os.environ.get("SOURCE_DATE_EPOCH", ""), datetime.UTC
    when = datetime.datetime.fromtimestamp(int(epoch), zone) if epoch.isdigit() else datetime.datetime.now(zone)
    scores = next(iter(overview.evaluation.values()))
    digest = base64.b64encode(hashlib.sha256(js.encode("utf-8")).digest()).decode("ascii")
    return str(
        template.render(
            title=visible(title),
            version=plainly.__version__,
            css=safe(read_style()),
            js=safe(js),
            scripts=safe(f"'sha256-{digest}'"),
            here="",
            navigation=[(f"#{section}", name) for section, name in links.items()],
            scope=scope(overview),
            lead=first,
            sentences=[sentence for sentence in summary if sentence not in first],
            linked=links,
            plots=plots,
            matrices=matrices(overview),
            gate=gate,
            most_findings=MOST_FINDINGS,
            outcome_names=OUTCOME_NAMES,
            when=when.strftime("%Y-%m-%d %H:%M UTC"),
            command=command,
            signatures={spec: str(scores[spec].signature) for spec in overview.specs},
            sections=sections,
            agreement=agreement,
            evidence={spec: evidence(overview.metric(spec)) for spec in overview.specs},
            operation_labels={} if overview.operations is None else overview.operations.labels,
            browsable=bool(overview.outputs),
            exports={title: text(overview) for title, _, text in paper.EXPORTS},
            warnings=overview.cautions,
            absent=overview.left_out,
            data=safe(script_json(payload(overview))) if overview.outputs else safe("null"),
            **score_table(overview),
        )
    )


def _sections(overview: Overview, plots_by_section: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key, (_, title, intro) in _SECTIONS.items():
        alarms = overview.alarms if key == "tricks" else ()
        plots = plots_by_section.get(key, [])
        tables = [overview.facts.rates()] if key == "facts" and overview.facts is not None else []
        sentences: list[str] = []
        if key == "preferences" and overview.preferences is not None:
            tables = overview.preferences.tables()
            sentences = [note.message for note in overview.preferences.notes() if note.kind == "claim"]
        if key == "people" and overview.human is not None:
            tables = overview.human.tables()
            sentences = [note.message for note in overview.human.notes() if note.kind == "claim"]
        if not plots and not alarms and not tables:
            continue
        yield {
            "id": key,
            "first": key in ("people", "preferences"),  # what people say comes before the metrics
            "title": title,
            "intro": _intro(overview, key) or intro,
            "plots": plots,
            "alarms": alarms,
            "tables": tables,
            "sentences": sentences,
            "disagreements": overview.disagreements if key == "people" else (),
        }


def _intro(overview: Overview, key: str) -> str:
    if key == "tradeoff" and (pair := axes(overview.evaluation)):
        simplicity, meaning = pair
        return (
            f"{simplicity} stands for simplicity and {meaning} for meaning; both are stand-ins. Circles on the dashed "
            "line: no other system is better on both. Triangles: some system is."
        )
    if key == "tricks" and overview.tricks.gains:
        names = dict.fromkeys(gain.attack for gain in overview.tricks.gains)
        tricks = listed([f"{name} ({ATTACKS[name].what})" for name in names], most=10)
        systems = listed([short(system) for system in overview.tricks.systems])
        return (
            f"Tricks that make text worse, on up to {MOST_TRIED} outputs of {systems}: {tricks}. "
            "A metric that improves is fooled (triangles)."
        )
    if key == "ratings":
        level = 100 * overview.correlations[0].estimate.level
        ratings = visible(overview.ratings)
        signs = "signs are turned where lower is better, so that higher agrees better"
        return f"Pearson correlation over the outputs rated in {ratings}, with {level:g} % intervals; {signs}."
    return ""


# For at most this many systems the table of pairs has details of every pair; for more, only the marks.
MOST_DETAILED = 16
MOST_FINDINGS = 200


def score_table(overview: Overview) -> dict[str, Any]:
    """Return the table of scores, the best system by the first metric first."""
    test = ""
    if overview.comparisons is not None:
        deciding = overview.comparisons.deciding.replace("-", " ")
        test = f"beats: by {deciding}, all pairs of a metric corrected together (Holm)"
    metrics = {spec: overview.metric(spec) for spec in overview.specs}
    outputs = [
        (spec, output)
        for spec, metric in metrics.items()
        for output in dict.fromkeys((metric.outputs[0], *metric.main_outputs))
    ]
    columns = [_column(overview, *output) for output in outputs]
    rows = [
        {"name": label(system), "link": "", "cells": [_cell(overview, system, *output) for output in outputs]}
        for system in overview.evaluation.ranking(overview.specs[0])
    ]
    return {
        "columns": columns,
        "rows": rows,
        "compared": test,
        "level": f"{overview.estimates[0].level:.0%}" if overview.estimates else "",
        "has_parts": any(column["part"] for column in columns),
    }


def _column(overview: Overview, spec: str, output: str) -> dict[str, Any]:
    metric = overview.metric(spec)
    if output != metric.outputs[0]:
        return {"name": output, "hint": spec, "part": True, "better": "neither"}
    name = spec if output == metric.name else f"{spec}: {output}"
    return {"name": name, "hint": SIDES[metric.better], "part": False, "better": metric.better}


def _cell(overview: Overview, system: str, spec: str, output: str) -> dict[str, Any]:
    scores, part = overview.evaluation[system][spec], output != overview.metric(spec).outputs[0]
    low, high = (math.nan, math.nan) if part else overview.bounds(system, spec)
    standing = "" if part else overview.standing(spec, system)
    return score_cell(scores.corpus[output], low, high, standing, str(scores.signature), part=part)


def score_cell(
    value: float | None, low: float | None, high: float | None, standing: str, signature: str, **more: Any
) -> dict[str, Any]:
    """Return a number of a table: its value and text, its standing, and its signature."""
    text, _, range_ = interval(value, low, high, page=True).partition(" ")
    return {
        "value": "" if value is None or math.isnan(value) else repr(value),
        "text": text,
        "range": range_,
        "standing": standing,
        "signature": visible(signature),
        "part": False,
        "cluster": None,
        **more,
    }


def matrices(overview: Overview) -> list[dict[str, Any]]:
    """Return, by metric, a row for each system: whether it is better or worse than the column's system, or neither."""
    comparisons = overview.comparisons
    if comparisons is None or len(overview.systems) < 3:
        return []
    specs = [spec for spec in overview.specs if overview.metric(spec).better != "neither"]
    has_details = len(overview.systems) <= MOST_DETAILED
    tables = []
    for spec in specs if has_details else specs[:1]:
        rows = []
        for row, others in comparisons.matrix(spec).items():
            cells = []
            for column in comparisons.ranking(spec):
                mark = "" if column == row else {True: "▲", False: "▽", None: "·"}[others[column]]
                tip = _describe_pair(overview, spec, row, column) if has_details and column != row else ""
                cells.append({"mark": mark, "tip": tip})
            rows.append({"name": label(row), "cells": cells})
        tables.append({"spec": spec, "rows": rows})
    return tables


def _describe_pair(overview: Overview, spec: str, row: str, column: str) -> str:
    assert overview.comparisons is not None
    pair = overview.comparisons.pair(spec, row, column)
    difference = overview.value(row, spec) - overview.value(column, spec)
    claim = "a difference may be claimed" if pair.significant else "no difference may be claimed"
    names = f"{label(row)} and {label(column)}"
    return f"{names}: {number(difference, sign=True, page=True)}, p {p_value(pair.p_holm)} (Holm); {claim}"


def environment(product: str) -> Any:
    """Return the templates; ``product`` is what they write, for the error if Jinja is missing."""
    with require_package(product, package="jinja2", extra="report"):
        import jinja2
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    templates.filters["num"] = lambda value, sign=False: number(value, sign=sign, page=True)
    templates.filters |= {"visible": visible, "label": label}
    templates.filters["cut"] = lambda name: name if len(name) <= _LONGEST else f"{short(name)[: _LONGEST - 2]}…"
    return templates


def show_panels(panels: Iterable[Panel | None]) -> list[dict[str, Any]]:
    """Draw plots for a template."""
    from markupsafe import Markup

    plots = []
    for panel in panels:
        if panel is not None:
            title, caption = visible(panel.title), visible(panel.caption).replace(" %", "\u00a0%")
            drawing = Markup(panel.form.draw().page(f"{title}. {caption}"))
            plots.append({**vars(panel), "title": title, "caption": caption, "drawing": drawing})
    return plots


def read_style() -> str:
    """Return the style sheet of all pages."""
    return read_asset("page.css") + read_asset("figure.css")


# A script element ends at "</script"; "<!--" and the line separators are special in HTML and JavaScript.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def payload(overview: Overview) -> dict[str, Any]:
    """Return the data of the item browser by column: ``outputs[system][item]``, ``scores[metric][system][item]``."""
    systems, links = overview.systems, overview.links
    return {
        "systems": [label(system) for system in systems],
        "metrics": [{"spec": spec, "better": overview.metric(spec).better} for spec in overview.specs],
        "ids": list(overview.evalset.ids),
        "groups": list(overview.evalset.groups) if overview.evalset.groups is not None else None,
        "targets": list(overview.evalset.columns.get("target", ())) or None,
        "sources": list(overview.evalset.sources) if overview.evalset.has_sources else None,
        "references": [list(row) for row in overview.evalset.references],
        "outputs": [list(overview.outputs[system]) for system in systems] if overview.outputs else [],
        "scores": [[_segments(overview, system, spec) for system in systems] for spec in overview.specs],
        "reasons": [[_reasons(overview, system, spec) for system in systems] for spec in overview.specs],
        "split": [_bits(overview.split.get(system, ())) for system in systems],
        "copied": [_bits(overview.copied.get(system, ())) for system in systems],
        "links": links and {"happened": list(OUTCOMES), "links": [links[name] for name in systems]},
        "operations": _operations(overview.operations, systems) if overview.operations is not None else None,
        "facts": _facts(overview.facts, systems) if overview.facts is not None else None,
    }


def script_json(value: Any) -> str:
    """Return JSON that is safe in a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return replace_surrogates(re.sub("[<>&\u2028\u2029]", lambda special: _ESCAPES[special[0]], text))


def _segments(overview: Overview, system: str, spec: str) -> list[float | None]:
    scores = overview.evaluation[system][spec]
    values = scores.segments[scores.metric.outputs[0]].tolist()
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in values]


def _reasons(overview: Overview, system: str, spec: str) -> list[str]:
    """Return what the scores of the items are made of, where the metric says it."""
    if not overview.outputs:
        return []
    explained = overview.metric(spec).explain_items(overview.evalset, overview.outputs[system])
    checks = overview.facts.by_system[system] if overview.facts is not None else {}
    items = (add_facts(reasons, checks[at]) if at in checks else reasons for at, reasons in enumerate(explained))
    return ["; ".join(reason.text for reason in reasons) for reasons in items]


def _operations(operations: PlacedOperations, systems: Sequence[str]) -> dict[str, Any]:
    labels = list(operations.labels)

    def groups(of_item: Sequence[PlacedGroup]) -> list[list[Any]]:
        return [[labels.index(group.label), _flat(group.source), _flat(group.output)] for group in of_item]

    return {
        "labels": [
            {"label": label, "title": title, "kind": operations.kinds[label]}
            for label, title in operations.labels.items()
        ],
        "groups": [list(map(groups, operations.groups[system])) for system in systems],
    }


# A finding is marked like an operation of that kind, so that a colour has one meaning.
_EFFECT_KINDS = {"changed": "replace", "flipped": "other", "added": "add", "lost": "delete"}


def _facts(checks: FactChecks, systems: Sequence[str]) -> dict[str, Any]:
    effects = list(_EFFECT_KINDS)

    def findings(pair: PairCheck) -> list[list[Any]]:
        return [
            [effects.index(finding.effect), _flat(finding.source), _flat(finding.output), finding.message]
            for finding in pair.findings
            if finding.effect in effects and finding.sure >= checks.least
        ]

    return {
        "labels": [{"label": effect, "title": effect, "kind": kind} for effect, kind in _EFFECT_KINDS.items()],
        "findings": [list(map(findings, checks.by_system[system].values())) for system in systems],
        "wrong": [_bits(not pair.faithful for pair in checks.by_system[system].values()) for system in systems],
    }


def _flat(spans: Sequence[tuple[int, int]]) -> list[int]:
    return [edge for span in spans for edge in span]


def _bits(values: Iterable[Any]) -> str:
    return "".join("1" if value else "0" for value in values)
