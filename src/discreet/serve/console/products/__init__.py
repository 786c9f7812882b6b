"""Define the pages of what lasts: oracles, synthetic tables and models. An analyst makes them and uses them.

    kind         Kind: what a page needs to know of a kind of product; reading of forms, offers
    making       /vaults/NAME/products/KIND: the form, its cost before the charge, and the charge
    jobs         …/PRODUCT/jobs/JOB: how far a job is, and a button that cancels it
    using        …/PRODUCT: what was made, with its label and files; ask an oracle, predict with a model
    oracles      the kind "oracle": a plan before the charge, then answers, most of them free
    synthetic    the kind "synthetic": rows to hand out, and a report on how wrong they are
    models       the kind "model": a card with drawn shape functions, and predictions

Pages call the same verbs as the API, through `serve.api.replies`: one charge, one idempotency key, one record.
"""

from __future__ import annotations

from discreet.serve.console.products import jobs, making, using

PAGES = [*making.PAGES, *jobs.PAGES, *using.PAGES]
"""The pages of people who are signed in."""
