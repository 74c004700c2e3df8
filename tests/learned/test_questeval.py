"""QuestEval: its arithmetic on known questions and answers, and tiny models in the published file formats."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from conftest import save_tokenizer
from plainly.core.errors import BadInput, DataUnavailable, MissingExtra
from plainly.core.evalset import EvalSet
from plainly.learned.adapters import questeval
from plainly.learned.adapters.questeval import ModelAnswer, QuestEval, f1

SOURCE, OUTPUT, REFERENCE = "The dog ate the cake.", "The dog slept.", "A dog had cake."
PHRASES = {SOURCE: ["dog", "cake"], OUTPUT: ["dog"], REFERENCE: ["cake"]}


class Stub:
    """Answers from a table, and records what it was asked."""

    table: ClassVar[dict[tuple[str, str], ModelAnswer]] = {
        ("dog?", OUTPUT): ModelAnswer("the dog", 0.9),
        ("cake?", OUTPUT): ModelAnswer("unanswerable", 0.1),
        ("dog?", SOURCE): ModelAnswer("a big dog", 1.0000001),  # the networks' probabilities may sum to a little over 1
        ("dog?", REFERENCE): ModelAnswer("dog", 0.95),
        ("cake?", REFERENCE): ModelAnswer("cake", 1.0),
        ("cake?", SOURCE): ModelAnswer("cake", 1.0),
    }
    alike: ClassVar[dict[tuple[str, str], float]] = {
        ("the dog", "dog"): 0.5,
        ("unanswerable", "cake"): 0.2,
        ("a big dog", "dog"): 1 / 3,
    }

    def __init__(self, *, bertscore: bool = True, weight: dict[str, float] | None = None) -> None:
        self.bertscore, self.weight = bertscore, weight
        self.asked: list[tuple[str, str]] = []
        self.weighed: list[tuple[str, str, str]] = []

    def questions(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        return [f"{answer}?" for answer, _ in pairs]

    def answers(self, pairs: Sequence[tuple[str, str]]) -> list[ModelAnswer]:
        self.asked += pairs
        return [self.table[one] for one in pairs]

    def weights(self, triples: Sequence[tuple[str, str, str]]) -> list[float] | None:
        self.weighed += triples
        return None if self.weight is None else [self.weight[answer] for answer, _, _ in triples]

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float] | None:
        return [self.alike.get(one, 1.0) for one in pairs] if self.bertscore else None


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Any:
    questeval.use_answers("table", lambda texts: [PHRASES.get(text, []) for text in texts])

    def put(asker: Stub) -> Stub:
        monkeypatch.setattr(questeval, "PublishedAsker", lambda metric: asker)
        return asker

    return put


def _one(metric: QuestEval, output: str = OUTPUT, **options: Any) -> Any:
    return metric.score(metric.measure(EvalSet.of([SOURCE], **options), [output]))[0]


def test_the_score_by_hand(stub: Any) -> None:
    questions = stub(Stub()).asked
    # Recall: the source's questions asked of the output. dog: (.9 + F1 1 + .5)/3 = .8; cake: (.1 + 0 + .2)/3 = .1.
    # Precision: the output's question asked of the source: (1 + F1 2/3 + 1/3)/3 = 2/3.
    recall, precision = 0.45, 2 / 3
    scores = _one(QuestEval(answers="table"))
    np.testing.assert_allclose(scores, [50 * (recall + precision), 100 * precision, 100 * recall, 3])
    assert sorted(questions) == sorted([("dog?", OUTPUT), ("cake?", OUTPUT), ("dog?", SOURCE)])


def test_without_closeness_in_meaning(stub: Any) -> None:
    stub(Stub(bertscore=False))
    np.testing.assert_allclose(_one(QuestEval(answers="table"))[1:3], [100 * (1 + 2 / 3) / 2, 50])


def test_the_weighter_weighs_the_questions_of_the_source(stub: Any) -> None:
    asker = stub(Stub(weight={"dog": 0.25, "cake": 0.75}))
    scores = _one(QuestEval(answers="table", weighter="any"))
    np.testing.assert_allclose(scores[1:3], [100 * 2 / 3, 100 * (0.25 * 0.8 + 0.75 * 0.1)])
    assert asker.weighed == [("dog", "dog?", SOURCE), ("cake", "cake?", SOURCE)]
    stub(Stub(weight={"dog": 0.0, "cake": 0.0}))
    assert _one(QuestEval(answers="table", weighter="any"))[2] == 0


def test_the_best_of_source_and_references_counts(stub: Any) -> None:
    stub(Stub())
    # Against the reference: recall .1 (cake), precision (.95 + 1 + 1)/3.
    against = (0.1 + 2.95 / 3) / 2
    references = {"references": [(REFERENCE,)]}
    assert _one(QuestEval(answers="table", against="references"), **references)[0] == pytest.approx(100 * against)
    assert _one(QuestEval(answers="table", against="both"), **references)[0] == pytest.approx(50 * (0.45 + 2 / 3))
    with pytest.raises(BadInput, match="references"):
        _one(QuestEval(answers="table", against="both"))


def test_nothing_to_ask_scores_nothing(stub: Any) -> None:
    asker = stub(Stub())
    np.testing.assert_allclose(_one(QuestEval(answers="table"), output="  "), [0, 0, 0, 2])
    assert not asker.asked
    asker.table = {**Stub.table, ("dog?", "Mm."): ModelAnswer("", 0.0), ("cake?", "Mm."): ModelAnswer("cake", 1.0)}
    # No question about the output: precision 0. Recall: (0 + 0 + 1)/3 and 1.
    np.testing.assert_allclose(_one(QuestEval(answers="table"), output="Mm.")[:3], [100 / 3, 0, 200 / 3])


def test_rows_add_up_in_any_order(stub: Any) -> None:
    stub(Stub())
    metric = QuestEval(answers="table")
    outputs = [OUTPUT, "", REFERENCE, OUTPUT]
    rows = metric.measure(EvalSet.of([SOURCE] * 4), outputs)
    np.testing.assert_allclose(metric.measure(EvalSet.of([SOURCE] * 4), outputs[::-1])[::-1], rows)
    np.testing.assert_allclose(metric.score(rows.sum(0)), metric.score(rows).mean(0))
    assert np.isnan(metric.score(rows[:0].sum(0))).all()


@pytest.mark.parametrize(
    ("answer", "expected", "value"),
    [
        ("The Eagle!", "eagle", 1.0),
        ("a big red dog", "the dog", 2 * 1 / (3 + 1)),
        ("dog dog", "dog", 2 * 1 / 3),
        ("theatre", "the atre", 0.0),
        ("", "dog", 0.0),
        ("the", "a", 1.0),  # nothing is left of either
    ],
)
def test_words_in_common_as_squad_counts_them(answer: str, expected: str, value: float) -> None:
    assert f1(answer, expected) == pytest.approx(value)


def test_spacy_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"questeval.*'spacy'.*plainly\[spacy\]"):
        _one(QuestEval(answers="en_not_loaded_before"))


def test_the_reader_of_t5_tokenizers_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    hidden = {"sentencepiece": None}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: hidden.get(name, find_spec("json")))
    with pytest.raises(MissingExtra, match=r"'sentencepiece'.*plainly\[torch\]"):
        questeval.PublishedAsker(QuestEval()).questions([("a", "b")])


def test_answers_are_names_and_noun_phrases_of_five_sentences(english: str) -> None:
    find = questeval.spacy_finder(english)
    merkel, many = find(["Angela Merkel visited the old town.", "One man. " * 4 + "A fifth woman! Then a sixth child."])
    assert merkel.count("Angela Merkel") == 2  # a name and a noun phrase
    assert merkel.count("the old town") == 1
    assert "A fifth woman" in many
    assert not [answer for answer in many if "child" in answer]
    with pytest.raises(DataUnavailable, match=r"en_nothing.*questeval"):
        questeval.spacy_finder("en_nothing")


WORDS = "what who is unanswerable true the dog ate cake slept old a big house sv1 he was home . ?"


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny T5 in the files of the published ones: config.json, pytorch_model.bin, spiece.model."""
    torch = pytest.importorskip("torch", reason="published weights need torch")
    transformers = pytest.importorskip("transformers")
    spm = pytest.importorskip("sentencepiece", reason="published T5 models have a sentencepiece tokenizer")
    place = tmp_path_factory.mktemp("t5")
    with (place / "spiece.model").open("wb") as file:
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter([WORDS] * 20), model_writer=file, vocab_size=64, pad_id=0, eos_id=1,
            unk_id=2, bos_id=-1, hard_vocab_limit=False, minloglevel=2,
        )  # fmt: skip
    (place / "tokenizer_config.json").write_text('{"tokenizer_class": "T5Tokenizer", "extra_ids": 0}')
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, initializer_factor=2.0,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config)
    model.decoder.block[0].layer[
        1
    ].EncDecAttention.o.weight.data *= 5  # so that what it writes depends on what it reads
    config.architectures = ["T5ForConditionalGeneration"]
    config.save_pretrained(place)
    torch.save(model.state_dict(), place / "pytorch_model.bin")
    return str(place)


