"""Verdicts on metrics whose every number is known beforehand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import plainly
from plainly import data
from plainly.auditing import Attack, Audit, audit
from plainly.auditing.verdicts import Effect, find_crossing
from plainly.core import tables
from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Metric


@dataclass(frozen=True, repr=False)
class Stops(Metric):
    """Full stops per output: as easily gamed as a metric can be."""

    name: ClassVar[str] = "stops"
    outputs: ClassVar[tuple[str, ...]] = ("stops", "twice")
    better: Better = "higher"  # type: ignore[misc]

    def spec(self, *, full: bool = False) -> str:
        return f"stops-{self.better}"

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Any:
        return np.array([[output.count("."), 1.0] for output in outputs])

    def score(self, totals: Any) -> Any:
        mean = totals[..., 0] / totals[..., 1]
        return np.stack([mean, 2 * mean], axis=-1)


EVALSET = EvalSet.of(["a b c"] * 4, references=[["a b ."]] * 4)
SYSTEMS = {
    "best": ("a b .", "a b .", "a b", "a b"),  # 0.5
    "middle": ("a b .", "a b", "a b", "a b"),  # 0.25
    "worst": ("a b", "a b", "a b", "a b"),  # 0
}


def _audit(
    better: str = "higher", attacks: Sequence[str | Attack] = ("random-period", "oracle", "double-spaces")
) -> Audit:
    return audit(
        evalset=EVALSET,
        outputs=SYSTEMS,
        metrics=[Stops(better)],
        attacks=attacks,
        trials=20,
        levels=(0.25, 0.5, 0.75, 1.0),
    )


def test_gameability_is_in_units_of_the_spread() -> None:
    verdict = _audit().verdicts["stops-higher"]
    assert verdict.ranking == ("best", "middle", "worst")
    assert verdict.spread == 0.5
    period, oracle, spaces = verdict.effects
    assert (period.gain, period.spreads, period.wrong_spreads, period.level) == (1.0, 2.0, 2.0, 1.0)
    assert period.fooled
    assert oracle.gain == pytest.approx(0.75)
    assert not oracle.fooled, "a reference is an improvement, and the metric says so"
    assert (spaces.gain, spaces.fooled, spaces.noticed) == (0.0, False, False)
    assert verdict.gameability == 2.0


def test_the_cheapest_attack_that_lifts_the_worst_above_the_best() -> None:
    verdict = _audit().verdicts["stops-higher"]
    cheapest = verdict.cheapest
    assert cheapest is not None
    assert (cheapest.system, cheapest.attack, cheapest.rival) == ("worst", "random-period", "best")
    assert cheapest.share == pytest.approx(0.5)  # 0 + 1·share passes 0.5
    middle = next(flip for flip in verdict.flips if flip.system == "middle" and flip.attack == "random-period")
    assert (middle.share, middle.rank) == (pytest.approx(0.25), 2)
    assert not any(flip.attack == "oracle" for flip in verdict.flips), "an improvement that wins is not a trick"


def test_where_lower_is_better_everything_turns_round() -> None:
    verdict = _audit("lower").verdicts["stops-lower"]
    assert verdict.ranking == ("worst", "middle", "best")
    period, oracle, _ = verdict.effects
    assert (period.gain, period.wrong) == (-1.0, 0.0)
    assert oracle.wrong == pytest.approx(0.75)
    assert verdict.cheapest is None
    loses = next(flip for flip in verdict.flips if flip.system == "worst" and flip.attack == "random-period")
    assert (loses.wins, loses.rival, loses.share) == (False, "middle", pytest.approx(0.25))


def test_the_paragraph_follows_from_the_numbers() -> None:
    message = _audit().paragraphs["stops-higher"]
    assert "can be gamed: 1 of the 1 attacks that harm an output improves its score" in message
    assert "random-period gains most: 1.00 points with 100% of the outputs attacked, 2.00 times the distance" in message
    assert "random-period on 50% of the outputs of worst lifts it above best" in message
    lower = _audit("lower").paragraphs["stops-lower"]
    assert "none of the 1 attacks that harm an output improves its score" in lower
    assert "No attack lifts the worst system (best) above the best (worst)" in lower
    assert "does not noticeably reward an improvement: oracle (-0.75, -1.50 spreads)" in lower
    assert "cannot be gamed" in _audit("neither").paragraphs["stops-neither"]


def test_one_system_has_no_spread() -> None:
    result = audit(
        evalset=EVALSET, outputs={"A": SYSTEMS["best"]}, metrics=[Stops()], attacks="random-period", trials=2
    )
    verdict = result.verdicts["stops-higher"]
    assert math.isnan(verdict.spread)
    assert math.isnan(verdict.gameability)
    assert verdict.flips == ()
    assert verdict.effects[0].fooled
    assert "With one system" in result.paragraphs["stops-higher"]
    assert "+1.00*" in repr(result)


def test_a_result_shows_itself() -> None:
    result = _audit()
    assert [table.caption for table in result.tables()] == [
        "How far each attack moves each metric, in units of the spread between the systems",
        "What changes the winner",
    ]
    assert [(note.kind, note.where) for note in result.notes()] == [("claim", "stops-higher"), ("about", "")]
    records = result.records()
    assert len(records) == 3 * 3 * 5 * 2
    assert records[0] == {
        "system": "best",
        "attack": "random-period",
        "metric": "stops-higher",
        "output": "stops",
        "level": 0.0,
        "mean": 0.5,
        "low": 0.5,
        "high": 0.5,
    }
    assert result.json()["metrics"][0]["gameability"] == 2.0
    assert "stops-higher can be gamed" in repr(result)
    assert "<table>" in result._repr_html_()


def test_lists_of_texts_will_do_from_python() -> None:
    sources, references = ["A b c d."] * 2, [["A b."]] * 2
    result = plainly.audit(
        sources=sources, references=references, outputs=["A b c.", "A."], attacks="truncate", trials=1, tables="all"
    )
    assert list(result.verdicts) == ["sari", "bleu", "fkgl"]
    assert result.sweep.systems == ("outputs",)
    assert "What changes the winner" not in repr(result), "there is one system"
    assert "outputs: the parts of each metric" in repr(result)
    with pytest.raises(UnknownName, match="'levels'"):
        plainly.audit(outputs=["A."], tables=["levls"])


def test_crossings_are_read_between_levels() -> None:
    assert find_crossing((0.0, 0.5, 1.0), np.array([-1.0, -0.5, 0.5])) == pytest.approx(0.75)
    assert find_crossing((0.0, 0.5, 1.0), np.array([0.0, 0.5, 1.0])) == 0.0
    assert math.isnan(find_crossing((0.0, 0.5, 1.0), np.array([-1.0, -0.5, 0.0])))


def test_fkgl_is_gamed_by_periods_and_bleu_by_copying() -> None:
    """What two papers showed, on the data that comes with plainly."""
    evalset, outputs = data.demo()
    real = {system: outputs[system] for system in ("editor", "lexical", "noisy")}
    result = audit(evalset=evalset, outputs=real, metrics="fkgl,bleu", attacks="random-period,copy-source", trials=3)
    fkgl, bleu = result.verdicts["fkgl"], result.verdicts["bleu"]
    assert fkgl.effects[0].wrong_spreads > 0.5
    assert fkgl.cheapest is not None
    assert bleu.effects[0].gain < 0
    assert fkgl.effects[1].gain < 0 < fkgl.effects[0].gain


def test_tables_have_the_shapes_of_the_paper() -> None:
    result = replace(_audit(), table_names=("gameability", "flips", "overview", "levels", "parts"))
    game, flips, overview, _, _, levels, _, _, parts = result.tables()
    assert levels.header == ("metric", "attack", "0%", "25%", "50%", "75%", "100%")
    assert levels.rows[0] == ("stops-higher", "random-period", "0.00", "0.25", "0.50", "0.75", "1.00")
    assert overview.header[:5] == ("metric", "attack", "best 0%", "best 50%", "best 100%")
    assert overview.rows[0][2:] == ("0.50", "1.00", "1.50", "0.25", "0.75", "1.25", "0.00", "0.50", "1.00")
    assert parts.header == ("metric", "part", "unharmed", "random-period", "oracle", "double-spaces")
    assert parts.rows[1] == ("stops-higher", "twice", "0.00", "2.00", "2.00", "0.00")
    assert game.rows[0] == ("random-period", "worse", "100%", "+2.00*")
    assert game.rows[-1] == ("gameability", "", "", "2.00")
    assert flips.rows[0] == ("stops-higher", "random-period", "middle (2)", "wins, past", "best", "25%")
    assert "[0.25, 0.25]" in tables.plain(replace(result, intervals=True).tables()[5])


def test_the_share_of_items_whose_own_score_gets_worse() -> None:
    result = _audit("lower", ["random-period", "oracle", "double-spaces"])
    assert result.sweep.worse["best", "random-period", "stops-lower"] == 1.0, "one stop more each"
    assert result.sweep.worse["best", "oracle", "stops-lower"] == 1.0, "of the two outputs that it changes"
    assert result.sweep.worse["best", "double-spaces", "stops-lower"] == 0.0
    assert _audit("higher", ["random-period"]).sweep.worse["best", "random-period", "stops-higher"] == 0.0
    (table,) = replace(result, table_names=("items",)).tables()
    assert table.rows[0] == ("random-period", "worse", "100%", "100%")
    never = Attack("never", lambda item, rng: item.output, "unchanged", "nothing")
    assert math.isnan(_audit(attacks=[never]).sweep.worse["best", "never", "stops-higher"])


@pytest.mark.parametrize("systems", [("editor", "lexical"), ("editor", "lexical", "noisy", "copy")])
def test_what_costs_a_system_its_place_is_not_called_unnoticed(systems: tuple[str, ...]) -> None:
    evalset, outputs = data.demo()
    some = {system: outputs[system] for system in systems}
    attacks = ["empty", "shuffle", "refusal", "other-output", "drop-split"]
    result = audit(evalset=evalset, outputs=some, metrics="sari,bleu,fkgl", attacks=attacks, quick=True)
    for spec, verdict in result.verdicts.items():
        decisive = {flip.attack for flip in verdict.flips if flip.share <= 1}
        unnoticed = result.paragraphs[spec].partition("hardly notices ")[2].partition(" (")[0]
        assert not any(attack in unnoticed for attack in decisive), spec
        game = result.tables()[0]
        columns = [at for at, name in enumerate(game.header) if name.startswith(f"{spec} ")]
        marked = [row[0] for row in game.rows if any("*" in row[column] for column in columns)]
        assert marked == [effect.attack for effect in verdict.effects if effect.fooled]
        assert f"{len(marked)} of the 5 attacks" in result.paragraphs[spec] or not marked
    assert any(flip.attack == "empty" and flip.share <= 1 for flip in result.verdicts["sari"].flips)


def test_a_cell_shows_all_outputs_attacked_and_the_worst_level() -> None:
    """Between two systems that are apart by 1, a metric rises by 0.5 and then falls by 4 as stops become many."""

    @dataclass(frozen=True, repr=False)
    class Hill(Stops):
        def score(self, totals: Any) -> Any:
            stops = super().score(totals)
            return stops + 6 * stops * (0.4 - stops) * (stops <= 2)

    result = audit(
        evalset=EVALSET,
        outputs={"A": ("a b",) * 4, "B": ("a b . . .",) * 4},
        metrics=[Hill()],
        attacks=["random-period"],
        trials=4,
        levels=(0.25, 1.0),
    )
    (effect,) = result.verdicts["stops-higher"].effects
    changes = {  # by level: A and B, from the formula
        0.25: (0.25 + 6 * 0.25 * 0.15, 0.25),
        1.0: (1 + 6 * 0.4 - 6, 1.0),
    }
    mean = {level: float(np.mean(pair)) for level, pair in changes.items()}
    assert (effect.level, effect.full_level) == (0.25, 1.0)
    assert (effect.gain, effect.full_gain) == (pytest.approx(mean[0.25]), pytest.approx(mean[1.0]))
    assert effect.largest == pytest.approx(2.6)
    (game, _) = result.tables()
    assert game.header == ("attack", "should be", "applies to", "stops-higher 100%", "stops-higher worst")
    assert game.rows[0][3:] == (f"{mean[1.0] / 3:+.2f}", f"{mean[0.25] / 3:+.2f}* at 25%")
    assert game.rows[1][3:] == ("", f"{mean[0.25] / 3:.2f}")
    assert f"(with 100%, {mean[1.0]:+.2f} points)" in result.paragraphs["stops-higher"]


@pytest.mark.parametrize(
    ("expected", "at_worst", "at_full", "marks"),
    [
        ("worse", 0.3, 0.1, True),
        ("worse", 0.3, -0.1, False),
        ("worse", 0.3, 0.04, False),
        ("better", -0.3, -0.1, True),
        ("better", -0.3, 0.1, False),
        ("unchanged", 0.3, -0.1, True),
    ],
)
def test_each_number_is_marked_by_itself(expected: Any, at_worst: float, at_full: float, marks: bool) -> None:
    wrong = abs(at_worst)
    effect = Effect("m", "a", expected, 0.4, at_worst, at_worst, 1.0, at_full, at_full, wrong, wrong, 1.0, 1.0, 1.0)
    assert effect.fooled
    assert effect.fully_fooled == marks


def test_a_metric_that_is_undefined_at_the_end_is_judged_before_it() -> None:
    outputs = {"A": ("One two three four.", "One two."), "B": ("One two three.", "One two three four five.")}
    evalset = EvalSet.of(["One two three four five."] * 2)
    verdict = audit(evalset=evalset, outputs=outputs, metrics=["fkgl"], attacks=["empty"], trials=1).verdicts["fkgl"]
    assert verdict.effects[0].full_level < 1
    assert not math.isnan(verdict.effects[0].full_gain)


@pytest.mark.long
def test_what_the_page_says_about_public_data(mirror: Path) -> None:
    """The table in docs/audit.md."""
    evalset = data.load("turkcorpus/test")
    systems = {name: data.outputs(evalset.name, name) for name in ("ACCESS", "Dress", "Dress-Ls", "Hybrid", "PBMT-R")}
    worst = "random-period+replace-longest"
    named = ["copy-source", worst, "repeat-clause", "negate", "hallucinate", "refusal", "oracle"]
    specs = ["sari", "bleu", "sari(variant=hf)", "fkgl"]
    verdicts = audit(evalset=evalset, outputs=systems, metrics=specs, attacks=named, trials=2).verdicts
    game = {spec: verdict.gameability for spec, verdict in verdicts.items()}
    assert game == pytest.approx({"sari": 0.02, "bleu": 0.82, "sari(variant=hf)": 1.37, "fkgl": 2.02}, abs=0.03)
    ways = {spec: verdict.cheapest for spec, verdict in verdicts.items()}
    assert ways["sari"] is None
    message = {"bleu": ("copy-source", 0.56), "sari(variant=hf)": ("copy-source", 0.47), "fkgl": (worst, 0.42)}
    for spec, (attack, share) in message.items():
        cheapest = ways[spec]
        assert cheapest is not None
        assert (cheapest.attack, cheapest.share) == (attack, pytest.approx(share, abs=0.015))
    unnoticed = {effect.attack for effect in verdicts["sari"].effects if not effect.noticed}
    assert unnoticed >= {"repeat-clause", "negate", "hallucinate"}
    assert verdicts["fkgl"].effects[-1].gain < 0


PARTIAL = {
    "A": ("One cat sat on the mat .", "Two cats sat .", "Three cats .", None, None, "A dog ."),
    "B": ("One cat sat .", None, "Three cats sat here .", "A bird flew .", None, "A dog barked ."),
    "C": ("One cat .", "Two", "Three cats sat .", "A bird .", "It rained .", "The dog ."),
}
SOURCES = [f"{word} furry animals were resting on the mat of Mrs Smith in 1984." for word in "ABCDEF"]
REFERENCES = [[f"{word} cats sat there .", "A bird flew ."] for word in "ABCDEF"]
ATTACKS = "random-period,swap-names,other-output,other-reference,empty,oracle"  # which look at one item, or at all
OPTIONS: dict[str, Any] = {"metrics": "sari,fkgl", "attacks": ATTACKS, "trials": 2, "levels": (0.3, 1.0)}


def _given_alone(items: Sequence[int], *systems: str) -> Audit:
    return audit(
        sources=[SOURCES[item] for item in items],
        references=[REFERENCES[item] for item in items],
        outputs={system: [PARTIAL[system][item] for item in items] for system in systems},
        **OPTIONS,
    )


def test_systems_are_attacked_on_the_items_that_they_have_and_compared_on_shared_ones() -> None:
    result = audit(sources=SOURCES, references=REFERENCES, outputs=PARTIAL, incomplete="skip", **OPTIONS)
    have = {system: [i for i, text in enumerate(texts) if text is not None] for system, texts in PARTIAL.items()}
    for system, items in have.items():
        alone = _given_alone(items, system).sweep
        for key, curve in alone.curves.items():
            for side in ("mean", "low", "high"):
                expected, actual = (getattr(each, side) for each in (curve, result.sweep.curves[key]))
                np.testing.assert_allclose(actual, expected, rtol=1e-12)
        for key, share in alone.worse.items():
            assert result.sweep.worse[key] == pytest.approx(share, nan_ok=True)
        partly = audit(sources=SOURCES, references=REFERENCES, outputs=PARTIAL[system], incomplete="skip", **OPTIONS)
        assert partly.shared_items == partly.item_counts["outputs"] == len(items)
        assert partly.json()["metrics"][0]["scores"] == {"outputs": pytest.approx(alone.baseline(system, "sari"))}
        ids = {record["id"] for record in result.changes() if record["system"] == system}
        assert ids == {str(item + 1) for item in items}
    shared = _given_alone([0, 2, 5], *PARTIAL)
    assert repr(result.verdicts) == repr(shared.verdicts)
    assert result.paragraphs == shared.paragraphs
    assert result.tables() == shared.tables()
    content = result.json()
    assert {row["system"]: row["items"] for row in content["systems"]} == {"A": 4, "B": 4, "C": 6}
    assert content["shared_items"] == 3
    about = " ".join(note.message for note in result.notes())
    assert "A has 4, B has 4 and C has 6; systems are compared on the 3 that all of them have" in about


def test_systems_without_common_items_are_not_ranked_and_one_without_outputs_is_refused() -> None:
    outputs = {"A": ["a b .", None], "B": [None, "a b"], "empty": ["", ""]}
    options: dict[str, Any] = {"metrics": [Stops()], "attacks": "random-period", "incomplete": "skip"}
    result = audit(sources=["a", "b"], outputs=outputs, **options)
    assert result.sweep.systems == ("A", "B", "empty")
    (verdict,) = result.verdicts.values()
    assert (verdict.ranking, verdict.flips) == ((), ())
    assert "No two systems have a score on the same items" in repr(result)
    with pytest.raises(BadInput, match="none"):
        audit(sources=["a", "b"], outputs={"none": [None, None]}, **options)


def test_quick_measures_once_and_takes_some_items() -> None:
    n = 1000
    sources, outputs = [f"a {i} b" for i in range(n)], {"A": ["a b ."] * n, "B": [f"a {i}" for i in range(n)]}
    calls: list[int] = []

    class Counted:
        def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> list[list[int]]:
            calls.append(len(outputs))
            return [[len(output), 1] for output in outputs]

        def score(self, totals: Any) -> Any:
            return totals[..., 0] / totals[..., 1]

    result = audit(sources=sources, outputs=outputs, metrics=[Counted()], attacks="shuffle,drop-words", quick=True)
    assert calls == [400] * (2 + 2 * 2)
    ids = result.sweep.design.evalset.ids
    assert (ids[0], ids[-1], len(set(ids))) == ("1", "1000", 400)
    assert "400 of 1,000 items" in " ".join(note.message for note in result.notes())
    assert (result.json()["quick"], result.json()["trials"]) == (True, 20)
