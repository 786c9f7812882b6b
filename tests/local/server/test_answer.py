"""Test answers: their text, their picture, their two versions, and the bound on malicious reports."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.errors import ParameterError
from discreet.local.collection.policy import Policy
from discreet.local.protocols.numeric.one_bit_mean import OneBitMean
from discreet.local.server.aggregator import Aggregator
from discreet.local.server.answer import Answer
from discreet.local.server.estimate import Estimate
from discreet.release import Released
from tests.local.collections_of import SURVEY, colours, counted, sent


def test_an_answer_says_what_it_is_and_what_malicious_reports_could_do() -> None:
    with noise.deterministic(1):
        answer = counted(sent(5000), b"nonsense").estimate()
    shown = str(answer)
    assert "colours: 5,000 reports, unbiased, 1 refused" in shown
    assert "1 % of malicious reports could move a number by 0.0333" in shown  # (e + 3)/(e − 1)/100
    assert "One report costs ε = 1" in shown
    assert "consistent (Norm-Sub), biased" in str(answer.consistent())
    assert answer.consistent().estimate.values.sum() == pytest.approx(1)
    assert "<td>red</td>" in answer._repr_html_()
    with pytest.raises(ParameterError, match="from 0 to 1"):
        answer.malicious_shift(2)


def test_an_answer_is_drawn_with_its_intervals_the_largest_share_first() -> None:
    with noise.deterministic(1):
        answer = counted(sent(5000)).estimate()
    picture = answer.plot("0.9").to_dict()
    assert picture["title"]["text"] == "colours"
    assert picture["title"]["subtitle"] == "5,000 reports at ε = 1, unbiased, 90 % intervals"
    drawn = picture["data"]["values"]
    assert [(row["key"], row["value"], row["low"], row["high"]) for row in drawn] == answer.rows("0.9")


def test_a_mean_is_a_mean_and_no_distribution() -> None:
    survey = colours(domain=101, protocol=OneBitMean.for_epsilon(101, 1))
    server = Aggregator(survey)
    with noise.deterministic(1):
        server.payloads(survey.randomiser.encode(np.full(1000, 50)))
    answer = server.estimate()
    assert answer.labels == ["mean"]
    assert "mean, as a share of the range" in str(answer.plot().to_dict())
    with pytest.raises(ParameterError, match="A mean is not a distribution"):
        answer.consistent()


def test_malicious_reports_move_an_estimate_by_no_more_than_is_said() -> None:
    with noise.deterministic(1):
        honest = SURVEY.randomiser.encode(np.zeros(2000, np.int64))
    answers = []
    for malicious in (honest[:100], np.full((100, 1), 3, np.uint8)):
        server = Aggregator(SURVEY)
        server.payloads(np.vstack([malicious, honest[100:]]))
        answers.append(server.estimate())
    moved = np.abs(answers[1].estimate.values - answers[0].estimate.values).max()
    assert 0.5 * answers[0].malicious_shift("0.05") < moved <= answers[0].malicious_shift("0.05") + 1e-12


@pytest.mark.parametrize(
    ("policy", "period", "spent"),
    [
        ("none", None, "1"),
        (Policy(reports=3), None, "3"),
        (Policy(reports=3), date(2026, 5, 4), "1"),
        (Policy("memoised", distinct=2), None, "2"),
        (Policy("memoised", distinct=2), date(2026, 5, 4), "1"),
    ],
)
def test_an_answer_has_the_label_of_a_device_a_receipt_and_json(
    policy: Policy | str, period: date | None, spent: str
) -> None:
    server = Aggregator(colours(longitudinal=policy, minimum_cohort=10), period=period)
    server.payloads(server.collection.randomiser.encode(np.zeros(20_000, np.int64)))
    answer = server.estimate()
    assert isinstance(answer, Released)
    assert answer.receipt is answer.label.receipt
    assert (answer.label.unit, answer.label.neighbours) == ("one device", "any two values of one device")
    assert answer.label.facts["Means"]["Trust"].startswith("local: ")
    assert any(note.startswith("Shuffled: ") for note in answer.label.notes)
    numbers = answer.receipt.in_numbers()
    assert numbers["spent"] == {"exact": spent, "value": float(spent)}
    assert (numbers["unit"], numbers["left"], numbers["accounts"]) == ("epsilon", None, [])
    assert numbers["share"] == float(spent) / float(server.collection.lifetime)
    shares = answer.numbers("0.9")
    assert (shares.basis, shares.confidence) == ("normal approximation", Fraction(9, 10))
    assert [*zip(shares.values, shares.low, shares.high, strict=True)] == [
        *zip(answer.estimate.values, *answer.estimate.interval("0.9"), strict=True)
    ]
    record = json.loads(json.dumps(answer.to_json(), allow_nan=False))
    assert record["schema"] == "discreet local answer 1"
    read = Answer.from_json(record)
    assert read.to_json() == record
    assert (str(read), read.label) == (str(answer), answer.label)


def test_the_label_of_an_answer_is_shown_checked_and_registered() -> None:
    made = counted(sent(5000)).estimate().label
    assert "one device" in str(made)
    assert "known to that device only" in str(made)
    assert "vault" not in str(made)
    assert all("vault" not in item.answer and "ledger" not in item.answer for item in made.checklist())
    about: dict[str, Any] = {
        "intended_use": "a test",
        "region": "Norway",
        "description": "Colours.",
        "published": "2026-05-01",
    }
    entry = json.loads(made.registry_entry(name="Colours", curators=["Us"], authors=["Us"], **about))
    assert entry["deployment"]["deployment_model"]["model_name"] == "Local"
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert "vault" not in json.dumps(entry)


def test_a_damaged_answer_is_refused() -> None:
    record = counted(sent(5000)).estimate().to_json()
    with pytest.raises(ParameterError, match="The answer of a local collection lacks 'names'"):
        Answer.from_json({key: value for key, value in record.items() if key != "names"})
    for damage in (
        {"standard_errors": [0.1]},
        {"collection": "{}"},
        {"reports": True},
        {"period": ["2030-01-01"]},
    ):
        with pytest.raises(ParameterError, match="The answer of a local collection is damaged"):
            Answer.from_json({**record, **damage})


def test_means_long_lists_of_labels_candidates_and_no_words_at_all_are_written_and_read() -> None:
    mean = Aggregator(colours(domain=101, protocol=OneBitMean.for_epsilon(101, 1)))
    mean.payloads(mean.collection.randomiser.encode(np.full(1000, 50)))
    many = Aggregator(colours(domain=[f"label {i}" for i in range(5000)]))
    many.payloads(many.collection.randomiser.encode(np.full(1000, 50)))
    assert many.collection.digest is not None
    for answer in (
        mean.estimate(),
        many.estimate(),
        many.estimate().consistent(),
        replace(mean.estimate(), names=("a word",), influence=2.5),
        replace(mean.estimate(), names=(), estimate=Estimate(np.zeros(0), np.zeros(0), 1000)),
    ):
        record = json.loads(json.dumps(answer.to_json(), allow_nan=False))
        assert Answer.from_json(record).to_json() == record
        assert str(Answer.from_json(record)) == str(answer)
