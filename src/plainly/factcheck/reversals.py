"""What was turned round: opposites put in a word's place, cause and effect, before and after, who did it to whom."""

from collections.abc import Iterator, Sequence

from plainly.factcheck.finding import FactFinding
from plainly.factcheck.polarity import negations
from plainly.factcheck.reading import Matched, ReadText, cues, opposites
from plainly.text.lexicon import BE, CONTENT, IRREGULAR_FORMS, KIND

_WHO = CONTENT | {KIND["pronoun"]}
_PASSIVE = BE | {"get", "gets", "got"}
_SIDED = frozenset({"before", "after", "because", "since", "so", "therefore", "thus", "hence", "than", "until"})
_FORWARD, _BACKWARD = frozenset({"so", "therefore", "thus", "hence"}), frozenset({"because", "since", "due"})
_SURE = {"polarity": 0.7, "comparison": 0.8, "order": 0.72, "person": 0.7}
_MUTUAL = cues("mutual")
_NEAR = 2  # gaps apart


def check_turned(pair: Matched) -> Iterator[FactFinding]:
    """All that was turned round."""
    yield from _opposites(pair)
    yield from _sides(pair)
    yield from _roles(pair)


def _opposites(pair: Matched) -> Iterator[FactFinding]:
    """A word whose opposite stands in its place."""
    denied = [{cue.target for cue in negations(reading)} for reading in (pair.source, pair.output)]
    for place, lower in enumerate(pair.output.lower):
        if pair.backward[place] >= 0 or lower not in opposites() or lower in pair.source.bag:
            continue
        for at, word in enumerate(pair.source.lower):
            kind = opposites()[lower].get(word)
            if kind is None or pair.forward[at] >= 0 or word in pair.output.bag:
                continue
            near = abs(pair.gaps[0][at] - pair.gaps[1][place]) <= _NEAR
            alike = _same_company(pair, at, place)
            if not (near or alike):
                continue
            beside = [
                bool(set(reading.lower[max(0, own - 1) : own + 2]) & {"not", "no", "n't"})
                for reading, own in ((pair.source, at), (pair.output, place))
            ]
            if (at in denied[0]) != (place in denied[1]) or beside[0] != beside[1] or _pronoun(pair, at):
                yield pair.finding("harmless", "negation", 0.6, [at], [place])
            elif word in _SIDED and lower in _SIDED and (_crossed(pair, at, place) or _points_back(pair, at, place)):
                yield pair.finding("harmless", "relation", 0.7, [at], [place])
            else:
                same = pair.gaps[0][at] == pair.gaps[1][place]
                sure = _SURE[kind] + (0.1 if same and alike else 0.0 if same or alike else -0.25)
                yield pair.finding("changed" if kind == "person" else "flipped", kind, sure, [at], [place])
            break


def _pronoun(pair: Matched, at: int) -> bool:
    return pair.source.lower[at] in ("he", "she", "his", "her", "him") and len(pair.source.content) > 40


def _points_back(pair: Matched, at: int, place: int) -> bool:
    """ "A before B" and "A. After this, B"."""
    following = (*pair.source.lower[at + 1 : at + 2], *pair.output.lower[place + 1 : place + 2])
    return bool({"this", "that", "which", "then", ","} & set(following))


def _same_company(pair: Matched, at: int, place: int) -> bool:
    """Whether the words before, or after, correspond."""
    after = at + 1 < len(pair.source) and pair.forward[at + 1] == place + 1
    return after or (at > 0 and place > 0 and pair.forward[at - 1] == place - 1)


def _majority(pair: Matched, words: Sequence[int], place: int) -> int:
    """Whether the counterparts of some source words stand after (1) or before (−1) a place; 0: unclear."""
    links = [pair.forward[at] for at in words if pair.source.kinds[at] in CONTENT]
    after, before = sum(link > place for link in links), sum(0 <= link < place for link in links)
    return 1 if after > 2 * before else -1 if before > 2 * after else 0


def _halves(reading: ReadText, at: int) -> tuple[list[int], list[int]]:
    """The words of the sentence before and after a connective."""
    whole = [place for place, number in enumerate(reading.sentences) if number == reading.sentences[at]]
    return [place for place in whole if place < at], [place for place in whole if place > at]


def _crossed(pair: Matched, at: int, place: int) -> bool:
    """Whether what stood after a connective of the source stands before that of the output, or the other way round."""
    before, after = _halves(pair.source, at)
    if at == (before[0] if before else at):  # "After he left, she came": the comma parts the two halves
        before, after = _fronted(pair.source, at)
    return _majority(pair, after, place) < 0 or _majority(pair, before, place) > 0


