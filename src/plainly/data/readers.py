"""Readers of public data: from checked files to an evaluation set or a table, one function for each format.

A card names its reader. Blank references are left out, missing numbers are NaN, and a file without the number of lines
on its card is an error.
"""

import ast
import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from plainly.core.errors import BadInput
from plainly.core.evalset import ABSENT, EvalSet
from plainly.data.card import Card, Local
from plainly.io.files import decode, split_lines
from plainly.io.tables import Sheet, parse_parquet, read_cells

_WHOLE = re.compile(r"[+-]?\d+")


def lines(card: Card, files: Sequence[Local]) -> EvalSet:
    """Read one sentence a line: the file with role source and those with role reference."""
    return _evalset(card, {local: read_lines(local, card.items) for local in files})


def first_lines(card: Card, files: Sequence[Local]) -> EvalSet:
    """Read lines of files that are longer than the card's set."""
    return _evalset(card, {local: read_lines(local)[: card.items] for local in files})


def numbered_lines(card: Card, files: Sequence[Local]) -> EvalSet:
    """Read lines of ``NUMBER<TAB>sentence``, numbered from 0 in the set that contains this one."""
    pairs = {local: [line.partition("\t") for line in read_lines(local, card.items)] for local in files}
    (source,) = (lines for local, lines in pairs.items() if local.file.role == "source")
    texts = {local: [text for _, _, text in lines] for local, lines in pairs.items()}
    return _evalset(card, texts, ids=[str(int(number) + 1) for number, _, _ in source])


def source_and_references_tsv(card: Card, files: Sequence[Local]) -> EvalSet:
    """Read one item a row: its number, the source, then the references."""
    rows = [line.split("\t") for local in files for line in read_lines(local, card.items)]
    return EvalSet.of([row[1] for row in rows], references=[row[2:] for row in rows], name=card.name)


def csv_table(card: Card, files: Sequence[Local]) -> Sheet:
    """Read a CSV file with a header; columns of numbers become numbers."""
    (local,) = files
    header, *rows = csv.reader(io.StringIO(_text(local), newline=""))
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise BadInput(f"{local.path}: row {number} has {len(row)} cells, but the header has {len(header)}.")
    sheet = _sheet(card, header, rows)
    return replace(sheet, columns={name: _convert_numbers(cells) for name, cells in sheet.columns.items()})


def rating_sheet(card: Card, files: Sequence[Local]) -> Sheet:
    """Read a row per item with a column for each rater and dimension; the system is the file's or has a column."""
    ratings: list[tuple[str, int, str, str, float]] = []
    for local in files:
        head, _, *body = read_cells(local.data, local.path)
        labels = [str(cell).casefold() for cell in head]
        item_at = next(at for at, label in enumerate(labels) if label.startswith("sentence"))
        start = next(at for at, label in enumerate(labels) if label.startswith("annotator"))
        raters = tuple(dict.fromkeys(str(cell) for cell in head[start:] if cell != ""))
        system = local.file.system
        for row in body:
            item = str(row[item_at])
            if not _WHOLE.fullmatch(item):
                continue  # Averages and remarks are below the items.
            if "system" in labels and (label := str(row[labels.index("system")])):
                system = card.rename.get(label, label)
            ratings += (
                (system, int(item), rater, dimension, math.nan if cell == "" else float(str(cell)))
                for (rater, dimension), cell in zip(product(raters, card.dimensions), row[start:], strict=False)
            )
    return _sheet(card, ("system", "item", "rater", "dimension", "rating"), ratings)


def level_tsv(card: Card, files: Sequence[Local]) -> Sheet:
    """Read ``sentence<TAB>level<TAB>level``: two annotators' levels from 1 (A1) to 6 (C2)."""
    rows = [(local.file.part, *line.split("\t")) for local in files for line in read_lines(local)]
    levels = [(part, sentence, int(level_a), int(level_b)) for part, sentence, level_a, level_b in rows]
    return _sheet(card, ("part", "sentence", "level_a", "level_b"), levels)


def level_sheets(card: Card, files: Sequence[Local]) -> Sheet:
    """Read ReadMe++'s sheets: a sentence with its domain, the text before it, and a level."""
    rows: list[tuple[Any, ...]] = []
    for local in files:
        head, *body = read_cells(local.data, local.path)
        at = {str(cell): place for place, cell in enumerate(head)}
        for cells in body:
            before, sentence = (" ".join(str(cells[at[name]]).split()) for name in ("Context", "Sentence"))
            rows.append((local.file.part, cells[at["Domain"]], before, sentence, cells[at["Rating"]]))
    return _sheet(card, ("part", "domain", "context", "sentence", "level"), rows)


