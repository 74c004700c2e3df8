"""Documents: D-SARI, units, coverage and what else is measured on texts longer than a sentence."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import plainly
from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.core.evalset import ABSENT, EvalSet
from plainly.core.registry import metric
from plainly.core.sampling import Sampling
from plainly.learned import quality, score_cache, sle
from plainly.text import sentences
from plainly.text.tokenise import tokens_13a
from plainly.typology.labelling import label

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "house",
    "sees",
    "big",
    "small",
    "old",
    "new",
    "runs",
    ",",
    "and",
    ".",
    ".",
    "of",
    "to",
]


def _document(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, size=int(rng.integers(1, 60))))


def _plain_d_sari(source: str, output: str, references: Sequence[str], *, exact: bool) -> float:
    """D-SARI with counters and loops, straight from SARI.py's definition and Sun, Jin and Wan's three penalties."""
    split: Callable[[str], list[str]] = (
        (lambda text: [token for chunk in text.split() for token in tokens_13a(chunk)])
        if exact
        else (lambda text: text.split(" "))
    )
    words = {"source": split(source.lower()), "output": split(output.lower())}
    in_references = [split(text.lower()) for text in references]
    lengths = [len(text) for text in in_references]
    counts = [sentences.count(text) for text in references]
    reference, expected = sum(lengths) / len(lengths), sum(counts) / len(counts)
    if not exact:
        reference, expected = int(reference), int(expected)
    sentence_count, length, before = sentences.count(output), len(words["output"]), len(words["source"])
    short = math.exp((length - reference) / length) if length < reference else 1.0
    long = math.exp((reference - length) / max(before - reference, 1)) if length > reference else 1.0
    splits = math.exp(-abs(expected - sentence_count) / max(expected, sentence_count, 1))
    parts = np.mean([_sari_parts(words, in_references, n) for n in range(1, 5)], axis=0)
    return float(100 * np.mean(parts * [short, long * splits, long]))


def _sari_parts(words: dict[str, list[str]], in_references: list[list[str]], n: int) -> list[float]:
    def grams(tokens: list[str]) -> Counter[tuple[str, ...]]:
        return Counter(tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1))

    k = len(in_references)
    source = Counter({gram: count * k for gram, count in grams(words["source"]).items()})
    output = Counter({gram: count * k for gram, count in grams(words["output"]).items()})
    references = sum((grams(tokens) for tokens in in_references), Counter())
    keep, correct, to_keep = source & output, source & output & references, source & references
    precision = sum(correct[gram] / keep[gram] for gram in correct) / len(keep) if keep else 0.0
    recall = sum(correct[gram] / to_keep[gram] for gram in correct) / len(to_keep) if to_keep else 0.0
    keep = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    deleted = source - output
    good = deleted - references
    delete = sum(good[gram] / deleted[gram] for gram in good) / len(deleted) if deleted else 0.0
    added, wanted_new = set(output) - set(source), set(references) - set(source)
    hits = added & set(references)
    precision = len(hits) / len(added) if added else 0.0
    recall = len(hits) / len(wanted_new) if wanted_new else 0.0
    add = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return [add, keep, delete]


@pytest.mark.parametrize(("variant", "exact"), [("d-sari", False), ("d-sari-paper", True)])
def test_d_sari_is_what_a_plain_implementation_gives(variant: str, exact: bool) -> None:
    rng = np.random.default_rng(11)
    items = [[_document(rng) for _ in range(2 + int(rng.integers(1, 4)))] for _ in range(200)]
    evalset = EvalSet.of([row[0] for row in items], references=[row[2:] for row in items])
    d_sari = metric(f"sari(variant={variant})")
    scores = d_sari.score(d_sari.measure(evalset, [row[1] for row in items]))[:, 0]
    plain = [_plain_d_sari(row[0], row[1], row[2:], exact=exact) for row in items]
    np.testing.assert_allclose(scores, plain, atol=1e-9)
    assert np.std(plain) > 3


SENTENCES = ["The old bridge was rebuilt by engineers in 1932.", "Two workers died.", "The town has three museums."]
SIMPLE = ["Engineers built the bridge again in 1932.", "", "The town has three museums. You can see art there."]


def test_sentences_are_joined_into_documents() -> None:
    options = {"references": [["Engineers built it."], ["Two died."], ["Three museums."]], "groups": ["a", "a", "b"]}
    result = plainly.score(
        sources=SENTENCES, outputs=SIMPLE, metrics=["sari"], unit="document", intervals=False, **options
    )
    assert result.alone.evalset.ids == ("a", "b")
    assert result.alone.evalset.sources[0] == "\n".join(SENTENCES[:2])
    assert result.alone.evalset.references[0] == ("Engineers built it.\nTwo died.",)


@pytest.mark.parametrize(
    "spec", ["sari", "sari(variant=d-sari)", "bleu", "fkgl", "doc-sle", "cefr", "coverage", "meaning"]
)
def test_documents_of_one_sentence_score_as_sentences(spec: str) -> None:
    options = {"references": [["Engineers built it."], ["Two died."], ["Three museums."]], "groups": ["a", "b", "c"]}
    outputs = [*SIMPLE[:1], "Two men died.", "It has museums."]
    scores = [
        plainly.score(sources=SENTENCES, outputs=outputs, metrics=[spec], unit=unit, intervals=False, **options)[spec]
        for unit in (None, "document", "sentence")
    ]
    for other in scores[1:]:
        assert other.corpus == pytest.approx(scores[0].corpus, nan_ok=True)
        for name, values in other.segments.items():
            np.testing.assert_allclose(values, scores[0].segments[name])
    if spec == "doc-sle":
        sle = plainly.score(sources=SENTENCES, outputs=outputs, metrics=["sle"], intervals=False)["sle"]
        np.testing.assert_allclose(scores[0].segments["delta"], sle.segments["delta"], atol=1e-6)


def test_documents_are_taken_apart_along_their_sources() -> None:
    source, output = " ".join(SENTENCES), " ".join(filter(None, SIMPLE))
    result = plainly.score(
        sources=[source], outputs=[output], metrics=["compression"], unit="sentence", intervals=False
    )
    evaluation = result.alone
    assert evaluation.evalset.sources == tuple(SENTENCES)
    assert evaluation.evalset.groups == ("1", "1", "1")
    assert evaluation.evalset.ids == ("1-1", "1-2", "1-3")
    assert evaluation.outputs is not None
    assert evaluation.outputs[""][:2] == (SIMPLE[0], "")
    assert any(note.code == "unmatched" for note in evaluation.notes()) == ("art" not in evaluation.outputs[""][2])
    paragraphs = "\n\n".join([" ".join(SENTENCES[:2]), SENTENCES[2]])
    result = plainly.score(sources=[paragraphs], outputs=[output], metrics=["fkgl"], unit="paragraph", intervals=False)
    assert len(result.alone.evalset) == 2


def test_coverage_says_what_became_of_the_sentences() -> None:
    source, output = " ".join(SENTENCES), " ".join(filter(None, SIMPLE))
    corpus = plainly.score(sources=[source], outputs=[output], metrics=["coverage"], intervals=False)["coverage"].corpus
    assert corpus["dropped"] == pytest.approx(1 / 3)
    assert corpus["covered"] == pytest.approx(2 / 3)
    assert corpus["source_sentences"] == 3
    copy = plainly.score(sources=[source], outputs=[source], metrics=["coverage", "coherence"], intervals=False)
    assert copy["coverage"].corpus["kept"] == 1
    assert copy["coherence"].corpus["signs"] == 0


def test_sentences_end_as_in_the_language_of_the_texts() -> None:
    german = "Am 3. Oktober kam Dr. Meier. Sie blieb lange."
    texts = {"sources": [german], "outputs": [german], "metrics": ["coverage"], "intervals": False}
    assert plainly.score(**texts, language="de")["coverage"].corpus["source_sentences"] == 2
    assert plainly.score(**texts)["coverage"].corpus["source_sentences"] != 2


def test_operations_are_labelled_sentence_by_sentence_inside_documents() -> None:
    source = f"{' '.join(SENTENCES[:2])} It is old and it leaks. He has a dog."
    output = "The old bridge was rebuilt by engineers in 1932. It is old. It leaks. Nobody knows what became of kings."
    labels = label(
        sources=[source, source], outputs=[output, source], labeller="rules", unit="sentence", ids=["a", "b"]
    )
    by_id = {pair.id: pair for pair in labels.pairs}
    whole = {sides for pair in labels.pairs if not all(sides := (bool(pair.source), bool(pair.output)))}
    assert whole == {(True, False), (False, True)}
    assert [pair.source for pair in labels.pairs if not pair.output] == ["Two workers died .", "He has a dog ."]
    assert [pair.output for pair in labels.pairs if not pair.source] == ["Nobody knows what became of kings ."]
    split = next(pair for pair in labels.pairs if "leaks" in pair.source and pair.id.startswith("a"))
    assert "split" in split.labels
    assert not any(by_id[f"b-{number}"].groups for number in range(1, 5))
    counts = plainly.operations(labels).documents[""]
    assert {name: counts[name] for name in ("texts", "kept", "split", "dropped", "added")} == {
        "texts": 2, "kept": 5, "split": 1, "dropped": 2, "added": 1
    }  # fmt: skip


def test_coherence_sees_words_that_point_nowhere() -> None:
    source = (
        "Marie Curie was born in Warsaw. She studied physics in Paris. However, money was short. She won two prizes."
    )
    lost = "She studied physics in Paris. She won two prizes."
    whole = "Marie Curie was born in Warsaw. She studied physics in Paris. She won two prizes."
    scores = [
        plainly.score(sources=[source], outputs=[text], metrics=["coherence"], intervals=False)["coherence"].corpus
        for text in (lost, whole)
    ]
    assert scores[0]["dangling"] >= 0.5
    assert scores[0]["signs"] > scores[1]["signs"]
    connective = "However, money was short. She won two prizes."
    corpus = plainly.score(sources=[source], outputs=[connective], metrics=["coherence"], intervals=False)[
        "coherence"
    ].corpus
    assert corpus["stranded"] == 0.5


def test_documents_that_were_read_are_not_cut_or_aligned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path))
    monkeypatch.delenv(score_cache.SWITCH, raising=False)
    texts = {"sources": [" ".join(SENTENCES)], "outputs": [" ".join(filter(None, SIMPLE))]}
    options = {"metrics": ["quality", "meaning", "sle"], "intervals": False, "advice": False}
    score_cache.forget()
    first = plainly.score(**texts, **options)
    score_cache.forget()  # what is in memory: the file is left
    for module, name in ((quality, "pieces"), (sle, "sentence_levels")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("read again"))
    second = plainly.score(**texts, **options)
    assert {spec: float(second[spec]) for spec in second} == {spec: float(first[spec]) for spec in first}
    score_cache.forget()


def test_a_run_that_lacks_items_is_scored_on_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gold.jsonl").write_text(
        "".join(
            json.dumps({"id": str(at), "original": text, "reference": text}) + "\n" for at, text in enumerate(SENTENCES)
        )
    )
    rows = [{"id": str(at), "simplified": text} for at, text in enumerate(SENTENCES) if at != 1]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = ["--table", str(tmp_path / "gold.jsonl"), str(tmp_path / "run.jsonl"), "--no-intervals", "--json"]
    assert main(["score", "-m", "sari,length", *files]) == 2
    capsys.readouterr()
    assert main(["score", "-m", "bleu,length", "--incomplete", "skip", *files]) == 0
    result = json.loads(capsys.readouterr().out)
    scores = result["systems"][0]["scores"]
    assert scores["bleu"]["value"] == pytest.approx(100)  # of the two copies that there are
    assert any(warning["code"] == "missing-outputs" for warning in result["warnings"])


def test_runs_that_lack_items_are_compared_on_what_all_have() -> None:
    words = ["one", "two", "three", "four", "five", "six"]
    whole = [" ".join(words[:n]) for n in (1, 2, 3, 4, 5, 6)]
    longer = [f"{text} and more" for text in whole]
    lacking = [ABSENT, *whole[1:]]  # without the shortest, its mean is larger than that of all
    evalset = EvalSet.of(["x"] * 6)
    outputs = {"whole": whole, "lacking": lacking, "longer": longer}
    result = plainly.compare(
        evalset=evalset, outputs=outputs, metrics=["length"], sampling=Sampling(resamples=200), trials=200
    )
    by_pair = {(pair.baseline, pair.system): pair for pair in result.comparisons}
    assert list(by_pair) == [("whole", "lacking"), ("whole", "longer"), ("lacking", "longer")]
    assert (by_pair["whole", "lacking"].difference, by_pair["whole", "lacking"].n) == (0, 5)
    assert {pair.n for pair in result.comparisons} == {5}
    assert by_pair["whole", "lacking"].ties == 5
    assert any("5 of 6 items" in note.message for note in result.notes())
    against = plainly.compare(
        evalset=evalset, outputs=outputs, metrics=["length"], baseline="lacking", sampling=Sampling(resamples=200)
    )
    assert {(pair.baseline, pair.system, pair.n) for pair in against.comparisons} == {
        ("lacking", "whole", 5),
        ("lacking", "longer", 5),
    }
    alone = {"whole": whole, "other": [whole[0], *[ABSENT] * 5], "lacking": lacking}
    with pytest.raises(BadInput, match="in common"):
        plainly.compare(evalset=evalset, outputs=alone, metrics=["length"])
