"""Define every error, in one tree, and render its fix for Python.

    DiscreetError
    ├── ParameterError (ValueError)      a parameter that has no meaning: a negative scale, δ of 2
    │   └── LawTooWide                   noise that could leave int64
    ├── SensitivityExceeded              an exact value more sensitive than the mechanism was built for
    ├── BudgetExceeded                   a session or a ledger that cannot afford its next step
    ├── NotComposable (TypeError)        a loss that this kind of composition cannot account for
    ├── DatabaseUnavailable              a database that cannot be reached, refuses the login, or fails
    ├── LedgerUnavailable                a ledger that cannot be read or written now: locked, disk full
    │   ├── LedgerMissing                no ledger there, or a file that is not one
    │   └── AnswerUnrecorded             a question that was charged, whose answer could not be recorded
    ├── LedgerTampered                   a ledger whose entries do not follow from each other, or of another vault
    ├── SealingFailed                    a source that could not be read, or storage that could not be written
    ├── MissingPackage (ImportError)     a package of an extra that is not installed
    ├── QuestionRefused (ValueError)     a question that a vault does not answer, and the nearest one that it does
    ├── NotEnumerable                    code whose draws the exact attack cannot enumerate
    ├── NotForRelease (RuntimeError)     a result made from test bits that would leave
    └── ServiceRefused                   a request that the service does not carry out
        ├── NotSignedIn                  no token, no session, or one that has ended
        ├── NotPermitted                 an account that lacks the role, the grant or the scope
        ├── NotFound                     a vault, a question or a page that is not there for this account
        ├── AlreadyRunning               a second request while a question of the same analyst runs
        ├── Cancelled                    a job that its owner cancelled
        ├── TooManyRequests              more requests in a minute than the service allows
        └── ServiceFailed                a fault of the service: a worker ended, or a check of ours failed

    InexactFloat (UserWarning)           a float where an exact number was wanted

An error says three things: the problem, the value found, and the fix. A fix names a parameter and a value, so that
each face writes it in its own words: `within=200` in Python, `--within 200` on the command line, an object in
JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Code:
    """A value that only code can write, such as a constructor's call.

    >>> Fix("columns", Code('{"age": Integer(0, 110)}')).python
    'columns={"age": Integer(0, 110)}'
    """

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Fix:
    """One way out: give a parameter a value, in the failed call or in another one.

    Args:
        parameter: The name of the parameter, as Python writes it.
        value: The value to give it. Python writes its `repr`; the command line its `str`.
        call: The method to call instead, such as "ledger.amend"; the failed call by default.
        note: The effect of the fix in a few words, such as "± 84".

    >>> Fix("within", 200, note="costs 3 % of the budget").python
    'within=200 (costs 3 % of the budget)'
    >>> Fix("budget", Code("Budget(epsilon=3)"), call="ledger.amend").python
    'ledger.amend(budget=Budget(epsilon=3))'
    """

    parameter: str
    value: Any
    call: str = ""
    note: str = ""

    @property
    def python(self) -> str:
        """The fix as Python code."""
        assignment = f"{self.parameter}={_python(self.value)}"
        code = f"{self.call}({assignment})" if self.call else assignment
        return f"{code} ({self.note})" if self.note else code

    def to_json(self) -> dict[str, Any]:
        """Return the fix for a program: numbers stay numbers, other values are text."""
        return {
            "parameter": self.parameter,
            "value": self.value if isinstance(self.value, bool | int | float) else str(self.value),
            "call": self.call or None,
            "note": self.note or None,
        }


Fixes: TypeAlias = Fix | str | Iterable[Fix | str]
"""Ways out, the best first. A `Fix` is rendered by each face; a text is a sentence that fits every face."""


class _Missing:
    def __repr__(self) -> str:
        return "<not given>"


MISSING: Any = _Missing()
"""Marks an error without a found value: None is a value that can be found."""


class DiscreetError(Exception):
    """The root of every error that Discreet raises on purpose.

    Args:
        problem: What is wrong, as one sentence with its full stop.
        found: The value that was found, if showing it helps. It must be public.
        fix: What to do about it: one `Fix`, one sentence, or several of them.

    >>> print(ParameterError("The vault's budget has no delta.", found=2, fix=Fix("delta", "1e-9")))
    The vault's budget has no delta (found: 2). Try: delta="1e-9".
    """

    def __init__(self, problem: str = "", *, found: Any = MISSING, fix: Fixes = ()):
        """Take the problem, and what helps to mend it."""
        super().__init__(problem)
        self.found = found
        self.fixes: tuple[Fix | str, ...] = (fix,) if isinstance(fix, Fix | str) else tuple(fix)

    @property
    def problem(self) -> str:
        """What is wrong."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        return render(self, [f.python if isinstance(f, Fix) else f for f in self.fixes])

    def __reduce__(self) -> tuple[Any, ...]:  # errors cross processes; keyword arguments do not by themselves
        return _rebuild, (type(self), self.problem, None if self.found is MISSING else str(self.found), self.fixes)

    def to_json(self) -> dict[str, Any]:
        """Return the error for a program.

        >>> ParameterError("A scale must be positive.", found=-1, fix=Fix("scale", 1)).to_json()["fix"]
        [{'parameter': 'scale', 'value': 1, 'call': None, 'note': None}]
        """
        return {
            "error": type(self).__name__,
            "problem": self.problem,
            "found": None if self.found is MISSING else str(self.found),
            "fix": [f.to_json() if isinstance(f, Fix) else {"text": f} for f in self.fixes],
        }

    def _render_traceback_(self) -> list[str]:
        """Show the sentence in a notebook instead of the traceback: IPython asks for it by this name."""
        return [f"{type(self).__name__}: {self}"]


