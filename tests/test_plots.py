"""The public pictures are reachable under one name, and the library works without altair."""

import builtins
import subprocess
import sys
from typing import Any

import pytest

from discreet import plots, privacy
from discreet.errors import DiscreetError
from discreet.privacy.tradeoff_curve import pure
from discreet.render import charts


def test_pictures_of_theory_and_of_answers_have_one_name() -> None:
    assert plots.composition is privacy.plots.composition
    assert plots.tradeoff is privacy.plots.tradeoff
    assert plots.intervals is charts.intervals


def test_without_altair_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "altair":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DiscreetError, match=r'pip install "discreet\[plots\]"'):
        plots.tradeoff({"ε = 1": pure(1)})


def test_importing_the_plots_does_not_import_altair() -> None:
    code = "import sys, discreet.plots; sys.exit('altair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
