"""Figures of single analyses: attacks on a metric, the plan of a study, and metrics against people."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from plainly.auditing.outcome import Audit
from plainly.auditing.sweep import Sweep
from plainly.core.errors import BadInput
from plainly.people.dimensions import Tradeoff, common_units
from plainly.people.meta_evaluation import MetaEvaluation
from plainly.people.planning import StudyPlan
from plainly.people.ratings import Units
from plainly.reporting.figures import SIDES, Line, Lines, Scatter, Spot, group_axis, slug
from plainly.reporting.geometry import Scale, fit_scale
from plainly.reporting.svg import Drawing, Entry, Figure
from plainly.stats.correlate import correlation
from plainly.stats.resample import Floats

Points = Sequence[tuple[float, float]]


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
    """One metric on one system, like Figures 1–3 of Tanprasert & Kauchak (2021): a line for each attack over the
    share of outputs attacked, with 95 % of the trials.

    ``crosses`` are further values to compare with, as (percent, score) by attack.
    """
    lines = []
    for place, attack in enumerate(sweep.design.attacks):
        curve = sweep.curves[system, attack.name, spec]
        mean, low, high = curve.mean[:, 0], curve.low[:, 0], curve.high[:, 0]
        lines.append(
            Line(
                attack.name,
                tuple(zip([100 * level for level in curve.levels], map(float, mean), strict=True)),
                place,
                band=tuple(zip(map(float, low), map(float, high), strict=True)),
                crosses=tuple((crosses or {}).get(attack.name, ())),
            )
        )
    share = Scale(0, 100, tuple((float(value), str(value)) for value in range(0, 101, 20)))
    form = Lines(tuple(lines), share, "% of outputs attacked", axis or spec, height=320)
    trials = f"mean of {sweep.design.trials} trials" if sweep.design.trials > 1 else "one trial"
    subtitle = f"{SIDES[sweep.design.metrics[spec].better]}; {trials}{'; crosses: published' if crosses else ''}"
    return Figure((form.draw().with_title(title or f"{spec} of {system}", subtitle),), width=520)


def draw_plan(plan: StudyPlan) -> Figure:
    """Three panels: agreement by sentences, ways to spend the budget, and power by sentences and raters."""
    sizes = [(point.sentences, str(point.raters), point.tau) for point in plan.points["sentences"]]
    power = [(int(point["sentences"]), str(point["raters"]), float(point["power"])) for point in plan.curves]
    budget = plan.points["budget"]
    spent = Line("budget", tuple((float(place), point.tau) for place, point in enumerate(budget)), 0)
    raters = group_axis([str(point.raters) for point in budget])
    tau = "tau with the pilot"
    spending = Lines((spent,), raters, "raters a sentence", tau, ends=(0.0, 1.0))
    drawn = (
        _draw_sizes(sizes, "Test-set size", tau),
        spending.draw().with_title(f"{plan.budget} ratings a system"),
        _draw_sizes(power, f"A true difference of {plan.difference:g}", f"power at p < {plan.pilot.alpha:g}"),
    )
    return Figure(drawn)


def _draw_sizes(values: Sequence[tuple[int, str, float]], title: str, up: str) -> Drawing:
    """A line for each number of raters, over the number of sentences."""
    numbers = list(dict.fromkeys(raters for _, raters, _ in values))
    lines = tuple(
        Line(f"{number} raters" if number != "1" else "1 rater", points, place)
        for place, number in enumerate(numbers)
        if (points := tuple((float(size), value) for size, raters, value in values if raters == number))
    )
    sizes = fit_scale({str(size): (float(size),) for size, *_ in values}, [0.0], whole=True)
    return Lines(lines, sizes, "sentences a system", up, ends=(0.0, 1.0)).draw().with_title(title)


def draw_correlations(result: MetaEvaluation) -> Figure:
    """Metrics against people where metrics were asked for, else dimensions against each other."""
    if result.correlations is not None:
        (scores, *_), dimension = result.correlations.scores, result.correlations.dimensions[0]
        human = result.judgements.human(dimension, scores.units)
        drawn = [
            _draw_points(metric.segments, human, metric.name, f"mean {dimension}", scores.units)
            for metric in scores.metrics.values()
        ]
    elif result.tradeoff is not None:
        drawn = list(_draw_dimensions(result.tradeoff))
    else:
        raise BadInput("Agreement is not drawn; metrics and dimensions are: pass metrics= or tradeoff=True.")
    return Figure(tuple(drawn))


def _draw_dimensions(tradeoff: Tradeoff) -> Iterator[Drawing]:
    """A panel for each pair of dimensions, over the outputs rated on both."""
    for relation in tradeoff.relations:
        units = common_units(tradeoff.judgements, (relation.x, relation.y))
        x, y = (tradeoff.judgements.human(name, units) for name in (relation.x, relation.y))
        yield _draw_points(x, y, relation.x, relation.y, units)


def _draw_points(x: Floats, y: Floats, x_name: str, y_name: str, units: Units) -> Drawing:
    """One scatter plot: a point for each unit, coloured by system, and the line of least squares."""
    systems = sorted(set(units.system_names))
    defined = ~(np.isnan(x) | np.isnan(y))
    names = zip(units.system_names, units.item_names, strict=True)
    spots = tuple(
        Spot(f"{system}, {item}", float(a), float(b), "dot", "", systems.index(system))
        for a, b, (system, item), ok in zip(x, y, names, defined, strict=True)
        if ok
    )
    r = correlation(x, y)
    line: tuple[tuple[float, float], ...] = ()
    if not math.isnan(r):
        slope, start = np.polyfit(x[defined], y[defined], 1)
        line = tuple((float(end), float(start + slope * end)) for end in (x[defined].min(), x[defined].max()))
    legend = tuple(Entry(system, place) for place, system in enumerate(systems))
    title = f"r = {r:.2f}, n = {len(spots)}" if line else f"r is undefined, n = {len(spots)}"
    return Scatter(spots, x_name, y_name, fitted=line, legend=legend).draw().with_title(title)
