"""Evaluate on chosen references and items: only those that split, none that err. What is removed is gone, not blank.

The published subsets of ASSETann left removed references as blank lines, which SARI then counted as references; that
moved its scores by up to five points (``plainly reproduce assetann``). Here references are ragged, as they are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress, cycle, repeat

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.typology.annotation import Pair, squeeze
from plainly.typology.formats import load
from plainly.typology.label import labeller
from plainly.typology.vocabulary import resolve

ANNOTATED = "assetann/annotations"
LabelSet = frozenset[str]
Names = str | Iterable[str]


@dataclass(frozen=True)
class Selection:
    """The chosen part of an evaluation set. ``kept`` are positions in the whole set; outputs are cut to them."""

    evalset: EvalSet
    kept: npt.NDArray[np.intp]
    items_before: int
    references_before: int
    items_without_references: int
    unlabelled: int

    @property
    def references(self) -> int:
        return int(self.evalset.reference_counts.sum())

    def outputs(self, outputs: Sequence[str]) -> tuple[str, ...]:
        """A system's outputs for the items that were kept."""
        return tuple(outputs[at] for at in self.kept)

    def __str__(self) -> str:
        counted = f"{self.references} of {self.references_before} references"
        text = f"{len(self.kept)} of {self.items_before} items and {counted}"
        if self.items_without_references:
            text += f"; {self.items_without_references} items have no reference left and were removed"
        return text


def reference_pairs(evalset: EvalSet) -> tuple[list[str], list[str]]:
    """Every reference of every item, with its source before it."""
    pairs = zip(evalset.sources, evalset.references, strict=True)
    sources = [source for source, references in pairs for _ in references]
    return sources, [reference for references in evalset.references for reference in references]


def reference_labels(evalset: EvalSet, annotated: Sequence[Pair]) -> tuple[tuple[LabelSet | None, ...], ...]:
    """The labels of every reference, found by its words; None for a reference that nobody annotated.

    The same sentence tokenised or cased in another way is found all the same. A simplification that occurs twice for
    one source and was annotated differently gets the annotations in turn.
    """
    known: dict[tuple[str, str], list[LabelSet]] = {}
    for pair in annotated:
        known.setdefault((squeeze(pair.source), squeeze(pair.output)), []).append(pair.labels)
    turns = {key: cycle(annotations) for key, annotations in known.items()}
    return tuple(
        tuple(next(turns.get((squeeze(source), squeeze(reference)), repeat(None))) for reference in references)
        for source, references in zip(evalset.sources, evalset.references, strict=True)
    )


def select(
    evalset: EvalSet,
    labels: Sequence[Sequence[LabelSet | None]],
    *,
    references_with: Names | None = None,
    references_without: Names | None = None,
    items_with: Names | None = None,
    items_without: Names | None = None,
    share: float | None = None,
) -> Selection:
    """The items and references that satisfy all conditions.

    A reference is kept when it has at least one of ``references_with`` and none of ``references_without``. An item is
    kept when at least one of its references (or ``share`` of them) has one of ``items_with``, and when fewer
    have one of ``items_without``; items are judged by all their references, those removed included. References that
    nobody annotated are removed by any condition, because nothing is known about them.
    """
    if len(labels) != len(evalset):
        raise BadInput(f"Labels were given for {len(labels)} items, but the evaluation set has {len(evalset)}.")
    if share is not None and not 0 < share <= 1:
        raise BadInput(f"The share of references is above 0 and at most 1, not {share}.")
    named = (references_with, references_without, items_with, items_without)
    wanted, unwanted, item_wanted, item_unwanted = (None if names is None else resolve(names) for names in named)
    kept, kept_references, bare, unlabelled = [], [], 0, 0
    for at, (row, references) in enumerate(zip(labels, evalset.references, strict=True)):
        if len(row) != len(references):
            raise BadInput(f"Item {evalset.ids[at]!r} has {len(references)} references and labels for {len(row)}.")
        unlabelled += sum(known is None for known in row)
        if item_wanted is not None and not _enough(row, item_wanted, share):
            continue
        if item_unwanted is not None and _enough(row, item_unwanted, share):
            continue
        chosen = references
        if any(names is not None for names in named):
            chosen = tuple(compress(references, (_fits(known, wanted, unwanted) for known in row)))
        if references and not chosen:
            bare += 1
            continue
        kept.append(at)
        kept_references.append(chosen)
    positions = np.array(kept, dtype=np.intp)
    part = replace(evalset[positions], references=tuple(kept_references))
    return Selection(part, positions, len(evalset), int(evalset.reference_counts.sum()), bare, unlabelled)


def choose(
    evalset: EvalSet, *, operations: str | None = None, share: float | None = None, **conditions: Names | None
) -> Selection:
    """The part of a set that satisfies conditions (those of ``select``), its name saying which they were.

    ``operations`` is where the references' operations are annotated (ASSETann), or ``"auto"`` to label them now; by
    rules, for the licence's sake.
    """
    if not evalset.references:
        raise BadInput("References and items are chosen by the operations in references, and there are none.")
    auto = operations == "auto"
    annotated = labeller("rules").label(*reference_pairs(evalset)) if auto else load(operations or ANNOTATED)
    selection = select(evalset, reference_labels(evalset, annotated), share=share, **conditions)
    if selection.unlabelled == selection.references_before:
        raise BadInput(
            "None of the references is annotated with operations. Name their annotations (operations='FILE'), or let "
            "plainly label them (operations='auto')."
        )
    if not len(selection.kept):
        raise BadInput("No item is left that has what was asked for. See: plainly operations profile")
    said = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in conditions.items() if value)
    return replace(selection, evalset=replace(selection.evalset, name=f"{evalset.name or 'the items'} ({said})"))


def _fits(labels: LabelSet | None, wanted: LabelSet | None, unwanted: LabelSet | None) -> bool:
    return labels is not None and (wanted is None or bool(labels & wanted)) and not labels & (unwanted or frozenset())


def _enough(row: Sequence[LabelSet | None], wanted: LabelSet, share: float | None) -> bool:
    annotated = [labels for labels in row if labels is not None]
    having = sum(bool(labels & wanted) for labels in annotated)
    return having >= 1 if share is None else bool(annotated) and having >= share * len(annotated)
