"""Write JSON, labels and decimals in the canonical form that is hashed and signed.

The JavaScript client writes the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any


def canonical(fields: Any) -> bytes:
    """Return JSON with sorted keys, without blanks, in ASCII.

    >>> canonical({"b": "ü", "a": []})
    b'{"a":[],"b":"\\\\u00fc"}'
    """
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def labels_digest(labels: Sequence[str]) -> str:
    """Return the hash of labels in their order.

    >>> labels_digest(["yes", "no"])[:8]
    '5e31c540'
    """
    return hashlib.sha256(canonical(list(labels))).hexdigest()


def decimal_above(value: Fraction) -> str:
    """Return a decimal not below a fraction, with at most twelve digits after its point.

    >>> decimal_above(Fraction(1, 3)), decimal_above(Fraction(2))
    ('0.333333333334', '2')
    """
    units = -(-value.numerator * 10**12 // value.denominator)
    front, behind = divmod(units, 10**12)
    return f"{front}.{behind:012}".rstrip("0").rstrip(".")
