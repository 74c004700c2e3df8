"""SLE: how simple a sentence is, without references, estimated by a small model trained on open levelled texts.

``DocSle`` is SLE on documents: the average level of the sentences, their spread, and how many are simple enough.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np

from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Metric, Needs, TargetKind, mean_rows, means
from plainly.learned import encoder
from plainly.learned.encoder import Encoder, LearnedMetric, ReadingMetric, Readings, rows, split_sentences
from plainly.text import sentences

# A source with this many sentences, and its output, are read sentence by sentence: docs/documents.md explains why.
_SEVERAL = 3
# The scores of an output without a word: the hardest level, the largest loss.
_WORST_LEVEL, _WORST_GAIN, _WORST_ERROR = 0.0, -4.0, 4.0


@dataclass(frozen=True, repr=False)
class Sle(ReadingMetric):
    """Simplicity level estimate (after Cripwell et al. 2023), 0 (advanced) to 4 (elementary), not cut off at the ends.

    ``delta`` is SLE(output) − SLE(source), the gain in simplicity; ``error`` is |SLE(output) − target|, for systems
    that aim at a level. For CEFR levels, use the metric ``cefr``.

    It estimates simplicity alone: an output that says something else, or less, can be very simple. Report a meaning
    score beside it. An output without a word gets the worst scores (level 0, delta −4); ``scored`` is the number of
    items with a delta. ``model`` may be the directory of a model that you trained.
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
            _check_level("sle(target=…)", self.target)
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
        deltas = values[..., values.shape[-1] // 2, None]  # the count of the first column, delta
        return np.concatenate([means(values), deltas], axis=-1)


def gains(model: str, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
    """Return how many levels simpler each output is than its source; −4, the worst, for an output without a word."""
    return _gains(*_levels(model, evalset, outputs))


def _gains(of_source: Readings, of_output: Readings) -> Floats:
    source, output = of_source.values[:, 0], of_output.values[:, 0]
    gain = np.where(np.isnan(output), _WORST_GAIN, np.maximum(output - source, _WORST_GAIN))
    return np.where(np.isnan(source), np.nan, gain)


def _levels(model: str, evalset: EvalSet, outputs: Sequence[str]) -> tuple[Readings, Readings]:
    """Return the readings of sources and outputs; without a source, the output decides how it is read."""
    reader = encoder.load(model)
    is_long = evalset.prepare("sle: long", lambda evalset: sentences.counts(evalset.sources) >= _SEVERAL)
    of_source = evalset.prepare(
        ("sle", model), lambda evalset: reader.read_long(evalset.sources, is_long, "sentences", _average_levels)
    )
    is_alone = np.array([not source for source in evalset.sources], dtype=np.bool_)
    if is_alone.any():
        is_long = is_long | (is_alone & (sentences.counts(outputs) >= _SEVERAL))
    return of_source, reader.read_long(outputs, is_long, "sentences", _average_levels)


def _average_levels(model: Encoder, texts: Sequence[str]) -> Floats:
    """Return a row for each text: the average level of its sentences on the first head; each is one piece."""
    rows = np.full((len(texts), len(model.heads) + 1), np.nan)
    rows[:, 0] = [levels.mean() if len(levels) else np.nan for levels in sentence_levels(model, texts)]
    rows[:, -1] = 1
    return rows


def by_document(metric: Metric, rows: Floats, groups: Sequence[str]) -> dict[str, Floats]:
    """Return the scores of each document from its sentences: ``by_document(s.metric, s.rows, evalset.groups)``."""
    place = {name: at for at, name in enumerate(dict.fromkeys(groups))}
    totals = np.zeros((len(place), rows.shape[1]))
    np.add.at(totals, [place[group] for group in groups], rows)
    return dict(zip(place, metric.score(totals), strict=True))


@dataclass(frozen=True, repr=False)
class DocSle(LearnedMetric):
    """Simplicity of documents (after Cripwell et al. 2023): the average SLE of their sentences, 0 (advanced) to 4.

    ``output`` and ``source`` are the average levels of the sentences of a text, ``delta`` their difference, ``spread``
    the standard deviation of the output's sentences, and ``above`` the share of them at ``level`` or simpler. On texts
    of one sentence it equals ``sle``.
    """

    level: float = 2.0
    model: str = encoder.SHIPPED

    name: ClassVar[str] = "doc-sle"
    outputs: ClassVar[tuple[str, ...]] = ("delta", "output", "source", "spread", "above")
    needs_of: ClassVar[Mapping[str, Needs]] = dict.fromkeys(("output", "spread", "above"), frozenset())
    main_outputs: ClassVar[tuple[str, ...]] = ("delta", "output", "spread", "above")

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_level("doc-sle(level=…)", self.level)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        key = ("doc-sle", self.model, self.level)
        source = evalset.prepare(key, lambda evalset: self._read(evalset.sources))[:, 0]
        level, spread, above = self._read(outputs).T
        blank = np.isnan(level)
        delta = np.where(blank & ~np.isnan(source), _WORST_GAIN, np.maximum(level - source, _WORST_GAIN))
        level, above = np.where(blank, _WORST_LEVEL, level), np.where(blank, 0.0, above)
        return mean_rows(delta, level, source, spread, above)

    def _read(self, texts: Sequence[str]) -> Floats:
        """Return for each text the average level of its sentences, their spread, and the share from ``level`` on."""
        rows = np.full((len(texts), 3), np.nan)
        for row, levels in zip(rows, sentence_levels(encoder.load(self.model), texts), strict=True):
            if len(levels):
                row[:] = levels.mean(), levels.std(), (levels >= self.level).mean()
        return rows


def sentence_levels(model: Encoder, texts: Sequence[str]) -> list[Floats]:
    """Return for each text the levels of its sentences, on the model's first head."""
    levels: list[Floats] = []
    for block in split_sentences(texts):
        estimates = model.estimates(list(chain.from_iterable(block)))[:, 0]
        levels += np.split(estimates, np.cumsum([len(of_text) for of_text in block])[:-1])
    return levels


def _check_level(argument: str, level: float) -> None:
    if not np.isfinite(level):
        raise BadSpec(f"{argument} is a level on the scale 0–4, not {level}.")
