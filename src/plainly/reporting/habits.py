"""What systems do, as shares and ratios, beside what the people do who wrote the references."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.formatting import number
from plainly.scoring.evaluate import evaluate

# Key, title, unit, metric, output.
HABITS = (
    ("split", "Sentences split", "% of outputs", "splits", "split"),
    ("copied", "Copied unchanged", "% of outputs", "edits", "copies"),
    ("compression", "Length beside the source", "output / source", "compression", "compression"),
    ("added", "Words added", "% of words", "edits", "added_of_output"),
    ("deleted", "Words deleted", "% of words", "edits", "deleted_of_source"),
    ("sentence", "Words a sentence", "words", "length", "words_per_sentence"),
)
# People's habits are measured on at most this many references, spread over the set.
MOST_REFERENCES = 5000


@dataclass(frozen=True)
class Habit:
    """One thing that systems do; what people do beside it, and from which to which of them, where that is known."""

    key: str
    title: str
    unit: str
    systems: Mapping[str, float]
    people: float = math.nan
    people_range: tuple[float, float] | None = None

    @property
    def is_share(self) -> bool:
        return self.unit.startswith("%")

    @property
    def defined(self) -> dict[str, float]:
        """The systems of which it can be said."""
        return {system: value for system, value in self.systems.items() if not math.isnan(value)}

    def shown(self, value: float) -> str:
        """A value of this habit, in words."""
        return f"{number(value, 0, page=True)} %" if self.is_share else number(value, page=True)


def habits(evalset: EvalSet, outputs: Mapping[str, Sequence[str]]) -> tuple[Habit, ...]:
    """Every habit, of systems and of people."""
    metrics = list(dict.fromkeys(metric for *_, metric, _ in HABITS))
    of_systems = evaluate(evalset, outputs, metrics, sampling=None)
    places, repeated, texts = _flat_references(evalset)
    of_people = evaluate(repeated, {"people": texts}, metrics, sampling=None)["people"] if places else None
    numbers, counts = np.array([number for _, number in places]), evalset.reference_counts
    writers = int(counts.min()) if len(counts) and counts.min() == counts.max() else 0
    measured = []
    for key, title, unit, metric, output in HABITS:
        scale = 100.0 if unit.startswith("%") else 1.0
        systems = {system: scale * of_systems[system][metric].corpus[output] for system in outputs}
        if of_people is None:
            measured.append(Habit(key, title, unit, systems))
            continue
        written = of_people[metric]
        # The first reference of every item, the second, …: sets often have one writer for each.
        parts = [scale * written.subset(numbers == writer).corpus[output] for writer in range(writers)]
        spread = (min(parts), max(parts)) if writers > 1 else None
        measured.append(Habit(key, title, unit, systems, scale * written.corpus[output], spread))
    return tuple(measured)


def _flat_references(evalset: EvalSet) -> tuple[list[tuple[int, int]], EvalSet, list[str]]:
    """References as if a system had written them: (item, number) of each, the set that repeats sources, the texts."""
    places = [(item, number) for item, row in enumerate(evalset.references) for number in range(len(row))]
    if len(places) > MOST_REFERENCES:
        keep = set(np.linspace(0, len(evalset) - 1, max(1, MOST_REFERENCES * len(evalset) // len(places))).astype(int))
        places = [place for place in places if place[0] in keep]
    repeated = EvalSet.of([evalset.sources[item] for item, _ in places]) if places else EvalSet.of([])
    return places, repeated, [evalset.references[item][number] for item, number in places]
