"""A provider of OpenID Connect on loopback, as a process with real signatures, that can be told to misbehave.

    python -m tests.servers.oidc REDIRECT_URI        prints its issuer

It signs a person in without a form, and checks what a provider checks: client, redirect URI, PKCE, one use of a
code. POST /behave with JSON says who signs in next, and what is wrong with the token or the description.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx2

CLIENT, SECRET = "discreet", "a-secret-of-the-tests"


@contextmanager
def provider(redirect: str) -> Iterator[Provider]:
    """Start a provider that sends people back to an address."""
    command = [sys.executable, "-m", "tests.servers.oidc", redirect]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            made = Provider(process.stdout.readline().strip(), process)
            with made.client:
                yield made
        finally:
            process.kill()


class Provider:
    """The provider, seen from a test."""

    def __init__(self, issuer: str, process: subprocess.Popen[str]):
        self.issuer, self.process = issuer, process
        self.client = httpx2.Client(trust_env=False, verify=False)

    def behave(self, **how: Any) -> dict[str, Any]:
        """Say how to behave until the next call, and return what happened so far."""
        found: dict[str, Any] = self.client.post(f"{self.issuer}/behave", json=how).json()
        return found


# -- the process ------------------------------------------------------------------------------------------------


class _State:
    """Keys, codes and counts of the process."""

    def __init__(self, redirect: str):
        self.redirect, self.issuer = redirect, ""
        self.how: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.fetched = self.refused = 0
        self.rotate()

    def rotate(self) -> None:
        from joserfc.jwk import ECKey, RSAKey

        names: list[Any] = [{"kid": secrets.token_hex(4), "use": "sig"} for _ in range(2)]
        self.keys: tuple[Any, Any] = (
            RSAKey.import_key({**RSAKey.generate_key(2048).as_dict(private=True), **names[0]}),
            ECKey.import_key({**ECKey.generate_key("P-256").as_dict(private=True), **names[1]}),
        )

    def token(self, nonce: str) -> str:
        """Return the ID token, or the wrong one that was asked for."""
        from joserfc import jwt
        from joserfc.jwk import RSAKey

        now = int(time.time())
        claims: dict[str, Any] = {"iss": self.issuer, "aud": CLIENT, "nonce": nonce, "iat": now, "exp": now + 300}
        claims |= {"sub": "1", "preferred_username": "ana"} | self.how.get("claims", {})
        claims = {name: value for name, value in claims.items() if value is not None}
        twist = self.how.get("twist", "")
        rsa, ec = self.keys
        header = {"alg": "RS256", "kid": rsa.kid}
        if twist == "none":
            return (
                ".".join(_base64(json.dumps(part).encode()) for part in ({**header, "alg": "none"}, claims)) + "."
            )
        if twist == "hmac":
            text = ".".join(_base64(json.dumps(part).encode()) for part in ({**header, "alg": "HS256"}, claims))
            return f"{text}.{_base64(hmac.digest(rsa.as_pem(private=False), text.encode(), 'sha256'))}"
        if twist == "own key":  # a key of the attacker, which the token itself brings along
            own = RSAKey.generate_key(2048)
            return jwt.encode({**header, "jwk": own.as_dict(private=False)}, claims, own)
        if twist == "key of another kind":
            return jwt.encode({"alg": "ES256", "kid": rsa.kid}, claims, ec)
        if twist == "elliptic":
            return jwt.encode({"alg": "ES256", "kid": ec.kid}, claims, ec)
        key = RSAKey.generate_key(2048) if twist in ("forged", "forged kid") else rsa
        header |= {"kid": secrets.token_hex(4)} if twist == "forged kid" else {}
        signed = jwt.encode(header, claims, key)
        if twist == "altered":
            head, body, tail = signed.split(".")
            body = body[:-4] + ("AAAA" if body[-4:] != "AAAA" else "BBBB")
            return ".".join([head, body, tail])
        return signed


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class _Handler(BaseHTTPRequestHandler):
    """The endpoints."""

    state: _State

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, dict(parse_qsl(urlsplit(self.path).query))
        state = self.state
        if path == "/.well-known/openid-configuration":
            about = {"issuer": state.issuer, "jwks_uri": f"{state.issuer}/jwks"}
            about |= {f"{name}_endpoint": f"{state.issuer}/{name}" for name in ("authorization", "token")}
            self.send({**about, **state.how.get("about", {})}, state.how.get("status", 200))
        elif path == "/jwks":
            state.fetched += 1
            self.send({"keys": [key.as_dict(private=False) for key in state.keys]})
        elif path == "/authorization":
            right = {"client_id": CLIENT, "redirect_uri": state.redirect, "response_type": "code"}
            right |= {"code_challenge_method": "S256"}
            if any(query.get(name) != value for name, value in right.items()) or "openid" not in query["scope"]:
                self.send({"error": "invalid_request"}, 400)
                return
            code = secrets.token_urlsafe(16)
            state.codes[code] = query
            back = {"code": code, "state": query["state"], "iss": state.issuer, **state.how.get("back", {})}
            self.go(f"{state.redirect}?{urlencode({k: v for k, v in back.items() if v is not None})}")
        else:
            self.send({}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        state = self.state
        if self.path == "/behave":
            how = json.loads(body)
            if how.pop("rotate", False):
                state.rotate()
            state.how = how
            self.send({"fetched": state.fetched, "refused": state.refused})
            return
        form = {name: value[0] for name, value in parse_qs(body).items()}
        asked = state.codes.pop(form.get("code", ""), None)
        challenge = _base64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if self.headers.get("authorization") != f"Basic {basic}":
            self.send({"error": "invalid_client", "error_description": "<b>private</b>"}, 401)
            return
        if (
            asked is None
            or asked["code_challenge"] != challenge
            or form.get("redirect_uri") != asked["redirect_uri"]
        ):
            state.refused += 1
            self.send({"error": "invalid_grant", "error_description": "<b>private</b>"}, 400)
            return
        token = state.token(asked["nonce"])
        self.send({"access_token": "unused", "token_type": "Bearer", "id_token": token})

    def send(self, found: Any, status: int = 200) -> None:
        body = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def go(self, address: str) -> None:
        self.send_response(302)
        self.send_header("Location", address)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def main(redirect: str) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    _Handler.state = _State(redirect)
    _Handler.state.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    print(_Handler.state.issuer, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
