"""Choose the protocol for a domain and an ε: the most accurate, and among those the shortest report.

Accuracy is the mean over the domain of n·Var, which is the same for every population (`frequency_oracle`).
Protocols within 5 % of the best are taken as equally accurate, and the shortest report wins; then the one whose
server works least. So randomised response is chosen for small domains (d < 3e^ε + 2 or so), subset selection for a
few in between, and projective geometry response for all larger ones. Local hashing is never better than that by
more than rounding, and its server does `domain` steps for every report: that takes a CPU minute for a million
reports on 50,000 values, where projective geometry response takes a fraction of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from discreet.errors import Fix, ParameterError
from discreet.local.collection.domains import TEXTS, WORDS, Domain, Labels, Texts
from discreet.local.primitives.fixed_point import budget
from discreet.local.protocols import registry
from discreet.local.protocols.frequency.frequency_oracle import FrequencyOracle, domain_of
from discreet.local.protocols.protocol import Randomiser
from discreet.rational import Rational, whole

CANDIDATES = ("grr", "projective", "hadamard", "subset", "olh", "oue", "sue")
"""Protocols for frequencies, those first whose server works less."""

_NEAR = 1.05  # a factor of the variance: 2.5 % of a margin of error
_MANY = 10_000  # values: from here a server takes more than ten CPU seconds for a million reports of olh
_BOLD = ' style="font-weight:bold"'
_REASONS = {
    "grr": "the domain is small for this ε, and randomised response has the least error there",
    "projective": "it reaches the least error that any protocol can, in about log2(domain) bits",
    "hadamard": "it comes near the least error, in the fewest bits",
    "subset": "it has the least error of all protocols for a domain of this size",
    "olh": "it has the least error within the limit",
    "oue": "it has the least error within the limit",
    "sue": "it has the least error within the limit",
}


@dataclass(frozen=True)
class Candidate:
    """A protocol with its accuracy, n·Var on average over the domain, and the size of a report."""

    randomiser: FrequencyOracle
    variance: float
    bits: int
    payload_bytes: int


@dataclass(frozen=True)
class Choice:
    """The chosen protocol, the reason, and all candidates, the most accurate first."""

    randomiser: FrequencyOracle
    why: str
    table: tuple[Candidate, ...]

    def __str__(self) -> str:
        rows = (f"{c.randomiser.name:<12}{c.variance:>12.4g}{c.bits:>8,}{c.payload_bytes:>8,}" for c in self.table)
        return "\n".join([self.why, "", f"{'protocol':<12}{'n·Var':>12}{'bits':>8}{'bytes':>8}", *rows])

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr{_BOLD * (c.randomiser == self.randomiser)}><td>{c.randomiser.name}</td><td>{c.variance:.4g}</td>"
            f"<td>{c.bits:,}</td><td>{c.payload_bytes:,}</td></tr>"
            for c in self.table
        )
        head = "<tr><th>protocol</th><th>n·Var</th><th>bits</th><th>bytes</th></tr>"
        return f"<p>{escape(self.why)}</p><table>{head}{cells}</table>"


def choose(domain: int, epsilon: Rational, *, bits: int | None = None) -> Choice:
    """Return the best protocol for frequencies of `domain` values at ε, in reports of at most so many bits.

    >>> print(choose(1000, 1))
    projective: it reaches the least error that any protocol can, in about log2(domain) bits (11 bits, 2 bytes).
    <BLANKLINE>
    protocol           n·Var    bits   bytes
    subset             3.674     835     125
    oue                3.684   1,000     125
    projective         3.686      11       2
    olh                3.693      64       9
    sue                3.918   1,000     125
    hadamard           4.682      10       2
    grr                339.5      10       2
    """
    values, cost = domain_of(domain), budget(epsilon)
    limit = None if bits is None else whole(bits, "bits")
    made = [candidate for name in CANDIDATES if (candidate := _candidate(name, values, cost))]
    allowed = [candidate for candidate in made if limit is None or candidate.bits <= limit]
    if not allowed:
        least = min(candidate.bits for candidate in made)
        raise ParameterError(
            f"No protocol reports one of {values:,} values in {bits} bits.",
            fix=[Fix("bits", least), "Or reduce the domain."],
        )
    best = min(candidate.variance for candidate in allowed)
    near = [candidate for candidate in allowed if candidate.variance <= _NEAR * best]
    chosen = min(near, key=lambda candidate: candidate.payload_bytes)  # the first of the shortest
    name, size = chosen.randomiser.name, f"{chosen.bits} bits, {chosen.payload_bytes} bytes"
    why = f"{name}: {_REASONS[name]} ({size})."
    if name != "olh" and values >= _MANY and any(candidate.randomiser.name == "olh" for candidate in near):
        why += f" olh is as accurate, but its server would hash all {values:,} values for every report."
    return Choice(chosen.randomiser, why, tuple(sorted(made, key=lambda candidate: candidate.variance)))


def protocol_for(domain: Domain, protocol: Randomiser | str | None, epsilon: Rational | None) -> Randomiser:
    """Return the protocol of a design: the one given, the one named, or the best for the domain and ε.

    >>> protocol_for(Labels(1000), None, 1).name, protocol_for(Texts(), "hcms", 1).name
    ('projective', 'hcms')
    """
    if protocol is not None and not isinstance(protocol, str):
        if epsilon is not None:
            raise ParameterError(
                "The protocol has its epsilon already.", fix="Leave out epsilon, or give the protocol by its name."
            )
        return protocol
    if epsilon is None:
        raise ParameterError("The cost of one report is missing.", fix=Fix("epsilon", "1"))
    if isinstance(protocol, str):
        name = registry.canonical(protocol)
        named: Randomiser = registry.kind(name).for_epsilon(domain.shape(name), epsilon)
        return named
    if isinstance(domain, Labels):
        return choose(domain.size, epsilon).randomiser
    names = TEXTS if isinstance(domain, Texts) else WORDS
    raise ParameterError(
        "Values that cannot be listed need a protocol by name.", fix=[Fix("protocol", name) for name in names]
    )


def _candidate(name: str, domain: int, epsilon: Rational) -> Candidate | None:
    try:
        made: FrequencyOracle = registry.kind(name).for_epsilon(domain, epsilon)
    except ParameterError:  # the domain is too large for it, or ε so small that 2^64 units do not suffice
        return None
    return Candidate(made, made.variance(), made.bits, made.payload_bytes)
