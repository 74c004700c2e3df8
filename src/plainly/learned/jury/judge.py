"""The metric ``judge``: the points that a language model gives each output by a rubric."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from plainly.core.calls import current_run
from plainly.core.errors import check_count
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, MeanMetric, Metric, Needs, mean_rows, means
from plainly.learned.jury.answers import Answer, Request
from plainly.learned.jury.client import ask, find_settings
from plainly.learned.jury.prompts import build_request, item_values
from plainly.learned.jury.rubrics import Rubric, read_rubric
from plainly.learned.jury.settings import JudgeSettings


@dataclass(frozen=True, repr=False)
class Judge(MeanMetric):
    """The mean of the points, 0 to 100, that a language model gives each output: ``judge(model=NAME,rubric=quality)``.

    ``model`` is a name in ``judges.toml``; it may be left out if there is one judge only. ``rubric`` is quality,
    fluency, meaning, simplicity, facts, a file of your own (.toml, .md), or several joined by ``+``, which are asked in
    one call, with ``separate=true`` in a call each. Yes and no count as 100 for the good answer and 0 for the other. An
    answer that is not exactly in the form asked for has no score and is counted in ``unparsed`` (per cent).
    ``repeat=3`` asks three times; ``spread`` is then the standard deviation between runs. ``layout=kept`` shows
    Markdown and line breaks to the judge, which are removed otherwise. ``level`` is for rubrics with the field {level};
    without it, the column ``level`` is used.
    """

    name: ClassVar[str] = "judge"
    outputs: ClassVar[tuple[str, ...]] = ("quality", "unparsed")
    needs: ClassVar[Needs] = frozenset({"source"})
    learned: ClassVar[bool] = True
    runs_programs: ClassVar[bool] = True
    is_remote: ClassVar[bool] = True

    model: str = ""
    rubric: str = "quality"
    repeat: int = 1
    separate: bool = False
    layout: Literal["plain", "kept"] = "plain"
    level: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("repeat", self.repeat)
        rubric = read_rubric(self.rubric)
        names = tuple(criterion.name for criterion in rubric.criteria)
        spreads = tuple(_spread_name(name, names) for name in names) if self.repeat > 1 else ()
        vars(self).update(
            outputs=(*names, *spreads, "unparsed"), main_outputs=names, needs=rubric.needs, _rubric=rubric
        )

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rubric: Rubric = vars(self)["_rubric"]
        if not outputs:
            return mean_rows(*np.empty((len(self.outputs), 0)))
        judge = find_settings(self.model)
        calls = [rubric.only(criterion) for criterion in rubric.criteria] if self.separate else [rubric]
        items = item_values(evalset, outputs, level=self.level, keep_layout=self.layout == "kept")
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
        trace_answers(self, evalset.fingerprint, judge, answers.values())
        points = np.full((len(items), self.repeat, len(rubric.criteria)), np.nan)
        unparsed = np.zeros((len(items), self.repeat, len(calls)))
        names = [criterion.name for criterion in rubric.criteria]
        for (at, repetition, part), key in keys.items():
            parsed = answers[key].values(calls[part].criteria) if key in answers else {}
            unparsed[at, repetition, part] = 0.0 if parsed is not None else 100.0
            for name, value in (parsed or {}).items():
                points[at, repetition, names.index(name)] = value
        return mean_rows(*self._columns(points), unparsed.mean(axis=(1, 2)))

    def _columns(self, points: Floats) -> list[Floats]:
        """Return the mean over repetitions of each criterion, and the variance between them where there are several."""
        n = (~np.isnan(points)).sum(axis=1)
        sums = np.nansum(points, axis=1)
        averages = np.where(n > 0, sums / np.maximum(n, 1), np.nan)
        columns = list(averages.T)
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

    def provenance(self, data: str) -> tuple[str, ...]:
        rubric: Rubric = vars(self)["_rubric"]
        trace = current_run().traces.get((self, data))
        return (f"rubric:{rubric.hash}", *(trace.remarks() if trace else ()))


def _spread_name(name: str, names: Sequence[str]) -> str:
    return "spread" if len(names) == 1 else f"{name}_spread"


@dataclass
class Trace:
    """Where the answers of a judge about some data came from: the server, what it says about itself, and the dates."""

    judge: JudgeSettings
    fingerprints: set[str]
    dates: set[str]

    def remarks(self) -> tuple[str, ...]:
        parameters = {name: value for name, value in self.judge.parameters.items() if name != "model"}
        fields = {
            "server": self.judge.host,
            "model": self.judge.model,
            "parameters": ",".join(f"{name}={value}" for name, value in parameters.items()),
            "fingerprint": "+".join(sorted(self.fingerprints)),
            "dates": "..".join(sorted({min(self.dates), max(self.dates)})) if self.dates else "",
        }
        return tuple(f"{name}:{value.replace('|', '_')}" for name, value in fields.items() if value)


def trace_answers(metric: Metric, data: str, judge: JudgeSettings, answers: Iterable[Answer]) -> None:
    """Remember where answers came from; warn if the server changed between them."""
    traces = current_run().traces
    trace: Trace | None = traces.get((metric, data))
    if trace is None or trace.judge != judge:
        traces[metric, data] = trace = Trace(judge, set(), set())
    for answer in answers:
        trace.fingerprints.add(answer.fingerprint)
        trace.dates.add(answer.time[:10])
    trace.fingerprints.discard("")
    if len(trace.fingerprints) > 1:
        names = " and ".join(sorted(trace.fingerprints))
        current_run().warn(
            f"The server of the judge {judge.name!r} changed between answers ({names}): scores may not be comparable.",
            "judge-changed",
        )
