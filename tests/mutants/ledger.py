"""The ledger: which account may spend, what is added up, what is written, and in which order."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ACCOUNTS = "tests/ledger/test_accounts.py"
SPENDING = "tests/ledger/test_spending.py"
TAMPERING = "tests/ledger/test_tampering.py"
RELEASES = "tests/ledger/test_releases.py"
POSTGRES = "tests/ledger/test_concurrency.py tests/ledger/store/test_postgres.py"

LEDGER = [
    Mutant(
        "admission: the whole alone is asked",
        "ledger/admission.py",
        "    for balance in balances:\n        if not balance.fits(cost):",
        "    for balance in balances[:1]:\n        if not balance.fits(cost):",
        ACCOUNTS,
    ),
    Mutant(
        "admission: what a question costs is not asked",
        "ledger/balance.py",
        "after = self.spent + cost",
        "after = self.spent",
        SPENDING,
    ),
    Mutant(
        "admission: a strict ledger serves strangers",
        "ledger/admission.py",
        "if balance.budget is None and strict:",
        "if False:",
        ACCOUNTS,
    ),
    Mutant(
        "room: a larger ε is offered than fits",
        "ledger/balance.py",
        "if epsilon > 0 and largest_rho(epsilon, delta) <= rho)",
        "if epsilon > 0)",
        SPENDING,
    ),
    Mutant(
        "room: the δ of a stricter account counts",
        "ledger/admission.py",
        "return largest_epsilon(min(rho), vault.key_delta)",
        "return largest_epsilon(min(rho), min(budget.key_delta for budget, _ in limited))",
        SPENDING,
    ),
    Mutant(
        "room: a pure release is paid in ρ as any other",
        "ledger/admission.py",
        "return min([*pure, *map(largest_pure_epsilon, rho)])",
        "return min(pure)",
        SPENDING,
    ),
    Mutant(
        "balance: δ of selected keys without a limit",
        "ledger/balance.py",
        "return after.rho <= (self.rho or 0) and after.delta <= self.budget.key_delta",
        "return after.rho <= (self.rho or 0)",
        SPENDING,
    ),
    Mutant(
        "balance: a charge counts, its cost does not add up",
        "ledger/balance.py",
        "return replace(self, spent=self.spent + cost, charges=self.charges + 1)",
        "return replace(self, spent=cost, charges=self.charges + 1)",
        SPENDING,
    ),
    Mutant(
        "accounts: a purpose is not touched",
        "ledger/transitions.py",
        "return [Account(), *named]",
        "return [Account(), *named[:1]]",
        ACCOUNTS,
    ),
    Mutant(
        "accounts: what was spent before an allotment is forgiven",
        "ledger/balance.py",
        "return replace(self, budget=budget, rho=budget.rho)",
        "return replace(self, budget=budget, rho=budget.rho, spent=NOTHING)",
        ACCOUNTS,
    ),
    Mutant(
        "accounts: a budget falls below what was spent",
        "ledger/transitions.py",
        "    if after.fits(NOTHING):\n        return after\n",
        "    if after:\n        return after\n",
        ACCOUNTS,
    ),
    Mutant(
        "accounts: two spellings of a name are two analysts",
        "ledger/account.py",
        'name = unicodedata.normalize("NFC", value)',
        "name = value",
        ACCOUNTS,
    ),
    Mutant(
        "costs: sums rounded down",
        "ledger/costs.py",
        "Fraction(-(-value.numerator * _GRID // value.denominator), _GRID)",
        "Fraction(value.numerator * _GRID // value.denominator, _GRID)",
        "tests/ledger/test_costs.py",
    ),
    Mutant(
        "costs: sums are floats",
        "ledger/costs.py",
        "if value.denominator.bit_length() <= _BITS:\n        return value",
        "if value.denominator.bit_length() <= _BITS:\n        return Fraction(float(value))",
        SPENDING,
    ),
    Mutant(
        "costs: repetitions cost once",
        "ledger/costs.py",
        "total += Cost(epsilon, count * single.rho, count * single.delta)",
        "total += Cost(epsilon, single.rho, count * single.delta)",
        "tests/ledger/test_costs.py",
    ),
    Mutant(
        "budget: ρ converted at the whole δ, half of which is for keys",
        "ledger/budget.py",
        "largest_rho(self.epsilon, self.delta / 2)",
        "largest_rho(self.epsilon, self.delta)",
        "tests/ledger/test_budget.py",
    ),
    Mutant(
        "chain: the hash before is not hashed",
        "ledger/entry.py",
        'text = "\\n".join((previous, str(number), str(time), str(kind), str(body)))',
        'text = "\\n".join((str(number), str(time), str(kind), str(body)))',
        TAMPERING,
    ),
    Mutant(
        "chain: an entry is believed as it is read",
        "ledger/entry.py",
        "if entry.hash != expected:",
        "if False:",
        TAMPERING,
    ),
    Mutant(
        "chain: an entry is found under another name than its own",
        "ledger/entry.py",
        "if own != keys:",
        "if False:",
        TAMPERING,
    ),
    Mutant(
        "books: sums are taken as they are written",
        "ledger/transitions.py",
        'if {balance.account.role: written(balance) for balance in after} != content["after"]:',
        "if False:",
        TAMPERING,
    ),
    Mutant(
        "books: a charge that no account could afford is believed",
        "ledger/transitions.py",
        "        admit(before, cost, strict)\n",
        "",
        TAMPERING,
    ),
    Mutant(
        "books: a tail cut off is not seen",
        "ledger/transitions.py",
        "if since is not None and head.number < since.number:",
        "if False:",
        TAMPERING,
    ),
    Mutant(
        "ledger: one charge pays for two answers",
        "ledger/ledger.py",
        "if rows.release_of(charge.number) is not None:",
        "if False:",
        RELEASES,
    ),
    Mutant(
        "ledger: a charge of another ledger pays",
        "ledger/ledger.py",
        "if reserved is None or reserved.hash != charge.hash:",
        "if reserved is None:",
        RELEASES,
    ),
    Mutant(
        "ledger: balances read before the lock",
        "ledger/ledger.py",
        "        with self._store.write() as rows:\n"
        "            before = [_balance(rows, account) for account in accounts]\n",
        "        before = self._balances(accounts)\n        with self._store.write() as rows:\n",
        "tests/ledger/test_concurrency.py",
    ),
    Mutant(
        "SQLite: a writer does not keep others out",
        "ledger/store/sqlite.py",
        '        with self._ledger("BEGIN IMMEDIATE") as connection:',
        '        with self._ledger("BEGIN") as connection:',
        "tests/ledger/test_concurrency.py",
    ),
    Mutant(
        "SQLite: an interrupted transaction is kept",
        "ledger/store/sqlite.py",
        "            finally:\n                _roll_back(connection)\n",
        "            finally:\n                connection.rows('COMMIT') if connection.in_transaction else None\n",
        "tests/ledger/test_crashes.py",
    ),
    Mutant(
        "SQLite: a file that took its place gets the charge",
        "ledger/store/sqlite.py",
        "if not self._connections.same_file():",
        "if False:",
        "tests/ledger/test_failures.py",
    ),
    Mutant(
        "PostgreSQL: no lock",
        "ledger/store/postgres.py",
        'with self._ledger(f"LOCK TABLE {self._table} IN EXCLUSIVE MODE") as connection:',
        'with self._ledger("SET TRANSACTION READ WRITE") as connection:',
        POSTGRES,
    ),
    Mutant(
        "PostgreSQL: the snapshot is taken before the lock",
        "ledger/store/postgres.py",
        '{self._settings}; {first}"',
        '{self._settings}; SELECT count(*) FROM pg_catalog.pg_class; {first}"',
        POSTGRES,
    ),
]
