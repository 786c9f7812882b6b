"""What makes sealing fail is named with its fix, leaves nothing behind, and what a kill leaves is removed."""

from __future__ import annotations

import decimal
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import DiscreetError, ParameterError
from discreet.schema import Column
from discreet.sealing.backends.duckdb import sweep, workplace
from discreet.sealing.seal import seal
from discreet.vault.vault import Vault
from tests.ledger.processes import Tell, alone
from tests.vault.sealed_tables import sealed

ROWS = pa.table({"n": [1, 2, 3]})
N: dict[str, Column] = {"n": dp.Integer(0, 9)}


def test_decimals_of_more_than_38_digits_are_refused_by_name(tmp_path: Path) -> None:
    wide = pa.array([decimal.Decimal(1)], pa.decimal256(60, 1))
    with pytest.raises(ParameterError, match=r"Column 'n' .* more than 38 digits .*decimal256.* Cast it"):
        seal(pa.table({"n": wide}), to=tmp_path / "v", person=None, columns=N)
    seal(pa.table({"n": [1], "other": wide}), to=tmp_path / "v", person=None, columns=N)
    assert os.listdir(tmp_path) == ["v"]


@pytest.mark.parametrize("names", [["n", "n"], ["n", "N"], ["n", "m", "m"]])
def test_columns_of_the_same_name_are_refused(tmp_path: Path, names: list[str]) -> None:
    table = pa.Table.from_arrays([pa.array([1])] * len(names), names)
    for source in (table, table.to_reader()):
        with pytest.raises(ParameterError, match=r"differ in capitals only, or not at all .* Rename"):
            seal(source, to=tmp_path / "v", person=None, columns=N)
    assert os.listdir(tmp_path) == []


def test_a_link_to_nothing_is_named_as_source_and_as_target(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").symlink_to(tmp_path / "gone.csv")
    (tmp_path / "v").symlink_to(tmp_path / "nowhere")
    for source in (tmp_path / "rows.csv", str(tmp_path / "*.csv")):
        with pytest.raises(ParameterError, match=r"rows\.csv is a link to a file that does not exist .*gone\.csv"):
            seal(source, to=tmp_path / "other", person=None, columns=N)
    with pytest.raises(ParameterError, match="v is a link to a directory that does not exist"):
        seal(ROWS, to=tmp_path / "v", person=None, columns=N)
    assert sorted(os.listdir(tmp_path)) == ["rows.csv", "v"]


@pytest.mark.parametrize("most", [1_000, 40_000, 300_000])
def test_a_disk_that_is_full_is_an_error_of_ours_and_leaves_nothing(tmp_path: Path, most: int) -> None:
    rows = pa.table({"who": list(range(60_000)), "word": [f"word {i * 7919}" for i in range(60_000)]})

    def with_little_space(tell: Tell) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        try:
            Vault.seal(
                rows,
                to=tmp_path / "v",
                person="who",
                columns={"word": dp.Text()},
                budget=dp.Budget(1),
                memory="64MB",
            )
        except DiscreetError as error:
            tell(f"{type(error).__name__}: {error}")

    ended = alone(with_little_space)
    assert ended.status == 0, ended
    assert "There is not enough space in" in ended.told[0], ended.told
    assert "word " not in ended.told[0].replace("words", "")
    assert os.listdir(tmp_path) == []


def test_five_thousand_columns_are_sealed(tmp_path: Path) -> None:
    names = [f"c{i:04}" for i in range(5000)]
    (tmp_path / "wide.csv").write_text(
        "\n".join([",".join(names), ",".join("7" * 5000), ",".join("x" * 5000), ""])
    )
    columns: dict[str, Column] = {name: dp.Integer(0, 9) for name in names[::50]}
    report = Vault.check(tmp_path / "wide.csv", person=None, columns=columns)
    assert {column.unreadable for column in report.columns.values()} == {1}
    with Vault.seal(
        tmp_path / "wide.csv", to=tmp_path / "v", person=None, columns=columns, budget=dp.Budget(1)
    ) as vault:
        assert len(vault.metadata.columns) == 100
    assert sorted(row["c99"] or 0 for row in sealed(tmp_path / "v")) == [0, 7]


def test_more_columns_than_can_be_sealed_are_refused_with_a_fix(tmp_path: Path) -> None:
    columns: dict[str, Column] = {f"c{i}": dp.Boolean() for i in range(5000)}
    with pytest.raises(ParameterError, match=r"at most 1,000 columns .*found: 5,000.* Leave out"):
        Vault.seal(ROWS, to=tmp_path / "v", person=None, columns=columns, budget=dp.Budget(1))


# What a kill leaves

KILLED = """
import os, signal, sys, pyarrow
import discreet as dp
def progress(stage, done):
    if stage == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
rows = pyarrow.table({"who": list(range(3000)), "n": [5] * 3000})
given = dict(person="who", columns={"n": dp.Integer(0, 9)})
if sys.argv[3] == "new":
    dp.Vault.seal(rows, to=sys.argv[1], budget=dp.Budget(2), progress=progress, **given)
else:
    dp.Vault(sys.argv[1]).reseal(rows, progress=progress)
"""


def killed(vault: Path, stage: str, kind: str = "new") -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, str(vault), stage, kind], check=False)
    assert ended.returncode == -signal.SIGKILL