def complexity_csv(card: Card, files: Sequence[Local]) -> Sheet:
    """Read TextComplexityDE's averages of ratings from 1 to 7, reversed so that 7 is the simplest."""
    (local,) = files
    means = ("MOS_Complexity", "MOS_Understandability", "MOS_Lexical_difficulty")
    rows = [
        ("source", row["ID"], row["Article"], _one_line(row["Sentence"]), *(8 - float(row[name]) for name in means))
        for row in _records(local)
    ]
    return _sheet(card, ("system", "item", "group", "output", "simplicity", "understandability", "lexical"), rows)


def pairs_csv(card: Card, files: Sequence[Local]) -> EvalSet:
    """Read TextComplexityDE's sentences and their simplifications; the article is the group."""
    (local,) = files
    rows = list(_records(local))
    return EvalSet.of(
        [_one_line(row["Original_Sentence"]) for row in rows],
        references=[[_one_line(row["Simplification"])] for row in rows],
        ids=[row["Sentence_Id"] for row in rows],
        groups=[row["Article"] for row in rows],
        name=card.name,
    )


def _records(local: Local) -> Iterator[dict[str, str]]:
    """Read the rows of a CSV file as dictionaries."""
    return csv.DictReader(io.StringIO(_text(local), newline=""))


def _text(local: Local) -> str:
    encoding = local.file.encoding
    return local.data.decode(encoding) if encoding else decode(local.data, local.path)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def level_texts(card: Card, files: Sequence[Local]) -> Sheet:
    """Read one text per file, a paragraph per line; the level is the file's part, the article its name before ``-``."""
    rows = [
        (local.path.stem.rpartition("-")[0].strip(), local.file.part, "\n".join(read_lines(local)).strip())
        for local in files
    ]
    return _sheet(card, ("article", "level", "text"), rows)


def starred_pairs(card: Card, files: Sequence[Local]) -> Sheet:
    """Read pairs of aligned sentences, a line each, with a line of stars after each pair."""
    pairs = []
    for local in files:
        lines = [line.strip() for line in read_lines(local)]
        for at in range(0, len(lines), 3):
            source, target, stars = lines[at : at + 3]
            if stars.strip("*"):
                raise BadInput(f"{local.path}:{at + 3}: expected a line of stars after a pair of sentences.")
            pairs.append((local.file.part, source, target))
    return _sheet(card, ("levels", "source", "target"), pairs)


def contradictions_tsv(card: Card, files: Sequence[Local]) -> Sheet:
    """Read a header, then sentences and their contradictions; if there is a third column, rows with a 1 in it."""
    rows = []
    for local in files:
        _, *pairs = (line.split("\t") for line in read_lines(local) if line.strip())
        rows += [pair[:2] for pair in pairs if pair[2:] in ([], ["1"])]
    return _sheet(card, ("sentence", "negated"), rows)


def level_columns(card: Card, files: Sequence[Local]) -> Sheet:
    """Read a Parquet file with a column of texts for each CEFR level, and the topic and the writer of each row."""
    (local,) = files
    table = parse_parquet(local.data, str(local.path))
    rows = [
        (str(at + 1), level, topic, writer, str(table[level][at]))
        for at, (topic, writer) in enumerate(zip(table["topic"], table["model"], strict=True))
        for level in ("A1", "A2", "B1", "B2", "C1", "C2")
    ]
    return _sheet(card, ("row", "level", "topic", "writer", "text"), rows)


def word_table(card: Card, files: Sequence[Local]) -> Sheet:
    """Read a Markdown table of words and better ones, separated by commas; "(omit)" is an empty one."""
    (local,) = files
    rows = []
    for line in read_lines(local):
        phrases, bar, better = line.replace("**", "").replace("\\", "").partition("|")
        if bar and not better.strip().startswith(("Say", "-")):
            options = [option.strip().replace("(omit)", "").strip() for option in better.split(",")]
            rows += [(phrase.strip(), tuple(options)) for phrase in phrases.split(",") if phrase.strip()]
    return _sheet(card, ("phrase", "better"), rows)


