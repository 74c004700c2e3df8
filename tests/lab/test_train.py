"""Training: the labels by hand, the split by article, and a tiny model from documents to a score."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from plainly.core.errors import BadInput
from plainly.core.progress import Tell
from plainly_lab.training.documents import (
    Examples,
    LevelledSentences,
    LevelledTexts,
    RatedSentences,
    close_up,
    from_documents,
    levelled_texts,
    quality,
    soften,
    split_by_article,
)
from plainly_lab.training.harm import NOISE, damage
from plainly_lab.training.recipe import FitSettings, Recipe

WORDS = ("the dog ran", "a cat sat on it", "he was in the garden", "she is old and they are not", "it ran to the cat")


def test_softening_by_hand() -> None:
    # Eq. 2 and 3: grades 10, 6, 2 of level 1 become 0, 1, 2 after scaling, less their mean 1, plus the level.
    labels = soften(np.array([1.0, 1, 1, 4]), np.array([10.0, 6, 2, 3]), exclude=0)
    np.testing.assert_allclose(labels, [0, 1, 2, 4])
    wide = soften(np.array([1.0, 1, 1]), np.array([10.0, 6, 2]), span=4, exclude=0)
    np.testing.assert_allclose(wide, [-1, 1, 3])


def test_softening_leaves_out_extremes_and_the_undefined() -> None:
    grades = np.arange(101.0)
    grades[50] = np.nan
    labels = soften(np.zeros(101), grades, exclude=2)
    assert np.isnan(labels[[0, 1, 50, 99, 100]]).all()
    assert np.isfinite(labels).sum() == 96
    assert np.nanmean(labels) == pytest.approx(0)
    with pytest.raises(BadInput):
        soften(np.zeros(2), np.zeros(2), exclude=50)


def _levelled(articles: int = 20) -> LevelledSentences:
    return LevelledSentences(
        sentences=tuple(f"{WORDS[i % 5]} {i}" for i in range(articles * 4)),
        articles=tuple(f"a{i // 4}" for i in range(articles * 4)),
        levels=np.array([0.0, 0, 4, 4] * articles),
    )


def test_no_article_is_in_two_parts() -> None:
    parts = split_by_article(_levelled(), valid=0.2, test=0.2, seed=3)
    named = [set(one.articles) for one in (parts.train, parts.valid, parts.test)]
    assert [len(names) for names in named] == [12, 4, 4]
    assert sum(map(len, named)) == len(set.union(*named)) == 20
    with pytest.raises(BadInput, match="3 articles"):
        split_by_article(_levelled(3), valid=0.05, test=0.05)


def test_quality_by_hand() -> None:
    judged = quality(np.array([0.0, 2, 4, 4]), np.array([0.0, 0, 4, 4]), ["a", "a", "b", "b"])
    assert judged.mae == pytest.approx(0.5)
    assert judged.doc_mae == pytest.approx(0.5)  # document a is estimated as 1, b as 4
    assert quality(np.array([0.0, 4]), np.array([0.0, 0]), ["a", "a"]).f1 == pytest.approx(1.0)
    assert quality(np.array([4.0, 4, 4]), np.array([0.0, 4, 4]), list("abc")).f1 == pytest.approx(2 / 3 * 0.8)


def test_damage_changes_text_and_repeats_with_the_seed() -> None:
    text = "The old man walked slowly to the distant village market, talking all the way."
    for kind in NOISE:
        damaged = {" ".join(kind(text.split(), np.random.default_rng(seed))) for seed in range(5)}
        assert damaged != {text}, kind
    assert damage(text, np.random.default_rng(1)) == damage(text, np.random.default_rng(1))
    assert damage("Too short.", np.random.default_rng(0)) == "Too short."


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
    with pytest.raises(BadInput, match=r"Document 1.*'hard'"):
        from_documents(["x"], ["hard"], ["One two three."])


def test_a_corpus_is_the_same_after_saving(tmp_path: Path) -> None:
    rated = RatedSentences("cefr", ("A b c.",), ("A b c .",), (2.5,), ("train",))
    corpus = from_documents(["x"], [1], ["One two three four."], rated=rated, sources=("s",))
    corpus.save(tmp_path / "corpus.json")
    again = LevelledTexts.load(tmp_path / "corpus.json")
    assert (again.levelled.sentences, again.rated) == (corpus.levelled.sentences, rated)
    np.testing.assert_array_equal(again.grades, corpus.grades)
    np.testing.assert_array_equal(again.levelled.levels, corpus.levelled.levels)
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(BadInput, match="--prepare"):
        LevelledTexts.load(tmp_path / "bad.json")


def test_documents_come_from_files_frames_and_mappings(tmp_path: Path) -> None:
    columns = {"article": ["x", "x"], "level": ["hard", "4"], "text": ["One two three four.", "Five six seven."]}
    path = tmp_path / "levelled.csv"
    path.write_text("article,level,text\nx,hard,One two three four.\nx,4,Five six seven.\n", encoding="utf-8")
    for documents in (path, columns, polars.DataFrame(columns)):
        corpus = levelled_texts(documents, levels={"hard": 0})
        assert corpus.levelled.sentences == ("One two three four.", "Five six seven.")
        assert corpus.levelled.levels.tolist() == [0, 4]
        assert levelled_texts(corpus) is corpus
    with pytest.raises(BadInput, match="'level'"):
        levelled_texts({"article": ["x"], "text": ["One two three."]})
    with pytest.raises(BadInput, match=r"Document 2.*text"):
        levelled_texts({**columns, "text": ["One two three.", None]})
    with pytest.raises(BadInput, match="documents="):
        levelled_texts()


def test_a_recipe_names_what_it_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    for text, message in (
        ("spam = 1", r"recipe.toml.*'spam'.*'span'"),
        ("[fit]\nepoch = 1", r"recipe.toml.*fit.*'epoch'.*'epochs'"),
        ("fit = 3", r"recipe.toml.*fit.*3"),
        ("[fit]\nepochs = 'three'", r"recipe.toml.*fit\.epochs.*'three'"),
        ("span = x\n", r"recipe.toml.*line 1"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(BadInput, match=message):
            Recipe.read(path)
    with pytest.raises(BadInput, match=r"absent\.toml"):
        Recipe.read(tmp_path / "absent.toml")


def test_a_recipe_takes_changes() -> None:
    shipped = Recipe.read("shipped")
    assert shipped.with_changes() == shipped
    changed = shipped.with_changes(softened=False, epochs=7, seed=5)
    assert (changed.softened, changed.span, changed.seed) == (False, shipped.span, 5)
    assert (changed.fit.epochs, changed.fit.seed, changed.student) == (7, 5, shipped.student)
    assert (shipped.last, Recipe().last) == (shipped.student, Recipe().fit)


def test_tokenised_text_is_closed_up() -> None:
    assert close_up("He said , `` I do n't ( really ) know '' .") == 'He said, "I don\'t (really) know".'


class Interrupted(Exception):
    pass


@pytest.mark.system
@pytest.mark.filterwarnings("ignore")
def test_an_interrupted_run_ends_as_one_that_was_not(tiny_encoder: str, tmp_path: Path) -> None:
    import torch

    from plainly_lab.training.models import Estimator, load_encoder
    from plainly_lab.training.runs import fit_estimator

    texts = tuple(f"{WORDS[i % 5]} {i}" for i in range(48))
    examples = Examples(texts, np.linspace(0, 4, 48)[:, None])
    settings = FitSettings(epochs=2, batch=8, rate=1e-3, keep=1.0, checks=2)
    cpu = torch.device("cpu")

    def fresh() -> Any:
        torch.manual_seed(5)
        encoder, tokenizer = load_encoder(tiny_encoder)
        return Estimator(encoder, heads=("sle",), centres=[2.0]), tokenizer

    whole, tokenizer = fresh()
    last_loss = fit_estimator(whole, tokenizer, examples, settings=settings, device=cpu)

    @contextmanager
    def stop(what: str, *, total: int | None, unit: str = "items") -> Iterator[Tell]:
        steps = 0

        def tell(amount: int) -> None:
            nonlocal steps
            steps += amount
            if steps == 8:
                raise Interrupted

        assert (what, total, unit) == ("training the model", 12, "steps")
        yield tell

    cut, tokenizer = fresh()
    with pytest.raises(Interrupted):
        fit_estimator(cut, tokenizer, examples, settings=settings, device=cpu, checkpoint=tmp_path / "c", progress=stop)
    resumed, tokenizer = fresh()
    resumed_loss = fit_estimator(resumed, tokenizer, examples, settings=settings, device=cpu, checkpoint=tmp_path / "c")
    assert resumed_loss == pytest.approx(last_loss)
    for name, value in whole.state_dict().items():
        torch.testing.assert_close(resumed.state_dict()[name], value, msg=name)
    torch.save({"history": Interrupted()}, tmp_path / "c")  # only plain tensors are loaded
    with pytest.raises(BadInput, match=re.escape(str(tmp_path / "c"))):
        fit_estimator(resumed, tokenizer, examples, settings=settings, device=cpu, checkpoint=tmp_path / "c")


@pytest.mark.system
@pytest.mark.filterwarnings("ignore")
def test_a_wide_head_finds_what_the_layers_and_the_length_say(tiny_encoder: str, tmp_path: Path) -> None:
    import torch

    from plainly_lab.training.models import Estimator, encode_texts, load_encoder, predict_levels, save, widen

    cpu = torch.device("cpu")
    encoder, tokenizer = load_encoder(tiny_encoder)
    model = Estimator(encoder, heads=("sle", "cefr"), centres=[2.0, 3.0])
    texts = tuple("a " * (i + 1) + "dog." for i in range(60))
    tokens = encode_texts(tokenizer, texts, longest=128)
    before = predict_levels(model, tokens, device=cpu)
    by_length = np.column_stack([np.full(60, np.nan), 1 + np.arange(60.0) / 15])  # a rating that only length explains
    rows = Examples(texts[::2], by_length[::2])
    widen(model, tokenizer, rows, ridge=1e-6, longest=128, device=cpu)
    after = predict_levels(model, tokens, device=cpu)
    np.testing.assert_allclose(after[:, 0], before[:, 0], rtol=1e-6)
    np.testing.assert_allclose(after[1::2, 1], by_length[1::2, 1], atol=0.05)  # on texts that it was not fitted to
    widen(model, tokenizer, rows, ridge=1e12, longest=128, device=cpu)
    np.testing.assert_allclose(predict_levels(model, tokens, device=cpu)[:, 1], by_length[::2, 1].mean(), atol=1e-3)
    save(model, tokenizer, tmp_path / "kept", longest=128)
    loaded = Estimator(load_encoder(str(tmp_path / "kept"))[0], heads=("sle", "cefr"))
    loaded.wide = torch.nn.Linear(model.wide.in_features, 1)
    for part, file in ((loaded.head, "heads.pt"), (loaded.wide, "wide.pt")):
        part.load_state_dict(torch.load(tmp_path / "kept" / file, weights_only=True))
    np.testing.assert_allclose(
        predict_levels(loaded, tokens, device=cpu), predict_levels(model, tokens, device=cpu), rtol=1e-6
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_from_documents_to_a_score(tiny_encoder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxscript")
    from plainly.cli import main
    from plainly.learned import encoder
    from plainly_lab.training.results import train

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
    printed = json.loads(capsys.readouterr().out)
    assert printed["schema"] == "plainly.train/1"
    assert printed["quality"]["test"]["documents"] > 0
    assert printed["export"]["mean"] < 0.1
    assert "Doc-MAE" in (place / "CARD.md").read_text(encoding="utf-8")
    assert encoder.load(str(place)).estimates(["The dog ran."]).shape == (1, 1)
    # From Python the same, and the run that is there is taken up, not trained again.
    again = train(documents=table, levels={"hard": 0, "easy": 4}, encoder=tiny_encoder, recipe=recipe, output=place)
    assert again.json() == printed
    assert [record["part"] for record in again.records()] == ["valid", "test"]
    assert "Doc-MAE" in repr(again)
    assert f"sle(model={place})" in repr(again)
