"""From a label for every word to groups: words that belong together, on one side or on both.

Words that follow one another with the same label make a run. Runs of labels that live on one side are groups. Runs of
labels that live on both sides look for their partner: the run of the same label that their words are aligned with, else
the one in the same gap, else the nearest left over. A run that finds none was not replaced: it came or went.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from plainly.typology.annotation import Group
from plainly.typology.vocabulary import NONE, operation

_ALONE = {"source": "deloth", "output": "inoth"}


@dataclass
class _LabelRun:
    tokens: list[int]
    label: str
    confidence: float
    partner: _LabelRun | None = None


def build_groups(
    labels: tuple[Sequence[str], Sequence[str]],
    confidences: tuple[Sequence[float], Sequence[float]] | None,
    links: tuple[Sequence[int], Sequence[int]],
) -> tuple[Group, ...]:
    """The groups of a pair, in the order of Yawat: by source token, then by output token."""
    sides = [_runs(labels[side], confidences[side] if confidences else None, links[side]) for side in (0, 1)]
    _pair_up(sides[0], sides[1], links[0])
    groups = [_group(run, run.partner, "source") for run in sides[0]]
    groups += [_group(run, None, "output") for run in sides[1] if run.partner is None]
    return tuple(sorted(groups, key=by_place))


def by_place(group: Group) -> tuple[bool, tuple[int, ...], tuple[int, ...]]:
    """What groups are sorted by."""
    return not group.source, group.source[:1], group.output[:1]


def moved(groups: Sequence[Group], source: int, output: int) -> Sequence[Group]:
    """Groups of a piece as groups of the whole, in which the piece begins at these words."""
    if not source and not output:
        return groups
    return [
        replace(
            group, source=tuple(at + source for at in group.source), output=tuple(at + output for at in group.output)
        )
        for group in groups
    ]


def _runs(labels: Sequence[str], confidences: Sequence[float] | None, links: Sequence[int]) -> list[_LabelRun]:
    runs: list[_LabelRun] = []
    for at, label in enumerate(labels):
        if label == NONE:
            continue
        last = runs[-1] if runs else None
        joined = last is not None and last.label == label and last.tokens[-1] == at - 1 and label != "split"
        if joined and label == "move":
            # Two phrases that moved to different places are two moves.
            joined = links[at] >= 0 and links[at - 1] >= 0 and 0 < links[at] - links[at - 1] <= 2
        if last is not None and joined:
            last.tokens.append(at)
            last.confidence += confidences[at] if confidences is not None else 0
        else:
            runs.append(_LabelRun([at], label, confidences[at] if confidences is not None else 0))
    for run in runs:
        run.confidence /= len(run.tokens)
    return runs


def _pair_up(source: list[_LabelRun], output: list[_LabelRun], links: Sequence[int]) -> None:
    waiting: dict[str, list[_LabelRun]] = {}
    for run in output:
        if operation(run.label).side == "both":
            waiting.setdefault(run.label, []).append(run)

    def join(run: _LabelRun, other: _LabelRun) -> None:
        run.partner, other.partner = other, run
        waiting[run.label].remove(other)

    alone = []
    for run in source:
        if operation(run.label).side != "both":
            continue
        places = {links[at] for at in run.tokens if links[at] >= 0}
        best = max(waiting.get(run.label, ()), key=lambda other: len(places.intersection(other.tokens)), default=None)
        if best is not None and places.intersection(best.tokens):
            join(run, best)
        else:
            alone.append(run)
    for run in alone:
        # Where the run would stand in the output, from the word before it that has a counterpart.
        expected = next((links[at] + 1 for at in range(run.tokens[0] - 1, -1, -1) if links[at] >= 0), 0)
        near = min(waiting.get(run.label, ()), key=lambda other: abs(other.tokens[0] - expected), default=None)
        if near is not None:
            join(run, near)


def _group(run: _LabelRun, partner: _LabelRun | None, side: str) -> Group:
    tokens, others = tuple(run.tokens), tuple(partner.tokens) if partner else ()
    label, confidence = run.label, run.confidence
    if partner is not None:
        confidence = (confidence + partner.confidence) / 2
    elif operation(label).side == "both":
        label = _ALONE[side]
    rounded = round(confidence, 3) if confidence else None
    return Group(tokens, others, label, rounded) if side == "source" else Group(others, tokens, label, rounded)
