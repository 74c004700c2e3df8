"""Operations for the report: labelled by plainly.typology, placed on the characters of the texts as written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from plainly.evalset import EvalSet
from plainly.pages.material import OperationGroup, Operations
from plainly.typology.annotation import Group, Pair
from plainly.typology.label import labeller as labeller_named
from plainly.typology.typology import operations as typology

Outputs = Mapping[str, Sequence[str]]
Span = tuple[int, int]
# People's operations are counted on one reference an item, by turns, and on at most this many: enough for shares.
MOST_REFERENCES = 500


def operations(evalset: EvalSet, outputs: Outputs, *, labeller: str) -> Operations:
    """Every output labelled, and how often each operation occurs in the outputs and in the references."""
    chosen = labeller_named(labeller)
    groups: dict[str, tuple[tuple[OperationGroup, ...], ...]] = {}
    counts: dict[str, dict[str, float]] = {}
    for system, texts in outputs.items():
        pairs = chosen.label(evalset.sources, list(texts), ids=evalset.ids, part=system)
        groups[system] = tuple(
            placed(pair, source, output) for pair, source, output in zip(pairs, evalset.sources, texts, strict=True)
        )
        counts[system] = _shares(pairs)
    chosen_items = [item for item, row in enumerate(evalset.references) if row][:MOST_REFERENCES]
    people: dict[str, float] = {}
    if chosen_items:
        rows = evalset.references
        people = _shares(
            chosen.label(
                [evalset.sources[item] for item in chosen_items],
                [rows[item][item % len(rows[item])] for item in chosen_items],
            )
        )
    known = {each.label: each for each in typology()}
    seen = {label for shares in (*counts.values(), people) for label in shares}
    labels = [label for label in known if label in seen]
    return Operations(
        labels={label: known[label].title for label in labels},
        kinds={label: known[label].computational for label in labels},
        groups=groups,
        shares={label: {system: counts[system].get(label, 0.0) for system in outputs} for label in labels},
        people={label: people.get(label, 0.0) for label in labels} if people else {},
        labeller=chosen.name,
        notice=chosen.notice,
    )


def placed(pair: Pair, source: str, output: str) -> tuple[OperationGroup, ...]:
    """A pair's groups as places in the texts as written; a token that tokenisation has changed has no place there."""
    places = _offsets(pair.source_tokens, source), _offsets(pair.output_tokens, output)
    found = (_group(group, *places) for group in pair.groups)
    return tuple(group for group in found if group.source or group.output)


def _group(group: Group, source: Sequence[Span | None], output: Sequence[Span | None]) -> OperationGroup:
    return OperationGroup(group.label, _joined(source, group.source), _joined(output, group.output))


def _offsets(tokens: Iterable[str], text: str) -> list[Span | None]:
    found: list[Span | None] = []
    at = 0
    for token in tokens:
        start = text.find(token, at)
        # A token that is found only far away is another word that looks the same.
        if start < 0 or start - at > 40:
            found.append(None)
            continue
        at = start + len(token)
        found.append((start, at))
    return found


def _joined(places: Sequence[Span | None], tokens: Iterable[int]) -> tuple[Span, ...]:
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
    counts: dict[str, int] = {}
    for pair in pairs:
        for label in pair.labels:
            counts[label] = counts.get(label, 0) + 1
    return {label: 100.0 * count / len(pairs) for label, count in counts.items()} if pairs else {}
