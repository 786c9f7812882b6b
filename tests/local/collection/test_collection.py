"""Test collections: one canonical text, a signature, and clear refusals of every changed field."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.local.collection.canonical_json import canonical, decimal_above
from discreet.local.collection.collection import Collection, read
from discreet.local.collection.policy import Policy
from discreet.local.collection.signing import new_key, opened, signed
from discreet.local.protocols.frequency.two_step_grr import TwoStepGRR
from discreet.local.protocols.frequency.two_step_unary import TwoStepUnary
from discreet.local.protocols.registry import of
from tests.local.collections_of import COLOURS, MAY, WINDOW, colours

TWICE = TwoStepGRR.for_losses(4, lifetime="3", each="1")


def test_a_collection_is_read_as_it_was_written() -> None:
    for collection in (
        colours(),
        colours(null="something else"),
        colours(longitudinal=Policy("memoised", distinct=3, every=7)),
        colours(protocol=TWICE, longitudinal="two-step"),
        colours(domain=1000, protocol="oue", epsilon="0.5"),
    ):
        assert read(collection.text) == collection
        assert read(collection.text).id == collection.id


@settings(max_examples=50, deadline=None)
@given(
    name=st.text(min_size=1, max_size=20),
    labels=st.lists(st.text(max_size=8), min_size=2, max_size=6, unique=True),
)
def test_any_printable_name_and_any_labels_have_one_ascii_text(name: str, labels: list[str]) -> None:
    if not name.isprintable():
        with pytest.raises(ParameterError, match="printable"):
            Collection.design(name, domain=labels, protocol="grr", epsilon=1, window=WINDOW)
        return
    collection = Collection.design(name, domain=labels, protocol="grr", epsilon=1, window=WINDOW)
    assert collection.text.isascii()
    assert read(collection.text) == collection


def test_the_text_stays_as_it_is() -> None:
    """A change here would give every collection in the field another id."""
    small = Collection.design(
        "s",
        domain=["a", "b"],
        protocol=of("grr", {"domain": 2, "keep": 3 * 2**62}),
        window=WINDOW,
        minimum_cohort=7,
    )
    assert small.text == (
        b'{"domain":["a","b"],"epsilon":"1.098612288669","format":"discreet-collection/1","longitudinal":'
        b'{"epsilon":"1.098612288669","every":"1","policy":"none","reports":"1"},"minimum_cohort":"7","name":"s",'
        b'"null":null,"parameters":{"domain":"2","keep":"13835058055282163712"},"protocol":"grr",'
        b'"window":{"from":"2026-01-01","to":"2026-12-31"}}'
    )


def test_a_life_costs_what_its_policy_adds_up_to() -> None:
    assert (colours().epsilon, colours().lifetime) == ("1", "1")
    assert colours(longitudinal=Policy(reports=12)).lifetime == "12"
    assert colours(longitudinal=Policy("memoised", distinct=3)).lifetime == "3"
    twice = colours(protocol=TWICE, longitudinal=Policy("two-step", distinct=2))
    assert (twice.epsilon, twice.lifetime) == ("1", "6")
    assert "its life in this collection costs ε = 6" in twice.guarantee()
    assert "When its value changed is not hidden" in twice.guarantee()
    assert "may be recognised by its 8 bits" in colours(longitudinal="memoised").guarantee()


def test_a_protocol_is_chosen_for_the_domain() -> None:
    assert colours(protocol=None, epsilon="1").randomiser.name in ("grr", "subset")
    assert colours(domain=[str(i) for i in range(1000)], protocol=None, epsilon="1").randomiser.domain == 1000


def test_a_long_domain_is_named_by_its_hash_and_needs_its_labels() -> None:
    labels = [f"site {i}" for i in range(5000)]
    whole = colours(domain=labels, protocol="grr", epsilon=1)
    sent = read(whole.text)
    assert len(whole.text) < 600
    with pytest.raises(ParameterError, match="with_labels"):
        sent.place("site 7")
    assert sent.with_labels(labels).place("site 7") == 7
    with pytest.raises(ParameterError, match="their hash differs"):
        sent.with_labels(labels[::-1])


def test_a_value_outside_is_null_or_refused_because_silence_would_tell() -> None:
    assert colours(null="something else").place(None) == 3
    assert colours(null="something else").place("purple") == 3
    with pytest.raises(ParameterError, match=r'stays silent reveals that.*null="something else"'):
        colours().place("purple")


def test_a_number_outside_is_null_and_numbers_of_numpy_are_numbers() -> None:
    survey = colours(domain=4, null="3")
    assert read(survey.text) == survey
    assert [survey.place(value) for value in (0, np.int64(2), np.uint8(1), None, 4, -1, "0")] == [
        0,
        2,
        1,
        3,
        3,
        3,
        3,
    ]
    with pytest.raises(ParameterError, match=r'stays silent reveals that.*null="0"'):
        colours(domain=4).place(4)


def test_a_long_domain_may_have_a_null() -> None:
    labels = [f"page {i}" for i in range(5000)]
    long = colours(domain=labels, null="page 7")
    back = read(long.text)
    assert back.with_labels(labels).place("no page") == 7
    with pytest.raises(ParameterError, match="not a label of the domain"):
        colours(domain=labels, null="no page")


def test_a_collection_opens_with_no_key_of_another_length_or_of_small_order() -> None:
    """The points of small order are computed: multiples of one of order 8, in all their encodings."""
    envelope = signed(colours(), new_key()[0])
    p = 2**255 - 19
    found = {0, 1, p - 1} | _order_8(p)
    assert len(found) == 5
    for y in {*found, *(y + p for y in found if y + p < 2**255)}:
        for sign in (0, 1 << 255):
            with pytest.raises(ParameterError, match="an attacker can sign"):
                opened(envelope, (y + sign).to_bytes(32, "little"), today=MAY)
    for length in (0, 31, 33, 64):
        with pytest.raises(ParameterError, match="32 bytes"):
            opened(envelope, bytes(range(length)), today=MAY)


def _order_8(p: int) -> set[int]:
    """The y with d·y⁴ + 2y² = 1 modulo p."""
    d = -121665 * pow(121666, -1, p)
    (root,) = {r for r in _roots(1 + d, p) if _roots((r - 1) * pow(d, -1, p), p)}
    return _roots((root - 1) * pow(d, -1, p), p)


def _roots(square: int, p: int) -> set[int]:
    guess = pow(square % p, (p + 3) // 8, p)
    tried = {guess, guess * pow(2, (p - 1) // 4, p) % p}
    return {sign * r % p for r in tried if (r * r - square) % p == 0 for sign in (1, -1)}


def test_a_signed_collection_is_opened_with_the_key_of_its_signer() -> None:
    private, public = new_key()
    assert opened(signed(colours(), private), public, today=MAY) == colours()


def tampered(field: str, value: Any) -> bytes:
    fields = json.loads(colours().text)
    fields[field] = value
    return canonical(fields)


def test_a_wrong_signature_is_refused_before_anything_is_believed() -> None:
    private, public = new_key()
    envelope = json.loads(signed(colours(), private))
    envelope["collection"] = tampered("minimum_cohort", "1").decode()
    with pytest.raises(ParameterError, match="The signature is not by this key"):
        opened(canonical(envelope), public, today=MAY)
    with pytest.raises(ParameterError, match="The signature is not by this key"):
        opened(signed(colours(), new_key()[0]), public, today=MAY)


def test_a_collection_that_has_ended_is_refused() -> None:
    private, public = new_key()
    with pytest.raises(ParameterError, match=r"ended on 2026-12-31\. Design a new one"):
        opened(signed(colours(), private), public, today=date(2027, 1, 1))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("format", "discreet-collection/2", "Update the client"),
        ("epsilon", "0.1", "a field was changed"),
        (
            "longitudinal",
            {"policy": "none", "every": "1", "epsilon": "0.1", "reports": "1"},
            "a field was changed",
        ),
        ("parameters", {"domain": "4"}, "parameters domain, keep"),
        ("parameters", {"domain": "4", "keep": "x"}, "not the text of a collection"),
        ("protocol", "telepathy", "no protocol 'telepathy'"),
        ("domain", ["a", "a", "b", "c"], "all different"),
        ("window", {"from": "2026-02-30", "to": "2026-12-31"}, "not the text of a collection"),
        ("window", {"from": "2026-12-31", "to": "2026-01-01"}, "must not end before it begins"),
        ("null", "purple", "not a label of the domain"),
        ("minimum_cohort", 10, "a field was changed"),
        ("surplus", 1, "must have the fields"),
    ],
)
def test_a_changed_field_is_refused_with_its_reason(field: str, value: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        read(tampered(field, value))


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.binary(max_size=60), st.recursive(st.none() | st.text(), st.lists).map(canonical)))
def test_any_other_bytes_are_refused_with_a_parameter_error(data: bytes) -> None:
    with pytest.raises(ParameterError):
        read(data)
    with pytest.raises(ParameterError):
        opened(data, new_key()[1])


def test_blanks_make_another_text_that_is_refused() -> None:
    with pytest.raises(ParameterError, match="not in canonical form"):
        read(colours().text.replace(b",", b", "))


def test_two_steps_need_a_protocol_that_has_them() -> None:
    with pytest.raises(ParameterError, match="grr has no second step"):
        colours(longitudinal="two-step")
    assert colours(protocol=TwoStepUnary.for_epsilon(4, 1), longitudinal="two-step").lifetime == "2"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"longitudinal": "sometimes"}, "one of none, memoised, two-step"),
        ({"protocol": TWICE, "epsilon": 1}, "has its epsilon already"),
        ({"protocol": None}, 'epsilon="1"'),
        ({"domain": COLOURS[:3], "protocol": TWICE}, "for 4 values, and the domain has 3"),
        ({"window": ("2026-1-1", "2026-12-31")}, "2026-01-31"),
        ({"window": ("2026-01-01", "2149-06-07")}, "1970-01-01 to 2149-06-06"),
        ({"window": ("1969-12-31", "2026-01-01")}, "1970-01-01 to 2149-06-06"),
        ({"minimum_cohort": 0}, "minimum_cohort"),
        ({"domain": 4, "null": "4"}, "not a number of the domain"),
        ({"domain": 4, "null": "01"}, "not a number of the domain"),
    ],
)
def test_an_invalid_design_is_refused_with_its_reason(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        colours(**changes)


def test_a_life_is_counted_in_one_thing() -> None:
    with pytest.raises(ParameterError, match="limits distinct, not reports"):
        Policy("memoised", reports=3)


@given(st.fractions(min_value=0, max_value=100))
def test_a_decimal_is_never_below_what_it_stands_for(value: Fraction) -> None:
    assert 0 <= Fraction(decimal_above(value)) - value < Fraction(1, 10**12)
