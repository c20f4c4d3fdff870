"""The configuration: one TOML file, three environment variables, and the only place that reads either.

An unknown key, a wrong type or an impossible value is an error that names the key.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from drivers.wiring import LineFormat, ProtocolName, Wiring, clashes
from jackpot.errors import UserError
from jackpot.link.parameters import Parameters, Reading
from jackpot.rules.megalink import ALL_GAMES, GAMES

STALE_SECONDS_MAX = 60

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]*)(:(?P<port>[0-9]{1,5}))?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_CHOICES = {
    "shared_straight_flush": tuple(Reading),
    "protocol": get_args(ProtocolName),
    "format": get_args(LineFormat),
}


class Database(Struct, frozen=True, forbid_unknown_fields=True):
    url: str | None = None
    """Absent: embedded."""
    password_file: Path | None = None
    console_url: str | None = None
    """The console's own role, and that of orders from the terminal; absent: `url`."""
    console_password_file: Path | None = None


class Mqtt(Struct, frozen=True, forbid_unknown_fields=True):
    url: str | None = None
    """Absent: embedded. mqtt:// or, with `ca`, `cert` and `key`, mqtts://."""
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    username: str | None = None
    password_file: Path | None = None


class Http(Struct, frozen=True, forbid_unknown_fields=True):
    listen: str = "127.0.0.1:8080"
    trusted_proxies: tuple[str, ...] = ()
    """Whose word is taken for where a visitor comes from; absent: nobody's."""

    @property
    def host(self) -> str:
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.listen.rpartition(":")[2])


class GamingDay(Struct, frozen=True, forbid_unknown_fields=True):
    timezone: str = "Asia/Singapore"
    starts_at: str = "06:00"


class Embedded(Struct, frozen=True, forbid_unknown_fields=True):
    data_dir: Path | None = None
    """Where embedded servers keep their data; absent: the user's data directory."""


