"""People: accounts, sessions, tokens, the audit trail, and proposals that need four eyes."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "people",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=False, comment="argon2"),
        sa.Column(
            "must_change", sa.Boolean(), nullable=False, comment="somebody else has set the password and knows it"
        ),
        _now("created_at"),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("name ~ '^[a-z][a-z0-9._-]{1,63}$'", name=op.f("people_plain_name")),
        sa.CheckConstraint(
            "role IN ('dealer', 'pit_supervisor', 'pit_manager', 'finance', 'auditor', 'engineer')",
            name=op.f("people_known_role"),
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("people_pkey")),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.LargeBinary(), nullable=False, comment="sha256 of what the browser holds"),
        sa.Column("person", sa.Text(), nullable=False),
        _now("created_at"),
        _now("seen_at"),
        sa.Column("note", postgresql.JSONB(), nullable=True, comment="what the next page says about the last action"),
        sa.ForeignKeyConstraint(["person"], ["people.name"]),
        sa.PrimaryKeyConstraint("hash", name=op.f("sessions_pkey")),
    )
    op.create_index(op.f("sessions_person_idx"), "sessions", ["person"])
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False, comment="sha256 of what the program holds"),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        _now("created_at"),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["person"], ["people.name"]),
        sa.PrimaryKeyConstraint("id", name=op.f("tokens_pkey")),
        sa.UniqueConstraint("hash", name=op.f("tokens_hash_key")),
    )
    op.create_index(op.f("tokens_person_idx"), "tokens", ["person"])
    op.create_table(
        "login_attempts",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        _now("at"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("login_attempts_pkey")),
    )
    op.create_index(op.f("login_attempts_name_at_idx"), "login_attempts", ["name", "at"])
    op.create_index(op.f("login_attempts_address_at_idx"), "login_attempts", ["address", "at"])
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        _now("at"),
        sa.Column("by", sa.Text(), nullable=False, comment="the name that was given, for a login that failed"),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False, comment="whom or what it was done to"),
        sa.Column("address", sa.Text(), nullable=False, comment="where from; `terminal` for the command line"),
        sa.Column("detail", postgresql.JSONB(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("audit_pkey")),
    )
    op.create_index(op.f("audit_by_id_idx"), "audit", ["by", "id"])
    op.execute(
        "CREATE TRIGGER refuse_changed_fact BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_changed_fact()"
    )
    _create_proposals()
    op.create_check_constraint(
        op.f("requests_four_eyes"),
        "requests",
        "command ->> 'type' NOT IN ('balance.adjusted', 'parameters.changed') "
        "OR (command ->> 'approved_by' IS NOT NULL AND command ->> 'approved_by' <> command ->> 'by')",
    )
    op.create_index("events_commands_idx", "events", ["at", "link", "n"], postgresql_where=sa.text("table_id IS NULL"))


def _now(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False)


def _create_proposals() -> None:
    op.create_table(
        "proposals",
        sa.Column("number", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("command", postgresql.JSONB(), nullable=False, comment="what goes to the desk once it is approved"),
        sa.Column("by", sa.Text(), nullable=False),
        _now("at"),
        sa.Column("approved_by", sa.Text(), nullable=True),
        sa.Column("rejected_by", sa.Text(), nullable=True, comment="its own proposer may withdraw it so"),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("request", sa.Text(), nullable=True, comment="null until it is approved"),
        sa.CheckConstraint("kind IN ('adjustment', 'parameters')", name=op.f("proposals_known_kind")),
        sa.CheckConstraint("by <> approved_by", name=op.f("proposals_four_eyes")),
        sa.CheckConstraint("approved_by IS NULL OR rejected_by IS NULL", name=op.f("proposals_one_decision")),
        sa.CheckConstraint(
            "(decided_at IS NULL) = (approved_by IS NULL AND rejected_by IS NULL)", name=op.f("proposals_decided")
        ),
        sa.CheckConstraint("(request IS NULL) = (approved_by IS NULL)", name=op.f("proposals_requested")),
        sa.ForeignKeyConstraint(["by"], ["people.name"]),
        sa.ForeignKeyConstraint(["approved_by"], ["people.name"]),
        sa.ForeignKeyConstraint(["rejected_by"], ["people.name"]),
        sa.ForeignKeyConstraint(["request"], ["requests.id"]),
        sa.PrimaryKeyConstraint("number", name=op.f("proposals_pkey")),
    )
    op.create_index("proposals_waiting_idx", "proposals", ["kind"], postgresql_where=sa.text("decided_at IS NULL"))
    op.create_index(op.f("proposals_kind_number_idx"), "proposals", ["kind", "number"])
    op.execute(
        """
        CREATE FUNCTION refuse_unfit_proposal() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            may_propose text[] := CASE NEW.kind WHEN 'adjustment' THEN '{finance,pit_manager}' ELSE '{finance}' END;
            may_approve text[] := CASE NEW.kind WHEN 'adjustment' THEN '{finance}' ELSE '{pit_manager}' END;
        BEGIN
            IF TG_OP = 'UPDATE' AND (OLD.decided_at IS NOT NULL
                OR (NEW.number, NEW.kind, NEW.link, NEW.command, NEW."by", NEW.at)
                IS DISTINCT FROM (OLD.number, OLD.kind, OLD.link, OLD.command, OLD."by", OLD.at)) THEN
                RAISE EXCEPTION 'a proposal is decided once and never changed' USING ERRCODE = 'JP004';
            END IF;
            IF TG_OP = 'INSERT' AND NOT EXISTS (
                SELECT FROM people WHERE name = NEW."by" AND disabled_at IS NULL AND role = ANY (may_propose)) THEN
                RAISE EXCEPTION '% may not propose this', NEW."by" USING ERRCODE = 'JP005';
            END IF;
            IF NEW.approved_by IS NOT NULL AND NOT EXISTS (
                SELECT FROM people
                WHERE name = NEW.approved_by AND disabled_at IS NULL AND role = ANY (may_approve)) THEN
                RAISE EXCEPTION '% may not approve this', NEW.approved_by USING ERRCODE = 'JP005';
            END IF;
            RETURN NEW;
        END $$
        """
    )
    op.execute(
        "CREATE TRIGGER refuse_unfit_proposal BEFORE INSERT OR UPDATE ON proposals "
        "FOR EACH ROW EXECUTE FUNCTION refuse_unfit_proposal()"
    )
    op.execute(
        "CREATE TRIGGER refuse_changed_fact BEFORE DELETE OR TRUNCATE ON proposals "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_changed_fact()"
    )
