"""A plot for each question a reader has, in the order of the page. Every plot can be made without the others."""

import math
from collections.abc import Iterator, Sequence

from plainly.core.formatting import interval, label, listed, number, short
from plainly.reporting.figures import (
    SIDES,
    Heat,
    Opens,
    Panel,
    Plane,
    Series,
    Strip,
    Strips,
    group_axis,
    slug,
)
from plainly.reporting.findings import Habit
from plainly.reporting.overview import Overview
from plainly.reporting.summary import axes, front, verdict

# Lines of this many systems are told apart by colour and shape; the others stay grey in the background.
_FOCUS = 4
# Plots for so many metrics at most; the table has them all.
_MOST_METRICS = 6
_MOST_OPERATIONS = 14
_WORDS = {"best": "best", "tied": "cannot be told from the best"}


def plots(overview: Overview) -> Iterator[Panel]:
    """Every plot that the overview allows."""
    about_scores = (score_plots, tradeoff_plots, spread_plots, length_plots)
    for make in (*about_scores, habit_plots, operation_plots, trick_plots, correlation_plots):
        yield from make(overview)


def score_plots(overview: Overview) -> Iterator[Panel]:
    """How do the systems score, and how sure is that?"""
    for metric, spec in enumerate(overview.specs[:_MOST_METRICS]):
        ranked = [s for s in overview.evaluation.ranking(spec) if not math.isnan(overview.value(s, spec))]
        if not ranked:
            continue
        figure = Strips(
            tuple(_score_row(overview, spec, system) for system in ranked),
            f"{spec}, {SIDES[overview.metric(spec).better]}",
            ends=_cluster_ends(overview, spec, ranked),
            opens={"metric": metric, "order": _worst_first(overview, spec)},
        )
        yield Panel(f"scores-{slug(spec)}", "scores", spec, verdict(overview, spec), figure)


def _worst_first(overview: Overview, spec: str) -> str:
    return "low" if overview.metric(spec).better != "lower" else "high"


def _score_row(overview: Overview, spec: str, system: str) -> Strip:
    estimate, value = overview.estimate(system, spec), overview.value(system, spec)
    low, high = (math.nan, math.nan) if estimate is None else (estimate.low, estimate.high)
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


def _cluster_ends(overview: Overview, spec: str, ranked: Sequence[str]) -> frozenset[int]:
    """After which systems a cluster ends: everyone above beats everyone below."""
    if overview.comparisons is None:
        return frozenset()
    ends, at = set(), 0
    for cluster in overview.comparisons.clusters(spec):
        at += sum(system in ranked for system in cluster)
        ends.add(at)
    return frozenset(ends - {0, len(ranked)})


def tradeoff_plots(overview: Overview) -> Iterator[Panel]:
    """Who is simpler, who is closer in meaning, and who is beaten on both?"""
    pair = axes(overview.evaluation)
    if pair is None:
        return
    simplicity, meaning = pair
    unbeaten = sorted(front(overview.evaluation, simplicity, meaning))
    points: dict[str, tuple[float, float]] = {}
    series = []
    for place, system in enumerate(overview.systems):
        x, y = overview.value(system, meaning.spec), overview.value(system, simplicity.spec)
        if not math.isnan(x + y):
            points[system] = (x, y)
            shape, said = "right", "some system is better on both"
            if system in unbeaten:
                shape, said = "circle", "nobody is better on both"
            scores = f"{simplicity.spec} {number(y, page=True)}; {meaning.spec} {number(x, page=True)}"
            series.append(Series(label(system), [(x, y)], place, (f"{scores}; {said}",), shape))
    if len(series) < 2:
        return
    figure = Plane(
        tuple(series),
        f"meaning: {meaning.spec} →",
        f"simplicity: {simplicity.spec} {'→' if simplicity.sign > 0 else '(lower is better)'}",
        line=sorted(points[system] for system in unbeaten),
        named=True,
        turned=simplicity.sign < 0,
        opens={},
    )
    caption = f"No system is better on both than {listed([short(system) for system in unbeaten])}."
    yield Panel("tradeoff", "tradeoff", f"{simplicity.spec} against {meaning.spec}", caption, figure)


def spread_plots(overview: Overview) -> Iterator[Panel]:
    """How do scores spread over the items?"""
    for metric, spec in enumerate(overview.specs[:_MOST_METRICS]):
        of_systems = overview.spreads.get(spec)
        if of_systems is None:
            continue
        rows = []
        for system, (lowest, low, middle, high, highest) in of_systems.items():
            said = f"median {number(middle, page=True)}; half of the items {_from_to(low, high)}"
            said += f"; nine tenths {_from_to(lowest, highest)}"
            shown, place = number(middle, 1 if abs(middle) >= 10 else 2, page=True), overview.systems.index(system)
            rows.append(Strip(label(system), middle, lowest, highest, (low, high), "other", shown, said, place))
        medians = [row.value for row in rows]
        opens: Opens = {"metric": metric, "order": _worst_first(overview, spec)}
        yield Panel(
            f"spread-{slug(spec)}",
            "spread",
            f"{spec} over items",
            f"Medians from {_from_to(min(medians), max(medians))}.",
            Strips(tuple(rows), f"{spec} of single items", opens=opens),
        )


def _from_to(low: float, high: float) -> str:
    return f"{number(low, page=True)} to {number(high, page=True)}"


