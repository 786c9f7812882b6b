"""No account ever spends more than its budget, equality is allowed, and what is refused changes nothing."""

import re
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from discreet import privacy
from discreet.errors import BudgetExceeded, NotComposable, ParameterError
from discreet.ledger import Account, Balance, Budget, Charge, Cost, Ledger, cost
from discreet.ledger.admission import common_room
from discreet.ledger.balance import largest_pure_epsilon
from discreet.ledger.store.sqlite import SQLiteStore
from discreet.ledger.store.sqlite_connections import Connection
from discreet.render.numbers import decimal

NAMES = st.sampled_from([None, "ana", "Ренé 李", "x'; DROP TABLE entries; --"])
SIZES = st.fractions(Fraction(1, 60), Fraction(1, 2), max_denominator=60)
LOSSES = st.one_of(
    SIZES.map(privacy.Pure),
    SIZES.map(lambda e: privacy.Laplace(scale=1 / e) * 2),
    SIZES.map(lambda e: privacy.Gaussian(sigma=3 / e)),
    SIZES.map(lambda e: privacy.Approximate(e / 10, "1e-10")),
)
BUDGETS = st.builds(Budget, st.sampled_from(["1/10", "1/2", 1, 2]), st.sampled_from([0, "1e-9", "1e-6"]))


@pytest.fixture
def ledger(place: str) -> Iterator[Ledger]:
    with Ledger.create(place, Budget(1)) as ledger:
        yield ledger


