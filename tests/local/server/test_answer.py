"""Test answers: their text, their picture, their two versions, and the bound on malicious reports."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import noise
from discreet.errors import ParameterError
from discreet.local.protocols.numeric.one_bit_mean import OneBitMean
from discreet.local.server.aggregator import Aggregator
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
