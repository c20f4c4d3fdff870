"""The files of `deploy/` as a site has them: the very files, with places, names and ports of the test in them."""

import datetime as dt
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jackpot.mqtt.broker import Broker
from jackpot.pki import Kind, Site, doors
from tests import brokers
from tests.servers import ROOT
from tests.waiting import patience_s

DEPLOY = ROOT / "deploy"
DOORS = {Kind.TABLE: 8883, Kind.BOARD: 8884, Kind.CONTROLLER: 8885}
DAYS = 30
LINKS = ("megalink", "megalink-2")


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def replaced(text: str, changes: dict[str, str]) -> str:
    """Each of these stands in the file: one that does not would test another file than the site's."""
    for old, new in changes.items():
        assert old in text, f"{old} is not in the file any more"
        text = text.replace(old, new)
    return text


@dataclass(frozen=True, slots=True)
class Pki:
    """The site's certificates, and where the broker's doors are."""

    site: Site
    ports: dict[Kind, int]

    def issue(self, kind: Kind, name: str) -> None:
        self.site.issue(kind, name, now(), DAYS)

    def populate(self) -> None:
        self.site.issue(Kind.SERVER, "broker", now(), DAYS, ["127.0.0.1"])
        for name in ("UTH-01", "UTH-02", "BE-01"):
            self.issue(Kind.TABLE, name)
        self.issue(Kind.BOARD, "pit-2")
        self.issue(Kind.CONTROLLER, "control-1")

    def files(self, kind: Kind, name: str) -> tuple[str, str]:
        certificate, key = self.site.authorities[kind].pair(name)
        return str(certificate), str(key)

    @property
    def ca(self) -> str:
        return str(self.site.authorities[Kind.SERVER].certificate_file)

    def broker(self, kind: Kind, name: str | None, *, door: Kind | None = None) -> Broker:
        """The broker as this holder sees it, at its own door or at another's; without a name, without a certificate."""
        certificate, key = (None, None) if name is None else self.files(kind, name)
        return Broker.from_url(f"mqtts://127.0.0.1:{self.ports[door or kind]}", ca=self.ca, cert=certificate, key=key)


def make_pki(folder: Path) -> Pki:
    site = Site(folder)
    site.create("Test", now())
    pki = Pki(site, {kind: brokers.free_port() for kind in DOORS})
    pki.populate()
    return pki


class Mosquitto:
    """The broker with the site's configuration. It keeps its ports and data when it is started again."""

    def __init__(self, folder: Path, pki: Pki, links: Sequence[str] = LINKS) -> None:
        self.folder, self.pki, self._links = folder, pki, links
        self._process: subprocess.Popen[bytes] | None = None
        for place in ("data", "log"):
            (folder / place).mkdir(parents=True)
        places = {
            "/etc/mosquitto/jackpot/": f"{folder}/",
            "/var/lib/mosquitto/": f"{folder}/data/",
            "/var/log/mosquitto/": f"{folder}/log/",
        }
        listeners = {f"listener {port}\n": f"listener {pki.ports[kind]} 127.0.0.1\n" for kind, port in DOORS.items()}
        text = replaced((DEPLOY / "mosquitto/mosquitto.conf").read_text(), places | listeners)
        # As root it would become another user, who may not read the test's directory.
        self.config.write_text(text + ("user root\n" if os.geteuid() == 0 else ""))

    @property
    def config(self) -> Path:
        return self.folder / "mosquitto.conf"

    def carry(self) -> None:
        """Certificates and lists of the authorities to the broker's machine."""
        for kind, authority in self.pki.site.authorities.items():
            if kind in DOORS:
                shutil.copy(authority.certificate_file, self.folder / f"{kind}s.crt")
                shutil.copy(authority.revoked_file, self.folder / f"{kind}s.crl")
                shutil.copy(DEPLOY / f"mosquitto/{kind}s.acl", self.folder)
        (self.folder / "tables.acl").write_text(doors.tables_list(self._links))
        certificate, key = self.pki.files(Kind.SERVER, "broker")
        shutil.copy(certificate, self.folder / "broker.crt")
        shutil.copy(key, self.folder / "broker.key")

    def start(self, *, carry: bool = True) -> None:
        if carry:
            self.carry()
        program = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin")
        assert program is not None, "mosquitto is not installed: run `make setup`"
        said = self.folder / "mosquitto.log"
        with said.open("ab") as output:
            self._process = subprocess.Popen([program, "-c", self.config], stdout=output, stderr=output)
        for port in self.pki.ports.values():
            brokers._wait_for(self._process, said, port)

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(patience_s(20))

    def log(self) -> str:
        """All that it said, and that nobody has taken."""
        return (self.folder / "log/packets.log").read_text(errors="replace")


@contextmanager
def mosquitto(folder: Path, pki: Pki) -> Iterator[Mosquitto]:
    broker = Mosquitto(folder, pki)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def keep_secret(folder: Path) -> None:
    """As the install leaves them: for the daemon alone."""
    for path in folder.iterdir():
        path.chmod(0o400)


def daemon_configuration(folder: Path, pki: Pki, urls: dict[str, str], listen: str) -> str:
    """`deploy/jackpot.toml` with what belongs to this test. `urls` are those of the roles settle and console."""
    text = (DEPLOY / "jackpot.toml").read_text()
    for role, url in urls.items():
        text, count = re.subn(rf'"postgresql://jackpot_{role}@[^"]*"', f'"{url}"', text)
        assert count == 1, role
    return replaced(
        text,
        {
            "mqtts://broker.jackpot.example:8885": f"mqtts://127.0.0.1:{pki.ports[Kind.CONTROLLER]}",
            '"127.0.0.1:8080"': f'"{listen}"',
            "/etc/jackpot/": f"{folder}/",
            "/var/lib/jackpot": f"{folder}/lib",
        },
    )
