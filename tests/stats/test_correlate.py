"""Correlations against SciPy, pingouin and worked examples; draws against the statistic of the drawn units."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

from plainly.core.errors import BadInput
from plainly.stats import correlate

THEIRS = {"pearson": scipy.stats.pearsonr, "spearman": scipy.stats.spearmanr, "kendall": scipy.stats.kendalltau}


def values_with_ties(rng: np.random.Generator, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=n)
    return np.round(x + rng.normal(size=n), 0), np.round(x * 10 + rng.normal(scale=8, size=n), 0)


@pytest.mark.parametrize("kind", correlate.KINDS)
def test_values_and_p_values_equal_scipy(kind: correlate.Kind) -> None:
    for seed in range(20):
        x, y = values_with_ties(np.random.default_rng(seed), n=5 + seed * 7)
        theirs = THEIRS[kind](x, y)
        assert correlate.correlation(x, y, kind=kind) == pytest.approx(theirs.statistic, abs=1e-9)
        assert correlate.p_value(x, y, kind=kind) == pytest.approx(theirs.pvalue, abs=1e-9)
        one_sided = THEIRS[kind](x, y, alternative="greater").pvalue
        assert correlate.p_value(x, y, kind=kind, alternative="greater") == pytest.approx(one_sided, abs=1e-9)


def test_too_few_units_have_neither_a_p_value_nor_an_interval() -> None:
    assert np.isnan(correlate.p_value([1, 2], [3, 5]))
    assert np.isnan(correlate.t_test(0.3, df=0))
    assert correlate.t_test(0.3, df=1) == pytest.approx(1 - 2 * np.arcsin(0.3) / np.pi), "Cauchy's distribution"
    for kind, fewest in (("pearson", 4), ("spearman", 4), ("kendall", 5)):
        few, enough = (
            correlate.fisher_interval(0.5, kind=kind, n=n, level=0.9, unit="systems") for n in (fewest - 1, fewest)
        )
        assert np.isnan([few.low, few.high]).all()
        assert -1 < enough.low < 0.5 < enough.high < 1


def test_the_jackknife_of_a_mean_is_the_t_test() -> None:
    values = np.random.default_rng(3).normal(0.3, scale=0.3, size=15)
    without = (values.sum() - values) / 14
    ours = correlate.jackknife(values.mean(), without, level=0.9, n=15, correlation=False)
    theirs = scipy.stats.ttest_1samp(values, 0)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.estimate.high == pytest.approx(theirs.confidence_interval(0.9).high)


@pytest.mark.parametrize("kind", correlate.KINDS)
def test_the_jackknife_leaves_out_whole_groups(kind: correlate.Kind) -> None:
    x, y = values_with_ties(np.random.default_rng(4), n=40)
    names = [f"g{at % 8}" for at in range(40)]
    index = np.arange(40) % 8
    without = [THEIRS[kind](x[index != g], y[index != g]).statistic for g in range(8)]
    error = np.sqrt(7 * np.var(np.arctanh(without)) * 8 / 6)
    result = correlate.correlate(x, y, kind=kind, groups=names)
    z = np.arctanh(THEIRS[kind](x, y).statistic)
    assert result.p_value == pytest.approx(2 * scipy.stats.t.sf(abs(z) / error, 6))
    assert result.estimate.low == pytest.approx(np.tanh(z - scipy.stats.t.isf(0.025, 6) * error))
    few = correlate.correlate(x, y, kind=kind, groups=["one group"] * 20 + ["another"] * 20)
    assert np.isnan([few.p_value, few.estimate.low, few.estimate.high]).all()


def test_very_many_groups_are_left_out_in_blocks() -> None:
    weights = correlate.leave_out_weights(2500)
    assert weights.shape == (834, 2500)
    assert set((1 - weights).sum(axis=1)) == {2.0, 3.0}
    assert ((1 - weights).sum(axis=0) == 1).all()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["pearson", "spearman"])
@pytest.mark.parametrize("items", [20, 60])
def test_stars_err_as_often_as_they_say(kind: correlate.Kind, items: int) -> None:
    """A bootstrap of twenty items errs in a tenth of studies without any relation."""
    rng = np.random.default_rng(items)
    names = [str(at) for at in range(items)] * 3
    ps = []
    for _ in range(1000):
        x, y = (np.tile(rng.gamma(2, size=items), 3) + rng.gamma(2, size=3 * items) for _ in range(2))
        ps.append(correlate.correlate(x, y, kind=kind, groups=names).p_value)
    assert np.mean(np.array(ps) < 0.05) < 0.07


def test_random_exchanges_give_p_values_from_one_in_all_to_one() -> None:
    """Equal metrics are as far apart in every exchange; noise exchanged for a perfect metric never is."""
    rng = np.random.default_rng(5)
    human, noise = np.arange(40.0), rng.normal(size=40)
    same = correlate.exchange_test(human, noise, 3 * noise + 1, permutations=199, rng=np.random.default_rng(1))
    assert same.p_value == 1.0
    apart = correlate.exchange_test(human, human, noise, permutations=199, rng=np.random.default_rng(1))
    assert apart.p_value == pytest.approx(1 / 200)
    assert (apart.first, apart.n) == (pytest.approx(1), 40)
    assert apart.difference == pytest.approx(1 - np.corrcoef(human, noise)[0, 1])


@pytest.mark.parametrize("kind", correlate.KINDS)
def test_a_weighted_correlation_is_that_of_the_weighted_units(kind: correlate.Kind) -> None:
    rng = np.random.default_rng(1)
    x, y = values_with_ties(rng, n=40)
    weights = rng.multinomial(40, np.full(40, 1 / 40), size=25).astype(float)
    ours = correlate.weighted_correlation(x, y, weights, kind=kind)
    for weight, value in zip(weights, ours, strict=True):
        units = np.repeat(np.arange(40), weight.astype(int))
        assert len(units) == 40
        assert value == pytest.approx(THEIRS[kind](x[units], y[units]).statistic, abs=1e-9)


@pytest.mark.parametrize("kind", correlate.KINDS)
def test_undefined_is_nan(kind: correlate.Kind) -> None:
    rising = np.arange(10.0)
    for constant in (np.full(10, 0.1), np.full(10, 1e9), np.zeros(10)):
        result = correlate.correlate(rising, constant, kind=kind)
        assert np.isnan([result.value, result.p_value, result.estimate.low]).all()
    assert np.isnan(correlate.correlation([], [], kind=kind))
    assert np.isnan(correlate.correlation([1.0], [2.0], kind=kind))
    perfect = correlate.correlate(rising, rising * 3 + 1, kind=kind)
    assert perfect.value == pytest.approx(1)
    assert perfect.p_value < 1e-4


def test_pairs_with_a_gap_are_left_out_and_n_says_so() -> None:
    x = np.array([1, 2, np.nan, 4, 5, 7.0])
    y = np.array([2, 1, 3, np.nan, 6, 5.0])
    result = correlate.correlate(x, y, groups=list("aabbcc"))
    assert result.estimate.n == 4
    assert result.value == pytest.approx(scipy.stats.pearsonr([1, 2, 5, 7], [2, 1, 6, 5]).statistic)


def test_large_offsets_do_not_cost_digits() -> None:
    x, y = values_with_ties(np.random.default_rng(2))
    assert correlate.correlation(x + 1e7, y) == pytest.approx(correlate.correlation(x, y), abs=1e-9)


def test_copies_of_units_do_not_narrow_the_interval() -> None:
    x, y = values_with_ties(np.random.default_rng(5), n=30)
    # Three copies of ten units carry ten units' worth of evidence, and the interval must know it.
    alone = correlate.correlate(x[:10], y[:10]).estimate
    names = list(np.repeat(list("abcdefghij"), 3))
    copies = correlate.correlate(np.repeat(x[:10], 3), np.repeat(y[:10], 3), groups=names).estimate
    assert (copies.value, copies.low, copies.high) == pytest.approx((alone.value, alone.low, alone.high))


@pytest.mark.parametrize("kind", correlate.KINDS)
def test_intervals_cover_the_truth(kind: correlate.Kind) -> None:
    rng = np.random.default_rng(9)
    truth = {"pearson": 0.6, "spearman": 6 / np.pi * np.arcsin(0.3), "kendall": 2 / np.pi * np.arcsin(0.6)}[kind]
    inside = 0
    for _ in range(100):
        x, y = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=60).T
        result = correlate.correlate(x, y, kind=kind).estimate
        inside += result.low <= truth <= result.high
    assert 87 <= inside <= 100


@pytest.mark.filterwarnings("ignore")
def test_partial_correlation_equals_pingouin() -> None:
    import pandas
    import pingouin

    for seed in range(5):
        rng = np.random.default_rng(seed)
        x, y = values_with_ties(rng)
        controls = np.column_stack([x + rng.normal(size=60), rng.normal(size=60)])
        frame = pandas.DataFrame({"x": x, "y": y, "a": controls[:, 0], "b": controls[:, 1]})
        theirs = pingouin.partial_corr(frame, "x", "y", ["a", "b"])
        ours = correlate.partial(x, y, controls)[0]
        assert ours == pytest.approx(theirs["r"].iloc[0], abs=1e-9)
        name = next(name for name in theirs.columns if name.replace("_", "-") == "p-val")
        assert correlate.t_test(ours, df=60 - 2 - 2) == pytest.approx(theirs[name].iloc[0], abs=1e-9)


def test_partial_correlation_of_draws_and_of_nothing_left() -> None:
    rng = np.random.default_rng(0)
    x, y = values_with_ties(rng)
    controls = rng.normal(size=(60, 1)) + x[:, None]
    weights = np.random.default_rng(1).multinomial(60, np.full(60, 1 / 60), size=10).astype(float)
    for weight, value in zip(weights, correlate.partial(x, y, controls, weights=weights), strict=True):
        units = np.repeat(np.arange(60), weight.astype(int))
        assert value == pytest.approx(correlate.partial(x[units], y[units], controls[units])[0], abs=1e-9)
    assert np.isnan(correlate.partial(x, y, x[:, None] * 2 + 1)[0])
    assert np.isnan(correlate.partial(x, y, np.ones((60, 1)))[0])
    with pytest.raises(BadInput, match="gaps"):
        correlate.partial([1, 2, np.nan], [1, 2, 3], [[1], [2], [3]])


def test_williams_by_hand() -> None:
    # Three columns with known correlations .8, .5 and .4 over ten units: K = 1 − .64 − .25 − .16 + 2·.8·.5·.4 = .27,
    # t = .3 √(9·1.4) / √(2·.27·9/7 + 1.3²/4·.6³) = 1.0649 / .8865 = 1.2013 on 7 degrees of freedom.
    target = np.array([[1, 0.8, 0.5], [0.8, 1, 0.4], [0.5, 0.4, 1]])
    raw = np.random.default_rng(0).normal(size=(10, 3))
    raw -= raw.mean(axis=0)
    white = raw @ np.linalg.inv(np.linalg.cholesky(raw.T @ raw)).T
    human, first, second = (white @ np.linalg.cholesky(target).T).T
    result = correlate.williams_test(human, first, second)
    assert (result.first, result.second) == (pytest.approx(0.8), pytest.approx(0.5))
    t = 0.3 * np.sqrt(9 * 1.4) / np.sqrt(2 * 0.27 * 9 / 7 + 1.3**2 / 4 * 0.6**3)
    assert t == pytest.approx(1.2013, abs=2e-3)
    assert result.p_value == pytest.approx(2 * scipy.stats.t.sf(t, 7), abs=1e-9)
    assert correlate.williams_test(human, second, first).p_value == pytest.approx(result.p_value)
    assert np.isnan(correlate.williams_test(human, first, first * 2).p_value)
    assert np.isnan(correlate.williams_test(human, first, np.ones(10)).p_value)


def two_metrics(rng: np.random.Generator, strength: float, n: int = 200) -> tuple[np.ndarray, ...]:
    human = rng.normal(size=n)
    return human, human + rng.normal(size=n), human * strength + rng.normal(size=n)


@pytest.mark.parametrize("test", ["williams", "permute-items"])
def test_tests_of_dependent_correlations_hold_their_level_and_find_differences(test: str) -> None:
    rng = np.random.default_rng(4)
    items = [str(i // 10) for i in range(200)]

    def p(strength: float) -> float:
        columns = two_metrics(rng, strength)
        if test == "williams":
            return correlate.williams_test(*columns).p_value
        return correlate.exchange_test(*columns, groups=items, permutations=199, rng=rng).p_value

    null = np.array([p(1.0) for _ in range(150)])
    assert 0.01 <= np.mean(null <= 0.05) <= 0.11
    assert np.mean([p(0.2) <= 0.05 for _ in range(20)]) > 0.9


def test_exchanging_goes_by_whole_groups_and_tries_all_ways_where_they_are_few() -> None:
    human, first, second = columns = two_metrics(np.random.default_rng(0), -1.0, n=8)
    rng = np.random.default_rng(1)
    # One group: the metrics are exchanged altogether or not at all, and both ways are as extreme as what was seen.
    assert correlate.exchange_test(*columns, groups=["i"] * 8, permutations=99, rng=rng).p_value == 1
    # Eight systems: 2^8 ways, by brute force.
    result = correlate.exchange_test(*columns, permutations=256, rng=rng, unit="systems")
    assert result.test == "permute-systems, pearson, all 256 permutations"
    one, other = (scipy.stats.zscore(x) for x in (first, second))
    apart = []
    for ways in itertools.product([False, True], repeat=8):
        exchange = np.where(ways, other, one), np.where(ways, one, other)
        apart.append(scipy.stats.pearsonr(human, exchange[0])[0] - scipy.stats.pearsonr(human, exchange[1])[0])
    assert result.difference == pytest.approx(apart[0], abs=1e-9)
    assert result.p_value == np.mean(np.abs(apart) >= abs(apart[0]) - 1e-9)
    assert correlate.exchange_test(*columns, permutations=2000, rng=rng).p_value == result.p_value
    sample = correlate.exchange_test(*columns, permutations=255, rng=rng).p_value
    assert sample == pytest.approx(result.p_value, abs=0.1)


@pytest.mark.parametrize("systems", [6, 10, 25])
def test_a_test_between_systems_holds_its_level_where_systems_are_a_sample(systems: int) -> None:
    rng = np.random.default_rng(systems)
    ps = np.array(
        [
            correlate.exchange_test(*two_metrics(rng, 1.0, n=systems), permutations=300, rng=rng).p_value
            for _ in range(300)
        ]
    )
    assert np.mean(ps <= 0.05) <= 0.08
    assert (ps >= 2 / 2**systems).all()


@pytest.mark.parametrize("kind", correlate.KINDS)
def test_a_permutation_p_value_is_scipys_and_exact_where_it_can_be(kind: str) -> None:
    rng = np.random.default_rng(3)
    statistic = {"pearson": scipy.stats.pearsonr, "spearman": scipy.stats.spearmanr, "kendall": scipy.stats.kendalltau}
    x, y = rng.normal(size=6), rng.normal(size=6)
    ours = correlate.permutation_p_value(x, y, kind=kind, permutations=5000, rng=rng)
    theirs = scipy.stats.permutation_test(
        (x,),
        lambda order: abs(statistic[kind](order, y).statistic),
        permutation_type="pairings",
        n_resamples=np.inf,
        alternative="greater",
    )
    assert ours == pytest.approx(theirs.pvalue, abs=1e-9)
    x, y = rng.normal(size=(2, 30))
    y = y + x / 2
    sample = correlate.permutation_p_value(x, y, kind=kind, permutations=5000, rng=rng)
    assert sample == pytest.approx(statistic[kind](x, y).pvalue, abs=0.01)


@pytest.mark.long
def test_an_interval_over_units_is_fishers_and_covers() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 12))
    ours = correlate.fisher_interval(correlate.correlation(x, y), kind="pearson", n=12, level=0.95, unit="systems")
    theirs = scipy.stats.pearsonr(x, y).confidence_interval()
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert np.isnan(correlate.fisher_interval(1.0, kind="kendall", n=12, level=0.95, unit="systems").low)
    truth = {"pearson": 0.6, "spearman": 6 / np.pi * np.arcsin(0.3), "kendall": 2 / np.pi * np.arcsin(0.6)}
    x = rng.normal(size=(2000, 10))
    y = 0.6 * x + 0.8 * rng.normal(size=x.shape)
    for kind, value in truth.items():
        correlations = [correlate.correlation(*pair, kind=kind) for pair in zip(x, y, strict=True)]
        intervals = [correlate.fisher_interval(r, kind=kind, n=10, level=0.95, unit="systems") for r in correlations]
        coverage = np.mean([np.isnan(each.low) or each.low <= value <= each.high for each in intervals])
        assert coverage == pytest.approx(0.95, abs=0.02)


def brute(metric: np.ndarray, human: np.ndarray, groups: list[str], threshold: float) -> float:
    by_group: dict[str, list[bool]] = {}
    for i, j in itertools.combinations(range(len(metric)), 2):
        if groups[i] == groups[j]:
            apart = metric[i] - metric[j]
            order = 0 if abs(apart) <= threshold else np.sign(apart)
            by_group.setdefault(groups[i], []).append(bool(order == np.sign(human[i] - human[j])))
    return float(np.mean([np.mean(right) for right in by_group.values()]))


@pytest.mark.parametrize("has_groups", [True, False])
def test_pairwise_accuracy_equals_the_loop_and_its_best_threshold(has_groups: bool) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        human = np.round(rng.normal(size=25))
        metric = human + rng.normal(size=25)
        groups = [str(i % 6) for i in range(25)] if has_groups else ["all"] * 25
        names = groups if has_groups else None
        plain = correlate.pairwise_accuracy(metric, human, groups=names, calibrate=False)
        assert plain.estimate.value == pytest.approx(brute(metric, human, groups, 0), abs=1e-12)
        accuracy = correlate.pairwise_accuracy(metric, human, groups=names)
        thresholds = [0, *(abs(metric[i] - metric[j]) for i, j in itertools.combinations(range(25), 2))]
        best = max(brute(metric, human, groups, threshold + 1e-12) for threshold in thresholds)
        assert accuracy.estimate.value == pytest.approx(best, abs=1e-12)
        assert accuracy.estimate.value == pytest.approx(
            brute(metric, human, groups, accuracy.threshold + 1e-12), abs=1e-12
        )


def test_pairwise_accuracy_by_hand() -> None:
    # Human 1 1 2: one tie. Metric .1 .2 .9 orders all: two of three right; ties below .1 make three of three.
    raw = correlate.pairwise_accuracy([0.1, 0.2, 0.9], [1, 1, 2], calibrate=False)
    assert raw.estimate.value == pytest.approx(2 / 3)
    accuracy = correlate.pairwise_accuracy([0.1, 0.2, 0.9], [1, 1, 2])
    assert (accuracy.estimate.value, accuracy.threshold) == (1, pytest.approx(0.1))
    assert np.isnan(correlate.pairwise_accuracy([1, 2], [1, 2], groups=["a", "b"]).estimate.value)


def test_pairwise_accuracy_has_intervals_and_says_when_pairs_are_too_many() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=90)
    metric = human + rng.normal(size=90)
    for groups in (None, [str(i // 3) for i in range(90)]):
        accuracy = correlate.pairwise_accuracy(metric, human, groups=groups).estimate
        assert accuracy.low < accuracy.value < accuracy.high
    with pytest.raises(BadInput, match="by item"):
        correlate.pairwise_accuracy(np.arange(5000.0), np.arange(5000.0))


def test_faults_are_named() -> None:
    with pytest.raises(BadInput, match="length"):
        correlate.correlation([1, 2], [1, 2, 3])
    with pytest.raises(BadInput, match="pearson"):
        correlate.correlation([1, 2], [1, 2], kind="phi")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="permutations"):
        correlate.exchange_test(
            *two_metrics(np.random.default_rng(0), 1.0), permutations=0, rng=np.random.default_rng(0)
        )
