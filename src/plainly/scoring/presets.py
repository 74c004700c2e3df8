"""Metrics as another tool has them by default, so that a number here can stand beside a number from there."""

from collections.abc import Sequence
from typing import Any

from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.core.files import read_shipped
from plainly.core.formatting import listed

# By the name that is typed: the tool, and its metrics as specs.
PRESETS: dict[str, dict[str, Any]] = read_shipped(__file__, "variants.toml")["like"]


def like(name: str, specs: Sequence[str], *, references: bool = True) -> tuple[list[str], str]:
    """The specs as a tool has them, all that it has where none are named; and a sentence that says what was set.

    What is written with parameters stays as it is written.
    """
    tool = PRESETS[name]["name"]
    metrics = registry.metrics(PRESETS[name]["specs"])
    if not specs and not references:
        metrics = {spec: metric for spec, metric in metrics.items() if "references" not in metric.needs}
        if not metrics:
            raise BadInput(f"The metrics of {tool} need references.")
    by_name = {metric.name: spec for spec, metric in metrics.items()}
    unknown = [spec for spec in specs if "(" not in spec and spec not in by_name]
    if unknown:
        raise BadInput(f"{tool} has no {listed(unknown)} that is known here; it has {listed(list(by_name))}.")
    resolved = [by_name.get(spec, spec) for spec in specs] or list(metrics)
    return resolved, f"As {tool} computes them by default: {', '.join(resolved)}."
