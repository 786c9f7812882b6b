"""Draw secret keys of 256 bits, and hash them for storage.

A key has 256 random bits, so a plain SHA-256 of it is enough: there is no dictionary to try. The store is searched
by the hash, so the time of a comparison says nothing about the key.
"""

from __future__ import annotations

import hashlib
import secrets

TOKEN = "dsc_"
"""The beginning of every token, so that a scanner for leaked secrets finds it."""


def new_key() -> str:
    """Return 256 random bits as text for a cookie or a link."""
    return secrets.token_urlsafe(32)


def new_token() -> str:
    """Return a new bearer token."""
    return TOKEN + new_key()


def new_id() -> str:
    """Return a public name that cannot be guessed."""
    return secrets.token_hex(16)


def digest(key: str) -> str:
    """Return what is stored instead of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
