"""Bootstrap intervals: they have their nominal coverage, and the same seed gives the same draws."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import scipy.stats

from plainly import data
from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric
from plainly.core.sampling import Sampling
from plainly.scoring.evaluate import evaluate, from_rows
from plainly.scoring.references import draw_references, with_intervals
from plainly.stats import resample
from plainly.stats.resample import PoissonResampler, Resampler, find_tails, interval, middle_interval, variant_totals


def ratio(totals: np.ndarray) -> np.ndarray:
    return totals[..., :1] / totals[..., 1:]


@dataclass(frozen=True)
class Mean(Metric):
    """A metric whose rows are given."""

    name = "mean"
    outputs = ("mean",)

    def measure(self, evalset, outputs):
        raise NotImplementedError

    def score(self, totals: np.ndarray) -> np.ndarray:
        return ratio(totals)


def _coverage(
    draw_rows, score, truth: float, *, n: int, method: str, rng: np.random.Generator, times: int, draws: int
) -> float:
    hits = 0
    for _ in range(times):
        rows = draw_rows(n)
        resampler = Resampler(n=n, resamples=draws, seed=int(rng.integers(2**31)))
        (totals,) = resampler.totals([rows])
        estimate = interval(rows, score, totals, sampling=Sampling(method=method))[0]
        hits += estimate.low <= truth <= estimate.high
    return hits / times


@pytest.mark.long
@pytest.mark.parametrize("n", [100, 359])
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_of_a_ratio_of_sums_cover_95_percent(n, method):
    """The shape of most metrics: skewed counts over skewed counts that go together."""
    rng = np.random.default_rng(11)

    def items(n: int) -> np.ndarray:
        size = 5 + rng.poisson(15, size=n)
        return np.stack([rng.binomial(size, rng.beta(6, 4, size=n)), size], axis=1).astype(float)

    coverage = _coverage(items, ratio, 0.6, n=n, method=method, rng=rng, times=1000, draws=400)
    assert 0.93 <= coverage <= 0.97


@pytest.mark.long
@pytest.mark.mirror
@pytest.mark.parametrize(("spec", "times", "draws"), [("sari", 500, 400), ("bleu", 1000, 1000), ("fkgl", 1000, 1000)])
@pytest.mark.parametrize("n", [100, 359])
def test_intervals_of_real_metrics_cover_95_percent(mirror: Path, spec, times, draws, n):
    """ASSET's sentences are the population, whose score is known; 95 % of the intervals of samples contain it."""
    evalset = data.load("asset/test")
    scores = evaluate(evalset, {"ACCESS": data.outputs("asset/test", "ACCESS")}, [spec], sampling=None)["ACCESS"][spec]
    rng = np.random.default_rng(20)

    def headline(totals: np.ndarray) -> np.ndarray:
        return scores.metric.score(totals)[..., :1]

    coverage = _coverage(
        lambda n: scores.rows[rng.integers(len(scores.rows), size=n)],
        headline,
        float(scores),
        n=n,
        method="percentile",
        rng=rng,
        times=times,
        draws=draws,
    )
    assert 0.93 <= coverage <= 0.97


def test_intervals_over_groups_cover_where_intervals_over_items_do_not():
    """Sentences of a document are similar, so intervals over single sentences are too narrow."""
    rng = np.random.default_rng(31)
    over_items = over_groups = 0
    for _ in range(300):
        rows = np.stack([np.repeat(rng.normal(size=60), 6) + 0.3 * rng.normal(size=360), np.ones(360)], axis=1)
        groups = tuple(str(k) for k in np.repeat(np.arange(60), 6))
        seed = int(rng.integers(2**31))
        for resampler in (
            Resampler(n=360, resamples=300, seed=seed),
            Resampler(n=360, resamples=300, seed=seed, groups=groups),
        ):
            (totals,) = resampler.totals([rows])
            estimate = interval(resampler.units(rows), ratio, totals, sampling=Sampling(), unit=resampler.unit)[0]
            is_hit = estimate.low <= 0 <= estimate.high
            over_groups += is_hit and resampler.groups is not None
            over_items += is_hit and resampler.groups is None
    assert 0.91 <= over_groups / 300 <= 0.98
    assert over_items / 300 < 0.75


