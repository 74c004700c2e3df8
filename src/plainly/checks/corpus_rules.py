"""Rules for a whole file: decided by an interval, so that they hold, fail, or cannot be told with so few items."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from plainly.checks.rules import Limit, Margin
from plainly.core.result import Record
from plainly.core.sampling import Sampling
from plainly.core.tables import jsonable
from plainly.scoring.scores import BinnedScores, Evaluation, Scores
from plainly.stats import paired
from plainly.stats.resample import Floats, Resampler

Outcome = Literal["holds", "fails", "cannot tell"]
_POWER = 0.8


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
        record: Record = jsonable(vars(self))
        return record


def decide_limit(limit: Limit, scores: Scores, sampling: Sampling, *, grouped: bool) -> Decision:
    """Whether a limit holds at the whole interval, fails at the whole of it, or lies inside it."""
    from scipy.special import ndtri

    value = scores.corpus[limit.output]
    estimate = scores.intervals.get(limit.output)
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
    outcome = _told(worst, best, aim)
    half = point - worst if point >= aim else best - point
    wanted = half * (1 + ndtri(_POWER) / ndtri((1 + sampling.level) / 2))
    needs = _needed(scores.n, wanted, abs(point - aim)) if outcome == "cannot tell" else None
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
    left_out = [_left_out(table, resampler) for table in (scores, others)]
    spread = paired.spread_of(sign * (left_out[0] - left_out[1]))
    error, freedom = spread.standard_error, spread.units - 1
    if not math.isfinite(error) or not math.isfinite(difference):
        return Decision(
            system, _says(margin), "cannot tell", sign * difference, math.nan, math.nan, scores.n, baseline=baseline
        )
    reach = float(stdtrit(freedom, sampling.level)) * error
    low, high = difference - reach, difference + reach
    p_value = (
        float(stdtr(freedom, -(difference + margin.margin) / error))
        if error > 0
        else float(difference < -margin.margin)
    )
    outcome = _told(low, high, -margin.margin)
    wanted = (float(stdtrit(freedom, sampling.level)) + float(stdtrit(freedom, _POWER))) * error
    needs = _needed(scores.n, wanted, abs(difference + margin.margin)) if outcome == "cannot tell" else None
    low, high = (low, high) if sign > 0 else (-high, -low)
    return Decision(system, _says(margin), outcome, sign * difference, low, high, scores.n, needs, p_value, baseline)


def _told(worst: float, best: float, aim: float) -> Outcome:
    return "holds" if worst >= aim else "fails" if best < aim else "cannot tell"


def wilson(hits: int, n: int, *, level: float) -> tuple[float, float]:
    """The interval of a share that is also right where nothing or everything was hit (Wilson 1927)."""
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    middle, spread = (hits + z * z / 2) / (n + z * z), z * math.sqrt(hits * (n - hits) / n + z * z / 4) / (n + z * z)
    return (0.0 if hits == 0 else middle - spread), (1.0 if hits == n else middle + spread)


def _unit(limit: Limit, scores: Scores) -> float:
    """What a hit would count where there was none: 100, where the metric says so or the limit is no fraction."""
    hundred = getattr(scores.metric, "scale", None) == 100 or (not limit.percent and limit.value >= 1)
    return 100.0 if hundred else 1.0


def _counts(segments: Floats, *, unit: float) -> tuple[int, int, float] | None:
    """Hits, of how many, and the value of a hit, where items are hit or missed; None for other scores."""
    values = segments[np.isfinite(segments)]
    kinds = [kind for kind in np.unique(values) if kind]
    if not len(values) or len(kinds) > 1 or (kinds and kinds[0] not in (1.0, 100.0)):
        return None
    return int(np.count_nonzero(values)), len(values), float(kinds[0]) if kinds else unit


def _left_out(scores: Scores, resampler: Resampler) -> Floats:
    units = resampler.units(scores.rows)
    return np.asarray(scores.metric.score(units.sum(axis=0) - units)[..., 0])


def _needed(n: int, half: float, distance: float) -> int | None:
    """About how many items tell a number from a limit at this distance, with a probability of 80 %."""
    if distance <= 0 or not math.isfinite(half):
        return None
    needed = n * (half / distance) ** 2
    return math.ceil(max(needed, n + 1)) if needed < 1e9 else None


def _says(margin: Margin) -> str:
    return f"{margin.spec} not worse than {margin.baseline} by more than {margin.margin:g}"
