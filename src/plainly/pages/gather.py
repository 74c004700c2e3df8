"""From an evaluation to a report's material: comparisons, warnings, habits of systems and people, operations, tricks.

Each part is optional. A part that cannot be made here, for want of sources or of an installed package, is left out and
named with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from plainly.errors import PlainlyError
from plainly.evalset import EvalSet
from plainly.pages import alarms, operating, rated
from plainly.pages.material import Bools, Habit, Material
from plainly.questions import doctor
from plainly.questions.compare import TRIALS, compare
from plainly.questions.comparisons import DECIDING, Comparisons
from plainly.sampling import Sampling
from plainly.scoring import subsets
from plainly.scoring.evaluate import Evaluation, evaluate

T = TypeVar("T")
Outputs = Mapping[str, Sequence[str]]
Tell = Callable[[str], None]

# What a report says that systems do: key, title, unit, metric, output.
HABITS = (
    ("split", "Sentences split", "%", "splits", "split"),
    ("copied", "Copied unchanged", "%", "edits", "copies"),
    ("compression", "Length beside the source", "", "compression", "compression"),
    ("added", "Words added", "%", "edits", "added_of_output"),
    ("deleted", "Words deleted", "%", "edits", "deleted_of_source"),
    ("sentence", "Words a sentence", "", "length", "words_per_sentence"),
)
# People's habits are measured on at most this many references, spread over the set.
MOST_REFERENCES = 5000


def gather(
    evaluation: Evaluation,
    *,
    title: str = "",
    labeller: str | None = "rules",
    audit: bool = True,
    ratings: Any = None,
    tell: Tell | None = None,
) -> Material:
    """All that can be said about an evaluation; without its texts, less. ``ratings``: see plainly.ratings."""
    absent: list[str] = []
    evalset, outputs = evaluation.evalset, evaluation.outputs or {}
    seed = (evaluation.sampling or Sampling()).seed

    def attempt(what: str, make: Callable[[], T], otherwise: T | Any) -> T | Any:
        if tell is not None:
            tell(what)
        try:
            return make()
        except (PlainlyError, ImportError) as error:
            absent.append(f"{what}: {error}")
            return otherwise

    comparisons: dict[str, Comparisons] = {}
    if len(evaluation) > 1 and evaluation.n > 1:
        comparisons = attempt("comparing systems", lambda: _comparisons(evaluation), {})
    written = bool(outputs) and evalset.has_sources and len(evalset) > 0
    habits = attempt("what systems do", lambda: _habits(evalset, outputs), ()) if written else ()
    material = Material(
        title=title or evalset.name or "Text simplification report",
        evalset=evalset,
        outputs=outputs,
        evaluation=evaluation,
        comparisons=comparisons,
        findings=tuple(doctor.quick(evalset, outputs, evaluation.specs)) if outputs else (),
        habits=habits,
        split=_masks(evalset, outputs, "split") if written else {},
        copied=_masks(evalset, outputs, "copy") if written else {},
    )
    parts: dict[str, Any] = {"alarms": alarms.of(material)}
    if written and labeller is not None:
        parts["operations"] = attempt(
            "labelling operations", lambda: operating.operations(evalset, outputs, labeller=labeller), None
        )
    if written and audit and len(evaluation) > 1:
        parts["gains"], parts["audited"] = attempt(
            "trying tricks on the metrics", lambda: alarms.gains(material, seed=seed), ((), ())
        )
    if ratings is not None:
        parts["agreements"] = attempt(
            "correlating with ratings", lambda: rated.agreements(material, ratings, seed=seed), ()
        )
        parts["rated"] = rated.name(ratings)
    return Material(**{**vars(material), **parts, "absent": tuple(absent)})


def _comparisons(evaluation: Evaluation) -> dict[str, Comparisons]:
    """All pairs of systems by each metric, as compare tests them."""
    # Enough trials for a p-value that can pass Holm's correction with room to spare, whatever the number of systems.
    pairs = len(evaluation) * (len(evaluation) - 1) // 2
    level = (evaluation.sampling or Sampling()).level
    trials = max(TRIALS, round(2 * pairs / (1 - level)))
    return dict.fromkeys(evaluation.specs, compare(evaluation, tests=(DECIDING,), trials=trials))


def _masks(evalset: EvalSet, outputs: Outputs, field: str) -> dict[str, Bools]:
    return dict(subsets.divide(evalset, outputs, field)[0].masks)


def _habits(evalset: EvalSet, outputs: Outputs) -> tuple[Habit, ...]:
    metrics = list(dict.fromkeys(metric for *_, metric, _ in HABITS))
    of_systems = evaluate(evalset, outputs, metrics, sampling=None)
    places, repeated, texts = _flat_references(evalset)
    of_people = evaluate(repeated, {"people": texts}, metrics, sampling=None)["people"] if places else None
    numbers = np.array([number for _, number in places])
    counts = evalset.reference_counts
    writers = int(counts.min()) if len(counts) and counts.min() == counts.max() else 0
    habits = []
    for key, title, unit, metric, output in HABITS:
        scale = 100.0 if unit == "%" else 1.0
        people = None if of_people is None else scale * of_people[metric].corpus[output]
        spread = None
        if of_people is not None and writers > 1:
            each = [of_people[metric].subset(numbers == number).corpus[output] for number in range(writers)]
            spread = (scale * min(each), scale * max(each))
        habits.append(
            Habit(
                key,
                title,
                unit,
                {system: scale * of_systems[system][metric].corpus[output] for system in outputs},
                people,
                spread,
            )
        )
    return tuple(habits)


def _flat_references(evalset: EvalSet) -> tuple[list[tuple[int, int]], EvalSet, list[str]]:
    """References as if a system had written them: (item, number) of each, the set that repeats sources, the texts."""
    places = [(item, number) for item, row in enumerate(evalset.references) for number in range(len(row))]
    if len(places) > MOST_REFERENCES:
        keep = set(np.linspace(0, len(evalset) - 1, max(1, MOST_REFERENCES * len(evalset) // len(places))).astype(int))
        places = [place for place in places if place[0] in keep]
    repeated = EvalSet.of([evalset.sources[item] for item, _ in places]) if places else EvalSet.of([])
    return places, repeated, [evalset.references[item][number] for item, number in places]
