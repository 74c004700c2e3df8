"""The tables. Answers are only ever added: an edit is a new row with the next revision, and nothing is deleted.

Everything a person typed is JSON in a text column, written in ASCII: emoji, lone surrogates and NUL come back as they
were from SQLite and from PostgreSQL alike. Times are seconds since 1970 in double precision.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()
_Id = BigInteger().with_variant(Integer, "sqlite")
_Time = Float(53)


def _table(name: str, *parts: Column[Any] | Index | UniqueConstraint) -> Table:
    return Table(name, metadata, *parts)


def _id() -> Column[int]:
    return Column("id", _Id, primary_key=True)


def _of(table: str, *, name: str = "") -> Column[int]:
    """Which row of another table this row belongs to."""
    return Column(name or f"{table}_id", ForeignKey(f"{table}.id"), nullable=False)


def _time(name: str) -> Column[float]:
    return Column(name, _Time, nullable=False)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


about = _table(
    "about",
    Column("key", String(40), primary_key=True),
    _text("value"),
)

item = _table(
    "item",
    _id(),
    Column("kind", String(16), nullable=False),  # main, training, qualification, check
    _text("name"),  # the item's id in the evaluation set
    _text("system"),  # never sent to a rater's browser; empty for rankings
    _text("source"),
    _text("outputs"),  # JSON: [{"system": …, "text": …}], one but for rankings
    Column("tokens", String(8), nullable=False, default="words"),
    Column("expected", Text),
    Column("feedback", Text),
    Column("place", Integer, nullable=False),  # the shuffled order in which items are offered
    Column("taken", Integer, nullable=False, default=0),  # live leases and answers that count towards the overlap
    Index("item_offer", "kind", "taken", "place"),
)

rater = _table(
    "rater",
    _id(),
    Column("pseudonym", String(64), nullable=False, unique=True),
    Column("role", String(8), nullable=False),  # rater, owner
    Column("state", String(12), nullable=False),  # active, failed, removed, imported
    Column("crowd", Text, nullable=False, default="{}"),
    Column("person", String(64), unique=True),  # keyed hash of the crowd platform's id, to know a person again
    Column("consented_at", _Time),
    _time("created_at"),
)

invitation = _table(
    "invitation",
    _id(),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("kind", String(8), nullable=False),  # person, crowd, owner
    Column("label", Text, nullable=False, default=""),
    Column("rater_id", ForeignKey("rater.id")),
    Column("once", Boolean, nullable=False, default=False),
    Column("uses", Integer, nullable=False, default=0),
    _time("created_at"),
    Column("expires_at", _Time),
    Column("revoked_at", _Time),
)

session = _table(
    "session",
    Column("token_hash", String(64), primary_key=True),
    _of("rater"),
    Column("invitation_id", ForeignKey("invitation.id")),
    _time("created_at"),
    _time("expires_at"),
    Index("session_rater", "rater_id"),
)

assignment = _table(
    "assignment",
    _id(),
    _of("item"),
    _of("rater"),
    Column("state", String(8), nullable=False),  # leased, done, expired
    Column("layout", Text, nullable=False, default="[]"),  # JSON: which output stands where on this rater's page
    Column("revision", Integer, nullable=False, default=0),
    _time("leased_at"),
    _time("expires_at"),
    UniqueConstraint("item_id", "rater_id"),
    Index("assignment_rater", "rater_id", "state"),
    Index("assignment_lease", "state", "expires_at"),
)

entry = _table(
    "entry",
    _id(),
    _of("assignment"),
    _of("item"),
    _of("rater"),
    Column("revision", Integer, nullable=False),
    Column("key", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    _text("payload"),
    Column("late", Boolean, nullable=False),
    Column("overtime", Boolean, nullable=False, default=False),
    Column("seconds", Float),
    _time("created_at"),
    UniqueConstraint("rater_id", "key"),
    UniqueConstraint("assignment_id", "revision"),
    Index("entry_item", "item_id"),
)

adjudication = _table(
    "adjudication",
    _id(),
    _of("item"),
    _of("rater", name="owner_id"),
    _text("payload"),
    _time("created_at"),
)

draft = _table(
    "draft",
    Column("assignment_id", ForeignKey("assignment.id"), primary_key=True),
    _text("payload"),
    _time("updated_at"),
)

event = _table(
    "event",
    _id(),
    _time("at"),
    Column("actor", String(64), nullable=False),
    Column("action", String(40), nullable=False),
    Column("detail", Text, nullable=False, default="{}"),
)
