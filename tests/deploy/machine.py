"""A site on one machine, and a terminal on it: what a runbook says is typed there as it stands.

Changed are the places (the test's own directories and ports), and these programs, because no systemd runs here:
`systemctl` and `pg_ctlcluster` start, stop and promote the very processes; a daemon that was started is waited for until it
leads. `journalctl` shows the programs' logs. `setpriv` becomes PostgreSQL's account, but stays who we are in place of
`jackpot`, whom `chown` does not know either. `editor` is what the test does itself, and of `install.sh` its part `schema`:
the rest is typed by `deploy/rehearse-install.sh`.
"""

import datetime as dt
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from threading import Thread

from deploy.rehearsal.runbook import typed
from jackpot.contract.gaming_day import GamingDay
from jackpot.ledger.heads import form
from jackpot.pki import Kind
from tests import brokers
from tests.acceptance import processes
from tests.acceptance.processes import Daemon
from tests.deploy import installed
from tests.deploy.installed import DOORS, Mosquitto, Pki
from tests.deploy.server import Server, running_server
from tests.servers import ROOT
from tests.waiting import patience_s

LINK, OTHER_LINK = "megalink", "megalink-2"
TABLES = ("UTH-01", "UTH-02", "BE-01")
SECRETS = {"settle", "console", "audit", "replica"}
BESIDE = {
    "jackpot-site-backup.service",
    "jackpot-broker-log",
    "prometheus-node-exporter",
    "prometheus-postgres-exporter",
}
"""What these do has tests of its own."""
NOTHING: Mapping[str, str | Path] = {}

PROGRAMS = """
asked() { echo "$*" >&$ASK; read -r answer <&$ASK; [ "$answer" = done ] || { echo "$answer"; return 1; }; }
systemctl() { asked systemctl "$@"; }
pg_ctlcluster() { asked pg_ctlcluster "$@"; }
journalctl() { tail -n 20 "$LOGS"/*.log; }
chown() { [ "$1" != postgres: ] || command chown "$POSTGRES" "${@:2}"; }
editor() { :; }
deploy/install.sh() {
  [[ " $* " != *" schema "* ]] || {
    /opt/jackpot/bin/jackpot migrate --config /etc/jackpot/migrate.toml
    { echo 'SET ROLE jackpot_owner;'; cat deploy/postgresql/grants.sql; } \
      | setpriv --reuid=postgres psql -X -v ON_ERROR_STOP=1 jackpot
  }
}
setpriv() {
  local who=
  while [[ $1 == --* ]]; do [[ $1 != --reuid=postgres ]] || who=postgres; shift; done
  if [ -z "$who" ]; then "$@"; else (cd / && "${AS_POSTGRES[@]}" "$@"); fi
}
"""


class Failed(Exception):
    """A typed command did; with all that was printed."""


