"""One authority: it vouches for holders of one kind alone, so a door that trusts it lets nobody else in.

A holder's name is the certificate's common name, the broker's user name and, where tables and boards come in, the
client id. What was issued and revoked is told by the files themselves; there is no index to disagree with them.
"""

import datetime as dt
import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from jackpot.errors import UserError
from jackpot.pki import files

AUTHORITY_DAYS = 3650
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?\Z")
BACKDATED = dt.timedelta(minutes=5)
"""A table's clock may be a little behind ours."""


class Kind(StrEnum):
    """Who holds a certificate. Each kind has an authority of its own."""

    TABLE = "table"
    BOARD = "board"
    CONTROLLER = "controller"
    SERVER = "server"
    NODE = "node"
    """A machine of a cluster: the others' server and their client."""


PURPOSES: Mapping[Kind, tuple[x509.ObjectIdentifier, ...]] = {
    Kind.SERVER: (ExtendedKeyUsageOID.SERVER_AUTH,),
    Kind.NODE: (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH),
}
"""Of the others: to be a client. Who serves is found by its host names and addresses."""


@dataclass(frozen=True, slots=True)
class Issued:
    kind: Kind
    name: str
    serial: int
    not_after: dt.datetime
    revoked_at: dt.datetime | None
    current: bool
    """The one that was issued last to this name; an earlier one is still good until it ends or is revoked."""


class Authority:
    def __init__(self, folder: Path, kind: Kind) -> None:
        self.kind = kind
        self.folder = folder / f"{kind}s"
        self._issued = self.folder / "issued"

    @property
    def certificate_file(self) -> Path:
        return self.folder / "authority.crt"

    @property
    def revoked_file(self) -> Path:
        return self.folder / "revoked.crl"

    @property
    def key_file(self) -> Path:
        return self.folder / "authority.key"

    def pair(self, name: str) -> tuple[Path, Path]:
        """Where a holder's certificate and key lie, to be carried to the machine that uses them."""
        holders = self.folder / "holders"
        return holders / f"{name}.crt", holders / f"{name}.key"

    @property
    def is_made(self) -> bool:
        return self.revoked_file.exists()  # which is written last

    def create(self, site: str, now: dt.datetime) -> None:
        """Also ends what was begun: a key without a certificate has vouched for nobody."""
        if self.is_made:
            raise UserError(
                f"{self.key_file} is there already; an authority is made once, and every certificate with it"
            )
        if not self.certificate_file.exists():
            self._create_pair(site, now)
        self._write_revocations([], now)

    def _create_pair(self, site: str, now: dt.datetime) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, site),
                x509.NameAttribute(NameOID.COMMON_NAME, f"{site} {self.kind}s"),
            ]
        )
        certificate = (
            _certificate(name, name, key.public_key(), now, dt.timedelta(days=AUTHORITY_DAYS))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        files.write_key(self.key_file, key)
        files.write_certificate(self.certificate_file, certificate)

    @property
    def not_after(self) -> dt.datetime:
        return files.read_certificate(self.certificate_file).not_valid_after_utc

    def issue(self, name: str, now: dt.datetime, days: int, also: Sequence[str] = ()) -> tuple[Path, Path]:
        """A new key and its certificate. `also` are further host names and addresses of one who serves."""
        certificate, key = files.read_certificate(self.certificate_file), files.read_key(self.key_file)
        if not 1 <= days <= (certificate.not_valid_after_utc - now).days:
            raise UserError(
                f"a certificate lasts at least a day and ends before its authority, {self.not_after:%Y-%m-%d}"
            )
        holder_key = ec.generate_private_key(ec.SECP256R1())
        purposes = PURPOSES.get(self.kind, (ExtendedKeyUsageOID.CLIENT_AUTH,))
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = (
            _certificate(subject, certificate.subject, holder_key.public_key(), now, dt.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()),
                critical=False,
            )
        )
        if self.kind in PURPOSES:
            names = [_general_name(host) for host in (name, *also)]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        issued = builder.sign(key, hashes.SHA256())
        certificate_file, private_file = self.pair(name)
        files.write_certificate(self._issued / f"{issued.serial_number:040x}.crt", issued)
        files.write_key(private_file, holder_key)
        files.write_certificate(certificate_file, issued)
        return certificate_file, private_file

    def issued(self) -> list[Issued]:
        """All that was ever issued, by name and age."""
        revoked = {entry.serial_number: entry.revocation_date_utc for entry in self._revocations()}
        certificates = [files.read_certificate(path) for path in self._issued.glob("*.crt")]
        certificates.sort(key=lambda found: (holder(found), found.not_valid_before_utc))
        return [
            Issued(
                self.kind,
                holder(found),
                found.serial_number,
                found.not_valid_after_utc,
                revoked.get(found.serial_number),
                current=self._is_current(found),
            )
            for found in certificates
        ]

    def in_use(self, now: dt.datetime) -> list[x509.Certificate]:
        """Those that are neither revoked nor at their end; earlier ones of a name too."""
        good = [issued for issued in self.issued() if issued.revoked_at is None and issued.not_after > now]
        return [files.read_certificate(self._issued / f"{issued.serial:040x}.crt") for issued in good]

    def _is_current(self, certificate: x509.Certificate) -> bool:
        path, _ = self.pair(holder(certificate))
        return path.exists() and files.read_certificate(path).serial_number == certificate.serial_number

    def revoke(self, name: str, now: dt.datetime, *, earlier_only: bool = False) -> list[Issued]:
        """Revoke every certificate of this name, or all but the current one. Returns those it took."""
        taken = [
            issued
            for issued in self.issued()
            if issued.name == name and issued.revoked_at is None and not (earlier_only and issued.current)
        ]
        entries = [
            x509.RevokedCertificateBuilder().serial_number(issued.serial).revocation_date(now).build()
            for issued in taken
        ]
        self._write_revocations([*self._revocations(), *entries], now)
        return taken

    def _revocations(self) -> list[x509.RevokedCertificate]:
        return list(files.read_revocations(self.revoked_file))

    def _write_revocations(self, entries: Sequence[x509.RevokedCertificate], now: dt.datetime) -> None:
        certificate, key = files.read_certificate(self.certificate_file), files.read_key(self.key_file)
        if certificate.not_valid_after_utc <= now:
            raise UserError(
                f"the {self.kind}s' authority ended on {certificate.not_valid_after_utc:%Y-%m-%d}, with all it issued; "
                "make a new set with `jackpot pki init`, as in runbooks/renew-certificates.md"
            )
        # The broker reads the file beside it, so a date by which it is stale would only serve to stop the floor.
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(certificate.subject)
            .last_update(now - BACKDATED)
            .next_update(certificate.not_valid_after_utc)
            .add_extension(x509.CRLNumber(1 + len(entries)), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        )
        for entry in entries:
            builder = builder.add_revoked_certificate(entry)
        signed = builder.sign(key, hashes.SHA256())
        files.write(self.revoked_file, signed.public_bytes(serialization.Encoding.PEM), mode=0o644)


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    now: dt.datetime,
    lasts: dt.timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + lasts)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    if not HOST.match(host):
        raise UserError(f"{host!r} is neither a host name nor an address")
    return x509.DNSName(host)


def holder(certificate: x509.Certificate) -> str:
    """The name in it."""
    (found,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found.value)
