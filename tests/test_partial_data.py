"""Every function and command that takes texts gives the numbers of these texts, however they are passed.

A system that has half of the items is given in lists, in tables with ids in another order or written by pandas
(``1.0``), in long tables and in wide ones. What a function or a command says about it must be what the function says
about the same texts given alone. Where systems are compared, the texts are those of the items that both have.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

import plainly
from plainly.cli import COMMANDS, load_command, main
from plainly.cli.options import command_parser
from plainly.core.errors import BadInput
from plainly.io.texts import Incomplete, TextArguments
from plainly.scoring.explain import explain
from plainly.typology.labelling import label
from plainly.typology.operations import compare_with_people

SOURCES = [
    "The old harbour was closed because the water had risen by 3 metres.",
    "Maria Keller moved to Lisbon in 1987 and was offered 250 euros a month.",
    "The council of Oslo did not accept the plan, and the mayor resigned in May.",
    "About 40 percent of the visitors come from Denmark, and they stay for two weeks.",
    "The physician, who had been practising for decades, advised against the operation.",
    "Owing to heavy rainfall, the match was postponed until the following Saturday.",
    "The museum acquired the painting in 1921 but did not exhibit it for fifty years.",
    "Several species of bat hibernate in the abandoned mine during the winter.",
]
REFERENCES = [
    [
        "The old harbour was closed. The water was 3 metres higher.",
        "The harbour closed because the water rose 3 metres.",
    ],
    ["Maria Keller moved to Lisbon in 1987. She got 250 euros a month.", "In 1987 Maria Keller went to Lisbon."],
    ["The council of Oslo did not accept the plan. The mayor left in May.", "Oslo's council said no to the plan."],
    ["About 40 percent of the visitors come from Denmark. They stay two weeks.", "Many visitors are from Denmark."],
    ["The doctor had worked for decades. He said no to the operation.", "The doctor advised against the operation."],
    ["It rained a lot, so the match was moved to next Saturday.", "The match will be next Saturday because of rain."],
    ["The museum bought the painting in 1921. It did not show it for fifty years.", "The museum bought it in 1921."],
    ["Several kinds of bat sleep in the old mine in winter.", "Bats sleep in the old mine during the winter."],
]
# Both make mistakes on items that A has and on items that it lacks.
OUTPUTS = {
    "A": [
        "The old harbour was closed. The water had risen by 5 metres.",
        "Maria Keller moved to Lisbon in 1997.",
        "Sure! Here is the text: The council of Oslo did not accept the plan.",
        "",
        "The doctor had been practising for decades. He advised against the operation.",
        "The match was postponed.",
        "The museum acquired the painting in 1921 but did not exhibit it for fifty years.",
        "Several bats sleep in the mine during the winter",
    ],
    "B": [
        "The harbour was closed because the water had risen.",
        "Maria Keller moved to Lisbon in 1987 and was offered 250 euros.",
        "The council of Oslo accepted the plan, and the mayor resigned in May.",
        "About 40 percent of the visitors come from Denmark.",
        "The physician advised against the operation.",
        "Owing to heavy rainfall, the match was postponed until the following Saturday.",
        "Certainly! Here is the simplified version: The museum bought the painting but did not show it.",
        "Several species of bat live in the mine.",
    ],
}
ITEMS = range(len(SOURCES))
IDS = [str(item + 1) for item in ITEMS]
HALF = (0, 2, 4, 6)  # the items of A, unless it is complete
SHUFFLED = random.Random(3).sample(ITEMS, len(ITEMS))
SHAPES = ("complete", "partial", "shuffled ids", "float ids", "long table", "wide table")
_QUICK = plainly.Sampling(resamples=50)


def _lists(items: Sequence[int], systems: Sequence[str]) -> dict[str, Any]:
    """Return the texts of some items alone."""
    return {
        "sources": [SOURCES[item] for item in items],
        "references": [REFERENCES[item] for item in items],
        "outputs": {system: [OUTPUTS[system][item] for item in items] for system in systems},
        "ids": [IDS[item] for item in items],
    }


def _has(system: str, item: int) -> bool:
    return system == "B" or item in HALF


def _outputs(item: int) -> dict[str, str | None]:
    return {f"output_{system}": OUTPUTS[system][item] if _has(system, item) else None for system in OUTPUTS}


def _long_rows() -> Iterator[dict[str, Any]]:
    for item in ITEMS:
        for system in OUTPUTS:
            if _has(system, item):
                texts = {"source": SOURCES[item], "references": REFERENCES[item], "output": OUTPUTS[system][item]}
                yield {"id": IDS[item], "system": system, **texts}


def _arguments(shape: str) -> dict[str, Any]:
    """Return the texts as arguments of a function."""
    evalset = plainly.EvalSet.of(SOURCES, references=REFERENCES)
    if shape == "complete":
        return _lists(ITEMS, list(OUTPUTS))
    if shape == "partial":
        texts = _lists(ITEMS, list(OUTPUTS))
        texts["outputs"]["A"] = [OUTPUTS["A"][item] if item in HALF else None for item in ITEMS]
        return {**texts, "incomplete": "skip"}
    rows: list[dict[str, Any]] = [{"id": IDS[item], **_outputs(item)} for item in SHUFFLED]
    if shape == "float ids":
        rows = [{**row, "id": float(row["id"])} for row in rows]
    if shape == "long table":
        return {"data": list(_long_rows()), "incomplete": "skip"}
    if shape == "wide table":
        texts_of = [{"id": IDS[item], "source": SOURCES[item], "references": REFERENCES[item]} for item in ITEMS]
        return {"data": [{**row, **_outputs(item)} for item, row in zip(ITEMS, texts_of, strict=True)],
                "incomplete": "skip"}  # fmt: skip
    return {"data": rows, "evalset": evalset, "incomplete": "skip"}


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


def _files(folder: Path, shape: str) -> list[str]:
    """Write the texts and return the arguments of a command."""
    skip = ["--incomplete", "skip"]
    if shape == "long table":
        return ["--table", _write(folder / "long.jsonl", list(_long_rows())), *skip]
    if shape == "wide table":
        rows = [{"id": IDS[item], "source": SOURCES[item], "references": REFERENCES[item]} for item in ITEMS]
        both = [{**row, **_outputs(item)} for item, row in zip(ITEMS, rows, strict=True)]
        return ["--table", _write(folder / "wide.jsonl", both), *skip]
    paths = []
    for system in OUTPUTS:
        items: Sequence[int] = ITEMS if shape in ("complete", "partial") else SHUFFLED
        items = [item for item in items if shape == "complete" or _has(system, item)]
        ids: list[object] = [float(IDS[item]) if shape == "float ids" else IDS[item] for item in items]
        rows = [{"id": name, "output": OUTPUTS[system][item]} for name, item in zip(ids, items, strict=True)]
        paths.append(_write(folder / f"{system}.jsonl", rows))
    rows = [{"id": IDS[item], "source": SOURCES[item], "references": REFERENCES[item]} for item in ITEMS]
    return ["--table", _write(folder / "set.jsonl", rows), *paths, *skip]


Numbers = Callable[[Any, str], Any]  # the JSON of a result, a system → what is said about the system


def _of(json_: Any, system: str) -> Any:
    (entry,) = (entry for entry in json_["systems"] if entry["system"] == system)
    return entry


def _without(record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def _scores(json_: Any, system: str) -> Any:
    return {spec: _without(scores, "signature") for spec, scores in _of(json_, system)["scores"].items()}


def _gate(json_: Any, system: str) -> Any:
    """The place of an output is that in its file."""
    verdicts, findings = (
        [_without(entry, "place") for entry in json_[name] if entry["system"] == system]
        for name in ("verdicts", "findings")
    )
    return _of(json_, system), verdicts, findings


def _profile(json_: Any, system: str) -> Any:
    return _without(json_["systems"][system] if "systems" in json_ else json_["profile"], "name")


def _pairs(json_: Any, system: str) -> Any:
    return [_without(pair, "part") for pair in json_["pairs"] if pair.get("part", "") in ("", system)]


def _warnings(json_: Any, system: str) -> Any:
    return [entry for entry in json_["warnings"] if entry["where"] == system and entry["code"] != "missing-outputs"]


def _compared(json_: Any, system: str) -> Any:
    return [row for row in json_["comparisons"] if row["system"] == system or row["baseline"] == system]


def _audited(json_: Any, system: str) -> Any:
    return [_without(metric, "signature") for metric in json_["metrics"]]


def _compare_people(data: Any = None, *, incomplete: Incomplete = "refuse", **texts: Any) -> Any:
    return compare_with_people(
        TextArguments(**texts, incomplete=incomplete).read(data), labeller="rules", sampling=_QUICK
    )


def _explain(data: Any = None, *, incomplete: Incomplete = "refuse", **texts: Any) -> Any:
    return explain("sari", TextArguments(**texts, incomplete=incomplete).read(data))


@dataclass(frozen=True)
class Case:
    """A function and its command; ``shared`` where systems are compared, so that only common items count."""

    function: Callable[..., Any]
    settings: Mapping[str, Any]
    command: Sequence[str]
    numbers: Numbers
    shared: bool = False


_METRICS = {"metrics": ["sari", "bleu", "fkgl"], "sampling": _QUICK}
_RULES = ["sari >= 38", "compression <= 0.5"]
_M = ["-m", "sari,bleu,fkgl"]
_FEW = ["--resamples", "50"]
CASES = {
    "score": Case(plainly.score, _METRICS, ["score", *_M, *_FEW], _scores),
    "compare": Case(plainly.compare, _METRICS, ["compare", *_M, *_FEW], _compared, shared=True),
    "audit": Case(
        plainly.audit,
        {"metrics": ["sari"], "attacks": ["lowercase"], "levels": [1.0], "trials": 1},
        ["audit", "-m", "sari", "--attacks", "lowercase", "--levels", "100", "--trials", "1", "--processes", "1"],
        _audited,
        shared=True,
    ),
    "explain": Case(
        _explain,
        {},
        ["metrics", "sari", "--explain"],
        lambda json_, system: [variant["scores"][system] for variant in json_["variants"]],
    ),
    "facts": Case(plainly.facts, {"model": None}, ["facts", "--rules"], _of),
    "operations": Case(plainly.operations, {"labeller": "rules"}, [], _profile),
    "label": Case(label, {"labeller": "rules"}, ["operations", "label", "--labeller", "rules"], _pairs),
    "operations compare": Case(
        _compare_people, {}, ["operations", "compare", "--labeller", "rules", *_FEW], _of, shared=True
    ),
    "align": Case(
        plainly.align,
        {"encoder": False},
        ["align", "--words"],
        lambda json_, system: [row for row in json_["alignments"] if row["system"] == system],
    ),
    "gate": Case(
        plainly.gate,
        {"preset": "quick", "require": _RULES, "sampling": _QUICK},
        ["gate", "--preset", "quick", *(word for rule in _RULES for word in ("--require", rule)), *_FEW],
        _gate,
    ),
    "doctor": Case(plainly.doctor, {}, ["doctor"], _warnings),
    "report": Case(
        plainly.report,
        {**_METRICS, "audit": False},
        ["report", *_M, *_FEW, "--no-audit", "-o", "{folder}/page.html"],
        lambda json_, system: [sentence for sentence in json_["summary"] if "warning" not in sentence],
        shared=True,
    ),
}


def _same(value: Any) -> Any:
    """Return a value in which numbers that differ by rounding are equal, and NaN is null."""
    if isinstance(value, float):
        return f"{value:.9g}" if math.isfinite(value) else None  # as commands write it
    if isinstance(value, Mapping):
        return {name: _same(item) for name, item in value.items()}
    return [*map(_same, value)] if isinstance(value, list | tuple) else value


def _json(result: Any) -> Any:
    return json.loads(json.dumps(result.json()))


@cache
def _expected(name: str, items: tuple[int, ...], systems: tuple[str, ...], system: str) -> Any:
    """Return what a function says about a system if these texts are all that it gets."""
    case = CASES[name]
    return _same(case.numbers(_json(case.function(**_lists(items, systems), **case.settings)), system))


def _check(name: str, shape: str, together: Any) -> None:
    case = CASES[name]
    for system in OUTPUTS:
        items = HALF if shape != "complete" and (case.shared or system == "A") else tuple(ITEMS)
        expected = _expected(name, items, tuple(OUTPUTS) if case.shared else (system,), system)
        assert expected, "nothing is compared"
        assert _same(case.numbers(together, system)) == expected


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_the_numbers_of_the_same_texts_alone(name: str, shape: str) -> None:
    case = CASES[name]
    _check(name, shape, _json(case.function(**_arguments(shape), **case.settings)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.command])
def test_a_command_gives_the_numbers_of_the_same_texts_alone(
    name: str, shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [part.format(folder=tmp_path) for part in CASES[name].command]
    assert main([*command, *_files(tmp_path, shape), "--json"]) in (0, 1), capsys.readouterr().err
    _check(name, shape, json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("name", CASES)
def test_a_system_without_any_output_is_refused_by_its_name(name: str) -> None:
    texts = _lists(ITEMS, list(OUTPUTS))
    texts["outputs"]["A"] = [None] * len(ITEMS)
    with pytest.raises(BadInput, match="'A' has no output for any of the 8 items"):
        CASES[name].function(**texts, **CASES[name].settings, incomplete="skip")


def test_every_function_and_command_that_takes_texts_is_a_case() -> None:
    functions = {name: getattr(plainly, name) for name in plainly.__all__ if callable(getattr(plainly, name))}
    take_texts = {
        name for name, function in functions.items() if "incomplete" in inspect.signature(function).parameters
    }
    assert take_texts <= CASES.keys()
    take_files = set()
    for name in COMMANDS:
        parser = command_parser(name, load_command(name))
        subparsers = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        parsers = {(name,): parser, **{(name, action): one for all_ in subparsers for action, one in all_.items()}}
        take_files |= {words for words, one in parsers.items() if "--incomplete" in one._option_string_actions}
    covered = {tuple(case.command[: len(words)]) for case in CASES.values() for words in take_files}
    assert take_files <= covered


def test_cleaned_copies_have_what_the_system_has(tmp_path: Path) -> None:
    plainly.doctor(**_arguments("partial"), fix=tmp_path / "together")
    plainly.doctor(**_lists(HALF, ["A"]), fix=tmp_path / "alone")
    together, alone = ((tmp_path / folder / "A.jsonl").read_text() for folder in ("together", "alone"))
    assert together == alone
    assert [json.loads(line)["id"] for line in alone.splitlines()] == [IDS[item] for item in HALF]


def test_a_gate_compares_with_the_baseline_on_the_items_of_both() -> None:
    settings = {"not_worse_than": ["B:sari:0.5"], "sampling": _QUICK}
    together = plainly.gate(**_arguments("partial"), **settings)
    alone = plainly.gate(**_lists(HALF, ["A", "B"]), **settings)
    assert together.verdicts == alone.verdicts
    assert together.verdicts[0].n == len(HALF)


def test_the_page_is_about_the_items_that_all_systems_have() -> None:
    from plainly.reporting import page, paper

    settings = {**_METRICS, "audit": False}
    report = plainly.report(**_arguments("partial"), **settings)
    alone = plainly.report(**_lists(HALF, ["A", "B"]), **settings)
    assert report.records() == [{**record, "signature": ANY} for record in alone.records()]
    assert report.overview.habits == alone.overview.habits
    # The item browser has all items, so that one can look at those that a system lacks.
    whole, part = page.payload(report.overview), page.payload(alone.overview)
    assert whole["ids"] == list(IDS)
    assert [[text is None for text in texts] for texts in whole["outputs"]] == [
        [item not in HALF for item in ITEMS],
        [False] * len(ITEMS),
    ]
    assert [whole["operations"]["groups"][1][item] for item in HALF] == part["operations"]["groups"][1]
    (missing,) = [flag for flag in whole["flags"] if flag["key"] == "missing"]
    assert missing["items"] == [[item for item in ITEMS if item not in HALF], []]
    assert "2 systems, 4 items, 2 references each" in paper.methods(report.overview)
    assert report.overview.left_out == ("4 of 8 items, for which a system has no output.",)
    assert alone.overview.left_out == ()


def test_only_ratings_of_outputs_that_are_there_count(tmp_path: Path) -> None:
    rows = [f"{system},{IDS[item]},{(3 * item) % 5 + 1}" for system in OUTPUTS for item in ITEMS]
    (tmp_path / "ratings.csv").write_text("\n".join(["system,id,simplicity", *rows]), encoding="utf-8")
    report = plainly.report(**_arguments("partial"), **_METRICS, audit=False, ratings=tmp_path / "ratings.csv")
    assert {row.estimate.n for row in report.overview.correlations} == {len(HALF) + len(ITEMS)}


@pytest.mark.parametrize("name", ["compare", "operations compare", "report"])
def test_systems_without_an_item_in_common_cannot_be_compared(name: str) -> None:
    texts = _arguments("partial")
    texts["outputs"]["B"] = [None if item in HALF else OUTPUTS["B"][item] for item in ITEMS]
    with pytest.raises(BadInput, match=r"A and B have no (two items|item) in common"):
        CASES[name].function(**texts, **CASES[name].settings)


@pytest.mark.parametrize("name", ["facts", "operations", "label", "align", "gate", "doctor", "report"])
def test_how_many_items_a_system_has_is_said(name: str) -> None:
    result = CASES[name].function(**_arguments("partial"), **CASES[name].settings)
    notes = [note.message for note in result.notes()] + [str(table.rows) for table in result.tables()]
    assert any("A has no output for 4 items of 8" in note for note in notes)
