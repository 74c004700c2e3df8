"""What the checks look at: a set, its outputs, and what is counted in each of its collections of texts, once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from plainly.evalset import EvalSet

Severity = Literal["error", "warning", "note"]


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
        apart = len(_APART.findall(self.joined))
        total = apart + len(_ATTACHED.findall(self.joined))
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


_APART = re.compile(r"(?<=\w) [.,](?=\s|$)", re.MULTILINE)
_ATTACHED = re.compile(r"(?<=\w)[.,](?=\s|$)", re.MULTILINE)


@dataclass(frozen=True)
class Patient:
    """A set and its outputs; ``specs`` are the metrics that are to be used. ``language`` is that of the texts."""

    evalset: EvalSet
    outputs: Mapping[str, Sequence[str]]
    specs: tuple[str, ...] = ()
    language: str | None = None
    most: int | None = field(default=None)  # look at no more than this many items

    @cached_property
    def chosen(self) -> tuple[int, ...]:
        """The items that are looked at: all, or enough of them, evenly spread."""
        n = len(self.evalset)
        if self.most is None or n <= self.most:
            return tuple(range(n))
        return tuple(int(k * n / self.most) for k in range(self.most))

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
