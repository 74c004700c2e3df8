"""SLE: how simple a sentence is, without references, as a small model trained on open levelled texts estimates it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plainly.errors import BadSpec
from plainly.evalset import EvalSet
from plainly.metrics.learned import encoder
from plainly.metrics.means import CheckedMetric, mean_rows, means
from plainly.protocol import Better, Floats, Metric, Needs


@dataclass(frozen=True, repr=False)
class Sle(CheckedMetric):
    """Simplicity level estimate (after Cripwell et al. 2023), 0 (advanced) to 4 (elementary), not cut off at the
    ends."""

    target: float | None = None
    model: str = encoder.SHIPPED

    name: ClassVar[str] = "sle"
    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("delta", "output", "source", "error", "cefr", "cefr_source", "scored")
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    batch_tolerance: ClassVar[float] = 1e-3  # how far a score may depend on the texts scored with it

    @property
    def shown(self) -> tuple[str, ...]:
        """What tables show; the error only where there is a target."""
        return ("delta", "output", "cefr") if self.target is None else ("delta", "output", "error", "cefr")

    def __post_init__(self) -> None:
        if self.target is not None and not np.isfinite(self.target):
            raise BadSpec(f"sle(target=…) is a level on the scale 0–4, not {self.target}.")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        model = encoder.load(self.model)
        of_source = evalset.prepare(("sle", self.model), lambda evalset: model.estimates(evalset.sources))
        of_output = model.estimates(outputs)
        level, source = of_output[:, 0], of_source[:, 0]
        unknown = np.full(len(outputs), np.nan)
        error = unknown if self.target is None else np.abs(level - self.target)  # Cripwell et al. 2023, Eq. 4
        cefr = [unknown, unknown]
        if "cefr" in model.heads:
            cefr = [estimates[:, model.heads.index("cefr")] for estimates in (of_output, of_source)]
        return mean_rows(level - source, level, source, error, *cefr)

    def score(self, totals: Floats) -> Floats:
        scored = totals[..., totals.shape[-1] // 2, None]  # the count of the first column, delta
        return np.concatenate([means(totals), scored], axis=-1)


def by_document(metric: Metric, rows: Floats, groups: Sequence[str]) -> dict[str, Floats]:
    """The scores of each document from its sentences: ``by_document(s.metric, s.rows, evalset.groups)``."""
    place = {name: at for at, name in enumerate(dict.fromkeys(groups))}
    totals = np.zeros((len(place), rows.shape[1]))
    np.add.at(totals, [place[group] for group in groups], rows)
    return dict(zip(place, metric.score(totals), strict=True))
