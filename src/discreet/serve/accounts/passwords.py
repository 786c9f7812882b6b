"""Hash and check passwords with argon2id.

A check for a name that has no account computes a hash too, so that the time does not show which names exist.
"""

from __future__ import annotations

from functools import cache

from discreet.errors import ParameterError, extra

with extra("serve", "The service hashes passwords with argon2"):
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

SHORTEST, LONGEST = 12, 1024  # characters; NIST SP 800-63B-4 asks for 15, or 8 with a second factor

_hasher = PasswordHasher()  # RFC 9106, low memory: 64 MiB, 3 passes, 4 lanes


def hashed(password: str) -> str:
    """Return the hash of a new password, or refuse a short one."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise ParameterError(
            f"A password has at least {SHORTEST} characters.",
            found=f"{len(password)} characters",
            fix="Several words that do not belong together are easy to keep in mind.",
        )
    return _hasher.hash(password)


def matches(stored: str, password: str) -> bool:
    """Return whether the password belongs to the hash. An empty hash takes as long, and matches nothing.

    >>> matches("", "correct horse battery")
    False
    """
    try:
        _hasher.verify(stored or _decoy(), password[:LONGEST])
    except (VerificationError, InvalidHashError):
        return False
    return bool(stored)


@cache
def _decoy() -> str:
    return _hasher.hash("no account has this password")
