"""Open streams that a vault pays for, and add ticks to them. The events come from the client, not from rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.serve.verbs.verb import Result, Tell, Verb, given, recorded_only

if TYPE_CHECKING:
    from discreet.vault.vault import Vault


def open_(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Open a stream, and charge it once."""
    with vault.stream(**given(arguments)) as made:
        return Result(_described(made))


def add(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Add ticks, all or none of them, and return the private numbers after them."""
    with _opened(vault, arguments["opening"]) as made:
        made.expect_ticks(arguments["ticks"])
        for counts in arguments["ticks"]:
            made.add(counts)
        return Result(_described(made))


def describe(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the private numbers of a stream as they are."""
    with _opened(vault, arguments["opening"]) as made:
        return Result(_described(made))


def _opened(vault: Vault, opening: Mapping[str, Any]) -> Any:
    from discreet.stream.open import stream

    return stream(recorded_only(vault), **given(opening))


def _described(made: Any) -> dict[str, Any]:
    answer = made.release() if made.tick else None
    if answer is not None and answer.test_bits:
        from discreet.release.released import expect_release

        expect_release(answer, "the service")
    return {"tick": made.tick, "horizon": made.horizon, "answer": None if answer is None else answer.to_json()}


VERBS = {
    "open_stream": Verb(open_),
    "add_ticks": Verb(add),
    "describe_stream": Verb(describe),
}
