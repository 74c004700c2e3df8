"""What was collected: as ``Judgements`` for ``plainly meta``, and as files, long tables or alignments.

People appear under their pseudonyms only, and those who are excluded are marked. Text that a spreadsheet would run as a
formula gets an apostrophe in front in CSV, and only there; JSONL and Parquet hold it as it was typed.
"""

import datetime
import io
import itertools
import json
import math
import zipfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import asdict

from msgspec import to_builtins

from plainly.core.errors import BadInput
from plainly.core.result import Record
from plainly.core.tables import delimited, jsonable
from plainly.io.tables import arrow
from plainly.people.preferences import Choice
from plainly.people.rating_tables import escape_formula
from plainly.people.ratings import Judgements, Rating
from plainly_studio import tasks
from plainly_studio.ledger import Ledger, StudyAnswer, Unit
from plainly_studio.project import Project, TaskName

_LINE_END = "\r\n"
_CIRCUMSTANCES = ("comment", "cannot_judge", "revision", "late", "overtime", "seconds", "at", "excluded")
COLUMNS: Mapping[TaskName, tuple[str, ...]] = {
    "rating": (
        "system", "item", "rater", "dimension", "rating", "minimum", "maximum", "step", "level", "low", "high",
        "question", "source", "output", *_CIRCUMSTANCES,
    ),
    "ranking": (
        "item", "rater", "shown", "best", "worst", "tie", "method", "ties", "question", "source", "outputs",
        *_CIRCUMSTANCES,
    ),
    "operations": (
        "system", "item", "rater", "group", "labels", "source_tokens", "output_tokens", "source_spans", "output_spans",
        "tokens", "source", "output", *_CIRCUMSTANCES,
    ),
}  # fmt: skip
_NO_RATINGS = {
    "ranking": "people rank outputs, which plainly meta reads without further options.",
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


def rankings(ledger: Ledger, project: Project) -> tuple[Choice, ...] | None:
    """The choices as ``plainly meta`` takes them; None where people do not rank."""
    if project.task != "ranking":
        return None
    return tuple(_choice(ledger.items[answer.item], answer) for answer in ledger.answers())


def _choice(unit: Unit, answer: StudyAnswer) -> Choice:
    choice = answer.payload.get("choice", {})
    shown = tuple(choice.get("shown") or dict(unit.outputs))
    best, worst = choice.get("best_system"), choice.get("worst_system")
    return Choice(unit.name, answer.rater, shown, best, worst, bool(choice.get("tie")))


def rows(ledger: Ledger, project: Project) -> Iterator[Record]:
    """The long table: a row for each rating, ranking or group of words; no value where it could not be judged."""
    for answer in ledger.answers(excluded=True):
        unit = ledger.items[answer.item]
        texts = {"source": unit.source, "output": unit.output, "tokens": unit.tokens}
        whole: Record = {"system": unit.system, "item": unit.name, "rater": answer.rater, **texts}
        whole |= {**_circumstances(answer), "excluded": answer.rater in ledger.excluded}
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


_UNKNOWN = dict.fromkeys(("question", "minimum", "maximum", "low", "high", "step", "level"))


def _rating_rows(project: Project, unit: Unit, answer: StudyAnswer) -> Iterator[Record]:
    scales = {scale.name: to_builtins(scale) for scale in project.scales}
    for rating in _ratings(project, unit, answer):
        scale = {name: value for name, value in scales.get(rating.dimension, _UNKNOWN).items() if name != "name"}
        yield {"dimension": rating.dimension, "rating": rating.value if rating.said else None, **scale}


def _ranking_rows(project: Project, unit: Unit, answer: StudyAnswer) -> Iterator[Record]:
    choice, outputs = asdict(_choice(unit, answer)), dict(unit.outputs)
    texts = {"shown": choice["shown"], "outputs": [outputs[system] for system in choice["shown"]]}
    yield {**choice, **to_builtins(project.ranking)} | {
        name: json.dumps(cell, ensure_ascii=False) for name, cell in texts.items()
    }


def _operation_rows(project: Project, unit: Unit, answer: StudyAnswer) -> Iterator[Record]:
    texts = {"source": unit.source, "output": unit.output}
    # Where the tokens stand in the text, in Unicode code points: 0-3,9-12
    offsets = {
        side: [f"{start}-{end}" for start, end in tasks.spans(text, unit.tokens)] for side, text in texts.items()
    }
    groups = answer.payload.get("groups", ())
    if not groups:  # Somebody looked and found nothing, or could not judge: that is an answer too.
        yield {"group": None, "labels": "", **{f"{side}_{what}": "" for side in texts for what in ("tokens", "spans")}}
    for at, group in enumerate(groups):
        yield {
            "group": at,
            "labels": ",".join(group["labels"]),
            **{f"{side}_tokens": ",".join(map(str, group[side])) for side in texts},
            **{f"{side}_spans": ",".join(offsets[side][token] for token in group[side]) for side in texts},
        }


def _circumstances(answer: StudyAnswer) -> Record:
    return {
        "comment": answer.payload.get("comment", ""),
        "cannot_judge": answer.unable,
        "revision": answer.revision,
        "late": answer.late,
        "overtime": answer.overtime,
        "seconds": answer.seconds,
        "at": _utc(answer.at),
    }


def _utc(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="milliseconds")


def _entries(ledger: Ledger, project: Project) -> Iterator[Record]:
    """The study whole: its settings, every revision of every answer to every kind of item, the owners' decisions."""
    yield {"kind": "project", "project": json.loads(project.to_json())}
    current = {answer.entry for answer in ledger.answers(None, excluded=True)}
    for answer in ledger.revisions():
        unit = ledger.items[answer.item]
        yield {
            "entry": answer.entry,
            "current": answer.entry in current,
            "rater": answer.rater,
            "kind": unit.kind,
            "item": unit.name,
            "source": unit.source,
            "outputs": [{"system": system, "text": text} for system, text in unit.outputs],
            "tokens": unit.tokens,
            "expected": unit.expected,
            "answer": answer.payload,
            **{
                name: value for name, value in _circumstances(answer).items() if name not in ("comment", "cannot_judge")
            },
            "excluded": ledger.excluded.get(answer.rater),
        }
    for unit, payload, at in ledger.adjudications():
        yield {"kind": "adjudication", "item": unit.name, "system": unit.system, "answer": payload, "at": _utc(at)}


def _csv(ledger: Ledger, project: Project) -> bytes:
    names = COLUMNS[project.task]
    cells = [[escape_formula(row[name]) for name in names] for row in rows(ledger, project)]
    return f"{delimited(names, cells, line_end=_LINE_END)}{_LINE_END}".encode()


def _jsonl(records: Iterable[Record]) -> bytes:
    return "".join(json.dumps(jsonable(record), ensure_ascii=True) + "\n" for record in records).encode()


def _parquet(ledger: Ledger, project: Project) -> bytes:
    pa = arrow()
    kinds = dict.fromkeys(("rating", "seconds", "minimum", "maximum", "step"), pa.float64())
    kinds |= dict.fromkeys(("group", "revision"), pa.int64())
    kinds |= dict.fromkeys(("cannot_judge", "late", "overtime", "tie", "ties", "excluded"), pa.bool_())
    records = list(rows(ledger, project))
    columns = {}
    for name in COLUMNS[project.task]:
        columns[name] = pa.array([record[name] for record in records], type=kinds.get(name, pa.string()))
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def _alignments(ledger: Ledger, project: Project) -> bytes:
    """A zip with an .aln and a .crp file for each system and rater, in the format of the annotation paper's tool.

    Its tokens are what white space separates, so a text that was split more finely is written with spaces between.
    """
    from plainly.typology.annotation import Group, Pair
    from plainly.typology.formats import write_alignment, write_corpus

    parts: dict[tuple[str, str], list[Pair]] = {}
    for answer in ledger.answers(excluded=True):
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
    stems: dict[str, tuple[str, str]] = {}
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for (system, rater), pairs in sorted(parts.items()):
            pairs.sort(key=lambda pair: (0, int(pair.id), "") if pair.id.isdigit() else (1, 0, pair.id))
            folder = "excluded/" if rater in ledger.excluded else ""
            stem = _unique(f"{folder}{_file_name(system)}.{_file_name(rater)}", stems)
            stems[stem] = (system, rater)
            archive.writestr(f"{stem}.aln", write_alignment(pairs))
            archive.writestr(f"{stem}.crp", write_corpus(pairs))
        named = {stem: {"system": system, "rater": rater} for stem, (system, rater) in stems.items()}
        about = {"project": json.loads(project.to_json()), "files": named}
        archive.writestr("study.json", json.dumps(about, ensure_ascii=False, indent=1))
    return sink.getvalue()


def _unique(stem: str, taken: Container[str]) -> str:
    """The name, or the name with the first number that makes it another: two systems may differ in a dot only."""
    numbered = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(name for name in numbered if name not in taken)


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
    "entries.jsonl": lambda ledger, project: _jsonl(_entries(ledger, project)),
}
FORMATS = tuple(_WRITERS)
