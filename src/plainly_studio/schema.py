"""The tables, as ``schema.toml`` describes them.

Answers are only ever added: an edit is a new row with the next revision, and nothing is deleted.
"""

from typing import Any

import sqlalchemy as sql

from plainly.core.files import read_shipped

metadata = sql.MetaData()
_SPEC = read_shipped(__file__, "schema.toml")
_TYPES: dict[str, Any] = {
    "id": sql.BigInteger().with_variant(sql.Integer, "sqlite"),
    "text": sql.Text,
    "time": sql.Float(53),
    "number": sql.Float,
    "integer": sql.Integer,
    "boolean": sql.Boolean,
}


def _column(name: str, *, type: str = "text", length: int = 0, of: str = "", **options: Any) -> sql.Column[Any]:
    kind = sql.ForeignKey(f"{of}.id") if of else sql.String(length) if length else _TYPES[type]
    return sql.Column(name, kind, **{"nullable": False, **options})


def _table(name: str) -> sql.Table:
    columns = [_column(column, **options) for column, options in _SPEC["columns"][name].items()]
    unique = [sql.UniqueConstraint(*together) for together in _SPEC["unique"].get(name, ())]
    indexes = [sql.Index(index, *of) for index, of in _SPEC["indexes"].get(name, {}).items()]
    return sql.Table(name, metadata, *columns, *unique, *indexes)


about, item, rater, invitation, session = map(_table, ("about", "item", "rater", "invitation", "session"))
assignment, entry, adjudication, draft, event = map(_table, ("assignment", "entry", "adjudication", "draft", "event"))
