"""Long texts in pieces: aligning every word with every other would take the square of their length.

A pair is cut at words that stand once on each side and in the same order (first where four words in a row do, then
where one does; best where a sentence begins), so that each piece holds what belongs together. Where nothing is shared,
both sides are cut in equal parts. Pairs of up to a thousand words a side are one piece, labelled as they always were.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from plainly.core import limits

_CELLS = 1_000_000  # words of the source times words of the output that are aligned at once
_SIDE = 5000  # words of either side
_PIECE = 160_000  # cells of a piece of what is longer: less than is possible, because time grows with them
_STOPS = frozenset((".", "!", "?", "..."))
_GRAMS = (4, 1)

Piece = tuple[slice, slice]


def is_long(source: Sequence[str], output: Sequence[str]) -> bool:
    """Whether a pair is too long to be aligned at once."""
    return _large(len(source), len(output))


def _large(own: int, other: int, most: int = _CELLS) -> bool:
    return own * other > most or max(own, other) > _SIDE


def pieces(source: Sequence[str], output: Sequence[str], name: str) -> list[Piece]:
    """The pieces of a pair of token lists, in order; together they are the whole of both sides."""
    for side, tokens in (("source", source), ("output", output)):
        limits.check("words", len(tokens), f"The {side} of item {name!r}")
    if not is_long(source, output):
        return [(slice(0, len(source)), slice(0, len(output)))]
    lower = [token.lower() for token in source], [token.lower() for token in output]
    parts = [(0, len(source), 0, len(output))]
    for size in _GRAMS:
        parts = [smaller for part in parts for smaller in _cut(lower, part, size)]
    return [(slice(*part[:2]), slice(*part[2:])) for whole in parts for part in _equal(whole)]


_Part = tuple[int, int, int, int]  # from and to in the source, from and to in the output


def _cut(texts: tuple[list[str], list[str]], part: _Part, size: int) -> Iterator[_Part]:
    """A part cut at shared words wherever it would grow too large; where it shares none, as it is."""
    start, stop, other_start, other_stop = part
    if not _large(stop - start, other_stop - other_start, _PIECE):
        yield part
        return
    last = begin = (start, other_start)
    at_sentence: tuple[int, int] | None = None
    for place in [*_anchors(texts, part, size), (stop, other_stop)]:
        if _large(place[0] - begin[0], place[1] - begin[1], _PIECE) and last != begin:
            cut = at_sentence or last
            yield begin[0], cut[0], begin[1], cut[1]
            begin, at_sentence = cut, None
        last = place
        if all(place[side] and texts[side][place[side] - 1] in _STOPS for side in (0, 1)):
            at_sentence = place
    yield begin[0], stop, begin[1], other_stop


def _anchors(texts: tuple[list[str], list[str]], part: _Part, size: int) -> list[tuple[int, int]]:
    """Places of words that are there once on each side, the most of them that stand in the same order."""
    own, other = (_once(texts[side][part[2 * side] : part[2 * side + 1]], size) for side in (0, 1))
    shared = [(at + part[0], other[gram] + part[2]) for gram, at in own.items() if gram in other]
    ends: list[int] = []  # of chains of each length, the smallest last place
    chains: list[int] = []  # who ends them
    before = [-1] * len(shared)
    for number, (_, place) in enumerate(shared):
        at = bisect_left(ends, place)
        if at == len(ends):
            ends.append(place)
            chains.append(number)
        ends[at], chains[at] = place, number
        before[number] = chains[at - 1] if at else -1
    chosen, number = [], chains[-1] if chains else -1
    while number >= 0:
        chosen.append(shared[number])
        number = before[number]
    return chosen[::-1]


def _once(tokens: list[str], size: int) -> dict[tuple[str, ...], int]:
    """Where runs of words stand that stand there once, in order."""
    grams = list(zip(*(tokens[by:] for by in range(size)), strict=False))
    counts = Counter(grams)
    return {gram: at for at, gram in enumerate(grams) if counts[gram] == 1}


def _equal(part: _Part) -> Iterator[_Part]:
    """A part that is still too large in equal parts."""
    start, stop, other_start, other_stop = part
    size, other = stop - start, other_stop - other_start
    count = 1
    while _large(-(-size // count), -(-other // count), _PIECE):
        count += 1
    for at in range(count):
        yield (
            start + size * at // count,
            start + size * (at + 1) // count,
            other_start + other * at // count,
            other_start + other * (at + 1) // count,
        )
