"""Who does what to whom in aligned sentences: participants that changed places, and names that were swapped.

English shows roles by order, the passive and converse verbs (buy and sell); German by the articles of masculine nouns,
too. Where two participants occur in one clause of each text, their order and the number of such turns must agree.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations

from rapidfuzz.distance import Levenshtein, Prefix

from plainly.factcheck.reading import FactFinding, MatchedPair, ReadText, cue_words, vocabulary
from plainly.factcheck.signals import align_pair, find_zones
from plainly.text.lexicon import CONTENT, KIND

_TURNS = {language: cue_words(f"turns_{language}") for language in ("en", "de")}
_NOMINATIVE, _OBLIQUE = frozenset(["der"]), frozenset(["den", "dem"])
_PASSIVE_EN = re.compile(
    r"\b(?:is|are|was|were|be|been|being|get|gets|got)\s+(?:\w+\s+){0,3}?\w+(?:ed|en|t|wn|ne)\s+(?:\w+\s+){0,3}?by\b"
)
_PASSIVE_DE = re.compile(r"\b(?:wird|werden|wurde|wurden|worden|geworden)\b")
_BY_DE = frozenset(["von", "vom", "durch"])
_MANNER = {"en": "", "de": "German "}
_TOWARDS = frozenset(["to", "from", "by", "against", "an", "von", "vom", "beim", "gegen", "durch", "dem"])
_FAR = 12  # words between two participants
_AFTER = 6  # words after them among which a German verb may stand


def check_exchanges(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report two participants of a clause that changed places."""
    alignment = align_pair(pair.source.text, pair.output.text, pair.language)
    for zone in find_zones(alignment):
        sides = [
            [pair_side.words_between((sentences[place].start, sentences[place].end)) for place in places]
            for pair_side, sentences, places in (
                (pair.source, alignment.source, zone.source),
                (pair.output, alignment.output, zone.output),
            )
        ]
        for here in sides[0]:
            for there in sides[1]:
                yield from _compare_sentences(pair, here, there)


def _compare_sentences(pair: MatchedPair, here: Sequence[int], there: Sequence[int]) -> Iterator[FactFinding]:
    source, output = pair.source, pair.output
    matched = []
    for at in here:
        if not _is_participant(source, at):
            continue
        places = [
            place for place in there if source.stems[at] == output.stems[place] and _is_participant(output, place)
        ]
        repeats = sum(source.stems[other] == source.stems[at] for other in here)
        if len(places) == 1 and repeats == 1:
            matched.append((at, places[0]))
    for (first, new_first), (second, new_second) in combinations(matched, 2):
        if not 1 < abs(second - first) <= _FAR or not 1 < abs(new_second - new_first) <= _FAR:
            continue
        ends = (first, second), (new_first, new_second)
        readings = ((source, max(ends[0])), (output, max(ends[1])))
        are_two = len(matched) == 2 or all(_follows_preposition(reading, at) for reading, at in readings)
        is_converse = _compare_actions(pair, (here, there), *ends) if are_two else None
        is_exchanged = _are_exchanged(pair, *ends)
        if is_exchanged if is_converse is None else is_converse:
            manner = _MANNER[pair.language] if is_converse is None else "converse "
            yield pair.finding(
                "flipped", "roles", f"{manner}roles exchanged", [first, second], sorted((new_first, new_second))
            )
            return


def _follows_preposition(reading: ReadText, at: int) -> bool:
    """Return whether a word is whom an action comes from or goes to, rather than what it is about."""
    return not _TOWARDS.isdisjoint(reading.lower[max(0, at - 2) : at])


