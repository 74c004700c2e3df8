"""What was done to a sentence, as data: a pair of texts and groups of their tokens, each with a label.

Tokens are what white space separates, numbered from 0, as in Yawat. A group may lie anywhere, in one text or in both,
need not be contiguous, and keeps its tokens in the order in which they were marked, because the files do.

``build_groups`` makes groups from a label for every word. Words that follow one another with the same label make a run.
Runs of labels that live on one side are groups. Runs of labels that live on both sides look for their partner: the run
of the same label that their words are aligned with, else the one in the same gap, else the nearest left over. A run
that finds none was not replaced: it came or went.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from plainly.core.errors import BadInput
from plainly.typology.vocabulary import NONE, canonical, known, operation

TextSide = Literal["source", "output"]
SIDES: tuple[TextSide, ...] = ("source", "output")


@dataclass(frozen=True, slots=True)
class Group:
    """Some tokens of the source, some of the output, and what happened to them."""

    source: tuple[int, ...]
    output: tuple[int, ...]
    label: str
    confidence: float | None = None

    def tokens(self, side: TextSide) -> tuple[int, ...]:
        return self.source if side == "source" else self.output


@dataclass(frozen=True)
class Pair:
    """A source, an output and the groups between them.

    ``part`` says which of several outputs of the same source this is: a reference's number, a system, an annotator.
    Texts may be empty where only the groups are known (an ``.aln`` file without its ``.crp``).
    """

    id: str
    source: str
    output: str
    groups: tuple[Group, ...] = ()
    part: str = ""

    @cached_property
    def source_tokens(self) -> tuple[str, ...]:
        return tuple(self.source.split())

    @cached_property
    def output_tokens(self) -> tuple[str, ...]:
        return tuple(self.output.split())

    def tokens(self, side: TextSide) -> tuple[str, ...]:
        return self.source_tokens if side == "source" else self.output_tokens

    @property
    def labels(self) -> frozenset[str]:
        """The labels that occur in the pair."""
        return frozenset(group.label for group in self.groups)

    @property
    def where(self) -> str:
        return f"pair {self.id!r}" + (f" of {self.part}" if self.part else "")

    def with_groups(self, groups: Iterable[Group]) -> Pair:
        return replace(self, groups=tuple(groups))

    def checked(self) -> Pair:
        """The pair with canonical labels; an error where a group has no token or one that the text has not."""
        groups = []
        for group in self.groups:
            if not group.source and not group.output:
                raise BadInput(f"{self.where}: a group with label {group.label!r} has no tokens. Remove it.")
            for side in SIDES:
                count, used = len(self.tokens(side)), group.tokens(side)
                if used and count and max(used) >= count:
                    raise BadInput(
                        f"{self.where}: a group with label {group.label!r} names {side} token {max(used)}, but the "
                        f"{side} has {count} tokens, numbered from 0. Are these the texts that were annotated?"
                    )
            groups.append(replace(group, label=canonical(group.label)))
        return self.with_groups(groups)


def token_labels(pair: Pair, side: TextSide, *, length: int | None = None) -> list[str]:
    """One label a token; ``none`` where it stands in no group, the first group's where it stands in two."""
    size = length if length is not None else len(pair.tokens(side))
    labels = [NONE] * size
    for group in reversed(pair.groups):
        for token in group.tokens(side):
            if token < size:
                labels[token] = group.label
    return labels


def squeeze(text: str) -> str:
    """A text without white space and case: equal for the same sentence however it was tokenised."""
    return "".join(text.split()).casefold()


@dataclass(frozen=True, slots=True)
class Violation:
    """Something in an annotation that its own guide does not allow."""

    where: str
    what: Literal["wrong side", "token in two groups", "err with others", "unknown label"]
    label: str
    detail: str


def violations(pairs: Sequence[Pair]) -> list[Violation]:
    """Labels on the wrong side or unknown, tokens in two groups, and err beside other labels."""
    noticed = []
    for pair in pairs:
        for group in pair.groups:
            if not known(group.label):
                noticed.append(Violation(pair.where, "unknown label", group.label, "is not in the typology"))
            elif wrong := _misplaced(group):
                noticed.append(Violation(pair.where, "wrong side", group.label, wrong))
        for side in SIDES:
            seen: set[int] = set()
            for group in pair.groups:
                for token in group.tokens(side):
                    if token in seen:
                        noticed.append(
                            Violation(pair.where, "token in two groups", group.label, f"{side} token {token}")
                        )
                    seen.add(token)
        if "err" in pair.labels and len(pair.groups) > 1:
            others = ", ".join(sorted(pair.labels - {"err"})) or "a second err"
            noticed.append(Violation(pair.where, "err with others", "err", others))
    return noticed


def _misplaced(group: Group) -> str:
    """What is wrong with the side of a group's label, or nothing."""
    if not known(group.label):
        return ""
    expected = operation(group.label).side
    if expected == "both" or group.tokens(expected):
        return ""
    return f"stands in the {'output' if expected == 'source' else 'source'} alone, belongs to the {expected}"


def repair(pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], list[Violation]]:
    """Insertions marked in the source become the matching deletions, and the reverse, as the ASSETann paper does it.

    Only labels with a counterpart (inmod and delmod, …) can be repaired; the others are reported and left alone.
    """
    repaired, changed = [], []
    for pair in pairs:
        groups = []
        for group in pair.groups:
            wrong = _misplaced(group)
            if wrong and (counterpart := operation(group.label).counterpart):
                changed.append(Violation(pair.where, "wrong side", group.label, f"{wrong}; is now {counterpart}"))
                group = replace(group, label=counterpart)
            groups.append(group)
        repaired.append(pair.with_groups(groups))
    return tuple(repaired), changed


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
        sure = confidences[at] if confidences is not None else 0
        if last is not None and joined:
            last.tokens.append(at)
            last.confidence += sure
        else:
            runs.append(_LabelRun([at], label, sure))
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
    confidence = (run.confidence + partner.confidence) / 2 if partner else run.confidence
    label = _ALONE[side] if partner is None and operation(run.label).side == "both" else run.label
    sides = tuple(run.tokens), tuple(partner.tokens) if partner else ()
    return Group(*(sides if side == "source" else sides[::-1]), label, round(confidence, 3) if confidence else None)
