"""Serve the files of the console: one stylesheet, one script, one picture, and the survey's script and client.

Everything is a file of this package, and is named here: no path that a browser sends reaches the disk. Pages name
the files with a fingerprint of their bytes, so a browser may keep them until they change.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from litestar import Response, get
from litestar.params import FromPath

from discreet.errors import NotFound
from discreet.render.html import PAGE_STYLE

HERE = Path(__file__).parent / "static"
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_NAMES = ("console.css", "console.js", "icon.svg")
_KEEP = "public, max-age=86400"


@get("/static/{name:str}")
async def file(name: FromPath[str]) -> Response[bytes]:
    """Return a file of the console."""
    if name not in _NAMES:
        raise NotFound("There is no such file.", found=name[:64])
    return served(name, content(name))


@get("/favicon.ico")
async def icon() -> Response[bytes]:
    """Return the picture of the tab, which browsers ask for by this name."""
    return served("icon.svg", content("icon.svg"))


def served(name: str, body: bytes) -> Response[bytes]:
    """Return a file as a response that a browser may keep."""
    kind = _TYPES[name.rpartition(".")[2]]
    return Response(body, media_type=f"{kind}; charset=utf-8", headers={"cache-control": _KEEP})


@cache
def content(name: str) -> bytes:
    """Return the bytes of a file. The stylesheet begins with that of all pages of Discreet."""
    own = (HERE / name).read_bytes()
    return PAGE_STYLE.encode() + own if name.endswith(".css") else own


@cache
def address(name: str) -> str:
    """Return the address of a file, with its fingerprint."""
    return f"/static/{name}?{hashlib.sha256(content(name)).hexdigest()[:12]}"
