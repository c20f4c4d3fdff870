"""What a write to the ledger can come to, translated once from the driver's errors, with the cause kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import asyncpg
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from jackpot.errors import UserError
from jackpot.ledger.connection import AnyConnection


class LedgerError(Exception):
    """Something went wrong in the database that no retry mends."""


class DeposedError(LedgerError):
    """Another daemon holds the link, or the ledger moved on without us: what we know of it is worthless."""


class DuplicateRecordError(LedgerError):
    """An event id, a round or an award that was taken for new is in the ledger: look first, then decide again."""


class ConstraintViolatedError(LedgerError):
    """The database refuses what we want to write for what it is: a bug of ours, and no retry mends it."""


class TransactionConflictError(LedgerError):
    """The database asks for the same transaction once more (40001, 40P01)."""


class CommitUncertainError(LedgerError):
    """The commit may or may not have happened, or may yet be undone.

    Nobody is answered from what it left until the lease has been taken anew. That moves the epoch on, so that nothing
    of before can still be written, and is a commit behind all of it: a standby that has this one has everything.
    """


DRIVER_ERRORS = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""All that asyncpg raises by itself. The last one comes of a pool, too, that gets back a connection in the middle of a
statement: whoever was cancelled there has lost the database, and not found a bug."""

DATABASE_ERRORS = (LedgerError, *DRIVER_ERRORS)
"""Whatever a question to the database can come to, when it is not answered."""

_UNANSWERED = (
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)


@contextmanager
def unreachable(url: str) -> Iterator[None]:
    """For a person at a terminal: a database that is not there is one line, with the server it was looked for at."""
    try:
        yield
    except (SQLAlchemyError, *DRIVER_ERRORS) as error:
        parts = urlsplit(url)
        where = f"{parts.netloc}{parts.path}".rpartition("@")[2]  # a password may be before it, and in the query
        why = reason(error)
        raise UserError(f"the database {where} cannot be used: {why}; check database.url and the server") from error


def reason(error: BaseException) -> str:
    """What the driver said, in one line, without what SQLAlchemy wraps around it."""
    if isinstance(error, DBAPIError) and error.orig is not None:
        error = error.orig.__cause__ or error.orig
    return str(error).partition("\n")[0] or type(error).__name__


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        raise DuplicateRecordError(str(error)) from error
    except (asyncpg.SerializationError, asyncpg.DeadlockDetectedError) as error:
        raise TransactionConflictError(str(error)) from error
    except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError) as error:
        raise ConstraintViolatedError(f"{error.sqlstate}: {error}") from error
    except _UNANSWERED as error:
        raise CommitUncertainError(f"{type(error).__name__}: {error}") from error
    except asyncpg.PostgresError as error:
        raise LedgerError(f"{error.sqlstate}: {error}") from error


@contextmanager
def certain(connection: AnyConnection) -> Iterator[None]:
    """For a commit: with a synchronous standby, PostgreSQL calls one that stopped waiting for it a success too.

    It is in the primary's log, every reader sees it, and it is gone if that primary is. Only a warning tells, whatever
    ended the wait: a timeout, a cancelled query, somebody's `pg_cancel_backend`.
    """
    warnings: list[str] = []

    def hear(_: object, message: asyncpg.PostgresLogMessage) -> None:
        warnings.append(str(message))

    connection.add_log_listener(hear)
    try:
        yield
    finally:
        connection.remove_log_listener(hear)
    if warnings:
        raise CommitUncertainError("; ".join(warnings))
