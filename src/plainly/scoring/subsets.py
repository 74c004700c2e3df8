"""Parts of a test set: by source length, by what the outputs do, by any column; nothing is measured again for them."""

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName, check_text
from plainly.core.evalset import EvalSet
from plainly.core.result import Note, Table
from plainly.core.sampling import Sampling
from plainly.scoring.evaluate import add_intervals
from plainly.scoring.scores import Evaluation, Scores

Bools = npt.NDArray[np.bool_]
Outputs = Mapping[str, Sequence[str]]

# From this many items on, intervals and tests have the stated error rates (tests/stats/test_resample.py).
SMALL = 100
# From how many groups or items on so many percent of 95 % intervals cover: bench/simulations.py, 2,000 studies each.
# Down to the first number, nearly as many cover as should.
_COVERAGE = {
    "groups": ((8, 94), (6, 92), (5, 91), (4, 87), (3, 74), (2, 50)),
    "items": ((10, 93), (7, 91), (5, 89), (4, 85), (3, 71), (2, 48)),
}
_PERCENTILE_COVERAGE = ((100, 94), (60, 93), (30, 93), (12, 90), (8, 87), (5, 83), (4, 78), (3, 70), (2, 50))
# A column with more values than this does not divide a test set into useful subsets.
MOST = 50


@dataclass(frozen=True)
class Subset:
    """Some of the items. Where the outputs decide (split, copy), each system has its own items."""

    field: str
    label: str
    masks: Mapping[str, Bools] = dataclasses.field(repr=False)

    @property
    def fewest(self) -> int:
        """How many items there are, for the system that has the fewest."""
        return min((int(mask.sum()) for mask in self.masks.values()), default=0)


def divide(evalset: EvalSet, outputs: Outputs, by: str, *, together: bool = False) -> list[Subset]:
    """Return the subsets that a field makes: a column of the set, or length, split, copy, group, references, operation.

    Split and copy depend on a system's outputs. With ``together`` all systems get the same items, as a paired
    comparison needs: those where any of the systems split or copied, and the others.
    """
    check_text("by", by)
    if by in evalset.columns:
        return _same_for_all(by, _from_column(by, evalset.columns[by]), outputs)
    if by in _OF_ITEMS:
        return _same_for_all(by, _OF_ITEMS[by](evalset), outputs)
    if by in _OF_OUTPUTS:
        return _of_outputs(by, evalset, outputs, together=together)
    if by in LABELLERS:
        return _by_label(by, evalset, outputs, together=together)
    names = (*evalset.columns, *FIELDS)
    raise UnknownName("field", by, names, see=f"what a set can be divided by: {', '.join(names)}")


def evaluate_subset(evaluation: Evaluation, subset: Subset) -> Evaluation:
    """Return the evaluation on a subset's items, from the rows that are there; each system may have its own items."""
    systems: dict[str, Mapping[str, Scores]] = {}
    for system in evaluation:
        selection = replace(evaluation, systems={system: evaluation.systems[system]}).select(subset.masks[system])
        systems |= add_intervals(selection).systems
    return Evaluation(evaluation.evalset[:0], systems, evaluation.sampling)


def warnings(evaluation: Evaluation) -> list[Note]:
    """Warn if subsets, or the number of groups or items, are too small to rely on intervals and tests."""
    notes = small_subsets([subset for subset, _ in evaluation.subsets])
    groups = evaluation.evalset.groups
    if evaluation.sampling is not None and groups is not None:
        notes += _few_units(len(set(groups)), "groups", evaluation.sampling)
    elif evaluation.sampling is not None:
        notes += _few_units(evaluation.n, "items", evaluation.sampling)
    return notes


def small_subsets(subsets: Sequence[Subset]) -> list[Note]:
    """Return a warning where subsets are too small for their intervals and tests to be relied on."""
    small = [subset for subset in subsets if subset.fewest < SMALL]
    if not small:
        return []
    sizes = ", ".join(f"{subset.label!r} has {subset.fewest}" for subset in small[:4])
    more = f" and {len(small) - 4} more" if len(small) > 4 else ""
    message = (
        f"By {small[0].field}, {sizes}{more}: with fewer than {SMALL} items intervals are too narrow and differences "
        "mostly chance."
    )
    return [Note(message, "warning", "small-subset")]


def _few_units(count: int, units: Literal["groups", "items"], sampling: Sampling) -> list[Note]:
    """Warn about intervals over so few groups or items that they are too narrow: see docs/statistics.md."""
    all_coverage = _PERCENTILE_COVERAGE if sampling.method == "percentile" else _COVERAGE[units]
    if not 0 < count < all_coverage[0][0] or (units, count) == ("items", 1):
        return []
    if count == 1:
        message = "All items are in one group, which allows no interval and no test."
    else:
        coverage = next(share for least, share in all_coverage if count >= least)
        message = (
            f"There are only {count} {units}. Intervals over so few are too narrow: in simulations, about {coverage} % "
            "of 95 % intervals cover. Tests remain valid."
        )
    return [Note(message, "warning", f"few-{units}")]


def _same_for_all(by: str, labels: Sequence[str], outputs: Outputs) -> list[Subset]:
    array = np.array(labels, dtype=object)
    return [
        Subset(by, label, dict.fromkeys(outputs, np.asarray(array == label, dtype=np.bool_)))
        for label in _in_order(labels)
    ]


