"""Training: the labels by hand, the split by article, and a tiny model from documents to a score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import save_tokenizer
from plainly.errors import BadInput
from plainly.learn import levels, noise
from plainly.learn.corpus import Corpus, Rated, close_up, from_documents
from plainly.learn.examples import Examples
from plainly.learn.quality import quality
from plainly.learn.soften import soften

WORDS = ("the dog ran", "a cat sat on it", "he was in the garden", "she is old and they are not", "it ran to the cat")


def test_softening_by_hand() -> None:
    # Eq. 2 and 3: grades 10, 6, 2 of level 1 become 0, 1, 2 after scaling, less their mean 1, plus the level.
    found = soften(np.array([1.0, 1, 1, 4]), np.array([10.0, 6, 2, 3]), exclude=0)
    np.testing.assert_allclose(found.labels, [0, 1, 2, 4])
    wide = soften(np.array([1.0, 1, 1]), np.array([10.0, 6, 2]), span=4, exclude=0)
    np.testing.assert_allclose(wide.labels, [-1, 1, 3])


def test_softening_leaves_out_extremes_and_the_undefined() -> None:
    grades = np.arange(101.0)
    grades[50] = np.nan
    found = soften(np.zeros(101), grades, exclude=2)
    assert not found.kept[[0, 1, 50, 99, 100]].any()
    assert found.kept.sum() == 96
    assert found.labels[found.kept].mean() == pytest.approx(0)
    with pytest.raises(BadInput):
        soften(np.zeros(2), np.zeros(2), exclude=50)


def _levelled(articles: int = 20) -> levels.Levelled:
    return levels.Levelled(
        sentences=tuple(f"{WORDS[i % 5]} {i}" for i in range(articles * 4)),
        articles=tuple(f"a{i // 4}" for i in range(articles * 4)),
        levels=np.array([0.0, 0, 4, 4] * articles),
    )


def test_no_article_is_in_two_parts() -> None:
    parts = levels.part(_levelled(), valid=0.2, test=0.2, seed=3)
    named = [set(part.articles) for part in (parts.train, parts.valid, parts.test)]
    assert [len(names) for names in named] == [12, 4, 4]
    assert sum(map(len, named)) == len(set.union(*named)) == 20
    with pytest.raises(BadInput, match="3 articles"):
        levels.part(_levelled(3), valid=0.05, test=0.05)


def test_quality_by_hand() -> None:
    found = quality(np.array([0.0, 2, 4, 4]), np.array([0.0, 0, 4, 4]), ["a", "a", "b", "b"])
    assert found.mae == pytest.approx(0.5)
    assert found.doc_mae == pytest.approx(0.5)  # document a is estimated as 1, b as 4
    assert quality(np.array([0.0, 4]), np.array([0.0, 0]), ["a", "a"]).f1 == pytest.approx(1.0)
    assert quality(np.array([4.0, 4, 4]), np.array([0.0, 4, 4]), list("abc")).f1 == pytest.approx(2 / 3 * 0.8)


def test_damage_changes_text_and_repeats_with_the_seed() -> None:
    text = "The old man walked slowly to the distant village market, talking all the way."
    for kind in noise.KINDS:
        damaged = {noise.damage(text, np.random.default_rng(seed), kinds=(kind,)) for seed in range(5)}
        assert any(found != text for found in damaged), kind
    assert noise.damage(text, np.random.default_rng(1)) == noise.damage(text, np.random.default_rng(1))
    assert noise.damage("Too short.", np.random.default_rng(0)) == "Too short."


def test_documents_are_cut_and_held_out_sentences_are_not_trained_on() -> None:
    corpus = from_documents(
        ["x", "x"],
        ["hard", "easy"],
        ["One two three four. A secret sentence here!", "Five six seven."],
        scale={"hard": 0, "easy": 4},
        held_out=["a SECRET sentence, here"],
    )
    assert corpus.levelled.sentences == ("One two three four.", "Five six seven.")
    assert corpus.levelled.levels.tolist() == [0, 4]
    with pytest.raises(BadInput, match="Document 1 has the level 'hard'"):
        from_documents(["x"], ["hard"], ["One two three."])


def test_a_corpus_is_the_same_after_saving(tmp_path: Path) -> None:
    rated = Rated("cefr", ("A b c.",), ("A b c .",), (2.5,), ("train",))
    corpus = from_documents(["x"], [1], ["One two three four."], rated=rated, sources=("s",))
    corpus.save(tmp_path / "corpus.json")
    found = Corpus.load(tmp_path / "corpus.json")
    assert (found.levelled.sentences, found.grades, found.rated) == (corpus.levelled.sentences, corpus.grades, rated)
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(BadInput, match="--prepare"):
        Corpus.load(tmp_path / "bad.json")


def test_tokenised_text_is_closed_up() -> None:
    assert close_up("He said , `` I do n't ( really ) know '' .") == 'He said, "I don\'t (really) know".'


@pytest.fixture(scope="module")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("torch", reason="training needs torch, which is no part of the development install")
    transformers = pytest.importorskip("transformers")
    place = tmp_path_factory.mktemp("encoder")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz.,0123456789"]
    vocabulary += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]
    save_tokenizer(vocabulary, place)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=128,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(place)
    return str(place)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_interrupted_run_ends_as_one_that_was_not(tiny_encoder: str, tmp_path: Path) -> None:
    import torch

    from plainly.learn import fit, model

    texts = tuple(f"{WORDS[i % 5]} {i}" for i in range(48))
    examples = Examples(texts, np.linspace(0, 4, 48)[:, None])
    settings = fit.Settings(epochs=2, batch=8, rate=1e-3, keep=1.0, checks=2)
    cpu = torch.device("cpu")

    def fresh() -> Any:
        torch.manual_seed(5)
        loaded = model.load_encoder(tiny_encoder)
        return model.Estimator(loaded.encoder, heads=("sle",), centres=[2.0]), loaded.tokenizer

    whole, tokenizer = fresh()
    fit.fit(whole, tokenizer, examples, settings=settings, device=cpu)

    class Interrupted(Exception):
        pass

    def stop(step: int, total: int, loss: float) -> None:
        if step == 8:
            raise Interrupted

    cut, tokenizer = fresh()
    with pytest.raises(Interrupted):
        fit.fit(cut, tokenizer, examples, settings=settings, device=cpu, checkpoint=tmp_path / "c", progress=stop)
    resumed, tokenizer = fresh()
    fit.fit(resumed, tokenizer, examples, settings=settings, device=cpu, checkpoint=tmp_path / "c")
    for name, value in whole.state_dict().items():
        torch.testing.assert_close(resumed.state_dict()[name], value, msg=name)


@pytest.mark.filterwarnings("ignore")
def test_a_wide_head_finds_what_the_layers_and_the_length_say(tiny_encoder: str, tmp_path: Path) -> None:
    import torch

    from plainly.learn import model, widen

    cpu = torch.device("cpu")
    loaded = model.load_encoder(tiny_encoder)
    estimator = model.Estimator(loaded.encoder, heads=("sle", "cefr"), centres=[2.0, 3.0])
    texts = tuple("a " * (i + 1) + "dog." for i in range(60))
    encoded = model.encode(loaded.tokenizer, texts, longest=128)
    before = model.predict(estimator, encoded, device=cpu)
    by_length = np.column_stack([np.full(60, np.nan), 1 + np.arange(60.0) / 15])  # a rating that only length explains
    rows = Examples(texts[::2], by_length[::2])
    widen.widen(estimator, loaded.tokenizer, rows, ridge=1e-6, longest=128, device=cpu)
    after = model.predict(estimator, encoded, device=cpu)
    np.testing.assert_allclose(after[:, 0], before[:, 0], rtol=1e-6)
    np.testing.assert_allclose(after[1::2, 1], by_length[1::2, 1], atol=0.05)  # on texts that it was not fitted to
    widen.widen(estimator, loaded.tokenizer, rows, ridge=1e12, longest=128, device=cpu)
    np.testing.assert_allclose(model.predict(estimator, encoded, device=cpu)[:, 1], by_length[::2, 1].mean(), atol=1e-3)
    model.save(estimator, loaded.tokenizer, tmp_path / "kept", facts={})
    again, tokenizer = model.load(tmp_path / "kept")
    same = model.predict(again, model.encode(tokenizer, texts, longest=128), device=cpu)
    np.testing.assert_allclose(same, model.predict(estimator, encoded, device=cpu), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_from_documents_to_a_score(tiny_encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxscript")
    from plainly.cli import main
    from plainly.metrics.learned import encoder

    rows = [
        {"article": f"a{i}", "level": level, "text": f"{WORDS[(i + at) % 5].capitalize()}. {WORDS[(i + 2) % 5]} {i}."}
        for i in range(12)
        for at, level in enumerate(("hard", "easy"))
    ]
    table = tmp_path / "levelled.jsonl"
    table.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        "valid=0.2\ntest=0.2\nteachers=2\nnoise=0.5\njoined=0.5\n[fit]\nepochs=1\n[student]\nkeep=1.0\nkeep_layer=1\n"
    )
    place = tmp_path / "model"
    status = main(
        ["train", "sle", str(table), "--levels", "hard=0,easy=4", "--encoder", tiny_encoder, "--recipe", str(recipe),
         "--output", str(place), "--device", "cpu", "--json"]
    )  # fmt: skip
    assert status == 0
    found = json.loads(capsys.readouterr().out)
    assert found["quality"]["test"]["documents"] > 0
    assert found["export"]["mean"] < 0.1
    assert "Doc-MAE" in (place / "CARD.md").read_text(encoding="utf-8")
    assert encoder.load(str(place)).estimates(["The dog ran."]).shape == (1, 1)
