"""An amount fitted to a board's width. A figure that does not fit is not shown: never a smaller one."""

from drivers.board import Amount

_SIGNS = {"SGD": "$", "USD": "$", "AUD": "$", "HKD": "$", "NZD": "$", "CAD": "$", "PHP": "P", "MOP": "MOP$"}


def currency_sign(currency: str) -> str:
    return _SIGNS.get(currency, f"{currency} ")


def fit_characters(amount: Amount, width: int, decimals: int) -> str | None:
    """The fullest form that fits: the currency sign goes first, then the separators, never a digit.

    Cents are left out only on a board declared to show whole units, and then always: a figure that
    loses its cents from one moment to the next reads as another figure.
    """
    units, cents = divmod(amount.cents, 100)
    fraction = f".{cents:02d}" if decimals else ""
    grouped = f"{units:,d}{fraction}"
    for text in (f"{currency_sign(amount.currency)}{grouped}", grouped, f"{units}{fraction}"):
        if len(text) <= width:
            return text
    return None


def fit_digits(amount: Amount, width: int, decimals: int) -> str | None:
    """For numeric meters, where the point shares a digit's place and there are no separators."""
    units, cents = divmod(amount.cents, 100)
    digits = f"{units}{cents:02d}" if decimals else f"{units}"
    if len(digits) > width:
        return None
    return f"{units}.{cents:02d}" if decimals else digits


def fit_text(choices: tuple[str | None, ...], width: int) -> str | None:
    return next((text for text in choices if text is not None and len(text) <= width), None)
