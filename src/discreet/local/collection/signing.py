"""Sign the text of a collection, and open it only if the signature is that of its operator.

The signature is Ed25519 over the letters "discreet-collection/1", a zero byte and the canonical text, so that it
signs nothing else. The envelope is canonical JSON with the text and the signature in hexadecimal. A device is
shipped with the public key, 32 bytes. Keys of small order are refused, in every encoding: a zero key, for example,
to which no private key belongs and under which an attacker can sign.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

from discreet.errors import ParameterError
from discreet.local.collection.canonical_json import canonical
from discreet.local.collection.collection import FORMAT, Collection, read

_CONTEXT = FORMAT.encode() + b"\0"
_OWN_KEY = "Use the public key that belongs to the signing key."
_FIELD = 2**255 - 19
_ORDER_8 = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
_SMALL = {0, 1, _FIELD - 1, _FIELD, _FIELD + 1, _ORDER_8, _FIELD - _ORDER_8}
"""The y of all points whose order divides 8, and the two of them that have a second encoding. Those of order
8 solve d·y⁴ + 2y² = 1."""


def new_key() -> tuple[bytes, bytes]:
    """Return a private and its public key, 32 bytes each. Keep the private key away from the servers.

    >>> private, public = new_key()
    >>> len(private), len(public)
    (32, 32)
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    return key.private_bytes_raw(), key.public_key().public_bytes_raw()


def signed(collection: Collection, private_key: bytes) -> bytes:
    """Return the signed envelope that is sent to devices."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    signature = Ed25519PrivateKey.from_private_bytes(private_key).sign(_CONTEXT + collection.text)
    return canonical({"collection": collection.text.decode(), "signature": signature.hex()})


def opened(envelope: bytes, public_key: bytes, *, today: date | None = None) -> Collection:
    """Return the collection in an envelope, if its signature is right and its window has not ended.

    >>> opened(b"{}", new_key()[1])
    Traceback (most recent call last):
    discreet.errors.ParameterError: This is not a signed collection. Fetch the signed collection again.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    _check_key(public_key)
    try:
        fields = json.loads(envelope)
        text, signature = fields["collection"].encode("ascii"), bytes.fromhex(fields["signature"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ParameterError(
            "This is not a signed collection.", fix="Fetch the signed collection again."
        ) from None
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, _CONTEXT + text)
    except InvalidSignature:
        raise ParameterError(
            "The signature is not by this key: the collection was changed, or signed with another key.",
            fix="Nothing in it was used. Fetch it again, or update the key if its operator has a new one.",
        ) from None
    collection = read(text)
    if (today or datetime.now(UTC).date()) > collection.window[1]:
        raise ParameterError(
            f"The collection {collection.name!r} ended on {collection.window[1]}.",
            fix="Design a new one for later days.",
        )
    return collection


def _check_key(public_key: bytes) -> None:
    """Refuse what is not a key, and keys under which an attacker can sign."""
    if len(public_key) != 32:
        raise ParameterError("A public key must have 32 bytes.", found=f"{len(public_key)} bytes", fix=_OWN_KEY)
    if int.from_bytes(public_key, "little") % 2**255 in _SMALL:
        raise ParameterError("This public key is of small order: an attacker can sign for it.", fix=_OWN_KEY)
