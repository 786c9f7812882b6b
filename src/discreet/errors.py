"""What can go wrong, in one tree.

    DiscreetError
    ├── ParameterError (ValueError)      a parameter that has no meaning: a negative scale, δ of 2
    │   └── LawTooWide                   noise that could leave int64
    ├── SensitivityExceeded              an exact value more sensitive than the mechanism was built for
    ├── BudgetExceeded                   a session or a ledger that cannot afford its next step
    ├── NotComposable (TypeError)        a loss that this kind of composition cannot account for
    ├── DatabaseUnavailable              a database that cannot be reached, lets nobody in, or fails
    ├── LedgerUnavailable                a ledger that cannot be read or written now: locked, disk full
    │   └── LedgerMissing                there is none, or something that is none
    ├── LedgerTampered                   a ledger whose entries do not follow from each other, or of another vault
    ├── SealingFailed                    a source that could not be read, or a place that could not be written
    ├── QuestionRefused (ValueError)     a question that a vault does not answer, and the nearest one that it does
    ├── NotEnumerable                    code whose draws the exact attack cannot walk through
    └── NotForRelease (RuntimeError)     a result made from test bits on its way out

    InexactFloat (UserWarning)           a float where an exact number was wanted

Every message says what was wrong, the value found, and what to write instead.
"""


class DiscreetError(Exception):
    """The root of every error that Discreet raises on purpose."""


class ParameterError(DiscreetError, ValueError):
    """A parameter that has no meaning."""


class LawTooWide(ParameterError):
    """Noise whose tail could leave the range of int64."""


class SensitivityExceeded(DiscreetError):
    """An exact value that is more sensitive than the mechanism was built for."""


class BudgetExceeded(DiscreetError):
    """A step that costs more than what is left. Nothing was charged."""


class NotComposable(DiscreetError, TypeError):
    """A loss that this kind of composition cannot account for."""


class DatabaseUnavailable(DiscreetError):
    """A database that cannot be reached or fails, or a transaction that cannot be ended as it should."""


class LedgerUnavailable(DiscreetError):
    """A ledger that cannot be read or written now. Whatever waited for it is not released."""


class LedgerMissing(LedgerUnavailable):
    """There is no ledger where one should be, or something that is none."""


class LedgerTampered(DiscreetError):
    """A ledger whose entries do not follow from each other, or one that is not its vault's own."""


class SealingFailed(DiscreetError):
    """A source that could not be read, or a place that could not be written. No value of a row is shown."""


class QuestionRefused(DiscreetError, ValueError):
    """A question that a vault does not answer. It was refused by its text alone: no row was looked at."""


class NotEnumerable(DiscreetError):
    """Code whose draws the exact attack cannot walk through."""


class NotForRelease(DiscreetError, RuntimeError):
    """A result that was made from deterministic test bits."""


class InexactFloat(UserWarning):
    """A float was given where an exact number was wanted."""
