"""The shipped models: texts, or pairs of texts, in; estimates and token vectors out, through onnxruntime.

Texts are read once however often they occur, and their scores are remembered (``score_cache``). A batch holds texts of
one length, so that nothing is padded: then a text's result does not depend on its batch at all, since every token is
quantised by itself. Each core runs batches of its own: at these sizes, threads that share one batch wait for each other
half the time. Texts longer than the window are read in pieces (``pieces``).
"""

import hashlib
import json
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from plainly.core import progress
from plainly.core.errors import BadInput, DataUnavailable, MissingExtra, did_you_mean
from plainly.core.machine import cores
from plainly.core.metric import Floats, Metric, Needs, mean_rows, means, ratio
from plainly.learned import score_cache
from plainly.learned.pieces import VERSION, pieces, windows

Vectors = npt.NDArray[np.float32]
Text = str | tuple[str, str]  # a text, or a source and its output
Tokens = tuple[list[int], list[int]]  # their ids, and which of the two texts each belongs to
Batch = tuple[list[int], list[Any]]  # positions of its texts, what was asked for
SHIPPED = "plainly-sle-2"
JUDGE = "plainly-quality-2"
_MODELS = Path(__file__).parent / "weights"
_TOKENS_IN_A_BATCH = 320  # Larger batches leave the cache and are slower on a CPU.
_MARKS = 3  # around and between the texts of a pair; a text alone has one less


class Readings(NamedTuple):
    """What a model says of some texts."""

    values: Floats  # (n, heads); NaN where there is nothing to read
    pieces: Floats  # in how many pieces each was read


