"""An alignment as a value: sentences of two texts, links between them, and what each link says happened."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal, get_args

from plainly.text import sentences as boundaries

Happened = Literal["kept", "rephrased", "split", "merged", "reorganised", "dropped", "added"]
# A line break that ends what it stands in: before a blank line, before the mark of a point, or after a short line.
_LINE_END = re.compile(r"\n(?=\s*\n)|\n(?=\s*(?:[-*•–]|\d+[.)])\s)|^[^\n]{1,50}\n(?=\s*[^a-z\s])", re.MULTILINE)
HAPPENED: tuple[Happened, ...] = get_args(Happened)


@dataclass(frozen=True, slots=True)
class PlacedSentence:
    """A sentence and where it stands: ``whole[start:end]``, without the white space around it."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Link:
    """Sentences of the source and of the output that say the same, by their places; one side may be empty."""

    source: tuple[int, ...]
    output: tuple[int, ...]
    happened: Happened
    moved: bool = False


@dataclass(frozen=True)
class Alignment:
    """The sentences of two texts and their links. Every sentence is in exactly one link."""

    source: tuple[PlacedSentence, ...]
    output: tuple[PlacedSentence, ...]
    links: tuple[Link, ...]  # in the order of the output, with what was dropped where it stood in the source

    def pairs(self) -> list[tuple[str, str]]:
        """The pieces that belong together, source and output; "" where a piece has no counterpart."""
        return [(self.text("source", link), self.text("output", link)) for link in self.links]

    def text(self, side: Literal["source", "output"], link: Link) -> str:
        """The sentences of one side of a link, joined by spaces."""
        sentences, places = (self.source, link.source) if side == "source" else (self.output, link.output)
        return " ".join(sentences[place].text for place in places)

    @cached_property
    def edges(self) -> frozenset[tuple[int, int]]:
        """The links as pairs of one source and one output sentence."""
        return frozenset((i, j) for link in self.links for i in link.source for j in link.output)

    def counts(self) -> dict[str, int]:
        """How many source sentences were kept, rephrased, split, merged, reorganised, dropped and moved; and how many
        output sentences were added."""
        tally = dict.fromkeys((*HAPPENED, "moved"), 0)
        for link in self.links:
            tally[link.happened] += len(link.source) or len(link.output)
            tally["moved"] += len(link.source) if link.moved else 0
        return tally


@lru_cache(maxsize=512)  # metric after metric asks for the sentences of a set's sources and of one system's outputs
def sentences_of(text: str, language: str = "en") -> tuple[PlacedSentence, ...]:
    """The sentences of a text with their places.

    A line that is short or followed by a blank line ends a sentence, so that headings and points of a list are
    sentences too; in text that was wrapped at some width the other line breaks are spaces.
    """
    ends = [match.end() for match in _LINE_END.finditer(text)]
    pieces = pairwise([0, *ends, len(text)])
    return tuple(
        PlacedSentence(text[start + a : start + b], start + a, start + b)
        for start, end in pieces
        for a, b in boundaries.spans(text[start:end], language)
    )


def connected(
    source: tuple[PlacedSentence, ...], output: tuple[PlacedSentence, ...], edges: Iterable[tuple[int, int]]
) -> Alignment:
    """The alignment that pairs of sentences make: those that hang together are one link."""
    edges = list(edges)
    leader = {("s", i): ("s", i) for i in range(len(source))} | {("o", j): ("o", j) for j in range(len(output))}

    def find(node: tuple[str, int]) -> tuple[str, int]:
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    for i, j in edges:
        leader[find(("s", i))] = find(("o", j))
    members: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
    for node in leader:
        members.setdefault(find(node), ([], []))[node[0] == "o"].append(node[1])
    groups = [(tuple(sorted(a)), tuple(sorted(b))) for a, b in members.values()]
    moved = _out_of_order(groups)
    links = [Link(a, b, _happened(source, output, a, b), (a, b) in moved) for a, b in groups]
    return Alignment(source, output, tuple(sorted(links, key=_place(links))))


def _happened(
    source: Sequence[PlacedSentence], output: Sequence[PlacedSentence], a: Sequence[int], b: Sequence[int]
) -> Happened:
    if not a or not b:
        return "added" if b else "dropped"
    if len(a) == 1:
        if len(b) > 1:
            return "split"
        return "kept" if source[a[0]].text.split() == output[b[0]].text.split() else "rephrased"
    return "merged" if len(b) == 1 else "reorganised"


def _out_of_order(groups: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> set[tuple[tuple[int, ...], ...]]:
    """The links outside the largest set that stands in the same order on both sides: these moved."""
    both = sorted(((a, b) for a, b in groups if a and b), key=lambda group: group[1][0])
    size, before = [1] * len(both), [-1] * len(both)
    for at, (a, _) in enumerate(both):
        for earlier in range(at):
            if both[earlier][0][0] < a[0] and size[earlier] + 1 > size[at]:
                size[at], before[at] = size[earlier] + 1, earlier
    at = max(range(len(both)), key=size.__getitem__, default=-1)
    in_order = set()
    while at >= 0:
        in_order.add(at)
        at = before[at]
    return {group for place, group in enumerate(both) if place not in in_order}


def _place(links: Iterable[Link]) -> Callable[[Link], tuple[float, int]]:
    """A sort key: by output; what was dropped comes after the link of the source sentence before it."""
    at = {i: link.output[0] for link in links if link.output for i in link.source}

    def key(link: Link) -> tuple[float, int]:
        if link.output:
            return link.output[0], -1
        earlier: Iterator[int] = (at[i] for i in range(link.source[0], -1, -1) if i in at)
        return next(earlier, -1) + 0.5, link.source[0]

    return key
