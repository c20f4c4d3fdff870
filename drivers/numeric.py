"""What numeric meters have in common: digits, and no word for anything."""

from abc import ABC, abstractmethod

from drivers.amount import fit_digits
from drivers.board import Amount, Pending, Shown, Win
from drivers.wiring import ResolvedWiring


class NumericProtocol(ABC):
    def __init__(self, wiring: ResolvedWiring, *, dashes: str, test: str) -> None:
        self._wiring = wiring
        self._dashes, self._test = Shown(dashes), Shown(test)
        self._told = self._dashes

    def show_amount(self, amount: Amount) -> Shown:
        digits = fit_digits(amount, self._wiring.width, self._wiring.decimals)
        if digits is None:
            return self.blank()
        return self._tell(Shown(self._form(digits), amount.cut_to(self._wiring.decimals).cents))

    def show_pending(self, pending: Pending) -> Shown:
        """The amount that is held."""
        return self.show_amount(pending.amount)

    def announce(self, win: Win) -> Shown:
        return self.show_amount(win.amount)

    def blank(self) -> Shown:
        return self._tell(self._dashes)

    def show_test(self) -> Shown:
        return self._tell(self._test)

    def _tell(self, told: Shown) -> Shown:
        self._told = told
        return told

    @abstractmethod
    def _form(self, digits: str) -> str:
        """As the meter takes them."""
