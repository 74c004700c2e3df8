"""Verdicts on metrics: how far an attack moves a metric in the wrong direction, and which systems could win with it.

Distances are in units of the spread between the real systems: 1 is the distance from the worst system to the best, so
an attack that gains 1 takes the last system to first place. Every sentence of a verdict follows from a number.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plainly.auditing.attacks import Attack, Expected
from plainly.auditing.sweep import Sweep
from plainly.core.formatting import format_change, listed, number, percent, share
from plainly.core.metric import Better, Floats, ratio

# Changes below this share of the spread between systems are unnoticed: they would not change a ranking.
UNNOTICED = 0.05
_MOST_ATTACKS = 7
# An attack that applies to a smaller share of the outputs is weak evidence about a metric.
_FEW = 0.1
# A gain of fewer spreads does not take a system past many others.
_LITTLE = 0.25


@dataclass(frozen=True)
class Effect:
    """The effect of an attack on a metric, on average over the systems.

    ``gain`` is the change of the score in the metric's own units, positive if the score gets better; ``spreads`` is the
    same in units of the spread. Both are taken at ``level``, where the metric errs most; ``full_gain`` and
    ``full_spreads`` at ``full_level``, the highest at which it is defined. Both are the same where no lower level is
    noticeably worse. ``wrong`` is how far the score at ``level`` moves in the wrong direction, 0 if it moves in the
    right one or, with a judge, perhaps by chance. ``largest`` is the largest change of the score of any system at any
    level, in either direction.
    """

    metric: str
    attack: str
    expected: Expected
    level: float
    gain: float
    spreads: float
    full_level: float
    full_gain: float
    full_spreads: float
    wrong: float
    wrong_spreads: float
    largest: float
    largest_spreads: float
    touched: float

    @property
    def noticed(self) -> bool:
        """Whether the metric distinguishes the attacked outputs of any system from the others."""
        return self.largest > 0 if math.isnan(self.largest_spreads) else self.largest_spreads >= UNNOTICED

    @property
    def fully_fooled(self) -> bool:
        """Whether it moves noticeably in the wrong direction if all outputs are attacked."""
        in_spreads = not math.isnan(self.full_spreads)
        change = self.full_spreads if in_spreads else self.full_gain
        wrong = {"worse": change, "better": -change, "unchanged": abs(change)}[self.expected]
        return self.fooled and (wrong >= UNNOTICED if in_spreads else wrong > 0)

    @property
    def rewarded(self) -> bool:
        """Whether the score gets noticeably better if all outputs are attacked."""
        return self.full_gain > 0 if math.isnan(self.full_spreads) else self.full_spreads >= UNNOTICED

    @property
    def fooled(self) -> bool:
        """Whether it moves noticeably in the wrong direction."""
        return self.wrong > 0 if math.isnan(self.wrong_spreads) else self.wrong_spreads >= UNNOTICED


@dataclass(frozen=True)
class Flip:
    """The share of attacked outputs that makes ``system`` the winner, or the winner lose; NaN if no share does."""

    metric: str
    attack: str
    system: str
    rank: int  # of the system, before the attack
    wins: bool  # False: the system is the winner, and loses its place
    rival: str  # the system that it overtakes, or that overtakes it
    share: float


@dataclass(frozen=True)
class Verdict:
    """All results on one metric.

    The points of a judge have noise: if the verdict ``is_tested``, only movements with p < .01 count as wrong.
    """

    metric: str
    better: Better
    ranking: tuple[str, ...]  # best first, before any attack
    scores: dict[str, float]
    spread: float
    effects: tuple[Effect, ...]
    flips: tuple[Flip, ...]
    is_tested: bool = False

    @property
    def gameability(self) -> float:
        """How many spreads the worst attack moves it in the wrong direction; NaN without a spread."""
        return max((effect.wrong_spreads for effect in self.effects), default=math.nan)

    @property
    def cheapest(self) -> Flip | None:
        """The attack that lifts the worst system above the best with the fewest attacked outputs, if there is one."""
        lifts = [flip for flip in self.flips if flip.wins and flip.system == self.ranking[-1] and flip.share <= 1]
        return min(lifts, key=lambda flip: flip.share, default=None)


def reach_verdict(
    sweep: Sweep, spec: str, *, ranked: bool = True, significant: Collection[str] | None = None
) -> Verdict:
    """Return the verdict on one metric of a sweep; systems without items in common are not ``ranked``.

    ``significant`` names the attacks that move it in the wrong direction by more than chance; None if it has no noise.
    """
    better = sweep.design.metrics[spec].better
    sign = -1.0 if better == "lower" else 1.0
    scores = {system: sweep.baseline(system, spec) for system in sweep.systems}
    defined = [system for system, score in scores.items() if ranked and not math.isnan(score)]
    ranking = sorted(defined, key=lambda system: -sign * scores[system])
    spread = (abs(scores[ranking[0]] - scores[ranking[-1]]) or math.nan) if len(ranking) > 1 else math.nan
    effects = tuple(
        _effect(sweep, spec, attack, sign, spread, may_be_wrong=significant is None or attack.name in significant)
        for attack in sweep.design.attacks
    )
    has_ranking = better != "neither" and len(ranking) > 1
    attacks = [attack.name for attack in sweep.design.attacks if has_ranking and attack.expected != "better"]
    flips = tuple(
        flip
        for attack in attacks
        for flip in _flips(sweep, spec, attack, sign, ranking)
        if significant is None or attack in significant or not flip.wins
    )
    return Verdict(spec, better, tuple(ranking), scores, spread, effects, flips, significant is not None)


def _effect(sweep: Sweep, spec: str, attack: Attack, sign: float, spread: float, *, may_be_wrong: bool) -> Effect:
    curves = np.array([sweep.headline(system, attack.name, spec) for system in sweep.systems])
    changes = sign * (curves - curves[:, :1])
    gains = average_systems(changes)
    wrong = {"worse": gains, "better": -gains, "unchanged": np.abs(gains)}[attack.expected]
    if sweep.design.metrics[spec].better == "neither" or not may_be_wrong:
        wrong = np.zeros_like(gains)  # no direction is better, so none is wrong; or there may be no movement
    worst = int(np.where(np.isnan(wrong[1:]), -np.inf, wrong[1:]).argmax()) + 1
    # Some metrics are undefined when all outputs are empty: then the highest level at which they are defined.
    full = int(max(np.flatnonzero(~np.isnan(gains[1:])) + 1, default=len(gains) - 1))
    # Another level is worse than all outputs attacked only by a difference that could be noticed.
    is_worse = wrong[worst] > 0 and not wrong[worst] - wrong[full] < UNNOTICED * spread
    at = worst if is_worse else full
    over = max(float(wrong[at]), 0.0)
    largest = float(np.abs(changes)[~np.isnan(changes)].max(initial=0.0))
    levels = (0.0, *sweep.design.levels)
    return Effect(
        metric=spec,
        attack=attack.name,
        expected=attack.expected,
        level=levels[at],
        gain=float(gains[at]),
        spreads=float(gains[at] / spread),
        full_level=levels[full],
        full_gain=float(gains[full]),
        full_spreads=float(gains[full] / spread),
        wrong=over,
        wrong_spreads=over / spread,
        largest=largest,
        largest_spreads=largest / spread,
        touched=float(np.mean([sweep.changed[system, attack.name] for system in sweep.systems])),
    )


def average_systems(values: Floats) -> Floats:
    """Average over the systems (rows) that have a value; NaN where none has."""
    return ratio(np.nansum(values, axis=0), (~np.isnan(values)).sum(axis=0).astype(np.float64))


def _flips(sweep: Sweep, spec: str, attack: str, sign: float, ranking: Sequence[str]) -> Iterator[Flip]:
    for rank, system in enumerate(ranking, start=1):
        wins = rank > 1
        rival = ranking[0] if wins else ranking[1]
        lead = sign * (sweep.headline(system, attack, spec) - sweep.baseline(rival, spec))
        share = find_crossing((0.0, *sweep.design.levels), lead if wins else -lead)
        yield Flip(spec, attack, system, rank, wins, rival, share)


def find_crossing(levels: Sequence[float], lead: Floats) -> float:
    """Return the share at which a lead that begins at or below 0 becomes positive, interpolated between levels."""
    leads: list[float] = lead.tolist()
    for (low, high), (before, after) in zip(pairwise(levels), pairwise(leads), strict=True):
        if after > 0:
            start = min(before, 0.0)
            return low + -start / (after - start) * (high - low)
    return math.nan


def write_paragraph(verdict: Verdict) -> str:
    """Write one paragraph about one metric."""
    if verdict.better == "neither":
        return f"{verdict.metric} has no better direction: it describes outputs, so it cannot be gamed."
    harms = [effect for effect in verdict.effects if effect.expected == "worse" and effect.touched > 0]
    sentences = [_headline(verdict, harms), *_ranking_sentences(verdict)]
    decisive = {flip.attack for flip in verdict.flips if flip.share <= 1}
    unnoticed = [effect.attack for effect in harms if effect.touched >= _FEW and not effect.noticed]
    if missed := [attack for attack in unnoticed if attack not in decisive]:
        by = "no change at all" if math.isnan(verdict.spread) else "less than 5 % of the spread on any system"
        sentences.append(f"It hardly notices {listed(missed, most=_MOST_ATTACKS)} ({by}).")
    neutral = [effect for effect in verdict.effects if effect.expected == "unchanged" and effect.fooled]
    if neutral:
        worst = [
            _describe(effect.attack, effect.gain, effect.spreads)
            for effect in sorted(neutral, key=lambda effect: -effect.wrong)
        ]
        sentences.append(f"It reacts to changes that should not matter: {listed(worst, most=_MOST_ATTACKS)}.")
    improvements = [effect for effect in verdict.effects if effect.expected == "better" and effect.touched >= _FEW]
    unrewarded = [
        _describe(effect.attack, effect.full_gain, effect.full_spreads)
        for effect in improvements
        if not effect.rewarded and (effect.fooled or not verdict.is_tested)
    ]
    if unrewarded:
        sentences.append(f"It does not noticeably reward an improvement: {listed(unrewarded, most=_MOST_ATTACKS)}.")
    return " ".join(sentences)


def _headline(verdict: Verdict, harms: Sequence[Effect]) -> str:
    fooled = sorted((effect for effect in harms if effect.fooled), key=lambda effect: -effect.wrong)
    if not harms:
        return f"{verdict.metric}: no attack that harms an output was tried."
    if not fooled and verdict.is_tested:
        return f"{verdict.metric}: none of the {len(harms)} attacks that harm an output is shown to improve its score."
    if not fooled:
        by = "" if math.isnan(verdict.spread) else " by as much as 5 % of the spread between the systems, on average"
        return f"{verdict.metric}: none of the {len(harms)} attacks that harm an output improves its score{by}."
    top = fooled[0]
    verb = "improves" if len(fooled) == 1 else "improve"
    improve = f"{len(fooled)} of the {len(harms)} attacks that harm an output {verb} its score"
    if verdict.is_tested:
        improve += " (p < .01)"
    most = f"{number(top.wrong)} points with {percent(top.level)} of the outputs attacked"
    if not math.isnan(top.wrong_spreads):
        most += f", {number(top.wrong_spreads)} times the distance between the best and the worst system"
    if top.level != top.full_level:
        most += f" (with {percent(top.full_level)}, {format_change(top.full_gain)} points)"
    if top.wrong_spreads < _LITTLE:
        return f"{verdict.metric} is hard to game: {improve}, but little. {top.attack} gains most: {most}."
    return f"{verdict.metric} can be gamed: {improve}. {top.attack} gains most: {most}."


def _ranking_sentences(verdict: Verdict) -> Iterator[str]:
    """Yield what takes the worst system to the top, and what changes the winner with fewer attacked outputs."""
    cheapest = verdict.cheapest
    if len(verdict.scores) < 2:
        yield "With one system there is no spread to compare with and no ranking; add a second system."
    elif len(verdict.ranking) < 2:
        yield "No two systems have a score on the same items, so there is no spread to compare with and no ranking."
    elif cheapest is None:
        lifts = "is shown to lift" if verdict.is_tested else "lifts"
        yield f"No attack {lifts} the worst system ({verdict.ranking[-1]}) above the best ({verdict.ranking[0]})."
    else:
        yield (
            f"The cheapest way from last place to first: {cheapest.attack} on {share(cheapest.share)} of the outputs "
            f"of {verdict.ranking[-1]} lifts it above {verdict.ranking[0]}."
        )
    wins = [flip for flip in verdict.flips if flip.wins and flip.share <= 1]
    first = min(wins, key=lambda flip: flip.share, default=None)
    if first is not None and first != cheapest:
        sooner = " sooner" if cheapest is not None else ""
        yield (
            f"The winner changes{sooner}: {first.attack} on {share(first.share)} of its outputs takes {first.system} "
            f"from place {first.rank} past {first.rival}."
        )


def _describe(attack: str, gain: float, spreads: float) -> str:
    in_spreads = "" if math.isnan(spreads) else f", {format_change(spreads)} spreads"
    return f"{attack} ({format_change(gain)}{in_spreads})"
