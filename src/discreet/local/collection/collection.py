"""Define a collection: everything that devices and servers must agree on, as one canonical text.

A collection states the question (its domain), how a device answers (protocol, with its probabilities as whole
numbers over 2⁶⁴), how often and for how long, and what that costs: the ε of one report and of a device's whole
life, both rounded up. Its text is canonical JSON: sorted keys, no blanks, ASCII, every number that may be large
as a string of digits. Its identity is the SHA-256 of that text, so that two collections with one name are never
counted together, and nothing in it can be changed afterwards. The operator of the collection signs the text
(Ed25519); a device accepts what it can verify with the public key that it was shipped with.

**What a life costs.** Under the policy "none", each report is drawn anew and ε adds up: `reports` · ε. Under
"memoised" and "two-step" the (permanent) answer to a value is drawn once; a device gives such answers to its first
`distinct` values and stays with the last of them afterwards: `distinct` · ε∞. With distinct=1 that holds against
every attacker. With more, it holds against an attacker who already knows *when* the value changed: equal reports
show that it did not, and ε does not bound that. `guarantee()` describes all of this.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from discreet.errors import Code, Fix, ParameterError
from discreet.local.collection.canonical_json import canonical, decimal_above, labels_digest
from discreet.local.collection.domains import Domain, Labels, One, Value, domain_for, read_domain
from discreet.local.collection.guarantee import describe
from discreet.local.collection.policy import Policy
from discreet.local.design.choose import protocol_for
from discreet.local.device.wire import day_number
from discreet.local.protocols.longitudinal import Longitudinal
from discreet.local.protocols.protocol import Randomiser
from discreet.local.protocols.registry import of
from discreet.local.protocols.strings.strings import Alphabet
from discreet.local.tickets.public_key import TicketKey
from discreet.rational import Rational, whole

FORMAT = "discreet-collection/1"
_FIELDS = {
    *("format", "name", "protocol", "parameters", "epsilon", "domain", "longitudinal", "window"),
    *("minimum_cohort", "null"),
}
_TICKETS = "tickets"
"""The field of a collection whose reports need tickets: their public key, which is the same for all devices."""


@dataclass(frozen=True)
class Collection:
    """A question to devices. Design one with `Collection.design`, or open a signed one with `signing.opened`.

    >>> survey = Collection.design(
    ...     "colours", domain=["red", "green", "blue"], protocol="grr", epsilon="0.5",
    ...     longitudinal=Policy(reports=4), window=("2026-01-01", "2026-12-31"),
    ... )
    >>> survey.epsilon, survey.lifetime
    ('0.5', '2')
    >>> read(survey.text) == survey
    True
    """

    name: str
    randomiser: Randomiser
    domain: Domain
    policy: Policy
    window: tuple[date, date]
    minimum_cohort: int
    null: str | None
    tickets: TicketKey | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        self.domain.fit(self.randomiser)
        first, last = (day_number(day) for day in self.window)
        if first > last:
            raise ParameterError(
                "The window must not end before it begins.",
                found=f"{self.window[0]} to {self.window[1]}",
                fix="Exchange the two days.",
            )
        whole(self.minimum_cohort, "minimum_cohort")
        if self.null is not None:
            self.domain.check_null(self.null)
        if self.policy.policy == "two-step" and not isinstance(self.randomiser, Longitudinal):
            listed = [Fix("protocol", "two-step-grr", note="with epsilon")] if self.randomiser.domain else []
            raise ParameterError(
                f"The protocol {self.randomiser.name} has no second step.",
                fix=[Fix("longitudinal", "memoised"), *listed],
            )

    @classmethod
    def design(
        cls,
        name: str,
        *,
        domain: Sequence[str] | int | None = None,
        alphabet: Alphabet | None = None,
        epsilon: Rational | None = None,
        protocol: Randomiser | str | None = None,
        longitudinal: Policy | str = "none",
        window: tuple[date | str, date | str],
        minimum_cohort: int = 100,
        null: str | None = None,
        tickets: TicketKey | None = None,
    ) -> Collection:
        """Return a collection with the given protocol, or with the best one for the domain and ε.

        Values are those of a domain, or words of an alphabet (protocol="prefix-tree" or "fragments"), or with
        neither any texts (protocol="hcms", "cms" or "rappor").

        Args:
            name: The name of the collection, 1 to 200 printable characters.
            domain: The labels of the values, or their number; by default any texts.
            alphabet: The letters and the length of words, in place of a domain.
            epsilon: What one report may cost; not given if `protocol` is an object, which has its own.
            protocol: A randomiser or its name; by default `choose` finds it.
            longitudinal: How a device answers again: a `Policy` or its name; "none" by default.
            window: The first and the last day of the collection.
            minimum_cohort: How many devices a server waits for before it estimates; 100 by default.
            null: The label that stands for values outside the domain; by default such values are refused.
            tickets: The public key of the tickets that reports need; by default they need none.

        >>> words = Collection.design(
        ...     "typed", alphabet=Alphabet("abcdefghijklmnopqrstuvwxyz", length=6), protocol="prefix-tree",
        ...     epsilon=2, window=("2026-01-01", "2026-12-31"),
        ... )
        >>> words.randomiser.name, read(words.text) == words
        ('prefix-tree', True)
        """
        values = domain_for(domain, alphabet)
        randomiser = protocol_for(values, protocol, epsilon)
        policy = Policy(longitudinal) if isinstance(longitudinal, str) else longitudinal
        begin, end = (_day(day) for day in window)
        return cls(name, randomiser, values, policy, (begin, end), minimum_cohort, null, tickets)

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The labels of the values, if they have any and they are known."""
        return self.domain.labels if isinstance(self.domain, Labels) else None

    @property
    def digest(self) -> str | None:
        """The hash of the labels, if the text has it in place of the labels."""
        return self.domain.digest if isinstance(self.domain, Labels) else None

    @property
    def epsilon(self) -> str:
        """The cost of one report: a decimal, rounded up."""
        return decimal_above(self.randomiser.loss.epsilon)

    @property
    def permanent_epsilon(self) -> Fraction:
        """The cost of all answers to one value; under the policy "none", of one report."""
        if self.policy.policy == "two-step" and isinstance(self.randomiser, Longitudinal):
            return self.randomiser.lifetime.epsilon
        return self.randomiser.loss.epsilon

    @property
    def lifetime(self) -> str:
        """The cost of all reports of a device: a decimal, rounded up."""
        return decimal_above((self.policy.reports or self.policy.distinct or 1) * self.permanent_epsilon)

    @property
    def reports_of_a_device(self) -> int:
        """The largest number of reports that one device may send within the window."""
        schedule = 1 + (self.window[1] - self.window[0]).days // self.policy.every
        return min(schedule, self.policy.reports or schedule)

    def period(self, day: date) -> tuple[date, date]:
        """Return the first and the last day of the period of a day. No device sends two reports in one period.

        >>> survey = Collection.design(
        ...     "colours", domain=["red", "green"], epsilon=1, longitudinal=Policy("memoised", every=7),
        ...     window=("2026-01-01", "2026-12-31"),
        ... )
        >>> [str(day) for day in survey.period(date(2026, 1, 10))], survey.reports_of_a_device
        (['2026-01-08', '2026-01-14'], 53)
        """
        if not self.open_on(day):
            raise ParameterError(
                f"The day is outside the window of {self.name!r}, {self.window[0]} to {self.window[1]}.",
                found=day,
                fix="Choose a day within the window.",
            )
        every, begin = self.policy.every, self.window[0]
        first = begin + timedelta((day - begin).days // every * every)
        return first, first + timedelta(min(every - 1, (self.window[1] - first).days))

    @property
    def text(self) -> bytes:
        """The canonical text, of which `id` is the hash."""
        policy = {
            "policy": self.policy.policy,
            "every": str(self.policy.every),
            "epsilon": self.lifetime,
            ("reports" if self.policy.policy == "none" else "distinct"): str(
                self.policy.reports or self.policy.distinct
            ),
        }
        fields = {
            "format": FORMAT,
            "name": self.name,
            "protocol": self.randomiser.name,
            "parameters": {key: str(number) for key, number in self.randomiser.parameters().items()},
            "epsilon": self.epsilon,
            "domain": self.domain.written(),
            "longitudinal": policy,
            "window": {"from": self.window[0].isoformat(), "to": self.window[1].isoformat()},
            "minimum_cohort": str(self.minimum_cohort),
            "null": self.null,
        }
        return canonical(fields if self.tickets is None else {**fields, _TICKETS: self.tickets.written()})

    @property
    def id(self) -> bytes:
        """The 32 bytes that identify this collection."""
        return hashlib.sha256(self.text).digest()

    def with_labels(self, labels: Sequence[str]) -> Collection:
        """Return the collection with its labels, if its text has only their hash."""
        if self.digest != labels_digest(labels):
            raise ParameterError(
                f"These labels are not those of the collection {self.name!r}: their hash differs.",
                fix="Give the labels that the collection was designed with, in their order.",
            )
        return replace(self, domain=Labels(len(labels), tuple(labels), self.digest))

    def place(self, value: Value) -> int:
        """Return the number of a value, or of `null` for a value outside the domain."""
        if isinstance(self.domain, Labels):
            return self.domain.place(value, self.null)
        raise ParameterError(
            f"The values of {self.name!r} cannot be listed, so they have no numbers.",
            fix=Fix("value", Code("value"), call="collection.one"),
        )

    def one(self, value: Value) -> One:
        """Return a value as the protocol takes it, with the key of its permanent answer."""
        return self.domain.one(value, self.null)

    def open_on(self, day: date) -> bool:
        """Return whether devices report on this day."""
        return self.window[0] <= day <= self.window[1]

    def guarantee(self) -> str:
        """Describe what is guaranteed to a device."""
        return describe(self.randomiser, self.policy, self.epsilon, self.lifetime)


def read(text: bytes) -> Collection:
    """Return the collection with this canonical text; refuse any other text."""
    try:
        fields = json.loads(text)
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            found = fields.get("format") if isinstance(fields, dict) else None
            raise ParameterError(
                f"This client reads collections of the format {FORMAT}.",
                found=repr(found),
                fix="Update the client.",
            )
        if set(fields) - {_TICKETS} != _FIELDS:
            raise ParameterError(
                f"A collection must have the fields {', '.join(sorted(_FIELDS))}.",
                fix="Fetch the collection again.",
            )
        collection = _from_fields(fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"This is not the text of a collection ({error}).", fix="Fetch the collection again."
        ) from None
    if collection.text != text:
        raise ParameterError(
            "The text is not in canonical form, or a field was changed, such as an epsilon below the true one.",
            fix="Fetch the collection from its designer again.",
        )
    return collection


def _from_fields(fields: Mapping[str, Any]) -> Collection:
    randomiser = of(fields["protocol"], {key: int(number) for key, number in fields["parameters"].items()})
    policy, window = fields["longitudinal"], fields["window"]
    counted = "reports" if policy["policy"] == "none" else "distinct"
    return Collection(
        fields["name"],
        randomiser,
        read_domain(fields["domain"]),
        Policy(policy["policy"], every=int(policy["every"]), **{counted: int(policy[counted])}),
        (date.fromisoformat(window["from"]), date.fromisoformat(window["to"])),
        int(fields["minimum_cohort"]),
        fields["null"],
        TicketKey.read(fields[_TICKETS]) if _TICKETS in fields else None,
    )


def _day(day: date | str) -> date:
    try:
        return date.fromisoformat(day) if isinstance(day, str) else day
    except ValueError:
        raise ParameterError('A day must be a date, such as "2026-01-31".', found=repr(day)) from None


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not 1 <= len(name) <= 200 or not name.isprintable():
        raise ParameterError(
            "The name of a collection must have 1 to 200 printable characters.",
            found=f"{name!r:.200}",
            fix=Fix("name", "colours"),
        )
