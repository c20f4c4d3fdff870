"""The client over TLS: it talks only with a broker whose certificate it can trust, and shows its own where asked."""

import asyncio
import datetime as dt
import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from jackpot.errors import UserError
from jackpot.mqtt.client import Broker, Connection, MqttError
from tests import brokers
from tests.mqtt.peers import Inbox


@dataclass(frozen=True, slots=True)
class Identity:
    """A key and its certificate, as PEM files."""

    name: x509.Name
    private_key: ec.EllipticCurvePrivateKey
    cert: str
    key: str


def issue(directory: Path, common_name: str, issuer: Identity | None = None) -> Identity:
    """An authority of its own without an `issuer`; else a certificate for 127.0.0.1 that the issuer has signed."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    private_key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer.name if issuer else name)
        .public_key(private_key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
    )
    signed = builder.sign(issuer.private_key if issuer else private_key, hashes.SHA256())
    cert, key = directory / f"{common_name}.crt", directory / f"{common_name}.key"
    cert.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        private_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return Identity(name, private_key, str(cert), str(key))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return issue(tmp_path_factory.mktemp("authority"), "authority")


def settings_of(authority: Identity, server: Identity) -> list[str]:
    return [f"cafile {authority.cert}", f"certfile {server.cert}", f"keyfile {server.key}"]


@pytest.fixture(scope="module")
def tls_port(authority: Identity, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    directory = tmp_path_factory.mktemp("broker")
    server = issue(directory, "broker", authority)
    with brokers.mosquitto(directory, settings=settings_of(authority, server)) as port:
        yield port


async def test_messages_over_tls(tls_port: int, authority: Identity, name: str) -> None:
    broker = Broker.from_url(f"mqtts://127.0.0.1:{tls_port}", ca=authority.cert)
    inbox = Inbox()
    connection = await Connection.open(broker, name, on_message=inbox, subscriptions=[(f"{name}/#", 1)])
    sent = [b"x" * size for size in range(0, 100_000, 1_000)]
    for payload in sent:
        connection.publish_nowait(f"{name}/events", payload)
    await connection.drain()
    assert await inbox.holds(len(sent)) == sent
    connection.pause_reading()
    connection.publish_nowait(f"{name}/events", b"later")
    await connection.drain()
    await asyncio.sleep(0.1)  # time enough for it to come, if it could
    assert len(inbox.messages) == len(sent)
    connection.resume_reading()
    assert (await inbox.holds(len(sent) + 1))[-1] == b"later"
    await connection.close()
    assert await connection.wait_closed() is None


async def test_a_broker_of_an_unknown_authority_is_not_trusted(tls_port: int, tmp_path: Path, name: str) -> None:
    other = issue(tmp_path, "other")
    with pytest.raises(MqttError, match=r"cannot be reached: .*CERTIFICATE_VERIFY_FAILED"):
        await Connection.open(Broker.from_url(f"mqtts://127.0.0.1:{tls_port}", ca=other.cert), name, on_message=Inbox())


async def test_a_broker_of_another_name_is_not_trusted(tls_port: int, authority: Identity, name: str) -> None:
    with pytest.raises(MqttError, match=r"cannot be reached: .*Hostname mismatch"):
        await Connection.open(
            Broker.from_url(f"mqtts://localhost:{tls_port}", ca=authority.cert), name, on_message=Inbox()
        )


async def test_plain_mqtt_to_a_broker_that_speaks_tls(tls_port: int, name: str) -> None:
    with pytest.raises(MqttError):
        await Connection.open(Broker("127.0.0.1", tls_port), name, on_message=Inbox())


async def test_tls_to_a_broker_that_speaks_plain_mqtt(mosquitto: str, authority: Identity, name: str) -> None:
    broker = Broker.from_url(mosquitto.replace("mqtt:", "mqtts:"), ca=authority.cert)
    with pytest.raises(MqttError):
        await Connection.open(broker, name, on_message=Inbox(), timeout_s=2)


async def test_our_own_certificate_is_shown(authority: Identity, tmp_path: Path, name: str) -> None:
    server, client = issue(tmp_path, "broker", authority), issue(tmp_path, "controller", authority)
    settings = [*settings_of(authority, server), "require_certificate true"]
    with brokers.mosquitto(tmp_path, settings=settings) as port:
        url = f"mqtts://127.0.0.1:{port}"
        known = Broker.from_url(url, ca=authority.cert, cert=client.cert, key=client.key)
        await (await Connection.open(known, name, on_message=Inbox())).close()
        with pytest.raises(MqttError):
            await Connection.open(Broker.from_url(url, ca=authority.cert), name, on_message=Inbox())


def test_a_file_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="ca, cert or key cannot be used"):
        Broker.from_url("mqtts://broker", ca=str(tmp_path / "missing.pem"))
