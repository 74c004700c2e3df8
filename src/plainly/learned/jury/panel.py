"""The metric ``jury``: several judges with the same rubric, their mean, and how far they agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from plainly.core.calls import current_run
from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, mean_rows, means, ratio
from plainly.learned.jury.base import RatingMetric
from plainly.learned.jury.judge import Judge
from plainly.stats.agreement import reliability

_CENTRE = 50.0  # of the scale; sums of squares lose fewer digits around it
_SUMS = 4  # columns for the agreement


@dataclass(frozen=True, repr=False)
class Jury(RatingMetric):
    """The mean of the points, 0 to 100, that several judges give each output: ``jury(judges=a+b+c,rubric=quality)``.

    The judges are names in ``judges.toml``; the other parameters are those of ``judge``. An output has a score if one
    of them rated it. ``alpha`` is Krippendorff's alpha of their points for the first criterion on an interval scale,
    the mean of each judge for it follows under its name, and ``unparsed`` is the share of answers without a score. A
    judge that rates against the others is a warning.
    """

    name: ClassVar[str] = "jury"
    judges: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        names = tuple(member.model for member in self.members if member.model)
        outputs = (*self.criteria, "alpha", *names, "unparsed")
        if double := [name for name in outputs if outputs.count(name) > 1]:
            raise BadSpec(f"judges={self.judges}: {double[0]!r} is named twice, or is the name of a criterion.")
        vars(self).update(outputs=outputs, main_outputs=(*self.criteria, "alpha"), member_outputs=names)

    @cached_property
    def members(self) -> tuple[Judge, ...]:
        """The judges, with the parameters that they share; their points are not calibrated."""
        shared = {name: getattr(self, name) for name in ("rubric", "layout", "repeat", "separate", "level")}
        names = [name.strip() for name in self.judges.split("+") if name.strip()]
        return tuple(Judge(model=name, **shared) for name in names or [""])

    def calibration_key(self) -> tuple[str, ...]:
        models = sorted(member.calibration_key()[-1].partition(":")[2] for member in self.members)
        return (*self._question_key(), f"model:{' + '.join(models)}")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        members, names = self.members, [member.model for member in self.members]
        if len(members) < 2:
            raise BadSpec("A jury has at least two judges: jury(judges=a+b). One alone is judge(model=a).")
        self._check_calibration(self.calibration_key())
        scores = [member.score(member.measure(evalset, outputs)) for member in members]
        k = len(self.criteria)
        points = np.stack([score[:, :k] for score in scores], axis=1)  # items, judges, criteria
        unparsed = np.mean([score[:, -1] for score in scores], axis=0) if len(outputs) else np.empty(0)
        rated = (~np.isnan(points)).sum(axis=1)
        averages = np.where(rated > 0, np.nansum(points, axis=1) / np.maximum(rated, 1), np.nan)
        _warn_of_outliers(points[:, :, 0], names)
        return np.concatenate(
            [mean_rows(*self.calibrate(averages).T, *points[:, :, 0].T, unparsed), _agreement_rows(points[:, :, 0])],
            axis=1,
        )

    def score(self, totals: Floats) -> Floats:
        averages, k = means(totals[..., :-_SUMS]), len(self.criteria)
        alpha = _alpha(totals[..., -_SUMS:])[..., None]
        return np.concatenate([averages[..., :k], alpha, averages[..., k:]], axis=-1)

    def provenance(self, data: str) -> tuple[str, ...]:
        of_members = [f"{member.model}:{_join(member.provenance(data)[1:])}" for member in self.members]
        return (*super().provenance(data), *(remark for remark in of_members if not remark.endswith(":")))


def _join(remarks: Sequence[str]) -> str:
    return ";".join(remark.replace(":", "=", 1) for remark in remarks)


def _agreement_rows(points: Floats) -> Floats:
    """Return what Krippendorff's alpha is made of, for each item that several judges rated."""
    values = points - _CENTRE
    m = (~np.isnan(values)).sum(axis=1)
    sums, squares = np.nansum(values, axis=1), np.nansum(values**2, axis=1)
    rows = np.stack([(m * squares - sums**2) / np.maximum(m - 1, 1), m, squares, sums], axis=1)
    return np.where((m > 1)[:, None], rows, 0.0)


def _alpha(totals: Floats) -> Floats:
    """Return alpha with squared differences: one minus the disagreement within items by that between all points."""
    within, n, squares, sums = np.moveaxis(totals, -1, 0)
    return 1.0 - ratio((n - 1) * within, n * squares - sums**2)


def _warn_of_outliers(points: Floats, names: Sequence[str]) -> None:
    for rater in reliability(points, names) if len(names) > 2 and len(points) else ():
        if rater.outlying and not rater.outlying.startswith("only"):
            current_run().warn(f"The judge {rater.name!r} of the jury {rater.outlying}.", "judge-outlier")
