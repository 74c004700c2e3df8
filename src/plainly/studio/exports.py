"""What was collected: as ``Judgements`` for ``plainly meta``, and as files, long tables or alignments.

People appear under their pseudonyms only. Text that a spreadsheet would run as a formula gets an apostrophe in front in
CSV, and only there; JSONL and Parquet hold it as it was typed.
"""

import io
import json
import math
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from plainly.errors import BadInput
from plainly.inputs.tables import arrow
from plainly.ratings.types import Judgements, Rating
from plainly.render.show import jsonable
from plainly.render.tables import delimited
from plainly.result import Record
from plainly.studio import tasks
from plainly.studio.ledger import Ledger, StudyAnswer, Unit
from plainly.studio.project import Project, TaskName

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
_LINE_END = "\r\n"
_CIRCUMSTANCES = ("comment", "late", "overtime", "seconds", "at")
COLUMNS: Mapping[TaskName, tuple[str, ...]] = {
    "rating": ("system", "item", "rater", "dimension", "rating", "source", "output", *_CIRCUMSTANCES),
    "ranking": ("item", "rater", "shown", "best", "worst", "tie", "source", *_CIRCUMSTANCES),
    "operations": (
        "system", "item", "rater", "group", "labels", "source_tokens", "output_tokens", "source_spans", "output_spans",
        "source", "output", *_CIRCUMSTANCES,
    ),
}  # fmt: skip
_NO_RATINGS = {
    "ranking": "people rank outputs. The choices as a table: plainly studio export … --format csv",
    "operations": "people mark operations. For plainly operations: plainly studio export … --format aln",
}


def judgements(ledger: Ledger, project: Project) -> Judgements:
    """The ratings as ``plainly meta`` and ``plainly plan`` take them, without a file in between."""
    if project.task != "rating":
        raise BadInput(f"{project.name} holds no ratings: {_NO_RATINGS[project.task]}")
    answers = [(ledger.items[answer.item], answer) for answer in ledger.answers()]
    ratings = [rating for unit, answer in answers for rating in _ratings(project, unit, answer)]
    if not any(rating.said for rating in ratings):
        raise BadInput(f"{project.name} has no ratings yet.")
    return Judgements.of(
        project.name,
        ratings,
        scales={scale.name: (scale.minimum, scale.maximum) for scale in project.scales},
        sources={unit.name: unit.source for unit, _ in answers},
        outputs={(unit.system, unit.name): unit.output for unit, _ in answers},
    )


def rows(ledger: Ledger, project: Project) -> Iterator[Record]:
    """The long table: a row for each rating, ranking or group of words; no value where it could not be judged."""
    for answer in ledger.answers():
        unit = ledger.items[answer.item]
        texts = {"source": unit.source, "output": unit.output}
        whole: Record = {"system": unit.system, "item": unit.name, "rater": answer.rater, **texts}
        whole |= _circumstances(answer)
        for row in _ROWS[project.task](project, unit, answer):
            whole |= row
            yield {name: whole[name] for name in COLUMNS[project.task]}


def write(ledger: Ledger, project: Project, form: str) -> bytes:
    """The file of a format, from the answers as they are now."""
    return _WRITERS[form](ledger, project)


def _ratings(project: Project, unit: Unit, answer: StudyAnswer) -> Iterator[Rating]:
    values = {scale.name: None for scale in project.scales} if answer.unable else answer.values
    for dimension, value in values.items():
        yield Rating(unit.system, unit.name, answer.rater, dimension, math.nan if value is None else value)


def _rating_rows(project: Project, unit: Unit, answer: StudyAnswer) -> Iterator[Record]:
    for rating in _ratings(project, unit, answer):
        yield {"dimension": rating.dimension, "rating": rating.value if rating.said else None}


def _ranking_rows(project: Project, unit: Unit, answer: StudyAnswer) -> Iterator[Record]:
    choice = answer.payload.get("choice", {})
    best, worst = choice.get("best_system"), choice.get("worst_system")
    shown = json.dumps(choice.get("shown", []))
    yield {"shown": shown, "best": best, "worst": worst, "tie": bool(choice.get("tie"))}


