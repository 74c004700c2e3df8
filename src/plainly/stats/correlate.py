"""Correlation of metric scores with human ratings, with every draw of a bootstrap in one matrix product.

A draw is a row of weights: how often each unit was drawn. Under weights, Pearson's correlation needs sums, Spearman's
needs sums of the ranks that the drawn sample has (ties share a rank), and Kendall's tau-b needs one quadratic form.
All three are exact for the drawn sample, so that a draw equals what the statistic gives for the drawn units.
Undefined (a constant, fewer than two units) is NaN, never 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.sampling import Sampling
from plainly.stats.agreement import ratio
from plainly.stats.estimate import Estimate
from plainly.stats.resample import Floats, Resampler, middle

Kind = Literal["pearson", "spearman", "kendall"]
Alternative = Literal["two-sided", "greater", "less"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_BLOCK = 4_000_000


@dataclass(frozen=True)
class Correlation:
    """One correlation and the p-value of none: the textbook's, which takes all units for independent, and from draws.

    ``p_drawn`` knows of groups: several outputs for one source say less than as many for different sources.
    """

    estimate: Estimate
    p_value: float
    p_drawn: float = float("nan")

    @property
    def value(self) -> float:
        return self.estimate.value

    @property
    def p(self) -> float:
        """The p-value to go by: from the draws where there are any."""
        return self.p_value if np.isnan(self.p_drawn) else self.p_drawn


def correlation(x: npt.ArrayLike, y: npt.ArrayLike, *, kind: Kind = "pearson") -> float:
    """The correlation of two lists of numbers; pairs in which one is NaN are left out."""
    left, right, _ = _pairs(x, y)
    return float(weighted(left, right, np.ones((1, len(left))), kind=kind)[0])


def p_value(
    x: npt.ArrayLike, y: npt.ArrayLike, *, kind: Kind = "pearson", alternative: Alternative = "two-sided"
) -> float:
    """The probability of a correlation this far from 0 if there is none: Student's t with n − 2 degrees of freedom.

    Kendall's is exact for few units without ties, and by the normal approximation otherwise.
    """
    left, right, _ = _pairs(x, y)
    value = correlation(left, right, kind=kind)
    if np.isnan(value):
        return float("nan")
    if kind == "kendall":
        from scipy.stats import kendalltau

        return float(kendalltau(left, right, alternative=alternative).pvalue)
    return t_test(value, df=len(left) - 2, alternative=alternative)


def t_test(correlation: float, *, df: int, alternative: Alternative = "two-sided") -> float:
    """p-value of a correlation with ``df`` degrees of freedom: n − 2, less one for each variable held fixed."""
    from scipy.special import stdtr

    if df < 1 or np.isnan(correlation):
        return float("nan")
    bounded = min(1.0, max(-1.0, correlation))
    # A perfect correlation may fall short of 1 by the last bit.
    t = np.inf * np.sign(bounded) if abs(bounded) > 1 - 1e-14 else bounded * np.sqrt(df / (1 - bounded**2))
    below = float(stdtr(df, t)) if np.isfinite(t) else float(t > 0)
    above = float(stdtr(df, -t)) if np.isfinite(t) else float(t < 0)
    return {"two-sided": min(1.0, 2 * min(below, above)), "greater": above, "less": below}[alternative]


def correlate(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    kind: Kind = "pearson",
    groups: Sequence[str] | None = None,
    sampling: Sampling | None = Sampling(),
) -> Correlation:
    """The correlation with a bootstrap interval. ``groups`` are drawn whole: all outputs of one source go together."""
    left, right, kept = _pairs(x, y)
    names = None if groups is None else tuple(compress(groups, kept))
    weights = draws(len(left), groups=names, sampling=sampling)
    value = correlation(left, right, kind=kind)
    drawn = weighted(left, right, weights, kind=kind) if len(weights) else np.empty(0)
    unit = "units" if groups is None else "groups"
    estimate = percentile(value, drawn, sampling=sampling, n=len(left), unit=unit)
    return Correlation(estimate, p_value(left, right, kind=kind), drawn_p_value(drawn))


def drawn_p_value(drawn: Floats) -> float:
    """Two-sided: how rarely the draws lie on the other side of 0, counted so that it is never 0 itself."""
    defined = drawn[~np.isnan(drawn)]
    if not len(defined):
        return float("nan")
    rarer = min(int(np.sum(defined <= 0)), int(np.sum(defined >= 0)))
    return min(1.0, 2 * (rarer + 1) / (len(defined) + 1))


def draws(n: int, *, groups: Sequence[str] | None = None, sampling: Sampling | None = Sampling()) -> Floats:
    """Bootstrap weights (resamples, n); units of a group are drawn together. Without sampling there are none."""
    if sampling is None or not n:
        return np.empty((0, n))
    together = None if groups is None else tuple(groups)
    return Resampler(n=n, resamples=sampling.resamples, seed=sampling.seed, groups=together).item_weights()


def percentile(value: float, drawn: Floats, *, sampling: Sampling | None, n: int, unit: str) -> Estimate:
    """An Estimate from the values of draws; those undefined are left out and said so."""
    settings = sampling or Sampling()
    defined = drawn[~np.isnan(drawn)]
    low, high = middle(defined if not np.isnan(value) else defined[:0], settings)
    lost = f", {len(drawn) - len(defined)} undefined" if len(defined) < len(drawn) else ""
    method = f"bootstrap-percentile over {unit}, {len(drawn)} draws{lost}"
    return Estimate(value, low, high, settings.level, n, method)


def over_units(value: float, *, kind: Kind, n: int, level: float, unit: str) -> Estimate:
    """An Estimate of a correlation between n units that are themselves a sample, by Fisher's z.

    Variances of z are those of Bonett and Wright (2000); Kendall's is Fieller, Hartley and Pearson's (1957). A perfect
    correlation has no interval.
    """
    from scipy.special import ndtri

    spare = n - (4 if kind == "kendall" else 3)
    low = high = float("nan")
    if spare > 0 and abs(value) < 1 - 1e-12:  # false for NaN
        variance = {"pearson": 1.0, "spearman": 1 + value**2 / 2, "kendall": 0.437}[kind] / spare
        reach = float(ndtri((1 + level) / 2)) * np.sqrt(variance)
        low, high = (float(np.tanh(np.arctanh(value) + side * reach)) for side in (-1, 1))
    return Estimate(value, low, high, level, n, f"Fisher z over {unit}")


def permutation_p_value(x: Floats, y: Floats, *, kind: Kind, permutations: int, rng: np.random.Generator) -> float:
    """Two-sided p-value that x and y are unrelated: y is put in other orders, all of them where they are few enough.

    Nothing is assumed of how the numbers are spread, only that each unit could have had any of the values.
    """
    from itertools import permutations as orders
    from math import factorial

    left, right, _ = _pairs(x, y)
    value, n = correlation(left, right, kind=kind), len(left)
    if np.isnan(value):
        return float("nan")
    exact = n < 13 and factorial(n) <= permutations
    order = (
        np.array(list(orders(range(n)))) if exact else rng.permuted(np.tile(np.arange(n), (permutations, 1)), axis=1)
    )
    drawn = rowwise(right[order], left, kind=kind)
    extreme = int(np.sum(np.abs(drawn) >= abs(value) - 1e-12))
    return extreme / len(order) if exact else (1 + extreme) / (1 + permutations)


def weighted(x: Floats, y: Floats, weights: Floats, *, kind: Kind = "pearson") -> Floats:
    """The correlation under each row of ``weights`` (whole numbers: how often each unit counts)."""
    if kind not in KINDS:
        raise BadInput(f"A correlation is {', '.join(KINDS)}; not {kind!r}.")
    if x.shape != y.shape or weights.shape[1:] != x.shape:
        raise BadInput(f"Correlations need two lists of one length; got {x.shape}, {y.shape} and {weights.shape}.")
    if not len(x):
        return np.full(len(weights), np.nan)
    if kind == "pearson":
        return _weighted_pearson(x, y, weights)
    if kind == "spearman":
        return _weighted_pearson(weighted_ranks(x, weights), weighted_ranks(y, weights), weights)
    return _weighted_tau(x, y, weights)


def weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """The rank of each value in the sample that each row of weights stands for, (draws, n); ties share their mean."""
    counts, place = _tied_weights(values, weights)
    return np.asarray(np.cumsum(counts, axis=1) - (counts - 1) / 2)[:, place]


def partial(x: npt.ArrayLike, y: npt.ArrayLike, fixed: npt.ArrayLike, *, weights: Floats | None = None) -> Floats:
    """Correlation of what is left of x and y when ``fixed`` has predicted them, under each row of weights or once."""
    columns = np.column_stack([np.asarray(x, float), np.asarray(y, float), np.asarray(fixed, float)])
    if np.isnan(columns).any():
        raise BadInput("A partial correlation needs every value of every unit; leave out those with gaps first.")
    weights = np.ones((1, len(columns))) if weights is None else weights
    centred = columns - columns.mean(axis=0)
    total, sums = weights.sum(axis=1)[:, None, None], weights @ centred
    k = columns.shape[1]
    products = (weights @ (centred[:, :, None] * centred[:, None, :]).reshape(-1, k * k)).reshape(-1, k, k)
    covariances = products / total - sums[:, :, None] * sums[:, None, :] / total**2
    scale = np.sqrt(np.abs(np.diagonal(covariances, axis1=1, axis2=2)))
    usable: npt.NDArray[np.bool_] = np.all(scale > 1e-9, axis=1)
    safe = np.where(usable[:, None], scale, 1.0)
    among = covariances / (safe[:, :, None] * safe[:, None, :])
    held = among[:, 2:, 2:]
    # A variable that the others determine leaves nothing to correlate.
    usable &= np.linalg.cond(held) < 1e12
    held = np.where(usable[:, None, None], held, np.eye(k - 2))
    left = among[:, :2, :2] - among[:, :2, 2:] @ np.linalg.solve(held, among[:, 2:, :2])
    usable &= (left[:, 0, 0] > 1e-12) & (left[:, 1, 1] > 1e-12)
    return np.where(usable, ratio(left[:, 0, 1], np.sqrt(np.abs(left[:, 0, 0] * left[:, 1, 1]))), np.nan)


def rowwise(x: Floats, y: Floats, *, kind: Kind = "pearson") -> Floats:
    """The correlation of each row of x with the same row of y (or with y, if that is one list)."""
    y = np.broadcast_to(y, x.shape)
    if kind == "kendall":
        left, right = np.triu_indices(x.shape[1], 1)
        taus = np.empty(len(x))
        step = max(1, _BLOCK // max(1, len(left)))
        for start in range(0, len(x), step):
            part = slice(start, start + step)
            order_x = np.sign(x[part][:, left] - x[part][:, right])
            order_y = np.sign(y[part][:, left] - y[part][:, right])
            untied = np.sqrt((order_x**2).sum(axis=1)) * np.sqrt((order_y**2).sum(axis=1))
            taus[part] = ratio((order_x * order_y).sum(axis=1), untied)
        return taus
    if kind == "spearman":
        from scipy.stats import rankdata

        undefined = np.isnan(x + y).any(axis=1, keepdims=True)
        x = np.where(undefined, np.nan, rankdata(x, axis=1))
        y = np.where(undefined, np.nan, rankdata(y, axis=1))
    # Less the first column before the mean: a constant row is then exactly 0, not the noise of its mean.
    x, y = x - x[:, :1], y - y[:, :1]
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    spread = np.sqrt((x**2).sum(axis=1)) * np.sqrt((y**2).sum(axis=1))
    return np.clip(ratio((x * y).sum(axis=1), spread), -1.0, 1.0)


def _weighted_pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    total = weights.sum(axis=1)
    if x.ndim == 1:
        x, y = x - np.median(x), y - np.median(y)
        spread = np.stack([x, y, x * x, y * y, x * y], axis=1)
        sx, sy, sxx, syy, sxy = (weights @ spread).T
    else:
        x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
        sx, sy = (weights * x).sum(axis=1), (weights * y).sum(axis=1)
        sxx, syy = (weights * x * x).sum(axis=1), (weights * y * y).sum(axis=1)
        sxy = (weights * x * y).sum(axis=1)
    vx, vy = sxx - ratio(sx * sx, total), syy - ratio(sy * sy, total)
    # Rounding leaves a trace of variance in a constant; relative to the squares it is nothing.
    flat = (vx <= 1e-13 * sxx) | (vy <= 1e-13 * syy)
    values = np.where(flat, np.nan, ratio(sxy - ratio(sx * sy, total), np.sqrt(np.abs(vx)) * np.sqrt(np.abs(vy))))
    return np.clip(values, -1.0, 1.0)


def _weighted_tau(x: Floats, y: Floats, weights: Floats) -> Floats:
    """tau-b: (concordant − discordant) / √(pairs not tied in x · pairs not tied in y), Kendall 1945."""
    n = len(x)
    concord = np.zeros(len(weights))
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        part = slice(start, start + step)
        signs = np.sign(x[part, None] - x) * np.sign(y[part, None] - y)
        concord += (weights[:, part] * (weights @ signs.T)).sum(axis=1)
    total = weights.sum(axis=1) ** 2
    untied = [total - (_tied_weights(values, weights)[0] ** 2).sum(axis=1) for values in (x, y)]
    return np.clip(ratio(concord, np.sqrt(untied[0]) * np.sqrt(untied[1])), -1.0, 1.0)


def _tied_weights(values: Floats, weights: Floats) -> tuple[Floats, npt.NDArray[np.intp]]:
    """The weight of each distinct value under each row of weights, in rising order, and each value's place there."""
    _, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    return np.add.reduceat(weights[:, order], starts, axis=1), place


def _pairs(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Two lists without the units in which one is NaN, and which units were kept."""
    left, right = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if left.ndim != 1 or left.shape != right.shape:
        raise BadInput(f"A correlation needs two lists of one length; got shapes {left.shape} and {right.shape}.")
    kept = ~(np.isnan(left) | np.isnan(right))
    return left[kept], right[kept], kept
