"""Each database role tries every statement there is, on every table and column: what it may do is what stands here."""

from collections.abc import Iterator

import asyncpg
import pytest

from tests.deploy.conftest import Database
from tests.deploy.installed import DEPLOY

ROLES = ("settle", "console", "finance", "audit", "metrics")

FACTS = {"events", "journals", "entries", "awards", "payments", "meter_reports", "parameters"}
STANDING = {"links", "rounds", "unpaid"}
BOOKS = FACTS | STANDING | {"postings"}
ALL = frozenset({"*"})

MAY: dict[str, dict[str, dict[str, frozenset[str]]]] = {
    "settle": {
        "SELECT": dict.fromkeys(
            FACTS | STANDING | {"leases", "requests", "proposals", "quarantine", "alembic_version"}, ALL
        )
        | {"people": frozenset({"name", "role", "disabled_at", "confirmed_by"})},
        "INSERT": dict.fromkeys(FACTS | {"rounds", "unpaid", "leases"}, ALL)
        | {"links": frozenset({"link"}), "quarantine": frozenset({"at", "topic", "payload", "code", "message"})},
        "UPDATE": {
            "links": frozenset(
                [
                    "epoch",
                    "n",
                    "chain",
                    "at",
                    "journal",
                    "entry",
                    "award",
                    "wagered",
                    "recoverable",
                    "pool",
                    "reserve",
                    "house",
                    "awarded",
                    "suspended",
                    "parameters_version",
                    "parameters",
                    "parameters_next",
                    "tables",
                    "sent",
                ]
            ),
            "rounds": frozenset({"phase", "n", "document"}),
            "leases": frozenset({"holder", "epoch", "expires_at", "asked_by"}),
            "requests": frozenset({"answer"}),
        },
        "DELETE": dict.fromkeys(("unpaid", "quarantine"), ALL),
    },
    "console": {
        "SELECT": dict.fromkeys(
            BOOKS
            | {"leases", "requests", "quarantine", "alembic_version"}
            | {"people", "sessions", "tokens", "login_attempts", "audit", "proposals"},
            ALL,
        ),
        "INSERT": {
            "requests": frozenset({"id", "link", "command", "seal"}),
            "audit": frozenset({"by", "action", "subject", "address", "detail"}),
            "proposals": frozenset({"kind", "link", "command", "by", "seal"}),
            "people": frozenset({"name", "role", "password", "must_change", "created_by", "seal"}),
            "sessions": frozenset({"hash", "person", "seal"}),
            "tokens": frozenset({"id", "hash", "person", "label", "expires_at", "seal"}),
            "login_attempts": frozenset({"name", "address"}),
        },
        "UPDATE": {
            "proposals": frozenset({"approved_by", "rejected_by", "decided_at", "request"}),
            "people": frozenset({"password", "must_change", "disabled_at", "confirmed_by", "seal"}),
            "sessions": frozenset({"seen_at", "note"}),
            "tokens": frozenset({"revoked_at"}),
        },
        "DELETE": dict.fromkeys(("sessions", "login_attempts"), ALL),
    },
    "finance": {"SELECT": dict.fromkeys(BOOKS | {"proposals", "alembic_version"}, ALL)},
    "audit": {
        "SELECT": dict.fromkeys(
            BOOKS | {"leases", "requests", "quarantine", "alembic_version", "audit", "proposals", "login_attempts"},
            ALL,
        )
        | {
            "people": frozenset(
                {"name", "role", "must_change", "created_at", "created_by", "disabled_at", "confirmed_by"}
            ),
            "sessions": frozenset({"person", "created_at", "seen_at"}),
            "tokens": frozenset({"id", "person", "label", "created_at", "expires_at", "revoked_at"}),
        }
    },
    "metrics": {"SELECT": {"links": frozenset({"link", "n", "at", "suspended"}), "leases": ALL}},
}


async def columns(database: Database) -> dict[str, dict[str, str]]:
    """Every table and view, and the type of every column, as the database has them now."""
    connection = await asyncpg.connect(database.superuser_url)
    rows = await connection.fetch(
        "SELECT relname, attname, format_type(atttypid, atttypmod) AS kind FROM pg_attribute "
        "JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "WHERE nspname = 'public' AND relkind IN ('r', 'v', 'p', 'm') AND attnum > 0 AND NOT attisdropped"
    )
    await connection.close()
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        found.setdefault(row["relname"], {})[row["attname"]] = row["kind"]
    return found


def attempts(tables: dict[str, dict[str, str]]) -> Iterator[tuple[str, str, str, str]]:
    """Verb, table, column and a statement that changes nothing even where it is allowed."""
    for table, kinds in tables.items():
        for column, kind in kinds.items():
            yield "SELECT", table, column, f'SELECT "{column}" FROM "{table}" LIMIT 0'
            yield "INSERT", table, column, f'INSERT INTO "{table}" ("{column}") SELECT NULL::{kind} WHERE false'
            yield "UPDATE", table, column, f'UPDATE "{table}" SET "{column}" = NULL'
        for verb in ("DELETE FROM", "TRUNCATE"):
            yield verb.partition(" ")[0], table, "*", f'{verb} "{table}"'


REFUSED = (
    asyncpg.InsufficientPrivilegeError,
    asyncpg.WrongObjectTypeError,  # a view is not truncated
    asyncpg.ObjectNotInPrerequisiteStateError,  # nor written
)


