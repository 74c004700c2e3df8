"""Statements turned into their opposite: negations, certainty and duties, opposites, cause and effect, roles.

A negation applies to the next content word of its clause. It has a counterpart if the other text negates the same word
or the corresponding clause; other words may imply a negation too ("unable", "unknown", "failed to").
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from plainly.factcheck.reading import CACHE_SIZE, FactFinding, MatchedPair, ReadText, common_words, cue_words, opposites
from plainly.text.lexicon import BE, CONTENT, IRREGULAR_FORMS, KIND, is_negation, stem

_REACH = 7
_VERBS = frozenset({KIND["content"], KIND["auxiliary"]})
_ABLE = frozenset({"could", "can", "able", "managed", "succeeded"})
_SKIPPED = cue_words("skipped")
_MUST, _MAY = frozenset({"must", "shall"}), frozenset({"may", "might", "can", "could"})
_WHO = CONTENT | {KIND["pronoun"]}
_PASSIVE = BE | {"get", "gets", "got"}
_SIDED = frozenset({"before", "after", "because", "since", "so", "therefore", "thus", "hence", "than", "until"})
_FORWARD, _BACKWARD = frozenset({"so", "therefore", "thus", "hence"}), frozenset({"because", "since", "due"})
_SURE = {"polarity": 0.7, "comparison": 0.8, "order": 0.72, "person": 0.7}
_MUTUAL = cue_words("mutual")
_NEAR = 2  # gaps apart


@dataclass(frozen=True)
class Cue:
    """A word that negates, and the position of the word that it negates (−1 if unclear)."""

    at: int
    target: int
    hidden: bool = False


def check_polarity(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report negations that were added or dropped."""
    source_cues, output_cues = negations(pair.source), negations(pair.output)
    lost_cues, new_cues = list(source_cues), list(output_cues)  # those without a counterpart
    for are_counterparts in (_are_aligned, _have_same_target, _are_in_same_clause, _are_in_same_gap, _are_rephrased):
        for there in tuple(new_cues):
            counterpart = next((here for here in lost_cues if are_counterparts(pair, here, there)), None)
            if counterpart is not None:
                lost_cues.remove(counterpart)
                new_cues.remove(there)
    denied_stems = {pair.source.stems[cue.target] for cue in source_cues if cue.target >= 0 and not cue.hidden}
    for there in new_cues:
        is_repeated = there.target >= 0 and pair.output.stems[there.target] in denied_stems  # denied a second time
        if not there.hidden and not is_repeated:
            yield from _check_new_negation(pair, there)
    output_denies = not all(there.hidden for there in output_cues)
    for here in lost_cues:
        if not (output_denies and pair.source.lower[here.at] == "nor"):
            yield from _check_lost_negation(pair, here, output_cues)
    yield from _check_prefixes(pair)
    output = pair.output
    for at, lower in enumerate(output.lower[:-1]):  # "not only" for "only"
        link = pair.backward[at + 1]
        if lower == "not" and output.lower[at + 1] == "only" and link >= 0 and "not" not in pair.source.lower:
            yield pair.finding("flipped", "polarity", 0.8, [link], [at, at + 1])
    # "It does have": a verb stressed as if something had been denied, where the source denied something.
    source_words = zip(pair.source.lower, pair.forward, strict=True)
    source_denies = bool(lost_cues) or any(link < 0 and _is_negative(lower) for lower, link in source_words)
    if "?" in output.tokens or output_denies or not source_denies:
        return
    for at, lower in enumerate(output.lower[:-1]):
        is_stressed = lower in ("do", "does", "did") and pair.backward[at] < 0 and at not in output.firsts
        if is_stressed and output.kinds[at + 1] in _VERBS and not output.lower[at + 1].endswith(("ing", "ed")):
            yield pair.finding("flipped", "polarity", 0.6, [], [at, at + 1])


@lru_cache(maxsize=CACHE_SIZE)
def negations(reading: ReadText) -> tuple[Cue, ...]:
    """Return every negation in a text."""
    return tuple(
        Cue(at, _find_target(reading, at), hidden=not _is_denial(lower))
        for at, lower in enumerate(reading.lower)
        if (not _is_empty_denial(reading, at) if _is_denial(lower) else lower in cue_words("deniers"))
    )


def _is_denial(lower: str) -> bool:
    return is_negation(lower) or lower in cue_words("more_negations")


