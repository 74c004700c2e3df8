"""The texts and scores behind the item browser, as JSON that cannot end its script element."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from plainly.pages.material import Material, OperationGroup, Operations
from plainly.pages.words import label

_SURROGATE = re.compile("[\ud800-\udfff]")
# A script element ends at "</script"; "<!--" and the line separators have meanings of their own in HTML and JavaScript.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def payload(material: Material) -> dict[str, Any]:
    """Columns, not records: ``outputs[system][item]``, ``scores[metric][system][item]``."""
    systems = material.systems
    return {
        "systems": [label(system) for system in systems],
        "metrics": [{"spec": spec, "better": material.metric(spec).better} for spec in material.specs],
        "ids": list(material.evalset.ids),
        "groups": list(material.evalset.groups) if material.evalset.groups is not None else None,
        "sources": list(material.evalset.sources) if material.evalset.has_sources else None,
        "references": [list(row) for row in material.evalset.references],
        "outputs": [list(material.outputs[system]) for system in systems] if material.outputs else [],
        "scores": [
            [[_short(value) for value in _segments(material, system, spec)] for system in systems]
            for spec in material.specs
        ],
        "split": [_bits(material.split.get(system)) for system in systems],
        "copied": [_bits(material.copied.get(system)) for system in systems],
        "operations": _operations(material.operations, material) if material.operations is not None else None,
    }


def script_json(value: Any) -> str:
    """JSON for a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _SURROGATE.sub("\ufffd", re.sub("[<>&\u2028\u2029]", lambda found: _ESCAPES[found[0]], text))


def _segments(material: Material, system: str, spec: str) -> list[float]:
    scores = material.evaluation[system][spec]
    return [float(value) for value in scores.segments[scores.metric.outputs[0]]]


def _short(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _bits(mask: Any) -> str:
    return "" if mask is None else "".join("1" if each else "0" for each in mask)


def _operations(found: Operations, material: Material) -> dict[str, Any]:
    labels = list(found.labels)
    number = {name: place for place, name in enumerate(labels)}

    def groups(of_item: tuple[OperationGroup, ...]) -> list[list[Any]]:
        return [[number[each.label], _flat(each.source), _flat(each.output)] for each in of_item]

    return {
        "labels": [{"label": name, "title": found.labels[name], "kind": found.kinds[name]} for name in labels],
        "groups": [[groups(of_item) for of_item in found.groups[system]] for system in material.systems],
    }


def _flat(places: tuple[tuple[int, int], ...]) -> list[int]:
    return [edge for place in places for edge in place]
