"""Public test sets, system outputs, ratings and annotations by name; each is a card, fetched once and checked always.

>>> evalset = load("asset/test")                # doctest: +SKIP
>>> outputs("asset/test", "ACCESS")             # doctest: +SKIP
"""

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.formatting import size
from plainly.core.metric import Metric
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.data.card import KINDS, Card, Kind, Local, card, cards, names, output_cards, source_cards, system_names
from plainly.data.fetch import read, whereabouts
from plainly.data.readers import EVALSETS, TABLES, jsonl_by_id, read_lines
from plainly.io import faults
from plainly.io.tables import Sheet

__all__ = ["KINDS", "Card", "card", "cards", "catalogue", "demo", "describe", "diagnose", "get", "load", "names"]
__all__ += ["outputs", "outputs_of", "paths", "system_names", "systems", "table"]

_DEMO = Path(__file__).parent / "demo" / "demo.jsonl"
_SCHEMA = "plainly.data/1"


def load(name: str, *, progress: Progress = no_progress) -> EvalSet:
    """The evaluation set of that name; downloads it at the first call and tells ``progress`` of it."""
    wanted = card(name)
    if wanted.reader not in EVALSETS or wanted.kind != "evalset":
        raise BadInput(f"{wanted.name!r} holds {wanted.kind}, which nothing can be scored on. See: plainly data list")
    evalset = EVALSETS[wanted.reader](wanted, read(wanted, progress=progress))
    return replace(evalset, language=wanted.language)


def outputs(name: str, system: str, *, progress: Progress = no_progress) -> tuple[str, ...]:
    """What a system wrote for an evaluation set, one text an item."""
    return outputs_of(name, [system], progress=progress)[system]


def outputs_of(name: str, wanted: Collection[str], *, progress: Progress = no_progress) -> dict[str, tuple[str, ...]]:
    """What each of some systems wrote for an evaluation set, fetched together."""
    evalset = card(name)
    texts: dict[str, tuple[str, ...]] = {}
    for held in output_cards(evalset):
        files = [file for file in held.files if file.system in wanted and file.system not in texts]
        local_files = read(held, files, progress=progress)
        whole = {local.file.system: _written(held, local, name) for local in local_files}
        if whole and evalset.name not in held.of:
            # The outputs are those of the set that this one chooses from; its ids are positions there, counted from 1.
            places = [int(identifier) - 1 for identifier in load(name, progress=progress).ids]
            whole = {system: [lines[place] for place in places] for system, lines in whole.items()}
        texts |= {system: tuple(lines) for system, lines in whole.items()}
    for system in wanted:
        if system not in texts:
            see = f"plainly data info {evalset.name}"
            raise UnknownName(f"system of {evalset.name}", system, system_names(name), see=see)
    return {system: texts[system] for system in wanted}


def systems(name: str) -> Mapping[str, tuple[str, ...]]:
    """The published outputs of a named set by system, read when they are used: ``systems("asset/test")["ACCESS"]``."""
    return _Outputs(name, system_names(name))


class _Outputs(Mapping[str, tuple[str, ...]]):
    def __init__(self, name: str, systems: tuple[str, ...]) -> None:
        self._name, self._systems = name, systems

    def __getitem__(self, system: str) -> tuple[str, ...]:
        return outputs(self._name, system)

    def __iter__(self) -> Iterator[str]:
        return iter(self._systems)

    def __len__(self) -> int:
        return len(self._systems)


def _written(held: Card, local: Local, name: str) -> list[str]:
    if held.reader == jsonl_by_id.__name__:
        return jsonl_by_id(local, load(name).ids)
    return read_lines(local, held.items)


def table(name: str, *, progress: Progress = no_progress) -> Sheet:
    """Ratings or levels as columns; which columns there are is said by ``plainly data info NAME``."""
    wanted = card(name)
    if wanted.reader not in TABLES:
        raise BadInput(f"{wanted.name!r} holds {wanted.kind}, which are no table. See: plainly data info {wanted.name}")
    return TABLES[wanted.reader](wanted, read(wanted, progress=progress))


def paths(name: str, *, progress: Progress = no_progress) -> dict[str, tuple[Path, ...]]:
    """Where the checked files of a data set lie, by role and in the card's order."""
    by_role: dict[str, tuple[Path, ...]] = {}
    for local in read(card(name), progress=progress):
        by_role[local.file.role] = (*by_role.get(local.file.role, ()), local.path)
    return by_role


def diagnose(
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    specs: Sequence[str] | Mapping[str, Metric] = (),
    *,
    quick: bool = False,
    only: Collection[str] = (),
) -> list[Note]:
    """The faults of inputs (``plainly.io.faults``), with what the cards know about the references of public sets."""
    return faults.diagnose(evalset, outputs, specs, quick=quick, only=only, published_references=published_references)


def published_references(evalset: EvalSet) -> dict[str, int]:
    """How many references each public set with exactly these sources has."""
    text = "\n".join(evalset.sources).encode("utf-8", "surrogatepass")
    same = source_cards(*(hashlib.sha256(text + end).hexdigest() for end in (b"\n", b"")))
    return {card.name: sum(file.role == "reference" for file in card.files) for card in same}


