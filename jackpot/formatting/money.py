"""Money as people read it. Exact: a part of a cent is shown, never rounded away."""

from jackpot.link.money import MICROS_PER_CENT

_MICROS_PER_UNIT = 100 * MICROS_PER_CENT


def plain(micros: int) -> str:
    """`-1234.50`, or with a part of a cent `-1234.501250`."""
    return _written(micros, "")


def grouped(micros: int) -> str:
    """`-1,234.50`."""
    return _written(micros, ",")


def cents(amount_cents: int) -> str:
    return grouped(amount_cents * MICROS_PER_CENT)


def _written(micros: int, separator: str) -> str:
    sign = "-" if micros < 0 else ""
    whole, part = divmod(abs(micros), _MICROS_PER_UNIT)
    digits = f"{part:06d}"
    return f"{sign}{whole:{separator}}.{digits[:2] if digits.endswith('0000') else digits}"
