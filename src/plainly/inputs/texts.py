"""What people hand over from Python: lists, mappings, an evaluation set; one way in for every public function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from plainly.errors import BadInput
from plainly.evalset import EvalSet
from plainly.inputs.checks import check_references

Outputs = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Inputs:
    """An evaluation set and what systems wrote for it. ``single`` when one unnamed list of outputs was given."""

    evalset: EvalSet
    outputs: Outputs
    single: bool = False


class TextArguments(TypedDict, total=False):
    """The keywords with which every public function takes texts."""

    outputs: Sequence[str] | Outputs
    sources: Sequence[str]
    references: Sequence[Sequence[str]]
    evalset: EvalSet
    ids: Sequence[str]
    groups: Sequence[str]
    columns: Mapping[str, str | Sequence[str]]


def take(
    data: Any = None,
    *,
    outputs: Sequence[str] | Outputs | None = None,
    sources: Sequence[str] | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    ids: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
) -> Inputs:
    """Check what was handed over and put it into the shape that everything else works on."""
    if outputs is None:
        raise BadInput("No outputs were given: outputs=[…] or outputs={'A': […], 'B': […]}.")
    if isinstance(outputs, str):
        raise BadInput("outputs is a list of texts (or a mapping from system to such a list), not one text.")
    systems: Outputs = outputs if isinstance(outputs, Mapping) else {"": outputs}
    if not systems:
        raise BadInput("No outputs were given.")
    if evalset is not None:
        if sources is not None or references is not None:
            raise BadInput("Give either an evaluation set or sources and references, not both.")
        return Inputs(evalset, systems, single=not isinstance(outputs, Mapping))
    n = len(sources) if sources is not None else len(next(iter(systems.values())))
    checked = check_references(references, n, sources=sources) if references is not None else None
    made = EvalSet.of(sources, references=checked, groups=groups, ids=ids, items=n)
    return Inputs(made, systems, single=not isinstance(outputs, Mapping))
