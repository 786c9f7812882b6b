"""Show randomised responses of devices that reveal more than they claim.

In the local model an attacker sees every single report: the loss of one report is the whole loss. All
probabilities here are simple fractions, and so are their ratios: a claim of ε = ln 3 is written as the next
decimal above it. Reports have few outcomes, and the exact attack computes the probability of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from discreet import noise, privacy
from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.verdict import Verdict

LN_3, LN_9 = "1.0987", "2.1973"  # 1.098612… and 2.197224…, rounded up


def _attacked(name: str, release: Callable[[Any], Any], epsilon: str, pair: tuple[Any, Any]) -> Verdict:
    return exact.attack(Subject(name=name, release=release, loss=privacy.Pure(epsilon), pairs=[pair]))


# -- lie-may-be-truth -------------------------------------------------------------------------------------------


def truth_or_anything(bit: int) -> int:
    """Tell the truth with probability ¾, else toss a coin."""
    return bit if noise.bernoulli("3/4") else int(noise.bernoulli("1/2"))


def truth_or_lie(bit: int) -> int:
    """Tell the truth with probability ¾, else lie."""
    return bit if noise.bernoulli("3/4") else 1 - bit


LIE_MAY_BE_TRUTH = Exhibit(
    name="lie-may-be-truth",
    title="The lie may be the truth, and is charged as if it never were",
    story=(
        "Randomised response tells the truth with probability p and lies otherwise, and its loss is ln(p/(1 − "
        "p)). A library charged exactly that, but its lie was drawn from all answers, including the true one. So "
        "the truth came out ⅞ of the time and not ¾, and the odds were 7 to 1 and not 3 to 1. Either version is "
        "fine; the code of one with the formula of the other is not."
    ),
    sources=("opendp/opendp#480",),
    broken=lambda: _attacked("truth or anything", truth_or_anything, LN_3, (0, 1)),
    mended=lambda: _attacked("truth or lie", truth_or_lie, LN_3, (0, 1)),
    ours=(
        "privacy.RandomizedResponse says which of the two it is: otherwise one of the k − 1 other answers "
        "(tests/privacy/test_plan.py)."
    ),
)


# -- true-bit-never-flipped, true-bit-set-twice -----------------------------------------------------------------

_VALUES = 3


def unary(value: int, true_bit: Callable[[], bool]) -> list[bool]:
    """Return one bit for each value: bits of other values are set with probability ¼, the true one by a rule."""
    return [true_bit() if other == value else bool(noise.bernoulli("1/4")) for other in range(_VALUES)]


def kept(value: int) -> list[bool]:
    """Set bits at random, and never clear one."""
    return unary(value, lambda: True)


def set_twice(value: int) -> list[bool]:
    """Set every bit with probability ¼, and then the true one with probability ¾, if it is not set already."""
    return unary(value, lambda: bool(noise.bernoulli("1/4")) or bool(noise.bernoulli("3/4")))


def symmetric(value: int) -> list[bool]:
    """Flip every bit with probability ¼."""
    return unary(value, lambda: bool(noise.bernoulli("3/4")))


TRUE_BIT_NEVER_FLIPPED = Exhibit(
    name="true-bit-never-flipped",
    title="A true bit is always reported",
    story=(
        "Unary encoding writes a value as a row of bits, one of them set, and flips each with some probability. A "
        "client implemented this as: where a coin shows heads, set the bit to 1. That flips the zeros only. A one "
        "stays a one, whatever the coin shows. The report has plenty of wrong ones, and looks noisy. But every "
        "bit that is 0 rules its value out for certain, and after a few reports only the truth is left."
    ),
    sources=("pure-LDP 1.2.0, the RAPPOR client", "Arcolezi and Gambs 2023, arXiv 2309.01597"),
    broken=lambda: _attacked("unary encoding, ones kept", kept, LN_9, (0, 1)),
    mended=lambda: _attacked("unary encoding", symmetric, LN_9, (0, 1)),
    ours=(
        "The declared loss of a randomiser is compared with its exact law on every pair of values, as here "
        "(tests/audit/museum/test_responses.py)."
    ),
)

TRUE_BIT_SET_TWICE = Exhibit(
    name="true-bit-set-twice",
    title="A true bit has two chances to be reported",
    story=(
        "For speed, a client filled the whole row of bits with the noise for zeros, and then, with probability p, "
        "set the true bit. It forgot to clear the true bit first. So that bit is reported when the second coin "
        "shows heads, and also when the first one did: 13 times in 16 instead of 12. One missing line causes a "
        "loss of ln 13 instead of ln 9, and the estimates do not look wrong."
    ),
    sources=("Samuel-Maddock/pure-LDP#11", "Arcolezi and Gambs 2023, arXiv 2309.01597"),
    broken=lambda: _attacked("unary encoding, true bit set twice", set_twice, LN_9, (0, 1)),
    mended=lambda: _attacked("unary encoding", symmetric, LN_9, (0, 1)),
    ours=(
        "The declared loss of a randomiser is compared with its exact law on every pair of values, as here "
        "(tests/audit/museum/test_responses.py)."
    ),
)


# -- true-value-first -------------------------------------------------------------------------------------------

_ANSWERS = 4


def drawn(values: Sequence[int], count: int) -> list[int]:
    """Return `count` of the values, without repetition, in the order of the draws."""
    left = list(values)
    return [left.pop(noise.uniform_below(len(left))) for _ in range(count)]


def true_one_first(value: int) -> list[int]:
    """Return two of four values: the true one first, with probability ¾, and then values drawn from the others."""
    others = [other for other in range(_ANSWERS) if other != value]
    return [value, *drawn(others, 1)] if noise.bernoulli("3/4") else drawn(others, 2)


def without_order(value: int) -> list[int]:
    """Return the same two values, sorted."""
    return sorted(true_one_first(value))


TRUE_VALUE_FIRST = Exhibit(
    name="true-value-first",
    title="The set is private, but the order of its list is not",
    story=(
        "Subset selection reports a few values, often including the true one, and must not reveal which one is "
        "true. A library built the report as an array: put the true value in, then append others until the array "
        "is full. On paper a set has no order. In memory, in JSON and in transmission it has one, and here the "
        "first value is the true one three times out of four, while the values after it never are. The proof was "
        "about the set; the device sent a list."
    ),
    sources=("multi-freq-ldpy, SS_Client", "Ye and Barg 2018, on subset selection"),
    broken=lambda: _attacked("subset selection, as a list", true_one_first, LN_3, (0, 1)),
    mended=lambda: _attacked("subset selection, sorted", without_order, LN_3, (0, 1)),
    ours=(
        "An outcome is all that an observer can tell apart, including the order of a list "
        "(discreet.audit.attacks.outcomes), so that no audit treats a list as a set."
    ),
)


# -- length-leaks, last-bit-bare --------------------------------------------------------------------------------


def each_flipped(bits: Sequence[int]) -> list[int]:
    """Flip every bit with probability ¼."""
    return [bit ^ int(noise.bernoulli("1/4")) for bit in bits]


def padded(bits: Sequence[int]) -> list[int]:
    """Pad with zeros to the declared length, then flip."""
    return each_flipped([*bits, 0, 0][:2])


LENGTH_LEAKS = Exhibit(
    name="length-leaks",
    title="Every bit is noisy, but the number of bits is not",
    story=(
        "A bit vector is randomised bit by bit, and two vectors that differ in a bit are hard to tell apart. But "
        "no rule fixed the length of a vector. One person's answer may be one bit long and another's two, and the "
        "report is as long as the answer. No noise was added to the length."
    ),
    sources=("opendp/opendp#2930",),
    broken=lambda: _attacked("a vector of any length", each_flipped, LN_9, ((1,), (0, 1))),
    mended=lambda: _attacked("a vector of declared length", padded, LN_9, ((1,), (0, 1))),
    ours=(
        "A vector and a single integer are told apart by declared shape, before anything is opened "
        "(test_a_refusal_does_not_depend_on_what_is_inside in tests/mechanisms/test_exact.py)."
    ),
)


def all_but_the_last(bits: Sequence[int]) -> list[int]:
    """Draw one coin too few; the missing one counts as no flip."""
    return [bit ^ flip for bit, flip in zip(bits, [*each_flipped([0] * (len(bits) - 1)), 0], strict=True)]


LAST_BIT_BARE = Exhibit(
    name="last-bit-bare",
    title="One coin too few leaves the last bit without noise",
    story=(
        "The coins for n bits were counted from 1 up to, and not including, n. The exclusive or of a long and a "
        "short vector does not raise an error: it fills up with zeros. All bits but the last were flipped "
        "correctly, and tests of averages over the whole vector found nothing."
    ),
    sources=("opendp/opendp#2707",),
    broken=lambda: _attacked("one coin too few", all_but_the_last, LN_3, ((1, 0), (1, 1))),
    mended=lambda: _attacked("one coin for every bit", each_flipped, LN_3, ((1, 0), (1, 1))),
    ours=(
        "A release asks for as many draws as the exact value has entries, and numpy refuses to add what does not "
        "fit (test_laplace_releases_follow_the_law in tests/mechanisms/test_additive_exact.py)."
    ),
)

EXHIBITS = (
    LIE_MAY_BE_TRUTH,
    TRUE_BIT_NEVER_FLIPPED,
    TRUE_BIT_SET_TWICE,
    TRUE_VALUE_FIRST,
    LENGTH_LEAKS,
    LAST_BIT_BARE,
)
