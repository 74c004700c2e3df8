"""Annotated pairs in files: Yawat, JSONL, brat and a plain table, told apart by name; or a named data set."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from plainly import data
from plainly.core.errors import BadInput
from plainly.core.files import write_whole
from plainly.io.lines import read_lines, read_text
from plainly.typology.annotation import SIDES, Group, Pair
from plainly.typology.brat import read_brat, write_brat
from plainly.typology.swipe import read_pages
from plainly.typology.yawat import read_pairs, write_alignment, write_corpus

SUFFIXES = (".aln", ".ann", ".crp", ".jsonl", ".tsv")
COLUMNS = (
    "part", "id", "label", "source_tokens", "output_tokens", "source_words", "output_words", "confidence",
    "source", "output",
)  # fmt: skip


def load(place: str | Path) -> tuple[Pair, ...]:
    """Annotated pairs from a file (``.aln`` with its ``.crp``, ``.jsonl``, ``.ann``, ``.tsv``) or a named data set."""
    path = Path(place)
    if path.suffix not in SUFFIXES:
        if isinstance(place, str) and place in data.names():
            return _load_named(place)
        raise BadInput(
            f"{place} is neither an annotation file ({', '.join(SUFFIXES)}) nor a data set with annotations "
            "(assetann/annotations, assetann/gold, swipe/test). To annotate texts: plainly operations label"
        )
    if path.suffix in (".aln", ".crp"):
        alignment, corpus = path.with_suffix(".aln"), path.with_suffix(".crp")
        texts = read_text(corpus) if corpus.is_file() else None
        return read_pairs(read_text(alignment), texts, name=str(alignment))
    if path.suffix == ".jsonl":
        lines = enumerate(read_lines(path), 1)
        return tuple(_from_record(_parsed(line, f"{path}:{at}"), f"{path}:{at}") for at, line in lines if line)
    if path.suffix == ".ann":
        return read_brat(read_text(path.with_suffix(".txt")), read_text(path), name=str(path))
    return parse_table(read_text(path), name=str(path))


def _parsed(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: this line is not JSON: {error}. Write one annotated pair a line.") from None


def save(pairs: Sequence[Pair], place: str | Path) -> tuple[Path, ...]:
    """Write pairs in the format that the name ends in; returns the files written."""
    path = Path(place)
    if path.suffix not in SUFFIXES:
        raise BadInput(f"{place}: the name must end in one of {', '.join(SUFFIXES)}, which chooses the format.")
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
    """One pair a line."""
    return "".join(json.dumps(record(pair), ensure_ascii=False) + "\n" for pair in pairs)


def record(pair: Pair) -> dict[str, Any]:
    """A pair as plain data."""
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
    """One group a row, tab-separated, with the words it covers; a pair without groups has one row without a label."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerows((COLUMNS, *rows(pairs)))
    return out.getvalue()


def rows(pairs: Iterable[Pair]) -> Iterator[tuple[str, ...]]:
    """The table's rows, whose columns are ``COLUMNS``."""
    for pair in pairs:
        if not pair.groups:
            yield (pair.part, pair.id, *[""] * 6, pair.source, pair.output)
        for group in pair.groups:
            numbers = [" ".join(map(str, group.tokens(side))) for side in SIDES]
            words = []
            for side in SIDES:
                tokens = pair.tokens(side)
                words.append(" ".join(tokens[at] for at in group.tokens(side) if at < len(tokens)))
            confidence = "" if group.confidence is None else repr(group.confidence)
            yield (pair.part, pair.id, group.label, *numbers, *words, confidence, pair.source, pair.output)


def parse_table(text: str, *, name: str = "the table") -> tuple[Pair, ...]:
    """Pairs from a table that ``write_table`` wrote, in which rows of a pair stand together."""
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t")
    missing = set(COLUMNS) - {"source_words", "output_words", "confidence", "part"} - set(reader.fieldnames or ())
    if missing:
        raise BadInput(f"{name} lacks the column {min(missing)!r}. Its columns must be: {', '.join(COLUMNS)}.")
    pairs: dict[tuple[str, str], Pair] = {}
    for row in reader:
        if any(row[column] is None for column in ("id", "source", "output")):
            raise BadInput(
                f"{name}:{reader.line_num}: this row has too few columns. It must have: {', '.join(COLUMNS)}."
            )
        key = (row.get("part") or "", row["id"])
        pair = pairs.setdefault(key, Pair(row["id"], row["source"], row["output"], part=key[0]))
        if row["label"]:
            try:
                tokens = [tuple(map(int, (row[column] or "").split())) for column in ("source_tokens", "output_tokens")]
                confidence = float(row["confidence"]) if row.get("confidence") else None
            except ValueError as error:
                raise BadInput(f"{name}:{reader.line_num}: places and confidences are numbers: {error}.") from None
            pairs[key] = pair.with_groups((*pair.groups, Group(tokens[0], tokens[1], row["label"], confidence)))
    return tuple(pair.checked() for pair in pairs.values())


def _from_record(entry: Any, where: str) -> Pair:
    try:
        groups = []
        for group in entry.get("groups", ()):
            sure = group.get("confidence")
            confidence = None if sure is None or math.isnan(float(sure)) else float(sure)
            groups.append(Group(tuple(group["source"]), tuple(group["output"]), group["label"], confidence))
        for side in SIDES:
            if not isinstance(entry[side], str):
                raise TypeError(f"{side} is no text")
        pair = Pair(str(entry["id"]), entry["source"], entry["output"], tuple(groups), str(entry.get("part", "")))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        needed = "id, source, output and groups with source, output, label"
        raise BadInput(f"{where}: a record needs {needed}: {error}") from None
    return pair.checked()


def _load_named(name: str) -> tuple[Pair, ...]:
    files = data.paths(name)
    if data.card(name).reader == "edited_json":
        return read_pages(read_text(files["source"][0]))
    if "alignment" not in files:
        raise BadInput(f"{name!r} holds {data.card(name).kind}, no annotations of operations. See: plainly data list")
    alignments = files["alignment"]
    if "corpus" in files:
        return read_pairs(read_text(alignments[0]), read_text(files["corpus"][0]), name=str(alignments[0]))
    sources = read_lines(files["source"][0])
    pairs: list[Pair] = []
    for number, (alignment, reference) in enumerate(zip(alignments, files["reference"], strict=True)):
        pairs += read_pairs(
            read_text(alignment), sources=sources, outputs=read_lines(reference), part=str(number), name=str(alignment)
        )
    return tuple(pairs)
