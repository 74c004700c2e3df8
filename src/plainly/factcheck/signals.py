"""Words that say how a statement holds (duty, permission, guess, amount, condition, order), sentence by sentence.

Bold rewording keeps few words, so single words have no counterparts. But a sentence that allows something and its
rewording agree in a few values, whatever their words: "is prohibited" and "you may not" are both a ban. Each sentence
is read into such values, and the values of aligned sentences are compared by the rules in ``signals.toml``.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from plainly.core.files import read_shipped
from plainly.factcheck.reading import CACHE_SIZE, FactFinding, MatchedPair, Span
from plainly.text.lexicon import CONTENT, kind, kind_german, stem, stem_german
from plainly.text.sentence_alignment import Alignment, PlacedSentence, align_many

LANGUAGES = ("en", "de")
Signals = dict[str, tuple[Span, ...]]


@dataclass(frozen=True)
class Rule:
    """What makes a pair of aligned sentences doubtful; see ``signals.toml``."""

    name: str
    kind: str
    source: tuple[str, ...]
    output: tuple[str, ...]
    not_source: tuple[str, ...]
    not_output: tuple[str, ...]
    needs_same_wording: bool


@cache
def _data() -> dict[str, Any]:
    return read_shipped(__file__, "signals.toml")


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules in order."""
    return tuple(
        Rule(
            entry["name"],
            entry["kind"],
            source=tuple(entry["source"].split()),
            output=tuple(entry["output"].split()),
            not_source=tuple(entry["not_source"].split()),
            not_output=tuple(entry["not_output"].split()),
            needs_same_wording=entry.get("needs_same_wording", False),
        )
        for entry in _data()["rule"]
    )


_WORD = re.compile(r"\w+(?:[-']\w+)*|[?.!;:,()]")
_GAP, _LONGEST_GAP = "~", 8
_BREAKS = frozenset("?.!;:")


@dataclass(frozen=True)
class _Phrase:
    value: str
    words: tuple[str, ...]

    def match(self, words: Sequence[str], at: int) -> int:
        """Return the position after the phrase if it begins at a word, otherwise −1."""
        place, gap = at, False
        for pattern in self.words:
            if pattern == _GAP:
                gap = True
                continue
            last = place + (_LONGEST_GAP if gap else 0)
            while place < len(words) and not _fits(pattern, words[place]):
                if place >= last or words[place] in _BREAKS:
                    return -1
                place += 1
            if place >= len(words):
                return -1
            place, gap = place + 1, False
        return place


@lru_cache(maxsize=100_000)
def _fits(pattern: str, word: str) -> bool:
    if "*" not in pattern:
        return pattern == word
    start, _, end = pattern.partition("*")
    return len(word) >= len(start) + len(end) and word.startswith(start) and word.endswith(end)


