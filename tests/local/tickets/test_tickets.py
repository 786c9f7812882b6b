"""Blind tickets: the numbers of RFC 9474, other programs that verify them, and what an issuer can see."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import chain, product, repeat
from math import gcd
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError, ServiceFailed
from discreet.local import Collection, signing
from discreet.local.collection.collection import read
from discreet.local.tickets import Issuer, Ticket, TicketKey, TicketRequest
from discreet.local.tickets.encoding import encode

RFC = {
    name: value
    for name, value in json.loads((Path(__file__).parent / "rfc9474.json").read_text()).items()
    if name != "source"
}
WINDOW = ("2026-01-01", "2099-12-31")


def number(name: str) -> int:
    return int(RFC[name], 16)


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer.new(2048)


def test_every_step_has_the_numbers_of_the_rfc() -> None:
    office = Issuer(number("p"), number("q"))
    assert office.key.modulus == number("n")
    message = bytes.fromhex(RFC["msg_prefix"] + RFC["msg"])
    factor = pow(number("inv"), -1, number("n"))
    request = TicketRequest(office.key, message, bytes.fromhex(RFC["salt"]), factor)
    assert request.blinded.hex() == RFC["blinded_msg"]
    assert office.sign(request.blinded).hex() == RFC["blind_sig"]
    assert request.ticket(office.sign(request.blinded)).signature.hex() == RFC["sig"]


def test_a_ticket_is_a_signature_for_another_program(issuer: Issuer) -> None:
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA384

    request = TicketRequest.new(issuer.key)
    ticket = request.ticket(issuer.sign(request.blinded))
    public = rsa.RSAPublicNumbers(65537, issuer.key.modulus).public_key()
    public.verify(ticket.signature, ticket.message, padding.PSS(padding.MGF1(SHA384()), 48), SHA384())
    assert Ticket.read(str(ticket), issuer.key) == ticket
    assert Issuer.read(issuer.written()) == issuer
    assert "p=" not in repr(issuer)


def test_all_that_an_issuer_sees_fits_every_ticket_equally_well() -> None:
    """Enumerate the blinding over small moduli, dishonest ones too, and find one factor for every pair.

    The bug it would catch: a factor that is not uniform, or a reply that is used though it is no root.
    """
    for modulus, exponent in ((7 * 11, 7), (7 * 11, 3), (9 * 5, 3), (13 * 13, 13), (3 * 5 * 7, 5)):
        units = [r for r in range(1, modulus) if gcd(r, modulus) == 1]
        seen: dict[tuple[int, int], Counter[tuple[int, int]]] = {}
        for signature, factor in product(units, units):  # a respondent who accepts has a root s of m, and t = s·r
            m = pow(signature, exponent, modulus)
            view = (m * pow(factor, exponent, modulus) % modulus, signature * factor % modulus)
            seen.setdefault(view, Counter())[m, signature] += 1
        whole = {(pow(s, exponent, modulus), s): 1 for s in units}
        assert all(tickets == whole for tickets in seen.values())
        assert len(seen) == len(units)


def test_a_factor_that_is_no_unit_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug it would catch: a product with a factor of the modulus, which every blinded message would show."""
    key = TicketKey(3**1292)  # 2,048 bits, and every third number is no unit
    drawn = chain([3, 0], repeat(key.modulus - 1))
    monkeypatch.setattr("discreet.local.tickets.request.secrets.randbelow", lambda _: next(drawn))
    request = TicketRequest.new(key)
    assert request.factor == key.modulus - 1
    assert int.from_bytes(request.blinded, "big") % 3  # so the message is a unit as well


@settings(max_examples=20, deadline=None)
@given(at=st.integers(0, 255), bit=st.integers(0, 7))
def test_a_changed_reply_or_ticket_is_refused(issuer: Issuer, at: int, bit: int) -> None:
    request = TicketRequest.new(issuer.key)
    reply = issuer.sign(request.blinded)
    changed = bytearray(reply)
    changed[at] ^= 1 << bit
    with pytest.raises(ParameterError, match="not a signature"):
        request.ticket(bytes(changed))
    ticket = request.ticket(reply)
    for wrong in (
        Ticket(ticket.message, bytes(changed)),
        Ticket(bytes([*ticket.message[:-1], ticket.message[-1] ^ 1]), ticket.signature),
    ):
        assert Ticket.read(str(wrong), issuer.key) is None


def test_a_ticket_has_one_form(issuer: Issuer) -> None:
    request = TicketRequest.new(issuer.key)
    ticket = request.ticket(issuer.sign(request.blinded))
    text = str(ticket)
    larger = int.from_bytes(ticket.signature, "big") + issuer.key.modulus
    forms = [text + "=", text.replace("-", "+") + " ", text[:-1], "", "é" * len(text), text[:-1] + "\n"]
    if larger.bit_length() <= 2048:
        forms.append(str(Ticket(ticket.message, larger.to_bytes(256, "big"))))
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".index(text[-1])
    # 320 bytes leave two bits of the last sign, which a lenient reader would not look at
    forms.append(text[:-1] + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[last ^ 1])
    assert [Ticket.read(form, issuer.key) for form in forms] == [None] * len(forms)


