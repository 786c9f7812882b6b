"""Test the comparison of protocols: published figures, the optimum, and the picture."""

from __future__ import annotations

import math

import pytest

from discreet.errors import ParameterError
from discreet.local.design.choose import CANDIDATES
from discreet.local.design.variance import optimum, picture, variances


def test_the_optimum_of_two_answers_is_warners() -> None:
    assert optimum(2, 1) == pytest.approx(math.e / (math.e - 1) ** 2)


def test_the_optimum_of_a_large_domain_is_the_papers_constant() -> None:
    assert optimum(10**6, 1) == pytest.approx(4 * math.e / (math.e - 1) ** 2, rel=1e-5)


def test_nothing_is_better_than_the_optimum() -> None:
    epsilons = ["0.25", "1", "3"]
    for curve in variances(200, epsilons).values():
        for epsilon, value in zip(epsilons, curve, strict=True):
            assert value >= optimum(200, epsilon) * (1 - 1e-9)


def test_the_picture_has_every_protocol_twice() -> None:
    drawn = picture(50, ["1", "2"]).to_dict()
    assert [panel["encoding"]["y"]["field"] for panel in drawn["vconcat"]] == ["n·Var", "ratio"]
    assert sorted(drawn["vconcat"][0]["encoding"]["color"]["scale"]["domain"]) == sorted(CANDIDATES)
    with pytest.raises(ParameterError, match="at most 7 curves"):
        picture(50, ["1"], more={"another": [1.0]})
