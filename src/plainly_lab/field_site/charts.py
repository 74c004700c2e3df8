"""The plots of the field's pages, each a question that a reader has."""

import math
from collections.abc import Iterator, Mapping, Sequence

from plainly.auditing.attacks import ATTACKS
from plainly.auditing.verdicts import Effect
from plainly.core.formatting import abridged, counted, interval, label, number, short
from plainly.reporting.figures import SIDES, Panel, Strip, Strips, slug
from plainly_lab.field_site.findings import Agreement, Standing, Standings
from plainly_lab.reproductions.cells import Cell

_FEWEST_MOVED, _MOST_MOVED = 3, 24  # rows of a plot of published and sound numbers
_MOST_SYSTEMS = 30  # rows of a plot of scores; the table below has all


def verdict(spec: str, standings: Standings) -> str:
    """Who is best by a metric on a set, and is it real?"""
    best, *others = standings.systems
    if standings.better == "neither":
        return f"{spec} has no better side."
    scored = interval(best.value, best.low, best.high, page=True)
    text = f"By {spec}, {short(best.system)} scores best: {scored}."
    tied = sum(standing.tied for standing in others)
    if not others or not standings.test:
        return text
    return text + (f" {tied} of {len(others)} others cannot be told from it." if tied else " It beats all others.")


def called(spec: str, standings: Standings) -> str:
    """A metric with what of it is compared, where that has another name."""
    return spec if standings.output == spec.partition("(")[0] else f"{spec}: {standings.output}"


def standings_plot(
    name: str, spec: str, standings: Standings, links: Mapping[str, str], *, most: int = _MOST_SYSTEMS, title: str = ""
) -> Panel | None:
    """How do the systems of a set score by one metric, and how sure is that? Of many, the best."""
    defined = [standing for standing in standings.systems if not math.isnan(standing.value)]
    if not defined:
        return None
    rows = tuple(_scored(spec, standing, standings, links[standing.system]) for standing in defined[:most])
    caption = verdict(spec, standings) + f" Shown: the first {most} of {len(defined)}." * (len(defined) > most)
    if title:
        caption = f"On {title}, {caption[0].lower()}{caption[1:]}"
    clusters = [standing.cluster for standing in defined]
    ends = frozenset(at for at in range(1, len(rows)) if clusters[at - 1] != clusters[at])
    figure = Strips(rows, f"{called(spec, standings)}, {SIDES[standings.better]}", ends=ends)
    return Panel(f"{slug(name)}-{slug(spec)}", "scores", title or spec, caption, figure)


def _scored(spec: str, standing: Standing, standings: Standings, link: str) -> Strip:
    value, low, high = standing.value, standing.low, standing.high
    kind = standing_of(standing, standings.better)
    name = abridged(standing.system)
    said = [
        label(standing.system) if name != label(standing.system) else "",
        f"{spec} {interval(value, low, high, page=True)}",
        {"best": "best", "tied": "cannot be told from the best"}.get(kind, ""),
        f"cluster {standing.cluster} of {standings.clusters}" if standings.clusters > 1 else "",
        standing.signature,
    ]
    shown = number(value, page=True)
    told = "; ".join(filter(None, said))
    return Strip(name, value, low, high, kind=kind or "other", shown=shown, said=told, link=link)


def standing_of(standing: Standing, better: str) -> str:
    """``best``, ``tied`` with the best, or nothing; where no side is better, nobody is."""
    if better == "neither":
        return ""
    return "best" if standing.best else "tied" if standing.tied else ""


def tricks_plot(spec: str, effects: Sequence[Effect], signature: str) -> Panel | None:
    """What does each attack gain, in distances from the worst to the best system?"""
    harmful = [effect for effect in effects if not math.isnan(effect.spreads) and effect.expected == "worse"]
    if not harmful:
        return None
    rows = tuple(
        Strip(
            effect.attack,
            effect.spreads,
            kind="fooled" if effect.fooled else "not",
            shown=number(effect.spreads, page=True),
            said=f"{ATTACKS[effect.attack].what}; {'' if effect.fooled else 'not '}fooled; {signature}",
        )
        for effect in sorted(harmful, key=lambda effect: -effect.spreads)
    )
    fooled = sum(effect.fooled for effect in harmful)
    caption = (
        f"{fooled} of {counted(len(harmful), 'attack')} that harm an output improve its score (triangles). A gain of 1 "
        "(dashed line) is as far as from the worst system to the best."
    )
    figure = Strips(rows, "gain (1: from worst to best)", zero=True, line=1.0)
    return Panel(f"tricks-{slug(spec)}", "tricks", f"{spec} under attack", caption, figure)


def people_plot(spec: str, rows: Sequence[Agreement]) -> Panel | None:
    """Does the metric go with what people say?"""
    strips = []
    for row in rows:
        estimate = row.correlation.estimate
        if math.isnan(estimate.value) or row.correlation.unit != "item":
            continue
        scored = interval(estimate.value, estimate.low, estimate.high, page=True)
        said = f"{scored}; {counted(estimate.n, 'output')}; {row.signature}"
        what = f"{row.correlation.dimension.replace('_', ' ')}, {row.ratings}"
        shown = number(estimate.value, page=True)
        strips.append(Strip(what, estimate.value, estimate.low, estimate.high, shown=shown, said=said))
    if not strips:
        return None
    best = max(strips, key=lambda strip: strip.value)
    caption = f"Strongest: {best.name}, {best.shown}."
    figure = Strips(tuple(strips), "Pearson correlation over outputs", share=True)
    return Panel(f"people-{slug(spec)}", "people", f"{spec} and people", caption, figure)


def moved_plots(paper: str, cells: Sequence[Cell]) -> Iterator[Panel]:
    """What becomes of printed numbers: for each column of a table, published beside sound; the farthest moved."""
    by_column: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell.sound is not None and cell.published is not None:
            by_column.setdefault((cell.table, cell.column), []).append(cell)
    farthest = sorted(by_column, key=lambda key: -max(map(_moved, by_column[key])))
    for table, column in farthest[:3]:
        chosen = by_column[table, column][:_MOST_MOVED]
        if max(map(_moved, chosen)) < 1 or len(chosen) < _FEWEST_MOVED:
            continue
        decimals = chosen[0].decimals
        shift = sum(cell.value("sound") - cell.value("published") for cell in chosen) / len(chosen)
        caption = (
            "Triangles: published; circles: computed soundly. On average "
            f"{number(shift, decimals, sign=True, page=True)}."
        )
        rows = tuple(_moved_row(cell) for cell in sorted(chosen, key=lambda cell: -cell.value("sound")))
        name = f"moved-{slug(paper)}-{slug(table)}-{slug(column)}"
        yield Panel(name, "papers", f"{column}, table {table}", caption, Strips(rows, column))


def _moved(cell: Cell) -> float:
    """How far a number moves, in units of its last printed digit."""
    return float(abs(cell.value("sound") - cell.value("published")) * 10**cell.decimals)


def _moved_row(cell: Cell) -> Strip:
    was, now = cell.value("published"), cell.value("sound")
    published, sound = (number(value, cell.decimals, page=True) for value in (was, now))
    said = f"published {published}, soundly {sound}; {cell.recipe}"
    return Strip(cell.row, now, min(was, now), max(was, now), shown=sound, said=said, was=was)
