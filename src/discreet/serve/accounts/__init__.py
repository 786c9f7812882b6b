"""Keep the accounts of the service: people, tokens, sessions, invitations, grants and replies.

    records       frozen records: Role, User, Token, Grant, Invitation, Actor
    database      one interface for SQLite and PostgreSQL: `write()` and `read()` transactions
    tables        the tables, in SQL that both read
    passwords     argon2, and a check that takes as long for a name that is not there
    secrets       random keys of 256 bits, and the hash that is stored instead of them
    accounts      Accounts: people, tokens, sessions, invitations and grants
    devices       Devices: the browsers in which a person has signed in, whose attempts are counted apart
    identities    Identities: sign-ins by a provider that are under way, and whose account a person has
    passes        Passes: keys of requests that make a collection, each used once
    products      Products: oracles, tables, models, holdouts and streams that an account made
    replies       Replies: what was replied to an idempotency key, durable
    slots         a lock for an account that all servers see, and that ends with its server
    turns         Turns: one question of an account at a time, in all servers together

Budgets are not here: the ledger of each vault has them (`Ledger.allot`), so that there is one place that refuses.
A grant says that an analyst may use a vault at all.
"""

from discreet.serve.accounts.accounts import Accounts
from discreet.serve.accounts.database import Database, database_at
from discreet.serve.accounts.devices import Devices
from discreet.serve.accounts.identities import Identities, Login
from discreet.serve.accounts.passes import Passes
from discreet.serve.accounts.products import Product, Products
from discreet.serve.accounts.records import VERBS, Actor, Grant, Invitation, Role, Token, User
from discreet.serve.accounts.replies import Replies, Reply
from discreet.serve.accounts.slots import slots_at
from discreet.serve.accounts.turns import Turns

__all__ = [
    "VERBS",
    "Accounts",
    "Actor",
    "Database",
    "Devices",
    "Grant",
    "Identities",
    "Invitation",
    "Login",
    "Passes",
    "Product",
    "Products",
    "Replies",
    "Reply",
    "Role",
    "Token",
    "Turns",
    "User",
    "database_at",
    "slots_at",
]
