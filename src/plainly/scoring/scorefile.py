"""Scores kept in a file: every item's scores for people, or the rows themselves for every later analysis."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

import plainly
from plainly import registry
from plainly.errors import BadInput
from plainly.evalset import EvalSet
from plainly.files import write_whole
from plainly.render import tables
from plainly.scoring.evaluate import Evaluation, Scores, SystemScores

SCHEMA = "plainly.rows/1"
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


def segment_columns(found: Evaluation, evalset: EvalSet) -> dict[str, list[Any]]:
    """One record for each system and item: id, group, then every output of every metric as ``metric.output``."""
    columns: dict[str, list[Any]] = {"system": [], "id": []}
    if evalset.groups is not None:
        columns["group"] = []
    for system, of_system in found.systems.items():
        columns["system"] += [system] * found.items
        columns["id"] += evalset.ids
        if evalset.groups is not None:
            columns["group"] += evalset.groups
        for spec, scores in of_system.items():
            for name, values in scores.segments.items():
                key = spec if name == scores.metric.outputs[0] else f"{spec}.{name}"
                columns.setdefault(key, []).extend(values.tolist())
    return columns


def write_segments(path: str, found: Evaluation, evalset: EvalSet) -> None:
    """Every item's scores, in the format that the file's name asks for; undefined is null or an empty field."""
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise BadInput(f"Cannot tell the format of {path} from its name; let it end in {', '.join(_SUFFIXES)}.")
    columns = segment_columns(found, evalset)
    if suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        sink = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(columns), sink)
        write_whole(path, sink.getvalue())
        return
    rows = list(zip(*columns.values(), strict=True))
    if suffix == ".jsonl":
        names = list(columns)
        lines = (
            json.dumps({name: None if value != value else value for name, value in zip(names, row, strict=True)},
                       ensure_ascii=False)
            for row in rows
        )  # fmt: skip
        text = "".join(f"{line}\n" for line in lines)
    else:
        text = tables.delimited(list(columns), rows, delimiter="\t" if suffix == ".tsv" else ",") + "\n"
    write_whole(path, text)


def save(path: str, found: Evaluation, evalset: EvalSet) -> None:
    """Keep the measured rows: compare, audit, meta and report read them without measuring again."""
    if Path(path).suffix != ".npz":
        raise BadInput(f"Saved scores are a .npz file; name it {Path(path).with_suffix('.npz')}.")
    arrays: dict[str, Any] = {}
    about: dict[str, Any] = {
        "schema": SCHEMA,
        "version": plainly.__version__,
        "test_set": found.test_set,
        "fingerprint": evalset.fingerprint,
        "ids": list(evalset.ids),
        "groups": list(evalset.groups) if evalset.groups is not None else None,
        "columns": {name: list(values) for name, values in evalset.columns.items()},
        "scores": [],
    }
    for system, of_system in found.systems.items():
        for spec, scores in of_system.items():
            key = f"rows{len(about['scores'])}"
            arrays[key] = scores.rows
            about["scores"].append({"system": system, "spec": spec, "signature": scores.signature, "rows": key})
    arrays["about"] = np.frombuffer(json.dumps(about, ensure_ascii=False).encode("utf-8"), dtype=np.uint8)
    sink = io.BytesIO()
    np.savez_compressed(sink, **arrays)
    write_whole(path, sink.getvalue())


def open_saved(path: str) -> tuple[Evaluation, EvalSet]:
    """Scores that were saved, and the set they belong to (ids and groups; its texts are not kept)."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            about = json.loads(arrays["about"].tobytes().decode("utf-8"))
            if about.get("schema") != SCHEMA:
                raise BadInput(f"{path} holds {about.get('schema')}, which this version does not read ({SCHEMA}).")
            systems: dict[str, dict[str, Scores]] = {}
            for entry in about["scores"]:
                metric = registry.metric(entry["spec"])
                scores = Scores(metric, entry["system"], tuple(about["ids"]), arrays[entry["rows"]], entry["signature"])
                systems.setdefault(entry["system"], {})[entry["spec"]] = scores
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}. Make one with: plainly score … --save {path}") from None
    except (ValueError, KeyError, OSError) as error:
        raise BadInput(
            f"{path} is not a file of saved scores ({error}). Make one with: plainly score … --save FILE.npz"
        ) from error
    groups, columns = about["groups"], about["columns"]
    evalset = EvalSet.of(
        items=len(about["ids"]), ids=about["ids"], groups=groups, columns=columns or None, name=about["test_set"]
    )
    return Evaluation(
        about["test_set"], {name: SystemScores(name, scores) for name, scores in systems.items()}
    ), evalset
