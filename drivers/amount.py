"""An amount fitted to a board's width. A figure that does not fit is not shown: never a smaller one."""

from drivers.board import Amount

_SIGNS = {"SGD": "$", "USD": "$", "AUD": "$", "HKD": "$", "NZD": "$", "CAD": "$", "PHP": "P", "MOP": "MOP$"}


def currency_sign(currency: str) -> str:
    return _SIGNS.get(currency, f"{currency} ")


def figures(amount: Amount, decimals: int) -> tuple[str, ...]:
    """The fullest form first: the currency sign goes, then the separators, never a digit.

    Cents are left out only on a board declared to show whole units, and then always: a figure that
    loses its cents from one moment to the next reads as another figure.
    """
    units, cents = divmod(amount.cents, 100)
    fraction = f".{cents:02d}" if decimals else ""
    grouped = f"{units:,d}{fraction}"
    return f"{currency_sign(amount.currency)}{grouped}", grouped, f"{units}{fraction}"


def fit_characters(amount: Amount, width: int, decimals: int, words: tuple[str, ...] = ()) -> str | None:
    """The fullest words that fit before the figure in any of its forms, or the figure alone."""
    choices = ((word, figure) for word in (*words, "") for figure in figures(amount, decimals))
    return next((text for choice in choices if len(text := " ".join(choice).strip()) <= width), None)


def fit_digits(amount: Amount, width: int, decimals: int) -> str | None:
    """For numeric meters, where the point shares a digit's place and there are no separators."""
    units, cents = divmod(amount.cents, 100)
    digits = f"{units}{cents:02d}" if decimals else f"{units}"
    if len(digits) > width:
        return None
    return f"{units}.{cents:02d}" if decimals else digits
