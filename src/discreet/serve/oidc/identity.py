"""Check an ID token, and return whom the provider signed in.

Claims (OpenID Connect Core 3.1.3.7; RFC 8725).

* The signature is by a public key of the provider, with an algorithm of `ALGORITHMS`. The list is ours, not the
  token's: "none", and an HMAC with the public key as its secret, are not in it, and symmetric keys are not taken.
* `iss` is the issuer that is configured, to the letter; `aud` names this service, and if it names others too, or
  there is an `azp`, then `azp` is this service; `nonce` is that of this very sign-in.
* `exp` and `iat` are there; the token is not over and not from the future, up to `LEEWAY` seconds.

A refusal names a reason from a short list, for the log. No text of the token or of a library is in it.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from discreet.errors import extra
from discreet.serve.oidc.records import Identity, TokenRefused, UnknownKey

with extra("serve", "Signing in by a provider needs joserfc"):
    from joserfc import jws, jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA")
LEEWAY = 30  # seconds that the clocks of the provider and the service may differ
OLDEST = 600  # seconds since a token was made: it was made for this sign-in, which lasts no longer


def identity(
    token: object, keys: KeySet, *, issuer: str, client_id: str, nonce: str, claim: str, now: float
) -> Identity:
    """Check an ID token, and return whom it is about.

    Args:
        token: The token, as the provider sent it.
        keys: The public keys of the provider.
        issuer: The issuer that is configured.
        client_id: The name that the provider knows the service by.
        nonce: The number that was sent with this sign-in.
        claim: The claim that is the name.
        now: Seconds since 1970.
    """
    claims = _signed(token, keys)
    _expect(claims.get("iss") == issuer, "issuer")
    audience = claims.get("aud")
    named = [audience] if isinstance(audience, str) else audience
    _expect(isinstance(named, list) and client_id in named, "audience")
    _expect(claims.get("azp", client_id if named == [client_id] else None) == client_id, "audience")
    _expect(_same(claims.get("nonce"), nonce), "nonce")
    _expect(_time(claims, "exp") > now - LEEWAY, "expired")
    _expect(now - OLDEST - LEEWAY < _time(claims, "iat") <= now + LEEWAY, "time")
    _expect("nbf" not in claims or _time(claims, "nbf") <= now + LEEWAY, "time")
    subject, name = claims.get("sub"), claims.get(claim)
    _expect(isinstance(subject, str) and 1 <= len(subject) <= 255 and subject.isascii(), "subject")
    # An address that the provider has not verified may be that of another person.
    unproven = claim == "email" and claims.get("email_verified") is not True
    return Identity(f"{issuer} {subject}", name if isinstance(name, str) and not unproven else "")


def _signed(token: object, keys: KeySet) -> Mapping[str, Any]:
    """Return the claims of a token that one of the keys signed."""
    _expect(isinstance(token, str) and len(token) <= 65_536, "token")
    assert isinstance(token, str)
    try:
        header = jws.extract_compact(token.encode("ascii")).headers()
        _expect(header.get("alg") in ALGORITHMS, "algorithm")
        try:
            key = keys.get_by_kid(header.get("kid"))
        except JoseError:
            raise UnknownKey("key") from None
        return jwt.decode(token, key, algorithms=list(ALGORITHMS)).claims
    except (JoseError, ValueError, TypeError, KeyError):
        raise TokenRefused("signature") from None


def public_keys(document: Any) -> KeySet:
    """Return the keys of a provider that may sign: public ones, and none for encryption."""
    found = document.get("keys") if isinstance(document, dict) else None
    chosen = [
        key
        for key in found or []
        if isinstance(key, dict) and key.get("kty") in ("RSA", "EC", "OKP") and key.get("use", "sig") == "sig"
    ]
    try:
        return KeySet.import_key_set({"keys": chosen})
    except (JoseError, ValueError, TypeError, KeyError):
        raise TokenRefused("keys") from None


def _time(claims: Mapping[str, Any], name: str) -> float:
    found = claims.get(name)
    _expect(isinstance(found, int | float) and not isinstance(found, bool), "time")
    assert isinstance(found, int | float)
    return float(found)


def _same(found: object, wanted: str) -> bool:
    return bool(wanted) and isinstance(found, str) and hmac.compare_digest(found.encode(), wanted.encode())


def _expect(holds: bool, reason: str) -> None:
    if not holds:
        raise TokenRefused(reason)