def _is_empty_denial(reading: ReadText, at: int) -> bool:
    """Return whether a negation word negates nothing: "not only", "whether or not", "No. 5"."""
    word, before = reading.lower[at], reading.lower[at - 1] if at else ""
    following, is_before_capital = "", False
    if at + 1 < len(reading):
        following, is_before_capital = reading.lower[at + 1], not reading.tokens[at + 1][0].islower()
    return (
        (word in ("no", "no.") and (following[:1].isdigit() or following in (".", "#", "“", '"')))
        or (reading.tokens[at][0].isupper() and at not in reading.firsts and is_before_capital)  # in a title
        or (word == "no" and following in cue_words("empty_after_no"))
        or (following in cue_words("empty_before_than") and reading.lower[at + 2 : at + 3] == ("than",))
        or following in cue_words("empty_after")
        or (word == "not" and before in cue_words("empty_before"))
    )


def _find_target(reading: ReadText, at: int) -> int:
    """Return the negated word: the next content word of the clause, adverbs last, or else the last one before."""
    content = [place for place in reading.clause(at) if reading.kinds[place] in CONTENT and -4 <= place - at <= _REACH]
    after = [place for place in content if place > at and reading.lower[place] not in _SKIPPED]
    before = [place for place in content if place < at]
    verbs_and_nouns = [place for place in after if not reading.lower[place].endswith("ly")]
    return next(iter((*verbs_and_nouns, *after, *before[-1:])), -1)


def _are_aligned(pair: MatchedPair, here: Cue, there: Cue) -> bool:
    """Return whether two negations are aligned and their targets are not kept far apart."""
    if pair.backward[there.at] != here.at or here.hidden != there.hidden:
        return False
    link = pair.backward[there.target] if here.target >= 0 and there.target >= 0 else -1
    return link < 0 or abs(link - here.target) <= 6


def _have_same_target(pair: MatchedPair, here: Cue, there: Cue) -> bool:
    return there.target >= 0 and here.target >= 0 and pair.backward[there.target] == here.target


def _are_in_same_clause(pair: MatchedPair, here: Cue, there: Cue) -> bool:
    """Return whether most words of the output's clause come from the clause of the source's negation."""
    links = [pair.backward[at] for at in pair.output.clause(there.at) if pair.output.kinds[at] in CONTENT]
    votes = Counter(pair.source.clauses[link] for link in links if link >= 0)
    if not votes or (there.target >= 0 and pair.output.lower[there.target] == "true"):
        return False
    # In a long clause two negations may deny two things: where a denied word is kept, its negation must stand near.
    link = pair.backward[there.target] if there.target >= 0 else -1
    counterpart = pair.forward[here.target] if here.target >= 0 else -1
    near = (counterpart < 0 or abs(counterpart - there.at) <= 4) and (link < 0 or abs(link - here.at) <= 4)
    return near and votes[pair.source.clauses[here.at]] == max(votes.values())


def _are_rephrased(pair: MatchedPair, here: Cue, there: Cue) -> bool:
    """Return whether neither negated word is kept, so that one negation may paraphrase the other."""
    is_kept = here.target >= 0 and pair.forward[here.target] >= 0
    if there.target >= 0:
        is_kept = is_kept or pair.backward[there.target] >= 0 or pair.output.lower[there.target] == "true"
    return not is_kept and not here.hidden


def _are_in_same_gap(pair: MatchedPair, here: Cue, there: Cue) -> bool:
    return pair.gaps[0][here.at] == pair.gaps[1][there.at]


def _check_new_negation(pair: MatchedPair, cue: Cue) -> Iterator[FactFinding]:
    """Report a negation that the source does not have, unless another word implies it there."""
    output, source = pair.output, pair.source
    words = [cue.at, *([cue.target] if cue.target >= 0 else [])]
    if "until" in output.lower[cue.at + 1 : cue.at + 8] and "until" not in source.lower:
        return
    link = pair.backward[cue.target] if cue.target >= 0 else -1
    if hidden := _find_hidden(pair.reverse, cue):
        yield pair.finding("harmless", "negation", 0.7, hidden[:1], words)
    elif link >= 0:
        yield pair.finding("flipped", "polarity", 0.93, [link], words)
    else:
        clause = [at for at in output.clause(cue.at) if output.kinds[at] in CONTENT]
        support = sum(pair.backward[at] >= 0 for at in clause)
        sure = 0.85 if clause and support >= 0.5 * len(clause) else 0.62
        yield pair.finding("flipped", "polarity", sure, [], words)


