"""Systems that lack items: their scores are those of the same texts given alone, and comparisons use shared items."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import plainly
from plainly import data
from plainly.core.errors import BadInput
from plainly.scoring.score_file import open_saved, save

METRICS = ["sari", "bleu", "fkgl", "edits"]
FEW = plainly.Sampling(resamples=50)


def _texts(lacking: dict[str, slice]) -> tuple[plainly.EvalSet, dict[str, list[str | None]]]:
    evalset, outputs = data.demo()
    texts: dict[str, list[str | None]] = {name: list(outputs[name]) for name in ("editor", "lexical", "copy")}
    for system, items in lacking.items():
        texts[system][items] = [None] * len(texts[system][items])
    return evalset, texts


def _score(evalset: plainly.EvalSet, outputs: Any) -> plainly.scoring.scores.Evaluation:
    return plainly.score(
        evalset=evalset, outputs=outputs, metrics=METRICS, incomplete="skip", sampling=FEW, advice=False
    )


def test_scores_are_those_of_the_same_texts_alone() -> None:
    evalset, texts = _texts({"editor": slice(20, 60)})
    mask = np.array([text is not None for text in texts["editor"]])
    together = _score(evalset, texts)
    alone = _score(evalset[mask], {"editor": [text for text in texts["editor"] if text is not None]})
    for spec in METRICS:
        one, other = together["editor"][spec], alone["editor"][spec]
        assert one.json() == other.json()
        assert one.n == mask.sum()
        headline = one.metric.outputs[0]
        np.testing.assert_array_equal(one.segments[headline][mask], other.segments[headline])
        assert np.isnan(one.segments[headline][~mask]).all()


def test_comparisons_and_rankings_use_the_items_that_all_systems_have() -> None:
    evalset, texts = _texts({"editor": slice(0, 30), "lexical": slice(50, 60)})
    mask = np.array([all(texts[name][item] is not None for name in texts) for item in range(len(evalset))])
    shared = {name: [text for text, keep in zip(lines, mask, strict=True) if keep] for name, lines in texts.items()}
    partial = plainly.compare(_score(evalset, texts))
    whole = plainly.compare(_score(evalset[mask], shared))
    assert [(pair.difference, pair.p_value, pair.n) for pair in partial.comparisons] == [
        (pair.difference, pair.p_value, pair.n) for pair in whole.comparisons
    ]
    for spec in METRICS:
        assert partial.ranking(spec) == whole.ranking(spec) == _score(evalset, texts).ranking(spec)
        assert partial.clusters(spec) == whole.clusters(spec)


def test_the_table_says_how_many_items_each_system_has() -> None:
    evalset, texts = _texts({"editor": slice(0, 30)})
    table = _score(evalset, texts).table()
    counts = {row[0]: row[table.header.index("items")] for row in table.rows}
    assert counts == {"editor": str(len(evalset) - 30), "lexical": str(len(evalset)), "copy": str(len(evalset))}
    assert "blank" not in table.header


def test_saved_scores_keep_what_is_absent(tmp_path: Any) -> None:
    evalset, texts = _texts({"editor": slice(0, 30)})
    evaluation = _score(evalset, texts)
    path = str(tmp_path / "scores.npz")
    save(path, evaluation)
    again = open_saved(path)
    assert again["editor"]["sari"].n == len(evalset) - 30
    assert again.ranking("sari") == evaluation.ranking("sari")


def test_a_system_without_any_item_is_refused() -> None:
    evalset, texts = _texts({"editor": slice(None)})
    with pytest.raises(BadInput, match="editor"):
        _score(evalset, texts)


def test_systems_without_shared_items_are_not_compared() -> None:
    evalset, texts = _texts({"editor": slice(0, 40), "lexical": slice(40, None)})
    with pytest.raises(BadInput, match="in common"):
        plainly.compare(_score(evalset, texts))


def test_one_group_allows_no_interval_and_no_test() -> None:
    evalset, outputs = data.demo()
    pair = {name: outputs[name] for name in ("editor", "copy")}
    result = plainly.compare(
        sources=evalset.sources,
        references=evalset.references,
        outputs=pair,
        groups=["one"] * len(evalset),
        metrics=["sari"],
    )
    (first, *_) = result.comparisons
    assert np.isnan([first.p_value, first.p_two_sided, first.p_holm, first.low, first.high]).all()
    assert not first.significant
    assert np.isnan(result.evaluation["editor"]["sari"].value.low)  # type: ignore[union-attr]
    assert "few-groups" in {note.code for note in result.notes()}
