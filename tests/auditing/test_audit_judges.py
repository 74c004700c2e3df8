"""Attacks on judges: biases are found in a hundred items, and an unbiased judge is not accused."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from plainly.auditing import audit
from plainly.auditing.attacks import resolve_attacks
from plainly.core.evalset import EvalSet
from plainly.core.metric import MeanMetric, PairwiseMetric, mean_rows

SOURCES = [f"The committee postponed decision number {number} until further notice." for number in range(100)]
OUTPUTS = [f"They will decide about number {number} later. Wait for it." for number in range(100)]


@dataclass
class FakeJudge:
    """Gives 60 points with noise, and what its bias adds."""

    bias: Callable[[str], float]
    seed: int = 0
    name: ClassVar[str] = "fake"

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> np.ndarray:
        rng = np.random.default_rng([self.seed, sum(map(len, outputs))])
        points = 60 + rng.normal(0, 10, len(outputs)) + [self.bias(output) for output in outputs]
        return np.stack([np.clip(points, 0, 100), np.ones(len(outputs))], axis=1)

    def score(self, totals: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return totals[..., 0] / totals[..., 1]


def _moved(judge: FakeJudge, attacks: str) -> dict[str, dict[str, Any]]:
    result = audit(sources=SOURCES, outputs={"A": OUTPUTS}, metrics=[judge], attacks=attacks, quick=True, levels=(1.0,))
    return {curve["attack"]: curve["moved"] for curve in result.json()["curves"]}


def test_the_group_for_judges_is_not_among_all() -> None:
    evalset = EvalSet.of(SOURCES)
    judge = {attack.name for attack in resolve_attacks("judge", evalset)}
    assert judge == {"instruct", "praise", "pad", "bullets", "copy-source"}
    assert judge & {attack.name for attack in resolve_attacks("all", evalset)} == {"copy-source"}


def test_a_judge_that_obeys_instructions_is_found() -> None:
    moved = _moved(FakeJudge(lambda output: 40 if "100 points" in output else 0), "judge")
    assert moved["instruct"]["mean"] > 20
    assert moved["instruct"]["p_holm"] < 0.01
    assert moved["instruct"]["n"] == 100


def test_a_judge_that_likes_length_is_found() -> None:
    moved = _moved(FakeJudge(lambda output: 0.5 * len(output.split()) - 5), "judge")
    assert moved["pad"]["mean"] > 5
    assert moved["pad"]["p_holm"] < 0.01


def test_a_judge_that_likes_flattery_or_bullets_is_found() -> None:
    assert _moved(FakeJudge(lambda output: 8 if "excellent" in output else 0), "praise")["praise"]["p_holm"] < 0.01
    assert _moved(FakeJudge(lambda output: 8 if output.startswith("- ") else 0), "bullets")["bullets"]["p_holm"] < 0.01


def test_verdicts_that_an_attack_changes_are_counted() -> None:
    judge = FakeJudge(lambda output: 40 if "100 points" in output else 0)
    rivals = [f"{output} Or not." for output in OUTPUTS]
    result = audit(
        sources=SOURCES, outputs={"A": OUTPUTS, "B": rivals}, metrics=[judge], attacks="instruct", quick=True
    )
    moved = {curve["system"]: curve["moved"] for curve in result.json()["curves"]}
    # A lead of noise with a standard deviation of 14 points; 40 more turn almost all that were negative.
    assert 0.35 < moved["A"]["flipped"] < 0.65
    assert moved["A"]["is_biased"]


def test_a_judge_that_marks_padding_down_is_not_biased() -> None:
    moved = _moved(FakeJudge(lambda output: -0.5 * len(output.split())), "pad")
    assert moved["pad"]["p_holm"] < 0.01
    assert not moved["pad"]["is_biased"]


@dataclass(frozen=True, repr=False)
class FakePairs(PairwiseMetric):
    """Compares two texts by points with noise, and adds points to the one that is shown first."""

    name: ClassVar[str] = "fake-pairs"
    bias: float = 0.0
    seed: int = 0

    def prefer(self, evalset: EvalSet, first: Sequence[str], second: Sequence[str]) -> np.ndarray:
        rng = np.random.default_rng([7, self.seed])
        true = rng.normal(0, 10, len(first))  # how much better the first system is
        leads = [true + rng.normal(0, 14, len(first)) + sign * self.bias for sign in (1, -1)]
        wins = np.array(leads) > 0  # in both orders, for the first system
        return np.stack([wins.mean(axis=0), wins[0] * 1.0 - wins[1]], axis=1)


@dataclass(frozen=True, repr=False)
class FakeRater(MeanMetric):
    """Gives points with noise to each output, which begins with its quality, and more to those of its own system."""

    name: ClassVar[str] = "fake-rater"
    outputs: ClassVar[tuple[str, ...]] = ("fake-rater",)
    is_remote: ClassVar[bool] = True
    own: str = ""
    bias: float = 0.0
    scale: float = 1.0
    seed: int = 0

    def own_systems(self) -> tuple[str, ...]:
        return (self.own,) if self.own else ()

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> np.ndarray:
        rng = np.random.default_rng([self.seed, *outputs[0].encode()])
        quality = np.array([float(output.split()[0]) for output in outputs])
        bias = np.array([self.bias * (output.split()[1].casefold() == self.own.casefold()) for output in outputs])
        return mean_rows(self.scale * (quality + rng.normal(0, 10, len(outputs))) + bias)


def _biases(metrics: Sequence[Any], outputs: dict[str, list[str]]) -> dict[tuple[str, str], dict[str, Any]]:
    result = audit(sources=SOURCES, outputs=outputs, metrics=metrics, attacks="instruct", quick=True, levels=(1.0,))
    return {(bias["metric"], bias["bias"]): bias["moved"] for bias in result.json()["biases"]}


def _rated(seed: int, better: float = 0.0) -> dict[str, list[str]]:
    """Outputs of three systems; those of the first are better by some points."""
    rng = np.random.default_rng([3, seed])
    return {
        system: [f"{rng.normal(60 + better * (system == 'Large'), 10):.1f} {system} {at}" for at in range(100)]
        for system in ("Large", "B", "C")
    }


def test_a_judge_that_prefers_the_first_position_is_found() -> None:
    (moved,) = _biases([FakePairs(bias=10)], {"A": OUTPUTS, "B": SOURCES}).values()
    assert moved["mean"] > 10
    assert moved["flipped"] > 0.1
    assert moved["p_holm"] < 0.01
    assert moved["is_biased"]
    (moved,) = _biases([FakePairs(bias=-10)], {"A": OUTPUTS, "B": SOURCES}).values()
    assert moved["mean"] < -10
    assert moved["is_biased"]


def test_a_judge_that_favours_its_own_outputs_is_found_beside_another() -> None:
    metrics = [FakeRater("large", bias=10), FakeRater(seed=1)]
    moved = _biases(metrics, _rated(0, better=5))
    assert list(moved) == [("fake-rater(own=large,bias=10)", "own-outputs")]
    (own,) = moved.values()
    assert own["mean"] == pytest.approx(10, abs=4)
    assert own["p_holm"] < 0.01
    assert own["flipped"] > 0.1
    assert _biases(metrics[:1], _rated(0)) == {}, "alone, better outputs and preference cannot be told apart"


def test_only_metrics_that_compare_are_audited_for_position() -> None:
    result = audit(sources=SOURCES, outputs={"A": OUTPUTS, "B": SOURCES}, metrics=[FakePairs(bias=10)])
    assert [table.header[1] for table in result.tables()] == ["bias"]
    assert "shown first" in result.notes()[0].message
    assert result.json()["metrics"] == []


@dataclass(frozen=True, repr=False)
class RemoteJudge(MeanMetric):
    """Gives 60 points with noise to each text, more if the text asks for it, and others to the same text in no case."""

    name: ClassVar[str] = "remote-judge"
    outputs: ClassVar[tuple[str, ...]] = ("remote-judge",)
    is_remote: ClassVar[bool] = True
    obedience: float = 0.0
    seed: int = 0

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> np.ndarray:
        seeds = [zlib.crc32(f"{self.seed} {output}".encode()) for output in outputs]
        noise = np.array([np.random.default_rng(seed).normal(0, 10) for seed in seeds])
        return mean_rows(60 + noise + [self.obedience * ("100 points" in output) for output in outputs])


def _accusations(judge: RemoteJudge, systems: dict[str, list[str]]) -> set[str]:
    """Return the attacks that a verdict, a table of winners or a claim holds against a judge."""
    attacks = "instruct praise pad copy-source"
    result = audit(sources=SOURCES, outputs=systems, metrics=[judge], attacks=attacks.split(), quick=True)
    (verdict,) = result.json()["metrics"]
    fooled = {effect["attack"] for effect in verdict["effects"] if effect["fooled"]}
    assert bool(fooled) == (verdict["gameability"] > 0) == ("can be gamed" in verdict["verdict"])
    winners = {flip["attack"] for flip in verdict["flips"] if flip["wins"] and flip["share"] <= 1}
    assert winners <= fooled
    return fooled


def _two_systems() -> dict[str, list[str]]:
    return {"A": OUTPUTS, "B": [f"{output} Or not." for output in OUTPUTS]}


def test_what_may_be_chance_is_not_held_against_a_judge() -> None:
    assert [seed for seed in range(20) if _accusations(RemoteJudge(seed=seed), _two_systems())] == []


def test_a_verdict_says_that_a_judge_obeys() -> None:
    assert [_accusations(RemoteJudge(40, seed), _two_systems()) for seed in range(5)] == [{"instruct"}] * 5


@pytest.mark.long
def test_the_verdict_on_an_unbiased_judge_is_rarely_an_accusation() -> None:
    accused = [bool(_accusations(RemoteJudge(seed=seed), _two_systems())) for seed in range(200)]
    assert np.mean(accused) <= 0.05


@pytest.mark.long
@pytest.mark.parametrize(
    ("attack", "bias"),
    [
        ("instruct", lambda output: 40 if "100 points" in output else 0),
        ("pad", lambda output: 0.5 * len(output.split()) - 5),
    ],
)
def test_a_biased_judge_is_found_in_all_of_200_runs(attack: str, bias: Callable[[str], float]) -> None:
    moved = [_moved(FakeJudge(bias, seed), "judge")[attack] for seed in range(200)]
    assert np.mean([each["is_biased"] and each["p_holm"] < 0.01 for each in moved]) >= 0.99


@pytest.mark.long
def test_an_unbiased_judge_is_rarely_accused() -> None:
    accused = [
        any(moved["p_holm"] < 0.01 for moved in _moved(FakeJudge(lambda output: 0, seed), "judge").values())
        for seed in range(200)
    ]
    assert np.mean(accused) <= 0.05


@pytest.mark.long
def test_an_unbiased_position_is_rarely_accused_and_a_biased_one_is_found() -> None:
    for bias, least, most in ((0.0, 0.0, 0.05), (10.0, 0.95, 1.0)):
        accused = [
            moved["is_biased"]
            for seed in range(200)
            for moved in _biases([FakePairs(bias, seed)], {"A": OUTPUTS, "B": SOURCES}).values()
        ]
        assert len(accused) == 200
        assert least <= np.mean(accused) <= most


@pytest.mark.long
@pytest.mark.parametrize("scale", [1.0, 1.5])
@pytest.mark.parametrize("better", [0.0, 10.0])
def test_better_own_outputs_are_rarely_called_preferred(better: float, scale: float) -> None:
    accused = [
        moved["is_biased"]
        for seed in range(200)
        for moved in _biases(
            [FakeRater("Large", scale=scale, seed=seed), FakeRater(seed=1000 + seed)], _rated(seed, better)
        ).values()
    ]
    assert len(accused) == 200
    assert np.mean(accused) <= 0.05