class _Matcher:
    """The phrases of a language by their first words."""

    def __init__(self, groups: dict[str, dict[str, str]]) -> None:
        self.by_word: dict[str, list[_Phrase]] = {}
        self.by_start: dict[str, list[_Phrase]] = {}
        self.others: list[_Phrase] = []
        self.exclusive: dict[str, tuple[str, int]] = {}
        self.prefixes, self.suffixes = (tuple(groups["negation"][name].split()) for name in _AFFIXES)
        for group, values in groups.items():
            for number, (name, phrases) in enumerate(values.items()):
                if group in _EXCLUSIVE:
                    self.exclusive[name] = group, number
                if name in _AFFIXES:
                    continue
                if group == "opposites":
                    for mark, side in zip("+-", phrases.split("|"), strict=True):
                        for text in side.split(","):
                            self._add(_Phrase(f"{mark}{name}", tuple(text.split())))
                            self.exclusive[f"{mark}{name}"] = name, 0
                    continue
                for text in phrases.split(","):
                    if words := tuple(text.split()):
                        self._add(_Phrase(name, words))

    def _add(self, phrase: _Phrase) -> None:
        first, star, _ = phrase.words[0].partition("*")
        if not star:
            self.by_word.setdefault(first, []).append(phrase)
        elif len(first) >= 3:
            self.by_start.setdefault(first[:3], []).append(phrase)
        else:
            self.others.append(phrase)

    def find(self, words: Sequence[str]) -> list[tuple[str, int, int]]:
        """Return every value with its first word and the one after its last."""
        values_by_place: list[tuple[str, int, int]] = []
        rivals: list[tuple[int, tuple[str, int], str, int, int]] = []  # of a group, the longest phrase hides others
        for at, word in enumerate(words):
            for phrase in (*self.by_word.get(word, ()), *self.by_start.get(word[:3], ()), *self.others):
                if (end := phrase.match(words, at)) > 0:
                    if phrase.value in self.exclusive:
                        rank = self.exclusive[phrase.value]
                        rivals.append((-len(phrase.words), rank, phrase.value, at, end))
                    else:
                        values_by_place.append((phrase.value, at, end))
        places_taken: set[tuple[str, int]] = set()
        for _, _, value, start, end in sorted(rivals):
            places = {(self.exclusive[value][0], place) for place in range(start, end)}
            if places_taken.isdisjoint(places):
                places_taken |= places
                values_by_place.append((value, start, end))
        return values_by_place


_EXCLUSIVE, _AFFIXES = ("modality", "amount", "negation", "order"), ("prefixes", "suffixes")


@cache
def _matcher(language: str) -> _Matcher:
    return _Matcher(_data()[language])


@dataclass(frozen=True)
class Unit:
    """A clause: its place, the stems of its content words and its values with their places."""

    start: int
    end: int
    stems: frozenset[str]
    signals: Signals


_SPLIT = {
    "en": re.compile(r"[,;:()–—]\s|\s(?=(?:and|but|or|because|although|if|unless|when|while|before|after)\s)"),
    "de": re.compile(r"[,;:()–—]\s|\s(?=(?:und|aber|oder|sondern)\s)"),
}
_SHORTEST = 2  # content words of a clause


_NO = {
    "en": frozenset(["not", "never", "don't"]),
    "de": frozenset(["nicht", "nie", "niemals", "nichts", "kein", "keine", "keinen"]),
}


def _read_request(lower: Sequence[str], language: str) -> tuple[str, int] | None:
    """Return the value of a request ("Kommen Sie …", "Do not …") and its last word; none in other sentences."""
    if len(lower) < 2 or lower[-1] == "?":
        return None
    if language == "de":
        is_request = lower[1] == "sie" and lower[0].endswith("n") and kind_german(lower[0], lower[0]) in CONTENT
        is_denied = any(word in _NO["de"] for word in lower[2:])
    else:
        is_denied = lower[0] in ("never", "don't") or (lower[0], lower[1]) == ("do", "not")
        is_request = is_denied
    return ("must_not" if is_denied else "request", 1) if is_request else None


@lru_cache(maxsize=4 * CACHE_SIZE)
def read_units(text: str, language: str) -> tuple[Unit, ...]:
    """Return the clauses of a sentence."""
    matches = list(_WORD.finditer(text.replace("’", "'")))
    lower = [match[0].lower() for match in matches]
    describe, root = (kind_german, stem_german) if language == "de" else (kind, stem)
    is_content = [describe(match[0], word) in CONTENT for match, word in zip(matches, lower, strict=True)]
    cuts = [match.end() for match in _SPLIT[language].finditer(text)]
    numbers, number, count = [], 0, 0
    for match, content in zip(matches, is_content, strict=True):
        if cuts and match.start() >= cuts[0]:
            cuts = [cut for cut in cuts if cut > match.start()]
            if count >= _SHORTEST:
                number, count = number + 1, 0
        numbers.append(number)
        count += content
    if number and count < _SHORTEST:  # the last one belongs to the one before
        numbers = [min(own, number - 1) for own in numbers]
    values: list[dict[str, list[Span]]] = [{} for _ in range(number + 1)]
    matcher = _matcher(language)
    for value, start, end in matcher.find(lower):
        values[numbers[start]].setdefault(value, []).append((matches[start].start(), matches[end - 1].end()))
    for at, word in enumerate(lower):
        if len(word) > 6 and (word.startswith(matcher.prefixes) or word.endswith(matcher.suffixes)):
            # It may deny or only look so (ingredients): it counts, but is not quoted.
            values[numbers[at]].setdefault("weak", []).append((matches[at].start(), matches[at].start()))
        if word.endswith("n't"):
            values[numbers[at]].setdefault("strong", []).append(matches[at].span())
    if request := _read_request(lower, language):
        value, end = request
        values[0].setdefault(value, []).append((matches[0].start(), matches[end].end()))
    units = []
    for own in range(number + 1):
        places = [at for at, other in enumerate(numbers) if other == own]
        if places:
            stems = frozenset(root(lower[at]) for at in places if is_content[at])
            signals = {name: tuple(spans) for name, spans in values[own].items()}
            units.append(Unit(matches[places[0]].start(), matches[places[-1]].end(), stems, signals))
    return tuple(units)


