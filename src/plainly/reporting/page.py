"""The page: one HTML file with style, script, plots and texts inside, that loads nothing and runs no other script."""

import base64
import datetime
import hashlib
import math
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import plainly
from plainly.checks.gate import Gate
from plainly.core.errors import MissingExtra
from plainly.core.formatting import interval, label, listed, number, p_value, short, visible
from plainly.core.result import Table
from plainly.metrics.evidence import evidence
from plainly.reporting import paper
from plainly.reporting.figures import SIDES, Panel
from plainly.reporting.findings import MOST_TRIED
from plainly.reporting.item_browser import payload, script_json
from plainly.reporting.overview import Overview
from plainly.reporting.summary import axes, lead, scope
from plainly.reporting.svg import PAGE, read_asset
from plainly.scoring.comparisons import Comparisons

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
) -> str:
    """The whole report as HTML."""
    template = environment("A report").get_template("report.html")
    from markupsafe import Markup as safe  # for what is ours or was escaped already

    js = f"{read_asset('page.js')}{read_asset('items.js')}"
    plots: dict[str, list[dict[str, Any]]] = {"scores": []}
    for plot in show_panels(panels):
        plots.setdefault(plot["section"], []).append(plot)
    sections = list(_sections(overview, plots))
    navigation = _navigation(overview, sections, gated=gate is not None)
    # What stands over the picture is not said again beside it.
    over = [plot["caption"] for plot in plots["scores"][:1]]
    said = [sentence for sentence in overview.summary if sentence.text not in over]
    # Beside a tall picture there is room for all of them.
    first = said if len(overview.systems) > _TALL else lead(said)
    digest = base64.b64encode(hashlib.sha256(js.encode("utf-8")).digest()).decode("ascii")
    return str(
        template.render(
            title=visible(title),
            version=plainly.__version__,
            css=safe(read_style()),
            js=safe(js),
            scripts=safe(f"'sha256-{digest}'"),
            here="",
            navigation=navigation,
            scope=scope(overview),
            lead=first,
            sentences=[sentence for sentence in said if sentence not in first],
            linked={target.removeprefix("#"): name for target, name in navigation},
            plots=plots,
            matrices=matrices(overview),
            gate=gate_section(gate) if gate is not None else None,
            made=made(overview, command),
            sections=sections,
            evidence=[{"spec": spec, **vars(evidence(overview.metric(spec)))} for spec in overview.specs],
            operation_labels=[] if overview.operations is None else list(overview.operations.labels.items()),
            browsable=bool(overview.outputs),
            exports=[{"title": title, "text": text(overview)} for title, _, text in paper.EXPORTS],
            warnings=[{"code": caution.code, "message": visible(caution.message)} for caution in overview.cautions],
            absent=[visible(reason) for reason in overview.left_out],
            data=safe(script_json(payload(overview))) if overview.outputs else safe("null"),
            **score_table(overview),
        )
    )


