"""Adapters of published metrics, on tiny models of the same architecture and file format that the tests make."""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import core.test_contracts as contracts
from conftest import save_tokenizer
from file_server import Server, publish
from plainly.core.errors import BadInput, DataUnavailable
from plainly.core.evalset import EvalSet

pytestmark = pytest.mark.system
torch = pytest.importorskip("torch", reason="published weights need torch, which the development install lacks")
transformers = pytest.importorskip("transformers")

from plainly.learned.adapters import models  # noqa: E402
from plainly.learned.adapters.bertscore import BertScore  # noqa: E402
from plainly.learned.adapters.lens import Lens, LensSalsa, load_checkpoint  # noqa: E402
from plainly.learned.adapters.models import (  # noqa: E402
    Entailment,
    MeaningBert,
    PublishedCefr,
    PublishedSle,
    Regressor,
)

SOURCES = ("the old dog ran to the big house", "a cat sat", "he was in it and she was not")
OUTPUTS = ("the dog ran home", "a cat sat", "he was in it. she was not")
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *"abcdefghijklmnopqrstuvwxyz"]
VOCABULARY += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]


def _tiny(place: Path, kind: str, **settings: Any) -> str:
    torch.manual_seed(len(place.name))
    save_tokenizer(VOCABULARY, place)
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=160, initializer_range=0.5, **settings,
    )  # fmt: skip
    getattr(transformers, kind)(config).save_pretrained(place)
    return str(place)


@pytest.fixture(scope="module")
def regressor(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _tiny(tmp_path_factory.mktemp("regressor"), "BertForSequenceClassification", num_labels=1)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _tiny(tmp_path_factory.mktemp("bare"), "BertModel")


def _direct(place: str, *texts: str) -> float:
    """The value of one text or pair, without batches, padding or anything of plainly."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(place).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(place)(*texts, return_tensors="pt")
    with torch.inference_mode():
        return float(model(**tokens).logits[0, 0])


def _segments(metric: Any, evalset: EvalSet) -> Any:
    return metric.score(metric.measure(evalset, OUTPUTS))


def test_published_sle_is_the_models_own_value(regressor: str) -> None:
    values = _segments(PublishedSle(model=regressor, target=2.0), EvalSet.of(SOURCES))
    for row, source, output in zip(values, SOURCES, OUTPUTS, strict=True):
        level, before = _direct(regressor, output), _direct(regressor, source)
        np.testing.assert_allclose(row, [level - before, level, before, abs(level - 2)], atol=1e-4)


def test_meaningbert_reads_source_and_output_together(regressor: str) -> None:
    truth = [_direct(regressor, source, output) for source, output in zip(SOURCES, OUTPUTS, strict=True)]
    assert 0 < min(truth) < max(truth) < 100
    values = _segments(MeaningBert(model=regressor, longest=64), EvalSet.of(SOURCES))
    np.testing.assert_allclose(values[:, 0], truth, atol=1e-4)
    pair = _segments(Regressor(model=regressor, reads="pair", longest=64), EvalSet.of(SOURCES))
    np.testing.assert_allclose(pair[:, 0], truth, atol=1e-4)


def test_entailment_finds_its_labels(tmp_path: Path, regressor: str) -> None:
    labels = {"CONTRADICTION": 0, "NEUTRAL": 1, "ENTAILMENT": 2}
    place = _tiny(
        tmp_path, "BertForSequenceClassification", label2id=labels, id2label={v: k for k, v in labels.items()}
    )
    values = _segments(Entailment(model=place, longest=64), EvalSet.of(SOURCES))
    model = transformers.AutoModelForSequenceClassification.from_pretrained(place).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(place)(SOURCES[0], OUTPUTS[0], return_tensors="pt")
    with torch.inference_mode():
        truth = model(**tokens).logits.softmax(-1)[0]
    np.testing.assert_allclose(values[0, [0, 2]], [100 * float(truth[2]), 100 * float(truth[0])], atol=1e-3)
    with pytest.raises(BadInput, match="label2id"):
        _segments(Entailment(model=regressor), EvalSet.of(SOURCES))


@pytest.fixture(scope="module")
def classifiers(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [_modern(tmp_path_factory.mktemp(f"classifier-{number}"), seed=number) for number in range(3)]


def _modern(place: Path, *, seed: int) -> str:
    """A tiny ModernBERT that names CEFR levels, as the shared task's do."""
    torch.manual_seed(seed)
    save_tokenizer(VOCABULARY, place)
    levels = ("A1", "A2", "B1", "B2", "C1", "C2")
    config = transformers.ModernBertConfig(
        vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3, initializer_range=0.8,
        id2label=dict(enumerate(levels)), label2id={level: at for at, level in enumerate(levels)},
    )  # fmt: skip
    transformers.ModernBertForSequenceClassification(config).save_pretrained(place)
    return str(place)


def test_the_surest_of_three_classifiers_says_the_level(classifiers: list[str], regressor: str) -> None:
    metric = PublishedCefr(*("B1", *classifiers), longest=64)
    rows = metric.measure(EvalSet.of(SOURCES), OUTPUTS)
    for row, output in zip(rows, OUTPUTS, strict=True):
        answers = []
        for place in classifiers:
            model = transformers.AutoModelForSequenceClassification.from_pretrained(place).eval()
            with torch.inference_mode():
                tokens = transformers.AutoTokenizer.from_pretrained(place)(output, return_tensors="pt")
                answers.append(model(**tokens).logits.softmax(-1)[0].max(-1))
        surest = max(answers, key=lambda answer: float(answer.values))
        assert row[0] == int(surest.indices) + 1
    with pytest.raises(BadInput, match="id2label"):
        PublishedCefr(None, regressor, regressor, regressor).measure(EvalSet.of(SOURCES), OUTPUTS)


def test_bertscore_by_the_packages_formula(bare: str, tmp_path: Path) -> None:
    evalset = EvalSet.of(SOURCES, references=[(text,) for text in SOURCES])
    values = _segments(BertScore(model=bare, layer=2, longest=64), evalset)
    model = transformers.AutoModel.from_pretrained(bare).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(bare)

    def vectors(text: str) -> Any:
        with torch.inference_mode():
            layer = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[2][0]
        return torch.nn.functional.normalize(layer, dim=-1)

    def scores(output: str, reference: str) -> list[float]:
        similar = vectors(output) @ vectors(reference).T
        precision, recall = similar.max(1).values[1:-1].mean(), similar.max(0).values[1:-1].mean()
        return [100 * float(x) for x in (2 * precision * recall / (precision + recall), precision, recall)]

    several = EvalSet.of(SOURCES[:1], references=[("dog", "the dog ran home and she was not in the big old house")])
    best = np.max([scores(OUTPUTS[0], reference) for reference in several.references[0]], axis=0)
    ours = BertScore(model=bare, layer=2, longest=64).measure(several, OUTPUTS[:1])
    np.testing.assert_allclose(100 * ours[0, :3], best, atol=1e-3)  # each maximum may be of another reference
    similar = vectors(OUTPUTS[0]) @ vectors(SOURCES[0]).T
    # The marks of beginning and end weigh nothing, but others may be matched with them.
    precision, recall = similar.max(1).values[1:-1].mean(), similar.max(0).values[1:-1].mean()
    f1 = 2 * precision * recall / (precision + recall)
    np.testing.assert_allclose(values[0], [100 * float(x) for x in (f1, precision, recall)], atol=1e-3)
    assert values[1, 0] == pytest.approx(100, abs=1e-3)
    (tmp_path / "baseline.tsv").write_text("LAYER,P,R,F\n2,0.5,0.4,0.3\n")
    scaled = _segments(BertScore(model=bare, layer=2, longest=64, baseline=str(tmp_path / "baseline.tsv")), evalset)
    np.testing.assert_allclose(scaled[0, 0], 100 * (float(f1) - 0.3) / 0.7, atol=1e-3)
    weighed = _segments(BertScore(model=bare, layer=2, longest=64, idf=True), evalset)
    held = [set(tokenizer(text)["input_ids"]) for text in SOURCES]
    rarity = [math.log(4 / (sum(token in ids for ids in held) + 1)) for token in tokenizer(OUTPUTS[0])["input_ids"]][
        1:-1
    ]
    weight = torch.tensor(rarity)
    weighed_precision = (similar.max(1).values[1:-1] * weight).sum() / weight.sum()
    np.testing.assert_allclose(weighed[0, 1], 100 * float(weighed_precision), atol=1e-3)


def _checkpoint(place: Path, encoder: str, *, sizes: list[int], tags: int = 0, **settings: Any) -> dict[str, Any]:
    """A checkpoint in the published layout: the encoder's weights, the mixture of layers, the estimator, the tagger."""
    torch.manual_seed(1)
    bare = transformers.AutoModel.from_pretrained(encoder).state_dict()
    # Not the encoder's own weights: a checkpoint that is not read must show.
    state = {
        f"encoder.model.{name}": value + 0.1 * torch.randn_like(value) if value.is_floating_point() else value
        for name, value in bare.items()
        if not name.startswith("pooler.")
    }
    state |= {f"layerwise_attention.scalar_parameters.{at}": torch.randn(1) for at in range(4)}
    state["layerwise_attention.gamma"] = torch.tensor([1.5])
    for at in range(len(sizes) - 1):
        state[f"estimator.ff.{3 * at}.weight"] = torch.randn(sizes[at + 1], sizes[at]) / 4
        state[f"estimator.ff.{3 * at}.bias"] = torch.randn(sizes[at + 1])
    if tags:
        state |= {"hidden2tag.weight": torch.randn(tags, 16), "hidden2tag.bias": torch.randn(tags)}
    (place / "checkpoints").mkdir()
    torch.save({"state_dict": state, "epoch": 3}, place / "checkpoints" / "model.ckpt")
    (place / "hparams.yaml").write_text(json.dumps({"pretrained_model": encoder, "activations": "Tanh", **settings}))
    return state


def _layers(encoder: str, state: dict[str, Any], ids: list[int]) -> tuple[Any, Any]:
    """The mixture of normalised layers, and the layers, of one sequence without padding."""
    model = transformers.AutoModel.from_pretrained(encoder)
    inner = {name.removeprefix("encoder.model."): value for name, value in state.items() if "encoder.model." in name}
    model.load_state_dict(inner, strict=False)
    with torch.inference_mode():
        layers = model.eval()(torch.tensor([ids]), output_hidden_states=True).hidden_states
    mix = torch.softmax(torch.cat([state[f"layerwise_attention.scalar_parameters.{at}"] for at in range(4)]), 0)
    normal = [(x[0] - x[0].mean()) / x[0].std(unbiased=False) for x in layers]
    return 1.5 * sum(w * x for w, x in zip(mix, normal, strict=True)), layers


def _estimated(state: dict[str, Any], vector: Any, places: tuple[int, ...]) -> float:
    for at in places:
        vector = state[f"estimator.ff.{at}.weight"] @ vector + state[f"estimator.ff.{at}.bias"]
        vector = torch.tanh(vector) if at != places[-1] else vector
    return float(vector)


def test_lens_reads_its_checkpoint(bare: str, tmp_path: Path) -> None:
    state = _checkpoint(tmp_path, bare, sizes=[16 * 7, 8, 4, 1], class_identifier="regression_metric_multi_ref")
    references = [(source.upper(), "a dog") for source in SOURCES]
    evalset = EvalSet.of(SOURCES, references=references)
    values = _segments(Lens(checkpoint=str(tmp_path)), evalset)
    tokenizer = transformers.AutoTokenizer.from_pretrained(bare)

    def estimate(*texts: str) -> float:
        s, o, r = (_layers(bare, state, tokenizer(text)["input_ids"])[0].mean(0) for text in texts)
        joined = torch.cat([s, o, r, o * r, (o - r).abs(), o * s, (o - s).abs()])
        return _estimated(state, joined, (0, 3, 6))

    best = max(estimate(SOURCES[0], OUTPUTS[0], reference) for reference in (SOURCES[0], "a dog"))
    assert values[0, 0] == pytest.approx(50 * (math.erf(best / math.sqrt(2)) + 1), abs=1e-3)
    raw = _segments(Lens(checkpoint=str(tmp_path), rescale=False), evalset)
    assert raw[0, 0] == pytest.approx(best, abs=1e-4)


def test_a_checkpoint_leaves_the_encoder_of_others_alone(bare: str, tmp_path: Path) -> None:
    evalset = EvalSet.of(SOURCES, references=[(text,) for text in SOURCES])
    before = BertScore(model=bare, layer=2, longest=64).measure(evalset, OUTPUTS)
    _checkpoint(tmp_path, bare, sizes=[16 * 7, 4, 1])
    _segments(Lens(checkpoint=str(tmp_path)), evalset)
    np.testing.assert_array_equal(BertScore(model=bare, layer=2, longest=64).measure(evalset, OUTPUTS), before)


def test_lens_is_fetched_by_its_hub_name(bare: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a local hub: the checkpoint, and of its encoder the configuration and the tokenizer, not the weights."""
    made = tmp_path / "made"
    made.mkdir()
    _checkpoint(made, bare, sizes=[16 * 7, 4, 1], class_identifier="regression_metric_multi_ref")
    evalset = EvalSet.of(SOURCES, references=[(text,) for text in SOURCES])
    expected = _segments(Lens(checkpoint=str(made)), evalset)
    settings = made / "hparams.yaml"
    settings.write_text(settings.read_text().replace(bare, "tiny/encoder"))
    server = Server()
    try:
        for name, place in (("davidheineman/lens", made), ("tiny/encoder", Path(bare))):
            paths = {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}
            publish(server, name, paths)
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.setenv("HF_ENDPOINT", server.base)
        monkeypatch.setenv("PLAINLY_MODELS", str(tmp_path / "models"))
        np.testing.assert_allclose(_segments(Lens(), evalset), expected)
        assert not any(path.endswith(".safetensors") for path, _ in server.requests)
    finally:
        server.close()
        load_checkpoint.cache_clear()


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny RoBERTa, the architecture of LENS-SALSA: byte pairs, positions from 2, two marks between texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    place = tmp_path_factory.mktemp("roberta")
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "Ġ", ".", *"abcdefghijklmnopqrstuvwxyz"]
    made = Tokenizer(models.BPE({piece: at for at, piece in enumerate(pieces)}, [], unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    marks = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "unk_token": "<unk>"}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", mask_token="<mask>", **marks
    ).save_pretrained(place)
    torch.manual_seed(3)
    config = transformers.RobertaConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=66, initializer_range=0.5, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        type_vocab_size=1,
    )  # fmt: skip
    transformers.RobertaModel(config).save_pretrained(place)
    return str(place)


def test_bertscore_begins_with_a_space_where_the_package_does(roberta: str) -> None:
    metric = BertScore(model=roberta, layer=2, longest=64)
    evalset = EvalSet.of(["a dog"], references=[("a dog",)])
    np.testing.assert_allclose(metric.measure(evalset, [" a dog "]), metric.measure(evalset, ["a dog"]))
    model = transformers.AutoModel.from_pretrained(roberta).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(roberta)

    def vectors(text: str) -> Any:
        tokens = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            layer = model(**tokens, output_hidden_states=True).hidden_states[2][0]
        return torch.nn.functional.normalize(layer, dim=-1)

    similar = vectors(" cat") @ vectors(" a dog").T
    precision = float(similar.max(1).values[1:-1].mean())
    assert metric.score(metric.measure(evalset, ["cat"]))[0, 1] == pytest.approx(100 * precision, abs=1e-3)


def test_lens_salsa_reads_output_and_source_together(roberta: str, tmp_path: Path) -> None:
    state = _checkpoint(
        tmp_path, roberta, sizes=[16, 8, 1], tags=2, class_identifier="unified_metric", span_tokens=["bad"],
        word_layer=3, layer_norm=True, layer_transformation="sparsemax",
    )  # fmt: skip
    metric = LensSalsa(checkpoint=str(tmp_path))
    values = _segments(metric, EvalSet.of(["THE OLD DOG ran home", *SOURCES[1:]]))
    tokenizer = transformers.AutoTokenizer.from_pretrained(roberta)
    output, source = (tokenizer(text)["input_ids"] for text in (OUTPUTS[0], "the old dog ran home"))
    ids = [*output, 2, *source[1:]]
    assert ids == tokenizer(OUTPUTS[0], "the old dog ran home")["input_ids"]
    mixed, layers = _layers(roberta, state, ids)
    # The package multiplies by 100 and does nothing else to the value.
    assert values[0, 0] == pytest.approx(100 * _estimated(state, mixed[0], (0, 3)), abs=1e-3)
    tagged = (layers[3][0] @ state["hidden2tag.weight"].T + state["hidden2tag.bias"]).softmax(-1)[:, 1]
    own = (tagged[1 : len(output) - 1] > 0.5).float()
    assert values[0, 1] == pytest.approx(100 * float(own.mean()))
    assert 0 < float(own.mean()) < 1, "the tags of this model cannot tell whether the right tokens are counted"


def test_lens_salsa_does_not_depend_on_order_and_batch(roberta: str, tmp_path: Path) -> None:
    _checkpoint(tmp_path, roberta, sizes=[16, 8, 1])
    metric = LensSalsa(checkpoint=str(tmp_path))
    sources, outputs = [*SOURCES, "a" * 200, ""], [*OUTPUTS, "b" * 200, "a dog"]
    whole = metric.measure(EvalSet.of(sources), outputs)
    singles = [metric.measure(EvalSet.of([source]), [output]) for source, output in zip(sources, outputs, strict=True)]
    np.testing.assert_allclose(whole, np.concatenate(singles), atol=1e-3)
    back = metric.measure(EvalSet.of(sources[::-1]), outputs[::-1])
    np.testing.assert_allclose(whole, back[::-1], atol=1e-3)
    corpus = metric.score(whole.sum(0))
    assert corpus[0] == pytest.approx(whole[:, 0].mean())
    assert np.isnan(corpus[1])  # this checkpoint has no tags
    cut = metric.measure(EvalSet.of(["c" * 200]), ["b" * 200])
    np.testing.assert_allclose(cut, metric.measure(EvalSet.of(["a" * 200]), ["b" * 200]))  # the output fills it all


def test_checkpoints_of_another_kind_are_refused(bare: str, roberta: str, tmp_path: Path) -> None:
    _checkpoint(tmp_path, roberta, sizes=[16, 8, 1], class_identifier="unified_metric")
    evalset = EvalSet.of(SOURCES, references=[("a",)] * 3)
    with pytest.raises(BadInput, match=r"unified_metric.*lens-salsa"):
        _segments(Lens(checkpoint=str(tmp_path)), evalset)
    place = tmp_path / "checkpoints" / "model.ckpt"
    state = torch.load(place, weights_only=True)["state_dict"]
    del state["encoder.model.embeddings.word_embeddings.weight"]
    torch.save({"state_dict": state}, place)
    with pytest.raises(BadInput, match=r"embeddings\.word_embeddings\.weight"):
        _segments(LensSalsa(checkpoint=str(tmp_path)), evalset)


def test_meaningbert_maps_what_the_configuration_names(tmp_path: Path) -> None:
    place = _tiny(tmp_path, "BertForSequenceClassification", num_labels=1, meaningbert_output_head="sigmoid")
    truth = [_direct(place, source, output) for source, output in zip(SOURCES, OUTPUTS, strict=True)]
    values = _segments(MeaningBert(model=place, longest=64), EvalSet.of(SOURCES))
    np.testing.assert_allclose(values[:, 0], [100 / (1 + math.exp(-value)) for value in truth], atol=1e-3)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"sigmoid"', '"normalized"'))
    models.load.cache_clear()
    assert max(truth) > 1  # so that there is something to cut off
    values = _segments(MeaningBert(model=place, longest=64), EvalSet.of(SOURCES))
    np.testing.assert_allclose(values[:, 0], np.clip(100 * np.array(truth), 0, 100), atol=1e-2)
    values = _segments(MeaningBert(model=place, longest=64, clip=False), EvalSet.of(SOURCES))
    np.testing.assert_allclose(values[:, 0], 100 * np.array(truth), atol=1e-2)


def test_missing_weights_say_what_to_download(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"model=.*config\.json.*model\.safetensors"):
        _segments(PublishedSle(model=str(tmp_path)), EvalSet.of(SOURCES))
    with pytest.raises(DataUnavailable, match=r"'a/b' is not on this machine.*model=DIRECTORY"):
        _segments(PublishedSle(model="a/b"), EvalSet.of(SOURCES))
    with pytest.raises(DataUnavailable, match=r"'davidheineman/lens' is not on this machine.*checkpoint=DIRECTORY"):
        _segments(Lens(), EvalSet.of(SOURCES, references=[("a",)] * 3))
    with pytest.raises(DataUnavailable, match=r"hparams\.yaml.*lens-salsa\(checkpoint="):
        _segments(LensSalsa(checkpoint=str(tmp_path)), EvalSet.of(SOURCES))


def test_a_missing_encoder_says_what_to_download(bare: str, tmp_path: Path) -> None:
    _checkpoint(tmp_path, bare, sizes=[16 * 7, 4, 1])
    with pytest.raises(DataUnavailable, match=r"'no/encoder' is not on this machine.*encoder=DIRECTORY"):
        _segments(Lens(checkpoint=str(tmp_path), encoder="no/encoder"), EvalSet.of(SOURCES, references=[("a",)] * 3))


CONTRACTS = [
    value
    for name, value in vars(contracts).items()
    if name.startswith("test_") and list(inspect.signature(value).parameters) == ["metric"]
]
STRANGE = ("", "   \t ", ". , ; !", "\x00 a\u2028b\x0b", "👩‍👩‍👧‍👦 ‏עברית", "x" * 10_000)


@pytest.fixture(
    scope="module",
    params=["sle-published", "meaningbert", "entailment", "regressor", "pair", "bertscore", "lens", "salsa", "cefr"],
)
def adapter(
    request: Any,
    tmp_path_factory: pytest.TempPathFactory,
    regressor: str,
    bare: str,
    roberta: str,
    classifiers: list[str],
) -> Any:
    """Every adapter on a model of its own kind, for what holds of every metric."""
    place = tmp_path_factory.mktemp(request.param)
    labels = {"CONTRADICTION": 0, "NEUTRAL": 1, "ENTAILMENT": 2}
    names = {at: label for label, at in labels.items()}
    made = {
        "sle-published": lambda: PublishedSle(model=regressor, target=2.0),
        "meaningbert": lambda: MeaningBert(model=regressor, longest=64),
        "entailment": lambda: Entailment(
            model=_tiny(place, "BertForSequenceClassification", label2id=labels, id2label=names), longest=64
        ),
        "regressor": lambda: Regressor(model=regressor, longest=64),
        "pair": lambda: Regressor(model=regressor, reads="pair", longest=64),
        "bertscore": lambda: BertScore(model=bare, layer=2, longest=64),
        "lens": lambda: _checkpointed(place, bare, Lens, sizes=[16 * 7, 8, 1]),
        "cefr": lambda: PublishedCefr("B1", *classifiers, longest=64),
        "salsa": lambda: _checkpointed(place, roberta, LensSalsa, sizes=[16, 8, 1]),
    }
    return made[request.param]()


def _checkpointed(place: Path, encoder: str, kind: Any, *, sizes: list[int]) -> Any:
    _checkpoint(place, encoder, sizes=sizes)
    return kind(checkpoint=str(place))


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_what_holds_of_every_metric_holds_of_adapters(adapter: Any, contract: Any) -> None:
    if contract is contracts.test_the_references_themselves_are_good_outputs:
        pytest.skip("a model with random weights does not know a good output")
    contract(adapter)


@pytest.mark.parametrize("output", STRANGE, ids=["empty", "blank", "punctuation", "control", "marks", "long-word"])
def test_strange_outputs_do_not_break_adapters(adapter: Any, output: str) -> None:
    contracts.test_strange_outputs_do_not_break_it(adapter, lambda source: output)
