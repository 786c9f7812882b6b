"""Count persons with more rows than count in full: exact, except for noise and for persons of weight zero."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest

from discreet.ledger import Budget
from discreet.schema import Integer
from discreet.schema.metadata import UNIT
from discreet.vault.vault import Vault

ROWS = [1, 2, 3, 4, 5, 10, 63, 1500, 2049, 4096, 4097, 8192, 8193, 12288, 12289]
PERSONS = "select count(distinct who) n from people where over_bound()"


def sealed(folder: Path, rows: list[int], rows_per_person: int) -> Vault:
    table = {"who": [i for i, n in enumerate(rows) for _ in range(n)], "age": [30] * sum(rows)}
    return Vault.seal(
        pyarrow.table(table),
        to=folder / "people.vault",
        person="who",
        rows_per_person=rows_per_person,
        columns={"age": Integer(0, 110)},
        budget=Budget(10**9),
    )


def value(vault: Vault, question: str) -> float:
    """Noise of scale 1/10⁵ at most: it leaves 0.001 once in 10⁴³."""
    found = vault.ask(question, epsilon=3 * 10**5).value
    assert isinstance(found, float)
    return found


@pytest.mark.parametrize("rows_per_person", [2, 3])
def test_everybody_over_the_bound_is_counted_once(tmp_path: Path, rows_per_person: int) -> None:
    vault = sealed(tmp_path, ROWS, rows_per_person)
    weighing = [n for n in ROWS if rows_per_person < n <= UNIT * rows_per_person]
    assert value(vault, PERSONS) == pytest.approx(len(weighing), abs=1e-3)
    assert f"more than {UNIT * rows_per_person:,} rows weighs nothing" in vault.ask(PERSONS, epsilon=1)["n"].note


def test_of_one_row_each_a_little_is_lost_as_the_note_says(tmp_path: Path) -> None:
    vault = sealed(tmp_path, ROWS, 1)
    shares = [1 - (UNIT % n) / UNIT for n in ROWS if 1 < n <= UNIT]
    assert min(shares) > 1 / 2
    assert value(vault, PERSONS) == pytest.approx(sum(shares), abs=1e-3)
    assert "counts as 1 − (4096 mod n)/4096" in vault.ask(PERSONS, epsilon=1)["n"].note


def test_one_person_more_is_one_more(tmp_path: Path) -> None:
    """A person with many rows adds one, and changes no other person's weight."""
    before, after = ([*ROWS, *more] for more in ([], [777]))
    counts = []
    for place, rows in (("before", before), ("after", after)):
        (tmp_path / place).mkdir()
        counts.append(value(sealed(tmp_path / place, rows, 2), PERSONS))
    assert counts[1] - counts[0] == pytest.approx(1, abs=2e-3)


def test_everything_else_can_be_asked_of_them_too(tmp_path: Path) -> None:
    vault = sealed(tmp_path, [1, 2, 3, 4], 2)
    assert value(vault, "select count(*) from people where not over_bound()") == pytest.approx(3, abs=1e-3)
    by_side = vault.ask("select over_bound() o, count(distinct who) n from people group by o", epsilon=3 * 10**5)
    assert by_side.keys["o"] == (False, True)
    assert by_side["n"].values == pytest.approx((2, 2), abs=1e-3)
    both = 3 + (3 * (UNIT * 2 // 3) + 4 * (UNIT * 2 // 4)) / UNIT
    assert value(vault, "select count(*) from people") == pytest.approx(both, abs=1e-3)
