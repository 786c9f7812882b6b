"""The package that people install: its metadata, what works without extras, and its wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml

import discreet

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
OPTIONAL = ("adbc_driver_postgresql", "altair", "pandas", "polars", "pyspark", "scipy", "sklearn", "vl_convert")
"""Modules that only extras, or users, bring along."""

MOST = 350
"""The most megabytes that an installation without extras may take."""


# -- metadata ---------------------------------------------------------------------------------------------------


def test_the_licence_is_named_in_the_metadata_and_in_its_notice() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "SPDX-License-Identifier: Apache-2.0" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert not any(line.startswith("License ::") for line in PROJECT["classifiers"])


def test_the_citation_is_of_this_version_and_names_what_the_format_demands() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] == "software"
    assert cited["message"]
    assert cited["title"]
    assert all(author["name"] for author in cited["authors"])
    assert cited["version"] == PROJECT["version"] == discreet.__version__
    assert cited["license"] == PROJECT["license"]


def test_a_package_page_has_no_link_that_leads_nowhere() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", readme)
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_every_extra_that_is_named_exists() -> None:
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = {
        extra
        for file in files
        for names in re.findall(r"(?:discreet\[|extra\(\")([a-z,]+)", file.read_text(encoding="utf-8"))
        for extra in names.split(",")
    }
    assert named == EXTRAS


def test_the_lock_names_no_host() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert "index-url" not in lock


# -- without extras ---------------------------------------------------------------------------------------------


BLOCKED = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def without_extras(code: str) -> str:
    """What a program prints if no optional package can be imported."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BLOCKED + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    return done.stdout + done.stderr


def test_a_table_is_sealed_and_asked_and_counted_without_any_extra() -> None:
    told = without_extras("""
        import tempfile, pyarrow, discreet as dp
        from discreet import local, stream, validity
        rows = pyarrow.table({"who": range(2_000), "age": [i % 90 for i in range(2_000)]})
        with tempfile.TemporaryDirectory() as folder:
            with dp.Vault.seal(rows, to=f"{folder}/v", person="who", columns={"age": dp.Integer(0, 110)},
                               budget=dp.Budget(epsilon=4, delta="1e-9")) as vault:
                print(vault.ask("select count(*) from v", epsilon="0.5").value > 0)
                with vault.oracle(["age"], epsilon=1, within="0.2") as oracle:
                    print(oracle.ask(dp.where(age=(0, 40))).value > 0)
                print(vault.synthesize(epsilon=1).to_arrow().num_rows > 0)
        counter = stream.Counter(epsilon=1, horizon=8)
        counter.add(9)
        print(validity.plan(10_000, 100).width > 0, counter.value.margin > 0)
        survey = local.Collection.design("s", domain=["a", "b"], epsilon=1, window=("2026-01-01", "2099-12-31"))
        with tempfile.TemporaryDirectory() as folder:
            print(len(local.Device(folder, lifetime=4, per_period=2).report(survey, "a")) > 0)
    """)
    assert told.split() == ["True"] * 6


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("from discreet import audit; audit.lower_bound(lambda x: x, 0, 1, samples=1000)", "audit"),
        ("import discreet.cli as cli; cli.app(['audit'])", "audit"),
        (
            "import discreet.cli as cli; cli.app(['local', 'simulate', '--values', 'a,b', '--devices', '99'])",
            "local",
        ),
        ("from discreet import learn; learn.LogisticRegression", "learn"),
        ("from discreet import plots; plots.composition(1, '1e-6')", "plots"),
    ],
)
def test_what_an_extra_is_missing_for_says_how_to_install_it(code: str, extra: str) -> None:
    told = without_extras(code)
    assert f'pip install "discreet[{extra}]"' in told
    assert "not installed" in told
    assert "ModuleNotFoundError" not in told


# -- the wheel --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", f"{tmp_path}/dist"]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")  # pure Python: no compiler is needed
    venv.create(tmp_path / "clean", with_pip=True)
    programs = tmp_path / "clean" / "bin"
    before = megabytes(tmp_path / "clean")
    subprocess.run([programs / "pip", "install", "--quiet", "--no-compile", wheel], check=True)
    assert megabytes(tmp_path / "clean") - before < MOST

    def discreet_says(*words: str) -> subprocess.CompletedProcess[str]:
        away = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [programs / "discreet", *words], cwd=tmp_path, capture_output=True, text=True, env=away
        )

    demo = discreet_says("demo")
    assert demo.returncode == 0, demo.stderr
    assert "Who spent what" in demo.stdout
    assert discreet_says("--version").stdout == f"discreet {discreet.__version__}\n"
    audit = discreet_says("audit")
    assert (audit.returncode, 'pip install "discreet[audit]"' in audit.stderr) == (2, True)
    with zipfile.ZipFile(wheel) as archive:
        (about,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
    assert "License-Expression: Apache-2.0\n" in about


def megabytes(folder: Path) -> float:
    """What the files of a folder take on the disk, without the bytecode that Python writes when it runs."""
    files = (
        file for file in folder.rglob("*") if file.is_file() and not file.is_symlink() and file.suffix != ".pyc"
    )
    return sum(file.stat().st_blocks * 512 for file in files) / 2**20
