"""SLE: how simple a sentence is, without references, as a small model trained on open levelled texts estimates it.

``DocSle`` is SLE on documents: the levels of the sentences averaged, their spread, and how many are simple enough.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, MeanMetric, Metric, Needs, TargetKind, mean_rows, means
from plainly.learned import encoder
from plainly.learned.encoder import Encoder, ReadingMetric, Readings, rows
from plainly.text import sentences
from plainly.text.sentence_alignment import sentences_of

# From so many sentences of the source on, a text is read sentence by sentence: docs/documents.md says why.
_SEVERAL = 3
# What an output without a word gets: the hardest level, the largest loss.
_WORST_LEVEL, _WORST_GAIN, _WORST_ERROR = 0.0, -4.0, 4.0


@dataclass(frozen=True, repr=False)
class Sle(ReadingMetric):
    """Simplicity level estimate (after Cripwell et al. 2023), 0 (advanced) to 4 (elementary), not cut off at the ends.

    ``delta`` is SLE(output) − SLE(source), the gain in simplicity; ``error`` is |SLE(output) − target|, for systems
    that aim at a level. For CEFR levels there is the metric ``cefr``.

    It judges simplicity alone: an output that says something else, or less, can be very simple. Report a meaning score
    beside it. An output without a word is the worst there is (level 0, delta −4); ``scored`` says how many items have a
    delta. ``model`` may be the directory of a model that you trained.
    """

    target: float | None = None
    model: str = encoder.SHIPPED

    name: ClassVar[str] = "sle"
    outputs: ClassVar[tuple[str, ...]] = ("delta", "output", "source", "error", "scored")
    needs_of: ClassVar[Mapping[str, Needs]] = {"output": frozenset()}
    main_outputs: ClassVar[tuple[str, ...]] = ("delta", "output")
    target_kind: ClassVar[TargetKind] = "number"

    def __post_init__(self) -> None:
        if self.target is not None:
            if not np.isfinite(self.target):
                raise BadSpec(f"sle(target=…) is a level on the scale 0–4, not {self.target}.")
            object.__setattr__(self, "needs_of", {"output": frozenset(), "error": frozenset()})
            object.__setattr__(self, "main_outputs", ("delta", "output", "error"))

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        of_source, of_output = _levels(self.model, evalset, outputs)
        blank = np.isnan(of_output.values[:, 0])
        level, source = np.where(blank, _WORST_LEVEL, of_output.values[:, 0]), of_source.values[:, 0]
        error: Floats = np.full(len(outputs), np.nan)
        if self.target is not None:  # Cripwell et al. 2023, Eq. 4
            error = np.where(blank, _WORST_ERROR, np.abs(level - self.target))
        pieces = np.maximum(of_source.pieces, of_output.pieces)
        return rows(_gains(of_source, of_output), level, source, error, pieces=pieces)

    def score(self, totals: Floats) -> Floats:
        values = totals[..., :-1]
        scored = values[..., values.shape[-1] // 2, None]  # the count of the first column, delta
        return np.concatenate([means(values), scored], axis=-1)


def gains(model: str, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
    """How many levels simpler each output is than its source: −4, the worst, where there is no output."""
    return _gains(*_levels(model, evalset, outputs))


def _gains(of_source: Readings, of_output: Readings) -> Floats:
    source, output = of_source.values[:, 0], of_output.values[:, 0]
    gain = np.where(np.isnan(output), _WORST_GAIN, np.maximum(output - source, _WORST_GAIN))
    return np.where(np.isnan(source), np.nan, gain)


def _levels(model: str, evalset: EvalSet, outputs: Sequence[str]) -> tuple[Readings, Readings]:
    """The readings of sources and outputs; where there is no source, the output decides how it is read."""
    loaded = encoder.load(model)
    long = evalset.prepare("sle: long", lambda evalset: sentences.counts(evalset.sources) >= _SEVERAL)
    of_source = evalset.prepare(("sle", model), lambda evalset: _read(loaded, evalset.sources, long))
    alone = np.array([not source for source in evalset.sources], dtype=np.bool_)
    if alone.any():
        long = long | (alone & (sentences.counts(outputs) >= _SEVERAL))
    return of_source, _read(loaded, outputs, long)


def _read(model: Encoder, texts: Sequence[str], long: npt.NDArray[np.bool_]) -> Readings:
    """Readings of texts: what was made from several sentences as the average of its sentences, the rest as a whole."""
    values, pieces = np.full((len(texts), len(model.heads)), np.nan), np.ones(len(texts))
    values[~long], pieces[~long] = model.readings([texts[at] for at in np.flatnonzero(~long).tolist()])
    several = [texts[at] for at in np.flatnonzero(long).tolist()]

    def compute(chosen: list[int]) -> Floats:
        levels = sentence_levels(model, [several[at] for at in chosen])
        return np.array([[of_text.mean() if len(of_text) else np.nan] for of_text in levels])

    values[long, :1] = model.remembered("sentences", several, 1, compute)
    return Readings(values, pieces)


def by_document(metric: Metric, rows: Floats, groups: Sequence[str]) -> dict[str, Floats]:
    """The scores of each document from its sentences: ``by_document(s.metric, s.rows, evalset.groups)``."""
    place = {name: at for at, name in enumerate(dict.fromkeys(groups))}
    totals = np.zeros((len(place), rows.shape[1]))
    np.add.at(totals, [place[group] for group in groups], rows)
    return dict(zip(place, metric.score(totals), strict=True))


@dataclass(frozen=True, repr=False)
class DocSle(MeanMetric):
    """Simplicity of documents (after Cripwell et al. 2023): the average SLE of their sentences, 0 (advanced) to 4.

    ``output`` and ``source`` are the average levels of the sentences of a text, ``delta`` their difference, ``spread``
    how far the sentences of the output lie apart (standard deviation) and ``above`` the share of them at ``level`` or
    simpler. On texts of one sentence it equals ``sle``.
    """

    level: float = 2.0
    model: str = encoder.SHIPPED

    name: ClassVar[str] = "doc-sle"
    needs: ClassVar[Needs] = frozenset({"source"})
    outputs: ClassVar[tuple[str, ...]] = ("delta", "output", "source", "spread", "above")
    needs_of: ClassVar[Mapping[str, Needs]] = dict.fromkeys(("output", "spread", "above"), frozenset())
    main_outputs: ClassVar[tuple[str, ...]] = ("delta", "output", "spread", "above")
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    learned: ClassVar[bool] = True
    batch_tolerance: ClassVar[float] = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.isfinite(self.level):
            raise BadSpec(f"doc-sle(level=…) is a level on the scale 0–4, not {self.level}.")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        key = ("doc-sle", self.model, self.level)
        source = evalset.prepare(key, lambda evalset: self._read(evalset.sources))[:, 0]
        level, spread, above = self._read(outputs).T
        blank = np.isnan(level)  # As in sle: nothing written is the hardest level, and the largest loss.
        delta = np.where(blank & ~np.isnan(source), -4.0, np.maximum(level - source, -4.0))
        return mean_rows(delta, np.where(blank, 0.0, level), source, spread, np.where(blank, 0.0, above))

    def _read(self, texts: Sequence[str]) -> Floats:
        """Of each text the average level of its sentences, its spread, and the share at the level or simpler."""
        read = np.full((len(texts), 3), np.nan)
        for row, levels in zip(read, sentence_levels(encoder.load(self.model), texts), strict=True):
            if len(levels):
                row[:] = levels.mean(), levels.std(), (levels >= self.level).mean()
        return read


_SENTENCES_AT_ONCE = 4096


def sentence_levels(model: Encoder, texts: Sequence[str]) -> list[Floats]:
    """For each text the levels of its sentences, on the model's first head."""
    of_text = [[" ".join(sentence.text.split()) for sentence in sentences_of(text)] for text in texts]
    flat = [sentence for sentences in of_text for sentence in sentences]
    blocks = [flat[at : at + _SENTENCES_AT_ONCE] for at in range(0, len(flat), _SENTENCES_AT_ONCE)]
    levels = np.concatenate([model.estimates(block)[:, 0] for block in blocks] or [np.empty(0)])
    ends = np.cumsum([0, *map(len, of_text)])
    return [levels[start:stop] for start, stop in pairwise(ends)]
