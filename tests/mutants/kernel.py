"""The kernel: a record is looked up first, a refusal is free, the charge comes before the noise."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

SPEND = "tests/kernel/test_spend.py"

KERNEL = [
    Mutant(
        "spend: a record is not looked up",
        "kernel/spend.py",
        "        if standing.answer is not None:",
        "        if False:",
        SPEND,
    ),
    Mutant(
        "spend: rows are not looked at before the charge",
        "kernel/spend.py",
        "    rows = engine.rows  # an engine whose rows cannot be asked refuses here, before the charge",
        "    rows = getattr(getattr(engine, '_engine', engine), 'rows')",
        f"{SPEND}::test_rows_that_refuse_cost_nothing_and_a_retry_is_charged_once",
    ),
    Mutant(
        "spend: charged after the run",
        "kernel/spend.py",
        "        charge = _charged(table, job.losses, keys[-1])\n        result = job.run(charge)",
        "        result = job.run(None)\n        charge = _charged(table, job.losses, keys[-1])",
        f"{SPEND}::test_the_charge_is_on_the_disk_before_noise_is_drawn",
    ),
    Mutant(
        "spend: prepared after the charge",
        "kernel/spend.py",
        "    job = prepare(Ready(engine, rows, standing.balances))",
        "    from discreet.privacy import Pure\n"
        "    table.payer.reserve(Pure('0.1'), keys[-1])\n"
        "    job = prepare(Ready(engine, rows, standing.balances))",
        f"{SPEND}::test_what_preparing_refuses_is_free",
    ),
    Mutant(
        "spend: nothing is recorded",
        "kernel/spend.py",
        "    if (record := job.write(result)) is not None:",
        "    if (record := None) is not None:",
        SPEND,
    ),
    Mutant(
        "spend: charged before the rows are looked at",
        "kernel/spend.py",
        "    engine = table.engine()",
        "    from discreet.privacy import Pure\n"
        "    table.payer.reserve(Pure('0.1'), keys[-1])\n"
        "    engine = table.engine()",
        f"{SPEND}::test_rows_that_refuse_cost_nothing_and_a_retry_is_charged_once",
    ),
    Mutant(
        "spend: the first key is charged",
        "kernel/spend.py",
        "_charged(table, job.losses, keys[-1])",
        "_charged(table, job.losses, keys[0])",
        SPEND,
    ),
    Mutant(
        "vault: answers from test bits are recorded",
        "vault/ask.py",
        "    return None if release.test_bits else json.dumps(",
        "    return json.dumps(",
        SPEND,
    ),
    Mutant(
        "amount: twice the ρ of an epsilon",
        "kernel/amount.py",
        "    return vault.rho_of(exact)",
        "    return 2 * vault.rho_of(exact)",
        "tests/kernel/test_amount.py",
    ),
    Mutant(
        "amount: pure noise is paid for in ρ",
        "kernel/amount.py",
        "pure = strictest_budget(balances).pure",
        "pure = vault.pure",
        "tests/kernel/test_amount.py",
    ),
    Mutant(
        "payer: the analyst's account is not charged",
        "kernel/payer.py",
        "self.ledger.reserve(losses, question=key, analyst=self.analyst, purpose=self.purpose)",
        "self.ledger.reserve(losses, question=key)",
        SPEND,
    ),
]
