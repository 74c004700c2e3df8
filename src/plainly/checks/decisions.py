"""Decisions on rules: on every output by itself, and on the whole corpus by an interval.

A rule for every output forbids faults or words, or limits the score of an item. A rule for the corpus holds, fails, or
cannot be decided with so few items.
"""

import datetime
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from plainly.checks.rules import EMPTY, LANGUAGE, OPEN_END, WORDS, Limit, Margin, Rules
from plainly.core.errors import BadInput
from plainly.core.evalset import Absent
from plainly.core.formatting import number
from plainly.core.metric import Floats
from plainly.core.result import Record
from plainly.core.sampling import Sampling
from plainly.core.tables import jsonable
from plainly.io.faults import output_faults
from plainly.scoring.scores import BinnedScores, Evaluation, Scores
from plainly.stats import paired
from plainly.stats.resample import Resampler
from plainly.text.languages.detection import detect, detect_all

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
    """A rule that an output breaks: which, where in the text, and whether it is waived."""

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
        """The finding in a line."""
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
    """Yield every rule that an output breaks, by item; absent outputs break none."""
    language = detect_all(sources[:200])[1] if sources is not None and LANGUAGE in rules.forbid else None
    for place, output in enumerate(outputs):
        if isinstance(output, Absent):
            continue
        source = sources[place] if sources is not None else ""
        violations = [
            *_text_violations(rules, source, output, language),
            *_limit_violations(rules.items, place, segments),
        ]
        for rule, message, start, stop, value in violations:
            waived = rules.waiver_reason(rule, ids[place], today)
            words = output_faults.excerpt(output, start, stop, blank="")
            yield Finding(ids[place], rule, message, words, start, stop, value, waived, system, place)


_Violation = tuple[str, str, int, int, float]  # rule, message, first character, end, value


def _text_violations(rules: Rules, source: str, output: str, language: str | None) -> Iterator[_Violation]:
    spans = [(EMPTY, 0, 0)]
    if output.strip():
        spans = [(fault.code, fault.start, fault.stop) for fault in output_faults.faults(source, output)]
        if output_faults.ends(source) and not output_faults.ends(output):
            end = len(output.rstrip())
            spans.append((OPEN_END, max(end - 20, 0), end))
        expected = (language or detect(source)) if LANGUAGE in rules.forbid else None
        if expected is not None and detect(output) not in (None, expected):
            spans.append((LANGUAGE, 0, len(output)))
    violations = [(*span, "") for span in spans if span[0] in rules.forbid]
    matches = ((word, pattern(word).search(output)) for word in rules.words)
    violations += [(WORDS, *match.span(), f" ({word})") for word, match in matches if match]
    for code, start, stop, word in violations:
        message = f"{_MESSAGES[code]}{word}."
        yield code, message[0].upper() + message[1:], start, stop, math.nan


@lru_cache(maxsize=10_000)
def pattern(word: str) -> re.Pattern[str]:
    """Compile a word, which matches whole and in any case, or a regular expression between slashes."""
    if len(word) > 2 and word.startswith("/") and word.endswith("/"):
        try:
            return re.compile(word[1:-1], re.IGNORECASE)
        except re.error as error:
            raise BadInput(f"{word!r} is not a regular expression: {error}.") from None
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)


def _limit_violations(limits: Sequence[Limit], place: int, segments: Segments) -> Iterator[_Violation]:
    for limit in limits:
        if limit.spec not in segments:
            continue
        value = float(segments[limit.spec][limit.output][place])
        if math.isnan(value):
            yield limit.text, f"{limit.spec} is undefined.", 0, 0, value
        elif not limit.holds(value):
            yield limit.text, f"{limit.spec} is {number(value)}, but the rule is {limit.text}.", 0, 0, value


