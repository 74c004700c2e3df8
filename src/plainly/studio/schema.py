"""The tables. Answers are only ever added: an edit is a new row with the next revision, and nothing is deleted.

Everything a person typed is JSON in a text column, written in ASCII: emoji, lone surrogates and NUL come back as they
were from SQLite and from PostgreSQL alike. Times are seconds since 1970 in double precision.
"""

from __future__ import annotations

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

about = Table(
    "about",
    metadata,
    Column("key", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)

item = Table(
    "item",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("kind", String(16), nullable=False),  # main, training, qualification, check
    Column("name", Text, nullable=False),  # the item's id in the evaluation set
    Column("system", Text, nullable=False),  # never sent to a rater's browser; empty for rankings
    Column("source", Text, nullable=False),
    Column("outputs", Text, nullable=False),  # JSON: [{"system": …, "text": …}], one but for rankings
    Column("tokens", String(8), nullable=False, default="words"),
    Column("expected", Text),
    Column("feedback", Text),
    Column("place", Integer, nullable=False),  # the shuffled order in which items are offered
    Column("taken", Integer, nullable=False, default=0),  # live leases and answers that count towards the overlap
    Index("item_offer", "kind", "taken", "place"),
)

rater = Table(
    "rater",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("pseudonym", String(64), nullable=False, unique=True),
    Column("role", String(8), nullable=False),  # rater, owner
    Column("state", String(12), nullable=False),  # active, failed, removed, imported
    Column("crowd", Text, nullable=False, default="{}"),
    Column("person", String(64), unique=True),  # keyed hash of the crowd platform's id, to know a person again
    Column("consented_at", _Time),
    Column("created_at", _Time, nullable=False),
)

invitation = Table(
    "invitation",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("kind", String(8), nullable=False),  # person, crowd, owner
    Column("label", Text, nullable=False, default=""),
    Column("rater_id", ForeignKey("rater.id")),
    Column("once", Boolean, nullable=False, default=False),
    Column("uses", Integer, nullable=False, default=0),
    Column("created_at", _Time, nullable=False),
    Column("expires_at", _Time),
    Column("revoked_at", _Time),
)

session = Table(
    "session",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("rater_id", ForeignKey("rater.id"), nullable=False),
    Column("invitation_id", ForeignKey("invitation.id")),
    Column("created_at", _Time, nullable=False),
    Column("expires_at", _Time, nullable=False),
    Index("session_rater", "rater_id"),
)

assignment = Table(
    "assignment",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("rater_id", ForeignKey("rater.id"), nullable=False),
    Column("state", String(8), nullable=False),  # leased, done, expired
    Column("layout", Text, nullable=False, default="[]"),  # JSON: which output stands where on this rater's page
    Column("revision", Integer, nullable=False, default=0),
    Column("leased_at", _Time, nullable=False),
    Column("expires_at", _Time, nullable=False),
    UniqueConstraint("item_id", "rater_id"),
    Index("assignment_rater", "rater_id", "state"),
    Index("assignment_lease", "state", "expires_at"),
)

entry = Table(
    "entry",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("assignment_id", ForeignKey("assignment.id"), nullable=False),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("rater_id", ForeignKey("rater.id"), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("key", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("payload", Text, nullable=False),
    Column("late", Boolean, nullable=False),
    Column("overtime", Boolean, nullable=False, default=False),
    Column("seconds", Float),
    Column("created_at", _Time, nullable=False),
    UniqueConstraint("rater_id", "key"),
    UniqueConstraint("assignment_id", "revision"),
    Index("entry_item", "item_id"),
)

adjudication = Table(
    "adjudication",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("owner_id", ForeignKey("rater.id"), nullable=False),
    Column("payload", Text, nullable=False),
    Column("created_at", _Time, nullable=False),
)

draft = Table(
    "draft",
    metadata,
    Column("assignment_id", ForeignKey("assignment.id"), primary_key=True),
    Column("payload", Text, nullable=False),
    Column("updated_at", _Time, nullable=False),
)

event = Table(
    "event",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("at", _Time, nullable=False),
    Column("actor", String(64), nullable=False),
    Column("action", String(40), nullable=False),
    Column("detail", Text, nullable=False, default="{}"),
)
