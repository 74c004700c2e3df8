"""Whatever a public function is called with, the answer is a result or a sentence, never a trace from within."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import plainly
from plainly import data
from plainly.core import arguments as door
from plainly.core.errors import BadInput, PlainlyError, UnknownName

WRONG: tuple[Any, ...] = (3, -1, 2.5, "x", b"x", None, True, [], [3], {"a": 1}, object())
# What takes minutes, writes a site or needs a network is given what it refuses, so that only its door is tried.
CALLS: dict[str, dict[str, Any]] = {
    "agreement": {"ratings": "RATED", "resamples": 5},
    "align": {"data": "DOCUMENTS", "encoder": False},
    "audit": {"metrics": ["fkgl"], "attacks": ["full-stops"], "trials": 1, "levels": [0.5], "texts": True},
    "check": {"source": "He was obliged to go.", "output": "He had to go."},
    "compare": {"metrics": ["fkgl"], "resamples": 5, "trials": 5, "texts": True},
    "doctor": {"metrics": ["fkgl"], "texts": True},
    "facts": {"model": None, "texts": True},
    "field": {"sets": ["no-such-set"], "metrics": ["no-such-metric"]},
    "gate": {"preset": "quick", "texts": True},
    "grid": {"config": "no-such-file.toml"},
    "load": {"name": "demo"},
    "meta": {"ratings": "RATED", "resamples": 5},
    "metric": {"spec": "fkgl"},
    "operations": {"texts": True},
    "plan": {"ratings": "RATED", "resamples": 5, "budget": 10},
    "report": {"labeller": None, "audit": False, "metrics": ["fkgl"], "resamples": 5, "texts": True},
    "reproduce": {"name": "no-such-paper"},
    "score": {"metrics": ["fkgl"], "resamples": 5, "texts": True},
    "systems": {"name": "no-such-set"},
    "train": {"encoder": "no-such-encoder", "documents": []},
}
OLD = {"make_report", "metric_names", "plot"}
RATED = [
    {"system": system, "item": str(item), "rater": rater, "simplicity": 1 + (item + place + number) % 5}
    for place, system in enumerate("ABC")
    for item in range(6)
    for number, rater in enumerate(("r", "s"))
]


def _arguments(name: str) -> dict[str, Any]:
    arguments = dict(CALLS[name])
    if arguments.pop("texts", False):
        evalset, outputs = data.demo()
        few = evalset[[True] * 3 + [False] * (len(evalset) - 3)]
        arguments |= {"evalset": few, "outputs": {system: outputs[system][:3] for system in ("copy", "editor")}}
    if arguments.get("ratings") == "RATED":
        arguments["ratings"] = RATED
    if arguments.get("data") == "DOCUMENTS":
        arguments["data"] = None
        arguments |= {"sources": ["A cat sat. It slept."], "outputs": ["A cat sat."]}
    return arguments


def test_every_public_function_is_called_here():
    functions = {name for name in plainly.__all__ if inspect.isfunction(getattr(plainly, name))}
    assert functions - OLD == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_wrong_options_are_refused_in_a_sentence(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function, arguments = getattr(plainly, name), _arguments(name)
    refused = 0
    for parameter in door._kinds(inspect.unwrap(function)):
        for value in WRONG:
            try:
                function(**{**arguments, parameter: value})
            except PlainlyError:
                refused += 1
            except Exception as error:
                pytest.fail(f"{name}({parameter}={value!r}): {type(error).__name__}: {error}")
    assert refused > len(WRONG) / 2


def test_the_sentence_names_the_option():
    with pytest.raises(BadInput, match=r"seed= takes a whole number, not 'x'\."):
        plainly.score(outputs=["a"], metrics=["fkgl"], seed="x")
    with pytest.raises(BadInput, match=r"baseline= takes a text or None, not 3\."):
        plainly.compare(baseline=3)
    with pytest.raises(UnknownName, match=r"Unknown option 'metrcs'\. Did you mean 'metrics'"):
        plainly.score(outputs=["a"], metrcs=["fkgl"])
