"""Every output by itself: faults, forbidden words, and limits on the scores of single items."""

import datetime
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from plainly.checks.rules import EMPTY, LANGUAGE, OPEN_END, WORDS, Limit, Rules
from plainly.core.errors import BadInput
from plainly.core.formatting import number
from plainly.core.metric import Floats
from plainly.core.result import Record
from plainly.core.tables import jsonable
from plainly.io.faults import output_faults
from plainly.text.languages.detection import detect, tally

_SEEN = {
    **output_faults.SEEN,
    EMPTY: "no text",
    OPEN_END: "no full stop at the end, where the source has one",
    LANGUAGE: "another language than the source's",
    WORDS: "a word that is not allowed",
}


@dataclass(frozen=True)
class Finding:
    """A rule that an output breaks: what, where in the text, and whether it is waived."""

    item: str
    rule: str
    message: str
    words: str = ""
    start: int = 0
    stop: int = 0
    value: float = math.nan
    waived: str = ""  # the reason
    system: str = ""
    place: int = 0

    @property
    def line(self) -> str:
        """What was found, in a line."""
        return f"item {self.item}: {self.message} {self.words}".rstrip()

    def json(self) -> Record:
        record: Record = jsonable(vars(self))
        return record


Segments = Mapping[str, Mapping[str, Floats]]  # scores of items by spec and output


def findings(
    rules: Rules,
    sources: Sequence[str] | None,
    outputs: Sequence[str],
    segments: Segments,
    *,
    ids: Sequence[str],
    system: str = "",
    today: datetime.date,
) -> Iterator[Finding]:
    """Every rule that an output breaks, by item."""
    expected = tally(sources[:200])[1] if sources is not None and LANGUAGE in rules.forbid else None
    for place, output in enumerate(outputs):
        source = sources[place] if sources is not None else ""
        broken = [*_faults(rules, source, output, expected), *_words(rules, output)]
        broken += _limits(rules.items, place, segments)
        for rule, message, start, stop, value in broken:
            waived = rules.waived(rule, ids[place], today)
            words = output_faults.excerpt(output, start, stop, blank="")
            yield Finding(ids[place], rule, message, words, start, stop, value, waived, system, place)


_Broken = tuple[str, str, int, int, float]  # rule, message, from and to which character, value


def _seen(code: str, start: int, stop: int, *, word: str = "") -> _Broken:
    words = f"{_SEEN[code]}{word and f' ({word})'}."
    return code, words[0].upper() + words[1:], start, stop, math.nan


def _faults(rules: Rules, source: str, output: str, expected: str | None) -> Iterator[_Broken]:
    forbidden = set(rules.forbid)
    if not output.strip():
        if EMPTY in forbidden:
            yield _seen(EMPTY, 0, 0)
        return
    for fault in output_faults.faults(source, output):
        if fault.code in forbidden:
            yield _seen(fault.code, fault.start, fault.stop)
    if OPEN_END in forbidden and output_faults.ends(source) and not output_faults.ends(output):
        end = len(output.rstrip())
        yield _seen(OPEN_END, max(end - 20, 0), end)
    if LANGUAGE in forbidden and (expected is not None or source):
        wanted = expected or detect(source)
        if wanted is not None and detect(output) not in (None, wanted):
            yield _seen(LANGUAGE, 0, len(output))


def _words(rules: Rules, output: str) -> Iterator[_Broken]:
    for word in rules.words:
        if match := pattern(word).search(output):
            yield _seen(WORDS, *match.span(), word=word)


@lru_cache(maxsize=10_000)
def pattern(word: str) -> re.Pattern[str]:
    """A word to be found whole and in any case, or a regular expression between slashes."""
    if len(word) > 2 and word.startswith("/") and word.endswith("/"):
        try:
            return re.compile(word[1:-1], re.IGNORECASE)
        except re.error as error:
            raise BadInput(f"{word!r} is no regular expression: {error}.") from None
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)


def _limits(limits: Sequence[Limit], place: int, segments: Segments) -> Iterator[_Broken]:
    for limit in limits:
        if limit.spec not in segments:
            continue
        value = float(segments[limit.spec][limit.output][place])
        if math.isnan(value):
            yield limit.text, f"{limit.spec} is undefined.", 0, 0, value
        elif not limit.holds(value):
            yield limit.text, f"{limit.spec} is {number(value)}, and {limit.text} is asked for.", 0, 0, value
