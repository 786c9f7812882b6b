"""Turn errors into problem+json (RFC 9457): what is wrong, what was found, the fixes, and what is left.

The words of an error of Discreet's own are public, and are shown. Of a fault on our side nothing is shown: an
exception's text may hold a value. Its status is 500, and its text is constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from discreet import errors
from discreet.errors import DiscreetError

MEDIA_TYPE = "application/problem+json"

_STATUS: dict[str, int] = {
    "NotSignedIn": 401,
    "NotPermitted": 403,
    "BudgetExceeded": 403,
    "NotForRelease": 403,
    "NotFound": 404,
    "AlreadyRunning": 409,
    "Cancelled": 410,
    "TooManyRequests": 429,
    "ServiceFailed": 500,
    "LedgerTampered": 500,
    "MissingPackage": 500,
    "DatabaseUnavailable": 503,
    "LedgerUnavailable": 503,
    "LedgerMissing": 503,
    "AnswerUnrecorded": 503,
}
"""The status of an error by its name; 422 for all others: the request has no meaning, and nothing was charged."""

FAILED = "The service failed. The ledger shows what was charged; the same request is not charged twice."
UNAVAILABLE = "A database of the service cannot be reached now."
_CONSTANT = {
    "ServiceFailed": FAILED,
    "LedgerTampered": "The ledger of this vault does not verify. Nothing is answered until the curator looks.",
    "MissingPackage": FAILED,
    "AnswerUnrecorded": "This was charged, but the answer could not be recorded, so it is not shown.",
}
_AGAIN = {"text": "Send the same request again: it is not charged a second time."}


class Problem(msgspec.Struct, omit_defaults=True):
    """A problem, as every door of the service reports it.

    `detail` is the sentence for people; `error` is the class of the error in Python; `fixes` are ways out, each
    {"parameter", "value", "call", "note"} or {"text"}; `left` is what the accounts have left, after a refusal for
    the budget.
    """

    title: str
    status: int
    detail: str
    error: str
    type: str = "about:blank"
    found: str | None = None
    fixes: list[dict[str, Any]] = []
    left: list[dict[str, Any]] | None = None


def status_of(name: str) -> int:
    """Return the status of an error by its name.

    >>> status_of("BudgetExceeded"), status_of("QuestionRefused")
    (403, 422)
    """
    return _STATUS.get(name, 422)


def problem_of(error: DiscreetError | Mapping[str, Any], left: list[dict[str, Any]] | None = None) -> Problem:
    """Return the problem of an error, or of an error as `to_json` wrote it in a worker.

    >>> problem_of(errors.QuestionRefused("Rows are not answered.", fix="Ask for a count.")).fixes
    [{'text': 'Ask for a count.'}]
    """
    record = error.to_json() if isinstance(error, DiscreetError) else error
    name, status = record["error"], status_of(record["error"])
    title = HTTPStatus(status).phrase
    if status >= 500:  # paths, addresses and the state of a machine are not for analysts
        return Problem(title, status, _CONSTANT.get(name, UNAVAILABLE), name, fixes=[_AGAIN])
    return Problem(title, status, record["problem"], name, found=record["found"], fixes=record["fix"], left=left)


def failure() -> Problem:
    """Return the problem of a fault on our side: always the same."""
    return problem_of(errors.ServiceFailed(FAILED))


def refused_by_framework(status: int, extra: Any) -> Problem:
    """Return the problem of a request that the framework refused: a missing field, a missing page, a long body.

    >>> refused_by_framework(400, [{"message": "Expected `str`", "key": "sql"}]).detail
    'sql: Expected `str`'
    """
    wrong = [
        f"{one.get('key', 'body')}: {one['message']}"
        for one in extra or []
        if isinstance(one, dict) and "message" in one
    ]
    phrase = HTTPStatus(status).phrase
    told = Problem(phrase, status, "; ".join(wrong)[:500] or f"{phrase}.", "ServiceRefused")
    return told if status < 500 else failure()


def lost() -> Problem:
    """Return the problem of a question whose worker ended."""
    return Problem(
        HTTPStatus(503).phrase,
        503,
        "The process that computed this ended before it had an answer. Nothing is lost and nothing is overspent.",
        "ServiceFailed",
        fixes=[_AGAIN],
    )


def too_long(seconds: float) -> Problem:
    """Return the problem of a table that took longer to read than it may."""
    return Problem(
        HTTPStatus(422).phrase,
        422,
        "Reading this table takes longer than it may. Nothing was sealed.",
        "SealingFailed",
        found=f"more than {seconds:g} seconds",
        fixes=[{"text": "Leave out columns with long texts, or ask the operator to raise upload_seconds."}],
    )


def unreachable() -> Problem:
    """Return the problem of a provider that cannot be reached, or is not what the settings say."""
    return Problem(
        HTTPStatus(503).phrase,
        503,
        "The provider that signs people in cannot be reached, or its settings are wrong.",
        "ServiceFailed",
        fixes=[{"text": "Try again, or sign in with a password. The operator finds the reason in the log."}],
    )


def cancelled() -> Problem:
    """Return the problem of a job that its owner cancelled."""
    return Problem(
        HTTPStatus(410).phrase,
        410,
        "The job was cancelled. If it had been charged by then, the charge stays; before that, it cost nothing.",
        "Cancelled",
        fixes=[{"text": "See the ledger for what was charged. To start again, send a new idempotency key."}],
    )


def stopped() -> Problem:
    """Return the problem of a question that cannot be resumed, after the server was stopped amid it."""
    return Problem(
        HTTPStatus(503).phrase,
        503,
        "The server was stopped amid this request, which is not started again by itself.",
        "ServiceFailed",
        fixes=[{"text": "See the ledger for what was charged. To start again, send a new idempotency key."}],
    )