def render(error: DiscreetError, fixes: Iterable[str]) -> str:
    """Join problem, found value and fixes into the text that a face shows.

    Args:
        error: The error.
        fixes: Its fixes in the words of the face, in the order of `error.fixes`.
    """
    problem = error.problem
    if error.found is not MISSING:
        stop = "." if problem.endswith(".") else ""
        problem = f"{problem.removesuffix('.')} (found: {error.found}){stop}"
    pairs = list(zip(error.fixes, fixes, strict=True))
    ways = [text for fix, text in pairs if isinstance(fix, Fix)]
    sentences = [text for fix, text in pairs if not isinstance(fix, Fix)]
    tried = [f"Try: {', or '.join(ways)}."] if ways else []
    return " ".join([problem, *tried, *sentences])


def from_json(record: Mapping[str, Any]) -> DiscreetError:
    """Return the error that `to_json` wrote, or that a problem of the service tells.

    >>> from_json(ParameterError("A scale must be positive.", found=-1, fix=Fix("scale", 1)).to_json())
    ParameterError('A scale must be positive.')
    """
    named = globals().get(str(record.get("error")))
    kind = named if isinstance(named, type) and issubclass(named, DiscreetError) else DiscreetError
    fixes = [
        Fix(one["parameter"], one["value"], one.get("call") or "", one.get("note") or "")
        if "parameter" in one
        else str(one.get("text", ""))
        for one in record.get("fix") or record.get("fixes") or []
    ]
    found = record.get("found")
    return kind(
        str(record.get("problem") or record.get("detail") or ""),
        found=MISSING if found is None else found,
        fix=fixes,
    )


def _python(value: Any) -> str:
    """Return the value as Python code, texts in double quotes."""
    if isinstance(value, str):
        return f'"{value}"' if '"' not in value and "\\" not in value else repr(value)
    return repr(value)


def _rebuild(kind: type[DiscreetError], problem: str, found: str | None, fixes: tuple[Fix | str, ...]) -> Any:
    return kind(problem, found=MISSING if found is None else found, fix=fixes)


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
    """A ledger that cannot be read or written now. What waited for it is not released."""


class LedgerMissing(LedgerUnavailable):
    """No ledger where one should be, or a file that is not one."""


class AnswerUnrecorded(LedgerUnavailable):
    """A question that was charged, and whose answer could not be recorded. Asked again, it costs nothing."""


class LedgerTampered(DiscreetError):
    """A ledger whose entries do not follow from each other, or one that belongs to another vault."""


class SealingFailed(DiscreetError):
    """A source that could not be read, or storage that could not be written. No value of a row is shown."""


class MissingPackage(DiscreetError, ImportError):
    """A package that only one extra of Discreet brings along, and that is not installed."""


@contextmanager
def extra(name: str, purpose: str) -> Iterator[None]:
    """Say which extra to install if an import inside the block fails.

    Args:
        name: The extra, as pyproject.toml calls it.
        purpose: What needs the package, and the package, as the beginning of a sentence.

    >>> with extra("audit", "Attacks need scipy"):
    ...     import a_package_that_is_not_there
    Traceback (most recent call last):
    discreet.errors.MissingPackage: Attacks need scipy, which is not installed. Run: pip install "discreet[audit]"
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "discreet":
            raise  # a fault of ours, which no installation mends
        raise MissingPackage(
            f"{purpose}, which is not installed.", fix=f'Run: pip install "discreet[{name}]"'
        ) from None


class QuestionRefused(DiscreetError, ValueError):
    """A question that a vault does not answer. It was refused by its text alone: no row was read."""


class NotEnumerable(DiscreetError):
    """Code whose draws the exact attack cannot enumerate."""


class NotForRelease(DiscreetError, RuntimeError):
    """A result that was made from deterministic test bits."""


class ServiceRefused(DiscreetError):
    """A request that the service does not carry out."""


class NotSignedIn(ServiceRefused):
    """A request without a token or session, or with one that is unknown, expired or revoked."""


class NotPermitted(ServiceRefused):
    """A request that the role, the grants or the token of its account do not cover."""


class NotFound(ServiceRefused):
    """A vault, a question or a page that is not there, or not there for this account."""


class AlreadyRunning(ServiceRefused):
    """A request that would run beside a question of the same analyst, or a key that names another question."""


class Cancelled(ServiceRefused):
    """A job that its owner cancelled before it ended."""


class TooManyRequests(ServiceRefused):
    """A request beyond the rate that the service allows."""


class ServiceFailed(ServiceRefused):
    """A fault of the service. Its text is constant: what happened may depend on a private value."""


class InexactFloat(UserWarning):
    """A float was given where an exact number was wanted."""
