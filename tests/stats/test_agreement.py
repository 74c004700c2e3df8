"""Agreement coefficients against scikit-learn, krippendorff, pingouin, NLTK and worked examples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from plainly.core.errors import BadInput
from plainly.core.sampling import Sampling
from plainly.stats import agreement
from plainly.stats.agreement import LongRatings, reliability

NAN = np.nan

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", the example with gaps: 4 observers × 12 units.
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T


def scale_ratings(rng: np.random.Generator, units: int = 80, raters: int = 5, gaps: float = 0.0) -> np.ndarray:
    truth = rng.normal(size=(units, 1))
    ratings = np.clip(np.rint(3 + truth + rng.normal(scale=0.8, size=(units, raters))), 1, 5)
    ratings[rng.random(ratings.shape) < gaps] = NAN
    return ratings


def cohen(one: npt.ArrayLike, other: npt.ArrayLike, weights: agreement.Distance = "nominal") -> float:
    return float(agreement.pairwise_kappa(np.stack([one, other], axis=1), weights=weights)[0, 1])


@pytest.mark.parametrize(("ours", "theirs"), [("nominal", None), ("linear", "linear"), ("quadratic", "quadratic")])
def test_cohen_equals_scikit_learn(ours: agreement.Distance, theirs: str | None) -> None:
    from sklearn.metrics import cohen_kappa_score

    for seed in range(20):
        one, other = scale_ratings(np.random.default_rng(seed), raters=2).T
        expected = cohen_kappa_score(one, other, weights=theirs)
        assert cohen(one, other, weights=ours) == pytest.approx(expected, abs=1e-9)


def test_a_point_of_the_scale_without_ratings_keeps_its_distance() -> None:
    # 1 and 5 only: scikit-learn would call them neighbours; by value every disagreement is 4 points, and kappa is the
    # same for all weights. With 2 used once, the distances differ.
    one, other = np.array([1, 1, 5, 5, 1, 5.0]), np.array([1, 5, 5, 5, 1, 1.0])
    assert cohen(one, other, weights="quadratic") == pytest.approx(cohen(one, other))
    one[0] = 2
    # By hand: Σ(x−y)² = 1 + 16 + 16 = 33; over all 36 pairs it is 6(81 + 78) − 2·19·18 = 270, so 45 for six.
    assert cohen(one, other, weights="quadratic") == pytest.approx(1 - 33 / 45)


def test_cohen_takes_labels_and_leaves_out_what_one_did_not_rate() -> None:
    one = np.array(["add", "del", "add", None, "add"], dtype=object)
    other = np.array(["add", "del", "del", "add", "add"], dtype=object)
    # Observed 3/4; chance (3/4)(2/4) + (1/4)(2/4) = 1/2.
    assert cohen(one, other) == pytest.approx(0.5)
    with pytest.raises(BadInput, match="labels"):
        agreement.icc(np.stack([one, other], axis=1))


@pytest.mark.parametrize("distance", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_krippendorff_equals_the_krippendorff_package(distance: str, gaps: float) -> None:
    import krippendorff

    for seed in range(10):
        ratings = scale_ratings(np.random.default_rng(seed), gaps=gaps)
        expected = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement=distance)
        assert agreement.krippendorff(ratings, distance=distance).value == pytest.approx(expected, abs=1e-9)  # type: ignore[arg-type]


def test_krippendorff_equals_his_worked_example() -> None:
    values = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}
    for distance, alpha in values.items():
        assert agreement.krippendorff(KRIPPENDORFF, distance=distance).value == pytest.approx(alpha, abs=5e-4)  # type: ignore[arg-type]


# Fleiss 1971, the example of six raters and 14 units in Wikipedia's and most textbooks' form (14 raters, 10 units).
FLEISS_COUNTS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def test_fleiss_equals_the_textbook_example() -> None:
    ratings = np.array([np.repeat(np.arange(5), counts) for counts in FLEISS_COUNTS], dtype=float)
    assert agreement.fleiss(ratings).value == pytest.approx(0.210, abs=5e-4)


def test_fleiss_equals_the_formula_on_counts() -> None:
    for seed in range(10):
        ratings = scale_ratings(np.random.default_rng(seed))
        counts = np.array([[np.sum(row == c) for c in range(1, 6)] for row in ratings])
        raters = ratings.shape[1]
        observed = np.mean((np.sum(counts**2, axis=1) - raters) / (raters * (raters - 1)))
        chance = np.sum((counts.sum(axis=0) / counts.sum()) ** 2)
        assert agreement.fleiss(ratings).value == pytest.approx((observed - chance) / (1 - chance), abs=1e-9)


def test_davies_fleiss_equals_nltk_and_two_raters_are_cohens() -> None:
    from nltk.metrics.agreement import AnnotationTask

    for seed in range(5):
        ratings = scale_ratings(np.random.default_rng(seed), units=40, raters=4)
        task = AnnotationTask([(r, u, ratings[u, r]) for u in range(40) for r in range(4)])
        assert agreement.davies_fleiss(ratings) == pytest.approx(task.multi_kappa(), abs=1e-9)
        pair = ratings[:, :2]
        assert agreement.davies_fleiss(pair) == pytest.approx(cohen(*pair.T), abs=1e-12)


def test_davies_fleiss_pools_pairs_by_what_both_rated() -> None:
    # Rater 3 rated two units. Pairs (1,2): 4 units, 1 disagreement, chance 2; (1,3): 2 units, 0 and 1; (2,3): 2, 0, 1.
    ratings = np.array([[1, 1, 1], [2, 2, 2], [1, 2, NAN], [2, 2, NAN]])
    # Chance of (1,2): marginals (½, ½) and (¼, ¾): 1 − (⅛ + ⅜) = ½, on 4 units 2. Of (1,3) and (2,3): ½ on 2 units.
    assert agreement.davies_fleiss(ratings) == pytest.approx(1 - 1 / 4)


def test_pairwise_kappa_is_cohens_for_every_pair() -> None:
    from sklearn.metrics import cohen_kappa_score

    ratings = scale_ratings(np.random.default_rng(3), gaps=0.25)
    for weights in ("nominal", "linear", "quadratic"):
        matrix = agreement.pairwise_kappa(ratings, weights=weights)  # type: ignore[arg-type]
        assert np.isnan(np.diag(matrix)).all()
        for a, b in [(0, 1), (2, 4), (3, 0)]:
            pair = ratings[:, [a, b]]
            one, other = pair[~np.isnan(pair).any(axis=1)].T
            theirs = None if weights == "nominal" else weights
            expected = cohen_kappa_score(one, other, weights=theirs, labels=[1, 2, 3, 4, 5])
            assert matrix[a, b] == pytest.approx(expected, abs=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_icc_equals_pingouin() -> None:
    import pandas
    import pingouin

    names = {
        ("one-way", False): "ICC(1,1)", ("random", False): "ICC(A,1)", ("mixed", False): "ICC(C,1)",
        ("one-way", True): "ICC(1,k)", ("random", True): "ICC(A,k)", ("mixed", True): "ICC(C,k)",
    }  # fmt: skip
    for seed in range(5):
        ratings = scale_ratings(np.random.default_rng(seed))
        units, raters = np.indices(ratings.shape)
        long = pandas.DataFrame({"unit": units.ravel(), "rater": raters.ravel(), "rating": ratings.ravel()})
        table = pingouin.intraclass_corr(long, "unit", "rater", "rating").set_index("Type")["ICC"]
        for (model, average), name in names.items():
            ours = agreement.icc(ratings, model=model, average=average).value  # type: ignore[arg-type]
            assert ours == pytest.approx(table[name], abs=1e-9)


def test_icc_equals_shrout_and_fleiss_1979() -> None:
    # Their Table 2 and Table 4: six targets, four judges.
    ratings = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])
    values = {("one-way", False): 0.17, ("random", False): 0.29, ("mixed", False): 0.71,
                 ("one-way", True): 0.44, ("random", True): 0.62, ("mixed", True): 0.91}  # fmt: skip
    for (model, average), value in values.items():
        assert round(agreement.icc(ratings, model=model, average=average).value, 2) == value  # type: ignore[arg-type]


def test_one_way_icc_with_gaps_by_hand() -> None:
    # Units (1, 3), (5), (4, 6): between 2·(2−3.8)² + (5−3.8)² + 2·(5−3.8)² = 10.8 on 2; within 4 on 2;
    # k0 = (5 − 9/5)/2 = 1.6; (5.4 − 2)/(5.4 + .6·2).
    ratings = np.array([[1, 3], [5, NAN], [4, 6]])
    assert agreement.icc(ratings, model="one-way").value == pytest.approx((5.4 - 2) / (5.4 + 0.6 * 2))


def test_undefined_is_nan() -> None:
    constant = np.full((10, 3), 3.0)
    tenths = np.full((10, 3), 0.1)  # Not exact in binary, so that sums of squares could fall short of each other.
    assert np.isnan(agreement.icc(tenths).value)
    assert np.isnan(agreement.krippendorff(tenths).value)
    alone = np.array([[1, NAN], [NAN, 2], [3, NAN]])
    for ratings in (constant, alone):
        assert np.isnan(agreement.fleiss(ratings).value)
        assert np.isnan(agreement.krippendorff(ratings).value)
        assert np.isnan(agreement.krippendorff(ratings, distance="nominal").value)
        assert np.isnan(agreement.davies_fleiss(ratings))
        assert np.isnan(agreement.icc(ratings).value)
        assert np.isnan(cohen(ratings[:, 0], ratings[:, 1], weights="linear"))
        assert np.isnan(agreement.resampled_kappa(ratings, rng=np.random.default_rng(1)).median)
    assert np.isnan(agreement.fleiss(constant).estimate(Sampling(resamples=50)).low)


def test_resampled_kappa_draws_as_the_slow_loop_does() -> None:
    ratings = scale_ratings(np.random.default_rng(5), units=60, raters=3)
    kappa = agreement.resampled_kappa(ratings, draws=400, rng=np.random.default_rng(1))
    rng = np.random.default_rng(2)
    slow = []
    for _ in range(400):
        one, other = [], []
        for row in ratings:
            mine = rng.integers(3)
            one.append(row[mine])
            other.append(np.rint(np.delete(row, mine).mean()))
        slow.append(cohen(np.array(one), np.array(other), weights="quadratic"))
    assert kappa.median == pytest.approx(np.median(slow), abs=0.01)
    assert kappa.low == pytest.approx(np.quantile(slow, 0.025), abs=0.02)
    assert kappa.margin == pytest.approx(1.96 * np.std(slow) / 20, abs=0.001)


def test_resampled_kappa_by_hand_with_two_raters() -> None:
    # With two raters the draw only swaps them, and quadratic kappa over symmetric data stays within a known range; with
    # identical raters it is 1 in every draw.
    ratings = np.repeat(np.array([[1.0], [2], [5]]), 3, axis=1)
    kappa = agreement.resampled_kappa(ratings, draws=50, rng=np.random.default_rng(0))
    assert (kappa.median, kappa.low, kappa.high, kappa.margin) == (1, 1, 1, 0)


def test_resampled_kappa_handles_gaps_and_other_weights() -> None:
    ratings = scale_ratings(np.random.default_rng(8), units=200, raters=6, gaps=0.4)
    for weights in ("nominal", "linear", "quadratic"):
        kappa = agreement.resampled_kappa(ratings, weights=weights, draws=50, rng=np.random.default_rng(0))  # type: ignore[arg-type]
        assert 0.1 < kappa.low <= kappa.median <= kappa.high < 0.9
        assert kappa.n == int((np.sum(~np.isnan(ratings), axis=1) >= 2).sum())


def test_intervals_cover_and_follow_the_seed() -> None:
    ratings = scale_ratings(np.random.default_rng(11))
    for coefficient in (
        agreement.fleiss(ratings),
        agreement.krippendorff(ratings, distance="ordinal"),
        agreement.icc(ratings),
        agreement.icc(ratings, model="one-way", average=True),
        agreement.fleiss(ratings[:, :2], weights="linear"),
    ):
        estimate = coefficient.estimate(Sampling(resamples=300))
        assert estimate.low < estimate.value < estimate.high
        assert estimate == coefficient.estimate(Sampling(resamples=300))
        assert estimate != coefficient.estimate(Sampling(resamples=300, seed=1))


def test_a_bootstrap_draw_is_the_coefficient_of_the_drawn_units() -> None:
    ratings = scale_ratings(np.random.default_rng(11), units=30)
    units = np.random.default_rng(1).integers(30, size=30)
    for build in (agreement.fleiss, agreement.krippendorff, agreement.icc):
        coefficient = build(ratings)
        value = coefficient.score(coefficient.rows[units].sum(axis=0))[0]
        assert value == pytest.approx(build(ratings[units]).value, abs=1e-9)


def test_order_of_units_and_raters_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    ratings = scale_ratings(rng, gaps=0.2)
    permutation = ratings[rng.permutation(len(ratings))][:, rng.permutation(ratings.shape[1])]
    for statistic in (agreement.fleiss, agreement.krippendorff):
        assert statistic(ratings).value == pytest.approx(statistic(permutation).value, abs=1e-12)
    assert agreement.davies_fleiss(ratings) == pytest.approx(agreement.davies_fleiss(permutation), abs=1e-12)


def test_faults_are_named() -> None:
    with pytest.raises(BadInput, match="units × raters"):
        agreement.fleiss([1, 2, 3])
    with pytest.raises(BadInput, match="nominal, linear"):
        agreement.pairwise_kappa([[1.0, 1.0], [2.0, 2.0]], weights="cubic")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="one-way"):
        agreement.icc([[1.0, 2.0]], model="none")  # type: ignore[arg-type]


def long_ratings(matrix: np.ndarray, level: agreement.AlphaDistance) -> LongRatings:
    """The ratings of a matrix one after another, in an order of their own."""
    unit, rater = np.nonzero(~np.isnan(matrix))
    order = np.random.default_rng(9).permutation(len(unit))
    unit, rater = unit[order], rater[order]
    return LongRatings.of(unit, np.array([f"r{at}" for at in rater]), matrix[unit, rater], level=level)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_of_long_ratings_is_that_of_the_matrix_and_of_the_krippendorff_package(
    level: agreement.AlphaDistance,
) -> None:
    import krippendorff

    matrix = scale_ratings(np.random.default_rng(3), gaps=0.4)
    ratings = long_ratings(matrix, level)
    expected = krippendorff.alpha(matrix.T, level_of_measurement=level)
    alpha = ratings.krippendorff().value
    assert alpha == pytest.approx(expected, abs=1e-9)
    assert alpha == pytest.approx(agreement.krippendorff(matrix, distance=level).value, abs=1e-12)
    part = LongRatings.of(ratings.units[:100], ratings.raters[:100], ratings.numbers[:100], level=level)
    assert ratings.krippendorff(first=100).value == pytest.approx(part.krippendorff().value, abs=1e-12)
    assert ratings.compared == int((np.sum(~np.isnan(matrix), axis=1) > 1).sum())
    same = LongRatings.of([1, 1, 2, 2], list("abab"), [3.0, 3.0, 3.0, 3.0], level=level)
    assert np.isnan(same.krippendorff().value), "undefined is not 0"
    assert np.isnan(LongRatings.of([], [], [], level=level).krippendorff().value)


def test_raters_of_long_ratings_are_those_of_the_matrix() -> None:
    matrix = scale_ratings(np.random.default_rng(3), units=120, raters=8, gaps=0.5)
    matrix[:, 3] = 6 - matrix[:, 3]
    matrix[5:, 6] = NAN
    by_matrix = {rater.name: rater for rater in reliability(matrix, [f"r{at}" for at in range(8)])}
    by_list = {rater.name: rater for rater in long_ratings(matrix, "interval").by_rater()}
    assert set(by_matrix) == set(by_list)
    for name, rater in by_list.items():
        other = by_matrix[name]
        assert (rater.n, rater.compared, rater.outlying) == (other.n, other.compared, other.outlying)
        for figure in ("mean", "sd", "correlation", "bias", "distance"):
            assert getattr(rater, figure) == pytest.approx(getattr(other, figure), abs=1e-9, nan_ok=True)
    assert "against" in by_list["r3"].outlying
    assert "only" in by_list["r6"].outlying


def test_alpha_without_a_rater_is_that_of_the_others() -> None:
    import krippendorff

    matrix = scale_ratings(np.random.default_rng(4), units=50, raters=4, gaps=0.2)
    raters = {rater.name: rater for rater in reliability(matrix)}
    assert len(raters) == 4
    for at in range(4):
        others = np.delete(matrix, at, axis=1).T
        expected = krippendorff.alpha(reliability_data=others, level_of_measurement="interval")
        assert raters[str(at + 1)].alpha_without == pytest.approx(expected, abs=1e-9)
    assert all(np.isnan(rater.alpha_without) for rater in reliability(matrix[:, :2]))


def test_who_shares_too_few_units_with_others_does_not_stand_apart() -> None:
    matrix = np.full((60, 3), NAN)
    for rater in range(3):
        matrix[rater * 20 : rater * 20 + 20, rater] = np.arange(20) % 5
    matrix[:2, 1] = [4, 0]  # Two units in common, and the other way round.
    assert not any(rater.outlying for rater in reliability(matrix))


def test_labels_have_a_rater_who_differs_far_more_than_most() -> None:
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 4, size=(200, 1))
    wrong = rng.random((200, 7)) < np.array([0.02, 0.06, 0.1, 0.14, 0.18, 0.22, 0.95])
    matrix = np.where(wrong, rng.integers(0, 4, size=(200, 7)), truth).astype(float)
    raters = {rater.name: rater for rater in long_ratings(matrix, "nominal").by_rater()}
    assert {name for name, rater in raters.items() if rater.outlying} == {"r6"}
    assert "differs" in raters["r6"].outlying
    others = [[at for at in range(7) if at != rater] for rater in range(7)]
    shares = [np.mean(matrix[:, [rater]] != matrix[:, rest]) for rater, rest in enumerate(others)]
    assert [raters[f"r{at}"].distance for at in range(7)] == pytest.approx(shares)


def test_a_rater_is_outlying_beyond_a_robust_z_score_of_three_and_a_half() -> None:
    """Iglewicz and Hoaglin 1993: .6745 times the distance from the median, in median deviations."""
    truth = np.tile(np.arange(4), 50)
    outlying = {}
    for wrong in range(16, 40):
        counts = [4, 6, 8, 10, 12, 14, wrong]  # how often each rater names something else
        matrix = np.tile(truth[:, None], (1, 7)).astype(float)
        for rater, count in enumerate(counts):
            start = sum(counts[:rater])  # on units of their own
            matrix[start : start + count, rater] += 10 + rater
        raters = long_ratings(matrix, "nominal").by_rater()
        distances = np.array([rater.distance for rater in raters])
        deviations = np.abs(distances - np.median(distances))
        z = 0.6745 * deviations[-1] / np.median(deviations)
        outlying[float(z)] = bool(raters[-1].outlying)
        assert not any(rater.outlying for rater in raters[:-1])
    assert outlying == {z: z > 3.5 for z in outlying}
    assert sum(3 < z <= 3.5 for z in outlying) > 0
    assert sum(3.5 < z < 4 for z in outlying) > 0


@pytest.mark.parametrize("level", ["ordinal", "nominal"])
def test_few_studies_by_equally_good_raters_have_an_outlier(level: agreement.AlphaDistance) -> None:
    rng = np.random.default_rng(12)
    studies, flagged = 200, 0
    for _ in range(studies):
        matrix = np.clip(np.rint(3 + rng.normal(size=(20, 1)) + rng.normal(scale=0.8, size=(20, 12))), 1, 5)
        flagged += any(rater.outlying for rater in long_ratings(matrix, level).by_rater())
    assert flagged / studies <= 0.05


def test_outputs_of_one_item_are_drawn_together() -> None:
    """Six copies of each unit add no evidence: drawn by item, the interval is that of the units themselves."""
    rng = np.random.default_rng(0)
    alone = np.clip(np.rint(3 + rng.normal(size=(40, 1)) + rng.normal(scale=0.8, size=(40, 3))), 1, 5)
    alone[0, :2] = np.nan  # a unit with one rating has no row
    copies, items = np.repeat(alone, 6, axis=0), [f"{item:02}" for item in np.repeat(np.arange(40), 6)]
    for make in (agreement.krippendorff, agreement.fleiss, lambda matrix: agreement.icc(matrix, model="mixed")):
        wide, narrow = make(copies).estimate(groups=items), make(copies).estimate()
        assert wide.n == narrow.n
        assert wide.value == narrow.value
        assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
        once = make(alone).estimate()
        assert wide.high - wide.low == pytest.approx(once.high - once.low, rel=0.05)
