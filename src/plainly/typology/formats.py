"""Files of annotated pairs: Yawat, JSONL, brat and a plain table, recognised by name; or a named data set.

Yawat has two files: ``.crp`` holds three lines per pair (id, source, output), ``.aln`` one line of groups per pair:
``ID source,tokens:output,tokens:label …``. Canonical files (one line feed after each line, one space between groups, no
blank lines) survive reading and writing byte for byte.

brat standoff is a ``.txt`` with the pairs as in a ``.crp``, and an ``.ann`` that points into it. A group in one text is
one text-bound annotation with its label; a group in both texts is two of them and a relation ``Aligned``. Fragments are
in the order in which tokens were marked, and a confidence is an annotator's note, so nothing is lost.

SWiPE pages are read only: marked edits become groups of tokens, and categories become labels.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from plainly import data
from plainly.core.errors import BadInput
from plainly.core.files import write_whole
from plainly.io.files import read_lines, read_text
from plainly.text.word_alignment import runs
from plainly.typology.annotation import SIDES, Group, Pair
from plainly.typology.vocabulary import canonical, mapping, operation

SUFFIXES = (".aln", ".ann", ".crp", ".jsonl", ".tsv")
COLUMNS = (
    "part", "id", "label", "source_tokens", "output_tokens", "source_words", "output_words", "confidence",
    "source", "output",
)  # fmt: skip
# Of a source or output in brat's text: where it starts and ends, its pair, its side, and its tokens' spans.
Place = tuple[int, int, str, str, list[tuple[int, int]]]
_YAWAT_FORM = re.compile(r"((?:\d+(?:,\d+)*)?):((?:\d+(?:,\d+)*)?):(\S+)")
_BRAT_NOTE = re.compile(r"#\d+\tAnnotatorNotes (T\d+)\tconfidence ([\d.]+)")


def load(name: str | Path) -> tuple[Pair, ...]:
    """Load annotated pairs from a file (``.aln`` with ``.crp``, ``.jsonl``, ``.ann``, ``.tsv``) or a named data set."""
    path = Path(name)
    if path.suffix not in SUFFIXES:
        if isinstance(name, str) and name in data.names():
            return _load_named(name)
        raise BadInput(
            f"{name} is neither an annotation file ({', '.join(SUFFIXES)}) nor a data set with annotations "
            "(assetann/annotations, assetann/gold, swipe/test). To annotate texts: plainly operations label"
        )
    match path.suffix:
        case ".jsonl":
            lines = ((line, f"{path}:{number}") for number, line in enumerate(read_lines(path), 1))
            return tuple(_from_record(line, where) for line, where in lines if line)
        case ".ann":
            return read_brat(read_text(path.with_suffix(".txt")), read_text(path), name=str(path))
        case ".tsv":
            return parse_table(read_text(path), name=str(path))
    alignment, corpus = path.with_suffix(".aln"), path.with_suffix(".crp")
    return read_yawat(read_text(alignment), read_text(corpus) if corpus.is_file() else None, name=str(alignment))


def save(pairs: Sequence[Pair], path: str | Path) -> tuple[Path, ...]:
    """Write pairs in the format given by the file name; return the files written."""
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise BadInput(f"{path}: the file name must end in one of {', '.join(SUFFIXES)}.")
    if path.suffix in (".aln", ".crp"):
        texts = {path.with_suffix(".aln"): write_alignment(pairs)}
        if any(pair.source or pair.output for pair in pairs):
            texts[path.with_suffix(".crp")] = write_corpus(pairs)
    elif path.suffix == ".ann":
        corpus, annotations = write_brat(pairs)
        texts = {path.with_suffix(".txt"): corpus, path: annotations}
    else:
        texts = {path: write_jsonl(pairs) if path.suffix == ".jsonl" else write_table(pairs)}
    for target, text in texts.items():
        write_whole(target, text)
    return tuple(texts)


def write_jsonl(pairs: Iterable[Pair]) -> str:
    """Return JSON lines, a pair per line."""
    return "".join(json.dumps(record(pair), ensure_ascii=False) + "\n" for pair in pairs)


def record(pair: Pair) -> dict[str, Any]:
    """Return a pair as plain data."""
    groups = [
        {
            "source": list(group.source),
            "output": list(group.output),
            "label": group.label,
            **({"confidence": group.confidence} if group.confidence is not None else {}),
        }
        for group in pair.groups
    ]
    part = {"part": pair.part} if pair.part else {}
    return {"id": pair.id, **part, "source": pair.source, "output": pair.output, "groups": groups}


def write_table(pairs: Iterable[Pair]) -> str:
    """Return tab-separated rows, one per group, with its words; a pair without groups has one row without a label."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerows((COLUMNS, *rows(pairs)))
    return out.getvalue()


