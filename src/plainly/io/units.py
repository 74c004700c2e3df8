"""The unit of an item: a sentence, a paragraph or a document. Items can be joined into larger ones or divided.

Sentences with groups become documents by joining each group. Texts are divided along the source: an item for each of
its sentences or paragraphs, with what the alignment matches to it in the output and in each reference. The items of one
text are a group, so that intervals are drawn over whole texts.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Literal, get_args

import numpy as np

from plainly.core.errors import BadInput, check_choice
from plainly.core.evalset import ABSENT, Absent, EvalSet
from plainly.core.formatting import count_noun
from plainly.core.result import Note
from plainly.io.texts import Texts
from plainly.text import sentences as boundaries
from plainly.text.sentence_alignment import PlacedSentence, align, sentences_of

Unit = Literal["document", "paragraph", "sentence"]
UNITS: tuple[Unit, ...] = get_args(Unit)
Span = tuple[int, int]


def with_unit(inputs: Texts, unit: str) -> Texts:
    """Return the inputs with items of this unit."""
    check_choice("unit", unit, UNITS)
    if not len(inputs.evalset):
        return inputs
    return _join(inputs) if unit == "document" else _divide(inputs, unit)


def _join(inputs: Texts) -> Texts:
    """Return the sentences of each group as one text; items longer than a sentence are documents already."""
    evalset = inputs.evalset
    texts = evalset.sources if evalset.has_sources else next(iter(inputs.outputs.values()))
    if evalset.groups is None or np.median(boundaries.counts(texts)) > 1:
        return inputs
    members: dict[str, list[int]] = {}
    for item, group in enumerate(evalset.groups):
        members.setdefault(group, []).append(item)
    references = [  # as many as the item with the fewest has
        tuple(map(_join_texts, zip(*(evalset.references[item] for item in items), strict=False)))
        for items in (members.values() if evalset.references else ())
    ]
    columns = {
        name: [values[items[0]] for items in members.values()]
        for name, values in evalset.columns.items()
        if all(len({values[item] for item in items}) == 1 for items in members.values())
    }
    documents = EvalSet.of(
        [_join_texts([evalset.sources[item] for item in items]) for items in members.values()],
        references=references or None,
        ids=list(members),
        columns=columns,
        name=evalset.name,
    )
    outputs = {
        system: tuple(_join_texts([lines[item] for item in items]) for items in members.values())
        for system, lines in inputs.outputs.items()
    }
    note = Note(f"{len(evalset)} sentences were joined into {count_noun(len(documents), 'document')}.", code="unit")
    return Texts(documents, outputs, (*inputs.notes, note))


def _join_texts(texts: Sequence[str]) -> str:
    """Return sentences as one text, a line each; it is absent if one of them is."""
    if any(isinstance(text, Absent) for text in texts):
        return ABSENT
    return "\n".join(texts) if len(texts) > 1 else texts[0]


def _divide(inputs: Texts, unit: str) -> Texts:
    evalset = inputs.evalset
    if not evalset.has_sources:
        raise BadInput(f"Texts are divided along their sources, and there are none. Give sources= for unit={unit!r}.")
    sources = [sentences_of(text) for text in evalset.sources]
    spans = [_spans(text, sentences, unit) for text, sentences in zip(evalset.sources, sources, strict=True)]
    owners = [item for item, parts in enumerate(spans) for _ in parts]
    if not owners:
        return inputs
    pieces = [
        evalset.sources[item][sources[item][first].start : sources[item][last - 1].end]
        for item, parts in enumerate(spans)
        for first, last in parts
    ]
    notes = list(inputs.notes)
    outputs: dict[str, tuple[str, ...]] = {}
    for system, texts in inputs.outputs.items():
        matches = [_match(*entry) for entry in zip(sources, spans, texts, strict=True)]
        outputs[system] = tuple(chain.from_iterable(counterparts for counterparts, _ in matches))
        if added := sum(added for _, added in matches):
            message = (
                f"{system or 'The system'} wrote {count_noun(added, 'sentence')} that match no {unit} of the source"
            )
            notes.append(Note(f"{message}; they are not scored.", "warning", "unmatched", where=system))
    result = EvalSet.of(
        pieces,
        references=_match_references(evalset, sources, spans) if evalset.references else None,
        ids=[
            f"{evalset.ids[item]}-{number}" for item, parts in enumerate(spans) for number in range(1, len(parts) + 1)
        ],
        groups=[(evalset.groups or evalset.ids)[item] for item in owners],
        columns={name: [values[item] for item in owners] for name, values in evalset.columns.items()},
        name=evalset.name,
    )
    if result.references and not all(result.references):
        items = np.flatnonzero(result.reference_counts)
        missing = count_noun(len(result) - len(items), unit)
        message = f"{missing} of the sources without a counterpart in the references: left out."
        notes.append(Note(message, "warning", "unmatched"))
        outputs = {system: tuple(texts[item] for item in items) for system, texts in outputs.items()}
        result = result[items]
    return Texts(result, outputs, tuple(notes))


def _spans(text: str, sentences: Sequence[PlacedSentence], unit: str) -> list[Span]:
    """Return the sentences of each part of a text: each alone, or those between blank lines."""
    if unit == "sentence":
        return [(at, at + 1) for at in range(len(sentences))]
    starts = [
        at
        for at in range(len(sentences))
        if at == 0 or text.count("\n", sentences[at - 1].end, sentences[at].start) > 1
    ]
    return list(zip(starts, [*starts[1:], len(sentences)], strict=True)) if sentences else []


def _match(source: Sequence[PlacedSentence], spans: Sequence[Span], text: str) -> tuple[list[str], int]:
    """Return what a text has for each part of its source, and the number of its sentences that match none."""
    if isinstance(text, Absent):
        return [ABSENT] * len(spans), 0
    alignment = align(source, sentences_of(text), encoder=False)
    counterparts = []
    for span in spans:
        places = {j for link in alignment.links if {*range(*span)} & {*link.source} for j in link.output}
        counterparts.append(" ".join(alignment.output[j].text for j in sorted(places)))
    return counterparts, alignment.counts()["added"]


def _match_references(
    evalset: EvalSet, sources: Sequence[Sequence[PlacedSentence]], spans: Sequence[list[Span]]
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for source, parts, references in zip(sources, spans, evalset.references, strict=True):
        by_reference = [_match(source, parts, text)[0] for text in references]
        rows += [tuple(counterparts[part] for counterparts in by_reference) for part in range(len(parts))]
    return rows
