"""Every output by itself: faults, forbidden words, and limits on the scores of single items."""

import datetime
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from plainly.errors import BadInput
from plainly.protocol import Floats
from plainly.questions.doctor import faults
from plainly.questions.gate.rules import EMPTY, LANGUAGE, OPEN_END, WORDS, Limit, Rules
from plainly.render.numbers import number
from plainly.result import Record
from plainly.text.languages.detection import detect, tally

_MEANINGS = {
    EMPTY: "There is no text.",
    "preamble": "It begins with words to the person who asked.",
    "sign-off": "It ends with words to the person who asked.",
    "refusal": "It refuses, or asks a question, instead of giving a text.",
    "markdown": "It has marks of Markdown.",
    "wrapper": "It is wrapped in JSON, XML or quotation marks.",
    "prompt-leak": "It holds words of the prompt.",
    "several-answers": "It offers several answers.",
    "broken": "A sentence cannot be read.",
    "repetition": "It repeats itself.",
    "blow-up": "It is far longer than its source.",
    "unfinished": "It stops in the middle of a sentence.",
    "line-breaks": "It has line breaks, and its source has none.",
    OPEN_END: "It has no full stop at its end, and its source has.",
    LANGUAGE: "It is in another language than its source.",
    WORDS: "It has a word that is not allowed.",
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

    def json(self) -> Record:
        value = None if math.isnan(self.value) else self.value
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "value": value}


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
            words = " ".join(output[start:stop].split())
            shown = words if len(words) <= 60 else f"{words[:40]}…{words[-15:]}"
            yield Finding(ids[place], rule, message, shown, start, stop, value, waived, system, place)


_Broken = tuple[str, str, int, int, float]


def _faults(rules: Rules, source: str, output: str, expected: str | None) -> Iterator[_Broken]:
    forbidden = set(rules.forbid)
    if not output.strip():
        if EMPTY in forbidden:
            yield EMPTY, _MEANINGS[EMPTY], 0, 0, math.nan
        return
    for fault in faults.faults(source, output):
        if fault.code in forbidden:
            yield fault.code, _MEANINGS[fault.code], fault.start, fault.stop, math.nan
    if OPEN_END in forbidden and faults.ends(source) and not faults.ends(output):
        end = len(output.rstrip())
        yield OPEN_END, _MEANINGS[OPEN_END], max(end - 20, 0), end, math.nan
    if LANGUAGE in forbidden and (expected is not None or source):
        wanted = expected or detect(source)
        spoken = detect(output)
        if wanted is not None and spoken not in (None, wanted):
            yield LANGUAGE, _MEANINGS[LANGUAGE], 0, len(output), math.nan


def _words(rules: Rules, output: str) -> Iterator[_Broken]:
    for word in rules.words:
        match = pattern(word).search(output)
        if match:
            yield WORDS, f"{_MEANINGS[WORDS]} ({word})", *match.span(), math.nan


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
        value = float(segments[limit.spec][limit.output][place])
        if math.isnan(value):
            yield limit.text, f"{limit.spec} is undefined.", 0, 0, value
        elif not limit.holds(value):
            yield limit.text, f"{limit.spec} is {number(value)}, and {limit.text} is asked for.", 0, 0, value
