"""The files of `deploy/` are what they claim to be: read by the programs they are for, and true to the code."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client import Counter, Gauge, Histogram

from jackpot import config, metrics
from jackpot.config import Config
from jackpot.errors import UserError
from tests.deploy.installed import DEPLOY

EXPOSURE_MAX = 2.0
SERVICES = sorted(path.name for path in (DEPLOY / "systemd").glob("*.service"))
SCRIPTS = sorted(str(path.relative_to(DEPLOY)) for path in DEPLOY.rglob("*.sh"))


def tool(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/bin:/usr/local/bin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(*argv: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=cwd)


# -- configuration -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["jackpot.toml", "migrate.toml", "boards.toml"])
def test_an_example_configuration_loads(name: str) -> None:
    config.load(DEPLOY / name, environment={})


def test_an_amount_that_no_ledger_could_hold_is_told_by_its_name(tmp_path: Path) -> None:
    text = (DEPLOY / "jackpot.toml").read_text()
    (tmp_path / "jackpot.toml").write_text(re.sub(r"(?m)^reset_cents = .*", f"reset_cents = {10**15}", text))
    with pytest.raises(UserError, match="links: megalink: reset_cents must be 0 to 10000000000000"):
        config.load(tmp_path / "jackpot.toml", environment={})


def keys_of(kind: Any) -> set[str]:
    """Every key of the configuration, as `section.key`."""
    found = set()
    for section in msgspec.structs.fields(kind):
        inner = section.type
        if getattr(inner, "__origin__", None) is tuple:
            inner = inner.__args__[0]
        found |= {f"{section.name}.{key.encode_name}" for key in msgspec.structs.fields(inner)}
    return found


def test_the_example_explains_every_key_there_is() -> None:
    text = (DEPLOY / "jackpot.toml").read_text()
    uncommented = re.sub(r"^# ([a-z_]+ = )", r"\1", text, flags=re.MULTILINE)
    named = {
        f"{section}.{key}"
        for section, content in tomllib.loads(uncommented).items()
        for part in (content if isinstance(content, list) else [content])
        for key in part
    }
    assert named == keys_of(Config)


def test_no_example_holds_a_secret() -> None:
    for path in DEPLOY.glob("*.toml"):
        assert not re.search(r"://[^/\"@]*:[^/\"@]*@", path.read_text()), path
        assert not re.search(r"^(password|secret|key)\s*=\s*\"(?!/)", path.read_text(), re.MULTILINE), path


# -- systemd -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with systemd's own units, ours, and the programs that they start."""
    root = tmp_path_factory.mktemp("root")
    shutil.copytree("/usr/lib/systemd/system", root / "usr/lib/systemd/system", symlinks=True)
    (root / "etc/systemd/system").mkdir(parents=True)
    for program in (
        "opt/jackpot/bin/jackpot",
        "usr/lib/jackpot/backup.sh",
        "usr/lib/jackpot/backup-site.sh",
        "usr/sbin/mosquitto",
        "bin/mkdir",
        "bin/chown",
        "bin/kill",
    ):
        (root / program).parent.mkdir(parents=True, exist_ok=True)
        (root / program).write_text("#!/bin/sh\n")
        (root / program).chmod(0o755)
    for unit in (DEPLOY / "systemd").iterdir():
        shutil.copy(unit, root / "etc/systemd/system")
    (root / "etc/systemd/system/mosquitto.service.d").mkdir()
    shutil.copy(DEPLOY / "mosquitto/service.conf", root / "etc/systemd/system/mosquitto.service.d/jackpot.conf")
    return root


def test_the_units_pass_systemds_own_check(machine: Path) -> None:
    units = sorted(path.name for path in (DEPLOY / "systemd").iterdir())
    checked = run(tool("systemd-analyze"), "verify", f"--root={machine}", *units, "mosquitto.service")
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_hardly_exposed(name: str) -> None:
    checked = run(tool("systemd-analyze"), "security", "--offline=true", "--no-pager", DEPLOY / "systemd" / name)
    exposure = re.search(r"Overall exposure level for .*: ([0-9.]+)", checked.stdout)
    assert exposure is not None, checked
    assert float(exposure[1]) <= EXPOSURE_MAX


