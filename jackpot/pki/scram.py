"""What PostgreSQL keeps of a password (RFC 5802). Sent in its place, the password is in no statement and no log."""

import base64
import hashlib
import hmac
import secrets

from jackpot.errors import UserError

ITERATIONS = 4096
SALT_BYTES = 16


def verifier(password: str) -> str:
    """For `ALTER ROLE ... PASSWORD`: the server takes it as it is, and lets in who knows the password."""
    if not password or not password.isascii() or not password.isprintable():
        raise UserError("a password has one or more characters, printable ones of ASCII: openssl rand -base64 24")
    salt = secrets.token_bytes(SALT_BYTES)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ITERATIONS)
    client_key, server_key = (hmac.digest(salted, of, "sha256") for of in (b"Client Key", b"Server Key"))
    stored_key = hashlib.sha256(client_key).digest()
    return f"SCRAM-SHA-256${ITERATIONS}:{_text(salt)}${_text(stored_key)}:{_text(server_key)}"


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