def leftovers(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if ".sealing-" in name]


def test_what_a_killed_sealing_leaves_is_removed_by_the_next_command_that_uses_the_folder(tmp_path: Path) -> None:
    Vault.seal(ROWS, to=tmp_path / "v", person=None, columns=N, budget=dp.Budget(1)).close()
    killed(tmp_path / "other", "weighing rows")
    assert len(leftovers(tmp_path)) == 1
    Vault(tmp_path / "v").close()
    assert leftovers(tmp_path) == []


def test_what_a_killed_resealing_leaves_inside_a_vault_is_removed(tmp_path: Path) -> None:
    Vault.seal(
        pa.table({"who": [1], "n": [1]}), to=tmp_path / "v", person="who", columns=N, budget=dp.Budget(1)
    ).close()
    killed(tmp_path / "v", "weighing rows", "again")
    assert len(leftovers(tmp_path / "v")) == 1
    with Vault(tmp_path / "v") as vault:
        assert leftovers(tmp_path / "v") == []
        assert vault.metadata.version == 1


def test_a_sealing_that_is_running_is_left_alone(tmp_path: Path) -> None:
    with workplace(tmp_path, "v") as folder:
        assert sweep(tmp_path) == []
        assert folder.is_dir()
        ended = subprocess.run(
            [sys.executable, "-m", "discreet", "clean", str(tmp_path)], check=True, capture_output=True, text=True
        )
        assert "Nothing was left behind." in ended.stdout
        assert folder.is_dir()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", [".v.sealing", "v.sealing-abcdefgh", ".v.sealing-abc", ".v.sealing-ABCDEFGH"])
def test_only_what_sealing_makes_is_removed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / ".file.sealing-abcdefgh").touch()
    (tmp_path / ".link.sealing-abcdefgh").symlink_to(tmp_path / name)
    assert sweep(tmp_path) == []
    assert len(os.listdir(tmp_path)) == 3


SEALS = """
import sys
from pathlib import Path
from discreet.sealing.backends.duckdb import sweep, workplace
folder = Path(sys.argv[1])
for i in range(200):
    sweep(folder)
    with workplace(folder, "v") as made:
        (made / "rows").write_text(str(i))
        sweep(folder)
        assert (made / "rows").read_text() == str(i)
"""


def test_processes_that_seal_and_sweep_at_once_lose_no_folder(tmp_path: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", SEALS, str(tmp_path)]) for _ in range(3)]
    assert [each.wait() for each in running] == [0, 0, 0]
    assert os.listdir(tmp_path) == []


def test_discreet_clean_says_what_it_removed(tmp_path: Path) -> None:
    killed(tmp_path / "v", "weighing rows")
    (left,) = leftovers(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "discreet", "clean", str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert left in ended.stdout.replace("\n", "")
    assert os.listdir(tmp_path) == []