@pytest.mark.parametrize("name", ["jackpot.service", "jackpot-signs.service", "jackpot-broker-log.service"])
def test_a_daemon_is_watched(name: str) -> None:
    text = (DEPLOY / "systemd" / name).read_text()
    assert "Type=notify\n" in text
    assert re.search(r"^WatchdogSec=\d+$", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["jackpot.service", "jackpot-signs.service"])
def test_the_drivers_of_boards_are_there_before_their_devices_are_allowed(name: str) -> None:
    """`char-ttyUSB` is looked up when the unit starts, and nothing is allowed by a name that no driver has yet."""
    text = (DEPLOY / "systemd" / name).read_text()
    drivers = {"char-ttyS": None, "char-ttyUSB": "usbserial", "char-ttyACM": "cdc_acm"}
    assert set(re.findall(r"^DeviceAllow=(\S+)", text, re.MULTILINE)) == drivers.keys()
    for relation in ("Wants", "After"):
        named = " ".join(re.findall(rf"^{relation}=(.*)$", text, re.MULTILINE)).split()
        assert {f"modprobe@{driver}.service" for driver in drivers.values() if driver} <= set(named)


@pytest.mark.parametrize("name", sorted(path.name for path in (DEPLOY / "systemd").iterdir()))
def test_what_a_unit_names_as_its_documentation_is_in_the_release(name: str) -> None:
    for place in re.findall(r"^Documentation=(.*)$", (DEPLOY / "systemd" / name).read_text(), re.MULTILINE):
        assert (DEPLOY / place.removeprefix("file:///opt/jackpot/share/deploy/")).is_file(), place


# -- what watches --------------------------------------------------------------------------------------------------


def series() -> set[str]:
    """Every series that the program exposes, as Prometheus names it."""
    found = {"up", "ALERTS", "jackpot_backup_finished_timestamp_seconds"}  # which backup.sh tells
    for metric in vars(metrics).values():
        name = getattr(metric, "_name", "")
        match metric:
            case Counter():
                found.add(f"{name}_total")
            case Gauge():
                found.add(name)
            case Histogram():
                found |= {f"{name}_bucket", f"{name}_sum", f"{name}_count"}
    return found


def used(text: str) -> set[str]:
    return set(re.findall(r"\bjackpot_[a-z_]+", text))


