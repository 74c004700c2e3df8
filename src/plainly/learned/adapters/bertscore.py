"""BERTScore (Zhang et al. 2019) with any encoder and layer, as the authors' package counts it."""

import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from plainly.core.errors import BadInput, BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Needs, ratio
from plainly.learned.adapters import weights
from plainly.learned.adapters.weights import PublishedMetric, PublishedModel

Match = tuple[float, float, float]  # F1, precision, recall
Tokens = tuple[list[int], Any]  # of a text, and their vectors, of length one
_WITH_SPACES = frozenset({"roberta", "gpt2", "bart", "longformer", "deberta"})  # byte pairs that include the space


@dataclass(frozen=True, repr=False)
class BertScore(PublishedMetric):
    """Token-matching F1, precision and recall, 0–100, of the best reference (or of the source).

    ``layer`` is the hidden layer the vectors are taken from (the package's default for roberta-large is 17), ``idf``
    weighs tokens by how rare they are in the references, ``baseline`` is the package's baseline file for the model, by
    which scores are rescaled. Marks of beginning and end have no weight but may be matched, as in the package.
    """

    model: str = "FacebookAI/roberta-large"
    layer: int = 17
    idf: bool = False
    baseline: str = ""
    against: Literal["references", "source"] = "references"
    longest: int = 512

    name: ClassVar[str] = "bertscore"
    needs: ClassVar[Needs] = frozenset({"references"})
    outputs: ClassVar[tuple[str, ...]] = ("f1", "precision", "recall")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "needs", frozenset({self.against}))
        if self.layer < 0:
            raise BadSpec("bertscore(layer=…) counts from 0, the embeddings; give the package's number of layers.")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        known: Sequence[Sequence[str]] = [[source] for source in evalset.sources]
        if self.against == "references":
            evalset.require_references("bertscore")
            known = evalset.references
        loaded = _encoder(self.model, self.layer)
        texts = [text for row in known for text in row]
        vectors = _vectors(loaded, [*outputs, *texts], layer=self.layer, longest=self.longest)
        rarity = self._rarity(loaded, texts) if self.idf else None
        floor = self._floor()
        rows = np.zeros((len(outputs), 4))
        for at, (output, others) in enumerate(zip(outputs, known, strict=True)):
            candidates = [_match(vectors[output], vectors[other], rarity, _special(loaded)) for other in others]
            rows[at] = (*max((_rescaled(match, floor) for match in candidates), key=itemgetter(0)), 1.0)
        return rows

    def score(self, totals: Floats) -> Floats:
        return 100 * ratio(totals[..., :3], totals[..., 3:])

    def _rarity(self, loaded: PublishedModel, references: Sequence[str]) -> dict[int, float]:
        """log((n + 1) / (df + 1)) over the references, as in the package."""
        counts: Counter[int] = Counter()
        for text in references:
            ready = _prepared(loaded, text)
            counts.update(set(loaded.tokenizer(ready, truncation=True, max_length=self.longest)["input_ids"]))
        return {token: math.log((len(references) + 1) / (counts[token] + 1)) for token in range(len(loaded.tokenizer))}

    def _floor(self) -> Match | None:
        if not self.baseline:
            return None
        try:
            rows = {int(row["LAYER"]): row for row in csv.DictReader(Path(self.baseline).read_text().splitlines())}
            row = rows[self.layer]
            return float(row["F"]), float(row["P"]), float(row["R"])
        except (OSError, KeyError, ValueError) as error:
            raise BadInput(
                f"{self.baseline!r} is no baseline file with a row for layer {self.layer} ({error}). It is the "
                "package's bert_score/rescale_baseline/en/MODEL.tsv, with the columns LAYER,P,R,F."
            ) from None


def pairs(model: str, texts: Sequence[tuple[str, str]], *, layer: int, parameter: str) -> list[float]:
    """F1, 0–1, of each text with the other of its pair, without weights and baseline."""
    loaded = _encoder(model, layer, parameter)
    vectors = _vectors(loaded, [text for pair in texts for text in pair], layer=layer, longest=512)
    special = _special(loaded)
    return [_match(vectors[text], vectors[other], None, special)[0] for text, other in texts]


def _encoder(model: str, layer: int, parameter: str = "model") -> PublishedModel:
    loaded = weights.encoder(model, parameter=parameter)
    if layer > loaded.model.config.num_hidden_layers:
        raise BadSpec(f"{model!r} has {loaded.model.config.num_hidden_layers} layers, not {layer}.")
    return loaded


def _vectors(loaded: PublishedModel, texts: Sequence[str], *, layer: int, longest: int) -> dict[str, Tokens]:
    loaded.model.config.output_hidden_states = True
    distinct = list(dict.fromkeys(texts))
    encoded = loaded.encode([_prepared(loaded, text) for text in distinct], longest=longest)
    vectors = {}
    for at, row in loaded.run_encoded(
        encoded, lambda outputs, mask: outputs.hidden_states[layer].float().cpu().numpy()
    ):
        ids = encoded[at]["input_ids"]
        words = row[: len(ids)]
        vectors[distinct[at]] = (ids, words / np.linalg.norm(words, axis=1, keepdims=True))
    return vectors


def _prepared(loaded: PublishedModel, text: str) -> str:
    """As in the package: stripped, and begun with a space where a first word is else unlike the same word later."""
    text = text.strip()
    return f" {text}" if text and loaded.model.config.model_type in _WITH_SPACES else text


def _special(loaded: PublishedModel) -> frozenset[int]:
    names = ("cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id")
    return frozenset(getattr(loaded.tokenizer, name) for name in names) - {None}


def _match(output: Tokens, other: Tokens, rarity: dict[int, float] | None, special: frozenset[int]) -> Match:
    similar = output[1] @ other[1].T
    precision = _weighted(similar.max(axis=1), output[0], rarity, special)
    recall = _weighted(similar.max(axis=0), other[0], rarity, special)
    both = precision + recall
    return (2 * precision * recall / both if both else 0.0), precision, recall


def _weighted(values: Any, ids: list[int], rarity: dict[int, float] | None, special: frozenset[int]) -> float:
    weight = np.array([0.0 if token in special else 1.0 if rarity is None else rarity[token] for token in ids])
    return float((values * weight).sum() / weight.sum()) if weight.sum() > 0 else 0.0


def _rescaled(match: Match, floor: Match | None) -> Match:
    if floor is None:
        return match
    f1, precision, recall = ((value - low) / (1 - low) for value, low in zip(match, floor, strict=True))
    return f1, precision, recall
