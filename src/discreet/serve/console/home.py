"""Show the first page: the vaults of the account."""

from __future__ import annotations

from litestar import get

from discreet.serve.console.pages import Page, page
from discreet.serve.guards import Parts, WhoAsks


@get("/")
async def home(actor: WhoAsks, service: Parts) -> Page:
    """Show the vaults of the account."""
    return page("home", actor, vaults=service.vaults.names_for(actor))
