"""The site's certificates: who gets which, what renewing and revoking do, and who can read the keys."""

import datetime as dt
import json
import os
import re
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from typer.testing import CliRunner, Result

from jackpot.cli.pki import command
from jackpot.errors import CheckFailedError, UserError
from jackpot.pki import Kind, Site, files

NOW = dt.datetime(2026, 11, 16, 2, tzinfo=dt.UTC)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path / "pki")
    site.create("Test", NOW)
    return site


def certificate(site: Site, kind: Kind, name: str) -> x509.Certificate:
    return files.read_certificate(site.authorities[kind].pair(name)[0])


def test_keys_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        site = Site(tmp_path / "pki")
        site.create("Test", NOW)
        site.issue(Kind.TABLE, "UTH-01", NOW, 365)
    finally:
        os.umask(before)
    keys = list(site.folder.rglob("*.key"))
    assert len(keys) == len(Kind) + 1
    assert {path.stat().st_mode & 0o777 for path in keys} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in site.folder.rglob("*") if path.is_dir()} == {0o700}
    assert site.folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", list(Kind))
def test_a_certificate_says_who_holds_it_and_for_what(site: Site, kind: Kind) -> None:
    site.issue(kind, "holder-1", NOW, 365)
    found = certificate(site, kind, "holder-1")
    assert found.subject.rfc4514_string() == "CN=holder-1"
    assert found.not_valid_after_utc == NOW + dt.timedelta(days=365)
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    purposes = {purpose._name for purpose in found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value}
    both = {"serverAuth", "clientAuth"}
    assert purposes == {Kind.SERVER: {"serverAuth"}, Kind.NODE: both}.get(kind, {"clientAuth"})
    found.verify_directly_issued_by(files.read_certificate(site.authorities[kind].certificate_file))
    for other in set(Kind) - {kind}:
        with pytest.raises(ValueError):
            found.verify_directly_issued_by(files.read_certificate(site.authorities[other].certificate_file))


def test_a_server_has_all_its_names(site: Site) -> None:
    site.issue(Kind.SERVER, "broker.example", NOW, 365, ["10.0.0.5", "broker"])
    names = certificate(site, Kind.SERVER, "broker.example").extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert names.value.get_values_for_type(x509.DNSName) == ["broker.example", "broker"]
    assert [str(ip) for ip in names.value.get_values_for_type(x509.IPAddress)] == ["10.0.0.5"]
    context = ssl.create_default_context(cafile=str(site.authorities[Kind.SERVER].certificate_file))
    context.load_cert_chain(*site.authorities[Kind.SERVER].pair("broker.example"))


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        (Kind.TABLE, "jackpot-megalink", "the daemon's client ids"),
        (Kind.BOARD, "jackpot-feed-1", "the daemon's client ids"),
        (Kind.TABLE, "UTH/01", "is no name"),
        (Kind.TABLE, "+", "is no name"),
        (Kind.TABLE, "#", "is no name"),
        (Kind.TABLE, "../UTH-01", "is no name"),
        (Kind.TABLE, "", "is no name"),
        (Kind.TABLE, "x" * 65, "is no name"),
        (Kind.TABLE, "UTH-01\n", "is no name"),
        (Kind.BOARD, "UTH-01", "is a table already"),
        (Kind.CONTROLLER, "UTH-01", "is a table already"),
    ],
)
def test_a_name_that_would_let_one_pass_for_another_is_refused(site: Site, kind: Kind, name: str, why: str) -> None:
    site.issue(Kind.TABLE, "UTH-01", NOW, 365)
    with pytest.raises(UserError, match=why):
        site.issue(kind, name, NOW, 365)


@pytest.mark.parametrize("days", [0, -1, 3651, 10**9])
def test_a_certificate_lasts_at_least_a_day_and_no_longer_than_its_authority(site: Site, days: int) -> None:
    with pytest.raises(UserError, match="ends before its authority"):
        site.issue(Kind.TABLE, "UTH-01", NOW, days)


def test_an_authority_is_never_made_twice(site: Site) -> None:
    with pytest.raises(UserError, match="there already"):
        site.create("Test", NOW)


@pytest.mark.parametrize("failed_at", range(len(Kind) * 3))
def test_an_attempt_that_failed_half_way_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed_at: int
) -> None:
    """The disk is full at any of the files."""
    written, write = 0, files.write

    def fails(path: Path, content: bytes, *, mode: int) -> None:
        nonlocal written
        if written == failed_at:
            raise UserError(f"cannot write {path}")
        written += 1
        write(path, content, mode=mode)

    site = Site(tmp_path / "pki")
    with monkeypatch.context() as patched:
        patched.setattr(files, "write", fails)
        with pytest.raises(UserError, match="cannot write"):
            site.create("Test", NOW)
    kept = {path: path.read_bytes() for path in site.folder.rglob("*.crt")}
    site.create("Test", NOW)
    for kind in Kind:
        site.issue(kind, f"{kind}-1", NOW, 365)
        found = certificate(site, kind, f"{kind}-1")
        found.verify_directly_issued_by(files.read_certificate(site.authorities[kind].certificate_file))
        assert not list(files.read_revocations(site.authorities[kind].revoked_file))
    assert {path: path.read_bytes() for path in kept} == kept, "what was made stays"
    with pytest.raises(UserError, match="there already"):
        site.create("Test", NOW)