@lru_cache
def _loaded(place: str) -> tuple[Any, Any]:
    import transformers

    model = transformers.T5ForConditionalGeneration.from_pretrained(place).eval()
    return model, transformers.AutoTokenizer.from_pretrained(place)


def _written(place: str, prompt: str) -> tuple[str, Any]:
    """What the model writes greedily, token by token, without batches, generation code or anything of plainly."""
    import torch

    model, tokenizer = _loaded(place)
    ids, written, first = tokenizer(prompt, return_tensors="pt")["input_ids"], [0], None
    with torch.inference_mode():
        while len(written) < 20 and written[-1] != 1:
            step = model(input_ids=ids, decoder_input_ids=torch.tensor([written])).logits[0, -1]
            first = step.softmax(-1) if first is None else first
            written.append(int(step.argmax()))
    text = tokenizer.decode(written, skip_special_tokens=True, clean_up_tokenization_spaces=True)
    return text, first


@pytest.mark.system
def test_questions_and_answers_are_what_the_model_writes(t5: str) -> None:
    asker = questeval.PublishedAsker(QuestEval(qa=t5, qg=t5, weighter=t5))
    _, tokenizer = _loaded(t5)
    start = {word: tokenizer(word)["input_ids"][0] for word in ("unanswerable", "true")}
    texts = ["the old dog ate the cake .", "he was home .", "the dog slept ."]
    made = asker.questions([("dog", text) for text in texts])
    assert made == [_written(t5, f"sv1 </s> dog </s> {text}")[0] for text in texts]
    assert len(set(made)) > 1, "a model that always writes the same cannot tell whether the right text is read"
    answers = asker.answers([("who slept ?", text) for text in texts])
    for answer, text in zip(answers, texts, strict=True):
        truth, first = _written(t5, f"who slept ? </s> {text}")
        assert answer.text == truth
        assert answer.answerable == pytest.approx(1 - float(first[start["unanswerable"]]), abs=1e-5)
    (weight,) = asker.weights([("dog", "who ?", texts[0])]) or []
    _, first = _written(t5, f"dog </s> who ? </s> {texts[0]}")
    assert weight == pytest.approx(float(first[start["true"]]), abs=1e-5)
    assert tokenizer("who ? </s> dog")["input_ids"].count(1) == 2  # the mark is one token, not four letters


