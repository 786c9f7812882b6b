"""Sign blinded messages with the private key of a collection.

The exponentiation is done with plain integers, whose time depends on them. So the base is multiplied by rᵉ for a
random r, and a random multiple of p − 1 is added to each exponent: the numbers that are worked with are new each
time. It uses the remainders modulo p and q, where one wrong bit would give the key away (Boneh, DeMillo, Lipton,
1997). So a signature leaves only if its power is the message.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field

from discreet.errors import ParameterError, ServiceFailed
from discreet.local.tickets.public_key import EXPONENT, TicketKey

BITS = 3072
_HIDING_BITS = 64


@dataclass(frozen=True)
class Issuer:
    """A private key. Make one for each collection with `Issuer.new`.

    Args:
        p: A prime.
        q: Another prime of the same size.
    """

    p: int = field(repr=False)
    q: int = field(repr=False)

    @classmethod
    def new(cls, bits: int = BITS) -> Issuer:
        """Draw a key.

        >>> Issuer.new(2048).key.bits
        2048
        """
        from cryptography.hazmat.primitives.asymmetric import rsa

        numbers = rsa.generate_private_key(EXPONENT, bits).private_numbers()
        return cls(numbers.p, numbers.q)

    @classmethod
    def read(cls, text: str) -> Issuer:
        """Return the key that `written` wrote."""
        p, q = (int(line, 16) for line in text.split())
        return cls(p, q)

    def written(self) -> str:
        """Return the key as text, for a file that its owner alone reads."""
        return f"{self.p:x}\n{self.q:x}\n"

    @property
    def key(self) -> TicketKey:
        """The public key."""
        return TicketKey(self.p * self.q)

    def sign(self, blinded: bytes) -> bytes:
        """Return the blind signature of a blinded message. The same message gets the same signature."""
        key, number = self.key, int.from_bytes(blinded, "big")
        if len(blinded) != key.length or not 0 < number < key.modulus:
            raise ParameterError(
                f"A blinded message has {key.length} bytes and is below the modulus.",
                found=f"{len(blinded)} bytes",
                fix="Send what TicketRequest.blinded returns.",
            )
        signature = self._power(number)
        if pow(signature, EXPONENT, key.modulus) != number:
            raise ServiceFailed("A signature was computed wrongly, and is not sent.")
        return signature.to_bytes(key.length, "big")

    def _power(self, number: int) -> int:
        """Return the number to the private exponent, by the remainders of a hidden base."""
        p, q, n = self.p, self.q, self.p * self.q
        hiding = 0
        while math.gcd(hiding, n) != 1:
            hiding = secrets.randbelow(n)
        hidden = number * pow(hiding, EXPONENT, n) % n
        by_p, by_q = (
            pow(hidden % prime, pow(EXPONENT, -1, prime - 1) + _multiple_of(prime - 1), prime) for prime in (p, q)
        )
        root = by_q + q * ((by_p - by_q) * pow(q, -1, p) % p)
        return root * pow(hiding, -1, n) % n


def _multiple_of(order: int) -> int:
    return order * secrets.randbits(_HIDING_BITS)
