"""Approximate randomisation: a coin decides for each item, or whole group, which of two systems wrote which output.

Trials are drawn once for all pairs. Where so many pairs are compared that the correction asks for very many trials,
most pairs do not need them; ``docs/statistics.md`` says what they get and why that is exact.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plainly.stats.paired import ROUNDING, share_reached
from plainly.stats.resample import (
    CHUNK,
    Floats,
    Score,
    Weights,
    chunk_size,
    single_if_exact,
    sum_by_group,
    weighted_sums,
)  # fmt: skip

Pair = tuple[int, int]

FEW = 3  # a pair that fewer of the first trials reach is looked at more closely
# So far from a total, in standard deviations of it, the score is looked at for its slope: far enough that a bend there,
# as BLEU's brevity penalty has one, counts on both sides.
_STEP = 0.5
_FAR = 2.5  # standard deviations from which on the linear part of a difference has the trial scored
# A pair gets no further trials where its p-value is at most this part of the smallest that they can show. How often
# that can be wrong is added to what the other pairs get.
_SURE = 0.01


@dataclass(frozen=True)
class Swaps:
    """How outputs are swapped: ``trials`` for every pair; ``further``, in all, where these are too few to tell."""

    trials: int
    seed: int
    groups: tuple[str, ...] | None = None
    further: int | None = None

    def p_values(self, score: Score, tables: Sequence[Floats], pairs: Sequence[Pair]) -> list[float]:
        """Two-sided p-values of the differences between tables (Noreen 1989; Riezler & Maxwell 2005).

        A trial as extreme as the observed difference counts, without which a test on few items rejects too often;
        sacrebleu counts only more extreme ones, which is the same as soon as more than a dozen items differ.
        """
        units = [sum_by_group(table, self.groups) for table in tables]
        heads = weighted_sums(units, lambda many: self._coins(many, self.trials, chunk_size(many)))
        totals = np.stack([table.sum(axis=0) for table in units])
        values = score(totals)[..., 0]
        p_values, close = [], {}
        for place, (b, s) in enumerate(pairs):
            ahead = heads[b] - heads[s]
            differences = score(totals[s] + ahead)[..., 0] - score(totals[b] - ahead)[..., 0]
            observed, size = abs(float(values[s] - values[b])), float(np.abs(values[[b, s]]).max())
            p_values.append(share_reached(np.abs(differences), observed, size))
            if self.further is not None and p_values[place] <= FEW / (self.trials + 1):
                close[place] = _Close(score, units[b], units[s], observed - ROUNDING * size)
        if self.further is not None:
            for place, p_value in zip(close, self._closer(list(close.values()), self.further), strict=True):
                p_values[place] = min(FEW / (self.trials + 1), p_value)
        return p_values

    def _closer(self, pairs: Sequence["_Close"], trials: int) -> list[float]:
        """P-values from ``trials`` trials, of which those are scored that can reach the observed difference.

        What a trial is judged by first is the linear part of the difference, the slope being that in the middle of both
        systems' totals, which no swap moves: a sum of fixed numbers with random signs. A randomisation test is exact
        for any order of the trials; in this one, those whose linear part is far from zero come first, by their scores.
        """
        smallest = 1 / (trials + 1)
        counted = [pair for pair in pairs if pair.distance >= _FAR and _bound(pair.distance) > _SURE * smallest]
        if counted:
            lines = np.stack([pair.line for pair in counted]).astype(np.float32)
            for coins in self._coins(lines.shape[1], trials, CHUNK // max(lines.shape)):
                signs = 2 * coins - 1
                moved = lines @ signs.T
                for pair, far in zip(counted, np.abs(moved, out=moved) >= _FAR, strict=True):
                    pair.count(signs[far])
        return [
            1.0 if pair.distance < _FAR else (pair.reached + 1 + _SURE) * smallest if pair in counted else smallest
            for pair in pairs
        ]

    def _coins(self, units: int, trials: int, step: int) -> Iterator[Weights]:
        rng = np.random.default_rng(self.seed)
        # NumPy makes 32 coins from one random number and drops the rest at the end of a call: with chunks of a multiple
        # of 32 the coins are the same however they are chunked.
        step = max(32, step // 32 * 32)
        for start in range(0, trials, step):
            size = (min(step, trials - start), units)
            yield rng.integers(2, size=size, dtype=np.bool_).astype(np.float32)


class _Close:
    """A pair that is looked at more closely: the linear part of its difference, and how many trials reached it."""

    def __init__(self, score: Score, first: Floats, second: Floats, enough: float) -> None:
        self.score, self.enough, self.reached = score, enough, 0
        self.middle, half = (first.sum(axis=0) + second.sum(axis=0)) / 2, (first - second) / 2
        steps = _STEP * np.sqrt((half * half).sum(axis=0))
        values = score(np.stack((self.middle + np.diag(steps), self.middle - np.diag(steps))))[..., 0]
        rise = np.nan_to_num(values[0] - values[1], posinf=0.0, neginf=0.0)
        parts = half @ np.divide(rise, steps, out=np.zeros_like(rise), where=steps > 0)
        # What each unit adds to the linear part, in standard deviations; zeros where nothing varies.
        self.line = np.asarray(parts / (math.sqrt(parts @ parts) or 1.0))
        self.distance = abs(float(self.line.sum()))
        self.moving = np.flatnonzero(half.any(axis=0))  # what the set alone decides is the same for both
        self.swings = single_if_exact((first - second)[:, self.moving])

    def count(self, signs: Weights) -> None:
        """Score these trials; what is undefined counts as reaching the difference."""
        if len(signs):
            ahead = np.zeros((len(signs), len(self.middle)))
            ahead[:, self.moving] = signs @ self.swings
            ahead /= 2
            difference = self.score(self.middle + ahead)[..., 0] - self.score(self.middle - ahead)[..., 0]
            self.reached += int(np.sum(~(np.abs(difference) < self.enough)))


def _bound(distance: float) -> float:
    """How often a weighted sum of random signs is so many standard deviations from zero, at most.

    3.18 times as often as a normal variable (Bentkus & Dzindzalieta 2015, Theorem 1.1).
    """
    return math.erfc(distance / math.sqrt(2)) / (2 * math.erfc(1))