@pytest.mark.system
def test_the_whole_on_tiny_models_does_not_depend_on_the_batch(t5: str, tmp_path: Path) -> None:
    import transformers

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *"abcdefghijklmnopqrstuvwxyz"]
    save_tokenizer([*pieces, *(f"##{letter}" for letter in pieces[6:])], tmp_path)
    config = transformers.BertConfig(
        vocab_size=58, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    transformers.BertModel(config).save_pretrained(tmp_path)
    questeval.use_answers("words", lambda texts: [text.rstrip(" .").split() for text in texts])
    metric = QuestEval(qa=t5, qg=t5, bertscore=str(tmp_path), layer=2, answers="words")
    sources = ["the old dog ate the cake .", "he was home .", "the dog slept ."]
    outputs = ["the dog ate .", "he was home .", "big house ."]
    whole = metric.measure(EvalSet.of(sources), outputs)
    singles = [metric.measure(EvalSet.of([source]), [output]) for source, output in zip(sources, outputs, strict=True)]
    np.testing.assert_allclose(whole, np.concatenate(singles), atol=1e-3)
    assert (metric.score(whole)[:, :3] > 0).all()
    assert (metric.score(whole)[:, :3] < 100).all()
    np.testing.assert_array_equal(whole[:, 3], [6 + 3, 3 + 3, 3 + 2])


@pytest.mark.system
def test_missing_models_say_what_to_download(tmp_path: Path) -> None:
    for package in ("torch", "transformers", "sentencepiece"):
        pytest.importorskip(package, reason="without it the error is that the package is missing")
    questeval.use_answers("words", lambda texts: [text.split() for text in texts])
    asker = questeval.PublishedAsker(QuestEval(qa=str(tmp_path), qg=str(tmp_path), bertscore=str(tmp_path)))
    for parameter, ask in (("qg", asker.questions), ("qa", asker.answers), ("bertscore", asker.similarities)):
        with pytest.raises(DataUnavailable, match=rf"{parameter}=.*spiece\.model"):
            ask([("a", "b")])
    with pytest.raises(DataUnavailable, match=r"'ThomasNLG/t5-qg_squad1-en' is not on this machine.*qg="):
        _one(QuestEval(answers="words"))
