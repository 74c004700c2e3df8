"""The labels that the page offers, by the sides on which a group has words; the typology says which there are.

Keys are the studio's own. The same key stands for the deletion and the insertion of a kind, because the side of the
chosen words already tells which of the two is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from plainly.typology import vocabulary

ERROR = "err"
_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "synonym": "s", "hyperonym": "h", "hyponym": "k", "s2p": "1", "p2s": "2", "verbf": "v", "POSchange": "c",
        "pron": "r", "fromPron": "w", "move": "m", "inprop": "p", "inmod": "m", "inoth": "o", "incst": "c",
        "delprop": "p", "delmod": "m", "deloth": "o", "delcst": "c", "a2p": "a", "p2a": "p", "split": "s",
        "merge": "g", "toImp": "i", "fromImp": "f", "pos2neg": "n", "neg2pos": "q", "err": "x",
    }
)  # fmt: skip
# The guide marks only the words of a negation: those that appear in the output, or those that are gone from the source.
_MORE_SIDES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"pos2neg": ("output",), "neg2pos": ("source",), "err": ("source", "output")}
)


@dataclass(frozen=True)
class Label:
    """An operation with the sides on which it is offered and the key that marks it."""

    operation: vocabulary.Operation
    sides: tuple[str, ...]
    key: str


@cache
def labels() -> dict[str, Label]:
    """All labels by name, in the typology's order."""
    return {
        operation.label: Label(
            operation, (operation.side, *_MORE_SIDES.get(operation.label, ())), _KEYS.get(operation.label, "")
        )
        for operation in vocabulary.operations()
    }


@cache
def allowed(source: bool, output: bool) -> frozenset[str]:
    """The labels for a group with words in the source, in the output or in both."""
    side = "both" if source and output else "source" if source else "output"
    return frozenset(name for name, label in labels().items() if side in label.sides)


def for_page() -> list[dict[str, object]]:
    """The labels as the page's script gets them."""
    return [
        {
            "name": name,
            "title": label.operation.title,
            "sides": list(label.sides),
            "key": label.key,
            "hint": label.operation.definition,
        }
        for name, label in labels().items()
    ]
