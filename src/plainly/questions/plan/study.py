"""The plan: all resamplings of a pilot, the power that follows from it, and the answer in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from plainly.errors import BadInput
from plainly.questions.plan.components import Components, components, detectable, power, sentences_needed
from plainly.questions.plan.resampling import Point, Reference, Test, budget, pattern, raters, sentences
from plainly.ratings.types import Ratings

# Where power curves are computed, close together at first, where they rise.
CURVE_SIZES = (5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000)


@dataclass(frozen=True)
class Plan:
    """What a pilot says about the next study of the same kind.

    ``needed`` sentences are by raters, the ``smallest`` difference found by sentences, ``curves`` of (sentences, power)
    by raters; all for 80 % power or for ``difference``.
    """

    dimension: str
    reference: Reference
    by_sentences: list[Point]
    by_raters: list[Point]
    by_budget: list[Point]
    ratings: int
    components: Components
    target: float
    alpha: float
    difference: float
    needed: dict[int, int | None] = field(default_factory=dict)
    smallest: dict[int, float] = field(default_factory=dict)
    curves: dict[int, list[tuple[int, float]]] = field(default_factory=dict)

    @property
    def best(self) -> Point:
        """The way to spend the ratings that agrees best with the pilot."""
        return max(self.by_budget, key=lambda point: (point.tau, point.sentences))

    @property
    def answer(self) -> str:
        """The advice in a sentence: how to spend the ratings there are."""
        best = self.best
        each = "one rater each" if best.raters == 1 else f"{best.raters} raters each"
        text = f"With {self.ratings} ratings, use {best.sentences} sentences with {each}"
        others = [point for point in self.by_budget if point is not best]
        if not others:
            return f"{text}."
        # The other extreme shows what is lost.
        other = max(others, key=lambda point: abs(point.raters - best.raters))
        raters = "one rater" if other.raters == 1 else f"{other.raters} raters"
        return (
            f"{text} (agreement with the whole pilot, Kendall's tau, {best.tau:.2f}; with {other.sentences} sentences "
            f"and {raters} it is {other.tau:.2f})."
        )

    @property
    def advice(self) -> list[str]:
        """What else follows, a sentence each."""
        lines = [self.answer]
        enough = next((point for point in self.by_sentences if point.tau >= self.target), None)
        largest = self.by_sentences[-1] if self.by_sentences else None
        if enough is not None:
            lines.append(
                f"{enough.sentences} sentences with about {enough.raters} raters each reach a tau of {self.target:g} "
                "with the pilot."
            )
        elif largest is not None:
            lines.append(f"Even {largest.sentences} sentences do not reach a tau of {self.target:g} with the pilot.")
        if self.difference and 1 in self.needed:
            need = self.needed[1]
            lines.append(
                f"To find a true difference of {self.difference:g} with 80 % power at p < {self.alpha:g}, "
                + (f"rate {need} sentences a system with one rater each." if need else "no affordable size suffices.")
            )
        told, pairs = int(np.sum(self.reference.pattern != 0)), len(self.reference.pattern)
        lines.append(f"The pilot itself tells {told} of {pairs} pairs of systems apart ({self.reference.test} t-test).")
        return lines


def make_plan(
    ratings: Ratings,
    *,
    total: int = 200,
    sizes: Sequence[int] | None = None,
    counts: Sequence[int] | None = None,
    test: Test | None = None,
    alpha: float = 0.01,
    target: float = 0.9,
    difference: float | None = None,
    draws: int = 1000,
    seed: int = 12345,
) -> Plan:
    """Resample a pilot as the paper does, and compute power from its variance.

    ``total`` is the number of ratings for each system. ``difference`` is the true difference worth finding, on the
    ratings' scale; by default a tenth of the scale.
    """
    if total < 2:
        raise BadInput(f"A budget of {total} ratings is none; a study needs at least two for each system.")
    reference = pattern(ratings, test=test, alpha=alpha)
    rng = np.random.default_rng(seed)
    most = max(1, round(reference.raters))
    counts = tuple(counts or (count for count in (1, 2, 3, 5, 10, 15) if count <= max(most, 3)))
    # Beyond the pilot's own size a study finds what the pilot could not, and agreement with it falls for good reasons.
    usual = {size for size in (10, 25, 50, 100, 200, 400) if size < reference.sentences}
    sizes = tuple(sizes or sorted(usual | {reference.sentences}))
    found = components(reference)
    if difference is None:
        low, high = ratings.scale or (float(np.nanmin(ratings.values)), float(np.nanmax(ratings.values)))
        difference = (high - low) / 10
    return Plan(
        dimension=ratings.dimension,
        reference=reference,
        by_sentences=sentences(reference, sizes, draws=draws, rng=rng),
        by_raters=raters(reference, counts, draws=draws, rng=rng),
        by_budget=budget(reference, total, counts, draws=draws, rng=rng),
        ratings=total,
        components=found,
        target=target,
        alpha=alpha,
        difference=difference,
        needed={count: sentences_needed(found, difference, raters=count, alpha=alpha) for count in counts},
        smallest={size: detectable(found, sentences=size, alpha=alpha) for size in sizes},
        curves={
            count: [(size, power(found, difference, sentences=size, raters=count, alpha=alpha)) for size in CURVE_SIZES]
            for count in counts
        },
    )
