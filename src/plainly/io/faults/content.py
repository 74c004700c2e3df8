"""Checks of what is there: empty, double, identical, cut off, copied; and metrics that reward a copy."""

import re
from collections.abc import Iterator, Mapping, Sequence

from plainly.core.evalset import Absent, EvalSet
from plainly.core.formatting import percent
from plainly.core.result import Note
from plainly.io.faults.subject import UNNAMED, Collection, Subject, check, some, warning

# A system that writes what a reference says so often, on so many items that it changed, is a reference.
_SAME, _FEWEST = 0.95, 10
_ENDS = re.compile(r"[.!?…。！？؟।]['\"”’)\]»]*\s*$|&quot;\s*$|['’]{2}\s*$|-RRB-\s*$")
_REWARDS_COPIES = re.compile(r"sari\(.*variant\s*=\s*(hf|t2t)\b")
_MANY_COPIES = 0.5
_MANY_CUT = 0.2
# No public test set is larger than this; hashing more sources than that would take time for nothing.
_PUBLIC = 10_000


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
        if line.strip() and _ENDS.search(sources[owner])
    ]
    cut = [place for place in whole if not _ENDS.search(texts.lines[place])]
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
