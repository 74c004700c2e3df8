"""Alignments of sentences in files: JSONL, which is complete, and CSV with the columns of Cochrane-auto.

The CSV has a row for each source sentence with the list of its output sentences; a sentence that is merged with the
next has the label merge and an empty list. It contains neither sentences that were added nor marks of moves.
"""

import ast
import csv
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import Any

from plainly.core.errors import BadInput
from plainly.core.files import write_whole
from plainly.io.consistency import check_unique
from plainly.io.files import PathLike, read_lines, read_text
from plainly.text.sentence_alignment import Alignment, Outcome, PlacedSentence, connect_sentences

SUFFIXES = (".jsonl", ".csv")
COLUMNS = (
    "pair_id", "para_id", "sent_id", "complex", "label", "simple", "simp_sent_id", "doc_pos", "doc_quint", "doc_len",
)  # fmt: skip
_LABELS: Mapping[Outcome, str] = {"kept": "ignore", "dropped": "delete", "split": "split"}


def read_alignments(path: PathLike) -> dict[str, Alignment]:
    """Read alignments by the id of their text."""
    if _suffix(path) == ".csv":
        return _from_columns(read_text(path), str(path))
    places = [(f"{path}:{number}", line) for number, line in enumerate(read_lines(path), 1) if line.strip()]
    records = [_from_record(line, where) for where, line in places]
    check_unique([identifier for identifier, _ in records], lambda row: places[row][0])
    return dict(records)


def write_alignments(path: PathLike, alignments: Mapping[str, Alignment]) -> None:
    """Write alignments in the format of the path's suffix."""
    out = io.StringIO()
    if _suffix(path) == ".jsonl":
        out.writelines(json.dumps(record(*entry), ensure_ascii=False) + "\n" for entry in alignments.items())
    else:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        for identifier, alignment in alignments.items():
            writer.writerows(_rows(identifier, alignment))
    write_whole(Path(path), out.getvalue())


def record(identifier: str, alignment: Alignment) -> dict[str, Any]:
    """Return an alignment as plain data: sentences with their spans, and links by their places."""
    sides: dict[str, Any] = {"source": alignment.source, "output": alignment.output, "links": alignment.links}
    return {"id": identifier, **{name: [asdict(entry) for entry in entries] for name, entries in sides.items()}}


def _suffix(path: PathLike) -> str:
    suffix = Path(path).suffix
    if suffix not in SUFFIXES:
        raise BadInput(f"{path}: alignments are in files whose names end in {' or '.join(SUFFIXES)}.")
    return suffix


def _from_record(line: str, where: str) -> tuple[str, Alignment]:
    try:
        entry = json.loads(line)
        identifier = str(entry["id"])
        sides = [
            tuple(
                PlacedSentence(sentence["text"], int(sentence["start"]), int(sentence["end"]))
                for sentence in entry[side]
            )
            for side in ("source", "output")
        ]
        edges = [(int(i), int(j)) for link in entry["links"] for i in link["source"] for j in link["output"]]
    except (ValueError, KeyError, TypeError) as error:
        fields = "id, source and output (sentences with text, start, end) and links (source, output)"
        raise BadInput(f"{where}: an alignment has {fields}: {error}.") from None
    for edge in edges:
        for position, sentences in zip(edge, sides, strict=True):
            if not 0 <= position < len(sentences):
                raise BadInput(f"{where}: a link names sentence {position}, but there are {len(sentences)} (from 0).")
    return identifier, connect_sentences(sides[0], sides[1], edges)


def _from_columns(text: str, name: str) -> dict[str, Alignment]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    missing = {"pair_id", "complex", "label", "simple"} - set(rows.fieldnames or ())
    if missing:
        raise BadInput(f"{name} lacks the column {min(missing)!r}; alignments in CSV have Cochrane-auto's columns.")
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
        for sentence in _parse_list(row["simple"], f"{name}, row {number}"):
            edges.setdefault(document, []).extend((position, len(output)) for position in waiting)
            output.append(sentence)
        waiting = []
    return {
        document: connect_sentences(_place(sources[document]), _place(outputs[document]), edges.get(document, ()))
        for document in sources
    }


def _parse_list(cell: str, where: str) -> list[str]:
    with suppress(ValueError, SyntaxError):
        values = ast.literal_eval(cell)
        if isinstance(values, list) and all(isinstance(value, str) for value in values):
            return values
    raise BadInput(f"{where}: the column 'simple' contains {cell[:40]!r}, which is not a list of sentences.")


def _place(texts: Sequence[str]) -> tuple[PlacedSentence, ...]:
    """Return sentences with their places in a text that joins them with spaces."""
    starts = accumulate((len(text) + 1 for text in texts), initial=0)
    return tuple(PlacedSentence(text, start, start + len(text)) for text, start in zip(texts, starts, strict=False))


def _rows(identifier: str, alignment: Alignment) -> list[tuple[object, ...]]:
    link_of = {i: link for link in alignment.links for i in link.source}
    rows: list[tuple[object, ...]] = []
    total, before = len(alignment.source), 0
    for i, sentence in enumerate(alignment.source):
        link = link_of[i]
        last = i == link.source[-1]
        simple = [alignment.output[j].text for j in link.output] if last else []
        label = _LABELS.get(link.happened, "rephrase")
        if len(link.source) > 1:
            label = "none" if last else "merge"
        position = (before, (i + 1) / total, 5 * i // total + 1, total)
        rows.append((identifier, 0, i, sentence.text, label, repr(simple), *position))
        before += len(simple)
    return rows
