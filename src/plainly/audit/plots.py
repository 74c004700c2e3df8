"""Curves of a sweep as pictures, like Figures 1–3 of Tanprasert & Kauchak (2021): SVG for print, PNG for slides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from plainly.audit.sweep import Sweep
from plainly.errors import MissingExtra
from plainly.files import write_whole

if TYPE_CHECKING:
    import altair


def figure(sweep: Sweep, system: str, spec: str, *, intervals: bool = True) -> altair.LayerChart:
    """One metric on one system: a line for each attack over the share of outputs attacked, with 95 % of the trials."""
    alt = _altair()
    metric = sweep.plan.metrics[spec]
    attacks = [attack.name for attack in sweep.plan.attacks]
    better = {"higher": "larger is better", "lower": "smaller is better", "neither": "neither is better"}[metric.better]
    base = alt.Chart(alt.Data(values=_points(sweep, system, spec))).encode(
        x=alt.X("share:Q", title="% of outputs attacked", scale=alt.Scale(domain=[0, 100], nice=False)),
        color=alt.Color(
            "attack:N", sort=attacks, scale=alt.Scale(scheme="tableau20"), legend=alt.Legend(labelLimit=260)
        ),
    )
    axis = alt.Y("mean:Q", title=spec, scale=alt.Scale(zero=False))
    lines = base.mark_line(strokeWidth=2).encode(y=axis, strokeDash=alt.StrokeDash("attack:N", sort=attacks))
    marks = base.mark_point(size=28, filled=True).encode(y=axis)
    layers = [lines, marks]
    if intervals:
        layers.insert(0, base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=spec), y2="high:Q"))
    trials = f"mean of {sweep.plan.trials} trials" if sweep.plan.trials > 1 else "one trial"
    title = alt.TitleParams(f"{spec} of {system}", subtitle=f"{better}; {trials}", anchor="start")
    return cast("altair.LayerChart", alt.layer(*layers).properties(width=480, height=320, title=title))


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
