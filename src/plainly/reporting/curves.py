"""Figures of single analyses: attacks on a metric, the plan of a study, and metrics against people."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from plainly.auditing.result import Audit
from plainly.auditing.sweep import Sweep
from plainly.core.errors import BadInput
from plainly.core.formatting import count_noun
from plainly.people.meta_evaluation import MetaEvaluation, common_units
from plainly.people.planning import StudyPlan
from plainly.people.ratings import Units
from plainly.reporting.figures import SIDES, Plane, Points, Series, group_axis, slug
from plainly.reporting.geometry import Scale, fit_scale
from plainly.reporting.svg import WIDTH, Drawing, Figure
from plainly.stats.correlate import correlation
from plainly.stats.resample import Floats


def save_attacks(audit: Audit, directory: Path) -> list[Path]:
    """Draw every metric of every system of an audit, as SVG and PNG; return the files."""
    return [
        draw_attacks(audit.sweep, system, spec).save(directory / f"{slug(system, '-_.+')}-{slug(spec, '-_.+')}.{form}")
        for system in audit.sweep.systems
        for spec in audit.sweep.design.metrics
        for form in ("svg", "png")
    ]


def draw_attacks(
    sweep: Sweep,
    system: str,
    spec: str,
    *,
    title: str = "",
    axis: str = "",
    crosses: Mapping[str, Points] | None = None,
) -> Figure:
    """Draw one metric on one system, like Figures 1–3 of Tanprasert & Kauchak (2021): a line for each attack over the
    share of outputs attacked, with 95 % of the trials.

    ``crosses`` are further values to compare with, as (percent, score) by attack.
    """
    series = []
    for index, attack in enumerate(sweep.design.attacks):
        curve = sweep.curves[system, attack.name, spec]
        mean, low, high = (values[:, 0].tolist() for values in (curve.mean, curve.low, curve.high))
        shares = [100 * level for level in curve.levels]
        band = list(zip(low, high, strict=True))
        series.append(Series(attack.name, list(zip(shares, mean, strict=True)), index, band=band))
        series.append(Series(attack.name, (crosses or {}).get(attack.name, ()), index, shape="cross", has_line=False))
    share = Scale(0, 100, tuple((float(value), str(value)) for value in range(0, 101, 20)))
    form = Plane(tuple(series), "% of outputs attacked", axis or spec, share, height=320)
    trials = f"mean of {sweep.design.trials} trials" if sweep.design.trials > 1 else "one trial"
    subtitle = f"{SIDES[sweep.design.metrics[spec].better]}; {trials}{'; crosses: published' if crosses else ''}"
    return Figure((replace(form.draw(600), title=title or f"{spec} of {system}", subtitle=subtitle),), width=600)


def draw_plan(plan: StudyPlan) -> Figure:
    """Draw three panels: agreement by sentences, ways to spend the budget, and power by sentences and raters."""
    sizes = [(point.sentences, point.raters, point.tau) for point in plan.points["sentences"]]
    power = [(int(point["sentences"]), int(point["raters"]), float(point["power"])) for point in plan.curves]
    budget = plan.points["budget"]
    budget_line = Series("budget", [(float(index), point.tau) for index, point in enumerate(budget)], 0)
    raters = group_axis([str(point.raters) for point in budget])
    tau = "tau with the pilot"
    spending = Plane((budget_line,), "raters per sentence", tau, raters, ends=(0.0, 1.0))
    drawings = (
        _draw_sizes(sizes, "Test-set size", tau),
        replace(spending.draw(WIDTH), title=f"{plan.budget} ratings per system"),
        _draw_sizes(power, f"A true difference of {plan.difference:g}", f"power at p < {plan.pilot.alpha:g}"),
    )
    return Figure(drawings)


def _draw_sizes(values: Sequence[tuple[int, int, float]], title: str, up: str) -> Drawing:
    """Draw a line for each number of raters, over the number of sentences."""
    points: dict[int, list[tuple[float, float]]] = {}
    for size, raters, value in values:
        points.setdefault(raters, []).append((float(size), value))
    lines = tuple(Series(count_noun(n, "rater"), points[n], index) for index, n in enumerate(points))
    sizes = fit_scale({str(size): (float(size),) for size, *_ in values}, [0.0], whole=True)
    return replace(Plane(lines, "sentences a system", up, sizes, ends=(0.0, 1.0)).draw(WIDTH), title=title)


def draw_correlations(result: MetaEvaluation) -> Figure:
    """Plot metrics against ratings, or without metrics the rated dimensions against each other."""
    drawings = []
    if result.correlations is not None:
        (scores, *_), dimension = result.correlations.scores, result.correlations.dimensions[0]
        human = result.judgements.human(dimension, scores.units)
        drawings = [
            _draw_points(metric.segments, human, metric.name, f"mean {dimension}", scores.units)
            for metric in scores.metrics.values()
        ]
    elif result.tradeoff is not None:
        judgements = result.tradeoff.judgements
        for relation in result.tradeoff.relations:
            units = common_units(judgements, (relation.x, relation.y))  # the outputs rated on both
            x, y = (judgements.human(name, units) for name in (relation.x, relation.y))
            drawings.append(_draw_points(x, y, relation.x, relation.y, units))
    else:
        raise BadInput("Agreement is not drawn. Pass metrics= or tradeoff=True to plot metrics or dimensions.")
    return Figure(tuple(drawings))


def _draw_points(x: Floats, y: Floats, x_name: str, y_name: str, units: Units) -> Drawing:
    """Draw a scatter plot: a point for each unit, coloured by system, and the line of least squares."""
    has_both = ~(np.isnan(x) | np.isnan(y))
    points: dict[str, list[tuple[float, float]]] = {}
    for a, b, system, is_defined in zip(x.tolist(), y.tolist(), units.system_names, has_both, strict=True):
        points.setdefault(system, []).extend([(a, b)] if is_defined else [])
    series = tuple(Series(name, points[name], index, has_line=False) for index, name in enumerate(sorted(points)))
    r = correlation(x, y)
    line: list[tuple[float, float]] = []
    if not math.isnan(r):
        slope, start = np.polyfit(x[has_both], y[has_both], 1)
        line = [(float(end), float(start + slope * end)) for end in (x[has_both].min(), x[has_both].max())]
    n = int(has_both.sum())
    title = f"r = {r:.2f}, n = {n}" if line else f"r is undefined, n = {n}"
    return replace(Plane(series, x_name, y_name, line=line, height=300).draw(WIDTH), title=title)