def demo() -> tuple[EvalSet, dict[str, tuple[str, ...]]]:
    """The small evaluation set that comes with plainly, and what some toy systems wrote for it."""
    rows = [json.loads(line) for line in _DEMO.read_text(encoding="utf-8").split("\n") if line]
    evalset = EvalSet.of(
        [row["source"] for row in rows],
        references=[row["references"] for row in rows],
        ids=[row["id"] for row in rows],
        groups=[row["group"] for row in rows],
        name="demo",
        language="en",
    )
    return evalset, {system: tuple(row["outputs"][system] for row in rows) for system in rows[0]["outputs"]}


@dataclass(frozen=True, repr=False)
class Catalogue(Result):
    """Data sets, one a row."""

    cards: tuple[Card, ...]

    def records(self) -> list[Record]:
        return list(map(_summary, self.cards))

    def json(self) -> Record:
        return {"schema": _SCHEMA, "sets": self.records()}

    def tables(self) -> list[Table]:
        header = ("name", "kind", "items", "size", "licence", "here", "title")
        rows = (
            (card.name, card.kind, f"{card.items:,}", size(card.size), card.licence, _here(card), card.title)
            for card in self.cards
        )
        return [Table(header, tuple(rows), text_columns=frozenset({0, 1, 4, 5, 6}))]


@dataclass(frozen=True, repr=False)
class Description(Result):
    """All that a card says, and where its files lie on this machine."""

    card: Card
    systems: tuple[str, ...]
    places: tuple[Path | None, ...]  # of the card's files; None for one that is not here

    def records(self) -> list[Record]:
        return [
            {
                **{name: getattr(file, name) for name in ("url", "size", "sha256", "role")},
                "system": file.system or None,
                "path": str(path) if path else None,
            }
            for file, path in zip(self.card.files, self.places, strict=True)
        ]

    def json(self) -> Record:
        said = ("description", "licence_url", "homepage", "citation", "reader", "notes", "of")
        more = {name: getattr(self.card, name) for name in said} | {"within": self.card.within or None}
        files = {"systems": self.systems, "files": self.records()}
        return {"schema": _SCHEMA, "set": _summary(self.card) | more | files}

    def tables(self) -> list[Table]:
        here = sum(path is not None for path in self.places)
        facts = {
            "kind": self.card.kind,
            "items": f"{self.card.items:,}",
            "files": f"{len(self.places)} ({size(self.card.size)}), {here} of them on this machine",
            "licence": f"{self.card.licence}  {self.card.licence_url}",
            "homepage": self.card.homepage,
            "outputs of": ", ".join(self.card.of),
            "chosen from": self.card.within,
        }
        rows = tuple((label, text) for label, text in facts.items() if text)
        return [Table((self.card.name, self.card.title), rows, text_columns=frozenset({0, 1}))]

    def notes(self) -> list[Note]:
        written = f"Systems: {', '.join(self.systems)}" if self.systems else ""
        paragraphs = (self.card.description, self.card.notes, written, self.card.citation)
        return [Note("\n\n".join(filter(None, paragraphs)), kind="claim")]


@dataclass(frozen=True, repr=False)
class Fetched(Result):
    """Data sets whose files were all checked, and where these lie."""

    sets: tuple[tuple[Card, tuple[Path, ...]], ...]

    def records(self) -> list[Record]:
        return [
            {"name": card.name, "licence": card.licence, "url": file.url, "path": str(path)}
            for card, paths in self.sets
            for file, path in zip(card.files, paths, strict=True)
        ]

    def json(self) -> Record:
        sets = [_summary(card) | {"paths": list(map(str, paths))} for card, paths in self.sets]
        return {"schema": _SCHEMA, "sets": sets}

    def tables(self) -> list[Table]:
        rows = tuple(
            (card.name, str(len(paths)), size(card.size), card.licence, os.path.commonpath([p.parent for p in paths]))
            for card, paths in self.sets
        )
        return [Table(("name", "files", "size", "licence", "where"), rows, text_columns=frozenset({0, 3, 4}))]

    def notes(self) -> list[Note]:
        return [Note("Every file is what its card says.")]


def catalogue(kind: Kind | None = None) -> Catalogue:
    """The data sets that there are, all or of one kind."""
    return Catalogue(tuple(card for card in cards() if kind in (None, card.kind)))


def describe(name: str) -> Description:
    """What is known of a data set, and where its files lie."""
    described = card(name)
    written_by = system_names(name) if described.kind == "evalset" else described.systems
    return Description(described, written_by, tuple(map(whereabouts, described.files)))


def get(*names: str, with_outputs: bool = False, progress: Progress = no_progress) -> Fetched:
    """Fetch data sets, ``with_outputs`` also those of systems; check every file and replace those that are wrong."""
    if not names:
        raise BadInput("No data set was named: data.get('asset/test'); data.names() are all.")
    chosen = {chosen.name: chosen for chosen in map(card, names)}
    if with_outputs:
        wanted = {name for card in chosen.values() for name in (card.name, card.within) if name}
        chosen |= {card.name: card for card in cards() if wanted.intersection(card.of)}
    local = [(card, read(card, progress=progress, repair=True)) for card in chosen.values()]
    return Fetched(tuple((card, tuple(file.path for file in files)) for card, files in local))


def _summary(card: Card) -> Record:
    said = {name: getattr(card, name) for name in ("name", "kind", "title", "items")}
    return said | {"bytes": card.size, "licence": card.licence, "here": _here(card) == "yes"}


def _here(card: Card) -> str:
    return "yes" if all(map(whereabouts, card.files)) else "no"
