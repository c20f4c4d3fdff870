"""What the boards of one link should show at a moment. Pure: time is passed in, in seconds."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from drivers.board import Amount, Pending, Win
from jackpot.signs.messages import RUNNING, Award, Meter

WIN_SECONDS: Final = 8.0
ODOMETER_STEPS: Final = 5
ODOMETER_STEP_MS: Final = 100
"""Few and short, so that the committed amount itself stands on the board within a second."""
CLIMB_WITHIN_SECONDS: Final = 3.0
ANNOUNCE_WITHIN: Final = timedelta(minutes=2)
"""An award may be sent again much later; a win announced then would be news of the past."""
CLOCK_OFF: Final = timedelta(seconds=10)
REMEMBERED_AWARDS: Final = 256
WAITING_WINS_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class Dashes:
    """No figure can be vouched for."""

    reason: str


Face = Amount | Pending | Win | Dashes


@dataclass(frozen=True, slots=True)
class Odometer:
    """Counts up to the last committed amount, never beyond it."""

    start: Amount
    goal: Amount
    started_at: float

    def at(self, now: float) -> Amount:
        climb_cents = self.goal.cents - self.start.cents
        return Amount(self.start.cents + climb_cents * self._steps(now) // ODOMETER_STEPS, self.goal.currency)

    def next_step(self, now: float) -> float:
        steps = self._steps(now)
        done = steps == ODOMETER_STEPS or self.start == self.goal
        return float("inf") if done else self.started_at + steps * ODOMETER_STEP_MS / 1000

    def _steps(self, now: float) -> int:
        """The first is taken at once. Counted in whole milliseconds: a timer may ring a hair early."""
        taken = round((now - self.started_at) * 1000) // ODOMETER_STEP_MS
        return max(1, min(ODOMETER_STEPS, 1 + taken))


@dataclass(frozen=True, slots=True)
class Turn:
    """A win's time on the board."""

    win: Win
    since: float
    until: float


class LinkView:
    """What is known of one link."""

    def __init__(self, win_seconds: float = WIN_SECONDS) -> None:
        self._win_seconds = win_seconds
        self.meter: Meter | None = None
        self._version = 0
        """Of the newest live meter since the last status."""
        self._heard_at: float | None = None
        self._state: str | None = None
        self._ahead = timedelta(0)
        """Our clock, of the controller's: by that an award's age is judged."""
        self._odometer: Odometer | None = None
        self._turns: tuple[Turn, ...] = ()
        self._seen: deque[str] = deque(maxlen=REMEMBERED_AWARDS)

    def take_meter(self, meter: Meter, now: float, wall_clock: datetime, *, live: bool) -> None:
        """A retained meter is not live: it says what was, perhaps long ago, and vouches for nothing."""
        if live:
            self._ahead = wall_clock - meter.at
        if meter.version < self._version:
            return
        if self.meter is None or meter.displayed != self.meter.displayed:
            self._odometer = Odometer(self._start_of_climb(meter.displayed, now), meter.displayed, now)
        self.meter = meter
        if live:
            self._version = meter.version
            self._heard_at = now

    def _start_of_climb(self, goal: Amount, now: float) -> Amount:
        """After a win, or a gap in which no one vouched for a figure, the new amount is shown at once."""
        if self._odometer is None or self._heard_at is None or now - self._heard_at > CLIMB_WITHIN_SECONDS:
            return goal
        shown = self._odometer.at(now)
        return shown if shown.currency == goal.currency and shown.cents < goal.cents else goal

    def take_status(self, state: str) -> None:
        """Versions grow while a link runs; a ledger that was restored goes on below what was shown before."""
        self._state = state
        self._version = 0
        if state != RUNNING:
            self._heard_at = None

    def take_award(self, award: Award, now: float, wall_clock: datetime) -> None:
        if award.award in self._seen:
            return
        self._seen.append(award.award)
        # Fixed awards come every few minutes and leave the meter as it is: the board stays the meter's.
        if award.kind != "percentage" or abs(wall_clock - self._ahead - award.at) > ANNOUNCE_WITHIN:
            return
        self._turns = tuple(turn for turn in self._turns if turn.until > now)
        if len(self._turns) < WAITING_WINS_MAX:
            since = max([now, *(turn.until for turn in self._turns)])
            self._turns += (Turn(award.win, since, since + self._win_seconds),)

    @property
    def clock_fault(self) -> str | None:
        """What boards were told when is kept by a clock that nobody else has."""
        if abs(self._ahead) <= CLOCK_OFF:
            return None
        way = "ahead of" if self._ahead > timedelta(0) else "behind"
        return f"this machine's clock is {abs(self._ahead).total_seconds():.0f} s {way} the controller's"

    def face(self, now: float, stale_seconds: float, *, climbs: bool = True) -> Face:
        """A figure that climbs is on its way to the last committed amount; one that does not is there at once."""
        for turn in self._turns:
            if turn.since <= now < turn.until:
                return turn.win
        if self._state is None:
            return Dashes("the link's status is unknown")
        if self._state != RUNNING:
            return Dashes(f"the link is {self._state}")
        if self.meter is None or self._odometer is None or self._heard_at is None:
            return Dashes("no meter yet")
        if now >= self._heard_at + stale_seconds:
            return Dashes(f"no meter for {stale_seconds:g} s")
        return self.meter.pending or (self._odometer.at(now) if climbs else self._odometer.goal)

    def next_change(self, now: float, stale_seconds: float) -> float:
        """When the face may change though nothing new is heard."""
        moments = [moment for turn in self._turns for moment in (turn.since, turn.until)]
        if self._heard_at is not None:
            moments.append(self._heard_at + stale_seconds)
        if self._odometer is not None:
            moments.append(self._odometer.next_step(now))
        return min((moment for moment in moments if moment > now), default=float("inf"))
