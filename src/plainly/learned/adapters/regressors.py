"""Published models with one head: SLE, MeaningBERT, entailment, any regressor by name, and CEFR classifiers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from plainly.core.errors import BadInput, BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Needs, TargetKind, mean_rows
from plainly.learned.adapters import weights
from plainly.learned.adapters.weights import PublishedMetric
from plainly.learned.cefr import LEVELS, LevelMetric, number_of

# MeaningBERT's percentages from what the network gives, by the output that its configuration names.
_PERCENT: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda values: values,
    "sigmoid": lambda values: 100 / (1 + np.exp(-values)),
    "normalized": lambda values: 100 * values,
    "clamped": lambda values: 100 * values,
}


@dataclass(frozen=True, repr=False)
class PublishedSle(PublishedMetric):
    """SLE with its published weights (Cripwell et al. 2023): RoBERTa, one head, 128 tokens, levels 0 to 4.

    Trained on Newsela; what plainly ships as ``sle`` is another model on the same scale. The two are not comparable.
    """

    model: str = "liamcripwell/sle-base"
    target: float | None = None

    name: ClassVar[str] = "sle-published"
    outputs: ClassVar[tuple[str, ...]] = ("delta", "output", "source", "error")
    needs_of: ClassVar[Mapping[str, Needs]] = {"output": frozenset(), "error": frozenset()}
    target_kind: ClassVar[TargetKind] = "number"

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        level, source = _one_by_one(self.model, evalset, outputs, longest=128)
        error = np.abs(level - self.target) if self.target is not None else np.full(len(outputs), np.nan)
        return mean_rows(level - source, level, source, error)


@dataclass(frozen=True, repr=False)
class MeaningBert(PublishedMetric):
    """MeaningBERT (Beauchemin et al. 2023): meaning kept between source and output, 0–100.

    The published model gives percentages as they are; one whose configuration names another output (sigmoid,
    normalized, clamped) is mapped to them. Values beyond 0 and 100 are cut off, as in the authors' scorer;
    ``clip=false`` leaves them, as on their model card.
    """

    model: str = "davebulaval/MeaningBERT"
    longest: int = 512
    clip: bool = True

    name: ClassVar[str] = "meaningbert"
    outputs: ClassVar[tuple[str, ...]] = ("meaning",)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        loaded = weights.classifier(self.model, labels=1)
        pairs = list(zip(evalset.sources, outputs, strict=True))
        head = str(getattr(loaded.model.config, "meaningbert_output_head", None) or "linear")
        if head not in _PERCENT:
            raise BadInput(
                f"{self.model!r} has the output {head!r}; MeaningBERT's are linear, sigmoid, normalized and clamped."
            )
        kept = _PERCENT[head](weights.values(loaded, pairs, longest=self.longest)[:, 0])
        return mean_rows(np.clip(kept, 0, 100) if self.clip else kept)


@dataclass(frozen=True, repr=False)
class Entailment(PublishedMetric):
    """Does the source entail the output (``faithful``), and the output the source (``complete``)? Probabilities, 0–100.

    Any model for natural-language inference; which of its labels means entailment is read from its configuration.
    """

    model: str = "FacebookAI/roberta-large-mnli"
    longest: int = 256

    name: ClassVar[str] = "entailment"
    outputs: ClassVar[tuple[str, ...]] = ("faithful", "complete", "contradiction")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        from scipy import special

        loaded = weights.classifier(self.model)
        labels = {str(label).casefold(): int(at) for label, at in loaded.model.config.label2id.items()}
        if "entailment" not in labels or "contradiction" not in labels:
            raise BadInput(
                f"{self.model!r} has the labels {', '.join(labels)}; an entailment model names entailment and "
                "contradiction in its config.json (label2id)."
            )
        there, back = (
            special.softmax(weights.values(loaded, list(zip(*texts, strict=True)), longest=self.longest), axis=1)
            for texts in ((evalset.sources, outputs), (outputs, evalset.sources))
        )
        yes, no = labels["entailment"], labels["contradiction"]
        return mean_rows(100 * there[:, yes], 100 * back[:, yes], 100 * there[:, no])


@dataclass(frozen=True, repr=False)
class Regressor(PublishedMetric):
    """Any model with one value, by hub name or directory, of each output or of source and output together.

    ``delta`` is the output's value minus the source's, where each text is scored by itself (``reads=output``).
    """

    model: str = ""
    reads: Literal["output", "pair"] = "output"
    longest: int = 512

    name: ClassVar[str] = "regressor"
    outputs: ClassVar[tuple[str, ...]] = ("value", "delta")
    needs_of: ClassVar[Mapping[str, Needs]] = {"value": frozenset()}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reads == "pair":
            object.__setattr__(self, "needs_of", {})

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        weights.require()
        if not self.model:
            raise BadSpec("regressor needs a model: regressor(model=NAME-OR-DIRECTORY)")
        if self.reads == "pair":
            loaded = weights.classifier(self.model, labels=1)
            pairs = list(zip(evalset.sources, outputs, strict=True))
            value = weights.values(loaded, pairs, longest=self.longest)[:, 0]
            return mean_rows(value, np.full(len(outputs), np.nan))
        value, source = _one_by_one(self.model, evalset, outputs, longest=self.longest)
        return mean_rows(value, value - source)


def _one_by_one(model: str, evalset: EvalSet, outputs: Sequence[str], *, longest: int) -> tuple[Floats, Floats]:
    """The values of outputs and sources, each text by itself."""
    loaded = weights.classifier(model, labels=1)
    key = ("regressor", model, longest)
    source = evalset.prepare(key, lambda evalset: weights.values(loaded, evalset.sources, longest=longest)[:, 0])
    return weights.values(loaded, outputs, longest=longest)[:, 0], source


@dataclass(frozen=True, repr=False)
class PublishedCefr(LevelMetric):
    """CEFR level by the shared task's three ModernBERT classifiers, the one with the highest probability deciding.

    As in the TSAR 2025 shared task: each of three classifiers says how sure it is of its level, and the surest decides.
    ``document``, ``sentence`` and ``reference`` name them; each may be a directory. The measures are those of ``cefr``.
    """

    target: str | None = None
    document: str = "AbdullahBarayan/ModernBERT-base-doc_en-Cefr"
    sentence: str = "AbdullahBarayan/ModernBERT-base-doc_sent_en-Cefr"
    reference: str = "AbdullahBarayan/ModernBERT-base-reference_AllLang2-Cefr2"
    longest: int = 8192

    name: ClassVar[str] = "cefr-published"
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")

    def read(self, texts: Sequence[str]) -> Floats:
        from scipy import special

        worded = [at for at, text in enumerate(texts) if text.strip()]
        surest = np.full(len(texts), np.nan)
        if not worded:
            return surest
        sure, level = np.zeros(len(worded)), np.zeros(len(worded))
        for name in (self.document, self.sentence, self.reference):
            loaded = weights.classifier(name)
            numbers = _levels(name, loaded.model.config.id2label)
            shares = special.softmax(weights.values(loaded, [texts[at] for at in worded], longest=self.longest), axis=1)
            best = shares.argmax(axis=1)
            surer = shares.max(axis=1) > sure
            level = np.where(surer, numbers[best], level)
            sure = np.maximum(sure, shares.max(axis=1))
        surest[worded] = level
        return surest


def _levels(name: str, labels: dict[int, str]) -> Floats:
    """What each output of a classifier stands for."""
    numbers = [number_of(labels[at]) for at in sorted(labels)]
    if None in numbers:
        raise BadInput(
            f"{name!r} has the labels {', '.join(map(str, labels.values()))}; a CEFR classifier names "
            f"{', '.join(LEVELS)} in its config.json (id2label)."
        )
    return np.array(numbers, dtype=np.float64)
