"""Texts with known errors: sources, their versions in plain language, and edits of these.

Each line of ``edits/AUTHOR-NN.jsonl`` has a ``source``, a sound version (``plain``) and its edits: ``wrong`` ones, each
of which makes the text wrong in one thing, ``same`` ones, which keep the meaning, and ``lost`` ones, which leave
something out. ``edits/GUIDE.md`` is what the eighteen authors were told. They knew no rule and no other pair.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "edits"
HELD_OUT = ("en5", "de5")  # authors of whose texts nothing is learned: precision is measured on them
Edit = tuple[int, int, str]  # start and end in the plain version, and what stands there afterwards


@dataclass(frozen=True)
class Item:
    """A source, its sound version and the edits of this, with their places."""

    author: str
    language: str
    source: str
    plain: str
    wrong: tuple[tuple[str, Edit], ...]  # with the group of the error
    same: tuple[Edit, ...]


@dataclass(frozen=True)
class Version:
    """A text made from an item; a wrong one has the group of the error, its place, and the text without it."""

    item: Item
    output: str
    group: str = ""
    place: tuple[int, int] = (0, 0)
    sound: str = ""


def read_items(*, held_out: bool) -> Iterator[Item]:
    """Yield the items of the authors that are held out, or of the others."""
    for file in sorted(FOLDER.glob("*.jsonl")):
        author = file.name.partition("-")[0]
        if (author in HELD_OUT) == held_out:
            for line in file.read_text(encoding="utf-8").splitlines():
                yield _read(author, json.loads(line))


def _read(author: str, row: dict[str, Any]) -> Item:
    plain = row["plain"]

    def place(old: str, new: str) -> Edit:
        start = plain.index(old)
        return start, start + len(old), new

    wrong = tuple((group, place(old, new)) for group, old, new in row["wrong"])
    return Item(author, row["language"], row["source"], plain, wrong, tuple(place(*edit) for edit in row["same"]))


def make_versions(item: Item, rng: np.random.Generator, *, sound: int = 3) -> Iterator[Version]:
    """Yield sound versions of an item and one version for each wrong edit, reworded here and there."""
    for share in np.linspace(0, 0.8, sound):
        yield _apply(item, _draw(item, share, rng))
    for group, edit in item.wrong:
        yield _apply(item, _draw(item, 0.3, rng, beside=edit), group, edit)


def _draw(item: Item, share: float, rng: np.random.Generator, beside: Edit | None = None) -> list[Edit]:
    """Draw a share of the edits that keep the meaning, without overlap."""
    selection: list[Edit] = [] if beside is None else [beside]
    for edit in item.same:
        if rng.random() < share and all(edit[1] <= start or edit[0] >= end for start, end, _ in selection):
            selection.append(edit)
    return selection


def _apply(item: Item, edits: Sequence[Edit], group: str = "", wrong: Edit | None = None) -> Version:
    text, at, place = "", 0, (0, 0)
    for edit in sorted(edits):
        start, end, new = edit
        text += item.plain[at:start]
        if edit is wrong:
            place = _differing(item.plain[start:end], new, len(text))
        text += new
        at = end
    text += item.plain[at:]
    if wrong is None:
        return Version(item, text)
    return Version(item, text, group, place, _apply(item, [edit for edit in edits if edit is not wrong]).output)


def _differing(old: str, new: str, offset: int) -> tuple[int, int]:
    """Return the place of the words that differ: without those that both begin or end with."""
    before, after = old.split(" "), new.split(" ")
    first = next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
    last = next((at for at, pair in enumerate(zip(before[::-1], after[::-1], strict=False)) if pair[0] != pair[1]), 0)
    last = min(last, len(after) - first - 1)
    start = len(" ".join([*after[:first], ""])) if first else 0
    end = len(new) - (len(" ".join(["", *after[len(after) - last :]])) if last > 0 else 0)
    return offset + start, offset + max(end, start)