def test_the_same_seed_gives_the_same_draws_in_any_chunks(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(41, 3))
    whole = Resampler(n=41, resamples=1001, seed=5).totals([rows])[0]
    in_one_go = np.random.default_rng(5).integers(41, size=(1001, 41))
    np.testing.assert_allclose(rows[in_one_go].sum(axis=1), whole, rtol=0, atol=1e-12)
    monkeypatch.setattr(resample, "CHUNK", 41 * 7)
    np.testing.assert_allclose(Resampler(n=41, resamples=1001, seed=5).totals([rows])[0], whole, rtol=0, atol=1e-12)
    assert not np.allclose(Resampler(n=41, resamples=1001, seed=6).totals([rows])[0], whole)


def test_single_precision_is_used_only_where_it_is_exact():
    rng = np.random.default_rng(1)
    for rows in (
        rng.integers(0, 90, size=(50, 4)).astype(float),
        rng.integers(0, 2**23, size=(50, 4)).astype(float),
        rng.random((50, 4)),
    ):
        items = np.random.default_rng(3).integers(50, size=(20, 50))
        np.testing.assert_allclose(
            Resampler(n=50, resamples=20, seed=3).totals([rows])[0], rows[items].sum(axis=1), rtol=1e-13
        )


def test_bca_corrects_a_skewed_statistic():
    """BCa moves the interval of a variance-like ratio towards the long tail; percentile does not."""
    rng = np.random.default_rng(3)
    values = rng.exponential(size=80)
    rows = np.stack([values**2, np.ones(80)], axis=1)
    (totals,) = Resampler(n=80, resamples=4000, seed=1).totals([rows])
    plain = interval(rows, ratio, totals, sampling=Sampling(method="percentile"))[0]
    corrected = interval(rows, ratio, totals, sampling=Sampling(method="bca"))[0]
    assert corrected.high > plain.high
    assert corrected.low > plain.low


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("units", [2, 3, 4, 5, 12, 30, 101, 500, 501, 502, 4000, 10**6])
def test_tails_are_expanded_by_students_t(level: float, units: int) -> None:
    """Hesterberg 2015: Φ(-√(n/(n-1))·t), from SciPy's functions."""
    low, high = find_tails(Sampling(level=level), units)
    t = scipy.stats.t.ppf((1 + level) / 2, units - 1)
    assert low == pytest.approx(scipy.stats.norm.cdf(-np.sqrt(units / (units - 1)) * t), rel=1e-6)
    assert low + high == 1
    assert find_tails(Sampling(level=level, method="bca"), units).tolist() == [low, high]
    plain = ((1 - level) / 2, (1 + level) / 2)
    assert tuple(find_tails(Sampling(level=level, method="percentile"), units)) == pytest.approx(plain)
    assert tuple(find_tails(Sampling(level=level), None)) == pytest.approx(plain)


@pytest.mark.parametrize("groups", [5, 12, None])
def test_an_interval_is_a_plain_loop_over_draws_with_expanded_tails(groups: int | None) -> None:
    """Over groups, it is their number that counts; normal values make it wider by the factor of the theory."""
    rng = np.random.default_rng(4)
    n = 60
    rows = np.stack([rng.normal(size=n), np.ones(n)], axis=1)
    labels = None if groups is None else [f"g{at % groups}" for at in range(n)]
    evalset = EvalSet.of(items=n, groups=labels)
    sampling = Sampling(resamples=20_000, seed=3)
    evaluation = from_rows(evalset, None, {"mean": Mean()}, {"A": {"mean": rows}}, sampling)
    estimate = evaluation["A"]["mean"].value
    units = groups or n
    totals = np.array([rows[np.arange(n) % units == unit].sum(axis=0) for unit in range(units)])
    # Groups are drawn in the order of their names.
    order = np.argsort([f"g{unit}" for unit in range(units)]) if groups else np.arange(n)
    picks = np.random.default_rng(3).integers(units, size=(20_000, units))
    draws = [ratio(totals[order][pick].sum(axis=0))[0] for pick in picks]
    t = np.sqrt(units / (units - 1)) * scipy.stats.t.ppf(0.975, units - 1)
    expected = np.quantile(draws, scipy.stats.norm.cdf([-t, t]))
    assert (estimate.low, estimate.high) == pytest.approx(tuple(expected), rel=1e-9)
    low, high = np.quantile(draws, [0.025, 0.975])
    wider = (estimate.high - estimate.low) / (high - low)  # draws of few groups lie within them
    assert 1 + 0.6 * (t / 1.96 - 1) < wider < 1.03 * t / 1.96


