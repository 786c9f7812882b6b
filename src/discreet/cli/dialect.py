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

from discreet.errors import DiscreetError

_PHRASES = {
    "Read what aggregator.written() returned.": "Name what discreet local aggregate wrote, its --state FILE",
    "Count its batches again, Aggregator(collection).update(batch).": (
        "Count its batches again: discreet local aggregate COLLECTION FILE… --state FILE"
    ),
    "Aggregator(collection, period=day)": "discreet local aggregate COLLECTION FILE… --period DAY --state FILE",
    'such as server.frequencies(["one", "another"]).': "one in each line of a file: --candidates FILE",
    "use server.estimate().": "leave out --candidates.",
    "Fetch what signing.signed(…) returned again.": "Name what discreet local design wrote, its --out FILE",
    "take the second of new_key().": "take the one that discreet local design wrote, with the ending .pub",
    "Take collection.text from": "Take the file from",
    'leave out domain, and give alphabet=Alphabet("abc…", 8).': (
        "leave out --values, --labels and --size, and give --alphabet abc… --length 8"
    ),
    "leave out domain=….": "leave out --values, --labels and --size.",
    "give domain=[…] or a size, or name": "give --values yes,no or --size 1000, or name",
    "domain must be a whole number, 2 or more": "a domain has 2 values or more",
    "minimum_cohort must be": "--minimum-cohort must be",
    "longitudinal is one of": "--policy is one of",
    "a life is counted in reports, not distinct.": "a life is counted in --reports, not --distinct.",
    "a life is counted in distinct, not reports.": "a life is counted in --distinct, not --reports.",
}
_NAMES = {name: name for name in ("bits", "confidence", "delta", "epsilon", "every", "lifetime", "null", "liars")}
_NAMES["fraction"] = "liars"
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
            raise

    return spoken


def in_local_options(words: str) -> str:
    """Return what the library says about collections as one writes it on the command line.

    >>> in_local_options("null='maybe' is no label of the domain: add it to the domain.")
    '--null maybe is no label of the domain: add it to the domain.'
    >>> in_local_options("the values of 'pages' are listed: use server.estimate().")
    "the values of 'pages' are listed: leave out --candidates."
    """
    for python, typed in _PHRASES.items():
        words = words.replace(python, typed)
    return _OPTION.sub(lambda found: f"--{_NAMES[found[1]]} {shlex.quote(found[2].strip(_QUOTES))}", words)
