"""The gaming day of a moment: it starts at a local hour and has the date of its start."""

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class GamingDay:
    timezone: ZoneInfo
    starts_at: dt.time

    @classmethod
    def of(cls, timezone: str, starts_at: str) -> "GamingDay":
        return cls(ZoneInfo(timezone), dt.time.fromisoformat(starts_at))

    def day(self, at: dt.datetime) -> dt.date:
        day = at.astimezone(self.timezone).date()
        while at < self.start(day):  # once at most, but where a zone skipped a whole date
            day -= dt.timedelta(days=1)
        return day

    def start(self, day: dt.date) -> dt.datetime:
        """When the day begins, in UTC.

        A starting hour that the clocks skip counts as if they had not been changed yet; of one that comes twice the
        first counts. So every moment belongs to exactly one day, whether it has 23, 24 or 25 hours.
        """
        return dt.datetime.combine(day, self.starts_at, self.timezone).astimezone(dt.UTC)

    def end(self, day: dt.date) -> dt.datetime:
        return self.start(day + dt.timedelta(days=1))
