"""What is denied, what is only possible, what is a duty, and what holds only under a condition, in both texts.

A negation reaches to the next content word of its clause. It has a counterpart if the other text denies the same word,
or denies something in the clause that corresponds; a denial may also hide in a word ("unable", "unknown", "failed to").
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from plainly.factcheck.finding import FactFinding
from plainly.factcheck.reading import KEPT, Matched, ReadText, common_words, cues, opposites
from plainly.text.lexicon import CONTENT, KIND, is_negation, stem

_REACH = 7
_VERBS = frozenset({KIND["content"], KIND["auxiliary"]})
_ABLE = frozenset({"could", "can", "able", "managed", "succeeded"})
_SKIPPED = cues("skipped")
_MUST, _MAY = frozenset({"must", "shall"}), frozenset({"may", "might", "can", "could"})


@dataclass(frozen=True)
class Cue:
    """A word that denies, and the word that it denies (−1 if it can't be told)."""

    at: int
    target: int
    hidden: bool = False


def check_polarity(pair: Matched) -> Iterator[FactFinding]:
    """Negations that came or went."""
    ours, theirs = negations(pair.source), negations(pair.output)
    pairs, used = {}, set()
    for step in (_aligned, _same_target, _same_clause, _same_gap, _both_rephrased):
        for there in theirs:
            if there.at in pairs:
                continue
            for here in ours:
                if here.at not in used and step(pair, here, there):
                    pairs[there.at] = here
                    used.add(here.at)
                    break
    denied = {pair.source.stems[cue.target] for cue in ours if cue.target >= 0 and not cue.hidden}
    for there in theirs:
        again = there.target >= 0 and pair.output.stems[there.target] in denied  # denied a second time
        if there.at not in pairs and not there.hidden and not again:
            yield from _new(pair, there)
    for here in ours:
        joined = pair.source.lower[here.at] == "nor" and any(not there.hidden for there in theirs)
        if here.at not in used and not joined:
            yield from _gone(pair, here, theirs)
    yield from _unprefixed(pair)
    yield from _denied_only(pair)
    if any(here.at not in used for here in ours) or any(
        link < 0 and _negative(lower) for lower, link in zip(pair.source.lower, pair.forward, strict=True)
    ):
        yield from _stressed(pair)


def _denied_only(pair: Matched) -> Iterator[FactFinding]:
    """ "not only" for "only"."""
    for at, lower in enumerate(pair.output.lower[:-1]):
        linked = pair.backward[at + 1]
        if lower == "not" and pair.output.lower[at + 1] == "only" and linked >= 0 and "not" not in pair.source.lower:
            yield pair.finding("flipped", "polarity", 0.8, [linked], [at, at + 1])


def _stressed(pair: Matched) -> Iterator[FactFinding]:
    """ "It does have": a verb stressed as if something had been denied, where the source denied something."""
    output = pair.output
    if any(not cue.hidden for cue in negations(output)):
        return
    for at, lower in enumerate(output.lower[:-1]):
        verb = at + 1
        if lower in ("do", "does", "did") and pair.backward[at] < 0 and output.kinds[verb] in _VERBS:
            question = at in output.firsts or "?" in output.tokens
            if not question and not output.lower[verb].endswith(("ing", "ed")):
                yield pair.finding("flipped", "polarity", 0.6, [], [at, verb])


@lru_cache(maxsize=KEPT)
def negations(reading: ReadText) -> tuple[Cue, ...]:
    """Every word that denies something."""
    denials = []
    for at, lower in enumerate(reading.lower):
        if _denies(lower):
            if not _says_nothing(reading, at):
                denials.append(Cue(at, _target(reading, at)))
        elif lower in cues("deniers"):
            denials.append(Cue(at, _target(reading, at), hidden=True))
    return tuple(denials)


def _denies(lower: str) -> bool:
    return is_negation(lower) or lower in cues("more_negations")


def _says_nothing(reading: ReadText, at: int) -> bool:
    """ "not only", "whether or not", "No. 5": negation words that deny nothing."""
    word, before = reading.lower[at], reading.lower[at - 1] if at else ""
    following, large = "", False
    if at + 1 < len(reading):
        following, large = reading.lower[at + 1], not reading.tokens[at + 1][0].islower()
    return (
        (word in ("no", "no.") and (following[:1].isdigit() or following in (".", "#", "“", '"')))
        or (reading.tokens[at][0].isupper() and at not in reading.firsts and large)  # in a title
        or (word == "no" and following in cues("empty_after_no"))
        or (following in cues("empty_before_than") and reading.lower[at + 2 : at + 3] == ("than",))
        or following in cues("empty_after")
        or (word == "not" and before in cues("empty_before"))
    )


def _target(reading: ReadText, at: int) -> int:
    """The word that is denied: the next content word of the clause that is no adverb, or else the last one before."""
    adverb = -1
    for place in range(at + 1, min(at + 1 + _REACH, len(reading))):
        if reading.clauses[place] != reading.clauses[at]:
            break
        if reading.kinds[place] in CONTENT and reading.lower[place] not in _SKIPPED:
            if not reading.lower[place].endswith("ly"):
                return place
            adverb = place if adverb < 0 else adverb
    if adverb >= 0:
        return adverb
    before = [place for place in range(max(0, at - 4), at) if reading.kinds[place] in CONTENT]
    return before[-1] if before and reading.clauses[before[-1]] == reading.clauses[at] else -1


def _aligned(pair: Matched, here: Cue, there: Cue) -> bool:
    return pair.backward[there.at] == here.at and here.hidden == there.hidden and _near(pair, here, there)


def _near(pair: Matched, here: Cue, there: Cue) -> bool:
    """Whether what the two deny may be the same: not if both words are kept, but not for each other."""
    if here.target < 0 or there.target < 0 or pair.backward[there.target] in (-1, here.target):
        return True
    return abs(pair.backward[there.target] - here.target) <= 6


def _same_target(pair: Matched, here: Cue, there: Cue) -> bool:
    return there.target >= 0 and here.target >= 0 and pair.backward[there.target] == here.target


def _same_clause(pair: Matched, here: Cue, there: Cue) -> bool:
    """Whether the clause of the source's negation is the one from which most words of the output's clause come."""
    links = [pair.backward[at] for at in pair.output.clause(there.at) if pair.output.kinds[at] in CONTENT]
    votes = Counter(pair.source.clauses[link] for link in links if link >= 0)
    if not votes or (there.target >= 0 and pair.output.lower[there.target] == "true"):
        return False
    # In a long clause two negations may deny two things: where a denied word is kept, its negation must stand near.
    linked = pair.backward[there.target] if there.target >= 0 else -1
    kept = pair.forward[here.target] if here.target >= 0 else -1
    near = (kept < 0 or abs(kept - there.at) <= 4) and (linked < 0 or abs(linked - here.at) <= 4)
    return near and votes[pair.source.clauses[here.at]] == max(votes.values())


def _both_rephrased(pair: Matched, here: Cue, there: Cue) -> bool:
    """Two negations of words that are not kept on either side: one may say the other in other words."""
    kept = here.target >= 0 and pair.forward[here.target] >= 0
    if there.target >= 0:
        kept = kept or pair.backward[there.target] >= 0 or pair.output.lower[there.target] == "true"
    return not kept and not here.hidden


def _same_gap(pair: Matched, here: Cue, there: Cue) -> bool:
    return pair.gaps[0][here.at] == pair.gaps[1][there.at]


def _new(pair: Matched, cue: Cue) -> Iterator[FactFinding]:
    """A negation that the source does not have; unless it hides there in another word."""
    output, source = pair.output, pair.source
    words = [cue.at, *([cue.target] if cue.target >= 0 else [])]
    if "until" in output.lower[cue.at + 1 : cue.at + 8] and "until" not in source.lower:
        return
    linked = pair.backward[cue.target] if cue.target >= 0 else -1
    if hiding := _hiding(pair, source, cue, forward=False):
        yield pair.finding("harmless", "negation", 0.7, hiding[:1], words)
    elif linked >= 0:
        yield pair.finding("flipped", "polarity", 0.93, [linked], words)
    else:
        clause = [at for at in output.clause(cue.at) if output.kinds[at] in CONTENT]
        supported = sum(pair.backward[at] >= 0 for at in clause)
        sure = 0.85 if clause and supported >= 0.5 * len(clause) else 0.62
        yield pair.finding("flipped", "polarity", sure, [], words)


def _gone(pair: Matched, cue: Cue, theirs: Sequence[Cue]) -> Iterator[FactFinding]:
    """A negation of the source that the output does not have, though it has what was denied."""
    source = pair.source
    following = source.lower[cue.at + 1] if cue.at + 1 < len(source) else ""
    if following in cues("partly_after") and pair.forward[cue.at + 1] >= 0:
        yield pair.finding("flipped", "polarity", 0.8, [cue.at, cue.at + 1], [pair.forward[cue.at + 1]])
        return
    partly = following in cues("partly_after") or (
        "until" in source.lower[cue.at + 1 : cue.at + 8] and "until" not in pair.output.lower
    )
    if cue.target < 0 or partly:
        return
    place = pair.forward[cue.target]
    words = [cue.at, cue.target]
    hiding = _hiding(pair, pair.output, cue, forward=True)
    if cue.hidden and not hiding:  # "failed to pay" and "unpaid": anywhere will do
        free = enumerate(zip(pair.output.lower, pair.backward, strict=True))
        hiding = [at for at, (lower, link) in free if link < 0 and (_negative(lower) or lower in ("low", "small"))]
    if hiding or (place >= 0 and any(there.target == place for there in theirs)):
        if hiding and not cue.hidden:
            yield pair.finding("harmless", "negation", 0.7, words, hiding[:1])
        return
    if place >= 0 and _covered(pair.output, place):
        return
    clause = [at for at in source.clause(cue.at) if source.kinds[at] in CONTENT and at != cue.at]
    kept = [at for at in clause if pair.forward[at] >= 0]
    if place >= 0:
        sure = 0.6 if cue.hidden else 0.9
        near = sum(pair.forward[at] >= 0 for at in clause) >= 0.34 * len(clause)
        yield pair.finding("flipped", "polarity", sure if near else 0.4, words, [place])
        return
    gap = pair.gaps[0][cue.target]
    instead = [at for at in pair.output.content if pair.gaps[1][at] == gap and pair.backward[at] < 0]
    if instead and len(kept) >= 0.34 * len(clause) and not cue.hidden:
        yield pair.finding("flipped", "polarity", 0.55, words, instead[:2])
    elif cue.hidden and source.lower[cue.at] in cues("failing"):
        able = [at for at, lower in enumerate(pair.output.lower) if lower in _ABLE and pair.backward[at] < 0]
        if able and not any(not there.hidden for there in theirs):
            yield pair.finding("flipped", "polarity", 0.6, words, able[:1])


def _covered(reading: ReadText, place: int) -> bool:
    """Whether a negation before reaches a word over "or": no satellites or atmosphere."""
    before = reading.lower[max(0, place - 8) : place]
    joint = max((at for at, word in enumerate(before) if word in ("or", "nor")), default=-1)
    return joint > 0 and any(map(_denies, before[:joint]))


def _unprefixed(pair: Matched) -> Iterator[FactFinding]:
    """aware for unaware, or the other way round, and nothing near that denies it."""
    for here, there, of_source in ((pair.source, pair.output, True), (pair.output, pair.source, False)):
        links = pair.forward if of_source else pair.backward
        denied = {cue.target + step for cue in negations(there) for step in (-1, 0, 1, 2)}
        for at, lower in enumerate(here.lower):
            if links[at] >= 0 or len(lower) < 6 or lower in there.bag or not _negative(lower):
                continue
            rests = {lower[len(prefix) :] for prefix in cues("negative_prefixes") if lower.startswith(prefix)}
            for place, word in enumerate(there.lower):
                if word in rests and word not in here.bag and place not in denied and len(word) > 3:
                    words = ([at], [place]) if of_source else ([place], [at])
                    yield pair.finding("flipped", "polarity", 0.85, *words)


def _hiding(pair: Matched, reading: ReadText, cue: Cue, *, forward: bool) -> list[int]:
    """Words of the other text, not accounted for, in which the denial may hide: near the place, or of the same root."""
    own = pair.source if forward else pair.output
    links, back = (pair.backward, pair.forward) if forward else (pair.forward, pair.backward)
    gaps, own_gaps = (pair.gaps[1], pair.gaps[0]) if forward else pair.gaps
    target, root = (own.lower[cue.target], own.stems[cue.target]) if cue.target >= 0 else ("", "")
    if target == "true" or (target and _negative(target)):
        return []
    linked = back[cue.target] if cue.target >= 0 else -1
    stretch = {own_gaps[cue.at], own_gaps[cue.target] if cue.target >= 0 else own_gaps[cue.at]}
    hiding = []
    for at, lower in enumerate(reading.lower):
        if links[at] >= 0 and lower in own.bag:
            continue
        near = -3 <= at - linked <= 1 if linked >= 0 else any(abs(gaps[at] - gap) <= 1 for gap in stretch)
        if lower == "free" and reading.lower[at + 1 : at + 2] in (("of",), ("from",)):
            hiding.append(at)
        if lower in ("rather", "instead") and reading.lower[at + 1 : at + 2] not in (("than",), ("of",), (",",)):
            continue
        denier = linked >= 0 and lower in cues("deniers") and 0 < linked - at <= 6
        if (
            denier
            or _negated_form(lower, target, root)
            or (near and (_negative(lower) or target in opposites().get(lower, ())))
        ):
            hiding.append(at)
    # A word that denies on this side too stands for one of them.
    apart = [
        at
        for at, lower in enumerate(own.lower)
        if at not in (cue.at, cue.target)
        and back[at] < 0
        and own_gaps[at] in stretch
        and _negative(lower)
        and not _denies(lower)
    ]
    return hiding[len(apart) :]


def _negative(lower: str) -> bool:
    if lower in cues("negative") or lower in cues("deniers") or _denies(lower):
        return True
    if len(lower) > 5 and lower.endswith(tuple(cues("negative_suffixes"))):
        return True
    return len(lower) > 5 and lower not in cues("look_negative") and _prefixed(lower)


def _prefixed(lower: str) -> bool:
    if lower.startswith(("un", "non")):
        return not lower.startswith(("under", "uni"))
    rests = [lower[len(prefix) :].lstrip("-") for prefix in cues("negative_prefixes") if lower.startswith(prefix)]
    if len(lower) > 8 and rests and lower.endswith(("able", "ible", "uble", "ful", "ently", "antly", "ate")):
        return True
    return any(rest in common_words() or stem(rest) in common_words() for rest in rests)


def _negated_form(lower: str, target: str, root: str) -> bool:
    """unknown for "not known"."""
    return len(target) >= 3 and any(
        lower.startswith(prefix) and lower[len(prefix) :].lstrip("-")[:4] == root[:4] != ""
        for prefix in cues("negative_prefixes")
        if len(lower) > len(prefix) + 2
    )


def check_modality(pair: Matched) -> Iterator[FactFinding]:
    """What was only possible and became certain, or the other way round; duties and conditions that came or went."""
    for strict, family in (("hedges", "possibility"), ("duties", "necessity"), ("restrictors", "restriction")):
        there, here = _of_family(pair.output, family), _of_family(pair.source, family)
        gone = [at for at in here if pair.source.lower[at] in cues(strict) and not there]
        new = [at for at in there if pair.output.lower[at] in cues(strict) and not here]
        for at in gone:
            target = _target(pair.source, at)
            place = pair.forward[target] if target >= 0 else -1
            if place >= 0 and not _questioned(pair.source, at):
                sure = 0.6 if strict == "hedges" else 0.5 if strict == "duties" else 0.45
                yield pair.finding("flipped", "modality", sure, [at, target], [place])
        for at in new:
            target = _target(pair.output, at)
            linked = pair.backward[target] if target >= 0 else -1
            if linked >= 0:
                sure = 0.55 if strict != "restrictors" else 0.45
                yield pair.finding("flipped", "modality", sure, [linked], [at, target])
    yield from _swapped(pair)


def _of_family(reading: ReadText, family: str) -> list[int]:
    return [
        at
        for at, lower in enumerate(reading.lower)
        if lower in cues(family) and not (reading.tokens[at] == "May" and at not in reading.firsts)
    ]


def _questioned(reading: ReadText, at: int) -> bool:
    """ "so that … may": a wish or a purpose, not a doubt."""
    before = reading.lower[max(0, at - 14) : at]
    return any(pair == ("so", "that") for pair in pairwise(before)) or "so" in before[-4:]


def _swapped(pair: Matched) -> Iterator[FactFinding]:
    """may for must before the same word."""
    for at, lower in enumerate(pair.output.lower):
        if lower not in _MUST | _MAY or pair.backward[at] >= 0:
            continue
        target = _target(pair.output, at)
        linked = pair.backward[target] if target >= 0 else -1
        other = _MAY if lower in _MUST else _MUST
        for place in range(max(0, linked - 3), linked):
            if pair.source.lower[place] in other and pair.forward[place] < 0:
                yield pair.finding("flipped", "modality", 0.85, [place, linked], [at, target])
