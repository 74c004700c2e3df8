"""The page: one HTML file that contains its style, script, plots and texts, and loads nothing else."""

import base64
import datetime
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import plainly
from plainly.checks.gate import OUTCOME_NAMES, Gate
from plainly.core.errors import require_package
from plainly.core.evalset import Absent
from plainly.core.formatting import interval, label, listed, number, p_value, replace_surrogates, short, visible
from plainly.core.registry import display_name
from plainly.core.result import Table
from plainly.factcheck.facts import FactChecks
from plainly.factcheck.pairs import PairCheck
from plainly.factcheck.reasons import add_facts
from plainly.metrics.evidence import evidence
from plainly.reporting import paper
from plainly.reporting.figures import SIDES, Panel
from plainly.reporting.findings import MOST_TRIED, REMARKS, Doubt, PlacedGroup, PlacedOperations
from plainly.reporting.overview import NO_OUTPUT, Overview, axes, scope
from plainly.reporting.svg import PAGE, read_asset, read_style
from plainly.scoring.scores import ScoreTable
from plainly.text.sentence_alignment import OUTCOMES

_LONGEST = 40  # letters of a name in the cell of a table
_MOST_SYSTEMS = 8  # of a doubt; the others are folded
# Entries of the navigation: heading, and the parts of the section, each with its heading and the text above it.
_SECTIONS: dict[str, tuple[str, str, dict[str, tuple[str, str]]]] = {
    "people": (
        "People",
        "What do people find?",
        {
            "ratings-result": (
                "Which system do people find better?",
                "Mean ratings. Intervals and tests are over items and raters: they are about other sentences and other "
                "people.",
            ),
            "preferences": (
                "What do people prefer?",
                "Win rate: comparisons won, a tie counts half. Strength: the logarithm of Bradley and Terry's strength "
                "with ties. Intervals are over items and raters.",
            ),
            "annotations": (
                "Which operations do people mark?",
                "Share of outputs in which annotators mark each operation, with intervals over items and annotators.",
            ),
            "ratings": ("Do the metrics agree with people?", ""),
        },
    ),
    "scores": (
        "Scores",
        "Scores",
        {
            "tradeoff": ("Simpler, or closer in meaning?", ""),
            "spread": (
                "How do scores spread over the items?",
                "A mean hides failures on a few items. The tick is the median, the bar covers the middle half of the "
                "items, the line nine tenths.",
            ),
            "length": ("Do they depend on how long the source is?", ""),
        },
    ),
    "outputs": (
        "Outputs",
        "What do the systems do?",
        {
            "habits": (
                "How do they compare with people?",
                "",
            ),
            "operations": ("Which operations do they use?", ""),
            "facts": ("Are the facts still right?", ""),
        },
    ),
    "trust": ("Trust", "Can the scores be trusted?", {"tricks": ("Can these metrics be fooled?", "")}),
}
_NOT_IN_GATE = ("missing", "reference")  # doubts that a gate does not state itself
_LINK_NAMES = {"tradeoff": "Trade-off", "facts": "Facts"}  # of parts to which sentences lead


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
    sections = {key: list(_parts(overview, key, plots)) for key in _SECTIONS}
    navigation = {
        "summary": "Summary",
        **({"gate": "Gate"} if gate is not None else {}),
        **{key: name for key, (name, *_) in _SECTIONS.items() if sections[key] or key in ("scores", "trust")},
        "items": "Items",
        "paper": "For a paper",
    }
    # The caption of the first plot is not repeated beside it.
    captions = [plot["caption"] for plot in plots["scores"][:1]]
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
            navigation=[(f"#{section}", name) for section, name in navigation.items()],
            scope=scope(overview),
            doubts=[
                _describe_doubt(overview, doubt)
                for doubt in overview.doubts
                if gate is None or doubt.key in _NOT_IN_GATE
            ],
            remarks=[_describe_doubt(overview, remark) for remark in overview.remarks],
            sentences=[sentence for sentence in overview.summary if sentence.text not in captions],
            linked=navigation | {key: name for key, name in _LINK_NAMES.items() if key in _part_ids(sections)},
            plots=plots,
            has_picture=bool(plots["scores"]) and (gate is None or len(overview.systems) > 1),
            matrices=matrices(overview),
            gate=gate,
            most_findings=MOST_FINDINGS,
            outcome_names=OUTCOME_NAMES,
            when=when.strftime("%Y-%m-%d %H:%M UTC"),
            command=command,
            signatures={display_name(spec): str(scores[spec].signature) for spec in overview.specs},
            headings={key: heading for key, (_, heading, _) in _SECTIONS.items()},
            sections=sections,
            agreement=agreement,
            evidence={display_name(spec): evidence(overview.metric(spec)) for spec in overview.specs},
            alarms=[alarm.message for alarm in overview.alarms],
            browsable=bool(overview.outputs),
            exports={title: text(overview) for title, _, text in paper.EXPORTS},
            warnings=[(_with_display_names(note.message, overview.specs), note.code) for note in overview.notices],
            # The banner states which outputs are missing.
            absent=[reason for reason in overview.left_out if not (overview.doubts and reason.endswith(NO_OUTPUT))],
            data=safe(script_json(payload(overview))) if overview.outputs else safe("null"),
            **score_table(overview),
        )
    )


