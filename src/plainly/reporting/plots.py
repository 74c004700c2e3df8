"""The plots of a report, in the order of the page. Each can be made without the others."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from plainly.auditing.attacks import ATTACKS
from plainly.auditing.verdicts import UNNOTICED, Effect
from plainly.core.formatting import interval, label, listed, number, short
from plainly.core.registry import display_name
from plainly.reporting.figures import SIDES, Heat, Opens, Panel, Plane, Series, Strip, Strips, group_axis, slug
from plainly.reporting.overview import Axis, Overview, axes, front, verdict
from plainly.stats import paired

# The lines of this many systems have a colour and a shape; the others are grey.
_FOCUS = 4
# The most metrics that have plots; the table has all.
_MOST_METRICS = 6
_MOST_OPERATIONS = 14
_WORDS = {
    "best": "best",
    "tied": "cannot be told from the best",
    "copied": "copies references, so its score is not comparable",
}


def plots(overview: Overview) -> Iterator[Panel]:
    """Draw every plot that the overview allows."""
    about_scores = (score_plots, tradeoff_plots, spread_plots, length_plots)
    for make in (*about_scores, habit_plots, operation_plots, trick_plots, correlation_plots):
        yield from make(overview)


def score_plots(overview: Overview) -> Iterator[Panel]:
    """Plot the scores of systems with their intervals."""
    for metric, spec in enumerate(overview.specs[:_MOST_METRICS]):
        ranking = [system for system in overview.order(spec) if not math.isnan(overview.value(system, spec))]
        if not ranking:
            continue
        figure = Strips(
            tuple(_score_row(overview, spec, system) for system in ranking),
            f"{display_name(spec)}, {SIDES[overview.metric(spec).better]}",
            ends=_cluster_ends(overview, spec, ranking),
            opens={"metric": metric, "order": _worst_first(overview, spec)},
        )
        yield Panel(f"scores-{slug(spec)}", "scores", display_name(spec), verdict(overview, spec), figure)


def _worst_first(overview: Overview, spec: str) -> str:
    return "low" if overview.metric(spec).better != "lower" else "high"


def _score_row(overview: Overview, spec: str, system: str) -> Strip:
    value, (low, high) = overview.value(system, spec), overview.bounds(system, spec)
    kind = overview.standing(spec, system) or ("other" if len(overview.systems) > 1 else "plain")
    details = [f"{display_name(spec)} {interval(value, low, high, page=True)}", _WORDS.get(kind, "")]
    if overview.comparisons is not None and overview.metric(spec).better != "neither" and kind != "copied":
        others = overview.ranking(spec)
        beaten = [short(other) for other in others if overview.comparisons.beats(spec, system, other)]
        details.append(f"beats {listed(beaten, most=5) or 'no other system'}")
    rest = (other for other in overview.specs if other != spec)
    details += [f"{display_name(other)} {number(overview.value(system, other), page=True)}" for other in rest]
    text = "; ".join(filter(None, details))
    return Strip(label(system), value, low, high, kind=kind, details=text, system=overview.systems.index(system))


def _cluster_ends(overview: Overview, spec: str, ranking: Sequence[str]) -> frozenset[int]:
    """Return the ranks at which a cluster ends: every system above beats every system below."""
    comparisons = overview.comparisons
    if comparisons is None or overview.metric(spec).better == "neither":
        return frozenset()
    comparable = [system for system in overview.ranking(spec) if system in ranking]
    clusters = paired.clusters(comparable, lambda above, below: comparisons.beats(spec, above, below))
    return frozenset(accumulate(map(len, clusters))) - {0, len(comparable)}


def tradeoff_plots(overview: Overview) -> Iterator[Panel]:
    """Plot simplicity against meaning, with the systems that no other beats on both."""
    pair = axes(overview)
    if pair is None:
        return
    simplicity, meaning = pair.simplicity, pair.meaning
    unbeaten = sorted(front(overview, pair))
    points: dict[str, tuple[float, float]] = {}
    series = []
    for index, system in enumerate(overview.systems):
        x, y = meaning.value(overview.evaluation, system), simplicity.value(overview.evaluation, system)
        if not math.isnan(x + y):
            points[system] = (x, y)
            is_copied = any(system in overview.incomparable(axis.spec) for axis in (simplicity, meaning))
            shape, place = ("circle", "no system is better on both") if system in unbeaten else (
                ("cross", _WORDS["copied"]) if is_copied else ("ring", "some system is better on both")
            )  # fmt: skip
            tip = f"{simplicity.name} {number(y, page=True)}; {meaning.name} {number(x, page=True)}; {place}"
            series.append(Series(label(system), [(x, y)], index, (tip,), shape))
    if len(series) < 2:
        return
    figure = Plane(
        tuple(series),
        _name_axis("meaning", meaning),
        _name_axis("simplicity", simplicity),
        line=sorted(points[system] for system in unbeaten),
        has_names=True,
        is_inverted=simplicity.is_inverted,
        opens={},
    )
    names = listed([short(system) for system in unbeaten])
    caption = f"No system is both simpler and closer in meaning than {names}{' (dashed line)' * (len(unbeaten) > 1)}."
    yield Panel("tradeoff", "tradeoff", "Simplicity and meaning", caption, figure)


def _name_axis(part: str, axis: Axis) -> str:
    """Return the title of an axis: ``meaning: BLEU →``, or the part alone if the metric measures just that."""
    name = part if axis.name == part else f"{part}: {axis.name}"
    return f"{name} (lower is better)" if axis.is_inverted else f"{name} →"


def spread_plots(overview: Overview) -> Iterator[Panel]:
    """Plot how scores spread over the items."""
    for metric, spec in enumerate(overview.specs[:_MOST_METRICS]):
        of_systems = overview.spreads.get(spec)
        if of_systems is None:
            continue
        rows = []
        for system, (first, low, middle, high, last) in of_systems.items():
            details = f"median {number(middle, page=True)}; half of the items {_from_to(low, high)}"
            details += f"; nine tenths {_from_to(first, last)}"
            index, text = overview.systems.index(system), number(middle, 1 if abs(middle) >= 10 else 2, page=True)
            rows.append(Strip(label(system), middle, first, last, (low, high), "other", details, index, label=text))
        lowest, highest = (number(end(row.value for row in rows), page=True) for end in (min, max))
        opens: Opens = {"metric": metric, "order": _worst_first(overview, spec)}
        yield Panel(
            f"spread-{slug(spec)}",
            "spread",
            f"{display_name(spec)} of single items",
            f"Medians from {lowest} to {highest}." if lowest != highest else f"Median {highest}.",
            Strips(tuple(rows), display_name(spec), opens=opens),
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
            f"{display_name(spec)} by length of the source",
            f"{listed([short(system) for system in focus])}{f', and {others} others in grey' if others else ''}; items "
            f"in {len(bins)} groups of about equal size.",
            Plane(tuple(lines), "words in the source", display_name(spec), group_axis(bins), opens={"metric": metric}),
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
        low, high = (habit.format(end(values)) for end in (min, max))
        caption = f"From {low} to {high}." if low != high else f"{high}{' each' * (len(values) > 1)}."
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
    columns = [label(system) for system in operations.groups]
    rows = [(operations.labels[name], name, list(operations.shares[name].values())) for name in labels]
    if operations.people:
        columns.insert(0, "people" if "people" not in operations.groups else "people (references)")
        rows = [(title, name, [operations.people[name], *shares]) for title, name, shares in rows]
    yield Panel(
        "operations",
        "operations",
        "Outputs with each operation, in %",
        f"Most often: {operations.labels[most].lower()}, in up to {number(often[most], 0)} % of the outputs. "
        f"Found by the {operations.labeller} labeller, which errs"
        f"{'; people means the references, labelled the same way' if operations.people else ''}.",
        Heat(columns, rows),
    )


def trick_plots(overview: Overview) -> Iterator[Panel]:
    """Plot what tricks gain."""
    finite = [gain for gain in overview.tricks.gains if math.isfinite(gain.spreads)]
    for spec in dict.fromkeys(gain.metric for gain in finite):
        gains = [gain for gain in finite if gain.metric == spec]
        count = sum(gain.fooled for gain in gains)
        most = max(gain.spreads for gain in gains)
        if count:
            way = number(most, page=True)
            words = f"Fooled by {count} of {len(gains)}: up to {way} of the way from the worst system to the best."
        elif most < UNNOTICED:
            words = "None of these tricks improves it by 5 % of the way from the worst system to the best."
        else:
            words = "None of these tricks is shown to improve it: what they gain may be chance (p > .01)."
        title = f"What a trick gains in {display_name(spec)}"
        yield Panel(f"tricks-{slug(spec)}", "tricks", title, words, draw_gains(gains))


def draw_gains(effects: Iterable[Effect], signature: str = "") -> Strips:
    """Draw how far each attack moves a metric, in distances from the worst to the best system."""
    rows = []
    for effect in effects:
        details = "; ".join(filter(None, ("fooled" if effect.fooled else "not fooled", signature)))
        kind, name = "fooled" if effect.fooled else "not", ATTACKS[effect.attack].what
        rows.append(Strip(name[:1].upper() + name[1:], effect.spreads, kind=kind, details=details, code=effect.attack))
    return Strips(tuple(rows), "gain; at 1 the worst system overtakes the best", zero=True, line=1.0)


def correlation_plots(overview: Overview) -> Iterator[Panel]:
    """Plot correlations of metrics with ratings."""
    finite = [row for row in overview.correlations if math.isfinite(row.estimate.value + row.estimate.low)]
    for dimension in dict.fromkeys(row.dimension for row in finite):
        rows = [row for row in finite if row.dimension == dimension]
        strips = []
        for row in rows:
            ends = (row.estimate.value, row.estimate.low, row.estimate.high)
            strips.append(Strip(display_name(row.metric), *ends, details=interval(*ends, page=True)))
        strongest = max(strips, key=lambda strip: strip.value)
        yield Panel(
            f"ratings-{slug(dimension)}",
            "ratings",
            f"Agreement with people on {dimension}",
            f"Strongest: {strongest.name}, {strongest.text}; {rows[0].estimate.n} outputs.",
            Strips(tuple(strips), f"{rows[0].statistic} correlation with {dimension}", share=True),
        )