async def permitted(connection: asyncpg.Connection, statement: str) -> bool:
    """Judged by the database: any complaint but a missing privilege comes after the privilege was found."""
    transaction = connection.transaction(isolation="serializable")
    await transaction.start()
    try:
        await connection.execute("SET LOCAL transaction_read_only = off")
        await connection.execute(statement)
    except REFUSED:
        return False
    except asyncpg.PostgresError:
        return True
    finally:
        await transaction.rollback()
    return True


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_may_do_what_its_work_needs_and_nothing_else(database: Database, role: str) -> None:
    tables = await columns(database)
    named = {table for verbs in MAY.values() for grants in verbs.values() for table in grants}
    assert named == set(tables), "a table is nobody's until it is named here and in grants.sql"
    connection = await asyncpg.connect(database.url(role))
    wrong = []
    for verb, table, column, statement in attempts(tables):
        allowed = MAY[role].get(verb, {}).get(table, frozenset())
        expected = bool(allowed) if column == "*" else column in allowed or allowed == ALL
        if await permitted(connection, statement) is not expected:
            wrong.append(f"{'must' if expected else 'must not'}: {statement}")
    await connection.close()
    assert wrong == []


POWERS = [
    "SET ROLE jackpot_owner",
    "SET ROLE postgres",
    "SET SESSION AUTHORIZATION jackpot_owner",
    "SET session_replication_role = replica",
    "CREATE TABLE mine (x int)",
    "CREATE TEMP TABLE mine (x int)",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE VIEW mine AS SELECT 1",
    "CREATE TRIGGER mine BEFORE INSERT ON events EXECUTE FUNCTION refuse_changed_fact()",
    "CREATE RULE mine AS ON INSERT TO events DO INSTEAD NOTHING",
    "CREATE ROLE mine",
    "CREATE DATABASE mine",
    "CREATE EXTENSION dblink",
    "CREATE PUBLICATION mine",
    "DROP TABLE events",
    "DROP TRIGGER refuse_changed_fact ON events",
    "ALTER TABLE events DISABLE TRIGGER ALL",
    "ALTER TABLE events ADD COLUMN x int",
    "ALTER TABLE journals DROP CONSTRAINT journals_balanced",
    "ALTER FUNCTION refuse_changed_fact() OWNER TO CURRENT_USER",
    "ALTER ROLE jackpot_owner LOGIN",
    "ALTER ROLE jackpot_migrate PASSWORD 'x'",
    "ALTER DATABASE jackpot_site SET fsync = off",
    "ALTER SYSTEM SET fsync = off",
    "GRANT jackpot_owner TO CURRENT_USER",
    "COPY events TO PROGRAM 'cat'",
    "COPY links TO '/tmp/links'",
    "SELECT pg_read_file('postgresql.conf')",
    "SELECT pg_ls_dir('.', true, true)",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_export(1, '/tmp/x')",
    "SELECT pg_reload_conf()",
    "SELECT pg_switch_wal()",
    "SELECT rolpassword FROM pg_authid",
    "SELECT setval('audit_id_seq', 1)",
    "SELECT setval('quarantine_id_seq', 1)",
    "INSERT INTO alembic_version (version_num) VALUES ('0')",
    "CLUSTER events USING events_pkey",
    "REINDEX TABLE events",
    "DO 'BEGIN LOCK TABLE events IN ACCESS EXCLUSIVE MODE; END'",
    "COMMENT ON TABLE events IS ''",
    "DROP VIEW postings",
]


@pytest.mark.parametrize("role", ROLES)
async def test_no_role_has_powers_beyond_its_tables(database: Database, role: str) -> None:
    connection = await asyncpg.connect(database.url(role), server_settings={"default_transaction_read_only": "off"})
    had = []
    for statement in POWERS:
        try:
            await connection.execute(statement)
            had.append(statement)
        except REFUSED:
            continue
    await connection.close()
    assert had == []


@pytest.mark.parametrize("role", ROLES)
async def test_only_the_daemons_own_role_vouches_for_an_account(database: Database, role: str) -> None:
    connection = await asyncpg.connect(database.url(role))
    vouches = await permitted(connection, "SELECT vouch_at_terminal('nobody', 'root (terminal)', NULL)")
    await connection.close()
    assert vouches is (role == "settle")


async def test_settle_cannot_write_money_with_less_than_a_durable_serializable_commit(database: Database) -> None:
    connection = await asyncpg.connect(database.url("settle"))
    insert = "INSERT INTO journals (link) SELECT 'x' WHERE false"
    with pytest.raises(asyncpg.PostgresError) as lowered:
        await connection.execute(insert)
    assert lowered.value.sqlstate == "JP001"
    async with connection.transaction(isolation="serializable"):
        await connection.execute(insert)
    await connection.execute("SET synchronous_commit = off; SET default_transaction_isolation = serializable")
    with pytest.raises(asyncpg.PostgresError) as unsafe:
        await connection.execute(insert)
    assert unsafe.value.sqlstate == "JP002"
    await connection.close()


async def test_even_the_owner_cannot_change_a_fact_by_mistake(database: Database) -> None:
    connection = await asyncpg.connect(database.url("migrate"))
    assert await connection.fetchval("SELECT current_user") == "jackpot_owner"
    for statement in ("DELETE FROM events", "UPDATE awards SET amount_cents = 0", "TRUNCATE audit"):
        with pytest.raises(asyncpg.PostgresError) as refused:
            await connection.execute(statement)
        assert refused.value.sqlstate == "JP003"
    await connection.close()


async def test_the_grants_may_be_given_again_at_any_time(database: Database) -> None:
    connection = await asyncpg.connect(database.url("migrate"))
    await connection.execute((DEPLOY / "postgresql/grants.sql").read_text())
    await connection.close()
    await database.postgres.as_superuser((DEPLOY / "postgresql/roles.sql").read_text())
