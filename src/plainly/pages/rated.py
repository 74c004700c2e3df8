"""Correlations of the report's metrics with human ratings of the same outputs, through plainly.questions.meta."""

from __future__ import annotations

from typing import Any

from plainly.errors import BadInput
from plainly.pages.material import Agreement, Material
from plainly.sampling import Sampling


def agreements(material: Material, judgements: Any, *, seed: int) -> tuple[Agreement, ...]:
    """One correlation for each metric and dimension, over the outputs that were rated; signs as the metric has them."""
    from plainly.questions.meta.scores import score_units, with_texts
    from plainly.questions.meta.statistics import correlate_metrics

    texts = judgements
    if not judgements.outputs:  # ratings without the texts: those of the report's systems
        rated = [system for system in judgements.systems if system in material.outputs]
        if not rated:
            raise BadInput(
                f"{name(judgements)} rates {', '.join(judgements.systems[:4])}, and none of the report's systems. Give "
                "the systems the names that they have in the ratings: NAME=FILE."
            )
        texts = with_texts(judgements.of_systems(rated), material.evalset, {s: material.outputs[s] for s in rated})
    units = next(iter(texts.ratings.values())).units()
    correlations = correlate_metrics(
        texts,
        [score_units(texts, units, material.specs)],
        dimensions=texts.dimensions,
        statistics=("pearson",),
        units=("item",),
        compare=False,
        sampling=Sampling(seed=seed),
    )
    return tuple(
        Agreement(row.metric, row.dimension, "segment", row.statistic, row.estimate) for row in correlations.rows
    )


def name(judgements: Any) -> str:
    """What the ratings are called."""
    return str(getattr(judgements, "name", "") or "the ratings")
