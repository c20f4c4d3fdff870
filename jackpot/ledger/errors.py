"""What a write to the ledger can come to, translated once from the driver's errors, with the cause kept."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from jackpot.errors import UserError


class LedgerError(Exception):
    """Something went wrong in the database that no retry mends."""


class Deposed(LedgerError):
    """Another daemon holds the link, or the ledger moved on without us: what we know of it is worthless."""


class AlreadyThere(LedgerError):
    """An event id, a round or an award that was taken for new is in the ledger: look first, then decide again."""


class Impossible(LedgerError):
    """The database refuses what we want to write for what it is: a bug of ours, and no retry mends it."""


class TryAgain(LedgerError):
    """The database asks for the same transaction once more (40001, 40P01)."""


class Unknown(LedgerError):
    """The connection ended before the answer came: the commit may or may not have happened."""


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
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        where = url.rpartition("@")[2]
        raise UserError(f"the database {where} cannot be used: {error}; check database.url and the server") from error


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        raise AlreadyThere(str(error)) from error
    except (asyncpg.SerializationError, asyncpg.DeadlockDetectedError) as error:
        raise TryAgain(str(error)) from error
    except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError) as error:
        raise Impossible(f"{error.sqlstate}: {error}") from error
    except _UNANSWERED as error:
        raise Unknown(f"{type(error).__name__}: {error}") from error
    except asyncpg.PostgresError as error:
        raise LedgerError(f"{error.sqlstate}: {error}") from error
