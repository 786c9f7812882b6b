"""Use the vaults of a service as local ones: `discreet.Client` and `discreet.AsyncClient`.

    vault = dp.Vault("trips.vault")                                       # a vault on this machine
    vault = dp.Client("https://vaults.example", token=…).vault("trips")  # the same verbs, over HTTP

Its modules:

    client      Client and AsyncClient: the connection, and retries
    remote      vaults, products and collections of a service
    verb        Verb: a flow as a method that blocks or is awaited
    requests    Request, Flow: what is sent, and errors from problems
    flows       the verbs, each written once for both clients
    products    oracles, holdouts, streams and ledgers of a service
    collections local collections of a service

Answers are the same objects as those of a local vault, read from JSON. A refusal raises the same error. A request
that charges has an idempotency key, so a retry after a lost connection is charged once.
"""
