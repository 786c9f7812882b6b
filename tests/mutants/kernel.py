"""The kernel: a record is looked up first, a refusal is free, the charge comes before the noise."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

SPEND = "tests/kernel/test_spend.py"
RESUME = "tests/kernel/test_resume.py"

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
        "        charge = _charged(table, job, keys[-1], resumable)\n"
        "        with _telling(), _closing(table, charge) if resumable else nullcontext():\n"
        "            result = job.run(charge)",
        "        result = job.run(None)\n"
        "        charge = _charged(table, job, keys[-1], resumable)\n"
        "        with _telling(), _closing(table, charge) if resumable else nullcontext():",
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
        "            record = job.write(result)\n",
        "            record = None if not resumable else job.write(result)\n",
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
        "_charged(table, job, keys[-1], resumable)",
        "_charged(table, job, keys[0], resumable)",
        SPEND,
    ),
    Mutant(
        "spend: what is kept is for every account",
        "kernel/spend.py",
        "keys[-1], table.payer.analyst, table.payer.purpose)",
        "keys[-1], None, None)",
        f"{RESUME}::test_what_could_not_be_recorded_is_kept_for_the_account_that_paid",
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
        "losses, question=key, analyst=self.analyst, purpose=self.purpose, resumable=resumable",
        "losses, question=key, resumable=resumable",
        SPEND,
    ),
    Mutant(
        "spend: a real vault is asked with test bits",
        "kernel/spend.py",
        "    if bits_in_use() is not None and not table.payer.ledger.for_tests:",
        "    if False:",
        f"{RESUME}::test_a_real_vault_is_not_asked_with_predictable_noise",
    ),
    Mutant(
        "spend: a seen failure leaves its charge open",
        "kernel/spend.py",
        "            table.payer.fail(charge, type(failure).__name__)",
        "            pass",
        f"{RESUME}::test_a_failure_that_was_seen_closes_its_charge",
    ),
    Mutant(
        "spend: a failure that may depend on the noise is shown, and drawn again",
        "kernel/spend.py",
        "            raise _unrecorded(error, True) from None  # not the failure: it might depend on the noise",
        "            raise failure",
        f"{RESUME}::test_a_failure_that_the_ledger_cannot_be_told_looks_like_a_failed_record",
    ),
    Mutant(
        "spend: an answer that could not be recorded is shown",
        "kernel/spend.py",
        "        raise _unrecorded(error, kept.silent) from error",
        "        return True",
        f"{RESUME}::test_an_answer_that_could_not_be_recorded_is_kept_and_the_retry_is_free",
    ),
    Mutant(
        "spend: each of two processes shows its own draw",
        "kernel/spend.py",
        "        return read(table.payer.standing(keys[-1]))  # another process was faster",
        "        return result",
        f"{RESUME}::test_of_two_processes_on_one_charge_both_show_what_was_recorded_first",
    ),
    Mutant(
        "spend: what shows progress is drawn again for nothing",
        "kernel/spend.py",
        "    resumable = job.silent and bits_in_use() is None",
        "    resumable = bits_in_use() is None",
        f"{RESUME}::test_what_shows_something_before_it_is_recorded_is_not_resumed",
    ),
    Mutant(
        "ledger: another price resumes a charge",
        "ledger/ledger.py",
        "                if terms().items() <= entry.content.items():",
        "                if entry.content.get('resumable'):",
        f"{RESUME}::test_only_the_same_price_and_the_same_account_resume_a_charge",
    ),
    Mutant(
        "ledger: what was not silent is resumed",
        "ledger/ledger.py",
        '**({"resumable": True} if resumable else {})',
        "**{}",
        f"{RESUME}::test_a_charge_of_a_job_that_is_not_silent_is_not_resumed_by_one_that_is",
    ),
]
