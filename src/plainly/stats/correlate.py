"""Correlation of metric scores with human ratings, and its jackknife in one matrix product.

A sample is a row of weights: how often each unit counts. Under weights, Pearson's correlation needs sums, Spearman's
needs sums of the ranks that the sample has (ties share a rank), and Kendall's tau-b needs one quadratic form. All three
are exact: the value under weights equals what the statistic gives for the weighted units. Undefined (a constant, fewer
than two units) is NaN, never 0.

Intervals and p-values leave out one group of units at a time (all outputs of one source) and use Student's t, because
with few groups a bootstrap errs twice as often as it says (see docs/statistics.md).

Pairwise accuracy is the share of pairs of outputs that the metric orders as people do. Kendall's tau penalises a metric
that ties where people tie. Here, following Deutsch, Foster and Freitag (2023, "Ties Matter"), a pair counts as right
when both order it the same way or both tie, and differences of scores below the threshold that suits the metric best
count as ties (tie calibration).

Correlations of two metrics with the same ratings depend on each other. The tests at the end of this module, of which
metric correlates better, take that into account.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from itertools import permutations as all_orders
from math import factorial
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.stats.resample import Estimate, Floats, Ints, ratio, sum_by_group

Kind = Literal["pearson", "spearman", "kendall"]
Alternative = Literal["two-sided", "greater", "less"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Fewer groups have neither an interval nor a p-value.
FEWEST_GROUPS = 6
_MOST_BLOCKS = 1000
_BLOCK = 4_000_000


@dataclass(frozen=True)
class Correlation:
    """One correlation with its p-value, and the textbook's (``p_independent``), which takes units for independent.

    They differ where units come in groups: several outputs for one source are less evidence than as many for different
    sources.
    """

    estimate: Estimate
    p_value: float
    p_independent: float = float("nan")

    @property
    def value(self) -> float:
        return self.estimate.value


def correlation(x: npt.ArrayLike, y: npt.ArrayLike, *, kind: Kind = "pearson") -> float:
    """Return the correlation of two lists of numbers; pairs in which one is NaN are left out."""
    left, right, _ = _pairs(x, y)
    return float(weighted_correlation(left, right, np.ones((1, len(left))), kind=kind)[0])


def p_value(
    x: npt.ArrayLike, y: npt.ArrayLike, *, kind: Kind = "pearson", alternative: Alternative = "two-sided"
) -> float:
    """Return the probability of a correlation this far from 0 by chance: Student's t with n − 2 degrees of freedom.

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
    """Return the p-value of a correlation with ``df`` degrees of freedom: n − 2, less one for each control variable."""
    from scipy.special import stdtr

    if df < 1 or np.isnan(correlation):
        return float("nan")
    # A perfect correlation may fall short of 1 by the last bit, or exceed it.
    is_perfect = abs(correlation) > 1 - 1e-14
    t = np.copysign(np.inf, correlation) if is_perfect else correlation * np.sqrt(df / (1 - correlation**2))
    below, above = float(stdtr(df, t)), float(stdtr(df, -t))
    return {"two-sided": min(1.0, 2 * min(below, above)), "greater": above, "less": below}[alternative]


def correlate(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    kind: Kind = "pearson",
    groups: Sequence[str] | None = None,
    level: float = 0.95,
) -> Correlation:
    """Return the correlation with a jackknife interval and p-value. Whole ``groups``, or units, are left out."""
    left, right, usable = _pairs(x, y)
    names = None if groups is None else tuple(compress(groups, usable))
    without = weighted_correlation(left, right, leave_out_weights(len(left), groups=names), kind=kind)
    value = correlation(left, right, kind=kind)
    result = jackknife(value, without, level=level, n=len(left))
    return replace(result, p_independent=p_value(left, right, kind=kind))


