"""Test devices: charged before the draw, permanent answers from a secret, refusals that reveal no value."""

from __future__ import annotations

import itertools
import multiprocessing
import sqlite3
import stat
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import BudgetExceeded, LedgerUnavailable, ParameterError
from discreet.local.collection.collection import Collection
from discreet.local.collection.policy import Policy
from discreet.local.device.device import Device
from discreet.local.primitives.randomness import Keyed
from discreet.local.protocols.frequency.two_step_grr import TwoStepGRR
from discreet.local.protocols.frequency.two_step_unary import TwoStepUnary
from discreet.local.protocols.numeric.dbitflip import BitFlip
from discreet.local.protocols.numeric.one_bit_mean import OneBitMean
from discreet.local.protocols.strings.rappor import Rappor
from tests.local.collections_of import MAY, colours

LONG = {"domain": [str(i) for i in range(200)], "protocol": TwoStepGRR.for_losses(200, lifetime=3, each=2)}
ALWAYS = colours(**LONG, longitudinal=Policy("memoised", distinct=2))
TWICE = colours(**LONG, longitudinal=Policy("two-step", distinct=2))
AGAIN = colours(longitudinal=Policy(reports=1000))


class Days:
    """A calendar that is turned by hand."""

    def __init__(self) -> None:
        self.today = MAY

    def __call__(self) -> date:
        return self.today

    def pass_by(self, days: int = 1) -> None:
        self.today += timedelta(days=days)


@pytest.fixture
def days() -> Days:
    return Days()


def device(folder: Path, clock: Days, **caps: Any) -> Device:
    return Device(folder, **({"lifetime": 100, "per_period": 100} | caps), today=clock)


def payload(report: bytes, collection: Collection) -> bytes:
    return report[-collection.randomiser.payload_bytes :]


def test_a_memoised_report_is_the_same_for_ever_and_another_on_another_device(tmp_path: Path, days: Days) -> None:
    reports = set()
    for _ in range(30):
        reports.add(payload(device(tmp_path / "one", days).report(ALWAYS, "7"), ALWAYS))
        days.pass_by()
    assert len(reports) == 1
    others = {payload(device(tmp_path / str(i), days).report(ALWAYS, "7"), ALWAYS) for i in range(30)}
    assert len(others) > 1, "30 equal answers have a probability below 1e-6 (keep is 0.09)"


def test_a_memoised_report_is_what_the_key_settles(tmp_path: Path, days: Days) -> None:
    report = device(tmp_path, days).report(ALWAYS, "7")
    with sqlite3.connect(tmp_path / "device.sqlite") as file:
        secret = file.execute("SELECT secret FROM device").fetchone()[0]
    file.close()
    draws = Keyed(secret, ALWAYS.id + (7).to_bytes(8, "big"))
    assert payload(report, ALWAYS) == ALWAYS.randomiser.encode(np.array([7]), draws).tobytes()


def test_two_step_reports_differ_around_a_permanent_answer(tmp_path: Path, days: Days) -> None:
    """A fresh answer keeps the permanent one with 0.67: 60 equal, or at most 15 of it, happen below 1e-9."""
    twice = colours(domain=200, protocol=TwoStepGRR.for_losses(200, lifetime=12, each=6), longitudinal="two-step")
    client, reports = device(tmp_path, days), []
    for _ in range(60):
        reports.append(payload(client.report(twice, 7), twice))
        days.pass_by()
    assert len(set(reports)) > 1
    assert max(reports.count(report) for report in set(reports)) > 15
    assert client.spent == twice.permanent_epsilon


def test_a_life_with_a_memory_is_paid_once_and_whole(tmp_path: Path, days: Days) -> None:
    client = device(tmp_path, days)
    for value in ("7", "7", "8", "9", "10"):
        client.report(TWICE, value)
        days.pass_by()
    assert client.spent == 2 * TWICE.permanent_epsilon
    assert client.spent <= 6


def test_after_its_distinct_values_a_device_repeats_its_last_answer(tmp_path: Path, days: Days) -> None:
    client, answers = device(tmp_path, days), {}
    for value in ("7", "8", *(str(i) for i in range(20, 60)), "7"):
        answers[value] = payload(client.report(ALWAYS, value), ALWAYS)
        days.pass_by()
    assert {answers[str(i)] for i in range(20, 60)} == {answers["8"]}
    assert answers["7"] == payload(client.report(ALWAYS, "7"), ALWAYS)


def test_without_a_memory_every_report_costs_until_the_life_is_spent(tmp_path: Path, days: Days) -> None:
    client = device(tmp_path, days, lifetime=3)
    for _ in range(3):
        client.report(AGAIN, "red")
        days.pass_by()
    assert client.spent == 3
    words = r"costs epsilon = 1, and 0 of 3 is left for the life of the device.*Nothing is sent"
    with pytest.raises(BudgetExceeded, match=words):
        client.report(AGAIN, "red")
    assert client.spent == 3


