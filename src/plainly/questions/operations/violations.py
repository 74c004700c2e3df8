"""Annotations that break their own guide's rules, and labels on the wrong side put right."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from plainly.questions.operations.labelling import Annotated, annotated, payload
from plainly.result import Note, Record, Result, Table
from plainly.typology import formats
from plainly.typology.annotation import Pair, Violation, violations
from plainly.typology.annotation import repair as put_right


@dataclass(frozen=True, repr=False)
class Repair(Result):
    """What an annotation's guide does not allow in it, what was put right, and the pairs as they are then."""

    violations: tuple[Violation, ...]
    repaired: tuple[Violation, ...]
    pairs: tuple[Pair, ...]

    def save(self, path: str | Path) -> tuple[Path, ...]:
        """Write the repaired pairs in the format that the name ends in; returns the files written."""
        return formats.save(self.pairs, path)

    def records(self) -> list[Record]:
        return list(map(asdict, self.violations))

    def json(self) -> Record:
        repaired = [{"where": row.where, "label": row.label, "detail": row.detail} for row in self.repaired]
        return payload(self, findings=self.records(), repaired=repaired)

    def tables(self) -> list[Table]:
        rows = tuple(tuple(row.values()) for row in self.records())
        return [Table(("where", "what", "label", "detail"), rows, text_columns=frozenset(range(4)))]

    def notes(self) -> list[Note]:
        repaired = f"{len(self.repaired)} labels on the wrong side repaired"
        return [Note(f"{len(self.violations)} findings; {repaired}.")]


def repair(data: Annotated) -> Repair:
    """Look for what the guide does not allow, and turn labels on the wrong side into their counterparts."""
    pairs = annotated(data)
    fixed, changed = put_right(pairs)
    return Repair(tuple(violations(pairs)), tuple(changed), fixed)