def _fronted(reading: ReadText, at: int) -> tuple[list[int], list[int]]:
    _, rest = _halves(reading, at)
    comma = next((place for place in rest if reading.tokens[place] == ","), None)
    if comma is None:
        return [], rest
    return [place for place in rest if place > comma], [place for place in rest if place < comma]


def _sides(pair: Matched) -> Iterator[FactFinding]:
    """The same connective with its sides exchanged; or because for so with its sides kept."""
    for place, lower in enumerate(pair.output.lower):
        if lower not in _SIDED:
            continue
        for at, word in enumerate(pair.source.lower):
            same = word == lower
            turned = (word in _FORWARD and lower in _BACKWARD) or (word in _BACKWARD and lower in _FORWARD)
            if not (same or turned):
                continue
            halves = [_split(reading, own) for reading, own in ((pair.source, at), (pair.output, place))]
            crossing = _crossing(pair, *halves)
            kind = "comparison" if word == "than" else "cause" if word in _FORWARD | _BACKWARD else "order"
            if crossing and crossing == (-1 if same else 1):
                yield pair.finding("flipped", kind, 0.75, [at], [place])
            elif turned and crossing == -1:
                yield pair.finding("harmless", "relation", 0.8, [at], [place])
            return


def _split(reading: ReadText, at: int) -> tuple[set[int], set[int]]:
    """What stands on the side of the main clause, and what on the side of the connective."""
    before, after = _halves(reading, at)
    if not any(reading.kinds[place] in CONTENT for place in before):
        before, after = _fronted(reading, at)
        if not before and reading.sentences[at] > 0 and reading.lower[at] in _FORWARD:
            before = [place for place, n in enumerate(reading.sentences) if n == reading.sentences[at] - 1]
    return ({place for place in before if reading.kinds[place] in CONTENT},
            {place for place in after if reading.kinds[place] in CONTENT})  # fmt: skip


def _crossing(pair: Matched, source: tuple[set[int], set[int]], output: tuple[set[int], set[int]]) -> int:
    """1 if both sides correspond, −1 if they have changed places, 0 if that can't be told."""
    straight = [sum(pair.forward[at] in output[side] for at in source[side]) for side in (0, 1)]
    across = [sum(pair.forward[at] in output[1 - side] for at in source[side]) for side in (0, 1)]
    if min(across) > 0 and sum(across) > 2 * sum(straight):
        return -1
    return int(min(straight) > 0 and sum(straight) > 2 * sum(across))


def _roles(pair: Matched) -> Iterator[FactFinding]:
    """Who does it and to whom: the words left and right of the same verb have changed places, and the voice has not."""
    source, output = pair.source, pair.output
    for at, place in enumerate(pair.forward):
        if place < 0 or not _is_verb(source, at) or not _is_verb(output, place):
            continue
        sides = _neighbours(source, at), _neighbours(output, place)
        if not all(side for both in sides for side in both):
            continue
        (left, right), (new_left, new_right) = sides
        if not all(any(source.kinds[word] == KIND["name"] for word in side) for side in (left, right)):
            continue
        left_kept, right_kept = ({pair.forward[word] for word in side} for side in (left, right))
        across = not left_kept.isdisjoint(new_right) and not right_kept.isdisjoint(new_left)
        straight = not left_kept.isdisjoint(new_left) and not right_kept.isdisjoint(new_right)
        same_voice = _passive(source, at) == _passive(output, place)
        if (across and not straight) if same_voice else (straight and not across):
            yield pair.finding("flipped", "roles", 0.75, [left[-1], at, right[0]], [new_left[-1], place, new_right[0]])
            return


def _is_verb(reading: ReadText, at: int) -> bool:
    """A word in -ed, or an irregular past, that is not written large and does not say what is done by both sides."""
    lower = reading.lower[at]
    if reading.kinds[at] != KIND["content"] or reading.tokens[at][0].isupper() or lower in _MUTUAL:
        return False
    return lower.endswith("ed") or lower in IRREGULAR_FORMS


def _neighbours(reading: ReadText, at: int) -> tuple[list[int], list[int]]:
    """Names, nouns and pronouns of the clause close to a word, on its left and on its right."""
    clause = reading.clause(at)
    left = [place for place in range(max(clause.start, at - 4), at) if reading.kinds[place] in _WHO]
    right = [place for place in range(at + 1, min(clause.stop, at + 5)) if reading.kinds[place] in _WHO]
    return left, right


def _passive(reading: ReadText, at: int) -> bool:
    """was … by: a form of "be" shortly before the verb and "by" shortly after it."""
    be = any(word in _PASSIVE for word in reading.lower[max(0, at - 3) : at])
    return reading.lower[at + 1 : at + 2] == ("by",) or (be and "by" in reading.lower[at + 1 : at + 4])
