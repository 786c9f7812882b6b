"""Test the guarantee of a device against an attacker who sees every batch, and its words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import ParameterError
from discreet.local.collection.collection import Collection
from discreet.local.collection.guarantee import FRESH, REPEATED, SECOND_STEP, promised
from discreet.local.collection.policy import Policy
from discreet.local.design.shuffle_amplification import amplified, shuffled
from discreet.local.device.device import Device
from discreet.local.device.wire import batch, unpacked
from discreet.local.primitives.randomness import SCALE
from discreet.local.protocols.frequency.grr import GRR
from discreet.local.protocols.frequency.two_step_grr import TwoStepGRR
from discreet.local.protocols.frequency.two_step_unary import TwoStepUnary
from discreet.local.protocols.frequency.unary import SUE
from discreet.local.protocols.strings.rappor import Rappor
from discreet.local.server.shuffler import Shuffler
from tests.local.collections_of import COLOURS, MAY, colours

JUNE = MAY + timedelta(31)
MONTHLY = Policy("memoised", every=30)


def test_three_guarantees_are_printed_together() -> None:
    survey = colours(longitudinal=Policy(reports=4))
    found = promised(survey, n=10_000, malicious="0.1")
    assert (found.local, found.lifetime, found.delta, found.n) == ("1", "4", "1e-6", 9000)
    assert float(found.shuffled) >= shuffled(survey.randomiser, 9000, "1e-6")
    words = str(found)
    assert all(number in words for number in ("ε = 1 against", "ε = 4.", f"ε = {found.shuffled} at", "9,000"))
    assert "do not work together" in words


def test_one_report_alone_is_not_hidden() -> None:
    assert promised(colours(), n=1).shuffled == "1"


def test_what_has_no_meaning_is_refused() -> None:
    for survey in (colours(), colours(longitudinal=MONTHLY)):
        with pytest.raises(ParameterError, match="share of malicious devices must be"):
            promised(survey, n=10, malicious=1)
        with pytest.raises(ParameterError, match="delta"):
            promised(survey, n=10, delta=1)


# -- devices that repeat themselves ------------------------------------------------------------------------------


class Phones:
    """Devices with their own secrets, and a shuffler that lets go of everything it was sent."""

    def __init__(self, folder: Path, count: int, **changes: Any):
        self.survey, self.day = colours(**changes), MAY
        self.devices = [
            Device(folder / str(i), lifetime=8, per_period=8, today=lambda: self.day) for i in range(count)
        ]

    def reports(self, day: date, who: Iterable[int]) -> list[bytes]:
        self.day = day
        return [self.devices[i].report(self.survey, COLOURS[i % len(COLOURS)]) for i in who]

    def histogram(self, reports: list[bytes]) -> Counter[int]:
        """Return what a server sees of a batch: how often each payload is in it."""
        (left,) = Shuffler(threshold=len(reports)).take(batch(reports))
        rows = unpacked(left)
        assert rows is not None
        return Counter(rows[:, -1].tolist())


def test_the_difference_of_two_batches_of_repeated_reports_is_the_report_of_one_device(tmp_path: Path) -> None:
    """The victim, device 0, was away in May. So one report reveals as much as without a crowd."""
    phones = Phones(tmp_path, 25, longitudinal=MONTHLY)
    may = phones.histogram(phones.reports(MAY, range(1, 25)))
    sent = phones.reports(JUNE, range(25))
    june = phones.histogram(sent)
    june.subtract(may)
    assert {payload: count for payload, count in june.items() if count} == {sent[0][-1]: 1}
    laws = [phones.survey.randomiser.law(value) for value in (0, 1)]
    revealed = max(math.log(laws[0][report] / laws[1][report]) for report in laws[0])
    assert revealed == pytest.approx(1)
    for n in (25, 10_000, 10**6):
        assert float(promised(phones.survey, n=n).shuffled) >= revealed


def test_the_odd_one_in_a_batch_of_two_periods_is_the_report_of_one_device(tmp_path: Path) -> None:
    """Others are in the batch twice, with the same report: dividing n by two would not make a crowd of it."""
    phones = Phones(tmp_path, 25, longitudinal=MONTHLY)
    sent = phones.reports(MAY, range(1, 25)) + phones.reports(JUNE, range(25))
    odd = [payload for payload, count in phones.histogram(sent).items() if count % 2]
    assert odd == [sent[24][-1]]
    assert promised(phones.survey, n=len(sent)).noise == REPEATED


def test_reports_that_are_repeated_are_promised_no_crowd_in_words() -> None:
    found = promised(colours(longitudinal=MONTHLY), n=10_000)
    assert (found.shuffled, found.noise, found.reports) == (found.local, REPEATED, 13)
    words = found.sentences[2]
    assert words.startswith("Shuffled: one report among 10,000 costs ε = 1, as without a shuffler")
    assert "the difference of two batches may be the report of one device" in words
    assert "k times" not in words


def test_one_report_in_all_has_noise_of_its_own_whatever_the_policy() -> None:
    once = promised(colours(longitudinal=Policy("memoised", every=365)), n=10_000)
    assert once == promised(colours(), n=10_000)
    assert once.noise == FRESH
    assert "k times" not in str(once)


def test_batches_add_up_where_every_report_is_drawn_anew() -> None:
    words = promised(colours(longitudinal=Policy(reports=4)), n=10_000).sentences[2]
    assert "at δ = 1e-6, and k of a device in k batches cost k times that, if the shuffler" in words


# -- two steps: others' permanent answers become known ------------------------------------------------------------

Law = dict[bytes, float]
Batches = dict[tuple[Any, ...], float]


def steps(protocol: TwoStepGRR | TwoStepUnary) -> tuple[list[Law], dict[bytes, Law]]:
    """Return the law of the permanent answer to each value, and that of the report on each permanent answer."""
    size = protocol.domain
    first: GRR | SUE
    if isinstance(protocol, TwoStepGRR):
        first = GRR(size, protocol.keep)
        second = {bytes([held]): floats(protocol.second.law(held)) for held in range(size)}
    else:
        first = SUE(size, protocol.one)
        rows = list(product((0, 1), repeat=size))
        second = {bits(held): {bits(sent): bitwise(protocol, held, sent) for sent in rows} for held in rows}
    return [floats(first.law(value)) for value in range(size)], second


def floats(law: dict[bytes, Fraction]) -> Law:
    return {report: float(chance) for report, chance in law.items()}


def bits(row: tuple[int, ...]) -> bytes:
    return bytes([sum(bit << i for i, bit in enumerate(row))])


def bitwise(protocol: TwoStepUnary, held: tuple[int, ...], sent: tuple[int, ...]) -> float:
    """Return the probability of a row of bits in a report, given the permanent ones."""
    ones = [(protocol.one_fresh if bit else protocol.zero_fresh) / SCALE for bit in held]
    return math.prod(one if bit else 1 - one for one, bit in zip(ones, sent, strict=True))


def shuffled_law(laws: Iterable[Law]) -> Batches:
    """Return the law of a batch: reports by their number, in no order."""
    batches: Batches = {(): 1.0}
    for law in laws:
        longer: Counter[tuple[Any, ...]] = Counter()
        for reports, chance in batches.items():
            for report, p in law.items():
                longer[tuple(sorted((*reports, report)))] += chance * p  # type: ignore[assignment]
        batches = dict(longer)
    return batches


def exact_delta(
    protocol: TwoStepGRR | TwoStepUnary, others: tuple[int, ...], epsilon: float, *, before: int, k: int = 1
) -> float:
    """Return the least δ for the values 0 and 1 of a device, with these others."""
    one, other = (seen(protocol, value, others, before, k) for value in (0, 1))
    grown = math.exp(epsilon)
    return max(sum(max(a[y] - grown * b[y], 0.0) for y in one) for a, b in ((one, other), (other, one)))


def seen(protocol: TwoStepGRR | TwoStepUnary, value: int, others: tuple[int, ...], before: int, k: int) -> Batches:
    """Return the law of what a server sees: batches of the others, then k of all; permanent answers stay."""
    first, second = steps(protocol)
    view: Counter[tuple[Any, ...]] = Counter()
    for answers in product(*(first[each].items() for each in (value, *others))):
        likely = math.prod(p for _, p in answers)
        mine, *rest = (second[answer] for answer, _ in answers)
        parts = [shuffled_law(rest)] * before + [shuffled_law([mine, *rest])] * k
        for batches in product(*(part.items() for part in parts)):
            view[tuple(each for each, _ in batches)] += likely * math.prod(p for _, p in batches)  # type: ignore[assignment]
    return dict(view)


def two_steps(protocol: TwoStepGRR | TwoStepUnary) -> Collection:
    domain = COLOURS[: protocol.domain]
    return colours(domain=domain, protocol=protocol, longitudinal=Policy("two-step", every=30))


GRRS = [
    (TwoStepGRR.for_losses(2, lifetime=3, each=2), (0, 0, 0), "0.5"),
    (TwoStepGRR.for_losses(2, lifetime=3, each="2.5"), (0, 0, 0), "0.6"),
    (TwoStepGRR.for_losses(3, lifetime=3, each=2), (0, 2, 2), "0.5"),
]
UNARY = (TwoStepUnary.for_losses(2, lifetime=6, each=1), (0, 0), "0.3")


@pytest.mark.parametrize(("protocol", "others", "delta"), [*GRRS, UNARY])
def test_two_steps_keep_their_promise_to_whoever_saw_the_others_before(
    protocol: TwoStepGRR | TwoStepUnary, others: tuple[int, ...], delta: str
) -> None:
    found = promised(two_steps(protocol), n=1 + len(others), delta=delta)
    assert found.noise == SECOND_STEP
    assert float(found.shuffled) < float(found.local)
    for before in (0, 1, 2):
        assert exact_delta(protocol, others, float(found.shuffled), before=before) <= float(delta)


@pytest.mark.parametrize(("protocol", "others", "delta"), GRRS)
def test_the_noise_of_both_steps_would_promise_them_too_much(
    protocol: TwoStepGRR, others: tuple[int, ...], delta: str
) -> None:
    stated = shuffled(protocol, 1 + len(others), delta)
    assert exact_delta(protocol, others, stated, before=2) > float(delta)


def test_two_batches_with_reports_of_two_steps_cost_twice_as_much_at_most() -> None:
    protocol, others = TwoStepGRR.for_losses(2, lifetime=4, each=1), (0, 0, 0, 1)
    found = promised(two_steps(protocol), n=5, delta="0.08")
    assert found.noise == SECOND_STEP
    assert 0 < exact_delta(protocol, others, 2 * float(found.shuffled), before=1, k=2) <= 2 * 0.08


def test_two_steps_say_which_noise_is_counted() -> None:
    survey = two_steps(TwoStepGRR.for_losses(4, lifetime=4, each=1))
    found = promised(survey, n=10_000)
    assert found.noise == SECOND_STEP
    assert shuffled(survey.randomiser, 10_000, "1e-6") < float(found.shuffled) < 0.05
    words = found.sentences[2]
    assert f"costs ε = {found.shuffled} at δ = 1e-6, and k of a device in k batches cost k times that" in words
    assert "counts the fresh noise of reports alone" in words


@pytest.mark.parametrize(
    "protocol",
    [TwoStepUnary.for_losses(4, lifetime=2, each=1), Rappor.for_losses(4, lifetime=2, each=1)],
    ids=lambda made: made.name,
)
def test_a_second_step_that_hides_too_little_is_promised_no_crowd(protocol: TwoStepUnary | Rappor) -> None:
    survey = colours(protocol=protocol, longitudinal="two-step")
    assert amplified(protocol.loss.epsilon, 100, "1e-6") < 0.9
    found = promised(survey, n=100)
    assert (found.shuffled, found.noise) == (found.local, REPEATED)


@pytest.mark.parametrize("protocol", [each[0] for each in (*GRRS, UNARY)])
def test_the_second_step_costs_what_is_said_by_its_law(protocol: TwoStepGRR | TwoStepUnary) -> None:
    laws = steps(protocol)[1].values()
    worst = max(math.log(p[y] / q[y]) for p in laws for q in laws for y in p)
    stated = protocol.second.loss if isinstance(protocol, TwoStepGRR) else protocol.second_loss
    assert worst - 1e-9 <= float(stated.epsilon) <= worst + 1e-9
