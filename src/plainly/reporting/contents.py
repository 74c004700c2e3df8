"""Everything that a report shows, asked of the other questions and put together once; pages only draw it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric
from plainly.core.result import Note, Record, Result, Table
from plainly.factcheck.facts import FactChecks
from plainly.people.correlations import MetricCorrelation
from plainly.people.preferences import Preferences
from plainly.reporting.habits import Habit
from plainly.reporting.operation_spans import PlacedOperations
from plainly.reporting.sentence_links import PlacedLinks
from plainly.reporting.spread import Five, LengthScores
from plainly.reporting.summary import Sentence, lead, sentences
from plainly.reporting.warning_signs import Alarm, Tricks
from plainly.scoring.comparisons import Comparisons
from plainly.scoring.scores import Evaluation
from plainly.stats.resample import Estimate

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Overview(Result):
    """Scores and what is to be known beside them. What is empty or None could not be said, or was not asked for."""

    evaluation: Evaluation
    comparisons: Comparisons | None = None
    cautions: tuple[Note, ...] = ()  # what may be wrong with the texts
    spreads: Mapping[str, Mapping[str, Five]] = field(default_factory=dict)
    lengths: LengthScores | None = None
    habits: tuple[Habit, ...] = ()
    split: Mapping[str, Bools] = field(default_factory=dict)
    copied: Mapping[str, Bools] = field(default_factory=dict)
    operations: PlacedOperations | None = None
    facts: FactChecks | None = None
    links: PlacedLinks | None = None  # between the sentences of documents
    alarms: tuple[Alarm, ...] = ()
    tricks: Tricks = field(default_factory=Tricks)
    correlations: tuple[MetricCorrelation, ...] = ()  # of each metric with each dimension of the ratings
    ratings: str = ""  # what the ratings are called
    preferences: Preferences | None = None  # what people preferred, where they ranked
    left_out: tuple[str, ...] = ()  # parts that could not be made, each with the reason

    @property
    def evalset(self) -> EvalSet:
        return self.evaluation.evalset

    @property
    def outputs(self) -> Mapping[str, Sequence[str]]:
        return self.evaluation.outputs or {}

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.evaluation)

    @property
    def specs(self) -> tuple[str, ...]:
        return self.evaluation.specs

    @cached_property
    def summary(self) -> list[Sentence]:
        """What a colleague would say who has read all of it."""
        return sentences(self)

    @cached_property
    def lead(self) -> list[Sentence]:
        """The three sentences to read if one reads no more."""
        return lead(self.summary)

    def metric(self, spec: str) -> Metric:
        return self.evaluation.metrics[spec]

    def value(self, system: str, spec: str) -> float:
        return float(self.evaluation.systems[system][spec])

    def estimate(self, system: str, spec: str) -> Estimate | None:
        return self.evaluation.systems[system][spec].intervals.get(self.metric(spec).outputs[0])

    @property
    def estimates(self) -> list[Estimate]:
        """Every headline's interval, where there are intervals."""
        pairs = [(system, spec) for system in self.systems for spec in self.specs]
        return [estimate for pair in pairs if (estimate := self.estimate(*pair)) is not None]

    def standing(self, spec: str, system: str) -> str:
        """``best``, ``tied`` with the best (no difference may be claimed), or nothing."""
        if self.metric(spec).better == "neither" or len(self.systems) < 2:
            return ""
        best = self.evaluation.ranking(spec)[0]
        value, top = self.value(system, spec), self.value(best, spec)
        if value != value:
            return ""
        if value == top:
            return "best"
        if self.comparisons is not None and not self.comparisons.pair(spec, best, system).significant:
            return "tied"
        return ""

    def records(self) -> list[Record]:
        return self.evaluation.records()

    def json(self) -> Record:
        """Schema plainly.report/1, of a report that was not written to any file."""
        return {
            "schema": "plainly.report/1",
            "page": None,
            "figures": [],
            "summary": [sentence.text for sentence in self.summary],
            "left_out": list(self.left_out),
            "warnings": [caution.json() for caution in self.cautions],
        }

    def tables(self) -> list[Table]:
        return self.evaluation.tables()

    def notes(self) -> list[Note]:
        """The summary, what was left out, and what may be wrong with the texts."""
        notice = self.operations.notice if self.operations is not None else ""
        return [
            *(Note(sentence.text, "claim") for sentence in self.summary),
            *(Note(f"Left out: {reason}") for reason in self.left_out),
            *([Note(notice)] if notice else []),
            *self.cautions,
        ]
