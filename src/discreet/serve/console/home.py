"""Show the first page: who is signed in, and the vaults of the account."""

from __future__ import annotations

from html import escape

from litestar import MediaType, get

from discreet.serve.guards import Parts, WhoAsks


@get("/", media_type=MediaType.HTML)
async def home(actor: WhoAsks, service: Parts) -> str:
    """Show the vaults of the account."""
    names = "".join(f"<li>{escape(name)}</li>" for name in service.vaults.names_for(actor))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Discreet</title><main><h1>Vaults</h1><p>Signed in as {escape(actor.name)} ({actor.role}).</p>"
        f'<ul>{names}</ul><form method="post" action="/logout"><button>Sign out</button></form></main></html>'
    )
