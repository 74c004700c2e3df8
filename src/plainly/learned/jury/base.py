"""What all metrics that ask judges have in common: the rubric, how texts are shown, and where answers came from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from plainly.core.calls import current_run
from plainly.core.errors import BadInput, BadSpec, check_count
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Metric, Needs
from plainly.learned.jury.answers import Answer
from plainly.learned.jury.prompts import item_values, normalise_layout
from plainly.learned.jury.rubrics import Rubric, read_rubric
from plainly.learned.jury.settings import JudgeSettings
from plainly.metrics.calibration import Calibration, read_calibration

_SHOWN = 100  # characters of an answer that has no score


@dataclass(frozen=True, repr=False)
class JudgeMetric(Metric):
    """A metric that asks language models by a rubric."""

    needs: ClassVar[Needs] = frozenset({"source"})
    learned: ClassVar[bool] = True
    runs_programs: ClassVar[bool] = True
    is_remote: ClassVar[bool] = True

    rubric: str = "quality"
    layout: Literal["plain", "kept"] = "plain"
    level: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self).update(needs=self.questions.needs)

    @cached_property
    def questions(self) -> Rubric:
        """The rubric as it was when the metric was made."""
        return read_rubric(self.rubric)

    def values(self, evalset: EvalSet, outputs: Sequence[str]) -> list[dict[str, str]]:
        """Return what the fields of the rubric stand for, for each item; what is missing is an error."""
        fields = self.questions.fields
        if "question" in fields and "question" not in evalset.columns:
            raise BadInput(
                f"rubric={self.rubric} asks about single places. plainly gate uses it for doubtful findings (doubts=); "
                "elsewhere, the texts need a column question."
            )
        if "level" in fields and not self.level and "level" not in evalset.columns:
            raise BadInput(f"rubric={self.rubric} needs a level: {self.name}(level=A2), or a column level.")
        if "language" in fields and not evalset.language:
            raise BadInput(f"rubric={self.rubric} needs the language of the texts. Name it: language=")
        return item_values(evalset, outputs, level=self.level, keep_layout=self.layout == "kept")

    def provenance(self, data: str) -> tuple[str, ...]:
        trace: Trace | None = current_run().traces.get((self, data))
        return (f"rubric:{self.questions.hash}", *(trace.remarks() if trace else ()))

    def note_unparsed(self, judge: JudgeSettings, answer: Answer) -> None:
        """Warn, once in a run, of an answer that has no score, and show how it begins."""
        run = current_run()
        if not run.is_first(f"unparsed {judge.name}"):
            return
        if answer.is_refused:
            why = "The server did not accept some texts, which have no score"
        elif answer.is_cut:
            why = f"Some answers end at max_tokens={judge.most_tokens} and have no score. Allow more in judges.toml"
        else:
            why = "Some answers are not in the form that was asked for and have no score"
        text = normalise_layout(answer.content or answer.refusal)
        beginning = f"“{text[:_SHOWN]}{'…' if text[_SHOWN:] else ''}”" if text else "it is empty"
        run.warn(f"{why} (judge {judge.name!r}). The first: {beginning}", "judge-unparsed")

    def trace(self, evalset: EvalSet, judge: JudgeSettings, answers: Iterable[Answer]) -> None:
        """Remember where answers about some data came from; warn if the server changed between them."""
        run, key = current_run(), (self, evalset.fingerprint)
        trace: Trace | None = run.traces.get(key)
        if trace is None or trace.judge != judge:
            run.traces[key] = trace = Trace(judge, set(), set())
        for answer in answers:
            trace.fingerprints.add(answer.fingerprint)
            trace.dates.add(answer.time[:10])
        trace.fingerprints.discard("")
        if len(trace.fingerprints) > 1:
            names = " and ".join(sorted(trace.fingerprints))
            run.warn(
                f"The server of the judge {judge.name!r} changed between answers ({names}): scores may not be "
                "comparable.",
                "judge-changed",
            )


@dataclass(frozen=True, repr=False)
class RatingMetric(JudgeMetric):
    """A metric of the points that judges give; ``calibration`` is a file that maps them to a human scale."""

    outputs: ClassVar[tuple[str, ...]] = ("quality", "unparsed")

    repeat: int = 1
    separate: bool = False
    calibration: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("repeat", self.repeat)
        if self.calibration and len(self.criteria) > 1:
            raise BadSpec("calibration= is for one criterion, and this rubric has several. Use a judge for each.")
        self._check_calibration(self._question_key())

    @property
    def criteria(self) -> tuple[str, ...]:
        """The names of the criteria."""
        return tuple(criterion.name for criterion in self.questions.criteria)

    @cached_property
    def _calibrated(self) -> Calibration | None:
        return read_calibration(self.calibration) if self.calibration else None

    def _check_calibration(self, key: tuple[str, ...]) -> None:
        """Raise if there is a calibration that was made for other judges; call it before they are asked."""
        if self._calibrated is not None:
            self._calibrated.check(self.calibration, key)

    def calibrate(self, points: Floats) -> Floats:
        """Return points on the human scale, if there is a calibration."""
        if self._calibrated is None:
            return points
        return np.stack([self._calibrated.apply(column) for column in points.T], axis=1)

    def measured_agreement(self) -> tuple[Mapping[str, object], ...]:
        made = self._calibrated
        if made is None or "pearson" not in made.agreement:  # all points are the same
            return ()
        return ({"part": made.dimension, "set": made.ratings, **made.agreement},)

    def _question_key(self) -> tuple[str, ...]:
        """Return what is asked: what a calibration holds for, but for the models."""
        parameters = [f"{name}:{getattr(self, name)}" for name in ("layout", "repeat", "separate", "level")]
        return (f"rubric:{self.questions.hash}", *parameters)

    def provenance(self, data: str) -> tuple[str, ...]:
        calibration = (f"calibration:{self._calibrated.hash}",) if self._calibrated is not None else ()
        return (*super().provenance(data), *calibration)


def describe_model(judge: JudgeSettings) -> str:
    """Return the model and its parameters, on which its points depend."""
    return "model:" + ",".join(f"{name}={value}" for name, value in judge.parameters.items())


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
