"""The metric ``judge``: the points that a language model gives each output by a rubric."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, mean_rows, means
from plainly.learned.jury.answers import Request
from plainly.learned.jury.base import RatingMetric, describe_model
from plainly.learned.jury.client import ask, find_settings
from plainly.learned.jury.prompts import build_request


@dataclass(frozen=True, repr=False)
class Judge(RatingMetric):
    """The mean of the points, 0 to 100, that a language model gives each output: ``judge(model=NAME,rubric=quality)``.

    ``model`` is a name in ``judges.toml``; it may be left out if there is one judge only. ``rubric`` is quality,
    fluency, meaning, simplicity, facts, a file of your own (.toml, .md), or several joined by ``+``, which are asked in
    one call, with ``separate=true`` in a call each. Yes and no count as 100 for the good answer and 0 for the other. An
    answer that is not exactly in the form asked for has no score and is counted in ``unparsed`` (per cent).
    ``repeat=3`` asks three times; ``spread`` is then the standard deviation between runs. ``layout=kept`` shows
    Markdown and line breaks to the judge, which are removed otherwise. ``level`` is for rubrics with the field {level};
    without it, the column ``level`` is used. ``calibration`` is a file of ``plainly meta --calibrate``, which maps the
    points of an item to the scale of human ratings; ``spread`` stays in points.
    """

    name: ClassVar[str] = "judge"
    model: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.criteria
        spreads = tuple(_spread_name(name, names) for name in names) if self.repeat > 1 else ()
        vars(self).update(outputs=(*names, *spreads, "unparsed"), main_outputs=names)

    def own_systems(self) -> tuple[str, ...]:
        judge = find_settings(self.model)
        return judge.name, judge.model

    def calibration_key(self) -> tuple[str, ...]:
        return (*self._question_key(), describe_model(find_settings(self.model)))

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rubric = self.questions
        if not outputs:
            return mean_rows(*np.empty((len(self.outputs), 0)))
        judge = find_settings(self.model)
        self._check_calibration(self.calibration_key())
        calls = [rubric.only(criterion) for criterion in rubric.criteria] if self.separate else [rubric]
        items = self.values(evalset, outputs)
        keys: dict[tuple[int, int, int], str] = {}
        requests: dict[str, Request] = {}
        for at, values in enumerate(items):
            for repetition in range(self.repeat):
                for part, questions in enumerate(calls):
                    body = build_request(judge, questions, values, repetition)
                    request = Request(judge.url, body, questions.hash, repetition)
                    keys[at, repetition, part] = key = request.key
                    requests[key] = request
        answers = ask(judge, requests, len(calls[0].criteria))
        self.trace(evalset, judge, answers.values())
        points = np.full((len(items), self.repeat, len(rubric.criteria)), np.nan)
        unparsed = np.zeros((len(items), self.repeat, len(calls)))
        for (at, repetition, part), key in keys.items():
            parsed = answers[key].values(calls[part].criteria) if key in answers else {}
            if parsed is None:
                self.note_unparsed(judge, answers[key])
                unparsed[at, repetition, part] = 100.0
            for name, value in (parsed or {}).items():
                points[at, repetition, self.criteria.index(name)] = value
        return mean_rows(*self._columns(points), unparsed.mean(axis=(1, 2)))

    def _columns(self, points: Floats) -> list[Floats]:
        """Return the mean over repetitions of each criterion, and the variance between them where there are several."""
        n = (~np.isnan(points)).sum(axis=1)
        sums = np.nansum(points, axis=1)
        averages = np.where(n > 0, sums / np.maximum(n, 1), np.nan)
        columns = list(self.calibrate(averages).T)
        if self.repeat > 1:
            squares = np.nansum((points - averages[:, None]) ** 2, axis=1)
            columns += list(np.where(n > 1, squares / np.maximum(n - 1, 1), np.nan).T)
        return columns

    def score(self, totals: Floats) -> Floats:
        scores = means(totals)
        if self.repeat > 1:
            half = (len(self.outputs) - 1) // 2
            scores[..., half : 2 * half] = np.sqrt(scores[..., half : 2 * half])
        return scores


def _spread_name(name: str, names: Sequence[str]) -> str:
    return "spread" if len(names) == 1 else f"{name}_spread"
