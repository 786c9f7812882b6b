"""Encode a message for a signature: EMSA-PSS of RFC 8017, section 9.1.1, with SHA-384 and a salt of 48 bytes."""

from __future__ import annotations

import hashlib

SALT = 48
"""The bytes of a salt, and of a hash of SHA-384."""
_TRAILER = b"\xbc"


def encode(message: bytes, salt: bytes, bits: int) -> int:
    """Return the encoded message of a modulus with so many bits, as a number with fewer bits.

    Args:
        message: The message.
        salt: Random bytes, drawn anew for each message.
        bits: The bits of the modulus, a multiple of 8.

    >>> encode(b"message", b"\\0" * 48, 2048).bit_length() <= 2047
    True
    """
    length = bits // 8
    hashed = hashlib.sha384(b"\0" * 8 + hashlib.sha384(message).digest() + salt).digest()
    data = (b"\x01" + salt).rjust(length - len(hashed) - 1, b"\0")
    masked = int.from_bytes(data, "big") ^ int.from_bytes(_mask(hashed, len(data)), "big")
    masked &= (1 << (8 * len(data) - 1)) - 1  # one bit less than the modulus, so that it is below it
    return int.from_bytes(masked.to_bytes(len(data), "big") + hashed + _TRAILER, "big")


def _mask(seed: bytes, length: int) -> bytes:
    """Return bytes that follow from a seed: MGF1."""
    blocks = range(-(-length // SALT))
    return b"".join(hashlib.sha384(seed + i.to_bytes(4, "big")).digest() for i in blocks)[:length]
