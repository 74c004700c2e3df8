"""Readers of sets whose items are longer than a sentence: one function for each format that the cards name."""

import ast
import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plainly.data.card import Card, Local
from plainly.errors import BadInput
from plainly.evalset import ABSENT, EvalSet
from plainly.inputs.lines import decode


def targeted_jsonl(card: Card, files: Sequence[Local]) -> EvalSet:
    """A paragraph a line with the CEFR level it is to be written for (``target_cefr``) and one reference.

    Ids end in the level (``21-a2``); the versions of one paragraph are one group.
    """
    rows = [record for local in files for record in _json_lines(local)]
    return EvalSet.of(
        [row["original"] for row in rows],
        references=[[row["reference"]] for row in rows],
        ids=[row["text_id"] for row in rows],
        groups=[row["text_id"].rpartition("-")[0] for row in rows],
        columns={"target": [row["target_cefr"].upper() for row in rows]},
        name=card.name,
    )


def aligned_csv(card: Card, files: Sequence[Local]) -> EvalSet:
    """Cochrane-auto's documents, paragraphs or sentences; items without a simplification are left out."""
    (local,) = files
    rows = list(csv.DictReader(io.StringIO(decode(local.data, local.path), newline="")))
    sentences = "sent_id" in rows[0] and rows[0]["sent_id"].isdigit()
    simple = [" ".join(ast.literal_eval(row["simple"])) if sentences else row["simple"] for row in rows]
    kept = [(row, text) for row, text in zip(rows, simple, strict=True) if text.strip()]
    ids = ["-".join(row[name] for name in ("pair_id", "para_id", "sent_id") if _number(row, name)) for row, _ in kept]
    return EvalSet.of(
        [row["complex"] for row, _ in kept],
        references=[[text] for _, text in kept],
        ids=ids,
        groups=[row["pair_id"] for row, _ in kept],
        name=card.name,
    )


def edited_json(card: Card, files: Sequence[Local]) -> EvalSet:
    """SWiPE's pairs of pages; the column ``categories`` names the categories of their edits, once each."""
    pages = [page for local in files for page in json.loads(decode(local.data, local.path))]
    return EvalSet.of(
        [page["r_content"] for page in pages],
        references=[[page["s_content"]] for page in pages],
        columns={
            "page": [page["s_page"] for page in pages],
            "categories": [" ".join(sorted({mark["category"] for mark in page["annotations"]})) for page in pages],
        },
        name=card.name,
    )


def jsonl_by_id(local: Local, ids: Sequence[str]) -> list[str]:
    """What a system wrote, by id and in the order of the set; an item that it left out has no output."""
    written: dict[str, str] = {}
    for record in _json_lines(local):
        identifier = record["text_id"]
        if identifier in written:
            raise BadInput(f"{local.path} has two outputs for the item {identifier!r}.")
        written[identifier] = record["simplified"]
    return [written.get(identifier, ABSENT) for identifier in ids]


def _json_lines(local: Local) -> list[dict[str, Any]]:
    return [json.loads(line) for line in decode(local.data, local.path).split("\n") if line.strip()]


def _number(row: Mapping[str, str], name: str) -> bool:
    """Whether the row is of one paragraph or sentence; a document's cell holds a list of numbers."""
    return name == "pair_id" or row[name].isdigit()


_EVALSETS = (targeted_jsonl, aligned_csv, edited_json)
EVALSETS: Mapping[str, Callable[[Card, Sequence[Local]], EvalSet]] = {reader.__name__: reader for reader in _EVALSETS}
