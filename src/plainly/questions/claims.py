"""What may be said about a comparison: one sentence a metric, with its number, its interval and its limits."""

from __future__ import annotations

import math
from collections.abc import Sequence

from plainly.questions.compare import Comparison, Comparisons

# A sentence with more names than this is not read; the JSON has them all.
_MOST_NAMES = 8


def claims(found: Comparisons) -> list[str]:
    """One sentence for each metric, resting on the deciding test and Holm's correction."""
    return [_claim(found, spec) for spec in found.evaluation.specs]


def _claim(found: Comparisons, spec: str) -> str:
    decided = [each for each in found.comparisons if each.metric == spec and each.test == found.deciding]
    defined = [each for each in decided if math.isfinite(each.difference)]
    if not defined:
        return f"{spec}: undefined for these outputs; nothing may be claimed."
    family = sum(each.test == found.deciding for each in found.comparisons)
    if len(decided) == 1:
        return _one(defined[0], family=family, unit=found.unit)
    if found.baseline is not None:
        return _against(found.baseline, spec, defined, family=family)
    return _ranking(found, spec, defined, family=family)


def _one(each: Comparison, *, family: int, unit: str) -> str:
    corrected = f", Holm over {family} comparisons" if family > 1 else ""
    numbers = f"{each.level:.0%} interval {each.low:.2f} to {each.high:.2f}; p = {p_text(each.p_claim)}{corrected}"
    if not each.significant:
        return (
            f"{each.metric}: no difference may be claimed between {each.system} and {each.baseline} "
            f"({each.difference:+.2f}; {numbers}). {each.n} items show differences of about "
            f"{each.smallest_detectable:.2f} or more."
        )
    if each.winner is None:
        return (
            f"{each.metric}: {each.system} differs from {each.baseline} by {each.difference:+.2f} ({numbers}); the "
            "metric does not say which is better."
        )
    loser = each.baseline if each.winner == each.system else each.system
    return (
        f"{each.metric}: {each.winner} may be said to score better than {loser}, by {abs(each.difference):.2f} "
        f"({each.system} − {each.baseline}: {numbers}), on {unit} like these."
    )


def _against(baseline: str, spec: str, decided: Sequence[Comparison], *, family: int) -> str:
    said = {
        ("scores", "score", "better than"): [each.system for each in decided if each.winner == each.system],
        ("scores", "score", "worse than"): [each.system for each in decided if each.winner == baseline],
        ("differs", "differ", "for better or worse, from"): [
            each.system for each in decided if each.significant and not each.winner
        ],
        ("cannot", "cannot", "be told from"): [each.system for each in decided if not each.significant],
    }
    sentences = [
        f"{_names(names)} {one if len(names) == 1 else several} {rest} {baseline}"
        for (one, several, rest), names in said.items()
        if names
    ]
    return f"{spec}: {'; '.join(sentences)} ({_basis(decided, family)})."


def _ranking(found: Comparisons, spec: str, decided: Sequence[Comparison], *, family: int) -> str:
    apart = sum(each.significant for each in decided)
    basis = _basis(decided, family)
    if decided[0].better == "neither":
        return f"{spec}: {apart} of {len(decided)} pairs differ; the metric does not say who is better ({basis})."
    top = found.ties(spec)[0]
    best = f"{top[0]} scores best" if len(top) == 1 else f"{_names(top)} score best and cannot be told apart"
    return f"{spec}: {best}; {apart} of {len(decided)} pairs can be told apart ({basis})."


def _basis(decided: Sequence[Comparison], family: int) -> str:
    sizes = [each.smallest_detectable for each in decided if math.isfinite(each.smallest_detectable)]
    shown = (
        "" if not sizes else f"; {decided[0].n} items show differences of about {_span(min(sizes), max(sizes))} or more"
    )
    return f"{1 - decided[0].level:.0%} level, Holm over {family} comparisons{shown}"


def _span(low: float, high: float) -> str:
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"


def _names(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMES:
        return f"{', '.join(names[: _MOST_NAMES - 1])} and {len(names) - _MOST_NAMES + 1} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def p_text(p: float) -> str:
    """A p-value as people read it."""
    if math.isnan(p):
        return "undefined"
    return f"{p:.4f}" if p < 0.01 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
