"""Training the judge: harm does what it says, sources stay apart, and a tiny judge goes from pairs to a score."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import toy_judge
from plainly import data
from plainly.auditing.words import lists
from plainly.core.errors import BadInput, DataUnavailable
from plainly.learned import encoder
from plainly_lab.training import harm, heads
from plainly_lab.training.documents import NEVER_TRAINED_ON, plain
from plainly_lab.training.pairs import HEADS, JudgedPairs, PairCorpus, harm_pairs, load_reworded, prepare
from plainly_lab.training.recipe import FitSettings, JudgeRecipe, PartRecipe

SOUND = (
    (
        "The committee, which had met twice in March, approved the plan.",
        "The committee met twice. It approved the plan.",
    ),
    ("Although it was late, Maria Lopez walked 12 miles to the old town.", "It was late. Maria Lopez walked 12 miles."),
    ("The bridge was never repaired (it was too costly) and closed in 1987.", "The bridge closed in 1987."),
    (
        "Scientists in Peru found that frogs can freeze, and they wrote about it.",
        "In Peru, people found that frogs can freeze.",
    ),
)


def _corpus() -> PairCorpus:
    targets = np.full((8, 5), np.nan)
    targets[:, 0], targets[::2, 1] = np.linspace(0, 1, 8), 0.5
    rated = JudgedPairs(tuple(f"Source {i // 2}." for i in range(8)), tuple(f"Output {i}." for i in range(8)), targets)
    return PairCorpus(SOUND, (("The lamp is on.", "The lamp is off."),), rated, ("own",), load_reworded()[range(12)])


@pytest.mark.parametrize("kind", harm.KINDS)
def test_every_harm_harms_and_repeats_with_the_seed(kind: str) -> None:
    stock = harm.Stock.of([output for _, output in SOUND])
    texts = [text for pair in SOUND for text in pair]
    results = [harm.KINDS[kind](text, stock, np.random.default_rng(seed)) for text in texts for seed in range(3)]
    again = [harm.KINDS[kind](text, stock, np.random.default_rng(seed)) for text in texts for seed in range(3)]
    done = [result for result in results if result is not None]
    assert done
    begun = [text for text in texts for _ in range(3)]
    assert any(result is not None and result.text != text for result, text in zip(results, begun, strict=True))
    assert [result and result.text for result in results] == [result and result.text for result in again]
    assert all(0 <= cost <= 1 for result in done for cost in (result.fluency, result.meaning))


def test_the_audit_remains_a_test() -> None:
    training_text = " ".join(map(str, [*harm.REFUSALS, *harm.OPENINGS, *harm.CLOSINGS])).lower()
    for line in (*lists().refusals, *lists().openings, *lists().clauses):
        assert line.lower() not in training_text


def test_planted_facts_are_known_and_lost_words_are_no_wrong_facts() -> None:
    stock, rng = harm.Stock.of([output for _, output in SOUND]), np.random.default_rng(0)
    for kind, fact in (
        ("negate", 1),
        ("change_numbers", 1),
        ("change_names", 1),
        ("add_statement", 1),
        ("drop_aside", 0),
        ("strip_case", 0),
    ):
        results = [harm.KINDS[kind](source, stock, rng) for source, _ in SOUND]
        assert {result.fact for result in results if result is not None} == {fact}


def test_pairs_of_one_source_are_held_out_together() -> None:
    training, held_out = _corpus().split(held_out=0.5, seed=1)
    assert len(held_out) == len(training.rated) == 4
    assert not set(held_out.sources) & set(training.rated.sources)


def test_harmed_pairs_say_what_is_known() -> None:
    pairs = harm_pairs(_corpus(), copies=6, rng=np.random.default_rng(0))
    assert (pairs.origin == "rated").sum() == 8
    assert np.isnan(pairs.truth[pairs.origin == "rated"]).all()
    whole = [
        at
        for at, (source, output) in enumerate(zip(pairs.sources, pairs.outputs, strict=True))
        if (source, output) in SOUND
    ]
    np.testing.assert_array_equal(pairs.truth[whole], [[1, 1, 0]] * len(whole))


def test_a_corpus_is_the_same_after_saving(tmp_path: Path) -> None:
    corpus = _corpus()
    corpus.save(tmp_path / "pairs.json")
    again = PairCorpus.load(tmp_path / "pairs.json")
    assert (again.sound, again.contradictions, again.sets) == (corpus.sound, corpus.contradictions, corpus.sets)
    np.testing.assert_array_equal(again.rated.targets, corpus.rated.targets)
    np.testing.assert_array_equal(again.reworded.targets, corpus.reworded.targets)
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(BadInput, match="train quality --prepare"):
        PairCorpus.load(tmp_path / "bad.json")


def test_what_metrics_are_judged_on_is_not_learnt_from(mirror: Path) -> None:
    corpus = prepare(
        JudgeRecipe(pairs=("wikisplit/test", "asset/valid"), contradictions=(), ratings=("simpeval/past",))
    )
    assert len(corpus.rated) == 2400
    assert len(corpus.sound) > 20_000  # ASSET's validation part was asked for by name
    judged = {plain(source) for name in NEVER_TRAINED_ON if name != "asset/valid" for source in data.load(name).sources}
    assert not judged & {plain(source) for source, _ in corpus.sound}


def test_the_recipes_are_read_and_the_shipped_one_is_free() -> None:
    shipped, research = JudgeRecipe.read("shipped"), JudgeRecipe.read("research")
    sets = (*shipped.pairs, *shipped.contradictions, *shipped.ratings)
    licences = {name: data.card(name).licence for name in sets}
    assert not [name for name, licence in licences.items() if "NC" in licence]
    assert not [name for name in sets if name.startswith(("asset", "simplicity-da", "tsar"))]
    assert set(sets) < {*research.pairs, *research.contradictions, *research.ratings}
    facts = json.loads((encoder.directory(encoder.JUDGE) / "model.json").read_text())
    assert facts["combination"]["powers"] == shipped.powers
    rated = {name for part in shipped.parts.values() for name in part.sets} - {"reworded"}
    assert set(facts["data"]) == {*sets, *rated}
    for name, part in shipped.parts.items():
        assert list(facts["combination"]["parts"][name]["terms"]) == list(part.terms)
    assert shipped.with_changes(seed=3, epochs=1).student.epochs == 1
    with pytest.raises(BadInput, match=r"hsplit/ratings.*simpeval/past"):
        prepare(JudgeRecipe(pairs=(), contradictions=(), ratings=("hsplit/ratings",)))


def test_the_written_pairs_give_nothing_away_by_their_words() -> None:
    """A judge that counted shared words would not tell a right version from a wrong one in its words."""
    items = [json.loads(line) for line in (Path(harm.__file__).parent / "reworded.jsonl").read_text().splitlines()]
    assert len({item["source"] for item in items}) == len(items) > 700

    def shared(item: dict[str, str], name: str) -> float:
        source, words = set(item["source"].lower().split()), item[name].lower().split()
        return sum(word in source for word in words) / len(words)

    assert np.mean([shared(item, "same") for item in items]) < 0.4
    paired = [item for item in items if "off" in item]
    assert len(paired) > 500
    larger = np.mean([np.sign(shared(item, "off") - shared(item, "same")) for item in paired])
    assert abs(larger) < 0.25


def _write_ratings(path: Path) -> Path:
    """Ratings in which shorter outputs keep less and are simpler, by two raters."""
    rows = []
    for number in range(24):
        words = [f"word{number + place}" for place in range(20)]
        for size in (20, 14, 8, 4):
            pair = {"source": " ".join(words), "output": " ".join(words[:size])}
            rows += [pair | {"meaning": 4 * size + extra, "simplicity": 90 - 3 * size + extra} for extra in (0, 10)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.mark.long
def test_heads_are_fitted_to_a_finished_model(tmp_path: Path) -> None:
    model = toy_judge.write(tmp_path / "toy")
    parts = {
        "meaning": PartRecipe(terms={"meaning": 0.3, "kept": 0.0}, sets={"own": 1.0, "reworded": 0.01}, ridge=0.01),
        "simplicity": PartRecipe(terms={"simplicity": 0.0, "kept": 0.0, "novelty": 0.0}, sets={"own": 1}, ridge=0.01),
    }
    recipe = JudgeRecipe(ratings=(), parts=parts)
    files = {"own": _write_ratings(tmp_path / "ratings.jsonl")}
    fit = heads.fit_heads(model, recipe=recipe, ratings=files, output=tmp_path / "fitted")
    facts = json.loads((tmp_path / "fitted" / "model.json").read_text())
    assert facts["combination"]["parts"] == fit.parts
    usual = facts["combination"]["averages"]
    assert sorted([*usual, *fit.parts]) == sorted(recipe.powers)
    assert all(0 < average < 1 for average in usual.values())
    assert fit.parts["meaning"]["terms"]["kept"]["weight"] > 0
    assert fit.parts["simplicity"]["terms"]["kept"]["weight"] == 0, "weights are never negative"
    assert fit.parts["meaning"]["pairs"] == {"own": 96, "reworded": len(load_reworded())}
    agreement = {row["part"]: row for row in fit.agreement}
    assert agreement["meaning"]["fitted"] > 0.9
    assert agreement["simplicity"]["fitted"] > 0.9
    again = heads.fit_heads(model, recipe=recipe, ratings=files, output=tmp_path / "again")
    assert again.parts == fit.parts
    with pytest.raises(BadInput, match="--ratings own=FILE"):
        heads.fit_heads(model, recipe=recipe, ratings={})
    (tmp_path / "bad.jsonl").write_text('{"source": "A"}')
    with pytest.raises(BadInput, match="Line 1"):
        heads.read_ratings(tmp_path / "bad.jsonl")


@pytest.fixture
def tiny_rewriter(tiny_encoder: str, tmp_path: Path) -> str:
    """A language model of random weights, which says little and stops soon."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_encoder)
    tokenizer.eos_token = "[SEP]"
    tokenizer.chat_template = "{% for turn in messages %}{{ turn['content'] }} {% endfor %}"
    tokenizer.save_pretrained(tmp_path / "rewriter")
    config = transformers.GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, n_positions=1024)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path / "rewriter")
    return str(tmp_path / "rewriter")


