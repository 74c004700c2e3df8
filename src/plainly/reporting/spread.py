"""How scores spread over the items, and whether they depend on how long the source is."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plainly.scoring.scores import Evaluation

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LENGTH_BINS = 4
# With fewer items than these a distribution, and groups of items by length, show nothing.
FEWEST_ITEMS, FEWEST_IN_BINS = 5, 40

Five = tuple[float, ...]


@dataclass(frozen=True)
class LengthScores:
    """Scores on items with short, longer and long sources: by metric and system, a value for each bin."""

    bins: tuple[str, ...]  # words in the source: "3–12", …
    scores: Mapping[str, Mapping[str, tuple[float, ...]]]


def item_spreads(evaluation: Evaluation) -> dict[str, dict[str, Five]]:
    """By metric and system, best first: five quantiles of the items' scores, for metrics whose scores do spread."""
    if evaluation.n < FEWEST_ITEMS:
        return {}
    spreads = {}
    for spec, metric in evaluation.metrics.items():
        of_systems: dict[str, Five] = {}
        for system in evaluation.ranking(spec):
            segments = evaluation[system][spec].segments[metric.outputs[0]]
            defined = segments[np.isfinite(segments)]
            if len(defined):
                of_systems[system] = tuple(map(float, np.quantile(defined, QUANTILES)))
        # A yes or no an item is no distribution.
        decided = {five[2] for five in of_systems.values()} <= {0.0, 1.0}
        if not decided and any(five[0] != five[-1] for five in of_systems.values()):
            spreads[spec] = of_systems
    return spreads


def length_scores(evaluation: Evaluation) -> LengthScores | None:
    """Scores by length of the source, in groups of about equal size."""
    from plainly.text.words import words

    evalset = evaluation.evalset
    if not evalset.has_sources or len(evalset) < FEWEST_IN_BINS:
        return None
    lengths = np.array([len(words(source)) for source in evalset.sources], dtype=np.float64)
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, LENGTH_BINS + 1)))
    if len(edges) < 3:
        return None
    part = np.clip(np.searchsorted(edges, lengths, side="right") - 1, 0, len(edges) - 2)
    masks = [part == number for number in np.unique(part)]
    scores = {
        spec: {
            system: tuple(float(evaluation[system][spec].subset(mask)) for mask in masks)
            for system in evaluation.ranking(spec)
        }
        for spec in evaluation.specs
    }
    return LengthScores(tuple(f"{lengths[mask].min():.0f}–{lengths[mask].max():.0f}" for mask in masks), scores)