def _check_lost_negation(pair: MatchedPair, cue: Cue, output_cues: Sequence[Cue]) -> Iterator[FactFinding]:
    """Report a negation that the output does not have, although it has the negated word."""
    source = pair.source
    following = source.lower[cue.at + 1] if cue.at + 1 < len(source) else ""
    if following in cue_words("partly_after") and pair.forward[cue.at + 1] >= 0:
        yield pair.finding("flipped", "polarity", 0.8, [cue.at, cue.at + 1], [pair.forward[cue.at + 1]])
        return
    is_partial = following in cue_words("partly_after") or (
        "until" in source.lower[cue.at + 1 : cue.at + 8] and "until" not in pair.output.lower
    )
    if cue.target < 0 or is_partial:
        return
    place = pair.forward[cue.target]
    words = [cue.at, cue.target]
    hidden = _find_hidden(pair, cue)
    if cue.hidden and not hidden:  # "failed to pay" and "unpaid": anywhere will do
        free = enumerate(zip(pair.output.lower, pair.backward, strict=True))
        hidden = [at for at, (lower, link) in free if link < 0 and (_is_negative(lower) or lower in ("low", "small"))]
    if hidden or (place >= 0 and any(there.target == place for there in output_cues)):
        if hidden and not cue.hidden:
            yield pair.finding("harmless", "negation", 0.7, words, hidden[:1])
        return
    if place >= 0:  # a negation before may reach the word over "or": no satellites or atmosphere
        before = pair.output.lower[max(0, place - 8) : place]
        joint = max((at for at, word in enumerate(before) if word in ("or", "nor")), default=-1)
        if any(map(_is_denial, before[: max(joint, 0)])):
            return
    clause = [at for at in source.clause(cue.at) if source.kinds[at] in CONTENT and at != cue.at]
    is_kept = sum(pair.forward[at] >= 0 for at in clause) >= 0.34 * len(clause)
    if place >= 0:
        sure = 0.4 if not is_kept else 0.6 if cue.hidden else 0.9
        yield pair.finding("flipped", "polarity", sure, words, [place])
        return
    gap = pair.gaps[0][cue.target]
    replacements = [at for at in pair.output.content if pair.gaps[1][at] == gap and pair.backward[at] < 0]
    if replacements and is_kept and not cue.hidden:
        yield pair.finding("flipped", "polarity", 0.55, words, replacements[:2])
    elif cue.hidden and source.lower[cue.at] in cue_words("failing"):
        able_words = [at for at, lower in enumerate(pair.output.lower) if lower in _ABLE and pair.backward[at] < 0]
        if able_words and all(there.hidden for there in output_cues):
            yield pair.finding("flipped", "polarity", 0.6, words, able_words[:1])


