"""The tables of the ledger.

The database itself refuses journals that do not balance (checks below), a changed fact, and a commit that is not
serializable or not durable (triggers of the first migration); and an order that its proposer and its approver may not
give (checks below, triggers of the fourth).
"""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    }
)

ACCOUNTS = ("wagered", "recoverable", "pool", "reserve", "house", "awarded")
"""The chart of accounts, in micros. Debits: wagered, recoverable. Credits: pool, reserve, house, awarded."""


def _balanced(suffix: str) -> str:
    wagered, recoverable, pool, reserve, house, awarded = (name + suffix for name in ACCOUNTS)
    return f"{wagered} + {recoverable} = {pool} + {reserve} + {house} + {awarded}"


def _possible(suffix: str) -> str:
    return " AND ".join(f"{name}{suffix} >= 0" for name in ACCOUNTS if name != "house")


def _time(name: str = "at") -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=False)


def _seal() -> Column[bytes]:
    return Column("seal", LargeBinary, comment="by a key that the database does not have; null: there was none")


# -- facts: append-only ------------------------------------------------------------------------------------------

events = Table(
    "events",
    metadata,
    Column("link", Text, nullable=False),
    Column("n", BigInteger, nullable=False, comment="the link's own count, without holes"),
    Column("id", Text, nullable=False),
    Column("table_id", Text, comment="null: a command of a person or of the controller"),
    Column("seq", BigInteger),
    Column("type", Text, nullable=False),
    Column("round", Text),
    _time(),
    Column("day", Date, nullable=False, comment="the gaming day it was committed in"),
    Column("payload", LargeBinary, nullable=False, comment="the bytes as they came"),
    Column("answer", LargeBinary, nullable=False, comment="the first answer; a resend gets it again"),
    Column("chain", LargeBinary, nullable=False, comment="sha256 over the chain so far, the event and its journals"),
    PrimaryKeyConstraint("link", "n"),
    UniqueConstraint("id"),
    UniqueConstraint("table_id", "seq"),
)

journals = Table(
    "journals",
    metadata,
    Column("link", Text, nullable=False),
    Column("journal", BigInteger, nullable=False),
    Column("n", BigInteger, nullable=False, comment="the event that caused it"),
    Column("kind", Text, nullable=False),
    Column("table_id", Text),
    Column("round", Text),
    Column("award", BigInteger),
    _time(),
    Column("day", Date, nullable=False),
    Column("wagers", ARRAY(SmallInteger), nullable=False, comment="wagers of multiplier 1 to 5 taken in or given back"),
    *(Column(name, BigInteger, nullable=False) for name in ACCOUNTS),
    *(Column(f"{name}_after", BigInteger, nullable=False) for name in ACCOUNTS),
    PrimaryKeyConstraint("link", "journal"),
    CheckConstraint(_balanced(""), name="balanced"),
    CheckConstraint(_balanced("_after"), name="closes"),
    CheckConstraint(_possible("_after"), name="possible"),
    Index(None, "link", "day", "journal"),
    Index(None, "link", "n"),
)

entries = Table(
    "entries",
    metadata,
    Column("link", Text, nullable=False),
    Column("entry", BigInteger, nullable=False, comment="first entered is paid first"),
    Column("n", BigInteger, nullable=False),
    Column("table_id", Text, nullable=False),
    Column("round", Text, nullable=False),
    Column("position", SmallInteger, nullable=False),
    Column("cards", ARRAY(Text), nullable=False),
    Column("community", ARRAY(Text), nullable=False),
    Column("rank", Text, nullable=False),
    Column("base_micros", BigInteger),
    Column("day", Date, nullable=False),
    PrimaryKeyConstraint("link", "entry"),
    Index(None, "link", "day"),
)

