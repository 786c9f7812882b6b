"""A desk to stand at: a folder with a table, its schema and a vault of ε = 2."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli import desk


@pytest.fixture(scope="session")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sealed")
    (place / "people.csv").write_text(desk.table(), encoding="utf-8")
    (place / "people.toml").write_text(desk.SCHEMA, encoding="utf-8")
    options = ("--person", "user_id", "--rows-per-person", "2", "--epsilon", "2", "--to", place / "people.vault")
    result = desk.run("seal", place / "people.csv", "--schema", place / "people.toml", *options)
    assert result.exit_code == 0, result.output
    return place


@pytest.fixture
def here(sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own: people.csv, people.toml and people.vault, of which nothing was spent."""
    shutil.copytree(sealed, tmp_path / "desk")
    monkeypatch.chdir(tmp_path / "desk")
    return Path("people.vault")


@pytest.fixture
def town(here: Path) -> Path:
    """The same people, with a budget of ε = 40 and a δ."""
    options = ("--schema", "people.toml", "--person", "user_id", "--rows-per-person", "2")
    sealed = desk.run(
        "seal",
        "people.csv",
        *options,
        "--epsilon",
        "40",
        "--delta",
        "1e-6",
        "--name",
        "people",
        "--to",
        "town.vault",
    )
    assert sealed.exit_code == 0, sealed.output
    return Path("town.vault")
