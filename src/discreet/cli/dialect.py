"""What `discreet.local` says in Python, in the options of `discreet local`.

Phrases are replaced whole, so that no half of a call is left; then parameters that are options here. What
other commands say as well is in `translation`, which comes after this.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from discreet.errors import MISSING, DiscreetError

_PHRASES = {
    "Read the bytes of a state, unchanged.": "Name what discreet local aggregate wrote, its --state FILE",
    "Count its batches again.": "Count its batches again: discreet local aggregate COLLECTION FILE… --state FILE",
    "Aggregator(period=day)": "discreet local aggregate COLLECTION FILE… --period DAY --state FILE",
    "Try: server.frequencies(candidates=['one', 'another']).": (
        "Write one in each line of a file: --candidates FILE"
    ),
    "Estimate all values at once.": "Leave out --candidates.",
    "Fetch the signed collection again.": "Name what discreet local design wrote, its --out FILE",
    "Use the public key that belongs to the signing key.": (
        "Use the one that discreet local design wrote, with the ending .pub"
    ),
    'alphabet=Alphabet("abcdefghijklmnopqrstuvwxyz", length=8) (instead of domain)': (
        "--alphabet abc… --length 8 (instead of --values, --labels and --size)"
    ),
    "Leave out the domain.": "Leave out --values, --labels and --size.",
    "domain=['yes', 'no']": "--values yes,no",
    "domain must be a whole number, 2 or more, not": "a domain has 2 values or more, not",
    "minimum_cohort must be": "--minimum-cohort must be",
}
_NAMES = {name: name for name in ("bits", "confidence", "delta", "distinct", "epsilon", "every", "lifetime")}
_NAMES |= {name: name for name in ("null", "policy", "protocol", "reports")}
_NAMES |= {"fraction": "liars", "malicious": "liars", "longitudinal": "policy", "shape": "population"}
_QUOTES = "\"'"
_OPTION = re.compile(rf"\b({'|'.join(_NAMES)})=(\"[^\"\n]*\"|'[^'\n]*'|[\w.+-]*\w)")

Parameters = ParamSpec("Parameters")


def speaking(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Return the command with errors as one who types would write them."""

    @wraps(command)
    def spoken(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except DiscreetError as error:
            error.args = (in_local_options(str(error)),)
            error.found, error.fixes = MISSING, ()
            raise

    return spoken


def in_local_options(words: str) -> str:
    """Return what the library says about collections as one writes it on the command line.

    >>> in_local_options("null is not a label of the domain. Try: null='maybe'.")
    'null is not a label of the domain. Try: --null maybe.'
    >>> in_local_options("The values of 'pages' are listed. Estimate all values at once.")
    "The values of 'pages' are listed. Leave out --candidates."
    """
    for python, typed in _PHRASES.items():
        words = words.replace(python, typed)
    return _OPTION.sub(lambda found: f"--{_NAMES[found[1]]} {shlex.quote(found[2].strip(_QUOTES))}", words)
