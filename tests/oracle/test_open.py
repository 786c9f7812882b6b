"""The charge for an oracle: never for one that cannot answer, and its answers are for the account that paid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

from discreet import noise
from discreet.errors import BudgetExceeded, DiscreetError, NotForRelease, ParameterError, QuestionRefused
from discreet.ledger import Budget
from discreet.oracle import Oracle
from discreet.schema import Boolean, Real
from discreet.vault.vault import Vault
from tests.oracle.people import made, rows, town, true_count

QUESTION = "select count(*) from people where age < 40"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return town(tmp_path, 500)


def test_a_place_that_cannot_be_written_is_refused_before_the_charge(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("something")
    for path in (tmp_path / "nowhere" / "a.oracle", tmp_path, tmp_path / "there"):
        with pytest.raises(ParameterError, match="path="):
            made(vault, path=path)
    assert vault.ledger.balance().charges == 0
    assert (tmp_path / "there").read_text() == "something"


def test_a_refused_charge_leaves_no_file(vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(BudgetExceeded):
        made(vault, epsilon=1000, path=tmp_path / "a.oracle")
    assert not (tmp_path / "a.oracle").exists()
    assert not [*(tmp_path / "town.vault").glob("*.oracle")]


def test_the_state_of_another_oracle_is_not_taken_for_this_one(vault: Vault, tmp_path: Path) -> None:
    path = tmp_path / "a.oracle"
    made(vault, path=path).close()
    path.rename(tmp_path / "away")
    made(vault, path=path, confidence="0.5").close()
    with pytest.raises(ParameterError, match="the state of another oracle"):
        made(vault, path=path)


def test_new_answers_are_for_the_account_that_paid(vault: Vault, tmp_path: Path) -> None:
    vault.ledger.allot(analyst="bob", budget=Budget("0.01", "1e-7"))
    with Vault(tmp_path / "town.vault", analyst="ann") as hers:
        made(hers).close()
    with (
        Vault(tmp_path / "town.vault", analyst="bob") as his,
        pytest.raises(ParameterError, match="charged to another account") as refused,
    ):
        made(his)
    assert "ann" not in str(refused.value).replace("another", "")


def test_an_account_without_delta_is_told_what_it_takes_and_charged_nothing(vault: Vault, tmp_path: Path) -> None:
    vault.ledger.allot(analyst="bob", budget=Budget(1))
    with Vault(tmp_path / "town.vault", analyst="bob") as his:
        with pytest.raises(ParameterError, match="takes a budget with δ"):
            made(his)
        with pytest.raises(ParameterError, match="takes a budget with δ"):
            his.synthesize(epsilon=1)
    assert vault.ledger.balance().charges == 0


def test_test_bits_do_not_become_part_of_a_real_oracle(vault: Vault, tmp_path: Path) -> None:
    with made(vault) as real:
        with noise.deterministic(1), pytest.raises(NotForRelease, match="test bits"):
            real.ask(QUESTION)
        assert not real.ask(QUESTION).test_bits
    (tmp_path / "tests").mkdir()
    with noise.deterministic(1):
        rehearsal = town(tmp_path / "tests", 500)
        tested = made(rehearsal, name="tested")
    with tested, pytest.raises(NotForRelease, match="cannot be a prior"):
        made(rehearsal, prior=tested, name="next")


def test_an_oracle_that_could_answer_nothing_is_refused_and_told_the_width_that_fits(vault: Vault) -> None:
    with pytest.raises(ParameterError, match=r"within=(\d+)") as refused:
        made(vault, epsilon="0.4", within=2)
    assert vault.ledger.balance().charges == 0
    width = int(str(refused.value).rpartition("within=")[2].partition(" ")[0])
    with made(vault, epsilon="0.4", within=width) as oracle:
        assert oracle.ask(QUESTION).error <= width


@pytest.mark.parametrize(
    ("changes", "fix"),
    [
        ({"epsilon": None, "spend": "1e-22%"}, 'Try: epsilon="'),
        ({"spend": "5%"}, "either epsilon or spend"),
        ({"epsilon": 10**200}, "epsilon=1"),
        ({"within": "1e-12"}, r"Try: within=2 \(a number of rows\), or epsilon="),
        ({"within": 10**12}, "up to 137438953472"),
        ({"confidence": "0.999999999999999999999"}, "at least 1e-20"),
    ],
    ids=str,
)
def test_what_no_number_of_rows_could_make_useful_is_refused_with_a_fix_and_charged_nothing(
    vault: Vault, changes: dict[str, Any], fix: str
) -> None:
    with pytest.raises(ParameterError, match=fix):
        made(vault, **changes)
    assert vault.ledger.balance().charges == 0


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": None, "spend": "1e-22%"}, {"epsilon": "0.01", "within": 2}, {"epsilon": 2, "within": 3}],
    ids=str,
)
def test_the_epsilon_that_is_named_suffices(vault: Vault, changes: dict[str, Any]) -> None:
    wanted = changes
    with pytest.raises(ParameterError, match='epsilon="') as refused:
        made(vault, **wanted)
    named = str(refused.value).rpartition('epsilon="')[2].partition('"')[0]
    made(vault, **{**wanted, "epsilon": named, "spend": None}).close()
    assert vault.ledger.balance().charges == 1


def test_a_share_of_too_few_rows_is_refused_with_the_width_that_is_answered(vault: Vault) -> None:
    with made(vault, epsilon="0.05", within="0.01") as oracle, pytest.raises(BudgetExceeded) as refused:
        oracle.ask(QUESTION)
    width = int(str(refused.value).rpartition("within=")[2].partition(")")[0])
    with made(vault, epsilon="0.05", within=width) as oracle:
        assert oracle.ask(QUESTION).error <= width


def test_a_confidence_next_to_certainty_is_answered(vault: Vault) -> None:
    """In floats 1 − 1e-20 is 1, whose quantile is infinite: this was an error after the charge."""
    with made(vault, confidence="0.99999999999999999999", within=200) as oracle:
        answer = oracle.ask(QUESTION)
    assert answer.low <= true_count(rows(500), age=(0, 39)) <= answer.high


def test_what_nobody_checked_claims_nothing(vault: Vault) -> None:
    with made(vault, epsilon="0.05", within="0.01") as oracle:
        pay = oracle.ask("select avg(pay) from people", unchecked=True)
        total = oracle.ask("select sum(pay) from people", unchecked=True)
    assert 0 < pay.value < 9000
    assert (pay.low, pay.high, float(pay.confidence)) == (0, 9000, 0)
    assert (total.low, total.high) == (float("-inf"), float("inf"))


def test_an_unknown_column_is_refused_with_the_known_ones(vault: Vault) -> None:
    with made(vault) as oracle, pytest.raises(ParameterError, match="Its columns are age, city"):
        oracle.marginal("height")


def test_columns_of_billions_of_levels_are_added_up_and_compared_in_words(tmp_path: Path) -> None:
    table = pyarrow.table({"price": [1.25, 10.5, 999_999_999.99] * 100})
    with (
        Vault.seal(
            table,
            to=tmp_path / "shop.vault",
            name="people",
            person=None,
            columns={"price": Real(0, 10**9, "0.01", missing=0)},
            budget=Budget(20, "1e-6"),
        ) as vault,
        vault.oracle(["price"], epsilon=3, within=100, confidence="0.999999999") as oracle,
    ):
        answer = oracle.ask("select avg(price) from people")
        assert answer.low <= 333_333_337.25 <= answer.high
        with pytest.raises(QuestionRefused, match="coarser step"):
            oracle.ask("select count(*) from people where price > 5")


def test_many_columns_are_refused_before_the_charge_and_a_few_dozen_are_not_measured_in_thousands(
    tmp_path: Path,
) -> None:
    names = [f"a{i}" for i in range(70)]
    with Vault.seal(
        pyarrow.table({name: [True, False] * 50 for name in names}),
        to=tmp_path / "wide.vault",
        name="people",
        person=None,
        columns={name: Boolean() for name in names},
        budget=Budget(20, "1e-6"),
    ) as vault:
        with pytest.raises(ParameterError, match="At most 64 columns are allowed"):
            vault.oracle(names, epsilon=1)
        assert vault.ledger.balance().charges == 0
        with vault.oracle(names[:30], epsilon=3, within="0.9") as oracle:
            assert len(oracle.measured) <= 1 + 30 + 1000


def test_a_full_disk_closes_the_oracle_and_loses_nothing_that_was_seen(vault: Vault, tmp_path: Path) -> None:
    import resource

    from tests.ledger.processes import Tell, alone

    made(vault).close()
    vault.close()

    def ask(tell: Tell) -> None:
        oracle: Oracle = made(Vault(tmp_path / "town.vault"))
        room = Path(oracle.path).stat().st_size + 1500
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        try:
            for age in range(99):
                tell(f"{age} {oracle.ask(f'select count(*) from people where age <= {age}').value}")
        except DiscreetError as error:
            tell(str(error))

    ended = alone(ask)
    assert ended.status == 0, ended
    assert "could not be written" in ended.told[-1]
    with Vault(tmp_path / "town.vault") as again, made(again) as oracle:
        assert len(ended.told) > 2
        for line in ended.told[:-1]:
            age, value = line.split()
            assert oracle.ask(f"select count(*) from people where age <= {age}").value == float(value)
