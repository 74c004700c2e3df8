"""What may be said about a comparison: one sentence a metric, with its number, its interval and its limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from plainly.core.formatting import listed, p_value, span
from plainly.scoring.sanity import against_itself

if TYPE_CHECKING:
    from plainly.scoring.comparisons import Comparison, Comparisons


def claims(result: Comparisons, *, family: Callable[[str], int] | None = None) -> list[str]:
    """One sentence for each metric, resting on the deciding test and Holm's correction over ``family`` comparisons."""
    family = family or result.family
    return [_claim(result, spec, family(spec)) + _void(result, spec) for spec in result.evaluation.specs]


def _void(result: Comparisons, spec: str) -> str:
    """What is no claim at all: that a reference scores well against itself."""
    itself = against_itself(result.evaluation, spec)
    if not itself:
        return ""
    what = "is a reference" if len(itself) == 1 else "are references"
    return f" But {listed(itself)} {what} scored against itself: no victory of it may be claimed."


def _claim(result: Comparisons, spec: str, family: int) -> str:
    decided = result.decided(spec)
    defined = [pair for pair in decided if math.isfinite(pair.difference)]
    if not defined:
        return f"{spec}: undefined for these outputs; nothing may be claimed."
    if len(decided) == 1:
        return _single(defined[0], family=family, unit=result.unit)
    if result.baseline is not None:
        return _against(result.baseline, spec, defined, family=family)
    return _ranking(result, spec, defined, family=family)


def _single(pair: Comparison, *, family: int, unit: str) -> str:
    corrected = f", Holm over {family} comparisons" if family > 1 else ""
    numbers = f"{pair.level:.0%} interval {pair.low:.2f} to {pair.high:.2f}; p = {p_value(pair.p_claim)}{corrected}"
    if not pair.significant:
        return (
            f"{pair.metric}: no difference may be claimed between {pair.system} and {pair.baseline} "
            f"({pair.difference:+.2f}; {numbers}). {pair.n} items show differences of about "
            f"{pair.smallest_detectable:.2f} or more."
        )
    if pair.winner is None:
        return (
            f"{pair.metric}: {pair.system} differs from {pair.baseline} by {pair.difference:+.2f} ({numbers}); the "
            "metric does not say which is better."
        )
    loser = pair.baseline if pair.winner == pair.system else pair.system
    return (
        f"{pair.metric}: {pair.winner} may be said to score better than {loser}, by {abs(pair.difference):.2f} "
        f"({pair.system} − {pair.baseline}: {numbers}), on {unit} like these."
    )


def _against(baseline: str, spec: str, pairs: Sequence[Comparison], *, family: int) -> str:
    said = {
        ("scores", "score", "better than"): [pair.system for pair in pairs if pair.winner == pair.system],
        ("scores", "score", "worse than"): [pair.system for pair in pairs if pair.winner == baseline],
        ("differs", "differ", "for better or worse, from"): [
            pair.system for pair in pairs if pair.significant and not pair.winner
        ],
        ("cannot", "cannot", "be told from"): [pair.system for pair in pairs if not pair.significant],
    }
    sentences = [
        f"{listed(names)} {singular if len(names) == 1 else plural} {rest} {baseline}"
        for (singular, plural, rest), names in said.items()
        if names
    ]
    return f"{spec}: {'; '.join(sentences)} ({_basis(pairs, family)})."


def _ranking(result: Comparisons, spec: str, pairs: Sequence[Comparison], *, family: int) -> str:
    apart = sum(pair.significant for pair in pairs)
    basis = _basis(pairs, family)
    if pairs[0].better == "neither":
        return f"{spec}: {apart} of {len(pairs)} pairs differ; the metric does not say who is better ({basis})."
    top = result.ties(spec)[0]
    best = f"{top[0]} scores best" if len(top) == 1 else f"{listed(top)} score best and cannot be told apart"
    return f"{spec}: {best}; {apart} of {len(pairs)} pairs can be told apart ({basis})."


def _basis(pairs: Sequence[Comparison], family: int) -> str:
    sizes = [pair.smallest_detectable for pair in pairs if math.isfinite(pair.smallest_detectable)]
    shown = ""
    if sizes:
        shown = f"; {pairs[0].n} items show differences of about {span(min(sizes), max(sizes))} or more"
    return f"{1 - pairs[0].level:.0%} level, Holm over {family} comparisons{shown}"
