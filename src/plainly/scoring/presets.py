"""Metrics as another tool has them by default, so that a number here can stand beside a number from there."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.core.files import read_shipped
from plainly.core.formatting import listed


@cache
def presets() -> dict[str, dict[str, Any]]:
    """By the name that is typed: the tool, and its metrics as specs."""
    return dict(read_shipped(__file__, "variants.toml")["like"])


def like(name: str, specs: Sequence[str], *, references: bool = True) -> tuple[list[str], str]:
    """The specs as a tool has them, all that it has where none are named; and a sentence that says what was set.

    What is written with parameters stays as it is written.
    """
    tool, its_specs = presets()[name]["name"], presets()[name]["specs"]
    if not specs and not references:
        its_specs = [spec for spec in its_specs if "references" not in registry.metric(spec).needs]
        if not its_specs:
            raise BadInput(f"The metrics of {tool} need references.")
    known = {registry.metric(spec).name: spec for spec in its_specs}
    unknown = [spec for spec in specs if "(" not in spec and spec not in known]
    if unknown:
        raise BadInput(f"{tool} has no {listed(unknown)} that is known here; it has {listed(list(known))}.")
    chosen = [known.get(spec, spec) for spec in specs] or list(its_specs)
    return chosen, f"As {tool} computes them by default: {', '.join(chosen)}."
