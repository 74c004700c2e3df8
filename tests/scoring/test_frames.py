"""Frames of scores and of items, slices and filters of what is scored, and the columns of a LaTeX table."""

from __future__ import annotations

import math

import numpy as np
import pytest

import plainly
from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.core.evalset import ABSENT, EvalSet
from plainly.io.texts import Texts
from plainly.scoring.scores import Evaluation

SOURCES = ["He was obliged to leave.", "The cat sat.", "They deliberated at length."]
REFERENCES = [["He had to go."], ["A cat sat."], ["They talked for long."]]
EVALSET = EvalSet.of(
    SOURCES, references=REFERENCES, groups=["a", "b", "b"], ids=["x", "y", "z"], columns={"level": ["1", "2", "2"]}
)
OUTPUTS = {"A": ["He had to leave.", "The cat sat.", "They talked."], "B": ["He left.", ABSENT, "They spoke long."]}
TEXTS = Texts(EVALSET, OUTPUTS)


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return plainly.score(TEXTS, metrics=["sari", "edits"], intervals=False, incomplete="skip")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_of_items_is_tidy(evaluation: Evaluation, library: str) -> None:
    pytest.importorskip(library)
    frame = getattr(evaluation, f"to_{library}")(level="items")
    assert list(frame.columns) == ["system", "id", "group", "sari", "edits"]
    rows = list(zip(frame["system"], frame["id"], frame["group"], strict=True))
    assert rows == [("A", "x", "a"), ("A", "y", "b"), ("A", "z", "b"), ("B", "x", "a"), ("B", "z", "b")]
    segments = [*evaluation["A"]["sari"].segments["sari"], *evaluation["B"]["sari"].segments["sari"][[0, 2]]]
    assert list(frame["sari"]) == segments
    with_parts = getattr(evaluation, f"to_{library}")(level="items", parts=True)
    assert {"sari.add", "sari.keep", "sari.delete", "edits.copies"} <= set(with_parts.columns)
    assert list(with_parts["sari"]) == segments
    alone = getattr(evaluation["B"], f"to_{library}")(level="items")
    assert list(alone["id"]) == ["x", "z"]
    assert len(getattr(evaluation, f"to_{library}")()) == len(evaluation.records())


def test_the_mean_of_a_column_is_the_score_of_a_mean_metric(evaluation: Evaluation) -> None:
    pandas = pytest.importorskip("pandas")
    frame: pandas.DataFrame = evaluation.to_pandas(level="items")
    means = frame.groupby("system")["edits"].mean()
    for system, mean in means.items():
        assert float(evaluation[system]["edits"]) == pytest.approx(mean)


def test_an_unknown_level_is_refused(evaluation: Evaluation) -> None:
    with pytest.raises(BadInput, match="level= must be 'scores' or 'items'"):
        evaluation.to_pandas(level="item")  # type: ignore[arg-type]


def test_evaluation_sets_are_sliced_and_filtered() -> None:
    assert EVALSET[:2].ids == ("x", "y")
    assert EVALSET[[2, 0]].sources == (SOURCES[2], SOURCES[0])
    assert EVALSET[np.array([True, False, True])].groups == ("a", "b")
    some = EVALSET.filter(lambda item: item.group == "b" and item.columns["level"] == "2" and "cat" in item.source)
    assert (some.ids, some.references) == (("y",), (("A cat sat.",),))
    assert len(EVALSET.filter(lambda item: False)) == 0
    assert EVALSET.filter(lambda item: True) == EVALSET


def test_texts_are_sliced_and_filtered_with_the_outputs_of_every_system() -> None:
    assert len(TEXTS) == 3
    assert TEXTS[1:].outputs == {"A": ("The cat sat.", "They talked."), "B": (ABSENT, "They spoke long.")}
    both = TEXTS.filter(lambda item: len(item.outputs) == 2)
    assert both.evalset.ids == ("x", "z")
    assert both.is_complete
    assert TEXTS.shared().outputs == both.outputs
    with pytest.raises(BadInput, match="'B' has no output"):
        TEXTS[1:2]
    with pytest.raises(BadInput, match="slice, a mask or a list"):
        TEXTS[0]  # type: ignore[index]


@pytest.mark.parametrize("index", [99, [0, 99], "x", 1.5, np.array([True, False])])
def test_what_is_not_a_selection_of_items_is_refused(index: object) -> None:
    for texts in (EVALSET, TEXTS):
        with pytest.raises(BadInput, match="slice, a mask or a list"):
            texts[index]  # type: ignore[index]


def test_the_scores_of_a_slice_are_those_of_its_items(evaluation: Evaluation) -> None:
    part = plainly.score(TEXTS[[0, 2]], metrics=["sari"], intervals=False)
    for system in ("A", "B"):
        np.testing.assert_array_equal(
            part[system]["sari"].segments["sari"], evaluation[system]["sari"].segments["sari"][[0, 2]]
        )
    assert math.isnan(evaluation["B"]["sari"].segments["sari"][1])


def test_latex_shows_headlines_unless_parts_are_requested(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["score", "--demo", "-m", "sari,edits", "--no-intervals", "--latex"]
    assert main(command) == 0
    header = capsys.readouterr().out.splitlines()[2]
    assert header.strip() == r"system & sari & edits: kept \\"
    assert main([*command, "--parts"]) == 0
    header = capsys.readouterr().out.splitlines()[2]
    assert "add & keep & delete" in header
