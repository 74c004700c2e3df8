"""Public test sets, system outputs, ratings and annotations by name; each is a card, fetched once and checked always.

>>> evalset = load("asset/test")                # doctest: +SKIP
>>> outputs("asset/test", "ACCESS")             # doctest: +SKIP
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note
from plainly.data.card import KINDS, Card, Local, card, cards, names, output_cards, source_cards, system_names
from plainly.data.catalogue import catalogue, describe, get
from plainly.data.fetch import read
from plainly.data.readers import EVALSETS, TABLES, jsonl_by_id, read_lines
from plainly.io import faults
from plainly.io.tables import Sheet

__all__ = ["KINDS", "Card", "card", "cards", "catalogue", "describe", "get", "names", "system_names"]
__all__ += ["demo", "diagnose", "load", "outputs", "outputs_of", "paths", "systems", "table"]

_DEMO = Path(__file__).parent / "demo" / "demo.jsonl"


def load(name: str, *, progress: Progress = no_progress) -> EvalSet:
    """The evaluation set of that name; downloads it at the first call and tells ``progress`` of it."""
    wanted = card(name)
    if wanted.reader not in EVALSETS or wanted.kind != "evalset":
        raise BadInput(f"{wanted.name!r} holds {wanted.kind}, which nothing can be scored on. See: plainly data list")
    evalset = EVALSETS[wanted.reader](wanted, read(wanted, progress=progress))
    return replace(evalset, language=wanted.language)


def outputs(name: str, system: str, *, progress: Progress = no_progress) -> tuple[str, ...]:
    """What a system wrote for an evaluation set, one text an item."""
    return outputs_of(name, [system], progress=progress)[system]


def outputs_of(name: str, wanted: Collection[str], *, progress: Progress = no_progress) -> dict[str, tuple[str, ...]]:
    """What each of some systems wrote for an evaluation set, fetched together."""
    evalset = card(name)
    texts: dict[str, tuple[str, ...]] = {}
    for held in output_cards(evalset):
        files = [file for file in held.files if file.system in wanted and file.system not in texts]
        local_files = read(held, files, progress=progress)
        whole = {local.file.system: _written(held, local, name) for local in local_files}
        if whole and evalset.name not in held.of:
            # The outputs are those of the set that this one chooses from; its ids are positions there, counted from 1.
            places = [int(identifier) - 1 for identifier in load(name, progress=progress).ids]
            whole = {system: [lines[place] for place in places] for system, lines in whole.items()}
        texts |= {system: tuple(lines) for system, lines in whole.items()}
    for system in wanted:
        if system not in texts:
            see = f"plainly data info {evalset.name}"
            raise UnknownName(f"system of {evalset.name}", system, system_names(name), see=see)
    return {system: texts[system] for system in wanted}


def systems(name: str) -> Mapping[str, tuple[str, ...]]:
    """The published outputs of a named set by system, read when they are used: ``systems("asset/test")["ACCESS"]``."""
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


def _written(held: Card, local: Local, name: str) -> list[str]:
    if held.reader == jsonl_by_id.__name__:
        return jsonl_by_id(local, load(name).ids)
    return read_lines(local, held.items)


def table(name: str, *, progress: Progress = no_progress) -> Sheet:
    """Ratings or levels as columns; which columns there are is said by ``plainly data info NAME``."""
    wanted = card(name)
    if wanted.reader not in TABLES:
        raise BadInput(f"{wanted.name!r} holds {wanted.kind}, which are no table. See: plainly data info {wanted.name}")
    return TABLES[wanted.reader](wanted, read(wanted, progress=progress))


def paths(name: str, *, progress: Progress = no_progress) -> dict[str, tuple[Path, ...]]:
    """Where the checked files of a data set lie, by role and in the card's order."""
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
    """The faults of inputs (``plainly.io.faults``), with what the cards know about the references of public sets."""
    return faults.diagnose(evalset, outputs, specs, quick=quick, only=only, published_references=published_references)


def published_references(evalset: EvalSet) -> dict[str, int]:
    """How many references each public set with exactly these sources has."""
    text = "\n".join(evalset.sources).encode("utf-8", "surrogatepass")
    same = source_cards(*(hashlib.sha256(text + end).hexdigest() for end in (b"\n", b"")))
    return {card.name: sum(file.role == "reference" for file in card.files) for card in same}


def demo() -> tuple[EvalSet, dict[str, tuple[str, ...]]]:
    """The small evaluation set that comes with plainly, and what some toy systems wrote for it."""
    import json

    rows = [json.loads(line) for line in _DEMO.read_text(encoding="utf-8").split("\n") if line]
    evalset = EvalSet.of(
        [row["source"] for row in rows],
        references=[row["references"] for row in rows],
        ids=[row["id"] for row in rows],
        groups=[row["group"] for row in rows],
        name="demo",
        language="en",
    )
    return evalset, {system: tuple(row["outputs"][system] for row in rows) for system in rows[0]["outputs"]}
