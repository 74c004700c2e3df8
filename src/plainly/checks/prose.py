"""How hard a document is to read, sentence by sentence, and which rules of packs it breaks.

The level of English is that of the metric ``cefr``; one pass of the encoder gives the levels of sentences, paragraphs
and the whole. German has ``sle-multilingual`` where the extra is installed, and every other language that is supported
a readability formula.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import numpy as np

from plainly.checks.documents import Document, DocumentUnit
from plainly.checks.styles import StyleMatch, StyleRule, find_matches, read_styles
from plainly.core.errors import BadInput, MissingExtra
from plainly.core.formatting import number
from plainly.core.metric import Floats
from plainly.core.result import Record
from plainly.factcheck.reading import Outcome
from plainly.learned.cefr import LEVELS, load
from plainly.metrics.readability import Readability
from plainly.text import counts
from plainly.text.languages import CODES
from plainly.text.sentences import spans as sentence_spans
from plainly.text.words import spans as word_spans

TARGETS = {"plain": "B1", "easy": "A2"}
# The spread of a reading around the level of a text (root mean squared error), by bench/check.py: against the levels
# 2.5, 3.5 and 4.5 of the 28 articles of OneStopEnglish that the encoder was not trained on (84 texts, 1,065 passages),
# and against the ratings of ReadMe++'s test part (296 sentences).
SPREAD = {"document": 0.52, "paragraph": 0.76, "sentence": 0.69}
_LEVEL = 1.645  # 90 % of readings lie as near
_RARE = 3.0  # Zipf frequency: less than once in a million words
_DRAWS = 200
_LONG = {"en": 25, "de": 20}  # words of a sentence, as in the plain packs
_FEW = 5  # sentences: with fewer, the formula has no interval
# Limits for languages without levels, in school years. Of the 238 German pairs in the parts "tuning" and "tuning 2" of
# bench/letters.py, 94 % of the plain versions and 19 % of the sources lie below 8, 80 % and 10 % below 6.
_LIMITS: Mapping[tuple[str, str], tuple[str, float]] = {
    ("de", "plain"): ("wiener4", 8.0),
    ("de", "easy"): ("wiener4", 6.0),
}


@dataclass(frozen=True)
class TextMeasure:
    """A number about a text with its interval; NaN where there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan

    def json(self) -> Record:
        return {"value": self.value, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        interval = f" [{number(self.low)}, {number(self.high)}]" if math.isfinite(self.low) else ""
        return f"{number(self.value)}{interval}"


_NOTHING = TextMeasure(math.nan)


@dataclass(frozen=True)
class ProsePart:
    """A sentence or a paragraph: where it stands in its passage, how hard it is, and why."""

    passage: int
    start: int
    stop: int
    words: int
    level: TextMeasure = _NOTHING
    readability: TextMeasure = _NOTHING
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProseVerdict:
    """Whether a text is plain enough for its audience: ``pass``, ``review`` (probably not) or ``block`` (no).

    ``limit`` is where the level of the audience ends, infinite where there are no levels.
    """

    audience: str
    outcome: Outcome
    message: str
    limit: float = math.inf


@dataclass(frozen=True)
class Passage:
    """A unit of prose, its sentences and its words."""

    unit: DocumentUnit
    sentences: tuple[tuple[int, int], ...]
    words: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, unit: DocumentUnit, language: str) -> "Passage":
        return cls(unit, tuple(sentence_spans(unit.text, language)), tuple(word_spans(unit.text)))


@dataclass(frozen=True)
class Prose:
    """What is known about the prose of a document."""

    document: Document
    language: str | None
    passages: tuple[Passage, ...]
    verdict: ProseVerdict
    level: TextMeasure
    readability: TextMeasure
    formula: str
    sentences: tuple[ProsePart, ...]
    paragraphs: tuple[ProsePart, ...]
    findings: tuple[StyleMatch, ...]
    problems: tuple[str, ...] = field(default=())

    def is_notable(self, part: ProsePart) -> bool:
        """Return whether a sentence has a reason to be looked at: one that is named, or a level above the limit."""
        return bool(part.reasons) or part.level.value > self.verdict.limit

    @property
    def hardest(self) -> list[ProsePart]:
        """The sentences from the hardest to the easiest."""
        return sorted(self.sentences, key=lambda part: (-_hardness(part), part.passage, part.start))


def _hardness(part: ProsePart) -> float:
    """Order sentences by their level, or without one by their words and the number of reasons."""
    return part.level.value if math.isfinite(part.level.value) else part.words / 10 + 0.3 * len(part.reasons)