def test_a_period_has_a_cap_of_its_own(tmp_path: Path, days: Days) -> None:
    other = colours(longitudinal=Policy(reports=5), minimum_cohort=11)
    client = device(tmp_path, days, per_period="1.5", days=7)
    client.report(AGAIN, "red")
    days.pass_by(6)
    with pytest.raises(BudgetExceeded, match=r"0\.5 of 1\.5 is left for this period"):
        client.report(other, "red")
    days.pass_by(1)
    client.report(other, "red")


def test_a_collection_has_its_own_number_of_reports_and_days_between(tmp_path: Path, days: Days) -> None:
    weekly, client = colours(longitudinal=Policy(reports=2, every=7)), device(tmp_path, days)
    client.report(weekly, "red")
    days.pass_by(6)
    with pytest.raises(BudgetExceeded, match=r"found: every=7.*The next report is due in 1 day\."):
        client.report(weekly, "red")
    days.pass_by(1)
    client.report(weekly, "red")
    days.pass_by(7)
    with pytest.raises(BudgetExceeded, match="sent all of its 2 reports"):
        client.report(weekly, "red")


def test_a_clock_that_is_set_back_buys_nothing(tmp_path: Path, days: Days) -> None:
    client = device(tmp_path, days, per_period=1, days=30)
    client.report(AGAIN, "red")
    days.pass_by(-20)
    with pytest.raises(BudgetExceeded):
        client.report(AGAIN, "red")
    with pytest.raises(BudgetExceeded, match="this period"):
        client.report(colours(longitudinal=Policy(reports=2)), "red")


@pytest.mark.parametrize("collection", [AGAIN, ALWAYS, TWICE], ids=lambda c: c.policy.policy)
def test_whether_a_device_is_silent_never_depends_on_its_values(
    tmp_path: Path, days: Days, collection: Collection
) -> None:
    """One device changes its value every day, one never: both are refused on the same days."""
    start, silences = days.today, []
    for name, step in (("steady", 0), ("restless", 1)):
        days.today, silent = start, []
        client = device(tmp_path / name, days, lifetime=7)
        for day in range(12):
            try:
                client.report(collection, (collection.labels or ())[day * step % 4])
            except BudgetExceeded:
                silent.append(day)
            days.pass_by()
        silences.append(silent)
    assert silences[0] == silences[1]


def test_outside_of_its_window_a_collection_gets_nothing(tmp_path: Path, days: Days) -> None:
    client = device(tmp_path, days)
    days.today = date(2027, 1, 1)
    words = r"outside the window of 'colours', 2026-01-01 to 2026-12-31 \(found: 2027-01-01"
    with pytest.raises(BudgetExceeded, match=words):
        client.report(AGAIN, "red")
    assert client.spent == 0


def test_a_value_that_is_refused_costs_nothing(tmp_path: Path, days: Days) -> None:
    client = device(tmp_path, days)
    with pytest.raises(ParameterError, match="not in the domain"):
        client.report(AGAIN, "purple")
    assert client.spent == 0


def test_a_crash_after_paying_wastes_and_never_leaks(tmp_path: Path, days: Days, monkeypatch: Any) -> None:
    def dies(self: object, *_: object) -> None:
        raise KeyboardInterrupt

    client = device(tmp_path, days, lifetime=1)
    with monkeypatch.context() as power:
        power.setattr(type(AGAIN.randomiser), "encode", dies)
        with pytest.raises(KeyboardInterrupt):
            client.report(AGAIN, "red")
    days.pass_by()
    assert device(tmp_path, days, lifetime=1).spent == 1
    with pytest.raises(BudgetExceeded):
        device(tmp_path, days, lifetime=1).report(AGAIN, "red")


def test_the_file_is_its_owners_alone(tmp_path: Path, days: Days) -> None:
    client, file = device(tmp_path, days), tmp_path / "device.sqlite"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["device.sqlite"]
    file.chmod(0o644)
    with pytest.raises(LedgerUnavailable, match="chmod 600"):
        client.report(AGAIN, "red")


def test_no_value_is_kept_on_the_device(tmp_path: Path, days: Days) -> None:
    whole = colours(domain=["a label nobody wrote", "b", "c", "d"], longitudinal="memoised")
    device(tmp_path, days).report(whole, "a label nobody wrote")
    assert b"nobody wrote" not in (tmp_path / "device.sqlite").read_bytes()


def test_a_file_that_is_lost_or_broken_sends_nothing(tmp_path: Path, days: Days) -> None:
    client = device(tmp_path, days)
    (tmp_path / "device.sqlite").write_bytes(b"nonsense" * 200)
    with pytest.raises(LedgerUnavailable, match="Nothing is sent"):
        client.report(AGAIN, "red")
    (tmp_path / "device.sqlite").unlink()
    with pytest.raises(LedgerUnavailable, match="Nothing is sent"):
        client.report(AGAIN, "red")


