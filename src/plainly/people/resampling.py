"""What a smaller evaluation would have concluded: the resampling of Schwarzer and Kauchak (2018), vectorised.

An evaluation's conclusions are its significance pattern: for each pair of systems whether the first is better (1),
worse (−1), or not told apart (0). A smaller study is drawn with replacement from the pilot's sentences, its raters, or
both, and its pattern compared with the pilot's by Kendall's tau-b. Three details decide the numbers:

- Tau over a list of pairs depends on the order in which systems are listed, because turning a pair round flips its
  sign. ``tau`` takes each pair both ways and does not depend on it; ``tau_as_listed`` is the paper's, each pair once.
- The mean of a sentence's ratings carries its raters' differences. Drawing raters for it anew counts these a second
  time, and studies with several raters look worse than they are; the paper does so (``published``). Here sentence means
  are first drawn together by what raters account for, so that a drawn study varies as a new one would.
- A draw that tells no systems apart orders nothing, and tau is undefined. Such a study has failed, so it counts as 0;
  ``nothing_found`` says how many there were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.random import Generator

from plainly.core.errors import BadInput
from plainly.core.sampling import Sampling
from plainly.people.ratings import Ratings
from plainly.people.variance import components
from plainly.stats.resample import Floats, middle, ratio

Test = Literal["paired", "welch"]
_CHUNK = 4_000_000


@dataclass(frozen=True)
class Pilot:
    """A pilot, ready to be drawn from: each system's rated outputs with their ratings, and its own conclusions."""

    systems: tuple[str, ...]
    test: Test
    alpha: float
    ratings: tuple[Floats, ...]  # of each system: outputs × ratings, those there are first, NaN after them
    pattern: Floats
    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, ratings: Ratings, *, test: Test | None = None, alpha: float = 0.01) -> Pilot:
        """A pilot with its conclusions; the t-test is paired if most items were rated for all systems, else Welch's."""
        if len(ratings.systems) < 2:
            raise BadInput(f"{ratings.dimension} was rated for one system; a plan needs at least two to tell apart.")
        if not 0 < alpha < 1:
            raise BadInput(f"The significance level is between 0 and 1, for example 0.01; not {alpha}.")
        paired = ratings.paired
        rated = (ratings.counts > 0).any(axis=0)
        if test is None:
            test = "paired" if paired.sum() >= 2 and paired.sum() >= 0.5 * rated.sum() else "welch"
        if test == "paired" and paired.sum() < 2:
            raise BadInput("A paired test needs items that were rated for every system, and there are fewer than two.")
        packed = []
        for system, name in enumerate(ratings.systems):
            packed.append(_packed(ratings.values[system][paired if test == "paired" else ratings.counts[system] > 0]))
            if len(packed[-1]) < 2:
                raise BadInput(f"{name!r} has fewer than two rated outputs; a t-test needs two.")
        means = [np.nanmean(rows, axis=1)[None] for rows in packed]
        pairs = tuple(combinations(ratings.systems, 2))
        return cls(ratings.systems, test, alpha, tuple(packed), _decided(means, test, alpha)[0], pairs)

    @property
    def sentences(self) -> int:
        """Sentences a system was rated on; the fewest, where systems differ."""
        return min(len(rows) for rows in self.ratings)

    @property
    def raters(self) -> float:
        """Ratings an output has, on average."""
        return float(np.mean([np.sum(~np.isnan(rows)) / max(1, len(rows)) for rows in self.ratings]))


def _packed(values: Floats) -> Floats:
    """Outputs × ratings, with the ratings there are first and no column that is empty."""
    order = np.argsort(np.isnan(values), axis=1, kind="stable")
    packed = np.take_along_axis(values, order, axis=1)
    return packed[:, : max(1, int(np.sum(~np.isnan(packed), axis=1).max(initial=0)))]


