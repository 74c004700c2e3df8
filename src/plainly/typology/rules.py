"""Labels from rules alone, from the alignment and the kinds of words. No trained weights, no licence.

A stop inside the output is a split, words in another position moved, words of one root changed their form, words in the
same gap on both sides replaced one another, and the rest was inserted or deleted.

``refine`` then corrects what the words make certain: merges, voice, negations, pronouns, impersonal frames. These are
too rare for a model trained on a few hundred sentences. Its rules look at words without a counterpart and at the same
gap of the other text.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, dropwhile, pairwise, takewhile

from plainly.text.lexicon import BE, CONTENT, KIND, is_negation, stem
from plainly.text.word_alignment import runs
from plainly.typology.vocabulary import NONE

PairLabels = tuple[list[str], list[str]]  # of every token of the source and of the output

_CONTENT = CONTENT | {KIND["adverb"]}
_CLAUSE = frozenset({KIND["relative"], KIND["auxiliary"]})
_ADVERBIAL = frozenset({KIND["preposition"], KIND["adverb"]})
_BEFORE_VERBS = frozenset({KIND["pronoun"], KIND["auxiliary"], KIND["relative"]})
_MARKS = frozenset({KIND["comma"], KIND["bracket"], KIND["stop"]})
_MARKS_OR_DETERMINER = _MARKS | {KIND["determiner"]}
_STOP, _COMMA, _AUXILIARY = (KIND[name] for name in ("stop", "comma", "auxiliary"))
_ENDS = frozenset({_STOP, _COMMA, KIND["preposition"], KIND["determiner"]})  # of the words that a negation applies to
_NOUNS = frozenset({KIND["content"], KIND["name"]})
_PHRASE = _NOUNS | {KIND["determiner"]}
_JOINS = frozenset({KIND["conjunction"], KIND["relative"], KIND["comma"], KIND["preposition"]})
_SUBJECTS = frozenset(
    ("he", "she", "it", "they", "him", "her", "them", "this", "these", "that", "those", "who", "which")
)
_FREE = frozenset(("deloth", "delcst", "delmod", "delprop", "inoth", "incst", "inmod", "inprop", "synonym", "verbf",
                   "POSchange", "hyperonym", NONE))  # fmt: skip
# Words that begin an impersonal frame, with those that may close it; and verbs that it stands for.
_FRAMES = {"there": ("who", "that"), "it": ("that", "who", "which", "whether", "to")}
_EXIST = frozenset(("lie", "lies", "lay", "exist", "exists", "existed", "stand", "stands", "live", "lives", "occur"))
_KEPT = frozenset((NONE, "verbf", "synonym"))
_MODALS = frozenset(("will", "would", "can", "could", "may", "might", "shall", "should", "must", "did", "does", "do"))
_PARTICIPLES = ("ed", "en", "n", "t", "ght", "ung", "ade", "old", "ept", "elt", "ound")
_HELPING = _MODALS | BE | {"has", "have", "had"}


@dataclass(frozen=True)
class AlignedText:
    """One text of a pair: words, their kinds, the position of each counterpart and the pass that aligned it."""

    words: Sequence[str]
    kinds: Sequence[int]
    links: Sequence[int]
    passes: Sequence[int]


def label_pair(source: AlignedText, output: AlignedText) -> PairLabels:
    """Return a label for every token of the source and of the output."""
    labels: PairLabels = ([NONE] * len(source.words), [NONE] * len(output.words))
    for at, place in enumerate(source.links):
        if place >= 0 and source.words[at].lower() != output.words[place].lower():
            labels[0][at] = labels[1][place] = _classify_form(source, at, output, place)
        elif place >= 0 and source.passes[at] > 1:
            labels[0][at] = labels[1][place] = "move"
    for source_run, output_run in _find_gaps(source, output):
        _label_gap(source, output, source_run, output_run, labels)
    _label_splits(output, labels[1])
    return labels


def _classify_form(source: AlignedText, at: int, output: AlignedText, place: int) -> str:
    """Return the label of a change of form between two words of one root."""
    before, after = source.words[at].lower(), output.words[place].lower()
    if after in (before + "s", before + "es") or (before.endswith("y") and after == before[:-1] + "ies"):
        return "verbf" if _is_verbal(source, at) else "s2p"
    if before in (after + "s", after + "es") or (after.endswith("y") and before == after[:-1] + "ies"):
        return "verbf" if _is_verbal(source, at) else "p2s"
    was_passive, is_passive = (
        position > 0 and side.words[position - 1].lower() in BE for side, position in ((source, at), (output, place))
    )
    if was_passive and not is_passive and before.endswith(("ed", "en", "n", "t")) and source.passes[at] > 1:
        return "p2a"
    if before.endswith(("ed", "ing")) or after.endswith(("ed", "ing")):
        return "verbf"
    is_derived = before.endswith(("ly", "ion", "ment", "ness", "ity")) or after.endswith(("ly", "ion", "ment"))
    if is_derived or before[:3] != after[:3]:
        return "POSchange"
    return "synonym" if abs(len(before) - len(after)) > 3 else "verbf" if _is_verbal(source, at) else "POSchange"


def _is_verbal(side: AlignedText, at: int) -> bool:
    """Return whether a word is likely a verb: it follows a pronoun, a name, an auxiliary or "to"."""
    return at > 0 and (side.kinds[at - 1] in _BEFORE_VERBS or side.words[at - 1].lower() == "to")


def _find_gaps(source: AlignedText, output: AlignedText) -> Iterator[tuple[list[int], list[int]]]:
    """Yield unaligned words of both sides between the same two words that were kept in place."""
    anchors = [(at, place) for at, place in enumerate(source.links) if source.passes[at] == 1]
    ends = len(source.words), len(output.words)
    for before, anchor in pairwise([(-1, -1), *anchors, ends]):
        if anchor[0] - before[0] > 1 or anchor[1] - before[1] > 1:  # most words stand side by side
            left = [at for at in range(before[0] + 1, anchor[0]) if source.links[at] < 0]
            right = [at for at in range(before[1] + 1, anchor[1]) if output.links[at] < 0]
            if left or right:
                yield left, right


def _label_gap(source: AlignedText, output: AlignedText, left: list[int], right: list[int], labels: PairLabels) -> None:
    content = [[at for at in run if side.kinds[at] in _CONTENT] for side, run in ((source, left), (output, right))]
    has_stop = any(output.kinds[at] == _STOP for at in right)
    if content[0] and content[1] and len(left) <= 8 and len(right) <= 8 and not has_stop:
        _label_replacement(source, left, labels[0], consistency="delcst")
        _label_replacement(output, right, labels[1], consistency="incst")
        return
    pronouns = [at for at in right if output.kinds[at] == KIND["pronoun"]]
    if content[0] and pronouns and len(right) <= 2 and not content[1]:
        for at in left:
            labels[0][at] = "pron"
        for at in right:
            labels[1][at] = "pron" if at in pronouns else "incst"
        return
    _label_one_side(source, left, labels[0], ("delcst", "delmod", "delprop", "deloth"))
    _label_one_side(output, right, labels[1], ("incst", "inmod", "inprop", "inoth"))


def _label_replacement(side: AlignedText, run: list[int], target: list[str], *, consistency: str) -> None:
    """Label a replacement from its first content word to its last; words beyond its ends are consistency."""
    content = [at for at in run if side.kinds[at] in _CONTENT]
    for at in run:
        is_inside = content[0] <= at <= content[-1] or side.kinds[at] == _AUXILIARY
        target[at] = "synonym" if is_inside else consistency


def _label_one_side(side: AlignedText, run: list[int], target: list[str], names: tuple[str, str, str, str]) -> None:
    """Label words that were only inserted or only deleted."""
    consistency, modifier, clause, other = names
    for part in runs(run):
        inner = part if any(side.kinds[at] in _CONTENT for at in part) else []
        inner = list(dropwhile(lambda at: side.kinds[at] in _MARKS, inner))
        while inner and side.kinds[inner[-1]] in _MARKS_OR_DETERMINER:
            inner.pop()
        label = other
        if len(inner) >= 4 and not _CLAUSE.isdisjoint(side.kinds[at] for at in inner):
            label = clause
        elif inner and _is_modifier(side, inner):
            label = modifier
        for at in part:
            target[at] = label if at in inner else consistency


def _is_modifier(side: AlignedText, run: list[int]) -> bool:
    """Return whether words modify: they begin with a preposition, are an adverb, or stand right before a noun."""
    if side.kinds[run[0]] in _ADVERBIAL or len(run) > 2:
        return side.kinds[run[0]] in _ADVERBIAL
    is_before_noun = not _NOUNS.isdisjoint(side.kinds[run[-1] + 1 : run[-1] + 2])
    has_adverb = any(side.words[at].lower().endswith("ly") for at in run)
    return has_adverb or (is_before_noun and all(side.kinds[at] == KIND["content"] for at in run))


def _label_splits(output: AlignedText, target: list[str]) -> None:
    """Label stops inside the output that do not come from the source."""
    last = len(output.words) - 1
    for at, kind in enumerate(output.kinds):
        if kind == _STOP and at < last and output.links[at] < 0:
            target[at] = "split"
            for following in range(at + 1, last + 1):
                if output.links[following] >= 0 or target[following] not in ("inoth", "inprop", "inmod"):
                    break
                target[following] = "incst"


class _Sides:
    """A pair prepared for the rules: words in lower case, and the gap of each word."""

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
        """For each word of a side, how many words kept in place precede it."""
        source, output = (list(accumulate(int(place == 1) for place in text.passes)) for text in self.texts)
        return source, output

    def is_free(self, side: int, at: int) -> bool:
        """Return whether a word has no counterpart."""
        return self.texts[side].links[at] < 0

    def opposite(self, side: int, gap: int) -> list[int]:
        """Return the words without a counterpart in a gap of the other side."""
        other = 1 - side
        gaps = self.gaps[other]
        return [at for at in range(bisect_left(gaps, gap), bisect_right(gaps, gap)) if self.is_free(other, at)]

    def mark(self, side: int, places: Sequence[int], label: str) -> None:
        for at in places:
            self.labels[side][at] = label


def refine(source: AlignedText, output: AlignedText, labels: PairLabels) -> PairLabels:
    """Correct the labels where the words leave no doubt."""
    if "s2p" in labels[0] and "p2s" in labels[0]:
        _label_agreement(source, labels)
    pair = _Sides(source, output, labels)
    if not pair.without[0] and not pair.without[1]:
        return labels
    if _STOP in source.kinds[:-1]:
        _label_merges(pair)
    for side, words in enumerate(pair.without):
        if not words.isdisjoint(_FRAMES):
            _label_frames(pair, side)
        if not words.isdisjoint(BE):
            _label_voice(pair, side)
    for side, words in enumerate(pair.without):
        if any(map(_is_denial, words)):
            _label_denials(pair, side)
    for side, words in enumerate(pair.without):
        if not words.isdisjoint(_SUBJECTS):
            _label_pronouns(pair, side)
        if not words.isdisjoint(_HELPING):
            _label_tenses(pair, side)
        _label_clauses(pair, side)
    return labels


def _label_merges(pair: _Sides) -> None:
    """Label a stop inside the source whose neighbours share a sentence of the output."""
    source, output = pair.texts
    sentences = list(accumulate((int(kind == _STOP) for kind in output.kinds[:-1]), initial=0))
    links = [
        link if kind in CONTENT or kind == _AUXILIARY else -1
        for link, kind in zip(source.links, source.kinds, strict=True)
    ]
    for at in (at for at, kind in enumerate(source.kinds[:-1]) if kind == _STOP):
        before = next((link for link in reversed(links[:at]) if link >= 0), -1)
        after = next((link for link in links[at + 1 :] if link >= 0), -1)
        if before < 0 or after < 0 or sentences[before] != sentences[after]:
            continue
        next_words = range(at + 1, min(at + 3, len(source.words)))
        pair.mark(0, [at], "merge")
        pair.mark(0, [i for i in next_words if pair.is_free(0, i) and source.kinds[i] not in CONTENT], "delcst")
        low, high = sorted((before, after))
        reach = (*range(low, high + 1), *range(min(2, low + 1)))
        pair.mark(1, [i for i in reach if pair.is_free(1, i) and output.kinds[i] in _JOINS], "incst")


def _label_frames(pair: _Sides, side: int) -> None:
    """Label "there are" and "it is … that/who" on one side only: toImp in the output, fromImp in the source."""
    lower, text = pair.lower[side], pair.texts[side]
    for at, word in enumerate(lower[:-2]):
        starts = at == 0 or text.kinds[at - 1] in (_STOP, _COMMA)
        if not starts or word not in _FRAMES or not pair.is_free(side, at) or lower[at + 1] not in BE:
            continue
        reach = range(at + 2, min(at + 8, len(lower)))
        close = next((place for place in reach if lower[place] in _FRAMES[word]), -1)
        if word == "it" and close < 0:
            continue
        inside = range(at + 2, close) if word == "it" and side == 1 else ()
        frame = [place for place in (at, at + 1, close, *inside) if place >= 0 and pair.is_free(side, place)]
        pair.mark(side, frame, ("fromImp", "toImp")[side])
        if side == 1:  # what stood for the frame: "lie", "exists"
            verbs = [place for place, word in enumerate(pair.lower[0]) if word in _EXIST and pair.is_free(0, place)]
            pair.mark(0, [place for place in verbs if pair.texts[0].kinds[place] == KIND["content"]], "delcst")


def _label_voice(pair: _Sides, side: int) -> None:
    """Label a verb that is passive on this side and active on the other: p2a if this is the source, else a2p."""
    text, other = pair.texts[side], pair.texts[1 - side]
    lower, other_lower = pair.lower[side], pair.lower[1 - side]
    label = ("p2a", "a2p")[side]
    for at, link in enumerate(text.links):
        auxiliary = next((place for place in (at - 1, at - 2) if place >= 0 and lower[place] in BE), -1)
        if link < 0 or text.kinds[at] != KIND["content"] or auxiliary < 0 or not pair.is_free(side, auxiliary):
            continue
        is_active = not any(word in BE for word in other_lower[max(0, link - 3) : link])
        by = next((place for place in range(at + 1, min(at + 6, len(lower))) if lower[place] == "by"), -1)
        agent = by >= 0 and pair.is_free(side, by)
        has_crossed = _has_crossed(text, at, link)
        participle = lower[at].endswith(_PARTICIPLES) and not other_lower[link].endswith("ing")
        if is_active and (agent or has_crossed) and participle:
            between = [place for place in range(auxiliary + 1, at) if pair.is_free(side, place)]
            pair.mark(side, [auxiliary, *between, at], label)
            has_modal = link > 0 and other.kinds[link - 1] == _AUXILIARY and pair.is_free(1 - side, link - 1)
            pair.mark(1 - side, [link - 1, link] if has_modal else [link], label)
            if agent:
                pair.mark(side, [by], ("delcst", "incst")[side])


def _has_crossed(text: AlignedText, at: int, link: int) -> bool:
    """Return whether nouns moved from one side of a verb to the other."""
    before = [text.links[place] for place in range(max(0, at - 6), at) if text.kinds[place] in _NOUNS]
    after = [text.links[place] for place in range(at + 1, min(at + 7, len(text.links))) if text.kinds[place] in _NOUNS]
    return any(place > link for place in before) or any(0 <= place < link for place in after)


def _label_denials(pair: _Sides, side: int) -> None:
    """Label a negation in a gap of one side only, beside words that were exchanged: pos2neg or neg2pos."""
    label, other = ("neg2pos", "pos2neg")[side], pair.texts[1 - side]
    gaps: set[int] = set()
    for at, word in enumerate(pair.lower[side]):
        if not pair.is_free(side, at) or not _is_denial(word) or pair.gaps[side][at] in gaps:
            continue
        gaps.add(pair.gaps[side][at])
        there = pair.opposite(side, pair.gaps[side][at])
        content = [place for place in there if other.kinds[place] in CONTENT or other.kinds[place] == KIND["negation"]]
        if not content or len(content) > 2 or any(_is_denial(pair.lower[1 - side][place]) for place in there):
            continue
        pair.mark(side, [place for place in _find_denial(pair, side, at) if pair.is_free(side, place)], label)
        reach = range(content[0], content[-1] + 1) if content[-1] - content[0] <= 4 else content
        pair.mark(1 - side, reach, label)
        small_words = [place for place in there if place not in content and pair.labels[1 - side][place] in _FREE]
        pair.mark(1 - side, small_words, ("incst", "delcst")[side])


def _is_denial(word: str) -> bool:
    return is_negation(word) and word != "nor"  # which carries a denial on and begins none


def _find_denial(pair: _Sides, side: int, at: int) -> list[int]:
    """Return the words that belong to a negation: the auxiliary before it, and the negated words if they are new."""
    kinds = pair.texts[side].kinds
    before, after = range(at - 1, -1, -1), range(at + 1, min(at + 4, len(kinds)))
    auxiliaries = takewhile(lambda place: kinds[place] == _AUXILIARY and pair.is_free(side, place), before)
    negated_words = takewhile(lambda place: kinds[place] not in _ENDS and pair.is_free(side, place), after)
    return [*auxiliaries, at, *negated_words]


def _label_pronouns(pair: _Sides, side: int) -> None:
    """Label a pronoun for a phrase of the same text, or the reverse, in one gap: fromPron or pron."""
    label, other = ("fromPron", "pron")[side], pair.texts[1 - side]
    for at, word in enumerate(pair.lower[side]):
        if word not in _SUBJECTS or not pair.is_free(side, at) or pair.labels[side][at] not in _FREE:
            continue
        # The first noun phrase of new words in the gap: at most a determiner and three words.
        phrases = runs([place for place in pair.opposite(side, pair.gaps[side][at]) if other.kinds[place] in _PHRASE])
        nouns_of = ((run, [place for place in run if other.kinds[place] in _NOUNS]) for run in phrases if len(run) <= 4)
        phrase, nouns = next((both for both in nouns_of if both[1]), ([], []))
        # What a pronoun stands for is a noun that this text has as well.
        if nouns and stem(pair.lower[1 - side][nouns[-1]]) in map(stem, pair.lower[side]):
            pair.mark(side, [at], label)
            pair.mark(1 - side, phrase, label)


def _label_tenses(pair: _Sides, side: int) -> None:
    """Label an auxiliary that came or went beside a kept verb as a change of tense."""
    text, other = pair.texts[side], pair.texts[1 - side]
    for at, kind in enumerate(text.kinds[:-1]):
        verb, link = at + 1, text.links[at + 1]
        is_new_helper = kind == _AUXILIARY and pair.is_free(side, at) and pair.labels[side][at] in _FREE
        is_kept_verb = text.kinds[verb] == KIND["content"] and text.passes[verb] == 1
        if not (is_new_helper and is_kept_verb and pair.labels[side][verb] in _KEPT):
            continue
        is_verbal = pair.lower[side][at] not in BE or pair.lower[side][verb].endswith("ing")
        if is_verbal and (link == 0 or other.kinds[link - 1] != _AUXILIARY or pair.is_free(1 - side, link - 1)):
            pair.mark(side, [at, verb], "verbf")
            pair.mark(1 - side, [link], "verbf")


def _label_clauses(pair: _Sides, side: int) -> None:
    """Label a run of new words as a clause if half of its words are labelled so."""
    clause, *others = (("delprop", "deloth", "delmod"), ("inprop", "inoth", "inmod"))[side]
    labels = pair.labels[side]
    if clause not in labels:
        return
    kinds = pair.texts[side].kinds
    for stretch in runs(
        [at for at, kind in enumerate(kinds) if pair.is_free(side, at) and kind not in (_STOP, _COMMA)]
    ):
        run = [at for at in stretch if labels[at] in (clause, *others)]
        if 2 * sum(labels[at] == clause for at in run) >= len(run):
            pair.mark(side, run, clause)


def _label_agreement(source: AlignedText, labels: PairLabels) -> None:
    """Label a verb that follows the number of its noun ("visitor pays", "visitors pay") as a change of verb form."""
    for at in range(1, len(labels[0])):
        if source.links[at] >= 0 and labels[0][at - 1 : at + 1] in (["s2p", "p2s"], ["p2s", "s2p"]):
            labels[0][at] = labels[1][source.links[at]] = "verbf"