def test_replies_that_could_mark_a_respondent_give_no_ticket(issuer: Issuer) -> None:
    request, other = TicketRequest.new(issuer.key), Issuer.new(2048)
    reply = issuer.sign(request.blinded)
    larger = int.from_bytes(reply, "big") + issuer.key.modulus
    replies = [b"", reply[1:], b"\0" + reply, bytes(256), request.blinded, larger.to_bytes(257, "big")]
    if int.from_bytes(request.blinded, "big") < other.key.modulus:
        replies.append(other.sign(request.blinded))
    for each in replies:
        with pytest.raises(ParameterError, match="not a signature"):
            request.ticket(each)


def test_a_fault_of_the_machine_gives_no_key_away(issuer: Issuer) -> None:
    """One wrong remainder: the difference to the right signature would share a factor with the modulus."""
    request = TicketRequest.new(issuer.key)
    right = int.from_bytes(issuer.sign(request.blinded), "big")

    class Faulty(Issuer):
        def _power(self, number: int) -> int:
            return (super()._power(number) + self.q * 12345) % (self.p * self.q)

    faulty = Faulty(issuer.p, issuer.q)
    assert gcd(faulty._power(int.from_bytes(request.blinded, "big")) - right, issuer.key.modulus) == issuer.q
    with pytest.raises(ServiceFailed, match="not sent"):
        faulty.sign(request.blinded)


def test_what_is_no_blinded_message_is_not_signed(issuer: Issuer) -> None:
    modulus = issuer.key.modulus.to_bytes(256, "big")
    for wrong in (b"", bytes(256), bytes(255), modulus, b"\xff" * 256, b"\1" + bytes(256)):
        with pytest.raises(ParameterError, match="blinded message"):
            issuer.sign(wrong)


def test_the_work_of_the_issuer_is_hidden_anew_each_time(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug it would catch: a base that follows from what a client sent, whose time shows the key."""
    seen: list[tuple[int, int]] = []

    def watched(base: int, exponent: int, modulus: int) -> int:
        if modulus in (issuer.p, issuer.q) and exponent > 1:
            seen.append((base, exponent))
        return pow(base, exponent, modulus)

    monkeypatch.setattr("discreet.local.tickets.issuer.pow", watched, raising=False)
    blinded = TicketRequest.new(issuer.key).blinded
    assert issuer.sign(blinded) == issuer.sign(blinded)
    assert len(seen) == 4
    assert len({base for base, _ in seen}) == len({exponent for _, exponent in seen}) == 4


def test_the_key_is_part_of_what_is_signed(issuer: Issuer) -> None:
    plain = Collection.design("tea", domain=["yes", "no"], epsilon=1, window=WINDOW)
    keyed = replace(plain, tickets=issuer.key)
    assert b"tickets" not in plain.text
    assert keyed.id != plain.id
    assert read(keyed.text) == keyed
    private, public = signing.new_key()
    envelope = signing.signed(keyed, private)
    other = f"{Issuer.new(2048).key.modulus:x}".encode()
    with pytest.raises(ParameterError, match="signature"):
        signing.opened(envelope.replace(f"{issuer.key.modulus:x}".encode(), other), public)
    for wrong in (
        keyed.text.replace(b'"65537"', b'"3"'),
        keyed.text.replace(b"RSABSSA-SHA384-PSS-Randomized", b"RSABSSA-SHA384-PSS-Deterministic"),
        keyed.text.replace(b'"tickets":{', b'"tickets":{"for":"you",'),
        keyed.text.replace(f"{issuer.key.modulus:x}".encode(), b"f" * 100),
    ):
        with pytest.raises(ParameterError):
            read(wrong)


def test_what_is_not_a_key_is_refused(issuer: Issuer) -> None:
    n = issuer.key.modulus
    for wrong in (n + 1, n >> 8 | 1, n >> 1 | 1, (n << 2049) + 1, 1, 0, -n):
        with pytest.raises(ParameterError, match="modulus"):
            TicketKey(wrong)


@given(message=st.binary(max_size=100), salt=st.binary(min_size=48, max_size=48))
def test_an_encoded_message_is_below_every_modulus_of_its_size(message: bytes, salt: bytes) -> None:
    encoded = encode(message, salt, 2048)
    assert encoded < 1 << 2047
    assert encoded & 0xFF == 0xBC
    assert encoded != encode(message + b"\0", salt, 2048)
