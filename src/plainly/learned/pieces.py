"""Texts that are longer than a model's window, cut into pieces that fit; nothing is left out.

A piece is whole sentences where they fit, else words, else characters. A source and its output are cut along their
sentence alignment (``plainly.text.sentence_alignment``), so that a piece holds the sentences that belong together; what
was dropped or added goes with its neighbour. Aligned sentences that do not fit into one piece are cut into equally many
pieces on both sides; where one side has too few sentences, several pieces of the other side share one of its pieces.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product, starmap

from plainly.text import sentences
from plainly.text.sentence_alignment import align

# Part of the key in the score cache: another way to cut is another score.
VERSION = "2"
Size = Callable[[Sequence[str]], list[int]]  # how many tokens texts have, without the marks around them


def windows(text: str, *, size: Size, longest: int) -> list[str]:
    """Cut a text into pieces of at most ``longest`` tokens."""
    parts = units(text, size=size, longest=longest)
    return _join(parts, size(parts), longest)


def pieces(source: str, output: str, *, size: Size, longest: int) -> list[tuple[str, str]]:
    """Cut a source and its output into pieces, each pair of at most ``longest`` tokens together."""
    pairs: list[tuple[str, str]] = []
    waiting: list[tuple[str, str]] = []
    room = longest
    for pair, tokens in _align(source, output, size):
        if waiting and tokens > room:
            pairs.append(_merge(waiting))
            waiting, room = [], longest
        if tokens > longest:
            pairs += _cut_pair(*pair, size=size, longest=longest)
        else:
            waiting.append(pair)
            room -= tokens
    return [*pairs, _merge(waiting)] if waiting else pairs or [(source, output)]


def _align(source: str, output: str, size: Size) -> list[tuple[tuple[str, str], int]]:
    """Return aligned sentences of both texts, in the order of the output, and their number of tokens."""
    alignment = align(source, output, encoder=False)
    links: list[tuple[list[int], list[int]]] = []
    early: list[int] = []  # source sentences that were dropped before the first one that was not
    for link in alignment.links:
        if link.output and (link.source or not links):
            links.append(([*early, *link.source], list(link.output)))
            early = []
        elif links:
            links[-1][0].extend(link.source)
            links[-1][1].extend(link.output)
        else:
            early += link.source
    if early:
        links.append((early, []))
    if len(links) > 1 and not links[0][0]:  # Only the first link can be without a source: it goes with the next.
        (_, first), (sources, outputs), *links = links
        links.insert(0, (sources, [*first, *outputs]))
    texts = [
        (" ".join(alignment.source[i].text for i in sorted(a)), " ".join(alignment.output[j].text for j in sorted(b)))
        for a, b in links
    ]
    sizes = zip(size([pair[0] for pair in texts]), size([pair[1] for pair in texts]), strict=True)
    return list(zip(texts, map(sum, sizes), strict=True))


def _merge(pairs: Sequence[tuple[str, str]]) -> tuple[str, str]:
    return " ".join(pair[0] for pair in pairs), " ".join(pair[1] for pair in pairs)


def _cut_pair(source: str, output: str, *, size: Size, longest: int) -> list[tuple[str, str]]:
    """Cut two texts into as many pieces each, of about the same length."""
    half = max(longest // 2, 1)
    of_source, of_output = (units(text, size=size, longest=half) for text in (source, output))
    few = min(len(of_source), len(of_output))
    if not few:
        return [(source, output)]
    source_sizes, output_sizes = size(of_source), size(of_output)
    count = min(few, max(1, -(-(sum(source_sizes) + sum(output_sizes)) // longest)))
    while True:
        bands = list(zip(_bands(source_sizes, count), _bands(output_sizes, count), strict=True))
        if count == few or all(sum(source_sizes[a]) + sum(output_sizes[b]) <= longest for a, b in bands):
            break
        count = min(few, max(count + 1, count * 5 // 4))
    pairs: list[tuple[str, str]] = []
    for a, b in bands:  # A band that does not fit has a single unit on one side, of half the window at most.
        left, right = of_source[a], [" ".join(of_output[b])]
        if len(left) == 1:
            right = _join(of_output[b], output_sizes[b], longest - source_sizes[a][0])
        else:
            left = _join(left, source_sizes[a], longest - sum(output_sizes[b]))
        pairs += product(left, right)
    return pairs


def units(text: str, *, size: Size, longest: int) -> list[str]:
    """Split a text into sentences, and those that are longer than ``longest`` tokens into parts."""
    whole = sentences.split(text) or ([text.strip()] if text.strip() else [])
    parts: list[str] = []
    for sentence, tokens in zip(whole, size(whole), strict=True):
        parts += [sentence] if tokens <= longest else _break(sentence, size, longest)
    return parts


def _break(sentence: str, size: Size, longest: int) -> list[str]:
    """Split a sentence into parts of words, and a chunk without spaces that is too long into parts of characters."""
    chunks: list[str] = []
    for chunk, tokens in zip(sentence.split(), size(sentence.split()), strict=True):
        step = len(chunk) if tokens <= longest else longest  # A token has at least one character.
        chunks += [chunk[at : at + step] for at in range(0, len(chunk), step)]
    return _join(chunks, size(chunks), longest)


def _join(parts: Sequence[str], sizes: Sequence[int], longest: int) -> list[str]:
    """Join neighbouring parts as long as they fit."""
    groups: list[list[str]] = []
    room = 0
    for part, tokens in zip(parts, sizes, strict=True):
        if not groups or tokens > room:
            groups.append([])
            room = longest
        groups[-1].append(part)
        room -= tokens
    return [" ".join(group) for group in groups]


def _bands(sizes: Sequence[int], count: int) -> Iterator[slice]:
    """Divide units into ``count`` bands of about the same size, with at least one unit in each."""
    total, running, at, cuts = sum(sizes), 0, 0, [0]
    for band in range(1, count):
        while at < len(sizes) - (count - band) and (
            at < cuts[-1] + 1 or running + sizes[at] / 2 < total * band / count
        ):
            running += sizes[at]
            at += 1
        cuts.append(at)
    return starmap(slice, pairwise([*cuts, len(sizes)]))
