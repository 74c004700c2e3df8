"""The page's tables: scores, who beats whom, what the gate says, and how the page was made."""

import datetime
import math
import os
from typing import Any

from plainly.checks.gate import Gate
from plainly.core.formatting import interval, label, number, p_value, visible
from plainly.core.result import Table
from plainly.reporting.marks import direction
from plainly.reporting.overview import Overview
from plainly.scoring.comparisons import Comparisons

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
        columns.append({"name": name, "hint": direction(metric), "part": False, "better": metric.better})
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
