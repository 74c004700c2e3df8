"""LENS (Maddela et al. 2023) and LENS-SALSA (Heineman et al. 2023) from their published checkpoints.

LENS encodes source, output and reference one by one; LENS-SALSA reads output and source together, needs no references,
and tags tokens. Both see lower-cased text, as in the authors' package, lens-metric.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Needs
from plainly.learned.adapters import comet
from plainly.learned.adapters.weights import PublishedMetric, Text
from plainly.metrics.means import mean_rows, ratio


@dataclass(frozen=True, repr=False)
class Lens(PublishedMetric):
    """LENS: overall quality of a simplification given source and references; 0–100, or unbounded with rescale=false."""

    checkpoint: str = ""
    encoder: str = ""
    rescale: bool = True

    name: ClassVar[str] = "lens"
    needs: ClassVar[Needs] = frozenset({"source", "references"})
    outputs: ClassVar[tuple[str, ...]] = ("lens",)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        evalset.require_references("lens")
        loaded = comet.load(self.checkpoint, self.encoder, metric="lens", kind="regression_metric_multi_ref")
        rows = [[text.lower() for text in references] for references in evalset.references]
        sources, lowered = [text.lower() for text in evalset.sources], [text.lower() for text in outputs]
        known = evalset.prepare(
            ("lens", self.checkpoint, self.encoder),
            lambda _: _vectors(loaded, [*sources, *(text for row in rows for text in row)]),
        )
        vectors = known | _vectors(loaded, [text for text in lowered if text not in known])
        best = np.array(
            [
                max(_estimate(loaded, vectors[source], vectors[output], vectors[text]) for text in references)
                for source, output, references in zip(sources, lowered, rows, strict=True)
            ]
        )
        if self.rescale:
            best = np.array([50 * (math.erf(value / math.sqrt(2)) + 1) for value in best])
        return mean_rows(best)


@dataclass(frozen=True, repr=False)
class LensSalsa(PublishedMetric):
    """LENS-SALSA: overall quality without references, 100 times the model's value (mostly, but not always, in
    0–100)."""

    checkpoint: str = ""
    encoder: str = ""

    name: ClassVar[str] = "lens-salsa"
    outputs: ClassVar[tuple[str, ...]] = ("lens-salsa", "bad")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        loaded = comet.load(self.checkpoint, self.encoder, metric="lens-salsa", kind="unified_metric")
        pairs = [(output.lower(), source.lower()) for output, source in zip(outputs, evalset.sources, strict=True)]
        distinct = list(dict.fromkeys(pairs))
        encoded = [_joined(loaded, *pair) for pair in distinct]
        first = [_tokens(loaded, output) for output, _ in distinct]
        rows = {}
        for at, (value, bad) in loaded.weights.run_encoded(encoded, functools.partial(_judge, loaded)):
            tagged = (0.0, 0.0)
            if bad is not None:
                own = bad[1 : len(first[at]) - 1]  # without the marks of beginning and end
                tagged = (float((own > 0.5).sum()), float(len(own)))
            rows[distinct[at]] = (100 * float(value), 1.0, *tagged)
        return np.array([rows[pair] for pair in pairs]).reshape(len(pairs), 4)

    def score(self, totals: Floats) -> Floats:
        return np.stack([ratio(totals[..., 0], totals[..., 1]), 100 * ratio(totals[..., 2], totals[..., 3])], axis=-1)


def _vectors(loaded: comet.Checkpoint, texts: Sequence[str]) -> dict[Text, Any]:
    """One vector a text: the mixture of layers averaged over its tokens."""

    def read(outputs: Any, mask: Any) -> Any:
        there = mask.unsqueeze(-1).float()
        return (loaded.mixed(outputs, mask) * there).sum(1) / there.sum(1)

    return loaded.weights.run(texts, read, longest=loaded.longest)


def _estimate(loaded: comet.Checkpoint, source: Any, output: Any, reference: Any) -> float:
    import torch

    to_reference, to_source = (output - reference).abs(), (output - source).abs()
    parts = [source, output, reference, output * reference, to_reference, output * source, to_source]
    with torch.inference_mode():
        return float(loaded.estimator(torch.cat(parts)))


def _tokens(loaded: comet.Checkpoint, text: str) -> list[int]:
    ids: list[int] = loaded.weights.tokenizer(text, truncation=True, max_length=loaded.longest)["input_ids"]
    return ids


def _joined(loaded: comet.Checkpoint, output: str, source: str) -> dict[str, list[int]]:
    """Output, mark, source in one sequence: each is cut at the encoder's length, and so is the whole, at its end."""
    tokenizer = loaded.weights.tokenizer
    # RoBERTa puts two marks between two texts where BERT puts one.
    marks = [tokenizer.sep_token_id] * (tokenizer.num_special_tokens_to_add(pair=True) - 3)
    ids = [*_tokens(loaded, output), *marks, *_tokens(loaded, source)[1:]][: loaded.longest]
    return {"input_ids": ids, "attention_mask": [1] * len(ids)}


def _judge(loaded: comet.Checkpoint, outputs: Any, mask: Any) -> list[tuple[Any, Any]]:
    """For each pair its value, and for each of its tokens the probability of being in a bad edit."""
    values = loaded.estimator(loaded.mixed(outputs, mask)[:, 0].float())[:, 0]
    tag = _bad(loaded)
    if tag is None:
        return [(value, None) for value in values]
    layer = outputs.hidden_states[int(loaded.settings.get("word_layer", -1))]
    return list(zip(values, loaded.tagger(layer.float()).softmax(-1)[..., tag], strict=True))


def _bad(loaded: comet.Checkpoint) -> int | None:
    """Which tag says bad: 0 is no edit, then come those that hparams.yaml lists; None where there is no such tag."""
    tags = [str(tag) for tag in loaded.settings.get("span_tokens") or ()]
    has = loaded.tagger is not None and "bad" in tags and loaded.tagger.out_features == len(tags) + 1
    return 1 + tags.index("bad") if has else None
