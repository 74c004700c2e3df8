"""Sanity rows: known outputs, and a held-out reference that meets as many references as every system does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from plainly import data
from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.sampling import Sampling
from plainly.io.faults.corpus_faults import reference_systems
from plainly.scoring import sanity
from plainly.scoring.evaluate import evaluate
from plainly.scoring.score import score


def test_the_rows_are_what_they_are_called():
    evalset = EvalSet.of(["one two three four five", "a b c d e f g h i j"])
    rows = sanity.rows(evalset, seed=1)
    assert rows["(identity)"] == evalset.sources
    assert rows["(first 80 % of words)"] == ("one two three four", "a b c d e f g h")
    assert rows["(empty)"] == ("", "")
    assert [sorted(r.split()) for r in rows["(shuffled words)"]] == [sorted(s.split()) for s in evalset.sources]
    assert rows["(shuffled words)"][1] != evalset.sources[1]
    assert rows == sanity.rows(evalset, seed=1)
    with pytest.raises(BadInput, match="sources="):
        sanity.rows(EvalSet.of(items=3), seed=1)


@pytest.mark.parametrize("intervals", [True, False])
def test_one_reference_has_trivial_rows_of_the_seed_and_none_is_held_out(intervals: bool) -> None:
    sources = [f"the big cat {k} sat on a mat" for k in range(8)]
    evalset = EvalSet.of(sources, references=[[f"cat {k} sat"] for k in range(8)])
    sampling = Sampling(resamples=20, seed=3)
    result = score(
        evalset=evalset, outputs=sources, metrics=["sari"], sanity=True, sampling=sampling, intervals=intervals
    )
    assert result.held_out is None
    assert result.outputs is not None
    expected = sanity.rows(evalset, seed=3 if intervals else Sampling().seed)
    assert {name: result.outputs[name] for name in expected} == expected
    assert float(result["(identity)"]["sari"]) == float(next(iter(result.values()))["sari"])


def test_leave_one_out_is_the_mean_over_folds():
    sources = [f"the big cat {k} sat on a mat" for k in range(12)]
    references = [[f"cat {k} sat on a mat", f"the cat {k} sat", f"a cat {k} was on a mat"] for k in range(12)]
    outputs = {"A": [f"the cat {k} sat on a mat" for k in range(12)]}
    evalset = EvalSet.of(sources, references=references)
    result = sanity.leave_one_out(evaluate(evalset, outputs, ["sari", "bleu"], sampling=None))
    assert result.references == "2"
    assert result.folds == 3
    rows = {"A": [], sanity.HELD_OUT: []}
    for left_out in range(3):
        rest = EvalSet.of(sources, references=[[r for k, r in enumerate(row) if k != left_out] for row in references])
        fold = evaluate(
            rest, {**outputs, sanity.HELD_OUT: [row[left_out] for row in references]}, ["bleu"], sampling=None
        )
        for system in rows:
            rows[system].append(fold[system]["bleu"].rows)
    for system, tables in rows.items():
        score = result.evaluation[system]["bleu"]
        assert float(score) == pytest.approx(float(score.metric.score(np.mean(tables, axis=0).sum(axis=0))[0]))
    assert "refs:2" in str(result.evaluation["A"]["bleu"].signature)
    assert "left-out" in str(result.evaluation["A"]["bleu"].signature)


def test_items_with_one_reference_take_no_part():
    evalset = EvalSet.of(["a b c", "d e f", "g h i"], references=[["a b", "a c"], ["d e"], ["g h", "g i", "h i"]])
    outputs = {"A": ["a b", "d e", "g h"]}
    result = sanity.leave_one_out(evaluate(evalset, outputs, ["sari"], sampling=None))
    assert result.items == 2
    assert result.references == "1 to 2"
    with pytest.raises(BadInput, match="reference"):
        sanity.leave_one_out(evaluate(EvalSet.of(["a"], references=[["a"]]), {"A": ["a"]}, ["sari"]))


@pytest.mark.mirror
def test_on_asset_people_beat_systems_and_systems_beat_sanity_rows(mirror: Path):
    evalset = data.load("asset/test")
    outputs = {"ACCESS": data.outputs("asset/test", "ACCESS"), **sanity.rows(evalset, seed=12345)}
    result = sanity.leave_one_out(evaluate(evalset, outputs, ["sari", "bleu"], sampling=None)).evaluation
    sari = {system: float(result[system]["sari"]) for system in result}
    assert (
        sari[sanity.HELD_OUT]
        > sari["ACCESS"]
        > max(value for name, value in sari.items() if name.startswith("(") and name != sanity.HELD_OUT)
    )
    bleu = {system: float(result[system]["bleu"]) for system in result}
    assert bleu["(identity)"] > bleu["ACCESS"] > bleu[sanity.HELD_OUT], "BLEU prefers a copy to what people write"


def test_on_the_command_line(capsys):
    assert main(["score", "--demo", "--sanity", "--json", "-m", "sari,fkgl", "editor"]) == 0
    result = json.loads(capsys.readouterr().out)
    names = [system["system"] for system in result["systems"]]
    assert names == ["editor", "(identity)", "(first 80 % of words)", "(empty)", "(shuffled words)"]
    empty = next(system for system in result["systems"] if system["system"] == "(empty)")
    assert empty["scores"]["fkgl"]["value"] is None
    assert [system["system"] for system in result["leave_one_out"]["systems"]][-1] == sanity.HELD_OUT
    assert "copies" not in {warning["code"] for warning in result["warnings"]}, "sanity rows are not diagnosed"
    assert main(["score", "--demo", "--sanity", "editor"]) == 0
    assert "each left out once" in capsys.readouterr().out


def _arguments(tmp_path: Path, part: slice = slice(None)) -> tuple[list[str], str]:
    """The demo's texts as files: two systems, and its first reference given as a third."""
    evalset, outputs = data.demo()
    files = {"src": evalset.sources, **{f"ref.{k}": [row[k] for row in evalset.references] for k in range(2)}}
    files |= {name: outputs[name] for name in list(outputs)[-2:]} | {"winner": [row[0] for row in evalset.references]}
    for name, lines in files.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines[part]), "utf-8")
    systems = [str(tmp_path / f"{name}.txt") for name in [*list(outputs)[-2:], "winner"]]
    return [
        "--source",
        str(tmp_path / "src.txt"),
        "--references",
        str(tmp_path / "ref.*.txt"),
        "--",
        *systems,
    ], "winner"


