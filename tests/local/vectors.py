"""Test vectors for every client: what a key, a protocol and a value make, in bytes.

    python -m tests.local.vectors        writes tests/local/vectors.json again

The keys are public: nothing that is made here is private. A protocol that makes other bytes than
before needs another name or other parameters: devices in the field do not change together.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
from pathlib import Path
from typing import Any

from discreet.local.collection.canonical_json import canonical
from discreet.local.collection.collection import Collection
from discreet.local.collection.domains import WORDS, Domain, Labels, Texts, Words
from discreet.local.collection.policy import Policy
from discreet.local.collection.signing import opened, signed
from discreet.local.device.device import permanent_answer
from discreet.local.device.wire import batch, frame
from discreet.local.primitives.randomness import SCALE, Keyed
from discreet.local.protocols.frequency.two_step_grr import TwoStepGRR
from discreet.local.protocols.frequency.two_step_unary import TwoStepUnary
from discreet.local.protocols.numeric.dbitflip import BitFlip
from discreet.local.protocols.numeric.one_bit_mean import OneBitMean
from discreet.local.protocols.protocol import Randomiser
from discreet.local.protocols.registry import kind
from discreet.local.protocols.strings.prefix_tree import PrefixTree
from discreet.local.protocols.strings.rappor import Rappor
from discreet.local.protocols.strings.strings import Alphabet
from tests.local.collections_of import COLOURS, MAY, WINDOW

PATH = Path(__file__).with_name("vectors.json")
_KEY = bytes(range(32))
_BOUNDS = (1, 2, 10, 1000, 2**32 + 1, 2**53 - 1)
_ODD = SCALE // 2049 + 1  # the bound below 2^53 for which most words are thrown away: one in 2049
LETTERS = Alphabet("abcdefghijklmnopqrstuvwxyzé😀", length=6)
TYPED = ["", "a", "cafés 😀!", "naïve", "zebra", "éa😀"]
_VALUES: list[Any] = [{"b": 'é 😀\x7f\x1f/\\"', "a": [None, "1"]}, [], {}]


def vectors() -> dict[str, Any]:
    """Return everything that two languages must agree on."""
    return {
        "draws": [_draws("", *_BOUNDS), _draws("colour", *_BOUNDS), _draws(_thrown_away(), _ODD)],
        "protocols": [_protocol(each) for each in _randomisers()],
        "remembered": [_remembered(BitFlip.for_epsilon(100, 1, bits=4)), _remembered(_mean())],
        "collections": [_collection(each) for each in _collections()],
        "canonical": [_canonical(each) for each in _VALUES],
        "refused": _refused(),
    }


def _mean() -> OneBitMean:
    return OneBitMean.for_epsilon(101, 1)


def _randomisers() -> list[Randomiser]:
    made = [
        kind(name).for_epsilon(domain, epsilon)
        for name in ("grr", "sue", "oue", "olh", "subset", "hadamard", "projective")
        for domain, epsilon in ((2, "1"), (5, "0.5"), (60, "2"), (300, "1"))
    ]
    made += [kind("projective").for_epsilon(1000, epsilon) for epsilon in ("0.5", "1", "2", "3", "4", "5")]
    made += [BitFlip.for_epsilon(100, 1, bits=4), BitFlip.for_epsilon(3, 1, bits=3), _mean()]
    made += [cls.for_losses(d, lifetime=2, each=1) for cls in (TwoStepGRR, TwoStepUnary) for d in (2, 300)]
    rare, usual = 1_234_567, SCALE - 1_234_567  # a double that takes 1 − p from a p near 1 has the loss wrong
    made += [TwoStepGRR(7, usual, usual), TwoStepUnary(7, usual, rare, usual, rare)]
    made += [Rappor(7, bits=13, hashes=1, cohorts=3, f=rare, p=rare, q=usual)]
    made += [kind(name).for_epsilon(d, 1) for name in ("cms", "hcms", "rappor") for d in (5, 0)]
    made += [Rappor(9, bits=13, hashes=3, cohorts=300, f=SCALE // 3, p=0, q=SCALE, seed=2**63 - 1)]
    made += [kind("hcms").for_epsilon(300, "0.5", rows=65536, columns=2**20, seed=7)]
    made += [kind("cms").for_epsilon(300, 4, rows=3, columns=9)]
    names = ("duchi", "piecewise", "hybrid", "square-wave")
    sizes = ((2, "0.5"), (3, "0.2"), (7, "0.2"), (1000, 2))  # small ones, where ends are met
    made += [kind(name).for_epsilon(d, epsilon) for name in names for d, epsilon in sizes]
    made += [kind(name).for_epsilon(LETTERS, 2) for name in ("prefix-tree", "fragments")]
    made += [PrefixTree.for_epsilon(LETTERS, "0.5", step=3, rows=7, columns=2, seed=3)]
    return made


def _domain(randomiser: Randomiser) -> Domain:
    if randomiser.domain:
        return Labels(randomiser.domain)
    return Words(LETTERS) if randomiser.name in WORDS else Texts()


def _values(randomiser: Randomiser) -> list[int] | list[str]:
    d = randomiser.domain
    return sorted({0, 1, d // 3, d // 2, d - 2, d - 1}) if d else TYPED


def _context(randomiser: Randomiser, value: int | str) -> bytes:
    return f"{randomiser.name} {randomiser.domain} {value}".encode()


def _thrown_away() -> str:
    """Return a context whose first word is beyond the last whole multiple of the bound."""
    for number in itertools.count():
        context = f"thrown away {number}"
        digest = hmac.new(_KEY, context.encode() + bytes(4), hashlib.sha256).digest()
        if int.from_bytes(digest[:8], "little") >= SCALE - SCALE % _ODD:
            return context
    raise AssertionError("one in two thousand contexts is one")


def _draws(context: str, *bounds: int) -> dict[str, Any]:
    chances = (0, 1, SCALE // 3, SCALE // 2, SCALE - 1, SCALE)
    draws = Keyed(_KEY, context.encode())
    return {
        "key": _KEY.hex(),
        "context": context.encode().hex(),
        "below": [[bound, int(draws.below(bound, 1)[0])] for bound in bounds],
        "coins": [[str(chance), bool(draws.coins(chance, 1)[0])] for chance in chances],
    }


def _protocol(randomiser: Randomiser) -> dict[str, Any]:
    domain, reports = _domain(randomiser), []
    for value in _values(randomiser):
        draws = Keyed(_KEY, _context(randomiser, value))
        payload = randomiser.encode(domain.one(value, None).row, draws).tobytes()
        reports.append([value, _context(randomiser, value).hex(), payload.hex()])
    return {**_named(randomiser), "domain": domain.written(), "key": _KEY.hex(), "reports": reports}


def _named(randomiser: Randomiser) -> dict[str, Any]:
    return {
        "protocol": randomiser.name,
        "parameters": {key: str(number) for key, number in randomiser.parameters().items()},
        "epsilon": float(randomiser.loss.epsilon),
        "payload_bytes": randomiser.payload_bytes,
    }


def _remembered(randomiser: BitFlip | OneBitMean) -> dict[str, Any]:
    values = range(0, randomiser.domain, 9)
    reports = [
        [value, randomiser.remembered(value, _KEY, b"life").tobytes().hex(), randomiser.case(value, _KEY, b"life")]
        for value in values
    ]
    return {**_named(randomiser), "key": _KEY.hex(), "context": b"life".hex(), "reports": reports}


def _collections() -> list[Collection]:
    twice = TwoStepGRR.for_losses(4, lifetime=3, each=1)

    def named(name: str, **details: Any) -> Collection:
        return Collection.design(name, window=WINDOW, **details)

    flip = BitFlip.for_epsilon(100, 1, bits=4)
    return [
        named("couleurs préférées 😀", domain=COLOURS, protocol="grr", epsilon=1, null="something else"),
        named("twice", domain=COLOURS, protocol=twice, longitudinal=Policy("two-step", distinct=2)),
        named("always", domain=1000, protocol="projective", epsilon=1, longitudinal="memoised"),
        named("bits", domain=100, protocol=flip, longitudinal=Policy("memoised", distinct=5)),
        named("typed", alphabet=LETTERS, protocol="prefix-tree", epsilon=1, longitudinal="memoised"),
        named("puzzle", alphabet=LETTERS, protocol="fragments", epsilon=2, null="?"),
        named("sites", protocol="rappor", epsilon=1, longitudinal=Policy("two-step", distinct=2), null="?"),
        named("texts", protocol="hcms", epsilon=2),
        named("counted", domain=10, protocol="subset", epsilon=1, longitudinal="memoised", null="7"),
    ]


def _collection(collection: Collection) -> dict[str, Any]:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = bytes(range(100, 132))
    public = Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
    envelope = signed(collection, private)
    assert opened(envelope, public, today=MAY) == collection
    payload = bytes(collection.randomiser.payload_bytes)
    frames = [frame(collection, payload, day=day, identified=False) for day in (None, MAY)]
    return {
        "envelope": envelope.decode(),
        "public_key": public.hex(),
        "id": collection.id.hex(),
        "secret": _KEY.hex(),
        "permanent": [
            [value, permanent_answer(collection, collection.one(value), _KEY)[0].hex()]
            for value in _asked(collection)
        ],
        "frames": [each.hex() for each in frames],
        "batch": batch([frames[0], frames[0]]).hex(),
    }


def _asked(collection: Collection) -> list[Any]:
    if not isinstance(collection.domain, Labels):
        return TYPED
    if collection.null is not None and collection.labels is None:
        return [0, 7, 10, -1, "7", None]  # the last four are answered for as the second is
    return [0, 3] if collection.labels is None else [collection.labels[0], collection.labels[3]]


# Chances of which one step at least is likelier to say what is not the value: the loss is that of the opposite.
_LIES: list[tuple[str, dict[str, int]]] = [
    *((name, {"keep": 1}) for name in ("grr", "sue", "olh", "subset", "hadamard", "projective")),
    *((name, {"flip": SCALE - 1}) for name in ("one-bit-mean", "duchi", "bit-flip", "cms", "hcms", "prefix-tree")),
    *(("fragments", {name: SCALE - 1}) for name in ("flip_fragment", "flip_word")),
    ("oue", {"zero": SCALE - 1}),
    ("square-wave", {"heads": 1}),
    *((name, {"heads": 1}) for name in ("hybrid", "piecewise")),
    *((name, {"domain": 3, "width": 1, "heads": 1, "piecewise": SCALE // 2}) for name in ("hybrid", "piecewise")),
    ("hybrid", {"flip": SCALE - 1}),
    ("rappor", {"p": SCALE // 4 * 3, "q": SCALE // 4}),
    ("two-step-grr", {"domain": 2, "keep": 2**20, "keep_fresh": SCALE // 3}),
    ("two-step-grr", {"keep": 1}),
    ("two-step-grr", {"keep_fresh": 1}),
    (
        "two-step-unary",
        {"one": 2**20, "zero": SCALE - 2**20, "one_fresh": SCALE * 2 // 5, "zero_fresh": SCALE * 3 // 5},
    ),
    ("two-step-unary", {"one": 1}),
    ("two-step-unary", {"zero_fresh": SCALE - 1}),
]
_NO_COUNTS = ["Infinity", "1e400", "1.4", "0", "-1", "+1", "01", " 1", "1_0", "0x1", "", None, ["1"]]
_NO_PLACES = ["4", "03", "-1", "1.0", "", "+3", " 3", "three"]
_NO_DAYS = ["2026-02-30", "2150-01-01", "1969-12-31", "20260101", None]


def _refused() -> list[dict[str, str]]:
    """Return texts that no client may accept: all canonical, and each with one error."""
    refused = [(f"{name} {' '.join(changes)}", _lying(name, changes)) for name, changes in _LIES]
    policies = {"reports": "none", "distinct": "memoised", "every": "none"}
    for count, wrong in itertools.product(policies, _NO_COUNTS):
        fields = _written("grr", policies[count])
        refused.append((f"{count} {wrong}", {**fields, "longitudinal": {**fields["longitudinal"], count: wrong}}))
    fields = _written("grr", "none")
    refused += [(f"minimum_cohort {wrong}", {**fields, "minimum_cohort": wrong}) for wrong in _NO_COUNTS]
    refused += [(f"null {wrong}", {**fields, "null": wrong}) for wrong in _NO_PLACES]
    refused += [
        (f"{end} {day}", {**fields, "window": {**fields["window"], end: day}})
        for end, day in itertools.product(("from", "to"), _NO_DAYS)
    ]
    return [{"wrong": wrong, "text": canonical(fields).decode()} for wrong, fields in refused]


def _written(protocol: str, policy: str) -> dict[str, Any]:
    words = {"alphabet": LETTERS} if protocol in WORDS else {"domain": 4}
    asked = Collection.design("refused", protocol=protocol, epsilon=1, longitudinal=policy, window=WINDOW, **words)
    fields: dict[str, Any] = json.loads(asked.text)
    return fields


def _lying(protocol: str, changes: dict[str, int]) -> dict[str, Any]:
    steps = protocol.startswith("two-step") or protocol == "rappor"
    fields = _written(protocol, "two-step" if steps else "none")
    fields["parameters"] |= {key: str(number) for key, number in changes.items()}
    fields["domain"] = {"size": fields["parameters"]["domain"]} if "domain" in changes else fields["domain"]
    return fields


def _canonical(value: Any) -> dict[str, Any]:
    return {"value": value, "text": canonical(value).decode()}


def written() -> str:
    """Return the vectors as the file has them."""
    return json.dumps(vectors(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    PATH.write_text(written())
