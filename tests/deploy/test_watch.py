"""Who watches is watched with the site's own files: PostgreSQL tells how it is, and a page reaches somebody."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from deploy.rehearsal.runbook import blocks
from tests.brokers import free_port
from tests.deploy.installed import DEPLOY, replaced
from tests.deploy.server import Server, needs_debians_postgresql, running_server
from tests.deploy.test_files import tool
from tests.waiting import patience_s

FOLDER = DEPLOY / "prometheus"


def eventually(found: Callable[[], bool], within_s: float = 60.0) -> None:
    deadline = time.monotonic() + patience_s(within_s)
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def settings(name: str, changes: Mapping[str, str]) -> dict[str, str]:
    """What a file of /etc/default gives the program."""
    text = replaced((FOLDER / f"default/{name}").read_text(), dict(changes))
    return dict(re.findall(r'^([A-Z_]+)="(.*)"$', text, re.MULTILINE))


@contextmanager
def runs(
    *argv: str, folder: Path, log: Path | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    with (log or folder / f"{Path(argv[0]).name}.log").open("wb") as said:
        process = subprocess.Popen(argv, cwd=folder, stdout=said, stderr=said, env=os.environ | dict(environment or {}))
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


@needs_debians_postgresql
@pytest.mark.timeout(900)
def test_postgresql_tells_how_it_is_in_the_role_for_that(server: Server, tmp_path: Path) -> None:
    password, at = tmp_path / "metrics.password", f"127.0.0.1:{free_port()}"
    password.write_text(server.passwords["metrics"] + "\n")
    changes = {
        "127.0.0.1:5432": f"127.0.0.1:{server.port}",
        "/etc/jackpot/servers.crt": str(server.ca),
        "/etc/prometheus/jackpot-metrics.password": str(password),
        "127.0.0.1:9187": at,
    }
    given = settings("prometheus-postgres-exporter", changes)
    program = tool("prometheus-postgres-exporter")

    def series() -> dict[str, float]:
        with suppress(OSError), urllib.request.urlopen(f"http://{at}/metrics", timeout=5) as answer:
            found = re.findall(r"^(pg_\w+)\S* (\S+)$", answer.read().decode(), re.MULTILINE)
            return {name: float(value) for name, value in found}
        return {}

    wanted = set(re.findall(r"\bpg_\w+", (FOLDER / "alerts.yml").read_text()))
    assert wanted == {"pg_up", "pg_stat_archiver_failed_count", "pg_stat_archiver_last_archive_age"}

    def all_is_told() -> bool:
        """PostgreSQL notes that a piece was kept some time after it was; before, the age is no number."""
        told = series()
        return wanted <= told.keys() and told["pg_stat_archiver_last_archive_age"] < 600

    with runs(program, *given["ARGS"].split(), folder=tmp_path, environment=given):
        eventually(lambda: series().get("pg_up") == 1)
        server.archive()
        eventually(all_is_told)


@pytest.mark.timeout(900)
def test_a_page_reaches_somebody(tmp_path: Path) -> None:
    """A daemon that is gone, and the alert of the first install's last step."""
    prometheus, alertmanager = tool("prometheus"), tool("prometheus-alertmanager")
    watches, tells = (f"127.0.0.1:{free_port()}" for _ in range(2))
    with ExitStack() as stack:
        post, mails = f"127.0.0.1:{free_port()}", tmp_path / "mails"
        argv = (sys.executable, str(DEPLOY / "rehearsal/mails.py"), post.rpartition(":")[2])
        stack.enter_context(runs(*argv, folder=tmp_path, log=mails))
        whom = replaced(
            (FOLDER / "alertmanager.yml").read_text(),
            {"127.0.0.1:25": post, "group_wait: 10s": "group_wait: 0s"},
        )
        (tmp_path / "alertmanager.yml").write_text(whom)
        given = settings("prometheus-alertmanager", {"127.0.0.1:9093": tells})["ARGS"].split()
        own = ("--config.file=alertmanager.yml", "--storage.path=kept")
        stack.enter_context(runs(alertmanager, *given, *own, folder=tmp_path))

        what = (FOLDER / "prometheus.yml").read_text()
        faster = {"scrape_interval: 10s": "scrape_interval: 1s", "evaluation_interval: 10s": "evaluation_interval: 1s"}
        nobody = {"127.0.0.1:8080": f"127.0.0.1:{free_port()}", "127.0.0.1:9093": tells}
        (tmp_path / "prometheus.yml").write_text(replaced(what, faster | nobody))
        (tmp_path / "alerts.yml").write_text((FOLDER / "alerts.yml").read_text().replace("for: 1m", "for: 1s"))
        given = settings("prometheus", {"127.0.0.1:9090": watches})["ARGS"].split()
        own = ("--config.file=prometheus.yml", "--storage.tsdb.path=data")
        stack.enter_context(runs(prometheus, *given, *own, folder=tmp_path))

        def told(words: str) -> bool:
            return words in mails.read_text()

        eventually(lambda: told("Subject: FIRING DaemonGone: daemon-gone.md"))
        (typed,) = (block for block in blocks("first-install.md") if "amtool" in block and "alert add" in block)
        places = {"127.0.0.1:9093": tells, "127.0.0.1:9090": watches, "/etc/prometheus": str(tmp_path)}
        script = f"editor() {{ :; }}\nsystemctl() {{ :; }}\nsleep() {{ :; }}\n{replaced(typed, places)}"
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        eventually(lambda: told("Rehearsal: first-install.md"))
        assert told("To: shift@casino.example")
