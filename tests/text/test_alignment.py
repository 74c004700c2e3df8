"""Sentence alignment: it finds links that are known to be true, and every sentence is in one link."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plainly
from plainly import data
from plainly.core.errors import BadInput
from plainly.io.alignments import read_alignments, write_alignments
from plainly.text import sentences as boundaries
from plainly.text.sentence_alignment import PlacedSentence, align, align_many, sentences_of

SOURCE = """A day by the sea

The bridge, which engineers finished in 1932 after eight years of work, crosses the harbour of the city. Two workers
lost their lives. Its arch is made of steel. Every year thousands of visitors climb to the top."""
OUTPUT = """The bridge goes over the harbour. Engineers finished the bridge in 1932. Thousands of people climb to the
top every year. Its arch is made of steel. Tickets can be bought online."""


def test_what_happened_to_each_sentence() -> None:
    alignment = align(SOURCE, OUTPUT)
    outcomes = {
        (alignment.text("source", link)[:18], alignment.text("output", link)[:15]): (link.happened, link.moved)
        for link in alignment.links
    }
    assert outcomes[("The bridge, which ", "The bridge goes")] == ("split", False)
    assert outcomes[("Two workers\nlost t", "")] == ("dropped", False)
    assert outcomes[("Its arch is made o", "Its arch is mad")][0] == "kept"
    assert outcomes[("", "Tickets can be ")] == ("added", False)
    assert sum(link.moved for link in alignment.links) == 1
    assert alignment.counts()["dropped"] == 2  # the heading and the two workers


def test_spans_are_those_of_the_text() -> None:
    for text in (SOURCE, OUTPUT, " \n\n a. B?\u2028C ", ""):
        assert [text[one.start : one.end] for one in sentences_of(text)] == [one.text for one in sentences_of(text)]


@given(st.text(alphabet="aB .?!\n\"'", max_size=60))
def test_spans_agree_with_sentences(text: str) -> None:
    assert [text[a:b] for a, b in boundaries.spans(text)] == boundaries.split(text)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["a b", "c d e", "f", "g h", ""]), max_size=8), st.randoms())
def test_every_sentence_is_in_one_link(pieces: list[str], random: object) -> None:
    source = [PlacedSentence(piece, 0, 0) for piece in pieces]
    output = source[::-1]
    alignment = align(source, output, encoder=False)
    assert sorted(i for link in alignment.links for i in link.source) == list(range(len(source)))
    assert sorted(j for link in alignment.links for j in link.output) == list(range(len(output)))


def test_a_copy_is_kept_and_an_empty_text_has_no_links() -> None:
    copy = align(SOURCE, SOURCE)
    assert {link.happened for link in copy.links} == {"kept"}
    assert all(link.source == link.output for link in copy.links)
    assert {link.happened for link in align(SOURCE, "").links} == {"dropped"}
    assert {link.happened for link in align("", SOURCE).links} == {"added"}


@pytest.mark.long
@pytest.mark.mirror
def test_documents_made_from_sentences_are_aligned() -> None:
    """Sentences of ASSET's test part are dropped, merged, moved and added, so that the truth is known."""
    rng = np.random.default_rng(7)
    documents = [_document(rng) for _ in range(60)]
    assert _f1(documents, encoder=False) > 0.95
    assert _f1(documents[:12], encoder=True) > 0.95


def _f1(documents: list[tuple[list[str], list[str], set[tuple[int, int]]]], *, encoder: bool) -> float:
    sources, outputs, truths = zip(*documents, strict=True)
    sides = [[[PlacedSentence(text, 0, len(text)) for text in side] for side in texts] for texts in (sources, outputs)]
    edges = [alignment.edges for alignment in align_many(*sides, encoder=encoder)]
    hits = sum(len(one & other) for one, other in zip(edges, truths, strict=True))
    return 2 * hits / (sum(map(len, edges)) + sum(map(len, truths)))


def _document(rng: np.random.Generator) -> tuple[list[str], list[str], set[tuple[int, int]]]:
    asset = data.load("asset/test")
    items = rng.choice(len(asset), size=int(rng.integers(6, 16)), replace=False)
    source = [asset.sources[item] for item in items]
    simple = [boundaries.split(asset.references[item][rng.integers(10)]) for item in items]
    units: list[tuple[list[int], list[str]]] = []
    at = 0
    while at < len(items):
        fate = rng.random()
        if fate < 0.15:  # dropped
            at += 1
        elif fate < 0.25 and at + 1 < len(items):  # merged with the next
            parts = [sentence.rstrip(" .") for piece in simple[at : at + 2] for sentence in piece]
            units.append(([at, at + 1], [", and ".join(parts) + "."]))
            at += 2
        else:
            units.append(([at], simple[at]))
            at += 1
    for _ in range(rng.integers(3)):  # moved
        if len(units) > 2:
            units.insert(int(rng.integers(len(units))), units.pop(int(rng.integers(len(units)))))
    others = [item for item in range(len(asset)) if item not in items]
    for item in rng.choice(others, size=int(rng.integers(3))):  # added
        units.insert(int(rng.integers(len(units) + 1)), ([], boundaries.split(asset.references[item][0])[:1]))
    output: list[str] = []
    truth: set[tuple[int, int]] = set()
    for sources, sentences in units:
        for sentence in sentences:
            truth |= {(i, len(output)) for i in sources}
            output.append(sentence)
    return source, output, truth


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
def test_alignments_come_back_from_files(tmp_path: Path, ending: str) -> None:
    alignment = align(SOURCE, OUTPUT, encoder=False)
    write_alignments(tmp_path / f"links{ending}", {"bridge": alignment})
    back = read_alignments(tmp_path / f"links{ending}")["bridge"]
    if ending == ".jsonl":
        assert back == alignment
    else:  # a row for each source sentence: additions have none, and outputs are in the order of the source
        assert [sentence.text for sentence in back.source] == [sentence.text for sentence in alignment.source]
        pairs = {(alignment.source[i].text, alignment.output[j].text) for i, j in alignment.edges}
        assert {(back.source[i].text, back.output[j].text) for i, j in back.edges} == pairs


def test_files_without_alignments_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"id": "1", "source": [], "output": [], "links": [{"source": [0], "output": [0]}]}'
    )
    with pytest.raises(BadInput, match="sentence 0"):
        read_alignments(tmp_path / "a.jsonl")
    (tmp_path / "b.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadInput, match="column"):
        read_alignments(tmp_path / "b.csv")
    with pytest.raises(BadInput, match="jsonl"):
        read_alignments(tmp_path / "c.txt")


@pytest.mark.mirror
def test_agreement_with_cochrane_auto_equals_the_documentation() -> None:
    aligner, baseline = plainly.align(against="cochrane-auto/test-sentences", encoder=False).agreement
    assert aligner["f1"] == pytest.approx(0.920, abs=0.003)
    assert baseline["f1"] == pytest.approx(0.850, abs=0.003)
