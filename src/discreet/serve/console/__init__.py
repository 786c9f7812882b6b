"""Define the console: pages for people, cookies only, server-rendered.

    pages        templates, and problems as pages
    static       GET /static/…: our stylesheet, our script, our icon
    session      GET /login, POST /login, POST /logout: begin and end a session
    home         GET /: the vaults of the account
    vault        GET /vaults/NAME: its columns and what is left
    ask          /vaults/NAME/ask, /cost, /preview: preview and ask; builder: SQL from the choices of a form
    answers      /vaults/NAME/answer: a recorded answer with its picture, label, link, code and files
    templates/   the pages, in Jinja2
    static/      the files

To add a page: write a handler in a module of this package, list it in `PAGES` (signed in) or `OPEN` (strangers).
Handlers get `actor` and `service` like those of the API. Scripts and styles are files of this package, served by
`static` from the same origin: the policy allows no inline script or style.
"""

from __future__ import annotations

from litestar import Router

from discreet.serve.console import answers, ask, home, session, static, vault
from discreet.serve.console.pages import HANDLERS
from discreet.serve.guards import from_own_page

PAGES = [
    home.home,
    session.sign_out,
    vault.vault_page,
    ask.ask_page,
    ask.cost,
    ask.preview,
    ask.ask,
    answers.waiting,
    answers.answer,
]
OPEN = [session.form, session.sign_in, static.file, static.icon]

console = Router(
    "/",
    route_handlers=PAGES,
    guards=[from_own_page, session.in_turn],
    include_in_schema=False,
    exception_handlers=HANDLERS,
)
"""The pages of people who are signed in."""
entrance = Router(
    "/", route_handlers=OPEN, guards=[from_own_page], include_in_schema=False, exception_handlers=HANDLERS
)
"""The pages of strangers. They set no cookie."""
