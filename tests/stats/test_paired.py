"""Paired tests, corrections and power: against sacrebleu's own code, against definitions, and in simulation."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from plainly import data
from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.sampling import Sampling
from plainly.scoring.compare import compare
from plainly.scoring.evaluate import evaluate
from plainly.stats import paired
from plainly.stats.resample import Resampler, jackknife

SYSTEMS = ("Dress", "Dress-Ls", "EditNTS", "NTS-SARI", "PBMT-R")


def mean_score(totals: np.ndarray) -> np.ndarray:
    """A metric that is a plain mean: rows are (value, 1)."""
    return totals[..., :1] / totals[..., 1:]


def with_ones(values: np.ndarray) -> np.ndarray:
    return np.stack([values, np.ones(len(values))], axis=1)


@pytest.fixture(scope="module")
def turkcorpus(mirror: Path) -> tuple[EvalSet, dict[str, tuple[str, ...]]]:
    return data.load("turkcorpus/test"), {name: data.outputs("turkcorpus/test", name) for name in SYSTEMS}


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("test", "short", "draws"), [("paired-bootstrap", "bs", 1000), ("approximate-randomisation", "ar", 2000)]
)
def test_p_values_equal_sacrebleus(turkcorpus, test, short, draws):
    """The same seed draws the same items and the same coins, so not only the distribution but the p-value is equal."""
    evalset, outputs = turkcorpus
    references = [list(column) for column in zip(*evalset.references, strict=True)]
    _, theirs = PairedTest(
        [(name, list(texts)) for name, texts in outputs.items()],
        {"bleu": BLEU(references=references)},
        references=None,
        test_type=short,
        n_samples=draws,
    )()
    evaluation = evaluate(evalset, outputs, ["bleu"], sampling=None)
    ours = compare(evaluation, baseline="Dress", tests=[test], sampling=Sampling(resamples=draws), trials=draws)
    expected = {name: result.p_value for name, result in zip(theirs["System"], theirs["BLEU"], strict=True)}
    scores = {name: result.score for name, result in zip(theirs["System"], theirs["BLEU"], strict=True)}
    assert len({round(p, 3) for p in expected.values() if p is not None}) > 1, "p-values that are all alike test little"
    for comparison in ours.comparisons:
        assert comparison.score == pytest.approx(scores[comparison.system], abs=1e-9)
        assert comparison.p_value == pytest.approx(expected[comparison.system], abs=1.5 / draws)


def test_p_values_equal_sacrebleus_for_chrf_and_one_reference():
    rng = np.random.default_rng(3)
    vocabulary = [f"w{k}" for k in range(30)]
    references = [" ".join(rng.choice(vocabulary, size=9)) for _ in range(80)]

    def noisy(share: float) -> list[str]:
        return [
            " ".join(w if rng.random() > share else str(rng.choice(vocabulary)) for w in r.split()) for r in references
        ]

    outputs = {"A": noisy(0.30), "B": noisy(0.34), "C": noisy(0.45)}
    evalset = EvalSet.of(references=[[r] for r in references])
    evaluation = evaluate(evalset, outputs, ["bleu", "chrf"], sampling=None)
    for short, test in (("bs", "paired-bootstrap"), ("ar", "approximate-randomisation")):
        _, theirs = PairedTest(
            list(outputs.items()),
            {"bleu": BLEU(references=[references]), "chrf": CHRF(references=[references])},
            references=None,
            test_type=short,
            n_samples=500,
        )()
        ours = compare(evaluation, baseline="A", tests=[test], sampling=Sampling(resamples=500), trials=500)
        for comparison in ours.comparisons:
            column = theirs["BLEU" if comparison.metric == "bleu" else "chrF2"]
            expected = column[theirs["System"].index(comparison.system)].p_value
            assert comparison.p_value == pytest.approx(expected, abs=1.5 / 500), (comparison.metric, test)


def _randomise(a: np.ndarray, b: np.ndarray, **options) -> float:
    """The p-value of approximate randomisation between two systems whose score is a mean."""
    return paired.Swaps(**options).p_values(mean_score, [with_ones(a), with_ones(b)], [(0, 1)])[0]


def test_randomisation_is_the_exact_permutation_test_on_few_items():
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=8), rng.normal(0.6, size=8)
    observed = b.mean() - a.mean()
    signs = np.array(list(itertools.product((1, -1), repeat=8)))
    exact = np.mean(np.abs((signs * (b - a)).mean(axis=1)) >= abs(observed) - 1e-12)
    assert _randomise(a, b, trials=20_000, seed=1) == pytest.approx(exact, abs=0.01)


def test_coins_do_not_depend_on_chunks(monkeypatch):
    a, b = np.random.default_rng(0).normal(size=(2, 50))
    whole = _randomise(a, b, trials=200, seed=4)
    assert whole != _randomise(a, b, trials=200, seed=5)
    monkeypatch.setattr(paired, "chunk_size", lambda units: 32)
    assert _randomise(a, b, trials=200, seed=4) == whole


def test_further_trials_give_what_all_trials_would():
    """Few of them are scored, and the p-values are those of all; without further ones small p-values stay unknown."""
    rng = np.random.default_rng(11)
    shared = rng.gamma(2.0, size=200)
    tables = [with_ones(shared + rng.exponential(size=200) + step) for step in np.linspace(0, 0.9, 12)]
    pairs = list(itertools.combinations(range(12), 2))
    sizes = []

    def score(totals: np.ndarray) -> np.ndarray:
        sizes.append(totals[..., 0].size)
        return np.exp(mean_score(totals) / 2)

    every = paired.Swaps(20_000, seed=2).p_values(score, tables, pairs)
    straight, sizes[:] = sum(sizes), []
    few = paired.Swaps(1000, seed=2, further=20_000).p_values(score, tables, pairs)
    assert sum(sizes) < straight / 10
    close = [pair for pair, p_value in enumerate(few) if p_value < 3 / 1001]
    assert 10 < len(close) < 60
    for at, p_value in enumerate(few):
        assert p_value == pytest.approx(every[at], abs=0.011 / 20_000 if at in close else 0.05)
    assert len({every[at] for at in close}) > 3, "p-values that are all alike test little"


def test_further_trials_err_no_more_often():
    rng = np.random.default_rng(12)
    p_values = np.array(
        [_randomise(*rng.exponential(size=(2, 40)), trials=100, seed=seed, further=1000) for seed in range(2000)]
    )
    for level in (0.002, 0.01, 0.03, 0.05):
        assert np.mean(p_values <= level) <= level + 3 * np.sqrt(level / 2000)
    assert np.mean(p_values <= 0.01) > 0.005


def test_identical_systems_are_never_different():
    """sacrebleu gives them p = 1/(draws + 1); a difference of zero is not evidence of a difference."""
    texts = [f"the cat number {k} sat" for k in range(30)]
    evalset = EvalSet.of(texts, references=[[f"cat number {k} sat down"] for k in range(30)])
    evaluation = evaluate(evalset, {"A": texts, "B": list(texts)}, ["bleu", "sari", "fkgl"], sampling=None)
    for comparison in compare(evaluation, sampling=Sampling(resamples=100), trials=100).comparisons:
        assert comparison.difference == 0
        assert comparison.p_value == comparison.p_holm == 1
        assert not comparison.significant
        assert np.isnan(comparison.effect_size)


def test_a_draw_as_extreme_as_the_observed_difference_counts() -> None:
    """Also where all scores are 0, so that rounding has no size."""
    assert paired.share_as_extreme(np.zeros(9), 0.0, 0.0) == 1
    assert paired.share_as_extreme(np.array([0.0, 1, 2, 3, np.nan]), 2.0, 3.0) == pytest.approx(3 / 5)
    assert paired.share_as_extreme(np.array([0.0, 1, 2, 3]), 2.001, 3.0) == pytest.approx(2 / 5)


def test_holm_and_benjamini_hochberg_by_hand():
    p = [0.01, 0.04, 0.03, 0.005]
    assert paired.holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert paired.benjamini_hochberg(p) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    with_undefined = paired.holm([0.01, float("nan"), 0.04])
    assert with_undefined[0] == pytest.approx(0.02)
    assert np.isnan(with_undefined[1])
    assert with_undefined[2] == pytest.approx(0.04)
    assert paired.holm([]) == []


def test_corrections_are_monotone_and_bounded():
    rng = np.random.default_rng(2)
    for _ in range(50):
        p = rng.random(7) ** 2
        by_holm, by_bh = np.array(paired.holm(p)), np.array(paired.benjamini_hochberg(p))
        assert (by_holm >= by_bh - 1e-12).all()
        assert (by_bh >= p - 1e-12).all()
        assert (by_holm <= 1).all()
        order = np.argsort(p)
        assert (np.diff(by_holm[order]) >= -1e-12).all()


def _spread(system: np.ndarray, baseline: np.ndarray) -> paired.Spread:
    left_out = [jackknife(with_ones(values), mean_score)[:, 0] for values in (system, baseline)]
    return paired.spread_of(left_out[0] - left_out[1])


def test_effect_size_of_a_mean_is_cohens_d_for_pairs():
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=60), rng.normal(0.4, size=60)
    spread = _spread(b, a)
    difference = b.mean() - a.mean()
    assert spread.effect_size(difference) == pytest.approx(difference / (b - a).std(ddof=1))
    assert spread.standard_error == pytest.approx((b - a).std(ddof=1) / np.sqrt(60))


def _simulate(rng: np.random.Generator, n: int, effect: float, *, draws: int = 200) -> dict[str, float]:
    """P-values of one experiment with two systems whose items correlate and are skewed, as segment scores are."""
    shared = rng.gamma(2.0, size=n)
    a, b = shared + rng.exponential(size=n), shared + rng.exponential(size=n) + effect
    rows = [with_ones(a), with_ones(b)]
    observed = float(b.mean() - a.mean())
    seed = int(rng.integers(2**31))
    totals = Resampler(n=n, resamples=draws, seed=seed).totals(rows)
    differences = (mean_score(totals[1]) - mean_score(totals[0]))[:, 0]
    return {
        "ar": _randomise(a, b, trials=draws, seed=seed),
        "two-sided bootstrap": paired.two_sided_bootstrap_p(differences, observed, units=n),
        "sacrebleu's bootstrap": paired.bootstrap_p(differences, observed),
        "direction": float(np.sign(observed)),
    }


@pytest.mark.long
@pytest.mark.parametrize("n", [100, 359])
def test_type_one_error_is_nominal(n):
    """Under the null, 5 % of all experiments reject. sacrebleu's p-value looks at one side: 5 % for each direction."""
    rng = np.random.default_rng(2024 + n)
    results = [_simulate(rng, n, 0.0) for _ in range(1000)]
    error = 3 * np.sqrt(0.05 * 0.95 / 1000)
    for test in ("ar", "two-sided bootstrap"):
        assert np.mean([p[test] <= 0.05 for p in results]) == pytest.approx(0.05, abs=error), test
    one_sided = [p["sacrebleu's bootstrap"] <= 0.05 and p["direction"] > 0 for p in results]
    assert np.mean(one_sided) == pytest.approx(0.05, abs=error)
    both = np.mean([p["sacrebleu's bootstrap"] <= 0.05 for p in results])
    assert both == pytest.approx(0.10, abs=2 * error), "documented: about twice the nominal level in all"


