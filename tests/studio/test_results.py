"""The results of studies in which people marked operations or ranked outputs, from the study and from its exports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import plainly
from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.people.operation_results import OperationResults
from plainly.people.preferences import Preferences
from plainly_studio import actions as api
from plainly_studio import people as roster
from plainly_studio.creation import make_item
from plainly_studio.project import parse_project
from studio.conftest import Make, Rater, Study, rater


def _exclude(study: Study, name: str) -> None:
    study.store.write_now(lambda connection: roster.exclude(connection, name, why="test", replace=False, by="x"))


def _items(one: Rater) -> Iterator[dict[str, Any]]:
    """Yield all items that a rater gets; each has to be answered before the next ten."""
    while items := one.claim(10)["items"]:
        yield from items


def _operations_study(make: Make, *, raters: int = 3, items: int = 8) -> tuple[Study, list[str]]:
    """System A deletes two words in three of four outputs, B in none; the last annotator has another name for that."""
    settings = {"name": "Marks", "task": "operations", "assignment": {"overlap": raters, "ahead": 10}}
    outputs = [(str(at), system) for at in range(items) for system in "AB"]
    texts = [make_item(f"{at} one two three.", [(s, f"{at} {s} three.")], name=at) for at, s in outputs]
    study, names = make(parse_project(settings), texts), []
    for place in range(raters):
        one = rater(study)
        for item in _items(one):
            number, system, *_ = [text for _, text in item["output_spans"]]
            label = "delmod" if place < raters - 1 else "deloth"
            groups = [
                {"source": [1, 2], "output": [], "labels": [label]},
                {"source": [3], "output": [2], "labels": ["move"]},
            ]
            marked = groups if system == "A" and int(number) % 4 else []
            assert one.answer(item, {"groups": marked}).status_code == 201
        names.append(one.name)
    return study, names


def test_operations_have_rates_tests_and_confusions(make: Make) -> None:
    study, _ = _operations_study(make)
    result = plainly.results(study.file)
    assert isinstance(result, OperationResults)
    rates = {(row["operation"], row["system"]): row for row in result.records()}
    assert rates["move", "A"]["rate"] == pytest.approx(0.75)
    assert rates["delmod", "A"]["rate"] == pytest.approx(0.75 * 2 / 3)
    assert 0 < rates["move", "A"]["low"] < 0.75 < rates["move", "A"]["high"] < 1
    assert (rates["move", "B"]["rate"], rates["move", "B"]["low"]) == (0, 0)
    assert 0.1 < rates["move", "B"]["high"] < 0.4, "8 outputs without it do not show that it never occurs"
    assert any(claim.startswith("move: A has it more often than B, by 75%") for claim in result.claims)
    # 12 tokens, each labelled delmod by two and deloth by one: of the pairs of a delmod, half are another delmod.
    assert result.confusions.share("delmod") == pytest.approx({"delmod": 0.5, "deloth": 0.5, "none": 0.0, "move": 0.0})
    assert result.confusions.share("deloth")["delmod"] == pytest.approx(1)
    assert result.confusions.counts.sum() == 3 * 8 * 2 * (5 + 4), "every token counts once for each annotator"
    assert result.reliability is not None
    (printed,) = [note for note in result.notes() if "tokens" in note.message]
    assert f"{result.reliability.estimate.value:.2f}" in printed.message
    assert result.everyone is None
    for form in ("csv", "jsonl", "parquet"):
        path = study.file.with_name(f"export.{form}")
        path.write_bytes(api.export(study.file, form))
        exported = plainly.results(path)
        assert isinstance(exported, OperationResults)
        assert exported.records() == result.records()
        assert exported.confusions.records() == result.confusions.records()


def test_exclusions_of_annotators_are_applied_and_shown(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    study, names = _operations_study(make)
    before = plainly.results(study.file)
    _exclude(study, names[-1])
    result = plainly.results(study.file)
    assert isinstance(result, OperationResults)
    assert "deloth" not in result.operations
    assert result.rate("delmod", "A").value == pytest.approx(0.75)
    assert result.everyone is not None
    assert result.everyone.records() == before.records()
    assert result.tables()[1].rows == before.tables()[0].rows
    assert not any("114%" in claim for claim in result.claims), "no difference is larger than all outputs"
    assert result.reliability is not None
    assert result.reliability.estimate.value == 1
    assert main(["results", str(study.file), "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert {row["operation"] for row in payload["with_excluded"]["rates"]} == {"delmod", "deloth", "move"}
    assert main(["agreement", str(study.file)]) == 0
    assert "delmod" in capsys.readouterr().out
    with pytest.raises(BadInput, match="results"):
        plainly.plan(study.file)
    texts = {"sources": ["One two."], "outputs": {"A": ["One."]}, "metrics": ["fkgl"]}
    report = plainly.report(**texts, labeller=None, audit=False, ratings=study.file)
    assert result.claims[0] in report.summary[0].text, "what people found comes first"
    page = report.html
    assert page.index("Which operations do people mark?") < page.index('id="scores"')


def test_one_annotator_and_an_empty_study(make: Make) -> None:
    study, _ = _operations_study(make, raters=1)
    result = plainly.results(study.file, baseline="B")
    assert isinstance(result, OperationResults)
    assert result.reliability is None
    assert len(result.tables()) == 1
    assert any("One annotator" in note.message for note in result.notes())
    nothing = parse_project({"name": "Marks", "task": "operations"})
    empty = make(nothing, [make_item("One.", [("A", "One.")], name="1")], name="empty")
    with pytest.raises(BadInput, match="no operation"):
        plainly.results(empty.file)


@pytest.mark.parametrize("method", ["pairwise", "best-worst"])
def test_exclusions_of_rankings_are_applied_and_shown(make: Make, method: str) -> None:
    systems = "AB" if method == "pairwise" else "ABC"
    settings = {"name": "Ranks", "task": "ranking", "ranking": {"method": method, "size": 3},
                "assignment": {"overlap": 4, "ahead": 10}}  # fmt: skip
    texts = [make_item(f"{at} text.", [(s, f"{at} {s}") for s in systems], name=str(at)) for at in range(6)]
    study, names = make(parse_project(settings), texts), []
    for place in range(4):
        one = rater(study)
        for item in _items(one):
            order = [text.split()[1] for text in item["outputs"]]
            best = "A" if place < 3 else "B"  # one of four deviates
            worst = systems[-1] if systems[-1] != best else "A"
            choice = {"best": order.index(best)} | ({"worst": order.index(worst)} if method == "best-worst" else {})
            assert one.answer(item, {"choice": choice}).status_code == 201
        names.append(one.name)
    before = plainly.results(study.file)
    _exclude(study, names[-1])
    result = plainly.results(study.file)
    assert isinstance(result, Preferences)
    assert (result.raters, result.rankings) == (3, 18)
    (first,) = [row for row in result.systems if row.system == "A"]
    assert first.win_rate.value == 1
    assert result.everyone is not None
    assert result.everyone.records() == before.records()
    assert "with excluded raters" in result.tables()[0].header
    assert result.json()["with_excluded"]["systems"] == before.records()
    assert sum("excluded" in note.message for note in result.notes()) == 1
    assert plainly.agreement(study.file)["preference"].raters == 3
    export = study.file.with_name("export.csv")
    export.write_bytes(api.export(study.file, "csv"))
    assert plainly.results(export).json() == result.json()


@pytest.mark.parametrize("task", ["operations", "ranking"])
def test_what_is_for_scales_is_refused_where_there_is_none(
    make: Make, task: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if task == "operations":
        study, _ = _operations_study(make, raters=2, items=4)
    else:
        settings = {"name": "Ranks", "task": "ranking", "assignment": {"overlap": 1, "ahead": 10}}
        texts = [make_item(f"{at} text.", [(s, f"{at} {s}") for s in "AB"], name=str(at)) for at in range(4)]
        study = make(parse_project(settings), texts)
        one = rater(study)
        for item in _items(one):
            assert one.answer(item, {"choice": {"best": 0}}).status_code == 201
    export = study.file.with_name("export.csv")
    export.write_bytes(api.export(study.file, "csv"))
    for file in map(str, (study.file, export)):
        assert main(["meta", file]) == 0
        assert main(["meta", file, "--agreement"]) == (0 if task == "operations" else 2), (
            "one rater has no others to agree with"
        )
        capsys.readouterr()
        for options in (
            ["meta", file, "-m", "fkgl"],
            ["meta", file, "--tradeoff"],
            ["results", file, "--systems", "A"],
        ):
            assert main(options) == 2
            assert f"plainly results {file}" in capsys.readouterr().err
        assert main(["plan", file]) == 2
        for command in ("score", "report", "compare"):
            assert main([command, file, "-m", "fkgl"]) == 2
            assert f"plainly results {file}" in capsys.readouterr().err
