"""The tables of an audit, shaped like those of Tanprasert & Kauchak (2021): attacks down, levels or parts across."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from plainly.auditing.sweep import Curve, Sweep
from plainly.auditing.verdicts import Effect, Verdict
from plainly.core.errors import UnknownName
from plainly.core.formatting import interval, number, percent, share, signed
from plainly.core.result import Table
from plainly.scoring.evaluate import evaluate

DEFAULT_TABLES = ("gameability", "flips")
_TEXT = frozenset({0, 1})
_OVERVIEW_LEVELS = (0.1, 0.5, 1.0)
_MOST_FLIPS = 12  # of one metric
# Metric → which of its outputs, times what, under which title.
_FORM = {
    "length": (("words_per_sentence", 1, "words per sentence"), ("syllables_per_word", 1, "syllables per word")),
    "splits": (("full_stops", 100, "% split (full stops)"),),
}


def levels(sweep: Sweep, system: str, *, intervals: bool = False) -> Table:
    """Every metric at every level (Tables 4–8): one row for each metric and attack."""
    rows = [
        (spec, attack.name, *_cells(sweep.curves[system, attack.name, spec], intervals))
        for spec in sweep.design.metrics
        for attack in sweep.design.attacks
    ]
    header = ("metric", "attack", *map(percent, (0.0, *sweep.design.levels)))
    return Table(header, tuple(rows), caption=f"{system}: scores by share of outputs attacked", text_columns=_TEXT)


def overview(sweep: Sweep) -> Table:
    """A few levels of all systems side by side (Table 1)."""
    shown = (0.0, *sweep.design.levels)
    columns = [
        (system, place)
        for system in sweep.systems
        for place, level in enumerate(shown)
        if place == 0 or level in _OVERVIEW_LEVELS
    ]
    header = ("metric", "attack", *(f"{system} {percent(shown[place])}" for system, place in columns))
    rows = [
        (spec, attack.name, *(number(sweep.headline(system, attack.name, spec)[place]) for system, place in columns))
        for spec in sweep.design.metrics
        for attack in sweep.design.attacks
    ]
    return Table(header, tuple(rows), caption="Scores by system and share of outputs attacked", text_columns=_TEXT)


def parts(sweep: Sweep, system: str) -> Table:
    """Everything a metric is made of, before and with every output attacked (Tables 2, 9 and 10)."""
    attacks = [attack.name for attack in sweep.design.attacks]
    rows = []
    for spec, metric in sweep.design.metrics.items():
        curves = [sweep.curves[system, attack, spec].mean for attack in attacks]
        rows += [
            (spec, part, number(curves[0][0, place]), *(number(curve[-1, place]) for curve in curves))
            for place, part in enumerate(metric.outputs)
        ]
    top = percent(sweep.design.levels[-1])
    caption = f"{system}: the parts of each metric, unharmed and with {top} of the outputs attacked"
    return Table(("metric", "part", "unharmed", *attacks), tuple(rows), caption=caption, text_columns=_TEXT)


def gameability(sweep: Sweep, verdicts: Sequence[Verdict]) -> Table:
    """How far each attack moves each metric, in spreads; marked where that is the wrong direction."""
    rows = []
    for place, attack in enumerate(sweep.design.attacks):
        effects = [verdict.effects[place] for verdict in verdicts]
        rows.append((attack.name, attack.expected, percent(effects[0].touched), *map(_moved, effects)))
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


def items(sweep: Sweep, verdicts: Sequence[Verdict]) -> Table:
    """On how many of the outputs that an attack changes each metric's own score of the output gets worse."""
    rows = []
    for place, attack in enumerate(sweep.design.attacks):
        worse = [
            np.array([sweep.worse[system, attack.name, verdict.metric] for system in sweep.systems])
            for verdict in verdicts
        ]
        shares = [
            float(of_metric[~np.isnan(of_metric)].mean()) if not np.isnan(of_metric).all() else math.nan
            for of_metric in worse
        ]
        touched = percent(verdicts[0].effects[place].touched)
        rows.append((attack.name, attack.expected, touched, *map(percent, shares)))
    return Table(
        ("attack", "should be", "applies to", *(verdict.metric for verdict in verdicts)),
        tuple(rows),
        caption="Of the outputs that the attack changes, how many get a worse score of their own",
        text_columns=_TEXT,
    )


