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
from plainly.auditing.verdicts import find_crossing
from plainly.core import tables
from plainly.core.errors import UnknownName
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
    assert "does not reward an improvement: oracle (-0.75, -1.50 spreads)" in lower
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


def test_a_metric_that_is_undefined_at_the_end_is_judged_before_it() -> None:
    outputs = {"A": ("One two three four.", "One two."), "B": ("One two three.", "One two three four five.")}
    evalset = EvalSet.of(["One two three four five."] * 2)
    verdict = audit(evalset=evalset, outputs=outputs, metrics=["fkgl"], attacks=["empty"], trials=1).verdicts["fkgl"]
    assert verdict.effects[0].level < 1
    assert not math.isnan(verdict.effects[0].gain)


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