class Machine:
    def __init__(self, folder: Path, server: Server, pki: Pki, broker: Mosquitto) -> None:
        self.folder, self.server, self.pki, self.broker = folder, server, pki, broker
        self.etc, self.lib = folder / "etc", folder / "etc/lib"
        self.daemon = self._install()
        self.agent: Daemon | None = None
        # A server ends with the thread that started it: one for as long as the machine is there.
        self._hands = ThreadPoolExecutor(1)
        self.today = GamingDay.of("Asia/Singapore", "06:00").day(installed.now())

    def _install(self) -> Daemon:
        (self.etc / "secrets").mkdir(parents=True)
        certificate, key = self.pki.files(Kind.CONTROLLER, "control-1")
        shutil.copy(self.pki.ca, self.etc / "servers.crt")
        shutil.copy(certificate, self.etc / "controller.crt")
        shutil.copy(key, self.etc / "secrets/controller.key")
        for role in SECRETS:
            (self.etc / f"secrets/{role}.password").write_text(self.server.passwords[role] + "\n")
        processes.run("pki", "event-key", self.etc / "secrets/UTH-01.event-key")
        processes.run("user", "new-key", self.etc / "secrets/people.key")
        private, public = form.new_key()
        (self.etc / "secrets/heads.key").write_bytes(private)
        (self.etc / "heads.pub").write_bytes(public)
        installed.keep_secret(self.etc / "secrets")
        shutil.copy(self.server.folder / "migrate.toml", self.etc)
        urls = {role: self.url(role) for role in ("settle", "console")}
        text = installed.daemon_configuration(self.etc, self.pki, urls, f"127.0.0.1:{brokers.free_port()}")
        floor, found, _ = text.partition("# -- boards that")
        assert found, "no board is plugged in here"
        other = processes.link(OTHER_LINK)
        return Daemon(self.etc, floor + other, name="jackpot")

    def url(self, role: str) -> str:
        query = f"sslmode=verify-full&sslrootcert={self.etc}/servers.crt"
        return f"postgresql://jackpot_{role}@127.0.0.1:{self.server.port}/jackpot?{query}"

    def with_database(self, server: Server) -> "Machine":
        """The machine where this server is."""
        other = copy(self)
        other.server = server
        return other

    @property
    def event_key(self) -> bytes:
        return bytes.fromhex((self.etc / "secrets/UTH-01.event-key").read_text())

    @property
    def people_key(self) -> bytes:
        return bytes.fromhex((self.etc / "secrets/people.key").read_text())

    # -- the terminal -----------------------------------------------------------------------------------------------

    def here(self, text: str, filled_in: Mapping[str, str | Path] = NOTHING) -> str:
        """The text with this machine's places in it, and what an operator fills in."""
        places = {
            "/etc/jackpot/": f"{self.etc}/",
            "/var/lib/jackpot": self.lib,
            "/opt/jackpot/bin/jackpot": processes.JACKPOT,
            "/opt/jackpot-0.2.0/bin/jackpot": processes.JACKPOT,
            "/opt/": f"{self.folder}/",
            "/root/jackpot-pki": self.pki.site.folder,
            "/etc/mosquitto/jackpot/": f"{self.broker.folder}/",
            "/var/lib/mosquitto": self.broker.folder / "data",
            "/etc/postgresql/jackpot": self.server.folder / "server",
            "/var/lib/postgresql/15/main": self.server.data,
            "/var/lib/postgresql": self.server.data.parent,
            "/usr/lib/jackpot": self.server.folder / "lib",
            "/var/backups/jackpot": self.server.backups,
            "jackpot.example:5432": f"127.0.0.1:{self.server.port}",
            "2026-11-16": self.today.isoformat(),
            "2026-11-15": (self.today - dt.timedelta(days=1)).isoformat(),
            **filled_in,
        }
        longest_first = sorted(places, key=len, reverse=True)
        return re.sub("|".join(map(re.escape, longest_first)), lambda found: str(places[found[0]]), text)

    def types(self, block: str, filled_in: Mapping[str, str | Path] = NOTHING, cwd: Path = ROOT) -> str:
        """What was printed; raises if a command failed."""
        ours, theirs = socket.socketpair()
        as_postgres = ["env", "-i", *(f"{name}={value}" for name, value in self.server.environment.items())]
        as_postgres += self.server.account.command()
        script = f"AS_POSTGRES=({shlex.join(as_postgres)})\n{self.here(PROGRAMS + typed(block), filled_in)}"
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=cwd,
            env=processes.environment()
            | {
                "ASK": str(theirs.fileno()),
                "POSTGRES": f"{self.server.account.uid}:{self.server.account.gid}",
                "LOGS": str(self.etc),
                "PATH": f"{processes.JACKPOT.parent}:{os.environ['PATH']}",
                "COLUMNS": "200",
            },
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        theirs.close()
        doing = Thread(target=self._do_what_is_asked, args=(ours,))
        doing.start()
        try:
            with process:
                try:
                    printed, _ = process.communicate(timeout=patience_s(120))
                finally:
                    if process.poll() is None:
                        os.killpg(process.pid, signal.SIGKILL)  # with what was typed, and hangs
        finally:
            doing.join()
        if process.returncode != 0:
            raise Failed(f"{block}\n{printed}")
        return printed

    def _do_what_is_asked(self, line: socket.socket) -> None:
        with line, line.makefile("rw") as asked:
            for words in asked:
                try:
                    self._hands.submit(self._do, *words.split()).result()
                    answer = "done"
                except Exception as error:
                    answer = f"failed: {error}"
                asked.write(answer + "\n")
                asked.flush()

    def _do(self, program: str, verb: str, *names: str) -> None:
        if program == "pg_ctlcluster":
            assert names == ("main", "promote"), names
            self.server.run("pg_ctl", "promote", "-w", "-D", self.server.data)
            return
        for name in names:
            if verb in ("stop", "restart"):
                self._stop(name)
            if verb in ("start", "restart", "enable") and not name.startswith("--"):
                self._start(name)

    def _stop(self, unit: str) -> None:
        match unit:
            case "jackpot":
                assert not self.daemon.runs or self.daemon.terminate() == 0
            case "jackpot-signs":
                assert self.agent is not None
                assert self.agent.terminate() == 0
            case "mosquitto":
                self.broker.stop()
            case "postgresql":
                self.server.stop()
            case _:
                assert unit in BESIDE, unit

    def _start(self, unit: str) -> None:
        match unit:
            case "jackpot":
                if not self.daemon.runs:
                    self.daemon.start()
                self.daemon.wait_ready()
            case "jackpot-signs":
                assert self.agent is not None
                self.agent.start()
            case "mosquitto":
                self.broker.start(carry=False)
            case "postgresql":
                self.server.start()
            case "jackpot-backup.service":
                self.server.run(self.server.folder / "lib/backup.sh")
            case _:
                assert unit in BESIDE, unit


@contextmanager
def machine(folder: Path) -> Iterator[Machine]:
    with running_server() as server:
        pki = Pki(server.authorities, {kind: brokers.free_port() for kind in DOORS})
        pki.populate()
        with installed.mosquitto(folder / "mosquitto", pki) as broker:
            made = Machine(folder, server, pki, broker)
            try:
                made.daemon.start()
                made.daemon.wait_ready()
                yield made
            finally:
                made.daemon.end()


def lose(server: Server) -> None:
    """Its machine is gone: no last word, nothing archived."""
    server.stop(signal.SIGQUIT)
