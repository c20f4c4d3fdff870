"""Passwords: argon2id with the library's current parameters, off the event loop, a few at a time."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

LENGTH_MIN: Final = 12
LENGTH_MAX: Final = 256

_hasher: Final = PasswordHasher()
_few: Final = ThreadPoolExecutor(2, thread_name_prefix="argon2")  # each takes 64 MiB and a core


def problem(name: str, password: str) -> str | None:
    """Why this cannot be the password of that person; None if it can."""
    if not LENGTH_MIN <= len(password) <= LENGTH_MAX:
        return f"A password has {LENGTH_MIN} to {LENGTH_MAX} characters."
    if name in password.lower() or len(set(password)) < 5:
        return "This password is too easy to guess: do not use the name, nor few different characters."
    return None if _is_text(password) else "This password has characters that cannot be typed again."


async def hashed(password: str) -> str:
    return await asyncio.get_running_loop().run_in_executor(_few, _hasher.hash, password)


async def fits(password: str, stored: str | None) -> bool:
    """Nobody's password (`None`) is checked too: the time of an answer does not tell which names there are."""
    if len(password) > LENGTH_MAX or not _is_text(password):
        return False
    return await asyncio.get_running_loop().run_in_executor(_few, _fits, password, stored)


def _fits(password: str, stored: str | None) -> bool:
    try:
        _hasher.verify(stored or _nobodys(), password)
    except VerificationError:
        return False
    return stored is not None


@cache
def _nobodys() -> str:
    return _hasher.hash("a password that no account has")


def _is_text(password: str) -> bool:
    try:
        password.encode()
    except UnicodeEncodeError:
        return False
    return True
