"""The ledger: facts, working tables, and what the database refuses."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "awards",
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("award", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("round", sa.Text(), nullable=False),
        sa.Column("position", sa.SmallInteger(), nullable=False),
        sa.Column("entry", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("amount_cents", sa.BigInteger(), nullable=False),
        sa.Column("base_cents", sa.BigInteger(), nullable=True),
        sa.Column("shared_by", sa.SmallInteger(), nullable=False),
        sa.Column("multiplier", sa.SmallInteger(), nullable=False),
        sa.Column("rules", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("decisions", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("parameters_version", sa.Integer(), nullable=False),
        sa.Column("working", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.CheckConstraint("amount_cents >= 0", name=op.f("awards_not_negative")),
        sa.PrimaryKeyConstraint("link", "award", name=op.f("awards_pkey")),
        sa.UniqueConstraint("table_id", "round", "position", name=op.f("awards_table_id_round_position_key")),
    )
    op.create_index(op.f("awards_link_day_idx"), "awards", ["link", "day"], unique=False)
    op.create_table(
        "entries",
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("entry", sa.BigInteger(), nullable=False, comment="first entered is paid first"),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("round", sa.Text(), nullable=False),
        sa.Column("position", sa.SmallInteger(), nullable=False),
        sa.Column("cards", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("community", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("rank", sa.Text(), nullable=False),
        sa.Column("base_micros", sa.BigInteger(), nullable=True),
        sa.Column("day", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("link", "entry", name=op.f("entries_pkey")),
    )
    op.create_index(op.f("entries_link_day_idx"), "entries", ["link", "day"], unique=False)
    op.create_table(
        "events",
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False, comment="the link's own count, without holes"),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("table_id", sa.Text(), nullable=True, comment="null: a command of a person or of the controller"),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("round", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("day", sa.Date(), nullable=False, comment="the gaming day it was committed in"),
        sa.Column("payload", sa.LargeBinary(), nullable=False, comment="the bytes as they came"),
        sa.Column("answer", sa.LargeBinary(), nullable=False, comment="the first answer; a resend gets it again"),
        sa.Column(
            "chain",
            sa.LargeBinary(),
            nullable=False,
            comment="sha256 over the chain so far, the event and its journals",
        ),
        sa.PrimaryKeyConstraint("link", "n", name=op.f("events_pkey")),
        sa.UniqueConstraint("id", name=op.f("events_id_key")),
        sa.UniqueConstraint("table_id", "seq", name=op.f("events_table_id_seq_key")),
    )
    op.create_table(
        "journals",
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("journal", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False, comment="the event that caused it"),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("table_id", sa.Text(), nullable=True),
        sa.Column("round", sa.Text(), nullable=True),
        sa.Column("award", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column(
            "wagers",
            sa.ARRAY(sa.SmallInteger()),
            nullable=False,
            comment="wagers of multiplier 1 to 5 taken in or given back",
        ),
        sa.Column("wagered", sa.BigInteger(), nullable=False),
        sa.Column("recoverable", sa.BigInteger(), nullable=False),
        sa.Column("pool", sa.BigInteger(), nullable=False),
        sa.Column("reserve", sa.BigInteger(), nullable=False),
        sa.Column("house", sa.BigInteger(), nullable=False),
        sa.Column("awarded", sa.BigInteger(), nullable=False),
        sa.Column("wagered_after", sa.BigInteger(), nullable=False),
        sa.Column("recoverable_after", sa.BigInteger(), nullable=False),
        sa.Column("pool_after", sa.BigInteger(), nullable=False),
        sa.Column("reserve_after", sa.BigInteger(), nullable=False),
        sa.Column("house_after", sa.BigInteger(), nullable=False),
        sa.Column("awarded_after", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("wagered + recoverable = pool + reserve + house + awarded", name=op.f("journals_balanced")),
        sa.CheckConstraint(
            "wagered_after + recoverable_after = pool_after + reserve_after + house_after + awarded_after",
            name=op.f("journals_closes"),
        ),
        sa.CheckConstraint(
            "wagered_after >= 0 AND recoverable_after >= 0 AND pool_after >= 0 AND reserve_after >= 0 "
            "AND awarded_after >= 0",
            name=op.f("journals_possible"),
        ),
        sa.PrimaryKeyConstraint("link", "journal", name=op.f("journals_pkey")),
    )
    op.create_index(op.f("journals_link_day_journal_idx"), "journals", ["link", "day", "journal"], unique=False)
    op.create_index(op.f("journals_link_n_idx"), "journals", ["link", "n"], unique=False)
    op.create_table(
        "leases",
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "asked_by",
            sa.Text(),
            nullable=True,
            comment="the daemon that asks its holder for the link, to lead as many as the others",
        ),
        sa.PrimaryKeyConstraint("link", name=op.f("leases_pkey")),
    )
    op.create_table(
        "links",
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column(
            "epoch", sa.BigInteger(), server_default="0", nullable=False, comment="who may write; grows with each lease"
        ),
        sa.Column("n", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("chain", sa.LargeBinary(), server_default=sa.text("''::bytea"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("'epoch'"), nullable=False),
        sa.Column("journal", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("entry", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("award", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("wagered", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("recoverable", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("pool", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("reserve", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("house", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("awarded", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("suspended", sa.Text(), nullable=True),
        sa.Column("parameters_version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("parameters", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("parameters_next", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column(
            "tables",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'[]'"),
            nullable=False,
            comment="game and positions of each table",
        ),
        sa.Column(
            "sent",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="answers up to this n were sent (outbox)",
        ),
        sa.CheckConstraint("wagered + recoverable = pool + reserve + house + awarded", name=op.f("links_closes")),
        sa.CheckConstraint(
            "wagered >= 0 AND recoverable >= 0 AND pool >= 0 AND reserve >= 0 AND awarded >= 0",
            name=op.f("links_possible"),
        ),
        sa.PrimaryKeyConstraint("link", name=op.f("links_pkey")),
    )
    op.create_table(
        "meter_reports",
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False, comment="the gaming day reported on"),
        sa.Column("wagers", sa.BigInteger(), nullable=False),
        sa.Column("wagered_cents", sa.BigInteger(), nullable=False),
        sa.Column("awards", sa.BigInteger(), nullable=False),
        sa.Column("awarded_cents", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("link", "n", name=op.f("meter_reports_pkey")),
    )
    op.create_index(op.f("meter_reports_day_table_id_idx"), "meter_reports", ["day", "table_id"], unique=False)
    op.create_table(
        "parameters",
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("parameters", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("link", "version", name=op.f("parameters_pkey")),
    )
    op.create_table(
        "payments",
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("award", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("link", "award", name=op.f("payments_pkey")),
    )
    op.create_index(op.f("payments_link_day_idx"), "payments", ["link", "day"], unique=False)
    op.create_table(
        "quarantine",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("quarantine_pkey")),
    )
    op.create_table(
        "requests",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("command", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column(
            "answer",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="null while the desk has not taken it",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("requests_pkey")),
    )
    op.create_index(
        "requests_waiting_idx", "requests", ["link"], unique=False, postgresql_where=sa.text("answer IS NULL")
    )
    op.create_table(
        "rounds",
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("round", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("opened_n", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False, comment="the last event that changed it"),
        sa.Column("document", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("table_id", "round", name=op.f("rounds_pkey")),
    )
    op.create_index(
        "rounds_unfinished_idx",
        "rounds",
        ["link"],
        unique=False,
        postgresql_where=sa.text("phase IN ('open', 'closed', 'waiting')"),
    )
    op.create_table(
        "unpaid",
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("award", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("link", "award", name=op.f("unpaid_pkey")),
    )
    _refuse_unsafe_commits()
    _refuse_changed_facts()
    _show_postings()


FACTS = ("events", "journals", "entries", "awards", "payments", "meter_reports", "parameters")


def _refuse_unsafe_commits() -> None:
    """Any session may lower its own isolation or durability; then it writes no money."""
    op.execute(
        """
        CREATE FUNCTION refuse_unsafe_commit() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF current_setting('transaction_isolation') <> 'serializable' THEN
                RAISE EXCEPTION 'money is written in SERIALIZABLE transactions only' USING ERRCODE = 'JP001';
            END IF;
            IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
               OR current_setting('fsync') <> 'on' THEN
                RAISE EXCEPTION 'money is written with durable commits only' USING ERRCODE = 'JP002';
            END IF;
            RETURN NULL;
        END $$
        """
    )
    for table in ("events", "journals", "awards"):
        op.execute(
            f"CREATE TRIGGER refuse_unsafe_commit BEFORE INSERT ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_unsafe_commit()"
        )


def _refuse_changed_facts() -> None:
    op.execute(
        """
        CREATE FUNCTION refuse_changed_fact() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '% is append-only: a correction is a new record', TG_TABLE_NAME USING ERRCODE = 'JP003';
        END $$
        """
    )
    for table in FACTS:
        op.execute(
            f"CREATE TRIGGER refuse_changed_fact BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_changed_fact()"
        )


def _show_postings() -> None:
    """One line for each account a journal touches, as a bookkeeper reads it."""
    op.execute(
        """
        CREATE VIEW postings AS
        SELECT link, journal, n, kind, table_id, round, award, at, day, account, side, micros
        FROM journals, LATERAL (VALUES
            ('wagered', 'debit', wagered), ('recoverable', 'debit', recoverable),
            ('pool', 'credit', pool), ('reserve', 'credit', reserve),
            ('house', 'credit', house), ('awarded', 'credit', awarded)
        ) AS posting (account, side, micros)
        WHERE micros <> 0
        """
    )
