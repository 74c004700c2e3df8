"""Texts that are longer than a model's window, in pieces that fit: nothing is left out.

A piece is whole sentences where they fit, else words, else characters. A source and its output are cut together, so
that sentences lie beside those that they were made from: by their alignment (``plainly.text.sentence_alignment``),
where what was dropped or added goes with its neighbour. Aligned sentences that do not fit into one piece are cut into
as many pieces of each side, in order; where one side has too few sentences for that, pieces of the other lie beside
the same piece.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from plainly.text import sentences
from plainly.text.sentence_alignment import align

# Part of the key under which scores are remembered: another way to cut is another score.
VERSION = "2"
Size = Callable[[Sequence[str]], list[int]]  # how many tokens texts have, without the marks around them


def windows(text: str, *, size: Size, longest: int) -> list[str]:
    """A text in pieces of at most ``longest`` tokens."""
    return _joined(units(text, size=size, longest=longest), size, longest)


def pieces(source: str, output: str, *, size: Size, longest: int) -> list[tuple[str, str]]:
    """A source and its output in pieces, each pair of at most ``longest`` tokens together."""
    pairs: list[tuple[str, str]] = []
    waiting: list[tuple[str, str]] = []
    room = longest
    for pair, tokens in _together(source, output, size):
        if waiting and tokens > room:
            pairs.append(_one(waiting))
            waiting, room = [], longest
        if tokens > longest:
            pairs += _side_by_side(*pair, size=size, longest=longest)
        else:
            waiting.append(pair)
            room -= tokens
    return [*pairs, _one(waiting)] if waiting else pairs or [(source, output)]


def _together(source: str, output: str, size: Size) -> list[tuple[tuple[str, str], int]]:
    """Aligned sentences of both texts, in the order of the output, and how many tokens they have together."""
    alignment = align(source, output, encoder=False)
    links: list[tuple[list[int], list[int]]] = []
    early: list[int] = []  # what was dropped before anything was kept
    for link in alignment.links:
        both = bool(link.source and link.output)
        if both or (not links and link.output):
            links.append(([*early, *link.source], list(link.output)))
            early = []
        elif links:
            links[-1][0].extend(link.source)
            links[-1][1].extend(link.output)
        else:
            early += link.source
    if early:
        links.append((early, []))
    merged = _two_sided(links)
    texts = [
        (" ".join(alignment.source[i].text for i in sorted(a)), " ".join(alignment.output[j].text for j in sorted(b)))
        for a, b in merged
    ]
    sizes = zip(size([pair[0] for pair in texts]), size([pair[1] for pair in texts]), strict=True)
    return list(zip(texts, map(sum, sizes), strict=True))


def _two_sided(links: list[tuple[list[int], list[int]]]) -> list[tuple[list[int], list[int]]]:
    """A first link without a source goes with the next; later ones have both sides already."""
    if len(links) > 1 and not links[0][0]:
        (_, first), (source, output), *rest = links
        return [(source, [*first, *output]), *rest]
    return links


def _one(pairs: Sequence[tuple[str, str]]) -> tuple[str, str]:
    return " ".join(pair[0] for pair in pairs), " ".join(pair[1] for pair in pairs)


def _side_by_side(source: str, output: str, *, size: Size, longest: int) -> list[tuple[str, str]]:
    """Two texts in as many pieces each, of about the same length."""
    half = max(longest // 2, 1)
    of_source, of_output = (units(text, size=size, longest=half) for text in (source, output))
    few = min(len(of_source), len(of_output))
    if not few:
        return [(source, output)]
    sizes = size(of_source), size(of_output)
    count = min(few, max(1, -(-(sum(sizes[0]) + sum(sizes[1])) // longest)))
    while True:
        bands = list(zip(_bands(sizes[0], count), _bands(sizes[1], count), strict=True))
        fits = all(sum(sizes[0][a:b]) + sum(sizes[1][c:d]) <= longest for (a, b), (c, d) in bands)
        if fits or count == few:
            break
        count = min(few, max(count + 1, count * 5 // 4))
    if fits:
        return [(" ".join(of_source[a:b]), " ".join(of_output[c:d])) for (a, b), (c, d) in bands]
    pairs = []
    for (a, b), (c, d) in bands:  # In each of these one side is a single unit, of half the window at most.
        room = longest - (sum(sizes[0][a:b]) if b - a == 1 else sum(sizes[1][c:d]))
        left = [" ".join(of_source[a:b])] if b - a == 1 else _joined(of_source[a:b], size, room)
        right = [" ".join(of_output[c:d])] if b - a > 1 else _joined(of_output[c:d], size, room)
        pairs += [(one, other) for one in left for other in right]
    return pairs


def units(text: str, *, size: Size, longest: int) -> list[str]:
    """The sentences of a text; those that are longer than ``longest`` tokens in parts."""
    whole = sentences.split(text) or ([text.strip()] if text.strip() else [])
    parts: list[str] = []
    for sentence, tokens in zip(whole, size(whole), strict=True):
        parts += [sentence] if tokens <= longest else _broken(sentence, size, longest)
    return parts


def _broken(sentence: str, size: Size, longest: int) -> list[str]:
    """A sentence in parts of words; a chunk without spaces that is too long, in parts of characters."""
    chunks: list[str] = []
    for chunk, tokens in zip(sentence.split(), size(sentence.split()), strict=True):
        step = len(chunk) if tokens <= longest else longest  # A token has at least one character.
        chunks += [chunk[at : at + step] for at in range(0, len(chunk), step)]
    return _joined(chunks, size, longest)


def _joined(parts: Sequence[str], size: Size, longest: int) -> list[str]:
    """Neighbours joined again as long as they fit."""
    joined: list[list[str]] = []
    room = 0
    for part, tokens in zip(parts, size(parts), strict=True):
        if not joined or tokens > room:
            joined.append([])
            room = longest
        joined[-1].append(part)
        room -= tokens
    return [" ".join(together) for together in joined]


def _bands(sizes: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Where to cut a row of units into ``count`` bands of about the same size, with at least one unit in each."""
    total, at, cuts = sum(sizes), 0, [0]
    running = 0
    for band in range(1, count):
        while at < len(sizes) - (count - band) and (
            at < cuts[-1] + 1 or running + sizes[at] / 2 < total * band / count
        ):
            running += sizes[at]
            at += 1
        cuts.append(at)
    return list(pairwise([*cuts, len(sizes)]))
