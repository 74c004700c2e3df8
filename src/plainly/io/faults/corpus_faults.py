"""Faults of a set and all its outputs: checks, each registered under its code; codes.toml says what to do about them.

They find texts that do not belong to their source, that are empty, repeated, cut off or copied, what language models
put around an answer, texts and metrics of another language, and differences in how texts are written. ``Subject`` is
what they look at: a set, its outputs, and statistics of each of its collections of texts, computed once.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain

from plainly.core import registry
from plainly.core.evalset import Absent, EvalSet
from plainly.core.formatting import listed, percent
from plainly.core.metric import Metric
from plainly.core.result import Note
from plainly.io.faults import output_faults
from plainly.io.faults.output_faults import Fault
from plainly.metrics.evidence import describe_languages, metrics_for_language, works_in
from plainly.text.languages.detection import detect_all, language_name

UNNAMED = "the outputs"  # of a system without a name
_WORD = re.compile(r"\w+")
# A word in more than this many sources says little about which of them a text belongs to.
_COMMON = 20
# A text is out of place if another source has most of its rare words and its own source hardly any.
_OWN, _OTHER, _SHARED = 0.2, 0.6, 4
# A system that writes what a reference says so often, on so many items that it changed, has copied references: of the
# published systems none does so on more than .08 (ASSET, ten references; TurkCorpus, eight: .06).
_SAME, _FEWEST = 0.2, 10
_REWARDS_COPIES = re.compile(r"sari\(.*variant\s*=\s*(hf|t2t)\b")
_MANY_COPIES = 0.5
_MANY_CUT = 0.2
# Outputs of exactly the longest length, in characters and in words: so many, and this share of all, were cut there.
_CUT_AT: dict[str, tuple[Callable[[str], int], int, float]] = {
    "characters": (len, 3, 0.02),
    "words": (lambda text: len(text.split()), 5, 0.1),
}
# Of the outputs that differ from their source, so many are longer and in longer sentences: no public system has .56.
_HARDER = 0.65
_ENTITY = re.compile(r"&\w+;")
_STOP = re.compile(r"[.!?]+(?:\s|$)")
_NUMBER = re.compile(r"\s*[#(\[]?(\d+)[\]).:]*\s")
_HEADER = re.compile(
    r"(?:sources?|src|original|complex|normal|input|simple|simplified|simplifications?|references?|refs?|target|tgt|"
    r"outputs?|predictions?|hypothes[ei]s|texts?|sentences?|ids?|system)(?:[ _.-]?(?:texts?|sentences?|\d+))?",
    re.IGNORECASE,
)
# No public test set is larger than this; hashing more sources than that would take time for nothing.
_PUBLIC = 10_000
_SHORT = 4  # words: a shorter answer may well be right for two items
_ATTACHED = re.compile("[„“”«»‹›‚‘](?=\\w)|(?<=\\w)[“”«»‹›]")
_OFTEN = 0.05
_TWICE = re.compile(
    r"&amp;(?:quot|apos|amp|lt|gt|#9[13]|#124);|& (?:quot|apos|amp|lt|gt) ;|- [lr][rsc]b -|@ - @"
    r"|\b(?:do|does|did|is|was|were|are|ca|could|would|wo|has|had|have) n ' t\b",
    re.IGNORECASE,
)
_TWICE_MARKS = ("&amp;", "& ", "- l", "- r", "- L", "- R", "@ - @", " n ' t")
_TOKENISED, _PLAIN = 0.8, 0.2
# UTF-8 read as Latin-1 or Windows-1252: a lead byte as Ã, Â, â€ … and then a continuation byte; control characters of
# Latin-1, which texts do not use; or the mark of loss.
_CONTINUATION = "[\u0080-\u00bf‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"
# NUL and its kin, zero-width and soft characters; joiners only between Latin letters, since other scripts need them.
_INVISIBLE = "[\x00-\x08\x0e-\x1f\x7f\u00ad\u200b\u200e\u200f\u2060\u2066-\u2069\ufeff]|(?<=[A-Za-z])[\u200c\u200d]"
# Cyrillic, Greek, full-width and mathematical letters with the shape of a Latin one, beside Latin letters or alone
# between Latin words.
_SHAPES = "[АВЕЅІЈКМНОРСТУХаеорсухѕіјԁһΑΒΕΖΗΙΚΜΝΟΡΤΥΧο\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d6a3]"
_LOOK_ALIKES = f"{_SHAPES}(?:(?<=[A-Za-z].)|(?=[A-Za-z])|(?<=[A-Za-z] .){_SHAPES}*(?= [A-Za-z]))"
_MOJIBAKE = f"(?:[ÃÂ]|â€){_CONTINUATION}|[ÐÑ][\u0080-\u00bf][ÐÑ]|ï»¿|[\ufffd\x80-\x84\x86-\x9f]"


@dataclass(frozen=True)
class Collection:
    """Texts of one kind: the sources, the references, or one system's outputs."""

    name: str
    lines: tuple[str, ...]
    owners: tuple[int, ...]  # the item of each text
    names: tuple[str, ...]  # the ids of all items

    @cached_property
    def text(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def words(self) -> list[list[str]]:
        """The words of each text, in lower case and without entities."""
        return [_WORD.findall(_ENTITY.sub(" ", line).lower() if "&" in line else line.lower()) for line in self.lines]

    @cached_property
    def sentences(self) -> list[int]:
        """How many sentences each text has."""
        return [max(len(_STOP.findall(line)), 1) for line in self.lines]

    @cached_property
    def tokenised(self) -> float | None:
        """The share of commas and full stops with a space before them; None if there are too few."""
        text = f"{self.text}\n"
        apart, total = (sum(map(text.count, marks)) for marks in ((" , ", " . ", " .\n"), (", ", ". ", ".\n")))
        return apart / total if total >= 10 else None

    @cached_property
    def capitals(self) -> float | None:
        """The share of texts with a capital letter, among those with cased letters; None if there are too few."""
        cased = [line for line in self.lines if line.lower() != line.upper()]
        return sum(line != line.lower() for line in cased) / len(cased) if len(cased) >= 5 else None

    @cached_property
    def languages(self) -> tuple[list[str | None], str | None]:
        """The language of each text, if it can be detected, and that of most of them."""
        return detect_all(self.lines)

    def matching(self, pattern: re.Pattern[str]) -> list[int]:
        """Return the indices of the texts that match a pattern; fast if none does."""
        if not pattern.search(self.text):
            return []
        return [index for index, line in enumerate(self.lines) if pattern.search(line)]

    def ids(self, indices: Sequence[int]) -> tuple[str, ...]:
        """Return the ids of the items of the texts at these indices."""
        items = dict.fromkeys(self.owners[index] for index in indices)
        return tuple(self.names[item] for item in items)

    def items(self, indices: Sequence[int]) -> str:
        """Return these ids in words, for a message."""
        return name_items(self.ids(indices), len(indices))

    def copies(self, sources: Sequence[str]) -> list[int]:
        """Return the indices of the texts that are the source of their item, word for word, without blank ones."""
        pairs = enumerate(zip(self.lines, self.owners, strict=True))
        return [index for index, (line, owner) in pairs if line.strip() and line.split() == sources[owner].split()]

    def warning(self, message: str, indices: Sequence[int]) -> Note:
        """Return a warning about the texts at these indices."""
        return warning(f"{self.name}: {message}", where=self.name, ids=self.ids(indices))


@dataclass(frozen=True)
class Subject:
    """A set and its outputs; ``specs`` are the metrics to be used. ``language`` is that of the texts.

    ``published_references`` returns how many references each public set with the same sources has. ``quick`` checks
    one reference of each item, in turn. Outputs that a system does not have are not checked.
    """

    evalset: EvalSet
    outputs: Mapping[str, Sequence[str]]
    specs: Sequence[str] | Mapping[str, Metric]
    language: str | None
    quick: bool
    published_references: Callable[[EvalSet], Mapping[str, int]]

    @cached_property
    def sources(self) -> Collection:
        if not self.evalset.has_sources:
            return Collection("the sources", (), (), ())
        return self._texts("the sources", self.evalset.sources)

    @cached_property
    def references(self) -> Collection:
        rows = self.evalset.references
        if self.quick:
            pairs = [(row[i % len(row)], i) for i, row in enumerate(rows) if row]
        else:
            pairs = [(reference, i) for i, row in enumerate(rows) for reference in row]
        lines, owners = zip(*pairs, strict=True) if pairs else ((), ())
        return Collection("the references", lines, owners, self.evalset.ids)

    @cached_property
    def systems(self) -> dict[str, Collection]:
        return {name: self._texts(name or UNNAMED, texts) for name, texts in self.outputs.items()}

    @cached_property
    def faults(self) -> dict[str, dict[str, dict[int, Fault]]]:
        """The faults of outputs by the name of their collection, code and index."""
        faults: dict[str, dict[str, dict[int, Fault]]] = {}
        for texts in self.systems.values():
            by_code = faults[texts.name] = defaultdict(dict)
            for index, (line, owner) in enumerate(zip(texts.lines, texts.owners, strict=True)):
                for fault in output_faults.faults(self.evalset.sources[owner], line):
                    by_code[fault.code].setdefault(index, fault)
        return faults

    @cached_property
    def source_index(self) -> _Index:
        """The rare words of the sources."""
        return _Index(self.sources)

    @cached_property
    def has_transposed_references(self) -> bool:
        """Whether most references are paired with the wrong source."""
        comparable = sum(len(self.source_index.rare(words)) >= _SHARED for words in self.references.words)
        return len(_find_misfits(self, self.references)) > 0.4 * comparable

    @property
    def of_set(self) -> Collection | None:
        """The texts that represent the set: its sources, else its references or the first outputs."""
        return next(self.collections(), None)

    @property
    def expected_language(self) -> str | None:
        """The specified language, or that of the set's texts."""
        if self.language is not None:
            return self.language
        return self.of_set.languages[1] if self.of_set is not None else None

    def collections(self) -> Iterator[Collection]:
        """Yield sources, references and each system's outputs, as far as there are any."""
        yield from (texts for texts in (self.sources, self.references, *self.systems.values()) if texts.lines)

    def _texts(self, name: str, lines: Sequence[str]) -> Collection:
        owners = tuple(i for i, line in enumerate(lines) if not isinstance(line, Absent))
        return Collection(name, tuple(lines[i] for i in owners), owners, self.evalset.ids)


Check = Callable[[Subject], Iterator[Note]]
CHECKS: dict[str, Check] = {}


def check(code: str) -> Callable[[Check], Check]:
    """Register a check under its code, which is that of its warnings; codes.toml explains it."""

    def register(run: Check) -> Check:
        CHECKS[code] = run
        return run

    return register


def warning(message: str, *, where: str = "", ids: tuple[str, ...] = ()) -> Note:
    """Return a warning of a check, with the place and the items that it is about."""
    return Note(message, kind="warning", where=where, ids=ids)


def name_items(ids: Sequence[str], count: int) -> str:
    """Name items in a message: at most three ids, and how many more there are."""
    more = f" and {count - 3} more" if count > 3 else ""
    return f"item{'s' if count > 1 else ''} {', '.join(ids[:3])}{more}"


@check("misaligned")
def misaligned(subject: Subject) -> Iterator[Note]:
    for texts in (subject.references, *subject.systems.values()):
        if texts is subject.references and subject.has_transposed_references:
            continue
        if misfits := _find_misfits(subject, texts):
            indices = list(misfits)
            shift, times = Counter(fits - texts.owners[index] for index, fits in misfits.items()).most_common(1)[0]
            is_shifted = times > max(3, len(misfits) / 2)
            mostly = f", mostly {abs(shift)} {'later' if shift > 0 else 'earlier'}" if is_shifted else ""
            better = f"{texts.items(indices)} {'fits' if len(indices) == 1 else 'fit'} another source better{mostly}"
            example = subject.evalset.ids[misfits[indices[0]]]
            yield texts.warning(f"{better}; the first fits that of item {example}.", indices)


@check("transposed-references")
def transposed_references(subject: Subject) -> Iterator[Note]:
    if subject.has_transposed_references:
        message = "Most references share their words with the sources of other items, not with their own."
        yield warning(message, where="the references")


class _Index:
    """The sources that contain each rare word, and the weight of that word (inverse document frequency)."""

    def __init__(self, sources: Collection) -> None:
        self.words = {item: frozenset(words) for item, words in zip(sources.owners, sources.words, strict=True)}
        items: dict[str, list[int]] = defaultdict(list)
        for item, words in self.words.items():
            for word in words:
                items[word].append(item)
        n = len(self.words)
        limit = max(2, min(_COMMON, n // 10))
        self.items = {word: places for word, places in items.items() if len(places) <= limit}
        self.weights = {word: math.log((n + 1) / len(places)) for word, places in self.items.items()}

    def rare(self, words: Iterable[str]) -> dict[str, float]:
        """Return those of the words that are in few sources, with their weights."""
        return {word: self.weights[word] for word in set(words) if word in self.weights}


def _find_misfits(subject: Subject, texts: Collection) -> dict[int, int]:
    """Return the indices of texts that fit another item's source better, with that item."""
    sources = subject.source_index
    misfits = {}
    for index, (words, item) in enumerate(zip(texts.words, texts.owners, strict=True)):
        rare = sources.rare(words)
        total = sum(rare.values())
        own = sum(weight for word, weight in rare.items() if word in sources.words[item])
        if len(rare) < _SHARED or own > _OWN * total:
            continue
        weights: dict[int, float] = defaultdict(float)
        shared: Counter[int] = Counter()
        for word, weight in rare.items():
            for other in sources.items[word]:
                weights[other] += weight
                shared[other] += 1
        best = max(weights, key=lambda other: weights[other])
        if weights[best] >= _OTHER * total and shared[best] >= _SHARED:
            misfits[index] = best
    return misfits


@check("duplicate-items")
def duplicate_items(subject: Subject) -> Iterator[Note]:
    first: dict[str, int] = {}
    sources, groups = subject.sources, subject.evalset.groups or range(len(subject.evalset))
    repeated = [
        index
        for index, source in enumerate(sources.lines)
        if source.strip() and groups[sources.owners[first.setdefault(source, index)]] != groups[sources.owners[index]]
    ]
    if repeated:
        yield warning(f"Repeated sources: {sources.items(repeated)}.", ids=sources.ids(repeated))


@check("reference-is-source")
def reference_is_source(subject: Subject) -> Iterator[Note]:
    references = subject.references
    same = references.copies(subject.evalset.sources)
    if len(same) > 0.5 * len(references.lines):
        message = f"{len(same)} of {len(references.lines)} references are the source, word for word."
        yield warning(message, where=references.name, ids=references.ids(same))


@check("empty-outputs")
def empty_outputs(subject: Subject) -> Iterator[Note]:
    for texts in subject.systems.values():
        empty = [index for index, line in enumerate(texts.lines) if not line.strip()]
        if empty:
            yield texts.warning(f"empty for {texts.items(empty)}.", empty)


@check("empty-references")
def empty_references(subject: Subject) -> Iterator[Note]:
    counts = subject.evalset.reference_counts
    if not subject.evalset.references or not len(counts):
        return
    most = int(counts.max())
    fewer = [i for i, count in enumerate(counts) if count < most]
    if fewer:
        bare = sum(int(counts[i] == 0) for i in fewer)
        ids = tuple(subject.evalset.ids[i] for i in fewer)
        none = f", {bare} of them none" if bare else ""
        message = f"Fewer than {most} references{none}: {name_items(ids, len(fewer))}."
        yield warning(message, where=subject.references.name, ids=ids)


@check("fewer-references")
def fewer_references(subject: Subject) -> Iterator[Note]:
    evalset = subject.evalset
    if not evalset.references or not subject.sources.lines or len(evalset) > _PUBLIC:
        return
    published = subject.published_references(evalset)
    there = int(evalset.reference_counts.max(initial=0))
    if published and there not in published.values() and there < max(published.values()):
        sets = " and ".join(f"{name} ({count} references per item)" for name, count in published.items())
        yield warning(f"The sources are those of {sets}; {there} given.", where="the references")


@check("truncated")
def truncated(subject: Subject) -> Iterator[Note]:
    for texts in subject.systems.values():
        cut, complete = _find_cut_off(subject, texts)
        same, length = _find_cut_at(subject, texts)
        if cut or same:
            message = f"{len(cut)} of {complete} outputs do not end where a sentence ends" if cut else ""
            at = f"{len(same)} of {len(texts.lines)} outputs stop after exactly {length}" if same else ""
            first = (cut or same)[0]
            seen = f"the first is item {texts.ids([first])[0]}, “…{texts.lines[first][-25:]}”"
            yield texts.warning(f"{'; '.join(filter(None, (message, at, seen)))}.", cut or same)


def _find_cut_at(subject: Subject, texts: Collection) -> tuple[list[int], str]:
    """Return the indices of outputs that stop at one length, if they are many, and that length in words."""
    sources = subject.evalset.sources
    for unit, (measure, fewest, share) in _CUT_AT.items():
        lengths = [measure(line) for line in texts.lines]
        longest = max(lengths, default=0)
        same = [
            index
            for index, length in enumerate(lengths)
            if length == longest < measure(sources[texts.owners[index]]) and not output_faults.ends(texts.lines[index])
        ]
        if len(same) >= max(fewest, share * len(lengths)):
            return same, f"{longest} {unit}"
    return [], ""


@check("swapped")
def swapped(subject: Subject) -> Iterator[Note]:
    sources = subject.sources
    by_item = dict(zip(sources.owners, zip(sources.words, sources.sentences, strict=True), strict=True))
    for texts in (subject.references, *subject.systems.values()):
        faults = subject.faults.get(texts.name, {})
        wrapped = {index for code in ("reasoning", "preamble", "sign-off") for index in faults.get(code, ())}
        longer: dict[int, bool] = {}
        denser: list[bool] = []
        for index, (words, sentences) in enumerate(zip(texts.words, texts.sentences, strict=True)):
            before, sentences_before = by_item.get(texts.owners[index], ([], 1))
            if words and before and words != before and index not in wrapped:
                longer[index] = sum(map(len, words)) > sum(map(len, before))
                if (now := len(words) / sentences) != (then := len(before) / sentences_before):
                    denser.append(now > then)
        if _are_most(list(longer.values())) and _are_most(denser):
            message = (
                f"{sum(longer.values())} of the {len(longer)} texts that differ from their source are longer than it, "
                f"and {sum(denser)} of {len(denser)} have longer sentences: sources and simplifications may be swapped."
            )
            yield texts.warning(message, [index for index, is_longer in longer.items() if is_longer])


def _are_most(signs: Sequence[bool]) -> bool:
    """Return whether so many are true that neither habit nor chance explains it."""
    return bool(signs) and sum(signs) / len(signs) > max(_HARDER, 0.5 + 1.3 / len(signs) ** 0.5)


@check("header-row")
def header_row(subject: Subject) -> Iterator[Note]:
    headers = {
        texts.name: texts.lines[0]
        for texts in subject.collections()
        if texts.owners[0] == 0
        and any(_HEADER.fullmatch(cell.strip()) or cell.strip() == texts.name for cell in texts.lines[0].split("\t"))
        and 2 * sum(len(words) >= _SHORT for words in texts.words) > len(texts.words)
    }
    if headers:
        names = listed([f"{name} (“{header.strip()}”)" for name, header in headers.items()])
        yield warning(f"The first text is the name of a column: {names}.", ids=subject.evalset.ids[:1])


@check("labelled-lines")
def labelled_lines(subject: Subject) -> Iterator[Note]:
    for texts in subject.collections():
        numbers = [
            int(match[1]) - owner
            for line, owner in zip(texts.lines, texts.owners, strict=True)
            if line[:1].isascii() and (match := _NUMBER.match(line[:20]))
        ]
        tabs = [index for index, line in enumerate(texts.lines) if "\t" in line.strip()]
        total = len(texts.lines)
        if total >= _SHORT and 2 * len(tabs) > total:
            yield texts.warning(f"tabs inside, {_visible(texts.lines[tabs[0]][:40])}, in {texts.items(tabs)}.", tabs)
        elif total >= _SHORT and max(Counter(numbers).values(), default=0) > 0.9 * total:
            yield texts.warning(f"every text begins with its number, {_visible(texts.lines[0][:40])}.", range(total))


def _find_cut_off(subject: Subject, texts: Collection) -> tuple[list[int], int]:
    """Return the indices of outputs that stop short, if they are many, and the number of outputs compared."""
    sources = subject.evalset.sources
    whole = [
        index
        for index, (line, owner) in enumerate(zip(texts.lines, texts.owners, strict=True))
        if line.strip() and output_faults.ends(sources[owner])
    ]
    cut = [index for index in whole if not output_faults.ends(texts.lines[index])]
    return (cut if len(cut) >= 5 and len(cut) > _MANY_CUT * len(whole) else []), len(whole)


@check("copies")
def copies(subject: Subject) -> Iterator[Note]:
    for texts in subject.systems.values():
        indices, total = texts.copies(subject.evalset.sources), len(texts.lines)
        if total >= 5 and len(indices) > _MANY_COPIES * total:
            yield texts.warning(f"{len(indices)} of {total} outputs are the source, word for word.", indices)


@check("output-is-reference")
def output_is_reference(subject: Subject) -> Iterator[Note]:
    for system, items in reference_systems(subject.evalset, subject.outputs).items():
        texts = subject.systems[system]
        message = f"{len(items)} of {len(texts.lines)} outputs are a reference of their own item, word for word: "
        indices = [index for index, owner in enumerate(texts.owners) if owner in set(items)]
        yield texts.warning(f"{message}a score of a reference against itself is not comparable.", indices)


@check("copy-rewarding-metric")
def copy_rewarding_metric(subject: Subject) -> Iterator[Note]:
    rewarding = [spec for spec in subject.specs if _REWARDS_COPIES.search(spec)]
    if rewarding:
        shares = {
            texts.name: len(texts.copies(subject.evalset.sources)) / max(len(texts.lines), 1)
            for texts in subject.systems.values()
        }
        name = max(shares, key=shares.__getitem__, default="")
        system = "The system" if name == UNNAMED else name
        share = f" {system} copies {percent(shares[name])} of its input." if shares.get(name) else ""
        yield warning(f"{', '.join(rewarding)} gives a copy of the source more than real systems get.{share}")


def reference_systems(evalset: EvalSet, outputs: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    """Return the systems that copy references, with the items where they do: their scores are not comparable.

    Items whose output is the source do not count: people leave sentences unchanged, too.
    """
    if not evalset.references:
        return {}
    items = [item for item, row in enumerate(evalset.references) if row]
    references = {item: [text.split() for text in evalset.references[item]] for item in items}
    systems: dict[str, list[int]] = {}
    for system, texts in outputs.items():
        outputs_changed = {item: texts[item].split() for item in items if not isinstance(texts[item], Absent)}
        if evalset.has_sources:
            outputs_changed = {i: words for i, words in outputs_changed.items() if words != evalset.sources[i].split()}
        same = [item for item, words in outputs_changed.items() if words in references[item]]
        if len(outputs_changed) >= _FEWEST and len(same) >= _SAME * len(outputs_changed):
            systems[system] = same
    return systems


def _faulty(subject: Subject, code: str) -> Iterator[Note]:
    for texts in subject.systems.values():
        faults = subject.faults[texts.name].get(code, {})
        if code == "unfinished" and faults and _find_cut_off(subject, texts)[0]:
            continue  # The check "truncated" covers the whole system.
        if indices := list(faults):
            words = faults[indices[0]].words
            yield texts.warning(f"{output_faults.SEEN[code]}, “{words}”, in {texts.items(indices)}.", indices)


for _code in output_faults.CHECKS:
    check(_code)(partial(_faulty, code=_code))


@check("same-output")
def same_output(subject: Subject) -> Iterator[Note]:
    sources = subject.evalset.sources
    for texts in subject.systems.values():
        by_text: dict[str, list[int]] = defaultdict(list)
        for index, line in enumerate(texts.lines):
            if len(line.split()) >= _SHORT:
                by_text[" ".join(line.split())].append(index)
        for line, indices in by_text.items():
            if len({sources[texts.owners[index]] for index in indices}) > 1:
                yield texts.warning(
                    f"the same text for different sources, “{line[:40]}…”, {texts.items(indices)}.", indices
                )


@check("other-source")
def other_source(subject: Subject) -> Iterator[Note]:
    sources = {" ".join(source.split()) for source in subject.evalset.sources}
    for texts in subject.systems.values():
        words = [line.split() for line in texts.lines]
        indices = [
            index
            for index, item in enumerate(texts.owners)
            if len(words[index]) >= _SHORT
            and " ".join(words[index]) in sources
            and words[index] != subject.evalset.sources[item].split()
        ]
        if indices:
            yield texts.warning(f"the source of another item, word for word, {texts.items(indices)}.", indices)


@check("language")
def language(subject: Subject) -> Iterator[Note]:
    expected = subject.expected_language
    if expected is None:
        return
    for texts in subject.collections():
        if texts is subject.of_set and subject.language is None:
            continue  # the expected language was detected in them; see mixed-languages
        others = {code: indices for code, indices in _by_language(texts).items() if code != expected}
        if others:
            indices = sorted(chain.from_iterable(others.values()))
            languages = _list_languages(texts, others)
            message = f"{languages}, where {language_name(expected)} is expected: “{texts.lines[indices[0]][:40]}…”."
            yield texts.warning(message, indices)


@check("mixed-languages")
def mixed_languages(subject: Subject) -> Iterator[Note]:
    texts = subject.of_set
    if subject.language is not None or texts is None:
        return
    by_language = _by_language(texts)
    if len(by_language) > 1:
        most = max(by_language, key=lambda code: len(by_language[code]))
        count = len(by_language.pop(most))
        others = _list_languages(texts, dict(sorted(by_language.items(), key=lambda entry: -len(entry[1]))))
        message = f"several languages: {language_name(most)} in {count} texts; {others}."
        yield texts.warning(message, sorted(chain.from_iterable(by_language.values())))


@check("metric-language")
def metric_language(subject: Subject) -> Iterator[Note]:
    code = subject.expected_language
    if code is None:
        return
    unsuited = {spec: metric for spec, metric in _metrics(subject).items() if not works_in(metric, code)}
    monolingual = [spec for spec, metric in unsuited.items() if not metric.language]
    unset = [spec for spec in unsuited if spec not in monolingual]
    reasons = [f"{spec} works in {describe_languages(unsuited[spec])}" for spec in monolingual]
    if unset:
        reasons.append(f"{listed(unset)} {'count' if len(unset) > 1 else 'counts'} as in English")
    if reasons:
        message = f"The texts are {language_name(code)}, but {'; '.join(reasons)}. These numbers mean little."
        advice = _advise(code, monolingual, subject)
        yield replace(warning(f"{message} {advice}".strip(), where="metrics"), severity="error")


@check("tokeniser-language")
def tokeniser_language(subject: Subject) -> Iterator[Note]:
    specs = [spec for spec, metric in _metrics(subject).items() if metric.tokenize in ("13a", "auto")]
    if subject.expected_language in (None, "en") or not specs:
        return
    texts = [line for collection in subject.collections() for line in collection.lines]
    attached = sum(_ATTACHED.search(line) is not None for line in texts)
    if attached > _OFTEN * len(texts):
        mark = next(match[0] for line in texts if (match := _ATTACHED.search(line)))
        marks = f"In {attached} of {len(texts)} texts a mark such as {mark} stays attached to its word"
        instead = f"{specs[0].partition('(')[0]}(tokenize=intl)"
        message = f"{marks}: 13a separates English marks only ({listed(specs)}). {instead} separates them; report it."
        yield replace(warning(message), severity="note")


def _metrics(subject: Subject) -> dict[str, Metric]:
    """Return the metrics to be used, without those that are not registered."""
    if isinstance(subject.specs, Mapping):
        return dict(subject.specs)
    return registry.metrics([spec for spec in subject.specs if spec.partition("(")[0] in registry.METRICS])


def _advise(language: str, monolingual: Sequence[str], subject: Subject) -> str:
    instead = metrics_for_language(language)
    if not instead:
        return "Plainly has no metric for it; for those that work in any language see: plainly metrics"
    advice = [] if subject.language == language else [f"pass language={language!r}"]
    if monolingual:
        advice.append(f"use metrics made for {language_name(language)}: {listed(list(instead), most=len(instead))}")
    return f"What to do: {' and '.join(advice)}." if advice else ""


def _by_language(texts: Collection) -> dict[str, list[int]]:
    """Return the indices of the texts in each language, without texts whose language is unclear."""
    by_language: dict[str, list[int]] = defaultdict(list)
    for index, code in enumerate(texts.languages[0]):
        if code is not None:
            by_language[code].append(index)
    return by_language


def _list_languages(texts: Collection, by_language: Mapping[str, Sequence[int]]) -> str:
    return "; ".join(f"{language_name(code)} in {texts.items(indices)}" for code, indices in by_language.items())


@check("double-tokenisation")
def double_tokenisation(subject: Subject) -> Iterator[Note]:
    for texts in subject.collections():
        twice = texts.matching(_TWICE) if any(mark in texts.text for mark in _TWICE_MARKS) else []
        if twice:
            yield texts.warning(f"tokenised twice, {texts.items(twice)}: {_excerpt(texts, twice[0], _TWICE)}.", twice)
    tokenised = [texts.name for texts in subject.collections() if (texts.tokenised or 0) > _TOKENISED]
    if tokenised and any(map(_tokenises, subject.specs or ("bleu",))):
        message = f"Already tokenised: {listed(tokenised)}. Metrics that tokenise do so again."
        yield warning(message, where=tokenised[0])


def _split_by(values: Mapping[str, float | None], low: float, high: float) -> tuple[list[str], list[str]]:
    """Return the names of the collections with a value below ``low`` and above ``high``; None is neither."""
    return (
        [name for name, value in values.items() if value is not None and value < low],
        [name for name, value in values.items() if value is not None and value > high],
    )


@check("tokenisation-mismatch")
def tokenisation_mismatch(subject: Subject) -> Iterator[Note]:
    shares = {texts.name: texts.tokenised for texts in subject.collections()}
    plain, tokenised = _split_by(shares, _PLAIN, _TOKENISED)
    if plain and tokenised:
        message = f"Tokenised: {listed(tokenised)}. Not tokenised: {listed(plain)}. They cannot match at punctuation."
        yield warning(message, where=tokenised[0])


@check("case-mismatch")
def case_mismatch(subject: Subject) -> Iterator[Note]:
    shares = {texts.name: texts.capitals for texts in subject.collections()}
    lower, cased = _split_by(shares, 0.05, 0.5)
    if lower and cased:
        yield warning(f"All lower case: {listed(lower)}. With capitals: {listed(cased)}.", where=lower[0])


def _visible(text: str) -> str:
    """Return a text in quotation marks, with characters that cannot be seen as escapes."""
    return f"“{''.join(c if c.isprintable() else repr(c)[1:-1] for c in text)}”"


def _match_pattern(subject: Subject, pattern: re.Pattern[str], fault: str) -> Iterator[Note]:
    for texts in subject.collections():
        if indices := texts.matching(pattern):
            excerpt = _excerpt(texts, indices[0], pattern)
            yield texts.warning(f"{fault} {excerpt}, in {texts.items(indices)}.", indices)


for _code, _fault, _pattern in (
    ("brackets", "brackets written as", "(?i)-[lr][rsc]b-"),
    ("escaped-entities", "characters written as entities,", r"(?i)&(?:quot|apos|amp|lt|gt|nbsp|#\d{2,4});"),
    ("escapes", "characters written as escapes,", r"\\[nrt](?![a-z])|(?<=[.!?;,])\\n|\\u[0-9a-fA-F]{4}|\\[\"']"),
    ("encoding", "damaged characters,", _MOJIBAKE),
    ("invisible-characters", "invisible characters,", _INVISIBLE),
    ("look-alikes", "letters of another script that look like Latin ones,", _LOOK_ALIKES),
):
    check(_code)(partial(_match_pattern, pattern=re.compile(_pattern), fault=_fault))


def _excerpt(texts: Collection, index: int, pattern: re.Pattern[str]) -> str:
    line = texts.lines[index]
    match = pattern.search(line)
    if match is None:
        return ""
    start, stop = max(match.start() - 8, 0), min(match.end() + 8, len(line))
    return _visible(f"{'…' if start else ''}{line[start:stop].strip(' ')}{'…' if stop < len(line) else ''}")


def _tokenises(spec: str) -> bool:
    name = spec.partition("(")[0]
    return name in ("sari", "bleu", "ibleu", "tbleu", "fkbleu") and "tokenize=none" not in spec
