"""What a sweep says about a metric: how far it can be gamed, what that costs, and who could win by it.

Distances are in units of the spread between the real systems: 1 is as far as from the worst system to the best, so an
attack that gains 1 takes the last to the first place. Every sentence of the verdict in words follows from a number.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plainly.auditing.attacks import Attack, Expected
from plainly.auditing.sweep import Sweep
from plainly.core.formatting import listed, number, percent, share, signed
from plainly.core.metric import Better, Floats, ratio

# Below this share of the spread between systems a change is called unnoticed: no ranking would turn on it.
UNNOTICED = 0.05
_MOST_ATTACKS = 7
# What an attack that applies to fewer outputs than this does to a score says little about the metric.
_FEW = 0.1
# Less than this many spreads does not take a system past many others.
_LITTLE = 0.25


@dataclass(frozen=True)
class Effect:
    """What an attack does to a metric, on average over the systems.

    ``gain`` is the change of the score in the metric's own units, positive where the metric says "better"; ``spreads``
    is the same in units of the spread. Both are taken at ``level``: where the metric errs most, or at the highest.
    ``wrong`` is how far, in the metric's units, it moves in the direction that it should not; 0 where it is right.
    """

    metric: str
    attack: str
    expected: Expected
    level: float
    gain: float
    spreads: float
    wrong: float
    wrong_spreads: float
    touched: float

    @property
    def noticed(self) -> bool:
        """Whether the metric tells the attacked outputs from the others."""
        return not abs(self.spreads) < UNNOTICED if not math.isnan(self.spreads) else self.gain != 0

    @property
    def fooled(self) -> bool:
        """Whether it moves in the wrong direction, and by more than a trifle."""
        if math.isnan(self.wrong_spreads):
            return self.wrong > 0
        return self.wrong_spreads >= UNNOTICED


@dataclass(frozen=True)
class Flip:
    """How much of an attack makes ``system`` the winner, or makes the winner lose; NaN where no amount does."""

    metric: str
    attack: str
    system: str
    rank: int  # of the system, before
    wins: bool  # False: the system is the winner, and this is where it loses its place
    rival: str  # whom it overtakes, or who overtakes it
    share: float


@dataclass(frozen=True)
class Verdict:
    """Everything that is said of one metric."""

    metric: str
    better: Better
    ranking: tuple[str, ...]  # best first, as the outputs are
    scores: dict[str, float]
    spread: float
    effects: tuple[Effect, ...]
    flips: tuple[Flip, ...]

    @property
    def gameability(self) -> float:
        """How many spreads the worst of the attacks moves it in the wrong direction; NaN without a spread."""
        return max((effect.wrong_spreads for effect in self.effects), default=math.nan)

    @property
    def cheapest(self) -> Flip | None:
        """The attack that lifts the worst system above the best with the fewest outputs touched, if any does."""
        lifts = [flip for flip in self.flips if flip.wins and flip.system == self.ranking[-1] and flip.share <= 1]
        return min(lifts, key=lambda flip: flip.share, default=None)


def judge(sweep: Sweep, spec: str) -> Verdict:
    """The verdict on one metric of a sweep."""
    better = sweep.design.metrics[spec].better
    sign = -1.0 if better == "lower" else 1.0
    scores = {system: sweep.unharmed(system, spec) for system in sweep.systems}
    ranked = sorted((s for s in scores if not math.isnan(scores[s])), key=lambda s: -sign * scores[s])
    spread = abs(scores[ranked[0]] - scores[ranked[-1]]) if len(ranked) > 1 else math.nan
    if spread == 0:
        spread = math.nan
    effects = tuple(_effect(sweep, spec, attack, sign, spread) for attack in sweep.design.attacks)
    harms = [attack.name for attack in sweep.design.attacks if attack.expected != "better"]
    turnable = better != "neither" and len(ranked) > 1
    flips = tuple(flip for attack in harms if turnable for flip in _flips(sweep, spec, attack, sign, ranked))
    return Verdict(spec, better, tuple(ranked), scores, spread, effects, flips)


def _effect(sweep: Sweep, spec: str, attack: Attack, sign: float, spread: float) -> Effect:
    curves = np.array([sweep.headline(system, attack.name, spec) for system in sweep.systems])
    moved = curves - curves[:, :1]
    # The mean over the systems that have a value, level by level; NaN where none has.
    gains = sign * ratio(np.nansum(moved, axis=0), (~np.isnan(moved)).sum(axis=0).astype(np.float64))
    wrong = {"worse": gains, "better": -gains, "unchanged": np.abs(gains)}[attack.expected]
    if sweep.design.metrics[spec].better == "neither":
        wrong = np.zeros_like(gains)  # it claims no direction, so none is wrong
    defined = np.where(np.isnan(wrong[1:]), -np.inf, wrong[1:])
    worst = int(defined.argmax()) + 1
    # With every output gone, some metrics are undefined: then the highest level that they have a value for.
    highest = max(np.flatnonzero(~np.isnan(gains[1:])) + 1, default=len(gains) - 1)
    at = worst if wrong[worst] > 0 else int(highest)
    over = max(float(wrong[at]), 0.0)
    return Effect(
        metric=spec,
        attack=attack.name,
        expected=attack.expected,
        level=(0.0, *sweep.design.levels)[at],
        gain=float(gains[at]),
        spreads=float(gains[at] / spread),
        wrong=over,
        wrong_spreads=over / spread,
        touched=float(np.mean([sweep.touched[system, attack.name] for system in sweep.systems])),
    )


def _flips(sweep: Sweep, spec: str, attack: str, sign: float, ranked: Sequence[str]) -> Iterator[Flip]:
    for rank, system in enumerate(ranked, start=1):
        wins = rank > 1
        rival = ranked[0] if wins else ranked[1]
        lead = sign * (sweep.headline(system, attack, spec) - sweep.unharmed(rival, spec))
        crossing = _crossing((0.0, *sweep.design.levels), lead if wins else -lead)
        yield Flip(spec, attack, system, rank, wins, rival, crossing)


def _crossing(levels: Sequence[float], lead: Floats) -> float:
    """The share at which a lead that begins at or below 0 becomes positive, between two levels by a straight line."""
    for place in range(1, len(levels)):
        if lead[place] > 0:
            before = min(float(lead[place - 1]), 0.0)
            part = -before / (float(lead[place]) - before)
            return levels[place - 1] + part * (levels[place] - levels[place - 1])
    return math.nan


def paragraph(verdict: Verdict) -> str:
    """One paragraph about one metric."""
    if verdict.better == "neither":
        return f"{verdict.metric} claims no direction: it describes outputs, and there is nothing to game."
    harms = [effect for effect in verdict.effects if effect.expected == "worse" and effect.touched > 0]
    sentences = [
        _headline(verdict, harms),
        _cheapest(verdict),
        _ordinary_flips(verdict),
        _unnoticed(harms),
        _unchanged(verdict),
        _improvements(verdict),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _headline(verdict: Verdict, harms: Sequence[Effect]) -> str:
    fooled = sorted((effect for effect in harms if effect.fooled), key=lambda effect: -effect.wrong)
    if not harms:
        return f"{verdict.metric}: no attack that harms an output was tried."
    if not fooled:
        by = "" if math.isnan(verdict.spread) else " by as much as 5 % of the spread between the systems"
        return f"{verdict.metric}: none of the {len(harms)} attacks that harm an output improves its score{by}."
    top = fooled[0]
    verb = "improves" if len(fooled) == 1 else "improve"
    improve = f"{len(fooled)} of the {len(harms)} attacks that harm an output {verb} its score"
    most = f"{number(top.wrong)} points with {percent(top.level)} of the outputs attacked"
    if not math.isnan(top.wrong_spreads):
        most += f", {number(top.wrong_spreads)} times the distance between the best and the worst system"
    if top.wrong_spreads < _LITTLE:
        return f"{verdict.metric} is hard to game: {improve}, but little. {top.attack} gains most: {most}."
    return f"{verdict.metric} can be gamed: {improve}. {top.attack} gains most: {most}."


def _cheapest(verdict: Verdict) -> str:
    if len(verdict.ranking) < 2:
        return "With one system there is no spread to compare with and no ranking to turn; give two or more."
    best, worst = verdict.ranking[0], verdict.ranking[-1]
    cheapest = verdict.cheapest
    if cheapest is None:
        return f"No attack lifts the worst system ({worst}) above the best ({best})."
    return (
        f"The cheapest way from last place to first: {cheapest.attack} on {share(cheapest.share)} of the outputs of "
        f"{worst} lifts it above {best}."
    )


def _ordinary_flips(verdict: Verdict) -> str:
    """Who could win with least, when that is not the worst system's story already told."""
    wins = [flip for flip in verdict.flips if flip.wins and flip.share <= 1]
    least = min(wins, key=lambda flip: flip.share, default=None)
    if least is None or least == verdict.cheapest:
        return ""
    return (
        f"The ranking turns sooner: {least.attack} on {share(least.share)} of its outputs takes {least.system} from "
        f"place {least.rank} past {least.rival}."
    )