@pytest.mark.system
@pytest.mark.filterwarnings("ignore")
def test_a_rewriter_is_asked_once(tiny_rewriter: str, tmp_path: Path) -> None:
    import torch

    from plainly_lab.training.runs import reword

    texts = ["the old cat sat on a very old mat", "too short", *(f"cat {number} sat on a mat" for number in range(40))]
    how = {"rewriter": tiny_rewriter, "samples": 3, "path": tmp_path / "offered.json", "device": torch.device("cpu")}
    pairs = reword(texts, **how)
    assert pairs
    assert {source for source, _ in pairs} <= set(texts) - {"too short"}
    assert all(output and output != source for source, output in pairs)
    assert reword([], **how) == pairs


@pytest.mark.system
@pytest.mark.filterwarnings("ignore")
def test_a_rewriter_must_take_instructions(tiny_rewriter: str, tmp_path: Path) -> None:
    import torch

    from plainly_lab.training.runs import reword

    (Path(tiny_rewriter) / "chat_template.jinja").unlink()
    how = {"samples": 1, "path": tmp_path / "x", "device": torch.device("cpu")}
    with pytest.raises(BadInput, match="chat template"):
        reword(["one two three four five"], rewriter=tiny_rewriter, **how)
    with pytest.raises(DataUnavailable, match="rewriter = ''"):
        reword(["one two three four five"], rewriter=str(tmp_path / "nowhere"), **how)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_a_judge_goes_from_pairs_to_a_score(tiny_encoder: str, tiny_rewriter: str, tmp_path: Path) -> None:
    import plainly
    import plainly_lab

    settings = FitSettings(epochs=1, batch=16, rate=1e-3, longest=128)
    recipe = JudgeRecipe(
        held_out=0.5, copies=2, teachers=1, reworded=2, rewriter=tiny_rewriter, offered=10, students=2, ridge=10.0,
        overall=0.2, first=settings, second=settings, student=settings, first_pairs=40,
    )  # fmt: skip
    where = {"encoder": tiny_encoder, "output": tmp_path / "judge", "device": "cpu"}
    training = plainly_lab.train("quality", documents=_corpus(), recipe=recipe, eight_bits=False, **where)
    assert training.export.largest < 1e-3
    assert (tmp_path / "judge" / "CARD.md").is_file()
    facts = json.loads((tmp_path / "judge" / "model.json").read_text())
    assert tuple(facts["heads"]) == HEADS
    metric = f"quality(model={tmp_path / 'judge'})"
    scores = plainly.score(sources=["The old cat sat."], outputs=["A cat sat."], metrics=[metric], intervals=False)
    assert 0 <= scores[metric].value <= 100