def leave_out_weights(n: int, *, groups: Sequence[str] | None = None) -> Floats:
    """Return weights (groups, n) that leave out one group each; where there are very many groups, several of them."""
    index = np.arange(n) if groups is None else np.unique(np.array(groups, dtype=str), return_inverse=True)[1]
    count = int(index.max(initial=-1)) + 1
    blocks = -(-count // max(1, -(-count // _MOST_BLOCKS)))
    return np.asarray(index % max(1, blocks) != np.arange(blocks)[:, None], dtype=float)


def jackknife(value: float, without: Floats, *, level: float, n: int, correlation: bool = True) -> Correlation:
    """Return the interval, and the p-value of a difference from 0, from the values ``without`` each group in turn.

    Correlations are transformed to Fisher's z, and lose two degrees of freedom as a regression does; other shares and
    means lose one. Too few groups, or a value that is undefined without one of them, have neither interval nor p-value;
    a value that no group changes (a perfect correlation) has no interval.
    """
    from scipy.special import stdtr, stdtrit

    groups, low, high, p = len(without), float("nan"), float("nan"), float("nan")
    if groups >= FEWEST_GROUPS and not np.isnan([value, *without]).any():
        values = np.array([value, *without])
        centre, *others = np.arctanh(np.clip(values, -1 + 1e-15, 1 - 1e-15)) if correlation else values
        df, inflation = (groups - 2, groups / (groups - 2)) if correlation else (groups - 1, 1.0)
        error = float(np.sqrt((groups - 1) * np.var(others) * inflation))
        if error > 1e-9:
            p = float(2 * stdtr(df, -abs(centre) / error))
            reach = float(stdtrit(df, (1 + level) / 2)) * error
            ends = np.array([centre - reach, centre + reach])
            low, high = map(float, np.tanh(ends) if correlation else np.clip(ends, 0, 1))
        else:
            p = float(abs(centre) < 1e-9)
    return Correlation(Estimate(value, low, high, level, n, f"jackknife over {groups} groups"), p)


def fisher_interval(value: float, *, kind: Kind, n: int, level: float, unit: str) -> Estimate:
    """Return an Estimate of a correlation between n units that are themselves a sample, by Fisher's z.

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
    """Return the two-sided p-value of a permutation test: all orders of y where they are few enough, else random ones.

    It assumes nothing about the distribution, only that each unit could have had any of the values.
    """
    left, right, _ = _pairs(x, y)
    n = len(left)
    if np.isnan(correlation(left, right, kind=kind)):
        return float("nan")
    exact = n < 13 and factorial(n) <= permutations
    in_order = np.tile(np.arange(n), (1 if exact else permutations, 1))
    orders = np.array(list(all_orders(range(n)))) if exact else rng.permuted(in_order, axis=1)
    # Another order changes neither means nor spreads, so that comparing products is comparing correlations.
    if kind == "kendall":
        left, right = (np.sign(values[:, None] - values) for values in (left, right))
        products = np.array([(left * right[order][:, order]).sum() for order in orders])
    else:
        if kind == "spearman":
            left, right = (weighted_ranks(values, np.ones((1, n)))[0] for values in (left, right))
        left, right = left - left.mean(), right - right.mean()
        products = right[orders] @ left
    rounding = 1e-12 * np.linalg.norm(left) * np.linalg.norm(right)
    extreme = int(np.sum(np.abs(products) >= abs((left * right).sum()) - rounding))
    return extreme / len(orders) if exact else (1 + extreme) / (1 + permutations)


def weighted_correlation(x: Floats, y: Floats, weights: Floats, *, kind: Kind = "pearson") -> Floats:
    """Return the correlation under each row of ``weights`` (whole numbers: how often each unit counts)."""
    if kind not in KINDS:
        raise BadInput(f"A correlation is {', '.join(KINDS)}; not {kind!r}.")
    if x.shape != y.shape or weights.shape[1:] != x.shape:
        raise BadInput(f"Correlations need two lists of one length; got {x.shape}, {y.shape} and {weights.shape}.")
    if not weights.size:
        return np.full(len(weights), np.nan)
    if kind == "pearson":
        return _weighted_pearson(x, y, weights)
    if kind == "spearman":
        return _weighted_pearson(weighted_ranks(x, weights), weighted_ranks(y, weights), weights)
    return _weighted_tau(x, y, weights)


def weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Return the rank of each value in the sample of each row of weights, (draws, n); ties share their mean."""
    counts, index = _tied_weights(values, weights)
    return np.asarray(np.cumsum(counts, axis=1) - (counts - 1) / 2)[:, index]


def partial(x: npt.ArrayLike, y: npt.ArrayLike, fixed: npt.ArrayLike, *, weights: Floats | None = None) -> Floats:
    """Return the correlation of what ``fixed`` leaves unexplained of x and y, under each row of weights or once."""
    columns = np.column_stack([np.asarray(x, float), np.asarray(y, float), np.asarray(fixed, float)])
    if np.isnan(columns).any():
        raise BadInput("A partial correlation needs every value of every unit; leave out units with gaps first.")
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
    controls = among[:, 2:, 2:]
    # A variable that the others determine leaves nothing to correlate.
    usable &= np.linalg.cond(controls) < 1e12
    controls = np.where(usable[:, None, None], controls, np.eye(k - 2))
    left = among[:, :2, :2] - among[:, :2, 2:] @ np.linalg.solve(controls, among[:, 2:, :2])
    usable &= (left[:, 0, 0] > 1e-12) & (left[:, 1, 1] > 1e-12)
    return np.where(usable, ratio(left[:, 0, 1], np.sqrt(np.abs(left[:, 0, 0] * left[:, 1, 1]))), np.nan)


def _weighted_pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    total = weights.sum(axis=1)
    if x.ndim == 1:
        x, y = x - np.median(x), y - np.median(y)
        sx, sy, sxx, syy, sxy = (weights @ np.stack([x, y, x * x, y * y, x * y], axis=1)).T
    else:
        x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
        wx, wy = weights * x, weights * y
        sx, sy, sxx, syy, sxy = (part.sum(axis=1) for part in (wx, wy, wx * x, wy * y, wx * y))
    vx, vy = sxx - ratio(sx * sx, total), syy - ratio(sy * sy, total)
    # Rounding leaves a trace of variance in a constant, which is tiny relative to the squares.
    flat = (vx <= 1e-13 * sxx) | (vy <= 1e-13 * syy)
    values = np.where(flat, np.nan, ratio(sxy - ratio(sx * sy, total), np.sqrt(np.abs(vx)) * np.sqrt(np.abs(vy))))
    return np.clip(values, -1.0, 1.0)


def _weighted_tau(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return tau-b: (concordant − discordant) / √(pairs not tied in x · pairs not tied in y), Kendall 1945."""
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
    """Return the weight of each distinct value, in ascending order, for each row of weights; and each value's index."""
    _, index = np.unique(values, return_inverse=True)
    order = np.argsort(index, kind="stable")
    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
    return np.add.reduceat(weights[:, order], starts, axis=1), index


def _pairs(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return two lists without the units in which one is NaN, and a mask of the other units."""
    left, right = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if left.ndim != 1 or left.shape != right.shape:
        raise BadInput(f"A correlation needs two lists of one length; got shapes {left.shape} and {right.shape}.")
    usable = ~(np.isnan(left) | np.isnan(right))
    return left[usable], right[usable], usable


_MOST_PAIRS = 8_000_000


@dataclass(frozen=True)
class Accuracy:
    """Pairwise accuracy, and the largest difference of metric scores that counts as a tie."""

    estimate: Estimate
    threshold: float
    pairs: int


def pairwise_accuracy(
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    groups: Sequence[str] | None = None,
    calibrate: bool = True,
    level: float = 0.95,
) -> Accuracy:
    """Return the share of pairs within each group (or of all pairs) that the metric orders as people do.

    Groups count the same, however many pairs they have, as in translation's metrics tasks. Intervals leave out groups,
    or units where there are none, and keep the threshold found on all the data.
    """
    scores, ratings, usable = _pairs(metric, human)
    names = np.zeros(len(scores), dtype=np.int64)
    if groups is not None:
        names = np.unique(np.array(groups, dtype=str), return_inverse=True)[1][usable]
    left, right = _pairs_within(names)
    if not len(left):
        nan = float("nan")
        return Accuracy(Estimate(nan, nan, nan, level, 0, "no pairs"), nan, 0)
    apart, truth = scores[left] - scores[right], np.sign(ratings[left] - ratings[right])
    of_group = names[left]
    size = np.bincount(of_group)
    share = 1 / (size[of_group] * np.count_nonzero(size))
    threshold = _calibrate(np.abs(apart), truth, np.sign(apart), share) if calibrate else 0.0
    right_order = np.where(np.abs(apart) <= threshold, truth == 0, np.sign(apart) == truth).astype(float)
    if groups is None:
        without = _weighted_accuracy(right_order, left, right, leave_out_weights(len(scores)))
    else:
        means = np.bincount(of_group, right_order, minlength=len(size))[size > 0] / size[size > 0]
        weights = leave_out_weights(len(means))
        without = ratio(weights @ means, weights.sum(axis=1))
    estimate = jackknife(float(right_order @ share), without, level=level, n=len(scores), correlation=False).estimate
    return Accuracy(estimate, threshold, len(left))


def _calibrate(apart: Floats, truth: Floats, order: Floats, share: Floats) -> float:
    """Return the threshold that makes most pairs right: sort pairs by distance and sweep over them."""
    by_distance = np.argsort(apart, kind="stable")
    distance = apart[by_distance]
    ties = np.cumsum((truth[by_distance] == 0) * share[by_distance])
    agree = ((order == truth) & (order != 0))[by_distance] * share[by_distance]
    right = ties + agree.sum() - np.cumsum(agree)
    # A threshold separates two neighbouring pairs only where their distances differ.
    last = np.append(np.flatnonzero(np.diff(distance) > 0), len(distance) - 1)
    best = last[np.argmax(right[last])]
    at_zero = float(((truth == 0) & (apart == 0)) @ share + agree.sum())
    return float(distance[best]) if right[best] > at_zero + 1e-15 else 0.0


def _pairs_within(names: Ints) -> Ints:
    """Return the indices of both members of every pair within a group: (2, pairs)."""
    sizes = np.bincount(names)
    total = int((sizes * (sizes - 1) // 2).sum())
    if total > _MOST_PAIRS:
        raise BadInput(
            f"{total} pairs of outputs are too many to compare. Compare within items: pairwise accuracy by item."
        )
    groups = np.split(np.argsort(names, kind="stable"), np.cumsum(sizes)[:-1])
    return np.concatenate([group[np.stack(np.triu_indices(len(group), 1))] for group in groups], axis=1)


def _weighted_accuracy(right_order: Floats, left: Ints, right: Ints, weights: Floats) -> Floats:
    """Return the accuracy under each row of weights; a unit that counts twice does not pair with itself."""
    n = weights.shape[1]
    table = np.zeros((n, n))
    table[left, right] = right_order
    right_pairs = (weights @ table * weights).sum(axis=1)
    return ratio(right_pairs, (weights.sum(axis=1) ** 2 - (weights**2).sum(axis=1)) / 2)


@dataclass(frozen=True)
class CorrelationDifference:
    """The difference of two dependent correlations and its two-sided p-value."""

    first: float
    second: float
    p_value: float
    test: str
    n: int

    @property
    def difference(self) -> float:
        return self.first - self.second


def williams_test(human: Floats, first: Floats, second: Floats) -> CorrelationDifference:
    """Test two correlations that share a variable, two-sided: Williams (1959; Graham and Baldwin 2014, Eq. 2)."""
    from scipy.special import stdtr

    usable = ~np.isnan([human, first, second]).any(axis=0)
    human, first, second, n = human[usable], first[usable], second[usable], int(usable.sum())
    r1, r2, between = correlation(human, first), correlation(human, second), correlation(first, second)
    p = float("nan")
    if n >= 4 and not np.isnan([r1, r2, between]).any():
        k = 1 - r1**2 - r2**2 - between**2 + 2 * r1 * r2 * between
        spread = 2 * k * (n - 1) / (n - 3) + (r1 + r2) ** 2 / 4 * (1 - between) ** 3
        if spread > 1e-15:  # Otherwise the two are the same but for scale, and no difference can be tested.
            t = (r1 - r2) * np.sqrt((n - 1) * (1 + between) / spread)
            p = min(1.0, float(2 * stdtr(n - 3, -abs(t))))
    return CorrelationDifference(r1, r2, p, "williams", n)


def exchange_test(
    human: Floats,
    first: Floats,
    second: Floats,
    *,
    permutations: int,
    rng: np.random.Generator,
    groups: Sequence[str] | None = None,
    unit: str = "items",
) -> CorrelationDifference:
    """Test whether two metrics are interchangeable: a two-sided permutation test of Pearson's correlations.

    Both metrics' scores are standardised and exchanged for whole ``groups`` (all outputs of one item), or for each unit
    (a system's score): PERM-INPUT and PERM-SYS of Deutsch et al. (2021). All 2^k ways are tried where they are no more
    than ``permutations``, else so many at random; k units cannot give a p-value below 2 / 2^k.
    """
    if permutations < 1:
        raise BadInput(f"The number of permutations must be at least 1, not {permutations}.")
    usable = ~np.isnan([human, first, second]).any(axis=0)
    human, first, second, n = human[usable], first[usable], second[usable], int(usable.sum())
    names = np.arange(n) if groups is None else np.array(groups, dtype=str)[usable]
    of_group = np.unique(names, return_inverse=True)[1]
    k = int(of_group.max(initial=-1)) + 1
    exact = k < 60 and 2**k <= permutations
    swaps = np.arange(2**k)[:, None] >> np.arange(k) & 1 if exact else rng.integers(2, size=(permutations, k))
    test = f"permute-{unit}, pearson, {'all ' if exact else ''}{len(swaps)} permutations"
    r1, r2 = correlation(human, first), correlation(human, second)
    if n < 2 or np.isnan([r1, r2]).any():
        return CorrelationDifference(r1, r2, float("nan"), test, n)
    # Sums for each group that make up a correlation, of the one metric's scores and what the other's would change.
    standard_scores = (ratio(values - values.mean(), values.std()) for values in (first, second))
    parts = [np.stack([x * (human - human.mean()), x, x * x], axis=1) for x in standard_scores]
    own, other = (sum_by_group(part, list(map(str, of_group))) for part in parts)
    change = swaps.astype(float) @ (other - own)
    differences = _from_sums(own.sum(axis=0) + change, n) - _from_sums(other.sum(axis=0) - change, n)
    observed = abs(_from_sums(own.sum(axis=0), n) - _from_sums(other.sum(axis=0), n))
    extreme = int(np.sum(np.abs(differences) >= observed - 1e-9))
    p = extreme / len(swaps) if exact else (1 + extreme) / (1 + permutations)
    return CorrelationDifference(r1, r2, p, test, n)


def _from_sums(sums: Floats, n: int) -> Floats:
    """Return correlations with the ratings up to the ratings' own spread, which is the same for all."""
    product, total, squares = np.moveaxis(sums, -1, 0)
    return ratio(product, np.sqrt(np.maximum(squares - total**2 / n, 0)), undefined=0.0)
