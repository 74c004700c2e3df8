"""What can be told for certain, put right after everything else: merges, voice, denials, pronouns, impersonal frames.

These are rare, so a model trained on a few hundred sentences hardly knows them, and they show in the words themselves.
Each rule looks at words without a counterpart, and at what stands in the same gap of the other text.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from plainly.text.lexicon import BE, CONTENT, KIND, stem
from plainly.typology.rules import AlignedText, PairLabels
from plainly.typology.vocabulary import NONE

_STOP, _COMMA, _AUXILIARY = (KIND[name] for name in ("stop", "comma", "auxiliary"))
_NOUNS = frozenset({KIND["content"], KIND["name"]})
_JOINS = frozenset({KIND["conjunction"], KIND["relative"], KIND["comma"], KIND["preposition"]})
_NOT = frozenset(("not", "n't", "never", "no", "nobody", "nothing", "none", "cannot", "neither", "without"))
_SUBJECTS = frozenset(
    ("he", "she", "it", "they", "him", "her", "them", "this", "these", "that", "those", "who", "which")
)
_FREE = frozenset(("deloth", "delcst", "delmod", "delprop", "inoth", "incst", "inmod", "inprop", "synonym", "verbf",
                   "POSchange", "hyperonym", NONE))  # fmt: skip


class _Sides:
    """A pair with what the rules ask of it: small letters, and the gap that each word stands in."""

    def __init__(self, source: AlignedText, output: AlignedText, labels: PairLabels) -> None:
        self.texts, self.labels = (source, output), labels
        self.lower = tuple([word.lower() for word in text.words] for text in self.texts)
        # Words without a counterpart: most rules need certain ones, and most pairs have none of these.
        self.without = tuple(
            {word for word, link in zip(lower, text.links, strict=True) if link < 0}
            for lower, text in zip(self.lower, self.texts, strict=True)
        )

    @cached_property
    def gaps(self) -> tuple[list[int], list[int]]:
        """For each word of a side, how many words kept in place stand before it."""
        source, output = (list(accumulate(int(place == 1) for place in text.passes)) for text in self.texts)
        return source, output

    def free(self, side: int, at: int) -> bool:
        """Whether a word has no counterpart."""
        return self.texts[side].links[at] < 0

    def opposite(self, side: int, gap: int) -> list[int]:
        """The words without a counterpart that stand in a gap of the other side."""
        other = 1 - side
        gaps = self.gaps[other]
        return [at for at in range(bisect_left(gaps, gap), bisect_right(gaps, gap)) if self.free(other, at)]

    def mark(self, side: int, places: Sequence[int], label: str) -> None:
        for at in places:
            self.labels[side][at] = label


def refine(source: AlignedText, output: AlignedText, labels: PairLabels) -> PairLabels:
    """The labels, with what is certain put right."""
    if "s2p" in labels[0] and "p2s" in labels[0]:
        _agreement(source, labels)
    pair = _Sides(source, output, labels)
    if not pair.without[0] and not pair.without[1]:
        return labels
    if _STOP in source.kinds[:-1]:
        _merges(pair)
    for side, words in enumerate(pair.without):
        if not words.isdisjoint(_FRAMING):
            _frames(pair, side)
        if not words.isdisjoint(BE):
            _voice(pair, side)
    for side, words in enumerate(pair.without):
        if any(map(_denies, words)):
            _denials(pair, side)
    for side, words in enumerate(pair.without):
        if not words.isdisjoint(_SUBJECTS):
            _pronouns(pair, side)
        if not words.isdisjoint(_HELPING):
            _tenses(pair, side)
        _clauses(pair, side)
    return labels


def _merges(pair: _Sides) -> None:
    """A stop inside the source whose neighbours stand in one sentence of the output."""
    source, output = pair.texts
    inner = [at for at, kind in enumerate(source.kinds[:-1]) if kind == _STOP]
    sentences = list(accumulate((int(kind == _STOP) for kind in output.kinds[:-1]), initial=0))
    for at in inner:
        before = next((source.links[place] for place in range(at - 1, -1, -1) if _counts(source, place)), -1)
        after = next((source.links[place] for place in range(at + 1, len(source.words)) if _counts(source, place)), -1)
        if before < 0 or after < 0 or sentences[before] != sentences[after]:
            continue
        pair.mark(0, [at], "merge")
        for place in range(at + 1, min(at + 3, len(source.words))):
            if pair.free(0, place) and source.kinds[place] not in CONTENT:
                pair.mark(0, [place], "delcst")
        low, high = sorted((before, after))
        joins = [place for place in range(low, high + 1) if pair.free(1, place) and output.kinds[place] in _JOINS]
        joins += [place for place in range(min(2, low + 1)) if pair.free(1, place) and output.kinds[place] in _JOINS]
        pair.mark(1, joins, "incst")


def _counts(text: AlignedText, at: int) -> bool:
    return text.links[at] >= 0 and text.kinds[at] in CONTENT | {_AUXILIARY}


def _frames(pair: _Sides, side: int) -> None:
    """ "There are", "it is … that/who" on one side only: toImp in the output, fromImp in the source."""
    lower, text = pair.lower[side], pair.texts[side]
    label = ("fromImp", "toImp")[side]
    for at, word in enumerate(lower[:-2]):
        starts = at == 0 or text.kinds[at - 1] in (_STOP, _COMMA)
        if not starts or word not in ("there", "it") or not pair.free(side, at) or lower[at + 1] not in BE:
            continue
        frame = [at] + ([at + 1] if pair.free(side, at + 1) else [])
        if word == "it":
            close = next((place for place in range(at + 2, min(at + 8, len(lower))) if lower[place] in _THAT), -1)
            if close < 0:
                continue
            frame += [place for place in (close,) if pair.free(side, place)]
            frame += [place for place in range(at + 2, close) if pair.free(side, place) and side == 1]
        else:
            who = next(
                (place for place in range(at + 2, min(at + 8, len(lower))) if lower[place] in ("who", "that")), -1
            )
            frame += [who] if who >= 0 and pair.free(side, who) else []
        pair.mark(side, frame, label)
        if side == 1:  # what stood for the frame: "lie", "exists"
            for place, kind in enumerate(pair.texts[0].kinds):
                if kind == KIND["content"] and pair.free(0, place) and pair.lower[0][place] in _EXIST:
                    pair.mark(0, [place], "delcst")


_FRAMING = frozenset(("there", "it"))
_THAT = frozenset(("that", "who", "which", "whether", "to"))
_EXIST = frozenset(("lie", "lies", "lay", "exist", "exists", "existed", "stand", "stands", "live", "lives", "occur"))


def _voice(pair: _Sides, side: int) -> None:
    """A verb that is passive on this side and active on the other: p2a where that is the source, else a2p."""
    text, other = pair.texts[side], pair.texts[1 - side]
    lower, other_lower = pair.lower[side], pair.lower[1 - side]
    label = ("p2a", "a2p")[side]
    for at, link in enumerate(text.links):
        if link < 0 or text.kinds[at] != KIND["content"]:
            continue
        be = next((place for place in (at - 1, at - 2) if place >= 0 and lower[place] in BE), -1)
        if be < 0 or not pair.free(side, be):
            continue
        active = not any(word in BE for word in other_lower[max(0, link - 3) : link])
        by = next((place for place in range(at + 1, min(at + 6, len(lower))) if lower[place] == "by"), -1)
        agent = by >= 0 and pair.free(side, by)
        crossed = _crossed(text, at, link)
        if active and (agent or crossed) and _participle(lower[at], other_lower[link]):
            pair.mark(
                side, [place for place in range(be, at + 1) if place in (be, at) or pair.free(side, place)], label
            )
            pair.mark(1 - side, [link], label)
            modal = [place for place in (link - 1,) if place >= 0 and other.kinds[place] == _AUXILIARY]
            pair.mark(1 - side, [place for place in modal if pair.free(1 - side, place)], label)
            if agent:
                pair.mark(side, [by], ("delcst", "incst")[side])


def _participle(word: str, other: str) -> bool:
    return word.endswith(
        ("ed", "en", "n", "t", "ght", "ung", "ade", "old", "ept", "elt", "ound")
    ) and not other.endswith("ing")


def _crossed(text: AlignedText, at: int, link: int) -> bool:
    """Whether what stood before a verb stands after its counterpart, and the other way round."""
    before = [text.links[place] for place in range(max(0, at - 6), at) if text.kinds[place] in _NOUNS]
    after = [text.links[place] for place in range(at + 1, min(at + 7, len(text.links))) if text.kinds[place] in _NOUNS]
    return any(place > link for place in before) or any(0 <= place < link for place in after)


def _denials(pair: _Sides, side: int) -> None:
    """A negation in a gap of one side only, beside words that were exchanged: pos2neg or neg2pos."""
    label, other = ("neg2pos", "pos2neg")[side], pair.texts[1 - side]
    seen: set[int] = set()
    for at, word in enumerate(pair.lower[side]):
        if not pair.free(side, at) or not _denies(word) or pair.gaps[side][at] in seen:
            continue
        seen.add(pair.gaps[side][at])
        there = pair.opposite(side, pair.gaps[side][at])
        content = [place for place in there if other.kinds[place] in CONTENT or other.kinds[place] == KIND["negation"]]
        if not content or len(content) > 2 or any(_denies(pair.lower[1 - side][place]) for place in there):
            continue
        pair.mark(side, [place for place in _around(pair, side, at) if pair.free(side, place)], label)
        pair.mark(1 - side, _reach(content), label)
        small = [place for place in there if place not in content and pair.labels[1 - side][place] in _FREE]
        pair.mark(1 - side, small, ("incst", "delcst")[side])


def _denies(word: str) -> bool:
    return word in _NOT or word.endswith(("n't", "n’t"))


def _around(pair: _Sides, side: int, at: int) -> list[int]:
    """The words beside a negation that belong to it: the auxiliary before, and what is denied where that is new."""
    text = pair.texts[side]
    first = at
    while first > 0 and text.kinds[first - 1] == _AUXILIARY and pair.free(side, first - 1):
        first -= 1
    last = at
    while last + 1 < len(text.words) and pair.free(side, last + 1) and last - at < 3 and text.kinds[last + 1] not in (
        _STOP, _COMMA, KIND["preposition"], KIND["determiner"]
    ):  # fmt: skip
        last += 1
    return list(range(first, last + 1))


def _reach(places: Sequence[int]) -> list[int]:
    return list(range(places[0], places[-1] + 1)) if places[-1] - places[0] <= 4 else list(places)


def _pronouns(pair: _Sides, side: int) -> None:
    """A pronoun for a phrase of the same text, or the other way round, in one gap: fromPron or pron."""
    label = ("fromPron", "pron")[side]
    for at, word in enumerate(pair.lower[side]):
        if word not in _SUBJECTS or not pair.free(side, at) or pair.labels[side][at] not in _FREE:
            continue
        phrase = next(_phrases(pair, 1 - side, pair.gaps[side][at]), None)
        if phrase is None or not _known(pair, side, phrase):
            continue
        pair.mark(side, [at], label)
        pair.mark(1 - side, phrase, label)


def _phrases(pair: _Sides, side: int, gap: int) -> Iterator[list[int]]:
    """Noun phrases of new words in a gap: at most a determiner and three words."""
    text, gaps = pair.texts[side], pair.gaps[side]
    run: list[int] = []
    for at in range(bisect_left(gaps, gap), bisect_right(gaps, gap)):
        inside = text.links[at] < 0 and text.kinds[at] in _NOUNS | {KIND["determiner"]}
        if inside and (not run or run[-1] == at - 1):
            run.append(at)
            continue
        if _is_phrase(text, run):
            yield run
        run = [at] if inside else []
    if _is_phrase(text, run):
        yield run


def _is_phrase(text: AlignedText, run: Sequence[int]) -> bool:
    return 0 < len(run) <= 4 and any(text.kinds[at] in _NOUNS for at in run)


def _known(pair: _Sides, side: int, phrase: Sequence[int]) -> bool:
    """Whether the noun of a phrase of the other side stands in this text as well: it is what the pronoun stands for."""
    text = pair.texts[1 - side]
    noun = next(pair.lower[1 - side][at] for at in reversed(phrase) if text.kinds[at] in _NOUNS)
    return stem(noun) in map(stem, pair.lower[side])


def _tenses(pair: _Sides, side: int) -> None:
    """An auxiliary that came or went beside a verb that is kept: the tense changed, not the words."""
    text, other = pair.texts[side], pair.texts[1 - side]
    for at, kind in enumerate(text.kinds[:-1]):
        if kind != _AUXILIARY or not pair.free(side, at) or pair.labels[side][at] not in _FREE:
            continue
        verb = at + 1
        if text.kinds[verb] != KIND["content"] or text.links[verb] < 0:
            continue
        link = text.links[verb]
        if text.passes[verb] > 1 or pair.labels[side][verb] not in _KEPT:
            continue
        helper = pair.lower[side][at]
        verbal = helper in _MODALS or (pair.lower[side][verb].endswith("ing") if helper in BE else True)
        if verbal and (link == 0 or other.kinds[link - 1] != _AUXILIARY or pair.free(1 - side, link - 1)):
            pair.mark(side, [at, verb], "verbf")
            pair.mark(1 - side, [link], "verbf")


_KEPT = frozenset((NONE, "verbf", "synonym"))
_MODALS = frozenset(("will", "would", "can", "could", "may", "might", "shall", "should", "must", "did", "does", "do"))
_HELPING = _MODALS | BE | {"has", "have", "had"}


def _clauses(pair: _Sides, side: int) -> None:
    """A run of new words of which half are a clause is one."""
    clause, others = (("delprop", ("deloth", "delmod")), ("inprop", ("inoth", "inmod")))[side]
    labels, text = pair.labels[side], pair.texts[side]
    if clause not in labels:
        return
    start = 0
    while start < len(labels):
        if not pair.free(side, start) or text.kinds[start] in (_STOP, _COMMA):
            start += 1
            continue
        stop = start
        while stop < len(labels) and pair.free(side, stop) and text.kinds[stop] not in (_STOP, _COMMA):
            stop += 1
        run = [at for at in range(start, stop) if labels[at] in (clause, *others)]
        if 2 * sum(labels[at] == clause for at in run) >= len(run) and run:
            pair.mark(side, run, clause)
        start = stop


def _agreement(source: AlignedText, labels: PairLabels) -> None:
    """A verb that follows its noun ("visitor pays", "visitors pay") has not itself gone from plural to singular."""
    for at, label in enumerate(labels[0]):
        if label in ("s2p", "p2s") and at and source.links[at] >= 0:
            before = labels[0][at - 1]
            if before in ("s2p", "p2s") and before != label:
                labels[0][at] = labels[1][source.links[at]] = "verbf"
