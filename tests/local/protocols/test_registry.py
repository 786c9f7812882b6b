"""Test the registry: protocols by name, and the refusal of other names."""

from __future__ import annotations

import sys

import pytest

from discreet import local
from discreet.errors import ParameterError
from discreet.local.protocols import registry


@pytest.mark.parametrize("name", registry.PROTOCOLS)
def test_every_name_leads_to_a_protocol_of_that_name(name: str) -> None:
    assert registry.kind(name).name == name


def test_what_is_not_there_is_refused_with_what_is() -> None:
    with pytest.raises(ParameterError, match=r"no protocol 'gr'\. Use one of grr,"):
        registry.of("gr", {})


def test_the_package_gives_functions_where_modules_have_the_same_name() -> None:
    """`choose` is also a module: loading it must not put it in the place of the function."""
    assert "discreet.local.design.choose" in sys.modules
    assert local.choose(2, 1).randomiser == local.protocol("grr").for_epsilon(2, 1)


@pytest.mark.parametrize("parameters", [{}, {"domain": 2}, {"domain": 2, "keep": 2**63 + 1, "more": 1}])
def test_parameters_are_named_one_by_one(parameters: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match=r"grr has the parameters domain, keep \(found"):
        registry.of("grr", parameters)


@pytest.mark.parametrize("domain", [True, 2.0, "2", None])
def test_parameters_are_whole_numbers(domain: int) -> None:
    with pytest.raises(ParameterError, match="domain must be a whole number"):
        registry.of("grr", {"domain": domain, "keep": 2**63 + 1})


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        ("RAPPOR", "rappor"),
        ("SFP", "fragments"),
        ("dBitFlip", "bit-flip"),
        ("Warner", "grr"),
        ("CMS", "cms"),
        ("HCMS", "hcms"),
        ("Square Wave", "square-wave"),
        ("1BitMean", "one-bit-mean"),
    ],
)
def test_a_protocol_answers_to_the_name_of_its_paper(name: str, protocol: str) -> None:
    assert local.protocol(name) is registry.kind(protocol)


def test_every_alias_is_of_a_protocol_and_hides_none() -> None:
    assert set(registry.ALIASES.values()) <= set(registry.PROTOCOLS)
    assert not set(registry.ALIASES) & set(registry.PROTOCOLS)
    assert all(registry.canonical(name) == name for name in registry.PROTOCOLS)


def test_a_name_that_is_nearly_one_gets_a_suggestion() -> None:
    with pytest.raises(ParameterError, match=r"no protocol 'rapor'.*rappor"):
        local.protocol("rapor")


def test_a_signed_collection_has_the_name_of_the_registry_and_no_other() -> None:
    with pytest.raises(ParameterError, match="no protocol 'GRR'"):
        registry.of("GRR", {"domain": 2, "keep": 3 * 2**62})
