"""The report: distances that are right, pictures that can be drawn, and a price that is charged once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from discreet.synth import Synthetic, synthesize
from tests.synth.tables import people, sealed


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthetic]:
    with sealed(people(), tmp_path_factory.mktemp("comparing") / "people.vault") as vault:
        yield synthesize(vault, epsilon=3, delta="1e-9")


def test_the_free_report_is_of_the_right_size(table: Synthetic) -> None:
    free, true = table.compare(), table.compare(people())
    for ways in (2, 3):
        found, truth = free.mean(ways), true.mean(ways)
        assert found is not None
        assert truth is not None
        assert 0.4 * truth[0] < found[0] < 2.5 * truth[0] + 0.05


def test_the_paid_report_is_right_within_its_noise_and_charged_once(table: Synthetic) -> None:
    assert table.vault is not None
    ledger = table.vault.ledger
    before = ledger.balance().spent.rho
    paid = table.compare(epsilon=2, show=[["city", "married"]])
    assert ledger.balance().spent.rho - before == Fraction(2)
    assert table.compare(epsilon=2, show=[["city", "married"]]).distances == paid.distances
    assert ledger.balance().spent.rho - before == Fraction(2)
    true = table.compare(people())
    for ways in (1, 2, 3):
        found, truth = paid.mean(ways), true.mean(ways)
        assert found is not None
        assert truth is not None
        # Seven deviations, and the difference between the noisy and the true number of rows.
        assert abs(found[0] - truth[0]) < 7 * found[1] + 0.02
        assert found[1] < 0.01
    assert paid.shown[0].columns == ("city", "married")
    assert abs(paid.shown[0].table[0].sum() - 2000) < 300


def test_pictures_are_drawn(table: Synthetic) -> None:
    assert table.compare().plot().to_dict()["mark"]["type"] == "tick"
    drawn = table.compare(epsilon=1).plot().to_dict()
    assert len(drawn["vconcat"]) >= 2
    assert "mean distance" in str(table.compare())
    assert "<pre>" in table.compare()._repr_html_()
