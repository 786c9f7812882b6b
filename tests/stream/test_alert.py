"""Alarms: raised where they should, as many as were paid for, and never twice by one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, ParameterError
from discreet.release import Released
from discreet.stream import Alert, Person


def test_an_alarm_is_raised_far_above_the_threshold_and_not_far_below() -> None:
    """At ε = 1 the noise exceeds 80 with a chance below e^−25."""
    alert = Alert(500, epsilon=1, window=3)
    assert [alert.add(count) is None for count in (100, 100, 100, 120, 110)] == [True] * 5
    alarm = alert.add(900)
    assert alarm is not None
    assert isinstance(alarm, Released)
    low, high = alarm.estimate.interval
    assert low is not None
    assert high is not None
    assert high - low < 60
    assert alarm.value is not None
    assert abs(alarm.value - 1130) < 100
    assert alarm.ticks == (6,)
    assert alert.left == 0


def test_the_interval_of_an_alarm_holds_although_its_noise_raised_it() -> None:
    """A count that stays below the threshold: only a large noise raises the alarm, and the interval must know.

    30 alarms at 95 %: 13 and more that miss have a chance below 1e-9. With the noise of a comparison that is
    given, instead of the one that was loudest, all of them miss. A threshold whose noise is high may wait for
    ages, so one that is silent for 3,000 ticks is left.
    """
    missed = alarms = 0
    while alarms < 30:
        alert = Alert(478, epsilon=1, window=1)
        alarm = next(filter(None, (alert.add(470) for _ in range(3000))), None)
        if alarm is not None:
            low, high = alarm.estimate.interval
            assert low is not None
            assert high is not None
            alarms += 1
            missed += not low <= 470 <= high
    assert missed < 13


def test_after_its_alarms_it_refuses_and_says_what_to_do() -> None:
    alert = Alert(100, epsilon=2, alerts=2)
    assert len(alert.extend([500, 0, 500, 500, 500])) == 2
    before = alert.tick
    with pytest.raises(BudgetExceeded, match="alerts=4"):
        alert.add(1)
    assert alert.tick == before == 3


def test_the_total_is_that_since_the_last_alarm() -> None:
    alert = Alert(1000, epsilon=2, alerts=2)
    assert alert.extend([600, 800, 100, 100, 100])
    assert alert.left == 1
    assert len(alert.extend([2000])) == 1


def test_a_restart_goes_on_with_the_same_threshold_and_the_same_counts(tmp_path: Path) -> None:
    with Alert(1000, epsilon=1, alerts=3, window=5, path=tmp_path / "a.stream") as alert:
        alert.extend([10, 20, 5000])
        line = alert._run.threshold.value if alert._run else None
    with Alert(1000, epsilon=1, alerts=3, window=5, path=tmp_path / "a.stream") as alert:
        assert alert.tick == 3
        assert alert.left == 2
        assert alert._run is not None
        assert alert._run.threshold.value == line
        assert alert.add(0) is not None  # the 5000 are still in the window


def test_a_person_makes_the_noise_wider() -> None:
    spreads = [Alert(100, epsilon=1, unit=unit).label.noise[0].spread for unit in ("event", Person(4))]
    assert spreads[1] == 4 * (spreads[0] or 0)


def test_alarms_share_epsilon() -> None:
    spreads = [Alert(100, epsilon=1, alerts=alerts).label.noise[0].spread for alerts in (1, 5)]
    assert spreads[1] == pytest.approx(5 * (spreads[0] or 0))


def test_terms_without_meaning_are_refused() -> None:
    for wrong in ({"epsilon": 0}, {"epsilon": 1, "alerts": 0}, {"epsilon": 1, "window": 0}, {}):
        with pytest.raises(ParameterError):
            Alert(10, **wrong)  # type: ignore[arg-type]
    alert = Alert(10**6, epsilon=1)
    for bad in (-1, float("nan"), "3"):
        with pytest.raises(ParameterError, match="Nothing was added"):
            alert.add(bad)  # type: ignore[arg-type]
    assert alert.tick == 0