@pytest.mark.parametrize("n", [5, 12, 20])
def test_type_one_error_with_few_units_is_at_most_nominal(n):
    rng = np.random.default_rng(2024 + n)
    results = [_simulate(rng, n, 0.0) for _ in range(1000)]
    for test in ("ar", "two-sided bootstrap"):  # uncorrected, the bootstrap errs in 17 % at 5 units and 10 % at 12
        assert np.mean([p[test] <= 0.05 for p in results]) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000), test


@pytest.mark.long
def test_the_smallest_detectable_difference_is_detected_in_four_of_five():
    rng = np.random.default_rng(77)
    n = 150
    pilot = _pilot(rng)
    detectable = pilot.deviation / np.sqrt(n) * (1.959964 + 0.841621)
    error = paired.Spread(pilot.deviation, n).standard_error
    assert paired.detectable_difference(error, 10**6, level=0.95) == pytest.approx(detectable, rel=1e-4)
    assert paired.detectable_difference(error, n, level=0.95, family=6) > 1.2 * detectable, (
        "six comparisons ask for more"
    )
    assert paired.detectable_difference(error, 12, level=0.95) > 1.09 * detectable, "so do few units"
    detections = [_simulate(rng, n, detectable, draws=800)["ar"] <= 0.05 for _ in range(600)]
    # A little less than 80 %, since swapping outputs that differ also spreads the null distribution.
    assert np.mean(detections) == pytest.approx(0.78, abs=3 * np.sqrt(0.16 / 600))


