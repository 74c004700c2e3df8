"""SLE: how simple a sentence is, without references, as a small model trained on open levelled texts estimates it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Metric
from plainly.learned import encoder
from plainly.learned.encoder import Readings
from plainly.learned.reading import ReadingMetric, rows
from plainly.learned.sentence_levels import sentence_levels
from plainly.metrics.means import means
from plainly.text import sentences

# From so many sentences of the source on, a text is read sentence by sentence: docs/documents.md says why.
_SEVERAL = 3
# What an output without a word gets: the hardest level, the largest loss.
_WORST_LEVEL, _WORST_GAIN, _WORST_ERROR = 0.0, -4.0, 4.0


@dataclass(frozen=True, repr=False)
class Sle(ReadingMetric):
    """Simplicity level estimate (after Cripwell et al. 2023), 0 (advanced) to 4 (elementary), not cut off at the
    ends."""

    target: float | None = None
    model: str = encoder.SHIPPED

    name: ClassVar[str] = "sle"
    outputs: ClassVar[tuple[str, ...]] = ("delta", "output", "source", "error", "scored")

    @property
    def shown(self) -> tuple[str, ...]:
        """What tables show; the error only where there is a target."""
        return ("delta", "output") if self.target is None else ("delta", "output", "error")

    def __post_init__(self) -> None:
        if self.target is not None and not np.isfinite(self.target):
            raise BadSpec(f"sle(target=…) is a level on the scale 0–4, not {self.target}.")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        of_source, of_output = _levels(self.model, evalset, outputs)
        blank = np.isnan(of_output.values[:, 0])
        level, source = np.where(blank, _WORST_LEVEL, of_output.values[:, 0]), of_source.values[:, 0]
        unknown = np.full(len(outputs), np.nan)
        error = unknown
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
    """The readings of sources and outputs."""
    loaded = encoder.load(model)
    long = evalset.prepare("sle: long", lambda evalset: sentences.counts(evalset.sources) >= _SEVERAL)
    of_source = evalset.prepare(("sle", model), lambda evalset: _read(loaded, evalset.sources, long))
    return of_source, _read(loaded, outputs, long)


def _read(model: encoder.Encoder, texts: Sequence[str], long: npt.NDArray[np.bool_]) -> Readings:
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
