"""Every public function on what people hold in memory: an answer with its JSON, or an error of ours that says why.

``scripts/test --fuzz`` tests ten times as many cases with a new seed.
"""

from __future__ import annotations

import inspect
import json
import os
import random
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import plainly
from plainly.core.errors import PlainlyError

from . import nasty

pytestmark = pytest.mark.long
# Types.
_OTHER = ("EvalSet", "Sampling", "__version__")
FUNCTIONS = [*(name for name in plainly.__all__ if name not in _OTHER), "EvalSet.of", "Sampling"]
CASES = int(os.environ.get("PLAINLY_FUZZ_FUNCTIONS", "500")) // len(FUNCTIONS)
THINGS: tuple[object, ...] = (
    "", "A b.", None, float("nan"), 3, b"x", ["a"], "\ud800", "\0", "x" * 10_000, {}, -1, 0, 1e300, True, (), [],
    "sari", "nothing", "asset/test", [[]], [None], {"a": None}, {"A": ["x"], "B": ["y"]}, np.zeros(3),
    np.array(["a", "b"]),
    pd.NA, [pd.NA, "a"], pd.Series(["a", None]), np.array([0.9, 0.95]),
    pd.DataFrame({"id": [1.0, 2.0], "source": ["a", "b"], "output": ["c", pd.NA]}),
    pd.DataFrame({"system": ["A", "B"], "id": [1, 1], "source": ["a", "b"], "output": ["c", "d"]}),
    [{"output": "a"}], [{"source": "a", "output": "b"}] * 3, Path("missing.csv"), object(), {1: 2}, [1, 2],
)  # fmt: skip

CHEAP = {
    "trials": 2,
    "attacks": ["lowercase"],
    "sampling": plainly.Sampling(resamples=20),
    "metrics": ["fkgl", "length"],
    "intervals": False,
    "labeller": "rules",
}
OPTIONS = (
    "ids",
    "groups",
    "columns",
    "language",
    "incomplete",
    "unit",
    "by",
    "baseline",
    "like",
    "target",
    "over",
    "tests",
)


def _texts(rng: random.Random) -> dict[str, object]:
    """Texts as they should be, with something wrong in them more often than not."""
    n = rng.choice((0, 1, 3, 8))
    arguments: dict[str, object] = {
        "sources": nasty.texts(rng, n),
        "outputs": rng.choice((nasty.texts(rng, n), {"A": nasty.texts(rng, n), "B": nasty.texts(rng, n)})),
        "references": [nasty.texts(rng, 2) for _ in range(n)],
    }
    if rng.random() < 0.6:
        arguments[rng.choice(list(arguments))] = rng.choice(THINGS)
    return {name: value for name, value in arguments.items() if rng.random() < 0.9}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_answer_or_an_error_of_ours(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLAINLY_MIRROR", str(tmp_path))
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "cache"))
    nasty.without_network(monkeypatch)
    function = attrgetter(name)(plainly)
    parameters = inspect.signature(function).parameters
    takes_texts = "sources" in parameters
    failures = []
    for case in range(CASES):
        rng = nasty.generator(name, case)
        arguments: dict[str, Any] = _texts(rng) if takes_texts else {}
        arguments = {option: value for option, value in arguments.items() if option in parameters}
        for parameter in parameters.values():
            if parameter.default is inspect.Parameter.empty:
                arguments[parameter.name] = rng.choice(THINGS)
        arguments |= {option: value for option, value in CHEAP.items() if option in parameters}
        for option, parameter in parameters.items():
            is_tried = option in OPTIONS if takes_texts else option not in arguments
            if is_tried and parameter.kind != inspect.Parameter.VAR_KEYWORD and rng.random() < 0.1:
                arguments[option] = rng.choice(THINGS)
        try:
            with nasty.no_longer_than(120):
                answer = function(**arguments)
                if hasattr(answer, "json"):
                    json.dumps(answer.json(), default=str, allow_nan=name != "operations")
                if hasattr(answer, "tables"):
                    answer.tables()
                    answer.notes()
                    answer.records()
        except (PlainlyError, TypeError) as error:
            if isinstance(error, TypeError) and takes_texts:  # texts of a wrong kind are told in a sentence
                failures.append((arguments, f"TypeError: {error}"))
        except Exception as error:
            failures.append((arguments, f"{type(error).__name__}: {error}"))
    assert not failures, nasty.summary([(reason, call) for call, reason in failures], CASES)