def analyse(
    document: Document,
    *,
    language: str | None,
    preset: str = "plain",
    target: str | None = None,
    packs: Sequence[str] = (),
    on: Sequence[str] = (),
    off: Sequence[str] = (),
    learned: bool = True,
) -> Prose:
    """Read a document: levels, readability, reasons, and what rules find."""
    code = language if language in CODES else "en"
    passages = tuple(Passage.of(unit, code) for unit in document.units)
    rules, explaining, problems = _resolve_rules(language, preset, packs, on, off)
    matches = find_matches(document.units, explaining, language=code)
    problems += matches.warnings
    names = {rule.name for rule in rules}
    findings = [match for match in matches.matches if match.rule.name in names]
    spans = _sentence_spans(passages)
    sentence_levels, paragraph_levels, whole = _levels(passages, spans, language, learned, problems)
    formula, by_sentence, by_passage, total = _readability(passages, spans, code)
    reasons = _reasons(passages, spans, matches.matches, language)
    sentences = tuple(
        ProsePart(*span, _count_words(passages[span[0]], span), level, TextMeasure(by_sentence[at]), reasons[at])
        for at, (span, level) in enumerate(zip(spans, sentence_levels, strict=True))
    )
    paragraphs = tuple(
        ProsePart(at, 0, len(passage.unit.text), len(passage.words), paragraph_levels[at], by_passage[at])
        for at, passage in enumerate(passages)
        if passage.unit.kind != "heading"
    )
    verdict = _decide(language, preset, target, whole, passages, code, learned)
    return Prose(
        document, language, passages, verdict, whole, total, formula, sentences, paragraphs, tuple(findings),
        tuple(problems),
    )  # fmt: skip


def judge(document: Document, *, language: str, preset: str) -> ProseVerdict:
    """Decide whether a document is plain enough, as ``analyse`` does, without looking for reasons."""
    code = language if language in CODES else "en"
    passages = tuple(Passage.of(unit, code) for unit in document.units)
    _, _, whole = _levels(passages, _sentence_spans(passages), language, True, [])
    return _decide(language, preset, None, whole, passages, code, True)


def _sentence_spans(passages: Sequence[Passage]) -> list[tuple[int, int, int]]:
    return [(at, start, stop) for at, passage in enumerate(passages) for start, stop in passage.sentences]


def _resolve_rules(
    language: str | None, preset: str, packs: Sequence[str], on: Sequence[str], off: Sequence[str]
) -> tuple[list[StyleRule], list[StyleRule], list[str]]:
    """Return the rules that apply, those that may also explain why a sentence is hard, and warnings.

    A rule that is off by default tells nothing about a text, but it may say why a sentence that is hard is hard.
    """
    own = [f"{language}-{preset}"] if language in ("en", "de") else []
    styles, every = (read_styles([*own, *packs], all_rules=is_all) for is_all in (False, True))
    rules = {rule.name: rule for rule in styles.rules}
    # Of two rules of the same name, that of the easy pack takes the place of the other, unless it is off.
    available = {rule.name: rule for rule in every.rules} | rules
    for name in (*on, *off):
        if not any(_is_named(rule, [name]) for rule in available):
            raise BadInput(f"There is no rule {name!r}. The rules of these packs: {', '.join(available) or 'none'}.")
    rules |= {name: rule for name, rule in available.items() if _is_named(name, on)}
    rules = {name: rule for name, rule in rules.items() if not _is_named(name, off)}
    explaining = {name: rule for name, rule in available.items() if name.partition("-")[0] in ("en", "de")} | rules
    return list(rules.values()), list(explaining.values()), list(styles.warnings)


def _is_named(rule: str, names: Sequence[str]) -> bool:
    """Return whether one of some names is that of a rule, with or without its pack."""
    return any(rule == name or rule.endswith(f".{name}") for name in names)


def _count_words(passage: Passage, span: tuple[int, int, int]) -> int:
    return bisect_left(passage.words, (span[2], 0)) - bisect_left(passage.words, (span[1], 0))


def _interval(value: float, kind: str) -> TextMeasure:
    if math.isnan(value):
        return _NOTHING
    half = _LEVEL * SPREAD[kind]
    return TextMeasure(value, value - half, value + half)


