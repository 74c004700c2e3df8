"""Parts of a test set: by source length, by what the outputs do, by any column; nothing is measured again for them."""

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.result import Note, Table
from plainly.scoring.evaluate import estimated
from plainly.scoring.scores import Evaluation, Scores

Bools = npt.NDArray[np.bool_]
Outputs = Mapping[str, Sequence[str]]

# Intervals and tests are shown to keep their promises from this many items on (tests/test_resample.py).
SMALL = 100
# From so many groups on, intervals over groups cover what they say.
FEW_GROUPS = 60
# A column with more values than this is no way to divide a test set.
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
    """The subsets that a field makes: a column of the set, or length, split, copy, group, references, operation.

    Split and copy are said of a system's outputs. With ``together`` all systems get the same items, as a paired
    comparison needs: those where any of the systems did it, and those where none did.
    """
    if by in evalset.columns:
        return _shared(by, _from_column(by, evalset.columns[by]), outputs)
    if by in _OF_ITEMS:
        return _shared(by, _OF_ITEMS[by](evalset), outputs)
    if by in _OF_OUTPUTS:
        return _of_outputs(by, evalset, outputs, together=together)
    if by in LABELLERS:
        return _labelled(by, evalset, outputs, together=together)
    known = (*evalset.columns, *FIELDS)
    raise UnknownName("field", by, known, see=f"what a set can be divided by: {', '.join(known)}")


def evaluate_subset(evaluation: Evaluation, subset: Subset) -> Evaluation:
    """The evaluation on a subset's items, from the rows that are there; each system may have its own items."""
    systems: dict[str, Mapping[str, Scores]] = {}
    for system in evaluation:
        chosen = replace(evaluation, systems={system: evaluation.systems[system]}).chosen(subset.masks[system])
        systems |= estimated(chosen).systems
    return Evaluation(evaluation.evalset[:0], systems, evaluation.sampling)


def warnings(evaluation: Evaluation) -> list[Note]:
    """Warnings where its subsets, or the groups that are drawn, are too small to rely on intervals and tests."""
    groups = evaluation.evalset.groups if evaluation.sampling else None
    return [*small_subsets([subset for subset, _ in evaluation.subsets]), *_few_groups(groups)]


def small_subsets(subsets: Sequence[Subset]) -> list[Note]:
    """A warning where subsets are too small for their intervals and tests to be relied on."""
    said = []
    if small := [subset for subset in subsets if subset.fewest < SMALL]:
        shown = ", ".join(f"{subset.label!r} has {subset.fewest}" for subset in small[:4])
        more = f" and {len(small) - 4} more" if len(small) > 4 else ""
        message = (
            f"By {small[0].field}, {shown}{more}: with fewer than {SMALL} items intervals are too narrow and "
            "differences mostly chance."
        )
        said.append(Note(message, "warning", "small-subset"))
    return said


def _few_groups(groups: Sequence[str] | None) -> list[Note]:
    """Intervals over few groups promise more than they hold: see docs/statistics.md."""
    said = []
    if groups is not None and (many := len(set(groups))) < FEW_GROUPS:
        message = (
            f"There are only {many} groups. Intervals over so few are too narrow: in simulations 90 % of 95 % "
            "intervals cover with 12 groups, 92 % with 30, 94 % with 60."
        )
        said.append(Note(message, "warning", "few-groups"))
    return said


def _shared(by: str, labels: Sequence[str], outputs: Outputs) -> list[Subset]:
    array = np.array(labels, dtype=object)
    return [
        Subset(by, label, dict.fromkeys(outputs, np.asarray(array == label, dtype=np.bool_)))
        for label in _in_order(labels)
    ]


def _in_order(labels: Sequence[str]) -> list[str]:
    """By name, with numbers by their size: "words 9" comes before "words 10"."""

    def key(label: str) -> list[tuple[int, float, str]]:
        pieces = re.split(r"(\d+(?:\.\d+)?)", label)
        return [(0, float(piece), "") if place % 2 else (1, 0.0, piece) for place, piece in enumerate(pieces)]

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
            f"The column {name!r} has {len(distinct)} different values for {len(values)} items; subsets that small say "
            f"nothing. Choose a column with at most {MOST}."
        )
    return [value if value.strip() else "(blank)" for value in values]


def _thirds(numbers: npt.NDArray[np.float64], what: str) -> list[str]:
    """Labels of three parts of about equal size; all of one number are in the same part."""
    cuts = np.quantile(numbers, [1 / 3, 2 / 3], method="inverted_cdf")
    part = np.searchsorted(cuts, numbers, side="left")
    spans = {p: (numbers[part == p].min(), numbers[part == p].max()) for p in np.unique(part)}
    names = {p: f"{low:g}" if low == high else f"{low:g}–{high:g}" for p, (low, high) in spans.items()}
    return [f"{what} {names[p]}" for p in part]


def _length(evalset: EvalSet) -> list[str]:
    if not evalset.has_sources:
        raise BadInput("Subsets by source length need the sources. Add them: sources=")
    from plainly.text.words import words

    return _thirds(np.array([len(words(source)) for source in evalset.sources], dtype=np.float64), "source words")


def _group(evalset: EvalSet) -> Sequence[str]:
    if evalset.groups is None:
        raise BadInput("Subsets by group need groups. Pass groups=, or a group column.")
    return evalset.groups


def _reference_count(evalset: EvalSet) -> list[str]:
    return [str(count) for count in evalset.reference_counts]


def _split(evalset: EvalSet, texts: Sequence[str]) -> Bools:
    from plainly.text import sentences
    from plainly.text.languages import CODES

    spoken = evalset.language if evalset.language in CODES else "en"
    before = evalset.prepare("sentence counts", lambda whole: sentences.counts(whole.sources, spoken))
    return np.asarray(sentences.counts(texts, spoken) > np.maximum(before, 1), dtype=np.bool_)


def _copy(evalset: EvalSet, texts: Sequence[str]) -> Bools:
    return np.array([one.split() == two.split() for one, two in zip(evalset.sources, texts, strict=True)], dtype=bool)


_OF_ITEMS: dict[str, Callable[[EvalSet], Sequence[str]]] = {
    "length": _length,
    "group": _group,
    "references": _reference_count,
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
    """The same mask for every system: true where any of them is."""
    joined: Bools = np.any(np.stack(list(masks.values())), axis=0)
    return dict.fromkeys(masks, joined)


def _labelled(by: str, evalset: EvalSet, outputs: Outputs, *, together: bool) -> list[Subset]:
    labels = {system: LABELLERS[by](evalset.sources, texts) for system, texts in outputs.items()}
    known = sorted({label for of_system in labels.values() for of_item in of_system for label in of_item})
    made = []
    for label in known:
        masks = {
            system: np.array([label in of_item for of_item in of_system], dtype=np.bool_)
            for system, of_system in labels.items()
        }
        if together:
            masks = _any(masks)
        made.append(Subset(by, label, masks))
    return made


def subset_table(by: str, subsets: Sequence[tuple[Subset, Evaluation]]) -> Table:
    """Systems within subsets, with how many items each has."""
    rows: list[tuple[str, ...]] = []
    header: tuple[str, ...] = ()
    for subset, evaluation in subsets:
        table = evaluation.table()
        header = (by, "items", *table.header)
        for row, of_system in zip(table.rows, evaluation.systems.values(), strict=True):
            rows.append((subset.label, str(next(iter(of_system.values())).n), *row))
    minor = frozenset(column + 2 for column in table.minor) if subsets else frozenset()
    return Table(header, tuple(rows), text_columns=frozenset({0, 2}), minor=minor)
