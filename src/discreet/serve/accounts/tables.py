"""Define the tables of accounts, in SQL that SQLite and PostgreSQL both read.

Times are whole seconds since 1970, sets are names separated by blanks, and nothing is NULL: an empty text or 0
means that there is none.
"""

from __future__ import annotations

VERSION = 1

TABLES = (
    "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT NOT NULL,"
    " subject TEXT NOT NULL, disabled BIGINT NOT NULL, created BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS tokens (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, owner TEXT NOT NULL,"
    " label TEXT NOT NULL, verbs TEXT NOT NULL, vaults TEXT NOT NULL, created BIGINT NOT NULL,"
    " expires BIGINT NOT NULL, used BIGINT NOT NULL, revoked BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS sessions (hash TEXT PRIMARY KEY, owner TEXT NOT NULL, begun BIGINT NOT NULL,"
    " seen BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS invitations (hash TEXT PRIMARY KEY, role TEXT NOT NULL, maker TEXT NOT NULL,"
    " expires BIGINT NOT NULL, used_by TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS grants (owner TEXT NOT NULL, vault TEXT NOT NULL, purposes TEXT NOT NULL,"
    " maker TEXT NOT NULL, since BIGINT NOT NULL, PRIMARY KEY (owner, vault))",
    "CREATE TABLE IF NOT EXISTS replies (id TEXT PRIMARY KEY, owner TEXT NOT NULL, idempotency TEXT NOT NULL,"
    " fingerprint TEXT NOT NULL, verb TEXT NOT NULL, vault TEXT NOT NULL, server TEXT NOT NULL,"
    " status BIGINT NOT NULL, body TEXT NOT NULL, begun BIGINT NOT NULL, UNIQUE (owner, idempotency))",
    "CREATE TABLE IF NOT EXISTS cancellations (id TEXT PRIMARY KEY, begun BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS logins (hash TEXT PRIMARY KEY, browser TEXT NOT NULL, nonce TEXT NOT NULL,"
    " verifier TEXT NOT NULL, account TEXT NOT NULL, subject TEXT NOT NULL, name TEXT NOT NULL,"
    " expires BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS devices (hash TEXT PRIMARY KEY, owner TEXT NOT NULL, expires BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS products (id TEXT PRIMARY KEY, owner TEXT NOT NULL, kind TEXT NOT NULL,"
    " vault TEXT NOT NULL, purpose TEXT NOT NULL, arguments TEXT NOT NULL, made BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS answers (product TEXT NOT NULL, number BIGINT NOT NULL, body TEXT NOT NULL,"
    " free BIGINT NOT NULL, PRIMARY KEY (product, number))",
    "CREATE TABLE IF NOT EXISTS passes (survey TEXT NOT NULL, kind TEXT NOT NULL, pass TEXT NOT NULL,"
    " what TEXT NOT NULL, PRIMARY KEY (survey, kind, pass))",
)
