"""Keys and certificates as files: written whole or not at all, and keys for their owner alone."""

import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from jackpot.errors import UserError


def write(path: Path, content: bytes, *, mode: int) -> None:
    """The file is never there with other rights, nor half written."""
    new = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            os.fchmod(file.fileno(), mode)  # whatever the umask
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


def write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    unencrypted = serialization.NoEncryption()  # the file's rights protect it: programs must start without a person
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, unencrypted)
    write(path, pem, mode=0o600)


def write_certificate(path: Path, certificate: x509.Certificate) -> None:
    write(path, certificate.public_bytes(serialization.Encoding.PEM), mode=0o644)


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; `jackpot pki init` makes the authorities") from error


def read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(read(path), password=None)
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} is not a private key: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise UserError(f"{path} is not a key on an elliptic curve")
    return key


def read_certificate(path: Path) -> x509.Certificate:
    return read_certificates(path)[0]


def read_certificates(path: Path) -> list[x509.Certificate]:
    """All that stand in the file: at least one."""
    try:
        return x509.load_pem_x509_certificates(read(path))
    except ValueError as error:
        raise UserError(f"{path} is not a certificate: {error}") from error


def read_revocations(path: Path) -> x509.CertificateRevocationList:
    try:
        return x509.load_pem_x509_crl(read(path))
    except ValueError as error:
        raise UserError(f"{path} is not a list of revoked certificates: {error}") from error