def _levels(
    passages: Sequence[Passage],
    spans: Sequence[tuple[int, int, int]],
    language: str | None,
    learned: bool,
    problems: list[str],
) -> tuple[list[TextMeasure], list[TextMeasure], TextMeasure]:
    """Return the levels of sentences, of passages and of the whole; headings do not count for the whole."""
    nothing = [_NOTHING] * len(spans), [_NOTHING] * len(passages), _NOTHING
    if language not in ("en", "de") or not learned or not spans:
        return nothing
    texts = [" ".join(passages[at].unit.text[start:stop].split()) for at, start, stop in spans]
    owners = np.array([at for at, _, _ in spans])
    is_prose = np.array([passages[at].unit.kind != "heading" for at, _, _ in spans])
    if language == "de":
        from plainly.learned import multilingual

        try:
            hardness = 4 - multilingual.levels(texts, "de")
        except MissingExtra:
            problems.append("German sentences are ordered by length; pip install 'plainly[multilingual]' adds a model.")
            return nothing
        return [TextMeasure(float(value)) for value in hardness], nothing[1], nothing[2]
    groups = [owners, np.where(is_prose, 0, -1)]
    by_sentence, (by_passage, whole) = load().levels_of_parts(texts, groups, [len(passages), 1])
    return (
        [_interval(float(value), "sentence") for value in by_sentence],
        [_interval(float(value), "paragraph") for value in by_passage],
        _interval(float(whole[0]), "document"),
    )


def _readability(
    passages: Sequence[Passage], spans: Sequence[tuple[int, int, int]], language: str
) -> tuple[str, Floats, list[TextMeasure], TextMeasure]:
    """Return a formula's name and its values for sentences, passages and the whole, with bootstrap intervals."""
    metric = Readability(formula="wiener4" if language == "de" else "", language=language)
    nothing = TextMeasure(math.nan)
    if not spans:
        return metric.formula, np.zeros(0), [nothing] * len(passages), nothing
    from plainly.core.evalset import EvalSet

    texts = [passages[at].unit.text[start:stop] for at, start, stop in spans]
    rows = metric.measure(EvalSet.of(items=len(texts)), texts)
    rows[:, 0] = 1  # each is a sentence
    owners = np.array([at for at, _, _ in spans])
    is_prose = np.array([passages[at].unit.kind != "heading" for at, _, _ in spans])
    rng = np.random.default_rng(0)
    starts = np.searchsorted(owners, np.arange(len(passages) + 1))
    values = [_resample(metric, rows[first:last], rng) for first, last in pairwise(starts.tolist())]
    return metric.formula, metric.score(rows)[:, 0], values, _resample(metric, rows[is_prose], rng)


def _resample(metric: Readability, rows: Floats, rng: np.random.Generator) -> TextMeasure:
    """Return the value on some sentences, and the interval over other draws of as many sentences."""
    if not len(rows):
        return _NOTHING
    value = float(metric.score(rows.sum(axis=0))[0])
    if len(rows) < _FEW:
        return TextMeasure(value)
    weights = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=_DRAWS)
    low, high = np.nanquantile(metric.score(weights @ rows)[:, 0], (0.05, 0.95))
    return TextMeasure(value, float(low), float(high))


_REASONS = {
    "NestedClauses": "several clauses", "RelativeClauses": "several clauses", "Passive": "passive",
    "NounStrings": "a string of nouns", "NounStyle": "many nouns for actions", "HiddenVerbs": "hidden verbs",
    "DoubleNegation": "double negation", "Abbreviations": "an unexplained abbreviation", "Commas": "many commas",
    "Compounds": "a long compound", "GenitiveChains": "a chain of genitives", "Subjunctive": "subjunctive",
    "LongBrackets": "long brackets", "Participles": "a participle clause", "Idioms": "a figure of speech",
    "Words": "formal words", "Wordiness": "wordy phrases",
}  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.,])[$€£]?\d[\d.,:]*")
_MANY_NUMBERS, _MANY_NEGATIONS = 4, 2  # in a sentence


def _reasons(
    passages: Sequence[Passage],
    spans: Sequence[tuple[int, int, int]],
    matches: Sequence[StyleMatch],
    language: str | None,
) -> list[tuple[str, ...]]:
    """Return why each sentence is hard: its length, what rules found in it, numbers, negations and rare words."""
    by_passage: dict[int, list[StyleMatch]] = {}
    for match in matches:
        by_passage.setdefault(match.unit, []).append(match)
    long = _LONG.get(language or "", 25)
    reasons = []
    for span in spans:
        at, start, stop = span
        size = _count_words(passages[at], span)
        own = {f"{'very ' if size > 1.5 * long else ''}long ({size} words)": None} if size > long else {}
        negations = 0
        within = by_passage.get(at, [])
        first, last = (bisect_left(within, edge, key=lambda match: match.start) for edge in (start, stop))
        for match in within[first:last]:
            if match.start < match.stop <= stop:
                name = match.rule.name.rpartition(".")[2]
                negations += name == "Negation"
                if name in _REASONS:
                    own[_REASONS[name]] = None
        if negations >= _MANY_NEGATIONS:
            own["several negations"] = None
        if len(_NUMBER.findall(passages[at].unit.text, start, stop)) >= _MANY_NUMBERS:
            own["many numbers"] = None
        if rare := _rare_words(passages[at], span, language):
            own[f"rare words: {', '.join(rare[:4])}"] = None
        reasons.append(tuple(own))
    return reasons


