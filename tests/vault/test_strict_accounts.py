"""The accounts that are charged decide on the noise: a question is planned for the strictest of them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow
import pytest

from discreet.errors import BudgetExceeded, QuestionRefused
from discreet.ledger import Budget
from discreet.schema import Integer, Text
from discreet.vault.vault import Vault

COUNT = "select count(*) from people"
TABLE = {"who": list(range(300)), "age": [i % 90 for i in range(300)], "word": ["tea"] * 300}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A vault with a δ, and accounts of every kind."""
    to = tmp_path / "people.vault"
    with Vault.seal(
        pyarrow.table(TABLE),
        to=to,
        person="who",
        columns={"age": Integer(0, 110), "word": Text()},
        budget=Budget(5, "1e-6"),
    ) as vault:
        vault.ledger.allot(analyst="pure", budget=Budget(1))
        vault.ledger.allot(analyst="some", budget=Budget(2, "1e-9"))
        vault.ledger.allot(purpose="report", budget=Budget(1))
    return to


def test_an_analyst_without_a_delta_is_answered_with_laplace_noise(place: Path) -> None:
    with Vault(place, analyst="pure") as vault:
        assert vault.preview(COUNT, epsilon="0.5").affordable
        release = vault.ask(COUNT, epsilon="0.5")
        assert "Laplace" in release.plan
        assert release.cost.cost.epsilon == Fraction(1, 2)
        assert vault.ledger.balance(analyst="pure").remaining == Fraction(1, 2)
        assert vault.ledger.balance().spent.rho <= Fraction(1, 8)
        with pytest.raises(BudgetExceeded, match=r"it needs 1\.2 times what is left for analyst .pure."):
            vault.ask("select count(*) from people where age > 3", epsilon="0.6")
        assert not vault.preview("select count(*) from people where age > 3", epsilon="0.6").affordable


def test_so_is_a_purpose_whoever_asks(place: Path) -> None:
    with Vault(place, analyst="some", purpose="report") as vault:
        assert "Laplace" in vault.ask(COUNT, epsilon="0.3").plan
        assert vault.ledger.balance(purpose="report").remaining == Fraction(7, 10)


@pytest.mark.parametrize("analyst", [None, "some", "nobody in particular"])
def test_everyone_else_has_gaussian_noise(place: Path, analyst: str | None) -> None:
    with Vault(place, analyst=analyst) as vault:
        assert "Gaussian" in vault.ask(COUNT, epsilon="0.3").plan
        assert vault.preview(COUNT, within=30).affordable


def test_widths_are_found_with_the_noise_that_is_paid_for(place: Path) -> None:
    with Vault(place, analyst="pure") as vault:
        assert "Laplace" in vault.ask(COUNT, within=30).plan
        assert "Laplace" in vault.ask("select count(*) from people where age >= 0", within="50%").plan


def test_texts_are_found_with_the_delta_of_whoever_pays(place: Path) -> None:
    by_word = "select word, count(*) from people group by word"
    with Vault(place, analyst="some") as vault:
        vault.ask(by_word, epsilon="0.3")
        spent = vault.ledger.balance(analyst="some").spent.delta
        assert 0 < spent <= Fraction(1, 10**9) / 100
    with Vault(place, analyst="pure") as vault, pytest.raises(QuestionRefused, match="a budget with a delta"):
        vault.ask(by_word, epsilon="0.25")


def test_what_an_account_cannot_pay_for_it_cannot_afford(place: Path) -> None:
    with Vault(place) as vault:
        from discreet.privacy import Gaussian

        assert vault.ledger.can_afford(Gaussian(sigma=1000))
        assert not vault.ledger.can_afford(Gaussian(sigma=1000), analyst="pure")


def test_how_many_are_over_the_bound_is_a_question(tmp_path: Path) -> None:
    """False alarm: noise of scale 1/1000 leaves 0.1 once in 10⁴³."""
    rows = [1, 2, 3, 5, 100, 5000]
    table = {"id": [i for i, n in enumerate(rows) for _ in range(n)], "age": [30] * sum(rows)}
    with Vault.seal(
        pyarrow.table(table),
        to=tmp_path / 'the "people".vault',
        person="id",
        rows_per_person=2,
        columns={"age": Integer(0, 110)},
        budget=Budget(5000),
    ) as vault:
        release = vault.over_bound(epsilon=1000)
        assert release.value == pytest.approx(4, abs=0.1)  # 5000 rows are fewer than 2·4096: all four are seen
        assert "where over_bound()" in release.question
        assert "where over_bound()" in release.label.facts["Bounds"]["Who is over the bound"]
        assert vault.over_bound(epsilon=1000).free
        assert vault.over_bound(within=1).interval is not None


def test_where_every_row_is_a_person_nobody_is_over_the_bound(tmp_path: Path) -> None:
    with Vault.seal(
        pyarrow.table(TABLE),
        to=tmp_path / "t.vault",
        person=None,
        columns={"age": Integer(0, 110)},
        budget=Budget(1),
    ) as vault:
        with pytest.raises(QuestionRefused, match="no person is over the bound"):
            vault.over_bound(epsilon="0.1")
        assert (
            "Who is over the bound" not in vault.ask("select count(*) from t", epsilon="0.1").label.facts["Bounds"]
        )
