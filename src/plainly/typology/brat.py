"""brat standoff: a ``.txt`` with the pairs as Yawat's ``.crp`` has them, and an ``.ann`` that points into it.

A group in one text is one text-bound annotation with its label. A group in both texts is two of them and a relation
``Aligned``. Fragments stand in the order in which tokens were marked, and a confidence is an annotator's note, so that
nothing is lost on the way there and back.
"""

import re
from collections.abc import Iterable, Sequence

from plainly.core.errors import BadInput
from plainly.typology.annotation import SIDES, Group, Pair
from plainly.typology.vocabulary import canonical
from plainly.typology.yawat import parse_corpus, write_corpus

# Of a source or output: where it starts and ends in the file, its pair, its side, and its tokens' spans.
Place = tuple[int, int, str, str, list[tuple[int, int]]]

_WORD = re.compile(r"\S+")
_NOTE = re.compile(r"#\d+\tAnnotatorNotes (T\d+)\tconfidence ([\d.]+)")


def write_brat(pairs: Sequence[Pair]) -> tuple[str, str]:
    """The texts of the ``.txt`` and the ``.ann`` file."""
    text = write_corpus(pairs)
    lines: list[str] = []
    entities, relations, notes = 0, 0, 0
    places = _places((pair.id, (pair.source, pair.output)) for pair in pairs)
    for pair, source, output in zip(pairs, places[::2], places[1::2], strict=True):
        spans = {"source": source[-1], "output": output[-1]}
        for group in pair.groups:
            names = []
            for side in filter(group.tokens, SIDES):
                tokens = group.tokens(side)
                entities += 1
                names.append(f"T{entities}")
                fragments = _fragments([spans[side][token] for token in tokens], tokens)
                offsets = ";".join(f"{first} {last}" for first, last in fragments)
                words = " ".join(text[first:last] for first, last in fragments)
                lines.append(f"T{entities}\t{group.label} {offsets}\t{words}")
            if len(names) == 2:
                relations += 1
                lines.append(f"R{relations}\tAligned Arg1:{names[0]} Arg2:{names[1]}")
            if group.confidence is not None:
                notes += 1
                lines.append(f"#{notes}\tAnnotatorNotes {names[0]}\tconfidence {group.confidence!r}")
    return text, "".join(f"{line}\n" for line in lines)


def read_brat(text: str, annotations: str, *, name: str = "the .ann file") -> tuple[Pair, ...]:
    """Pairs from the texts of the two files, written by plainly or edited in brat."""
    entities: dict[str, tuple[str, list[tuple[int, int]]]] = {}
    partner: dict[str, str] = {}
    confidence: dict[str, float] = {}
    for number, line in enumerate(annotations.split("\n"), 1):
        if not line.strip():
            continue
        fields = line.split("\t")
        if line[0] == "T" and len(fields) >= 2:
            label, _, offsets = fields[1].partition(" ")
            spans = [(int(first), int(last)) for first, last in (span.split() for span in offsets.split(";"))]
            entities[fields[0]] = (canonical(label), spans)
        elif line[0] == "R" and len(fields) >= 2:
            _, first, second = fields[1].split()
            partner[first.partition(":")[2]] = second.partition(":")[2]
        elif note := _NOTE.fullmatch(line):
            confidence[note[1]] = float(note[2])
        elif line[0] not in "#A":
            read = "text-bound annotations and relations"
            raise BadInput(f"{name}:{number}: cannot read {line!r}. plainly reads {read}.")
    groups: dict[str, list[Group]] = {}
    corpus = parse_corpus(text, name="the .txt file")
    places = _places(corpus.items())
    seconds = set(partner.values())
    for key, (label, _) in entities.items():
        if key in seconds:
            continue
        marked: dict[str, tuple[int, ...]] = {"source": (), "output": ()}
        for entity in filter(None, (key, partner.get(key))):
            identifier, side, tokens = _tokens(entities[entity][1], places, f"{name}: {entity}")
            marked[side] = tokens
        groups.setdefault(identifier, []).append(Group(marked["source"], marked["output"], label, confidence.get(key)))
    return tuple(
        Pair(identifier, source, output, tuple(groups.get(identifier, ()))).checked()
        for identifier, (source, output) in corpus.items()
    )


def _fragments(spans: list[tuple[int, int]], tokens: Sequence[int]) -> list[tuple[int, int]]:
    """Spans of tokens that follow one another in the text are joined."""
    joined = [spans[0]]
    for position in range(1, len(spans)):
        if tokens[position] == tokens[position - 1] + 1:
            joined[-1] = (joined[-1][0], spans[position][1])
        else:
            joined.append(spans[position])
    return joined


def _places(corpus: Iterable[tuple[str, tuple[str, str]]]) -> list[Place]:
    """The places of ids with their sources and outputs, in a file of them."""
    places: list[Place] = []
    start = 0
    for identifier, texts in corpus:
        start += len(identifier) + 1
        for side, line in zip(SIDES, texts, strict=True):
            spans = [(word.start() + start, word.end() + start) for word in _WORD.finditer(line)]
            places.append((start, start + len(line), identifier, side, spans))
            start += len(line) + 1
    return places


def _tokens(fragments: list[tuple[int, int]], places: list[Place], where: str) -> tuple[str, str, tuple[int, ...]]:
    for start, end, identifier, side, spans in places:
        if start <= fragments[0][0] < end:
            tokens = [
                number
                for first, last in fragments
                for number, (begin, stop) in enumerate(spans)
                if begin < last and stop > first
            ]
            return identifier, side, tuple(tokens)
    raise BadInput(f"{where} points at offset {fragments[0][0]}, where the .txt file has no sentence.")