def _sections(overview: Overview, drawn: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key, (_, title, intro) in _SECTIONS.items():
        alarms = overview.alarms if key == "tricks" else ()
        plots = drawn.get(key, [])
        table = overview.facts.rates() if key == "facts" and overview.facts is not None else None
        if key == "preferences" and overview.preferences is not None:
            (table,) = overview.preferences.tables()
        if not plots and not alarms and table is None:
            continue
        yield {
            "id": key,
            "title": title,
            "intro": _intro(overview, key) or intro,
            "plots": plots,
            "alarms": [{"metric": alarm.metric, "message": visible(alarm.message)} for alarm in alarms],
            "table": table,
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
        turned = "signs are turned where lower is better, so that higher agrees better"
        return f"Pearson correlation over the outputs rated in {rated}, with {level:g} % intervals; {turned}."
    return ""


def _navigation(overview: Overview, sections: Sequence[Mapping[str, Any]], *, gated: bool) -> list[tuple[str, str]]:
    links = [("summary", "Summary"), *([("gate", "Gate")] if gated else []), ("scores", "Scores")]
    links += [(section["id"], _SECTIONS[section["id"]][0]) for section in sections]
    links += [("items", "Items"), ("paper", "For a paper")]
    links += [("warnings", "Warnings")] if overview.cautions or overview.left_out else []
    return [(f"#{section}", name) for section, name in (*links, ("made", "How made"))]


# Who beats whom is shown for so many systems with all that is known of a pair; of more, only the verdicts.
MOST_DETAILED = 16
MOST_FINDINGS = 200


def score_table(overview: Overview) -> dict[str, Any]:
    """The scores of every system, best by the first metric first."""
    columns: list[dict[str, Any]] = []
    shown: list[tuple[str, str, bool]] = []
    for spec in overview.specs:
        metric = overview.metric(spec)
        headline = metric.outputs[0]
        name = spec if headline == metric.name else f"{spec}: {headline}"
        columns.append({"name": name, "hint": SIDES[metric.better], "part": False, "better": metric.better})
        shown.append((spec, headline, False))
        for part in metric.main_outputs:
            if part != headline:
                columns.append({"name": part, "hint": spec, "part": True, "better": "neither"})
                shown.append((spec, part, True))
    rows = [
        {"name": label(system), "link": "", "cells": [_cell(overview, system, *column) for column in shown]}
        for system in overview.evaluation.ranking(overview.specs[0])
    ]
    return {
        "columns": columns,
        "rows": rows,
        "compared": _test(overview.comparisons),
        "level": f"{overview.estimates[0].level:.0%}" if overview.estimates else "",
        "has_parts": any(part for *_, part in shown),
    }


def _cell(overview: Overview, system: str, spec: str, output: str, part: bool) -> dict[str, Any]:
    scores = overview.evaluation[system][spec]
    estimate = None if part else scores.intervals.get(output)
    low, high = (estimate.low, estimate.high) if estimate is not None else (None, None)
    standing = "" if part else overview.standing(spec, system)
    return score_cell(scores.corpus[output], low, high, standing, str(scores.signature), part=part)


def score_cell(
    value: float | None, low: float | None, high: float | None, standing: str, signature: str, **more: Any
) -> dict[str, Any]:
    """A number of a table: as it is sorted and shown, whether it is the best, and how it was made."""
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


def _test(compared: Comparisons | None) -> str:
    """What "beats" rests on."""
    if compared is None:
        return ""
    return f"beats: by {compared.deciding.replace('-', ' ')}, all pairs of a metric corrected together (Holm)"


def matrices(overview: Overview) -> list[dict[str, Any]]:
    """By metric, a row for each system: whether it beats the system of the column, is beaten, or cannot be told."""
    compared = overview.comparisons
    if compared is None or len(overview.systems) < 3:
        return []
    specs = [spec for spec in overview.specs if overview.metric(spec).better != "neither"]
    detailed = len(overview.systems) <= MOST_DETAILED
    shown = []
    for spec in specs if detailed else specs[:1]:
        rows = []
        for row, others in compared.matrix(spec).items():
            cells = []
            for column in compared.ranking(spec):
                mark = "" if column == row else {True: "▲", False: "▽", None: "·"}[others[column]]
                said = _pair(overview, spec, row, column) if detailed and column != row else ""
                cells.append({"mark": mark, "said": said})
            rows.append({"name": label(row), "cells": cells})
        shown.append({"spec": spec, "rows": rows})
    return shown


def _pair(overview: Overview, spec: str, row: str, column: str) -> str:
    assert overview.comparisons is not None
    pair = overview.comparisons.pair(spec, row, column)
    difference = overview.value(row, spec) - overview.value(column, spec)
    claim = "a difference may be claimed" if pair.significant else "no difference may be claimed"
    names = f"{label(row)} and {label(column)}"
    return f"{names}: {number(difference, sign=True, page=True)}, p {p_value(pair.p_claim)} (Holm); {claim}"


def gate_section(gate: Gate) -> dict[str, Any]:
    """Whether every system passes and why not, the rules on the whole file, and the outputs that break rules."""
    tables: list[Table] = gate.tables()
    return {
        "passed": gate.passed,
        "systems": [
            {"name": label(system), "reasons": [visible(reason) for reason in reasons]}
            for system, reasons in gate.failures.items()
        ],
        "verdicts": tables[0] if gate.verdicts else None,
        "worst": [
            {
                "system": label(system),
                "place": list(gate.outputs).index(system),
                "item": gate.evalset.ids[place],
                "findings": [
                    {"rule": finding.rule, "message": visible(finding.message), "words": visible(finding.words)}
                    for finding in findings
                ],
            }
            for system, place, findings in gate.worst[:MOST_FINDINGS]
        ],
        "more": max(len(gate.worst) - MOST_FINDINGS, 0),
    }


def made(overview: Overview, command: str) -> dict[str, Any]:
    """When, with which command, and what stands behind every number."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    zone = datetime.UTC
    when = datetime.datetime.fromtimestamp(int(epoch), zone) if epoch.isdigit() else datetime.datetime.now(zone)
    scores = next(iter(overview.evaluation.values()))
    return {
        "when": when.strftime("%Y-%m-%d %H:%M UTC"),
        "command": visible(command),
        "signatures": [(spec, visible(str(scores[spec].signature))) for spec in overview.specs],
    }


def environment(what: str) -> Any:
    """The templates, or an error that says what must be installed to write ``what``."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtra(what, package="jinja2", extra="report") from None
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    templates.filters["num"] = lambda value, sign=False: number(value, sign=sign, page=True)
    templates.filters["visible"] = visible
    templates.filters["cut"] = lambda name: name if len(name) <= _LONGEST else f"{short(name)[: _LONGEST - 2]}…"
    return templates


def show_panels(panels: Iterable[Panel | None]) -> list[dict[str, Any]]:
    """Plots as a template shows them."""
    from markupsafe import Markup

    shown = []
    for panel in panels:
        if panel is not None:
            title, caption = visible(panel.title), visible(panel.caption).replace(" %", "\u00a0%")
            drawn = Markup(panel.form.draw().page(f"{title}. {caption}"))
            shown.append({"name": panel.name, "section": panel.section, "title": title, "caption": caption,
                          "form": panel.form.form, "cut": visible(panel.form.cut), "drawn": drawn})  # fmt: skip
    return shown


def read_style() -> str:
    """The style sheet of all pages."""
    return read_asset("page.css") + read_asset("figure.css")