def word_patterns(card: Card, files: Sequence[Local]) -> Sheet:
    """Read retext-simplify's patterns, a JavaScript object: a phrase, better ones, and whether it can be left out."""
    (local,) = files
    entries = re.findall(r"^  (?:'([^']+)'|(\w+)): \{(.*?)^  \}", _text(local), re.MULTILINE | re.DOTALL)
    rows = []
    for quoted, bare, body in entries:
        options = re.findall(r"'([^']*)'", body.partition("replace:")[2])
        rows.append((quoted or bare, (*options, *([""] if "omit: true" in body else ()))))
    return _sheet(card, ("phrase", "better"), rows)


def targeted_jsonl(card: Card, files: Sequence[Local]) -> EvalSet:
    """Read a paragraph per line with the target CEFR level (``target_cefr``) and one reference.

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
    """Read Cochrane-auto's documents, paragraphs or sentences, without items that have no simplification."""
    (local,) = files
    rows = list(_records(local))
    sentences = "sent_id" in rows[0] and rows[0]["sent_id"].isdigit()
    simple = [" ".join(ast.literal_eval(row["simple"])) if sentences else row["simple"] for row in rows]
    pairs = [(row, text) for row, text in zip(rows, simple, strict=True) if text.strip()]
    # A paragraph or sentence has a number; a document's cell contains a list of numbers.
    numbers = [[row["pair_id"], *filter(str.isdigit, (row["para_id"], row["sent_id"]))] for row, _ in pairs]
    return EvalSet.of(
        [row["complex"] for row, _ in pairs],
        references=[[text] for _, text in pairs],
        ids=list(map("-".join, numbers)),
        groups=[row["pair_id"] for row, _ in pairs],
        name=card.name,
    )


def edited_json(card: Card, files: Sequence[Local]) -> EvalSet:
    """Read SWiPE's pairs of pages; the column ``categories`` names the categories of their edits."""
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
    """Read a system's outputs by id, in the order of the set; an item without an output is absent."""
    records = _json_lines(local)
    outputs = {record["text_id"]: record["simplified"] for record in records}
    if len(outputs) < len(records):
        duplicate, _ = Counter(record["text_id"] for record in records).most_common(1)[0]
        raise BadInput(f"{local.path} has two outputs for the item {duplicate!r}.")
    if unknown := outputs.keys() - set(ids):
        raise BadInput(f"{local.path} has an output for the item {min(unknown)!r}, which is not in the set.")
    return [outputs.get(identifier, ABSENT) for identifier in ids]


def _json_lines(local: Local) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_lines(local) if line.strip()]


def read_lines(local: Local, expected: int | None = None) -> list[str]:
    """Read the lines of a file; any number but ``expected`` is an error, except for blank lines at the end."""
    lines = split_lines(_text(local))
    while expected is not None and len(lines) > expected and not lines[-1].strip():
        lines.pop()
    if expected is not None and len(lines) != expected:
        raise BadInput(f"{local.path} has {len(lines)} lines, but its card promises {expected}. Correct the card.")
    return lines


def _evalset(card: Card, texts: Mapping[Local, list[str]], *, ids: list[str] | None = None) -> EvalSet:
    (source,) = (text for local, text in texts.items() if local.file.role == "source")
    references = [text for local, text in texts.items() if local.file.role == "reference"]
    return EvalSet.of(source, references=list(zip(*references, strict=True)), ids=ids, name=card.name)


def _sheet(card: Card, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Sheet:
    if len(rows) != card.items:
        raise BadInput(f"{card.name} has {len(rows)} rows, but its card promises {card.items}. Correct the card.")
    columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    return Sheet(columns, card.name, range(2, len(rows) + 2))


def _convert_numbers(cells: Sequence[Any]) -> list[Any]:
    """Return whole numbers if all are, numbers if all are or are missing, else text."""
    if all(map(_WHOLE.fullmatch, cells)):
        return [int(cell) for cell in cells]
    try:
        return [float(cell) if cell else math.nan for cell in cells]
    except ValueError:
        return list(cells)


EVALSETS: Mapping[str, Callable[[Card, Sequence[Local]], EvalSet]] = {
    reader.__name__: reader
    for reader in (
        lines, first_lines, numbered_lines, source_and_references_tsv, pairs_csv, targeted_jsonl, aligned_csv,
        edited_json,
    )
}  # fmt: skip
TABLES: Mapping[str, Callable[[Card, Sequence[Local]], Sheet]] = {
    reader.__name__: reader
    for reader in (
        csv_table, rating_sheet, level_tsv, level_sheets, complexity_csv, level_texts, starred_pairs,
        contradictions_tsv, level_columns, word_table, word_patterns,
    )
}  # fmt: skip
