"""Published weights: loading them, running texts through them in sorted batches, and what their metrics share."""

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from plainly.core.errors import DataUnavailable, MissingExtra
from plainly.core.metric import Floats, MeanMetric, Needs

Text = str | tuple[str, str]
_FILES = "config.json, model.safetensors or pytorch_model.bin, and"
_TOKENS_IN_A_BATCH = {"cpu": 2048, "cuda": 16384}


class PublishedMetric(MeanMetric):
    """What metrics on published weights have in common, unless they say otherwise."""

    needs: ClassVar[Needs] = frozenset({"source"})
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    learned: ClassVar[bool] = True
    batch_tolerance: ClassVar[float] = 1e-3


@dataclass(frozen=True)
class PublishedModel:
    """A model, its tokenizer and the device that it is on."""

    model: Any
    tokenizer: Any
    device: str

    def run(self, texts: Iterable[Text], read: Callable[[Any, Any], Any], *, longest: int) -> dict[Text, Any]:
        """For each distinct text its row of ``read(outputs, mask)``."""
        distinct = list(dict.fromkeys(texts))
        return {distinct[at]: row for at, row in self.run_encoded(self.encode(distinct, longest=longest), read)}

    def run_encoded(
        self, encoded: Sequence[dict[str, list[int]]], read: Callable[[Any, Any], Any]
    ) -> Iterator[tuple[int, Any]]:
        """The rows of ``read(outputs, mask)`` with the positions of their texts; batches are of like length."""
        import torch

        for chosen, batch in self.batches(encoded):
            with torch.inference_mode(), torch.autocast(self.device, torch.float16, enabled=self.device == "cuda"):
                rows = read(self.model(**batch), batch["attention_mask"])
            yield from zip(chosen, rows, strict=True)

    def batches(self, encoded: Sequence[dict[str, list[int]]]) -> Iterator[tuple[list[int], Any]]:
        """Padded batches of like length on the device, each with the positions of its rows."""
        lengths = {at: len(row["input_ids"]) for at, row in enumerate(encoded)}
        for chosen in by_length(lengths, budget=_TOKENS_IN_A_BATCH[self.device]):
            yield chosen, self.tokenizer.pad([encoded[at] for at in chosen], return_tensors="pt").to(self.device)

    def encode(self, texts: Sequence[Text], *, longest: int) -> list[dict[str, list[int]]]:
        """The tokens of all texts at once, on all cores: one call for each text would keep a GPU waiting."""
        if not texts:
            return []
        paired = isinstance(texts[0], tuple)
        columns = tuple(map(list, zip(*texts, strict=True))) if paired else (list(texts),)
        encoded = self.tokenizer(*columns, truncation=True, max_length=longest)
        return [dict(zip(encoded, row, strict=True)) for row in zip(*encoded.values(), strict=True)]


def require(*packages: str) -> None:
    """Raise unless these packages, or torch and transformers, are installed."""
    for package in packages or ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra("A published learned metric", package=package, extra="torch")


def classifier(name: str, *, labels: int | None = None) -> PublishedModel:
    """A model with a classification or regression head."""
    return _load(name, "AutoModelForSequenceClassification", labels)


def encoder(name: str, *, parameter: str = "model") -> PublishedModel:
    """A bare encoder."""
    return _load(name, "AutoModel", None, parameter)


def seq2seq(name: str, *, parameter: str) -> PublishedModel:
    """A model that writes text from text (T5)."""
    require("torch", "transformers", "sentencepiece")  # without the last, transformers asks for a package of no use
    return _load(name, "AutoModelForSeq2SeqLM", None, parameter)


def untrained(name: str, *, parameter: str) -> PublishedModel:
    """An encoder without its weights, for a checkpoint that has them all; made anew for whoever fills it."""
    require()
    import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(name)
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise DataUnavailable(missing(name, error, parameter=parameter, files="config.json and")) from None
    model: Any = transformers.AutoModel
    return _placed(model.from_config(config), tokenizer)


def values(loaded: PublishedModel, texts: Sequence[Text], *, longest: int) -> Floats:
    """The logits of each text, shape (n, labels); each distinct text is scored once."""
    # A batch leaves the device as a whole: fetching it row by row would stop the device at each.
    logits = loaded.run(texts, lambda outputs, mask: outputs.logits.double().cpu().numpy(), longest=longest)
    return np.array([logits[text] for text in texts]).reshape(len(texts), loaded.model.config.num_labels)


@lru_cache(maxsize=6)
def _load(name: str, kind: str, labels: int | None, parameter: str = "model") -> PublishedModel:
    """A model by hub name or directory, which the spec gives as ``parameter``."""
    require()
    import transformers

    settings = {} if labels is None else {"num_labels": labels}
    try:
        with quiet():
            model = getattr(transformers, kind).from_pretrained(name, **settings)
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise DataUnavailable(missing(name, error, parameter=parameter)) from None
    return _placed(model, tokenizer)


@contextmanager
def quiet() -> Iterator[None]:
    """transformers draws a progress bar for every model, however small; a library does not print."""
    import transformers

    logging: Any = transformers.utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _placed(model: Any, tokenizer: Any) -> PublishedModel:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    return PublishedModel(model.to(device).eval(), tokenizer, device)


def missing(name: str, error: Exception, *, parameter: str, files: str = _FILES) -> str:
    """What to download to where, for weights that are not there."""
    first = next(iter(str(error).strip().splitlines()), type(error).__name__)
    wanted = f"{files} the tokenizer's files (tokenizer.json, or vocab.json and merges.txt, or spiece.model)"
    if Path(name).is_dir():
        return f"The directory {name!r} could not be loaded ({first}). {parameter}=DIRECTORY must hold {wanted}."
    return (
        f"The weights {name!r} could not be loaded ({first}). With a network, transformers fetches them by that name. "
        f"Without one, download {wanted} from https://huggingface.co/{name} into a directory, and give the directory: "
        f"{parameter}=DIRECTORY"
    )


def by_length(lengths: Mapping[int, int], *, budget: int) -> Iterator[list[int]]:
    """Positions in order of length, as many at a time as fit into ``budget`` tokens with their padding."""
    batch: list[int] = []
    for at in sorted(lengths, key=lambda at: lengths[at]):
        if batch and (len(batch) + 1) * lengths[at] > budget:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch
