"""Public functions write out their arguments, share names, order and defaults, and offer what the commands offer."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import itertools
import pydoc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import plainly
import plainly_lab
import plainly_studio
from plainly import data
from plainly.checks.document_checks import check_documents
from plainly.cli import commands
from plainly.cli.options import command_parser
from plainly.core.errors import BadInput, PlainlyError
from plainly.scoring.explain import describe, explain
from plainly.typology.labelling import label, label_corpus
from plainly.typology.operations import compare_with_people

Function = Callable[..., Any]


def _functions(package: Any) -> dict[str, Function]:
    return {name: value for name in package.__all__ if inspect.isfunction(value := getattr(package, name))}


PUBLIC = _functions(plainly) | _functions(plainly_lab)
EVERYWHERE = PUBLIC | {f"studio.{name}": function for name, function in _functions(plainly_studio).items()}

# The keywords of texts, in their order; metrics stand in their midst where a function takes them.
TEXTS = (
    "data",
    "sources",
    "outputs",
    "references",
    "evalset",
    "ids",
    "groups",
    "columns",
    "language",
    "incomplete",
    "unit",
)
# Arguments that have one name in several functions and another meaning or default, and why.
DIFFERENT = {
    ("audit", "intervals"): "whether tables show where 95 % of the trials lie; there are no others",
    ("audit", "metrics"): "also takes objects that only have measure and score",
    ("audit", "processes"): "more than one needs a script that guards its start",
    ("check", "references"): "those of one text",
    ("field", "metrics"): "specs only; None is what each set allows",
    ("field", "processes"): "always on all cores: hours of work",
    ("grid", "engine"): "a name, since a grid is run from a file",
    ("load", "name"): "of a data set",
    ("meta", "by"): "several kinds of slices of the ratings",
    ("meta", "references"): "names of reference sets of a public set",
    ("meta", "unit"): "what is correlated",
    ("operations", "processes"): "more than one needs a script that guards its start",
    ("plan", "ratings"): "a public set if none is passed",
    ("plan", "target"): "the agreement with the whole pilot to reach",
    ("report", "labeller"): "None leaves operations out; rules need no trained weights",
    ("report", "ratings"): "optional: human ratings of the same outputs",
    ("reproduce", "name"): "of a paper",
    ("reproduce", "outputs"): "a directory of licensed outputs",
    ("reproduce", "processes"): "all cores: recipes repeat a lot",
    ("reproduce", "seed"): "that of the paper",
    ("reproduce", "tables"): "numbers of a paper's tables",
    ("reproduce", "trials"): "those of the paper",
    ("systems", "name"): "of a data set",
    ("field", "out"): "a directory, written always",
    ("train", "encoder"): "the model that training starts from",
    ("train", "levels"): "what named levels stand for",
    ("train", "name"): "of a model",
}


def parameters(function: Function) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


def implicit(functions: Mapping[str, Function]) -> list[str]:
    """Arguments that a signature hides, does not annotate, or lets callers pass by position."""
    problems = []
    for name, function in functions.items():
        for place, parameter in enumerate(parameters(function).values()):
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                problems.append(f"{name}(*{parameter.name})")
            if parameter.annotation is parameter.empty:
                problems.append(f"{name}({parameter.name}) has no type")
            if place > 1 and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                problems.append(f"{name}({parameter.name}) is positional")
    return problems


def inconsistent(functions: Mapping[str, Function], different: Mapping[tuple[str, str], str]) -> list[str]:
    """Shared arguments with other defaults, or in another order."""
    problems = []
    for (one, first), (two, second) in itertools.combinations(functions.items(), 2):
        ours, theirs = parameters(first), parameters(second)
        shared = [name for name in ours if name in theirs and not {(one, name), (two, name)} & different.keys()]
        problems += [f"{one} and {two}: {name}" for name in shared if ours[name].default != theirs[name].default]
        if shared != [name for name in theirs if name in shared]:
            problems.append(f"{one} and {two} order {', '.join(shared)} differently")
    return problems


def test_signatures_are_written_out() -> None:
    assert implicit(EVERYWHERE) == []

    def hidden(data: Any = None, *texts: str, metrics=None, **options: Any) -> None: ...  # type: ignore[no-untyped-def]

    assert implicit({"hidden": hidden}) == ["hidden(*texts)", "hidden(metrics) has no type", "hidden(*options)"]


def test_shared_arguments_have_one_order_and_one_default() -> None:
    assert inconsistent(PUBLIC, DIFFERENT) == []
    assert {name for name, _ in DIFFERENT} <= PUBLIC.keys()
    assert all(argument in parameters(PUBLIC[name]) for name, argument in DIFFERENT)

    def turned(sources: Any = None, data: Any = None) -> None: ...
    def other(data: Any = 3) -> None: ...

    assert inconsistent({"score": plainly.score, "turned": turned}, {})
    assert inconsistent({"turned": turned, "other": other}, {}) == ["turned and other: data"]


def test_functions_that_take_texts_take_all_of_their_keywords() -> None:
    taking = {
        name: function for name, function in PUBLIC.items() if {"sources", "outputs"} <= parameters(function).keys()
    }
    assert taking.keys() == {
        "align", "audit", "compare", "doctor", "facts", "gate", "operations", "report", "score",
    }  # fmt: skip
    for name, function in taking.items():
        assert tuple(argument for argument in parameters(function) if argument in TEXTS) == TEXTS, name


@pytest.mark.parametrize("name", PUBLIC)
def test_help_shows_every_argument(name: str) -> None:
    help_text = pydoc.plain(pydoc.render_doc(PUBLIC[name]))
    assert all(f"{argument}:" in help_text for argument in parameters(PUBLIC[name]))
    assert (PUBLIC[name].__doc__ or "").strip()


# What an option is called in Python, where that is not the option's own name.
RENAMED = {
    "control": "control",
    "count": "count",
    "cooccurrence": "data",
    "dimension": "dimensions",
    "demo": "data",
    "filter": "subset",
    "filter_by": "subset",
    "filter_unit": "subset",
    "float": "eight_bits",
    "ignore_list": "ignore",
    "level": "sampling",
    "method": "sampling",
    "no_advice": "advice",
    "no_audit": "audit",
    "no_intervals": "intervals",
    "no_papers": "papers",
    "no_tests": "compare",
    "pair": "sources",
    "resamples": "sampling",
    "restart": "state",
    "saved": "data",
    "source": "sources",
    "systems": "outputs",
    "table": "data",
    "test": "tests",
    "test_set": "evalset",
    "threshold": "subset",
    "what": "name",
    "without_sources": "subset",
    "words": "encoder",
}
# Options of one command that are called otherwise than the same option elsewhere.
RENAMED_HERE = {
    ("compare", "seed"): "sampling",
    ("score", "seed"): "sampling",
    ("score", "references_with"): "select",
    ("score", "references_without"): "select",
    ("score", "items_with"): "select",
    ("score", "items_without"): "select",
    ("score", "items_share"): "select",
    ("score", "operations"): "select",
    ("report", "seed"): "sampling",
    ("check", "files"): "paths",
    ("check", "pack"): "packs",
    ("check", "quick"): "learned",
    ("gate", "seed"): "sampling",
    ("gate", "report"): "gate",
    ("operations profile", "set"): "data",
    ("operations label", "address"): "engine",
    ("operations label", "set_aside"): "folder",
    ("operations label", "state"): "folder",
    ("meta", "seed"): "sampling",
    ("plan", "seed"): "sampling",
    ("operations compare", "seed"): "sampling",
    ("facts", "rules"): "model",
    ("reproduce", "table"): "tables",
    ("meta", "columns"): "ratings",
    ("meta", "scale"): "ratings",
    ("meta", "language"): "ratings",
    ("meta", "z_scores"): "ratings",
    ("meta", "systems"): "ratings",
    ("plan", "columns"): "ratings",
    ("plan", "scale"): "ratings",
    ("plan", "language"): "ratings",
    ("plan", "z_scores"): "ratings",
    ("plan", "systems"): "ratings",
    ("results", "seed"): "sampling",
    ("results", "columns"): "ratings",
    ("results", "scale"): "ratings",
    ("results", "language"): "ratings",
    ("results", "z_scores"): "ratings",
    ("results", "systems"): "ratings",
    ("agreement", "seed"): "sampling",
    ("agreement", "columns"): "ratings",
    ("agreement", "scale"): "ratings",
    ("agreement", "language"): "ratings",
    ("agreement", "z_scores"): "ratings",
    ("agreement", "systems"): "ratings",
    ("train", "corpus"): "documents",
    ("train", "quantised"): "recipe",
    ("train", "span"): "recipe",
    ("train", "epochs"): "recipe",
    ("train", "seed"): "recipe",
    ("studio create", "systems"): "systems",
    ("studio create", "source"): "source",
    ("studio create", "test_set"): "test_set",
    ("studio create", "demo"): "demo",
    ("operations label", "restart"): "restart",
    ("grid", "restart"): "restart",
    ("field", "restart"): "restart",
}
# Options that do not change a result: they choose how it is printed, where it is written, or another answer.
PRINTING = {"help", "format", "strict", "force", "list", "signature", "plot", "plots", "save", "summary", "explain",
            "out", "parts", "project", "prepare", "junit", "sarif", "github", "output", "stream", "page",
            "write_baseline", "suggestions"}  # fmt: skip
# Options that change a result without being an argument, and the Python equivalent.
ELSEWHERE = {
    ("audit", "like"): "metrics=plainly.scoring.evaluate.use_preset('easse', None)",
    ("doctor", "like"): "the same",
    ("report", "like"): "the same, or data=plainly.score(…, like='easse')",
    ("audit", "target"): "a parameter of the metric: metrics=['cefr(target=A2)']",
    ("doctor", "target"): "the same",
    ("report", "target"): "the same, or data=plainly.score(…, target='A2')",
    ("train", "model"): "plainly_lab.training.heads.fit_heads",
} | {
    (command, option): "plainly.core.calls.call_options"
    for command in ("score", "compare", "report", "gate", "audit", "meta", "grid")
    for option in ("judges", "dry_run", "max_cost", "record", "replay")
}
FUNCTIONS: dict[str, tuple[Function, ...]] = {
    **{name: (PUBLIC[name],) for name in commands() if name in PUBLIC},
    "check": (plainly.check, check_documents),
    "gate": (plainly.gate, plainly.report),
    "meta": (plainly.meta, plainly.agreement),
    "metrics": (explain, describe, plainly.score),
    "operations profile": (plainly.operations,),
    "operations compare": (compare_with_people, plainly.operations),
    "operations label": (label, label_corpus),
    **{f"studio {name}": (function,) for name, function in _functions(plainly_studio).items()},
    "studio import": (plainly_studio.import_set,),
}
# Commands whose actions are each a function with arguments of the same names, looked at by tests of their own.
OTHER_COMMANDS = {"data", "models", "completion"}


def options(name: str) -> Iterator[tuple[str, set[str]]]:
    """A command and its options, or each of its actions with theirs."""
    parser = command_parser(name)
    actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for path, of in (
        [(name, parser)] if not actions else [(f"{name} {key}", p) for key, p in actions[0].choices.items()]
    ):
        yield path, {action.dest for action in of._actions}


def missing(path: str, destinations: set[str], functions: tuple[Function, ...]) -> list[str]:
    """Options that change a result and have no argument."""
    arguments = {argument for function in functions for argument in parameters(function)}
    return [
        f"plainly {path}: {option}"
        for option in sorted(destinations - PRINTING)
        if (path, option) not in ELSEWHERE
        and RENAMED_HERE.get((path, option), option if option in arguments else RENAMED.get(option, option))
        not in arguments
    ]


@pytest.mark.parametrize("command", [name for name in commands() if name not in OTHER_COMMANDS])
def test_every_option_that_changes_a_result_is_an_argument(command: str) -> None:
    actions_with_options = [(path, destinations) for path, destinations in options(command) if path in FUNCTIONS]
    assert actions_with_options
    assert [
        problem
        for path, destinations in actions_with_options
        for problem in missing(path, destinations, FUNCTIONS[path])
    ] == []


def test_an_option_without_an_argument_is_seen() -> None:
    assert missing("score", {"sources", "no_such"}, (plainly.score,)) == ["plainly score: no_such"]


WRONG: tuple[Any, ...] = (3, -1, 2.5, "x", b"x", None, True, [], [3], {"a": 1}, object())
RATED = [
    {"system": system, "item": str(item), "rater": rater, "simplicity": 1 + (item + place + number) % 5}
    for place, system in enumerate("ABC")
    for item in range(6)
    for number, rater in enumerate(("r", "s"))
]
FEW = plainly.Sampling(resamples=5)


def _demo() -> dict[str, Any]:
    evalset, outputs = data.demo()
    few = evalset[[True] * 3 + [False] * (len(evalset) - 3)]
    return {"evalset": few, "outputs": {system: outputs[system][:3] for system in ("copy", "editor")}}


# What takes minutes, writes a site or needs a network is called with what it refuses.
CALLS: dict[str, Callable[[], dict[str, Any]]] = {
    "agreement": lambda: {"ratings": RATED, "sampling": FEW},
    "align": lambda: {"sources": ["A cat sat. It slept."], "outputs": ["A cat sat."], "encoder": False},
    "audit": lambda: {**_demo(), "metrics": ["fkgl"], "attacks": ["full-stops"], "trials": 1, "levels": [0.5]},
    "check": lambda: {"text": "He had to go.", "source": "He was obliged to go.", "preset": "quick"},
    "cite": lambda: {"results": "no-such-file.json"},
    "compare": lambda: {**_demo(), "metrics": ["fkgl"], "sampling": FEW, "trials": 5},
    "doctor": lambda: {**_demo(), "metrics": ["fkgl"]},
    "facts": lambda: {**_demo(), "model": None},
    "field": lambda: {"sets": ["no-such-set"], "metrics": ["no-such-metric"]},
    "gate": lambda: {**_demo(), "preset": "quick"},
    "grid": lambda: {"config": "no-such-file.toml"},
    "load": lambda: {"name": "demo"},
    "meta": lambda: {"ratings": RATED, "sampling": FEW},
    "metric": lambda: {"spec": "fkgl"},
    "operations": lambda: {**_demo(), "labeller": "rules"},
    "plan": lambda: {"ratings": RATED, "sampling": FEW, "budget": 10},
    "results": lambda: {"ratings": RATED, "sampling": FEW},
    "report": lambda: {**_demo(), "labeller": None, "audit": False, "metrics": ["fkgl"], "sampling": FEW},
    "reproduce": lambda: {"name": "no-such-paper"},
    "score": lambda: {**_demo(), "metrics": ["fkgl"], "sampling": FEW},
    "systems": lambda: {"name": "no-such-set"},
    "train": lambda: {"encoder": "no-such-encoder", "documents": []},
}


def test_every_public_function_is_called_here() -> None:
    assert PUBLIC.keys() == CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_value_gives_a_sentence(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result, an error of ours, or Python's own TypeError: never another error from within."""
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(PlainlyError):  # anything else is not the fault of a wrong value
        PUBLIC[name](**CALLS[name]())
    failures = []
    refused = 0
    for parameter in parameters(PUBLIC[name]):
        for value in WRONG[::3] if name == "report" else WRONG:  # a report takes long and reads its texts as score does
            try:
                PUBLIC[name](**{**CALLS[name](), parameter: value})
            except (PlainlyError, TypeError):
                refused += 1
            except Exception as error:
                failures.append(f"{name}({parameter}={value!r}): {type(error).__name__}: {error}")
    assert failures == []
    assert refused > len(WRONG) / 2


