"""Decisions on rules for the whole corpus, by an interval: a rule holds, fails, or cannot be decided with so few items.

A rule about a single item is decided by its value.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from plainly.checks.rules import Limit, Margin
from plainly.core.metric import Floats
from plainly.core.result import Record
from plainly.core.sampling import Sampling
from plainly.core.tables import jsonable
from plainly.scoring.scores import BinnedScores, Evaluation, Scores
from plainly.stats import paired
from plainly.stats.resample import Resampler

Verdict = Literal["holds", "fails", "cannot tell"]
_POWER = 0.8


@dataclass(frozen=True)
class Decision:
    """One rule on one system: the number, its interval, and what follows for the rule.

    ``needs`` is about how many items would decide it, where these cannot; None where no number would.
    """

    system: str
    rule: str
    outcome: Verdict
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
    if scores.n == 1 and not math.isnan(point):  # The rule is about this text, not about others like it.
        worst = best = point
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
    if n == 1 and math.isfinite(difference):  # The rule is about this text, not about others like it.
        single = _decide(difference, difference, -margin.margin)
        return Decision(system, margin.rule, single, value, math.nan, math.nan, n, baseline=baseline)
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


def _decide(worst: float, best: float, aim: float) -> Verdict:
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