awards = Table(
    "awards",
    metadata,
    Column("link", Text, nullable=False),
    Column("award", BigInteger, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("table_id", Text, nullable=False),
    Column("round", Text, nullable=False),
    Column("position", SmallInteger, nullable=False),
    Column("entry", BigInteger, nullable=False),
    Column("rank", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("amount_cents", BigInteger, nullable=False),
    Column("base_cents", BigInteger),
    Column("shared_by", SmallInteger, nullable=False),
    Column("multiplier", SmallInteger, nullable=False),
    Column("rules", ARRAY(Text), nullable=False),
    Column("decisions", ARRAY(Text), nullable=False),
    Column("parameters_version", Integer, nullable=False),
    Column("working", JSONB, nullable=False),
    _time(),
    Column("day", Date, nullable=False),
    PrimaryKeyConstraint("link", "award"),
    UniqueConstraint("table_id", "round", "position"),
    CheckConstraint("amount_cents >= 0", name="not_negative"),
    Index(None, "link", "day"),
)

payments = Table(
    "payments",
    metadata,
    Column("link", Text, nullable=False),
    Column("award", BigInteger, nullable=False),
    Column("n", BigInteger, nullable=False),
    _time(),
    Column("day", Date, nullable=False),
    PrimaryKeyConstraint("link", "award"),
    Index(None, "link", "day"),
)

meter_reports = Table(
    "meter_reports",
    metadata,
    Column("link", Text, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("table_id", Text, nullable=False),
    Column("day", Date, nullable=False, comment="the gaming day reported on"),
    Column("wagers", BigInteger, nullable=False),
    Column("wagered_cents", BigInteger, nullable=False),
    Column("awards", BigInteger, nullable=False),
    Column("awarded_cents", BigInteger, nullable=False),
    PrimaryKeyConstraint("link", "n"),
    Index(None, "day", "table_id"),
)

parameters = Table(
    "parameters",
    metadata,
    Column("link", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("parameters", JSONB, nullable=False),
    _time(),
    PrimaryKeyConstraint("link", "version"),
)

FACTS = (events, journals, entries, awards, payments, meter_reports, parameters)

# -- working tables: where a link stands now ---------------------------------------------------------------------

links = Table(
    "links",
    metadata,
    Column("link", Text, primary_key=True),
    Column("epoch", BigInteger, nullable=False, server_default="0", comment="who may write; grows with each lease"),
    Column("n", BigInteger, nullable=False, server_default="0"),
    Column("chain", LargeBinary, nullable=False, server_default=text("''::bytea")),
    Column("at", DateTime(timezone=True), nullable=False, server_default=text("'epoch'")),
    Column("journal", BigInteger, nullable=False, server_default="0"),
    Column("entry", BigInteger, nullable=False, server_default="0"),
    Column("award", BigInteger, nullable=False, server_default="0"),
    *(Column(name, BigInteger, nullable=False, server_default="0") for name in ACCOUNTS),
    Column("suspended", Text),
    Column("parameters_version", Integer, nullable=False, server_default="0"),
    Column("parameters", JSONB),
    Column("parameters_next", JSONB),
    Column("tables", JSONB, nullable=False, server_default=text("'[]'"), comment="game and positions of each table"),
    Column("sent", BigInteger, nullable=False, server_default="0", comment="answers up to this n were sent (outbox)"),
    CheckConstraint(_balanced(""), name="closes"),
    CheckConstraint(_possible(""), name="possible"),
)

rounds = Table(
    "rounds",
    metadata,
    Column("table_id", Text, nullable=False),
    Column("round", Text, nullable=False),
    Column("link", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("opened_n", BigInteger, nullable=False),
    Column("n", BigInteger, nullable=False, comment="the last event that changed it"),
    Column("document", JSONB, nullable=False),
    PrimaryKeyConstraint("table_id", "round"),
    Index("rounds_unfinished_idx", "link", postgresql_where=text("phase IN ('open', 'closed', 'waiting')")),
)

unpaid = Table(
    "unpaid",
    metadata,
    Column("link", Text, nullable=False),
    Column("award", BigInteger, nullable=False),
    PrimaryKeyConstraint("link", "award"),
)

leases = Table(
    "leases",
    metadata,
    Column("link", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    Column("asked_by", Text, comment="the daemon that asks its holder for the link, to lead as many as the others"),
)

requests = Table(
    "requests",
    metadata,
    Column("id", Text, primary_key=True),
    Column("link", Text, nullable=False),
    Column("command", JSONB, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("answer", JSONB, comment="null while the desk has not taken it"),
    _seal(),
    CheckConstraint(
        "coalesce(command ->> 'id' = id AND command ->> 'by' <> 'controller' AND command ->> 'type' IN "
        "('link.suspended', 'link.resumed', 'round.concluded', 'balance.adjusted', 'parameters.changed'), false)",
        name="asked",
    ),
    Index("requests_waiting_idx", "link", postgresql_where=text("answer IS NULL")),
)

quarantine = Table(
    "quarantine",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=True),
    _time(),
    Column("topic", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("code", Text, nullable=False),
    Column("message", Text, nullable=False),
)

# -- people: who may do what, and what they did ------------------------------------------------------------------

people = Table(
    "people",
    metadata,
    Column("name", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("password", Text, nullable=False, comment="argon2"),
    Column("must_change", Boolean, nullable=False, comment="somebody else has set the password and knows it"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("created_by", Text, nullable=False),
    Column("disabled_at", DateTime(timezone=True)),
    Column("confirmed_by", Text, comment="null: another has set the password, and nobody looked yet"),
    _seal(),
    CheckConstraint("name ~ '^[a-z][a-z0-9._-]{1,63}$'", name="plain_name"),
    CheckConstraint(
        "role IN ('dealer', 'pit_supervisor', 'pit_manager', 'finance', 'auditor', 'engineer')", name="known_role"
    ),
    CheckConstraint("confirmed_by <> name", name="confirmed_by_another"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", LargeBinary, primary_key=True, comment="sha256 of what the browser holds"),
    Column("person", Text, ForeignKey("people.name"), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("seen_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("note", JSONB, comment="what the next page says about the last action"),
    _seal(),
    Index(None, "person"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("hash", LargeBinary, nullable=False, comment="sha256 of what the program holds"),
    Column("person", Text, ForeignKey("people.name"), nullable=False),
    Column("label", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    Column("revoked_at", DateTime(timezone=True)),
    _seal(),
    UniqueConstraint("hash"),
    CheckConstraint("expires_at <= created_at + interval '366 days'", name="end"),
    Index(None, "person"),
)

login_attempts = Table(
    "login_attempts",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=True),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("name", Text, nullable=False),
    Column("address", Text, nullable=False),
    Index(None, "name", "at"),
    Index(None, "address", "at"),
)

audit = Table(
    "audit",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=True),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("by", Text, nullable=False, comment="the name that was given, for a login that failed"),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False, comment="whom or what it was done to"),
    Column("address", Text, nullable=False, comment="where from; `terminal` for the command line"),
    Column("detail", JSONB, nullable=False),
    # An auditor asks what one person did, over all of history.
    Index(None, "by", "id"),
    # Whether a failed login is in the trail already.
    Index(None, "address", "by", "at"),
)

proposals = Table(
    "proposals",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=True),
    Column("kind", Text, nullable=False),
    Column("link", Text, nullable=False),
    Column("command", JSONB, nullable=False, comment="what goes to the desk once it is approved"),
    Column("by", Text, ForeignKey("people.name"), nullable=False),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("approved_by", Text, ForeignKey("people.name")),
    Column("rejected_by", Text, ForeignKey("people.name"), comment="its own proposer may withdraw it so"),
    Column("decided_at", DateTime(timezone=True)),
    Column("request", Text, ForeignKey("requests.id"), comment="null until it is approved"),
    _seal(),
    CheckConstraint("kind IN ('adjustment', 'parameters')", name="known_kind"),
    CheckConstraint("by <> approved_by", name="four_eyes"),
    CheckConstraint("approved_by IS NULL OR rejected_by IS NULL", name="one_decision"),
    CheckConstraint("(decided_at IS NULL) = (approved_by IS NULL AND rejected_by IS NULL)", name="decided"),
    CheckConstraint("(request IS NULL) = (approved_by IS NULL)", name="requested"),
    CheckConstraint(
        "coalesce(command ->> 'by' = by AND command ->> 'id' IS NOT NULL AND (kind, command ->> 'type') IN "
        "(('adjustment', 'balance.adjusted'), ('parameters', 'parameters.changed')), false)",
        name="of_a_kind",
    ),
    Index("proposals_waiting_idx", "kind", postgresql_where=text("decided_at IS NULL")),
    Index(None, "kind", "number"),
)

# Commands are a handful among millions of events: without their own index the audit trail would read them all.
Index("events_commands_idx", events.c.at, events.c.link, events.c.n, postgresql_where=events.c.table_id.is_(None))
