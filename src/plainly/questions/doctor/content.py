"""Checks of what is there: empty, double, identical, cut off, copied; and metrics that reward a copy."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from plainly.questions.doctor.subject import Subject, check, some, warning
from plainly.render.numbers import percent
from plainly.result import Note

_ENDS = re.compile(r"[.!?…。！？؟।]['\"”’)\]»]*\s*$|&quot;\s*$|['’]{2}\s*$|-RRB-\s*$")
_REWARDS_COPIES = re.compile(r"sari\(.*variant\s*=\s*(hf|t2t)\b")
_MANY_COPIES = 0.5
_MANY_CUT = 0.2
# No public test set is larger than this; hashing more sources than that would take time for nothing.
_PUBLIC = 10_000


@check(
    "duplicate-items",
    """The same source stands in the set more than once. Such items do not vary on their own: intervals become too
    narrow and tests too sure. Remove them, or give both the same group (--groups).""",
)
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
        yield warning("duplicate-items", message, ids=subject.sources.ids(double))


@check(
    "reference-is-source",
    """Most references repeat the source word for word. SARI then rewards doing nothing, and BLEU does so even more.
    A few such references are usual, since not every sentence needs simplifying; where they are the majority, the files
    may be mixed up.""",
)
def reference_is_source(subject: Subject) -> Iterator[Note]:
    sources, references = subject.evalset.sources, subject.references
    if not references.lines or not subject.sources.lines:
        return
    same = [
        place
        for place, (text, owner) in enumerate(zip(references.lines, references.owners, strict=True))
        if text.split() == sources[owner].split()
    ]
    if len(same) > 0.5 * len(references.lines):
        yield warning(
            "reference-is-source",
            f"{len(same)} of {len(references.lines)} references are the source, word for word.",
            where="the references",
            ids=references.ids(same),
        )


@check(
    "empty-outputs",
    """The system wrote nothing for some items. Empty outputs get the worst score of most metrics, no score of others,
    and of FKGL they simply vanish. If the system failed there, say how often.""",
)
def empty_outputs(subject: Subject) -> Iterator[Note]:
    for texts in subject.systems.values():
        empty = [place for place, line in enumerate(texts.lines) if not line.strip()]
        if empty:
            yield texts.warning("empty-outputs", f"empty for {texts.items(empty)}.", empty)


@check(
    "empty-references",
    """Some items have fewer references than others, or none: blank lines in a references file mean that. Scores with
    fewer references are lower, so items are not alike; metrics that need references refuse items without any.""",
)
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
        yield warning(
            "empty-references",
            f"Fewer than {most} references{none}: {some(ids, len(fewer))}.",
            where="the references",
            ids=ids,
        )


@check(
    "fewer-references",
    """The sources are those of a public test set which comes with more references than were given. Scores with one
    reference cannot be compared with published ones, which use all of them: SARI and BLEU both rise with every
    reference.""",
)
def fewer_references(subject: Subject) -> Iterator[Note]:
    evalset = subject.evalset
    if not evalset.references or not subject.sources.lines or len(evalset) > _PUBLIC:
        return
    from plainly.data.card import source_cards

    text = "\n".join(evalset.sources).encode("utf-8", "surrogatepass")
    cards = source_cards(*(hashlib.sha256(text + end).hexdigest() for end in (b"\n", b"")))
    promised = {card.name: sum(file.role == "reference" for file in card.files) for card in cards}
    there = int(evalset.reference_counts.max(initial=0))
    if promised and there not in promised.values() and there < max(promised.values()):
        known = " and ".join(f"{name} ({count} references an item)" for name, count in promised.items())
        yield warning("fewer-references", f"The sources are those of {known}; {there} given.", where="the references")


@check(
    "truncated",
    """Many outputs stop without a full stop where their source has one: a limit on the length of what the system may
    write has cut them off. Raise the limit (max_length, max_new_tokens) and write the outputs again.""",
)
def truncated(subject: Subject) -> Iterator[Note]:
    sources = subject.evalset.sources
    for texts in subject.systems.values():
        whole = [
            place
            for place, (line, owner) in enumerate(zip(texts.lines, texts.owners, strict=True))
            if line.strip() and _ENDS.search(sources[owner])
        ]
        cut = [place for place in whole if not _ENDS.search(texts.lines[place])]
        if len(cut) >= 5 and len(cut) > _MANY_CUT * len(whole):
            yield texts.warning(
                "truncated",
                f"{len(cut)} of {len(whole)} outputs do not end where a sentence ends; the first is item "
                f"{texts.ids(cut)[0]}, “…{texts.lines[cut[0]][-25:]}”.",
                cut,
            )


@check(
    "copies",
    """The system left most sources as they are. That is safe for grammar and meaning and simplifies nothing; BLEU and
    the SARI variants hf and t2t reward it.""",
)
def copies(subject: Subject) -> Iterator[Note]:
    for name, copied in _copied(subject).items():
        texts = subject.systems[name]
        total = len(texts.lines)
        if total >= 5 and len(copied) > _MANY_COPIES * total:
            yield texts.warning("copies", f"{len(copied)} of {total} outputs are the source, word for word.", copied)


@check(
    "copy-rewarding-metric",
    """The SARI variants hf (Hugging Face evaluate) and t2t (tensor2tensor) count 0/0 as 1: where nothing is to be added
    and nothing was, that is a full score. A system that copies its input gets about 59, more than any real system on
    TurkCorpus. Use sari (the variant of EASSE) and keep hf only to compare with numbers that were made with it.""",
)
def copy_rewarding_metric(subject: Subject) -> Iterator[Note]:
    rewarding = [spec for spec in subject.specs if _REWARDS_COPIES.search(spec)]
    if rewarding:
        shares = {
            name: len(copied) / max(len(subject.systems[name].lines), 1) for name, copied in _copied(subject).items()
        }
        name = max(shares, key=lambda name: shares[name], default="")
        share = f" {name or 'The system'} copies {percent(shares[name])} of its input." if shares.get(name) else ""
        yield warning(
            "copy-rewarding-metric",
            f"{', '.join(rewarding)} gives a copy of the source more than real systems get.{share}",
        )


def _copied(subject: Subject) -> dict[str, list[int]]:
    if not subject.sources.lines:
        return {}
    sources = subject.evalset.sources
    return {
        name: [
            place
            for place, (line, owner) in enumerate(zip(texts.lines, texts.owners, strict=True))
            if line.strip() and line.split() == sources[owner].split()
        ]
        for name, texts in subject.systems.items()
    }
