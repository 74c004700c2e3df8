"""Decisions on every output by itself: faults, changed facts, words, and limits on the scores of an item.

What is certain blocks the output; what is doubtful asks a person to review it.
"""

import datetime
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from plainly.checks.documents import parse_document
from plainly.checks.prose import TARGETS, judge
from plainly.checks.rules import (
    CAPITALS,
    COPY,
    EMPTY,
    FACTS,
    LANGUAGE,
    LEVEL,
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
from plainly.core.errors import BadInput
from plainly.core.evalset import Absent, EvalSet
from plainly.core.formatting import number
from plainly.core.metric import Floats, Metric, Reason
from plainly.core.result import Record
from plainly.core.tables import jsonable
from plainly.factcheck.pairs import Facts, PairCheck
from plainly.factcheck.reading import OUTCOMES, FactFinding, Outcome
from plainly.factcheck.reasons import add_facts
from plainly.io.faults import output_faults
from plainly.metrics.evidence import in_language
from plainly.text.languages.detection import detect, detect_all, detect_or_guess

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
_MAJORITY = 50.0  # of 100 for yes; the mean of several judges
_CHUNK = 1000  # pairs whose facts are compared together
_DETECTED = 200  # texts in which the language is detected


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
    reason: str = ""  # why the value is what it is, against what is usual
    waived: str = ""  # the reason
    system: str = ""
    place: int = 0

    @property
    def line(self) -> str:
        """The finding in a line."""
        return f"item {self.item}: {self.text}"

    @property
    def text(self) -> str:
        """What was found, with the words, and why; the message about a fact has them."""
        if self.rule.startswith(f"{FACTS}."):
            return self.message
        reason = f"Against what is usual: {self.reason}." if self.reason else ""
        return " ".join(filter(None, (self.message, self.words, reason)))

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
        return detect_or_guess(" ".join([*texts, *(outputs[:_DETECTED] if evalset.has_sources else ())]))
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
    facts: Mapping[int, PairCheck] | None = None,
) -> Iterator[Finding]:
    """Yield every rule that an output breaks, by item; absent outputs break none.

    ``segments`` has the scores of all items, ``misaligned`` the ids of items whose output fits another source, and
    ``facts`` the result of ``check_facts`` where there is one.
    """
    sources = evalset.sources if evalset.has_sources else None
    whole = _copy_violations(rules, evalset, outputs) if sources else _level_violations(rules, evalset, outputs)
    for start in range(0, len(outputs), _CHUNK):
        places = [
            place for place in range(start, min(start + _CHUNK, len(outputs))) if not isinstance(outputs[place], Absent)
        ]
        pairs = check_facts(rules, evalset, outputs, places) if facts is None else facts
        fact_findings = {place: _fact_violations(rules, pairs[place]) for place in places if place in pairs}
        if rules.doubts:
            fact_findings = _settle_doubts(rules.doubts, evalset, outputs, fact_findings)
        limits = {place: list(_limit_violations(rules.items, place, segments)) for place in places}
        reasons = _explain_limits(rules.items, limits, evalset, outputs, pairs)
        for place in places:
            output, item = outputs[place], evalset.ids[place]
            violations = [
                *fact_findings.get(place, ()),
                *_text_violations(rules, sources[place] if sources is not None else "", output, language),
                *(replace(finding, reason=reasons.get((place, finding.rule), "")) for finding in limits[place]),
                *whole.get(place, ()),
            ]
            if item in misaligned and MISALIGNED in rules.forbid:
                violations.append(Finding("", MISALIGNED, _sentence(MISALIGNED), stop=len(output)))
            for finding in violations:
                words = finding.words or output_faults.excerpt(output, finding.start, finding.stop, blank="")
                waived = rules.waiver_reason(finding.rule, item, today) or finding.waived
                yield replace(finding, item=item, words=words, waived=waived, system=system, place=place)


def check_facts(rules: Rules, evalset: EvalSet, outputs: Sequence[str], places: Sequence[int]) -> dict[int, PairCheck]:
    """Compare the facts of outputs with those of their sources, by the place of the output, if a rule is about facts.

    Outputs without words and copies of the source are left out.
    """
    if rules.facts == "ignore" or not evalset.has_sources:
        return {}
    checked = [place for place in places if has_words(outputs[place]) and outputs[place] != evalset.sources[place]]
    # By rules alone: the model that adds to the risk locates no words.
    facts = Facts(model=None, language=evalset.language)
    pairs = facts.check([evalset.sources[place] for place in checked], [outputs[place] for place in checked])
    return dict(zip(checked, pairs, strict=True))


def _fact_violations(rules: Rules, pair: PairCheck) -> list[Finding]:
    """Return the facts that an output changes, reverses or adds."""
    return [_describe_fact(finding, rules) for finding in pair.findings if finding.outcome != "pass"]


def _describe_fact(finding: FactFinding, rules: Rules) -> Finding:
    before, after = finding.source_words, finding.output_words
    message = f"{before} → {after}" if before and after else f"Not in the source: {after}" if after else finding.message
    outcome: Outcome = "review" if rules.facts == "review" else finding.outcome
    spans = [(spans[0][0], spans[-1][1]) if spans else (0, 0) for spans in (finding.output, finding.source)]
    return Finding("", f"{FACTS}.{finding.kind}", message, outcome, after, *spans[0], before, *spans[1])


