"""A collection: everything that devices and servers must agree on, in one text with one name.

A collection says which question is asked (its domain), how a device answers (protocol, with its chances as whole
numbers over 2⁶⁴), how often and for how long, and what that costs: the ε of one report and of a device's whole
life, both rounded up. Its text is canonical JSON: keys in order, no blanks, ASCII, every number that may be large
as a string of digits. Its identity is the SHA-256 of that text, so that two collections with one name are never
counted together, and nothing in it can be changed afterwards. Who runs the collection signs the text (Ed25519);
a device believes what it can verify with the key that it was shipped with.

**What a life costs.** Under the policy "none", each report is drawn anew and ε adds up: `reports` · ε. Under
"memoised" and "two-step" the (permanent) answer to a value is drawn once; a device gives such answers to its first
`distinct` values and stays with the last of them afterwards: `distinct` · ε∞. With distinct=1 that holds against
everybody. With more, it holds against whoever already knows *when* the value changed: equal reports show that it
did not, and that is no part of what ε bounds. `guarantee()` says all of this in words.

Tested in tests/local/test_descriptor.py, and from JavaScript in clients/js.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError
from discreet.local.canonical import canonical, decimal_above, labels_digest
from discreet.local.contract import Randomiser
from discreet.local.policy import Policy
from discreet.local.registry import kind, of
from discreet.local.twostep import Longitudinal
from discreet.rational import Rational, whole

FORMAT = "discreet-collection/1"
_SPELT_OUT = 4096  # labels: longer domains are named by their size and hash
_FIELDS = {
    *("format", "name", "protocol", "parameters", "epsilon", "domain", "longitudinal", "window"),
    *("minimum_cohort", "null"),
}


@dataclass(frozen=True)
class Collection:
    """A question to devices. Make one with `Collection.design`, or read a signed one with `signing.opened`.

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
    labels: tuple[str, ...] | None
    digest: str | None
    policy: Policy
    window: tuple[date, date]
    minimum_cohort: int
    null: str | None

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_labels(self.labels, self.randomiser.domain)
        if self.window[0] > self.window[1]:
            raise ParameterError(f"A window ends after it begins, not {self.window[0]} … {self.window[1]}.")
        whole(self.minimum_cohort, "minimum_cohort")
        if self.null is not None and (self.labels is None or self.null not in self.labels):
            raise ParameterError(f"null={self.null!r} is no label of the domain: add it to the domain.")
        if self.policy.policy == "two-step" and not isinstance(self.randomiser, Longitudinal):
            raise ParameterError(
                f"{self.randomiser.name} has no second step. Use protocol=TwoStepGRR.for_losses(…) or "
                'longitudinal=Policy("memoised").'
            )

    @classmethod
    def design(
        cls,
        name: str,
        *,
        domain: Sequence[str] | int,
        epsilon: Rational | None = None,
        protocol: Randomiser | str | None = None,
        longitudinal: Policy | str = "none",
        window: tuple[date | str, date | str],
        minimum_cohort: int = 100,
        null: str | None = None,
    ) -> Collection:
        """Return a collection: with the protocol that is given, or the best one for the domain and ε."""
        labels = None if isinstance(domain, int) else tuple(domain)
        size = domain if isinstance(domain, int) else len(tuple(domain))
        randomiser = _randomiser(protocol, size, epsilon)
        if randomiser.domain != size:
            raise ParameterError(f"the protocol is for {randomiser.domain} values, and the domain has {size}.")
        policy = Policy(longitudinal) if isinstance(longitudinal, str) else longitudinal
        begin, end = (_day(day) for day in window)
        digest = None if labels is None or len(labels) <= _SPELT_OUT else labels_digest(labels)
        return cls(name, randomiser, labels, digest, policy, (begin, end), minimum_cohort, null)

    @property
    def epsilon(self) -> str:
        """What one report costs: a decimal, rounded up."""
        return decimal_above(self.randomiser.loss.epsilon)

    @property
    def permanent_epsilon(self) -> Fraction:
        """What the answers to one value cost together, however many there are; one report without a memory."""
        if self.policy.policy == "two-step" and isinstance(self.randomiser, Longitudinal):
            return self.randomiser.lifetime.epsilon
        return self.randomiser.loss.epsilon

    @property
    def lifetime(self) -> str:
        """What all reports of a device cost: a decimal, rounded up."""
        return decimal_above((self.policy.reports or self.policy.distinct or 1) * self.permanent_epsilon)

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
            "domain": self._domain(),
            "longitudinal": policy,
            "window": {"from": self.window[0].isoformat(), "to": self.window[1].isoformat()},
            "minimum_cohort": str(self.minimum_cohort),
            "null": self.null,
        }
        return canonical(fields)

    @property
    def id(self) -> bytes:
        """The 32 bytes that name this collection and no other."""
        return hashlib.sha256(self.text).digest()

    def _domain(self) -> list[str] | dict[str, str]:
        if self.digest is not None:
            return {"size": str(self.randomiser.domain), "sha256": self.digest}
        return {"size": str(self.randomiser.domain)} if self.labels is None else list(self.labels)

    def with_labels(self, labels: Sequence[str]) -> Collection:
        """Return the collection with the labels that its text only names by their hash."""
        if self.digest != labels_digest(labels):
            raise ParameterError(
                f"these labels are not those of the collection {self.name!r}: their hash differs."
            )
        return replace(self, labels=tuple(labels))

    def place(self, value: str | int | None) -> int:
        """Return the number of a value. What is no value is `null`, if the collection has one."""
        if self.labels is None:
            if self.digest is not None:
                raise ParameterError("the labels are not in the collection's text: use collection.with_labels(…).")
            if isinstance(value, int) and 0 <= value < self.randomiser.domain:
                return int(value)
            raise ParameterError(
                f"values of {self.name!r} are whole numbers from 0 to {self.randomiser.domain - 1}."
            )
        if value in self.labels:
            return self.labels.index(value)
        if self.null is not None:
            return self.labels.index(self.null)
        raise ParameterError(
            f"the value is not in the domain of {self.name!r}. A device that stays silent tells that, so design "
            'the collection with a label for it: null="something else".'
        )

    def open_on(self, day: date) -> bool:
        """Return whether devices report on this day."""
        return self.window[0] <= day <= self.window[1]

    def guarantee(self) -> str:
        """Return what is promised to a device, in words."""
        bits = 8 * self.randomiser.payload_bytes
        first = (
            f"One report costs ε = {self.epsilon}: whoever holds it, and whatever else they know, can be at most "
        )
        lines = [first + "e^ε times surer of any answer than before."]
        distinct = self.policy.distinct or 1
        if self.policy.policy == "none":
            lines.append(
                f"A device makes at most {self.policy.reports} reports in all, which cost ε = {self.lifetime}."
            )
            return "\n".join(lines)
        lines.append(f"However often a device reports, its life in this collection costs ε = {self.lifetime}.")
        if distinct == 1:
            lines.append("It answers for its first value always, so that a change of its value is never seen.")
        else:
            lines.append(
                f"It answers for its first {distinct} different values. When its value changed is not hidden: ε "
                "bounds what is learnt about the values by those who know when they changed."
            )
        if self.policy.policy == "memoised":
            lines.append(f"Its report is the same every time, and may be recognised by its {bits} bits.")
        return "\n".join(lines)