@pytest.mark.system
@pytest.mark.filterwarnings("ignore")
def test_meaning_is_fitted_once_more_to_people_and_mixed(tiny_encoder: str, tmp_path: Path) -> None:
    import torch

    from plainly_lab.training.export import mix_heads
    from plainly_lab.training.models import CrossEncoder, encode_pairs, load_encoder, predict_ratings
    from plainly_lab.training.runs import ALL_HEADS, JudgingRun

    rng, cpu = np.random.default_rng(0), torch.device("cpu")
    texts = [" ".join(rng.permutation(["the", "old", "cat", "sat", "on", "a", "mat"])) for _ in range(40)]
    targets = np.full((40, 5), np.nan)
    targets[:30, 2] = np.array([text.startswith(("the", "old", "cat")) for text in texts[:30]]) * 0.2 + 0.5
    rated = JudgedPairs(tuple(texts), tuple(reversed(texts)), targets)
    tiny, tokenizer = load_encoder(tiny_encoder)

    def apart(ridge: float) -> tuple[float, CrossEncoder]:
        torch.manual_seed(0)
        model = CrossEncoder(tiny, heads=ALL_HEADS)
        before = model.head.weight.data.clone()
        recipe = JudgeRecipe(ridge=ridge)
        run = JudgingRun(_corpus(), recipe, tiny_encoder, tiny_encoder, tmp_path, cpu)
        run.refit_meaning(model, tokenizer, rated)
        moved = (model.head.weight.data - before).abs().amax(dim=1) > 0
        assert moved.tolist() == [head == "meaning" and ridge > 0 for head in ALL_HEADS]
        ratings = predict_ratings(model, encode_pairs(tokenizer, rated.sources, rated.outputs, longest=64), device=cpu)[
            :30, 2
        ]
        return float(np.square(ratings - targets[:30, 2]).mean()), model

    (plain_error, _), (near, _), (close, model) = apart(0), apart(1000), apart(0.1)
    assert close < near < plain_error
    head = mix_heads(model, gain=0.8, overall=0.25).head.weight.data
    ours, overall = model.head.weight.data[2], model.head.weight.data[0]
    torch.testing.assert_close(head[2], 0.75 * ours + 0.25 * overall)
    torch.testing.assert_close(head[0], overall)
