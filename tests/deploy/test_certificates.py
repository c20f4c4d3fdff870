"""When certificates end is watched: by the doctor, and by a series that an alert looks at."""

import datetime as dt
import json
import re
from pathlib import Path

import pytest

from jackpot import config
from jackpot.cli.checks import Finding, Verdict
from jackpot.cli.checks.certificates import examine
from jackpot.mqtt.client import Broker, Connection
from jackpot.pki import Kind, Site, expiry, files
from tests.acceptance import processes
from tests.deploy import installed
from tests.deploy.conftest import Controller
from tests.deploy.installed import Mosquitto, Pki


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path / "pki")
    site.create("Test", installed.now() - dt.timedelta(days=1000))
    return site


def found(ca: Path, certificate: Path, url: str = "postgresql://db/jackpot") -> dict[str, Finding]:
    document = {"mqtt": {"url": "mqtts://b", "ca": str(ca), "cert": str(certificate)}, "database": {"url": url}}
    return {finding.found.partition(": ")[0]: finding for finding in examine(config.read(document, "test", {}))}


@pytest.mark.parametrize(
    ("days_left", "verdict", "said"),
    [(31.5, Verdict.GOOD, "lasts until"), (29.5, Verdict.ODD, "ends in 29 days"), (-1.0, Verdict.BAD, "ended on")],
)
def test_the_doctor_warns_a_month_before_the_end(site: Site, days_left: float, verdict: Verdict, said: str) -> None:
    issued = installed.now() + dt.timedelta(days=days_left - 365)
    certificate, _ = site.issue(Kind.CONTROLLER, "control-1", issued, 365)
    ca = site.authorities[Kind.SERVER].certificate_file
    findings = found(ca, certificate)
    assert findings["mqtt.ca"].verdict is Verdict.GOOD
    assert findings["mqtt.cert"].verdict is verdict
    assert said in findings["mqtt.cert"].found
    assert verdict is Verdict.GOOD or "jackpot pki issue" in str(findings["mqtt.cert"].fix)


def test_an_authority_that_has_ended_does_no_harm_beside_the_one_that_follows_it(site: Site, tmp_path: Path) -> None:
    old = Site(tmp_path / "old")
    old.create("Test", installed.now() - dt.timedelta(days=4000))
    parts = [which.authorities[Kind.SERVER].certificate_file.read_bytes() for which in (old, site)]
    both, ended = tmp_path / "both.crt", tmp_path / "ended.crt"
    both.write_bytes(b"".join(parts))
    ended.write_bytes(parts[0])
    certificate, _ = site.issue(Kind.CONTROLLER, "control-1", installed.now(), 365)
    assert found(both, certificate)["mqtt.ca"].verdict is Verdict.GOOD
    assert found(ended, certificate)["mqtt.ca"].verdict is Verdict.BAD


async def test_while_authorities_change_holders_of_either_are_let_in(tmp_path: Path) -> None:
    old, new = (installed.make_pki(tmp_path / name) for name in ("old", "new"))
    broker = Mosquitto(tmp_path / "broker", old)
    broker.carry()
    trusted = tmp_path / "servers.crt"
    trusted.write_bytes(Path(old.ca).read_bytes() + Path(new.ca).read_bytes())
    for name in ("authority.crt", "revoked.crl"):
        theirs = (broker.folder / "tables").with_suffix(Path(name).suffix)
        theirs.write_bytes(theirs.read_bytes() + (new.site.folder / "tables" / name).read_bytes())
    broker.start(carry=False)
    try:
        for pki in (old, new):
            certificate, key = pki.files(Kind.TABLE, "UTH-01")
            url = f"mqtts://127.0.0.1:{old.ports[Kind.TABLE]}"
            at = Broker.from_url(url, ca=str(trusted), cert=certificate, key=key)
            connection = await Connection.open(at, "UTH-01", on_message=lambda _: None)
            await connection.close()
    finally:
        broker.stop()


def test_the_databases_are_looked_at_too_and_each_file_once(site: Site) -> None:
    certificate, _ = site.issue(Kind.CONTROLLER, "control-1", installed.now(), 365)
    ca, other = (site.authorities[kind].certificate_file for kind in (Kind.SERVER, Kind.BOARD))
    assert found(ca, certificate, f"postgresql://db/jackpot?sslrootcert={ca}").keys() == {"mqtt.ca", "mqtt.cert"}
    assert "database.url.sslrootcert" in found(ca, certificate, f"postgresql://a:1,b:2/jackpot?sslrootcert={other}")


def test_a_file_that_is_no_certificate_is_bad(site: Site, tmp_path: Path) -> None:
    ca = site.authorities[Kind.SERVER].certificate_file
    assert found(ca, tmp_path / "nowhere.crt")["mqtt.cert"].verdict is Verdict.BAD
    (tmp_path / "empty.crt").touch()
    assert found(ca, tmp_path / "empty.crt")["mqtt.cert"].verdict is Verdict.BAD


def test_the_doctor_looks_at_the_site_and_at_what_the_broker_shows(controller: Controller) -> None:
    done = processes.run("check", "--config", controller.daemon.config, "-o", "json")
    said = [one for one in json.loads(done.stdout)["findings"] if one["part"] == "pki"]
    ending = [one["found"] for one in said if one["verdict"] == "odd"]  # those of this site are made for 30 days
    assert len(said) == 3
    assert len(ending) == 2
    assert any("mqtt.cert" in found for found in ending)
    assert any("shows" in found for found in ending)


def test_the_daemon_tells_when_its_certificates_end(controller: Controller, pki: Pki) -> None:
    text = controller.daemon.get("/metrics")[1]
    series = re.findall(r'^jackpot_certificate_not_after_timestamp_seconds\{role="(.*)"\} (.*)$', text, re.MULTILINE)
    told = {key: float(value) for key, value in series}
    holders = {"mqtt.cert": (Kind.CONTROLLER, "control-1"), "broker": (Kind.SERVER, "broker")}
    for key, holder in holders.items():
        assert told.pop(key) == files.read_certificate(Path(pki.files(*holder)[0])).not_valid_after_utc.timestamp()
    assert told == {"mqtt.ca": expiry.ends(Path(pki.ca), "mqtt.ca").timestamp()}
