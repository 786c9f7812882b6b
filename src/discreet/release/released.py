"""Define what every result that leaves a vault has: a label, a receipt, a JSON form, and a guard for test bits.

    class Answer:                                    # any result: a release, an oracle's answer, a model …
        label: Label                                 # whom it protects, how well, by what means
        receipt: Receipt                             # what was charged, and what is left
        test_bits: bool                              # made from predictable noise: not for release
        def to_json(self) -> dict[str, Any]: …       # starts with {"schema": "discreet answer 1", …}
        @classmethod
        def from_json(cls, record) -> Answer: …      # expect_schema(record, "discreet answer 1")

A result that was made from test bits has predictable noise. It can be looked at, and says so wherever it is shown,
but `expect_release` refuses to let it become a table, a file or a pickle. `Guarded` gives a class that guard, and
refuses to pickle or copy it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self, SupportsIndex, runtime_checkable

from discreet.errors import NotForRelease, ParameterError

if TYPE_CHECKING:
    from discreet.release.label import Label
    from discreet.release.receipt import Receipt

TEST_BITS = "Made from test bits: not for release."
"""The warning that stands wherever such a result is shown."""


@runtime_checkable
class Released(Protocol):
    """A result that may leave: with a label, a receipt and a JSON form."""

    @property
    def label(self) -> Label:
        """Whom the result protects, how well, and by what means."""

    @property
    def receipt(self) -> Receipt:
        """What the result was charged, and what is left."""

    @property
    def test_bits(self) -> bool:
        """Whether the noise was predictable: then the result is not for release."""

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Return the result that `to_json` wrote."""


class Guarded:
    """A result that refuses to leave if it was made from test bits. Subclasses have `test_bits`."""

    def expect_release(self, doing: str) -> None:
        """Refuse to go on if this was made from test bits."""
        expect_release(self, doing)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        self.expect_release("pickle")
        return super().__reduce_ex__(protocol)


def expect_release(result: Any, doing: str) -> None:
    """Refuse to go on if a result was made from test bits.

    Args:
        result: Any result with the property `test_bits`.
        doing: What would let it out, such as "save".
    """
    if result.test_bits:
        raise NotForRelease(
            f"This result was made from test bits: its noise is predictable, and {doing} would let it out.",
            fix="Print it to look at it, or make it without test bits, outside of noise.deterministic(…).",
        )


def expect_schema(record: Any, *readable: str) -> str:
    """Return the version that a JSON record states, if it is one of those that can be read.

    >>> expect_schema({"schema": "discreet release 1"}, "discreet release 2", "discreet release 1")
    'discreet release 1'
    >>> expect_schema([], "discreet release 1")
    Traceback (most recent call last):
    discreet.errors.ParameterError: This version of discreet reads "discreet release 1" (found: no version).
    """
    schema = record.get("schema") if isinstance(record, Mapping) else None
    if isinstance(schema, str) and schema in readable:
        return schema
    listed = " and ".join(f'"{one}"' for one in readable)
    found = "no version" if schema is None else f"{schema!r:.60}"
    raise ParameterError(f"This version of discreet reads {listed}.", found=found)
