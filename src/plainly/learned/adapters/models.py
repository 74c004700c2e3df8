"""Published models: loading them, running texts through them, and the metrics that are one value of a model.

These are SLE, MeaningBERT, entailment, any regressor by name, and CEFR classifiers.
"""

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from plainly.core.errors import BadInput, BadSpec, DataUnavailable, MissingExtra
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Needs, TargetKind, mean_rows
from plainly.learned.adapters import hub
from plainly.learned.cefr import LEVELS, LevelMetric, number_of
from plainly.learned.encoder import LearnedMetric, batch_by_length
from plainly.learned.score_cache import Text

CLASSIFIER = "AutoModelForSequenceClassification"  # a model with a classification or regression head
_TOKENS_PER_BATCH = {"cpu": 2048, "cuda": 16384}
# MeaningBERT's percentages from the value of the network, by the output that its configuration names.
_PERCENT: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda values: values,
    "sigmoid": lambda values: 100 / (1 + np.exp(-values)),
    "normalized": lambda values: 100 * values,
    "clamped": lambda values: 100 * values,
}


class PublishedMetric(LearnedMetric):
    """A metric on published weights."""

    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")


@dataclass(frozen=True)
class PublishedModel:
    """A model, its tokenizer and the device that it is on."""

    model: Any
    tokenizer: Any
    device: str

    def run(self, texts: Iterable[Text], read: Callable[[Any, Any], Any], *, longest: int) -> dict[Text, Any]:
        """Return for each distinct text its row of ``read(outputs, mask)``."""
        distinct = list(dict.fromkeys(texts))
        return {distinct[at]: row for at, row in self.run_encoded(self.encode(distinct, longest=longest), read)}

    def run_encoded(
        self, encodings: Sequence[dict[str, list[int]]], read: Callable[[Any, Any], Any]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the rows of ``read(outputs, mask)`` with the positions of their texts."""
        import torch

        for positions, batch in self.batches(encodings):
            with torch.inference_mode(), torch.autocast(self.device, torch.float16, enabled=self.device == "cuda"):
                rows = read(self.model(**batch), batch["attention_mask"])
            yield from zip(positions, rows, strict=True)

    def batches(self, encodings: Sequence[dict[str, list[int]]]) -> Iterator[tuple[list[int], Any]]:
        """Yield padded batches of similar length on the device, each with the positions of its rows."""
        lengths = [len(row["input_ids"]) for row in encodings]
        for positions in batch_by_length(lengths, budget=_TOKENS_PER_BATCH[self.device], pad=True):
            rows = [encodings[at] for at in positions]
            yield positions, self.tokenizer.pad(rows, return_tensors="pt").to(self.device)

    def encode(self, texts: Sequence[Text], *, longest: int) -> list[dict[str, list[int]]]:
        """Return the tokens of all texts, in one call on all cores: a call per text would keep a GPU waiting."""
        if not texts:
            return []
        columns = tuple(map(list, zip(*texts, strict=True))) if isinstance(texts[0], tuple) else (list(texts),)
        encodings = self.tokenizer(*columns, truncation=True, max_length=longest)
        return [dict(zip(encodings, row, strict=True)) for row in zip(*encodings.values(), strict=True)]


def require(*packages: str) -> None:
    """Raise an error unless torch, transformers and these packages are installed."""
    for package in ("torch", "transformers", *packages):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra("A published learned metric", package=package, extra="torch")


def load_model(name: str, kind: str, *, labels: int | None = None, parameter: str = "model") -> PublishedModel:
    """Load a model by hub name or directory, which the metric's ``parameter`` names.

    ``kind`` is its class in transformers. If it is empty, the model is a new encoder without weights, for a checkpoint
    that has them all.
    """
    require()
    path = str(hub.directory(name, part="model" if kind else "encoder", parameter=parameter))
    import torch
    import transformers

    try:
        with quiet():
            if kind:
                settings = {} if labels is None else {"num_labels": labels}
                model = getattr(transformers, kind).from_pretrained(path, local_files_only=True, **settings)
            else:
                auto_model: Any = transformers.AutoModel
                config = transformers.AutoConfig.from_pretrained(path, local_files_only=True)
                model = auto_model.from_config(config)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    except (OSError, ValueError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        weights = "config.json, model.safetensors or pytorch_model.bin, and" if kind else "config.json and"
        files = f"{weights} the tokenizer's files (tokenizer.json, or vocab.json and merges.txt, or spiece.model)"
        advice = f"{parameter}=DIRECTORY must hold {files}."
        if not Path(name).is_dir():
            advice = f"Check the files in {path}: plainly models get {name}"
        raise DataUnavailable(f"The weights {name!r} could not be loaded ({reason}). {advice}") from None
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return PublishedModel(model.to(device).eval(), tokenizer, device)


load = lru_cache(maxsize=6)(load_model)


def values(network: PublishedModel, texts: Sequence[Text], *, longest: int) -> Floats:
    """Return the logits of each text, shape (n, labels); each distinct text is scored once."""
    # A batch leaves the device as a whole: fetching it row by row would stop the device at each.
    logits = network.run(texts, lambda outputs, mask: outputs.logits.double().cpu().numpy(), longest=longest)
    return np.array([logits[text] for text in texts]).reshape(len(texts), network.model.config.num_labels)


@contextmanager
def quiet() -> Iterator[None]:
    """Switch off the progress bars that transformers draws for every model: a library does not print."""
    import transformers

    logging: Any = transformers.utils.logging
    was_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_enabled:
            logging.enable_progress_bar()


@dataclass(frozen=True, repr=False)
class PublishedSle(PublishedMetric):
    """SLE with its published weights (Cripwell et al. 2023): RoBERTa, one head, 128 tokens, levels 0 to 4.

    Trained on Newsela. The model that plainly ships as ``sle`` is another one on the same scale; the two are not
    comparable.
    """

    model: str = "liamcripwell/sle-base"
    target: float | None = None

    name: ClassVar[str] = "sle-published"
    outputs: ClassVar[tuple[str, ...]] = ("delta", "output", "source", "error")
    needs_of: ClassVar[Mapping[str, Needs]] = {"output": frozenset(), "error": frozenset()}
    target_kind: ClassVar[TargetKind] = "number"

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        level, source = _read_separately(self.model, evalset, outputs, longest=128)
        error = np.abs(level - self.target) if self.target is not None else np.full(len(outputs), np.nan)
        return mean_rows(level - source, level, source, error)


@dataclass(frozen=True, repr=False)
class MeaningBert(PublishedMetric):
    """MeaningBERT (Beauchemin et al. 2023): meaning kept between source and output, 0–100.

    The published model returns percentages; the values of one whose configuration names another output (sigmoid,
    normalized, clamped) are mapped to percentages. Values outside 0–100 are cut off, as in the authors' scorer;
    ``clip=false`` leaves them, as on their model card.
    """

    model: str = "davebulaval/MeaningBERT"
    longest: int = 512
    clip: bool = True

    name: ClassVar[str] = "meaningbert"
    outputs: ClassVar[tuple[str, ...]] = ("meaning",)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        network = load(self.model, CLASSIFIER, labels=1)
        head = str(getattr(network.model.config, "meaningbert_output_head", None) or "linear")
        if head not in _PERCENT:
            raise BadInput(
                f"{self.model!r} has the output {head!r}; MeaningBERT's are linear, sigmoid, normalized and clamped."
            )
        meaning = _PERCENT[head](_read_pairs(self.model, evalset, outputs, longest=self.longest))
        return mean_rows(np.clip(meaning, 0, 100) if self.clip else meaning)


@dataclass(frozen=True, repr=False)
class Entailment(PublishedMetric):
    """Does the source entail the output (``faithful``), and the output the source (``complete``)? Probabilities, 0–100.

    Any model for natural-language inference whose configuration names the label of entailment.
    """

    model: str = "FacebookAI/roberta-large-mnli"
    longest: int = 256

    name: ClassVar[str] = "entailment"
    outputs: ClassVar[tuple[str, ...]] = ("faithful", "complete", "contradiction")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        from scipy import special

        network = load(self.model, CLASSIFIER)
        labels = {str(label).casefold(): int(at) for label, at in network.model.config.label2id.items()}
        if "entailment" not in labels or "contradiction" not in labels:
            raise BadInput(
                f"{self.model!r} has the labels {', '.join(labels)}; an entailment model names entailment and "
                "contradiction in its config.json (label2id)."
            )
        forward, backward = (
            special.softmax(values(network, list(zip(*texts, strict=True)), longest=self.longest), axis=1)
            for texts in ((evalset.sources, outputs), (outputs, evalset.sources))
        )
        yes, no = labels["entailment"], labels["contradiction"]
        return mean_rows(100 * forward[:, yes], 100 * backward[:, yes], 100 * forward[:, no])


@dataclass(frozen=True, repr=False)
class Regressor(PublishedMetric):
    """Any model with one value, by hub name or directory, for each output or for source and output together.

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
        require()
        if not self.model:
            raise BadSpec("regressor needs a model: regressor(model=NAME-OR-DIRECTORY)")
        if self.reads == "pair":
            value = _read_pairs(self.model, evalset, outputs, longest=self.longest)
            return mean_rows(value, np.full(len(outputs), np.nan))
        value, source = _read_separately(self.model, evalset, outputs, longest=self.longest)
        return mean_rows(value, value - source)


def _read_pairs(model: str, evalset: EvalSet, outputs: Sequence[str], *, longest: int) -> Floats:
    network = load(model, CLASSIFIER, labels=1)
    return values(network, list(zip(evalset.sources, outputs, strict=True)), longest=longest)[:, 0]


def _read_separately(model: str, evalset: EvalSet, outputs: Sequence[str], *, longest: int) -> tuple[Floats, Floats]:
    """Return the values of outputs and sources."""
    network = load(model, CLASSIFIER, labels=1)
    key = ("regressor", model, longest)
    source = evalset.prepare(key, lambda evalset: values(network, evalset.sources, longest=longest)[:, 0])
    return values(network, outputs, longest=longest)[:, 0], source


@dataclass(frozen=True, repr=False)
class PublishedCefr(LevelMetric):
    """CEFR level by three ModernBERT classifiers: the one with the highest probability decides.

    These are the classifiers of the TSAR 2025 shared task. ``document``, ``sentence`` and ``reference`` name them; each
    may be a directory. The measures are those of ``cefr``.
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

        levels = np.full(len(texts), np.nan)
        with_words = [at for at, text in enumerate(texts) if text.strip()]
        highest = np.zeros(len(with_words))
        for name in (self.document, self.sentence, self.reference) if with_words else ():
            network = load(name, CLASSIFIER)
            labels = network.model.config.id2label
            numbers = [number_of(labels[at]) for at in sorted(labels)]
            if None in numbers:
                raise BadInput(
                    f"{name!r} has the labels {', '.join(map(str, labels.values()))}; a CEFR classifier names "
                    f"{', '.join(LEVELS)} in its config.json (id2label)."
                )
            logits = values(network, [texts[at] for at in with_words], longest=self.longest)
            probabilities = special.softmax(logits, axis=1)
            best = np.array(numbers, dtype=np.float64)[probabilities.argmax(axis=1)]
            levels[with_words] = np.where(probabilities.max(axis=1) > highest, best, levels[with_words])
            highest = np.maximum(highest, probabilities.max(axis=1))
        return levels
