"""Find the files of the respondent's page: our script and style, and the JavaScript client.

A wheel has the client beside this module; in the repository it is in `clients/js`. Files are named here, so that
no path of a request reaches the disk.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
_CLIENT = (
    *("index.js", "descriptor.js", "device.js", "domains.js", "draws.js", "frames.js", "keys.js"),
    *("randomisers.js", "sha256.js", "tickets.js", "web.js"),
    *("protocols/frequencies.js", "protocols/hashed.js", "protocols/numbers.js", "protocols/parameters.js"),
    *("protocols/projective.js", "protocols/two_step.js", "protocols/words.js"),
)
_OWN = ("survey.js", "later.js", "survey.css")


@cache
def files() -> dict[str, bytes]:
    """Return the files by the path under which pages name them."""
    packed = _HERE / "client"
    client = packed if packed.is_dir() else _HERE.parents[3] / "clients" / "js"
    found = {f"client/{name}": (client / name).read_bytes() for name in _CLIENT}
    return {**found, **{name: (_HERE / "static" / name).read_bytes() for name in _OWN}}
