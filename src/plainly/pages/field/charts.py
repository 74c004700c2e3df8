"""The plots of the field's pages, each a question that a reader has; drawn once and kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plainly.files import write_whole
from plainly.pages.marks import across, chart, colours, down, line_at, shapes, slug
from plainly.pages.picture import Plot
from plainly.questions.field.plan import digest
from plainly.render import plots as style
from plainly.render.names import short
from plainly.render.numbers import counted, number
from plainly.render.plots import rows_height, themed
from plainly.result import Record

_COLOURS = {"best": style.BEST, "tied": style.BEST, "other": style.OTHER}
_SHAPES = {"best": "circle", "tied": "diamond", "other": "triangle-right"}
_NAMES = 20  # letters of a name down the side; a longer one loses its middle, so that its runs stay distinct
_MOST_MOVED = 24  # rows of a plot of published and sound numbers


def drawn(plot: Plot, folder: Path) -> str:
    """The plot as SVG for a page, from the folder where it was drawn before."""
    path = folder / f"{digest(plot.described, plot.title, plot.caption)}.svg"
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        svg = plot.inline()
        write_whole(path, svg)
        return svg


def standings_plot(name: str, spec: str, standings: Record) -> Plot | None:
    """How do the systems of a set score by one metric, and how sure is that?"""
    defined = [standing for standing in standings["systems"] if standing["value"] is not None]
    if not defined:
        return None
    values = [_scored(standing, standings["better"]) for standing in defined]
    side = {"higher": "higher is better", "lower": "lower is better", "neither": "no better side"}[standings["better"]]
    title = f"{spec}, {side}"
    base = chart(values).encode(y=down("system", [value["system"] for value in values], labelLimit=140))
    colour = colours("standing", _COLOURS)
    rule = base.mark_rule(strokeWidth=3, opacity=0.45).encode(
        x=across("low", title, zero=False), x2="high:Q", color=colour
    )
    point = base.mark_point(size=60, filled=True, opacity=1).encode(
        x=across("value", title, zero=False, nice=True), color=colour, shape=shapes("standing", _SHAPES)
    )
    tied = sum(standing["tied"] for standing in defined)
    caption = f"Best: {short(defined[0]['system'])}. " if standings["better"] != "neither" else ""
    if caption:
        caption += (
            f"{tied} of {len(defined) - 1} others cannot be told from it; {counted(standings['clusters'], 'cluster')}."
        )
    layers = themed(rule + point, height=rows_height(len(values)))
    return Plot(f"{slug(name)}-{slug(spec)}", "scores", spec, caption, layers)


def _scored(standing: Record, better: str) -> Record:
    value = standing["value"]
    low, high = standing.get("low"), standing.get("high")
    standing_name = (
        "other" if better == "neither" else "best" if standing["best"] else "tied" if standing["tied"] else ""
    )
    return {
        "system": f"{standing['rank']} {_cut(short(standing['system']))}",
        "value": value,
        "low": value if low is None else low,
        "high": value if high is None else high,
        "standing": standing_name or "other",
    }


def _cut(name: str) -> str:
    return name if len(name) <= _NAMES else f"{name[:8]}…{name[-11:]}"


def tricks_plot(spec: str, effects: Sequence[Record]) -> Plot | None:
    """What does each attack gain, in distances from the worst to the best system?"""
    values = [
        {
            "attack": effect["attack"],
            "spreads": max(-3.0, min(3.0, effect["spreads"])),
            "standing": "best" if effect["fooled"] else "other",
        }
        for effect in sorted(effects, key=lambda effect: -(effect["spreads"] or 0))
        if effect["spreads"] is not None and effect["expected"] == "worse"
    ]
    if not values:
        return None
    title = "gain, cut at 3"
    base = chart(values).encode(y=down("attack", [value["attack"] for value in values], labelLimit=140))
    points = base.mark_point(size=70, filled=True, opacity=1).encode(
        x=across("spreads", title),
        color=colours("standing", {"best": style.PEOPLE, "other": style.OTHER}),
        shape=shapes("standing", {"best": "triangle-up", "other": "circle"}),
    )
    fooled = sum(value["standing"] == "best" for value in values)
    caption = (
        f"{fooled} of {len(values)} attacks that harm an output improve its score (triangles). A gain of 1 is as far "
        "as from the worst system to the best."
    )
    layers = themed(line_at(0.0, title) + points, height=rows_height(len(values)))
    return Plot(f"tricks-{slug(spec)}", "tricks", f"{spec} under attack", caption, layers)


def people_plot(spec: str, rows: Sequence[Record]) -> Plot | None:
    """Does the metric go with what people say?"""
    defined = [row for row in rows if row["value"] is not None and row["level"] == "item"]
    if not defined:
        return None
    values = [
        {
            "what": f"{row['dimension'].replace('_', ' ')}, {row['ratings']}",
            "value": row["value"],
            "low": row["value"] if row["low"] is None else row["low"],
            "high": row["value"] if row["high"] is None else row["high"],
        }
        for row in defined
    ]
    title = "Pearson correlation"
    base = chart(values).encode(y=down("what", [value["what"] for value in values], labelLimit=140))
    rule = base.mark_rule(strokeWidth=3, opacity=0.45, color=style.BEST).encode(x=across("low", title), x2="high:Q")
    point = base.mark_point(size=70, filled=True, opacity=1, color=style.BEST).encode(x=across("value", title))
    best = max(values, key=lambda value: value["value"])
    caption = f"Strongest: {best['what']}, {number(best['value'], page=True)}."
    layers = themed(line_at(0.0, title) + rule + point, height=rows_height(len(values)))
    return Plot(f"people-{slug(spec)}", "people", f"{spec} and people", caption, layers)


def moved_plots(paper: str, cells: Sequence[Record]) -> list[Plot]:
    """What becomes of printed numbers: for each column of a table, published beside sound."""
    by_column: dict[tuple[str, str], list[Record]] = {}
    for cell in cells:
        if cell["sound"] is not None and cell["published"] is not None:
            by_column.setdefault((cell["table"], cell["column"]), []).append(cell)
    farthest = sorted(by_column, key=lambda key: -max(map(_moved, by_column[key])))
    return [_moved_plot(paper, key, by_column[key]) for key in farthest[:3] if max(map(_moved, by_column[key])) >= 1]


def _moved(cell: Record) -> float:
    """How far a number moves, in units of its last printed digit."""
    return float(abs(cell["sound"] - cell["published"]) * 10 ** cell["decimals"])


def _moved_plot(paper: str, key: tuple[str, str], cells: Sequence[Record]) -> Plot:
    table, column = key
    chosen = cells[:_MOST_MOVED]
    lines = [{"row": cell["row"], "from": cell["published"], "to": cell["sound"]} for cell in chosen]
    points: list[dict[str, Any]] = [
        {"row": cell["row"], "value": cell[origin], "kind": origin}
        for cell in chosen
        for origin in ("published", "sound")
    ]
    order = [cell["row"] for cell in sorted(chosen, key=lambda cell: -cell["sound"])]
    title = column
    rule = (
        chart(lines)
        .mark_rule(strokeWidth=2, color=style.OTHER)
        .encode(y=down("row", order, labelLimit=150), x=across("from", title, zero=False), x2="to:Q")
    )
    kinds = {"published": style.PEOPLE, "sound": style.BEST}
    point = (
        chart(points)
        .mark_point(size=70, filled=True, opacity=1)
        .encode(
            y=down("row", order),
            x=across("value", title, zero=False),
            color=colours("kind", kinds),
            shape=shapes("kind", {"published": "triangle-up", "sound": "circle"}),
        )
    )
    shift = sum(cell["sound"] - cell["published"] for cell in chosen) / len(chosen)
    average = number(shift, chosen[0]["decimals"], sign=True, page=True)
    caption = f"Triangles: published; circles: computed soundly. On average {average}."
    name = f"moved-{slug(paper)}-{slug(table)}-{slug(column)}"
    return Plot(
        name, "papers", f"{column}, table {table}", caption, themed(rule + point, height=rows_height(len(chosen)))
    )
