"""Public test sets, system outputs, ratings and annotations by name; each is a card, fetched once and checked always.

>>> evalset = load("asset/test")                # doctest: +SKIP
>>> outputs("asset/test", "ACCESS")             # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from plainly.data.card import KINDS, Card, File, Kind, card, cards, names, output_cards
from plainly.data.fetch import Progress, cache_directory, read, read_files, whereabouts
from plainly.data.readers import EVALSETS, TABLES, Table, read_lines
from plainly.errors import BadInput, UnknownName
from plainly.evalset import EvalSet

__all__ = [
    "KINDS",
    "Card",
    "File",
    "Kind",
    "Progress",
    "Table",
    "cache_directory",
    "card",
    "cards",
    "demo",
    "load",
    "names",
    "outputs",
    "paths",
    "systems",
    "table",
    "whereabouts",
]

_DEMO = Path(__file__).parent / "demo" / "demo.jsonl"


def load(name: str, *, progress: Progress | None = None) -> EvalSet:
    """The evaluation set of that name; downloads it at the first call and tells ``progress`` of it."""
    found = card(name)
    if found.reader not in EVALSETS or found.kind != "evalset":
        raise BadInput(f"{found.name!r} holds {found.kind}, which nothing can be scored on. See: plainly data list")
    return EVALSETS[found.reader](found, read(found, progress=progress))


def systems(name: str) -> tuple[str, ...]:
    """The systems whose outputs for an evaluation set have a name."""
    return tuple(dict.fromkeys(system for found in _output_cards(card(name)) for system in found.systems))


def outputs(name: str, system: str, *, progress: Progress | None = None) -> tuple[str, ...]:
    """What a system wrote for an evaluation set, one text an item."""
    wanted = card(name)
    for found in _output_cards(wanted):
        files = [file for file in found.files if file.system == system]
        if files:
            (local,) = read_files(found, files, progress=progress)
            texts = read_lines(local, found.items)
            if wanted.name in found.of:
                return tuple(texts)
            # The outputs are those of the set that this one chooses from; its ids are positions there, counted from 1.
            return tuple(texts[int(identifier) - 1] for identifier in load(name, progress=progress).ids)
    raise UnknownName(f"system of {wanted.name}", system, systems(name), see=f"plainly data info {wanted.name}")


def table(name: str, *, progress: Progress | None = None) -> Table:
    """Ratings or levels as columns; which columns there are is said by ``plainly data info NAME``."""
    found = card(name)
    if found.reader not in TABLES:
        raise BadInput(f"{found.name!r} holds {found.kind}, which are no table. See: plainly data info {found.name}")
    return TABLES[found.reader](found, read(found, progress=progress))


def paths(name: str, *, progress: Progress | None = None, repair: bool = False) -> dict[str, tuple[Path, ...]]:
    """Where the checked files of a data set lie, by role and in the card's order. ``repair`` replaces wrong ones."""
    found: dict[str, tuple[Path, ...]] = {}
    for local in read(card(name), progress=progress, repair=repair):
        found[local.file.role] = (*found.get(local.file.role, ()), local.path)
    return found


def demo() -> tuple[EvalSet, dict[str, tuple[str, ...]]]:
    """The small evaluation set that comes with plainly, and what some toy systems wrote for it."""
    import json

    rows = [json.loads(line) for line in _DEMO.read_text(encoding="utf-8").split("\n") if line]
    evalset = EvalSet.of(
        [row["source"] for row in rows],
        references=[row["references"] for row in rows],
        ids=[row["id"] for row in rows],
        groups=[row["group"] for row in rows],
        name="demo",
    )
    written: Mapping[str, str] = rows[0]["outputs"]
    return evalset, {system: tuple(row["outputs"][system] for row in rows) for system in written}


def _output_cards(wanted: Card) -> Iterator[Card]:
    if wanted.kind != "evalset":
        raise BadInput(
            f"{wanted.name!r} holds {wanted.kind}; only evaluation sets have systems. See: plainly data list"
        )
    yield from output_cards(wanted.name)
    if wanted.within:
        yield from output_cards(wanted.within)
