"""What is there to say about an evaluation? Comparisons, warnings, habits of systems and people, operations, tricks.

Nothing is measured here in a way of its own: each part is another question, asked about the same texts. A part that
cannot be answered, for want of sources or of an installed package, is left out and named with its reason.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, PlainlyError
from plainly.core.evalset import EvalSet
from plainly.core.formatting import listed
from plainly.core.metric import Metric
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note
from plainly.core.sampling import Sampling
from plainly.factcheck.facts import FactChecks, facts
from plainly.people.correlations import MetricCorrelation, correlate_metrics, score_units, with_texts
from plainly.people.preferences import Preferences
from plainly.people.ratings import Judgements
from plainly.reporting.findings import (
    Alarm,
    Five,
    Habit,
    LengthScores,
    Tricks,
    alarms,
    from_references,
    habits,
    item_spreads,
    length_scores,
    tricks,
    undefined,
)
from plainly.reporting.spans import PlacedLinks, PlacedOperations, placed_links, placed_operations
from plainly.reporting.summary import Sentence, sentences
from plainly.scoring import subsets
from plainly.scoring.compare import compare
from plainly.scoring.comparisons import DECIDING, Comparisons
from plainly.scoring.score import advise
from plainly.scoring.scores import Evaluation
from plainly.stats.resample import Estimate

T = TypeVar("T")
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Overview:
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
        """The findings in sentences, the most important first."""
        return sentences(self)

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


def overview(
    evaluation: Evaluation,
    *,
    labeller: str | None = "rules",
    audit: bool = True,
    ratings: Judgements | None = None,
    progress: Progress = no_progress,
) -> Overview:
    """All that can be said about an evaluation; without its texts, less."""
    left_out: list[str] = []

    def attempt(what: str, ask: Callable[[], T]) -> T | None:
        try:
            return ask()
        except (PlainlyError, ImportError) as error:
            left_out.append(f"{what}: {error.args[0] if error.args else error}")
            return None

    evalset, outputs = evaluation.evalset, evaluation.outputs or {}
    several = len(evaluation) > 1
    written = bool(outputs) and evalset.has_sources and len(evalset) > 0
    parts: dict[str, Any] = {
        "cautions": _cautions(evaluation),
        "spreads": attempt("how scores spread", lambda: item_spreads(evaluation)) or {},
        "lengths": attempt("scores by length", lambda: length_scores(evaluation)),
    }
    if several and evaluation.n > 1:
        parts["comparisons"] = attempt("comparing systems", lambda: compare(evaluation, tests=(DECIDING,)))
    if written:
        parts["habits"] = attempt("what systems do", lambda: habits(evalset, outputs)) or ()
        rung = attempt("looking for undefined items", lambda: undefined(evaluation)) or ()
        parts["alarms"] = (*from_references(evaluation), *alarms(evaluation.metrics, parts["habits"]), *rung)
        for name, field in (("split", "split"), ("copied", "copy")):  # on which items each system did it
            parts[name] = subsets.divide(evalset, outputs, field)[0].masks
        parts["links"] = placed_links(evalset, outputs, progress)
        parts["facts"] = attempt(
            "checking facts", lambda: facts(evalset=evalset, outputs=outputs, model=None, progress=progress)
        )
    if written and labeller is not None:
        parts["operations"] = attempt(
            "labelling operations",
            lambda: placed_operations(evalset, outputs, labeller=labeller, progress=progress),
        )
    if written and several and audit:
        parts["tricks"] = attempt("trying tricks on the metrics", lambda: tricks(evaluation, progress)) or Tricks()
    if ratings is not None:
        correlate = partial(_correlations, evaluation, ratings, progress)
        parts["cautions"] += tuple(remark for remark in ratings.remarks if remark.kind == "warning")
        parts |= {"ratings": ratings.name, "correlations": attempt("correlating with ratings", correlate) or ()}
    return Overview(evaluation, left_out=tuple(left_out), **parts)


def _cautions(evaluation: Evaluation) -> tuple[Note, ...]:
    """The warnings that scores come with, whether or not somebody asked for advice when they were made."""
    advised = evaluation if evaluation.advise else dataclasses.replace(evaluation, advise=advise)
    return tuple(note for note in advised.remarks if note.kind == "warning")


def _correlations(evaluation: Evaluation, judgements: Judgements, progress: Progress) -> tuple[MetricCorrelation, ...]:
    """One correlation for each metric and dimension, over the outputs that were rated."""
    texts = judgements
    if not judgements.outputs:  # ratings without the texts: those of the systems at hand
        outputs = evaluation.outputs or {}
        rated = [system for system in judgements.systems if system in outputs]
        if not rated:
            raise BadInput(
                f"{judgements.name} rates {listed(judgements.systems, most=4)}, and none of the systems of the report. "
                "Give them the names that they have in the ratings: outputs={'NAME': …}."
            )
        texts = with_texts(judgements.of_systems(rated), evaluation.evalset, {name: outputs[name] for name in rated})
    units = next(iter(texts.ratings.values())).units()
    correlations = correlate_metrics(
        texts,
        [score_units(texts, units, evaluation.measurable, progress=progress)],
        dimensions=texts.dimensions,
        statistics=("pearson",),
        units=("item",),
        compare=False,
        sampling=evaluation.sampling or Sampling(),
        progress=progress,
    )
    return correlations.rows
