"""What was collected, as files: long tables for ``plainly meta``, alignments for ``plainly operations``.

People appear under their pseudonyms only. Text that a spreadsheet would run as a formula gets an apostrophe in front in
CSV, and only there; JSONL and Parquet hold it as it was typed.
"""

from __future__ import annotations

import csv
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from plainly.errors import BadInput
from plainly.inputs.tables import Sheet, arrow
from plainly.ratings.read import judgements_of
from plainly.ratings.types import Judgements
from plainly.studio import tasks
from plainly.studio.context import finite
from plainly.studio.ledger import Answer, Ledger, Unit
from plainly.studio.project import Project

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
_RATINGS = (
    "system", "item", "rater", "dimension", "rating", "source", "output", "comment", "late", "overtime", "seconds",
    "at",
)  # fmt: skip
_RANKINGS = ("item", "rater", "shown", "best", "worst", "tie", "source", "comment", "late", "overtime", "seconds", "at")
_OPERATIONS = (
    "system", "item", "rater", "group", "labels", "source_tokens", "output_tokens", "source_spans", "output_spans",
    "source", "output", "comment", "late", "overtime", "seconds", "at",
)  # fmt: skip
FORMATS = ("csv", "jsonl", "parquet", "aln", "entries.jsonl")


def columns(project: Project) -> tuple[str, ...]:
    """The columns of the project's long table."""
    return {"rating": _RATINGS, "ranking": _RANKINGS, "operations": _OPERATIONS}[project.task]


def rows(ledger: Ledger, project: Project) -> Iterator[dict[str, Any]]:
    """The long table: a row for each rating, ranking or group of words; no value where it could not be judged."""
    make: Callable[[Project, Unit, Answer], Iterator[dict[str, Any]]] = {
        "rating": _rating_rows,
        "ranking": _ranking_rows,
        "operations": _operation_rows,
    }[project.task]
    for answer in ledger.answers():
        yield from make(project, ledger.items[answer.item], answer)


def judgements(ledger: Ledger, project: Project) -> Judgements:
    """The ratings as ``plainly meta`` and ``plainly plan`` know them, without a file in between."""
    if project.task != "rating":
        raise BadInput(f"{project.name} collects {project.task}, not ratings.")
    found = list(rows(ledger, project))
    names = ("system", "item", "rater", "dimension", "rating", "source", "output")
    table = Sheet({name: [row[name] for row in found] for name in names}, project.name, range(1, len(found) + 1))
    return judgements_of(table, name=project.name)


def write(ledger: Ledger, project: Project, name: str) -> bytes:
    """The file of a format, from the answers as they are now."""
    if name == "csv":
        return _csv(columns(project), rows(ledger, project))
    if name == "jsonl":
        return _jsonl(rows(ledger, project))
    if name == "parquet":
        return _parquet(columns(project), list(rows(ledger, project)))
    if name == "aln":
        return _alignments(ledger, project)
    return _jsonl(_entries(ledger))


def _rating_rows(project: Project, unit: Unit, answer: Answer) -> Iterator[dict[str, Any]]:
    values = answer.values if not answer.payload.get("cannot_judge") else {one.name: None for one in project.scales}
    for dimension, rating in values.items():
        yield {
            "system": unit.system,
            "item": unit.name,
            "rater": answer.rater,
            "dimension": dimension,
            "rating": rating,
            "source": unit.source,
            "output": unit.output,
            **_circumstances(answer),
        }


def _ranking_rows(project: Project, unit: Unit, answer: Answer) -> Iterator[dict[str, Any]]:
    choice = answer.payload.get("choice", {})
    yield {
        "item": unit.name,
        "rater": answer.rater,
        "shown": json.dumps(choice.get("shown", [])),
        "best": choice.get("best_system"),
        "worst": choice.get("worst_system"),
        "tie": bool(choice.get("tie")),
        "source": unit.source,
        **_circumstances(answer),
    }


def _operation_rows(project: Project, unit: Unit, answer: Answer) -> Iterator[dict[str, Any]]:
    places = {side: tasks.spans(text, unit.tokens) for side, text in (("source", unit.source), ("output", unit.output))}
    for at, group in enumerate(answer.payload.get("groups", ())):
        yield {
            "system": unit.system,
            "item": unit.name,
            "rater": answer.rater,
            "group": at,
            "labels": ",".join(group["labels"]),
            "source_tokens": ",".join(map(str, group["source"])),
            "output_tokens": ",".join(map(str, group["output"])),
            "source_spans": _offsets(places["source"], group["source"]),
            "output_spans": _offsets(places["output"], group["output"]),
            "source": unit.source,
            "output": unit.output,
            **_circumstances(answer),
        }


