"""What people order is proved: seals that the database cannot make, and orders that only the right people can leave."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

SEALED = ("people", "sessions", "tokens", "proposals", "requests")


def upgrade() -> None:
    for table in SEALED:
        comment = "by a key that the database does not have; null: there was none"
        op.add_column(table, sa.Column("seal", sa.LargeBinary(), nullable=True, comment=comment))
    op.drop_constraint(op.f("requests_four_eyes"), "requests")
    # The links' own commands, such as `link.opened`, are the controller's: nobody asks for them.
    op.create_check_constraint(
        op.f("requests_asked"),
        "requests",
        "coalesce(command ->> 'id' = id AND command ->> 'by' <> 'controller' AND command ->> 'type' IN "
        "('link.suspended', 'link.resumed', 'round.concluded', 'balance.adjusted', 'parameters.changed'), false)",
    )
    op.create_check_constraint(
        op.f("proposals_of_a_kind"),
        "proposals",
        "coalesce(command ->> 'by' = by AND command ->> 'id' IS NOT NULL AND (kind, command ->> 'type') IN "
        "(('adjustment', 'balance.adjusted'), ('parameters', 'parameters.changed')), false)",
        postgresql_not_valid=True,  # those of before had no id until they were approved
    )
    op.create_check_constraint(
        op.f("tokens_end"), "tokens", "expires_at <= created_at + interval '366 days'", postgresql_not_valid=True
    )
    _decide_proposals()
    _ask_for_approval()
    _keep_accounts()
    _answer_once()


def _decide_proposals() -> None:
    op.execute(
        """
        CREATE OR REPLACE FUNCTION refuse_unfit_proposal() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            may_propose text[] := CASE NEW.kind WHEN 'adjustment' THEN '{finance,pit_manager}' ELSE '{finance}' END;
            may_approve text[] := CASE NEW.kind WHEN 'adjustment' THEN '{finance}' ELSE '{pit_manager}' END;
            decider text := coalesce(NEW.approved_by, NEW.rejected_by);
        BEGIN
            IF TG_OP = 'UPDATE' AND (OLD.decided_at IS NOT NULL
                OR (NEW.number, NEW.kind, NEW.link, NEW.command, NEW."by", NEW.at, NEW.seal)
                IS DISTINCT FROM (OLD.number, OLD.kind, OLD.link, OLD.command, OLD."by", OLD.at, OLD.seal)) THEN
                RAISE EXCEPTION 'a proposal is decided once and never changed' USING ERRCODE = 'JP004';
            END IF;
            -- He must stand when it is made, and still when it is approved.
            IF (TG_OP = 'INSERT' OR NEW.approved_by IS NOT NULL) AND NOT EXISTS (
                SELECT FROM people
                WHERE name = NEW."by" AND disabled_at IS NULL AND confirmed_by IS NOT NULL
                AND role = ANY (may_propose)) THEN
                RAISE EXCEPTION '% may not propose this', NEW."by" USING ERRCODE = 'JP005';
            END IF;
            -- To withdraw one's own takes nothing.
            IF (NEW.approved_by IS NOT NULL OR NEW.rejected_by <> NEW."by") AND NOT EXISTS (
                SELECT FROM people
                WHERE name = decider AND disabled_at IS NULL AND confirmed_by IS NOT NULL
                AND role = ANY (may_approve)) THEN
                RAISE EXCEPTION '% may not approve this', decider USING ERRCODE = 'JP005';
            END IF;
            IF NEW.request <> NEW.command ->> 'id' THEN
                RAISE EXCEPTION 'what is ordered is not what was proposed' USING ERRCODE = 'JP005';
            END IF;
            IF decider IS NOT NULL THEN
                NEW.decided_at := now();
            END IF;
            RETURN NEW;
        END $$
        """
    )


def _ask_for_approval() -> None:
    """At the commit: the order is left first, and the proposal then names it."""
    op.execute(
        """
        CREATE FUNCTION refuse_unapproved_request() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.command ->> 'type' IN ('balance.adjusted', 'parameters.changed') AND NOT EXISTS (
                SELECT FROM proposals
                WHERE request = NEW.id AND link = NEW.link AND approved_by IS NOT NULL AND approved_by <> "by"
                AND command || jsonb_build_object('approved_by', approved_by) = NEW.command) THEN
                RAISE EXCEPTION 'no two people have agreed on request %', NEW.id USING ERRCODE = 'JP005';
            END IF;
            RETURN NULL;
        END $$
        """
    )
    op.execute(
        "CREATE CONSTRAINT TRIGGER refuse_unapproved_request AFTER INSERT ON requests "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_unapproved_request()"
    )


def _keep_accounts() -> None:
    """Who confirms is an account that may. Only the terminal is none, and it does not come as the console."""
    op.execute(
        """
        CREATE OR REPLACE FUNCTION refuse_unfit_confirmation() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            newly_confirmed boolean :=
                NEW.confirmed_by IS NOT NULL
                AND (TG_OP = 'INSERT' OR OLD.confirmed_by IS DISTINCT FROM NEW.confirmed_by);
            by_the_owner boolean :=
                current_user = (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = TG_RELID);
        BEGIN
            IF TG_OP = 'UPDATE' THEN
                IF OLD.disabled_at IS NOT NULL THEN
                    RAISE EXCEPTION 'the account % has ended', NEW.name USING ERRCODE = 'JP005';
                END IF;
                IF NEW.disabled_at IS NOT NULL THEN
                    NEW.disabled_at := now();
                END IF;
            END IF;
            IF newly_confirmed AND NOT EXISTS (
                SELECT FROM people
                WHERE name = NEW.confirmed_by AND name <> NEW.name AND disabled_at IS NULL
                AND confirmed_by IS NOT NULL AND role IN ('finance', 'pit_manager'))
                AND NOT (by_the_owner AND NOT EXISTS (SELECT FROM people WHERE name = NEW.confirmed_by)) THEN
                RAISE EXCEPTION '% may not confirm this', NEW.confirmed_by USING ERRCODE = 'JP005';
            END IF;
            RETURN NEW;
        END $$
        """
    )
    op.execute("DROP TRIGGER refuse_unfit_confirmation ON people")
    op.execute(
        "CREATE TRIGGER refuse_unfit_confirmation BEFORE INSERT OR UPDATE ON people "
        "FOR EACH ROW EXECUTE FUNCTION refuse_unfit_confirmation()"
    )
    # The terminal's way, in the owner's name: whoever may call it has the daemon's secrets.
    op.execute(
        """
        CREATE FUNCTION vouch_at_terminal(person text, doer text, sealed bytea) RETURNS boolean
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        BEGIN
            UPDATE people SET confirmed_by = doer, seal = sealed
            WHERE name = person AND disabled_at IS NULL AND confirmed_by IS NULL AND doer LIKE '% (terminal)';
            RETURN FOUND;
        END $$
        """
    )
    op.execute("REVOKE EXECUTE ON FUNCTION vouch_at_terminal(text, text, bytea) FROM PUBLIC")
    op.execute(
        """
        CREATE FUNCTION refuse_revived_token() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF OLD.revoked_at IS NOT NULL THEN
                RAISE EXCEPTION 'the token % is revoked', NEW.id USING ERRCODE = 'JP005';
            END IF;
            NEW.revoked_at := now();
            RETURN NEW;
        END $$
        """
    )
    op.execute(
        "CREATE TRIGGER refuse_revived_token BEFORE UPDATE OF revoked_at ON tokens "
        "FOR EACH ROW EXECUTE FUNCTION refuse_revived_token()"
    )


def _answer_once() -> None:
    op.execute(
        """
        CREATE FUNCTION refuse_changed_request() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF OLD.answer IS NOT NULL OR (NEW.id, NEW.link, NEW.command, NEW.created_at, NEW.seal)
                IS DISTINCT FROM (OLD.id, OLD.link, OLD.command, OLD.created_at, OLD.seal) THEN
                RAISE EXCEPTION 'a request is answered once and never changed' USING ERRCODE = 'JP004';
            END IF;
            RETURN NEW;
        END $$
        """
    )
    op.execute(
        "CREATE TRIGGER refuse_changed_request BEFORE UPDATE ON requests "
        "FOR EACH ROW EXECUTE FUNCTION refuse_changed_request()"
    )
    op.execute(
        "CREATE TRIGGER refuse_changed_fact BEFORE DELETE OR TRUNCATE ON requests "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_changed_fact()"
    )
