"""Plans against the results of simulated studies, and against what is known of the public ratings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.core.sampling import Sampling
from plainly.people import Ratings
from plainly.people.planning import Pilot, draw_study, plan, tau_b
from plainly.people.results import HumanResults, results
from plainly.stats.crossed import contrast

FEW = Sampling(resamples=50)


def study(
    rng: np.random.Generator,
    shifts: tuple[float, ...] = (0.0, 0.5),
    *,
    items: int = 60,
    people: int = 4,
    each: int | None = None,
    views: float = 0.3,
) -> Ratings:
    """Systems at ``shifts``; items and people have effects on each. ``each`` people rate an item, by default all."""
    systems = len(shifts)
    values = np.array(shifts)[:, None, None] + rng.normal(size=(1, items, 1)) + 0.5 * rng.normal(size=(1, 1, people))
    values = values + 0.7 * rng.normal(size=(systems, items, 1)) + views * rng.normal(size=(systems, 1, people))
    values = values + rng.normal(size=(systems, items, people))
    if each is not None:
        order = np.argsort(rng.random((items, people)), axis=1)
        values = np.where(np.argsort(order, axis=1)[None] < each, values, np.nan)
    names = (tuple(f"{kind}{at}" for at in range(size)) for kind, size in zip("sir", values.shape, strict=True))
    return Ratings("simplicity", *names, values)


def compared(ratings: Ratings) -> HumanResults:
    result = results(ratings)
    assert isinstance(result, HumanResults)
    return result


@pytest.mark.parametrize("seed", [*range(24), 164, 189])
def test_a_plan_does_not_contradict_the_result_of_its_pilot(seed: int) -> None:
    """Over studies of all kinds: the same pairs are told apart, and a study of the pilot's size detects the same.

    In the last two, raters agree more than their ratings allow, so that their variance is estimated as negative.
    """
    rng = np.random.default_rng(seed)
    shifts = tuple(rng.normal(scale=rng.choice([0.0, 0.3, 2.0]), size=int(rng.integers(2, 6))))
    people = int(rng.integers(1, 7))
    each = int(rng.integers(1, people + 1)) if rng.random() < 0.5 and people > 2 else None
    ratings = study(rng, shifts, items=int(rng.integers(6, 40)), people=people, each=each)
    planned = plan(ratings, budget=60, difference=0.5, sampling=FEW)
    pairs = compared(ratings).comparisons.comparisons
    # The result names the later system first.
    expected = {(pair.baseline, pair.system): -np.sign(pair.difference) * pair.significant for pair in pairs}
    assert dict(zip(planned.pilot.pairs, planned.pilot.pattern, strict=True)) == expected
    sizes = [pair.smallest_detectable for pair in pairs]
    assert 0.99 * min(sizes) <= planned.pilot.detectable <= 1.01 * max(sizes)
    assert ("tau" in planned.tables()[0].header) == any(expected.values())
    assert planned.best.detectable == min(point.detectable for point in planned.points["budget"])


def test_a_plan_of_the_same_size_promises_what_the_result_of_two_systems_says() -> None:
    for seed in range(8):
        ratings = study(np.random.default_rng(seed), items=40, people=5)
        (pair,) = compared(ratings).comparisons.comparisons
        again = Pilot.of(ratings).find_detectable(sentences=40, raters=5, people=5)
        assert again == pytest.approx(pair.smallest_detectable, rel=1e-9)
        assert Pilot.of(ratings).detectable == pytest.approx(again, rel=1e-9)


@pytest.mark.parametrize(("sentences", "raters", "people"), [(40, 1, 4), (15, 3, 3), (15, 6, 6), (60, 2, 10)])
def test_promised_power_is_that_of_results_of_new_studies(sentences: int, raters: int, people: int) -> None:
    """What a plan calls detectable is found by the test of results in about four of five new studies."""
    rng = np.random.default_rng(sentences + raters)
    pilot = Pilot.of(study(rng, items=800, people=40))
    difference = pilot.find_detectable(sentences=sentences, raters=raters, people=people)
    assert pilot.compute_power(difference, sentences=sentences, raters=raters, people=people) == pytest.approx(0.8)
    p_values = [
        contrast(
            study(rng, (difference, 0.0), items=sentences, people=people, each=raters).values, np.array([1.0, -1.0])
        ).p_value
        for _ in range(150)
    ]
    # With few raters the test is cautious about equal systems, and so finds a little more than promised.
    assert 0.7 <= np.mean(np.array(p_values) <= 0.05) <= 0.95


def test_components_are_those_that_were_simulated() -> None:
    components = Pilot.of(study(np.random.default_rng(5), (0.0, 0.3, 0.6), items=800, people=60)).components
    # Of a difference: twice the variance of one system.
    assert components.items == pytest.approx(2 * 0.49, rel=0.1)
    assert components.raters == pytest.approx(2 * 0.09, rel=0.3)
    assert components.rest == pytest.approx(2.0, rel=0.05)
    assert (components.per_item, components.per_rater) == pytest.approx((1, 1))


def test_raters_of_one_system_only_have_their_own_freedom_and_strictness() -> None:
    ratings = study(np.random.default_rng(2), items=300, people=20)
    apart = np.full((2, 300, 40), np.nan)
    apart[0, :, :20], apart[1, :, 20:] = ratings.values
    names = tuple(f"r{at}" for at in range(40))
    same, other = Pilot.of(ratings), Pilot.of(Ratings("simplicity", ratings.systems, ratings.items, names, apart))
    assert other.components.per_rater == pytest.approx(2)
    assert other.components.raters > same.components.raters + 0.2, "strictness, 2 × 0.25, does not cancel"
    assert other.people == same.people == 20
    assert (
        plan(same_ratings := ratings, sampling=FEW)
        .notes()[-1]
        .message.startswith("All numbers are for people who rate")
    )
    assert same_ratings is ratings


def test_more_sentences_raters_and_people_find_more() -> None:
    pilot = Pilot.of(study(np.random.default_rng(3)))
    sizes = [pilot.find_detectable(sentences=size, people=8) for size in (5, 20, 80, 2000)]
    assert sizes == sorted(sizes, reverse=True)
    assert pilot.find_detectable(sentences=20, raters=4) < pilot.find_detectable(sentences=20, raters=1)
    assert pilot.find_detectable(sentences=20, people=20) < pilot.find_detectable(sentences=20, people=3)
    curve = [pilot.compute_power(0.8, sentences=size, people=8) for size in (5, 20, 80, 2000)]
    assert curve == sorted(curve)


def test_there_are_no_more_people_than_ratings() -> None:
    """Ten ratings of each system are by ten people at most, so that a plan for 40 promises no more than one for 10."""
    rng = np.random.default_rng(3)
    pilot = Pilot.of(study(rng, items=800, people=40, views=0.6))
    size = pilot.find_detectable(sentences=10, people=40)
    assert size == pilot.find_detectable(sentences=10, people=10)
    one_each = np.where(np.eye(10, dtype=bool), 0.0, np.nan)
    p_values = [
        contrast(
            study(rng, (size, 0.0), items=10, people=10, views=0.6).values + one_each, np.array([1.0, -1.0])
        ).p_value
        for _ in range(300)
    ]
    assert 0.7 <= np.mean(np.array(p_values) <= 0.05) <= 0.95
    planned = plan(study(rng, items=40, people=30), budget=12, raters=[1, 2], people=30, sampling=FEW)
    assert {point.people for point in planned.points["budget"]} == {12}
    assert "by 12 people" in planned.answer


def test_sentences_and_people_needed_are_the_fewest() -> None:
    pilot = Pilot.of(study(np.random.default_rng(4), people=6))
    needed = pilot.sentences_needed(0.7, people=12)
    assert needed is not None
    power = [pilot.compute_power(0.7, sentences=size, people=12) for size in (needed - 1, needed)]
    assert power[0] < 0.8 <= power[1]
    assert pilot.find_detectable(sentences=needed, people=12) <= 0.7
    people = pilot.people_needed(0.6, sentences=200)
    assert people is not None
    power = [pilot.compute_power(0.6, sentences=200, people=count) for count in (people - 1, people)]
    assert power[0] < 0.8 <= power[1]


def test_few_people_are_not_enough_however_many_sentences() -> None:
    """Three people with views of their own never show a small difference; the plan says how many do."""
    ratings = study(np.random.default_rng(6), (0.0, 0.1, 0.2), people=3, views=1.0)
    planned = plan(ratings, difference=0.8, sampling=FEW)
    assert planned.needed == {1: None, 2: None, 3: None}
    assert planned.people_needed is not None
    assert planned.people_needed > 3
    assert f"{planned.people_needed} people" in planned.advice[1]
    enough = plan(ratings, difference=0.8, people=planned.people_needed, sampling=FEW)
    assert enough.best.detectable <= 0.8
    assert enough.best.people == planned.people_needed


def test_tau_b_of_patterns_equals_scipy_and_drawn_studies_forget_the_order() -> None:
    rng = np.random.default_rng(0)
    patterns, full = rng.integers(-1, 2, size=(50, 15)).astype(float), rng.integers(-1, 2, size=15).astype(float)
    theirs = [scipy.stats.kendalltau(row, full).statistic for row in patterns]
    np.testing.assert_allclose(tau_b(patterns, full), theirs, atol=1e-9)
    assert np.isnan(tau_b(np.zeros((1, 15)), full)[0])
    ratings = study(rng, (0.0, 0.3, 1.5, 2.5), people=6)
    sampling = Sampling(resamples=2000)
    points = [
        draw_study(Pilot.of(each), sentences=20, raters=2, sampling=sampling, rng=np.random.default_rng(1))
        for each in (ratings, ratings.of_systems(("s3", "s1", "s0", "s2")))
    ]
    assert points[0].tau == pytest.approx(points[1].tau, abs=0.03)


def test_drawn_studies_conclude_what_results_of_new_studies_do() -> None:
    rng, shifts = np.random.default_rng(8), (0.0, 0.8, 1.6)
    ratings = study(rng, shifts, items=600, people=30)
    ratings.values[:] += (np.array(shifts) - ratings.values.mean(axis=(1, 2)))[:, None, None]  # the pilot is the truth
    pilot = Pilot.of(ratings)
    assert pilot.told_apart == 3
    drawn = draw_study(pilot, sentences=20, raters=2, people=6, sampling=Sampling(resamples=4000), rng=rng)
    matches = [Pilot.of(study(rng, shifts, items=20, people=6, each=2)).pattern == pilot.pattern for _ in range(150)]
    assert drawn.power == pytest.approx(np.mean(matches), abs=0.08)
    assert drawn.people == 6


@pytest.mark.parametrize("difference", [float("nan"), 0.0, -1.0, float("inf"), float("-inf")])
def test_a_difference_that_is_none_is_refused(difference: float) -> None:
    ratings = study(np.random.default_rng(0))
    with pytest.raises(BadInput, match="difference="):
        plan(ratings, difference=difference, sampling=FEW)
    with pytest.raises(BadInput, match="difference="):
        Pilot.of(ratings).sentences_needed(difference)
    with pytest.raises(BadInput):
        plan(ratings, target=difference, sampling=FEW)


def test_the_answer_is_a_sentence() -> None:
    ratings = study(np.random.default_rng(3), (0.0, 2.0))
    result = plan(ratings, budget=60, difference=1.0, sampling=FEW)
    assert result.answer.startswith(
        "With 60 ratings for each system by 4 people, use 60 sentences with one rater each: "
    )
    assert f"a true difference of {result.best.detectable:.2f}" in result.answer
    assert all(line.endswith(".") for line in result.advice)
    assert [table.caption for table in result.tables()] == [result.answer]
    assert plan(ratings, budget=60, difference=1.0, sampling=FEW).points == result.points
    assert result.needed[1] == Pilot.of(ratings).sentences_needed(1.0)


def test_a_plan_shows_itself() -> None:
    result = plan(study(np.random.default_rng(3)), budget=60, sampling=Sampling(resamples=50, seed=2))
    payload = result.json()
    assert (payload["schema"], payload["seed"], payload["ratings"]) == ("plainly.plan/1", 2, "simplicity")
    assert {record["varied"] for record in result.records()} == {"sentences", "raters", "budget"}
    assert [note.message for note in result.notes() if note.kind == "claim"] == result.advice[1:]
    assert result.answer in repr(result)
    with pytest.raises(BadInput, match="percentile"):
        plan(study(np.random.default_rng(3)), sampling=Sampling(method="bca", resamples=5))


def test_a_configuration_has_one_value() -> None:
    result = plan(study(np.random.default_rng(3), (0.0, 2.0)), budget=120, sampling=FEW)
    values: dict[tuple[int, int], set[object]] = {}
    for points in result.points.values():
        for point in points:
            values.setdefault((point.sentences, point.raters), set()).add(point)
    assert len(values) < sum(map(len, result.points.values())), "some configurations are drawn for several questions"
    assert all(len(points) == 1 for points in values.values())


def test_means_say_nothing_about_raters() -> None:
    values = np.random.default_rng(0).normal(size=(2, 12, 1))
    result = plan(Ratings("s", ("A", "B"), tuple("123456789abc"), ("mean",), values), sampling=FEW)
    assert "unknown" in result.notes()[-1].message
    assert "people" not in result.tables()[0].header
    assert result.best.people is None
    assert "people" not in result.answer
    sizes = {point.raters: point for point in result.points["raters"]}
    assert sizes[1].detectable == sizes[3].detectable
    assert result.pilot.find_detectable(sentences=12) == pytest.approx(compared_means(values), rel=1e-9), (
        "with one rater, the test is the paired t-test"
    )


def compared_means(values: np.ndarray) -> float:
    return contrast(values, np.array([1.0, -1.0])).detectable(0.95)


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
    target = tmp_path / "study.toml"
    options = ["--budget", "60", "--people", "8", "--resamples", "30", "-o", str(target), "--json"]
    assert main(["plan", str(path), *options]) == 0
    recommended = json.loads(capsys.readouterr().out)["recommended"]
    assert recommended["people"] == 8
    project = read_project(target)
    assert (project.data.items, project.assignment.overlap) == (recommended["sentences"], recommended["raters"])
    assert project.assignment.raters == recommended["people"], "else one person could rate everything"
    assert (project.scales[0].name, project.scales[0].minimum, project.scales[0].maximum) == ("simplicity", 1, 5)


def test_faults_are_named() -> None:
    ratings = study(np.random.default_rng(0))
    with pytest.raises(BadInput, match="one system"):
        plan(ratings.of_systems(["s0"]))
    with pytest.raises(BadInput, match="people="):
        plan(ratings, people=1)
    with pytest.raises(BadInput):
        plan(ratings, budget=3, raters=[2])
    with pytest.raises(BadInput, match="two sentences"):
        Pilot.of(ratings).study(sentences=1)
    values = ratings.values.copy()
    values[0, 1:] = np.nan
    with pytest.raises(BadInput, match="'s0' has fewer than two"):
        plan(Ratings("s", ratings.systems, ratings.items, ratings.raters, values))


@pytest.mark.mirror
def test_public_ratings_give_plans_that_agree_with_their_results(mirror: Path) -> None:
    result = results("simplicity-da", dimensions="simplicity")
    assert isinstance(result, HumanResults)
    sizes = [pair.smallest_detectable for pair in result.comparisons.comparisons]
    planned = plan("simplicity-da", sampling=FEW)
    assert planned.pilot.told_apart == sum(pair.significant for pair in result.comparisons.comparisons) == 11
    assert min(sizes) <= planned.pilot.detectable <= max(sizes)
    # Sentences are worth more than raters, as Schwarzer and Kauchak found.
    spent = planned.points["budget"]
    assert [point.tau for point in spent] == sorted((point.tau for point in spent), reverse=True)
    assert [point.detectable for point in spent] == sorted(point.detectable for point in spent)
    three = plan("acl2018", sampling=FEW)
    assert three.pilot.told_apart == 0
    assert three.needed == {1: None, 2: None, 3: None}, "three raters are too few for any number of sentences"