def _check_prefixes(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report "aware" for "unaware", or the reverse, without a negation nearby."""
    for view in (pair, pair.reverse):
        here, there = view.source, view.output
        denied_places = {cue.target + step for cue in negations(there) for step in (-1, 0, 1, 2)}
        for at, lower in enumerate(here.lower):
            if view.forward[at] >= 0 or len(lower) < 6 or lower in there.bag or not _is_negative(lower):
                continue
            rests = {lower[len(prefix) :] for prefix in cue_words("negative_prefixes") if lower.startswith(prefix)}
            for place, word in enumerate(there.lower):
                if word in rests and word not in here.bag and place not in denied_places and len(word) > 3:
                    words = ([at], [place]) if view is pair else ([place], [at])
                    yield pair.finding("flipped", "polarity", 0.85, *words)


def _find_hidden(pair: MatchedPair, cue: Cue) -> list[int]:
    """Return unaligned words of the output that may imply a negation of the source: nearby, or of the same root."""
    source, output = pair.source, pair.output
    target, root, link = "", "", -1
    if cue.target >= 0:
        target, root, link = source.lower[cue.target], source.stems[cue.target], pair.forward[cue.target]
    if target == "true" or (target and _is_negative(target)):
        return []
    stretch = {pair.gaps[0][at] for at in (cue.at, cue.target) if at >= 0}
    hidden = []
    for at, lower in enumerate(output.lower):
        if pair.backward[at] >= 0 and lower in source.bag:
            continue
        is_near = -3 <= at - link <= 1 if link >= 0 else any(abs(pair.gaps[1][at] - gap) <= 1 for gap in stretch)
        if lower == "free" and output.lower[at + 1 : at + 2] in (("of",), ("from",)):
            hidden.append(at)
        if lower in ("rather", "instead") and output.lower[at + 1 : at + 2] not in (("than",), ("of",), (",",)):
            continue
        is_denier = link >= 0 and lower in cue_words("deniers") and 0 < link - at <= 6
        if (
            is_denier
            or _is_negated_form(lower, target, root)
            or (is_near and (_is_negative(lower) or target in opposites().get(lower, ())))
        ):
            hidden.append(at)
    # A word of the source that denies too stands for one of them.
    others = (at for at in range(len(source)) if pair.forward[at] < 0 and pair.gaps[0][at] in stretch)
    denials = (source.lower[at] for at in others if at not in (cue.at, cue.target))
    return hidden[sum(_is_negative(lower) and not _is_denial(lower) for lower in denials) :]


def _is_negative(lower: str) -> bool:
    """Return whether a word denies or may imply a negation."""
    is_listed = lower in cue_words("negative") or lower in cue_words("deniers") or _is_denial(lower)
    if is_listed or len(lower) <= 5:
        return is_listed
    has_suffix = lower.endswith(tuple(cue_words("negative_suffixes")))
    if has_suffix or lower in cue_words("look_negative"):
        return has_suffix
    if lower.startswith(("un", "non")):
        return not lower.startswith(("under", "uni"))
    rests = [lower[len(prefix) :].lstrip("-") for prefix in cue_words("negative_prefixes") if lower.startswith(prefix)]
    is_derived = len(lower) > 8 and lower.endswith(("able", "ible", "uble", "ful", "ently", "antly", "ate"))
    return any(is_derived or rest in common_words() or stem(rest) in common_words() for rest in rests)


def _is_negated_form(lower: str, target: str, root: str) -> bool:
    """Return whether a word is the negated form of another: "unknown" for "not known"."""
    return len(target) >= 3 and any(
        lower.startswith(prefix) and lower[len(prefix) :].lstrip("-")[:4] == root[:4] != ""
        for prefix in cue_words("negative_prefixes")
        if len(lower) > len(prefix) + 2
    )


def check_modality(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report possibilities that became certain, or the reverse, and duties or conditions added or dropped."""
    for strict, family, sure_lost, sure_new in (
        ("hedges", "possibility", 0.6, 0.55),
        ("duties", "necessity", 0.5, 0.55),
        ("restrictors", "restriction", 0.45, 0.45),
    ):
        there, here = _find_family(pair.output, family), _find_family(pair.source, family)
        for at in (at for at in here if pair.source.lower[at] in cue_words(strict) and not there):
            target = _find_target(pair.source, at)
            place = pair.forward[target] if target >= 0 else -1
            before = pair.source.lower[max(0, at - 14) : at]
            is_purpose = ("so", "that") in pairwise(before) or "so" in before[-4:]  # "so that … may": no doubt
            is_request = place in pair.output.firsts  # "Leave your bag": a duty, too
            if place >= 0 and not is_purpose and not is_request and before[-1:] != ("not",):
                yield pair.finding("flipped", "modality", sure_lost, [at, target], [place])
        for at in (at for at in there if pair.output.lower[at] in cue_words(strict) and not here):
            target = _find_target(pair.output, at)
            if target >= 0 and pair.backward[target] >= 0:
                yield pair.finding("flipped", "modality", sure_new, [pair.backward[target]], [at, target])
    for at, lower in enumerate(pair.output.lower):  # may for must before the same word
        if lower not in _MUST | _MAY or pair.backward[at] >= 0:
            continue
        target = _find_target(pair.output, at)
        link = pair.backward[target] if target >= 0 else -1
        for place in range(max(0, link - 3), link):
            if pair.source.lower[place] in (_MAY if lower in _MUST else _MUST) and pair.forward[place] < 0:
                yield pair.finding("flipped", "modality", 0.85, [place, link], [at, target])


def _find_family(reading: ReadText, family: str) -> list[int]:
    return [
        at
        for at, lower in enumerate(reading.lower)
        if lower in cue_words(family) and not (reading.tokens[at] == "May" and at not in reading.firsts)
    ]


def check_opposites(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report words that were replaced by their opposites."""
    denied_places = [{cue.target for cue in negations(reading)} for reading in (pair.source, pair.output)]
    for place, lower in enumerate(pair.output.lower):
        if pair.backward[place] >= 0 or lower not in opposites() or lower in pair.source.bag:
            continue
        for at, word in enumerate(pair.source.lower):
            kind = opposites()[lower].get(word)
            if kind is None or pair.forward[at] >= 0 or word in pair.output.bag:
                continue
            is_near = abs(pair.gaps[0][at] - pair.gaps[1][place]) <= _NEAR
            # Whether the words before, or after, correspond.
            after = at + 1 < len(pair.source) and pair.forward[at + 1] == place + 1
            is_alike = after or (at > 0 and place > 0 and pair.forward[at - 1] == place - 1)
            if not (is_near or is_alike):
                continue
            has_negation = [
                bool(set(reading.lower[max(0, own - 1) : own + 2]) & {"not", "no", "n't"})
                for reading, own in ((pair.source, at), (pair.output, place))
            ]
            is_pronoun = word in ("he", "she", "his", "her", "him") and len(pair.source.content) > 40
            # "A before B" and "A. After this, B"
            next_words = {*pair.source.lower[at + 1 : at + 2], *pair.output.lower[place + 1 : place + 2]}
            refers_back = not next_words.isdisjoint(("this", "that", "which", "then", ","))
            if (
                (at in denied_places[0]) != (place in denied_places[1])
                or has_negation[0] != has_negation[1]
                or is_pronoun
            ):
                yield pair.finding("harmless", "negation", 0.6, [at], [place])
            elif (kind == "comparison" and _is_turned(pair)) or (
                word in _SIDED and lower in _SIDED and (refers_back or _has_crossed(pair, at, place))
            ):
                yield pair.finding("harmless", "relation", 0.7, [at], [place])
            else:
                is_same_gap = pair.gaps[0][at] == pair.gaps[1][place]
                sure = _SURE[kind] + (0.1 if is_same_gap and is_alike else 0.0 if is_same_gap or is_alike else -0.25)
                yield pair.finding("changed" if kind == "person" else "flipped", kind, sure, [at], [place])
            break


def _side_of_counterparts(pair: MatchedPair, words: Sequence[int], place: int) -> int:
    """Return whether the counterparts of some source words follow (1) or precede (−1) a position; 0: unclear."""
    links = [pair.forward[at] for at in words if pair.source.kinds[at] in CONTENT]
    after, before = sum(link > place for link in links), sum(0 <= link < place for link in links)
    return 1 if after > 2 * before else -1 if before > 2 * after else 0


def _split_sentence(reading: ReadText, at: int) -> tuple[list[int], list[int]]:
    """Return the words of the sentence before and after a connective."""
    whole = [place for place, number in enumerate(reading.sentences) if number == reading.sentences[at]]
    return [place for place in whole if place < at], [place for place in whole if place > at]


def _has_crossed(pair: MatchedPair, at: int, place: int) -> bool:
    """Return whether words moved to the other side of the connective."""
    before, after = _split_sentence(pair.source, at)
    if not before:  # "After he left, she came": the comma separates the two halves
        before, after = _split_fronted(pair.source, at)
    return _side_of_counterparts(pair, after, place) < 0 or _side_of_counterparts(pair, before, place) > 0


def _split_fronted(reading: ReadText, at: int) -> tuple[list[int], list[int]]:
    _, rest = _split_sentence(reading, at)
    comma = next((place for place in rest if reading.tokens[place] == ","), len(reading))
    return [place for place in rest if place > comma], [place for place in rest if place < comma]


def check_sides(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report a connective with its sides exchanged, or "because" for "so" with its sides kept."""
    for place, lower in enumerate(pair.output.lower):
        if lower not in _SIDED:
            continue
        for at, word in enumerate(pair.source.lower):
            is_same = word == lower
            is_reversed = (word in _FORWARD and lower in _BACKWARD) or (word in _BACKWARD and lower in _FORWARD)
            if not (is_same or is_reversed):
                continue
            straight, across = _count_sides(pair, at, place)
            is_exchanged = min(across) > 0 and sum(across) > 2 * sum(straight)
            is_kept = min(straight) > 0 and sum(straight) > 2 * sum(across)
            if word == lower == "than" and is_exchanged and _has_opposite(pair):
                return
            kind = "comparison" if word == "than" else "cause" if word in _FORWARD | _BACKWARD else "order"
            if is_exchanged if is_same else is_kept:
                yield pair.finding("flipped", kind, 0.75, [at], [place])
            elif is_reversed and is_exchanged:
                yield pair.finding("harmless", "relation", 0.8, [at], [place])
            return


def _count_sides(pair: MatchedPair, at: int, place: int) -> list[list[int]]:
    """Return how many words of both sides of a connective are kept on their side, and on the other one."""
    source, output = _split_sides(pair.source, at), _split_sides(pair.output, place)
    return [
        [sum(pair.forward[own] in output[side ^ change] for own in source[side]) for side in (0, 1)]
        for change in (0, 1)
    ]


def _has_opposite(pair: MatchedPair) -> bool:
    """Return whether a comparison is made with the opposite word."""
    return any(
        kind == "comparison" and word in pair.source.bag
        for lower in pair.output.lower
        for word, kind in opposites().get(lower, {}).items()
    )


def _is_turned(pair: MatchedPair) -> bool:
    """Return whether a comparison is made from the other side: "A is larger than B", "B is smaller than A"."""
    if "than" not in pair.source.bag or "than" not in pair.output.bag:
        return False
    straight, across = _count_sides(pair, pair.source.lower.index("than"), pair.output.lower.index("than"))
    return sum(across) > sum(straight)


def _split_sides(reading: ReadText, at: int) -> tuple[set[int], set[int]]:
    """Return the content words on the side of the main clause and on that of the connective."""
    before, after = _split_sentence(reading, at)
    if not any(reading.kinds[place] in CONTENT for place in before):
        before, after = _split_fronted(reading, at)
        if not before and reading.sentences[at] > 0 and reading.lower[at] in _FORWARD:
            before = [place for place, n in enumerate(reading.sentences) if n == reading.sentences[at] - 1]
    main, other = ({place for place in half if reading.kinds[place] in CONTENT} for half in (before, after))
    return main, other


def check_roles(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report a verb whose subject and object were exchanged."""
    source, output = pair.source, pair.output
    for at, place in enumerate(pair.forward):
        if place < 0 or not _is_verb(source, at) or not _is_verb(output, place):
            continue
        (left, right), (new_left, new_right) = _find_neighbours(source, at), _find_neighbours(output, place)
        has_names = all(any(source.kinds[word] == KIND["name"] for word in side) for side in (left, right))
        if not has_names or not new_left or not new_right:
            continue
        left_links, right_links = ({pair.forward[word] for word in side} for side in (left, right))
        is_exchanged = not left_links.isdisjoint(new_right) and not right_links.isdisjoint(new_left)
        is_unchanged = not left_links.isdisjoint(new_left) and not right_links.isdisjoint(new_right)
        same_voice = _is_passive(source, at) == _is_passive(output, place)
        if (is_exchanged and not is_unchanged) if same_voice else (is_unchanged and not is_exchanged):
            yield pair.finding("flipped", "roles", 0.75, [left[-1], at, right[0]], [new_left[-1], place, new_right[0]])
            return


def _is_verb(reading: ReadText, at: int) -> bool:
    """Return whether a word is a past form of a verb that does not describe a mutual action."""
    lower, is_capitalised = reading.lower[at], reading.tokens[at][0].isupper()
    is_past = lower.endswith("ed") or lower in IRREGULAR_FORMS
    return is_past and reading.kinds[at] == KIND["content"] and not is_capitalised and lower not in _MUTUAL


def _find_neighbours(reading: ReadText, at: int) -> tuple[list[int], list[int]]:
    """Return names, nouns and pronouns of the clause close to a word, on its left and on its right."""
    near = [place for place in reading.clause(at) if abs(place - at) <= 4 and reading.kinds[place] in _WHO]
    return [place for place in near if place < at], [place for place in near if place > at]


def _is_passive(reading: ReadText, at: int) -> bool:
    """Return whether a verb is passive: a form of "be" shortly before it and "by" shortly after."""
    be = any(word in _PASSIVE for word in reading.lower[max(0, at - 3) : at])
    return reading.lower[at + 1 : at + 2] == ("by",) or (be and "by" in reading.lower[at + 1 : at + 4])
