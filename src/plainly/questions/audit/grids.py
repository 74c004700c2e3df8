"""The tables of an audit, shaped like those of Tanprasert & Kauchak (2021): attacks down, levels or parts across."""

from __future__ import annotations

import math
from collections.abc import Sequence

from plainly.questions.audit.sweep import Curve, Sweep
from plainly.questions.audit.verdict import Effect, Verdict
from plainly.result import Table

_TEXT = frozenset({0, 1})


def number(value: float, decimals: int = 2) -> str:
    return "undefined" if math.isnan(value) else f"{value:.{decimals}f}"


def signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}"  # adding 0 turns −0 into 0


def percent(share: float) -> str:
    """A share as a whole percentage; what is more than nothing is not shown as nothing."""
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def levels(sweep: Sweep, system: str, *, intervals: bool = False) -> Table:
    """Every metric at every level (Tables 4–8): one row for each metric and attack."""
    shown = (0.0, *sweep.plan.levels)
    rows = [
        (spec, attack.name, *_cells(sweep.curve(system, attack.name, spec), intervals))
        for spec in sweep.plan.metrics
        for attack in sweep.plan.attacks
    ]
    header = ("metric", "attack", *(f"{level:.0%}" for level in shown))
    return Table(header, tuple(rows), caption=f"{system}: scores by share of outputs attacked", text_columns=_TEXT)


def overview(sweep: Sweep, *, at: Sequence[float] = (0.1, 0.5, 1.0)) -> Table:
    """A few levels of all systems side by side (Table 1)."""
    kept = [0, *(1 + place for place, level in enumerate(sweep.plan.levels) if level in at)]
    names = (0.0, *sweep.plan.levels)
    header = ("metric", "attack", *(f"{system} {names[place]:.0%}" for system in sweep.systems for place in kept))
    rows = [
        (
            spec,
            attack.name,
            *(number(sweep.headline(system, attack.name, spec)[place]) for system in sweep.systems for place in kept),
        )
        for spec in sweep.plan.metrics
        for attack in sweep.plan.attacks
    ]
    return Table(header, tuple(rows), caption="Scores by system and share of outputs attacked", text_columns=_TEXT)


def parts(sweep: Sweep, system: str) -> Table:
    """Everything a metric is made of, before and with every output attacked (Tables 2, 9 and 10)."""
    attacks = [attack.name for attack in sweep.plan.attacks]
    rows = []
    for spec, metric in sweep.plan.metrics.items():
        curves = [sweep.curve(system, attack, spec).mean for attack in attacks]
        rows += [
            (spec, part, number(curves[0][0, place]), *(number(curve[-1, place]) for curve in curves))
            for place, part in enumerate(metric.outputs)
        ]
    top = f"{sweep.plan.levels[-1]:.0%}"
    caption = f"{system}: the parts of each metric, unharmed and with {top} of the outputs attacked"
    return Table(("metric", "part", "unharmed", *attacks), tuple(rows), caption=caption, text_columns=_TEXT)


def gameability(sweep: Sweep, verdicts: Sequence[Verdict]) -> Table:
    """How far each attack moves each metric, in spreads; marked where that is the wrong direction."""
    rows = []
    for place, attack in enumerate(sweep.plan.attacks):
        effects = [verdict.effects[place] for verdict in verdicts]
        rows.append(
            (attack.name, attack.expected, f"{effects[0].touched:.0%}", *(_moved(effect) for effect in effects))
        )
    several = any(not math.isnan(verdict.spread) for verdict in verdicts)
    if several:
        rows.append(("gameability", "", "", *(number(verdict.gameability) for verdict in verdicts)))
    units = "in units of the spread between the systems" if several else "in its own units (one system has no spread)"
    return Table(
        ("attack", "should be", "applies to", *(verdict.metric for verdict in verdicts)),
        tuple(rows),
        caption=f"How far each attack moves each metric, {units}",
        notes=(
            "Positive: the metric says better. * marks the wrong direction, at the level where it is most wrong"
            f"{'; gameability is the largest of these' if several else ''}.",
        ),
        text_columns=_TEXT,
    )


def flips(verdicts: Sequence[Verdict], *, most: int = 12) -> Table:
    """How much of which attack changes who wins: first who could win by it, then how the winner loses."""
    rows = []
    for verdict in verdicts:
        turned = [flip for flip in verdict.flips if flip.share <= 1]
        for flip in sorted(turned, key=lambda flip: (not flip.wins, flip.share))[:most]:
            place, after = f"{flip.system} ({flip.rank})", "wins, past" if flip.wins else "loses to"
            rows.append((verdict.metric, flip.attack, place, after, flip.rival, percent(flip.share)))
    return Table(
        ("metric", "attack", "system (place)", "", "rival", "share of outputs"),
        tuple(rows),
        caption="What changes the winner",
        text_columns=frozenset({0, 1, 2, 3, 4}),
    )


def _cells(curve: Curve, intervals: bool) -> list[str]:
    if not intervals:
        return [number(value) for value in curve.mean[:, 0]]
    return [
        f"{number(mean)} [{number(low)}, {number(high)}]" if place else number(mean)
        for place, (mean, low, high) in enumerate(zip(curve.mean[:, 0], curve.low[:, 0], curve.high[:, 0], strict=True))
    ]


def _moved(effect: Effect) -> str:
    value = effect.spreads if not math.isnan(effect.spreads) else effect.gain
    return f"{signed(value)}{'*' if effect.fooled else ''}" if not math.isnan(value) else "undefined"
