"""Evaluation on selected references and items: only those that split, none that err. Removed references leave no blank.

The published subsets of ASSETann left removed references as blank lines, which SARI then counted as references; that
moved its scores by up to five points (``plainly reproduce assetann``). Here the number of references varies by item.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress, cycle, repeat

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.result import Note
from plainly.io.texts import Texts
from plainly.typology.annotation import Pair, squeeze
from plainly.typology.formats import load
from plainly.typology.labeller import labeller
from plainly.typology.vocabulary import resolve

ANNOTATED = "assetann/annotations"
LabelSet = frozenset[str]
Names = str | Iterable[str]


@dataclass(frozen=True)
class Selection:
    """The selected part of an evaluation set; ``positions`` are those of its items in the whole set."""

    evalset: EvalSet
    positions: npt.NDArray[np.intp]
    items_before: int
    references_before: int
    items_without_references: int
    unlabelled_references: int

    @property
    def references(self) -> int:
        return int(self.evalset.reference_counts.sum())

    def outputs(self, outputs: Sequence[str]) -> tuple[str, ...]:
        """Return a system's outputs for the selected items."""
        return tuple(outputs[at] for at in self.positions)

    def __str__(self) -> str:
        references = f"{self.references} of {self.references_before} references"
        removed = f"; {self.items_without_references} items have no reference left and were removed"
        text = f"{len(self.positions)} of {self.items_before} items and {references}"
        return text + (removed if self.items_without_references else "")


def reference_pairs(evalset: EvalSet) -> tuple[list[str], list[str]]:
    """Return the source and the text of every reference."""
    pairs = zip(evalset.sources, evalset.references, strict=True)
    sources = [source for source, references in pairs for _ in references]
    return sources, [reference for references in evalset.references for reference in references]


def reference_labels(evalset: EvalSet, annotated: Sequence[Pair]) -> tuple[tuple[LabelSet | None, ...], ...]:
    """Return the labels of every reference, found by its words; None for a reference without annotation.

    The same sentence in another tokenisation or case is found too. A simplification that occurs twice for one source
    and was annotated differently gets the annotations in turn.
    """
    labels_by_words: dict[tuple[str, str], list[LabelSet]] = {}
    for pair in annotated:
        labels_by_words.setdefault(pair.words, []).append(pair.labels)
    cycles = {key: cycle(annotations) for key, annotations in labels_by_words.items()}
    return tuple(
        tuple(next(cycles.get((squeeze(source), squeeze(reference)), repeat(None))) for reference in references)
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
    """Return the items and references that satisfy all conditions.

    A reference needs at least one of ``references_with`` and none of ``references_without``. An item needs at least one
    reference (or a ``share`` of them) with one of ``items_with``, and fewer with one of ``items_without``; all its
    references count, including removed ones. Any condition removes references without annotation.
    """
    if len(labels) != len(evalset):
        raise BadInput(f"Labels were given for {len(labels)} items, but the evaluation set has {len(evalset)}.")
    if share is not None and not 0 < share <= 1:
        raise BadInput(f"The share of references must be above 0 and at most 1, not {share}.")
    conditions = (references_with, references_without, items_with, items_without)
    wanted, unwanted, item_wanted, item_unwanted = (None if names is None else resolve(names) for names in conditions)
    is_selective = any(names is not None for names in conditions)
    remaining: dict[int, tuple[str, ...]] = {}  # the references of the selected items, by position
    for at, (row, references) in enumerate(zip(labels, evalset.references, strict=True)):
        if len(row) != len(references):
            raise BadInput(f"Item {evalset.ids[at]!r} has {len(references)} references and labels for {len(row)}.")
        is_wanted = item_wanted is None or _has_enough(row, item_wanted, share)
        if is_wanted and not (item_unwanted is not None and _has_enough(row, item_unwanted, share)):
            fits = (
                labels_of is not None
                and (wanted is None or bool(labels_of & wanted))
                and labels_of.isdisjoint(unwanted or ())
                for labels_of in row
            )
            remaining[at] = tuple(compress(references, fits)) if is_selective else references
    positions = [at for at, references in remaining.items() if references or not evalset.references[at]]
    indices = np.array(positions, dtype=np.intp)
    return Selection(
        evalset=replace(evalset[indices], references=tuple(remaining[at] for at in positions)),
        positions=indices,
        items_before=len(evalset),
        references_before=int(evalset.reference_counts.sum()),
        items_without_references=len(remaining) - len(positions),
        unlabelled_references=sum(labels_of is None for row in labels for labels_of in row),
    )


@dataclass(frozen=True, kw_only=True)
class ByOperation:
    """A selection of references and items by their operations, with the conditions of ``select``.

    It is passed as ``plainly.score(…, select=ByOperation(items_with="split"))``. ``operations`` is the annotation of
    the references (default: ASSETann), or ``"auto"`` to label them now, by rules because of the licence.
    """

    references_with: Names | None = None
    references_without: Names | None = None
    items_with: Names | None = None
    items_without: Names | None = None
    share: float | None = None
    operations: str | None = None

    def __call__(self, texts: Texts) -> Texts:
        """Return the selected part of the texts; the name of its set lists the conditions."""
        evalset = texts.evalset
        if not evalset.references:
            raise BadInput(
                "Items are selected by operations in their references, but there are none. Pass references=."
            )
        conditions = {name: value for name, value in vars(self).items() if name not in ("share", "operations")}
        is_automatic = self.operations == "auto"
        annotated = (
            labeller("rules").label(*reference_pairs(evalset)) if is_automatic else load(self.operations or ANNOTATED)
        )
        selection = select(evalset, reference_labels(evalset, annotated), share=self.share, **conditions)
        if selection.unlabelled_references == selection.references_before:
            raise BadInput(
                "None of the references is annotated with operations. Pass annotations (operations='FILE'), or label "
                "them now (operations='auto')."
            )
        if not len(selection.positions):
            raise BadInput("No item satisfies the conditions. See: plainly operations profile")
        description = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in conditions.items() if value)
        return Texts(
            replace(selection.evalset, name=f"{evalset.name or 'the items'} ({description})"),
            {system: selection.outputs(lines) for system, lines in texts.outputs.items()},
            (*texts.notes, Note(f"Selected by operation: {selection}.")),
        )


def _has_enough(row: Sequence[LabelSet | None], wanted: LabelSet, share: float | None) -> bool:
    label_sets = [labels for labels in row if labels is not None]
    count = sum(bool(labels & wanted) for labels in label_sets)
    return count >= 1 if share is None else bool(label_sets) and count >= share * len(label_sets)