class Spending(RuleBasedStateMachine):
    """Analysts ask anything, the curator amends freely; a model adds up what was granted."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = Ledger.create(Path(self.folder.name) / "people.ledger", Budget(1, "1e-6"))
        self.budgets = {Account(): Budget(1, "1e-6")}
        self.granted: list[tuple[set[Account], Cost]] = []
        self.paid: list[Charge] = []

    def teardown(self) -> None:
        self.ledger.verify()
        self.ledger.close()
        self.folder.cleanup()

    def spent(self, account: Account) -> list[Cost]:
        return [price for accounts, price in self.granted if account in accounts]

    def holds(self, account: Account, budget: Budget, more: list[Cost]) -> bool:
        prices = [*self.spent(account), *more]
        if budget.pure:
            return (
                all(p.epsilon is not None for p in prices)
                and sum(p.epsilon or 0 for p in prices) <= budget.epsilon
            )
        return sum(p.rho for p in prices) <= (budget.rho or 0) and sum(p.delta for p in prices) <= budget.delta / 2

    @rule(loss=LOSSES, analyst=NAMES, purpose=NAMES)
    def ask(self, loss: privacy.Loss, analyst: str | None, purpose: str | None) -> None:
        accounts = {Account(), Account(analyst=analyst), Account(purpose=purpose)}
        fits = all(self.holds(a, b, [cost(loss)]) for a, b in self.budgets.items() if a in accounts)
        before = self.ledger.head()
        try:
            charge = self.ledger.reserve(loss, question="how many?", analyst=analyst, purpose=purpose)
        except (BudgetExceeded, NotComposable):
            assert not fits
            assert self.ledger.head() == before
        else:
            assert fits
            self.granted.append((accounts, cost(loss)))
            self.paid.append(charge)

    @precondition(lambda self: self.paid)
    @rule()
    def answer(self) -> None:
        self.ledger.record(self.paid.pop(), "42")
        assert self.ledger.find("how many?") == "42"

    @rule(budget=BUDGETS, analyst=NAMES, purpose=NAMES)
    def amend(self, budget: Budget, analyst: str | None, purpose: str | None) -> None:
        account = Account(analyst=analyst) if analyst else Account(purpose=purpose)
        before = self.ledger.head()
        try:
            if account in self.budgets:
                self.ledger.amend(budget, analyst=account.analyst, purpose=account.purpose)
            else:
                self.ledger.allot(budget=budget, analyst=account.analyst, purpose=account.purpose)
        except ParameterError:
            assert not self.holds(account, budget, [])
            assert self.ledger.head() == before
        else:
            assert self.holds(account, budget, [])
            self.budgets[account] = budget

    @invariant()
    def nobody_overspends(self) -> None:
        for account, budget in self.budgets.items():
            assert self.holds(account, budget, [])
            balance = self.ledger.balance(analyst=account.analyst, purpose=account.purpose)
            assert balance.budget == budget
            assert balance.spent.rho == sum(price.rho for price in self.spent(account))
            assert balance.remaining is not None
            assert balance.remaining >= 0


Spending.TestCase.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
TestSpending = Spending.TestCase


@pytest.mark.parametrize(
    ("loss", "times"), [(privacy.Pure("0.1"), 10), (privacy.Laplace(scale=3), 3), (privacy.Pure(1), 1)]
)
def test_a_budget_can_be_spent_to_the_last(ledger: Ledger, loss: privacy.Loss, times: int) -> None:
    for _ in range(times):
        ledger.reserve(loss, question="?")
    assert ledger.balance().remaining == 0
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve(privacy.Pure("1e-300"), question="?")
    assert str(refused.value) == (
        'Nothing is left of the budget. Try: ledger.amend(budget=Budget(epsilon="2")) (by the curator).'
    )


def test_tiny_charges_are_not_lost(ledger: Ledger) -> None:
    ledger.reserve(privacy.Pure("0.9999999999999999999999999"), question="?")
    for _ in range(10):
        ledger.reserve(privacy.Pure("1e-26"), question="?")
    assert ledger.balance().remaining == 0


def test_big_budgets_and_big_questions(place: str) -> None:
    with Ledger.create(place, Budget(10**250)) as ledger:
        ledger.reserve(privacy.Pure(10**250 - 1), question="?")
        with pytest.raises(BudgetExceeded):
            ledger.reserve(privacy.Pure("1e9000"), question="?")
        assert ledger.balance().remaining == 1
        ledger.verify()


def test_numbers_of_thousands_of_digits_are_charged_a_little_more_than_they_are(ledger: Ledger) -> None:
    ledger.reserve(privacy.Pure("1e-9000"), question="?")
    assert ledger.balance().spent.epsilon == Fraction(1, 10**300)
    ledger.verify()


def test_a_refusal_says_what_it_costs_what_is_left_for_whom_and_what_fits(ledger: Ledger) -> None:
    ledger.allot(analyst="ana", budget=Budget("0.3"))
    ledger.reserve(privacy.Pure("0.18"), question="?", analyst="ana")
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve(privacy.Pure("0.3"), question="?", analyst="ana")
    assert str(refused.value) == (
        'Too expensive: it needs 2.5 times what is left for analyst "ana". '
        'Try: epsilon="0.12" (still fits). The ledger shows which account spent what.'
    )
    ledger.reserve(privacy.Pure("0.12"), question="?", analyst="ana")


def test_what_is_offered_with_a_delta_fits(place: str) -> None:
    with Ledger.create(place, Budget(1, "1e-9")) as ledger:
        with pytest.raises(BudgetExceeded, match=r'it needs \d+ times what is left\. Try: epsilon="1" \(still'):
            ledger.reserve(privacy.Pure(1), question="?")
        with pytest.raises(BudgetExceeded, match=r'keys_delta="5e-10" \(at most\)'):
            ledger.reserve(privacy.Approximate("0.01", "1e-9"), question="?")
        room = ledger.room()
        ledger.reserve(privacy.Approximate("0.01", room.delta), question="?")
        half = Budget(1, "1e-9").rho_of(ledger.room().epsilon) / 2
        ledger.reserve(privacy.ZeroConcentrated(half), question="?")
        ledger.reserve(privacy.ZeroConcentrated(ledger.room().rho), question="?")
        assert ledger.balance().remaining == 0
        assert not ledger.can_afford(privacy.Approximate(0, "1e-15"))
        with pytest.raises(BudgetExceeded, match="Ask with given keys"):
            ledger.reserve(privacy.Approximate(0, "1e-15"), question="?")


@pytest.mark.parametrize("spent", ["0", "0.01", "0.0413", "0.054"])
def test_the_epsilon_that_is_offered_with_a_delta_fits_a_question_with_gaussian_noise(
    tmp_path: Path, spent: str
) -> None:
    with Ledger.create(tmp_path / "people", Budget(2, "1e-9")) as ledger:
        ledger.reserve(privacy.ZeroConcentrated(spent), question="?")
        with pytest.raises(BudgetExceeded) as refused:
            ledger.reserve(privacy.ZeroConcentrated(1), question="?")
        offered = re.search(r'epsilon="([^"]+)" \(still fits\)', str(refused.value))
        assert offered is not None
        rho = Budget(2, "1e-9").rho_of(Fraction(offered[1]))
        assert rho > Fraction("0.98") * (ledger.balance().remaining or 0)
        ledger.reserve(privacy.ZeroConcentrated(rho), question="?")


@given(st.fractions(Fraction(1, 1000), 5, max_denominator=10**6), st.integers(-1, 1))
def test_an_offer_is_the_largest_that_fits_to_its_last_digit(epsilon: Fraction, nudge: int) -> None:
    wanted, budget = Fraction(decimal(epsilon)), Budget(2, "1e-9")
    rho = budget.rho_of(wanted) + Fraction(nudge, 10**60)
    room = Balance(Account(), budget, rho=rho).room
    assert room is not None
    assert budget.rho_of(room.epsilon) <= rho
    assert budget.rho_of(room.epsilon * (1 + Fraction(1, 10**5))) > rho
    assert (room.epsilon == wanted) == (nudge >= 0)


@given(st.fractions(0, 1, max_denominator=10**6), st.integers(-1, 1))
def test_a_pure_offer_is_the_largest_that_fits_to_its_last_digit(epsilon: Fraction, nudge: int) -> None:
    wanted = Fraction(decimal(epsilon))
    rho = max(Fraction(0), wanted**2 / 2 + Fraction(nudge, 10**60))
    found = largest_pure_epsilon(rho)
    assert found**2 / 2 <= rho
    assert (found * (1 + Fraction(1, 10**5)) + Fraction(1, 10**29)) ** 2 / 2 > rho
    assert (found == wanted) == (nudge == 0 or (nudge > 0 and wanted > 0) or (nudge < 0 and wanted == 0))


def test_where_accounts_differ_the_delta_of_the_vault_counts() -> None:
    vault, strict = Budget(2, "1e-9"), Budget(1, "1e-12")
    whole = Balance(Account(), vault).granted(vault)
    ana = Balance(Account(analyst="ana"), strict).granted(strict)
    room = common_room([whole, ana], False)
    assert ana.rho is not None
    assert vault.rho_of(room.epsilon) <= ana.rho < vault.rho_of(room.epsilon * (1 + Fraction(1, 10**5)))
    assert room.epsilon < 1  # at the vault's larger δ the same ρ is a smaller ε


def test_a_pure_account_limits_what_fits_to_its_epsilon_and_to_the_root_of_the_others() -> None:
    vault = Budget(2, "1e-9")
    whole = Balance(Account(), vault).granted(vault)
    small, large = (Balance(Account(analyst="ana"), Budget(epsilon)) for epsilon in ("0.1", 1))
    assert common_room([whole, small], False).epsilon == Fraction(1, 10)
    found = common_room([whole, large], False).epsilon
    assert whole.fits(Cost(found, found**2 / 2))
    assert not whole.fits(Cost(found, (found * (1 + Fraction(1, 10**5))) ** 2 / 2))


def test_an_account_without_delta_takes_no_gaussian_noise(ledger: Ledger) -> None:
    before = ledger.head()
    with pytest.raises(NotComposable, match=r"has no δ, and this question has no pure ε.*ledger\.amend\("):
        ledger.reserve(privacy.Gaussian(sigma=100), question="?")
    assert ledger.head() == before


def test_the_hundredth_charge_takes_as_much_work_as_the_first(tmp_path: Path) -> None:
    class Counted(SQLiteStore):
        steps = 0

        def _set_up(self, connection: Connection) -> None:
            super()._set_up(connection)
            connection.set_progress_handler(self.count, 1)

        def count(self) -> int:
            self.steps += 1
            return 0

    store = Counted(tmp_path / "people.ledger")
    with Ledger.create(store, Budget(1)) as ledger:

        def work() -> int:
            before = store.steps
            ledger.record(
                ledger.reserve(privacy.Pure("0.001"), question="?", analyst="ana", purpose="report"), "1"
            )
            return store.steps - before

        works = [work() for _ in range(100)]
        newest, oldest = list(ledger.entries())[-2], list(ledger.entries())[1]
    assert (
        works[-1] <= works[1] + 20
    )  # instructions of SQLite's virtual machine; a walk over entries takes thousands
    assert len(newest.body) <= len(oldest.body) + 20