@dataclass(frozen=True)
class Zone:
    """Aligned sentences, and neighbours that are not aligned and may say something of theirs."""

    source: tuple[int, ...]
    output: tuple[int, ...]
    near_source: tuple[int, ...]
    near_output: tuple[int, ...]


@lru_cache(maxsize=CACHE_SIZE)
def align_pair(source: str, output: str, language: str) -> Alignment:
    """Return the alignment of the sentences of a pair."""
    return align_many([source], [output], encoder=False, language=language)[0]


def find_zones(alignment: Alignment) -> list[Zone]:
    """Return the aligned sentences of a pair, each with neighbours without a counterpart."""
    if min(len(alignment.source), len(alignment.output)) == 1:
        whole = tuple(range(len(alignment.source))), tuple(range(len(alignment.output)))
        return [Zone(*whole, *whole)]
    free_source = {at for link in alignment.links if not link.output for at in link.source}
    free_output = {at for link in alignment.links if not link.source for at in link.output}
    zones = []
    for link in alignment.links:
        if not link.source or not link.output:
            continue
        zones.append(
            Zone(link.source, link.output, _extend(link.source, free_source), _extend(link.output, free_output))
        )
    return zones


def _extend(places: Sequence[int], free: set[int]) -> tuple[int, ...]:
    """Add the sentences without a counterpart that follow or precede some sentences directly."""
    near = set(places)
    for at in places:
        for step in (-1, 1):
            place = at + step
            while place in free:
                near.add(place)
                place += step
    return tuple(sorted(near))


def _merge(units: Iterable[Unit]) -> Signals:
    values_by_place: dict[str, list[Span]] = {}
    for unit in units:
        for name, spans in unit.signals.items():
            values_by_place.setdefault(name, []).extend(spans)
    return {name: tuple(spans) for name, spans in values_by_place.items()}


def place_units(sentences: Sequence[PlacedSentence], language: str) -> list[list[Unit]]:
    """Return the clauses of each sentence, with places in the whole text."""
    placed = []
    for sentence in sentences:
        by = sentence.start
        placed.append(
            [
                Unit(
                    unit.start + by,
                    unit.end + by,
                    unit.stems,
                    {name: tuple((a + by, b + by) for a, b in spans) for name, spans in unit.signals.items()},
                )
                for unit in read_units(sentence.text, language)
            ]
        )
    return placed


def have_common_part(a: str, b: str) -> bool:
    """Return whether two stems are the same, or one is a part of a compound, or they begin alike."""
    if a == b:
        return True
    if len(a) > len(b):
        a, b = b, a
    return len(a) >= 4 and (b.startswith(a) or b.endswith(a) or (len(a) >= 6 and a[:5] == b[:5]))


