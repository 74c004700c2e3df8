"""Operations and links between sentences, placed on the characters of the texts as written."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.progress import Progress, no_progress
from plainly.text import sentences
from plainly.text.sentence_alignment import HAPPENED, Alignment, align
from plainly.typology.annotation import Pair
from plainly.typology.labeller import labeller as labeller_named
from plainly.typology.vocabulary import operations as vocabulary

Span = tuple[int, int]
# People's operations are counted on one reference an item, by turns, and on at most this many: enough for shares.
MOST_REFERENCES = 500


@dataclass(frozen=True)
class PlacedGroup:
    """One operation between a source and an output, as places of characters: ((start, end), …) in each text."""

    label: str
    source: tuple[Span, ...]
    output: tuple[Span, ...]


@dataclass(frozen=True)
class PlacedOperations:
    """What a labeller saw in every output, and the share of outputs with each operation, for systems and people."""

    labels: Mapping[str, str]  # label → title
    kinds: Mapping[str, str]  # label → add, delete, replace or other
    groups: Mapping[str, Sequence[tuple[PlacedGroup, ...]]]  # system → item → groups
    shares: Mapping[str, Mapping[str, float]]  # label → system → share of outputs
    people: Mapping[str, float]  # label → share of references; empty where not known
    labeller: str
    notice: str = ""


def placed_operations(
    evalset: EvalSet, outputs: Mapping[str, Sequence[str]], *, labeller: str, progress: Progress = no_progress
) -> PlacedOperations:
    """Every output labelled, and how often each operation occurs in the outputs and in the references."""
    labelling = labeller_named(labeller)
    groups: dict[str, tuple[tuple[PlacedGroup, ...], ...]] = {}
    shares: dict[str, dict[str, float]] = {}
    with progress("labelling operations", total=len(evalset) * len(outputs), unit="outputs") as tell:
        for system, texts in outputs.items():
            pairs = labelling.label(evalset.sources, list(texts), ids=evalset.ids, part=system)
            groups[system] = tuple(map(placed, pairs, evalset.sources, texts))
            shares[system] = _shares(pairs)
            tell(len(pairs))
    items = [item for item, row in enumerate(evalset.references) if row][:MOST_REFERENCES]
    people: dict[str, float] = {}
    if items:
        rows = evalset.references
        by_turns = [rows[item][item % len(rows[item])] for item in items]
        people = _shares(labelling.label([evalset.sources[item] for item in items], by_turns))
    seen = {label for of_system in (*shares.values(), people) for label in of_system}
    known = {operation.label: operation for operation in vocabulary() if operation.label in seen}
    return PlacedOperations(
        labels={label: operation.title for label, operation in known.items()},
        kinds={label: operation.computational for label, operation in known.items()},
        groups=groups,
        shares={label: {system: shares[system].get(label, 0.0) for system in outputs} for label in known},
        people={label: people.get(label, 0.0) for label in known} if people else {},
        labeller=labelling.name,
        notice=labelling.notice,
    )


def placed(pair: Pair, source: str, output: str) -> tuple[PlacedGroup, ...]:
    """A pair's groups as places in the texts as written; a token that tokenisation has changed has no place there."""
    left, right = _offsets(pair.source_tokens, source), _offsets(pair.output_tokens, output)
    groups = (PlacedGroup(group.label, _join(left, group.source), _join(right, group.output)) for group in pair.groups)
    return tuple(group for group in groups if group.source or group.output)


def _offsets(tokens: Iterable[str], text: str) -> list[Span | None]:
    offsets: list[Span | None] = []
    at = 0
    for token in tokens:
        start = text.find(token, at)
        # A token that is found only far away is another word that looks the same.
        if start < 0 or start - at > 40:
            offsets.append(None)
            continue
        at = start + len(token)
        offsets.append((start, at))
    return offsets


def _join(places: Sequence[Span | None], tokens: Iterable[int]) -> tuple[Span, ...]:
    """The places of some tokens; neighbours with at most a space between them become one."""
    joined: list[Span] = []
    for token in sorted(set(tokens)):
        place = places[token] if token < len(places) else None
        if place is None:
            continue
        if joined and place[0] - joined[-1][1] <= 1:
            joined[-1] = (joined[-1][0], place[1])
        else:
            joined.append(place)
    return tuple(joined)


def _shares(pairs: Sequence[Pair]) -> dict[str, float]:
    """The share of pairs with each operation, in percent."""
    counts = Counter(label for pair in pairs for label in pair.labels)
    return {label: 100.0 * count / len(pairs) for label, count in counts.items()}


SEVERAL = 3  # sentences of a source from which on its text is shown side by side
# One link: places of characters in the source and in the output, flat; what happened, by its place in HAPPENED; moved.
PlacedLink = tuple[list[int], list[int], int, int]


@dataclass(frozen=True)
class PlacedLinks:
    """The links of every output, by system and item; of items that are single sentences there are none."""

    happened: tuple[str, ...]
    by_system: Mapping[str, Sequence[list[PlacedLink] | None]]


def placed_links(
    evalset: EvalSet, outputs: Mapping[str, Sequence[str]], progress: Progress = no_progress
) -> PlacedLinks | None:
    """Links between source and outputs; None where all items are sentences."""
    long = sentences.counts(evalset.sources) >= SEVERAL
    if not long.any():
        return None
    by_system: dict[str, list[list[PlacedLink] | None]] = {}
    with progress("aligning sentences", total=int(long.sum()) * len(outputs), unit="outputs") as tell:
        for system, texts in outputs.items():
            by_system[system] = [None] * len(evalset)
            for item in np.flatnonzero(long).tolist():
                by_system[system][item] = _placed(align(evalset.sources[item], texts[item], encoder=False))
                tell(1)
    return PlacedLinks(HAPPENED, by_system)


def _placed(alignment: Alignment) -> list[PlacedLink]:
    def spans(side: str, places: Sequence[int]) -> list[int]:
        chosen = [getattr(alignment, side)[place] for place in places]
        return [edge for sentence in chosen for edge in (sentence.start, sentence.end)]

    return [
        (spans("source", link.source), spans("output", link.output), HAPPENED.index(link.happened), int(link.moved))
        for link in alignment.links
    ]
