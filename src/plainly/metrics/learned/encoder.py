"""The shipped encoder: texts in, estimates and token vectors out, through onnxruntime, with nothing computed twice.

Texts are scored once however often they occur, sorted by length and batched, so that little is spent on padding. Each
core runs batches of its own: at these sizes, threads that share one batch wait for each other half the time. A text's
result does not depend on its batch beyond 1e-3 (measured: 1e-5), because every token is quantised by itself.
"""

import json
import multiprocessing
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.errors import BadInput, MissingExtra, did_you_mean
from plainly.machine import cores

Vectors = npt.NDArray[np.float32]
Batch = tuple[list[int], list[int], list[Any]]  # positions of its texts, their lengths in tokens, what was asked for
SHIPPED = "plainly-sle-1"
_MODELS = Path(__file__).parents[2] / "models"
_TOKENS_IN_A_BATCH = 320  # Larger batches leave the cache and are slower on a CPU.
_CHARACTERS = 4000  # More never fits into the model's window, and tokenising it would take time for nothing.


@dataclass(frozen=True)
class Encoder:
    """A model in a directory: ``model.onnx``, ``tokenizer.json`` and ``model.json``."""

    name: str
    heads: tuple[str, ...]
    longest: int
    session: Any
    tokenizer: Any
    threads: int = 1

    def estimates(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """The value of each text on each head, shape (n, heads); NaN for a text without a token."""
        place = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        estimates = np.full((len(place), len(self.heads)), np.nan)
        for chosen, _, (values,) in self._run(list(place), ["values"]):
            estimates[chosen] = values
        return estimates[[place[text] for text in texts]]

    def vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """A unit vector for each token of each text, shape (tokens, width); texts that are equal share one array."""
        distinct = list(dict.fromkeys(texts))
        by_text: dict[str, Vectors] = {text: np.empty((0, 0), dtype=np.float32) for text in distinct}
        for chosen, lengths, (vectors,) in self._run(distinct, ["vectors"]):
            for row, (at, length) in enumerate(zip(chosen, lengths, strict=True)):
                words = vectors[row, 1 : length - 1]  # without the marks of beginning and end
                by_text[distinct[at]] = words / np.linalg.norm(words, axis=1, keepdims=True)
        return [by_text[text] for text in texts]

    def _run(self, texts: Sequence[str], wanted: list[str]) -> Iterator[Batch]:
        encoded = self.tokenizer.encode_batch([text[:_CHARACTERS] for text in texts])
        ids = {at: tokens.ids for at, tokens in enumerate(encoded) if len(tokens.ids) > 2}

        def run(chosen: list[int]) -> Batch:
            lengths = [len(ids[at]) for at in chosen]
            tokens = np.zeros((len(chosen), max(lengths)), dtype=np.int64)
            for row, at in enumerate(chosen):
                tokens[row, : lengths[row]] = ids[at]
            mask = (np.arange(tokens.shape[1]) < np.array(lengths)[:, None]).astype(np.int64)
            return chosen, lengths, self.session.run(wanted, {"tokens": tokens, "mask": mask})

        batches = list(by_length({at: len(row) for at, row in ids.items()}, budget=_TOKENS_IN_A_BATCH))
        if self.threads == 1 or len(batches) == 1:
            yield from map(run, batches)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            waiting: deque[Future[Batch]] = deque()
            for chosen in batches:
                waiting.append(pool.submit(run, chosen))
                if len(waiting) > 2 * self.threads:  # Results are taken as they come, so that few are held.
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


def load(model: str = SHIPPED, *, threads: int = 0) -> Encoder:
    """The shipped model by name, or one that ``plainly train sle`` wrote, by its directory; loaded once.

    ``threads`` is how many batches run at once; 0 is one for each core, and one in a worker process, which has others
    beside it.
    """
    if not threads and multiprocessing.parent_process() is not None:
        threads = 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return _load(str(directory(model)), threads or (int(asked) if asked.isdigit() else 0) or cores())


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


def directory(model: str) -> Path:
    """Where a model lies, or an error that says what is missing."""
    place = _MODELS / model if (_MODELS / model).is_dir() else Path(model)
    missing = [name for name in ("model.onnx", "tokenizer.json", "model.json") if not (place / name).is_file()]
    if missing:
        shipped = sorted(path.name for path in _MODELS.iterdir() if path.is_dir())
        raise BadInput(
            f"{model!r} is no model of plainly: {place} has no {missing[0]}.{did_you_mean(model, shipped)} Give the "
            f"directory that 'plainly train sle' wrote, or one that is shipped: {', '.join(shipped)}"
        )
    return place


@lru_cache(maxsize=4)
def _load(place: str, threads: int) -> Encoder:
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("The learned metrics", package=str(error.name), extra="learned") from None
    facts = json.loads((Path(place) / "model.json").read_text(encoding="utf-8"))
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads, options.inter_op_num_threads = 3, 1, 1
    tokenizer = Tokenizer.from_file(str(Path(place) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(int(facts["longest"]))
    session = onnxruntime.InferenceSession(
        str(Path(place) / "model.onnx"),
        options,
        providers=["CPUExecutionProvider"],
        # Measured: the fused operations are the slower ones on a CPU, by a third in all.
        disabled_optimizers=["SkipLayerNormFusion", "BiasGeluFusion"],
    )
    return Encoder(facts["name"], tuple(facts["heads"]), int(facts["longest"]), session, tokenizer, threads)
