"""Adapters of published metrics, on tiny models of the same architecture and file format that the tests make."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import save_tokenizer
from plainly.errors import BadInput, DataUnavailable
from plainly.evalset import EvalSet

torch = pytest.importorskip("torch", reason="published weights need torch, which is no part of the development install")
transformers = pytest.importorskip("transformers")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

from plainly.metrics.adapters.bertscore import BertScore  # noqa: E402
from plainly.metrics.adapters.lens import Lens  # noqa: E402
from plainly.metrics.adapters.regressors import Entailment, MeaningBert, PublishedSle, Regressor  # noqa: E402

SOURCES = ("the old dog ran to the big house", "a cat sat", "he was in it and she was not")
OUTPUTS = ("the dog ran home", "a cat sat", "he was in it. she was not")
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *"abcdefghijklmnopqrstuvwxyz"]
VOCABULARY += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]


def _tiny(place: Path, kind: str, **settings: Any) -> str:
    torch.manual_seed(len(place.name))
    save_tokenizer(VOCABULARY, place)
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, initializer_range=0.5, **settings,
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
    found = _segments(PublishedSle(model=regressor, target=2.0), EvalSet.of(SOURCES))
    for row, source, output in zip(found, SOURCES, OUTPUTS, strict=True):
        level, before = _direct(regressor, output), _direct(regressor, source)
        np.testing.assert_allclose(row, [level - before, level, before, abs(level - 2)], atol=1e-4)


def test_meaningbert_reads_source_and_output_together(regressor: str) -> None:
    found = _segments(MeaningBert(model=regressor, longest=64), EvalSet.of(SOURCES))
    truth = [_direct(regressor, source, output) for source, output in zip(SOURCES, OUTPUTS, strict=True)]
    np.testing.assert_allclose(found[:, 0], truth, atol=1e-4)
    pair = _segments(Regressor(model=regressor, reads="pair", longest=64), EvalSet.of(SOURCES))
    np.testing.assert_allclose(pair[:, 0], truth, atol=1e-4)


def test_entailment_finds_its_labels(tmp_path: Path, regressor: str) -> None:
    labels = {"CONTRADICTION": 0, "NEUTRAL": 1, "ENTAILMENT": 2}
    place = _tiny(
        tmp_path, "BertForSequenceClassification", label2id=labels, id2label={v: k for k, v in labels.items()}
    )
    found = _segments(Entailment(model=place, longest=64), EvalSet.of(SOURCES))
    model = transformers.AutoModelForSequenceClassification.from_pretrained(place).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(place)(SOURCES[0], OUTPUTS[0], return_tensors="pt")
    with torch.inference_mode():
        truth = model(**tokens).logits.softmax(-1)[0]
    np.testing.assert_allclose(found[0, [0, 2]], [100 * float(truth[2]), 100 * float(truth[0])], atol=1e-3)
    with pytest.raises(BadInput, match="label2id"):
        _segments(Entailment(model=regressor), EvalSet.of(SOURCES))


def test_bertscore_by_the_packages_formula(bare: str, tmp_path: Path) -> None:
    evalset = EvalSet.of(SOURCES, references=[(text,) for text in SOURCES])
    found = _segments(BertScore(model=bare, layer=2, longest=64), evalset)
    model = transformers.AutoModel.from_pretrained(bare).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(bare)

    def vectors(text: str) -> Any:
        with torch.inference_mode():
            layer = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[2][0]
        return torch.nn.functional.normalize(layer, dim=-1)

    similar = vectors(OUTPUTS[0]) @ vectors(SOURCES[0]).T
    # The marks of beginning and end weigh nothing, but others may be matched with them.
    precision, recall = similar.max(1).values[1:-1].mean(), similar.max(0).values[1:-1].mean()
    f1 = 2 * precision * recall / (precision + recall)
    np.testing.assert_allclose(found[0], [100 * float(x) for x in (f1, precision, recall)], atol=1e-3)
    assert found[1, 0] == pytest.approx(100, abs=1e-3)
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


def test_lens_reads_its_checkpoint(bare: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    encoder = transformers.AutoModel.from_pretrained(bare)
    state = {f"encoder.model.{name}": value for name, value in encoder.state_dict().items()}
    state |= {f"layerwise_attention.scalar_parameters.{at}": torch.randn(1) for at in range(4)}
    state["layerwise_attention.gamma"] = torch.tensor([1.5])
    sizes = [16 * 7, 8, 4, 1]
    linears = {3 * at: torch.nn.Linear(sizes[at], sizes[at + 1]) for at in range(3)}
    for at, linear in linears.items():
        state |= {f"estimator.ff.{at}.weight": linear.weight.data, f"estimator.ff.{at}.bias": linear.bias.data}
    (tmp_path / "checkpoints").mkdir()
    torch.save({"state_dict": state}, tmp_path / "checkpoints" / "epoch=1.ckpt")
    (tmp_path / "hparams.yaml").write_text(json.dumps({"pretrained_model": bare, "activations": "Tanh", "pool": "avg"}))
    references = [(source.upper(), "a dog") for source in SOURCES]
    found = _segments(Lens(checkpoint=str(tmp_path)), EvalSet.of(SOURCES, references=references))

    tokenizer = transformers.AutoTokenizer.from_pretrained(bare)
    mix = torch.softmax(torch.cat([state[f"layerwise_attention.scalar_parameters.{at}"] for at in range(4)]), 0)

    def vector(text: str) -> Any:
        with torch.inference_mode():
            layers = encoder.eval()(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        normal = [(x[0] - x[0].mean()) / x[0].std(unbiased=False) for x in layers]
        return (1.5 * sum(w * x for w, x in zip(mix, normal, strict=True))).mean(0)

    def estimate(source: str, output: str, reference: str) -> float:
        s, o, r = vector(source), vector(output), vector(reference)
        joined = torch.cat([s, o, r, o * r, (o - r).abs(), o * s, (o - s).abs()])
        for linear in (linears[0], linears[3]):
            joined = torch.tanh(linear(joined))
        return float(linears[6](joined))

    best = max(estimate(SOURCES[0], OUTPUTS[0], reference) for reference in (SOURCES[0], "a dog"))
    assert found[0, 0] == pytest.approx(50 * (math.erf(best / math.sqrt(2)) + 1), abs=1e-3)


def test_missing_weights_say_what_to_download(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"model\.safetensors.*model=DIRECTORY"):
        _segments(PublishedSle(model=str(tmp_path)), EvalSet.of(SOURCES))
    with pytest.raises(DataUnavailable, match=r"hparams\.yaml.*lens\(checkpoint=DIRECTORY\)"):
        _segments(Lens(), EvalSet.of(SOURCES, references=[("a",)] * 3))
