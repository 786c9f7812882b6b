"""State what is true of every release: the bias, the arithmetic, timing, and trust.

Each statement has two versions: `CENTRAL` is about a vault, and `LOCAL` about reports of devices.
"""

from __future__ import annotations

from typing import NamedTuple

BIAS = (
    "Intervals cover the noise only. Bounding adds a bias that they do not show: the rows of a person with more "
    "rows than count in full are scaled down, and values outside their bounds are moved to them."
)
"""What the intervals do not show."""

ARITHMETIC = (
    "Sums are exact integers, and so is the noise, which a cryptographic generator draws with exactly its law; "
    "floating point is used only after the noise was added."
)
"""How numbers are computed."""

TIMING = (
    "The time of a draw of noise does not depend on the value drawn. The time of the engine depends on the rows, "
    "and is not hidden."
)
"""What can be learned from the time of an answer."""

TRUST = "central: every account that can read the vault's files can read the rows; analysts see releases only"
"""Who can read the rows."""


class Statements(NamedTuple):
    """What is true of every release of one model."""

    bias: str
    arithmetic: str
    timing: str
    trust: str


CENTRAL = Statements(BIAS, ARITHMETIC, TIMING, TRUST)
"""The rows are in a vault, and the noise is added to what is computed from them."""

LOCAL = Statements(
    bias="Intervals cover the noise of honest devices. Malicious reports can move a number beyond them.",
    arithmetic=(
        "A device draws its report with probabilities that are whole numbers over 2⁶⁴; floating point is used "
        "only by the server, on reports."
    ),
    timing="A device draws its report by itself. When it sends the report is not hidden.",
    trust="local: a device trusts its own software only; the server and every recipient see randomised reports",
)
"""Every device adds noise to its own value, and the server sees reports only."""
