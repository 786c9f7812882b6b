"""The auditor's findings as plain data: complete, stable, and readable by any JSON parser."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.findings import Findings, Visit, as_document, as_plain, epsilons, summary
from discreet.audit.report.verdict import Report, Verdict
from discreet.privacy.tradeoff_curve import pure

HOLDS = Verdict(attack="exact", caught=False, words="Nothing.", claimed=1.0, found=0.9, attained=((0.1, 0.8),))
CAUGHT = Verdict(attack="black box", caught=True, words="Twice.", claimed=1.0, found=math.inf, confidence=0.999)
INVENTED = Exhibit(
    name="invented",
    title="No person is protected",
    story="It happened.",
    sources=("A paper",),
    broken=lambda: CAUGHT,
    mended=lambda: HOLDS,
    ours="We do not.",
)
CURVE = pure(1)
EVERY_FLOAT = st.floats() | st.none()


def report(*verdicts: Verdict) -> Report:
    return Report(subject="s", claim="Pure(epsilon=1)", verdicts=verdicts, declared=CURVE)


def test_a_report_has_these_keys_and_no_others() -> None:
    plain = as_plain(report(HOLDS))
    assert list(plain) == ["subject", "claim", "caught", "undecided", "verdicts", "declared"]
    assert list(plain["verdicts"][0]) == [
        *("attack", "caught", "words", "claimed", "found", "delta", "confidence", "seconds"),
        *("undecided", "unexplored", "attained"),
    ]
    assert plain["verdicts"][0]["attained"] == [[0.1, 0.8]]
    assert plain["declared"]["misses"][0] == pytest.approx(1)
    assert len(plain["declared"]["misses"]) == len(plain["declared"]["false_alarms"])


def test_an_epsilon_without_bound_is_the_word_infinity_and_a_missing_one_is_null() -> None:
    verdict = as_plain(report(CAUGHT))["verdicts"][0]
    assert float(verdict["found"]) == math.inf
    assert as_plain(report(dataclasses.replace(CAUGHT, found=None)))["verdicts"][0]["found"] is None


@settings(deadline=None)
@given(claimed=EVERY_FLOAT, found=EVERY_FLOAT, delta=st.floats(), seconds=st.floats(min_value=0))
def test_all_findings_are_strict_json(
    claimed: float | None, found: float | None, delta: float, seconds: float
) -> None:
    odd = Verdict(
        attack="a",
        caught=True,
        words="\ud800</script>",
        claimed=claimed,
        found=found,
        delta=delta,
        seconds=seconds,
    )
    text = json.dumps(as_plain(report(odd)), allow_nan=False)
    assert json.loads(text)["verdicts"][0]["caught"] is True


def test_numbers_of_numpy_become_numbers() -> None:
    verdict = Verdict(
        attack="a", caught=False, words="", found=np.float64(0.5), attained=((np.float64(0.5), 0.25),)
    )
    assert json.loads(json.dumps(as_plain(report(verdict))))["verdicts"][0]["attained"] == [[0.5, 0.25]]


def test_a_museum_fails_when_an_exhibit_escapes_or_a_mended_twin_is_caught() -> None:
    def failed(broken: Verdict, mended: Verdict) -> bool:
        return Findings(visits=(Visit(exhibit=INVENTED, broken=broken, mended=mended),)).failed

    assert not failed(CAUGHT, HOLDS)
    assert failed(HOLDS, HOLDS)
    assert failed(CAUGHT, CAUGHT)


def test_the_document_of_a_museum_has_the_whole_story() -> None:
    visit = Visit(exhibit=INVENTED, broken=CAUGHT, mended=HOLDS)
    document = json.loads(json.dumps(as_document(Findings(visits=(visit,), seconds=2)), allow_nan=False))
    assert document["format"] == 1
    assert document["failed"] is False
    (shown,) = document["visits"]
    assert (shown["name"], shown["story"], shown["sources"]) == ("invented", "It happened.", ["A paper"])
    assert (shown["broken"]["words"], shown["mended"]["words"]) == ("Twice.", "Nothing.")


def test_the_summary_counts() -> None:
    reports = (report(HOLDS, CAUGHT), report(HOLDS))
    assert summary(Findings(reports=reports, seconds=14.2)) == "2 mechanisms, 3 attacks, 1 CAUGHT, 14 s."
    assert summary(Findings(reports=reports[1:])) == "1 mechanism, 1 attack, nothing caught, 0.0 s."
    escaped = Visit(exhibit=INVENTED, broken=HOLDS, mended=CAUGHT)
    assert summary(Findings(visits=(escaped,))) == "1 exhibit, 1 NOT CAUGHT, 1 mended but CAUGHT, 0.0 s."


@settings(deadline=None)
@given(claimed=st.floats(1e-9, 1e9), excess=st.floats(0, 1e-3))
def test_rounding_never_turns_a_claim_that_holds_into_a_broken_one_nor_hides_a_broken_one(
    claimed: float, excess: float
) -> None:
    found = claimed * (1 + excess)
    shown = epsilons(Verdict(attack="a", caught=found > claimed, words="", claimed=claimed, found=found))
    assert (float(shown[1]) > float(shown[0])) == (found > claimed)
    assert float(shown[1]) <= found * (1 + 1e-12)
    assert float(shown[0]) >= claimed * (1 - 1e-12)