def _settle_doubts(
    spec: str, evalset: EvalSet, outputs: Sequence[str], findings: Mapping[int, Sequence[Finding]]
) -> dict[int, list[Finding]]:
    """Ask a metric about the words of each finding to review, and waive the findings in which it sees no difference.

    The metric reads the place in the column ``question``. A finding without an answer is still to be reviewed.
    """
    doubtful = [(place, finding) for place, own in findings.items() for finding in own if finding.outcome == "review"]
    settled = {place: list(own) for place, own in findings.items()}
    if not doubtful:
        return settled
    places = EvalSet.of(
        [evalset.sources[place] for place, _ in doubtful],
        columns={"question": [_describe_place(finding) for _, finding in doubtful]},
        language=evalset.language,
    )
    metric = _resolve_metric(spec, evalset.language)
    values = metric.score(metric.measure(places, [outputs[place] for place, _ in doubtful]))[:, 0]
    for (place, finding), value in zip(doubtful, values.tolist(), strict=True):
        if value > _MAJORITY:
            reason = f"{spec} sees no difference at these words."
            settled[place] = [replace(one, waived=reason) if one is finding else one for one in settled[place]]
    return settled


def _describe_place(finding: Finding) -> str:
    before, after = f"The original says: {finding.source_words}", f"The simplified text says: {finding.words}"
    if not finding.words:
        return f"{before}\nThis may be missing in the simplified text."
    return f"{before}\n{after}" if finding.source_words else f"{after}\nThis may not be in the original."


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


def explain_scores(
    specs: Iterable[str], evalset: EvalSet, outputs: Sequence[str], facts: Mapping[int, PairCheck]
) -> dict[str, list[tuple[Reason, ...]]]:
    """Return the reasons for the scores of every item, by spec, with the facts that differ; for few texts.

    Metrics that do not explain their scores are left out.
    """
    explained = {spec: _resolve_metric(spec, evalset.language).explain_items(evalset, outputs) for spec in specs}
    return {
        spec: [add_facts(reasons, facts[place]) if place in facts else reasons for place, reasons in enumerate(items)]
        for spec, items in explained.items()
        if items
    }


def _explain_limits(
    limits: Sequence[Limit],
    findings: Mapping[int, Sequence[Finding]],
    evalset: EvalSet,
    outputs: Sequence[str],
    facts: Mapping[int, PairCheck],
) -> dict[tuple[int, str], str]:
    """Return the reasons for scores beyond a limit, by place and rule; those of a headline are those of its parts."""
    texts = {}
    for limit in limits:
        places = [place for place, broken in findings.items() if any(finding.rule == limit.text for finding in broken)]
        if not places:
            continue
        checks = {index: facts[place] for index, place in enumerate(places) if place in facts}
        explained = explain_scores([limit.spec], evalset[places], [outputs[place] for place in places], checks)
        is_headline = limit.output == registry.metric(limit.spec).outputs[0]
        for place, reasons in zip(places if explained else (), explained.get(limit.spec, ()), strict=True):
            parts = [reason.text for reason in reasons if is_headline or reason.part == limit.output]
            texts[place, limit.text] = "; ".join(parts)
    return texts


def _copy_violations(rules: Rules, evalset: EvalSet, outputs: Sequence[str]) -> dict[int, list[Finding]]:
    """Return the outputs that are (nearly) their source and not plain.

    A copy is right only if the source is plain already. Where a few words were changed, it is reviewed.
    """
    sources = evalset.sources
    places = [
        place
        for place, output in enumerate(outputs if rules.copies else ())
        if _is_text(output) and output_faults.similarity(sources[place], output) >= _NEARLY
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
            is_copy = output_faults.similarity(sources[place], outputs[place]) >= _SAME
            opening = f"{'Copied' if is_copy else 'Hardly changed'} from a source that is not plain"
            outcome: Outcome = "block" if is_copy else "review"
            violations[place] = [Finding("", COPY, f"{opening}: {reasons}", outcome, value=broken[0].value)]
    return violations


def _level_violations(rules: Rules, evalset: EvalSet, outputs: Sequence[str]) -> dict[int, list[Finding]]:
    """Return the texts without a source that are not plain enough for the preset, as ``plainly check`` decides."""
    violations = {}
    for place, output in enumerate(outputs if rules.name in TARGETS else ()):
        if _is_text(output):
            verdict = judge(parse_document(output), language=evalset.language, preset=rules.name)
            if verdict.outcome != "pass":
                violations[place] = [Finding("", LEVEL, verdict.message, verdict.outcome)]
    return violations


def _is_text(output: str) -> bool:
    return not isinstance(output, Absent) and has_words(output)


@lru_cache(maxsize=1000)
def _resolve_metric(spec: str, language: str) -> Metric:
    return in_language(registry.metric(spec), language, spec) if language else registry.metric(spec)


def measure_segments(specs: Iterable[str], evalset: EvalSet, outputs: Sequence[str]) -> Segments:
    """Return the scores of the items by spec, without intervals; for few texts."""
    segments = {}
    for spec in dict.fromkeys(specs):
        metric = _resolve_metric(spec, evalset.language)
        values = metric.score(metric.measure(evalset, outputs))
        segments[spec] = {name: values[:, place] for place, name in enumerate(metric.outputs)}
    return segments
