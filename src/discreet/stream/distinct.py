"""Count distinct users of a stream with a state that is private: randomised bits, redrawn at every visit.

Mechanism. A user's name, hashed with a public salt, chooses one of m slots. A slot holds one bit. At the start
every bit is 1 with probability p₀; whenever a user of the slot appears, the bit is drawn again, and is 1 with
probability p₁ > p₀. `release` adds discrete Laplace noise to the number of ones and solves for the share of slots
in use, and from that for the number of users.

Claim. For neighbouring streams that differ in *all visits of one user*: the state at any one moment is (ε/2)-DP by
itself (for one look, and all `looks` together for more), and so are all `releases` together with the state given;
so a look at the state at one unannounced moment and all releases are ε-DP together. Proof: a user touches one
slot. Its bit has the odds p₁ or, if no other user of the slot came, p₀; and p₁/p₀ ≤ e^{ε/2}, (1 − p₀)/(1 − p₁) ≤
e^{ε/2}, which the exact rational p₀ = 1 − p₁ just above 1/(1 + e^{ε/2}) fulfils. Given the state seen, the later
number of ones moves by at most 1 with the user's visits, for the same draws of all other slots: each of the
`releases` has noise of scale 2·releases/ε. Without a look the proof is the same without its first half.

**Odds.** The classical estimator (Dwork, Naor, Pitassi, Rothblum, Yekhanin 2010) draws with ½ and ½ + ε/4, which
breaks ε-DP above ε = 1.594, and has about four times the variance (the difference of the odds is tanh(ε/4) here,
for the ε/2 of the state).

**Looks.** Two unannounced looks at one state are not covered, by this or any such state: bits that change between
them were visited. After an announced look, `refresh` begins a new state: from then on it counts the users since.
But a user may visit each of these states, so every one has its part of ε: with `looks` of them each is drawn with
the odds of ε/(2·looks), and there are `looks` − 1 refreshes. A look finds no noise of a later release in the
memory, and no key that the bits were drawn with. Theory: docs/theory/pan-privacy.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import BudgetExceeded, Fix, ParameterError
from discreet.mechanisms import tails
from discreet.privacy.losses import Pure
from discreet.rational import Rational, whole
from discreet.release.estimate import Estimate
from discreet.release.label import Noise
from discreet.stream.answer import StreamAnswer
from discreet.stream.factorisations.units import Person
from discreet.stream.label import ALL_EVENTS
from discreet.stream.session import Session
from discreet.stream.terms import Terms, terms_of

_BITS = 40  # of the odds: the estimate loses nothing that noise would show


def odds(epsilon: Fraction) -> Fraction:
    """Return p₀, the least multiple of 2^−40 for which drawing 1 with p₀ or with 1 − p₀ is ε-DP.

    >>> float(odds(Fraction(1))) >= 1 / (1 + math.e)
    True
    >>> float(odds(Fraction(1)) - Fraction(1 / (1 + math.e))) < 1e-12
    True
    """
    exact = 1 / (1 + tails.exp(epsilon))
    return Fraction(tails.ceiling(exact * 2**_BITS), 2**_BITS)


class Distinct(Session):
    """Count distinct users, with a state that one look does not betray.

    Args:
        slots: m, the number of bits: two or three times the expected number of users.
        epsilon: The guarantee of one look at the state and all releases together, for all visits of a user.
        releases: The number of releases that may be made; 1 by default.
        looks: The number of looks at the state that are covered, each followed by `refresh` but for the last; 1 by
            default.
        salt: A public text that chooses the hash function.
        confidence: The confidence of each interval; 0.95 by default.
        name: The name of the count.
        path: A file for the state, which makes it durable; none by default.
        terms: What a vault has paid; for `vault.stream` only.

    >>> users = Distinct(20_000, epsilon=2)
    >>> users.add([f"user {i % 5000}" for i in range(20_000)])
    >>> answer = users.release()
    >>> abs(answer.value - 5000) < 2000, users.left
    (True, 0)
    """

    kind = "distinct"

    def __init__(
        self,
        slots: int,
        *,
        epsilon: Rational | None = None,
        releases: int = 1,
        looks: int = 1,
        salt: str = "",
        confidence: Rational = "0.95",
        name: str = "distinct users",
        path: str | Path | None = None,
        terms: Terms | None = None,
    ):
        agreed = terms or terms_of(epsilon, 0, None, table=name)
        if not isinstance(agreed.loss, Pure):
            raise ParameterError("Distinct users are counted with pure epsilon.", fix=Fix("epsilon", 1))
        self.slots, self.releases, self.salt = whole(slots, "slots", least=2), whole(releases, "releases"), salt
        self._loss, half, self.looks = agreed.loss, agreed.loss.epsilon / 2, whole(looks, "looks")
        self.chance = odds(half / self.looks)
        self.scale = self.releases / half
        tails.refuse_too_wide("scale", self.scale)
        self._bits = self._begun()
        self._tick, self._given, self._refreshed = 0, 0, 0
        law, spread = "randomised bits, and discrete Laplace noise", float(self.scale)
        label = agreed.label(
            Person(events=ALL_EVENTS),
            [Noise("the number of slots in use", law, spread, 1.0)],
            "a count of the distinct users of a stream",
            [
                f"{self.looks:,} looks at the state are covered, one of them unannounced: each of the others is "
                "announced, and followed by refresh()."
                if self.looks > 1
                else "One unannounced look at the state is covered.",
            ],
        )
        super().__init__(name=name, label=label, confidence=confidence, path=path)
        facts = {"loss": str(agreed.loss), "slots": self.slots, "releases": self.releases, "salt": salt}
        self._open({**facts, "looks": self.looks})

    @property
    def tick(self) -> int:
        """The batches so far."""
        return self._tick

    @property
    def left(self) -> int:
        """The releases that may still be made."""
        return self.releases - self._given

    @property
    def loss(self) -> Pure:
        """The privacy loss of one look and all releases."""
        return self._loss

    def add(self, users: Iterable[Any]) -> None:
        """Take the users who appeared: any names, any number of times."""
        touched = np.unique(self._slots(users))
        with self._lock:
            self._expect_process()
            self._expect_same_bits()
            if len(touched):  # a slot that is visited twice in a batch is drawn once: the law is the same
                self._bits[touched] = noise.bernoulli(1 - self.chance, len(touched), fresh=True)
            self._tick += 1

    @property
    def value(self) -> Estimate:
        """The private number of users: a release, of which there are only so many."""
        return self.release().estimate

    def release(self) -> StreamAnswer:
        """Return the private number of distinct users so far. It is one of the releases that may be made."""
        with self._lock:
            self._expect_process()
            self._expect_same_bits()
            if not self.left:
                raise BudgetExceeded(
                    f"All {self.releases} releases of this count were made.",
                    fix=Fix("releases", 2 * self.releases, note="another count, at its own cost"),
                )
            self._given += 1
            self._saved = -1
            ones = int(self._bits.sum()) + int(noise.discrete_laplace(self.scale, fresh=True))
            self._before_showing()
            return self._estimated(ones)

    def refresh(self) -> None:
        """Begin a new state, after a look that was announced: the count is of the users since."""
        with self._lock:
            self._expect_process()
            self._expect_same_bits()
            if self._refreshed + 1 >= self.looks:
                raise BudgetExceeded(
                    "A user may be in the state before a refresh and after it, so each needs its part of epsilon.",
                    found=f"looks={self.looks}",
                    fix=Fix("looks", self.looks + 1, note="another count, at its own cost"),
                )
            self._bits, self._refreshed = self._begun(), self._refreshed + 1
            self._save()

    def _begun(self) -> NDArray[np.bool_]:
        """Return the bits of a state that no user has visited."""
        return np.asarray(noise.bernoulli(self.chance, self.slots, fresh=True)).astype(np.bool_)

    def _estimated(self, ones: int) -> StreamAnswer:
        """Turn ones into users: E[ones] = m·(p₀ + (1 − 2p₀)·u), and n users use u = 1 − (1 − 1/m)^n of m slots.

        Interval: a third of α each for the bits (Hoeffding, √(m·ln(2/β)/2)), for the Laplace noise (its tail), and
        for the slots in use (Hoeffding too: which slots are in use is negatively associated).
        """
        p, m = float(self.chance), self.slots
        third = self.alpha / 3
        drawn = math.sqrt(m * math.log(2 / third) / 2)
        spread = tails.laplace_bound(self.scale, third)
        hashed = math.sqrt(m * math.log(2 / third) / 2)

        def users(found: float, missed: float) -> float:
            share = (found / m - p) / (1 - 2 * p) + missed / m
            return math.log1p(-min(max(share, 0.0), 1 - 0.5 / m)) / math.log1p(-1 / m)

        value = users(ones, 0.0)
        low, high = users(ones - drawn - spread, -hashed), users(ones + drawn + spread, hashed)
        estimate = self._estimate([value], [low], [high])
        return StreamAnswer(estimate, (self.tick,), label=self.label)

    def _slots(self, users: Iterable[Any]) -> NDArray[np.int64]:
        if isinstance(users, str | bytes) or not isinstance(users, Iterable):
            raise ParameterError(
                "The users of a batch are a list of names.",
                found=type(users).__name__,
                fix="Nothing was added. Write add([name]).",
            )
        prefix = hashlib.blake2b(self.salt.encode(), digest_size=16).digest()
        found = (hashlib.blake2b(str(user).encode(), digest_size=8, key=prefix).digest() for user in users)
        return np.array([int.from_bytes(digest, "little") % self.slots for digest in found], np.int64)

    def look(self) -> dict[str, Any]:
        """Return the whole state, as an intruder would see it."""
        return self._state()

    def _state(self) -> dict[str, Any]:
        bits = np.packbits(self._bits).tobytes().hex()
        return {"tick": self._tick, "given": self._given, "refreshed": self._refreshed, "bits": bits}

    def _restore(self, state: dict[str, Any]) -> None:
        self._tick, self._given = int(state["tick"]), int(state["given"])
        self._refreshed = int(state["refreshed"])
        packed = np.frombuffer(bytes.fromhex(state["bits"]), np.uint8)
        self._bits = np.unpackbits(packed, count=self.slots).astype(np.bool_)
