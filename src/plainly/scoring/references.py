"""Intervals that show how much a score depends on who wrote the references.

Drawing references with replacement would not do: a reference that comes twice adds nothing to BLEU, so every draw
would have fewer of them and score lower. Instead each item is measured against random halves of its references; by the
delete-half jackknife (Shao & Wu 1989) the halves vary as much around their mean as whole sets of references would.
Since items are independent, any combination of halves is a draw: some twenty measurements serve any number of draws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.formatting import listed
from plainly.core.metric import Floats
from plainly.core.result import Note
from plainly.core.sampling import Sampling
from plainly.scoring.evaluate import evaluate
from plainly.scoring.scores import Evaluation, Scores
from plainly.stats.resample import Resampler, interval, sum_by_group, variant_totals

Over = Literal["items", "references", "both"]
OVER: tuple[Over, ...] = ("items", "references", "both")
ReferenceDraws = Mapping[str, Mapping[str, Floats]]  # by metric, then system
_HALVES = 20
# Over two or three references, 70 to 91 % of 95 % intervals cover: halves of so few cannot show how writers differ.
_FEWEST = 4
# Below so many references the interval of a metric that takes the best match is too narrow.
_ENOUGH = 6


def draw_references(
    evaluation: Evaluation, *, over: Literal["references", "both"], halves: int = _HALVES
) -> ReferenceDraws:
    """Return the summed rows of every draw, by metric and system; without references only over both."""
    sampling = evaluation.sampling or Sampling()
    needing = [spec for spec, metric in evaluation.metrics.items() if "references" in metric.needs]
    if not needing:
        raise BadInput("None of these metrics compares with references, so other references would change nothing.")
    variants = _variants(evaluation, needing, halves=halves, seed=sampling.seed)
    draws = {
        spec: {system: variant_totals(variants[spec][system], sampling, units=over == "both") for system in evaluation}
        for spec in needing
    }
    if over == "both":
        items = Resampler(evaluation.n, sampling.resamples, sampling.seed, evaluation.evalset.groups)
        for spec in (spec for spec in evaluation.specs if spec not in needing):
            totals = items.totals([scores.rows for scores in evaluation.of_metric(spec).values()])
            draws[spec] = dict(zip(evaluation, totals, strict=True))
    return draws


def with_intervals(evaluation: Evaluation, draws: ReferenceDraws, *, over: str) -> Evaluation:
    """Return the evaluation with intervals from these draws; a metric that has none gets no interval."""
    sampling = evaluation.sampling or Sampling()
    unit = "references" if over == "references" else "items and references"

    def estimated(system: str, spec: str, scores: Scores) -> Scores:
        if spec not in draws:
            return replace(scores, intervals={})
        totals, rows = draws[spec][system], sum_by_group(scores.rows, evaluation.evalset.groups)
        return scores.with_estimates(
            interval(rows, scores.metric.score, totals, sampling=sampling, unit=unit, totals=scores.totals)
        )

    systems = {
        system: {spec: estimated(system, spec, scores) for spec, scores in of_system.items()}
        for system, of_system in evaluation.systems.items()
    }
    return replace(evaluation, systems=systems, input_notes=(*evaluation.input_notes, *_too_narrow(evaluation, draws)))


def _too_narrow(evaluation: Evaluation, draws: ReferenceDraws) -> list[Note]:
    """Warn about intervals that simulations show to be too narrow: see docs/statistics.md.

    A metric that counts every reference is a sum over them, to which the jackknife's theory applies; the best match
    among few is not, and its halves vary less than whole sets do.
    """
    fewest = int(evaluation.evalset.reference_counts.min(initial=_ENOUGH))
    matching = [
        spec
        for spec in draws
        if "references" in evaluation.metrics[spec].needs and evaluation.metrics[spec].reference_columns is None
    ]
    if not matching or fewest >= _ENOUGH:
        return []
    message = (
        f"Over {fewest} references the interval of {listed(matching)} is too narrow: in simulations nine tenths of "
        "the width that it should have with five references. Read it as a lower bound."
    )
    return [Note(message, "warning", "few-references")]


def _variants(evaluation: Evaluation, specs: Sequence[str], *, halves: int, seed: int) -> dict[str, dict[str, Floats]]:
    """Return rows (units, halves, k) by metric and system: each row, shifted as by half of its references."""
    evalset, outputs = evaluation.evalset, evaluation.texts
    counts = evalset.reference_counts
    fewest = int(counts.min(initial=_FEWEST))
    if fewest < _FEWEST:
        raise BadInput(
            f"An interval over references needs at least {_FEWEST} references of every item, and "
            f"{evalset.ids[int(counts.argmin())]!r} has {fewest}: intervals over fewer are much too narrow. "
            "Add references, or use over='items'."
        )
    size = np.maximum(counts // 2, 1)
    # Halves of an odd number are less than half and vary more: m of k vary by k/m - 1 times what k of k would.
    scale = np.sqrt(np.divide(size, counts - size, out=np.zeros(len(counts)), where=counts > size))
    rng = np.random.default_rng(seed)
    evaluations = []
    for _ in range(halves):
        half = EvalSet(
            ids=evalset.ids,
            sources=evalset.sources,
            references=tuple(
                tuple(row[at] for at in np.sort(rng.permutation(len(row))[:m]))
                for row, m in zip(evalset.references, size, strict=True)
            ),
        )
        evaluations.append(evaluate(half, outputs, {spec: evaluation.metrics[spec] for spec in specs}, sampling=None))
    variants: dict[str, dict[str, Floats]] = {}
    for spec in specs:
        variants[spec] = {}
        for system in outputs:
            rows = np.stack([evaluation_of_half[system][spec].rows for evaluation_of_half in evaluations])
            counting = evaluation.metrics[spec].reference_columns
            if counting is not None:  # half of the references, half the counts
                rows = np.where(counting, rows * np.where(size > 0, counts / np.maximum(size, 1), 1.0)[:, None], rows)
            # The mean of a few halves lies nearer to them than the true mean does, hence the factor.
            shifts = (rows - rows.mean(axis=0)) * scale[:, None] * np.sqrt(halves / (halves - 1))
            around = evaluation[system][spec].rows + shifts
            variants[spec][system] = np.stack([sum_by_group(table, evalset.groups) for table in around], axis=1)
    return variants
