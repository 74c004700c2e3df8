"""Figures of single analyses: attacks on a metric, the plan of a study, and metrics against people."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from plainly.auditing.result import Audit
from plainly.auditing.sweep import Sweep
from plainly.core.errors import BadInput
from plainly.core.files import write_whole
from plainly.core.formatting import count_noun, listed, number
from plainly.core.registry import display_name
from plainly.people.meta_evaluation import MetaEvaluation, common_units
from plainly.people.planning import StudyPlan
from plainly.people.ratings import Units
from plainly.reporting.figures import SIDES, Plane, Points, Series, group_axis, slug
from plainly.reporting.geometry import Scale, fit_scale
from plainly.reporting.svg import WIDTH, Drawing, Figure, write_page
from plainly.stats.correlate import correlation
from plainly.stats.resample import Floats

_FOCUS = 7  # attacks with a colour each; the others are grey


def save_attacks(audit: Audit, directory: Path) -> list[Path]:
    """Draw every metric of every system of an audit, as SVG and PNG, and all on one page; return the files."""
    figures = {
        f"{slug(system, '-_.+')}-{slug(spec, '-_.+')}": draw_attacks(audit.sweep, system, spec)
        for system in audit.sweep.systems
        for spec in audit.sweep.design.metrics
    }
    files = [figure.save(directory / f"{name}.{form}") for name, figure in figures.items() for form in ("svg", "png")]
    claims = [note.message for note in audit.notes() if note.kind == "claim"]
    drawings = [drawing for figure in figures.values() for drawing in figure.drawings]
    page = directory / "index.html"
    write_whole(page, write_page("Can these metrics be fooled?", claims, drawings, columns=2))
    return [page, *files]


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

    Of many attacks only those that improve the score most have a colour. ``crosses`` are further values to compare
    with, as (percent, score) by attack.
    """
    sign = {"higher": 1, "lower": -1, "neither": 0}[sweep.design.metrics[spec].better]
    curves = {attack: sweep.curves[system, attack.name, spec] for attack in sweep.design.attacks}
    gains = {attack: sign * float(curve.mean[-1, 0] - curve.mean[0, 0]) for attack, curve in curves.items()}
    # Attacks that ought to make a score worse come first, and those that improve it most.
    by_gain = sorted(gains, key=lambda attack: (attack.expected != "worse", -np.nan_to_num(gains[attack])))
    focus = {attack: index for index, attack in enumerate(by_gain[:_FOCUS])}
    series = []
    for attack, curve in curves.items():
        index = focus.get(attack)
        mean, low, high = (values[:, 0].tolist() for values in (curve.mean, curve.low, curve.high))
        shares = [100 * level for level in curve.levels]
        band = list(zip(low, high, strict=True)) if index is not None else ()
        points = list(zip(shares, mean, strict=True))
        series.append(Series(attack.what, points, index, band=band, code=attack.name))
        if crosses:
            series.append(Series(attack.what, crosses.get(attack.name, ()), index, shape="cross", has_line=False))
    share = Scale(0, 100, tuple((float(value), str(value)) for value in range(0, 101, 20)))
    name = display_name(spec)
    form = Plane(tuple(series), "% of outputs attacked", axis or name, share, height=300)
    trials = f"mean of {sweep.design.trials} trials" if sweep.design.trials > 1 else "one trial"
    grey = f"; {len(series) - _FOCUS} other attacks in grey" if len(series) > _FOCUS and not crosses else ""
    subtitle = f"{SIDES[sweep.design.metrics[spec].better]}; {trials}{'; crosses: published' if crosses else grey}"
    drawing = replace(form.draw(_WIDE), title=title or f"{name} of {system}", subtitle=subtitle)
    return Figure((drawing,), width=_WIDE, title=title or f"{name} of {system} under attack")


_WIDE = 460  # pixels of a plot of attacks in a file


