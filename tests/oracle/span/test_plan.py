"""Plans of spans: which questions they foresee, and which levels a span keeps."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest

from discreet.ledger import Budget
from discreet.oracle import open as opening
from discreet.oracle.pricing import FINE, Terms, terms
from discreet.oracle.span.design import columns_of, divided, questions
from discreet.oracle.span.plan import plan
from discreet.oracle.span_oracle import SpanOracle
from discreet.query.bins import Axis, axes_of
from discreet.query.builder import where
from discreet.schema import Integer, Real
from discreet.schema.metadata import TableMetadata
from discreet.vault.vault import Vault
from tests.vault.sealed_tables import scratch

GIVEN: dict[str, Any] = {"epsilon": 4, "within": 150, "promise": "each", "queries": 1000}


def agreed(within: int, promise: str = "every") -> Terms:
    given: dict[str, Any] = {
        "promise": promise,
        "confidence": "0.95",
        "queries": 20,
        "start": "span",
        "rows_per_person": 1,
    }
    return terms(rho=Fraction(61, 100), within=within, **given)


@pytest.fixture(scope="module")
def vault() -> Iterator[Vault]:
    days = np.random.default_rng(1).integers(0, 365, 3000)
    rows = pyarrow.table({"day": days, "ill": days % 2})
    columns = {"day": Integer(0, 364, missing=0), "ill": Integer(0, 1, missing=0)}
    given: dict[str, Any] = {"name": "people", "person": None, "columns": columns, "budget": Budget(200, "1e-6")}
    with scratch() as folder, Vault.seal(rows, to=folder / "days.vault", **given) as sealed:
        yield sealed


def test_a_range_over_all_levels_is_no_condition_so_a_plan_does_not_count_it_as_paid_for() -> None:
    """With it one question in twenty would seem too costly, and a test of predictions would be paid for."""
    axes = [
        Axis(f"c{i}", f"c{i}", size, False, tuple(range(size)), ordered=True) for i, size in enumerate((5, 11))
    ]
    found = plan(axes, agreed(60), 60 * FINE)
    assert found.free == 1
    assert not found.test
    shares = [len(box) for box in questions(columns_of(axes), 600)]
    assert 0 < shares.count(0) < 30


@pytest.mark.parametrize("within", [453, 555, 641])
def test_all_triples_of_forty_yes_no_columns_are_free_under_each(within: int) -> None:
    """Plain payments are 1,600 to 3,200 at these margins. With pairs alone half of the questions were paid for."""
    given: dict[str, Any] = {"confidence": "0.95", "queries": 3000, "start": "span", "rows_per_person": 1}
    found = plan(
        [Axis(f"c{i}", f"c{i}", 2, False, (0, 1)) for i in range(40)],
        terms(rho=Fraction(1497, 100_000), within=within, promise="each", **given),
        within * FINE,
    )
    assert (found.most, found.free) == (3, 1.0)
    assert found.share <= Fraction(7, 20)


def test_a_plan_does_not_promise_ranges_that_divide_the_bins_of_a_column_of_many_levels() -> None:
    """Of a column with 9,001 levels in 64 bins hardly any range is made of whole bins; given bins are followed."""
    people = TableMetadata(
        "people", {"pay": Real(0, 9000, 1, missing=0), "ill": Integer(0, 1, missing=0)}, person=None
    )
    even, given = axes_of(people, ["pay", "ill"]), axes_of(people, ["pay", "ill"], {"pay": 63})
    assert [axis.even for axis in even] == [True, False]
    assert [column.levels for column in columns_of(given)] == [0, 0]
    boxes = [*questions(columns_of(even), 600, 2)]
    about_pay = [box for box in boxes if any(place == 0 for place, *_ in box)]
    assert np.mean([divided(box) for box in about_pay]) > 0.99
    assert not any(divided(box) for box in questions(columns_of(given), 600, 2))
    for promise in ("each", "every"):
        shares = [plan(axes, agreed(100, promise), 100 * FINE).free for axes in (even, given)]
        assert shares[0] < 0.3 < 0.9 < shares[1]


def test_a_span_keeps_the_levels_of_a_year_and_answers_its_ranges(vault: Vault) -> None:
    with vault.oracle(["day", "ill"], **GIVEN, span="0.5") as oracle:
        assert [axis.size for axis in oracle.axes] == [365, 2]
        assert oracle.ask(where(day=(17, 201), ill=1)).how == ("span",)
        assert vault.plan_oracle(["day", "ill"], **GIVEN, span="0.5") == getattr(oracle, "plan", None)
        with vault.oracle(["day", "ill"], epsilon=4, within=150, prior=oracle) as later:
            assert [axis.size for axis in later.axes] == [365, 2]
    with vault.oracle(["day", "ill"], epsilon=4, within=150, start="pairs") as pairs:
        assert [axis.size for axis in pairs.axes] == [64, 2]


def test_an_oracle_that_was_made_with_bins_is_opened_by_the_call_that_made_it(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(opening, "MOST_BINS", 129)
        with vault.oracle(["day", "ill"], **GIVEN, name="old") as old:
            assert [axis.size for axis in old.axes] == [64, 2]
            said = old.ask(where(day=(17, 201)))
    charges = vault.ledger.balance().charges
    with vault.oracle(["day", "ill"], **GIVEN, name="old") as again:
        assert isinstance(again, SpanOracle)
        assert again.path == old.path
        assert [axis.size for axis in again.axes] == [64, 2]
        assert again.ask(where(day=(17, 201))).value == said.value
    assert vault.ledger.balance().charges == charges
