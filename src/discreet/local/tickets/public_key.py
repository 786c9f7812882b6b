"""Define the public key of tickets, as the text of a collection states it, and verify tickets with it.

A respondent needs no honest key: whatever the modulus is, a ticket is unlinkable (see the package). The bounds
here keep out numbers that are too small to keep others from making tickets, or so large that they keep a phone
busy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.errors import ParameterError

SCHEME = "RSABSSA-SHA384-PSS-Randomized"
EXPONENT = 65537
LEAST_BITS, MOST_BITS = 2048, 4096


@dataclass(frozen=True)
class TicketKey:
    """A public key: a modulus for the exponent 65537.

    Args:
        modulus: An odd number of 2,048 to 4,096 bits, a multiple of 8 bits.
    """

    modulus: int

    def __post_init__(self) -> None:
        bits = self.modulus.bit_length()
        right = self.modulus > 0 and LEAST_BITS <= bits <= MOST_BITS
        if not right or self.modulus % 2 == 0 or bits % 8:
            raise ParameterError(
                "The modulus of a ticket key must be odd and have 2,048 to 4,096 bits, a multiple of 8.",
                found=f"{bits} bits",
                fix="Use the key of an Issuer.",
            )

    @property
    def bits(self) -> int:
        """The number of bits of the modulus."""
        return self.modulus.bit_length()

    @property
    def length(self) -> int:
        """The number of bytes of a signature."""
        return self.bits // 8

    def written(self) -> dict[str, str]:
        """Return the fields of the key in the text of a collection."""
        return {"exponent": str(EXPONENT), "modulus": f"{self.modulus:x}", "scheme": SCHEME}

    @classmethod
    def read(cls, fields: Mapping[str, str]) -> TicketKey:
        """Return the key of the fields of a text."""
        digits = fields["modulus"]
        if not re.fullmatch("[0-9a-f]{1,1024}", digits):
            raise ParameterError("The modulus of a ticket key must be in hexadecimal digits.")
        key = cls(int(digits, 16))
        if key.written() != dict(fields):
            raise ParameterError(f"This client reads tickets of the scheme {SCHEME}.", fix="Update the client.")
        return key

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Return whether a signature of a message is by this key."""
        # An implementation of its own: what we encode and blind ourselves is checked by another program.
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import padding, rsa
        from cryptography.hazmat.primitives.hashes import SHA384

        pss = padding.PSS(mgf=padding.MGF1(SHA384()), salt_length=SHA384.digest_size)
        public = rsa.RSAPublicNumbers(EXPONENT, self.modulus).public_key()
        try:
            public.verify(signature, message, pss, SHA384())
        except InvalidSignature:
            return False
        return True
