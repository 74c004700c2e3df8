"""What if other people had written the references? Intervals that say how far a score depends on who did.

Drawing references with replacement would not do: a reference that comes twice adds nothing to BLEU, so every draw
would have fewer of them and score lower. Instead each item is measured against random halves of its references; by the
delete-half jackknife (Shao & Wu 1989) the halves vary as much around their mean as whole sets of references would.
Since items are independent, any combination of halves is a draw: some twenty measurements serve any number of draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from plainly.errors import BadInput
from plainly.evalset import EvalSet
from plainly.protocol import Floats, Metric
from plainly.scoring.evaluate import Evaluation, Scores, SystemScores, evaluate
from plainly.stats.resample import Resampler, VariantResampler, interval, sum_by_group

Over = Literal["items", "references", "both"]
OVER: tuple[Over, ...] = ("items", "references", "both")
_HALVES = 20


def draw(
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    evaluation: Evaluation,
    *,
    over: Literal["references", "both"],
    resamples: int = 1000,
    seed: int = 12345,
    halves: int = _HALVES,
) -> dict[str, dict[str, Floats]]:
    """Summed rows of every draw by metric and system. Metrics that need no references are in it only over both."""
    needing = [spec for spec in evaluation.specs if "references" in _metric(evaluation, spec).needs]
    if not needing:
        raise BadInput("None of these metrics compares with references, so other references would change nothing.")
    variants = _variants(evalset, outputs, evaluation, needing, halves=halves, seed=seed)
    resampler = VariantResampler(resamples=resamples, seed=seed, units=over == "both")
    drawn = {spec: {system: resampler.totals(variants[spec][system]) for system in evaluation} for spec in needing}
    if over == "both":
        items = Resampler(n=len(evalset), resamples=resamples, seed=seed, groups=evalset.groups)
        for spec in (spec for spec in evaluation.specs if spec not in needing):
            totals = items.totals([evaluation[system][spec].rows for system in evaluation])
            drawn[spec] = dict(zip(evaluation, totals, strict=True))
    return drawn


def with_intervals(
    evaluation: Evaluation, drawn: Mapping[str, Mapping[str, Floats]], *, over: str, level: float = 0.95, seed: int
) -> Evaluation:
    """The evaluation with intervals from these draws; a metric that has none gets no interval."""
    unit = "references" if over == "references" else "items and references"
    systems = {}
    for system, of_system in evaluation.systems.items():
        estimated = {}
        for spec, found in of_system.items():
            named = {}
            if spec in drawn:
                estimates = interval(found.rows, found.metric.score, drawn[spec][system], level=level, unit=unit)
                named = dict(zip(found.metric.outputs, estimates, strict=True))
            estimated[spec] = Scores(found.metric, system, found.ids, found.rows, found.signature, named)
        systems[system] = SystemScores(system, estimated)
    return Evaluation(evaluation.test_set, systems, seed=seed)


def _variants(
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    evaluation: Evaluation,
    specs: Sequence[str],
    *,
    halves: int,
    seed: int,
) -> dict[str, dict[str, Floats]]:
    """Rows (units, halves, k) by metric and system: the item's own row, moved as each half of its references moves."""
    counts = evalset.reference_counts
    if int(counts.max(initial=0)) < 2:
        raise BadInput("Every item has one reference at most, which says nothing about others. Use --over items.")
    size = np.maximum(counts // 2, 1)
    # Halves of an odd number are less than half and vary more: m of k vary by k/m - 1 times what k of k would.
    scale = np.sqrt(np.divide(size, counts - size, out=np.zeros(len(counts)), where=counts > size))
    rng = np.random.default_rng(seed)
    measured = []
    for _ in range(halves):
        half = EvalSet(
            ids=evalset.ids,
            sources=evalset.sources,
            references=tuple(
                tuple(row[at] for at in np.sort(rng.permutation(len(row))[:m]))
                for row, m in zip(evalset.references, size, strict=True)
            ),
        )
        measured.append(evaluate(half, outputs, specs, intervals=False))
    variants: dict[str, dict[str, Floats]] = {}
    for spec in specs:
        variants[spec] = {}
        for system in outputs:
            rows = np.stack([found[system][spec].rows for found in measured])
            # The mean of a few halves lies nearer to them than the true mean does, hence the factor.
            moved = (rows - rows.mean(axis=0)) * scale[:, None] * np.sqrt(halves / (halves - 1))
            around = evaluation[system][spec].rows + moved
            variants[spec][system] = np.stack([sum_by_group(table, evalset.groups) for table in around], axis=1)
    return variants


def _metric(evaluation: Evaluation, spec: str) -> Metric:
    return next(iter(evaluation.values()))[spec].metric
