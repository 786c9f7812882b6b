"""Define the HTTP API: JSON in and out, bearer tokens only, described by OpenAPI.

    bodies       what requests and responses hold, as msgspec records
    me           GET  /api/v1/whoami
    vaults       GET  /api/v1/vaults, /api/v1/vaults/{name}
    questions    POST /api/v1/vaults/{name}/preview, /ask; GET, DELETE /api/v1/questions/{id}, /events
    ledger       balances, entries, verification, budgets, releases
    products     oracles, synthetic tables, models, holdouts, streams, audits
    collections  local collections: descriptors, batches of reports, estimates
    people       accounts, tokens, invitations, grants
    replies      a reply of `Questions` as an HTTP response; products by id

To add a route: write a handler like `questions.ask`, check the right with `actor.expect(verb, …)`, carry it to a
worker with `service.questions.run(…)`, return `replied(…)`, and list the handler in `ROUTES`.
"""

from __future__ import annotations

from litestar import Router

from discreet.serve.api import collections, ledger, me, people, products, questions, vaults
from discreet.serve.guards import by_token

ROUTES = [
    *(me.whoami, vaults.listed, vaults.described),
    *(questions.preview, questions.ask, questions.poll, questions.cancel, questions.events),
    *(ledger.ledger, ledger.entries, ledger.verification, ledger.budget, ledger.releases, ledger.release),
    *products.ROUTES,
    *collections.ROUTES,
    *people.ROUTES,
]

api = Router("/api/v1", route_handlers=ROUTES, guards=[by_token], security=[{"token": []}])
"""All routes of the API."""
