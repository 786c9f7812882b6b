"""Which tests one worker runs: those that share a server, so that each server is started once.

A test that needs PostgreSQL, Spark or a browser says so in its name or in that of its file. (pytest-xdist 3.8 has
marks for this, and writes them where pytest 9.2 does not look any more.)
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

SERVERS = ("spark", "postgres", "browser")


class ByServer(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """All tests of one server go to one worker, and every other test to whichever is free."""

    def _split_scope(self, nodeid: str) -> str:
        return next((server for server in SERVERS if server in nodeid.casefold()), nodeid)