def draw_plan(plan: StudyPlan) -> Figure:
    """Draw power by sentences and raters, ways to spend the budget, and agreement with the pilot if it has any."""
    power = [(int(point["sentences"]), int(point["raters"]), float(point["power"])) for point in plan.curves]
    budget = plan.points["budget"]
    line = Series("budget", [(float(index), point.detectable) for index, point in enumerate(budget)], 0)
    raters = group_axis([str(point.raters) for point in budget])
    spending = Plane((line,), "raters per sentence", "detectable difference", raters, ends=(0.0,))
    drawings = [
        _draw_sizes(power, f"Can a difference of {plan.difference:g} be found?", "power"),
        replace(spending.draw(WIDTH), title=f"How to spend {plan.budget} ratings per system"),
    ]
    if plan.pilot.told_apart:
        sizes = [(point.sentences, point.raters, point.tau) for point in plan.points["sentences"]]
        drawings.append(_draw_sizes(sizes, "Do smaller studies agree with the pilot?", "tau with the pilot"))
    title = "How many sentences and raters does the study need?"
    return Figure(tuple(drawings), title=title, summary=tuple(plan.advice))


def _draw_sizes(values: Sequence[tuple[int, int, float]], title: str, up: str) -> Drawing:
    """Draw a line for each number of raters, over the number of sentences."""
    points: dict[int, list[tuple[float, float]]] = {}
    for size, raters, value in values:
        points.setdefault(raters, []).append((float(size), value))
    lines = tuple(Series(count_noun(n, "rater"), points[n], index) for index, n in enumerate(points))
    sizes = fit_scale({str(size): (float(size),) for size, *_ in values}, [0.0], whole=True)
    return replace(Plane(lines, "sentences per system", up, sizes, ends=(0.0, 1.0)).draw(WIDTH), title=title)


def draw_correlations(result: MetaEvaluation) -> Figure:
    """Plot metrics against ratings, or without metrics the rated dimensions against each other."""
    drawings, summary = [], []
    if result.correlations is not None:
        (scores, *_), dimension = result.correlations.scores, result.correlations.dimensions[0]
        human = result.judgements.human(dimension, scores.units)
        names = [display_name(metric.name) for metric in scores.metrics.values()]
        title = f"{'Does' if len(names) == 1 else 'Do'} {listed(names, most=4)} agree with people?"
        drawings = [
            _draw_points(metric.segments, human, name, f"mean {dimension}", scores.units)
            for metric, name in zip(scores.metrics.values(), names, strict=True)
        ]
        strengths = {name: abs(correlation(metric.segments, human))
                     for metric, name in zip(scores.metrics.values(), names, strict=True)}  # fmt: skip
        finite = {name: value for name, value in strengths.items() if math.isfinite(value)}
        if len(finite) > 1:
            best, worst = max(finite, key=finite.__getitem__), min(finite, key=finite.__getitem__)
            summary.append(f"{best} goes together with {dimension} most closely, {worst} least.")
    elif result.tradeoff is not None:
        judgements = result.tradeoff.judgements
        title = "Do people's ratings go together?"
        for relation in result.tradeoff.relations:
            units = common_units(judgements, (relation.x, relation.y))  # the outputs rated on both
            x, y = (judgements.human(name, units) for name in (relation.x, relation.y))
            drawings.append(_draw_points(x, y, relation.x, relation.y, units))
    else:
        raise BadInput("Agreement is not drawn. Pass metrics= or tradeoff=True to plot metrics or dimensions.")
    summary.append(f"{result.judgements.name}: a point is one output, a colour one system. r is Pearson's correlation.")
    return Figure(tuple(drawings), title=title, summary=tuple(summary))


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
    strength = f"r = {number(r, page=True)}" if line else "r is undefined"
    title = f"{x_name} and {y_name.removeprefix('mean ')}: {strength}"
    drawing = Plane(series, x_name, y_name, line=line, height=280).draw(WIDTH)
    return replace(drawing, title=title, subtitle=count_noun(n, "output"))
