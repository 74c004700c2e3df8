"""What the checks look at: a set, its outputs, and what is counted in each of its collections of texts, once."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric
from plainly.core.result import Note
from plainly.io.faults.output_faults import Fault
from plainly.text.languages import detection

UNNAMED = "the outputs"  # of a system without a name
_STRETCH = 70
_MOST_IDS = 20  # in a warning


@dataclass(frozen=True)
class Collection:
    """A collection of texts that should be alike: the sources, the references, or one system's outputs."""

    name: str
    lines: tuple[str, ...]
    owners: tuple[int, ...]  # the item that each text belongs to
    names: tuple[str, ...]  # the ids of all items

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

    @cached_property
    def languages(self) -> tuple[list[str | None], str | None]:
        """The language of each text, where it can be told, and that of most of them."""
        return detection.tally(self.lines)

    def matching(self, pattern: re.Pattern[str]) -> list[int]:
        """Positions of the texts in which the pattern is found; quick where it is found nowhere."""
        if not pattern.search(self.joined):
            return []
        return [place for place, line in enumerate(self.lines) if pattern.search(line)]

    def ids(self, places: Sequence[int]) -> tuple[str, ...]:
        """The ids of the items that the texts at these places belong to."""
        items = dict.fromkeys(self.owners[place] for place in places)
        return tuple(self.names[item] for item in list(items)[:_MOST_IDS])

    def items(self, places: Sequence[int]) -> str:
        """The same in a message."""
        return some(self.ids(places), len(places))

    def copies(self, sources: Sequence[str]) -> list[int]:
        """Positions of the texts that are the source of their item, word for word."""
        pairs = enumerate(zip(self.lines, self.owners, strict=True))
        return [place for place, (line, owner) in pairs if line.split() == sources[owner].split()]

    def warning(self, message: str, places: Sequence[int]) -> Note:
        """What a check has seen at these places."""
        return warning(f"{self.name}: {message}", where=self.name, ids=self.ids(places))


@dataclass(frozen=True)
class Subject:
    """A set and its outputs; ``specs`` are the metrics that are to be used. ``language`` is that of the texts.

    ``published_references`` returns how many references each public set with the same sources has.

    A quick look takes a stretch of items at the beginning, the middle and the end, whose lines follow one another, so
    that a line lost anywhere before shows, and one reference of each item, by turns.
    """

    evalset: EvalSet
    outputs: Mapping[str, Sequence[str]]
    specs: Sequence[str] | Mapping[str, Metric] = ()
    language: str | None = None
    quick: bool = False
    published_references: Callable[[EvalSet], Mapping[str, int]] = field(default=lambda _: {})
    faults: dict[str, dict[str, dict[int, Fault]]] = field(default_factory=dict)  # by system, code and place; kept

    @cached_property
    def chosen(self) -> tuple[int, ...]:
        """The items that are looked at."""
        n = len(self.evalset)
        if not self.quick or n <= 3 * _STRETCH:
            return tuple(range(n))
        starts = (0, (n - _STRETCH) // 2, n - _STRETCH)
        return tuple(item for start in starts for item in range(start, start + _STRETCH))

    @cached_property
    def sources(self) -> Collection:
        if not self.evalset.has_sources:
            return Collection("the sources", (), (), ())
        return self._texts("the sources", self.evalset.sources)

    @cached_property
    def references(self) -> Collection:
        rows = self.evalset.references
        if self.quick:
            pairs = [(rows[i][i % len(rows[i])], i) for i in self.chosen if rows and rows[i]]
        else:
            pairs = [(reference, i) for i in self.chosen if rows for reference in rows[i]]
        lines, owners = zip(*pairs, strict=True) if pairs else ((), ())
        return Collection("the references", lines, owners, self.evalset.ids)

    @cached_property
    def systems(self) -> dict[str, Collection]:
        return {name: self._texts(name or UNNAMED, texts) for name, texts in self.outputs.items()}

    @property
    def of_set(self) -> Collection | None:
        """The texts that stand for the set: its sources, or what there is in their place."""
        return next(self.collections(), None)

    @property
    def expected_language(self) -> str | None:
        """The language that was said, or that the set's texts are in."""
        if self.language is not None:
            return self.language
        return self.of_set.languages[1] if self.of_set is not None else None

    def collections(self) -> Iterator[Collection]:
        """Sources, references and each system's outputs, those that are there."""
        for texts in (self.sources, self.references, *self.systems.values()):
            if texts.lines:
                yield texts

    def _texts(self, name: str, lines: Sequence[str]) -> Collection:
        return Collection(name, tuple(lines[i] for i in self.chosen), self.chosen, self.evalset.ids)


Check = Callable[[Subject], Iterator[Note]]
CHECKS: dict[str, Check] = {}


def check(code: str) -> Callable[[Check], Check]:
    """Register a check under its code, which its warnings get and codes.toml explains."""

    def register(run: Check) -> Check:
        CHECKS[code] = run
        return run

    return register


def warning(message: str, *, where: str = "", ids: tuple[str, ...] = ()) -> Note:
    """What a check has seen, where, and in which items."""
    return Note(message, kind="warning", where=where, ids=ids)


def some(ids: Sequence[str], count: int) -> str:
    """Items in a message: at most three ids, and how many more there are."""
    shown = ", ".join(ids[:3])
    more = f" and {count - 3} more" if count > 3 else ""
    return f"item{'s' if count > 1 else ''} {shown}{more}"