def read(text: bytes) -> Collection:
    """Return the collection with this canonical text; refuse any other text."""
    try:
        fields = json.loads(text)
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            found = fields.get("format") if isinstance(fields, dict) else None
            raise ParameterError(
                f"this reads collections of the format {FORMAT}, not {found!r}: update the client."
            )
        if set(fields) != _FIELDS:
            raise ParameterError(f"a collection has the fields {', '.join(sorted(_FIELDS))}.")
        collection = _from_fields(fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"this is no text of a collection ({error}). Fetch it again.") from None
    if collection.text != text:
        raise ParameterError(
            "the text does not agree with itself: a field was changed (an ε below what the chances give, say), or "
            "it was not written canonically. Take collection.text from whoever designed it."
        )
    return collection


def _from_fields(fields: Mapping[str, Any]) -> Collection:
    randomiser = of(fields["protocol"], {key: int(number) for key, number in fields["parameters"].items()})
    domain, policy, window = fields["domain"], fields["longitudinal"], fields["window"]
    counted = "reports" if policy["policy"] == "none" else "distinct"
    return Collection(
        fields["name"],
        randomiser,
        tuple(domain) if isinstance(domain, list) else None,
        None if isinstance(domain, list) else domain.get("sha256"),
        Policy(policy["policy"], every=int(policy["every"]), **{counted: int(policy[counted])}),
        (date.fromisoformat(window["from"]), date.fromisoformat(window["to"])),
        int(fields["minimum_cohort"]),
        fields["null"],
    )


def _randomiser(protocol: Randomiser | str | None, size: int, epsilon: Rational | None) -> Randomiser:
    if protocol is not None and not isinstance(protocol, str):
        if epsilon is not None:
            raise ParameterError("a protocol has its ε already: leave out epsilon, or name the protocol.")
        return protocol
    if epsilon is None:
        raise ParameterError('say what one report may cost, such as epsilon="1".')
    if isinstance(protocol, str):
        chosen: Randomiser = kind(protocol).for_epsilon(size, epsilon)
        return chosen
    from discreet.local.choose import choose

    return choose(size, epsilon).randomiser


def _day(day: date | str) -> date:
    try:
        return date.fromisoformat(day) if isinstance(day, str) else day
    except ValueError:
        raise ParameterError(f'a day is written as "2026-01-31", not {day!r}.') from None


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not 1 <= len(name) <= 200 or not name.isprintable():
        raise ParameterError(f"a collection has a name of 1 to 200 printable characters, not {name!r}.")


def _check_labels(labels: tuple[str, ...] | None, size: int) -> None:
    if labels is None:
        return
    if len(labels) != size or len(set(labels)) != size or not all(isinstance(label, str) for label in labels):
        raise ParameterError(f"a domain of {size} values has as many labels, all of them text and all different.")
