"""The learned metrics that plainly ships: their scores, that scores are reproducible, and the size of the models."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plainly
from plainly import data
from plainly.cli import main
from plainly.core.errors import BadInput, BadSpec
from plainly.core.evalset import EvalSet
from plainly.learned import encoder, events
from plainly.learned.quality import Meaning, match
from plainly.learned.sle import Sle, by_document
from plainly.metrics import evidence
from plainly.scoring.evaluate import evaluate
from plainly_lab.training.documents import close_up

HARD = (
    "The legislation, promulgated notwithstanding vociferous opposition, substantially curtailed judicial discretion.",
    "Photosynthesis constitutes the principal mechanism whereby autotrophic organisms assimilate carbon dioxide.",
    "Having deliberated at considerable length, the committee resolved to defer its determination indefinitely.",
)
EASY = (
    "The new law gave judges less power. Many people did not like it.",
    "Plants use light to make food from air and water.",
    "The group talked for a long time. They did not decide.",
)


def test_the_shipped_files_are_small() -> None:
    models = [place for place in encoder.directory(encoder.SHIPPED).parent.iterdir() if place.is_dir()]
    sizes = {place.name: sum(file.stat().st_size for file in place.iterdir()) for place in models}
    assert max(sizes.values()) <= 24_000_000, sizes
    assert sum(sizes.values()) <= 50_000_000, sizes


def test_simple_rewriting_gains_and_reading_levels_follow() -> None:
    scores = evaluate(EvalSet.of(HARD), {"easy": EASY, "copy": HARD}, ["sle"], sampling=None)
    easy, copy = scores["easy"]["sle"], scores["copy"]["sle"]
    assert (easy.segments["delta"] > 0.5).all()
    np.testing.assert_allclose(copy.segments["delta"], 0, atol=1e-6)
    np.testing.assert_allclose(easy.segments["delta"], easy.segments["output"] - easy.segments["source"], atol=1e-9)


def test_a_score_does_not_depend_on_its_batch() -> None:
    model = encoder.load()
    texts = [*HARD, *EASY, "Yes.", " ".join(HARD * 3)]
    together = model.estimates(texts)
    alone = np.concatenate([model.estimates([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-3)
    np.testing.assert_allclose(together[::-1], model.estimates(texts[::-1]), atol=1e-3)


def test_each_distinct_text_is_run_once() -> None:
    loaded = encoder.load()
    rows: list[int] = []

    class Counting:
        def run(self, names: list[str], inputs: dict[str, Any]) -> Any:
            rows.append(len(inputs["tokens"]))
            return loaded.session.run(names, inputs)

    counting = replace(loaded, session=Counting(), threads=1)
    estimates = counting.estimates([EASY[0], EASY[1], EASY[0], EASY[0]])
    assert sum(rows) == 2
    assert estimates[0] == pytest.approx(estimates[2])


def test_an_output_without_words_is_the_worst() -> None:
    outputs = ("", EASY[1], "   ")
    scores = evaluate(EvalSet.of(HARD), {"a": outputs}, ["sle(target=0)"], sampling=None)["a"]["sle(target=0)"]
    worst = {"delta": -4, "output": 0, "error": 4}
    for name, value in worst.items():
        np.testing.assert_array_equal(scores.segments[name][[0, 2]], value)
    assert scores.corpus["scored"] == 3
    blank = evaluate(EvalSet.of(["", HARD[0]]), {"a": (EASY[0], EASY[0])}, ["sle"], sampling=None)["a"]["sle"]
    assert np.isnan(blank.segments["delta"][0]), "no source, no gain"
    assert blank.corpus["scored"] == 1


def test_shipped_models_are_named_in_the_notes() -> None:
    notes = [note.message for note in plainly.score(sources=HARD, outputs=EASY, metrics=["sle"]).notes()]
    assert (
        f"sle (model {encoder.SHIPPED}, made for plainly; after Cripwell et al. 2023, not as published there)." in notes
    )
    own = evidence.describe_for_methods(Sle(model="elsewhere"), "sle")
    assert "made for plainly" not in own


def test_error_is_the_distance_from_the_target() -> None:
    scores = evaluate(EvalSet.of(HARD), {"a": EASY}, ["sle(target=3)"], sampling=None)["a"]["sle(target=3)"]
    np.testing.assert_allclose(scores.segments["error"], np.abs(scores.segments["output"] - 3), atol=1e-9)
    assert np.isnan(evaluate(EvalSet.of(HARD), {"a": EASY}, ["sle"], sampling=None)["a"]["sle"].corpus["error"])
    with pytest.raises(BadSpec, match="target"):
        Sle(target=float("nan"))


def test_a_target_is_used_by_metrics_that_accept_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, lines in (("hard", HARD), ("easy", EASY)):
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    files = ["--source", str(tmp_path / "hard"), str(tmp_path / "easy")]
    assert main(["score", "-m", "sle,fkgl", "--target", "3", "--json", *files]) == 0
    scores = json.loads(capsys.readouterr().out)["systems"][0]["scores"]
    assert set(scores) == {"sle(target=3.0)", "fkgl"}
    estimates = encoder.load().estimates(EASY)[:, 0]
    assert scores["sle(target=3.0)"]["parts"]["error"] == pytest.approx(np.abs(estimates - 3).mean(), abs=1e-3)
    assert main(["score", "-m", "fkgl", "--target", "3", *files]) == 2
    assert "-m cefr" in capsys.readouterr().err


def test_documents_are_averages_of_their_sentences() -> None:
    metric = Sle()
    rows = metric.measure(EvalSet.of(HARD), EASY)
    documents = by_document(metric, rows, ["a", "b", "a"])
    np.testing.assert_allclose(documents["a"][0], metric.score(rows)[[0, 2], 0].mean())
    np.testing.assert_allclose(documents["b"], metric.score(rows)[1])


def test_an_unknown_model_is_named_with_what_is_missing() -> None:
    with pytest.raises(BadInput, match=r"plainly-sle-9.*'plainly-sle-2'"):
        encoder.load("plainly-sle-9")


def test_naming_the_metric_loads_nothing() -> None:
    code = (
        "import sys; from plainly.core import registry; registry.metric('sle'); registry.metric('meaning');"
        "print([name for name in ('onnxruntime', 'tokenizers', 'torch') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_meaning_is_full_for_a_copy_and_falls_with_distance() -> None:
    outputs = {"copy": HARD, "easy": EASY, "other": (EASY[1], EASY[2], EASY[0])}
    scores = evaluate(EvalSet.of(HARD), outputs, ["meaning(variant=tokens)"], sampling=None)
    copy, easy, other = (scores[name]["meaning(variant=tokens)"].corpus["f1"] for name in outputs)
    assert copy == pytest.approx(100, abs=1e-3)
    assert copy > easy > other


def test_meaning_takes_the_best_reference() -> None:
    evalset = EvalSet.of(HARD, references=[(EASY[(i + 1) % 3], EASY[i]) for i in range(3)])
    scores = evaluate(evalset, {"a": EASY}, ["meaning(variant=tokens,against=references)"], sampling=None)["a"]
    np.testing.assert_allclose(scores["meaning(variant=tokens,against=references)"].segments["f1"], 100, atol=1e-3)


def test_matching_by_hand() -> None:
    output, other = np.eye(3, dtype=np.float32)[:2], np.eye(3, dtype=np.float32)[1:2]
    f1, precision, recall = match(output, other)
    assert (precision, recall) == (0.5, 1.0)
    assert f1 == pytest.approx(2 / 3)
    assert match(output, other[:0]) == (0.0, 0.0, 0.0)
    assert np.isnan(match(output[:0], other[:0])[0])


def _parsed(text: str) -> list[list[events.Word]]:
    """A toy parser: ``he:nsubj:1 ran:ROOT:1 | …``, sentences apart by ``|``."""
    kinds = {"ROOT": "VERB", "conj": "VERB", "relcl": "VERB"}
    return [
        [
            events.Word(word, kinds.get(relation, "NOUN"), relation, int(head))
            for word, relation, head in (unit.split(":") for unit in sentence.split())
        ]
        for sentence in text.split("|")
    ]


def test_samsa_by_hand() -> None:
    events.use_parser("toy", lambda texts: [_parsed(text) for text in texts])
    source = "he:nsubj:1 came:ROOT:1 ate:conj:1 soup:obj:2"
    cases = {
        "he:nsubj:1 came:ROOT:1 | ate:ROOT:0 soup:obj:0": 1.0,  # each event has its own sentence
        "he:nsubj:1 came:ROOT:1 ate:conj:1 soup:obj:2": 0.5,  # all is there, in one sentence for two events
        "he:nsubj:1 came:ROOT:1": 0.5 * 0.5,  # one event of two is lost
        "he:nsubj:1 came:ROOT:1 | ate:ROOT:0 | soup:ROOT:0": 0.0,  # more sentences than events
    }
    metric = events.Samsa(parser="toy")
    rows = metric.measure(EvalSet.of([source] * len(cases)), list(cases))
    np.testing.assert_allclose(metric.score(rows)[:, 0], [100 * value for value in cases.values()])
    assert metric.score(rows)[0, 2] == 2


@pytest.mark.long
@pytest.mark.mirror
def test_human_simplicity_on_the_filtered_ratings(mirror: Path) -> None:
    table = data.table("simplicity-da/averages")
    z = {name: np.array(table[f"{name}_zscore"], dtype=float) for name in ("fluency", "meaning", "simplicity")}
    sound = np.flatnonzero((z["fluency"] >= 0.3) & (z["meaning"] >= 0.3))
    assert len(sound) == 167
    sources, outputs = ([table[column][i] for i in sound] for column in ("orig_sent", "simp_sent"))
    metric = Sle()
    delta = metric.score(metric.measure(EvalSet.of(sources), outputs))[:, 0]
    assert np.corrcoef(delta, z["simplicity"][sound])[0, 1] >= 0.50


@pytest.mark.long
@pytest.mark.mirror
def test_meaning_agrees_with_people(mirror: Path) -> None:
    table = data.table("simplicity-da/averages")
    metric = Meaning(variant="tokens")
    f1 = metric.score(metric.measure(EvalSet.of(table["orig_sent"]), table["simp_sent"]))[:, 0]
    ranks = [np.argsort(np.argsort(values)) for values in (f1, np.array(table["meaning_zscore"], dtype=float))]
    assert np.corrcoef(*ranks)[0, 1] > 0.66


@pytest.mark.long
@pytest.mark.mirror
def test_cefr_levels_agree_with_teachers(mirror: Path) -> None:
    table = data.table("cefr-sp/wiki-auto")
    rows = [at for at, part in enumerate(table["part"]) if part == "test"]
    model = encoder.load()
    estimates = model.estimates([close_up(table["sentence"][at]) for at in rows])[:, model.heads.index("cefr")]
    truth = [(table["level_a"][at] + table["level_b"][at]) / 2 for at in rows]
    assert np.corrcoef(estimates, truth)[0, 1] > 0.83
    assert abs(float(np.mean(estimates - truth))) < 0.2  # the scale is theirs too, not only the order


def test_cefr_is_not_shifted_by_the_processor() -> None:
    """The values of a processor with VNNI. One with AVX2 alone gives 2.25 and 2.10 if it clips large sums."""
    outputs = [
        "The town will stop the night bus because fewer people use it.",
        "Green plants use light to make sugar. This is called photosynthesis.",
    ]
    levels = plainly.score(sources=outputs, outputs=outputs, metrics=["cefr"], intervals=False)["cefr"].segments["cefr"]
    assert levels == pytest.approx([2.2035, 2.1129], abs=0.01)