def _part_ids(sections: Mapping[str, Sequence[Mapping[str, Any]]]) -> set[str]:
    return {part["id"] for parts in sections.values() for part in parts}


def _parts(overview: Overview, section: str, plots_by_part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a section that have something to show."""
    by_people = {
        "ratings-result": overview.human,
        "preferences": overview.preferences,
        "annotations": overview.annotations,
    }
    for key, (title, intro) in _SECTIONS[section][2].items():
        tables: list[Table] = []
        sentences: list[str] = []
        if key == "facts" and overview.facts is not None:
            tables = [overview.facts.rates()]
        if (human := by_people.get(key)) is not None:
            tables = human.tables()
            sentences = [note.message for note in human.notes() if note.kind == "claim"]
        plots = plots_by_part.get(key, [])
        if plots or tables:
            yield {
                "id": key,
                "title": title if key != "habits" or _has_people(overview) else "How much do they change?",
                "intro": _intro(overview, key) or intro,
                "plots": plots,
                "tables": tables,
                "sentences": sentences,
                "disagreements": overview.disagreements if key == "ratings-result" else (),
            }


def _describe_doubt(overview: Overview, doubt: Doubt) -> dict[str, Any]:
    """Return a doubt for the page: how many outputs of each system, the most first, with the system's number."""
    outputs = overview.all_items.outputs or {}
    counts = [
        {
            "index": overview.systems.index(system),
            "name": label(system),
            "count": len(places),
            "total": len(outputs.get(system, ())) or len(overview.evalset),
        }
        for system, places in sorted(doubt.items.items(), key=lambda pair: -len(pair[1]))
    ]
    total = sum(len(places) for places in doubt.items.values())
    return {**vars(doubt), "total": total, "first": counts[:_MOST_SYSTEMS], "rest": counts[_MOST_SYSTEMS:]}


def _with_display_names(text: str, specs: Iterable[str]) -> str:
    """Return a sentence about metrics with their names as the literature writes them."""
    for spec in sorted(specs, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.-]){re.escape(spec)}(?![\w.(-])", display_name(spec), text)
    return text


def _has_people(overview: Overview) -> bool:
    return any(not math.isnan(habit.people) for habit in overview.habits)


def _intro(overview: Overview, key: str) -> str:
    if key == "habits":
        where = " Where a system is far from people, look at its items." if _has_people(overview) else ""
        return f"Neither more nor less of these is better.{where}"
    if key == "tradeoff" and (pair := axes(overview)):
        return f"{pair.reason} A filled circle: no system is better on both. A ring: some system is."
    if key == "facts" and overview.facts is not None:
        checked = len(next(iter(overview.facts.by_system.values()), {}))
        n = len(overview.evalset)
        items = f"{checked} of the {n} items, spread over the set" if checked < n else f"all {n} items"
        return (
            f"Checked on {items}, by rules that compare the words of source and output; check before you rely on them. "
            "All numbers but the risk (0 to 1) are per 100 outputs. Lost content is not always an error. Show “facts” "
            "in the items to see the words."
        )
    if key == "tricks" and overview.tricks.gains:
        systems = listed([short(system) for system in overview.tricks.systems])
        return (
            f"Each trick makes text worse. It was played on up to {MOST_TRIED} outputs of {systems}; a metric that "
            "improves (triangle) is fooled."
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
        test = f"tests: {deciding}, all pairs of a metric corrected together (Holm)"
    metrics = {spec: overview.metric(spec) for spec in overview.specs}
    outputs = [
        (spec, output)
        for spec, metric in metrics.items()
        for output in dict.fromkeys((metric.outputs[0], *metric.main_outputs))
    ]
    columns = [_column(overview, *output) for output in outputs]
    rows = [
        {"name": label(system), "link": "", "cells": [_cell(overview, system, *output) for output in outputs]}
        for system in overview.order(overview.specs[0])
    ]
    return {
        "columns": columns,
        "rows": rows,
        "compared": test,
        "level": f"{overview.estimates[0].level:.0%}" if overview.estimates else "",
        "has_parts": any(column["part"] for column in columns),
        "has_copies": any(overview.incomparable(spec) for spec in overview.specs),
    }


def _column(overview: Overview, spec: str, output: str) -> dict[str, Any]:
    metric = overview.metric(spec)
    if output != metric.outputs[0]:
        return {"name": output, "hint": display_name(spec), "part": True, "better": "neither"}
    name = display_name(spec) if output == metric.name else f"{display_name(spec)}: {output}"
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
        ranking, matrix = overview.ranking(spec), comparisons.matrix(spec)
        for row in ranking:
            cells = []
            for column in ranking:
                mark = "" if column == row else {True: "▲", False: "▽", None: "·"}[matrix[row][column]]
                tip = _describe_pair(overview, spec, row, column) if has_details and column != row else ""
                cells.append({"mark": mark, "tip": tip})
            rows.append({"name": label(row), "cells": cells})
        tables.append({"spec": display_name(spec), "rows": rows})
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


# A script element ends at "</script"; "<!--" and the line separators are special in HTML and JavaScript.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def payload(overview: Overview) -> dict[str, Any]:
    """Return the data of the item browser by column: ``outputs[system][item]``, ``scores[metric][system][item]``.

    It has every item, also those that some systems lack; their output is None there.
    """
    systems, links, whole = overview.systems, overview.links, overview.all_items
    evalset, outputs = whole.evalset, whole.outputs or {}
    shared = {identifier: place for place, identifier in enumerate(overview.evalset.ids)}
    places = [shared.get(identifier) for identifier in evalset.ids]  # where operations and links have each item

    def spread(values: Sequence[Any], default: Any) -> list[Any]:
        return [default if place is None else values[place] for place in places]

    def find(masks: Mapping[str, Any]) -> dict[str, list[int]]:
        return {
            system: [item for item, place in enumerate(places) if place is not None and mask[place]]
            for system, mask in masks.items()
        }

    flags = [(doubt.key, f"that are {doubt.title}", doubt.key, doubt.items) for doubt in overview.doubts]
    marked: list[tuple[str, str, str, Mapping[str, Sequence[int]]]] = [
        *flags,
        ("split", "that are split", "split", find(overview.split)),
        ("copied", "that are copied", "copied", find(overview.copied)),
    ]
    if overview.facts is not None:
        wrong = {
            system: [item for item, pair in pairs.items() if not pair.faithful]
            for system, pairs in overview.facts.by_system.items()
        }
        marked.append(("facts", "with a fact that may be wrong", "facts", wrong))
    marked += [
        (remark.key, f"noticed: {REMARKS.get(remark.key, remark.key.replace('-', ' '))}", remark.key, remark.items)
        for remark in overview.remarks
        if remark.key != "copies"  # they are flagged as copied
    ]
    return {
        "systems": [label(system) for system in systems],
        "metrics": [{"name": display_name(spec), "better": overview.metric(spec).better} for spec in overview.specs],
        "ids": list(evalset.ids),
        "groups": list(evalset.groups) if evalset.groups is not None else None,
        "targets": list(evalset.columns.get("target", ())) or None,
        "sources": list(evalset.sources) if evalset.has_sources else None,
        "references": [list(row) for row in evalset.references],
        "outputs": [[None if isinstance(text, Absent) else text for text in outputs[system]] for system in systems],
        "scores": [[_segments(whole, system, spec) for system in systems] for spec in overview.specs],
        "reasons": [[_reasons(overview, system, spec) for system in systems] for spec in overview.specs],
        "flags": [
            {"key": key, "label": text, "short": name, "items": [list(items.get(system, ())) for system in systems]}
            for key, text, name, items in marked
            if any(items.values())
        ],
        "links": links and {"happened": list(OUTCOMES), "links": [spread(links[name], None) for name in systems]},
        "operations": _operations(overview.operations, systems, spread) if overview.operations is not None else None,
        "facts": _facts(overview.facts, systems) if overview.facts is not None else None,
    }


def script_json(value: Any) -> str:
    """Return JSON that is safe in a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return replace_surrogates(re.sub("[<>&\u2028\u2029]", lambda special: _ESCAPES[special[0]], text))


def _segments(evaluation: ScoreTable, system: str, spec: str) -> list[float | None]:
    scores = evaluation[system][spec]
    values = scores.segments[scores.metric.outputs[0]].tolist()
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in values]


def _reasons(overview: Overview, system: str, spec: str) -> list[str]:
    """Return what the scores of the items are made of, where the metric says it."""
    whole = overview.all_items
    if not whole.outputs:
        return []
    explained = overview.metric(spec).explain_items(whole.evalset, whole.outputs[system])
    checks = overview.facts.by_system[system] if overview.facts is not None else {}
    items = (add_facts(reasons, checks[at]) if at in checks else reasons for at, reasons in enumerate(explained))
    return ["; ".join(reason.text for reason in reasons) for reasons in items]


def _operations(
    operations: PlacedOperations, systems: Sequence[str], spread: Callable[[Sequence[Any], Any], list[Any]]
) -> dict[str, Any]:
    labels = list(operations.labels)

    def groups(of_item: Sequence[PlacedGroup]) -> list[list[Any]]:
        return [[labels.index(group.label), _flat(group.source), _flat(group.output)] for group in of_item]

    return {
        "labels": [
            {"label": label, "title": title, "kind": operations.kinds[label]}
            for label, title in operations.labels.items()
        ],
        "groups": [list(map(groups, spread(operations.groups[system], ()))) for system in systems],
    }


# A finding is marked like an operation of that kind, so that a colour has one meaning.
_EFFECT_KINDS = {"changed": "replace", "flipped": "other", "added": "add", "lost": "delete"}


def _facts(checks: FactChecks, systems: Sequence[str]) -> dict[str, Any]:
    effects = list(_EFFECT_KINDS)

    def findings(pair: PairCheck | None) -> list[list[Any]]:
        return (
            []
            if pair is None
            else [
                [effects.index(finding.effect), _flat(finding.source), _flat(finding.output), finding.message]
                for finding in pair.findings
                if finding.effect in effects and finding.sure >= checks.least
            ]
        )

    return {
        "labels": [{"label": effect, "title": effect, "kind": kind} for effect, kind in _EFFECT_KINDS.items()],
        "findings": [
            [findings(checks.by_system[system].get(item)) for item in range(len(checks.evalset))] for system in systems
        ],
    }


def _flat(spans: Sequence[tuple[int, int]]) -> list[int]:
    return [edge for span in spans for edge in span]
