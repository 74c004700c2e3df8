"""The result of a human evaluation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plainly
from plainly.cli import main
from plainly.core.errors import BadInput, UnknownName
from plainly.people import Judgements, Rating
from plainly.people.preferences import Preferences
from plainly.people.results import HumanResults
from plainly.stats.crossed import contrast


def _judgements(
    shifts: Sequence[float] = (0.0, 0.0, 1.5), *, items: int = 30, raters: int = 5, seed: int = 1, **options: Any
) -> Judgements:
    rng = np.random.default_rng(seed)
    item, strict = rng.normal(size=items), rng.normal(size=raters)
    return Judgements.of(
        "study",
        [
            Rating(
                f"s{s}", str(i), f"r{r}", "simplicity",
                float(np.clip(np.rint(50 + 10 * (shift + item[i] + strict[r] + rng.normal())), 0, 100)),
            )
            for s, shift in enumerate(shifts)
            for i in range(items)
            for r in range(raters)
        ],
        **options,
    )  # fmt: skip


def test_systems_come_in_order_with_intervals_over_items_and_raters() -> None:
    judgements = _judgements()
    result = plainly.results(judgements)
    first, *others = result.records()
    assert (first["system"], first["place"], first["beats"], first["beaten_by"]) == ("s2", 1, 2, 0)
    assert [row["beats"] for row in others] == [0, 0]
    values = judgements["simplicity"].values
    assert (first["low"], first["high"]) == pytest.approx(contrast(values[[2]], np.ones(1)).bounds(0.95))
    pair = result.comparisons.pair("simplicity", "s2", "s0")
    assert (pair.low, pair.high) == pytest.approx(contrast(values[[2, 0]], np.array([1.0, -1.0])).bounds(0.95))
    assert pair.difference == pytest.approx(values[2].mean() - values[0].mean())
    assert 0 < pair.smallest_detectable < abs(pair.difference)


def test_claims_are_those_of_compare() -> None:
    (claim,) = plainly.results(_judgements()).claims
    assert claim.startswith("simplicity: s2 scores best; 2 of 3 pairs can be told apart (5% level, Holm over 3")
    (claim,) = plainly.results(_judgements((0.0, 1.5)), baseline="s0").claims
    assert "s1 may be said to score better than s0" in claim
    assert "on items and raters like these" in claim
    (claim,) = plainly.results(_judgements((0.0, 0.0)), baseline="s0").claims
    assert "no difference may be claimed between s1 and s0" in claim


def test_raters_are_a_sample() -> None:
    """A few raters with their own views of a system do not make a claim, however many items they rate."""
    rng = np.random.default_rng(2)
    views = rng.normal(size=(2, 1, 3))
    values = 3 + views + 0.1 * rng.normal(size=(2, 300, 3))
    rows = [
        {"system": "AB"[s], "item": i, "rater": r, "simplicity": values[s, i, r]}
        for s, i, r in np.ndindex(values.shape)
    ]
    (pair,) = plainly.results(rows).comparisons.comparisons
    assert not pair.significant
    means = [{**row, "rater": "mean"} for row in rows if row["rater"] == 0]
    result = plainly.results(means)
    assert result.comparisons.comparisons[0].significant
    assert any("one rater" in note.message for note in result.notes())


def test_one_figure_of_agreement_is_recommended() -> None:
    judgements = _judgements()
    result = plainly.results(judgements)
    alpha = result.reliability["simplicity"]
    every = plainly.agreement(judgements)["simplicity"].coefficients
    assert alpha.estimate == every["Krippendorff's alpha, interval"]
    assert "single ratings are" in alpha.sentence
    assert result.agreement is None
    assert plainly.results(judgements, agreement=True).agreement is not None


def test_bounds_stay_on_the_scale() -> None:
    values = [5.0] * 11 + [4.0]
    rows = [{"item": i, "rater": r, "meaning": value} for i, value in enumerate(values) for r in "ab"]
    result = plainly.results(rows)
    (row,) = result.records()
    assert row["mean"] < row["high"] <= 5
    assert result.claims == []


def test_means_and_several_dimensions() -> None:
    rows = [
        {"system": system, "item": str(item), "fluency": 3 + (item + place) % 3, "meaning": 2.5 + place}
        for place, system in enumerate("AB")
        for item in range(8)
    ]
    result = plainly.results(rows)
    assert result.dimensions == ("fluency", "meaning")
    assert result.reliability == {}
    assert [table.caption for table in result.tables()[:2]] == [
        "fluency: means of ratings, scale 1 to 5",
        "meaning: means of ratings",
    ]
    assert plainly.results(rows, dimensions="meaning").dimensions == ("meaning",)


def test_what_only_a_wider_scale_could_show_is_marked() -> None:
    """Four raters who disagree about one system could not show any difference that the scale allows."""
    rng = np.random.default_rng(4)
    views = {"A": [0.0] * 4, "B": [1.0] * 4, "C": [-2.0, 2.0, -2.0, 2.0]}
    rows = [
        {
            "system": system,
            "item": item,
            "rater": r,
            "simplicity": int(np.clip(np.rint(3 + views[system][r] + noise), 1, 5)),
        }
        for system in views
        for item in range(12)
        for r, noise in enumerate(rng.normal(scale=0.5, size=4))
    ]
    result = plainly.results(rows)
    table = next(table for table in result.tables() if "detectable" in table.header)
    cells = {row[1:3]: row[table.header.index("detectable")] for row in table.rows}
    for pair in result.comparisons.comparisons:
        assert (cells[pair.system, pair.baseline] == "> scale") == np.isnan(pair.smallest_detectable)
    defined = [pair for pair in result.comparisons.comparisons if np.isfinite(pair.smallest_detectable)]
    assert 0 < len(defined) < 3
    assert f"{len(defined)} of 3 pairs" in result.claims[0].rpartition("items show")[2]


def test_a_result_does_not_blame_the_number_of_ratings_where_they_do_not_vary() -> None:
    rows = [{"system": s, "item": i, "rater": r, "simplicity": 3} for s in "AB" for i in range(20) for r in "xyz"]
    same = plainly.results(rows)
    few = plainly.results([row for row in rows if row["item"] == 0])
    assert not any("plainly plan" in note.message for note in same.notes())
    assert any("plainly plan" in note.message for note in few.notes())
    assert few.comparisons.comparisons[0].n == 1


def test_wrong_names_are_refused() -> None:
    with pytest.raises(UnknownName, match="s9"):
        plainly.results(_judgements(), baseline="s9")
    with pytest.raises(UnknownName, match="dimension"):
        plainly.results(_judgements(), dimensions=["fluency"])


def test_the_command_prints_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judgements = _judgements()
    ratings = judgements["simplicity"]
    lines = ["system,item,rater,dimension,rating"] + [
        f"{ratings.systems[s]},{ratings.items[i]},{ratings.raters[r]},simplicity,{ratings.values[s, i, r]:g}"
        for s, i, r in np.ndindex(ratings.values.shape)
    ]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines))
    assert main(["results", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "1. s2" in printed
    assert "s2 scores best" in printed
    assert main(["results", str(path), "--baseline", "s0", "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["schema"] == "plainly.results/1"
    assert {pair["test"] for pair in payload["comparisons"]} == {"items-and-raters"}
    assert main(["results", str(path), "--all"]) == 0
    assert "ICC" in capsys.readouterr().out
    assert "ICC" not in printed
    assert main(["agreement", str(path)]) == 0
    assert "one rater against the others' mean" in capsys.readouterr().out


def test_only_dimensions_that_exclusions_change_are_repeated(tmp_path: Path) -> None:
    """An excluded rater who reverses simplicity, and agrees on fluency, is written of where it matters."""
    rng = np.random.default_rng(5)
    circumstances = {"cannot_judge": "", "revision": 1, "late": "", "overtime": "", "seconds": 5, "at": ""}
    rows = []
    for s, i, r in np.ndindex(2, 20, 6):
        for dimension in ("simplicity", "fluency"):
            sign = -3 if r == 5 and dimension == "simplicity" else 1
            rating = int(np.clip(np.rint(50 + 10 * sign * s + 3 * rng.normal()), 0, 100))
            row = {"item": i, "rater": f"r{r}", "system": "AB"[s], "dimension": dimension, "rating": rating}
            rows.append({**row, "minimum": 0, "maximum": 100, **circumstances, "excluded": r == 5})
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    result = plainly.results(path)
    assert isinstance(result, HumanResults)
    assert result.everyone is not None
    assert [result.comparisons.beats(name, "B", "A") for name in result.dimensions] == [True, True]
    assert not result.everyone.comparisons.beats("simplicity", "B", "A")
    (note,) = [note.message for note in result.notes() if "excluded" in note.message]
    assert result.everyone.claims[0] in note
    assert result.everyone.claims[1] not in note


def _pairs(path: Path, rows: Sequence[str], header: str = "item,rater,first,second,winner") -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_a_table_of_pairs_gives_preferences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    winners = [("ours", "first", "tie", "")[at] for at in rng.choice(4, p=[0.5, 0.2, 0.2, 0.1], size=120)]
    rows = [f"{at % 40},r{at // 40},ours,base,{winner}" for at, winner in enumerate(winners)]
    turned = [f"{at % 40},r{at // 40},base,ours,{'second' if winner in ('ours', 'first') else winner}"
              for at, winner in enumerate(winners)]  # fmt: skip
    result = plainly.results(_pairs(tmp_path / "pairs.csv", rows))
    assert isinstance(result, Preferences)
    best, other = result.systems
    assert (best.system, best.wins, best.ties) == (
        "ours",
        winners.count("ours") + winners.count("first"),
        winners.count("tie"),
    )
    assert (other.wins, result.undecided, result.raters) == (0, winners.count(""), 3)
    again = plainly.results(_pairs(tmp_path / "turned.csv", turned))
    assert isinstance(again, Preferences)
    assert sorted(map(str, again.systems)) == sorted(map(str, result.systems)), (
        "the order of the columns does not matter"
    )
    records = [
        dict(zip(("item", "rater", "system_a", "system_b", "preferred"), row.split(","), strict=True)) for row in rows
    ]
    assert plainly.results(records).records() == result.records()
    path = str(tmp_path / "pairs.csv")
    assert main(["agreement", path]) == 0
    assert main(["meta", path, "-m", "sari"]) == 2
    capsys.readouterr()
    assert main(["results", path, "--baseline", "base", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dimension"] == "preference"


def test_choices_on_several_dimensions_are_kept_apart(tmp_path: Path) -> None:
    rows = [f"{at},{rater},A,B,{winner},{name}" for at in range(12) for rater in "xy"
            for name, winner in (("meaning", "A"), ("simplicity", "B"))]  # fmt: skip
    path = _pairs(tmp_path / "pairs.csv", rows, "item,rater,first,second,winner,dimension")
    usual, meaning = plainly.results(path), plainly.results(path, dimensions="meaning")
    assert isinstance(usual, Preferences)
    assert isinstance(meaning, Preferences)
    assert (usual.dimension, usual.systems[0].system, usual.others) == ("simplicity", "B", ("meaning",))
    assert (meaning.systems[0].system, meaning.rankings) == ("A", 24)
    assert plainly.agreement(path)["meaning"].outputs == 12
    with pytest.raises(UnknownName, match="fluency"):
        plainly.results(path, dimensions="fluency")


@pytest.mark.parametrize(("row", "fault"), [("2,x,A,A,A", "itself"), ("1,x,B,A,B", "twice"), ("2,x,A,B,C", "'C'")])
def test_faults_of_a_table_of_pairs_name_the_row(tmp_path: Path, row: str, fault: str) -> None:
    path = _pairs(tmp_path / "pairs.csv", ["1,x,A,B,A", row])
    with pytest.raises(BadInput, match=fault) as raised:
        plainly.results(path)
    assert "pairs.csv:3" in str(raised.value)


@pytest.mark.mirror
def test_the_public_choices_have_a_result(mirror: Path) -> None:
    """ASSET's paper: its simplifications are simpler and keep less of the meaning than TurkCorpus's and HSplit's."""
    simpler, faithful = plainly.results("asset/pairwise"), plainly.results("asset/pairwise", dimensions="meaning")
    assert isinstance(simpler, Preferences)
    assert isinstance(faithful, Preferences)
    assert simpler.systems[0].system == faithful.systems[-1].system == "asset"
    assert (simpler.rankings, simpler.raters) == (718, 10)