@lru_cache(maxsize=4 * CACHE_SIZE)
def find_common(own: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """Return the stems that have a common part with one of the others."""
    # Two different stems with a common part have their first or their last four letters in common.
    starts, ends = {other[:4] for other in others}, {other[-4:] for other in others}
    candidates = (stem for stem in own - others if stem[:4] in starts or stem[-4:] in ends)
    similar = {stem for stem in candidates if any(have_common_part(stem, other) for other in others)}
    return (own & others) | similar


def _count_common(a: Unit, b: Unit) -> int:
    return len(find_common(a.stems, b.stems))


@lru_cache(maxsize=4 * CACHE_SIZE)
def _select_rules(source: frozenset[str], output: frozenset[str]) -> tuple[Rule, ...]:
    """Return the rules whose values occur in both sides, as far as they need any."""
    return tuple(
        rule
        for rule in rules()
        if not (rule.source and source.isdisjoint(rule.source)) and not (rule.output and output.isdisjoint(rule.output))
    )


def _apply(
    pair: MatchedPair,
    rule: Rule,
    units: tuple[Sequence[Unit], Sequence[Unit]],
    sides: tuple[Signals, Signals],
    near: tuple[Signals, Signals],
    manner: str,
) -> Iterator[FactFinding]:
    here = next((sides[0][name] for name in rule.source if name in sides[0]), ())
    there = next((sides[1][name] for name in rule.output if name in sides[1]), ())
    if (
        any(name in near[0] for name in rule.not_source)
        or any(name in near[1] for name in rule.not_output)
        or (rule.needs_same_wording and not pair.keeps_wording())
    ):
        return
    if (not here or not there) and (manner != _ALONE or pair.rewording == "close"):  # the rest must be kept
        side, places = (0, here) if here else (1, there)
        own = _find_unit(units[side], places[0])
        if not any(_count_common(own, other) for other in units[1 - side]):
            return
    elif here and there:
        own, other = _find_unit(units[0], here[0]), _find_unit(units[1], there[0])
        if manner == _WHOLE and not _count_common(own, other):
            return
        if rule.kind == "order" and _has_other_object(units, own, other):
            return
    name = f"German {rule.name}" if rule.kind == "polarity" and pair.language == "de" else rule.name
    source, output = (tuple(span for span in side if span[0] < span[1])[:1] for side in (here, there))
    yield pair.span_finding("flipped", rule.kind, f"{name}{manner}", source, output)


def _find_unit(units: Sequence[Unit], place: Span) -> Unit:
    return next(unit for unit in units if unit.start <= place[0] < unit.end)


def _has_other_object(units: tuple[Sequence[Unit], Sequence[Unit]], own: Unit, other: Unit) -> bool:
    """Return whether "A before B" became "B after A": the clauses of the two words share nothing."""
    if _count_common(own, other):
        return False
    return any(_count_common(other, unit) for unit in units[0]) or any(_count_common(own, unit) for unit in units[1])


_WHOLE = ", whole"  # somewhere in both texts, in clauses that share words
_ALONE = ", alone"  # a sentence of the source without others beside it that the output may refer to
_OTHER = {"+": "-", "-": "+"}
_DENIALS = ("strong", "must_not", "need_not")


def _check_opposites(
    pair: MatchedPair, here: Unit, there: Unit, near: tuple[Signals, Signals], manner: str
) -> Iterator[FactFinding]:
    """Report a word for which the output has its opposite, unless one of the clauses is denied."""
    for name, spans in here.signals.items():
        if name[0] not in _OTHER or name in near[1]:
            continue
        other = f"{_OTHER[name[0]]}{name[1:]}"
        if other not in there.signals or other in near[0]:
            continue
        if _is_turned(pair, here, there):
            continue
        denied = [any(value in unit.signals for value in _DENIALS) for unit in (here, there)]
        if denied[0] == denied[1]:
            kind_of = "comparison" if name[1:] in _COMPARED else "polarity"
            first, second = spans[:1], there.signals[other][:1]
            yield pair.span_finding("flipped", kind_of, f"opposite {kind_of}{manner}", first, second)


_THAN = {"en": re.compile(r"\bthan\b"), "de": re.compile(r"\b(?:als|wie)\b")}


def _is_turned(pair: MatchedPair, here: Unit, there: Unit) -> bool:
    """Return whether a comparison is made from the other side: "A is larger than B", "B is smaller"."""
    texts = pair.source.text[here.start : here.end], pair.output.text[there.start : there.end]
    cuts = [_THAN[pair.language].search(text) for text in texts]
    root = stem_german if pair.language == "de" else stem
    objects = [
        {root(word) for word in re.findall(r"\w+", text[cut.end() :].lower())} if cut else set()
        for text, cut in zip(texts, cuts, strict=True)
    ]
    stems = here.stems, there.stems
    objects = [own & part for own, part in zip(objects, stems, strict=True)]
    return any(
        own and not own & other and own & stems[1 - side] for side, (own, other) in enumerate((objects, objects[::-1]))
    )


_COMPARED = frozenset(["rise", "more", "much", "length", "age", "time", "speed", "quality", "price"])


def check_signals(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report aligned sentences, or clauses that share words, whose values contradict each other."""
    alignment = align_pair(pair.source.text, pair.output.text, pair.language)
    source, output = (place_units(side, pair.language) for side in (alignment.source, alignment.output))
    if min(len(source), len(output)) > 1:
        every = [unit for units in source for unit in units], [unit for units in output for unit in units]
        whole = _merge(every[0]), _merge(every[1])
        for rule in _select_rules(frozenset(whole[0]), frozenset(whole[1])):
            if rule.source and rule.output:
                yield from _apply(pair, rule, every, whole, whole, _WHOLE)
    for zone in find_zones(alignment):
        sides = (
            [unit for place in zone.source for unit in source[place]],
            [unit for place in zone.output for unit in output[place]],
        )
        if not sides[0] or not sides[1]:
            continue
        near = (
            _merge(unit for place in zone.near_source for unit in source[place]),
            _merge(unit for place in zone.near_output for unit in output[place]),
        )
        merged = _merge(sides[0]), _merge(sides[1])
        manner = _ALONE if len(zone.near_source) == 1 else ""
        denials = [sum(len(values.get(name, ())) for name in _DENIALS) for values in near]
        is_denied_alike = denials[0] == denials[1] > 0
        for rule in _select_rules(frozenset(merged[0]), frozenset(merged[1])):
            yield from _apply(pair, rule, sides, merged, near, manner)
        for here in sides[0]:
            for there in sides[1]:
                is_close = _count_common(there, here) > 0
                yield from _check_opposites(pair, here, there, near, ", close" if is_close else "")
        for there in sides[1]:
            common = [(_count_common(there, unit), unit) for unit in sides[0]]
            count, here = max(common, key=lambda item: item[0])
            if not count or sum(number == count for number, _ in common) > 1:
                continue
            best = max(sides[1], key=lambda unit: _count_common(unit, here))
            if _count_common(best, here) > count:
                continue
            for rule in _select_rules(frozenset(here.signals), frozenset(there.signals)):
                if rule.kind == "polarity" and is_denied_alike:  # in another clause, or by another word
                    continue
                if (rule.source and rule.output) or count > 1:
                    values = here.signals, there.signals
                    is_one_sided = not (rule.source and rule.output)
                    around = near if is_one_sided and pair.rewording != "close" else values
                    yield from _apply(pair, rule, ((here,), (there,)), values, around, ", close")


_IMPLIED = frozenset(["unless", "no_more", "no_less", "need_not", "must_not", "only"])


def deny_alike(pair: MatchedPair) -> bool:
    """Return whether both texts deny or restrict something in the same way, be it in other words."""
    alignment = align_pair(pair.source.text, pair.output.text, pair.language)
    values = [
        _merge(unit for sentence in side for unit in read_units(sentence.text, pair.language))
        for side in (alignment.source, alignment.output)
    ]
    denials = [len(side.get("strong", ())) for side in values]
    return denials[0] == denials[1] > 0 or bool(values[0].keys() & values[1].keys() & _IMPLIED)
