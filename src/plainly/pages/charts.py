"""A plot for each question a reader has, in the order of the page. Every plot can be made without the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from plainly.pages.habit_charts import habit_plots, operation_plots
from plainly.pages.picture import Plot
from plainly.pages.score_charts import length_plots, score_plots, spread_plots
from plainly.pages.tradeoff_chart import tradeoff_plots
from plainly.pages.trust_charts import correlation_plots, trick_plots
from plainly.questions.overview import Overview

_MAKERS: Sequence[Callable[[Overview], Iterator[Plot]]] = (
    score_plots,
    tradeoff_plots,
    spread_plots,
    length_plots,
    habit_plots,
    operation_plots,
    trick_plots,
    correlation_plots,
)


def plots(overview: Overview) -> Iterator[Plot]:
    """Every plot that the overview allows."""
    for make in _MAKERS:
        yield from make(overview)