def _unnoticed(harms: Sequence[Effect]) -> str:
    blind = [effect.attack for effect in harms if effect.touched >= _FEW and not effect.noticed]
    if not blind:
        return ""
    spread = any(not math.isnan(effect.spreads) for effect in harms)
    by = "less than 5 % of the spread" if spread else "no change at all"
    return f"It hardly notices {listed(blind, most=_MOST_ATTACKS)} ({by})."


def _unchanged(verdict: Verdict) -> str:
    moved = [effect for effect in verdict.effects if effect.expected == "unchanged" and effect.fooled]
    gains = _gains(sorted(moved, key=lambda effect: -effect.wrong))
    return f"It is moved by what should leave it unmoved: {gains}." if moved else ""


def _improvements(verdict: Verdict) -> str:
    meant = [effect for effect in verdict.effects if effect.expected == "better" and effect.touched >= _FEW]
    missed = [effect for effect in meant if not (effect.gain > 0 and effect.noticed)]
    return f"It does not reward an improvement: {_gains(missed)}." if missed else ""


def _gains(effects: Sequence[Effect]) -> str:
    said = []
    for effect in effects:
        spreads = "" if math.isnan(effect.spreads) else f", {signed(effect.spreads)} spreads"
        said.append(f"{effect.attack} ({signed(effect.gain)}{spreads})")
    return listed(said, most=_MOST_ATTACKS)
