"""Use oracles, holdouts, streams and ledgers of a service: the verbs, each written once for both clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.client.flows import Place, text_of
from discreet.client.requests import Flow, get, post
from discreet.ledger.account import Account
from discreet.ledger.balance import Balance, read
from discreet.ledger.entry import Head

if TYPE_CHECKING:
    from discreet.learn.estimator import PrivateEstimator
    from discreet.oracle.answer import OracleAnswer
    from discreet.stream.answer import StreamAnswer
    from discreet.validity.answer import HoldoutAnswer


@dataclass
class Product:
    """An oracle, a holdout or a stream of a service.

    Args:
        place: The vault.
        id: Its id in the service.
        facts: What was said about it when it was opened.
    """

    place: Place
    id: str
    facts: dict[str, Any] = field(default_factory=dict, repr=False)


def ask_oracle(oracle: Product, question: Any, *, unchecked: bool = False) -> Flow[OracleAnswer]:
    """Answer a count, a sum or an average over a condition, as `Oracle.ask` does."""
    from discreet.oracle.answer import OracleAnswer

    sql = yield from text_of(oracle.place, question)
    response = yield from post(f"oracles/{oracle.id}/ask", {"sql": sql, "unchecked": unchecked})
    return OracleAnswer.from_json(response.json())


def describe_oracle(oracle: Product) -> Flow[dict[str, Any]]:
    """Return what the oracle spent so far, and what it is about."""
    oracle.facts = yield from get(f"oracles/{oracle.id}")
    return oracle.facts


def score(holdout: Product, model: PrivateEstimator, *, name: str | None = None) -> Flow[HoldoutAnswer]:
    """Answer how good a model of `discreet.learn` is, as `VaultHoldout.score` does."""
    from discreet.validity.answer import HoldoutAnswer

    body = {"model": model.to_json(), **({} if name is None else {"name": name})}
    response = yield from post(f"holdouts/{holdout.id}/score", body)
    return HoldoutAnswer.from_json(response.json())


def describe_holdout(holdout: Product) -> Flow[dict[str, Any]]:
    """Return how many answers the holdout gave, and these answers."""
    holdout.facts = yield from get(f"holdouts/{holdout.id}")
    return holdout.facts


def add(stream: Product, count: int | Mapping[str, int] = 1) -> Flow[None]:
    """Add a tick with its events, as `Counter.add` does."""
    yield from extend(stream, [count])


def extend(stream: Product, counts: Sequence[int | Mapping[str, int]]) -> Flow[StreamAnswer]:
    """Add several ticks, and return the private numbers after them."""
    response = yield from post(f"streams/{stream.id}/ticks", {"ticks": list(counts)})
    stream.facts = response.json()
    return _answer(stream.facts)


def release(stream: Product) -> Flow[StreamAnswer]:
    """Return the private numbers of the stream as they are."""
    stream.facts = yield from get(f"streams/{stream.id}")
    return _answer(stream.facts)


def _answer(facts: dict[str, Any]) -> StreamAnswer:
    from discreet.stream.answer import StreamAnswer

    return StreamAnswer.from_json(facts["answer"] or {})


# -- the ledger -------------------------------------------------------------------------------------------------


def balances(ledger: Place) -> Flow[list[Balance]]:
    """Return the balances that the account may see, that of the whole vault first."""
    found = yield from get(f"{ledger.path}/ledger")
    return [read(Account(one["analyst"], one["purpose"]), one["record"]) for one in found["accounts"]]


def balance(ledger: Place, *, analyst: str | None = None, purpose: str | None = None) -> Flow[Balance]:
    """Return what the whole, an analyst or a purpose may spend, has spent and has left."""
    wanted = Account(analyst, purpose)
    for one in (yield from balances(ledger)):
        if one.account == wanted:
            return one
    return Balance(wanted)


def head(ledger: Place) -> Flow[Head]:
    """Return number and hash of the last entry."""
    found = yield from get(f"{ledger.path}/ledger")
    return Head(found["head"]["number"], found["head"]["hash"])


def entries(ledger: Place, *, after: int = 0) -> Flow[list[dict[str, Any]]]:
    """Return the entries that the account may see, after a number; 500 at a time."""
    found = yield from get(f"{ledger.path}/ledger/entries", after=after)
    return list(found["entries"])


def verify(ledger: Place, *, since: Head | tuple[int, str] | None = None) -> Flow[Head]:
    """Let the service walk the whole ledger, and return its head."""
    kept = {} if since is None else {"since": f"{since[0]}:{since[1]}"}
    found = yield from get(f"{ledger.path}/ledger/verification", **kept)
    return Head(found["number"], found["hash"])
