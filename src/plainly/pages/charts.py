"""A plot for each question a reader has, in the order of the page. Every plot can be made without the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from plainly.pages.habits import agreement_plots, gain_plots, habit_plots, operation_plots
from plainly.pages.material import Material
from plainly.pages.render import Plot, altair_module
from plainly.pages.tradeoff import tradeoff_plots
from plainly.pages.words import listed, number, short
from plainly.protocol import Metric
from plainly.render import plots as style
from plainly.render.plots import rows_height, themed

# Lines of this many systems are told apart by colour and shape; the others stay grey in the background.
FOCUS = len(style.SERIES)
LENGTH_BINS = 4
# Plots for so many metrics at most; the table has them all.
MOST_METRICS = 6


def plots(material: Material) -> Iterator[Plot]:
    """Every plot that the material allows."""
    makers: Sequence[Callable[[Material], Iterator[Plot]]] = (
        score_plots,
        tradeoff_plots,
        spread_plots,
        length_plots,
        habit_plots,
        operation_plots,
        gain_plots,
        agreement_plots,
    )
    for make in makers:
        yield from make(material)


def direction(metric: Metric) -> str:
    return {"higher": "higher is better", "lower": "lower is better", "neither": "no better side"}[metric.better]


def score_plots(material: Material) -> Iterator[Plot]:
    """How do the systems score, and how sure is that?"""
    alt = altair_module()
    for spec in material.specs[:MOST_METRICS]:
        metric, ranked = material.metric(spec), material.ranking(spec)
        values: list[dict[str, Any]] = []
        for system in ranked:
            estimate, value = material.estimate(system, spec), material.value(system, spec)
            if math.isnan(value):
                continue
            values.append(
                {
                    "system": short(system),
                    "value": value,
                    "low": estimate.low if estimate and not math.isnan(estimate.low) else value,
                    "high": estimate.high if estimate and not math.isnan(estimate.high) else value,
                    "standing": material.standing(spec, system) or "other",
                }
            )
        if not values:
            continue
        y = alt.Y("system:N", sort=[short(system) for system in ranked], title=None)
        x = alt.X("value:Q", title=f"{spec}, {direction(metric)}", scale=alt.Scale(zero=False, nice=True))
        base = alt.Chart(alt.Data(values=values)).encode(y=y)
        colour = alt.Color(
            "standing:N",
            legend=None,
            scale=alt.Scale(domain=["best", "tied", "other"], range=[style.BEST, style.BEST, style.OTHER]),
        )
        rule = base.mark_rule(strokeWidth=3, opacity=0.45).encode(
            x=alt.X("low:Q", title=f"{spec}, {direction(metric)}", scale=alt.Scale(zero=False)),
            x2="high:Q",
            color=colour,
        )
        point = base.mark_point(size=70, filled=True, opacity=1).encode(
            x=x,
            color=colour,
            shape=alt.Shape(
                "standing:N",
                legend=None,
                scale=alt.Scale(domain=["best", "tied", "other"], range=["circle", "diamond", "triangle-right"]),
            ),
        )
        tied = [short(system) for system in ranked if material.standing(spec, system) == "tied"]
        best = [short(system) for system in ranked if material.standing(spec, system) == "best"]
        words = f"Best: {listed(best)}. " if best else ""
        words += f"No difference from it may be claimed for {listed(tied)}. " if tied else ""
        span = f"From {number(min(v['value'] for v in values))} to {number(max(v['value'] for v in values))}."
        yield Plot(
            f"scores-{_slug(spec)}", "scores", spec, words + span, themed(rule + point, height=rows_height(len(values)))
        )


def spread_plots(material: Material) -> Iterator[Plot]:
    """How do scores spread over the items?"""
    alt = altair_module()
    for spec in material.specs[:MOST_METRICS]:
        metric, ranked = material.metric(spec), material.ranking(spec)
        values: list[dict[str, Any]] = []
        for system in ranked:
            segments = material.evaluation[system][spec].segments[metric.outputs[0]]
            defined = segments[np.isfinite(segments)]
            if len(defined):
                five = np.quantile(defined, [0.05, 0.25, 0.5, 0.75, 0.95])
                values.append(
                    {"system": short(system), **dict(zip(("a", "b", "m", "c", "d"), map(float, five), strict=True))}
                )
        if not values or material.evaluation.n < 5:
            continue
        if all(value["a"] == value["d"] for value in values) or {v["m"] for v in values} <= {0.0, 1.0}:
            continue  # nothing spreads: a yes or no an item is no distribution
        title = f"{spec} of single items"
        scale = alt.Scale(zero=False)
        y = alt.Y("system:N", sort=[short(system) for system in ranked], title=None)
        base = alt.Chart(alt.Data(values=values)).encode(y=y)
        layers = (
            base.mark_rule(strokeWidth=1.5, color=style.OTHER).encode(
                x=alt.X("a:Q", title=title, scale=scale), x2="d:Q"
            )
            + base.mark_bar(height=9, color=style.BEST, opacity=0.45).encode(
                x=alt.X("b:Q", title=title, scale=scale), x2="c:Q"
            )
            + base.mark_tick(thickness=3, height=13, color=style.INK).encode(x=alt.X("m:Q", title=title, scale=scale))
        )
        low, high = (min(v["m"] for v in values), max(v["m"] for v in values))
        yield Plot(
            f"spread-{_slug(spec)}",
            "spread",
            f"{spec} over items",
            f"Medians from {number(low)} to {number(high)}. The bar holds the middle half of the items, the line nine "
            "tenths.",
            themed(layers, height=rows_height(len(values))),
        )


def length_plots(material: Material) -> Iterator[Plot]:
    """Does the score depend on how long the source is?"""
    if not material.evalset.has_sources or len(material.evalset) < 40:
        return
    from plainly.text.words import words

    alt = altair_module()
    lengths = np.array([len(words(source)) for source in material.evalset.sources], dtype=np.float64)
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, LENGTH_BINS + 1)))
    if len(edges) < 3:
        return
    part = np.clip(np.searchsorted(edges, lengths, side="right") - 1, 0, len(edges) - 2)
    bins = sorted(set(part.tolist()))
    names = {b: f"{lengths[part == b].min():.0f}–{lengths[part == b].max():.0f}" for b in bins}
    order = [names[b] for b in bins]
    for spec in material.specs[:MOST_METRICS]:
        ranked = material.ranking(spec)
        focus = ranked[: FOCUS - 1] + ranked[-1:] if len(ranked) > FOCUS else ranked
        values = [
            {"system": short(system), "bin": names[b], "value": value, "focus": system in focus}
            for system in ranked
            for b in bins
            if math.isfinite(value := float(material.evaluation[system][spec].subset(part == b)))
        ]
        if not values:
            continue
        shown = [short(system) for system in focus]
        x = alt.X("bin:N", sort=order, title="words in the source", axis=alt.Axis(labelAngle=0))
        y = alt.Y("value:Q", title=spec, scale=alt.Scale(zero=False))
        base = alt.Chart(alt.Data(values=values)).encode(x=x, y=y)
        scales = {
            "color": alt.Color("system:N", sort=shown, title=None, scale=alt.Scale(domain=shown, range=style.SERIES)),
            "shape": alt.Shape("system:N", sort=shown, title=None, scale=alt.Scale(domain=shown, range=style.SHAPES)),
        }
        grey = base.transform_filter("!datum.focus").mark_line(strokeWidth=1, color=style.OTHER, opacity=0.55)
        lines = base.transform_filter("datum.focus").mark_line(strokeWidth=2).encode(color=scales["color"])
        points = base.transform_filter("datum.focus").mark_point(size=60, filled=True, opacity=1).encode(**scales)
        others = len(ranked) - len(focus)
        yield Plot(
            f"length-{_slug(spec)}",
            "length",
            f"{spec} by source length",
            f"{listed(shown)}{f', and {others} others in grey' if others else ''}; items in {len(bins)} groups of "
            "about equal size.",
            themed(grey.encode(detail="system:N") + lines + points, height=250),
        )


def _slug(spec: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in spec).strip("-")