@pytest.mark.parametrize("command", ["score", "compare", "report", "doctor"])
def test_a_reference_given_as_a_system_is_noticed_by_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
):
    arguments, name = _arguments(tmp_path)
    options = {
        "score": ["--no-intervals"],
        "compare": ["--trials", "200", "--resamples", "50"],
        "report": ["-o", str(tmp_path / "r.html"), "--labeller", "none", "--no-audit"],
        "doctor": [],
    }
    metrics = [] if command == "doctor" else ["-m", "bleu,fkgl"]
    main([command, *metrics, *options[command], "--json", *arguments])
    printed = json.loads(capsys.readouterr().out)
    by_code = {warning["code"]: warning for warning in printed["warnings"]}
    assert by_code["output-is-reference"]["where"] == name
    assert len([code for code in printed["warnings"] if code["code"] == "output-is-reference"]) == 1
    if command == "compare":
        bleu, fkgl = printed["claims"]
        assert bleu.startswith("bleu: winner copies references, so its score is not comparable. ")
        assert "winner scores best" not in bleu
        assert "winner may be said" not in bleu
        assert "reference" not in fkgl
    if command == "report":
        assert "winner scores best" not in " ".join(printed["summary"])
        assert "without winner, which copies references, " in printed["summary"][0]


def test_few_items_or_copies_make_no_reference():
    evalset, _ = data.demo()
    first = [row[0] for row in evalset.references]
    assert list(reference_systems(evalset, {"r": first})) == ["r"]
    assert not reference_systems(evalset[:9], {"r": first[:9]})
    for share, is_copied in ((4, True), (9, False)):  # one output in four, one in nine
        partly = [text if at % share == 0 else f"{text} So." for at, text in enumerate(first)]
        assert bool(reference_systems(evalset, {"r": partly})) == is_copied
    of_copies = EvalSet.of(evalset.sources, references=[[source] for source in evalset.sources])
    assert not reference_systems(of_copies, {"identity": evalset.sources})
    assert not reference_systems(EvalSet.of(evalset.sources), {"r": first})
