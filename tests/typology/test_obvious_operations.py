"""Obvious operations, in pairs written for this purpose before any rule was changed."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from plainly.typology.labeller import labeller
from plainly.typology.vocabulary import all_labels

PAIRS = tomllib.loads(Path(__file__).with_name("operations.toml").read_text(encoding="utf-8"))["pair"]
CONSISTENCY = {"incst", "delcst"}  # not required


def test_there_are_two_of_every_operation() -> None:
    counts = Counter(label for pair in PAIRS for label in pair["labels"])
    assert len(PAIRS) >= 60
    assert all(counts[label] >= 2 for label in set(all_labels()) - CONSISTENCY - {"err"})


@pytest.mark.parametrize("name", ["rules", "light"])
def test_obvious_operations_are_found(name: str) -> None:
    pairs = labeller(name).label([pair["source"] for pair in PAIRS], [pair["output"] for pair in PAIRS])
    hits = expected_count = acceptable = label_count = 0
    for pair, answer in zip(PAIRS, pairs, strict=True):
        labels = set(answer.labels) - CONSISTENCY
        hits += len(labels & set(pair["labels"]))
        expected_count += len(pair["labels"])
        acceptable += len(labels & {*pair["labels"], *pair["may"]})
        label_count += len(labels)
    assert hits / expected_count >= 0.85
    assert acceptable / label_count >= 0.80


@pytest.mark.parametrize("name", ["rules", "light"])
@pytest.mark.parametrize(
    ("source", "output", "label", "before", "after"),
    [
        ("The song was written by Brel.", "Brel wrote the song.", "p2a", ["was", "written"], ["wrote"]),
        ("The board elected Miller.", "Miller was elected by the board.", "a2p", ["elected"], ["was", "elected"]),
        ("He sold the farm. He left.", "He sold the farm and left.", "merge", ["."], []),
        ("Anna met Paul after she had moved.", "Anna met Paul after Anna had moved.", "fromPron", ["she"], ["Anna"]),
        ("The plan was not accepted.", "The plan was rejected.", "neg2pos", ["not", "accepted"], ["rejected"]),
    ],
)
def test_the_words_are_the_right_ones(
    name: str, source: str, output: str, label: str, before: list[str], after: list[str]
) -> None:
    (pair,) = labeller(name).label([source], [output])
    group = next(group for group in pair.groups if group.label == label)
    assert [pair.source_tokens[at] for at in group.source] == before
    assert [pair.output_tokens[at] for at in group.output] == after
