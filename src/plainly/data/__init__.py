"""Public test sets, system outputs, ratings and annotations by name; each has a card, and every file is checked.

>>> evalset = load("asset/test")                # doctest: +SKIP
>>> outputs("asset/test", "ACCESS")             # doctest: +SKIP
"""

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.formatting import size
from plainly.core.metric import Metric
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Listing, Note, Record, Table
from plainly.data.card import (
    KINDS,
    Card,
    Kind,
    SystemPaper,
    card,
    cards,
    describe_system,
    names,
    output_cards,
    source_cards,
    system_names,
    system_title,
)
from plainly.data.fetch import read, whereabouts
from plainly.data.readers import EVALSETS, TABLES, jsonl_by_id, read_lines
from plainly.io import faults
from plainly.io.tables import Sheet

__all__ = [
    "KINDS",
    "Card",
    "SystemPaper",
    "card",
    "cards",
    "catalogue",
    "demo",
    "describe",
    "describe_system",
    "diagnose",
    "get",
    "load",
    "names",
    "outputs",
    "outputs_of",
    "paths",
    "system_names",
    "system_title",
    "systems",
    "table",
]  # fmt: skip

_DEMO = Path(__file__).parent / "demo" / "demo.jsonl"
_SCHEMA = "plainly.data/1"


def load(name: str, *, progress: Progress = no_progress) -> EvalSet:
    """Return the evaluation set of that name, downloaded on the first call."""
    of_set = card(name)
    if of_set.reader not in EVALSETS or of_set.kind != "evalset":
        raise BadInput(f"{of_set.name!r} contains {of_set.kind}, not texts to score. See: plainly data list")
    evalset = EVALSETS[of_set.reader](of_set, read(of_set, progress=progress))
    return replace(evalset, language=of_set.language)


def outputs(name: str, system: str, *, progress: Progress = no_progress) -> tuple[str, ...]:
    """Return a system's outputs for an evaluation set, one text per item."""
    return outputs_of(name, [system], progress=progress)[system]


def outputs_of(name: str, wanted: Collection[str], *, progress: Progress = no_progress) -> dict[str, tuple[str, ...]]:
    """Return the outputs of some systems for an evaluation set, fetched together."""
    evalset = card(name)
    texts: dict[str, tuple[str, ...]] = {}
    for outputs in output_cards(evalset):
        files = [file for file in outputs.files if file.system in wanted and file.system not in texts]
        # Outputs for the set that contains this one are selected by its ids: positions there, counted from 1.
        is_part = bool(files) and evalset.name not in outputs.of
        places = [int(identifier) - 1 for identifier in load(name, progress=progress).ids] if is_part else None
        for local in read(outputs, files, progress=progress):
            if outputs.reader == jsonl_by_id.__name__:
                lines = jsonl_by_id(local, load(name).ids)
            else:
                lines = read_lines(local, outputs.items)
            texts[local.file.system] = tuple(lines if places is None else (lines[place] for place in places))
    for system in wanted:
        if system not in texts:
            see = f"plainly data info {evalset.name}"
            raise UnknownName(f"system of {evalset.name}", system, system_names(name), see=see)
    return {system: texts[system] for system in wanted}


