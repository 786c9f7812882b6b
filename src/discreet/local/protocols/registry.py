"""Find every protocol by the name that a collection gives, and build it from integers.

Modules are imported on demand, so that a device loads only the protocol it uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module
from typing import Any, cast

from discreet.errors import Fix, ParameterError
from discreet.local.protocols.protocol import Randomiser

PROTOCOLS = {
    "grr": "discreet.local.protocols.frequency.grr:GRR",
    "sue": "discreet.local.protocols.frequency.unary:SUE",
    "oue": "discreet.local.protocols.frequency.unary:OUE",
    "olh": "discreet.local.protocols.frequency.local_hashing:OLH",
    "subset": "discreet.local.protocols.frequency.subset_selection:Subset",
    "hadamard": "discreet.local.protocols.frequency.hadamard:Hadamard",
    "projective": "discreet.local.protocols.frequency.projective_geometry:Projective",
    "two-step-grr": "discreet.local.protocols.frequency.two_step_grr:TwoStepGRR",
    "two-step-unary": "discreet.local.protocols.frequency.two_step_grr:TwoStepUnary",
    "rappor": "discreet.local.protocols.strings.rappor:Rappor",
    "cms": "discreet.local.protocols.strings.count_mean_sketch:CMS",
    "hcms": "discreet.local.protocols.strings.count_mean_sketch:HCMS",
    "one-bit-mean": "discreet.local.protocols.numeric.one_bit_mean:OneBitMean",
    "bit-flip": "discreet.local.protocols.numeric.dbitflip:BitFlip",
    "duchi": "discreet.local.protocols.numeric.means:Duchi",
    "piecewise": "discreet.local.protocols.numeric.means:Piecewise",
    "hybrid": "discreet.local.protocols.numeric.means:Hybrid",
    "square-wave": "discreet.local.protocols.numeric.square_wave:SquareWave",
    "prefix-tree": "discreet.local.protocols.strings.prefix_tree:PrefixTree",
    "fragments": "discreet.local.protocols.strings.sequence_fragments:FragmentPuzzle",
}
"""The module and the class of each protocol."""

ALIASES = {
    "warner": "grr",
    "krr": "grr",
    "rr": "grr",
    "sfp": "fragments",
    "dbitflip": "bit-flip",
    "dbitflippm": "bit-flip",
    "1bitmean": "one-bit-mean",
    "basic-rappor": "two-step-unary",
    "treehist": "prefix-tree",
}
"""Other names of a protocol: those of the papers. Warner's survey is GRR with two answers."""


def canonical(name: str) -> str:
    """Return the name of a protocol in the registry, whatever name of it is given: in any case, with any hyphens.

    >>> canonical("RAPPOR"), canonical("dBitFlip"), canonical("SFP"), canonical("square_wave")
    ('rappor', 'bit-flip', 'fragments', 'square-wave')
    """
    plain = _plain(name)
    found = _NAMES.get(plain)
    if found is None:
        near = get_close_matches(plain, _NAMES, n=1)
        fixes: list[Fix | str] = [Fix("name", _NAMES[close]) for close in near]
        raise ParameterError(
            f"There is no protocol {name!r}.", fix=[*fixes, f"Use one of {', '.join(PROTOCOLS)}."]
        )
    return found


def _plain(name: str) -> str:
    return "".join(letter for letter in str(name).lower() if letter.isalnum())


_NAMES = {_plain(name): protocol for name, protocol in [*((p, p) for p in PROTOCOLS), *ALIASES.items()]}


def kind(name: str) -> Any:
    """Return the class of a protocol.

    >>> kind("grr").__name__, kind("HCMS").__name__
    ('GRR', 'HCMS')
    """
    module, _, attribute = PROTOCOLS[canonical(name)].partition(":")
    return getattr(import_module(module), attribute)


def of(name: str, parameters: Mapping[str, int]) -> Randomiser:
    """Return the protocol of a name with these parameters, all of them integers.

    A collection is signed, so it has the name of the registry and no other.

    >>> of("grr", {"domain": 2, "keep": 3 * 2**62}).loss
    Pure(epsilon=Fraction(1098612288669, 1000000000000))
    """
    if name not in PROTOCOLS:
        raise ParameterError(f"There is no protocol {name!r}.", fix=f"Use one of {', '.join(PROTOCOLS)}.")
    protocol = kind(name)
    wanted = [field.name for field in fields(protocol) if field.init]
    if sorted(parameters) != sorted(wanted):
        raise ParameterError(
            f"The protocol {name} has the parameters {', '.join(wanted)}.",
            found=", ".join(parameters) or "none",
            fix="Give exactly these parameters.",
        )
    for parameter, value in parameters.items():
        if type(value) is not int:
            raise ParameterError(f"{parameter} must be a whole number in a collection.", found=repr(value))
    return cast(Randomiser, protocol(**parameters))
