"""Test the aggregator: it counts valid reports, refuses others by reason, merges, and never raises on input."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet import noise
from discreet.errors import ParameterError, QuestionRefused
from discreet.local.collection.collection import Collection
from discreet.local.collection.policy import Policy
from discreet.local.device.device import Device
from discreet.local.device.wire import HEADER, batch, frame, frames
from discreet.local.primitives.randomness import FRESH
from discreet.local.protocols.frequency.two_step_grr import TwoStepGRR
from discreet.local.protocols.strings.prefix_tree import PrefixTree
from discreet.local.protocols.strings.strings import Alphabet
from discreet.local.server.aggregator import REASONS, Aggregator
from tests.local.collections_of import COLOURS, MAY, SURVEY, colours, counted, sent


def same(one: Aggregator, other: Aggregator) -> bool:
    return one.written() == other.written()


def test_reports_are_counted_and_estimated() -> None:
    with noise.deterministic(1):
        data = sent(60_000, value=0) + b""
        more = sent(20_000, value=2)
    answer = counted(data, more).estimate()
    truth = np.array([0.75, 0, 0.25, 0])
    assert answer.labels == COLOURS
    assert answer.estimate.n == 80_000
    # five standard errors for each of four numbers: false alarm below 3e-6 for a new seed, and the seed is fixed
    assert (np.abs(answer.estimate.values - truth) < 5 * answer.estimate.standard_errors).all()
    assert answer.rows()[0][0] == "red"


def test_below_its_minimum_cohort_nothing_is_said() -> None:
    server = counted(sent(9))
    with pytest.raises(QuestionRefused, match="are 9 reports of 'colours', and the minimum cohort is 10 devices"):
        server.estimate()
    server.update(sent(1))
    assert server.estimate().estimate.n == 10


def test_every_reason_to_refuse_has_its_count() -> None:
    server, other = Aggregator(SURVEY, identified=True), colours(minimum_cohort=77)
    good, again = frame(SURVEY, b"\x01"), frame(SURVEY, b"\x02", day=MAY)
    assert server.update(batch([good, good])) == 1
    assert server.update(batch([good])) == 0
    assert server.update(batch([again])) == 1
    assert server.update(batch([frame(other, b"\x01")])) == 0
    assert server.update(batch([frame(SURVEY, b"\x04")])) == 0
    assert server.update(batch([frame(SURVEY, b"\x01", day=date(2027, 1, 1))])) == 0
    assert server.update(batch([frame(SURVEY, b"\x01", day=date(2025, 12, 31))])) == 0
    assert server.update(batch([frame(SURVEY, b"\x01")]), received=date(2027, 1, 1)) == 0
    assert server.update(batch([frame(SURVEY, b"\x01", identified=False)])) == 0
    assert server.update(batch([b"\x02" + good[1:], b"\x41" + good[1:]])) == 0
    assert server.update(batch([good + b"x"])) == 0
    assert server.update(b"DLPB and so on") == 0
    assert server.n == 2
    assert server.state.sum() == 2
    assert dict(server.rejected) == dict(zip(REASONS, (1 + 1 + 2, 1, 3, 1, 2, 1), strict=True)), (
        "malformed, other collection, out of window, invalid payload, replayed, without id"
    )


@pytest.mark.parametrize("place", range(1, 9))
def test_a_collection_that_differs_in_one_byte_of_its_id_is_another_one(place: int) -> None:
    near = bytearray(frame(SURVEY, b"\x01"))
    near[place] ^= 1
    assert counted(batch([bytes(near)])).rejected["other collection"] == 1


def test_a_report_is_counted_once_however_often_it_arrives() -> None:
    reports = [frame(SURVEY, b"\x01") for _ in range(300)]
    server = counted(*(batch(reports[i : i + 100]) for i in range(0, 250, 50)))
    assert server.n == 300
    assert server.rejected["replayed"] == 200


def test_ids_are_remembered_when_they_have_been_sorted_in_and_written() -> None:
    rows = np.hstack([np.frombuffer(bytes([0x21]) + SURVEY.id[:8], np.uint8) * np.ones((70_000, 1), np.uint8)] * 1)
    ids = np.arange(70_000, dtype="<u8").view(np.uint8).reshape(-1, 8)
    data = batch(np.hstack([rows, ids, ids, np.ones((70_000, 1), np.uint8)]).astype(np.uint8))
    server = counted(data)
    back = Aggregator.read(server.written(), SURVEY)
    for each in (server, back):
        assert each.update(data) == 0
        assert (each.n, each.rejected["replayed"]) == (70_000, 70_000)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), max_size=10), min_size=1, max_size=4))
def test_the_states_of_parts_add_up_to_the_state_of_the_whole_in_any_order(parts: list[list[int]]) -> None:
    batches = [batch([frame(SURVEY, bytes([value])) for value in part]) for part in parts]
    whole = counted(*batches)
    forth, back = Aggregator(SURVEY), Aggregator(SURVEY)
    for data in batches:
        forth.merge(counted(data))
    for data in reversed(batches):
        back.merge(Aggregator.read(counted(data).written(), SURVEY))
    assert same(whole, forth)
    assert same(forth, back)


def test_what_two_parts_both_counted_is_said() -> None:
    data = batch([frame(SURVEY, b"\x01") for _ in range(20)])
    server = counted(data)
    server.merge(counted(data))
    assert (server.n, server.repeated) == (40, 20)
    shown = str(server.estimate())
    assert "20 repeated" in shown
    assert "20 of these 40 were counted by another part before" in shown
    assert "shares are biased towards the reports that were counted again" in shown
    assert Aggregator.read(server.written(), SURVEY).repeated == 20


def test_states_of_two_collections_are_never_added() -> None:
    with pytest.raises(ParameterError, match="states of two collections"):
        counted(sent()).merge(Aggregator(colours(minimum_cohort=77)))
    with pytest.raises(ParameterError, match="is not a state of the collection"):
        Aggregator.read(counted(sent()).written(), colours(minimum_cohort=77))


def test_a_damaged_state_is_refused_wherever_it_is_damaged() -> None:
    data = counted(sent()).written()
    for place in range(len(data)):
        broken = bytearray(data)
        broken[place] ^= 1
        with pytest.raises(ParameterError, match="not a state, or it is damaged"):
            Aggregator.read(bytes(broken), SURVEY)
    for end in (0, 10, len(data) - 1):
        with pytest.raises(ParameterError, match="damaged"):
            Aggregator.read(data[:end], SURVEY)


def test_the_bytes_of_a_state_stay_as_they_are() -> None:
    server = counted(batch([frame(SURVEY, b"\x01", identified=False)]), b"?")
    written = server.written()
    assert written[:37] == b"DLPS\x01" + SURVEY.id
    numbers = [1, 0, 1, 0, 0, 0, 0, 0, 4, 0]
    assert written[37 : 37 + 80] == b"".join(number.to_bytes(8, "big") for number in numbers)
    assert written[117:149] == bytes(8) + b"\x01" + bytes(7 + 16)
    assert len(written) == 149 + 32


def hostile() -> st.SearchStrategy[bytes]:
    """Return anything, from random bytes to nearly valid batches."""
    first = st.sampled_from([0x01, 0x11, 0x21, 0x31, 0x02, 0xFF])
    prefix = st.sampled_from([SURVEY.id[:8], bytes(8)])
    near = st.tuples(first, prefix, st.binary(max_size=22)).map(lambda t: bytes([t[0]]) + t[1] + t[2])
    header = st.tuples(st.integers(0, 3), st.integers(0, 40)).map(
        lambda t: b"DLPB\x01" + t[0].to_bytes(4, "big") + t[1].to_bytes(2, "big")
    )
    return st.one_of(
        st.binary(max_size=80),
        st.tuples(header, st.binary(max_size=80)).map(b"".join),
        near.map(lambda each: batch([each])),
        st.lists(near, max_size=4).map(lambda some: batch([each for each in some if len(each) == len(some[0])])),
    )


@settings(max_examples=300, deadline=None)
@given(hostile())
@example(b"DLPB\x01\xff\xff\xff\xff\x00\x00")
@example(b"DLPB\x01\x00\x00\x00\x01\x00\x01\x01")
@example(b"")
def test_nothing_that_attackers_send_makes_it_raise_or_miscount(data: bytes) -> None:
    server = Aggregator(SURVEY)
    good = server.update(data)
    assert server.n == good == int(server.state.sum())
    assert good <= max(0, len(data) - HEADER)
    assert same(Aggregator.read(server.written(), SURVEY), server)


@pytest.mark.parametrize("protocol", ["grr", "oue", "sue", "subset", "hadamard", "projective", "olh"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_payload_makes_any_protocol_raise(protocol: str, data: st.DataObject) -> None:
    collection = colours(protocol=protocol, epsilon="1")
    width = collection.randomiser.payload_bytes
    payloads = data.draw(st.lists(st.binary(min_size=width, max_size=width), min_size=1, max_size=5))
    server = Aggregator(collection)
    server.update(batch([frame(collection, each, identified=False) for each in payloads]))
    assert server.n + server.rejected["invalid payload"] == len(payloads)


def memoised(**changes: Any) -> Collection:
    return colours(**({"domain": ["no", "yes"], "longitudinal": "memoised"} | changes))


TWO_STEP = {"protocol": TwoStepGRR.for_losses(2, lifetime=2, each=1), "longitudinal": "two-step"}


@pytest.mark.parametrize("changes", [{}, TWO_STEP], ids=["memoised", "two-step"])
def test_standard_errors_hold_for_devices_that_report_as_often_as_they_may(changes: dict[str, Any]) -> None:
    """The standard deviation of z in 120 simulations is above 1.5 once in 10^13, if it is 1 (χ²)."""
    days = 9
    survey = memoised(window=("2026-01-01", "2026-01-09"), **changes)
    values, zs = (np.arange(300) < 90).astype(np.int64), []
    with noise.deterministic(2):
        for _ in range(120):
            server, protocol = Aggregator(survey), survey.randomiser
            two = protocol if isinstance(protocol, TwoStepGRR) else None
            kept = two.permanent(values, FRESH) if two else protocol.encode(values)
            for _ in range(days):
                server.payloads(two.instant(kept) if two else kept)
            found = server.estimate().estimate
            zs.append((found.values[1] - 0.3) / found.standard_errors[1])
    assert np.std(zs) < 1.5
    assert np.std(zs) > 0.3  # safe, and not absurd: the answers of memoised devices are as far off as is said


def test_words_that_few_devices_repeat_are_not_significant() -> None:
    """They are, if the server takes all 4,000 reports of 40 devices for those of 4,000 devices."""
    tree = PrefixTree.for_epsilon(Alphabet("ab", 2), 4, columns=16)
    survey = colours(
        domain=None, alphabet=Alphabet("ab", 2), protocol=tree, longitudinal="memoised", minimum_cohort=1
    )
    with noise.deterministic(5):
        kept = tree.encode(np.full((40, 2), 1, np.uint8))
    always, once = Aggregator(survey), Aggregator(survey, period=MAY)
    for server in (always, once):
        server.payloads(np.repeat(kept, 100, axis=0))
    assert once.found().labels  # what is wrong if they are of 40 devices
    assert not always.found().labels


def test_one_device_is_no_cohort_however_often_it_reports(tmp_path: Path) -> None:
    survey, day = memoised(minimum_cohort=100), [date(2026, 1, 1)]
    device = Device(tmp_path, lifetime=1, per_period=1, today=lambda: day[0])
    server = Aggregator(survey)
    for _ in range(100):
        assert server.update(batch([device.report(survey, "yes")])) == 1
        day[0] += timedelta(1)
    with pytest.raises(QuestionRefused, match="may be of 1 device, as one may send 365"):
        server.estimate()


@pytest.mark.parametrize(
    ("policy", "most"),
    [
        (Policy(), 1),
        (Policy(reports=4), 4),
        (Policy(reports=40, every=30), 13),
        (Policy("memoised"), 365),
        (Policy("memoised", every=364), 2),
        (Policy("memoised", every=365), 1),
    ],
)
def test_a_device_reports_as_often_as_days_and_policy_allow(policy: Policy, most: int) -> None:
    survey = colours(longitudinal=policy)
    assert survey.reports_of_a_device == most
    assert Aggregator(survey).reports_of_a_device == most
    assert Aggregator(survey, period=MAY).reports_of_a_device == 1


def test_reports_of_one_period_are_of_as_many_devices() -> None:
    survey = memoised(longitudinal=Policy("memoised", every=30), minimum_cohort=1000)
    with noise.deterministic(1):
        data = batch(frames(survey, survey.randomiser.encode(np.zeros(1000, np.int64))))
    once, always = Aggregator(survey, period=MAY), Aggregator(survey)
    for server in (once, always):
        assert server.update(data, received=MAY) == 1000
    with pytest.raises(QuestionRefused, match="period=day"):
        always.estimate()
    found = once.estimate()
    plain = survey.randomiser.estimate(once.state, 1000)
    assert np.array_equal(found.estimate.standard_errors, plain.standard_errors)
    assert "one report of each device: those of 2026-05-01 to 2026-05-30" in str(found)
    many = Aggregator(replace(survey, minimum_cohort=1))
    many.state, many.n = once.state, once.n
    assert "Up to 13 of these reports may be of one device" in str(many.estimate())
    assert many.estimate().estimate.standard_errors == pytest.approx(plain.standard_errors * 13**0.5)


def test_a_period_takes_no_report_of_another_day() -> None:
    survey = memoised(longitudinal=Policy("memoised", every=30))
    server = Aggregator(survey, period=MAY)
    days = (date(2026, 4, 30), date(2026, 5, 1), date(2026, 5, 30), date(2026, 5, 31))
    assert [server.update(batch([frame(survey, b"\x01", day=day)])) for day in days] == [0, 1, 1, 0]
    assert [server.update(batch([frame(survey, b"\x01")]), received=day) for day in days] == [0, 1, 1, 0]
    assert server.rejected["out of window"] == 4
    with pytest.raises(ParameterError, match="outside the window of 'colours', 2026-01-01 to 2026-12-31"):
        Aggregator(survey, period=date(2027, 1, 1))


def test_periods_add_up_to_a_state_that_is_of_no_one_period() -> None:
    survey = memoised()
    may, june = (Aggregator(survey, period=day) for day in (MAY, date(2026, 6, 1)))
    for server in (may, june):
        server.update(batch([frame(survey, b"\x01")]))
    back = Aggregator.read(may.written(), survey)
    assert (back.period, back.n, same(back, may)) == (may.period, 1, True)
    with pytest.raises(ParameterError, match="a device may be in both"):
        may.merge(june)
    with pytest.raises(ParameterError, match="a device may be in both"):
        may.merge(Aggregator(survey))
    both = Aggregator(survey)
    both.merge(may)
    both.merge(june)
    assert (both.n, both.period, both.reports_of_a_device) == (2, None, 365)


def test_what_is_counted_twice_is_no_larger_cohort() -> None:
    data = batch([frame(SURVEY, b"\x01") for _ in range(6)])
    server = counted(data)
    server.merge(counted(data))
    assert server.n == 12
    with pytest.raises(QuestionRefused, match=r"12 reports .* \(6 of them repeated\)"):
        server.estimate()


PLAIN = colours(domain=["no", "yes"])
OVERLAPS = {
    "all by four": [slice(None)] * 4,
    "a half by two": [slice(0, 600), slice(200, 800)],
    "some by many": [slice(0, 800), *[slice(0, 40)] * 9],
}


@pytest.mark.parametrize("shares", OVERLAPS.values(), ids=OVERLAPS)
def test_standard_errors_hold_for_reports_that_several_parts_counted(shares: list[slice]) -> None:
    """z has the deviation 1. In 400 simulations it is outside 0.8 to 1.2 once in 10^7 (χ²)."""
    values, zs = np.tile([0, 1], 400), []
    with noise.deterministic(3):
        for _ in range(400):
            reports = frames(PLAIN, PLAIN.randomiser.encode(values), identified=True)
            server = Aggregator(PLAIN)
            for share in shares:
                server.merge(counted(batch(reports[share]), collection=PLAIN))
            found = server.estimate().estimate
            zs.append((found.values[1] - 0.5) / found.standard_errors[1])
    assert 0.8 < np.std(zs) < 1.2


def test_words_that_many_parts_counted_are_not_significant() -> None:
    """They are, if the server takes what 100 parts counted of 40 devices for reports of 4,000."""
    tree = PrefixTree.for_epsilon(Alphabet("ab", 2), 4, columns=16)
    survey = colours(domain=None, alphabet=Alphabet("ab", 2), protocol=tree, minimum_cohort=1)
    with noise.deterministic(5):
        payloads = tree.encode(np.full((40, 2), 1, np.uint8))
    all_apart = np.repeat(payloads, 100, axis=0)
    data, apart = (batch(frames(survey, each, identified=True)) for each in (payloads, all_apart))
    again = Aggregator(survey)
    for _ in range(100):
        again.merge(counted(data, collection=survey))
    assert counted(apart, collection=survey).found().labels
    assert not again.found().labels


def test_what_was_repeated_is_known_again_from_a_written_state() -> None:
    data = batch([frame(SURVEY, b"\x01") for _ in range(20)])
    once, server = counted(data), counted(data)
    server.merge(once)
    server.merge(once)
    back = Aggregator.read(server.written(), SURVEY)
    assert (back.n, back.repeated) == (60, 40)
    assert back.estimate().estimate.standard_errors == pytest.approx(once.estimate().estimate.standard_errors)
    assert back.update(data) == 0, "all of them are replayed"


def test_a_state_that_does_not_say_what_was_repeated_is_refused() -> None:
    server = counted(batch([frame(SURVEY, b"\x01") for _ in range(20)]))
    server.repeated = 7
    with pytest.raises(ParameterError, match="7 reports more than once, and does not say which"):
        Aggregator.read(server.written(), SURVEY)
