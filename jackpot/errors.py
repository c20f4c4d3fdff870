"""Errors that a person caused and can mend. Everything else is a bug and shows its traceback."""


class UserError(Exception):
    """Bad use: one line that says what is wrong and what to do next. Exit code 2."""

    exit_code = 2


class CheckFailedError(UserError):
    """A check that was asked for did not hold. Exit code 1."""

    exit_code = 1