def systems(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the published outputs of a named set by system, read on use: ``systems("asset/test")["ACCESS"]``."""
    return _Outputs(name, system_names(name))


class _Outputs(Mapping[str, tuple[str, ...]]):
    def __init__(self, name: str, systems: tuple[str, ...]) -> None:
        self._name, self._systems = name, systems

    def __getitem__(self, system: str) -> tuple[str, ...]:
        return outputs(self._name, system)

    def __iter__(self) -> Iterator[str]:
        return iter(self._systems)

    def __len__(self) -> int:
        return len(self._systems)


def table(name: str, *, progress: Progress = no_progress) -> Sheet:
    """Return ratings or levels as columns, which ``plainly data info NAME`` describes."""
    of_table = card(name)
    if of_table.reader not in TABLES:
        raise BadInput(f"{of_table.name!r} is not a table but {of_table.kind}. See: plainly data info {of_table.name}")
    return TABLES[of_table.reader](of_table, read(of_table, progress=progress))


def paths(name: str, *, progress: Progress = no_progress) -> dict[str, tuple[Path, ...]]:
    """Return the paths of the checked files of a data set, by role and in the card's order."""
    by_role: dict[str, tuple[Path, ...]] = {}
    for local in read(card(name), progress=progress):
        by_role[local.file.role] = (*by_role.get(local.file.role, ()), local.path)
    return by_role


def diagnose(
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    specs: Sequence[str] | Mapping[str, Metric] = (),
    *,
    quick: bool = False,
    only: Collection[str] = (),
) -> list[Note]:
    """Return the warnings of all checks, or ``only`` of some, on every item; if ``quick``, on one reference each."""
    subject = faults.Subject(evalset, outputs, specs, evalset.language or None, quick, published_references)
    checks = {code: check for code, check in faults.CHECKS.items() if not only or code in only}
    return [replace(warning, code=code) for code, check in checks.items() for warning in check(subject)]


def published_references(evalset: EvalSet) -> dict[str, int]:
    """Return the number of references of each public set with exactly these sources."""
    text = "\n".join(evalset.sources).encode("utf-8", "surrogatepass")
    same = source_cards(*(hashlib.sha256(text + end).hexdigest() for end in (b"\n", b"")))
    return {card.name: sum(file.role == "reference" for file in card.files) for card in same}


def demo() -> tuple[EvalSet, dict[str, tuple[str, ...]]]:
    """Return the small evaluation set that comes with plainly, and outputs of toy systems for it."""
    rows = [json.loads(line) for line in _DEMO.read_text(encoding="utf-8").split("\n") if line]
    evalset = EvalSet(
        ids=tuple(row["id"] for row in rows),
        sources=tuple(row["source"] for row in rows),
        references=tuple(tuple(row["references"]) for row in rows),
        groups=tuple(row["group"] for row in rows),
        name="demo",
        language="en",
    )
    return evalset, {system: tuple(row["outputs"][system] for row in rows) for system in rows[0]["outputs"]}


def catalogue(kind: Kind | None = None) -> Listing:
    """List the data sets, all or those of one kind."""
    selection = [card for card in cards() if kind in (None, card.kind)]
    rows = tuple(map(_summary, selection))
    cells = [
        (card.name, card.kind, f"{card.items:,}", size(card.size), card.licence, _here(card), card.title)
        for card in selection
    ]
    header = ("name", "kind", "items", "size", "licence", "here", "title")
    table = Table(header, tuple(cells), text_columns=frozenset({0, 1, 4, 5, 6}))
    return Listing({"schema": _SCHEMA, "sets": list(rows)}, rows, table=table)


def describe(name: str) -> Listing:
    """Describe a data set and the files of it on this machine."""
    of_set = card(name)
    systems = system_names(name) if of_set.kind == "evalset" else of_set.systems
    paths = [whereabouts(file) for file in of_set.files]
    files = tuple(
        {name: getattr(file, name) for name in ("url", "size", "sha256", "role")}
        | {"system": file.system or None, "path": str(path) if path else None}
        for file, path in zip(of_set.files, paths, strict=True)
    )
    names = ("description", "licence_url", "homepage", "citation", "reader", "notes", "of")
    fields = {name: getattr(of_set, name) for name in names} | {"within": of_set.within or None}
    payload = _summary(of_set) | fields | {"systems": systems, "files": list(files)}
    facts = {
        "kind": of_set.kind,
        "items": f"{of_set.items:,}",
        "files": f"{len(paths)} ({size(of_set.size)}), {len(list(filter(None, paths)))} of them on this machine",
        "licence": f"{of_set.licence}  {of_set.licence_url}",
        "homepage": of_set.homepage,
        "outputs of": ", ".join(of_set.of),
        "chosen from": of_set.within,
    }
    cells = tuple((label, text) for label, text in facts.items() if text)
    table = Table((of_set.name, of_set.title), cells, text_columns=frozenset({0, 1}))
    of_systems = f"Systems: {', '.join(systems)}" if systems else ""
    prose = "\n\n".join(filter(None, (of_set.description, of_set.notes, of_systems, of_set.citation)))
    return Listing({"schema": _SCHEMA, "set": payload}, files, prose=prose, table=table)


def get(*names: str, with_outputs: bool = False, progress: Progress = no_progress) -> Listing:
    """Fetch data sets, ``with_outputs`` also outputs of systems; check every file and replace those that differ."""
    if not names:
        raise BadInput("No data set was named: data.get('asset/test'). data.names() lists them.")
    sets = {of_set.name: of_set for of_set in map(card, names)}
    if with_outputs:
        scored = {name for of_set in sets.values() for name in (of_set.name, of_set.within) if name}
        sets |= {of_set.name: of_set for of_set in cards() if scored.intersection(of_set.of)}
    local = [(of_set, read(of_set, progress=progress, repair=True)) for of_set in sets.values()]
    files = tuple(
        {"name": of_set.name, "licence": of_set.licence, "url": entry.file.url, "path": str(entry.path)}
        for of_set, entries in local
        for entry in entries
    )
    payload = [_summary(of_set) | {"paths": [str(entry.path) for entry in entries]} for of_set, entries in local]
    cells = []
    for of_set, entries in local:
        directory = os.path.commonpath([entry.path.parent for entry in entries])
        cells.append((of_set.name, str(len(entries)), size(of_set.size), of_set.licence, directory))
    table = Table(("name", "files", "size", "licence", "where"), tuple(cells), text_columns=frozenset({0, 3, 4}))
    remark = "Every file has the size and hash on its card."
    return Listing({"schema": _SCHEMA, "sets": payload}, files, remark=remark, table=table)


def _summary(card: Card) -> Record:
    fields = {name: getattr(card, name) for name in ("name", "kind", "title", "items")}
    return fields | {"bytes": card.size, "licence": card.licence, "here": _here(card) == "yes"}


def _here(card: Card) -> str:
    return "yes" if all(map(whereabouts, card.files)) else "no"
