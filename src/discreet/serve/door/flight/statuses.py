"""Write errors as clients of gRPC read them: a status, and problem, found and fix in one text.

The words of an error of Discreet's own are public, and are shown. Of any other exception a client gets constant
words, whatever its text is: that may hold a value.
"""

from __future__ import annotations

import re
from enum import IntEnum

from discreet.errors import DiscreetError
from discreet.serve.door.flight.protobuf import Malformed
from discreet.serve.door.refusals import PROTOCOL, Refusal, failure, refusal_of

LONGEST = 2000
"""The most characters of a text: clients bound the size of what follows an answer."""


class Status(IntEnum):
    """The statuses of gRPC that are used here."""

    OK = 0
    CANCELLED = 1
    INVALID_ARGUMENT = 3
    NOT_FOUND = 5
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


_BY_STATE = {
    "28P01": Status.UNAUTHENTICATED,
    "42501": Status.PERMISSION_DENIED,
    "25006": Status.PERMISSION_DENIED,
    "53400": Status.FAILED_PRECONDITION,
    "53300": Status.RESOURCE_EXHAUSTED,
    "54000": Status.RESOURCE_EXHAUSTED,
    "3D000": Status.NOT_FOUND,
    "55006": Status.ABORTED,
    "57014": Status.CANCELLED,
    "58000": Status.UNAVAILABLE,
    "XX000": Status.INTERNAL,
    "0AX00": Status.UNIMPLEMENTED,
}
UNKNOWN, TOO_LARGE = "0AX00", "54000"
"""States of ours beside those of PostgreSQL: a call that is not known, and a message that is too large."""


def told(error: BaseException) -> tuple[Status, str]:
    """Return the status and the text that a client gets of an exception. All that leaves a call in error is here.

    >>> told(Refusal("Too dear.", "53400", "Run SET discreet.spend = '5%'."))
    (<Status.FAILED_PRECONDITION: 9>, "Too dear. Run SET discreet.spend = '5 percent'.")
    >>> told(KeyError("a private value")) == told(ZeroDivisionError())
    True
    """
    if isinstance(error, DiscreetError):
        refusal = refusal_of(error)
    elif isinstance(error, Malformed):
        refusal = Refusal("This message is not understood.", PROTOCOL)
    else:
        refusal = error if isinstance(error, Refusal) else failure()
    # ADBC's driver takes the text for a format of Go, in which a sign of percent means something else.
    words = re.sub(r"\s*%", " percent", f"{refusal.message} {refusal.hint}").strip()
    return _BY_STATE.get(refusal.state, Status.INVALID_ARGUMENT), words[:LONGEST]


def expected(error: BaseException) -> bool:
    """Return whether an exception is a refusal, and not a fault on our side."""
    return isinstance(error, Refusal | DiscreetError | Malformed)


def escaped(words: str) -> str:
    """Return a text as gRPC sends it: ASCII, with % and two digits for all other bytes.

    >>> escaped("± 5 %")
    '%C2%B1 5 %25'
    """
    return "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte != 0x25 else f"%{byte:02X}" for byte in words.encode()
    )
