"""A verdict in words. Every sentence follows from a number in the verdict; nothing is said that was not measured."""

import math
from collections.abc import Sequence

from plainly.auditing.verdicts import Effect, Verdict
from plainly.core.formatting import listed, number, percent, share, signed

_MOST_ATTACKS = 7
# What an attack that applies to fewer outputs than this does to a score says little about the metric.
_FEW = 0.1
# Less than this many spreads does not take a system past many others.
_LITTLE = 0.25


def paragraph(verdict: Verdict) -> str:
    """One paragraph about one metric."""
    if verdict.better == "neither":
        return f"{verdict.metric} claims no direction: it describes outputs, and there is nothing to game."
    harms = [effect for effect in verdict.effects if effect.expected == "worse" and effect.touched > 0]
    sentences = [
        _headline(verdict, harms),
        _cheapest(verdict),
        _ordinary_flips(verdict),
        _unnoticed(harms),
        _unchanged(verdict),
        _improvements(verdict),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _headline(verdict: Verdict, harms: Sequence[Effect]) -> str:
    fooled = sorted((effect for effect in harms if effect.fooled), key=lambda effect: -effect.wrong)
    if not harms:
        return f"{verdict.metric}: no attack that harms an output was tried."
    if not fooled:
        by = "" if math.isnan(verdict.spread) else " by as much as 5 % of the spread between the systems"
        return f"{verdict.metric}: none of the {len(harms)} attacks that harm an output improves its score{by}."
    top = fooled[0]
    verb = "improves" if len(fooled) == 1 else "improve"
    improve = f"{len(fooled)} of the {len(harms)} attacks that harm an output {verb} its score"
    most = f"{number(top.wrong)} points with {percent(top.level)} of the outputs attacked"
    if not math.isnan(top.wrong_spreads):
        most += f", {number(top.wrong_spreads)} times the distance between the best and the worst system"
    if top.wrong_spreads < _LITTLE:
        return f"{verdict.metric} is hard to game: {improve}, but little. {top.attack} gains most: {most}."
    return f"{verdict.metric} can be gamed: {improve}. {top.attack} gains most: {most}."


def _cheapest(verdict: Verdict) -> str:
    if len(verdict.ranking) < 2:
        return "With one system there is no spread to compare with and no ranking to turn; give two or more."
    best, worst = verdict.ranking[0], verdict.ranking[-1]
    cheapest = verdict.cheapest
    if cheapest is None:
        return f"No attack lifts the worst system ({worst}) above the best ({best})."
    return (
        f"The cheapest way from last place to first: {cheapest.attack} on {share(cheapest.share)} of the outputs of "
        f"{worst} lifts it above {best}."
    )


def _ordinary_flips(verdict: Verdict) -> str:
    """Who could win with least, when that is not the worst system's story already told."""
    wins = [flip for flip in verdict.flips if flip.wins and flip.share <= 1]
    least = min(wins, key=lambda flip: flip.share, default=None)
    if least is None or least == verdict.cheapest:
        return ""
    return (
        f"The ranking turns sooner: {least.attack} on {share(least.share)} of its outputs takes {least.system} from "
        f"place {least.rank} past {least.rival}."
    )


def _unnoticed(harms: Sequence[Effect]) -> str:
    blind = [effect.attack for effect in harms if effect.touched >= _FEW and not effect.noticed]
    if not blind:
        return ""
    spread = any(not math.isnan(effect.spreads) for effect in harms)
    by = "less than 5 % of the spread" if spread else "no change at all"
    return f"It hardly notices {listed(blind, most=_MOST_ATTACKS)} ({by})."


def _unchanged(verdict: Verdict) -> str:
    moved = [effect for effect in verdict.effects if effect.expected == "unchanged" and effect.fooled]
    gains = _gains(sorted(moved, key=lambda effect: -effect.wrong))
    return f"It is moved by what should leave it unmoved: {gains}." if moved else ""


def _improvements(verdict: Verdict) -> str:
    meant = [effect for effect in verdict.effects if effect.expected == "better" and effect.touched >= _FEW]
    missed = [effect for effect in meant if not (effect.gain > 0 and effect.noticed)]
    return f"It does not reward an improvement: {_gains(missed)}." if missed else ""


def _gains(effects: Sequence[Effect]) -> str:
    said = []
    for effect in effects:
        spreads = "" if math.isnan(effect.spreads) else f", {signed(effect.spreads)} spreads"
        said.append(f"{effect.attack} ({signed(effect.gain)}{spreads})")
    return listed(said, most=_MOST_ATTACKS)
