"""plainly from Python, as the README shows it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import plainly
from plainly.errors import BadInput, BadSpec
from plainly.stats.estimate import Estimate

SOURCES = ["He was obliged to leave.", "The cat sat on the mat."]
OUTPUTS = ["He had to go.", "The cat sat."]
REFERENCES = [["He had to leave.", "He had to go."], ["The cat sat down."]]


def test_one_system_is_keyed_by_metric() -> None:
    result = plainly.score(
        sources=SOURCES, outputs=OUTPUTS, references=REFERENCES, metrics=["sari", "bleu"], intervals=False
    )
    assert isinstance(result["sari"].value, float)
    assert set(result) == {"sari", "bleu"}
    assert result["sari"].parts["add"] == result["sari"].corpus["add"]
    assert result["sari"].segments["sari"].shape == (2,)
    assert "sari" in repr(result)
    assert "<table>" in result._repr_html_()


def test_intervals_make_the_value_an_estimate() -> None:
    result = plainly.score(sources=SOURCES, outputs=OUTPUTS, references=REFERENCES, metrics=["sari"])
    value = result["sari"].value
    assert isinstance(value, Estimate)
    assert value.low <= float(value) <= value.high
    again = plainly.score(sources=SOURCES, outputs=OUTPUTS, references=REFERENCES, metrics=["sari"])
    assert again["sari"].value == value


def test_several_systems_are_keyed_by_system() -> None:
    result = plainly.score(
        sources=SOURCES, outputs={"A": OUTPUTS, "B": SOURCES}, references=REFERENCES, metrics=["sari"], intervals=False
    )
    assert result["A"]["sari"].value > result["B"]["sari"].value
    frame = result.to_pandas()
    assert set(frame["system"]) == {"A", "B"}
    assert result.to_polars().height == len(frame)
    with pytest.raises(KeyError, match="There are: A, B"):
        result["C"]


def test_subsets_need_no_second_measurement() -> None:
    whole = plainly.score(sources=SOURCES, outputs=OUTPUTS, references=REFERENCES, metrics=["sari"], intervals=False)
    alone = plainly.score(
        sources=SOURCES[1:], outputs=OUTPUTS[1:], references=REFERENCES[1:], metrics=["sari"], intervals=False
    )
    part = whole["sari"].subset(np.array([False, True]))
    assert part.corpus == alone["sari"].corpus
    assert "subset:1" in part.signature.remarks


def test_metrics_are_values() -> None:
    sari = plainly.metric("sari(variant=hf)")
    assert repr(sari) == "sari(variant=hf)"
    assert plainly.metric(sari) is sari
    assert sari == plainly.metric(" sari( variant = hf ) ")
    assert pickle.loads(pickle.dumps(sari)) == sari
    with pytest.warns(FutureWarning, match="registry"):
        assert "sari" in plainly.metric_names()
    result = plainly.score(sources=SOURCES, outputs=OUTPUTS, references=REFERENCES, metrics=[sari], intervals=False)
    assert set(result) == {"sari(variant=hf)"}


def test_a_metric_of_ones_own() -> None:
    class Shorter:
        name, needs, better, outputs = "shorter", frozenset({"source"}), "higher", ("shorter",)

        def measure(self, evalset: plainly.EvalSet, outputs: list[str]) -> np.ndarray:
            shorter = [len(o) < len(s) for s, o in zip(evalset.sources, outputs, strict=True)]
            return np.array([[float(x), 1.0] for x in shorter])

        def score(self, totals: np.ndarray) -> np.ndarray:
            return totals[..., :1] / totals[..., 1:]

        def __repr__(self) -> str:
            return "shorter"

    result = plainly.score(sources=SOURCES, outputs=OUTPUTS, metrics=[Shorter()])  # type: ignore[list-item]
    assert float(result["shorter"]) == 1.0


def test_without_references_the_default_needs_none() -> None:
    result = plainly.score(sources=SOURCES, outputs=OUTPUTS, intervals=False)
    assert set(result) == {"fkgl", "edits", "splits"}


def test_an_evaluation_set_survives_pickling_and_indexing() -> None:
    evalset = plainly.EvalSet.of(SOURCES, references=REFERENCES, groups=["a", "b"], columns={"level": ["1", "2"]})
    copy = pickle.loads(pickle.dumps(evalset))
    assert copy == evalset
    assert copy.fingerprint == evalset.fingerprint != evalset[:1].fingerprint
    assert evalset[[1]].columns["level"] == ("2",)
    assert evalset[np.array([True, False])].groups == ("a",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outputs": "one text"}, "not one text"),
        ({"outputs": {}}, "No outputs"),
        ({"outputs": OUTPUTS[:1]}, "1 outputs for 2 items"),
        ({"outputs": OUTPUTS, "references": [["a", "b"]]}, "Turn them"),
        ({"outputs": OUTPUTS, "references": ["a", "b"]}, "is a string"),
        ({"outputs": OUTPUTS, "references": [["a"], ["", " "]], "metrics": ["sari"]}, "Item '2' .* has no references"),
        ({"outputs": OUTPUTS, "metrics": ["sari"]}, "none were given"),
        ({"outputs": OUTPUTS, "metrics": []}, "No metric"),
        ({"outputs": OUTPUTS, "evalset": plainly.EvalSet.of(SOURCES)}, "not both"),
    ],
)
def test_mistakes_say_what_to_do(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        plainly.score(sources=SOURCES, **arguments)  # type: ignore[call-overload]


def test_a_thing_that_is_no_metric_is_refused() -> None:
    with pytest.raises(BadSpec, match="measure and score"):
        plainly.score(sources=SOURCES, outputs=OUTPUTS, metrics=[object()])  # type: ignore[list-item]
