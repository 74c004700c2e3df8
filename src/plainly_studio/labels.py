"""The labels that the page offers, by the sides on which a group has words; the typology says which there are."""

from functools import cache
from typing import Any

from plainly.core.files import read_shipped
from plainly.typology import vocabulary

ERROR = "err"


@cache
def labels() -> dict[str, dict[str, Any]]:
    """All labels by name, in the typology's order, as the page's script gets them."""
    own = read_shipped(__file__, "labels.toml")
    return {
        operation.label: {
            "name": operation.label,
            "title": operation.title,
            "sides": [operation.side, *own["more_sides"].get(operation.label, ())],
            "key": own["keys"].get(operation.label, ""),
            "hint": operation.definition,
            "class": operation.linguistic,
        }
        for operation in vocabulary.operations()
    }


@cache
def allowed(source: bool, output: bool) -> frozenset[str]:
    """The labels for a group with words in the source, in the output or in both."""
    side = "both" if source and output else "source" if source else "output"
    return frozenset(name for name, label in labels().items() if side in label["sides"])
