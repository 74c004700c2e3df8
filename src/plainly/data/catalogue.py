"""Which data sets there are, what is known of one, and getting them onto this machine: each as a result."""

import os
from dataclasses import dataclass
from pathlib import Path

from plainly.core.errors import BadInput
from plainly.core.formatting import size
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.data.card import Card, Kind, card, cards, system_names
from plainly.data.fetch import read, whereabouts

_SCHEMA = "plainly.data/1"


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
    return Catalogue(tuple(card for card in cards() if kind in (None, card.kind)))


def describe(name: str) -> Description:
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
