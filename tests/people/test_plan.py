"""Plans against SciPy's tests, against simulation, and against the figures known for the public ratings."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.core.sampling import Sampling
from plainly.people import Ratings, load
from plainly.people.planning import (
    Components,
    Pilot,
    compute_power,
    estimate_components,
    find_detectable_difference,
    plan,
    resample_study,
    sentences_needed,
    tau_b,
)
from plainly.people.results import results

SEVEN = ("Identity", "Moses", "SBMT-SARI", "NTS-h1_default_model", "NTS-h1_w2v_model", "NTS-h4_default_model",
         "NTS-h4_w2v_model")  # fmt: skip


def simulated(rng: np.random.Generator, *, items: int = 60, raters: int = 4, paired: bool = True) -> Ratings:
    """Four systems at 0, .3, .8 and 1.5, items and raters with spread 1."""
    truth = np.array([0, 0.3, 0.8, 1.5])[:, None] + rng.normal(size=(4, items)) * 0.7 + rng.normal(size=items) * 0.7
    values = truth[:, :, None] + rng.normal(size=(4, items, raters))
    if not paired:
        values[rng.random((4, items)) < 0.6] = np.nan
    return Ratings("s", ("A", "B", "C", "D"), tuple(map(str, range(items))), tuple("wxyz"[:raters]), values)


@pytest.mark.parametrize("paired", [True, False])
def test_the_pattern_is_what_scipys_t_tests_say(paired: bool) -> None:
    for seed in range(5):
        ratings = simulated(np.random.default_rng(seed), paired=paired)
        pilot = Pilot.of(ratings)
        assert pilot.test == ("paired" if paired else "welch")
        for (one, other), decided in zip(pilot.pairs, pilot.pattern, strict=True):
            a, b = (ratings.means[ratings.systems.index(name)] for name in (one, other))
            if paired:
                theirs = scipy.stats.ttest_rel(a, b)
            else:
                theirs = scipy.stats.ttest_ind(a[~np.isnan(a)], b[~np.isnan(b)], equal_var=False)
            assert decided == (np.sign(theirs.statistic) if theirs.pvalue < 0.01 else 0)


def test_tau_b_of_patterns_equals_scipy_and_both_ways_forgets_the_order() -> None:
    rng = np.random.default_rng(0)
    patterns, full = rng.integers(-1, 2, size=(50, 15)).astype(float), rng.integers(-1, 2, size=15).astype(float)
    theirs = [scipy.stats.kendalltau(row, full).statistic for row in patterns]
    np.testing.assert_allclose(tau_b(patterns, full), theirs, atol=1e-9)
    assert np.isnan(tau_b(np.zeros((1, 15)), full)[0])
    ratings = simulated(rng)
    turned = ratings.of_systems(("D", "B", "A", "C"))
    points = [
        resample_study(Pilot.of(each), sentences=20, sampling=Sampling(resamples=300), rng=np.random.default_rng(1))
        for each in (ratings, turned)
    ]
    assert points[0].tau == pytest.approx(points[1].tau, abs=1e-12)
    assert points[0].tau_as_listed != pytest.approx(points[1].tau_as_listed, abs=0.005)


def test_more_is_better_and_a_budget_goes_to_sentences() -> None:
    pilot = Pilot.of(simulated(np.random.default_rng(3)))
    rng = np.random.default_rng(0)
    draw = partial(resample_study, pilot, sampling=Sampling(resamples=300), rng=rng)
    by_size = [draw(sentences=size) for size in (5, 15, 40, 120)]
    assert [point.tau for point in by_size] == sorted(point.tau for point in by_size)
    by_raters = [draw(raters=count) for count in (1, 2, 4)]
    assert [point.tau for point in by_raters] == sorted(point.tau for point in by_raters)
    spent = [draw(sentences=60 // count, raters=count) for count in (1, 2, 4)]
    assert [(point.sentences, point.raters) for point in spent] == [(60, 1), (30, 2), (15, 4)]
    assert spent[0].tau > spent[1].tau > spent[2].tau


def test_systems_without_any_spread_are_told_apart_by_their_means() -> None:
    values = np.ones((3, 10, 2)) * np.array([1, 2, 2.0])[:, None, None]
    pilot = Pilot.of(Ratings("s", ("A", "B", "C"), tuple(map(str, range(10))), ("x", "y"), values))
    assert pilot.pattern.tolist() == [-1, -1, 0]


def test_variance_components_are_those_that_were_simulated() -> None:
    rng = np.random.default_rng(0)
    components = [estimate_components(Pilot.of(simulated(rng, items=300))) for _ in range(10)]
    assert np.mean([each.within for each in components]) == pytest.approx(1, rel=0.05)
    assert np.mean([each.between for each in components]) == pytest.approx(0.49, rel=0.1)
    unpaired = [estimate_components(Pilot.of(simulated(rng, items=300), test="welch")) for _ in range(10)]
    assert np.mean([each.between for each in unpaired]) == pytest.approx(0.98, rel=0.1)


def test_power_is_what_simulation_finds() -> None:
    parts = Components(between=0.5, within=1.0, test="paired")
    rng = np.random.default_rng(0)
    for raters in (1, 3):
        spread = np.sqrt(2 * (0.5 + 1.0 / raters))
        drawn = rng.normal(0.6, spread, size=(4000, 40))
        simulated_power = np.mean(scipy.stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.01)
        assert compute_power(parts, 0.6, sentences=40, raters=raters) == pytest.approx(simulated_power, abs=0.025)
    assert compute_power(parts, 0.0, sentences=40) == pytest.approx(0.01, abs=1e-6)


def test_sentences_needed_and_detectable_are_each_others_inverse() -> None:
    parts = Components(between=325.0, within=971.0, test="welch")
    need = sentences_needed(parts, 10)
    assert need is not None
    assert compute_power(parts, 10, sentences=need) >= 0.8 > compute_power(parts, 10, sentences=need - 1)
    assert find_detectable_difference(parts, sentences=need) == pytest.approx(10, abs=0.05)
    needed = [sentences_needed(parts, 10, raters=raters) for raters in (1, 2, 5, 15)]
    # By hand: 2(325 + 971/k)(2.576 + .842)²/100, and a little more for the t distribution.
    by_hand = [2 * (325 + 971 / raters) * (2.576 + 0.842) ** 2 / 100 for raters in (1, 2, 5, 15)]
    assert needed == pytest.approx(by_hand, abs=4)
    assert sentences_needed(parts, 1e-6) is None


def test_power_is_defined_rises_with_size_and_is_scipys_at_every_size() -> None:
    # scipy's noncentral t is NaN for some of these: a search over sizes must not stumble over it.
    for test in ("paired", "welch"):
        parts = Components(between=0.3, within=0.4, test=test)
        sizes = [*range(2, 30), 99, 100, 101, 102, *range(199, 205), 500, 1000, 5000, 100_000]
        for difference in (0.05, 0.2, 0.4, 3.0):
            curve = np.array([compute_power(parts, difference, sentences=size) for size in sizes])
            assert not np.isnan(curve).any()
            assert (np.diff(curve) >= -1e-9).all()
        for size in (5, 20, 101, 202):
            df = (size - 1) * (1 if test == "paired" else 2)
            shift, critical = 0.2 / np.sqrt(2 * 0.7 / size), scipy.stats.t.isf(0.005, df)
            theirs = scipy.stats.nct.sf(critical, df, shift) + scipy.stats.nct.cdf(-critical, df, shift)
            assert compute_power(parts, 0.2, sentences=size) == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("difference", [float("nan"), 0.0, -1.0, float("inf"), float("-inf")])
def test_a_difference_that_is_none_is_refused(difference: float, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadInput, match="difference="):
        plan(simulated(np.random.default_rng(0)), difference=difference, sampling=Sampling(resamples=5))
    with pytest.raises(BadInput, match="difference="):
        sentences_needed(Components(1.0, 1.0, "paired"), difference)
    with pytest.raises(BadInput):
        plan(simulated(np.random.default_rng(0)), target=difference, sampling=Sampling(resamples=5))


def rated_by(design: str, *, items: int, raters: int, rng: np.random.Generator, effect: float = 0.6) -> np.ndarray:
    """Return ratings of two systems; raters are strict or lenient (sd 1), which cancels where both are theirs."""
    truth = np.array([0, effect])[:, None] + rng.normal(size=items) + rng.normal(size=(2, items)) * 0.5
    strictness = rng.normal(size=(1 if design == "same" else 2, items, raters))
    return truth[..., None] + strictness + rng.normal(size=(2, items, raters)) * 0.7


@pytest.mark.parametrize(("pilots", "study"), [("same", "same"), ("same", "new"), ("new", "new")])
def test_promised_power_is_that_of_the_stated_design(pilots: str, study: str) -> None:
    """Before, a pilot with the same raters promised 80 % and new studies had 66 or 90 %."""
    rng = np.random.default_rng(7)
    values = rated_by(pilots, items=3000, raters=3, rng=rng)
    names = tuple("xyz")
    if pilots == "new":
        gaps = np.full((3000, 3), np.nan)
        values, names = np.stack([np.hstack([values[0], gaps]), np.hstack([gaps, values[1]])]), tuple("uvwxyz")
    pilot = Pilot.of(Ratings("s", ("A", "B"), tuple(map(str, range(3000))), names, values))
    assert (pilot.test, pilot.design) == ("paired", pilots)
    parts = estimate_components(pilot)
    parts = parts if study == pilots else parts.with_new_raters
    assert parts.design == study
    assert parts.within == pytest.approx(0.49 if study == "same" else 1.49, rel=0.05)
    assert parts.between == pytest.approx(0.25, abs=0.05)
    for raters in (1, 3):
        size = sentences_needed(parts, 0.6, raters=raters)
        assert size is not None
        means = rated_by(study, items=size * 3000, raters=raters, rng=rng).mean(axis=2).reshape(2, 3000, size)
        rate = np.mean(scipy.stats.ttest_rel(*means, axis=1).pvalue < 0.01)
        assert rate == pytest.approx(0.8, abs=0.035)
        if study == pilots:
            shifted = values.copy()
            shifted[1] += 0.6 - np.nanmean(values[1]) + np.nanmean(values[0])
            drawn = resample_study(
                Pilot.of(Ratings("s", ("A", "B"), tuple(map(str, range(3000))), names, shifted)),
                sentences=size, raters=raters, sampling=Sampling(resamples=2000), rng=rng,
            )  # fmt: skip
            assert drawn.power == pytest.approx(0.8, abs=0.035)


def test_a_plan_says_for_which_design_it_is() -> None:
    for design, words in (("same", "the same raters for all systems"), ("new", "a new rater for every rating")):
        values = rated_by(design, items=60, raters=2, rng=np.random.default_rng(1))
        if design == "new":
            gaps = np.full((60, 2), np.nan)
            values = np.stack([np.hstack([values[0], gaps]), np.hstack([gaps, values[1]])])
        names = tuple("abcd"[: values.shape[2]])
        result = plan(
            Ratings("s", ("A", "B"), tuple(map(str, range(60))), names, values), sampling=Sampling(resamples=20)
        )
        assert result.json()["design"]["raters"] == result.components.design == design
        assert any(words in line for line in result.advice)
        assert words in result.notes()[-1].message
        assert [table.caption for table in result.tables()] == [result.answer]
    means = plan(Ratings("s", ("A", "B"), tuple("123456"), ("mean",), np.random.default_rng(0).normal(size=(2, 6, 1))),
                 sampling=Sampling(resamples=20))  # fmt: skip
    assert "unknown" in means.notes()[-1].message


@pytest.mark.parametrize("test", ["paired", "welch"])
@pytest.mark.parametrize("raters", [1, 2, 3, 6])
def test_a_budget_counts_raters_once(test: str, raters: int) -> None:
    """The power of drawn studies is that of new studies with as many sentences and raters."""
    rng, size, effect = np.random.default_rng(raters), 24, 0.9

    def study(sentences: int, count: int, times: int = 1) -> np.ndarray:
        shared = rng.normal(size=(times, 1, sentences)) if test == "paired" else 0.0
        truth = np.array([0, effect])[:, None] + shared + rng.normal(size=(times, 2, sentences)) * 0.5
        return truth[..., None] + rng.normal(size=(times, 2, sentences, count)) * 1.2

    means = study(size, raters, 4000).mean(axis=3)
    tested = scipy.stats.ttest_rel if test == "paired" else scipy.stats.ttest_ind
    options = {} if test == "paired" else {"equal_var": False}
    true = np.mean(tested(means[:, 0], means[:, 1], axis=1, **options).pvalue < 0.01)
    powers = []
    for _ in range(6):
        pilot = study(400, 3)[0]
        pilot[1] += effect - (pilot[1].mean() - pilot[0].mean())  # the pilot's own difference is the true one
        ratings = Ratings("s", ("A", "B"), tuple(map(str, range(400))), tuple("xyz"), pilot)
        drawn = resample_study(
            Pilot.of(ratings, test=test), sentences=size, raters=raters, sampling=Sampling(resamples=400), rng=rng
        )  # fmt: skip
        powers.append(drawn.power)
    assert np.mean(powers) == pytest.approx(true, abs=0.03)


def test_what_is_called_detectable_is_found_in_four_of_five_studies() -> None:
    rng = np.random.default_rng(1)
    parts = estimate_components(Pilot.of(simulated(rng, items=2000)))
    for size in (10, 25, 100):
        difference = find_detectable_difference(parts, sentences=size)
        drawn = rng.normal(difference, np.sqrt(2 * (0.49 + 1.0)), size=(4000, size))
        assert np.mean(scipy.stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.01) == pytest.approx(0.8, abs=0.03)


def test_the_answer_is_a_sentence() -> None:
    result = plan(simulated(np.random.default_rng(3)), budget=60, sampling=Sampling(resamples=200))
    assert result.answer.startswith("With 60 ratings, use 60 sentences with one rater each")
    assert all(line.endswith(".") for line in result.advice)
    again = plan(simulated(np.random.default_rng(3)), budget=60, sampling=Sampling(resamples=200))
    assert result.points["budget"] == again.points["budget"]
    curves = {
        raters: {point["sentences"]: point["power"] for point in result.curves if point["raters"] == raters}
        for raters in result.needed
    }
    for curve in curves.values():
        assert list(curve.values()) == sorted(curve.values())
    assert curves[2][50] > curves[1][50]


def test_a_plan_shows_itself() -> None:
    result = plan(simulated(np.random.default_rng(3)), budget=60, sampling=Sampling(resamples=50, seed=2))
    payload = result.json()
    assert (payload["schema"], payload["seed"], payload["ratings"]) == ("plainly.plan/1", 2, "s")
    assert {record["resampled"] for record in result.records()} == {"sentences", "raters", "budget"}
    assert [note.message for note in result.notes() if note.kind == "claim"] == result.advice[1:]
    assert result.answer in repr(result)
    with pytest.raises(BadInput, match="percentile"):
        plan(simulated(np.random.default_rng(3)), sampling=Sampling(method="bca", resamples=5))


def test_a_configuration_has_one_value() -> None:
    result = plan(simulated(np.random.default_rng(3)), budget=120, sampling=Sampling(resamples=50))
    values: dict[tuple[int, int], set[float]] = {}
    for points in result.points.values():
        for point in points:
            values.setdefault((point.sentences, point.raters), set()).add(point.tau)
    assert len(values) < sum(map(len, result.points.values())), "some configurations are drawn for several questions"
    assert all(len(taus) == 1 for taus in values.values())


@pytest.mark.parametrize("seed", range(12))
def test_a_plan_does_not_contradict_the_result_of_its_pilot(seed: int) -> None:
    rng = np.random.default_rng(seed)
    systems, items, raters = int(rng.integers(2, 5)), int(rng.integers(6, 30)), int(rng.integers(1, 5))
    effects = rng.normal(scale=rng.choice([0.0, 0.3, 2.0]), size=(systems, 1, 1))
    values = effects + rng.normal(size=(1, items, 1)) + rng.normal(size=(systems, items, raters))
    names = (tuple(f"{kind}{at}" for at in range(size)) for kind, size in zip("sir", values.shape, strict=True))
    ratings = Ratings("simplicity", *names, values)
    planned = plan(ratings, budget=60, difference=0.5, sampling=Sampling(resamples=30))
    pairs = results(ratings).comparisons.comparisons
    assert planned.conclusions.told_apart == sum(pair.significant for pair in pairs)
    sizes = [pair.smallest_detectable for pair in pairs]
    assert planned.conclusions.detectable == pytest.approx((min(sizes), max(sizes)))
    assert ("tau" in planned.answer) <= (planned.conclusions.told_apart > 0)
    assert "tau, 0.00;" not in planned.answer


def test_a_pilot_without_conclusions_is_planned_by_power() -> None:
    values = np.random.default_rng(1).normal(size=(2, 20, 3))
    ratings = Ratings("simplicity", ("A", "B"), tuple(map(str, range(20))), tuple("xyz"), values)
    planned = plan(ratings, difference=0.5, sampling=Sampling(resamples=30))
    assert planned.best is None
    sentences, raters = planned.recommended or (0, 0)
    assert planned.answer.startswith(f"Use {sentences} sentences with ")
    assert compute_power(planned.components, 0.5, sentences=sentences, raters=raters) >= 0.8
    assert "tau" not in planned.tables()[0].header


def test_a_plan_writes_its_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from plainly_studio.project import read_project

    path = tmp_path / "pilot.csv"
    rng = np.random.default_rng(5)
    lines = [
        f"{system},{item},{rater},{np.clip(round(3 + (system == 'B') + rng.normal()), 1, 5)}"
        for system in "AB"
        for item in range(30)
        for rater in "xyz"
    ]
    path.write_text("\n".join(["system,item,rater,simplicity", *lines]))
    study = tmp_path / "study.toml"
    assert main(["plan", str(path), "--budget", "60", "--resamples", "30", "-o", str(study), "--json"]) == 0
    recommended = json.loads(capsys.readouterr().out)["recommended"]
    project = read_project(study)
    assert (project.data.items, project.assignment.overlap) == (recommended["sentences"], recommended["raters"])
    assert (project.scales[0].name, project.scales[0].minimum, project.scales[0].maximum) == ("simplicity", 1, 5)


def test_faults_are_named() -> None:
    ratings = simulated(np.random.default_rng(0))
    with pytest.raises(BadInput):
        plan(ratings.of_systems(["A"]))
    with pytest.raises(BadInput, match="5"):
        Pilot.of(ratings, alpha=5)
    with pytest.raises(BadInput):
        plan(ratings, budget=3, raters=[2])
    with pytest.raises(BadInput):
        resample_study(Pilot.of(ratings), sentences=1, rng=np.random.default_rng(0))
    unpaired = simulated(np.random.default_rng(0), items=3, paired=False)
    with pytest.raises(BadInput):
        Pilot.of(unpaired, test="paired")


@pytest.mark.mirror
def test_simplicity_da_gives_the_known_figures(mirror: Path) -> None:
    # Figures found before for these ratings; Welch's test, since no sentence has all six systems.
    judgements = load("simplicity-da")
    pilot = Pilot.of(judgements["simplicity"].of_systems(sorted(judgements.systems)))
    assert pilot.test == "welch"
    rng = np.random.default_rng(1)
    by_size = [resample_study(pilot, sentences=size, rng=rng) for size in (10, 50, 100)]
    rng = np.random.default_rng(2)
    by_raters = [resample_study(pilot, raters=count, rng=rng, published=True) for count in (1, 2, 5, 15)]
    for points, published in ((by_size, (0.333, 0.814, 0.931)), (by_raters, (0.706, 0.818, 0.917, 0.980))):
        assert [point.tau_as_listed for point in points] == pytest.approx(published, abs=0.02)
        assert [point.tau for point in points] == pytest.approx(published, abs=0.02)
    rng = np.random.default_rng(3)
    spent = [resample_study(pilot, sentences=200 // count, raters=count, rng=rng) for count in (1, 2, 5, 15)]
    assert [point.tau for point in spent] == sorted((point.tau for point in spent), reverse=True)


@pytest.mark.long
@pytest.mark.mirror
def test_acl2018_gives_the_known_figures(mirror: Path) -> None:
    judgements = load("acl2018")
    published = {
        "grammaticality": (0.880, 0.933, 0.949),
        "meaning": (0.907, 0.953, 0.974),
        "simplicity": (0.824, 0.863, 0.882),
    }
    for dimension, figures in published.items():
        pilot = Pilot.of(judgements[dimension].of_systems(SEVEN))
        assert pilot.test == "paired"
        rng = np.random.default_rng(1)
        points = [resample_study(pilot, raters=count, rng=rng, published=True) for count in (1, 2, 3)]
        assert [point.tau_as_listed for point in points] == pytest.approx(figures, abs=0.02)
        rng = np.random.default_rng(2)
        spent = [resample_study(pilot, sentences=100 // count, raters=count, rng=rng) for count in (1, 2, 3)]
        assert [point.tau for point in spent] == sorted((point.tau for point in spent), reverse=True)
    result = plan("acl2018", sampling=Sampling(resamples=2), difference=0.4)
    assert result.pilot.design == "same"
    assert result.needed == {1: 75, 2: 51, 3: 43}
    assert result.needed_with_new_raters == {1: 86, 2: 56, 3: 46}