@cache
def _actions(language: str) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Return patterns of verbs for an action and of verbs for the same action from the other side."""
    sides = [entry.split("|") for entry in vocabulary()["cues"][f"converse_{language}"]]
    one, other = (
        [re.compile("|".join(words.replace("*", r"\w*").split())) for words in side]
        for side in zip(*sides, strict=True)
    )
    return tuple(zip(one, other, strict=True))


def _compare_actions(
    pair: MatchedPair, sentences: Sequence[Sequence[int]], old: tuple[int, int], new: tuple[int, int]
) -> bool | None:
    """Return whether an action of both sentences changed its direction between two participants; none if unclear."""
    readings = pair.source, pair.output
    for patterns in _actions(pair.language):
        turned = []
        for reading, places, ends in zip(readings, sentences, (old, new), strict=True):
            reach = (1, 0) if pair.language == "en" else (-2, _AFTER)  # German verbs may stand around both
            near = [at for at in places if min(ends) + reach[0] <= at <= max(ends) + reach[1] and at not in ends]
            sides = [any(pattern.fullmatch(reading.lower[at]) for at in near) for pattern in patterns]
            if sides[0] == sides[1]:
                break
            text = reading.text[reading.spans[min(ends)][0] : reading.spans[max(ends)][1]].lower()
            by = re.search(r"\bby\b", text) if pair.language == "en" else _PASSIVE_DE.search(_stretch(reading, ends))
            is_fronted = pair.language == "de" and _article(reading, min(ends)) in ("object", "by")
            turned.append(sides[1] ^ bool(by) ^ is_fronted ^ (ends[0] > ends[1]))
        if len(turned) == len(readings):
            return turned[0] != turned[1]
    return None


def _is_participant(reading: ReadText, at: int) -> bool:
    """Return whether a word names someone: a capitalised word, in English also a noun after "the"."""
    if reading.kinds[at] not in CONTENT or reading.kinds[at] == KIND["number"] or len(reading.lower[at]) < 3:
        return False
    if reading.language == "de":
        return reading.tokens[at][0].isupper()
    if reading.tokens[at][0].isupper():
        return at not in reading.firsts or reading.kinds[at] == KIND["name"]
    return at > 0 and reading.lower[at - 1] in ("the", "his", "her", "their", "its", "our", "your")


def _are_exchanged(pair: MatchedPair, old: tuple[int, int], new: tuple[int, int]) -> bool:
    source, output = pair.source, pair.output
    if pair.language == "de":
        roles = [[_article(reading, at) for at in places] for reading, places in ((source, old), (output, new))]
        flat = {role for side in roles for role in side}
        if flat <= {"subject", "object"} and roles[0][0] != roles[0][1] and roles[1][0] != roles[1][1]:
            passive = [
                bool(_PASSIVE_DE.search(_stretch(reading, at))) for reading, at in ((source, old), (output, new))
            ]
            return (roles[0] != roles[1]) == (passive[0] == passive[1])
        return False
    between = [set(reading.stems[min(at) + 1 : max(at)]) for reading, at in ((source, old), (output, new))]
    if len({"than" in words for words in between}) == 2:  # longer than, not as long as
        return False
    verbs = {
        word for word in between[0] & between[1] if len(word) > 2 and word not in {source.stems[at] for at in old}
    } & {
        source.stems[at]
        for at in range(min(old) + 1, max(old))
        if source.kinds[at] == KIND["content"] and source.lower[at - 1] not in ("the", "a", "an", "of", "his", "her")
    }
    if not verbs:
        return False
    turns = [_count_turns(reading, at) for reading, at in ((source, old), (output, new))]
    is_reversed = (old[0] < old[1]) != (new[0] < new[1])
    return is_reversed == ((turns[0] - turns[1]) % 2 == 0)


def _stretch(reading: ReadText, places: tuple[int, int]) -> str:
    """Return the text around two words."""
    first, last = max(0, min(places) - 3), min(len(reading) - 1, max(places) + 4)
    return reading.text[reading.spans[first][0] : reading.spans[last][1]].lower()


def _count_turns(reading: ReadText, places: tuple[int, int]) -> int:
    text = reading.text[reading.spans[min(places)][0] : reading.spans[max(places)][1]].lower()
    passive = len(_PASSIVE_EN.findall(text)) or int(bool(re.search(r"\w+ed by\b", text)))
    return passive + sum(reading.lower[at] in _TURNS["en"] for at in range(min(places) + 1, max(places)))


def _article(reading: ReadText, at: int) -> str:
    """Return the role that the article of a German noun shows, or ""."""
    for place in range(at - 1, max(-1, at - 3), -1):
        word = reading.lower[place]
        if word in _NOMINATIVE:
            return "subject"
        if word in _OBLIQUE:
            return "by" if place and reading.lower[place - 1] in _BY_DE else "object"
        if reading.kinds[place] not in CONTENT:
            return ""
    return ""


_ENDINGS = re.compile(
    r"(?:e|en|er|ern|es|em|n|s|st|t|in|innen|ung|ungen|isch\w*|lich\w*|ing|ed|al|ial|an|ian|ians|ese|ish|ic|ion|ions|ity|ly|or|ors|ers|y|ies|)"
)
_ALIKE = 3  # letters at the beginning or the end that a word and the one that replaces it share


def check_swaps(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report a capitalised word that is replaced by one that looks like it: Austria and Australia."""
    missing = [at for at in _swappable(pair.source) if not _is_known(pair.source, at, pair.output)]
    new = [at for at in _swappable(pair.output) if not _is_known(pair.output, at, pair.source)]
    for there in new:
        for here in missing:
            old, word = pair.source.lower[here], pair.output.lower[there]
            if (
                pair.language == "en"
                and pair.rewording == "close"
                and not (_stand_alike(pair, here, there) and Levenshtein.distance(old, word) > 1)
            ):  # a typing error, or a name that ``check_names`` aligns
                continue
            manner = _look_alike(old, word)
            if manner and pair.language == "de":
                is_office = _OFFICE.search(old) and _OFFICE.search(word)
                manner += " of an office" if is_office else " in its place" if _stand_alike(pair, here, there) else ""
            if manner:
                yield pair.finding(
                    "changed", "name", f"{_MANNER[pair.language]}name with the same {manner}", [here], [there]
                )
                break