def _spend(folder: Path, start: Any, got: Any) -> None:
    start.wait()
    sent = 0
    for number in range(12):
        survey = colours(longitudinal=Policy(reports=1), minimum_cohort=number + 100)
        try:
            Device(folder, lifetime=5, per_period=5, today=lambda: MAY).report(survey, "red")
            sent += 1
        except BudgetExceeded:
            pass
    got.put(sent)


def test_two_processes_do_not_spend_more_than_one_may(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start, got = context.Event(), context.Queue()
    both = [context.Process(target=_spend, args=(tmp_path, start, got)) for _ in range(2)]
    for process in both:
        process.start()
    start.set()
    sent = [got.get(timeout=600) for _ in both]
    for process in both:
        process.join()
    assert sum(sent) == 5
    assert Device(tmp_path, lifetime=5, per_period=5).spent == 5


def test_a_device_of_bits_works_too(tmp_path: Path, days: Days) -> None:
    bits = colours(protocol=TwoStepUnary.for_losses(4, lifetime=2, each=1), longitudinal="two-step")
    assert bits.randomiser.valid(
        np.frombuffer(device(tmp_path, days).report(bits, "red")[-1:], np.uint8)[:, None]
    ).all()
    assert Fraction(bits.lifetime) == 2


def test_a_device_is_in_one_cohort_for_all_of_its_values(tmp_path: Path, days: Days) -> None:
    chrome = Rappor(4, bits=16, hashes=2, cohorts=64, f=2**63, p=2**63, q=3 * 2**62)
    survey = colours(protocol=chrome, longitudinal=Policy("two-step", distinct=4))
    cohorts = set()
    client = device(tmp_path, days)
    for value in ("red", "green", "blue", "something else"):
        cohorts.add(payload(client.report(survey, value), survey)[:2])
        days.pass_by()
    assert len(cohorts) == 1, "four cohorts of their own would be the same with a probability of 4e-6"
    assert client.spent == 4 * chrome.lifetime.epsilon


def numbers(distinct: int) -> Collection:
    mean = OneBitMean.for_epsilon(101, 1)
    return colours(domain=101, protocol=mean, longitudinal=Policy("memoised", distinct=distinct))


def test_a_protocol_with_a_memory_of_its_own_uses_it(tmp_path: Path, days: Days) -> None:
    """α-point rounding: all numbers on one side of the device's own point have one answer."""
    survey, answers = numbers(101), []
    client = device(tmp_path, days, lifetime=101, per_period=101)
    for value in range(101):
        answers.append(payload(client.report(survey, value), survey))
        days.pass_by()
    assert sum(one != other for one, other in itertools.pairwise(answers)) <= 1
    assert client.spent == 101


def test_a_case_is_paid_for_once_however_many_values_it_has(tmp_path: Path, days: Days) -> None:
    """With one, a device reports the side of its point that it began on; with two both, charged for both."""
    for distinct in (1, 2):
        survey, client = numbers(distinct), device(tmp_path / str(distinct), days)
        mean, secret = survey.randomiser, secret_of(tmp_path / str(distinct))
        assert isinstance(mean, OneBitMean)
        own = [mean.remembered(value, secret, survey.id).tobytes() for value in (0, 100)]
        for value in (0, *range(0, 101, 10)):
            sent = payload(client.report(survey, value), survey)
            days.pass_by()
            assert sent == own[mean.case(value, secret, survey.id) if distinct == 2 else 0]
        assert client.spent == distinct


def test_a_case_that_was_not_paid_for_is_not_told_even_if_its_answer_is_known(tmp_path: Path, days: Days) -> None:
    """Two cases with one answer are still two cases: counting answers would report a third without a charge.

    A device has two such cases and a third with another answer with probability above 0.4: that none of 60 has
    them, with one below 1e-13.
    """
    flip = BitFlip.for_epsilon(4, 1, bits=3)
    survey = colours(domain=4, protocol=flip, longitudinal=Policy("memoised", distinct=2))
    for number in range(60):
        folder = tmp_path / str(number)
        client = device(folder, days)
        answers = [flip.remembered(v, secret_of(folder), survey.id).tobytes() for v in range(4)]
        equal = [(a, b) for a, b in itertools.combinations(range(4), 2) if answers[a] == answers[b]]
        other = [c for c in range(4) if equal and answers[c] != answers[equal[0][0]]]
        if not other:
            continue
        for value in (*equal[0], other[0]):
            last = payload(client.report(survey, value), survey)
            days.pass_by()
        assert last == answers[equal[0][0]]
        return
    pytest.fail("no device had two cases with one answer and a third with another")


def secret_of(folder: Path) -> bytes:
    file = sqlite3.connect(folder / "device.sqlite")
    secret: bytes = file.execute("SELECT secret FROM device").fetchone()[0]
    file.close()
    return secret
