"""Alignments of sentences in files: JSONL, which loses nothing, and CSV with the columns of Cochrane-auto.

The CSV has a row for each source sentence with the list of its output sentences; a sentence that is merged with the
next has the label merge and no sentences of its own. What was added has no row there, and what moved no mark.
"""

import ast
import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plainly.core.errors import BadInput
from plainly.core.files import write_whole
from plainly.io.files import PathLike
from plainly.io.lines import read_lines, read_text
from plainly.text.sentence_alignment import Alignment, Happened, PlacedSentence, connected

SUFFIXES = (".jsonl", ".csv")
COLUMNS = (
    "pair_id",
    "para_id",
    "sent_id",
    "complex",
    "label",
    "simple",
    "simp_sent_id",
    "doc_pos",
    "doc_quint",
    "doc_len",
)
_LABELS: Mapping[Happened, str] = {"kept": "ignore", "dropped": "delete", "split": "split"}


def read_alignments(path: PathLike) -> dict[str, Alignment]:
    """Alignments by the id of their text."""
    if _suffix(path) == ".csv":
        return _from_columns(read_text(path), str(path))
    by_id: dict[str, Alignment] = {}
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            identifier, alignment = _from_record(line, f"{path}:{number}")
            by_id[identifier] = alignment
    return by_id


def write_alignments(path: PathLike, alignments: Mapping[str, Alignment]) -> None:
    """Write alignments in the format that the name ends in."""
    if _suffix(path) == ".jsonl":
        records = (record(identifier, alignment) for identifier, alignment in alignments.items())
        write_whole(Path(path), "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in records))
        return
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for identifier, alignment in alignments.items():
        writer.writerows(_rows(identifier, alignment))
    write_whole(Path(path), out.getvalue())


def record(identifier: str, alignment: Alignment) -> dict[str, Any]:
    """An alignment as plain data: sentences with their spans, and links by their places."""
    sides = {"source": alignment.source, "output": alignment.output}
    texts = {
        side: [{"text": sentence.text, "start": sentence.start, "end": sentence.end} for sentence in sentences]
        for side, sentences in sides.items()
    }
    links = [
        {"source": list(link.source), "output": list(link.output), "happened": link.happened, "moved": link.moved}
        for link in alignment.links
    ]
    return {"id": identifier, **texts, "links": links}


def _suffix(path: PathLike) -> str:
    suffix = Path(path).suffix
    if suffix not in SUFFIXES:
        raise BadInput(f"{path}: alignments are in files whose names end in {' or '.join(SUFFIXES)}.")
    return suffix


def _from_record(line: str, where: str) -> tuple[str, Alignment]:
    try:
        entry = json.loads(line)
        sides = [
            tuple(PlacedSentence(said["text"], int(said["start"]), int(said["end"])) for said in entry[side])
            for side in ("source", "output")
        ]
        edges = [(int(i), int(j)) for link in entry["links"] for i in link["source"] for j in link["output"]]
        _check(edges, sides, where)
        return str(entry["id"]), connected(sides[0], sides[1], edges)
    except (ValueError, KeyError, TypeError) as error:
        needed = "id, source and output (sentences with text, start, end) and links (source, output)"
        raise BadInput(f"{where}: an alignment has {needed}: {error}.") from None


def _check(edges: Sequence[tuple[int, int]], sides: Sequence[Sequence[PlacedSentence]], where: str) -> None:
    for edge in edges:
        for place, sentences in zip(edge, sides, strict=True):
            if not 0 <= place < len(sentences):
                raise BadInput(f"{where}: a link names sentence {place}, and there are {len(sentences)}, from 0 on.")


def _from_columns(text: str, name: str) -> dict[str, Alignment]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    missing = {"pair_id", "complex", "label", "simple"} - set(rows.fieldnames or ())
    if missing:
        raise BadInput(f"{name} lacks the column {min(missing)!r} that alignments in CSV have (Cochrane-auto's).")
    sources: dict[str, list[str]] = {}
    outputs: dict[str, list[str]] = {}
    edges: dict[str, list[tuple[int, int]]] = {}
    waiting: list[int] = []
    for number, row in enumerate(rows, 2):
        document = row["pair_id"]
        source, output = sources.setdefault(document, []), outputs.setdefault(document, [])
        waiting = [*waiting, len(source)] if source else [0]
        source.append(row["complex"])
        if row["label"] == "merge":
            continue  # with the next sentence
        for sentence in _listed(row["simple"], f"{name}, row {number}"):
            edges.setdefault(document, []).extend((place, len(output)) for place in waiting)
            output.append(sentence)
        waiting = []
    return {
        document: connected(_placed(sources[document]), _placed(outputs[document]), edges.get(document, ()))
        for document in sources
    }


def _listed(cell: str, where: str) -> list[str]:
    try:
        values = ast.literal_eval(cell)
        if isinstance(values, list) and all(isinstance(value, str) for value in values):
            return values
    except (ValueError, SyntaxError):
        pass
    raise BadInput(f"{where}: the column 'simple' holds {cell[:40]!r}, which is no list of sentences.")


def _placed(texts: Sequence[str]) -> tuple[PlacedSentence, ...]:
    """Sentences as they stand in a text that joins them with spaces."""
    sentences: list[PlacedSentence] = []
    start = 0
    for text in texts:
        sentences.append(PlacedSentence(text, start, start + len(text)))
        start += len(text) + 1
    return tuple(sentences)


def _rows(identifier: str, alignment: Alignment) -> list[tuple[object, ...]]:
    link_of = {i: link for link in alignment.links for i in link.source}
    rows: list[tuple[object, ...]] = []
    total, used = len(alignment.source), 0
    for i, sentence in enumerate(alignment.source):
        link = link_of[i]
        last = i == link.source[-1]
        simple = [alignment.output[j].text for j in link.output] if last else []
        label = _LABELS.get(link.happened, "rephrase")
        if len(link.source) > 1:
            label = "none" if last else "merge"
        rows.append(
            (identifier, 0, i, sentence.text, label, repr(simple), used, (i + 1) / total, 5 * i // total + 1, total)
        )
        used += len(simple)
    return rows
