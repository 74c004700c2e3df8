"""The checks of a set and its outputs, each registered under its code; what to do about a fault is in codes.toml.

Does every text stand beside its own source; what is empty, double, cut off or copied; what language models put around
an answer; is every text in the language of the set, and does every metric work in it; how are texts written?
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from plainly.core import registry
from plainly.core.evalset import Absent, EvalSet
from plainly.core.formatting import listed, percent
from plainly.core.metric import Metric
from plainly.core.result import Note
from plainly.io.faults import output_faults
from plainly.io.faults.output_faults import Fault
from plainly.io.faults.subject import UNNAMED, Collection, Subject, check, some, warning
from plainly.metrics.languages import made_for, shown, works_in
from plainly.text.languages.detection import named

_WORD = re.compile(r"\w+")
# A word in more than this many sources says little about which of them a text belongs to.
_COMMON = 20
# A text is out of place if another source has most of its rare words and its own source hardly any.
_OWN, _OTHER, _SHARED = 0.2, 0.6, 4
# A system that writes what a reference says so often, on so many items that it changed, is a reference.
_SAME, _FEWEST = 0.95, 10
_REWARDS_COPIES = re.compile(r"sari\(.*variant\s*=\s*(hf|t2t)\b")
_MANY_COPIES = 0.5
_MANY_CUT = 0.2
# No public test set is larger than this; hashing more sources than that would take time for nothing.
_PUBLIC = 10_000
_SHORT = 4  # words: a shorter answer may well be right for two items
_QUICK = 2_000  # outputs at most that a quick look reads
_ATTACHED = re.compile("[„“”«»‹›‚‘](?=\\w)|(?<=\\w)[“”«»‹›]")
_OFTEN = 0.05
_TWICE = re.compile(
    r"&amp;(?:quot|apos|amp|lt|gt|#9[13]|#124);|& (?:quot|apos|amp|lt|gt) ;|- [lr][rsc]b -|@ - @"
    r"|\b(?:do|does|did|is|was|were|are|ca|could|would|wo|has|had|have) n ' t\b",
    re.IGNORECASE,
)
_TWICE_MARKS = ("&amp;", "& ", "- l", "- r", "- L", "- R", "@ - @", " n ' t")
_TOKENISED, _PLAIN = 0.8, 0.2
_BRACKETS = re.compile(r"-[lr][rsc]b-", re.IGNORECASE)
_ENTITIES = re.compile(r"&(?:quot|apos|amp|lt|gt|nbsp|#\d{2,4});", re.IGNORECASE)
# UTF-8 read as Latin-1 or Windows-1252: a lead byte as Ã, Â, â€ … and then a continuation byte; or the mark of loss.
_MOJIBAKE = re.compile(
    "[ÃÂ][\u0080-\u00bf‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€[\u0080-\u00bf‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|[ÐÑ][\u0080-\u00bf][ÐÑ]|ï»¿|\ufffd"
)


@check("misaligned")
def misaligned(subject: Subject) -> Iterator[Note]:
    if not subject.sources.lines:
        return
    index = _index(subject)
    for texts in (subject.references, *subject.systems.values()):
        misfits = _misfits(texts, index) if not _turned(subject, texts, index) else {}
        if misfits:
            shift, times = Counter(fits - texts.owners[place] for place, fits in misfits.items()).most_common(1)[0]
            mostly = f", mostly {abs(shift)} {'later' if shift > 0 else 'earlier'}"
            pattern = mostly if times > max(3, len(misfits) / 2) else ""
            places = list(misfits)
            example = subject.evalset.ids[misfits[places[0]]]
            better = f"{texts.items(places)} {'fits' if len(places) == 1 else 'fit'} another source better{pattern}"
            yield texts.warning(f"{better}; the first fits that of item {example}.", places)


@check("transposed-references")
def transposed_references(subject: Subject) -> Iterator[Note]:
    if not subject.sources.lines or not subject.references.lines:
        return
    index = _index(subject)
    if _turned(subject, subject.references, index):
        yield warning(
            "Most references share their words with the sources of other items, not with their own.",
            where="the references",
        )


def _turned(subject: Subject, texts: Collection, index: _Index) -> bool:
    """Whether most references stand beside the wrong source."""
    if texts is not subject.references or not texts.lines:
        return False

    def build(_: object) -> bool:
        return len(_misfits(texts, index)) > 0.4 * sum(1 for line in texts.lines if len(index.rare(line)) >= _SHARED)

    return subject.evalset.prepare(("doctor: turned", subject.quick), build)


def _index(subject: Subject) -> _Index:
    return subject.evalset.prepare(("doctor: rare words", subject.quick), lambda _: _Index(subject.sources))


class _Index:
    """Which sources hold each rare word, and how much that word weighs."""

    def __init__(self, sources: Collection) -> None:
        self.words = {
            item: frozenset(_WORD.findall(source.lower()))
            for source, item in zip(sources.lines, sources.owners, strict=True)
        }
        self.places: dict[str, list[int]] = defaultdict(list)
        for item, words in self.words.items():
            for word in words:
                self.places[word].append(item)
        self._n = len(self.words)

    def rare(self, text: str) -> dict[str, float]:
        """The text's words that stand in few sources, with their weights (inverse document frequency)."""
        words = set(_WORD.findall(text.lower()))
        limit = max(2, min(_COMMON, self._n // 10))
        return {
            word: math.log((self._n + 1) / len(self.places[word]))
            for word in words
            if word in self.places and len(self.places[word]) <= limit
        }


def _misfits(texts: Collection, index: _Index) -> dict[int, int]:
    """The places of texts that fit another item's source better → that item."""
    misfits = {}
    for place, (line, item) in enumerate(zip(texts.lines, texts.owners, strict=True)):
        rare = index.rare(line)
        total = sum(rare.values())
        if len(rare) < _SHARED:
            continue
        own = sum(weight for word, weight in rare.items() if word in index.words[item])
        if own > _OWN * total:
            continue
        weights: dict[int, float] = defaultdict(float)
        shared: Counter[int] = Counter()
        for word, weight in rare.items():
            for other in index.places[word]:
                weights[other] += weight
                shared[other] += 1
        best = max(weights, key=lambda other: weights[other])
        if weights[best] >= _OTHER * total and shared[best] >= _SHARED:
            misfits[place] = best
    return misfits


@check("duplicate-items")
def duplicate_items(subject: Subject) -> Iterator[Note]:
    first: dict[str, int] = {}
    double = []
    for place, source in enumerate(subject.sources.lines):
        if source.strip() and first.setdefault(source, place) != place:
            double.append(place)
    groups = subject.evalset.groups
    if groups is not None:
        lines, owners = subject.sources.lines, subject.sources.owners
        double = [place for place in double if groups[owners[place]] != groups[owners[first[lines[place]]]]]
    if double:
        message = f"Sources that came before: {subject.sources.items(double)}."
        yield warning(message, ids=subject.sources.ids(double))


@check("reference-is-source")
def reference_is_source(subject: Subject) -> Iterator[Note]:
    references = subject.references
    if not references.lines or not subject.sources.lines:
        return
    same = references.copies(subject.evalset.sources)
    if len(same) > 0.5 * len(references.lines):
        message = f"{len(same)} of {len(references.lines)} references are the source, word for word."
        yield warning(message, where=references.name, ids=references.ids(same))


@check("empty-outputs")
def empty_outputs(subject: Subject) -> Iterator[Note]:
    for texts in subject.systems.values():
        empty = [place for place, line in enumerate(texts.lines) if not line.strip() and not isinstance(line, Absent)]
        if empty:
            yield texts.warning(f"empty for {texts.items(empty)}.", empty)


@check("empty-references")
def empty_references(subject: Subject) -> Iterator[Note]:
    counts = subject.evalset.reference_counts
    if not subject.evalset.references or not len(counts):
        return
    most = int(counts.max())
    fewer = [i for i in subject.chosen if counts[i] < most]
    if fewer:
        bare = sum(int(counts[i] == 0) for i in fewer)
        ids = tuple(subject.evalset.ids[i] for i in fewer[:20])
        none = f", {bare} of them none" if bare else ""
        message = f"Fewer than {most} references{none}: {some(ids, len(fewer))}."
        yield warning(message, where=subject.references.name, ids=ids)


@check("fewer-references")
def fewer_references(subject: Subject) -> Iterator[Note]:
    evalset = subject.evalset
    if not evalset.references or not subject.sources.lines or len(evalset) > _PUBLIC:
        return
    promised = subject.published_references(evalset)
    there = int(evalset.reference_counts.max(initial=0))
    if promised and there not in promised.values() and there < max(promised.values()):
        known = " and ".join(f"{name} ({count} references an item)" for name, count in promised.items())
        yield warning(f"The sources are those of {known}; {there} given.", where="the references")


@check("truncated")
def truncated(subject: Subject) -> Iterator[Note]:
    for texts in subject.systems.values():
        cut, whole = cut_off(subject, texts)
        if cut:
            message = f"{len(cut)} of {whole} outputs do not end where a sentence ends; the first is item "
            yield texts.warning(f"{message}{texts.ids(cut)[0]}, “…{texts.lines[cut[0]][-25:]}”.", cut)


def cut_off(subject: Subject, texts: Collection) -> tuple[list[int], int]:
    """The places of outputs without an end where their sources have one, if they are many; and of how many."""
    sources = subject.evalset.sources
    whole = [
        place
        for place, (line, owner) in enumerate(zip(texts.lines, texts.owners, strict=True))
        if line.strip() and output_faults.ends(sources[owner])
    ]
    cut = [place for place in whole if not output_faults.ends(texts.lines[place])]
    return (cut if len(cut) >= 5 and len(cut) > _MANY_CUT * len(whole) else []), len(whole)


@check("copies")
def copies(subject: Subject) -> Iterator[Note]:
    for texts, copied in _copied(subject):
        total = len(texts.lines)
        if total >= 5 and len(copied) > _MANY_COPIES * total:
            yield texts.warning(f"{len(copied)} of {total} outputs are the source, word for word.", copied)


@check("output-is-reference")
def output_is_reference(subject: Subject) -> Iterator[Note]:
    for system, items in reference_systems(subject.evalset, subject.outputs, subject.chosen).items():
        texts = subject.systems[system]
        message = f"{len(items)} of {len(texts.lines)} outputs are a reference of their own item, word for word: "
        places = [texts.owners.index(item) for item in items[:20]]
        yield texts.warning(f"{message}scored against itself it beats everyone, which proves nothing.", places)


@check("copy-rewarding-metric")
def copy_rewarding_metric(subject: Subject) -> Iterator[Note]:
    rewarding = [spec for spec in subject.specs if _REWARDS_COPIES.search(spec)]
    if rewarding:
        shares = {texts.name: len(copied) / max(len(texts.lines), 1) for texts, copied in _copied(subject)}
        name = max(shares, key=shares.__getitem__, default="")
        who = "The system" if name == UNNAMED else name
        share = f" {who} copies {percent(shares[name])} of its input." if shares.get(name) else ""
        yield warning(f"{', '.join(rewarding)} gives a copy of the source more than real systems get.{share}")


def _copied(subject: Subject) -> Iterator[tuple[Collection, list[int]]]:
    if subject.sources.lines:
        for texts in subject.systems.values():
            yield texts, [place for place in texts.copies(subject.evalset.sources) if texts.lines[place].strip()]


def reference_systems(
    evalset: EvalSet, outputs: Mapping[str, Sequence[str]], items: Sequence[int] | None = None
) -> dict[str, list[int]]:
    """Systems that are references, with the items that show it: a reference scored against itself beats everyone.

    Items whose output is the source do not count: people leave sentences as they are, too.
    """
    if not evalset.references:
        return {}
    chosen = [item for item in (range(len(evalset)) if items is None else items) if evalset.references[item]]
    references = {item: [text.split() for text in evalset.references[item]] for item in chosen}
    shown: dict[str, list[int]] = {}
    for system, texts in outputs.items():
        words = {item: texts[item].split() for item in chosen}
        if evalset.has_sources:
            words = {item: said for item, said in words.items() if said != evalset.sources[item].split()}
        same = [item for item, said in words.items() if said in references[item]]
        if len(words) >= _FEWEST and len(same) >= _SAME * len(words):
            shown[system] = same
    return shown


def _faulty(subject: Subject, code: str) -> Iterator[Note]:
    for texts in subject.systems.values():
        seen = _faults(subject, texts).get(code, {})
        if code == "unfinished" and seen and cut_off(subject, texts)[0]:
            continue  # The check "truncated" says so of the whole system.
        if seen:
            places = list(seen)
            yield texts.warning(
                f"{output_faults.SEEN[code]}, “{seen[places[0]].words}”, in {texts.items(places)}.", places
            )


for _code in output_faults.CHECKS:
    check(_code)(partial(_faulty, code=_code))


@check("same-output")
def same_output(subject: Subject) -> Iterator[Note]:
    sources = subject.evalset.sources if subject.sources.lines else None
    for texts in subject.systems.values():
        by_text: dict[str, list[int]] = defaultdict(list)
        for place, line in enumerate(texts.lines):
            if len(line.split()) >= _SHORT:
                by_text[" ".join(line.split())].append(place)
        for line, places in by_text.items():
            if sources is not None and len({sources[texts.owners[place]] for place in places}) > 1:
                yield texts.warning(
                    f"the same text for different sources, “{line[:40]}…”, {texts.items(places)}.", places
                )


@check("other-source")
def other_source(subject: Subject) -> Iterator[Note]:
    if not subject.sources.lines:
        return
    owners = {" ".join(source.split()): item for item, source in enumerate(subject.evalset.sources)}
    for texts in subject.systems.values():
        places = []
        for place, (line, item) in enumerate(zip(texts.lines, texts.owners, strict=True)):
            key = " ".join(line.split())
            if (
                key.count(" ") >= _SHORT - 1
                and key in owners
                and key != " ".join(subject.evalset.sources[item].split())
            ):
                places.append(place)
        if places:
            yield texts.warning(f"the source of another item, word for word, {texts.items(places)}.", places)


def _faults(subject: Subject, texts: Collection) -> dict[str, dict[int, Fault]]:
    """The faults of a system's outputs by code and place; looked for once."""
    if texts.name not in subject.faults:
        sources = subject.evalset.sources if subject.sources.lines else None
        most = max(_QUICK // max(len(subject.systems), 1), 1) if subject.quick else len(texts.lines)
        seen: dict[str, dict[int, Fault]] = defaultdict(dict)
        for place in range(0, len(texts.lines), max(1, -(-len(texts.lines) // max(most, 1)))):
            source = sources[texts.owners[place]] if sources is not None else ""
            for fault in output_faults.faults(source, texts.lines[place]):
                seen[fault.code].setdefault(place, fault)
        subject.faults[texts.name] = seen
    return subject.faults[texts.name]


@check("language")
def language(subject: Subject) -> Iterator[Note]:
    expected = subject.expected_language
    if expected is None:
        return
    for texts in subject.collections():
        if texts is subject.of_set and subject.language is None:
            continue  # what is expected was read off them; see mixed-languages
        others = {code: places for code, places in _by_language(texts).items() if code != expected}
        if others:
            places = sorted(place for places in others.values() for place in places)
            spoken = "; ".join(f"{named(code)} in {texts.items(places)}" for code, places in others.items())
            message = f"{spoken}, where {named(expected)} is expected: “{texts.lines[places[0]][:40]}…”."
            yield texts.warning(message, places)


@check("mixed-languages")
def mixed_languages(subject: Subject) -> Iterator[Note]:
    texts = subject.of_set
    if subject.language is not None or texts is None:
        return
    by_language = _by_language(texts)
    if len(by_language) > 1:
        (most, there), *rest = sorted(by_language.items(), key=lambda entry: -len(entry[1]))
        others = "; ".join(f"{named(code)} in {texts.items(places)}" for code, places in rest)
        places = sorted(place for _, places in rest for place in places)
        yield texts.warning(f"several languages: {named(most)} in {len(there)} texts; {others}.", places)


@check("metric-language")
def metric_language(subject: Subject) -> Iterator[Note]:
    spoken = subject.expected_language
    if spoken is None:
        return
    unsuited = {spec: metric for spec, metric in _metrics(subject).items() if not works_in(metric, spoken)}
    if not unsuited:
        return
    fixed = [spec for spec, metric in unsuited.items() if not metric.language]
    made = "; ".join(f"{spec} works in {shown(unsuited[spec])}" for spec in fixed)
    unset = [spec for spec in unsuited if spec not in fixed]
    counts = f"{listed(unset)} {'count' if len(unset) > 1 else 'counts'} as in English" if unset else ""
    said = f"The texts are {named(spoken)}, but {'; '.join(filter(None, (made, counts)))}. Numbers from it mean little."
    advice = _advice(spoken, fixed, subject)
    yield replace(warning(f"{said} {advice}".strip(), where="metrics"), severity="error")


@check("tokeniser-language")
def tokeniser_language(subject: Subject) -> Iterator[Note]:
    spoken = subject.expected_language
    ours = [spec for spec, metric in _metrics(subject).items() if metric.tokenize in ("13a", "auto")]
    if spoken in (None, "en") or not ours:
        return
    texts = [line for collection in subject.collections() for line in collection.lines]
    attached = sum(_ATTACHED.search(line) is not None for line in texts)
    if attached > _OFTEN * len(texts):
        mark = next(match[0] for line in texts if (match := _ATTACHED.search(line)))
        marks = f"In {attached} of {len(texts)} texts a mark such as {mark} stays on its word"
        instead = f"{ours[0].partition('(')[0]}(tokenize=intl)"
        said = f"{marks}, since 13a parts English marks only ({listed(ours)}). {instead} parts them; say what you used."
        yield replace(warning(said), severity="note")


def _metrics(subject: Subject) -> dict[str, Metric]:
    """The metrics that are to be used; of somebody's own, which a name does not lead to, nothing is known."""
    if isinstance(subject.specs, Mapping):
        return dict(subject.specs)
    return registry.metrics([spec for spec in subject.specs if spec.partition("(")[0] in registry.METRICS])


def _advice(language: str, fixed: Sequence[str], subject: Subject) -> str:
    instead = made_for(language)
    if not instead:
        return "No metric of plainly is made for it; those that work in any language are listed by: plainly metrics"
    advice = [] if subject.language == language else [f"pass language={language!r}"]
    if fixed:
        advice.append(f"use metrics made for {named(language)}: {listed(list(instead), most=len(instead))}")
    return f"What to do: {' and '.join(advice)}." if advice else ""


def _by_language(texts: Collection) -> dict[str, list[int]]:
    """The places of the texts in each language; those of which nobody can tell are left out."""
    by_language: dict[str, list[int]] = defaultdict(list)
    for place, code in enumerate(texts.languages[0]):
        if code is not None:
            by_language[code].append(place)
    return by_language


@check("double-tokenisation")
def double_tokenisation(subject: Subject) -> Iterator[Note]:
    for texts in subject.collections():
        twice = texts.matching(_TWICE) if any(mark in texts.joined for mark in _TWICE_MARKS) else []
        if twice:
            message = f"tokenised twice, {texts.items(twice)}: {_excerpt(texts, twice[0], _TWICE)}."
            yield texts.warning(message, twice)
    tokenised = [texts.name for texts in subject.collections() if (texts.tokenised or 0) > _TOKENISED]
    if tokenised and any(map(_tokenises, subject.specs or ("bleu",))):
        message = f"Already tokenised: {listed(tokenised)}. Metrics that tokenise do so again."
        yield warning(message, where=tokenised[0])


@check("tokenisation-mismatch")
def tokenisation_mismatch(subject: Subject) -> Iterator[Note]:
    known = [texts for texts in subject.collections() if texts.tokenised is not None]
    apart = [texts.name for texts in known if (texts.tokenised or 0) > _TOKENISED]
    plain = [texts.name for texts in known if (texts.tokenised or 0) < _PLAIN]
    if apart and plain:
        message = f"Tokenised: {listed(apart)}. Not tokenised: {listed(plain)}. They cannot match at punctuation."
        yield warning(message, where=apart[0])


@check("case-mismatch")
def case_mismatch(subject: Subject) -> Iterator[Note]:
    known = [texts for texts in subject.collections() if texts.capitals is not None]
    lower = [texts.name for texts in known if (texts.capitals or 0) < 0.05]
    cased = [texts.name for texts in known if (texts.capitals or 0) > 0.5]
    if lower and cased:
        yield warning(f"All lower case: {listed(lower)}. With capitals: {listed(cased)}.", where=lower[0])


def _pattern(subject: Subject, pattern: re.Pattern[str], what: str) -> Iterator[Note]:
    for texts in subject.collections():
        places = texts.matching(pattern)
        if places:
            excerpt = _excerpt(texts, places[0], pattern)
            yield texts.warning(f"{what} {excerpt}, in {texts.items(places)}.", places)


for _code, _what, _regex in (
    ("brackets", "brackets written as", _BRACKETS),
    ("escaped-entities", "characters written as entities,", _ENTITIES),
    ("encoding", "damaged characters,", _MOJIBAKE),
):
    check(_code)(partial(_pattern, pattern=_regex, what=_what))


def _excerpt(texts: Collection, place: int, pattern: re.Pattern[str]) -> str:
    line = texts.lines[place]
    match = pattern.search(line)
    if match is None:
        return ""
    start, stop = max(match.start() - 8, 0), min(match.end() + 8, len(line))
    return f"“{'…' if start else ''}{line[start:stop].strip()}{'…' if stop < len(line) else ''}”"


def _tokenises(spec: str) -> bool:
    name = spec.partition("(")[0]
    return name in ("sari", "bleu", "ibleu", "tbleu", "fkbleu") and "tokenize=none" not in spec
