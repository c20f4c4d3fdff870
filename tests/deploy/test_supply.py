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
