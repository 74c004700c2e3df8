"""What every analysis returns: records, JSON, tables and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, Protocol

from plainly.core.errors import require_package

if TYPE_CHECKING:
    import pandas
    import polars

Record = dict[str, Any]
# claim: what the statistics allow one to say; warning: a possible fault, with a code; about: how the result was made.
Kind = Literal["claim", "warning", "about"]
Severity = Literal["error", "warning", "note"]
MOST_IDS = 20  # of a warning in JSON


@dataclass(frozen=True)
class Table:
    """Cells as text, ready to be shown. Columns but the first are numbers and set to the right.

    ``minor`` columns may be left out, with a note, where a terminal is too narrow for all.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    text_columns: frozenset[int] = frozenset({0})
    minor: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Note:
    """A sentence that belongs to a result.

    A warning has a code that ``plainly doctor --explain`` explains, ``where`` it was seen (a system, the references),
    and the ids of the items in which it was seen.
    """

    message: str
    kind: Kind = "about"
    code: str = ""
    severity: Severity = "warning"
    where: str = ""
    ids: tuple[str, ...] = ()

    def json(self) -> Record:
        """Return the note as it appears among the warnings of a result; remarks have the severity "note"."""
        return {
            "code": self.code or self.kind,
            "severity": self.severity if self.kind == "warning" else "note",
            "where": self.where or None,
            "message": self.message,
            "items": list(self.ids[:MOST_IDS]),
        }


class Result(Protocol):
    """Four methods that each result has, and what follows from them.

    ``records``: flat rows, for frames and long CSV. ``json``: a versioned schema. ``tables``: grids for a terminal,
    LaTeX, Markdown, HTML. ``notes``: sentences, namely claims, warnings, evidence, and what was left out and why.
    """

    def __init_subclass__(cls) -> None:
        """Let ``json`` of every result return what JSON can hold: None for undefined, Python's own numbers."""
        super().__init_subclass__()
        if (own := vars(cls).get("json")) is not None:

            @wraps(own)
            def json(self: Result) -> Any:
                from plainly.core.tables import jsonable

                return jsonable(own(self))

            setattr(cls, "json", json)  # noqa: B010 -- an assignment to a method

    def records(self) -> list[Record]: ...

    def json(self) -> Record: ...

    def tables(self) -> list[Table]: ...

    def notes(self) -> list[Note]:
        return []

    def to_pandas(self) -> pandas.DataFrame:
        """Return the records as a pandas DataFrame."""
        return pandas_frame(self.records())

    def to_polars(self) -> polars.DataFrame:
        """Return the records as a polars DataFrame."""
        return polars_frame(self.records())

    def __repr__(self) -> str:
        from plainly.core.tables import plain

        claims = [note.message for note in self.notes() if note.kind == "claim"]
        return "\n\n".join([*map(plain, self.tables()), *(["\n".join(claims)] if claims else [])])

    def _repr_html_(self) -> str:
        from plainly.core.tables import html, paragraphs

        return "".join([*map(html, self.tables()), paragraphs([note.message for note in self.notes()])])


def pandas_frame(rows: list[Record] | dict[str, list[Any]]) -> pandas.DataFrame:
    """Return records, or columns, as a pandas DataFrame."""
    with require_package("to_pandas", package="pandas", extra="pandas"):
        import pandas
    return pandas.DataFrame(rows)


def polars_frame(rows: list[Record] | dict[str, list[Any]]) -> polars.DataFrame:
    """Return records, or columns, as a polars DataFrame."""
    with require_package("to_polars", package="polars", extra="polars"):
        import polars
    return polars.DataFrame(rows, infer_schema_length=None, strict=False)


@dataclass(frozen=True, repr=False)
class Listing(Result):
    """A list of what is available: metrics, data sets, codes. ``columns`` are those of the table, with headings.

    A ``table`` is shown instead of these columns; ``prose`` without one is shown instead of any table.
    """

    payload: Record
    rows: tuple[Record, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""
    prose: str = ""
    problems: tuple[Note, ...] = ()  # about what could not be listed
    table: Table | None = None

    def records(self) -> list[Record]:
        return list(self.rows)

    def json(self) -> Record:
        return {**self.payload, "warnings": [note.json() for note in self.problems]} if self.problems else self.payload

    def tables(self) -> list[Table]:
        if self.prose or self.table is not None:
            return [self.table] if self.table is not None else []
        rows = tuple(tuple(str(row[column]) for column in self.columns) for row in self.rows)
        return [Table(tuple(self.columns.values()), rows, text_columns=frozenset(range(len(self.columns))))]

    def notes(self) -> list[Note]:
        claims = [Note(self.prose, kind="claim")] if self.prose else []
        return [*claims, *self.problems, *([Note(self.remark)] if self.remark else [])]


def warnings(result: Result) -> list[Record]:
    """Return the warnings and remarks of a result as JSON: ``{"code": …, "message": …}``."""
    return [note.json() for note in result.notes() if note.kind != "claim"]
