"""Test the choice of a protocol: the most accurate, then the shortest, with a reason."""

from __future__ import annotations

import math
import re

import pytest

from discreet.errors import ParameterError
from discreet.local.design.choose import CANDIDATES, choose


@pytest.mark.parametrize(
    ("domain", "epsilon", "name"),
    [
        (2, 1, "grr"),
        (4, 1, "grr"),
        (30, 4, "grr"),
        (1024, 1, "projective"),
        (10**6, 1, "projective"),
        (10**6, 4, "projective"),
    ],
)
def test_small_domains_get_randomised_response_and_large_ones_a_geometry(
    domain: int, epsilon: int, name: str
) -> None:
    assert choose(domain, epsilon).randomiser.name == name


@pytest.mark.parametrize("domain", [3, 7, 20, 64, 1000])
@pytest.mark.parametrize("epsilon", ["0.3", "1", "2.5"])
def test_nothing_is_more_accurate_by_more_than_a_twentieth(domain: int, epsilon: str) -> None:
    choice = choose(domain, epsilon)
    least = min(candidate.variance for candidate in choice.table)
    assert choice.randomiser.variance() <= 1.05 * least
    near = [candidate for candidate in choice.table if candidate.variance <= 1.05 * least]
    assert choice.randomiser.payload_bytes == min(candidate.payload_bytes for candidate in near)
    assert choice.randomiser.loss.epsilon <= choice.table[0].randomiser.loss.epsilon + 1e-9


def test_a_limit_of_bits_is_kept_and_paid_for() -> None:
    free, tight = choose(1000, 1), choose(1000, 1, bits=10)
    assert tight.randomiser.name == "hadamard"
    assert tight.randomiser.variance() > free.randomiser.variance()
    assert {candidate.randomiser.name for candidate in tight.table} == set(CANDIDATES)
    with pytest.raises(ParameterError, match="bits=10"):
        choose(1000, 1, bits=9)


def test_protocols_that_cannot_hold_the_domain_are_left_out() -> None:
    names = {candidate.randomiser.name for candidate in choose(2 * 10**6, 1).table}
    assert "subset" not in names
    assert "projective" in names


def test_the_reason_and_the_table_are_words() -> None:
    text = str(choose(1000, 1))
    assert text.startswith("projective: it reaches the least error")
    assert all(name in text for name in CANDIDATES)


def test_a_notebook_shows_the_reason_and_the_table_with_the_choice_in_bold() -> None:
    shown = choose(1000, 1)._repr_html_()
    assert shown.startswith("<p>projective: it reaches the least error")
    assert re.findall(r"<tr style=\"font-weight:bold\"><td>(\w+)</td>", shown) == ["projective"]
    assert all(f"<td>{name}</td>" in shown for name in CANDIDATES)


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan])
def test_an_epsilon_without_a_meaning_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        choose(10, epsilon)


def test_a_large_domain_says_what_hashing_would_cost_its_server() -> None:
    large = choose(50_000, 1)
    assert large.randomiser.name == "projective"
    assert "olh is as accurate, but its server would hash all 50,000 values for every report." in large.why
    assert "olh" not in choose(1000, 1).why
