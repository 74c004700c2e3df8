"""How rules are decided: every output by itself, and the whole corpus by an interval.

A rule for every output forbids faults or words, or limits the score of an item. A rule for the corpus holds, fails, or
cannot be decided with so few items.
"""

import datetime
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from plainly.checks.rules import EMPTY, LANGUAGE, OPEN_END, WORDS, Limit, Margin, Rules
from plainly.core.errors import BadInput
from plainly.core.formatting import number
from plainly.core.metric import Floats
from plainly.core.result import Record
from plainly.core.sampling import Sampling
from plainly.core.tables import jsonable
from plainly.io.faults import output_faults
from plainly.scoring.scores import BinnedScores, Evaluation, Scores
from plainly.stats import paired
from plainly.stats.resample import Resampler
from plainly.text.languages.detection import detect, tally

Outcome = Literal["holds", "fails", "cannot tell"]
_POWER = 0.8
_MESSAGES = {
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
        return dict(jsonable(vars(self)))


Segments = Mapping[str, Mapping[str, Floats]]  # scores of items by spec and output


def find_violations(
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


def _violation(code: str, start: int, stop: int, *, word: str = "") -> _Broken:
    words = f"{_MESSAGES[code]}{word and f' ({word})'}."
    return code, words[0].upper() + words[1:], start, stop, math.nan


def _faults(rules: Rules, source: str, output: str, expected: str | None) -> Iterator[_Broken]:
    forbidden = set(rules.forbid)
    if not output.strip():
        if EMPTY in forbidden:
            yield _violation(EMPTY, 0, 0)
        return
    for fault in output_faults.faults(source, output):
        if fault.code in forbidden:
            yield _violation(fault.code, fault.start, fault.stop)
    if OPEN_END in forbidden and output_faults.ends(source) and not output_faults.ends(output):
        end = len(output.rstrip())
        yield _violation(OPEN_END, max(end - 20, 0), end)
    if LANGUAGE in forbidden and (expected is not None or source):
        wanted = expected or detect(source)
        if wanted is not None and detect(output) not in (None, wanted):
            yield _violation(LANGUAGE, 0, len(output))


def _words(rules: Rules, output: str) -> Iterator[_Broken]:
    for word in rules.words:
        if match := pattern(word).search(output):
            yield _violation(WORDS, *match.span(), word=word)


@lru_cache(maxsize=10_000)
def pattern(word: str) -> re.Pattern[str]:
    """A word to be found whole and in any case, or a regular expression between slashes."""
    if len(word) > 2 and word.startswith("/") and word.endswith("/"):
        try:
            return re.compile(word[1:-1], re.IGNORECASE)
        except re.error as error:
            raise BadInput(f"{word!r} is not a regular expression: {error}.") from None
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


@dataclass(frozen=True)
class Decision:
    """One rule on one system: the number, its interval, and what that says of the rule.

    ``needs`` is about how many items would settle it, where these do not; None where no number would.
    """

    system: str
    rule: str
    outcome: Outcome
    value: float
    low: float
    high: float
    n: int
    needs: int | None = None
    p_value: float = math.nan
    baseline: str = ""
    waived: str = ""

    def json(self) -> Record:
        return dict(jsonable(vars(self)))


def decide_limit(limit: Limit, scores: Scores, sampling: Sampling, *, grouped: bool) -> Decision:
    """Whether a limit holds at the whole interval, fails at the whole of it, or lies inside it."""
    from scipy.special import ndtri

    value, estimate = scores.corpus[limit.output], scores.intervals.get(limit.output)
    low, high = (estimate.low, estimate.high) if estimate is not None else (math.nan, math.nan)
    segments = np.zeros(0) if isinstance(scores, BinnedScores) else scores.segments[limit.output]
    if not grouped and (counts := _counts(segments, unit=_unit(limit, scores))) is not None:
        low, high = wilson(*counts[:2], level=sampling.level)
        low, high = low * counts[2], high * counts[2]
    largest = float(np.nanmax(np.abs(segments), initial=0.0)) or _unit(limit, scores)
    bound = limit.value / 100 if limit.percent and largest <= 1 else limit.value
    sign = 1 if limit.side == ">=" else -1
    worst, best = (low, high) if sign > 0 else (-high, -low)
    aim, point = sign * bound, sign * value
    if math.isnan(worst) or math.isnan(point):
        return Decision(scores.system, limit.text, "cannot tell", value, low, high, scores.n)
    outcome = _decide(worst, best, aim)
    half = point - worst if point >= aim else best - point
    wanted = half * (1 + ndtri(_POWER) / ndtri((1 + sampling.level) / 2))
    needs = _items_needed(scores.n, wanted, abs(point - aim)) if outcome == "cannot tell" else None
    return Decision(scores.system, limit.text, outcome, value, low, high, scores.n, needs)


def decide_margin(margin: Margin, system: str, baseline: str, evaluation: Evaluation, sampling: Sampling) -> Decision:
    """Non-inferiority: is the system worse than the baseline by less than the margin? One-sided, by Student's t.

    The spread is that of the jackknife over items, or over whole groups, of the difference between two corpus scores.
    """
    from scipy.special import stdtr, stdtrit

    scores, others = (evaluation.systems[name][margin.spec] for name in (system, baseline))
    sign = -1 if scores.metric.better == "lower" else 1
    difference = sign * (float(scores) - float(others))
    resampler = Resampler(len(scores.rows), sampling.resamples, sampling.seed, evaluation.evalset.groups)
    left_out = [_leave_one_out(table, resampler) for table in (scores, others)]
    spread = paired.spread_of(sign * (left_out[0] - left_out[1]))
    error, freedom = spread.standard_error, spread.units - 1
    if not math.isfinite(error) or not math.isfinite(difference):
        return Decision(
            system, margin.rule, "cannot tell", sign * difference, math.nan, math.nan, scores.n, baseline=baseline
        )
    reach = float(stdtrit(freedom, sampling.level)) * error
    low, high = difference - reach, difference + reach
    beyond = difference + margin.margin
    p_value = float(stdtr(freedom, -beyond / error)) if error > 0 else float(beyond < 0)
    outcome = _decide(low, high, -margin.margin)
    wanted = (float(stdtrit(freedom, sampling.level)) + float(stdtrit(freedom, _POWER))) * error
    needs = _items_needed(scores.n, wanted, abs(beyond)) if outcome == "cannot tell" else None
    low, high = (low, high) if sign > 0 else (-high, -low)
    return Decision(system, margin.rule, outcome, sign * difference, low, high, scores.n, needs, p_value, baseline)


def _decide(worst: float, best: float, aim: float) -> Outcome:
    return "holds" if worst >= aim else "fails" if best < aim else "cannot tell"


def wilson(hits: int, n: int, *, level: float) -> tuple[float, float]:
    """The interval of a share that is also right where nothing or everything was hit (Wilson 1927)."""
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    middle, spread = (hits + z * z / 2) / (n + z * z), z * math.sqrt(hits * (n - hits) / n + z * z / 4) / (n + z * z)
    return (0.0 if hits == 0 else middle - spread), (1.0 if hits == n else middle + spread)


def _unit(limit: Limit, scores: Scores) -> float:
    """What a hit would count where there was none: 100 where the limit is not a fraction."""
    hundred = not limit.percent and limit.value >= 1
    return 100.0 if hundred else 1.0


def _counts(segments: Floats, *, unit: float) -> tuple[int, int, float] | None:
    """Hits, of how many, and the value of a hit, where items are hit or missed; None for other scores."""
    values = segments[np.isfinite(segments)]
    kinds = [kind for kind in np.unique(values) if kind]
    if not len(values) or len(kinds) > 1 or (kinds and kinds[0] not in (1.0, 100.0)):
        return None
    return int(np.count_nonzero(values)), len(values), float(kinds[0]) if kinds else unit


def _leave_one_out(scores: Scores, resampler: Resampler) -> Floats:
    units = resampler.units(scores.rows)
    return np.asarray(scores.metric.score(units.sum(axis=0) - units)[..., 0])


def _items_needed(n: int, half: float, distance: float) -> int | None:
    """About how many items tell a number from a limit at this distance, with a probability of 80 %."""
    if distance <= 0 or not math.isfinite(half):
        return None
    needed = n * (half / distance) ** 2
    return math.ceil(max(needed, n + 1)) if needed < 1e9 else None