def test_an_authority_that_has_ended_says_what_to_do(site: Site) -> None:
    site.issue(Kind.TABLE, "UTH-01", NOW, 365)
    later = NOW + dt.timedelta(days=3651)
    with pytest.raises(UserError, match=r"ended on 2036-11-13.*`jackpot pki init`"):
        site.revoke(Kind.TABLE, "UTH-01", later)
    with pytest.raises(UserError, match="ends before its authority"):
        site.issue(Kind.TABLE, "UTH-01", later, 365)


def test_renewing_leaves_the_earlier_certificate_good_until_it_is_revoked(site: Site) -> None:
    for _ in range(2):
        site.issue(Kind.TABLE, "UTH-01", NOW, 365)
    first, second = sorted(site.issued(), key=lambda issued: issued.current)
    assert (first.current, second.current) == (False, True)
    assert first.revoked_at is second.revoked_at is None
    assert [issued.serial for issued in site.revoke(Kind.TABLE, "UTH-01", NOW, earlier_only=True)] == [first.serial]
    site.issue(Kind.TABLE, "UTH-02", NOW, 365)
    site.revoke(Kind.TABLE, "UTH-02", NOW)
    revoked = files.read_revocations(site.authorities[Kind.TABLE].revoked_file)
    assert len(revoked) == 2
    assert revoked.get_revoked_certificate_by_serial_number(first.serial) is not None
    assert revoked.get_revoked_certificate_by_serial_number(second.serial) is None
    with pytest.raises(UserError, match="no certificate"):
        site.revoke(Kind.TABLE, "UTH-02", NOW)


def test_the_list_of_revoked_certificates_does_not_go_stale_and_stop_the_floor(site: Site) -> None:
    for authority in site.authorities.values():
        revoked = files.read_revocations(authority.revoked_file)
        assert revoked.next_update_utc == authority.not_after


# -- the command ---------------------------------------------------------------------------------------------------


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_the_command_makes_issues_lists_and_revokes(tmp_path: Path) -> None:
    folder = ("--folder", tmp_path / "pki")
    assert run("init", "--site", "Test", *folder).exit_code == 0
    assert run("issue", "table", "UTH-01", *folder).exit_code == 0
    assert run("issue", "server", "broker", "--also", "10.0.0.5", "--days", "20", *folder).exit_code == 0
    listed = json.loads(run("list", "-o", "json", *folder).stdout)
    assert [(issued["kind"], issued["name"]) for issued in listed] == [("table", "UTH-01"), ("server", "broker")]
    assert run("list", "--expiring", "99999999", *folder).exit_code == 2
    ending = run("list", "--expiring", "30", *folder)
    assert isinstance(ending.exception, CheckFailedError)
    assert "broker" in ending.stdout
    assert "UTH-01" not in ending.stdout
    assert run("issue", "server", "broker", *folder).exit_code == 0
    assert run("list", "--expiring", "30", *folder).exit_code == 0
    assert run("revoke", "table", "UTH-01", *folder).exit_code == 0
    assert "revoked" in run("list", *folder).stdout


def test_a_folder_without_authorities_is_said(tmp_path: Path) -> None:
    result = run("issue", "table", "UTH-01", "--folder", tmp_path)
    assert isinstance(result.exception, UserError)
    assert "jackpot pki init" in str(result.exception)


def test_an_event_key_is_written_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "UTH-01.event-key"
    assert run("event-key", file).exit_code == 0
    assert len(bytes.fromhex(file.read_text())) == 32
    assert file.stat().st_mode & 0o777 == 0o600
    assert isinstance(run("event-key", file).exception, UserError)


def test_what_the_database_keeps_of_a_password_is_told_in_its_place(tmp_path: Path) -> None:
    file = tmp_path / "settle.password"
    file.write_text("pencil and paper\n")
    told = run("scram", file).stdout
    assert re.fullmatch(r"SCRAM-SHA-256\$4096:[\w+/=]{24}\$[\w+/=]{44}:[\w+/=]{44}\n", told)
    assert told != run("scram", file).stdout, "each has a salt of its own"
    for bad in ("", "\n", "p\u00e4ssword\n", "tab\t\n"):
        file.write_text(bad)
        assert isinstance(run("scram", file).exception, UserError), bad
