"""Ask for a ticket without showing it: draw it, blind it, and unblind what the issuer returns.

Keep a request until its ticket is there: the issuer signs the same blinded message again after a lost reply, and
no other one for the same invitation.
"""

from __future__ import annotations

import base64
import math
import secrets
from dataclasses import dataclass, field
from functools import cached_property

from discreet.errors import ParameterError
from discreet.local.tickets.encoding import SALT, encode
from discreet.local.tickets.public_key import EXPONENT, TicketKey

MESSAGE = 64
"""The bytes of a message: 32 that randomise it (RFC 9474, section 4.1), and 32 that are the name of the ticket."""
_AGAIN = "Ask for another ticket with another invitation."


@dataclass(frozen=True)
class Ticket:
    """A message that no one else knows, with the signature of the issuer: good for one report.

    Args:
        message: What was signed.
        signature: The signature.
    """

    message: bytes = field(repr=False)
    signature: bytes = field(repr=False)

    def __str__(self) -> str:
        """Return the ticket as a header of HTTP carries it: base64url without padding."""
        return base64.urlsafe_b64encode(self.message + self.signature).rstrip(b"=").decode()

    @classmethod
    def read(cls, text: str, key: TicketKey) -> Ticket | None:
        """Return the ticket of a text if it is one of this key, else None."""
        size = MESSAGE + key.length
        if len(text) != -(-size * 4 // 3) or not text.isascii():
            return None
        try:
            data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except ValueError:
            return None
        found = cls(data[:MESSAGE], data[MESSAGE:])
        return found if str(found) == text and key.verifies(found.message, found.signature) else None


@dataclass(frozen=True)
class TicketRequest:
    """A ticket that was drawn, and how it is blinded. Only `blinded` leaves the device.

    Args:
        key: The public key, from the signed collection.
        message: The message, random bytes.
        salt: The salt of its encoding, random bytes.
        factor: A unit modulo n, drawn uniformly.

    >>> from discreet.local.tickets.issuer import Issuer
    >>> issuer = Issuer.new(2048)
    >>> request = TicketRequest.new(issuer.key)
    >>> ticket = request.ticket(issuer.sign(request.blinded))
    >>> Ticket.read(str(ticket), issuer.key) == ticket
    True
    """

    key: TicketKey
    message: bytes = field(repr=False)
    salt: bytes = field(repr=False)
    factor: int = field(repr=False)

    @classmethod
    def new(cls, key: TicketKey) -> TicketRequest:
        """Draw a ticket and a factor."""
        # Of an honest key all but a share of 2⁻¹⁰⁰⁰ of all numbers are units, so this ends at once.
        for _ in range(1000):
            factor = secrets.randbelow(key.modulus)
            message, salt = secrets.token_bytes(MESSAGE), secrets.token_bytes(SALT)
            encoded = encode(message, salt, key.bits)
            if math.gcd(factor, key.modulus) == 1 and math.gcd(encoded, key.modulus) == 1:
                return cls(key, message, salt, factor)
        raise ParameterError("This ticket key has small factors: it is not a key.", fix="Do not answer.")

    @cached_property
    def blinded(self) -> bytes:
        """The blinded message: random, and independent of the ticket."""
        modulus = self.key.modulus
        found = self._encoded * pow(self.factor, EXPONENT, modulus) % modulus
        return found.to_bytes(self.key.length, "big")

    def ticket(self, reply: bytes) -> Ticket:
        """Return the ticket, if the reply of the issuer is a signature of it."""
        modulus, number = self.key.modulus, int.from_bytes(reply, "big")
        signature = number * pow(self.factor, -1, modulus) % modulus
        right = len(reply) == self.key.length and number < modulus
        if not right or pow(signature, EXPONENT, modulus) != self._encoded:
            # Such a reply could mark the respondent. What is not a signature by the signed key is never sent back.
            raise ParameterError("The reply is not a signature by the key of this collection.", fix=_AGAIN)
        return Ticket(self.message, signature.to_bytes(self.key.length, "big"))

    @property
    def _encoded(self) -> int:
        return encode(self.message, self.salt, self.key.bits)
