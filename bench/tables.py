"""Tables of different shape, on which no default of the package was chosen.

    adult        48,842 rows, 8 columns of 2 to 32 levels; read from a folder beside the project, if it is there
    adult_wide   the same people, 8 columns with five numbers among them, of 16 and 32 levels
    binary       50,000 rows, 16 yes-no columns that depend on each other through six kinds of people
    heavy        50,000 rows, 8 numbers of 50 to 100 levels with heavy tails
    mixed        50,000 rows, 12 columns of 2 to 40 levels, with an interaction of three that no pair shows
    levels       226,000 rows, 4 columns of 100 to 365 levels
    wide         20,000 rows, 35 columns of 2 to 12 levels
    determined   30,000 rows, 10 columns of which six follow from others but for 1 row in 100
    small        1,000 rows, 9 columns of 2 to 20 levels
    digits       1,797 images of scikit-learn: 33 columns, of pixels and the digit

A table is an array of codes, with the number of levels of each column and which of them are ordered. Simulated
tables have a fixed seed. Every benchmark that is about tables in general reports its figures on all of these.

    from bench import tables
    for table in tables.every():
        …
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow

    from discreet.ledger import Budget
    from discreet.vault.vault import Vault

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of codes: column i has the codes 0 … sizes[i] − 1, and is a number if i is in `ordered`."""

    name: str
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    codes: Codes
    ordered: frozenset[int]

    def __len__(self) -> int:
        return len(self.codes)

    def arrow(self) -> pyarrow.Table:
        """Return the rows as a curator has them: numbers, and words for the other columns."""
        import pyarrow

        columns: dict[str, Any] = {}
        for i, name in enumerate(self.names):
            words = pyarrow.array([f"{name}{code}" for code in range(self.sizes[i])])
            codes = pyarrow.array(self.codes[:, i])
            columns[name] = codes if i in self.ordered else words.take(codes)
        return pyarrow.table(columns)

    def schema(self) -> dict[str, Any]:
        """Return what may stand in each column."""
        import discreet as dp

        return {
            name: dp.Integer(0, self.sizes[i] - 1, missing=0)
            if i in self.ordered
            else dp.Category([f"{name}{code}" for code in range(self.sizes[i])], missing=f"{name}0")
            for i, name in enumerate(self.names)
        }

    def seal(self, folder: str | Path, budget: Budget) -> Vault:
        """Seal the table into a vault in this folder. Every row is a person."""
        import discreet as dp

        place = Path(folder) / f"{self.name}.vault"
        return dp.Vault.seal(
            self.arrow(), to=place, name="people", person=None, columns=self.schema(), budget=budget
        )

    def counts(self, columns: tuple[int, ...]) -> Codes:
        """Return the counts of all combinations of some columns.

        >>> table = Table("t", ("a", "b"), (2, 3), np.array([[0, 2], [1, 2], [1, 2]]), frozenset())
        >>> table.counts((0, 1)).tolist()
        [[0, 0, 1], [0, 0, 2]]
        """
        shape = [self.sizes[i] for i in columns]
        flat = np.ravel_multi_index([self.codes[:, i] for i in columns], shape)
        return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def adult_folder() -> Path:
    """Return where Adult is: DISCREET_ADULT, or a folder beside the project."""
    given = os.environ.get("DISCREET_ADULT")
    return Path(given) if given else Path(__file__).parents[2] / "shared" / "data" / "adult"


@cache
def adult() -> Table:
    """Read eight columns of Adult."""
    some = ["age", "workclass", "education-num", "marital-status", "relationship", "race", "sex", "income>50K"]
    return _adult("adult", some, {"age", "education-num"})


@cache
def adult_wide() -> Table:
    """Read eight columns of Adult, most of them numbers."""
    numbers = {"age", "hours-per-week", "education-num", "fnlwgt", "capital-gain"}
    return _adult("adult_wide", [*sorted(numbers), "occupation", "marital-status", "income>50K"], numbers)


def _adult(name: str, chosen: list[str], numbers: set[str]) -> Table:
    folder = adult_folder()
    sizes = json.loads((folder / "adult-domain.json").read_text())
    with open(folder / "adult.csv", encoding="utf-8") as file:
        header = file.readline().strip().split(",")
        codes = np.loadtxt(file, delimiter=",", dtype=np.int64)
    names = tuple(column.replace("-", "_").replace(">", "_") for column in chosen)
    ordered = frozenset(i for i, column in enumerate(chosen) if column in numbers)
    kept = codes[:, [header.index(column) for column in chosen]]
    return Table(name, names, tuple(int(sizes[column]) for column in chosen), kept, ordered)


@cache
def binary(rows: int = 50_000) -> Table:
    """Return yes-no columns that depend on each other through a few kinds of people."""
    rng = np.random.default_rng(16)
    chances = rng.beta(0.7, 1.2, (6, 16))
    kind = rng.choice(6, rows, p=rng.dirichlet(np.full(6, 2.0)))
    return _made("binary", [2] * 16, (rng.random((rows, 16)) < chances[kind]).astype(np.int64), ())


@cache
def heavy(rows: int = 50_000) -> Table:
    """Return numbers with heavy tails, which depend on each other through kinds and a common factor."""
    rng, sizes = np.random.default_rng(8), [50, 50, 56, 60, 64, 64, 80, 100]
    kind, factor = rng.choice(5, rows, p=[0.35, 0.25, 0.2, 0.12, 0.08]), rng.normal(size=rows)
    codes = np.empty((rows, 8), np.int64)
    for j, size in enumerate(sizes):
        centre = rng.uniform(0.5, 2.5, 5)[kind] + rng.uniform(-0.6, 0.6) * factor
        codes[:, j] = np.clip(np.exp(centre + 0.7 * rng.normal(size=rows)) * size / 40, 0, size - 1)
    return _made("heavy", sizes, codes, range(8))


