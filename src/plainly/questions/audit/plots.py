"""Curves of a sweep as pictures, like Figures 1–3 of Tanprasert & Kauchak (2021): SVG for print, PNG for slides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from plainly.errors import MissingExtra
from plainly.files import write_whole
from plainly.questions.audit.sweep import Sweep

if TYPE_CHECKING:
    import altair


def figure(
    sweep: Sweep,
    system: str,
    spec: str,
    *,
    title: str = "",
    axis: str = "",
    marks: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> altair.LayerChart:
    """One metric on one system: a line for each attack over the share of outputs attacked, with 95 % of the trials.

    ``marks`` are further values to compare with, as (percent, score) by attack; they are drawn as crosses.
    """
    alt = _altair()
    metric = sweep.plan.metrics[spec]
    attacks = [attack.name for attack in sweep.plan.attacks]
    better = {"higher": "larger is better", "lower": "smaller is better", "neither": "neither is better"}[metric.better]
    scheme = "tableau10" if len(attacks) <= 10 else "tableau20"
    legend = alt.Legend(labelLimit=260, symbolOpacity=1, symbolType="circle")
    color = alt.Color("attack:N", sort=attacks, scale=alt.Scale(domain=attacks, scheme=scheme), legend=legend)
    share = alt.X("share:Q", title="% of outputs attacked", scale=alt.Scale(domain=[0, 100], nice=False))
    score = alt.Scale(zero=False)
    base = alt.Chart(alt.Data(values=_points(sweep, system, spec))).encode(x=share, color=color)
    layers = [
        base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=axis or spec, scale=score), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=alt.Y("mean:Q", title=axis or spec, scale=score)),
        base.mark_point(size=24, filled=True).encode(y=alt.Y("mean:Q", title=axis or spec, scale=score)),
    ]
    if marks:
        crosses = [
            {"attack": attack, "share": percent, "mean": value}
            for attack, values in marks.items()
            for percent, value in values
            if value == value
        ]
        layer = alt.Chart(alt.Data(values=crosses)).mark_point(shape="cross", size=40, filled=False, opacity=1)
        layers.append(layer.encode(x=share, color=color, y=alt.Y("mean:Q", title=axis or spec, scale=score)))
    trials = f"mean of {sweep.plan.trials} trials" if sweep.plan.trials > 1 else "one trial"
    subtitle = f"{better}; {trials}{'; crosses: published' if marks else ''}"
    heading = alt.TitleParams(title or f"{spec} of {system}", subtitle=subtitle, anchor="start")
    return cast("altair.LayerChart", alt.layer(*layers).properties(width=480, height=320, title=heading))


def save(chart: altair.LayerChart, stem: str | Path) -> list[Path]:
    """Write a chart as ``stem.svg`` and ``stem.png``."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("Plots", package="vl-convert-python", extra="plots") from None
    described = chart.to_dict()
    paths = [Path(f"{stem}.svg"), Path(f"{stem}.png")]
    write_whole(paths[0], vl_convert.vegalite_to_svg(described))
    write_whole(paths[1], vl_convert.vegalite_to_png(described, scale=2))
    return paths


def _points(sweep: Sweep, system: str, spec: str) -> list[dict[str, Any]]:
    points = []
    for attack in sweep.plan.attacks:
        curve = sweep.curve(system, attack.name, spec)
        for place, level in enumerate(curve.levels):
            values = {"mean": curve.mean, "low": curve.low, "high": curve.high}
            points.append(
                {
                    "attack": attack.name,
                    "share": 100 * level,
                    **{name: float(value[place, 0]) for name, value in values.items()},
                }
            )
    # Undefined scores leave a gap; JSON has no NaN.
    return [{key: None if value != value else value for key, value in point.items()} for point in points]


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise MissingExtra("Plots", package="altair", extra="plots") from None
    return altair
