"""The public sets of ratings by name, with the texts that were rated and the references they can be scored against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from plainly import data
from plainly.data import Progress
from plainly.errors import UnknownName
from plainly.inputs.tables import Sheet
from plainly.ratings.read import judgements_of
from plainly.ratings.types import Judgements


def load(name: str, *, progress: Progress | None = None) -> Judgements:
    """The public ratings of that name (see ``PUBLIC``), or those of any card of ratings (see ``plainly data list``)."""
    if name in PUBLIC:
        return PUBLIC[name](progress)
    cards = [card.name for card in data.cards() if card.kind == "ratings"]
    if name not in cards:
        raise UnknownName("set of ratings", name, [*PUBLIC, *cards], see="plainly data list")
    return _card(name, progress)


def _simplicity_da(progress: Progress | None) -> Judgements:
    """Alva-Manchego et al. 2021: simplicity by rater, fluency and meaning as averages, all as z-scores too."""
    means = _card("simplicity-da/averages", progress)
    by_rater = _card("simplicity-da/ratings", progress)
    averaged = replace(means, ratings={name: means[name] for name in means if name not in by_rater})
    found = Judgements.together("simplicity-da", by_rater, averaged)
    return _with_references(
        found, {"asset": "asset/test", "turkcorpus": "turkcorpus/test", "hsplit": "hsplit/test"}, progress, join="all"
    )


def _acl2018(progress: Progress | None) -> Judgements:
    """Sulem et al. 2018: 28 systems and the four HSplit annotations on 70 sentences, with what they wrote."""
    found = Judgements.together("acl2018", _card("acl2018/ratings", progress), _card("hsplit/ratings", progress))
    rated = data.load("hsplit/first70", progress=progress)
    gem = data.load("turkcorpus/test-gem", progress=progress)
    published = set(data.systems("hsplit/first70"))
    texts: dict[str, Sequence[str]] = {
        system: data.outputs("hsplit/first70", system, progress=progress)
        for system in found.systems
        if system in published
    }
    texts |= {f"HSplit{number + 1}": [row[number] for row in rated.references] for number in range(4)}
    texts["Identity"] = gem.sources
    texts["SBMT-SARI"] = data.outputs("turkcorpus/test-legacy", "xu/SBMT-SARI", progress=progress)
    texts["Simple Wikipedia"] = [
        row[0] for row in data.load("turkcorpus/test-simplewiki", progress=progress).references
    ]
    found = replace(
        found,
        sources={item: gem.sources[int(item) - 1] for item in found.items},
        outputs={
            (system, item): lines[int(item) - 1]
            for system, lines in texts.items()
            if system in found.systems
            for item in found.items
        },
        types={system: _acl_type(system) for system in found.systems},
    )
    return _with_references(found, {"turkcorpus": "turkcorpus/test-gem", "hsplit": "hsplit/test"}, progress)


def _acl_type(system: str) -> str:
    if system.startswith("HSplit") or system == "Simple Wikipedia":
        return "human"
    if system == "Identity":
        return "copy"
    return "neural" if "NTS" in system else "statistical or rules"


def _structural(progress: Progress | None) -> Judgements:
    means = _card("structural-simplicity/averages", progress)
    by_rater = _card("structural-simplicity/ratings", progress)
    averaged = replace(means, ratings={name: means[name] for name in means if name not in by_rater})
    return Judgements.together("structural-simplicity", by_rater, averaged)


def _card(name: str, progress: Progress | None) -> Judgements:
    columns = data.table(name, progress=progress).columns
    return judgements_of(_table(name, columns), name=name)


def _table(name: str, columns: Mapping[str, Sequence[Any]]) -> Sheet:
    # A byte-order mark at the start of a file is part of its first column's name.
    cleaned = {column.lstrip("\ufeff"): list(cells) for column, cells in columns.items()}
    return Sheet(cleaned, name, range(2, 2 + len(next(iter(cleaned.values())))), "row")


def _with_references(
    found: Judgements, sets: Mapping[str, str], progress: Progress | None, *, join: str = ""
) -> Judgements:
    references: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, card in sets.items():
        evalset = data.load(card, progress=progress)
        references[name] = {item: evalset.references[int(item) - 1] for item in found.items}
    if join:
        joined = {item: tuple(text for of in references.values() for text in of[item]) for item in found.items}
        references = {join: joined, **references}
    return replace(found, references=references)


PUBLIC: dict[str, Callable[[Progress | None], Judgements]] = {
    "simplicity-da": _simplicity_da,
    "acl2018": _acl2018,
    "structural-simplicity": _structural,
}
