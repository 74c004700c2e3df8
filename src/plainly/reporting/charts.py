"""A plot for each question a reader has, in the order of the page. Every plot can be made without the others."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from plainly.core import plots as style
from plainly.core.formatting import interval, label, listed, number, short
from plainly.core.plots import altair, room_for, themed
from plainly.reporting.figures import Line, LineSet, Strip, Strips
from plainly.reporting.habit_charts import habit_plots, operation_plots
from plainly.reporting.marks import chart, direction, slug
from plainly.reporting.overview import Overview
from plainly.reporting.panel import Panel
from plainly.reporting.summary import verdict
from plainly.reporting.tradeoff_chart import tradeoff_plots
from plainly.reporting.trust_charts import correlation_plots, trick_plots

# LineSet of this many systems are told apart by colour and shape; the others stay grey in the background.
FOCUS = len(style.SERIES)
# Plots for so many metrics at most; the table has them all.
MOST_METRICS = 6
_WORDS = {"best": "best", "tied": "cannot be told from the best"}


def plots(overview: Overview) -> Iterator[Panel]:
    """Every plot that the overview allows."""
    about_scores = (score_plots, tradeoff_plots, spread_plots, length_plots)
    for make in (*about_scores, habit_plots, operation_plots, trick_plots, correlation_plots):
        yield from make(overview)


def score_plots(overview: Overview) -> Iterator[Panel]:
    """How do the systems score, and how sure is that?"""
    for metric, spec in enumerate(overview.specs[:MOST_METRICS]):
        ranked = [s for s in overview.evaluation.ranking(spec) if not math.isnan(overview.value(s, spec))]
        if not ranked:
            continue
        rows = tuple(_scored(overview, spec, system) for system in ranked)
        figure = Strips(
            rows,
            f"{spec}, {direction(overview.metric(spec))}",
            ends=_ends(overview, spec, ranked),
            opens={"metric": metric, "order": "low" if overview.metric(spec).better != "lower" else "high"},
        )
        yield Panel(f"scores-{slug(spec)}", "scores", spec, verdict(overview, spec), figure)


def _scored(overview: Overview, spec: str, system: str) -> Strip:
    estimate, value = overview.estimate(system, spec), overview.value(system, spec)
    known = estimate is not None and not math.isnan(estimate.low)
    low, high = (estimate.low, estimate.high) if estimate and known else (math.nan, math.nan)
    kind = overview.standing(spec, system) or ("other" if len(overview.systems) > 1 else "plain")
    said = [f"{spec} {interval(value, low, high, page=True)}", _WORDS.get(kind, "")]
    if overview.comparisons is not None and overview.metric(spec).better != "neither":
        beaten = [other for other in overview.systems if overview.comparisons.beats(spec, system, other)]
        said.append(f"beats {listed([short(other) for other in beaten], most=5)}" if beaten else "beats nobody")
    said += [f"{other} {number(overview.value(system, other), page=True)}" for other in overview.specs if other != spec]
    return Strip(
        label(system), value, low, high, None, kind, number(value, page=True), "; ".join(filter(None, said)),
        overview.systems.index(system),
    )  # fmt: skip


def _ends(overview: Overview, spec: str, ranked: Sequence[str]) -> frozenset[int]:
    """After which systems a cluster ends: everyone above beats everyone below."""
    if overview.comparisons is None:
        return frozenset()
    ends, at = set(), 0
    for cluster in overview.comparisons.clusters(spec):
        at += sum(system in ranked for system in cluster)
        ends.add(at)
    return frozenset(ends - {0, len(ranked)})


def _to(values: Sequence[float]) -> str:
    return f"{number(min(values), page=True)} to {number(max(values), page=True)}"


def spread_plots(overview: Overview) -> Iterator[Panel]:
    """How do scores spread over the items?"""
    for metric, spec in enumerate(overview.specs[:MOST_METRICS]):
        of_systems = overview.spreads.get(spec)
        if of_systems is None:
            continue
        rows = []
        for system, (lowest, low, middle, high, highest) in of_systems.items():
            half, most = (
                f"{number(a, page=True)} to {number(b, page=True)}" for a, b in ((low, high), (lowest, highest))
            )
            said = f"median {number(middle, page=True)}; half of the items {half}; nine tenths {most}"
            shown, place = number(middle, 1 if abs(middle) >= 10 else 2, page=True), overview.systems.index(system)
            rows.append(Strip(label(system), middle, lowest, highest, (low, high), "other", shown, said, place))
        order = "low" if overview.metric(spec).better != "lower" else "high"
        yield Panel(
            f"spread-{slug(spec)}",
            "spread",
            f"{spec} over items",
            f"Medians from {_to([row.value for row in rows])}.",
            Strips(tuple(rows), f"{spec} of single items", opens={"metric": metric, "order": order}),
        )


def length_plots(overview: Overview) -> Iterator[Panel]:
    """Does the score depend on how long the source is?"""
    if overview.lengths is None:
        return
    bins = overview.lengths.bins
    for metric, spec in enumerate(overview.specs[:MOST_METRICS]):
        of_systems = overview.lengths.scores[spec]
        ranked = [system for system, values in of_systems.items() if any(map(math.isfinite, values))]
        if not ranked:
            continue
        focus = ranked[: FOCUS - 1] + ranked[-1:] if len(ranked) > FOCUS else ranked
        figure = LineSet(
            tuple(
                Line(
                    label(system),
                    of_systems[system],
                    focus.index(system) if system in focus else None,
                    tuple(number(value, page=True) for value in of_systems[system]),
                    overview.systems.index(system),
                )
                for system in ranked
            ),
            bins,
            "words in the source",
            spec,
            opens={"metric": metric},
        )
        others = len(ranked) - len(focus)
        yield Panel(
            f"length-{slug(spec)}",
            "length",
            f"{spec} by source length",
            f"{listed([short(system) for system in focus])}{f', and {others} others in grey' if others else ''}; items "
            f"in {len(bins)} groups of about equal size.",
            figure,
            lambda figure=figure: _lines(figure),  # type: ignore[misc]
        )


def _lines(figure: LineSet) -> Any:
    """A line for each system; those that are not in focus in grey."""
    alt = altair()
    values = [
        {"system": short(line.name), "bin": name, "value": value, "focus": line.series is not None}
        for line in figure.lines
        for name, value in zip(figure.bins, line.values, strict=True)
        if math.isfinite(value)
    ]
    shown = [short(line.name) for line in figure.lines if line.series is not None]
    base = chart(values).encode(
        x=alt.X("bin:N", sort=list(figure.bins), title=figure.across, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("value:Q", title=figure.up, scale=alt.Scale(zero=False)),
    )
    room = room_for(shown)
    legend = alt.Legend(columns=1 if room else 2)
    colour = alt.Color(
        "system:N", sort=shown, title=None, legend=legend, scale=alt.Scale(domain=shown, range=style.SERIES)
    )
    shape = alt.Shape("system:N", sort=shown, title=None, scale=alt.Scale(domain=shown, range=style.SHAPES))
    grey = base.transform_filter("!datum.focus").mark_line(strokeWidth=1, color=style.OTHER, opacity=0.55)
    focused = base.transform_filter("datum.focus")
    lines = focused.mark_line(strokeWidth=2).encode(color=colour)
    points = focused.mark_point(size=60, filled=True, opacity=1).encode(color=colour, shape=shape)
    return themed(grey.encode(detail="system:N") + lines + points, height=290 if room else 250)
