"""What an item is: a sentence, a paragraph or a document. Items can be joined into larger ones or taken apart.

Sentences with groups become documents by joining each group. Texts are taken apart along the source: an item for each
of its sentences or paragraphs, with what the alignment finds for it in the output and in each reference. What was taken
apart keeps its text as its group, so that intervals are drawn over whole texts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from plainly.core.errors import BadInput, did_you_mean
from plainly.core.evalset import ABSENT, Absent, EvalSet
from plainly.core.formatting import counted
from plainly.core.result import Note
from plainly.io.texts import Texts
from plainly.text import sentences as boundaries
from plainly.text.sentence_alignment import Alignment, PlacedSentence, align, sentences_of

Unit = Literal["document", "paragraph", "sentence"]
UNITS: tuple[Unit, ...] = get_args(Unit)
Span = tuple[int, int]


def with_unit(inputs: Texts, unit: str) -> Texts:
    """The inputs with items of this unit."""
    if unit not in UNITS:
        raise BadInput(f"Unknown unit {unit!r}.{did_you_mean(unit, UNITS)} Units: {', '.join(UNITS)}.")
    if not len(inputs.evalset):
        return inputs
    if unit == "document":
        return _joined(inputs)
    if not inputs.evalset.has_sources:
        raise BadInput(
            f"Texts are taken apart along their sources, and there are none. Give sources for --unit {unit}."
        )
    return _apart(inputs, unit)


def _joined(inputs: Texts) -> Texts:
    """Sentences of one group as one text; items that are longer than sentences are documents already."""
    evalset = inputs.evalset
    texts = evalset.sources if evalset.has_sources else next(iter(inputs.outputs.values()))
    if evalset.groups is None or np.median(boundaries.counts(texts)) > 1:
        return inputs
    members: dict[str, list[int]] = {}
    for item, group in enumerate(evalset.groups):
        members.setdefault(group, []).append(item)
    references: list[tuple[str, ...]] = []
    for items in members.values() if evalset.references else ():
        fewest = min(len(evalset.references[item]) for item in items)
        references.append(tuple(_one([evalset.references[item][at] for item in items]) for at in range(fewest)))
    columns = {
        name: [values[items[0]] for items in members.values()]
        for name, values in evalset.columns.items()
        if all(len({values[item] for item in items}) == 1 for items in members.values())
    }
    joined = EvalSet.of(
        [_one([evalset.sources[item] for item in items]) for items in members.values()],
        references=references or None,
        ids=list(members),
        columns=columns,
        name=evalset.name,
    )
    outputs = {
        system: tuple(_one([written[item] for item in items]) for items in members.values())
        for system, written in inputs.outputs.items()
    }
    note = Note(f"{len(evalset)} sentences were joined into {counted(len(joined), 'document')}.", code="unit")
    return Texts(joined, outputs, (*inputs.notes, note))


def _one(texts: Sequence[str]) -> str:
    """Sentences as one text, a line each; what was not given for a part was not given."""
    if any(isinstance(text, Absent) for text in texts):
        return ABSENT
    return "\n".join(texts) if len(texts) > 1 else texts[0]


def _apart(inputs: Texts, unit: str) -> Texts:
    evalset = inputs.evalset
    sources = [sentences_of(text) for text in evalset.sources]
    spans = [_parts(text, sentences, unit) for text, sentences in zip(evalset.sources, sources, strict=True)]
    owners = [item for item, parts in enumerate(spans) for _ in parts]
    if not owners:
        return inputs
    pieces = [
        evalset.sources[item][sources[item][first].start : sources[item][last - 1].end]
        for item, parts in enumerate(spans)
        for first, last in parts
    ]
    written: dict[str, tuple[str, ...]] = {}
    added: dict[str, int] = {}
    for system, outputs in inputs.outputs.items():
        written[system], added[system] = _matched(sources, spans, outputs)
    references = _references(evalset, sources, spans)
    whole = EvalSet.of(
        pieces,
        references=references,
        ids=[
            f"{evalset.ids[item]}-{number}" for item, parts in enumerate(spans) for number in range(1, len(parts) + 1)
        ],
        groups=[(evalset.groups or evalset.ids)[item] for item in owners],
        columns={name: [values[item] for item in owners] for name, values in evalset.columns.items()},
        name=evalset.name,
    )
    notes = [*inputs.notes, *_unmatched(added, unit)]
    kept = np.ones(len(whole), dtype=bool)
    if whole.references:
        kept = whole.reference_counts > 0
        if not kept.all():
            missing = counted(int((~kept).sum()), unit)
            message = f"{missing} of the sources without a counterpart in the references: left out."
            notes.append(Note(message, "warning", "unmatched"))
    chosen = np.flatnonzero(kept)
    outputs_kept = {system: tuple(texts[at] for at in chosen) for system, texts in written.items()}
    return Texts(whole[chosen], outputs_kept, tuple(notes))


def _parts(text: str, sentences: Sequence[PlacedSentence], unit: str) -> list[Span]:
    """Which sentences of a text are one part: each by itself, or those between blank lines."""
    if unit == "sentence":
        return [(at, at + 1) for at in range(len(sentences))]
    starts = [
        at
        for at in range(len(sentences))
        if at == 0 or text.count("\n", sentences[at - 1].end, sentences[at].start) > 1
    ]
    return list(zip(starts, [*starts[1:], len(sentences)], strict=True)) if sentences else []


def _matched(
    sources: Sequence[tuple[PlacedSentence, ...]], spans: Sequence[list[Span]], texts: Sequence[str]
) -> tuple[tuple[str, ...], int]:
    """What a system wrote for every part of every source, and how many of its sentences belong to none."""
    pieces: list[str] = []
    added = 0
    for source, parts, text in zip(sources, spans, texts, strict=True):
        if isinstance(text, Absent):
            pieces += [ABSENT] * len(parts)
            continue
        alignment = align(source, sentences_of(text), encoder=False)
        added += alignment.counts()["added"]
        pieces += [_counterpart(alignment, range(*part)) for part in parts]
    return tuple(pieces), added


def _counterpart(alignment: Alignment, part: range) -> str:
    places = {j for link in alignment.links if set(part) & set(link.source) for j in link.output}
    return " ".join(alignment.output[j].text for j in sorted(places))


def _references(
    evalset: EvalSet, sources: Sequence[tuple[PlacedSentence, ...]], spans: Sequence[list[Span]]
) -> list[tuple[str, ...]] | None:
    if not evalset.references:
        return None
    rows: list[tuple[str, ...]] = []
    for source, parts, references in zip(sources, spans, evalset.references, strict=True):
        alignments = [align(source, sentences_of(text), encoder=False) for text in references]
        rows += (tuple(_counterpart(alignment, range(*part)) for alignment in alignments) for part in parts)
    return rows


def _unmatched(added: Mapping[str, int], unit: str) -> Iterable[Note]:
    for system, count in added.items():
        if count:
            message = (
                f"{system or 'The system'} wrote {counted(count, 'sentence')} that answer to no {unit} of the source"
            )
            yield Note(f"{message}; they are not scored.", "warning", "unmatched", where=system)
