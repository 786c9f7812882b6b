"""Define the console: pages for people, cookies only, server-rendered.

    session      GET /login, POST /login, POST /logout: begin and end a session
    home         GET /: the first page

To add a page: write a handler in a module of this package, list it in `PAGES` (signed in) or `OPEN` (strangers).
Handlers get `actor` and `service` like those of the API. Scripts and styles are files of this package, served by
`static` from the same origin: the policy allows no inline script or style.
"""

from __future__ import annotations

from litestar import Router

from discreet.serve.console import home, session
from discreet.serve.guards import by_session, from_own_page

PAGES = [home.home, session.sign_out]
OPEN = [session.form, session.sign_in]

console = Router("/", route_handlers=PAGES, guards=[from_own_page, by_session], include_in_schema=False)
"""The pages of people who are signed in."""
entrance = Router("/", route_handlers=OPEN, guards=[from_own_page], include_in_schema=False)
"""The pages of strangers. They set no cookie."""