def _operation_rows(project: Project, unit: Unit, answer: StudyAnswer) -> Iterator[Record]:
    texts = {"source": unit.source, "output": unit.output}
    # Where the tokens stand in the text, in Unicode code points: 0-3,9-12
    offsets = {
        side: [f"{start}-{end}" for start, end in tasks.spans(text, unit.tokens)] for side, text in texts.items()
    }
    for at, group in enumerate(answer.payload.get("groups", ())):
        yield {
            "group": at,
            "labels": ",".join(group["labels"]),
            **{f"{side}_tokens": ",".join(map(str, group[side])) for side in texts},
            **{f"{side}_spans": ",".join(offsets[side][token] for token in group[side]) for side in texts},
        }


def _circumstances(answer: StudyAnswer) -> Record:
    return {
        "comment": answer.payload.get("comment", ""),
        "late": answer.late,
        "overtime": answer.overtime,
        "seconds": answer.seconds,
        "at": _utc(answer.at),
    }


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _entries(ledger: Ledger) -> Iterator[Record]:
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


def _formula(value: Any) -> bool:
    return isinstance(value, str) and value.lstrip("'").startswith(_FORMULA)


def original(value: Any) -> Any:
    """What stands behind a cell of our CSV, in which no spreadsheet takes a text for a formula."""
    return value[1:] if _formula(value) and value.startswith("'") else value


def _csv(ledger: Ledger, project: Project) -> bytes:
    names = COLUMNS[project.task]
    table = [[row[name] for name in names] for row in rows(ledger, project)]
    cells = [[f"'{cell}" if _formula(cell) else cell for cell in row] for row in table]
    return f"{delimited(names, cells, line_end=_LINE_END)}{_LINE_END}".encode("utf-8", "surrogatepass")


def _jsonl(records: Iterable[Record]) -> bytes:
    return "".join(json.dumps(jsonable(record), ensure_ascii=True) + "\n" for record in records).encode()


def _parquet(ledger: Ledger, project: Project) -> bytes:
    pa = arrow()
    kinds = {"rating": pa.float64(), "seconds": pa.float64(), "group": pa.int64()}
    kinds |= dict.fromkeys(("late", "overtime", "tie"), pa.bool_())
    records = list(rows(ledger, project))
    columns = {}
    for name in COLUMNS[project.task]:
        # Parquet's strings are UTF-8, which has no lone surrogates.
        cells = [record[name] for record in records]
        readable = [cell.encode("utf-8", "replace").decode() if isinstance(cell, str) else cell for cell in cells]
        columns[name] = pa.array(readable, type=kinds.get(name, pa.string()))
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def _alignments(ledger: Ledger, project: Project) -> bytes:
    """A zip with an .aln and a .crp file for each system and rater, in the format of the annotation paper's tool.

    Its tokens are what white space separates, so a text that was split more finely is written with spaces between.
    """
    from plainly.typology.annotation import Group, Pair
    from plainly.typology.yawat import write_alignment, write_corpus

    parts: dict[tuple[str, str], list[Pair]] = {}
    for answer in ledger.answers():
        if "groups" not in answer.payload:
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
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in text) or "output"


_ROWS: Mapping[TaskName, Callable[[Project, Unit, StudyAnswer], Iterator[Record]]] = {
    "rating": _rating_rows,
    "ranking": _ranking_rows,
    "operations": _operation_rows,
}
_WRITERS: Mapping[str, Callable[[Ledger, Project], bytes]] = {
    "csv": _csv,
    "jsonl": lambda ledger, project: _jsonl(rows(ledger, project)),
    "parquet": _parquet,
    "aln": _alignments,
    "entries.jsonl": lambda ledger, project: _jsonl(_entries(ledger)),
}
FORMATS = tuple(_WRITERS)