def _pilot(rng: np.random.Generator) -> paired.Spread:
    n = 20_000
    a, b = rng.exponential(size=n), rng.exponential(size=n)
    return _spread(a, b)


def test_groups_are_swapped_as_wholes():
    """Ten copies of every item add no evidence: with groups, p stays what it is for the items."""
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=12), rng.normal(0.9, size=12)
    ten_a, ten_b = np.repeat(a, 10), np.repeat(b, 10)
    groups = tuple(str(k) for k in np.repeat(np.arange(12), 10))

    plain = _randomise(a, b, trials=4000, seed=6)
    by_group = _randomise(ten_a, ten_b, trials=4000, seed=6, groups=groups)
    naive = _randomise(ten_a, ten_b, trials=4000, seed=6)
    assert by_group == pytest.approx(plain, abs=0.03)
    assert naive < plain / 3


def test_clusters_and_ties():
    beats = {("a", "c"), ("a", "d"), ("b", "d")}
    assert paired.clusters("abcd", lambda x, y: (x, y) in beats) == [["a", "b", "c", "d"]]
    assert paired.clusters("abc", lambda x, y: x == "a") == [["a"], ["b", "c"]]
    assert paired.clusters("abc", lambda x, y: True) == [["a"], ["b"], ["c"]]
    differ = {frozenset("ac"), frozenset("ad"), frozenset("bd")}
    assert paired.ties("abcd", lambda x, y: frozenset((x, y)) in differ) == [["a", "b"], ["b", "c"], ["c", "d"]]
    assert paired.ties("abc", lambda x, y: False) == [["a", "b", "c"]]


def test_what_cannot_be_compared_is_said():
    evalset = EvalSet.of(["one two", "three"], references=[["one"], ["three"]])
    alone = evaluate(evalset, {"A": ["one", "three"]}, ["bleu"], sampling=None)
    with pytest.raises(BadInput, match="two systems"):
        compare(alone)
    two = evaluate(evalset, {"A": ["one", "three"], "B": ["one", "x"]}, ["bleu"], sampling=None)
    with pytest.raises(UnknownName, match="Did you mean 'A'"):
        compare(two, baseline="a")
    with pytest.raises(BadInput, match="tests="):
        compare(two, tests=["t-test"])  # type: ignore[list-item]
    with pytest.raises(BadInput, match="at least 1"):
        compare(two, trials=0)
