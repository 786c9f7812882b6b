"""Talk to the provider: find its addresses and keys, send people there, and exchange a code for an ID token.

Claims.

* The provider is reached at addresses that its own description names, over TLS, or over http if the issuer is this
  machine. The description must name the issuer that is configured. Redirects are not followed.
* Addresses and keys are kept for `KEEP` seconds. A token with a key that is not known fetches them anew, at most
  every `AGAIN` seconds, so that a rotation is noticed and a forged key id does not become a flood of requests.
* The redirect URI is a setting and no header of a request changes it. The access token is thrown away: nothing is
  asked of the provider in the name of a person.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import DiscreetError, extra
from discreet.serve.accounts.identities import Login
from discreet.serve.oidc.identity import identity, public_keys
from discreet.serve.oidc.records import Identity, ProviderFailed, TokenRefused, UnknownKey
from discreet.serve.settings import Oidc, loopback, safe_address

with extra("serve", "Signing in by a provider needs authlib and httpx2"):
    import httpx2
    from authlib.integrations.base_client import OAuthError  # type: ignore[import-untyped]
    from authlib.integrations.httpx_client import OAuth2Client  # type: ignore[import-untyped]
    from joserfc.jwk import KeySet

KEEP, AGAIN = 600.0, 20.0  # seconds
PATIENCE = 10.0  # seconds for a reply of the provider
LONGEST = 1024 * 1024  # bytes of a description
_KNOWN = "openid profile email"


@dataclass(frozen=True)
class _About:
    """The description of the provider, with its keys, and when it was read."""

    authorization: str
    token: str
    method: str
    names_itself: bool
    keys: KeySet
    read: float


class Provider:
    """The provider that signs people in. It may be used by several threads.

    Args:
        settings: The settings.
        clock: Seconds since 1970; the system clock by default.
    """

    def __init__(self, settings: Oidc, clock: Callable[[], float] = time.time):
        """Take the settings. Nothing is sent yet."""
        self.settings, self._clock = settings, clock
        self._about: _About | None = None
        self._forced = float("-inf")
        self._tls = ssl.create_default_context()  # reading the authorities takes longer than a sign-in
        self._lock = threading.Lock()

    def address_for(self, state: str, login: Login) -> str:
        """Return the address at the provider that a person is sent to."""
        about = self._read()
        with self._client(about) as client:
            found, _ = client.create_authorization_url(
                about.authorization, state=state, nonce=login.nonce, code_verifier=login.verifier
            )
        return str(found)

    def identity_of(self, code: str, issuer: str | None, login: Login) -> Identity:
        """Exchange a code for an ID token, and return whom it is about.

        Args:
            code: The code that the browser brought back.
            issuer: The issuer that the browser brought back, if any (RFC 9207: a code of another provider is not
                sent to this one).
            login: The sign-in that this browser began.
        """
        about = self._read()
        if (issuer is None and about.names_itself) or issuer not in (None, self.settings.issuer):
            raise TokenRefused("mix-up")
        token = self._exchanged(about, code, login)
        try:
            return self._checked(token, about, login)
        except UnknownKey:
            return self._checked(token, self._read(fresh=True), login)

    def _checked(self, token: object, about: _About, login: Login) -> Identity:
        settings = self.settings
        return identity(
            token,
            about.keys,
            issuer=settings.issuer,
            client_id=settings.client_id,
            nonce=login.nonce,
            claim=settings.claim,
            now=self._clock(),
        )

    def _exchanged(self, about: _About, code: str, login: Login) -> object:
        """Return the ID token for a code."""
        try:
            with self._client(about) as client:
                found = client.fetch_token(about.token, code=code, code_verifier=login.verifier)
        except OAuthError:
            raise TokenRefused("code") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError, KeyError, DiscreetError):
            raise ProviderFailed("token endpoint") from None
        return found.get("id_token") if isinstance(found, Mapping) else None

    def _client(self, about: _About) -> OAuth2Client:
        return OAuth2Client(
            self.settings.client_id,
            self.settings.secret(),
            token_endpoint_auth_method=about.method,
            redirect_uri=self.settings.redirect,
            scope=_KNOWN,
            code_challenge_method="S256",
            **self._options(),
        )

    def _options(self) -> dict[str, Any]:
        return {
            "timeout": PATIENCE,
            "follow_redirects": False,
            "trust_env": self._environment,
            "verify": self._tls,
        }

    @property
    def _environment(self) -> bool:
        """Whether proxies of the environment are used: not for a provider on this machine."""
        return not loopback(urlsplit(self.settings.issuer).hostname or "")

    # -- addresses and keys -------------------------------------------------------------------------------------

    def _read(self, *, fresh: bool = False) -> _About:
        """Return the description of the provider: a recent one, or a new one."""
        with self._lock:
            kept, now = self._about, self._clock()
            fresh = fresh and now - self._forced >= AGAIN
            if kept is not None and now - kept.read < KEEP and not fresh:
                return kept
            self._forced = now if fresh else self._forced
            self._about = self._fetched(now)
            return self._about

    def _fetched(self, now: float) -> _About:
        settings = self.settings
        try:
            with httpx2.Client(**self._options()) as client:
                about = _json(client, f"{settings.issuer.rstrip('/')}/.well-known/openid-configuration")
                if about.get("issuer") != settings.issuer:
                    raise ProviderFailed("another issuer")
                addresses = [about.get(f"{name}_endpoint") for name in ("authorization", "token")]
                addresses.append(about.get("jwks_uri"))
                if not all(isinstance(one, str) and self._safe(one) for one in addresses):
                    raise ProviderFailed("unsafe address")
                keys = public_keys(_json(client, addresses[2]))
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError, TokenRefused):
            raise ProviderFailed("description") from None
        methods = about.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        posted = "client_secret_basic" not in methods and "client_secret_post" in methods
        method = "client_secret_post" if posted else "client_secret_basic"
        names_itself = about.get("authorization_response_iss_parameter_supported") is True
        method = method if settings.secret() else "none"
        return _About(str(addresses[0]), str(addresses[1]), method, names_itself, keys, now)

    def _safe(self, address: str) -> bool:
        """Return whether an address of the description may be used: https, unless the provider is this machine."""
        bare = address.partition("?")[0]
        return safe_address(bare) and (not self._environment or bare.startswith("https:"))


def _json(client: httpx2.Client, address: Any) -> dict[str, Any]:
    """Return a JSON object of a bounded size."""
    with client.stream("GET", address, headers={"accept": "application/json"}) as response:
        if response.status_code != 200:
            raise ValueError("status")
        text = b""
        for part in response.iter_bytes():
            text += part
            if len(text) > LONGEST:
                raise ValueError("size")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError("object")
    return found
