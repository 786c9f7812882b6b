"""Make the TLS context of the door: the operator's certificate, or one that is made at the first run.

A certificate of our own keeps tokens from readers of the network. It does not prove who the server is: for that, a
client is given the certificate (`sslmode=verify-full sslrootcert=door.crt`), or the operator gives one of an
authority that clients know.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from cryptography.x509 import GeneralName

CERTIFICATE, KEY = "door.crt", "door.key"
_DAYS = 825


def context(folder: Path, host: str, certificate: str = "", key: str = "") -> ssl.SSLContext:
    """Return the context of a server that speaks TLS 1.2 or later.

    Args:
        folder: The directory of the service, where a certificate is made if none is given.
        host: The address that the door listens at, which the certificate names.
        certificate: The file of the certificate; none by default.
        key: The file of its key.
    """
    if not certificate:
        certificate, key = str(folder / CERTIFICATE), str(folder / KEY)
        if not (Path(certificate).exists() and Path(key).exists()):
            _make(Path(certificate), Path(key), host)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        made.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError):
        raise ParameterError("The certificate of the door or its key cannot be read.", found=certificate) from None
    return made


def _make(certificate: Path, key: Path, host: str) -> None:
    """Write a key and a certificate that it signs itself. Only the owner of the process reads the key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Discreet")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(private, hashes.SHA256())
    )
    secret = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write(key, secret, 0o600)
    _write(certificate, made.public_bytes(serialization.Encoding.PEM), 0o644)


def _names(host: str) -> list[GeneralName]:
    from cryptography.x509 import DNSName, IPAddress

    names: list[GeneralName] = [DNSName("localhost"), IPAddress(ipaddress.ip_address("127.0.0.1"))]
    try:
        names.append(IPAddress(ipaddress.ip_address(host)))
    except ValueError:
        names.append(DNSName(host))
    return names


def _write(path: Path, data: bytes, mode: int) -> None:
    path.unlink(missing_ok=True)  # a file of another mode would keep it
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
