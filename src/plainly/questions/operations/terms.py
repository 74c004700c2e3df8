"""The operations themselves: what each label means, and how other typologies map onto them."""

from __future__ import annotations

from dataclasses import dataclass

from plainly.questions.operations.labelling import SCHEMA
from plainly.result import Note, Record, Result, Table
from plainly.typology import vocabulary
from plainly.typology.vocabulary import Operation, OtherTypology

_FIELDS = ("label", "guide", "paper", "title", "side", "computational", "linguistic", "definition")
_EXPLAINED = 3  # So few operations are explained; more are listed.


@dataclass(frozen=True, repr=False)
class Glossary(Result):
    """Operations with their classes and definitions."""

    operations: tuple[Operation, ...]

    def records(self) -> list[Record]:
        return [{name: getattr(operation, name) for name in _FIELDS} for operation in self.operations]

    def json(self) -> Record:
        rows = zip(self.records(), self.operations, strict=True)
        return {"schema": SCHEMA, "operations": [record | {"example": entry.example} for record, entry in rows]}

    def tables(self) -> list[Table]:
        told = "definition" if len(self.operations) <= _EXPLAINED else "title"
        columns = ("label", "guide", "side", "computational", "linguistic", told)
        rows = tuple(tuple(record[column] for column in columns) for record in self.records())
        header = ("label", "guide", "side", "class", "kind", "what it is")
        return [Table(header, rows, text_columns=frozenset(range(6)))]

    def notes(self) -> list[Note]:
        return [
            Note("{label}: {source} → {output}  ({groups})".format(label=entry.label, **entry.example), "claim")
            for entry in self.operations
            if len(self.operations) <= _EXPLAINED
        ]


@dataclass(frozen=True, repr=False)
class TypologyMapping(Result):
    """How another typology's types correspond to our labels."""

    other: OtherTypology

    def records(self) -> list[Record]:
        return [{"type": theirs, "labels": ", ".join(ours)} for theirs, ours in self.other.types.items()]

    def json(self) -> Record:
        return {
            "schema": SCHEMA,
            "mapping": self.other.name,
            "source": self.other.source,
            "types": dict(self.other.types),
            "back": dict(self.other.back),
        }

    def tables(self) -> list[Table]:
        rows = tuple((row["type"], row["labels"] or "–") for row in self.records())
        return [Table((self.other.name, "ours, the likeliest first"), rows, text_columns=frozenset({0, 1}))]

    def notes(self) -> list[Note]:
        return [Note(f"{self.other.title}. {self.other.source} {self.other.lossy}")]


def glossary(names: str | None = None) -> Glossary:
    """The operations that names stand for (labels, or classes such as ``lexical``), or all."""
    wanted = vocabulary.resolve(names) if names else vocabulary.all_labels()
    return Glossary(tuple(operation for operation in vocabulary.operations() if operation.label in wanted))


def typology_mapping(name: str) -> TypologyMapping:
    """Another typology by name: salsa, ts-anno or easse."""
    return TypologyMapping(vocabulary.mapping(name))
