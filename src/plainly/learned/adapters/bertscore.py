"""BERTScore (Zhang et al. 2019) with any encoder and layer, computed as in the authors' package."""

import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from plainly.core.errors import BadInput, BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Needs, ratio
from plainly.learned.adapters import models
from plainly.learned.adapters.models import PublishedMetric, PublishedModel

Tokens = tuple[list[int], Any]  # the token ids of a text, and their unit vectors
_WITH_SPACES = frozenset({"roberta", "gpt2", "bart", "longformer", "deberta"})  # byte pairs that include the space


@dataclass(frozen=True, repr=False)
class BertScore(PublishedMetric):
    """Token-matching F1, precision and recall, 0–100, each of the reference where it is highest (or of the source).

    ``layer`` is the hidden layer of the vectors (the package's default for roberta-large is 17), ``idf`` weights tokens
    by how rare they are in the references, ``baseline`` is the package's baseline file for the model, by which scores
    are rescaled. Special tokens have no weight but may be matched, as in the package.
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
            raise BadSpec("bertscore(layer=…) counts from 0, the embeddings; pass the package's number of layers.")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        others: Sequence[Sequence[str]] = [[source] for source in evalset.sources]
        if self.against == "references":
            evalset.require_references("bertscore")
            others = evalset.references
        network = _load(self.model, self.layer)
        texts = [text for row in others for text in row]
        tokens = _tokens(network, [*outputs, *texts], layer=self.layer, longest=self.longest)
        rarity = self._rarity(network, texts) if self.idf else None
        baseline = self._baseline()
        rows = np.zeros((len(outputs), 4))
        for row, output, references in zip(rows, outputs, others, strict=True):
            matches = [_match(tokens[output], tokens[other], rarity, _special_ids(network)) for other in references]
            row[:] = (*(np.max(matches, axis=0) - baseline) / (1 - baseline), 1.0)
        return rows

    def score(self, totals: Floats) -> Floats:
        return 100 * ratio(totals[..., :3], totals[..., 3:])

    def _rarity(self, network: PublishedModel, references: Sequence[str]) -> dict[int, float]:
        """Return log((n + 1) / (df + 1)) over the references, as in the package."""
        counts: Counter[int] = Counter()
        for text in references:
            ids = network.tokenizer(_strip(network, text), truncation=True, max_length=self.longest)["input_ids"]
            counts.update(set(ids))
        return {token: math.log((len(references) + 1) / (counts[token] + 1)) for token in range(len(network.tokenizer))}

    def _baseline(self) -> Floats:
        """Return the baseline of F1, precision and recall; 0 without a file."""
        if not self.baseline:
            return np.zeros(3)
        try:
            rows = {
                int(row["LAYER"]): row
                for row in csv.DictReader(Path(self.baseline).read_text(encoding="utf-8").splitlines())
            }
            return np.array([float(rows[self.layer][name]) for name in "FPR"])
        except (OSError, KeyError, ValueError) as error:
            raise BadInput(
                f"{self.baseline!r} is not a baseline file with a row for layer {self.layer} ({error}). Pass the "
                "package's bert_score/rescale_baseline/en/MODEL.tsv, with the columns LAYER,P,R,F."
            ) from None


def compare_pairs(model: str, pairs: Sequence[tuple[str, str]], *, layer: int, parameter: str) -> list[float]:
    """Return the F1, 0–1, of the two texts of each pair, without weights and baseline."""
    network = _load(model, layer, parameter)
    tokens = _tokens(network, [text for pair in pairs for text in pair], layer=layer, longest=512)
    return [float(_match(tokens[text], tokens[other], None, _special_ids(network))[0]) for text, other in pairs]


def _load(model: str, layer: int, parameter: str = "model") -> PublishedModel:
    network = models.load(model, "AutoModel", parameter=parameter)
    if layer > network.model.config.num_hidden_layers:
        raise BadSpec(f"{model!r} has {network.model.config.num_hidden_layers} layers, not {layer}.")
    return network


def _tokens(network: PublishedModel, texts: Sequence[str], *, layer: int, longest: int) -> dict[str, Tokens]:
    network.model.config.output_hidden_states = True
    distinct = list(dict.fromkeys(texts))
    encodings = network.encode([_strip(network, text) for text in distinct], longest=longest)
    tokens = {}
    for at, row in network.run_encoded(
        encodings, lambda outputs, mask: outputs.hidden_states[layer].float().cpu().numpy()
    ):
        ids = encodings[at]["input_ids"]
        vectors = row[: len(ids)]
        tokens[distinct[at]] = (ids, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    return tokens


def _strip(network: PublishedModel, text: str) -> str:
    """Strip the text; as in the package, add a space where the tokenizer treats a first word differently."""
    text = text.strip()
    return f" {text}" if text and network.model.config.model_type in _WITH_SPACES else text


def _special_ids(network: PublishedModel) -> frozenset[int]:
    names = ("cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id")
    return frozenset(getattr(network.tokenizer, name) for name in names) - {None}


def _match(output: Tokens, other: Tokens, rarity: dict[int, float] | None, special: frozenset[int]) -> Floats:
    """Return F1, precision and recall."""
    similarities = output[1] @ other[1].T
    precision = _average(similarities.max(axis=1), output[0], rarity, special)
    recall = _average(similarities.max(axis=0), other[0], rarity, special)
    both = precision + recall
    return np.array([2 * precision * recall / both if both else 0.0, precision, recall])


def _average(values: Any, ids: list[int], rarity: dict[int, float] | None, special: frozenset[int]) -> float:
    weight = np.array([0.0 if token in special else 1.0 if rarity is None else rarity[token] for token in ids])
    return float((values * weight).sum() / weight.sum()) if weight.sum() > 0 else 0.0