def _circumstances(answer: Answer) -> dict[str, Any]:
    return {
        "comment": answer.payload.get("comment", ""),
        "late": answer.late,
        "overtime": answer.overtime,
        "seconds": answer.seconds,
        "at": _utc(answer.at),
    }


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _offsets(places: Sequence[tuple[int, int]], tokens: Sequence[int]) -> str:
    """Where the tokens stand in the text, in Unicode code points: ``0-3,9-12``."""
    return ",".join(f"{places[token][0]}-{places[token][1]}" for token in tokens)


def _entries(ledger: Ledger) -> Iterator[dict[str, Any]]:
    """Every current answer of every kind of item, whole; then the owners' decisions on disagreements."""
    for answer in ledger.answers(None):
        unit = ledger.items[answer.item]
        yield {
            "entry": answer.entry,
            "revision": answer.revision,
            "rater": answer.rater,
            "kind": unit.kind,
            "item": unit.name,
            "source": unit.source,
            "outputs": [{"system": system, "text": text} for system, text in unit.outputs],
            "answer": answer.payload,
            **{name: value for name, value in _circumstances(answer).items() if name != "comment"},
        }
    for unit, payload, at in ledger.adjudications():
        yield {"kind": "adjudication", "item": unit.name, "system": unit.system, "answer": payload, "at": _utc(at)}


def neutral(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula. Numbers stay numbers."""
    if not isinstance(value, str):
        return value
    bare = value.lstrip("'")
    return f"'{value}" if bare.startswith(_FORMULA) else value


def original(value: str) -> str:
    """The text behind a cell that ``neutral`` wrote."""
    return value[1:] if value.startswith("'") and value.lstrip("'").startswith(_FORMULA) else value


def _csv(names: Sequence[str], found: Iterator[dict[str, Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(names)
    for row in found:
        writer.writerow(["" if row[name] is None else neutral(row[name]) for name in names])
    return text.getvalue().encode("utf-8", "surrogatepass")


def _jsonl(found: Iterator[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(finite(row), ensure_ascii=True) + "\n" for row in found).encode()


def _parquet(names: Sequence[str], found: Sequence[dict[str, Any]]) -> bytes:
    pa = arrow()
    numbers = {"rating", "seconds"}
    types = {name: pa.float64() if name in numbers else pa.string() for name in names}
    types |= {name: pa.bool_() for name in ("late", "overtime", "tie") if name in names}
    types |= {"group": pa.int64()} if "group" in names else {}
    arrays = [pa.array([_readable(row[name]) for row in found], type=types[name]) for name in names]
    sink = io.BytesIO()
    pa.parquet.write_table(pa.Table.from_arrays(arrays, names=list(names)), sink)
    return sink.getvalue()


def _readable(value: Any) -> Any:
    """Parquet's strings are UTF-8, which has no lone surrogates."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _alignments(ledger: Ledger, project: Project) -> bytes:
    """A zip with an .aln and a .crp file for each system and rater, in the format of the annotation paper's tool.

    Its tokens are what white space separates, so a text that was split more finely is written with spaces between.
    """
    from plainly.typology.annotation import Group, Pair
    from plainly.typology.yawat import write_alignment, write_corpus

    parts: dict[tuple[str, str], list[Pair]] = {}
    for answer in ledger.answers():
        if project.task != "operations" or "groups" not in answer.payload:
            continue
        unit = ledger.items[answer.item]
        groups = tuple(
            Group(tuple(group["source"]), tuple(group["output"]), label)
            for group in answer.payload["groups"]
            for label in group["labels"]
        )
        source, output = (" ".join(tasks.tokens(text, unit.tokens)) for text in (unit.source, unit.output))
        pair = Pair(unit.name, source, output, groups=groups)
        parts.setdefault((unit.system, answer.rater), []).append(pair)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for (system, rater), pairs in sorted(parts.items()):
            pairs.sort(key=lambda pair: (0, int(pair.id), "") if pair.id.isdigit() else (1, 0, pair.id))
            stem = f"{_file_name(system)}.{_file_name(rater)}"
            archive.writestr(f"{stem}.aln", write_alignment(pairs))
            archive.writestr(f"{stem}.crp", write_corpus(pairs))
    return sink.getvalue()


def _file_name(text: str) -> str:
    return "".join(one if one.isalnum() or one in "-_" else "_" for one in text) or "output"