_OFFICE = re.compile(
    r"(?:ministerium|amt|behörde|gericht|kasse|schule|klinik|haus|heim|universität|straße|platz|stadt|bahnhof|verein|werk)s?$"
)


def _stand_alike(pair: MatchedPair, here: int, there: int) -> bool:
    """Return whether the words before two words are the same: "aus dem Iran", "aus dem Irak"."""
    return here > 0 and there > 0 and pair.source.lower[here - 1] == pair.output.lower[there - 1]


def _swappable(reading: ReadText) -> Iterator[int]:
    for at, token in enumerate(reading.tokens):
        is_word = len(token) > 3 and token[0].isupper() and reading.kinds[at] in CONTENT and token.isalpha()
        if is_word and (reading.language == "de" or at not in reading.firsts):
            yield at


def _is_known(reading: ReadText, at: int, other: ReadText) -> bool:
    own = reading.stems[at]
    return any(
        own == stem
        or (
            min(len(own), len(stem)) >= 4
            and (own.startswith(stem) or stem.startswith(own) or own.endswith(stem) or stem.endswith(own))
        )
        for stem in other.stems
    )


def _look_alike(old: str, new: str) -> str:
    """Return which part two different words share, or "" if they do not look alike or are forms of one word."""
    start = Prefix.similarity(old, new)
    if start >= _ALIKE and start >= 0.4 * max(len(old), len(new)) and abs(len(old) - len(new)) <= 2:
        rests = old[start:], new[start:]
        return "" if all(_ENDINGS.fullmatch(rest) for rest in rests) else "beginning"
    end = Prefix.similarity(old[::-1], new[::-1])
    if end >= 6 and min(len(old), len(new)) - end >= 3:
        return "end"
    return ""
