"""The curves of a plan: agreement with the pilot and power, by sentences and raters."""

from __future__ import annotations

from typing import Any

from plainly.questions.meta.plot import altair_module
from plainly.questions.plan.study import Plan


def plan_plot(found: Plan) -> Any:
    """Three panels: agreement by sentences, ways to spend the budget, and power by sentences and raters."""
    alt = altair_module()

    def panel(values: list[dict[str, Any]], title: str, y: str) -> Any:
        return (
            alt.Chart(alt.Data(values=values), title=title, width=260, height=220)
            .mark_line(point=True)
            .encode(
                x=alt.X("sentences:Q", title="sentences a system"),
                y=alt.Y("value:Q", title=y, scale=alt.Scale(domain=[0, 1])),
                color=alt.Color("raters:N", title="raters", sort=[str(count) for count in found.curves]),
                tooltip=["sentences:Q", "raters:N", "value:Q"],
            )
        )

    def agreement(points: list[Any]) -> list[dict[str, Any]]:
        return [{"sentences": point.sentences, "raters": str(point.raters), "value": point.tau} for point in points]

    power = [
        {"sentences": size, "raters": str(count), "value": value}
        for count, curve in found.curves.items()
        for size, value in curve
    ]
    spent = alt.Chart(
        alt.Data(values=agreement(found.by_budget)),
        title=f"{found.ratings} ratings a system",
        width=260,
        height=220,
    ).mark_bar()
    spent = spent.encode(
        x=alt.X("raters:O", title="raters a sentence", sort=None),
        y=alt.Y("value:Q", title="tau with the pilot", scale=alt.Scale(domain=[0, 1])),
        tooltip=["sentences:Q", "raters:N", "value:Q"],
    )
    return alt.hconcat(
        panel(agreement(found.by_sentences), "Test-set size", "tau with the pilot"),
        spent,
        panel(power, f"A true difference of {found.difference:g}", f"power at p < {found.alpha:g}"),
    ).configure_view(stroke=None)
