"""From raw rows to a batch that can be measured, with the rows that cannot be named one by one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import Needs
from plainly.core.result import Note, Record
from plainly.io.columns import Roles, names, references_by_item, strings, texts
from plainly.io.tables import Sheet

T = TypeVar("T")

# Rows that are read and measured at once; a whole number of the blocks in which n-grams are counted.
BATCH_ITEMS = 8192


@dataclass(frozen=True)
class Bad:
    """Rows of a file that cannot be measured, and why: ``first`` to ``last``, mostly one row."""

    file: str
    first: int
    last: int
    reason: str

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def where(self) -> str:
        rows = f"row {self.first}" if self.first == self.last else f"rows {self.first} to {self.last}"
        return f"{self.file}, {rows}"

    def error(self) -> BadInput:
        """The error that ends a run in which no row may be set aside."""
        return BadInput(f"{self.where}: {self.reason} To set such rows aside: on_error='set-aside'")


@dataclass(frozen=True)
class Reading:
    """What became of the rows of the files: how many there are, were read and were set aside, and why.

    ``read`` is less than ``rows`` when a run was interrupted; ``resumed`` counts the parts that an earlier run did.
    """

    rows: int
    read: int
    set_aside: int = 0
    bad: tuple[Bad, ...] = ()
    resumed: int = 0
    parts: int = 1
    unkept: str = ""  # why how far the run came could not be kept

    @property
    def complete(self) -> bool:
        return self.read == self.rows

    def json(self) -> Record:
        return {"total": self.rows, "read": self.read, "set_aside": self.set_aside, "named": [*map(asdict, self.bad)]}

    def notes(self) -> list[Note]:
        """What a reader of the numbers must know: that rows were set aside, or that the run was interrupted."""
        notes = []
        if not self.complete:
            share = self.read / self.rows if self.rows else 0.0
            partial = (
                f"PARTIAL RESULT: interrupted after {self.read:,} of {self.rows:,} rows ({share:.0%}). These are not a "
                "random sample. The same command goes on from here."
            )
            notes.append(Note(partial, "warning", "partial"))
        if self.unkept:
            notes.append(Note(f"A run that is killed will start again: {self.unkept}", "warning", "state"))
        if self.set_aside:
            shown = "; ".join(f"{bad.where}: {bad.reason}" for bad in self.bad[:3])
            more = " …" if self.set_aside > 3 else ""
            notes.append(Note(f"{self.set_aside:,} rows were set aside. {shown}{more}", "warning", "set-aside"))
        return notes


@dataclass(frozen=True)
class Batch:
    """Consecutive items: what to measure, the keys that decide in which bin each falls, and the rows set aside."""

    evalset: EvalSet
    outputs: dict[str, tuple[str, ...]]
    keys: Sequence[str]
    rows: Sequence[int]  # the place of each item in its file, from 1
    read: int  # rows looked at, good and bad
    bad: list[Bad] = field(default_factory=list)


def from_table(table: Sheet, roles: Roles, needs: Needs, *, rest: bool = False) -> Batch:
    """A batch of the rows that are sound; each of the others becomes a Bad. ``rest`` keeps the other columns too."""
    try:
        return _sound(table, roles, needs, rest=rest)
    except BadInput:
        pass
    good: list[int] = []
    bad: list[Bad] = []
    for row in range(len(table)):
        single = table.chosen([row])
        try:
            _sound(single, roles, needs)
        except BadInput as error:
            reason = str(error).removeprefix(f"{single.where(0)}: ")
            bad.append(Bad(table.path, table.places[row], table.places[row], reason))
        else:
            good.append(row)
    kept = _sound(table.chosen(good), roles, needs, rest=rest)
    return replace(kept, read=len(table), bad=bad)


@dataclass(frozen=True)
class Lines:
    """Consecutive lines of a file; None where a line is not UTF-8."""

    file: str
    texts: Sequence[str | None]


def from_lines(
    source: Lines | None,
    references: Sequence[Lines],
    outputs: dict[str, Lines],
    groups: Lines | None,
    *,
    first: int,
    needs: Needs,
) -> Batch:
    """A batch from lines of parallel files, ``first`` being the number of the first line."""
    columns = [column for column in (source, groups, *references, *outputs.values()) if column is not None]
    n = len(columns[0].texts)
    bad: dict[int, Bad] = {}
    for column in columns:
        if None in column.texts:
            for at in (at for at, text in enumerate(column.texts) if text is None):
                bad.setdefault(at, Bad(column.file, first + at, first + at, "the line is not UTF-8."))
    by_item: list[tuple[str, ...]] = []
    if references:
        rows = zip(*(column.texts for column in references), strict=True)
        by_item = [tuple(text for text in row if text and not text.isspace()) for row in rows]
        if "references" in needs:
            for at in (at for at, row in enumerate(by_item) if not row):
                bad.setdefault(at, Bad(references[0].file, first + at, first + at, NO_REFERENCES))
    good = [at for at in range(n) if at not in bad] if bad else list(range(n))

    def pick(values: Sequence[T | None]) -> tuple[T, ...]:
        chosen = [values[at] for at in good] if bad else values
        return tuple(chosen)  # type: ignore[arg-type]

    numbers = [first + at for at in good]
    ids = tuple(map(str, numbers))
    sources = pick(source.texts) if source else ("",) * len(good)
    documents = pick(groups.texts) if groups else None
    evalset = EvalSet(ids, sources, pick(by_item) if references else (), documents)
    written = {system: pick(lines.texts) for system, lines in outputs.items()}
    return Batch(evalset, written, documents or ids, numbers, n, [bad[at] for at in sorted(bad)])


NO_REFERENCES = "the item has no references, and a metric that was asked for needs one."


def _sound(table: Sheet, roles: Roles, needs: Needs, *, rest: bool = False) -> Batch:
    n = len(table)
    sources = _column(table, roles.source, texts) if roles.source is not None else ("",) * n
    outputs = {system: _column(table, column, texts) for system, column in roles.outputs.items()}
    references = _references(table, roles) if roles.references else ()
    if "references" in needs and not all(references):
        row = next(row for row, of_item in enumerate(references) if not of_item)
        raise BadInput(f"{table.where(row)}: {NO_REFERENCES}")
    groups = _column(table, roles.group, names) if roles.group is not None else None
    ids = _column(table, roles.id, names) if roles.id is not None else None
    # What is the same item wherever it is stored: its id; without ids, its text.
    keys = groups or ids or (sources if roles.source is not None else next(iter(outputs.values()), sources))
    shown = ids or tuple(map(str, table.places))
    columns = {name: strings(table.column(name)) for name in roles.rest} if rest else {}
    return Batch(EvalSet(shown, sources, references, groups, columns), outputs, keys, table.places, n)


# Looking at each value of a large corpus one by one costs a tenth of measuring it; a set of types is found at once.


def _column(table: Sheet, name: str, read: Callable[[Sheet, str], tuple[str, ...]]) -> tuple[str, ...]:
    values = table.column(name)
    return tuple(values) if _all_text(values) else read(table, name)  # type: ignore[arg-type]


def _references(table: Sheet, roles: Roles) -> tuple[tuple[str, ...], ...]:
    """``references_by_item``, with a short way for the usual cases: one column, of texts or of lists of texts."""
    if len(roles.references) == 1:
        values: list[Any] = table.column(roles.references[0])
        if _all_text(values) and all(map(str.strip, values)) and not any(value[0] == "[" for value in values):
            return tuple(zip(values, strict=True))
        if set(map(type, values)) == {list}:
            inside = list(chain.from_iterable(values))
            if _all_text(inside) and all(map(str.strip, inside)):
                return tuple(map(tuple, values))
    return tuple(references_by_item(table, roles.references))


def _all_text(values: Iterable[object]) -> bool:
    return set(map(type, values)) <= {str}
