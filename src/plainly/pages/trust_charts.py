"""Whether scores can be trusted: what tricks would gain, and how metrics go with people's ratings."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from plainly.pages.marks import across, chart, colours, down, line_at, shapes, slug
from plainly.pages.picture import Plot
from plainly.questions.overview import Overview
from plainly.questions.overview.alarms import Gain
from plainly.render import plots as style
from plainly.render.numbers import listed, number
from plainly.render.plots import rows_height, themed

_COLOURS = {"fooled": style.PEOPLE, "not": style.OTHER}
_SHAPES = {"fooled": "triangle-right", "not": "circle"}


def trick_plots(overview: Overview) -> Iterator[Plot]:
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
        picture = themed(_gains(gains), height=rows_height(len(gains)) + 24)
        yield Plot(f"tricks-{slug(spec)}", "tricks", f"{spec} after a trick on every output", words, picture)


def _gains(gains: Sequence[Gain]) -> Any:
    """A bar from no gain to the gain of each trick."""
    title = "gain (1: from worst to best)"
    values = [
        {"trick": gain.trick, "value": gain.spreads, "zero": 0, "fooled": "fooled" if gain.fooled else "not"}
        for gain in gains
    ]
    base = chart(values).encode(
        y=down("trick", [gain.trick for gain in gains], labelLimit=150, labelExpr="split(datum.label, '+')"),
        color=colours("fooled", _COLOURS),
    )
    bars = base.mark_rule(strokeWidth=4, opacity=0.6).encode(x=across("value", title), x2="zero:Q")
    tips = base.mark_point(size=80, filled=True, opacity=1).encode(
        x=across("value", title), shape=shapes("fooled", _SHAPES)
    )
    return line_at(0, title) + line_at(1, title, dashed=True) + bars + tips


def correlation_plots(overview: Overview) -> Iterator[Plot]:
    """Do the metrics go with what people say?"""
    defined = [row for row in overview.correlations if math.isfinite(row.estimate.value + row.estimate.low)]
    for dimension in dict.fromkeys(row.dimension for row in defined):
        rows = [row for row in defined if row.dimension == dimension]
        title = f"{rows[0].statistic} correlation with {dimension}"
        values = [
            {"metric": row.metric, **{end: getattr(row.estimate, end) for end in ("value", "low", "high")}}
            for row in rows
        ]
        base = chart(values).encode(y=down("metric", [row.metric for row in rows]))
        bars = base.mark_rule(strokeWidth=3, opacity=0.45, color=style.BEST)
        points = base.mark_point(size=70, filled=True, opacity=1, color=style.BEST)
        layers = (
            line_at(0, title)
            + bars.encode(x=across("low", title), x2="high:Q")
            + points.encode(x=across("value", title))
        )
        strongest = max(rows, key=lambda row: abs(row.estimate.value))
        yield Plot(
            f"ratings-{slug(dimension)}",
            "ratings",
            f"Metrics and {dimension}",
            f"Strongest: {strongest.metric}, {number(strongest.estimate.value, page=True)}; {rows[0].estimate.n} "
            "outputs.",
            themed(layers, height=rows_height(len(rows))),
        )
