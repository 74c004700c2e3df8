"""SWiPE's pages as annotated pairs: its marked edits become groups of tokens, its categories labels of ours.

Texts are put together from the edits, with a space between them, so that an edit is always a run of whole tokens.
"""

import json
from collections.abc import Mapping
from typing import Any

from plainly.typology.annotation import Group, Pair
from plainly.typology.vocabulary import mapping, operation


def read_pages(text: str) -> tuple[Pair, ...]:
    """Every page of a file; edits whose category has no label with us are left out."""
    return tuple(_pair(str(number), page) for number, page in enumerate(json.loads(text), 1))


def _pair(identifier: str, page: Mapping[str, Any]) -> Pair:
    source: list[str] = []
    output: list[str] = []
    places: dict[int, tuple[range, range]] = {}
    for edit in page["edits"]:
        equal = edit.get("text", "").split() if edit["type"] == "equal" else []
        gone, new = equal + edit.get("delete", "").split(), equal + edit.get("insert", "").split()
        places[edit["idx"]] = range(len(source), len(source) + len(gone)), range(len(output), len(output) + len(new))
        source += gone
        output += new
    groups = []
    for mark in page["annotations"]:
        tokens = [
            tuple(token for edit in mark["opis"] if edit in places for token in places[edit][side]) for side in (0, 1)
        ]
        label = _label(mark["category"], bool(tokens[0]), bool(tokens[1]))
        if label:
            side = operation(label).side
            kept = [tokens[0] if side != "output" else (), tokens[1] if side != "source" else ()]
            groups.append(Group(kept[0], kept[1], label))
    return Pair(identifier, " ".join(source), " ".join(output), tuple(groups)).checked()


def _label(category: str, in_source: bool, in_output: bool) -> str:
    """The likeliest label of a category that can stand on the sides where the edit has words; "" where none can."""
    for label in mapping("swipe").types.get(category, ()):
        side = operation(label).side
        if (in_source and side != "output") or (in_output and side != "source"):
            return label
    return ""