@pytest.mark.parametrize("filled", [1, 5])
def test_empty_bins_are_not_units(filled: int) -> None:
    """Few groups of a corpus in files are in few of its bins: as many are drawn, and one allows no interval."""
    rng = np.random.default_rng(5)
    rows = np.zeros((64, 2))
    rows[:filled] = np.stack([rng.normal(size=filled), np.ones(filled)], axis=1)
    (totals,) = PoissonResampler(500, 1).totals([rows])
    with np.errstate(invalid="ignore"):
        (estimate,) = interval(rows, ratio, totals, sampling=Sampling())
        (alone,) = interval(rows[:filled], ratio, totals, sampling=Sampling())
    assert (estimate.low, estimate.high) == pytest.approx((alone.low, alone.high), nan_ok=True)
    assert np.isnan(estimate.low) == (filled == 1)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_ends_of_intervals_are_the_quantiles_of_the_defined_draws(level: float) -> None:
    """Few draws, so that an end lies between two of them."""
    rng = np.random.default_rng(8)
    draws = rng.exponential(size=(23, 2))
    draws[[3, 7], 1] = np.nan
    tails = [(1 - level) / 2, (1 + level) / 2]
    sampling = Sampling(resamples=23, level=level, method="percentile")
    assert middle_interval(draws[:, 0], sampling) == pytest.approx(tuple(np.quantile(draws[:, 0], tails)), abs=1e-12)
    estimates = interval(np.ones((4, 2)), lambda totals: totals, draws, sampling=sampling)
    for estimate, column in zip(estimates, draws.T, strict=True):
        assert (estimate.low, estimate.high) == pytest.approx(tuple(np.nanquantile(column, tails)), abs=1e-12)


def test_weights_of_items_give_the_totals_of_groups() -> None:
    """Each draw has as many groups as there are, and the items of a group occur together."""
    rng = np.random.default_rng(9)
    groups = tuple(f"g{at // 3}" for at in range(30))
    resampler = Resampler(n=30, resamples=200, seed=4, groups=groups)
    weights = resampler.item_weights()
    assert weights.sum(axis=1).tolist() == [30.0] * 200
    assert (np.diff(weights.reshape(200, 10, 3), axis=2) == 0).all()
    rows = rng.normal(size=(30, 2))
    np.testing.assert_allclose(weights @ rows, resampler.totals([rows])[0], rtol=0, atol=1e-12)


def test_bca_is_efrons_formula_on_the_same_draws() -> None:
    values = np.random.default_rng(6).lognormal(sigma=1.2, size=40)
    rows = np.stack([values, np.ones(40)], axis=1)
    (totals,) = Resampler(n=40, resamples=999, seed=2).totals([rows])
    ours = interval(rows, ratio, totals, sampling=Sampling(method="bca", level=0.9))[0]
    draws, normal = ratio(totals)[:, 0], scipy.stats.norm
    bias = normal.ppf(scipy.stats.percentileofscore(draws, values.mean(), kind="mean") / 100)
    apart = values - values.mean()  # in proportion to how far each item moves the mean
    acceleration = (apart**3).sum() / (6 * (apart**2).sum() ** 1.5)
    t = np.sqrt(40 / 39) * scipy.stats.t.ppf([0.05, 0.95], 39)  # instead of normal.ppf, for few items
    z = bias + t
    expected = np.quantile(draws, normal.cdf(bias + z / (1 - acceleration * z)))
    assert abs(bias) > 0.02
    assert (ours.low, ours.high) == pytest.approx(tuple(expected), rel=1e-9)


def test_variants_are_drawn_one_a_unit():
    """With two variants a unit, sums vary as sums of independent choices: variance = sum of the units' variances."""
    rng = np.random.default_rng(4)
    variants = rng.normal(size=(200, 2, 1))
    totals = variant_totals(variants, Sampling(resamples=4000, seed=2))[:, 0]
    expected = variants.var(axis=1).sum()
    assert totals.var() == pytest.approx(expected, rel=0.1)
    assert totals.mean() == pytest.approx(variants.mean(axis=1).sum(), abs=4 * np.sqrt(expected / 4000))
    both = variant_totals(variants, Sampling(resamples=4000, seed=2), units=True)[:, 0]
    assert both.var() == pytest.approx(200 * variants.var(), rel=0.1)


