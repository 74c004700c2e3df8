"""The sweep: reading levels off a trial's sums equals rewriting and measuring at each level, for any processes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import sacrebleu

from plainly import data
from plainly.auditing import Attack, Item, audit
from plainly.auditing.attacks import ATTACKS, SystemOutputs, resolve_attacks
from plainly.auditing.sweep import Sweep, sweep, trial_rng
from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.progress import Tell
from plainly.streaming.engines import engine

SPECS = ["sari", "bleu", "fkgl", "sari(variant=hf)"]
LEVELS = (0.1, 0.35, 1.0)


@pytest.fixture(scope="module")
def demo() -> tuple[EvalSet, dict[str, tuple[str, ...]]]:
    evalset, outputs = data.demo()
    return evalset, {system: outputs[system] for system in ("editor", "noisy")}


def _sweep(demo: tuple[EvalSet, dict[str, tuple[str, ...]]], names: Sequence[str], **options: Any) -> Sweep:
    evalset, outputs = demo
    options = {"levels": LEVELS, "trials": 3, **options}
    if "processes" in options:
        options["engine"] = engine("local", processes=options.pop("processes"))
    return sweep(evalset, outputs, options.pop("metrics", SPECS), resolve_attacks(names, evalset), **options)


@pytest.mark.parametrize("name", ["random-period", "shuffle", "replace-longest", "oracle"])
def test_levels_equal_rewriting_and_measuring(demo: tuple[EvalSet, dict[str, tuple[str, ...]]], name: str) -> None:
    evalset, outputs = demo
    swept = _sweep(demo, [name])
    n = len(evalset)
    for spec in SPECS:
        metric = registry.metric(spec)
        expected = []
        for trial in range(3):
            rng = trial_rng(12345, name, trial)
            order = rng.permutation(n)
            attacked = ATTACKS[name].apply(SystemOutputs(evalset, outputs["noisy"]), rng)
            scores = []
            for level in LEVELS:
                hit = set(order[: round(level * n)].tolist())
                texts = [attacked[i] if i in hit else outputs["noisy"][i] for i in range(n)]
                scores.append(metric.score(metric.measure(evalset, texts).sum(axis=0)))
            expected.append(scores)
        curve = swept.curves["noisy", name, spec]
        assert curve.levels == (0.0, *LEVELS)
        np.testing.assert_allclose(curve.mean[1:], np.mean(expected, axis=0), rtol=1e-9)
        np.testing.assert_allclose(curve.low[1:], np.quantile(expected, 0.025, axis=0), rtol=1e-9)
        unharmed = metric.score(metric.measure(evalset, outputs["noisy"]).sum(axis=0))
        np.testing.assert_array_equal(curve.mean[0], unharmed)


@pytest.mark.long
def test_any_number_of_processes_gives_the_same_table(demo: tuple[EvalSet, dict[str, tuple[str, ...]]]) -> None:
    names = ["random-the", "replace-longest", "drop-words"]
    alone, together = _sweep(demo, names, trials=7), _sweep(demo, names, trials=7, processes=2)
    assert alone.curves.keys() == together.curves.keys()
    for key, curve in alone.curves.items():
        for side in ("mean", "low", "high"):
            # The counts are equal to the last; NumPy's sums of ratios may differ in the last bit with memory alignment.
            np.testing.assert_allclose(getattr(curve, side), getattr(together.curves[key], side), rtol=1e-13)
    assert alone.changed == together.changed


def test_a_trial_does_not_depend_on_other_attacks_and_seeds_matter(demo: Any) -> None:
    sweeps = _sweep(demo, ["shuffle"]), _sweep(demo, ["drop-words", "shuffle"]), _sweep(demo, ["shuffle"], seed=1)
    alone, together, other_seed = (swept.headline("editor", "shuffle", "sari") for swept in sweeps)
    np.testing.assert_allclose(alone, together, rtol=1e-13)
    assert (alone[1:] != other_seed[1:]).all()


def test_trials_are_independent() -> None:
    draws = [trial_rng(12345, "shuffle", trial).random(2000) for trial in range(4)]
    together = np.corrcoef(draws)
    assert np.abs(together - np.eye(4)).max() < 0.1
    assert (trial_rng(12345, "shuffle", 0).random(5) != trial_rng(12345, "truncate", 0).random(5)).all()


@dataclass
class Counted:
    """A plain object with measure and score, that counts how often it is asked."""

    calls: list[int] = field(default_factory=list)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Any:
        self.calls.append(len(outputs))
        return [[len(output), 1] for output in outputs]

    def score(self, totals: Any) -> Any:
        return totals[..., 0] / totals[..., 1]


def test_cost_is_per_trial_not_per_level(demo: tuple[EvalSet, dict[str, tuple[str, ...]]]) -> None:
    evalset, outputs = demo
    for levels in ((1.0,), tuple(step / 10 for step in range(1, 11))):
        metric = Counted()
        sweep(
            evalset,
            {"editor": outputs["editor"]},
            [metric],
            resolve_attacks(["shuffle"], evalset),
            levels=levels,
            trials=4,
        )
        assert len(metric.calls) == 4 + 1  # and once the outputs as they are
    metric = Counted()
    sweep(evalset, {"editor": outputs["editor"]}, [metric], resolve_attacks(["replace-longest"], evalset), trials=50)
    assert len(metric.calls) == 1 + 1, "an attack that is not random is measured once"


def test_all_replaced_equals_what_sacrebleu_says(demo: tuple[EvalSet, dict[str, tuple[str, ...]]]) -> None:
    evalset, outputs = demo
    replaced = []
    for output in outputs["editor"]:
        words = output.split()
        longest = max(range(len(words)), key=lambda place: (len(words[place]), -place))
        replaced.append(" ".join([*words[:longest], "the", *words[longest + 1 :]]))
    references = [[row[number] for row in evalset.references] for number in range(4)]
    theirs = sacrebleu.corpus_bleu(replaced, references)
    curve = _sweep(demo, ["replace-longest"], metrics=["bleu"]).curves["editor", "replace-longest", "bleu"]
    assert curve.mean[-1, 0] == pytest.approx(theirs.score, abs=1e-9)
    assert curve.mean[-1, 1:5] == pytest.approx(theirs.precisions, abs=1e-9)
    assert curve.high[-1, 0] == curve.low[-1, 0]


def test_progress_reaches_the_end(demo: tuple[EvalSet, dict[str, tuple[str, ...]]]) -> None:
    amounts: list[int] = []
    totals: list[int | None] = []

    def watched(what: str, *, total: int | None, unit: str = "items") -> AbstractContextManager[Tell]:
        if what != "attacking":
            return nullcontext(lambda amount: None)
        totals.append(total)
        return nullcontext(amounts.append)

    for processes in (1, 2):
        amounts.clear()
        _sweep(demo, ["shuffle", "truncate"], trials=12, processes=processes, progress=watched)
        assert sum(amounts) == 48
        assert min(amounts) > 0
        assert len(amounts) > 6
    assert totals == [48, 48]


def test_untouched_items_are_byte_identical() -> None:
    strange = ("  two  spaces ", "tab\there", "e\u0301", "trailing \u00a0")
    evalset = EvalSet.of(["a"] * 4, references=[["b"]] * 4)
    seen: list[tuple[str, ...]] = []

    @dataclass
    class Spy(Counted):
        def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Any:
            seen.append(tuple(outputs))
            return super().measure(evalset, outputs)

    never = Attack("never", lambda item, rng: item.output, "unchanged", "nothing")
    swept = sweep(evalset, {"A": strange}, [Spy()], [never], trials=2)
    assert set(seen) == {strange}
    assert swept.changed["A", "never"] == 0


def shout(item: Item, rng: np.random.Generator) -> str:
    return item.output.upper()


def test_a_custom_attack(demo: tuple[EvalSet, dict[str, tuple[str, ...]]]) -> None:
    evalset, outputs = demo
    own = Attack("shout", shout, "worse", "capital letters", random=False)
    verdicts = audit(evalset=evalset, outputs=outputs, metrics=["bleu", "sari"], attacks=[own], trials=2).verdicts
    assert verdicts["bleu"].effects[0].gain < -5
    assert verdicts["sari"].effects[0].gain == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 0}, "trials"),
        ({"levels": (0.0, 1.0)}, "Levels"),
        ({"levels": (10, 50)}, "Levels"),
        ({"seed": -1}, "seed="),
        ({"processes": 0}, "processes"),
    ],
)
def test_wrong_options_are_refused(demo: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        _sweep(demo, ["shuffle"], **options)


def test_an_attack_that_cannot_be_pickled_is_refused(demo: tuple[EvalSet, dict[str, tuple[str, ...]]]) -> None:
    evalset, outputs = demo
    own = Attack("own", lambda item, rng: item.output, "worse", "nothing")
    with pytest.raises(BadInput):
        audit(evalset=evalset, outputs=outputs, metrics=["sari"], attacks=[own], trials=2, processes=2)
