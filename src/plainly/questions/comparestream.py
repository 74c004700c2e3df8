"""Which differences are real, on a corpus that is never held: bins of items are drawn and swapped instead of items.

Items fall into bins at random (by a hash), so a bin is a small random sample and tests on bins hold for items. What
compare says of single items (how many, effect sizes, wins) is put back on that scale afterwards.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from plainly.questions.compare import Comparison, Comparisons, compare
from plainly.scoring.streamed import StreamEvaluation
from plainly.scoring.sums import BINS


def compare_stream(found: StreamEvaluation, **options: Any) -> Comparisons:
    """``compare`` for what ``score_stream(…, paired=True)`` found; it takes the same options."""
    binned, evalset = found.binned()
    compared = compare(binned, evalset, **options)
    return dataclasses.replace(
        compared,
        evaluation=found.evaluation(),
        comparisons=tuple(_of_items(each, found) for each in compared.comparisons),
        pairs=tuple(_of_items(each, found) for each in compared.pairs),
        unit="groups" if found.keyed_by == "group" else "items",
    )


def _of_items(each: Comparison, found: StreamEvaluation) -> Comparison:
    """The same comparison with what depends on the number of units counted in items."""
    better = found.outcomes.get((each.metric, each.system, each.baseline))
    if better is None:
        worse = found.outcomes.get((each.metric, each.baseline, each.system), (0, 0, 0))
        better = worse[1], worse[0], worse[2]
    higher, lower, ties = better
    wins, losses = (lower, higher) if each.better == "lower" else (higher, lower)
    system, baseline = (float(found[name][each.metric]) for name in (each.system, each.baseline))
    return dataclasses.replace(
        each,
        n=found.items,
        score=system,
        baseline_score=baseline,
        difference=system - baseline,
        # A bin varies as the sum of its items does: items differ √(bins / items) times as much from one another.
        effect_size=each.effect_size * float((BINS / max(found.items, 1)) ** 0.5),
        wins=wins,
        losses=losses,
        ties=ties,
    )
