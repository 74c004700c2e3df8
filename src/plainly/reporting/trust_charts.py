"""Whether scores can be trusted: what tricks would gain, and how metrics go with people's ratings."""

import math
from collections.abc import Iterator

from plainly.core.formatting import interval, listed, number
from plainly.reporting.figures import Strip, Strips
from plainly.reporting.marks import slug
from plainly.reporting.overview import Overview
from plainly.reporting.panel import Panel


def trick_plots(overview: Overview) -> Iterator[Panel]:
    """Could somebody win by a trick?"""
    defined = [gain for gain in overview.tricks.gains if math.isfinite(gain.spreads)]
    for spec in dict.fromkeys(gain.metric for gain in defined):
        gains = [gain for gain in defined if gain.metric == spec]
        fooled = [gain.trick for gain in gains if gain.fooled]
        most = number(max(gain.spreads for gain in gains), page=True)
        words = (
            f"Fooled by {listed(fooled)}: it gains up to {most} of the way from worst to best. At 1 (dashed line) the "
            "worst system overtakes the best."
            if fooled
            else "None of these tricks improves it."
        )
        rows = tuple(
            Strip(
                gain.trick,
                gain.spreads,
                kind="fooled" if gain.fooled else "not",
                shown=number(gain.spreads, page=True),
                said=f"{gain.what}; {'' if gain.fooled else 'not '}fooled, gain {number(gain.spreads, page=True)}",
            )
            for gain in gains
        )
        figure = Strips(rows, "gain (1: from worst to best)", zero=True, line=1.0)
        yield Panel(f"tricks-{slug(spec)}", "tricks", f"{spec} after a trick on every output", words, figure)


def correlation_plots(overview: Overview) -> Iterator[Panel]:
    """Do the metrics go with what people say?"""
    defined = [row for row in overview.correlations if math.isfinite(row.estimate.value + row.estimate.low)]
    for dimension in dict.fromkeys(row.dimension for row in defined):
        rows = [row for row in defined if row.dimension == dimension]
        strips = tuple(
            Strip(
                row.metric,
                row.estimate.value,
                row.estimate.low,
                row.estimate.high,
                shown=number(row.estimate.value, page=True),
                said=interval(row.estimate.value, row.estimate.low, row.estimate.high, page=True),
            )
            for row in rows
        )
        strongest = max(rows, key=lambda row: row.estimate.value)
        yield Panel(
            f"ratings-{slug(dimension)}",
            "ratings",
            f"Metrics and {dimension}",
            f"Strongest: {strongest.metric}, {number(strongest.estimate.value, page=True)}; {rows[0].estimate.n} "
            "outputs.",
            Strips(strips, f"{rows[0].statistic} correlation with {dimension}", share=True),
        )
