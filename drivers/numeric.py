"""What numeric meters have in common: digits, and no word for anything."""

from abc import ABC, abstractmethod

from drivers.amount import fit_digits
from drivers.board import Amount, Pending, Told, Win
from drivers.wiring import ResolvedWiring


class NumericTalk(ABC):
    def __init__(self, wiring: ResolvedWiring, *, dashes: str, test: str) -> None:
        self._wiring = wiring
        self._dashes, self._test = Told(dashes), Told(test)
        self._told = self._dashes

    def show_amount(self, amount: Amount) -> Told:
        digits = fit_digits(amount, self._wiring.width, self._wiring.decimals)
        if digits is None:
            return self.blank()
        return self._tell(Told(self._form(digits), amount.cut_to(self._wiring.decimals).cents))

    def show_pending(self, pending: Pending) -> Told:
        """The amount that is held."""
        return self.show_amount(pending.amount)

    def announce(self, win: Win) -> Told:
        return self.show_amount(win.amount)

    def blank(self) -> Told:
        return self._tell(self._dashes)

    def show_test(self) -> Told:
        return self._tell(self._test)

    def _tell(self, told: Told) -> Told:
        self._told = told
        return told

    @abstractmethod
    def _form(self, digits: str) -> str:
        """As the meter takes them."""