class _ReferenceLength:
    """A metric whose truth is known: the mean number of words of the references."""

    name, needs, better, outputs = "length", frozenset({"references"}), "neither", ("length",)

    def measure(self, evalset, outputs):
        means = [np.mean([len(r.split()) for r in row]) for row in evalset.references]
        return np.stack([means, np.ones(len(means))], axis=1)

    def score(self, totals):
        return ratio(totals)

    def __repr__(self) -> str:
        return "length"


@pytest.mark.parametrize("count", [4, 5, 10])
def test_intervals_over_references_have_the_width_that_theory_says(monkeypatch, count):
    """For a mean over references, their variance is known: sum of the items' variances / count / items²."""
    from plainly.core import registry

    @dataclass(frozen=True, repr=False)
    class Length(_ReferenceLength, Metric):
        pass

    monkeypatch.setattr(registry, "metric", lambda spec: Length())
    rng = np.random.default_rng(count)
    words = rng.poisson(12, size=(150, count)) + 1
    evalset = EvalSet.of(["x"] * 150, references=[[" ".join(["w"] * k) for k in row] for row in words])
    outputs = {"A": ["x"] * 150}
    evaluation = evaluate(evalset, outputs, ["length"], sampling=Sampling(resamples=3000, seed=1))
    draws = draw_references(evaluation, over="references", halves=30)
    estimate = with_intervals(evaluation, draws, over="references")["A"]["length"].value
    standard_error = np.sqrt((words.var(axis=1, ddof=1) / count).sum()) / 150
    assert (estimate.high - estimate.low) / (2 * 1.96) == pytest.approx(standard_error, rel=0.12)
    assert estimate.value == pytest.approx(words.mean())
    assert "references" in estimate.method


@pytest.mark.parametrize("over", ["references", "both"])
def test_an_item_with_fewer_than_four_references_allows_no_interval_over_them(over: Literal["references", "both"]):
    """Over two or three references, 70 to 91 % of intervals cover: so few writers do not show how others differ."""
    four = [["a b", "b c", "a c", "a"]] * 4
    for few in (["a b"], ["a b", "b c", "a"]):
        evalset = EvalSet.of(["a b c"] * 5, references=[*four, few], ids=[f"i{at}" for at in range(5)])
        evaluation = evaluate(evalset, {"A": ["a b"] * 5}, ["sari"], sampling=None)
        with pytest.raises(BadInput, match=f"at least 4 references.*'i4' has {len(few)}.*over='items'"):
            draw_references(evaluation, over=over)
        assert draw_references(evaluate(evalset[:4], {"A": ["a b"] * 4}, ["sari"], sampling=None), over=over)


def test_metrics_without_references_do_not_vary_with_them():
    evalset = EvalSet.of(["a b c d"] * 20, references=[["a b", "b c d", "a c", "d"]] * 20)
    outputs = {"A": ["a b c ."] * 20}
    evaluation = evaluate(evalset, outputs, ["sari", "fkgl"], sampling=Sampling(resamples=50))
    draws = draw_references(evaluation, over="references")
    scores = with_intervals(evaluation, draws, over="references")["A"]
    assert "fkgl" not in draws
    assert isinstance(scores["fkgl"].value, float)
    assert set(draw_references(evaluation, over="both")) == {"sari", "fkgl"}
    with pytest.raises(BadInput, match="references"):
        draw_references(evaluate(evalset, outputs, ["fkgl"], sampling=None), over="references")


@pytest.mark.parametrize(("command", "over"), [("score", "references"), ("compare", "both")])
def test_intervals_over_few_references_have_a_warning(
    command: str, over: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--demo", "--over", over, "--resamples", "20", "--json", "editor", "lexical"]
    options += ["--trials", "20"] if command == "compare" else []
    assert main([command, "-m", "sari,bleu,chrf,fkgl", *options]) == 0
    (warning,) = [w for w in json.loads(capsys.readouterr().out)["warnings"] if w["code"] == "few-references"]
    assert "bleu and chrf" in warning["message"]
    assert main([command, "-m", "sari", *options]) == 0
    assert "few-references" not in capsys.readouterr().out
