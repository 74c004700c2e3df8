"""Curves of a sweep as pictures, like Figures 1–3 of Tanprasert & Kauchak (2021): SVG for print, PNG for slides."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plainly.auditing.sweep import Sweep
from plainly.core import plots
from plainly.core.tables import jsonable


def figure(
    sweep: Sweep,
    system: str,
    spec: str,
    *,
    title: str = "",
    axis: str = "",
    marks: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> Any:
    """One metric on one system: a line for each attack over the share of outputs attacked, with 95 % of the trials.

    ``marks`` are further values to compare with, as (percent, score) by attack; they are drawn as crosses.
    """
    alt = plots.altair()
    metric = sweep.design.metrics[spec]
    attacks = [attack.name for attack in sweep.design.attacks]
    better = {"higher": "larger is better", "lower": "smaller is better", "neither": "neither is better"}[metric.better]
    scheme = "tableau10" if len(attacks) <= 10 else "tableau20"
    legend = alt.Legend(labelLimit=260, symbolOpacity=1, symbolType="circle")
    color = alt.Color("attack:N", sort=attacks, scale=alt.Scale(domain=attacks, scheme=scheme), legend=legend)
    share = alt.X("share:Q", title="% of outputs attacked", scale=alt.Scale(domain=[0, 100], nice=False))
    scale = alt.Scale(zero=False)
    mean = alt.Y("mean:Q", title=axis or spec, scale=scale)
    base = alt.Chart(alt.Data(values=_points(sweep, system, spec))).encode(x=share, color=color)
    layers = [
        base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=axis or spec, scale=scale), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=mean),
        base.mark_point(size=24, filled=True).encode(y=mean),
    ]
    if marks:
        crosses = [
            {"attack": attack, "share": percent, "mean": value}
            for attack, values in marks.items()
            for percent, value in values
            if not math.isnan(value)
        ]
        layer = alt.Chart(alt.Data(values=crosses)).mark_point(shape="cross", size=40, filled=False, opacity=1)
        layers.append(layer.encode(x=share, color=color, y=mean))
    trials = f"mean of {sweep.design.trials} trials" if sweep.design.trials > 1 else "one trial"
    subtitle = f"{better}; {trials}{'; crosses: published' if marks else ''}"
    heading = alt.TitleParams(title or f"{spec} of {system}", subtitle=subtitle, anchor="start")
    return alt.layer(*layers).properties(width=480, height=320, title=heading)


def save(chart: Any, stem: Path) -> list[Path]:
    """Write a chart as ``stem.svg`` and ``stem.png``."""
    return [plots.save(chart, stem.with_name(f"{stem.name}.{form}")) for form in ("svg", "png")]


def _points(sweep: Sweep, system: str, spec: str) -> Any:
    """A point for each level of each curve; what is undefined is None, which leaves a gap."""
    curves = [(attack.name, sweep.curves[system, attack.name, spec]) for attack in sweep.design.attacks]
    points = [
        {"attack": attack, "share": 100 * level}
        | {side: getattr(curve, side)[place, 0] for side in ("mean", "low", "high")}
        for attack, curve in curves
        for place, level in enumerate(curve.levels)
    ]
    return jsonable(points)
