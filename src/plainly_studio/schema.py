"""The tables of a study's database, the same in SQLite and PostgreSQL.

Answers are only ever added: an edit is a new row with the next revision, and nothing is deleted. Everything that a
person typed is JSON in a text column, written in ASCII: emoji, lone surrogates and NUL come back from both databases as
they were. Times are seconds since 1970. A column has a value unless it is marked as optional.
"""

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
)  # fmt: skip

metadata = MetaData()
_ID = BigInteger().with_variant(Integer, "sqlite")
_TIME = Float(53)


def _required(name: str, kind: Any, **options: Any) -> Column[Any]:
    return Column(name, kind, nullable=False, **options)


about = Table(
    "about",
    metadata,
    _required("key", String(40), primary_key=True),
    _required("value", Text),
)
item = Table(
    "item",
    metadata,
    _required("id", _ID, primary_key=True),
    _required("kind", String(16)),  # main, training, qualification, check
    _required("name", Text),  # the item's id in the evaluation set
    _required("system", Text),  # never sent to a rater's browser; empty for rankings
    _required("source", Text),
    _required("outputs", Text),  # JSON: [{"system": …, "text": …}], one except for rankings
    _required("tokens", String(8)),
    Column("expected", Text),
    Column("feedback", Text),
    _required("place", Integer),  # the shuffled order in which items are offered
    _required("taken", Integer),  # live leases and answers that count towards the overlap
    Index("item_offer", "kind", "taken", "place"),
    Index("item_place", "kind", "place"),
)
rater = Table(
    "rater",
    metadata,
    _required("id", _ID, primary_key=True),
    _required("pseudonym", String(64), unique=True),
    _required("role", String(8)),  # rater, owner
    _required("state", String(12)),  # active, left, removed, imported
    Column("outcome", String(12)),  # complete, returned, screened-out: what their code says
    Column("ended_at", _TIME),
    Column("excluded_at", _TIME),  # from then on their answers are kept but not counted
    Column("excluded_why", Text),
    _required("crowd", Text),
    Column("person", String(64), unique=True),  # keyed hash of the crowd platform's id, to recognise a person
    Column("consented_at", _TIME),
    _required("created_at", _TIME),
)
invitation = Table(
    "invitation",
    metadata,
    _required("id", _ID, primary_key=True),
    _required("token_hash", String(64), unique=True),
    _required("kind", String(8)),  # person, crowd, owner
    _required("label", Text),
    Column("rater_id", ForeignKey("rater.id")),
    _required("once", Boolean),
    _required("uses", Integer),
    _required("created_at", _TIME),
    Column("expires_at", _TIME),
    Column("revoked_at", _TIME),
)
session = Table(
    "session",
    metadata,
    _required("token_hash", String(64), primary_key=True),
    _required("rater_id", ForeignKey("rater.id")),
    Column("invitation_id", ForeignKey("invitation.id")),
    _required("created_at", _TIME),
    _required("expires_at", _TIME),
    Index("session_rater", "rater_id"),
)
assignment = Table(
    "assignment",
    metadata,
    _required("id", _ID, primary_key=True),
    _required("item_id", ForeignKey("item.id")),
    _required("rater_id", ForeignKey("rater.id")),
    _required("state", String(8)),  # leased, done, expired, replaced (answered by an excluded rater, and open again)
    _required("layout", Text),  # JSON: which output stands where on this rater's page
    _required("revision", Integer),
    _required("leased_at", _TIME),
    _required("expires_at", _TIME),
    UniqueConstraint("item_id", "rater_id"),
    Index("assignment_rater", "rater_id", "state"),
    Index("assignment_lease", "state", "expires_at"),
)
entry = Table(
    "entry",
    metadata,
    _required("id", _ID, primary_key=True),
    _required("assignment_id", ForeignKey("assignment.id")),
    _required("item_id", ForeignKey("item.id")),
    _required("rater_id", ForeignKey("rater.id")),
    _required("revision", Integer),
    _required("key", String(64)),
    _required("digest", String(64)),
    _required("payload", Text),
    _required("late", Boolean),
    _required("overtime", Boolean),
    Column("seconds", Float),
    _required("created_at", _TIME),
    UniqueConstraint("rater_id", "key"),
    UniqueConstraint("assignment_id", "revision"),
    Index("entry_item", "item_id"),
)
adjudication = Table(
    "adjudication",
    metadata,
    _required("id", _ID, primary_key=True),
    _required("item_id", ForeignKey("item.id")),
    _required("owner_id", ForeignKey("rater.id")),
    _required("payload", Text),
    _required("created_at", _TIME),
)
draft = Table(
    "draft",
    metadata,
    _required("assignment_id", ForeignKey("assignment.id"), primary_key=True),
    _required("payload", Text),
    _required("updated_at", _TIME),
)
event = Table(
    "event",
    metadata,
    _required("id", _ID, primary_key=True),
    _required("at", _TIME),
    _required("actor", String(64)),
    _required("action", String(40)),
    _required("detail", Text),
)