def flips(verdicts: Sequence[Verdict]) -> Table:
    """How much of which attack changes who wins: first who could win by it, then how the winner loses."""
    rows = []
    for verdict in verdicts:
        turned = [flip for flip in verdict.flips if flip.share <= 1]
        for flip in sorted(turned, key=lambda flip: (not flip.wins, flip.share))[:_MOST_FLIPS]:
            place, after = f"{flip.system} ({flip.rank})", "wins, past" if flip.wins else "loses to"
            rows.append((verdict.metric, flip.attack, place, after, flip.rival, share(flip.share)))
    return Table(
        ("metric", "attack", "system (place)", "", "rival", "share of outputs"),
        tuple(rows),
        caption="What changes the winner",
        text_columns=frozenset({0, 1, 2, 3, 4}),
    )


def form(sweep: Sweep) -> Table:
    """What the paper's Table 3 shows, as plainly counts it: source, first references and systems."""
    evalset, texts = sweep.design.evalset, dict(sweep.design.outputs)
    if evalset.references and evalset.reference_counts.all():
        texts = {"first references": tuple(references[0] for references in evalset.references)} | texts
    if evalset.has_sources:
        texts = {"sources": evalset.sources} | texts
    specs = [spec for spec in _FORM if spec != "splits" or evalset.has_sources]
    columns = [(spec, *column) for spec in specs for column in _FORM[spec]]
    evaluation = evaluate(evalset, texts, specs, sampling=None)
    rows = tuple(
        (text, *(number(scale * evaluation[text][spec].corpus[part], 3) for spec, part, scale, _ in columns))
        for text in texts
    )
    return Table(("text", *(title for *_, title in columns)), rows, caption="The form of what was written")


# Each gives one table, or one for each system; the last argument is whether to show where 95 % of the trials lie.
TABLES: dict[str, Callable[[Sweep, Sequence[Verdict], bool], list[Table]]] = {
    "gameability": lambda sweep, verdicts, _: [gameability(sweep, verdicts)],
    "items": lambda sweep, verdicts, _: [items(sweep, verdicts)],
    "flips": lambda sweep, verdicts, _: [flips(verdicts)] if len(sweep.systems) > 1 else [],
    "overview": lambda sweep, *_: [overview(sweep)],
    "levels": lambda sweep, _, intervals: [levels(sweep, system, intervals=intervals) for system in sweep.systems],
    "parts": lambda sweep, *_: [parts(sweep, system) for system in sweep.systems],
    "form": lambda sweep, *_: [form(sweep)],
}


def named_tables(names: str | Sequence[str]) -> tuple[str, ...]:
    """The names of tables, checked; ``all`` is all of them."""
    if isinstance(names, str):
        names = list(TABLES) if names == "all" else [name.strip() for name in names.split(",") if name.strip()]
    for name in names:
        if name not in TABLES:
            raise UnknownName("table", name, TABLES, see="plainly audit --help")
    return tuple(names)


def _cells(curve: Curve, intervals: bool) -> list[str]:
    means = curve.mean[:, 0]
    if not intervals:
        return [number(mean) for mean in means]
    ends = zip(means[1:], curve.low[1:, 0], curve.high[1:, 0], strict=True)
    return [number(means[0]), *(interval(mean, low, high) for mean, low, high in ends)]


def _moved(effect: Effect) -> str:
    value = effect.spreads if not math.isnan(effect.spreads) else effect.gain
    return f"{signed(value)}{'*' if effect.fooled else ''}"
