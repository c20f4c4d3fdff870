"""Whatever the driver raises is trouble with the database: a link is suspended by it, and no daemon ends."""

import asyncpg

from jackpot.ledger.errors import DATABASE_ERRORS, DRIVER_ERRORS


def test_every_error_of_the_driver_is_trouble() -> None:
    named = [getattr(asyncpg.exceptions, name) for name in asyncpg.exceptions.__all__]
    errors = [kind for kind in named if issubclass(kind, Exception) and not issubclass(kind, Warning)]
    assert len(errors) > 200
    assert [kind for kind in errors if not issubclass(kind, DRIVER_ERRORS)] == []
    assert set(DRIVER_ERRORS) <= set(DATABASE_ERRORS)
