"""The plots of a report, in the order of the page. Each can be made without the others."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from plainly.auditing.attacks import ATTACKS
from plainly.auditing.verdicts import Effect
from plainly.core.formatting import interval, label, listed, number, short
from plainly.reporting.figures import SIDES, Heat, Opens, Panel, Plane, Series, Strip, Strips, group_axis, slug
from plainly.reporting.overview import Overview, axes, front, verdict

# The lines of this many systems have a colour and a shape; the others are grey.
_FOCUS = 4
# The most metrics that have plots; the table has all.
_MOST_METRICS = 6
_MOST_OPERATIONS = 14
_WORDS = {"best": "best", "tied": "cannot be told from the best"}


def plots(overview: Overview) -> Iterator[Panel]:
    """Draw every plot that the overview allows."""
    about_scores = (score_plots, tradeoff_plots, spread_plots, length_plots)
    for make in (*about_scores, habit_plots, operation_plots, trick_plots, correlation_plots):
        yield from make(overview)


def score_plots(overview: Overview) -> Iterator[Panel]:
    """Plot the scores of systems with their intervals."""
    for metric, spec in enumerate(overview.specs[:_MOST_METRICS]):
        ranking = [s for s in overview.evaluation.ranking(spec) if not math.isnan(overview.value(s, spec))]
        if not ranking:
            continue
        figure = Strips(
            tuple(_score_row(overview, spec, system) for system in ranking),
            f"{spec}, {SIDES[overview.metric(spec).better]}",
            ends=_cluster_ends(overview, spec, ranking),
            opens={"metric": metric, "order": _worst_first(overview, spec)},
        )
        yield Panel(f"scores-{slug(spec)}", "scores", spec, verdict(overview, spec), figure)


def _worst_first(overview: Overview, spec: str) -> str:
    return "low" if overview.metric(spec).better != "lower" else "high"


def _score_row(overview: Overview, spec: str, system: str) -> Strip:
    value, (low, high) = overview.value(system, spec), overview.bounds(system, spec)
    kind = overview.standing(spec, system) or ("other" if len(overview.systems) > 1 else "plain")
    details = [f"{spec} {interval(value, low, high, page=True)}", _WORDS.get(kind, "")]
    if overview.comparisons is not None and overview.metric(spec).better != "neither":
        beaten = [short(other) for other in overview.systems if overview.comparisons.beats(spec, system, other)]
        details.append(f"beats {listed(beaten, most=5) or 'no other system'}")
    others = (other for other in overview.specs if other != spec)
    details += [f"{other} {number(overview.value(system, other), page=True)}" for other in others]
    text = "; ".join(filter(None, details))
    return Strip(label(system), value, low, high, kind=kind, details=text, system=overview.systems.index(system))


def _cluster_ends(overview: Overview, spec: str, ranking: Sequence[str]) -> frozenset[int]:
    """Return the ranks at which a cluster ends: every system above beats every system below."""
    if overview.comparisons is None:
        return frozenset()
    sizes = (sum(system in ranking for system in cluster) for cluster in overview.comparisons.clusters(spec))
    return frozenset(accumulate(sizes)) - {0, len(ranking)}


def tradeoff_plots(overview: Overview) -> Iterator[Panel]:
    """Plot simplicity against meaning, with the systems that no other beats on both."""
    pair = axes(overview.evaluation)
    if pair is None:
        return
    simplicity, meaning = pair
    unbeaten = sorted(front(overview.evaluation, simplicity, meaning))
    points: dict[str, tuple[float, float]] = {}
    series = []
    for index, system in enumerate(overview.systems):
        x, y = overview.value(system, meaning), overview.value(system, simplicity)
        if not math.isnan(x + y):
            points[system] = (x, y)
            shape, quantifier = ("circle", "no") if system in unbeaten else ("right", "some")
            scores = f"{simplicity} {number(y, page=True)}; {meaning} {number(x, page=True)}"
            tip = f"{scores}; {quantifier} system is better on both"
            series.append(Series(label(system), [(x, y)], index, (tip,), shape))
    if len(series) < 2:
        return
    is_inverted = overview.metric(simplicity).better == "lower"
    figure = Plane(
        tuple(series),
        f"meaning: {meaning} →",
        f"simplicity: {simplicity} {'(lower is better)' if is_inverted else '→'}",
        line=sorted(points[system] for system in unbeaten),
        has_names=True,
        is_inverted=is_inverted,
        opens={},
    )
    caption = f"No system is better on both than {listed([short(system) for system in unbeaten])}."
    yield Panel("tradeoff", "tradeoff", f"{simplicity} against {meaning}", caption, figure)


def spread_plots(overview: Overview) -> Iterator[Panel]:
    """Plot how scores spread over the items."""
    for metric, spec in enumerate(overview.specs[:_MOST_METRICS]):
        of_systems = overview.spreads.get(spec)
        if of_systems is None:
            continue
        rows = []
        for system, (lowest, low, middle, high, highest) in of_systems.items():
            details = f"median {number(middle, page=True)}; half of the items {_from_to(low, high)}"
            details += f"; nine tenths {_from_to(lowest, highest)}"
            index, text = overview.systems.index(system), number(middle, 1 if abs(middle) >= 10 else 2, page=True)
            rows.append(Strip(label(system), middle, lowest, highest, (low, high), "other", details, index, label=text))
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
    """Plot scores by the length of the source."""
    if overview.lengths is None:
        return
    bins = overview.lengths.bins
    for metric, spec in enumerate(overview.specs[:_MOST_METRICS]):
        of_systems = overview.lengths.scores[spec]
        ranking = [system for system, values in of_systems.items() if any(map(math.isfinite, values))]
        if not ranking:
            continue
        focus = ranking[: _FOCUS - 1] + ranking[-1:] if len(ranking) > _FOCUS else ranking
        lines = []
        for system in ranking:
            index, values = overview.systems.index(system), of_systems[system]
            tips = tuple(f"{name} words: {number(value, page=True)}" for name, value in zip(bins, values, strict=True))
            points = [(float(x), y) for x, y in enumerate(values)]
            lines.append(Series(label(system), points, index if system in focus else None, tips))
        others = len(ranking) - len(focus)
        yield Panel(
            f"length-{slug(spec)}",
            "length",
            f"{spec} by source length",
            f"{listed([short(system) for system in focus])}{f', and {others} others in grey' if others else ''}; items "
            f"in {len(bins)} groups of about equal size.",
            Plane(tuple(lines), "words in the source", spec, group_axis(bins), opens={"metric": metric}),
        )


def habit_plots(overview: Overview) -> Iterator[Panel]:
    """Plot the habits of systems. A dashed line stands for people, a band for the range of references."""
    for habit in overview.habits:
        if not habit.values:
            continue
        people = "" if math.isnan(habit.people) else f"; people {habit.format(habit.people)}"
        rows = []
        for system, value in sorted(habit.values.items(), key=lambda pair: -pair[1]):
            index, text = overview.systems.index(system), habit.format(value)
            rows.append(Strip(label(system), value, details=f"{text}{people}", system=index, label=text))
        opens = {"filter": habit.key} if habit.key in ("split", "copied") else {}
        figure = Strips(
            tuple(rows), habit.unit, share=habit.is_share, line=habit.people, band=habit.people_range, opens=opens
        )
        values = habit.values.values()
        caption = f"From {habit.format(min(values))} to {habit.format(max(values))}."
        if not math.isnan(habit.people):
            caption += f" People: {habit.format(habit.people)} (dashed line)"
            if habit.people_range is not None:
                caption += ", from {} to {} by reference (band)".format(*map(habit.format, habit.people_range))
            caption += "."
        yield Panel(f"habit-{habit.key}", "habits", habit.title, caption, figure)


def operation_plots(overview: Overview) -> Iterator[Panel]:
    """Plot the share of outputs with each operation."""
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
    """Plot what tricks gain."""
    finite = [gain for gain in overview.tricks.gains if math.isfinite(gain.spreads)]
    for spec in dict.fromkeys(gain.metric for gain in finite):
        gains = [gain for gain in finite if gain.metric == spec]
        successes = [gain.attack for gain in gains if gain.fooled]
        most = number(max(gain.spreads for gain in gains), page=True)
        words = (
            f"Fooled by {listed(successes)}: it gains up to {most} of the way from worst to best. "
            "At 1 (dashed line) the worst system overtakes the best."
            if successes
            else "None of these tricks improves it by 5 % of the way from worst to best."
        )
        yield Panel(f"tricks-{slug(spec)}", "tricks", f"{spec} after a trick on every output", words, draw_gains(gains))


def draw_gains(effects: Iterable[Effect], signature: str = "") -> Strips:
    """Draw how far each attack moves a metric, in distances from the worst to the best system."""
    rows = []
    for effect in effects:
        outcome = f"{'' if effect.fooled else 'not '}fooled, gain {number(effect.spreads, page=True)}"
        details = "; ".join(filter(None, (ATTACKS[effect.attack].what, outcome, signature)))
        rows.append(Strip(effect.attack, effect.spreads, kind="fooled" if effect.fooled else "not", details=details))
    return Strips(tuple(rows), "gain (1: from worst to best)", zero=True, line=1.0)


def correlation_plots(overview: Overview) -> Iterator[Panel]:
    """Plot correlations of metrics with ratings."""
    finite = [row for row in overview.correlations if math.isfinite(row.estimate.value + row.estimate.low)]
    for dimension in dict.fromkeys(row.dimension for row in finite):
        rows = [row for row in finite if row.dimension == dimension]
        strips = []
        for row in rows:
            ends = (row.estimate.value, row.estimate.low, row.estimate.high)
            strips.append(Strip(row.metric, *ends, details=interval(*ends, page=True)))
        strongest = max(strips, key=lambda strip: strip.value)
        yield Panel(
            f"ratings-{slug(dimension)}",
            "ratings",
            f"Metrics and {dimension}",
            f"Strongest: {strongest.name}, {strongest.text}; {rows[0].estimate.n} outputs.",
            Strips(tuple(strips), f"{rows[0].statistic} correlation with {dimension}", share=True),
        )