def _in_order(labels: Sequence[str]) -> list[str]:
    """Sort by name, with numbers by their size: "words 9" comes before "words 10"."""

    def key(label: str) -> list[tuple[int, float, str]]:
        pieces = re.split(r"(\d+(?:\.\d+)?)", label)
        return [(0, float(piece), "") if position % 2 else (1, 0.0, piece) for position, piece in enumerate(pieces)]

    return sorted(set(labels), key=key)


def _from_column(name: str, values: Sequence[str]) -> Sequence[str]:
    distinct = set(values)
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError:
        numbers = None
    if numbers is not None and len(distinct) > 12 and np.isfinite(numbers).all():
        return _thirds(numbers, name)
    if len(distinct) > MOST:
        raise BadInput(
            f"The column {name!r} has {len(distinct)} different values for {len(values)} items; subsets that "
            f"small are useless. Choose a column with at most {MOST}."
        )
    return [value if value.strip() else "(blank)" for value in values]


def _thirds(numbers: npt.NDArray[np.float64], name: str) -> list[str]:
    """Label three parts of about equal size; equal numbers are in the same part."""
    cuts = np.quantile(numbers, [1 / 3, 2 / 3], method="inverted_cdf")
    part = np.searchsorted(cuts, numbers, side="left")
    spans = {p: (numbers[part == p].min(), numbers[part == p].max()) for p in np.unique(part)}
    names = {p: f"{low:g}" if low == high else f"{low:g}–{high:g}" for p, (low, high) in spans.items()}
    return [f"{name} {names[p]}" for p in part]


def _length(evalset: EvalSet) -> list[str]:
    if not evalset.has_sources:
        raise BadInput("Subsets by source length need the sources. Add them: sources=")
    from plainly.text.words import words

    return _thirds(np.array([len(words(source)) for source in evalset.sources], dtype=np.float64), "source words")


def _group(evalset: EvalSet) -> Sequence[str]:
    if evalset.groups is None:
        raise BadInput("Subsets by group need groups. Pass groups=, or a group column.")
    return evalset.groups


def _split(evalset: EvalSet, texts: Sequence[str]) -> Bools:
    from plainly.text import sentences
    from plainly.text.languages import CODES

    language = evalset.language if evalset.language in CODES else "en"
    before = evalset.prepare("sentence counts", lambda evalset: sentences.counts(evalset.sources, language))
    return np.asarray(sentences.counts(texts, language) > np.maximum(before, 1), dtype=np.bool_)


def _copy(evalset: EvalSet, texts: Sequence[str]) -> Bools:
    return np.array([one.split() == two.split() for one, two in zip(evalset.sources, texts, strict=True)], dtype=bool)


_OF_ITEMS: dict[str, Callable[[EvalSet], Sequence[str]]] = {
    "length": _length,
    "group": _group,
    "references": lambda evalset: [str(count) for count in evalset.reference_counts],
}
_OF_OUTPUTS: dict[str, tuple[Callable[[EvalSet, Sequence[str]], Bools], str, str]] = {
    "split": (_split, "split", "not split"),
    "copy": (_copy, "copied", "changed"),
}


# Fields whose labels an item may have none, one or several of: (sources, outputs) → the labels of each item.
LABELLERS: dict[str, Callable[[Sequence[str], Sequence[str]], Sequence[Collection[str]]]] = {
    "operation": registry.label_operations
}
FIELDS = (*_OF_ITEMS, *_OF_OUTPUTS, *LABELLERS)


def _of_outputs(by: str, evalset: EvalSet, outputs: Outputs, *, together: bool) -> list[Subset]:
    if not evalset.has_sources:
        raise BadInput(f"Subsets by {by} compare outputs with the sources. Add them: sources=")
    decide, yes, no = _OF_OUTPUTS[by]
    masks = {system: decide(evalset, texts) for system, texts in outputs.items()}
    if together:
        yes, no = f"{yes} by any", f"{no} by any" if by == "split" else f"{no} by all"
        masks = _any(masks)
    return [Subset(by, yes, masks), Subset(by, no, {system: ~mask for system, mask in masks.items()})]


def _any(masks: Mapping[str, Bools]) -> dict[str, Bools]:
    """Return the same mask for every system: true where any of them is."""
    mask: Bools = np.any(np.stack(list(masks.values())), axis=0)
    return dict.fromkeys(masks, mask)


def _by_label(by: str, evalset: EvalSet, outputs: Outputs, *, together: bool) -> list[Subset]:
    labels = {system: LABELLERS[by](evalset.sources, texts) for system, texts in outputs.items()}
    subsets = []
    for label in sorted({label for of_system in labels.values() for of_item in of_system for label in of_item}):
        masks = {
            system: np.array([label in of_item for of_item in of_system], dtype=np.bool_)
            for system, of_system in labels.items()
        }
        subsets.append(Subset(by, label, _any(masks) if together else masks))
    return subsets


def describe_label(by: str, label: str) -> str:
    """Return the label of a subset as tables and sentences show it; codes of operations are explained."""
    return registry.describe_operation(label) if by in LABELLERS else label


def subset_table(by: str, subsets: Sequence[tuple[Subset, Evaluation]]) -> Table:
    """Return a table of systems within subsets, with the number of items."""
    rows: list[tuple[str, ...]] = []
    header: tuple[str, ...] = ()
    for subset, evaluation in subsets:
        table = evaluation.table()
        header = (by, "items", *table.header)
        for row, of_system in zip(table.rows, evaluation.systems.values(), strict=True):
            rows.append((describe_label(by, subset.label), str(next(iter(of_system.values())).n), *row))
    minor = frozenset(column + 2 for column in table.minor) if subsets else frozenset()
    return Table(header, tuple(rows), text_columns=frozenset({0, 2}), minor=minor)
