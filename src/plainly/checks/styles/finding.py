"""Apply rules to prose, with a limit on the time that a rule may take."""

import bisect
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from plainly.checks.styles.rules import Area, ProseUnit, StyleRule, TextUnit
from plainly.text import sentences

# Seconds of processor time that a rule may take: for any text, and for each million characters. The slowest of our own
# rules takes 0.3 s for a million.
SECONDS, SECONDS_PER_MILLION = 2.0, 20.0
_TIMED = 20  # areas between two looks at the clock
_BETWEEN = "\n\n"  # what stands between two units of a document


@dataclass(frozen=True)
class StyleMatch:
    """A place that breaks a rule: characters of a unit. The whole first unit stands for a fault of the document.

    ``suggestions`` are what could stand there; "" means that the words can be left out.
    """

    rule: StyleRule
    unit: int
    start: int
    stop: int
    message: str
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True)
class StyleMatches:
    """All matches in a text, by place, and sentences about rules that could not be applied to all of it."""

    matches: tuple[StyleMatch, ...]
    warnings: tuple[str, ...] = ()


def find_matches(
    text: str | Sequence[ProseUnit], rules: Iterable[StyleRule], *, language: str = "en", seconds: float = SECONDS
) -> StyleMatches:
    """Find what breaks rules in the units of a document, or in one text, which is then one paragraph.

    A rule that takes too long is not applied to the rest of the text, and a warning names it.
    """
    units = [TextUnit(text)] if isinstance(text, str) else text
    limit = seconds + SECONDS_PER_MILLION * sum(len(unit.text) for unit in units) / 1_000_000
    areas = _Areas(units, language)
    matches: list[StyleMatch] = []
    warnings: list[str] = []
    for rule in rules:
        own: list[StyleMatch] = []
        try:
            for match in _apply(rule, areas, limit):
                own.append(match)
                if len(own) == rule.limit:
                    break
        except TimeoutError:
            warnings.append(
                f"The rule {rule.name} took more than {limit:.0f} seconds, so that it was not applied to all of the "
                "text. Its regular expression needs to be simpler."
            )
        matches += own
    matches.sort(key=lambda match: (match.unit, match.start, match.stop, match.rule.name))
    return StyleMatches(tuple(matches), tuple(warnings))


@dataclass(frozen=True)
class _Placed:
    """An area, the number of its first unit and where in that unit it begins."""

    area: Area
    unit: int
    offset: int


class _Areas:
    """The areas of a document that rules of each scope are applied to; sentences are split once."""

    def __init__(self, units: Sequence[ProseUnit], language: str) -> None:
        self.units, self.language = units, language
        self.blocks = [_Placed(Area(unit.text, language, (unit,)), at, 0) for at, unit in enumerate(units)]
        self._sentences: list[list[_Placed]] | None = None
        prose = [(at, unit) for at, unit in enumerate(units) if unit.kind != "identifier"]
        self.numbers = [at for at, _ in prose]
        self.starts = [0, *accumulate(len(unit.text) + len(_BETWEEN) for _, unit in prose)][: len(prose)]
        text = _BETWEEN.join(unit.text for _, unit in prose)
        self.whole = _Placed(Area(text, language, [unit for _, unit in prose]), 0, 0)

    @property
    def sentences(self) -> list[list[_Placed]]:
        if self._sentences is None:
            self._sentences = [
                [
                    _Placed(Area(text := unit.text[start:stop], self.language, (TextUnit(text, unit.kind),)), at, start)
                    for start, stop in sentences.spans(unit.text, self.language)
                ]
                for at, unit in enumerate(self.units)
            ]
        return self._sentences

    def of(self, rule: StyleRule) -> Iterator[_Placed]:
        kinds = {unit.kind for unit in self.units}
        for is_split, placed in ((False, self.blocks), (True, None)):
            wanted = {kind for kind in kinds if rule.applies_to(kind, sentence=is_split)}
            if wanted:
                for at, unit in enumerate(self.units):
                    if unit.kind in wanted:
                        yield from self.sentences[at] if placed is None else (placed[at],)

    def locate(self, start: int, stop: int) -> tuple[int, int, int]:
        """Return the unit that a place of the whole text begins in, and the characters of that unit."""
        at = bisect.bisect_right(self.starts, start) - 1
        unit, begin = self.numbers[at], self.starts[at]
        size = len(self.units[unit].text)
        return unit, min(start - begin, size), min(stop - begin, size)


def _apply(rule: StyleRule, areas: _Areas, limit: float) -> Iterator[StyleMatch]:
    if rule.is_about_documents and areas.numbers:
        for hit in rule.find(areas.whole.area, limit):
            yield StyleMatch(rule, *areas.locate(hit.start, hit.stop), rule.fill(hit), hit.suggestions)
    left, began = limit, time.thread_time()
    for number, placed in enumerate(areas.of(rule), 1):
        for hit in rule.find(placed.area, left):
            span = placed.offset + hit.start, placed.offset + hit.stop
            yield StyleMatch(rule, placed.unit, *span, rule.fill(hit), hit.suggestions)
        if number % _TIMED == 0:
            left = limit - (time.thread_time() - began)
            if left <= 0:
                raise TimeoutError
