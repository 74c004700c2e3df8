"""The texts and scores behind the item browser, as JSON that cannot end its script element."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from plainly.core.formatting import label, replace_surrogates
from plainly.factcheck.facts import FactChecks
from plainly.factcheck.pairs import Checked
from plainly.reporting.overview import Overview
from plainly.reporting.spans import PlacedGroup, PlacedOperations

# A script element ends at "</script"; "<!--" and the line separators have meanings of their own in HTML and JavaScript.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def payload(overview: Overview) -> dict[str, Any]:
    """Columns, not records: ``outputs[system][item]``, ``scores[metric][system][item]``."""
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
        "split": [_bits(overview.split.get(system)) for system in systems],
        "copied": [_bits(overview.copied.get(system)) for system in systems],
        "links": links and {"happened": list(links.happened), "links": [links.by_system[name] for name in systems]},
        "operations": _operations(overview.operations, systems) if overview.operations is not None else None,
        "facts": _facts(overview.facts, systems) if overview.facts is not None else None,
    }


def script_json(value: Any) -> str:
    """JSON for a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return replace_surrogates(re.sub("[<>&\u2028\u2029]", lambda special: _ESCAPES[special[0]], text))


def _segments(overview: Overview, system: str, spec: str) -> list[float | None]:
    scores = overview.evaluation[system][spec]
    values = scores.segments[scores.metric.outputs[0]].tolist()
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in values]


def _bits(mask: Any) -> str:
    return "" if mask is None else "".join("1" if true else "0" for true in mask)


def _operations(operations: PlacedOperations, systems: Sequence[str]) -> dict[str, Any]:
    labels = list(operations.labels)
    number = {label: place for place, label in enumerate(labels)}

    def groups(of_item: Sequence[PlacedGroup]) -> list[list[Any]]:
        return [[number[group.label], _flat(group.source), _flat(group.output)] for group in of_item]

    return {
        "labels": [
            {"label": label, "title": operations.labels[label], "kind": operations.kinds[label]} for label in labels
        ],
        "groups": [[groups(of_item) for of_item in operations.groups[system]] for system in systems],
    }


# How a finding is marked: as an operation of that kind is, so that colours mean one thing.
_MARKED = {"changed": "replace", "flipped": "other", "added": "add", "lost": "delete"}


def _facts(checks: FactChecks, systems: Sequence[str]) -> dict[str, Any]:
    number = {effect: place for place, effect in enumerate(_MARKED)}

    def findings(pair: Checked) -> list[list[Any]]:
        return [
            [number[finding.effect], _flat(finding.source), _flat(finding.output), finding.message]
            for finding in pair.findings
            if finding.effect in number and finding.sure >= checks.least
        ]

    return {
        "labels": [{"label": effect, "title": effect, "kind": kind} for effect, kind in _MARKED.items()],
        "findings": [[findings(pair) for pair in checks.checked[system]] for system in systems],
        "wrong": ["".join("0" if pair.faithful else "1" for pair in checks.checked[system]) for system in systems],
    }


def _flat(places: Sequence[tuple[int, int]]) -> list[int]:
    return [edge for place in places for edge in place]
