"""What systems do beside what people do, what cheap tricks would gain, and how metrics go with people's ratings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from plainly.pages.material import Material
from plainly.pages.render import Plot, altair_module
from plainly.pages.words import listed, number, short
from plainly.render import plots as style
from plainly.render.plots import rows_height, themed

MOST_OPERATIONS = 14


def habit_plots(material: Material) -> Iterator[Plot]:
    """What do systems do, beside people?"""
    alt = altair_module()
    for habit in material.habits:
        defined = {system: value for system, value in habit.systems.items() if not math.isnan(value)}
        if not defined:
            continue
        order = sorted(defined, key=lambda system: -defined[system])
        title = "% of outputs" if habit.unit == "%" and habit.key in ("split", "copied") else ""
        title = title or (
            "% of words" if habit.unit == "%" else "output / source" if habit.key == "compression" else "words"
        )
        values = [{"system": short(system), "value": defined[system]} for system in order]
        scale = alt.Scale(zero=habit.unit == "%")
        y = alt.Y("system:N", sort=[short(system) for system in order], title=None)
        points = (
            alt.Chart(alt.Data(values=values))
            .mark_point(size=70, filled=True, opacity=1, color=style.BEST)
            .encode(y=y, x=alt.X("value:Q", title=title, scale=scale))
        )
        layers = points
        words = f"From {_shown(min(defined.values()), habit.unit)} to {_shown(max(defined.values()), habit.unit)}. "
        if habit.people is not None and not math.isnan(habit.people):
            words += f"People: {_shown(habit.people, habit.unit)} (dashed line)"
            rule = (
                alt.Chart(alt.Data(values=[{"people": habit.people}]))
                .mark_rule(strokeDash=[5, 3], strokeWidth=2, color=style.PEOPLE)
                .encode(x=alt.X("people:Q", title=title, scale=scale))
            )
            layers = rule + points
            if habit.people_range is not None:
                low, high = habit.people_range
                words += f", from {_shown(low, habit.unit)} to {_shown(high, habit.unit)} by reference (band)"
                band = (
                    alt.Chart(alt.Data(values=[{"low": low, "high": high}]))
                    .mark_rect(color=style.PEOPLE, opacity=0.14)
                    .encode(x=alt.X("low:Q", title=title, scale=scale), x2="high:Q")
                )
                layers = band + rule + points
            words += "."
        yield Plot(f"habit-{habit.key}", "habits", habit.title, words, themed(layers, height=rows_height(len(values))))


def operation_plots(material: Material) -> Iterator[Plot]:
    """Which operations, how often?"""
    found = material.operations
    if found is None or not found.labels:
        return
    alt = altair_module()
    people = "people" if "people" not in found.groups else "people (references)"
    columns = [*(short(system) for system in material.systems), *([people] if found.people else [])]

    def weight(name: str) -> float:
        return max([*found.shares[name].values(), found.people.get(name, 0.0)])

    labels = sorted(found.labels, key=weight, reverse=True)[:MOST_OPERATIONS]
    values = [
        {"operation": name, "who": short(system), "share": share}
        for name in labels
        for system, share in found.shares[name].items()
    ] + [{"operation": name, "who": people, "share": found.people[name]} for name in labels if found.people]
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("operation:N", sort=labels, title=None),
        x=alt.X("who:N", sort=columns, title=None, axis=alt.Axis(orient="top", labelAngle=-50, labelLimit=90)),
    )
    cells = base.mark_rect(color=style.BEST).encode(
        opacity=alt.Opacity("share:Q", legend=None, scale=alt.Scale(domain=[0, 100], range=[0.03, 0.55]))
    )
    size = 10 if len(columns) > 8 else 11
    shown = base.mark_text(color=style.INK, fontSize=size).encode(text=alt.Text("share:Q", format=".0f"))
    most = labels[0]
    yield Plot(
        "operations",
        "operations",
        "Share of outputs with an operation, in %",
        f"Most often: {most} ({found.labels[most].lower()}), in up to {weight(most):.0f} % of the outputs. Found by "
        f"the {found.labeller} labeller, which errs; people means the references, labelled the same way.",
        themed(cells + shown, height=20 * len(labels) + 110),
    )


def gain_plots(material: Material) -> Iterator[Plot]:
    """Could somebody win by a trick?"""
    alt = altair_module()
    for spec in dict.fromkeys(gain.metric for gain in material.gains):
        gains = [gain for gain in material.gains if gain.metric == spec and math.isfinite(gain.spreads)]
        if not gains:
            continue
        values = [
            {"trick": gain.trick, "value": gain.spreads, "zero": 0, "fooled": "fooled" if gain.fooled else "not"}
            for gain in gains
        ]
        title = "gain (1: from worst to best)"
        y = alt.Y(
            "trick:N",
            sort=[gain.trick for gain in gains],
            title=None,
            axis=alt.Axis(labelLimit=150, labelExpr="split(datum.label, '+')"),
        )
        base = alt.Chart(alt.Data(values=values)).encode(
            y=y,
            color=alt.Color(
                "fooled:N",
                legend=None,
                scale=alt.Scale(domain=["fooled", "not"], range=[style.PEOPLE, style.OTHER]),
            ),
        )
        zero = alt.Chart(alt.Data(values=[{"x": 0}])).mark_rule(color=style.MUTED).encode(x=alt.X("x:Q", title=title))
        one = (
            alt.Chart(alt.Data(values=[{"x": 1}]))
            .mark_rule(color=style.PEOPLE, strokeDash=[5, 3])
            .encode(x=alt.X("x:Q", title=title))
        )
        bars = base.mark_rule(strokeWidth=4, opacity=0.6).encode(x=alt.X("value:Q", title=title), x2="zero:Q")
        tips = base.mark_point(size=80, filled=True, opacity=1).encode(
            x=alt.X("value:Q", title=title),
            shape=alt.Shape(
                "fooled:N",
                legend=None,
                scale=alt.Scale(domain=["fooled", "not"], range=["triangle-right", "circle"]),
            ),
        )
        fooled = [gain for gain in gains if gain.fooled]
        worst = max(gains, key=lambda gain: gain.spreads)
        words = (
            f"Fooled by {listed([gain.trick for gain in fooled])}: it gains up to {number(worst.spreads)} of the way "
            "from worst to best. At 1 (dashed line) the worst system overtakes the best."
            if fooled
            else "None of these tricks improves it."
        )
        yield Plot(
            f"tricks-{''.join(c if c.isalnum() else '-' for c in spec).strip('-')}",
            "tricks",
            f"{spec} after a trick on every output",
            words,
            themed(zero + one + bars + tips, height=rows_height(len(values)) + 24),
        )


def agreement_plots(material: Material) -> Iterator[Plot]:
    """Do the metrics go with what people say?"""
    alt = altair_module()
    for dimension in dict.fromkeys(each.dimension for each in material.agreements):
        of_dimension = [each for each in material.agreements if each.dimension == dimension]
        values: list[dict[str, Any]] = [
            {
                "metric": each.metric,
                "value": each.estimate.value,
                "low": each.estimate.low,
                "high": each.estimate.high,
            }
            for each in of_dimension
            if math.isfinite(each.estimate.value) and math.isfinite(each.estimate.low)
        ]
        if not values:
            continue
        title = f"{of_dimension[0].coefficient} correlation with {dimension}"
        base = alt.Chart(alt.Data(values=values)).encode(
            y=alt.Y("metric:N", sort=[value["metric"] for value in values], title=None)
        )
        zero = alt.Chart(alt.Data(values=[{"x": 0}])).mark_rule(color=style.MUTED).encode(x=alt.X("x:Q", title=title))
        layers = (
            zero
            + base.mark_rule(strokeWidth=3, opacity=0.45, color=style.BEST).encode(
                x=alt.X("low:Q", title=title), x2="high:Q"
            )
            + base.mark_point(size=70, filled=True, opacity=1, color=style.BEST).encode(x=alt.X("value:Q", title=title))
        )
        strongest = max(values, key=lambda value: abs(value["value"]))
        yield Plot(
            f"ratings-{''.join(c if c.isalnum() else '-' for c in dimension).strip('-')}",
            "ratings",
            f"Metrics and {dimension}",
            f"Strongest: {strongest['metric']}, {number(strongest['value'])}; {of_dimension[0].estimate.n} outputs.",
            themed(layers, height=rows_height(len(values))),
        )


def _shown(value: float, unit: str) -> str:
    return f"{value:.0f} %" if unit == "%" else number(value)
