"""The labeller: what the aligner must find, what the rules must say, and how good labels are against people's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from plainly import data
from plainly.cli import main
from plainly.core.errors import BadInput, UnknownName
from plainly.core.progress import Tell
from plainly.text.lexicon import Words, stem, tokenise
from plainly.text.word_alignment import align
from plainly.typology import formats
from plainly.typology.agreement import against_gold, baseline_none, baseline_words, evaluate_labeller
from plainly.typology.annotation import Pair, build_groups, violations
from plainly.typology.labeller import WEIGHTS, labeller, load_weights
from plainly.typology.labelling import label

LABELLERS = ("rules", "light")


def test_words_are_parted_from_punctuation() -> None:
    assert tokenise('He said: "It\'s (very) old," in the U.S. on May 5, 1979.') == (
        'He said : " It \'s ( very ) old , " in the U.S. on May 5 , 1979 .'
    )
    assert tokenise("He left at 8:10, e.g. for 11,000 £5.50 ... and so on.").endswith("11,000 £5.50 ... and so on .")
    assert tokenise("") == ""


def test_tokenising_again_changes_nothing(mirror: Path) -> None:
    evalset = data.load("asset/test")
    texts = [text for references in evalset.references[:100] for text in references]
    once = [tokenise(text) for text in texts]
    assert [tokenise(text) for text in once] == once
    annotated = [text for references in data.load("assetann/full").references[:100] for text in references]
    same = sum(one.split() == other.split() for one, other in zip(once, annotated, strict=True))
    assert same >= 930, "most texts have the tokens that were annotated"


@pytest.mark.parametrize(
    ("one", "other"),
    [("countries", "country"), ("running", "ran"), ("written", "wrote"), ("advertisement", "advertise")],
)
def test_forms_of_a_root_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def _links(source: str, output: str) -> dict[str, tuple[str, int]]:
    words = Words()
    (batch,) = align([words.encode(source.split())], [words.encode(output.split())], words)
    return {
        word: (output.split()[batch.source.links[0, at]], int(batch.source.passes[0, at]))
        for at, word in enumerate(source.split())
        if batch.source.links[0, at] >= 0
    }


def test_the_aligner_finds_what_stayed_and_what_moved() -> None:
    links = _links("In winter the large lake freezes .", "The lakes freeze in winter .")
    assert links["lake"] == ("lakes", 1)
    assert links["winter"] == ("winter", 2)
    assert links["."] == (".", 1)
    assert "large" not in links


@pytest.mark.parametrize("name", LABELLERS)
def test_a_split_is_seen(name: str) -> None:
    (pair,) = labeller(name).label(
        ["The tower is old, and it leaks when it rains."], ["The tower is old. It leaks when it rains."]
    )
    assert pair.source.endswith("rains .")
    assert "split" in pair.labels
    split = next(group for group in pair.groups if group.label == "split")
    assert [pair.output_tokens[at] for at in split.output] == ["."]
    assert not split.source


@pytest.mark.parametrize("name", LABELLERS)
def test_a_copy_has_no_operations(name: str) -> None:
    texts = ["The tower is old, and it leaks when it rains.", "Cats sleep."]
    assert [pair.groups for pair in labeller(name).label(texts, texts)] == [(), ()]


@pytest.mark.parametrize("name", LABELLERS)
def test_batches_equal_singles_and_odd_texts_are_labelled(name: str) -> None:
    model = labeller(name)
    sources = [
        "",
        "One.",
        "Der Hund läuft schnell.",
        "他 走 了 。",
        "word " * 400,
        "a b c",
        "The old dog ran home quickly.",
    ]
    outputs = ["Something came.", "", "Der Hund rennt.", "他 走 。", "word " * 390, "c b a", "The dog ran home."]
    together = model.label(sources, outputs)
    assert [pair.id for pair in together] == ["1", "2", "3", "4", "5", "6", "7"]
    for at, pair in enumerate(together):
        (alone,) = model.label([sources[at]], [outputs[at]])
        assert [(g.source, g.output, g.label) for g in alone.groups] == [
            (g.source, g.output, g.label) for g in pair.groups
        ]
        pair.validate()
    assert not [violation for violation in violations(together) if violation.what != "err with others"]


def _bare(pair: Pair) -> list[tuple[tuple[int, ...], tuple[int, ...], str]]:
    return [(group.source, group.output, group.label) for group in pair.groups]


def test_groups_of_both_sides_find_their_partners() -> None:
    groups = build_groups(
        (["synonym", "none", "synonym", "delmod"], ["synonym", "none", "synonym", "split"]),
        ([0.9, 1, 0.5, 0.8], [0.7, 1, 0.5, 0.6]),
        ([0, 1, -1, -1], [0, 1, -1, -1]),
    )
    assert [(g.source, g.output, g.label) for g in groups] == [
        ((0,), (0,), "synonym"),
        ((2,), (2,), "synonym"),
        ((3,), (), "delmod"),
        ((), (3,), "split"),
    ]
    assert groups[0].confidence == pytest.approx(0.8)
    (alone,) = build_groups((["synonym"], ["none"]), None, ([-1], [-1]))
    assert alone.label == "deloth", "a replacement that nothing replaces is a deletion"


def test_rules_against_people(mirror: Path) -> None:
    """Figures of docs/operations.md; a change that costs agreement must be seen."""
    gold = formats.load("assetann/gold")
    rules = against_gold(gold, labeller("rules").relabel(gold))
    assert [side.kappa for side in rules] == [pytest.approx(0.500, abs=0.02), pytest.approx(0.550, abs=0.02)]
    words = against_gold(gold, baseline_words(gold))
    assert all(better.kappa > worse.kappa + 0.05 for better, worse in zip(rules, words, strict=True))
    assert [side.kappa for side in against_gold(gold, baseline_none(gold))] == [0.0, 0.0]
    clean = [pair for pair in gold if "err" not in pair.labels]
    assert len(clean) == 45
    (measured,) = evaluate_labeller("assetann/gold", name="rules").sets
    assert {side.tokens for side in measured.clean if side.side == "source"} == {
        sum(len(pair.source_tokens) for pair in clean)
    }


def test_the_trained_labeller_knows_what_it_was_trained_on(mirror: Path) -> None:
    """No measure of quality, since these sources were trained on: weights and code must belong together."""
    gold = formats.load("assetann/gold")
    trained = against_gold(gold, labeller("light").relabel(gold))
    rules = against_gold(gold, labeller("rules").relabel(gold))
    assert all(better.kappa > worse.kappa + 0.03 for better, worse in zip(trained, rules, strict=True))


@pytest.mark.parametrize("name", ["labeller-light", "labeller-spacy"])
def test_weights_are_small_and_say_whose_data_made_them(name: str) -> None:
    path = WEIGHTS / f"{name}.npz"
    assert path.stat().st_size < 1_000_000
    weights = load_weights(name)
    assert weights.card["licence"] == "CC-BY-NC-4.0"
    assert weights.card["data"] == "assetann/annotations"
    assert np.isfinite(weights.table).all()
    card = (WEIGHTS / f"{name}.md").read_text(encoding="utf-8")
    assert "CC-BY-NC-4.0" in card
    assert "plainly operations train" in card


def test_the_licence_is_said_when_it_matters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operations", "label", "--demo", "copy", "--labeller", "rules", "--json"]) == 0
    streams = capsys.readouterr()
    assert "CC-BY-NC" not in streams.err
    assert json.loads(streams.out)["labeller"] == "rules"
    assert main(["operations", "label", "--demo", "copy"]) == 0
    assert "CC-BY-NC-4.0" in capsys.readouterr().err


def test_systems_are_compared_with_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operations", "compare", "--demo", "copy", "--labeller", "rules", "--json"]) == 0
    (system,) = json.loads(capsys.readouterr().out)["systems"]
    assert all(counts["share"] == 0 for counts in system["operations"].values())
    assert system["operations"]["split"]["people"] > 0
    assert system["in_words"]


def test_what_cannot_be_labelled_is_refused() -> None:
    with pytest.raises(UnknownName, match="'lite'"):
        labeller("lite")
    with pytest.raises(BadInput, match="2 sources and 1 outputs"):
        labeller("rules").label(["a", "b"], ["a"])


def test_labels_keep_ids_and_parts() -> None:
    (pair,) = labeller("rules").label(["a b"], ["a"], ids=["x7"], part="ACCESS")
    assert (pair.id, pair.part) == ("x7", "ACCESS")
    assert isinstance(pair, Pair)


def test_processes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """More pairs than one process is given at once, of two systems, labelled in this process and in two others."""
    monkeypatch.setattr("plainly.typology.labelling.CHUNK", 40)
    evalset, outputs = data.demo()
    texts = {"sources": evalset.sources, "outputs": {name: outputs[name] for name in ("copy", "editor")}}
    steps: list[int] = []

    @contextmanager
    def progress(what: str, *, total: int | None, unit: str = "items") -> Iterator[Tell]:
        assert (what, total, unit) == ("labelling", 2 * len(evalset), "pairs")
        yield steps.append

    alone = label(labeller="rules", **texts)
    several = label(labeller="rules", processes=2, progress=progress, **texts)
    assert several.pairs == alone.pairs
    assert sum(steps) == len(alone.pairs)
    assert [pair.part for pair in alone.pairs] == ["copy"] * len(texts["sources"]) + ["editor"] * len(texts["sources"])


@pytest.mark.parametrize("name", ["light", "rules"])
def test_pairs_without_words_have_no_operations(name: str) -> None:
    assert [pair.groups for pair in labeller(name).label([""], [""])] == [()]
