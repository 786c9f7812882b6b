"""Mutants are written for code as it was. What has changed since is found here, not by whoever runs them."""

from __future__ import annotations

import pytest

from tests.mutants.__main__ import MUTANTS, ROOT, SOURCE
from tests.mutants.mutant import Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_changes_is_there_once_and_its_tests_too(mutant: Mutant) -> None:
    assert (ROOT / SOURCE / mutant.file).read_text().count(mutant.before) == 1
    assert all((ROOT / test.partition("::")[0]).exists() for test in mutant.tests.split())
