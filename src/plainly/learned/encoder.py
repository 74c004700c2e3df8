"""The shipped models: texts, or pairs of texts, in; estimates and token vectors out, through onnxruntime.

Each distinct text is read once, and its scores are cached (``score_cache``). All texts of a batch have the same length,
so nothing is padded and a text's result does not depend on its batch: every token is quantised by itself. Each core
runs its own batches; at these sizes, threads that share a batch wait for each other half the time. Texts longer than
the window are read in pieces (``pieces``).
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
from plainly.core.errors import BadInput, DataUnavailable, MissingExtra, did_you_mean, require_package
from plainly.core.limits import cores
from plainly.core.metric import Floats, MeanMetric, Needs, mean_rows, means, ratio
from plainly.learned.pieces import VERSION, pieces, windows
from plainly.learned.score_cache import Text, cached_rows
from plainly.text.sentence_alignment import sentences_of

Vectors = npt.NDArray[np.float32]
Tokens = tuple[list[int], list[int]]  # token ids, and which of the two texts each token belongs to
Batch = tuple[list[int], list[Any]]  # positions of its texts, and the arrays that the model returned
SHIPPED = "plainly-sle-2"
JUDGE = "plainly-quality-3"
_MODELS = Path(__file__).parent / "weights"
_TOKENS_PER_BATCH = 320  # Larger batches leave the processor's cache and are slower.
_SENTENCES_PER_BLOCK = 4096
_SPECIAL_TOKENS = 3  # around and between the texts of a pair; a single text has one less


class Readings(NamedTuple):
    """The model's values for some texts."""

    values: Floats  # (n, heads); NaN where there is nothing to read
    pieces: Floats  # the number of pieces that each text was read in