def test_the_sentence_names_the_argument() -> None:
    with pytest.raises(BadInput, match=r"seed= must be a whole number of at least 0, not 'x'\."):
        plainly.Sampling(seed="x")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"sampling= must be a plainly.Sampling\(.*\), not 3\."):
        plainly.score(outputs=["a"], metrics=["fkgl"], sampling=3)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"trials= must be a whole number of at least 1, not 0\."):
        plainly.compare(**_demo(), trials=0)
    with pytest.raises(
        BadInput, match=r"incomplete= must be 'refuse' or 'empty' or 'skip', not 'skp'\. Did you mean 'skip'"
    ):
        plainly.score(outputs=["a"], incomplete="skp")  # type: ignore[arg-type]


def test_a_misspelt_argument_is_pythons_own_error() -> None:
    with pytest.raises(TypeError, match="metrcs"):
        plainly.score(outputs=["a"], metrcs=["fkgl"])  # type: ignore[call-arg]


def test_a_missing_output_is_refused_empty_or_absent() -> None:
    outputs = ["A cat sat.", None, "It slept."]
    with pytest.raises(BadInput, match=r"outputs\[1\] is nothing"):
        plainly.score(outputs=outputs, metrics=["length"], intervals=False)  # type: ignore[arg-type]
    empty, absent = (
        plainly.score(outputs=outputs, metrics=["length"], intervals=False, incomplete=how)  # type: ignore[arg-type]
        for how in ("empty", "skip")
    )
    assert [len(result["length"].segments["words"]) for result in (empty, absent)] == [3, 3]
    assert [note.code for note in absent.notes() if note.kind == "warning"][:1] == ["missing-outputs"]