@dataclass(frozen=True)
class Encoder:
    """A model in a directory: ``model.onnx``, ``tokenizer.json`` and ``model.json``, whose content is ``facts``."""

    name: str
    heads: tuple[str, ...]
    longest: int
    session: Any
    tokenizer: Any
    threads: int = 1
    paired: bool = False  # whether it reads a source and its output
    identity: str = ""  # of the weights; nothing is remembered of a model without it
    facts: Mapping[str, Any] | None = None

    def estimates(self, texts: Sequence[Text]) -> Floats:
        """The value of each text on each head, shape (n, heads); NaN for a text without a token."""
        return self.readings(texts).values

    def readings(self, texts: Sequence[Text]) -> Readings:
        """The values, and in how many pieces each text was read; a pair is NaN where either text has no token."""

        def compute(chosen: Sequence[int]) -> Floats:
            return self._read([texts[at] for at in chosen])

        keys = [text if isinstance(text, str) else f"\x1e{text[0]}\x1e{text[1]}" for text in texts]
        rows = self.remembered("", keys, len(self.heads) + 1, compute)
        return Readings(rows[:, :-1], rows[:, -1])

    def remembered(
        self, reading: str, texts: Sequence[str], width: int, compute: Callable[[list[int]], Floats]
    ) -> Floats:
        """A row of each text by this way of ``reading``, each distinct text computed once: ``scorecache``."""
        if self.identity:
            return score_cache.remembered(f"{self.identity} {VERSION} {reading}".rstrip(), texts, width, compute)
        if not texts:
            return np.empty((0, width))
        first = {text: at for at, text in reversed(list(enumerate(texts)))}
        place = {text: row for row, text in enumerate(first)}
        return compute(list(first.values())).reshape(-1, width)[[place[text] for text in texts]]

    def vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """A unit vector for each token of each text, shape (tokens, width); texts that are equal share one array."""
        distinct = list(dict.fromkeys(texts))
        owners, tokens = self._tokens(distinct)
        parts: dict[int, Vectors] = {}
        for chosen, (vectors,) in self._run(tokens, ["vectors"]):
            for at, words in zip(chosen, vectors[:, 1:-1], strict=True):  # without the marks of beginning and end
                parts[at] = words / np.linalg.norm(words, axis=1, keepdims=True)
        by_text: dict[str, list[Vectors]] = {text: [] for text in distinct}
        for at in sorted(parts):
            by_text[distinct[owners[at]]].append(parts[at])
        whole = {text: np.concatenate(of) if of else np.empty((0, 0), np.float32) for text, of in by_text.items()}
        return [whole[text] for text in texts]

    def features(self, texts: Sequence[str]) -> tuple[Floats, Floats]:
        """The value on each head and the average token vector of each text, in one pass; zeros without a token.

        Of a text that is longer than the window, the average over its pieces.
        """
        distinct = list(dict.fromkeys(texts))
        owned, tokens = self._tokens(distinct)
        values: Floats = np.zeros((len(tokens), len(self.heads)))
        vectors: Floats = np.zeros((len(tokens), self.width))
        for chosen, (estimates, layer) in self._run(tokens, ["values", "vectors"]):
            values[chosen], vectors[chosen] = estimates, layer[:, 1:-1].mean(axis=1)
        counts = np.maximum(np.bincount(owned, minlength=len(distinct)), 1)[:, None]
        place = {text: at for at, text in enumerate(distinct)}
        rows = [place[text] for text in texts]
        both = []
        for read in (values, vectors):
            sums: Floats = np.zeros((len(distinct), read.shape[1]))
            np.add.at(sums, np.array(owned, dtype=np.intp), read)
            both.append((sums / counts)[rows])
        if self.identity:  # who asks for the values of texts of one piece alone need not have them read again
            pieces = np.bincount(owned, minlength=len(distinct))[rows]
            single = np.flatnonzero(pieces == 1)
            known = np.column_stack([both[0], pieces])[single]
            self.remembered("", [texts[at] for at in single.tolist()], known.shape[1], lambda at: known[at])
        return both[0], both[1]

    @property
    def width(self) -> int:
        """How many numbers a token vector has."""
        wanted = {output.name: output.shape for output in self.session.get_outputs()}
        return int(wanted["vectors"][-1])

    def _read(self, texts: Sequence[Text]) -> Floats:
        """A row for each text: the mean of its pieces by their tokens, and how many there are."""
        owned, tokens = self._tokens(texts)
        owners, values = np.array(owned, dtype=np.intp), np.zeros((len(tokens), len(self.heads)))
        for chosen, (estimates,) in self._run(tokens, ["values"]):
            values[chosen] = estimates
        weights = np.array([len(ids) for ids, _ in tokens], dtype=np.float64)
        counts = np.bincount(owners, minlength=len(texts)).astype(np.float64)
        means = np.zeros((len(texts), len(self.heads)))
        np.add.at(means, owners, weights[:, None] * values)
        totals: Floats = np.bincount(owners, weights, minlength=len(texts)).astype(np.float64)
        means = ratio(means, totals[:, None])
        whole = counts[owners] == 1
        means[owners[whole]] = values[whole]  # exactly as the model says it
        return np.column_stack([means, counts])

    def _tokens(self, texts: Sequence[Text]) -> tuple[list[int], list[Tokens]]:
        """The tokens of each text that has any, in pieces where it is too long, and whose they are."""
        owners: list[int] = []
        tokens: list[Tokens] = []
        for owner, encoded in enumerate(self.tokenizer.encode_batch(list(map(_writable, texts)))):
            text, parts = texts[owner], [encoded]
            if len(encoded.ids) > self.longest:
                cut: Sequence[Text]
                if isinstance(text, str):
                    cut = windows(text, size=self.sizes, longest=self.longest - _MARKS + 1)
                else:
                    cut = pieces(*text, size=self.sizes, longest=self.longest - _MARKS)
                parts = self.tokenizer.encode_batch(list(map(_writable, cut)))
            for part in parts:
                if self._says_something(part, text):
                    owners.append(owner)
                    tokens.append((part.ids[: self.longest], part.type_ids[: self.longest]))
        return owners, tokens

    @staticmethod
    def _says_something(encoded: Any, text: Text) -> bool:
        sides = {side for side in encoded.sequence_ids if side is not None}
        return len(sides) == (1 if isinstance(text, str) else 2)

    def sizes(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, without marks."""
        return [
            len(tokens.ids)
            for tokens in self.tokenizer.encode_batch(list(map(_writable, texts)), add_special_tokens=False)
        ]

    def _run(self, tokens: Sequence[Tokens], wanted: list[str]) -> Iterator[Batch]:
        def run(chosen: list[int]) -> Batch:
            ids = np.array([tokens[at][0] for at in chosen], dtype=np.int64)
            inputs = {"tokens": ids, "mask": np.ones_like(ids)}
            if self.paired:
                inputs["types"] = np.array([tokens[at][1] for at in chosen], dtype=np.int64)
            return chosen, self.session.run(wanted, inputs)

        batches = list(equally_long([len(ids) for ids, _ in tokens], budget=_TOKENS_IN_A_BATCH))
        with progress.report_steps(len(tokens)) as tell:
            for batch in self._in_threads(run, batches):
                tell(len(batch[0]))
                yield batch

    def _in_threads(self, run: Any, batches: Sequence[list[int]]) -> Iterator[Batch]:
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


def _writable(text: Text) -> Text:
    """The text with half characters (lone surrogates), which no tokeniser takes, as question marks."""
    if isinstance(text, str):
        return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    source, output = text
    return str(_writable(source)), str(_writable(output))


def load(model: str = SHIPPED, *, threads: int = 0) -> Encoder:
    """The shipped model by name, or one that ``plainly train`` wrote, by its directory; loaded once.

    ``threads`` is how many batches run at once; 0 is one for each core, and one in a worker process, which has others
    beside it.
    """
    if not threads and multiprocessing.parent_process() is not None:
        threads = 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    place = directory(model)
    try:
        encoder = _load(str(place), threads or (int(asked) if asked.isdigit() else 0) or cores())
        _check(encoder)
    except MissingExtra:
        raise
    except Exception as error:  # each library has its own for files that are damaged
        why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise BadInput(f"{place} holds no model that can be used ({why}). Copy it, or train it, again.") from error
    return encoder


def _check(encoder: Encoder) -> None:
    """Raise unless the network is one that goes with the file that describes it."""
    outputs = {output.name: output.shape for output in encoder.session.get_outputs()}
    if "tokens" not in {entry.name for entry in encoder.session.get_inputs()} or "values" not in outputs:
        raise ValueError("model.onnx takes no tokens or gives no values")
    width = outputs["values"][-1]
    if isinstance(width, int) and width != len(encoder.heads):
        raise ValueError(f"model.onnx has {width} heads, model.json names {len(encoder.heads)}")


def equally_long(lengths: Sequence[int], *, budget: int) -> Iterator[list[int]]:
    """Positions by length, the short first: in a batch all are of one length, and together within ``budget`` tokens."""
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lambda at: lengths[at]):
        if batch and (lengths[at] != lengths[batch[0]] or (len(batch) + 1) * lengths[at] > budget):
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
        if model in (SHIPPED, JUDGE):
            raise DataUnavailable(f"The model {model} is not part of this installation. Install plainly again.")
        raise BadInput(
            f"{model!r} is no model of plainly: {place} has no {missing[0]}.{did_you_mean(model, shipped)} Give the "
            f"directory that 'plainly train' wrote, or one that is shipped: {', '.join(shipped)}"
        )
    return place


def session_options() -> Any:
    """Options for ONNX Runtime with which scores depend little on the processor."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Without this, processors that lack VNNI, the instructions for eight bits, clip large sums: on 60 pairs that moved
    # single scores by up to 2.6 points and their mean by .16. With it AVX2 differs by at most .45, and the mean by .01.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return options


@lru_cache(maxsize=4)
def _load(place: str, threads: int) -> Encoder:
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("The learned metrics", package=str(error.name), extra="learned") from None
    weights, spelling = (Path(place, name).read_bytes() for name in ("model.onnx", "tokenizer.json"))
    facts = json.loads(Path(place, "model.json").read_text(encoding="utf-8"))
    options = session_options()
    options.intra_op_num_threads, options.inter_op_num_threads = 1, 1
    tokenizer = Tokenizer.from_str(spelling.decode("utf-8"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    session = onnxruntime.InferenceSession(
        weights,
        options,
        providers=["CPUExecutionProvider"],
        # Measured: the fused operations are the slower ones on a CPU, by a third in all.
        disabled_optimizers=["SkipLayerNormFusion", "BiasGeluFusion"],
    )
    digest = hashlib.blake2b(weights + spelling, digest_size=12).hexdigest()
    identity = f"{digest} {facts['longest']} {onnxruntime.__version__} unclipped"
    heads, longest = tuple(facts["heads"]), int(facts["longest"])
    paired = "types" in {entry.name for entry in session.get_inputs()}
    return Encoder(facts["name"], heads, longest, session, tokenizer, threads, paired, identity, facts)


def embed(texts: Sequence[str]) -> Floats:
    """The average token vector of each text, by the shipped model."""
    return load().features(texts)[1]


class ReadingMetric(Metric):
    """A metric whose rows are values, how many of them there are, and whether the item was read in pieces."""

    needs: ClassVar[Needs] = frozenset({"source"})
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    learned: ClassVar[bool] = True
    batch_tolerance: ClassVar[float] = 1e-6

    def score(self, totals: Floats) -> Floats:
        return means(totals[..., :-1])

    def count_long_items(self, totals: Floats) -> int:
        return int(totals[-1])


def rows(*columns: Floats, pieces: Floats) -> Floats:
    """Rows of values, where NaN says that an item has none, read in so many pieces."""
    return np.column_stack([mean_rows(*columns), pieces > 1])
