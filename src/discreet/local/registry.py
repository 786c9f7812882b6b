"""Every protocol by its name: what a descriptor names, and how a server makes it from integers.

Modules are imported when they are asked for, so that a device loads the one it uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any, cast

from discreet.errors import ParameterError
from discreet.local.contract import Randomiser

PROTOCOLS = {
    "grr": "discreet.local.grr:GRR",
    "sue": "discreet.local.unary:SUE",
    "oue": "discreet.local.unary:OUE",
    "olh": "discreet.local.hashing:OLH",
    "subset": "discreet.local.subset:Subset",
    "hadamard": "discreet.local.hadamard:Hadamard",
    "projective": "discreet.local.projective:Projective",
    "two-step-grr": "discreet.local.twostep:TwoStepGRR",
    "two-step-unary": "discreet.local.twostep:TwoStepUnary",
    "rappor": "discreet.local.rappor:Rappor",
    "cms": "discreet.local.sketches:CMS",
    "hcms": "discreet.local.sketches:HCMS",
    "one-bit-mean": "discreet.local.one_bit:OneBitMean",
    "bit-flip": "discreet.local.bit_flip:BitFlip",
    "duchi": "discreet.local.means:Duchi",
    "piecewise": "discreet.local.means:Piecewise",
    "hybrid": "discreet.local.means:Hybrid",
    "square-wave": "discreet.local.square_wave:SquareWave",
    "prefix-tree": "discreet.local.heavy_hitters:PrefixTree",
    "fragments": "discreet.local.fragments:FragmentPuzzle",
}
"""Where each protocol is."""


def kind(name: str) -> Any:
    """Return the class of a protocol.

    >>> kind("grr").__name__
    'GRR'
    """
    if name not in PROTOCOLS:
        raise ParameterError(f"there is no protocol {name!r}. There are: {', '.join(PROTOCOLS)}.")
    module, _, attribute = PROTOCOLS[name].partition(":")
    return getattr(import_module(module), attribute)


def of(name: str, parameters: Mapping[str, int]) -> Randomiser:
    """Return the protocol of a name with these parameters, all of them integers.

    >>> of("grr", {"domain": 2, "keep": 3 * 2**62}).loss
    Pure(epsilon=Fraction(1098612288669, 1000000000000))
    """
    protocol = kind(name)
    wanted = [field.name for field in fields(protocol) if field.init]
    if sorted(parameters) != sorted(wanted):
        raise ParameterError(
            f"{name} has the parameters {', '.join(wanted)}, not {', '.join(parameters) or 'none'}."
        )
    for parameter, value in parameters.items():
        if type(value) is not int:
            raise ParameterError(f"{parameter} is a whole number in a descriptor, not {value!r}.")
    return cast(Randomiser, protocol(**parameters))
