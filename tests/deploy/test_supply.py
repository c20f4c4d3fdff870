"""What a release is made of: the same sources give the same bytes, and every package is named with its hashes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from deploy.rehearsal.runbook import TYPED
from tests.servers import ROOT

LOCK = (ROOT / "requirements.lock").read_text()
CLUSTER_LOCK = (ROOT / "deploy/cluster/requirements.lock").read_text()
ENTRY = re.compile(r"^([a-z0-9._-]+)==(\S+)", re.MULTILINE)


def bill(what: str) -> str:
    argv = [sys.executable, str(ROOT / "deploy/supply/bill.py"), what]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def requirements() -> str:
    return bill("requirements")


@pytest.mark.parametrize(("lock", "packages_min"), [(LOCK, 80), (CLUSTER_LOCK, 10)], ids=["program", "cluster"])
def test_every_package_of_a_lock_has_hashes(lock: str, packages_min: int) -> None:
    entries = re.split(r"^(?=[a-z0-9._-]+==)", lock, flags=re.MULTILINE)[1:]
    assert len(entries) > packages_min
    assert "://" not in lock
    assert [entry.split("==")[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_program_runs_with_a_part_of_the_lock_and_without_the_tools(requirements: str) -> None:
    runs_with = dict(ENTRY.findall(requirements))
    assert runs_with.items() <= dict(ENTRY.findall(LOCK)).items()
    assert {"asyncpg", "cryptography", "greenlet", "msgspec", "uvloop"} <= runs_with.keys()
    assert not runs_with.keys() & {"pytest", "mypy", "ruff", "playwright", "hypothesis", "pip-audit"}
    assert requirements.count("--hash=sha256:") >= len(runs_with)


def test_the_bill_of_materials_is_valid_and_names_what_is_installed(requirements: str) -> None:
    document = bill("sbom")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(document) is None
    assert {part["name"] for part in json.loads(document)["components"]} == dict(ENTRY.findall(requirements)).keys()
    assert document == bill("sbom")


def test_two_builds_of_the_wheel_are_equal(tmp_path: Path) -> None:
    wheels = []
    for number, zone in enumerate(("UTC", "Asia/Singapore")):
        environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000", "TZ": zone, "PYTHONHASHSEED": str(number)}
        argv = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / zone)]
        subprocess.run(argv, cwd=ROOT, env=environment, check=True, capture_output=True)
        (wheel,) = (tmp_path / zone).glob("*.whl")
        wheels.append(wheel.read_bytes())
    assert wheels[0] == wheels[1]


def test_the_sums_of_a_release_cover_what_installs_it_and_can_be_signed(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    made = subprocess.run(
        [ROOT / "deploy/supply/release.sh", "--to", dist], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout + made.stderr
    summed = {line.split("  ", 1)[1] for line in (dist / "SHA256SUMS").read_text().splitlines()}
    files = {str(path.relative_to(dist)) for path in dist.rglob("*") if path.is_file()}
    assert summed == files - {"SHA256SUMS"}
    assert {"deploy/install.sh", "deploy/systemd/jackpot.service", "deploy/runbooks/first-install.md"} <= summed
    sign, verify = (block for block in TYPED.findall((ROOT / "deploy/README.md").read_text()) if "openssl" in block)
    assert typed(sign, tmp_path).returncode == 0
    assert "Verified Successfully" in typed(verify, tmp_path).stdout
    (dist / "deploy/install.sh").write_text("#!/bin/sh\n")
    assert typed(verify, tmp_path).returncode != 0, "another script"
    with (dist / "SHA256SUMS").open("a") as sums:
        sums.write("\n")
    assert "Verified Successfully" not in typed(verify, tmp_path).stdout


def typed(block: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-euc", block], cwd=folder, capture_output=True, text=True, check=False)
