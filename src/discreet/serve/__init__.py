"""Serve vaults to a team over HTTP: `discreet serve FOLDER`.

    settings     Settings: file and environment
    service      Service: all parts of a running service, for every door
    app          create_app: the application of ASGI, errors, OpenAPI
    server       Server: uvicorn, graceful shutdown
    accounts/    people, tokens, sessions, invitations, grants, products, durable replies; SQLite or PostgreSQL
    vaults       the registry of vaults, and who may see which
    questions    one question at a time per analyst, keys, deadline, jobs
    clock        ticks: when what depends on rows may leave
    workers      pools of worker processes, seen from the server
    worker       a worker process
    tasks        the table of all verbs of workers: add `describe`, `ask` … here
    verbs/       what workers do with ledgers, oracles, synthetic tables, models, holdouts, streams, audits
    problems     errors as problem+json
    guards       who makes a request: tokens for the API, cookies for the console
    headers      security headers on every response
    limits/      requests in a minute, open connections, clients that keep the server waiting
    logs         JSON lines without private values
    metrics      Prometheus text without private values
    api/         routes of the HTTP API; add routes to `ROUTES`
    door/        the wire protocol of PostgreSQL, for psql and BI tools, and Arrow Flight SQL, for ADBC
    console/     pages for people; add pages to `PAGES`
    oidc/        sign-in by a provider of OpenID Connect
    survey/      surveys under local privacy: the respondent's page, reports, estimates

The path of a request: guard ─▶ handler ─▶ `Actor.expect` ─▶ `Questions.run` ─▶ worker ─▶ tick ─▶ reply.
The server process opens no vault and sees no row; docs/service.md has the threat model.
"""