def length_plots(overview: Overview) -> Iterator[Panel]:
    """Does the score depend on how long the source is?"""
    if overview.lengths is None:
        return
    bins = overview.lengths.bins
    for metric, spec in enumerate(overview.specs[:_MOST_METRICS]):
        of_systems = overview.lengths.scores[spec]
        ranked = [system for system, values in of_systems.items() if any(map(math.isfinite, values))]
        if not ranked:
            continue
        focus = ranked[: _FOCUS - 1] + ranked[-1:] if len(ranked) > _FOCUS else ranked
        lines = []
        for system in ranked:
            place, values = overview.systems.index(system), of_systems[system]
            shown = tuple(f"{name} words: {number(value, page=True)}" for name, value in zip(bins, values, strict=True))
            points = [(float(x), y) for x, y in enumerate(values)]
            lines.append(Series(label(system), points, place if system in focus else None, shown))
        others = len(ranked) - len(focus)
        yield Panel(
            f"length-{slug(spec)}",
            "length",
            f"{spec} by source length",
            f"{listed([short(system) for system in focus])}{f', and {others} others in grey' if others else ''}; items "
            f"in {len(bins)} groups of about equal size.",
            Plane(tuple(lines), "words in the source", spec, group_axis(bins), opens={"metric": metric}),
        )


def habit_plots(overview: Overview) -> Iterator[Panel]:
    """What do systems do, beside people? A dashed line stands for people, a band for the range of references."""
    for habit in overview.habits:
        if not habit.defined:
            continue
        people = "" if math.isnan(habit.people) else f"; people {habit.shown(habit.people)}"
        rows = tuple(
            Strip(
                label(system),
                value,
                shown=habit.shown(value),
                said=f"{habit.shown(value)}{people}",
                system=overview.systems.index(system),
            )
            for system, value in sorted(habit.defined.items(), key=lambda pair: -pair[1])
        )
        opens = {"filter": habit.key} if habit.key in ("split", "copied") else {}
        figure = Strips(rows, habit.unit, share=habit.is_share, line=habit.people, band=habit.people_range, opens=opens)
        yield Panel(f"habit-{habit.key}", "habits", habit.title, _habit_caption(habit), figure)


def _habit_caption(habit: Habit) -> str:
    values = habit.defined.values()
    words = f"From {habit.shown(min(values))} to {habit.shown(max(values))}. "
    if math.isnan(habit.people):
        return words.strip()
    words += f"People: {habit.shown(habit.people)} (dashed line)"
    if habit.people_range is not None:
        low, high = map(habit.shown, habit.people_range)
        words += f", from {low} to {high} by reference (band)"
    return f"{words}."


def operation_plots(overview: Overview) -> Iterator[Panel]:
    """Which operations, how often?"""
    operations = overview.operations
    if operations is None or not operations.labels:
        return
    often = {
        name: max([*operations.shares[name].values(), operations.people.get(name, 0.0)]) for name in operations.labels
    }
    labels = sorted(often, key=often.__getitem__, reverse=True)[:_MOST_OPERATIONS]
    most = labels[0]
    rows = [(label(system), [operations.shares[name][system] for name in labels]) for system in operations.groups]
    if operations.people:
        people = "people" if "people" not in operations.groups else "people (references)"
        rows.insert(0, (people, [operations.people[name] for name in labels]))
    yield Panel(
        "operations",
        "operations",
        "Share of outputs with an operation, in %",
        f"Most often: {most} ({operations.labels[most].lower()}), in up to {number(often[most], 0)} % of the outputs. "
        f"Found by the {operations.labeller} labeller, which errs; people means the references, labelled the same way.",
        Heat([(name, operations.labels[name]) for name in labels], rows),
    )


def trick_plots(overview: Overview) -> Iterator[Panel]:
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
        rows = tuple(
            Strip(
                gain.trick,
                gain.spreads,
                kind="fooled" if gain.fooled else "not",
                shown=number(gain.spreads, page=True),
                said=f"{gain.what}; {'' if gain.fooled else 'not '}fooled, gain {number(gain.spreads, page=True)}",
            )
            for gain in gains
        )
        figure = Strips(rows, "gain (1: from worst to best)", zero=True, line=1.0)
        yield Panel(f"tricks-{slug(spec)}", "tricks", f"{spec} after a trick on every output", words, figure)


def correlation_plots(overview: Overview) -> Iterator[Panel]:
    """Do the metrics go with what people say?"""
    defined = [row for row in overview.correlations if math.isfinite(row.estimate.value + row.estimate.low)]
    for dimension in dict.fromkeys(row.dimension for row in defined):
        rows = [row for row in defined if row.dimension == dimension]
        strips = []
        for row in rows:
            value, low, high = row.estimate.value, row.estimate.low, row.estimate.high
            said = interval(value, low, high, page=True)
            strips.append(Strip(row.metric, value, low, high, shown=number(value, page=True), said=said))
        strongest = max(strips, key=lambda strip: strip.value)
        yield Panel(
            f"ratings-{slug(dimension)}",
            "ratings",
            f"Metrics and {dimension}",
            f"Strongest: {strongest.name}, {strongest.shown}; {rows[0].estimate.n} outputs.",
            Strips(tuple(strips), f"{rows[0].statistic} correlation with {dimension}", share=True),
        )
