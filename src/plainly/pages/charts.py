"""A plot for each question a reader has, in the order of the page. Every plot can be made without the others."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from plainly.pages.habit_charts import habit_plots, operation_plots
from plainly.pages.marks import across, chart, colours, direction, down, shapes, slug
from plainly.pages.picture import Plot
from plainly.pages.tradeoff_chart import tradeoff_plots
from plainly.pages.trust_charts import correlation_plots, trick_plots
from plainly.questions.overview import Overview
from plainly.render import plots as style
from plainly.render.names import short
from plainly.render.numbers import listed, number
from plainly.render.plots import altair, rows_height, themed

# Lines of this many systems are told apart by colour and shape; the others stay grey in the background.
FOCUS = len(style.SERIES)
# Plots for so many metrics at most; the table has them all.
MOST_METRICS = 6
_COLOURS = {"best": style.BEST, "tied": style.BEST, "other": style.OTHER}
_SHAPES = {"best": "circle", "tied": "diamond", "other": "triangle-right"}


def plots(overview: Overview) -> Iterator[Plot]:
    """Every plot that the overview allows."""
    about_scores = (score_plots, tradeoff_plots, spread_plots, length_plots)
    for make in (*about_scores, habit_plots, operation_plots, trick_plots, correlation_plots):
        yield from make(overview)


def score_plots(overview: Overview) -> Iterator[Plot]:
    """How do the systems score, and how sure is that?"""
    for spec in overview.specs[:MOST_METRICS]:
        ranked = overview.evaluation.ranking(spec)
        values = [_scored(overview, spec, name) for name in ranked if not math.isnan(overview.value(name, spec))]
        if not values:
            continue
        title = f"{spec}, {direction(overview.metric(spec))}"
        base = chart(values).encode(y=down("system", [short(system) for system in ranked]))
        colour = colours("standing", _COLOURS)
        rule = base.mark_rule(strokeWidth=3, opacity=0.45).encode(
            x=across("low", title, zero=False), x2="high:Q", color=colour
        )
        point = base.mark_point(size=70, filled=True, opacity=1).encode(
            x=across("value", title, zero=False, nice=True), color=colour, shape=shapes("standing", _SHAPES)
        )
        caption = f"{''.join(_standings(overview, spec))}From {_to([value['value'] for value in values])}."
        yield Plot(
            f"scores-{slug(spec)}", "scores", spec, caption, themed(rule + point, height=rows_height(len(values)))
        )


def _scored(overview: Overview, spec: str, system: str) -> dict[str, Any]:
    estimate, value = overview.estimate(system, spec), overview.value(system, spec)
    known = estimate is not None and not math.isnan(estimate.low)
    return {
        "system": short(system),
        "value": value,
        "low": estimate.low if estimate and known else value,
        "high": estimate.high if estimate and known else value,
        "standing": overview.standing(spec, system) or "other",
    }


def _standings(overview: Overview, spec: str) -> Iterator[str]:
    """Who is best, and who cannot be told from it."""
    by_standing: dict[str, list[str]] = {}
    for system in overview.evaluation.ranking(spec):
        by_standing.setdefault(overview.standing(spec, system), []).append(short(system))
    if "best" in by_standing:
        yield f"Best: {listed(by_standing['best'])}. "
    if "tied" in by_standing:
        yield f"No difference from it may be claimed for {listed(by_standing['tied'])}. "


def _to(values: Sequence[float]) -> str:
    return f"{number(min(values), page=True)} to {number(max(values), page=True)}"


def spread_plots(overview: Overview) -> Iterator[Plot]:
    """How do scores spread over the items?"""
    for spec in overview.specs[:MOST_METRICS]:
        of_systems = overview.spreads.get(spec)
        if of_systems is None:
            continue
        systems = [short(system) for system in of_systems]
        values = [
            {"system": system, **dict(zip("abmcd", five, strict=True))}
            for system, five in zip(systems, of_systems.values(), strict=True)
        ]
        base = chart(values).encode(y=down("system", [short(name) for name in overview.evaluation.ranking(spec)]))

        def x(field: str, title: str = f"{spec} of single items") -> Any:
            return across(field, title, zero=False)

        layers = (
            base.mark_rule(strokeWidth=1.5, color=style.OTHER).encode(x=x("a"), x2="d:Q")
            + base.mark_bar(height=9, color=style.BEST, opacity=0.45).encode(x=x("b"), x2="c:Q")
            + base.mark_tick(thickness=3, height=13, color=style.INK).encode(x=x("m"))
        )
        medians = [five[2] for five in of_systems.values()]
        yield Plot(
            f"spread-{slug(spec)}",
            "spread",
            f"{spec} over items",
            f"Medians from {_to(medians)}. The bar holds the middle half of the items, the line nine tenths.",
            themed(layers, height=rows_height(len(values))),
        )


def length_plots(overview: Overview) -> Iterator[Plot]:
    """Does the score depend on how long the source is?"""
    if overview.lengths is None:
        return
    bins = overview.lengths.bins
    for spec in overview.specs[:MOST_METRICS]:
        of_systems = overview.lengths.scores[spec]
        ranked = list(of_systems)
        focus = ranked[: FOCUS - 1] + ranked[-1:] if len(ranked) > FOCUS else ranked
        values = [
            {"system": short(system), "bin": name, "value": value, "focus": system in focus}
            for system in ranked
            for name, value in zip(bins, of_systems[system], strict=True)
            if math.isfinite(value)
        ]
        if not values:
            continue
        shown = [short(system) for system in focus]
        others = len(ranked) - len(focus)
        yield Plot(
            f"length-{slug(spec)}",
            "length",
            f"{spec} by source length",
            f"{listed(shown)}{f', and {others} others in grey' if others else ''}; items in {len(bins)} groups of "
            "about equal size.",
            _lines(spec, values, bins, shown),
        )


def _lines(spec: str, values: list[dict[str, Any]], bins: tuple[str, ...], shown: list[str]) -> Any:
    """A line for each system; those that are not in focus in grey."""
    alt = altair()
    base = chart(values).encode(
        x=alt.X("bin:N", sort=list(bins), title="words in the source", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("value:Q", title=spec, scale=alt.Scale(zero=False)),
    )
    colour = alt.Color("system:N", sort=shown, title=None, scale=alt.Scale(domain=shown, range=style.SERIES))
    shape = alt.Shape("system:N", sort=shown, title=None, scale=alt.Scale(domain=shown, range=style.SHAPES))
    grey = base.transform_filter("!datum.focus").mark_line(strokeWidth=1, color=style.OTHER, opacity=0.55)
    focused = base.transform_filter("datum.focus")
    lines = focused.mark_line(strokeWidth=2).encode(color=colour)
    points = focused.mark_point(size=60, filled=True, opacity=1).encode(color=colour, shape=shape)
    return themed(grey.encode(detail="system:N") + lines + points, height=250)
