"""Decisions on every output by itself: faults, changed facts, words, and limits on the scores of an item.

What is certain blocks the output; what is doubtful asks a person to review it.
"""

import datetime
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from plainly.checks.rules import (
    CAPITALS,
    COPY,
    EMPTY,
    FACTS,
    LANGUAGE,
    MISALIGNED,
    NOTHING_SHARED,
    OPEN_END,
    UNFINISHED,
    UNRELATED,
    WORDS,
    Limit,
    Rules,
)
from plainly.core import registry
from plainly.core.calls import whole_run
from plainly.core.errors import BadInput
from plainly.core.evalset import Absent, EvalSet
from plainly.core.formatting import number
from plainly.core.metric import Floats, Metric
from plainly.core.result import Record
from plainly.core.tables import jsonable
from plainly.factcheck.pairs import Facts
from plainly.factcheck.reading import OUTCOMES, FactFinding, Outcome
from plainly.io.faults import output_faults
from plainly.metrics.evidence import in_language
from plainly.text.languages.detection import detect, detect_all

_MESSAGES = {
    **output_faults.SEEN,
    EMPTY: "no text",
    OPEN_END: "no full stop at the end, where the source has one",
    CAPITALS: "capital letters throughout",
    UNRELATED: "hardly a word of the source",
    NOTHING_SHARED: "not a word of the source",
    LANGUAGE: "another language than the source's",
    WORDS: "a word that is not allowed",
    MISALIGNED: "the words of another item's source",
}
_SAME, _NEARLY = 0.97, 0.9  # of the words of an output that is its source, or nearly
_COMPARED = ("line-breaks",)  # faults only in comparison with a source
# The findings of rules alone: the model that adds to the risk of ``facts`` locates no words.
_FACTS = Facts(model=None)
_CHUNK = 1000  # pairs whose facts are compared together
_DETECTED = 200  # texts in which the language is detected
_GERMAN = re.compile(
    r"[äöüß]|\b(?:der|das|dem|ein|eine|es|er|ist|sind|haben|wird|werden|im|zum|zur|und|oder|aber|nicht|kein|keine|sie|"
    r"wir|ihr|ich|mit|zu|auf|von|bis|muss|kann)\b",
    re.IGNORECASE,
)


