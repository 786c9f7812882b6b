"""Make and use local collections of a service: the verbs, each written once for both clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.client.requests import PATH, Flow, Request, checked, get, post
from discreet.rational import Rational, rational

if TYPE_CHECKING:
    from discreet.local import Answer, Collection
    from discreet.local.tickets import Ticket, TicketRequest


@dataclass
class Collecting:
    """A local collection of a service.

    Args:
        id: Its id in the service.
        facts: What was said about it last: its signed descriptor, its key, how many reports were counted. The
            invitation codes are in the facts of a new collection only.
    """

    id: str
    facts: dict[str, Any] = field(default_factory=dict, repr=False)


def make(
    name: str = "",
    domain: Sequence[str] | None = None,
    *,
    epsilon: Rational | None = None,
    protocol: str | None = None,
    days: int = 30,
    cohort: int = 100,
    codes: int = 0,
    tickets: bool = False,
    signed: bytes | None = None,
    key: bytes | None = None,
) -> Flow[dict[str, Any]]:
    """Make a collection that the service designs and signs, or register one that was signed elsewhere.

    Args:
        name: The question, or what is collected.
        domain: The values to choose from; of one that was signed elsewhere, only if it has their hash.
        epsilon: What one report may cost a device.
        protocol: The name of the protocol; the best one for the domain and epsilon by default.
        days: How many days it lasts, from today on; 30 by default.
        cohort: How many reports to wait for before anything is estimated; 100 by default.
        codes: How many invitation codes to draw; none by default.
        tickets: Whether a code is exchanged for a blind ticket, so that it does not show whose a report is.
        signed: A collection that was signed elsewhere (`discreet.local.signing.signed`).
        key: The public key that verifies it.
    """
    body: dict[str, Any] = {} if domain is None else {"domain": list(domain)}
    if signed is not None:
        body |= {"signed": signed.decode(), "key": (key or b"").hex()}
    else:
        body |= {"name": name, "days": days, "cohort": cohort, "codes": codes}
        body |= {"tickets": True} if tickets else {}
        body |= {} if epsilon is None else {"epsilon": str(rational(epsilon, "epsilon"))}
        body |= {} if protocol is None else {"protocol": protocol}
    found: dict[str, Any] = (yield from post("collections", body)).json()
    return found


def describe(collection: Collecting) -> Flow[dict[str, Any]]:
    """Return the signed descriptor, the key that verifies it, and how many reports were counted."""
    collection.facts = yield from get(f"collections/{collection.id}")
    return collection.facts


def opened(collection: Collecting, key: bytes | None = None) -> Flow[Collection]:
    """Return the collection, if its signature is by a key: the one that is known from elsewhere, or the service's.

    Args:
        collection: The collection.
        key: The public key. Without one the key comes from the service, and says nothing about the service.
    """
    from discreet.local import signing

    facts = collection.facts or (yield from describe(collection))
    found = signing.opened(facts["signed"].encode(), key or bytes.fromhex(facts["key"]))
    return found.with_labels(facts["labels"]) if facts.get("labels") else found


def ticket(collection: Collecting, code: str, request: TicketRequest | None = None) -> Flow[Ticket]:
    """Exchange an invitation code for a ticket that the service cannot link to the code.

    Submit the report with the ticket later, and over another connection: the times of two requests, and the
    address they come from, can link what the ticket does not.

    Args:
        collection: The collection.
        code: The invitation code.
        request: A request that was kept, if its reply was lost; a new one by default. A code is good for one.
    """
    from discreet.errors import ParameterError
    from discreet.local.tickets import TicketRequest

    key = (yield from opened(collection)).tickets
    if key is None:
        raise ParameterError("This collection has no tickets.", fix="Submit the report with its code.")
    asked = TicketRequest.new(key) if request is None else request
    reply = yield _bytes(collection, "tickets", asked.blinded, {"discreet-code": code})
    return asked.ticket(checked(reply).content)


def submit(
    collection: Collecting,
    reports: bytes | Sequence[bytes],
    *,
    code: str | None = None,
    ticket: Ticket | None = None,
) -> Flow[int]:
    """Send a batch of reports, and return how many of them were new and valid. It may be sent again.

    Args:
        collection: The collection.
        reports: A batch (`discreet.local.device.wire.batch`), or the reports of devices, at most 1 MB.
        code: The invitation code of one report, if the collection has codes.
        ticket: The ticket of one report, if the collection has tickets.
    """
    from discreet.local.device.wire import batch

    sent = bytes(reports) if isinstance(reports, bytes | bytearray) else batch(list(reports))
    given = {"discreet-code": code, "discreet-ticket": None if ticket is None else str(ticket)}
    request = _bytes(collection, "reports", sent, {name: value for name, value in given.items() if value})
    return int(checked((yield request)).json()["counted"])


def _bytes(collection: Collecting, what: str, content: bytes, headers: dict[str, str]) -> Request:
    return Request("POST", f"{PATH}/collections/{collection.id}/{what}", content=content, passes=headers)


def estimate(collection: Collecting, candidates: Sequence[str] | None = None) -> Flow[Answer]:
    """Return the estimates with their intervals, as `Aggregator.estimate` does; of texts, for candidates."""
    from discreet.local import Answer

    given = {} if candidates is None else {"candidates": list(candidates)}
    return Answer.from_json((yield from get(f"collections/{collection.id}/estimates", **given)))
