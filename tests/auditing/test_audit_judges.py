"""Attacks on judges: biases are found in a hundred items, and an unbiased judge is not accused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from plainly.auditing import audit
from plainly.auditing.attacks import resolve_attacks
from plainly.core.evalset import EvalSet

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


@pytest.mark.long
def test_an_unbiased_judge_is_rarely_accused() -> None:
    attacks = "instruct,praise,pad,bullets"
    accused = [
        any(moved["p_holm"] < 0.01 for moved in _moved(FakeJudge(lambda output: 0, seed), attacks).values())
        for seed in range(200)
    ]
    assert np.mean(accused) <= 0.05
