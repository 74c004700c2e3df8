"""The tables of a study's database, the same in SQLite and PostgreSQL.

Answers are only ever added: an edit is a new row with the next revision. What people typed is JSON in a text column,
written in ASCII, so that emoji come back from both databases unchanged. Times are seconds since 1970.
"""

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text
from sqlalchemy import UniqueConstraint as Unique

metadata = MetaData()
VERSION = 2  # raise it with every new table, column or index; ``store.upgrade_tables`` adds them to older databases
_ID = BigInteger().with_variant(Integer, "sqlite")
_TIME = Float(53)


def _table(name: str, *parts: Any) -> Table:
    return Table(name, metadata, *parts)


def _column(name: str, kind: Any, **options: Any) -> Column[Any]:
    """Return a column that always has a value; optional columns are plain ``Column``."""
    return Column(name, kind, nullable=False, **options)


about = _table(
    "about",
    _column("key", String(40), primary_key=True),
    _column("value", Text),
)
item = _table(
    "item",
    _column("id", _ID, primary_key=True),
    # main, training, qualification, check, repeat (of a main item), tied (identical outputs, which are not handed out)
    _column("kind", String(16)),
    _column("name", Text),  # the item's id in the evaluation set
    _column("system", Text),  # never sent to a rater's browser; empty for rankings
    _column("source", Text),
    _column("outputs", Text),  # JSON: [{"system": …, "text": …}], one except for rankings
    _column("tokens", String(8)),
    Column("expected", Text),
    Column("feedback", Text),
    _column("place", Integer),  # the shuffled order in which items are offered
    _column("taken", Integer),  # live leases and answers that count towards the overlap
    Index("item_offer", "kind", "taken", "place"),
    Index("item_place", "kind", "place"),
)
rater = _table(
    "rater",
    _column("id", _ID, primary_key=True),
    _column("pseudonym", String(64), unique=True),
    _column("role", String(8)),  # rater, owner
    _column("state", String(12)),  # active, left, withdrawn, removed, imported
    Column("outcome", String(12)),  # complete, returned, screened-out
    Column("ended_at", _TIME),
    Column("excluded_at", _TIME),  # from then on their answers do not count
    Column("excluded_why", Text),
    Column("decision", String(8)),  # the owner's own about the pay: approve, reject
    Column("decision_why", Text),
    Column("bonus", Float),  # the owner's own
    Column("promised", Integer),  # items of the study that were announced before the consent; None: no number
    Column("place_until", _TIME),  # until then others do not get the reserved items
    Column("past_checks", Text),  # JSON: checks as expected and all checks that were deleted at a withdrawal
    _column("crowd", Text),
    Column("person", String(64), unique=True),  # keyed hash of the crowd platform's id, to recognise a person
    Column("consented_at", _TIME),
    Column("consent_version", String(8)),
    Column("place", Integer),  # in the plan of the design
    _column("created_at", _TIME),
    Index("rater_place", "place"),
)
invitation = _table(
    "invitation",
    _column("id", _ID, primary_key=True),
    _column("token_hash", String(64), unique=True),
    _column("kind", String(8)),  # person, crowd, owner
    _column("label", Text),
    Column("rater_id", ForeignKey("rater.id")),
    _column("once", Boolean),
    _column("uses", Integer),
    _column("created_at", _TIME),
    Column("expires_at", _TIME),
    Column("revoked_at", _TIME),
)
session = _table(
    "session",
    _column("token_hash", String(64), primary_key=True),
    _column("rater_id", ForeignKey("rater.id")),
    Column("invitation_id", ForeignKey("invitation.id")),
    _column("created_at", _TIME),
    _column("expires_at", _TIME),
    Index("session_rater", "rater_id"),
)
assignment = _table(
    "assignment",
    _column("id", _ID, primary_key=True),
    _column("item_id", ForeignKey("item.id")),
    _column("rater_id", ForeignKey("rater.id")),
    _column("state", String(8)),  # reserved, leased, done, declined, expired, replaced (of an excluded rater)
    _column("layout", Text),  # JSON: the order of the outputs on this rater's page
    _column("revision", Integer),
    _column("leased_at", _TIME),
    Column("shown_at", _TIME),  # when the item first stood on the rater's screen
    _column("expires_at", _TIME),
    Unique("item_id", "rater_id"),
    Index("assignment_rater", "rater_id", "state"),
    Index("assignment_lease", "state", "expires_at"),
)
entry = _table(
    "entry",
    _column("id", _ID, primary_key=True),
    _column("assignment_id", ForeignKey("assignment.id")),
    _column("item_id", ForeignKey("item.id")),
    _column("rater_id", ForeignKey("rater.id")),
    _column("revision", Integer),
    _column("key", String(64)),
    _column("digest", String(64)),
    _column("payload", Text),
    _column("late", Boolean),
    _column("overtime", Boolean),
    Column("seconds", Float),
    _column("created_at", _TIME),
    Unique("rater_id", "key"),
    Unique("assignment_id", "revision"),
    Index("entry_item", "item_id"),
)
plan = _table(  # of a design that is not free: the items of each place for a rater
    "plan",
    _column("place", Integer, primary_key=True),
    _column("position", Integer, primary_key=True),
    _column("item_id", ForeignKey("item.id")),
)
adjudication = _table(
    "adjudication",
    _column("id", _ID, primary_key=True),
    _column("item_id", ForeignKey("item.id")),
    _column("owner_id", ForeignKey("rater.id")),
    _column("payload", Text),
    _column("created_at", _TIME),
)
draft = _table(
    "draft",
    _column("assignment_id", ForeignKey("assignment.id"), primary_key=True),
    _column("payload", Text),
    _column("updated_at", _TIME),
)
event = _table(
    "event",
    _column("id", _ID, primary_key=True),
    _column("at", _TIME),
    _column("actor", String(64)),
    _column("action", String(40)),
    _column("detail", Text),
)
PERSONAL = (
    rater.c.crowd,
    rater.c.person,
    rater.c.excluded_why,
    rater.c.decision_why,
    invitation.c.label,
    entry.c.payload,
    draft.c.payload,
    event.c.detail,
)
