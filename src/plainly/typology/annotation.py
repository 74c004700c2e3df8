"""Annotated operations: a pair of texts and groups of their tokens, each with a label.

Tokens are separated by white space and numbered from 0, as in Yawat. A group may have tokens in one text or in both,
need not be contiguous, and keeps its tokens in the order in which they were marked, because the files do.

``build_groups`` makes groups from a label for every word. Adjacent words with the same label form a run. A run of a
label that belongs to both sides is paired with a run of the same label on the other side: the one that its words are
aligned with, else the nearest left over. A run without a partner becomes an insertion or a deletion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from plainly.core.errors import BadInput
from plainly.typology.vocabulary import NONE, canonical, is_operation, operation

TextSide = Literal["source", "output"]
SIDES: tuple[TextSide, ...] = ("source", "output")


@dataclass(frozen=True, slots=True)
class Group:
    """Some tokens of the source, some of the output, and the operation on them."""

    source: tuple[int, ...]
    output: tuple[int, ...]
    label: str
    confidence: float | None = None

    def tokens(self, side: TextSide) -> tuple[int, ...]:
        return self.source if side == "source" else self.output

    @property
    def position(self) -> tuple[bool, tuple[int, ...], tuple[int, ...]]:
        """The sort key of groups: source token, then output token."""
        return not self.source, self.source[:1], self.output[:1]

    def shift(self, source: int, output: int) -> Group:
        """Return the group of a piece as one of the whole text, in which the piece begins at these words."""
        sides = tuple(at + source for at in self.source), tuple(at + output for at in self.output)
        return Group(*sides, self.label, self.confidence)


@dataclass(frozen=True)
class Pair:
    """A source, an output and the groups between them.

    ``part`` identifies one of several outputs of a source: a reference's number, a system, an annotator. Texts are
    empty where only the groups are known (an ``.aln`` file without its ``.crp``).
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
    def words(self) -> tuple[str, str]:
        """Both texts in a form that does not depend on tokenisation or case."""
        return squeeze(self.source), squeeze(self.output)

    @property
    def where(self) -> str:
        return f"pair {self.id!r}" + (f" of {self.part}" if self.part else "")

    def with_groups(self, groups: Iterable[Group]) -> Pair:
        return replace(self, groups=tuple(groups))

    def validate(self) -> Pair:
        """Return the pair with canonical labels; raise if a group has no tokens or one outside the text."""
        groups = []
        for group in self.groups:
            if not group.source and not group.output:
                raise BadInput(f"{self.where}: a group with label {group.label!r} has no tokens. Remove the group.")
            for side in SIDES:
                count, tokens = len(self.tokens(side)), group.tokens(side)
                if tokens and count and max(tokens) >= count:
                    raise BadInput(
                        f"{self.where}: a group with label {group.label!r} names {side} token {max(tokens)}, but the "
                        f"{side} has {count} tokens, numbered from 0. Check that these are the annotated texts."
                    )
            groups.append(replace(group, label=canonical(group.label)))
        return self.with_groups(groups)


def token_labels(pair: Pair, side: TextSide, *, length: int | None = None) -> list[str]:
    """Return a label per token: ``none`` outside all groups, the first group's where there are two."""
    size = length if length is not None else len(pair.tokens(side))
    labels = [NONE] * size
    for group in reversed(pair.groups):
        for token in group.tokens(side):
            if token < size:
                labels[token] = group.label
    return labels


def squeeze(text: str) -> str:
    """Return a text without white space and case: equal for the same sentence however it was tokenised."""
    return "".join(text.split()).casefold()


@dataclass(frozen=True, slots=True)
class Violation:
    """Something in an annotation that its guide does not allow."""

    where: str
    what: Literal["wrong side", "token in two groups", "err with others", "unknown label"]
    label: str
    detail: str


def violations(pairs: Sequence[Pair]) -> list[Violation]:
    """Find unknown labels, labels on the wrong side, tokens in two groups, and err beside other labels."""
    problems: list[Violation] = []
    for pair in pairs:
        for group in pair.groups:
            if not is_operation(group.label):
                problems.append(Violation(pair.where, "unknown label", group.label, "is not in the typology"))
            elif problem := _side_problem(group):
                problems.append(Violation(pair.where, "wrong side", group.label, problem))
        for side in SIDES:
            tokens = [(token, group.label) for group in pair.groups for token in group.tokens(side)]
            first = {token: at for at, (token, _) in reversed([*enumerate(tokens)])}
            problems += [
                Violation(pair.where, "token in two groups", label, f"{side} token {token}")
                for at, (token, label) in enumerate(tokens)
                if at > first[token]
            ]
        if "err" in pair.labels and len(pair.groups) > 1:
            others = ", ".join(sorted(pair.labels - {"err"})) or "a second err"
            problems.append(Violation(pair.where, "err with others", "err", others))
    return problems