@dataclass(frozen=True)
class Decision:
    """One rule on one system: the number, its interval, and what follows for the rule.

    ``needs`` is about how many items would decide it, where these cannot; None where no number would.
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


def decide_limit(limit: Limit, scores: Scores, sampling: Sampling, *, has_groups: bool) -> Decision:
    """Decide a limit: it holds at the whole interval, fails at the whole interval, or lies inside it."""
    from scipy.special import ndtri

    value, estimate = scores.corpus[limit.output], scores.intervals.get(limit.output)
    low, high = (estimate.low, estimate.high) if estimate is not None else (math.nan, math.nan)
    segments = np.zeros(0) if isinstance(scores, BinnedScores) else scores.segments[limit.output]
    unit = 100.0 if not limit.percent and limit.value >= 1 else 1.0  # the value of a hit where there was none
    if not has_groups and (counts := _count_hits(segments, unit=unit)) is not None:
        low, high = (end * counts[2] for end in wilson_interval(*counts[:2], level=sampling.level))
    largest = float(np.nanmax(np.abs(segments), initial=0.0)) or unit
    bound = limit.value / 100 if limit.percent and largest <= 1 else limit.value
    sign = 1 if limit.side == ">=" else -1
    worst, best = (low, high) if sign > 0 else (-high, -low)
    aim, point = sign * bound, sign * value
    if math.isnan(worst) or math.isnan(point):
        return Decision(scores.system, limit.text, "cannot tell", value, low, high, scores.n)
    half = point - worst if point >= aim else best - point
    reach = half * (1 + ndtri(_POWER) / ndtri((1 + sampling.level) / 2))
    decision = Decision(scores.system, limit.text, _decide(worst, best, aim), value, low, high, scores.n)
    return _with_items_needed(decision, reach, abs(point - aim))


def decide_margin(margin: Margin, system: str, baseline: str, evaluation: Evaluation, sampling: Sampling) -> Decision:
    """Decide non-inferiority: is the system worse than the baseline by less than the margin? One-sided Student's t.

    The spread is that of the jackknife over items, or over whole groups, of the difference between two corpus scores.
    """
    from scipy.special import stdtr, stdtrit

    pair = [evaluation.systems[name][margin.spec] for name in (system, baseline)]
    n, metric = pair[0].n, pair[0].metric
    sign = -1 if metric.better == "lower" else 1
    difference = sign * (float(pair[0]) - float(pair[1]))
    resampler = Resampler(len(pair[0].rows), sampling.resamples, sampling.seed, evaluation.evalset.groups)
    units = [resampler.units(scores.rows) for scores in pair]
    left_out = [metric.score(rows.sum(axis=0) - rows)[..., 0] for rows in units]
    spread = paired.spread_of(sign * (left_out[0] - left_out[1]))
    error, freedom = spread.standard_error, spread.units - 1
    value = sign * difference
    if not math.isfinite(error) or not math.isfinite(difference):
        return Decision(system, margin.rule, "cannot tell", value, math.nan, math.nan, n, baseline=baseline)
    critical = float(stdtrit(freedom, sampling.level))
    low, high = difference - critical * error, difference + critical * error
    beyond = difference + margin.margin
    p_value = float(stdtr(freedom, -beyond / error)) if error > 0 else float(beyond < 0)
    outcome = _decide(low, high, -margin.margin)
    low, high = (low, high) if sign > 0 else (-high, -low)
    decision = Decision(system, margin.rule, outcome, value, low, high, n, p_value=p_value, baseline=baseline)
    return _with_items_needed(decision, (critical + float(stdtrit(freedom, _POWER))) * error, abs(beyond))


def _decide(worst: float, best: float, aim: float) -> Outcome:
    return "holds" if worst >= aim else "fails" if best < aim else "cannot tell"


def _with_items_needed(decision: Decision, reach: float, distance: float) -> Decision:
    """Add about how many items tell a number from a limit at this distance, with a probability of 80 %."""
    if decision.outcome != "cannot tell" or distance <= 0 or not math.isfinite(reach):
        return decision
    needed = decision.n * (reach / distance) ** 2
    return replace(decision, needs=math.ceil(max(needed, decision.n + 1)) if needed < 1e9 else None)


def wilson_interval(hits: int, n: int, *, level: float) -> tuple[float, float]:
    """Return the interval of a share, which also suits shares of nothing and of everything (Wilson 1927)."""
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    middle, spread = (hits + z * z / 2) / (n + z * z), z * math.sqrt(hits * (n - hits) / n + z * z / 4) / (n + z * z)
    return (0.0 if hits == 0 else middle - spread), (1.0 if hits == n else middle + spread)


def _count_hits(segments: Floats, *, unit: float) -> tuple[int, int, float] | None:
    """Return the hits, the items and the value of a hit, where each item is a hit or a miss; None for other scores."""
    values = segments[np.isfinite(segments)]
    kinds = [kind for kind in np.unique(values) if kind]
    if not len(values) or len(kinds) > 1 or (kinds and kinds[0] not in (1.0, 100.0)):
        return None
    return int(np.count_nonzero(values)), len(values), float(kinds[0]) if kinds else unit
