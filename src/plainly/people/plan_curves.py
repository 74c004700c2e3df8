"""The curves of a plan: agreement with the pilot and power, by sentences and raters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plainly.core import plots
from plainly.people.planning import Point

if TYPE_CHECKING:
    from plainly.people.planning import StudyPlan

_WIDTH, _HEIGHT = 260, 220


def curves(plan: StudyPlan) -> Any:
    """Three panels: agreement by sentences, ways to spend the budget, and power by sentences and raters."""
    alt = plots.altair()
    share = alt.Scale(domain=[0, 1])
    details = ["sentences:Q", "raters:N", "value:Q"]

    def panel(values: list[dict[str, Any]], title: str) -> Any:
        return alt.Chart(alt.Data(values=values), title=title, width=_WIDTH, height=_HEIGHT)

    def lines(values: list[dict[str, Any]], title: str, y: str) -> Any:
        return (
            panel(values, title)
            .mark_line(point=True)
            .encode(
                x=alt.X("sentences:Q", title="sentences a system"),
                y=alt.Y("value:Q", title=y, scale=share),
                color=alt.Color("raters:N", title="raters", sort=[str(count) for count in plan.needed]),
                tooltip=details,
            )
        )

    spent = panel(_agreement(plan.points["budget"]), f"{plan.budget} ratings a system").mark_bar()
    spent = spent.encode(
        x=alt.X("raters:O", title="raters a sentence", sort=None),
        y=alt.Y("value:Q", title="tau with the pilot", scale=share),
        tooltip=details,
    )
    power = [
        {"sentences": point["sentences"], "raters": str(point["raters"]), "value": point["power"]}
        for point in plan.curves
    ]
    return alt.hconcat(
        lines(_agreement(plan.points["sentences"]), "Test-set size", "tau with the pilot"),
        spent,
        lines(power, f"A true difference of {plan.difference:g}", f"power at p < {plan.pilot.alpha:g}"),
    ).configure_view(stroke=None)


def _agreement(points: list[Point]) -> list[dict[str, Any]]:
    return [{"sentences": point.sentences, "raters": str(point.raters), "value": point.tau} for point in points]