@dataclass(frozen=True)
class Point:
    """How well a study of some size agrees with the pilot, over many draws of such a study.

    ``power`` is the share of pairs that the pilot tells apart and the draw tells apart the same way; ``wrong`` of all
    pairs, that the draw orders the other way round; ``beyond`` of the pilot's undecided pairs, that the draw decides.
    """

    sentences: int
    raters: int
    tau: float
    tau_as_listed: float
    low: float
    high: float
    power: float
    wrong: float
    beyond: float
    nothing_found: float
    draws: int

    @property
    def ratings(self) -> int:
        return self.sentences * self.raters


def sentences(pilot: Pilot, sizes: Sequence[int], *, sampling: Sampling = Sampling(), rng: Generator) -> list[Point]:
    """Studies with fewer (or more) sentences and all of the pilot's raters."""
    return [_point(pilot, size, None, sampling, rng) for size in sizes]


def raters(
    pilot: Pilot, counts: Sequence[int], *, sampling: Sampling = Sampling(), rng: Generator, published: bool = False
) -> list[Point]:
    """Studies with all of the pilot's sentences and this many raters a sentence, drawn anew for each sentence."""
    return [_point(pilot, None, count, sampling, rng, published) for count in counts]


def budget(
    pilot: Pilot,
    ratings: int,
    counts: Sequence[int],
    *,
    sampling: Sampling = Sampling(),
    rng: Generator,
    published: bool = False,
) -> list[Point]:
    """Ways to spend a number of ratings for each system: with k raters a sentence, ratings // k sentences."""
    possible = [count for count in counts if ratings // count >= 2]
    if not possible:
        raise BadInput(f"{ratings} ratings are too few for a test: at least two sentences are needed.")
    return [_point(pilot, ratings // count, count, sampling, rng, published) for count in possible]


def _point(
    pilot: Pilot, size: int | None, count: int | None, sampling: Sampling, rng: Generator, published: bool = False
) -> Point:
    if (size is not None and size < 2) or (count is not None and count < 1):
        raise BadInput("A study has at least two sentences and one rater.")
    draws = sampling.resamples
    drawn_from = pilot.ratings if count is None or published else _as_new_raters_see(pilot)
    width = max(size or 0, *(len(rows) for rows in pilot.ratings)) * (count or 1) * len(pilot.ratings)
    step = max(1, _CHUNK // width)
    patterns = np.concatenate(
        [_drawn(pilot, drawn_from, size, count, min(step, draws - start), rng) for start in range(0, draws, step)]
    )
    full = pilot.pattern
    both = np.nan_to_num(tau_b(np.concatenate([patterns, -patterns], axis=1), np.concatenate([full, -full])))
    listed = np.nan_to_num(tau_b(patterns, full))
    told = full != 0
    low, high = middle(both, sampling)
    return Point(
        sentences=size or pilot.sentences,
        raters=count or round(pilot.raters),
        tau=float(both.mean()),
        tau_as_listed=float(listed.mean()),
        low=low,
        high=high,
        power=float((patterns == full)[:, told].mean()) if told.any() else float("nan"),
        wrong=float((patterns * full == -1).mean()),
        beyond=float((patterns != 0)[:, ~told].mean()) if (~told).any() else float("nan"),
        nothing_found=float((patterns == 0).all(axis=1).mean()),
        draws=draws,
    )


def _as_new_raters_see(pilot: Pilot) -> tuple[Floats, ...]:
    """The pilot's ratings, of which drawn raters vary as new raters of the same sentences would.

    Each rating is a sentence's mean and what the rater differs by. The first is drawn towards the system's mean (in a
    paired test: towards what the sentence has in all systems, which cancels) until the raters' share of its variance is
    gone; the second is stretched, since ratings lie nearer to their own mean than to the true one.
    """
    counts = [np.sum(~np.isnan(rows), axis=1) for rows in pilot.ratings]
    means = [np.nanmean(rows, axis=1) for rows in pilot.ratings]
    parts = components(pilot)
    if np.isnan(parts.within):
        return pilot.ratings
    shared: Floats | float = 0.0
    if pilot.test == "paired":
        shared = np.mean([values - values.mean() for values in means], axis=0)
    seen = []
    for rows, values, count in zip(pilot.ratings, means, counts, strict=True):
        own = values - values.mean() - shared
        kept = np.sqrt(ratio(np.full(len(values), parts.between), parts.between + parts.within / count, undefined=0.0))
        kept = np.where(count > 1, kept, 1.0)  # one rating cannot be taken apart
        stretched = np.sqrt(ratio(count * 1.0, count - 1.0, undefined=0.0))
        seen.append((values.mean() + shared + kept * own)[:, None] + (rows - values[:, None]) * stretched[:, None])
    return tuple(seen)


def _drawn(
    pilot: Pilot, ratings: Sequence[Floats], size: int | None, count: int | None, draws: int, rng: Generator
) -> Floats:
    """Significance patterns of drawn studies: (draws, pairs)."""
    shared = None
    if pilot.test == "paired" and size is not None:
        shared = rng.integers(len(pilot.ratings[0]), size=(draws, size))
    means = []
    for rows in ratings:
        if size is None:
            chosen = np.broadcast_to(np.arange(len(rows)), (draws, len(rows)))
        else:
            chosen = rng.integers(len(rows), size=(draws, size)) if shared is None else shared
        if count is None:
            means.append(np.nanmean(rows, axis=1)[chosen])
            continue
        present = np.sum(~np.isnan(rows), axis=1)
        place = (rng.random((*chosen.shape, count)) * present[chosen][..., None]).astype(np.int64)
        means.append(rows[chosen[..., None], place].mean(axis=-1))
    return _decided(means, pilot.test, pilot.alpha)


def _decided(means: Sequence[Floats], test: Test, alpha: float) -> Floats:
    """1 where the first system of a pair is significantly better, −1 where the second is, 0 otherwise."""
    from scipy.special import stdtr

    left, right = np.triu_indices(len(means), 1)
    centre = np.stack([values.mean(axis=1) for values in means], axis=1)
    apart = centre[:, left] - centre[:, right]
    if test == "paired":
        stacked = np.stack(means, axis=1)
        n = stacked.shape[2]
        spread = stacked - centre[:, :, None]
        covariance = np.einsum("dsn,dtn->dst", spread, spread, optimize=True) / (n - 1)
        variance = np.diagonal(covariance, axis1=1, axis2=2)
        squared = (variance[:, left] + variance[:, right] - 2 * covariance[:, left, right]) / n
        df = np.full(apart.shape, float(n - 1))
    else:
        counts = np.array([values.shape[1] for values in means], dtype=float)
        squares = np.stack([values.var(axis=1, ddof=1) for values in means], axis=1) / counts
        squared = squares[:, left] + squares[:, right]
        # Welch–Satterthwaite.
        by_system = squares**2 / (counts - 1)
        df = ratio(squared**2, by_system[:, left] + by_system[:, right], undefined=1.0)
    # Differences without any spread are decided by their sign alone; equal systems are not.
    steady = squared <= 1e-12
    t = ratio(apart, np.sqrt(np.abs(squared)), undefined=0.0)
    p = np.where(steady, np.where(np.abs(apart) > 1e-12, 0.0, 1.0), 2 * stdtr(df, -np.abs(t)))
    return np.where(p < alpha, np.sign(apart), 0.0)


def tau_b(patterns: Floats, full: Floats) -> Floats:
    """Kendall's tau-b of each pattern with the full one; all values are −1, 0 or 1, so counting them suffices."""
    steps = (-1.0, 0.0, 1.0)
    of_full = [(full == value).astype(float) for value in steps]
    table: Floats = np.stack(
        [np.stack([(patterns == step).astype(float) @ same for same in of_full], axis=-1) for step in steps], axis=-2
    )  # (draws, pattern's value, full's value)
    concord = np.zeros(len(patterns))
    for i in range(3):
        for j in range(3):
            above = table[:, i + 1 :, j + 1 :].sum(axis=(1, 2))
            below = table[:, i + 1 :, :j].sum(axis=(1, 2))
            concord += table[:, i, j] * (above - below)
    total = float(len(full)) ** 2
    untied = [(total - (table.sum(axis=axis) ** 2).sum(axis=1)) / 2 for axis in (2, 1)]
    return ratio(concord, np.sqrt(untied[0] * untied[1]))
