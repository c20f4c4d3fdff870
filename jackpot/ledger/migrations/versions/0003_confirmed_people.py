"""Whoever makes an account, or sets its password, can use it: it changes money only after another has confirmed it."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Whether a failed login is in the trail already.
    op.create_index(op.f("audit_address_by_at_idx"), "audit", ["address", "by", "at"])
    op.add_column(
        "people",
        sa.Column(
            "confirmed_by",
            sa.Text(),
            nullable=True,
            comment="null: another has set the password, and nobody looked yet",
        ),
    )
    # They were in use before there was a question; whom nobody knows, an engineer disables.
    op.execute("UPDATE people SET confirmed_by = 'schema 0003'")
    op.create_check_constraint(op.f("people_confirmed_by_another"), "people", "confirmed_by <> name")
    # A name that is no account's is that of the terminal, where the database itself is in reach.
    op.execute(
        """
        CREATE FUNCTION refuse_unfit_confirmation() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF EXISTS (
                SELECT FROM people WHERE name = NEW.confirmed_by AND (
                    disabled_at IS NOT NULL OR confirmed_by IS NULL OR role NOT IN ('finance', 'pit_manager'))) THEN
                RAISE EXCEPTION '% may not confirm this', NEW.confirmed_by USING ERRCODE = 'JP005';
            END IF;
            RETURN NEW;
        END $$
        """
    )
    op.execute(
        "CREATE TRIGGER refuse_unfit_confirmation BEFORE INSERT OR UPDATE OF confirmed_by ON people "
        "FOR EACH ROW EXECUTE FUNCTION refuse_unfit_confirmation()"
    )
    op.execute(
        """
        CREATE OR REPLACE FUNCTION refuse_unfit_proposal() RETURNS trigger LANGUAGE plpgsql AS $$
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
                SELECT FROM people
                WHERE name = NEW."by" AND disabled_at IS NULL AND confirmed_by IS NOT NULL
                AND role = ANY (may_propose)) THEN
                RAISE EXCEPTION '% may not propose this', NEW."by" USING ERRCODE = 'JP005';
            END IF;
            IF NEW.approved_by IS NOT NULL AND NOT EXISTS (
                SELECT FROM people
                WHERE name = NEW.approved_by AND disabled_at IS NULL AND confirmed_by IS NOT NULL
                AND role = ANY (may_approve)) THEN
                RAISE EXCEPTION '% may not approve this', NEW.approved_by USING ERRCODE = 'JP005';
            END IF;
            RETURN NEW;
        END $$
        """
    )