class Heads(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the audit chain's heads go, and the key that signs them; absent: they stay in the ledger."""

    file: Path | None = None
    key_file: Path | None = None


class People(Struct, frozen=True, forbid_unknown_fields=True):
    key_file: Path | None = None
    """Seals accounts, sessions and orders; absent: they are not sealed."""


class Leases(Struct, frozen=True, forbid_unknown_fields=True):
    share: bool = False
    """Several daemons lead about as many links each. If not, the first leads all, and the others stand by."""


class Link(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: str
    currency: str = "SGD"
    unit_cents: int = 500
    increment_bp: int
    reserve_bp: int
    reset_cents: int
    shared_straight_flush: Reading = Reading.SUCCESSIVE
    ceiling_cents: int | None = None

    @property
    def parameters(self) -> Parameters:
        return Parameters(
            currency=self.currency,
            unit_cents=self.unit_cents,
            increment_bp=self.increment_bp,
            reserve_bp=self.reserve_bp,
            reset_cents=self.reset_cents,
            shared_straight_flush=self.shared_straight_flush,
            ceiling_cents=self.ceiling_cents,
        )


class Table(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: str
    link: str | None = None
    game: str
    positions_given: int | None = msgspec.field(default=None, name="positions")
    """Absent: as many as the game has."""
    key_file: Path | None = None
    """With it, the table's events must carry their proof (`mac`)."""

    @property
    def positions(self) -> int:
        return self.positions_max if self.positions_given is None else self.positions_given

    @property
    def positions_max(self) -> int:
        return GAMES[self.game].positions_max if self.game in GAMES else 7


class Sign(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: str
    link: str
    protocol: ProtocolName
    port: str
    baud: int = 9600
    address: str = "01"
    format: LineFormat | None = None
    """Absent: 7E1 for alpha, 8N1 for the others."""
    width: int | None = None
    """Characters or digits; absent: the protocol's usual board."""
    decimals: Literal[0, 2] = 2
    """0: whole units, cut and never rounded up."""
    answers: bool | None = None
    """Of an Alpha board: true, its silence is a fault from the first; false, it is not asked. Absent: found out."""
    stale_seconds: float = 5.0
    """So long without a meter, and the board shows dashes."""

    @property
    def wiring(self) -> Wiring:
        return Wiring(
            self.protocol,
            self.port,
            self.baud,
            self.address,
            self.format,
            self.width,
            self.decimals,
            answers=self.answers,
        )


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    database: Database = Database()
    mqtt: Mqtt = Mqtt()
    http: Http = Http()
    gaming_day: GamingDay = GamingDay()
    embedded: Embedded = Embedded()
    heads: Heads = Heads()
    people: People = People()
    leases: Leases = Leases()
    links: tuple[Link, ...] = ()
    tables: tuple[Table, ...] = ()
    signs: tuple[Sign, ...] = ()

    def tables_of(self, link: str) -> tuple[Table, ...]:
        return tuple(table for table in self.tables if table.link == link)


def load(path: Path, environment: Mapping[str, str] = os.environ) -> Config:
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; name a configuration file with --config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML: {error}") from error
    return read(document, str(path), environment)


def read(document: dict[str, Any], name: str, environment: Mapping[str, str] = os.environ) -> Config:
    for section, key, variable in (
        ("database", "url", "JACKPOT_DATABASE_URL"),
        ("mqtt", "url", "JACKPOT_MQTT_URL"),
        ("http", "listen", "JACKPOT_HTTP_LISTEN"),
    ):
        beside = document.get(section, {})
        if (value := environment.get(variable)) and isinstance(beside, dict):
            document = {**document, section: {**beside, key: value}}
    try:
        config = msgspec.convert(document, Config, dec_hook=_read_path)
    except msgspec.ValidationError as error:
        raise UserError(f"{name}: {_plain(str(error))}") from error
    found = list(_problems(config))
    if found:
        raise UserError(f"{name}: {'; '.join(found)}")
    return config


def systemd_settings(environment: Mapping[str, str] = os.environ) -> tuple[str | None, float | None]:
    """The notification socket and the watchdog period in seconds, if systemd started this process."""
    ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    usec = environment.get("WATCHDOG_USEC", "")
    watchdog_s = int(usec) / 1e6 if ours and usec.isdigit() and int(usec) > 0 else None
    return environment.get("NOTIFY_SOCKET"), watchdog_s


def _read_path(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str) and value:
        return Path(value)
    raise ValueError("Expected a path as text")


def _plain(message: str) -> str:
    """`Object contains unknown field `x` - at `$.links[0]`` in a reader's words."""
    what, _, where = message.partition(" - at `$.")
    what = what.replace("Object contains unknown field", "unknown key").replace("Object missing required", "missing")
    if what.startswith("Invalid enum value") and (choices := _CHOICES.get(where.rpartition(".")[2].rstrip("`"))):
        what = f"{what.replace('Invalid enum value', 'unknown value')} (use one of {', '.join(choices)})"
    return f"{what} in {where.rstrip('`')}" if where else what


def _problems(config: Config) -> list[str]:
    found: list[str] = []
    for kind, names, longest in (
        ("links", [link.id for link in config.links], 48),
        ("tables", [table.id for table in config.tables], 64),
        ("signs", [sign.id for sign in config.signs], 64),
    ):
        found += [f"{kind}: id {name!r} is given twice" for name in sorted({n for n in names if names.count(n) > 1})]
        found += [
            f"{kind}: id {name!r} must be 1 to {longest} letters, digits, '.', '_' or '-'"
            for name in names
            if not _NAME.match(name) or len(name) > longest
        ]
    links = {link.id for link in config.links}
    found += [f"links: {link.id}: {problem}" for link in config.links for problem in link.parameters.problems()]
    found += [
        f"signs: {sign.id}: link {sign.link!r} is not configured" for sign in config.signs if sign.link not in links
    ]
    found += [
        f"signs: {sign.id}: stale_seconds must be above 0 and at most {STALE_SECONDS_MAX}"
        for sign in config.signs
        if not 0 < sign.stale_seconds <= STALE_SECONDS_MAX  # so that nan is refused too
    ]
    found += _wiring_problems(config.signs)
    for table in config.tables:
        if table.game not in ALL_GAMES:
            found.append(f"tables: {table.id}: game {table.game!r} is none of {', '.join(ALL_GAMES)}")
        elif table.link is not None and table.link not in links:
            found.append(f"tables: {table.id}: link {table.link!r} is not configured")
        elif table.link is not None and table.game not in GAMES:
            found.append(f"tables: {table.id}: {table.game} has no progressive jackpot; leave out its link")
        elif not 1 <= table.positions <= table.positions_max:
            found.append(f"tables: {table.id}: positions must be 1 to {table.positions_max}")
    if (config.heads.file is None) != (config.heads.key_file is None):
        found.append("heads: file and key_file go together")
    found += _url_problems("database.url", config.database.url)
    found += _url_problems("database.console_url", config.database.console_url)
    return found + _day_problems(config.gaming_day) + _listen_problems(config.http)


def _wiring_problems(signs: tuple[Sign, ...]) -> list[str]:
    found, wirings = [], {}
    for sign in signs:
        try:
            wirings[sign.id] = sign.wiring.resolved()
        except ValueError as error:
            found.append(f"signs: {sign.id}: {error}")
    return found + [f"signs: {clash}" for clash in clashes(wirings)]


def _url_problems(key: str, url: str | None) -> list[str]:
    """What is wrong with it is not said: it may be a part of the password."""
    if url is None:
        return []
    looks_like = f"{key} must look like postgresql://jackpot@127.0.0.1:5432/jackpot"
    try:
        parts = urlsplit(url)
    except ValueError:
        return [looks_like]
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":
        return [f"{looks_like}; in a password write %2F for /, %3F for ?, %23 for # and %40 for @"]
    hosts = [_HOST.fullmatch(host) for host in parts.netloc.rpartition("@")[2].split(",")]
    good = all(host and int(host["port"] or 0) < 65536 for host in hosts)
    return [] if good and parts.scheme in ("postgresql", "postgres") else [looks_like]


def _day_problems(day: GamingDay) -> list[str]:
    found = []
    try:
        ZoneInfo(day.timezone)
    except (KeyError, ValueError, OSError):
        found.append(f"gaming_day.timezone: {day.timezone!r} is not a time zone such as Asia/Singapore")
    if not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", day.starts_at):
        found.append(f"gaming_day.starts_at: {day.starts_at!r} is not a time such as 06:00")
    return found


def _listen_problems(http: Http) -> list[str]:
    found = []
    if not is_address(http.listen):
        found.append(f"http.listen: {http.listen!r} is not an address such as 127.0.0.1:8080")
    for proxy in http.trusted_proxies:
        try:
            ip_network(proxy)
        except ValueError:
            found.append(f"http.trusted_proxies: {proxy!r} is no address or network such as 127.0.0.1 or 10.1.0.0/24")
    return found


def is_address(listen: str) -> bool:
    host, _, port = listen.rpartition(":")
    return host != "" and re.fullmatch("[0-9]{1,5}", port) is not None and int(port) < 65536