def _side_problem(group: Group) -> str:
    """Return what is wrong with the side of a group's label, or an empty string."""
    if not is_operation(group.label):
        return ""
    side = operation(group.label).side
    if side == "both" or group.tokens(side):
        return ""
    return f"is only in the {'output' if side == 'source' else 'source'}, but belongs to the {side}"


def repair(pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], list[Violation]]:
    """Turn insertions marked in the source into the matching deletions, and the reverse, as in the ASSETann paper.

    Only labels with a counterpart (inmod and delmod, …) can be repaired; the others are reported and left alone.
    """
    changes = []

    def repair_group(group: Group, where: str) -> Group:
        problem = _side_problem(group)
        if not problem or not (counterpart := operation(group.label).counterpart):
            return group
        changes.append(Violation(where, "wrong side", group.label, f"{problem}; is now {counterpart}"))
        return replace(group, label=counterpart)

    pairs = [pair.with_groups(repair_group(group, pair.where) for group in pair.groups) for pair in pairs]
    return tuple(pairs), changes


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
    """Return the groups of a pair in the order of Yawat: by source token, then by output token."""
    sides = [_runs(labels[side], confidences[side] if confidences else None, links[side]) for side in (0, 1)]
    _pair_up(sides[0], sides[1], links[0])
    groups = [_group(run, run.partner, "source") for run in sides[0]]
    groups += [_group(run, None, "output") for run in sides[1] if run.partner is None]
    return tuple(sorted(groups, key=lambda group: group.position))


def _runs(labels: Sequence[str], confidences: Sequence[float] | None, links: Sequence[int]) -> list[_LabelRun]:
    runs: list[_LabelRun] = []
    for at, label in enumerate(labels):
        if label == NONE:
            continue
        last = runs[-1] if runs else None
        continues = last is not None and last.label == label and last.tokens[-1] == at - 1 and label != "split"
        if continues and label == "move":
            # Phrases that moved to different positions are separate moves.
            continues = links[at] >= 0 and links[at - 1] >= 0 and 0 < links[at] - links[at - 1] <= 2
        confidence = confidences[at] if confidences is not None else 0
        if last is not None and continues:
            last.tokens.append(at)
            last.confidence += confidence
        else:
            runs.append(_LabelRun([at], label, confidence))
    for run in runs:
        run.confidence /= len(run.tokens)
    return runs


def _pair_up(source: list[_LabelRun], output: list[_LabelRun], links: Sequence[int]) -> None:
    """Find the partners of runs whose label belongs to both sides: the aligned ones first, then the nearest."""

    def candidates(run: _LabelRun) -> Iterator[_LabelRun]:
        return (other for other in output if other.label == run.label and other.partner is None)

    both_sides = [run for run in source if operation(run.label).side == "both"]
    for run in both_sides:
        places = {links[at] for at in run.tokens if links[at] >= 0}
        best = max(candidates(run), key=lambda other: len(places.intersection(other.tokens)), default=None)
        if best is not None and places.intersection(best.tokens):
            run.partner, best.partner = best, run
    for run in both_sides:
        # The expected position in the output: after the counterpart of the nearest aligned word before the run.
        position = next((links[at] + 1 for at in range(run.tokens[0] - 1, -1, -1) if links[at] >= 0), 0)
        nearest = min(candidates(run), key=lambda other: abs(other.tokens[0] - position), default=None)
        if run.partner is None and nearest is not None:
            run.partner, nearest.partner = nearest, run


def _group(run: _LabelRun, partner: _LabelRun | None, side: str) -> Group:
    confidence = (run.confidence + partner.confidence) / 2 if partner else run.confidence
    label = _ALONE[side] if partner is None and operation(run.label).side == "both" else run.label
    sides = tuple(run.tokens), tuple(partner.tokens) if partner else ()
    return Group(*(sides if side == "source" else sides[::-1]), label, round(confidence, 3) if confidence else None)
