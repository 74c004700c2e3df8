"""What a sweep says about a metric: how far it can be gamed, what that costs, and who could win by it.

Distances are in units of the spread between the real systems: 1 is as far as from the worst system to the best, so an
attack that gains 1 takes the last to the first place.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plainly.auditing.attack import Attack, Expected
from plainly.auditing.sweep import Sweep
from plainly.core.metric import Better, Floats, ratio

# Below this share of the spread between systems a change is called unnoticed: no ranking would turn on it.
UNNOTICED = 0.05


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
        share = _crossing((0.0, *sweep.design.levels), lead if wins else -lead)
        yield Flip(spec, attack, system, rank, wins, rival, share)


def _crossing(levels: Sequence[float], lead: Floats) -> float:
    """The share at which a lead that begins at or below 0 becomes positive, between two levels by a straight line."""
    for place in range(1, len(levels)):
        if lead[place] > 0:
            before = min(float(lead[place - 1]), 0.0)
            part = -before / (float(lead[place]) - before)
            return levels[place - 1] + part * (levels[place] - levels[place - 1])
    return math.nan
