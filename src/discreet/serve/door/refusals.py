"""Write errors as PostgreSQL's clients read them: a sentence, an SQLSTATE, and the fix as a hint.

The words of an error of Discreet's own are public, and are shown. Of a fault on our side nothing is shown.
"""

from __future__ import annotations

from discreet.errors import MISSING, DiscreetError, Fix
from discreet.serve.problems import problem_of, status_of

SETTINGS = ("epsilon", "spend", "within", "confidence", "keys_delta", "purpose")
"""What a connection may set about its questions, each as `discreet.NAME`."""

_STATES = {
    "NotSignedIn": "28P01",
    "NotPermitted": "42501",
    "BudgetExceeded": "53400",
    "NotForRelease": "42501",
    "NotFound": "3D000",
    "AlreadyRunning": "55006",
    "TooManyRequests": "53300",
    "ParameterError": "22023",
    "QuestionRefused": "0A000",
    "ServiceFailed": "58000",
}

SYNTAX, PROTOCOL, NOT_SUPPORTED, READ_ONLY = "42601", "08P01", "0A000", "25006"
CANCELLED, NO_TLS, WRONG_VALUE, UNKNOWN_SETTING, IDLE = "57014", "28000", "22P02", "42704", "57P05"


class Refusal(Exception):
    """An error for the client.

    Args:
        message: What is wrong, in public words.
        state: The SQLSTATE.
        hint: What to do about it; empty if nothing helps.
        fatal: Whether the connection ends.
    """

    def __init__(self, message: str, state: str = NOT_SUPPORTED, hint: str = "", *, fatal: bool = False) -> None:
        """Take the words."""
        super().__init__(message)
        self.message, self.state, self.hint, self.fatal = message, state, hint, fatal


def refusal_of(error: DiscreetError) -> Refusal:
    """Return an error of Discreet's own as a client reads it.

    >>> refused = refusal_of(DiscreetError("Too dear.", fix=[Fix("spend", "5%", note="± 84"), "Ask the curator."]))
    >>> refused.message, refused.hint
    ('Too dear.', "Run SET discreet.spend = '5%' (± 84). Ask the curator.")
    """
    name = type(error).__name__
    if status_of(name) >= 500:  # paths, addresses and the state of a machine are not for analysts
        problem = problem_of(error)
        return Refusal(problem.detail, "58000", " ".join(str(fix.get("text", "")) for fix in problem.fixes))
    message = error.problem if error.found is MISSING else f"{error.problem} Found: {error.found}."
    settings = [fix for fix in error.fixes if isinstance(fix, Fix) and not fix.call and fix.parameter in SETTINGS]
    others = [fix for fix in error.fixes if fix not in settings]
    hint = [f"Run {' or '.join(map(_set, settings))}."] if settings else []
    return Refusal(message, _STATES.get(name, "22023"), " ".join([*hint, *map(_sentence, others)]))


def _set(fix: Fix) -> str:
    value = str(fix.value).replace("'", "''")
    return f"SET discreet.{fix.parameter} = '{value}'" + (f" ({fix.note})" if fix.note else "")


def _sentence(fix: Fix | str) -> str:
    if isinstance(fix, str):
        return fix
    if fix.parameter == "Retry-After":
        return f"Try again after {fix.value} seconds."
    return f"{fix.python}."


def failure() -> Refusal:
    """Return the refusal for a fault on our side: always the same."""
    return Refusal(
        "The service failed. The ledger shows what was charged; the same question is not charged twice.", "XX000"
    )
