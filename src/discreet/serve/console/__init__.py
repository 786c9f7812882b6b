"""Define the console: pages for people, cookies only, server-rendered.

    pages        templates, and problems as pages
    static       GET /static/…: our stylesheet, our script, our icon
    session      GET /login, POST /login, POST /logout: begin and end a session
    home         GET /: the vaults of the account
    vault        GET /vaults/NAME: its columns and what is left
    ask          /vaults/NAME/ask, /cost, /preview: preview and ask; builder: SQL from the choices of a form
    answers      /vaults/NAME/answer: a recorded answer with its picture, label, link, code and files
    people       /people, /account, /join: accounts, invitations, tokens, passwords
    access       /vaults/NAME/access, /spending: grants, budgets, who spent what, the line that verifies the ledger
    sealing      /new: upload, declare columns, report, budget, seal; uploads: the private folder
    consequence  a budget as "40 counts at ± 200"
    products/    /vaults/NAME/products/KIND: make and use oracles, synthetic tables and models
    audit        /audit, /vaults/NAME/releases: ledgers, labels, the auditor's power
    templates/   the pages, in Jinja2
    static/      the files

To add a page: write a handler in a module of this package, list it in `PAGES` (signed in) or `OPEN` (strangers).
Handlers get `actor` and `service` like those of the API. Scripts and styles are files of this package, served by
`static` from the same origin: the policy allows no inline script or style.
"""

from __future__ import annotations

from litestar import Router

from discreet.serve.console import access, answers, ask, audit, home, people, sealing, session, static, vault
from discreet.serve.console.pages import HANDLERS
from discreet.serve.console.products import PAGES as PRODUCTS
from discreet.serve.guards import from_own_page
from discreet.serve.survey import manage, respondent

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
    people.people_page,
    people.invite,
    people.set_open,
    people.account_page,
    people.new_token,
    people.revoke,
    people.set_password,
    access.access_page,
    access.grant,
    access.revoke,
    access.raise_budget,
    access.spending,
    access.line,
    sealing.new_page,
    sealing.upload,
    sealing.columns_page,
    sealing.check,
    sealing.budget,
    sealing.seal,
    sealing.progress,
    audit.audit_page,
    audit.releases_page,
    audit.label_page,
    *PRODUCTS,
    *manage.PAGES,
]
OPEN = [session.form, session.sign_in, people.join_page, people.join, static.file, static.icon]

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
respondents = Router("/", route_handlers=respondent.OPEN, include_in_schema=False, exception_handlers=HANDLERS)
"""What respondents of surveys reach. No cookie is read or set, so a request may come from any page."""