def test_every_series_of_the_dashboard_and_the_alerts_exists() -> None:
    dashboard = json.loads((DEPLOY / "grafana/jackpot.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(expressions) > 15
    shown = used(" ".join(expressions))
    assert shown <= series()
    assert used((DEPLOY / "prometheus/alerts.yml").read_text()) <= series()
    assert used((DEPLOY / "prometheus/alerts_test.yml").read_text()) <= series()
    assert {name for name in series() if name.startswith("jackpot_")} - shown == {
        f"jackpot_commit_seconds_{part}" for part in ("sum", "count")
    } | {"jackpot_batch_events_bucket", "jackpot_backup_finished_timestamp_seconds"}, "a series that nobody looks at"


def test_every_alert_names_a_runbook_that_is_there() -> None:
    runbooks = re.findall(r"runbook: (\S+)", (DEPLOY / "prometheus/alerts.yml").read_text())
    assert len(runbooks) == (DEPLOY / "prometheus/alerts.yml").read_text().count("- alert:")
    assert {name for name in runbooks if not (DEPLOY / "runbooks" / name).is_file()} == set()


def test_prometheus_takes_its_configuration_and_the_alerts_fire_when_they_should() -> None:
    promtool, folder = tool("promtool"), DEPLOY / "prometheus"
    for argv in (("check", "config", "prometheus.yml"), ("test", "rules", "alerts_test.yml")):
        checked = run(promtool, *argv, cwd=folder)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_alertmanager_takes_its_configuration() -> None:
    checked = run(tool("amtool"), "check-config", DEPLOY / "prometheus/alertmanager.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr


# -- the rest ------------------------------------------------------------------------------------------------------


def test_logrotate_takes_its_configuration(tmp_path: Path) -> None:
    text = (DEPLOY / "logrotate/jackpot").read_text().replace("    su jackpot jackpot\n", "")
    (tmp_path / "jackpot").write_text(text.replace("/var/lib/jackpot", str(tmp_path)))
    (tmp_path / "heads.jsonl").write_text("{}\n")
    (tmp_path / "jackpot").chmod(0o644)
    turned = run(tool("logrotate"), "--force", "--state", tmp_path / "state", tmp_path / "jackpot")
    assert (turned.returncode, turned.stderr) == (0, "")
    assert not (tmp_path / "heads.jsonl").exists()
    assert len(list(tmp_path.glob("heads.jsonl-20????"))) == 1


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_sound(name: str) -> None:
    script = DEPLOY / name
    assert script.stat().st_mode & 0o111, "it can be run"
    checked = run(tool("shellcheck"), script)
    assert checked.returncode == 0, checked.stdout


def test_what_compose_mounts_is_made_by_its_preparation(tmp_path: Path) -> None:
    shutil.copytree(DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns("site", ".env"))
    jackpot = tmp_path / "jackpot"
    names = "[COMMANDS.setdefault(name, name) for name in ('pki', 'heads')]"
    jackpot.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from jackpot.cli import COMMANDS, main; {names}; main()" "$@"\n'
    )
    jackpot.chmod(0o755)
    folder = tmp_path / "deploy/compose"
    argv = [str(folder / "prepare.sh"), "Test", "jackpot.example"]
    prepared = subprocess.run(
        argv, env=os.environ | {"JACKPOT": str(jackpot)}, capture_output=True, text=True, check=False
    )
    assert prepared.returncode == 0, prepared.stderr
    mounted = re.findall(r'[- "](\.{1,2}/[^:"]+):/', (folder / "compose.yaml").read_text())
    assert len(mounted) > 10
    assert [path for path in mounted if not (folder / path).exists()] == []
    for name in ("jackpot/jackpot", "schema/migrate"):
        config.load(folder / f"site/{name}.toml", environment={})
    named = set(re.findall(r'"/etc/jackpot/([^"&]+)"', (folder / "site/jackpot/jackpot.toml").read_text()))
    assert {name for name in named if not (folder / "site/jackpot" / name).exists()} == {"secrets/mqtt.password"}
    closed = [path for pattern in ("*.key", "*.password", "*.pgpass") for path in (folder / "site").rglob(pattern)]
    assert {path.stat().st_mode & 0o077 for path in closed} == {0}
    secrets = folder / "site/schema/secrets"
    passwords = {path.stem: path.read_text().strip() for path in (folder / "site/passwords").iterdir()}
    assert (secrets / "migrate.pgpass").read_text() == f"db:5432:jackpot:jackpot_migrate:{passwords['migrate']}\n"
    known = {service: knows(folder, service, passwords) for service in SERVICES_OF_COMPOSE}
    assert known == {
        "db": set(),
        "schema": {"migrate"},
        "grants": {"migrate"},
        "broker": set(),
        "broker-log": set(),
        "daemon": {"settle", "console"},
    }


COMPOSE = (DEPLOY / "compose/compose.yaml").read_text().partition("\nservices:\n")[2].partition("\nvolumes:\n")[0]
SERVICES_OF_COMPOSE = dict(re.findall(r"^  (\S+):\n((?:(?: {4}.*)?\n)+)", COMPOSE + "\n", re.MULTILINE))


def knows(folder: Path, service: str, passwords: dict[str, str]) -> set[str]:
    """Whose passwords stand in what the service's container is given."""
    mounted = [folder / path for path in re.findall(r"(\./site[^:]*):/", SERVICES_OF_COMPOSE[service])]
    files = [file for path in mounted for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    told = "".join(file.read_text() for file in files)
    return {role for role, password in passwords.items() if password in told}


def test_the_database_of_compose_finds_what_its_settings_name() -> None:
    text = (DEPLOY / "compose/compose.yaml").read_text()
    there = re.findall(r"\S+:(/[^:\s]+):ro$|install -o postgres -m 400 \S+ (/\S+)$", text, re.MULTILINE)
    places = [mounted or made for mounted, made in there]
    settings = (DEPLOY / "postgresql/jackpot.conf").read_text()
    named = re.findall(r"^[a-z_]+ = '(/[^' ]+)", settings, re.MULTILINE)
    assert len(named) == 3
    assert [path for path in named if not any(path == place or path.startswith(f"{place}/") for place in places)] == []
    (included,) = re.findall(r"include '([^']+)'", (DEPLOY / "compose/first-start.sh").read_text())
    assert included in places


def test_no_password_stands_in_an_environment() -> None:
    files = [
        path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix in {".sh", ".yaml", ".yml", ".service"}
    ]
    assert [path for path in files if "PGPASSWORD" in path.read_text()] == []
