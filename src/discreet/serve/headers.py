"""Set the security headers of every response, of errors too.

The policy lets a page load scripts, styles and pictures of this service and nothing else, and no script may write
HTML from text (trusted types). Nothing is stored by a browser or a proxy. Litestar's own `response_headers` leave
out errors, so a hook before sending adds them.
"""

from __future__ import annotations

from litestar.types import Message, Scope

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
TLS = {"strict-transport-security": "max-age=31536000"}


async def dress(message: Message, scope: Scope) -> None:
    """Add the headers to a response that is about to be sent. What a handler set itself stays."""
    if message["type"] == "http.response.start":
        secure = scope["litestar_app"].state.service.settings.secure
        present = {name.lower() for name, _ in message["headers"]}
        wanted = {**HEADERS, **(TLS if secure else {})}
        added = [(name.encode(), value.encode()) for name, value in wanted.items() if name.encode() not in present]
        message["headers"] = [*message["headers"], *added]