def rows(pairs: Iterable[Pair]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table, with the columns ``COLUMNS``."""
    for pair in pairs:
        if not pair.groups:
            yield (pair.part, pair.id, *[""] * 6, pair.source, pair.output)
        for group in pair.groups:
            numbers = (" ".join(map(str, group.tokens(side))) for side in SIDES)
            words = (
                " ".join(pair.tokens(side)[at] for at in group.tokens(side) if at < len(pair.tokens(side)))
                for side in SIDES
            )
            confidence = "" if group.confidence is None else repr(group.confidence)
            yield (pair.part, pair.id, group.label, *numbers, *words, confidence, pair.source, pair.output)


def parse_table(text: str, *, name: str = "the table") -> tuple[Pair, ...]:
    """Parse a table written by ``write_table``, in which the rows of a pair follow one another."""
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t")
    missing = set(COLUMNS) - {"source_words", "output_words", "confidence", "part"} - set(reader.fieldnames or ())
    if missing:
        raise BadInput(f"{name} lacks the column {min(missing)!r}. Its columns must be: {', '.join(COLUMNS)}.")
    pairs: dict[tuple[str, str], Pair] = {}
    for row in reader:
        if any(row[column] is None for column in ("id", "source", "output")):
            raise BadInput(f"{name}:{reader.line_num}: too few columns. Needed: {', '.join(COLUMNS)}.")
        key = (row.get("part") or "", row["id"])
        pair = pairs.setdefault(key, Pair(row["id"], row["source"], row["output"], part=key[0]))
        if row["label"]:
            try:
                tokens = [tuple(map(int, (row[column] or "").split())) for column in ("source_tokens", "output_tokens")]
                confidence = float(row["confidence"]) if row.get("confidence") else None
            except ValueError as error:
                raise BadInput(f"{name}:{reader.line_num}: tokens and confidences must be numbers: {error}.") from None
            pairs[key] = pair.with_groups((*pair.groups, Group(tokens[0], tokens[1], row["label"], confidence)))
    return tuple(pair.validate() for pair in pairs.values())


def _from_record(line: str, where: str) -> Pair:
    try:
        entry = json.loads(line, parse_constant=lambda _: None)  # NaN is an unknown confidence
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: this line is not JSON: {error}. Write one annotated pair per line.") from None
    try:
        names = {"id": str(entry["id"]), "part": str(entry.get("part", ""))}
        pair = msgspec.convert(entry | names, Pair)
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        needed = "id, source, output and groups with source, output, label"
        raise BadInput(f"{where}: a record needs {needed}: {error}") from None
    return pair.validate()


def _load_named(name: str) -> tuple[Pair, ...]:
    files = data.paths(name)
    if data.card(name).reader == "edited_json":
        pages = json.loads(read_text(files["source"][0]))
        return tuple(_swipe_pair(str(number), page) for number, page in enumerate(pages, 1))
    if "alignment" not in files:
        raise BadInput(f"{name!r} holds {data.card(name).kind}, not annotations of operations. See: plainly data list")
    alignments = files["alignment"]
    if "corpus" in files:
        return read_yawat(read_text(alignments[0]), read_text(files["corpus"][0]), name=str(alignments[0]))
    sources = read_lines(files["source"][0])
    pairs: list[Pair] = []
    for number, (alignment, reference) in enumerate(zip(alignments, files["reference"], strict=True)):
        pairs += read_yawat(
            read_text(alignment), sources=sources, outputs=read_lines(reference), part=str(number), name=str(alignment)
        )
    return tuple(pairs)


def parse_corpus(text: str, *, name: str = "the .crp file") -> dict[str, tuple[str, str]]:
    """Return source and output by id."""
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) % 3:
        raise BadInput(f"{name} has {len(lines)} lines; it needs three for each pair: id, source, output.")
    identifiers = [line.strip() for line in lines[::3]]
    texts = dict(zip(identifiers, zip(lines[1::3], lines[2::3], strict=True), strict=True))
    if len(texts) < len(identifiers):
        at = next(at for at, identifier in enumerate(identifiers) if identifier in identifiers[:at])
        raise BadInput(f"{name}:{3 * at + 1}: the id {identifiers[at]!r} occurs twice. Give every pair its own id.")
    return texts


def read_yawat(
    alignment: str,
    corpus: str | None = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    part: str = "",
    name: str = "the .aln file",
) -> tuple[Pair, ...]:
    """Read pairs from the text of an ``.aln`` file and its ``.crp``, or sources and outputs in the same order."""
    lines = ((f"{name}:{number}", line.split()) for number, line in enumerate(alignment.split("\n"), 1))
    aligned = [(words[0], tuple(_parse_group(group, where) for group in words[1:])) for where, words in lines if words]
    if corpus is not None:
        texts = parse_corpus(corpus)
        missing = next((identifier for identifier, _ in aligned if identifier not in texts), None)
        if missing is not None:
            raise BadInput(f"{name} annotates pair {missing!r}, which its .crp file lacks. Use files of the same set.")
        sides = [texts[identifier] for identifier, _ in aligned]
    elif sources is not None and outputs is not None:
        if not len(aligned) == len(sources) == len(outputs):
            raise BadInput(
                f"{name} annotates {len(aligned)} pairs, but there are {len(sources)} sources and {len(outputs)} "
                "outputs. Give one source and one output for each annotated pair, in the same order."
            )
        sides = list(zip(sources, outputs, strict=True))
    else:
        sides = [("", "")] * len(aligned)
    return tuple(Pair(key, *side, groups, part).validate() for (key, groups), side in zip(aligned, sides, strict=True))


def write_alignment(pairs: Sequence[Pair]) -> str:
    """Return the text of an ``.aln`` file."""
    return "".join(" ".join((pair.id, *map(_write_group, pair.groups))) + "\n" for pair in pairs)


def write_corpus(pairs: Sequence[Pair]) -> str:
    """Return the text of a ``.crp`` file."""
    for pair in pairs:
        if "\n" in pair.source or "\n" in pair.output:
            raise BadInput(f"{pair.where} has a line feed, which a .crp file cannot hold. Write JSONL instead.")
    return "".join(f"{pair.id}\n{pair.source}\n{pair.output}\n" for pair in pairs)


def _write_group(group: Group) -> str:
    return f"{','.join(map(str, group.source))}:{','.join(map(str, group.output))}:{group.label}"


def _parse_group(text: str, where: str) -> Group:
    parsed = _YAWAT_FORM.fullmatch(text)
    if parsed is None:
        raise BadInput(f"{where}: cannot read the group {text!r}. A group is source,tokens:output,tokens:label.")
    *sides, label = parsed.groups()
    source, output = (tuple(map(int, filter(None, side.split(",")))) for side in sides)
    return Group(source, output, canonical(label))


def write_brat(pairs: Sequence[Pair]) -> tuple[str, str]:
    """Return the texts of the ``.txt`` and the ``.ann`` file."""
    text = write_corpus(pairs)
    lines: list[str] = []
    entities, relations, notes = count(1), count(1), count(1)
    places = _places((pair.id, (pair.source, pair.output)) for pair in pairs)
    for pair, source, output in zip(pairs, places[::2], places[1::2], strict=True):
        spans = {"source": source[-1], "output": output[-1]}
        for group in pair.groups:
            names = []
            for side in filter(group.tokens, SIDES):
                names.append(f"T{next(entities)}")
                fragments = [(spans[side][run[0]][0], spans[side][run[-1]][1]) for run in runs(group.tokens(side))]
                offsets = ";".join(f"{first} {last}" for first, last in fragments)
                words = " ".join(text[first:last] for first, last in fragments)
                lines.append(f"{names[-1]}\t{group.label} {offsets}\t{words}")
            if len(names) == 2:
                lines.append(f"R{next(relations)}\tAligned Arg1:{names[0]} Arg2:{names[1]}")
            if group.confidence is not None:
                lines.append(f"#{next(notes)}\tAnnotatorNotes {names[0]}\tconfidence {group.confidence!r}")
    return text, "".join(f"{line}\n" for line in lines)


def read_brat(text: str, annotations: str, *, name: str = "the .ann file") -> tuple[Pair, ...]:
    """Read pairs from the texts of the two files, written by plainly or edited in brat."""
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
            entities[fields[0]] = canonical(label), spans
        elif line[0] == "R" and len(fields) >= 2:
            _, first, second = fields[1].split()
            partner[first.partition(":")[2]] = second.partition(":")[2]
        elif note := _BRAT_NOTE.fullmatch(line):
            confidence[note[1]] = float(note[2])
        elif line[0] not in "#A":
            raise BadInput(f"{name}:{number}: cannot read {line!r}, only text-bound annotations and relations.")
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
        Pair(identifier, source, output, tuple(groups.get(identifier, ()))).validate()
        for identifier, (source, output) in corpus.items()
    )


def _places(corpus: Iterable[tuple[str, tuple[str, str]]]) -> list[Place]:
    """Return the positions of sources and outputs in a file of pairs."""
    places: list[Place] = []
    start = 0
    for identifier, texts in corpus:
        start += len(identifier) + 1
        for side, line in zip(SIDES, texts, strict=True):
            spans = [(word.start() + start, word.end() + start) for word in re.finditer(r"\S+", line)]
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


def _swipe_pair(identifier: str, page: Mapping[str, Any]) -> Pair:
    """Read a page of SWiPE; edits whose category has no corresponding label are left out."""
    source: list[str] = []
    output: list[str] = []
    places: dict[int, tuple[range, range]] = {}
    for edit in page["edits"]:
        starts = len(source), len(output)
        equal = edit.get("text", "") if edit["type"] == "equal" else ""
        source += f"{equal} {edit.get('delete', '')}".split()
        output += f"{equal} {edit.get('insert', '')}".split()
        places[edit["idx"]] = range(starts[0], len(source)), range(starts[1], len(output))
    groups = []
    for mark in page["annotations"]:
        tokens = [
            tuple(token for edit in mark["opis"] if edit in places for token in places[edit][side]) for side in (0, 1)
        ]
        # The likeliest label of a category that can stand on the sides where the edit has words, if any can.
        for label in mapping("swipe").types.get(mark["category"], ()):
            side = operation(label).side
            source_tokens, output_tokens = tokens[0] if side != "output" else (), tokens[1] if side != "source" else ()
            if source_tokens or output_tokens:
                groups.append(Group(source_tokens, output_tokens, label))
                break
    return Pair(identifier, " ".join(source), " ".join(output), tuple(groups)).validate()
