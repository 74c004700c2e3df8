"""Scores kept in a file: every item's scores for people, or the rows themselves for every later analysis."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import plainly
from plainly.core import registry, tables
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.files import read_arrays, write_arrays, write_whole
from plainly.core.metric import AdaptedMetric, Floats, OutputMetric
from plainly.io.tables import import_pyarrow
from plainly.scoring.scores import BinnedEvaluation, BinnedScores, Evaluation, Scores, ScoreTable, Signature

SCHEMA = "plainly.rows/1"
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


def _reason_columns(evaluation: ScoreTable) -> dict[str, list[Any]]:
    """Return what the scores of each item are made of as ``metric.reasons``, for metrics that say it."""
    columns: dict[str, list[Any]] = {}
    texts_by_system = evaluation.outputs or {}
    for system in evaluation.systems if texts_by_system else ():
        for spec, metric in evaluation.metrics.items():
            if items := metric.explain_items(evaluation.evalset, texts_by_system[system]):
                texts = [[reason.json() for reason in reasons] for reasons in items]
                columns.setdefault(f"{spec}.reasons", []).extend(texts)
    return columns


def check_segments(path: str) -> None:
    """Raise unless the file's name says in which format to write every item's scores."""
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise BadInput(f"The name of {path} does not say its format. It must end in {', '.join(_SUFFIXES)}.")


def write_segments(path: str, evaluation: ScoreTable) -> None:
    """Write every item's scores; the file's name determines the format. Undefined is null or an empty field.

    JSON lines also have the reasons for the scores of metrics that explain them.
    """
    check_segments(path)
    suffix = Path(path).suffix.lower()
    columns = evaluation.item_columns() | (_reason_columns(evaluation) if suffix == ".jsonl" else {})
    if suffix == ".parquet":
        pyarrow = import_pyarrow()
        sink = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(columns), sink)
        write_whole(path, sink.getvalue())
        return
    rows = list(zip(*columns.values(), strict=True))
    if suffix == ".jsonl":
        rows_with_null = ([None if value != value else value for value in row] for row in rows)
        records = (dict(zip(columns, row, strict=True)) for row in rows_with_null)
        text = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
    else:
        text = tables.format_csv(list(columns), rows, delimiter="\t" if suffix == ".tsv" else ",") + "\n"
    write_whole(path, text)


def check_saved(path: str) -> None:
    """Raise unless the file's name is that of saved scores."""
    if Path(path).suffix != ".npz":
        raise BadInput(f"Saved scores are a .npz file, such as {Path(path).stem or 'scores'}.npz; not {path}.")


def save(path: str, evaluation: ScoreTable) -> None:
    """Save the measured rows: compare, audit, meta and report read them without measuring again."""
    check_saved(path)
    evalset = evaluation.evalset
    arrays: dict[str, Any] = {}
    entries: list[dict[str, Any]] = []
    for system, of_system in evaluation.systems.items():
        for spec, scores in of_system.items():
            key = f"rows{len(entries)}"
            arrays[key] = scores.rows
            arrays[f"totals{len(entries)}"] = scores.totals
            if scores.present is not None:
                arrays[f"present{len(entries)}"] = scores.present
            entries.append({"system": system, "spec": spec, "signature": str(scores.signature), "rows": key})
    about = {
        "schema": SCHEMA,
        "version": plainly.__version__,
        "test_set": evalset.name,
        "items": evaluation.n,
        **evaluation.describe_rows(),
        "ids": list(evalset.ids),
        "groups": list(evalset.groups) if evalset.groups is not None else None,
        "columns": {name: list(values) for name, values in evalset.columns.items()},
        "scores": entries,
    }
    write_arrays(path, arrays, about, compress=True)


class SavedMetric(AdaptedMetric):
    """A metric that a file names and that would run a program: its formula is used, the program is not run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "is_measurable", False)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        raise BadInput(
            f"{self!r} was read from a file, and programs that a file names are not run. Score again to use it."
        )


def open_saved(path: str) -> ScoreTable:
    """Read saved scores, with the ids and groups of their set; the texts are not saved."""
    try:
        arrays, about = read_arrays(path)
        if about.get("schema") != SCHEMA:
            raise BadInput(f"{path} holds {about.get('schema')}, which this version does not read ({SCHEMA}).")
        binned = about["units"] == "bins"
        evalset = EvalSet.of(
            items=len(about["ids"]),
            ids=about["ids"],
            groups=about["groups"],
            columns=about["columns"] or None,
            name=about["test_set"],
        )
        systems: dict[str, dict[str, Scores]] = {}
        for number, entry in enumerate(about["scores"]):
            signature = Signature.parse(entry["signature"])
            metric = registry.metric(entry["spec"])
            metric = (SavedMetric(metric) if metric.runs_programs else metric).for_evalset(evalset)
            if not isinstance(metric, OutputMetric) and signature.headline:  # measured without sources
                metric = OutputMetric(metric, signature.headline)
            rows, totals = arrays[entry["rows"]], arrays[f"totals{number}"]
            present = arrays.get(f"present{number}")
            n = about["items"] if present is None else int(present.sum())
            kind = BinnedScores if binned else Scores
            scores = kind(metric, entry["system"], rows, totals, n, signature, present=present)
            if len(rows) != len(about["ids"]) and not binned:
                raise ValueError(f"{len(rows)} rows for {len(about['ids'])} items")
            metric.score(scores.totals)
            systems.setdefault(entry["system"], {})[entry["spec"]] = scores
        outcomes = {tuple(counts[:3]): tuple(counts[3:]) for counts in about["outcomes"]}
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}. Make one with: plainly score … --save {path}") from None
    except BadInput:
        raise
    except Exception as error:  # any error here means that the file is damaged
        raise BadInput(
            f"{path} is not a file of saved scores ({error}). Make one with: plainly score … --save FILE.npz"
        ) from error
    if binned:
        return BinnedEvaluation(evalset, systems, outcomes=outcomes, bin_content=about["drawn"])
    return Evaluation(evalset, systems)