@dataclass(frozen=True)
class Encoder:
    """A model in a directory: ``model.onnx``, ``tokenizer.json`` and ``model.json``, whose content is ``facts``."""

    name: str
    heads: tuple[str, ...]
    longest: int
    session: Any
    tokenizer: Any
    threads: int
    is_paired: bool  # whether it reads a source and its output
    identity: str  # of the weights, for the score cache
    facts: Mapping[str, Any]

    def estimates(self, texts: Sequence[Text]) -> Floats:
        """Return the value of each text on each head, shape (n, heads); NaN for a text without a token."""
        return self.readings(texts).values

    def readings(self, texts: Sequence[Text]) -> Readings:
        """Return values and numbers of pieces; a pair is NaN where either text has no token."""
        rows = self.look_up("", texts, len(self.heads) + 1, self._read)
        return Readings(rows[:, :-1], rows[:, -1])

    def look_up(self, reading: str, texts: Sequence[Any], width: int, compute: Callable[[list[Any]], Floats]) -> Floats:
        """Return a row of each text from the cache or from ``compute``; ``reading`` names what is computed."""
        return cached_rows(f"{self.identity} {VERSION} {reading}".rstrip(), texts, width, compute)

    def read_long(
        self,
        texts: Sequence[Text],
        is_long: npt.NDArray[np.bool_],
        reading: str,
        compute: Callable[["Encoder", list[Any]], Floats],
    ) -> Readings:
        """Read short texts as a whole and long ones by ``compute``, which returns rows of values and pieces."""
        rows = np.empty((len(texts), len(self.heads) + 1))
        short, long = ([texts[at] for at in np.flatnonzero(mask).tolist()] for mask in (~is_long, is_long))
        rows[~is_long] = np.column_stack(self.readings(short))
        rows[is_long] = self.look_up(reading, long, rows.shape[1], lambda missing: compute(self, missing))
        return Readings(rows[:, :-1], rows[:, -1])

    def vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Return a unit vector for each token of each text, shape (tokens, width); equal texts share one array."""
        distinct = list(dict.fromkeys(texts))
        owners, tokens = self._tokenize(distinct)
        parts: dict[int, Vectors] = {}
        for positions, (vectors,) in self._run(tokens, ["vectors"]):
            for at, words in zip(positions, vectors[:, 1:-1], strict=True):  # without the special tokens
                parts[at] = words / np.linalg.norm(words, axis=1, keepdims=True)
        by_text: dict[str, list[Vectors]] = {text: [] for text in distinct}
        for at in sorted(parts):
            by_text[distinct[owners[at]]].append(parts[at])
        whole = {text: np.concatenate(of) if of else np.empty((0, 0), np.float32) for text, of in by_text.items()}
        return [whole[text] for text in texts]

    def features(self, texts: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the values and the average token vector of each text, in one pass; zeros without a token.

        For a text that is longer than the window, both are averages over its pieces.
        """
        distinct = list(dict.fromkeys(texts))
        owners, tokens = self._tokenize(distinct)
        both: Floats = np.zeros((len(tokens), len(self.heads) + self.width))
        for positions, (values, vectors) in self._run(tokens, ["values", "vectors"]):
            both[positions] = np.concatenate([values, vectors[:, 1:-1].mean(axis=1)], axis=1)
        counts = np.bincount(owners, minlength=len(distinct))
        sums: Floats = np.zeros((len(distinct), both.shape[1]))
        np.add.at(sums, owners, both)
        means = sums / np.maximum(counts, 1)[:, None]
        # Later calls of ``readings`` with a text of one piece find its values in the cache.
        single = {distinct[at]: (*means[at, : len(self.heads)], 1) for at in np.flatnonzero(counts == 1)}
        self.look_up("", list(single), len(self.heads) + 1, lambda texts: np.array([single[text] for text in texts]))
        place = {text: at for at, text in enumerate(distinct)}
        rows = means[[place[text] for text in texts]]
        return rows[:, : len(self.heads)], rows[:, len(self.heads) :]

    @property
    def width(self) -> int:
        """The size of a token vector."""
        shapes = {output.name: output.shape for output in self.session.get_outputs()}
        return int(shapes["vectors"][-1])

    def sizes(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text, without special tokens."""
        writable = [_replace_surrogates(text) for text in texts]
        return [len(encoding.ids) for encoding in self.tokenizer.encode_batch(writable, add_special_tokens=False)]

    def _read(self, texts: Sequence[Text]) -> Floats:
        """Return a row for each text: the mean of its pieces weighted by their tokens, and the number of pieces."""
        owners, tokens = self._tokenize(texts)
        values = np.zeros((len(tokens), len(self.heads)))
        for positions, (estimates,) in self._run(tokens, ["values"]):
            values[positions] = estimates
        weights = np.array([len(ids) for ids, _ in tokens], dtype=np.float64)
        counts = np.bincount(owners, minlength=len(texts))
        sums = np.zeros((len(texts), len(self.heads)))
        np.add.at(sums, owners, weights[:, None] * values)
        totals: Floats = np.bincount(owners, weights, minlength=len(texts)).astype(np.float64)
        means = ratio(sums, totals[:, None])
        is_whole = counts[owners] == 1
        means[owners[is_whole]] = values[is_whole]  # exactly the model's values
        return np.column_stack([means, counts])

    def _tokenize(self, texts: Sequence[Text]) -> tuple[npt.NDArray[np.intp], list[Tokens]]:
        """Return the tokens of each text that has any, in pieces where it is too long, and the position of the text."""
        owners: list[int] = []
        tokens: list[Tokens] = []
        for owner, encoding in enumerate(self.tokenizer.encode_batch(list(map(_replace_surrogates, texts)))):
            text, parts = texts[owner], [encoding]
            if len(encoding.ids) > self.longest:
                cut: Sequence[Text]
                if isinstance(text, str):
                    cut = windows(text, size=self.sizes, longest=self.longest - _SPECIAL_TOKENS + 1)
                else:
                    cut = pieces(*text, size=self.sizes, longest=self.longest - _SPECIAL_TOKENS)
                parts = self.tokenizer.encode_batch(list(map(_replace_surrogates, cut)))
            for part in parts:
                # A single text, or each text of a pair, must have a token.
                if len(set(part.sequence_ids) - {None}) == (1 if isinstance(text, str) else 2):
                    owners.append(owner)
                    tokens.append((part.ids[: self.longest], part.type_ids[: self.longest]))
        return np.array(owners, dtype=np.intp), tokens

    def _run(self, tokens: Sequence[Tokens], outputs: list[str]) -> Iterator[Batch]:
        def run(positions: list[int]) -> Batch:
            ids = np.array([tokens[at][0] for at in positions], dtype=np.int64)
            inputs = {"tokens": ids, "mask": np.ones_like(ids)}
            if self.is_paired:
                inputs["types"] = np.array([tokens[at][1] for at in positions], dtype=np.int64)
            return positions, self.session.run(outputs, inputs)

        batches = list(batch_by_length([len(ids) for ids, _ in tokens], budget=_TOKENS_PER_BATCH, pad=False))
        batches.reverse()  # The longest first, so that no core waits long for the last batch of another.
        with progress.report_steps(len(tokens)) as report:
            for batch in self._run_in_threads(run, batches):
                report(len(batch[0]))
                yield batch

    def _run_in_threads(self, run: Callable[[list[int]], Batch], batches: Sequence[list[int]]) -> Iterator[Batch]:
        if self.threads == 1 or len(batches) == 1:
            yield from map(run, batches)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            futures: deque[Future[Batch]] = deque()
            for positions in batches:
                futures.append(pool.submit(run, positions))
                if len(futures) > 2 * self.threads:  # Results are consumed as they come, so that few are in memory.
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()


def _replace_surrogates(text: Text) -> Any:
    """Replace lone surrogates, which tokenizers refuse, by question marks."""
    if isinstance(text, tuple):
        return tuple(map(_replace_surrogates, text))
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def load(model: str = SHIPPED, *, threads: int = 0) -> Encoder:
    """Load a shipped model by name, or one that ``plainly train`` wrote by its directory, once.

    ``threads`` is how many batches run at once; 0 is one for each core, and one in a worker process.
    """
    if not threads and multiprocessing.parent_process() is not None:
        threads = 1
    setting = os.environ.get("OMP_NUM_THREADS", "")
    path = directory(model)
    try:
        return _load(str(path), threads or (int(setting) if setting.isdigit() else 0) or cores())
    except MissingExtra:
        raise
    except Exception as error:  # each library has its own exceptions for damaged files
        why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise BadInput(f"The model in {path} cannot be loaded ({why}). Copy or train it again.") from error


def batch_by_length(lengths: Sequence[int], *, budget: int, pad: bool) -> Iterator[list[int]]:
    """Yield positions in order of length, in batches of at most ``budget`` tokens.

    With ``pad``, shorter texts count as long as the longest; otherwise all have the same length.
    """
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lambda at: lengths[at]):
        is_too_long = not pad and batch and lengths[at] != lengths[batch[0]]
        if batch and (is_too_long or (len(batch) + 1) * lengths[at] > budget):
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def split_sentences(texts: Sequence[str]) -> Iterator[list[list[str]]]:
    """Yield the sentences of consecutive texts in blocks, so that a corpus of long documents does not fill memory."""
    block: list[list[str]] = []
    size = 0
    for text in texts:
        block.append([" ".join(sentence.text.split()) for sentence in sentences_of(text)])
        size += len(block[-1])
        if size >= _SENTENCES_PER_BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def directory(model: str) -> Path:
    """Return the directory of a model, or raise an error that names the missing file."""
    path = _MODELS / model if (_MODELS / model).is_dir() else Path(model)
    missing = [name for name in ("model.onnx", "tokenizer.json", "model.json") if not (path / name).is_file()]
    if missing:
        shipped = sorted(path.name for path in _MODELS.iterdir() if path.is_dir())
        if model in (SHIPPED, JUDGE):
            raise DataUnavailable(f"The model {model} is not part of this installation. Install plainly again.")
        raise BadInput(
            f"{model!r} is not a model of plainly: {path} has no {missing[0]}.{did_you_mean(model, shipped)} Pass the "
            f"directory that 'plainly train' wrote, or a shipped model: {', '.join(shipped)}"
        )
    return path


def read_facts(path: Path) -> dict[str, Any]:
    """Return what a model's directory states about it: name, heads, licence, training data, recipe."""
    facts: dict[str, Any] = json.loads((path / "model.json").read_text(encoding="utf-8"))
    return facts


def session_options() -> Any:
    """Return options for ONNX Runtime with which scores depend little on the processor."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Without this, processors that lack VNNI, the instructions for eight bits, clip large sums: on 60 pairs that moved
    # single scores by up to 2.6 points and their mean by .16. With it AVX2 differs by at most .45, and the mean by .01.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return options


@lru_cache(maxsize=4)
def _load(path: str, threads: int) -> Encoder:
    with require_package("The learned metrics", extra="learned"):
        import onnxruntime
        from tokenizers import Tokenizer
    weights, tokenizer_file = (Path(path, name).read_bytes() for name in ("model.onnx", "tokenizer.json"))
    facts = read_facts(Path(path))
    options = session_options()
    options.intra_op_num_threads, options.inter_op_num_threads = 1, 1
    tokenizer = Tokenizer.from_str(tokenizer_file.decode("utf-8"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    session = onnxruntime.InferenceSession(
        weights,
        options,
        providers=["CPUExecutionProvider"],
        # Measured: the fused operations are slower on a CPU, by a third in all.
        disabled_optimizers=["SkipLayerNormFusion", "BiasGeluFusion"],
    )
    heads, longest = tuple(facts["heads"]), int(facts["longest"])
    inputs = {entry.name for entry in session.get_inputs()}
    shapes = {output.name: output.shape for output in session.get_outputs()}
    if "tokens" not in inputs or "values" not in shapes:
        raise ValueError("model.onnx has no input 'tokens' or no output 'values'")
    if isinstance(width := shapes["values"][-1], int) and width != len(heads):
        raise ValueError(f"model.onnx has {width} heads, model.json names {len(heads)}")
    digest = hashlib.blake2b(weights + tokenizer_file, digest_size=12).hexdigest()
    identity = f"{digest} {facts['longest']} {onnxruntime.__version__} unclipped"
    return Encoder(facts["name"], heads, longest, session, tokenizer, threads, "types" in inputs, identity, facts)


def embed(texts: Sequence[str]) -> Floats:
    """Return the average token vector of each text, by the shipped model."""
    return load().features(texts)[1]


class LearnedMetric(MeanMetric):
    """A metric that compares outputs with their sources by a model."""

    needs: ClassVar[Needs] = frozenset({"source"})
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    learned: ClassVar[bool] = True
    batch_tolerance: ClassVar[float] = 1e-3


class ReadingMetric(LearnedMetric):
    """A metric whose rows are values, their counts, and whether the item was read in pieces."""

    batch_tolerance: ClassVar[float] = 1e-6

    def score(self, totals: Floats) -> Floats:
        return means(totals[..., :-1])

    def count_long_items(self, totals: Floats) -> int:
        return int(totals[-1])


def rows(*columns: Floats, pieces: Floats) -> Floats:
    """Return the rows of a ``ReadingMetric``; NaN is an item without a value."""
    return np.column_stack([mean_rows(*columns), pieces > 1])