def _rare_words(passage: Passage, span: tuple[int, int, int], language: str | None) -> list[str]:
    """Return the words of a sentence that are less frequent than once in a million; names are left out."""
    frequency = _frequencies(language or "")
    if frequency is None:
        return []
    rare: dict[str, None] = {}
    text = passage.unit.text
    first, last = (bisect_left(passage.words, (edge, 0)) for edge in span[1:])
    for start, stop in passage.words[first:last]:
        lower = text[start:stop].lower()
        if len(lower) > 3 and lower.isalpha():
            is_name = text[start].isupper() and language != "de"
            if not is_name and frequency.get(lower, -1.0) < 0:
                frequency[lower] = _zipf(lower, language or "")
            if not is_name and frequency[lower] < _RARE:
                rare[text[start:stop]] = None
    return list(rare)


@cache
def _frequencies(language: str) -> dict[str, float] | None:
    """Return an empty store of frequencies, or None where the word list is not installed or lacks the language."""
    try:
        import wordfreq
    except ImportError:
        return None
    return {} if language in wordfreq.available_languages() else None


def _zipf(word: str, language: str) -> float:
    import wordfreq

    return float(wordfreq.zipf_frequency(word, language)) if len(word) < 100 else 0.0


def _decide(
    language: str | None,
    preset: str,
    target: str | None,
    level: TextMeasure,
    passages: Sequence[Passage],
    code: str,
    learned: bool,
) -> ProseVerdict:
    """Decide whether the text is plain enough: certain if the whole interval lies on one side of the limit."""
    if target is not None and (language != "en" or not learned):
        raise BadInput(f"target={target!r}: levels are known for English texts only, by a learned metric.")
    goal = target or TARGETS[preset]
    audience = target or preset
    if language == "en" and learned:
        if math.isnan(level.value):
            return ProseVerdict(audience, "review", "There is no sentence to judge.")
        limit = LEVELS.index(goal) + 1.5
        is_certain = level.low > limit or level.high <= limit
        outcome: Outcome = "pass" if level.value <= limit else "block" if is_certain else "review"
        answer = f"{'' if is_certain else 'probably '}{'' if outcome == 'pass' else 'not '}plain enough".capitalize()
        reading = f"the level is {level_name(level.value)} ({level}), and {goal} ends at {number(limit)}."
        return ProseVerdict(audience, outcome, f"{answer}: {reading}", limit)
    return _decide_by_formula(language, preset, audience, passages, code)


def level_name(value: float) -> str:
    """Return the name of the level that a reading is nearest to."""
    return LEVELS[min(max(round(value) - 1, 0), 5)]


def _decide_by_formula(
    language: str | None, preset: str, audience: str, passages: Sequence[Passage], code: str
) -> ProseVerdict:
    texts = [passage.unit.text for passage in passages if passage.unit.kind != "heading"]
    if (code, preset) not in _LIMITS or language is None:
        missing = "without learned metrics" if language == "en" else "for texts in this language"
        return ProseVerdict(audience, "pass", f"There is no verdict {missing}.")
    formula, limit = _LIMITS[code, preset]
    metric = Readability(formula=formula, language=code)
    rows = counts.count(texts, language=code).sum(axis=0) if texts else np.zeros(len(counts.COLUMNS))
    names = ("sentences", "words", "syllables", "letters", "polysyllables", "monosyllables", "long")
    value = float(metric.score(np.array([rows[counts.COLUMNS.index(name)] for name in names], dtype=float))[0])
    if math.isnan(value):
        return ProseVerdict(audience, "review", "There is no sentence to judge.")
    reading = f"the formula {formula} gives school year {number(value)}; the limit is {number(limit)}."
    if value <= limit:
        return ProseVerdict(audience, "pass", f"Probably plain enough: {reading}")
    return ProseVerdict(audience, "review", f"Probably not plain enough: {reading}")
