"""Trivial outputs and held-out references, whose scores show what the numbers of a metric mean.

A system should beat a copy of the source, its first words, nothing at all and its words in disorder; if it does
not, the metric is unsuitable. A held-out reference shows what people reach. It can only be scored against the
references that are left, so every system is scored against as few: each reference is left out once, for all.
"""

from dataclasses import dataclass, replace

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.result import Record, Table
from plainly.scoring.evaluate import add_intervals, evaluate
from plainly.scoring.scores import Evaluation, Scores, ScoreTable

HELD_OUT = "(held-out reference)"


def rows(evalset: EvalSet, *, seed: int) -> dict[str, tuple[str, ...]]:
    """Return trivial outputs by name: identity, the first 80 % of the words, empty, shuffled words."""
    if not evalset.has_sources:
        raise BadInput("Sanity rows are made from the sources. Add them: sources=")
    rng = np.random.default_rng(seed)
    words = [source.split() for source in evalset.sources]
    return {
        "(identity)": evalset.sources,
        "(first 80 % of words)": tuple(" ".join(w[: round(0.8 * len(w))]) for w in words),
        "(empty)": ("",) * len(evalset),
        "(shuffled words)": tuple(" ".join(w[at] for at in rng.permutation(len(w))) for w in words),
    }


def find_incomparable(evaluation: ScoreTable, spec: str) -> tuple[str, ...]:
    """Return the systems that copy references, if the metric compares with references."""
    return evaluation.reference_systems if "references" in evaluation.metrics[spec].needs else ()


@dataclass(frozen=True)
class LeaveOneOut:
    """All systems and the held-out reference, against one reference fewer; ``items`` have two or more references."""

    evaluation: Evaluation
    references: str
    folds: int

    @property
    def items(self) -> int:
        return self.evaluation.n

    def json(self) -> Record:
        return {
            "references": self.references,
            "folds": self.folds,
            "items": self.items,
            "systems": self.evaluation.systems_json(),
        }

    def tables(self) -> list[Table]:
        caption = f"Against {self.references} references, each left out once for all systems ({self.items} items)"
        return [replace(self.evaluation.table(), caption=caption)]


def leave_one_out(evaluation: Evaluation) -> LeaveOneOut:
    """Score each reference against the others, and every system against the same ones; rows are averaged over folds.

    Items with a single reference cannot take part and are left out.
    """
    mask = evaluation.evalset.reference_counts >= 2
    if not mask.any():
        raise BadInput("A reference can only be held out where an item has two or more.")
    selection = evaluation.select(mask)
    counts = selection.evalset.reference_counts
    fewest, most = int(counts.min()) - 1, int(counts.max()) - 1
    folds = [_fold(selection, at) for at in range(most + 1)]
    remark = f"left-out:1 of {most + 1}"
    systems: dict[str, dict[str, Scores]] = {}
    for system in folds[0]:
        systems[system] = {}
        for spec, scores in folds[0][system].items():
            rows = np.mean([fold[system][spec].rows for fold in folds], axis=0)
            signature = replace(scores.signature, remarks=(*scores.signature.remarks, remark))
            systems[system][spec] = Scores.of_items(scores.metric, system, rows, signature)
    return LeaveOneOut(
        add_intervals(Evaluation(selection.evalset, systems, evaluation.sampling)),
        str(most) if fewest == most else f"{fewest} to {most}",
        len(folds),
    )


def _fold(evaluation: Evaluation, left_out: int) -> Evaluation:
    """Score one reference of each item as a system, against the others; items with few references repeat theirs."""
    evalset = evaluation.evalset
    at = [left_out % len(references) for references in evalset.references]
    rest = replace(evalset, references=tuple(r[:k] + r[k + 1 :] for r, k in zip(evalset.references, at, strict=True)))
    held_out = tuple(r[k] for r, k in zip(evalset.references, at, strict=True))
    return evaluate(rest, {**evaluation.texts, HELD_OUT: held_out}, evaluation.metrics, sampling=None)
