"""A notebook shows the sentence of an error instead of a traceback."""

from __future__ import annotations

import importlib.util

import pytest

from discreet.errors import BudgetExceeded, DiscreetError, Fix, NotForRelease, ParameterError
from tests.vault.releases import by_city


def shown(error: DiscreetError) -> str:
    """What IPython prints: it asks the error for its traceback, and joins the lines."""
    return "\n".join(error._render_traceback_())


@pytest.mark.parametrize("kind", [BudgetExceeded, NotForRelease, ParameterError])
def test_the_problem_the_value_and_the_fix_are_shown_on_one_line(kind: type[DiscreetError]) -> None:
    error = kind("Something is wrong.", found=5, fix=Fix("within", 200))
    assert shown(error) == f"{kind.__name__}: Something is wrong (found: 5). Try: within=200."


def test_an_error_of_a_release_is_shown_without_a_traceback() -> None:
    with pytest.raises(ParameterError) as refused:
        _ = by_city().value
    assert "Traceback" not in shown(refused.value)
    assert shown(refused.value).startswith("ParameterError: This release has more than one number (found: 2 aggre")


def test_ipython_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    shell = importlib.import_module("IPython.core.interactiveshell").InteractiveShell.instance()
    shell.run_cell("from discreet.errors import ParameterError; raise ParameterError('Something is wrong.')")
    written = capsys.readouterr()
    assert "ParameterError: Something is wrong." in written.out + written.err
    assert "Traceback" not in written.out + written.err
