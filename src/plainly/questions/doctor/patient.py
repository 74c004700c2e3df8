"""What the checks look at: a set, its outputs, and what is counted in each of its collections of texts, once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from plainly.evalset import EvalSet

Severity = Literal["error", "warning", "note"]
_STRETCH = 70


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or worth knowing: a code that can be explained, and what was seen where."""

    code: str
    message: str
    severity: Severity = "warning"
    where: str = ""
    ids: tuple[str, ...] = ()

    def payload(self) -> dict[str, object]:
        """As it stands in a command's JSON."""
        return {
            "code": self.code,
            "severity": self.severity,
            "where": self.where or None,
            "message": self.message,
            "items": list(self.ids),
        }


@dataclass(frozen=True)
class Texts:
    """A collection of texts that should be alike: the sources, the references, or one system's outputs."""

    name: str
    lines: tuple[str, ...]
    owners: tuple[int, ...]  # the item that each text belongs to

    @cached_property
    def joined(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def tokenised(self) -> float | None:
        """The share of commas and stops that have a space before them; None where there are too few to tell."""
        text = f"{self.joined}\n"
        apart, total = (sum(map(text.count, marks)) for marks in ((" , ", " . ", " .\n"), (", ", ". ", ".\n")))
        return apart / total if total >= 10 else None

    @cached_property
    def capitals(self) -> float | None:
        """The share of texts with a capital letter, of those with letters that have a case; None for too few."""
        cased = [line for line in self.lines if line.lower() != line.upper()]
        return sum(line != line.lower() for line in cased) / len(cased) if len(cased) >= 5 else None

    def matching(self, pattern: re.Pattern[str]) -> list[int]:
        """Positions of the texts in which the pattern is found; quick where it is found nowhere."""
        if not pattern.search(self.joined):
            return []
        return [place for place, line in enumerate(self.lines) if pattern.search(line)]


@dataclass(frozen=True)
class Patient:
    """A set and its outputs; ``specs`` are the metrics that are to be used. ``language`` is that of the texts.

    A quick look takes a stretch of items at the beginning, the middle and the end, whose lines follow one another, so
    that a line lost anywhere before shows, and one reference of each item, by turns.
    """

    evalset: EvalSet
    outputs: Mapping[str, Sequence[str]]
    specs: tuple[str, ...] = ()
    language: str | None = None
    quick: bool = False

    @cached_property
    def chosen(self) -> tuple[int, ...]:
        """The items that are looked at."""
        n = len(self.evalset)
        if not self.quick or n <= 3 * _STRETCH:
            return tuple(range(n))
        starts = (0, (n - _STRETCH) // 2, n - _STRETCH)
        return tuple(item for start in starts for item in range(start, start + _STRETCH))

    @cached_property
    def sources(self) -> Texts:
        if not self.evalset.has_sources:
            return Texts("the sources", (), ())
        return self._texts("the sources", self.evalset.sources)

    @cached_property
    def references(self) -> Texts:
        if not self.evalset.references:
            return Texts("the references", (), ())
        rows = self.evalset.references
        if self.quick:
            pairs = [(rows[i][i % len(rows[i])], i) for i in self.chosen if rows[i]]
        else:
            pairs = [(reference, i) for i in self.chosen for reference in rows[i]]
        return Texts("the references", tuple(text for text, _ in pairs), tuple(i for _, i in pairs))

    @cached_property
    def systems(self) -> dict[str, Texts]:
        return {name: self._texts(name or "the outputs", texts) for name, texts in self.outputs.items()}

    def collections(self) -> Iterator[Texts]:
        """Sources, references and each system's outputs, those that are there."""
        for texts in (self.sources, self.references, *self.systems.values()):
            if texts.lines:
                yield texts

    def ids(self, texts: Texts, places: Sequence[int], *, most: int = 20) -> tuple[str, ...]:
        """The ids of the items that texts at these places belong to."""
        items = dict.fromkeys(texts.owners[place] for place in places)
        return tuple(self.evalset.ids[item] for item in list(items)[:most])

    def _texts(self, name: str, lines: Sequence[str]) -> Texts:
        return Texts(name, tuple(lines[i] for i in self.chosen), self.chosen)


@dataclass(frozen=True)
class Check:
    """One check: what it is called, what it means, and the function that looks. ``quick`` ones run with every score."""

    code: str
    explanation: str
    run: Callable[[Patient], Iterator[Finding]]
    quick: bool = True


CHECKS: dict[str, Check] = {}


def check(
    code: str, explanation: str, *, quick: bool = True
) -> Callable[[Callable[[Patient], Iterator[Finding]]], Callable[[Patient], Iterator[Finding]]]:
    """Register a check under its code."""

    def register(run: Callable[[Patient], Iterator[Finding]]) -> Callable[[Patient], Iterator[Finding]]:
        CHECKS[code] = Check(code, " ".join(explanation.split()), run, quick)
        return run

    return register


def some(ids: Sequence[str], count: int) -> str:
    """Items in a message: at most three ids, and how many more there are."""
    shown = ", ".join(ids[:3])
    more = f" and {count - 3} more" if count > 3 else ""
    return f"item{'s' if count > 1 else ''} {shown}{more}"