@cache
def mixed(rows: int = 50_000) -> Table:
    """Return columns of 2 to 40 levels. Three of them interact in a way that no pair of them shows."""
    rng, sizes = np.random.default_rng(12), [40, 30, 24, 16, 12, 10, 8, 6, 5, 3, 2, 2]
    kind = rng.choice(8, rows, p=rng.dirichlet(np.full(8, 2.0)))
    codes = _kinds(rng, kind, sizes, 0.6)
    odd = (codes[:, 9] > 0) ^ (codes[:, 10] > 0)
    codes[:, 11] = np.where(rng.random(rows) < 0.3, odd, codes[:, 11])
    return _made("mixed", sizes, codes, range(6))


@cache
def levels(rows: int = 226_000) -> Table:
    """Return few columns of many levels: a day, two places with a common few, and an amount."""
    rng, sizes = np.random.default_rng(4), [365, 120, 150, 100]
    day = np.minimum(364, rng.beta(2, 3, rows) * 365).astype(np.int64)
    source = np.minimum(rng.zipf(1.6, rows) - 1, 119)
    target = np.where(rng.random(rows) < 0.6, source, np.minimum(rng.zipf(1.4, rows) - 1, 149))
    amount = np.minimum(99, rng.lognormal(1.5 + source / 60, 0.9, rows)).astype(np.int64)
    return _made("levels", sizes, np.stack([day, source, target, amount], axis=1), (0, 3))


@cache
def wide(rows: int = 20_000) -> Table:
    """Return 35 columns of a survey, of 2 to 12 levels each."""
    rng = np.random.default_rng(35)
    sizes = [int(size) for size in rng.choice([2, 2, 3, 4, 5, 5, 7, 12], 35)]
    kind = rng.choice(10, rows, p=rng.dirichlet(np.full(10, 1.5)))
    ordered = [i for i, size in enumerate(sizes) if size in (5, 7, 12)]
    return _made("wide", sizes, _kinds(rng, kind, sizes, 1.0), ordered)


@cache
def determined(rows: int = 30_000) -> Table:
    """Return columns of which most follow from others, but for one row in a hundred."""
    rng, sizes = np.random.default_rng(10), [60, 20, 12, 6, 20, 5, 3, 10, 2, 2]
    codes = np.empty((rows, 10), np.int64)
    codes[:, 0] = np.minimum(59, rng.gamma(3.0, 8.0, rows))
    codes[:, 1] = rng.choice(20, rows, p=rng.dirichlet(np.full(20, 0.7)))
    codes[:, 2] = rng.choice(12, rows, p=rng.dirichlet(np.full(12, 1.0)))
    codes[:, 3] = rng.integers(0, 6, rows)
    follows = [
        codes[:, 0] // 3,
        codes[:, 1] // 4,
        codes[:, 2] % 3,
        (codes[:, 0] // 6 + codes[:, 3]) % 10,
        codes[:, 0] >= 18,
        (codes[:, 1] % 2) ^ (codes[:, 3] % 2),
    ]
    for j, exact in enumerate(follows, 4):
        codes[:, j] = np.where(rng.random(rows) < 0.01, rng.integers(0, sizes[j], rows), exact)
    return _made("determined", sizes, codes, (0, 3, 4, 7))


@cache
def small(rows: int = 1_000) -> Table:
    """Return few rows of nine columns."""
    rng, sizes = np.random.default_rng(9), [20, 12, 8, 6, 5, 4, 3, 2, 2]
    kind = rng.choice(5, rows, p=rng.dirichlet(np.full(5, 2.0)))
    return _made("small", sizes, _kinds(rng, kind, sizes, 0.8), (0, 1, 2))


@cache
def digits() -> Table:
    """Return half of the pixels of scikit-learn's digits, in five shades and in two, and the digit."""
    from sklearn.datasets import load_digits

    pixels, digit = load_digits(return_X_y=True)
    shades = np.minimum(4, pixels[:, 1::4] * 5 // 17).astype(np.int64)
    inked = (pixels[:, 2::4] > 7).astype(np.int64)
    codes = np.concatenate([shades, inked, digit[:, None].astype(np.int64)], axis=1)
    return _made("digits", [5] * 16 + [2] * 16 + [10], codes, range(16))


TABLES: dict[str, Callable[[], Table]] = {
    made.__name__: made
    for made in (adult, adult_wide, binary, heavy, mixed, levels, wide, determined, small, digits)
}


def every(*chosen: str) -> Iterator[Table]:
    """Yield the tables of these names, by default all. Adult is left out where it is not on this machine."""
    for name in chosen or TABLES:
        if not name.startswith("adult") or adult_folder().is_dir():
            yield TABLES[name]()


def _kinds(rng: np.random.Generator, kind: Codes, sizes: list[int], evenness: float) -> Codes:
    """Draw columns that are independent given the kind of a row."""
    codes = np.empty((len(kind), len(sizes)), np.int64)
    for j, size in enumerate(sizes):
        law = rng.dirichlet(np.full(size, evenness), int(kind.max()) + 1)
        codes[:, j] = (rng.random(len(kind))[:, None] > np.cumsum(law[kind], axis=1)[:, :-1]).sum(1)
    return codes


def _made(name: str, sizes: list[int], codes: Codes, ordered: Any) -> Table:
    names = tuple(f"{'n' if i in ordered else 'c'}{i}" for i in range(len(sizes)))
    return Table(name, names, tuple(sizes), codes.astype(np.int64), frozenset(ordered))