def strictest(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the strictest of some outcomes, "pass" if there are none."""
    return min(outcomes, key=OUTCOMES.index, default="pass")


@dataclass(frozen=True)
class Finding:
    """A rule that an output breaks: which, what follows, the words in both texts, and whether it is waived.

    Positions are characters of the output (``start``, ``stop``) and of the source; those of a part that is in one of
    the texts only are 0 in the other.
    """

    item: str
    rule: str
    message: str
    outcome: Outcome = "block"
    words: str = ""
    start: int = 0
    stop: int = 0
    source_words: str = ""
    source_start: int = 0
    source_stop: int = 0
    value: float = math.nan
    waived: str = ""  # the reason
    system: str = ""
    place: int = 0

    @property
    def line(self) -> str:
        """The finding in a line."""
        return f"item {self.item}: {self.text}"

    @property
    def text(self) -> str:
        """What was found, with the words; the message about a fact has them."""
        return self.message if self.rule.startswith(f"{FACTS}.") else f"{self.message} {self.words}".rstrip()

    def json(self) -> Record:
        return dict(jsonable(vars(self)))


Segments = Mapping[str, Mapping[str, Floats]]  # scores of items by spec and output


def find_language(evalset: EvalSet, outputs: Sequence[str]) -> str | None:
    """Return the language of a set, or the one that is detected in its sources or, without sources, in the outputs.

    None where texts are in several languages. Texts that are too short to detect their language are taken for English
    or German by their letters and small words.
    """
    if evalset.language:
        return evalset.language
    texts = [text for text in (evalset.sources if evalset.has_sources else outputs)[:_DETECTED] if text.strip()]
    languages, language = detect_all(texts)
    if language is None and not any(languages):
        joined = " ".join([*texts, *(outputs[:_DETECTED] if evalset.has_sources else ())])
        return detect(joined) or ("de" if _GERMAN.search(joined) else "en")
    return language


def find_violations(
    rules: Rules,
    evalset: EvalSet,
    outputs: Sequence[str],
    segments: Segments,
    *,
    language: str | None,
    system: str = "",
    misaligned: Collection[str] = (),
    today: datetime.date,
) -> Iterator[Finding]:
    """Yield every rule that an output breaks, by item; absent outputs break none.

    ``segments`` has the scores of all items, ``misaligned`` the ids of items whose output fits another source.
    """
    sources = evalset.sources if evalset.has_sources else None
    copies = _copy_violations(rules, evalset, outputs)
    for start in range(0, len(outputs), _CHUNK):
        places = [
            place for place in range(start, min(start + _CHUNK, len(outputs))) if not isinstance(outputs[place], Absent)
        ]
        facts = _fact_violations(rules, evalset, outputs, places)
        for place in places:
            output, item = outputs[place], evalset.ids[place]
            violations = [
                *facts.get(place, ()),
                *_text_violations(rules, sources[place] if sources is not None else "", output, language),
                *_limit_violations(rules.items, place, segments),
                *copies.get(place, ()),
            ]
            if item in misaligned and MISALIGNED in rules.forbid:
                violations.append(Finding("", MISALIGNED, _sentence(MISALIGNED), stop=len(output)))
            for finding in violations:
                words = finding.words or output_faults.excerpt(output, finding.start, finding.stop, blank="")
                waived = rules.waiver_reason(finding.rule, item, today)
                yield replace(finding, item=item, words=words, waived=waived, system=system, place=place)


def _fact_violations(
    rules: Rules, evalset: EvalSet, outputs: Sequence[str], places: Sequence[int]
) -> dict[int, list[Finding]]:
    """Return the facts that outputs with words change, reverse or add, by the place of the output."""
    if rules.facts == "ignore" or not evalset.has_sources:
        return {}
    checked = [place for place in places if has_words(outputs[place]) and outputs[place] != evalset.sources[place]]
    pairs = _FACTS.check([evalset.sources[place] for place in checked], [outputs[place] for place in checked])
    return {
        place: [_describe_fact(finding, rules) for finding in pair.findings if finding.outcome != "pass"]
        for place, pair in zip(checked, pairs, strict=True)
    }


def _describe_fact(finding: FactFinding, rules: Rules) -> Finding:
    before, after = finding.source_words, finding.output_words
    message = f"{before} → {after}" if before and after else f"Not in the source: {after}" if after else finding.message
    outcome: Outcome = "review" if rules.facts == "review" else finding.outcome
    spans = [(spans[0][0], spans[-1][1]) if spans else (0, 0) for spans in (finding.output, finding.source)]
    return Finding("", f"{FACTS}.{finding.kind}", message, outcome, after, *spans[0], before, *spans[1])


def has_words(text: str) -> bool:
    """Return whether a text has a letter or a digit."""
    return any(map(str.isalnum, text))


def _text_violations(rules: Rules, source: str, output: str, language: str | None) -> Iterator[Finding]:
    spans = [(EMPTY, 0, len(output))]
    if has_words(output):
        spans = [(fault.code, fault.start, fault.stop) for fault in output_faults.faults(source, output)]
        if output_faults.ends(source) and not output_faults.ends(output):
            end = len(output.rstrip())
            spans.append((OPEN_END, max(end - 20, 0), end))
        spans += [(CAPITALS, 0, len(output))] * output_faults.is_in_capitals(source, output)
        if UNRELATED in rules.forbid and output_faults.is_unrelated(source, output):
            spans.append((UNRELATED, 0, len(output)))
        elif NOTHING_SHARED in rules.forbid and output_faults.shares_nothing(source, output):
            spans.append((NOTHING_SHARED, 0, len(output)))
        if LANGUAGE in rules.forbid and language is not None and detect(output) not in (None, language):
            spans.append((LANGUAGE, 0, len(output)))
    for code, start, stop in spans:
        if code in rules.forbid and (source or code not in _COMPARED):
            # A sentence may be reworded boldly, without any word of its source, and may lack its full stop.
            is_open = code == UNFINISHED and not output_faults.is_cut_off(source, output)
            is_doubtful = is_open or code == NOTHING_SHARED
            outcome: Outcome = "review" if is_doubtful else "block"
            yield Finding("", code, _sentence(code), outcome, start=start, stop=stop)
    for word in rules.words:
        if match := pattern(word).search(output):
            yield Finding("", WORDS, _sentence(WORDS, f" ({word})"), start=match.start(), stop=match.end())


def _sentence(code: str, more: str = "") -> str:
    message = f"{_MESSAGES[code]}{more}."
    return message[0].upper() + message[1:]


@lru_cache(maxsize=10_000)
def pattern(word: str) -> re.Pattern[str]:
    """Compile a word, which matches whole and in any case, or a regular expression between slashes."""
    if len(word) > 2 and word.startswith("/") and word.endswith("/"):
        try:
            return re.compile(word[1:-1], re.IGNORECASE)
        except re.error as error:
            raise BadInput(f"{word!r} is not a regular expression: {error}.") from None
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)


def _limit_violations(limits: Sequence[Limit], place: int, segments: Segments) -> Iterator[Finding]:
    for limit in limits:
        if limit.spec not in segments:
            continue
        value = float(segments[limit.spec][limit.output][place])
        if math.isnan(value):
            yield Finding("", limit.text, f"{limit.subject} is undefined.", limit.outcome, value=value)
        elif not limit.holds(value):
            side = "least" if limit.side == ">=" else "most"
            message = f"{limit.subject} is {number(value)}, and at {side} {number(limit.value)} is required."
            yield Finding("", limit.text, message, limit.outcome, value=value)


def _copy_violations(rules: Rules, evalset: EvalSet, outputs: Sequence[str]) -> dict[int, list[Finding]]:
    """Return the outputs that are (nearly) their source and not plain; without a source, every output is measured.

    A copy is right only if the source is plain already. Where a few words were changed, or there is no source, a
    text that is not plain is reviewed.
    """
    sources = evalset.sources if evalset.has_sources else None
    places = [
        place
        for place, output in enumerate(outputs if rules.copies else ())
        if not isinstance(output, Absent)
        and has_words(output)
        and (sources is None or output_faults.similarity(sources[place], output) >= _NEARLY)
    ]
    if not places:
        return {}
    texts = [outputs[place] for place in places]
    alone = EvalSet.of(items=len(texts), language=evalset.language)
    segments = measure_segments([limit.spec for limit in rules.copies], alone, texts)
    violations = {}
    for index, place in enumerate(places):
        broken = list(_limit_violations(rules.copies, index, segments))
        if broken:
            reasons = " ".join(finding.message for finding in broken)
            opening = "Not plain"
            outcome: Outcome = "review"
            if sources is not None:
                is_copy = output_faults.similarity(sources[place], outputs[place]) >= _SAME
                opening = f"{'Copied' if is_copy else 'Hardly changed'} from a source that is not plain"
                outcome = "block" if is_copy else "review"
            value = broken[0].value
            violations[place] = [Finding("", COPY, f"{opening}: {reasons}", outcome, value=value)]
    return violations


@lru_cache(maxsize=1000)
def _resolve_metric(spec: str, language: str) -> Metric:
    return in_language(registry.metric(spec), language, spec) if language else registry.metric(spec)


def measure_segments(specs: Iterable[str], evalset: EvalSet, outputs: Sequence[str]) -> Segments:
    """Return the scores of the items by spec, without intervals; for few texts."""
    segments = {}
    for spec in dict.fromkeys(specs):
        metric = _resolve_metric(spec, evalset.language)
        with whole_run():
            values = metric.score(metric.measure(evalset, outputs))
        segments[spec] = {name: values[:, place] for place, name in enumerate(metric.outputs)}
    return segments
