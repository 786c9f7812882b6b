"""The vault: what one person weighs, how far they move what is measured, and what is charged before it is run."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

SEALING = "tests/sealing/test_seal.py"
MEASURES = "tests/query/plan/test_linear_queries.py"
KEYS = "tests/query/plan/test_partition_selection.py"
QUANTILES = "tests/query/plan/test_quantiles.py"
PLAN = "tests/query/plan/test_plan.py"
ASKING = "tests/vault/test_vault.py"

VAULT = [
    Mutant(
        "sealing: weights rounded up",
        "sealing/seal.py",
        "{dialect.division.format(UNIT * allowed, 'n')}",
        "{dialect.division.format(UNIT * allowed + UNIT - 1, 'n')}",
        SEALING,
    ),
    Mutant(
        "sealing: one row more than allowed weighs in full",
        "sealing/seal.py",
        "CASE WHEN n <= {allowed} THEN",
        "CASE WHEN n <= {allowed} + 1 THEN",
        f"{SEALING}::test_weights_are_rounded_down",
    ),
    Mutant(
        "sealing: one spot too many",
        "sealing/seal.py",
        "OVER (PARTITION BY person ORDER BY {order}) <= {allowed}",
        "OVER (PARTITION BY person ORDER BY {order}) <= {allowed} + 1",
        SEALING,
    ),
    Mutant(
        "sealing: everybody keeps the same texts",
        "sealing/seal.py",
        'for name in ("key", *codes))',
        "for name in codes)",
        f"{SEALING}::test_persons_keep_different_spots_of_the_same_rows",
    ),
    Mutant(
        "sealing: rows of nobody are lost",
        "sealing/seal.py",
        '"WHERE r.key IS NULL) AS weighed"',
        '"WHERE false) AS weighed"',
        SEALING,
    ),
    Mutant(
        "measures: rows_per_person forgotten",
        "query/plan/linear_queries.py",
        "whole = rows_per_person * UNIT",
        "whole = UNIT",
        f"{MEASURES} {PLAN}",
    ),
    Mutant(
        "measures: a person counts once in all groups together",
        "query/plan/linear_queries.py",
        "return _sensitivity(groups, whole * self.bound, each, self.monotonic)",
        "return _sensitivity(groups, each, each, self.monotonic)",
        f"{MEASURES} src/discreet/query/plan/linear_queries.py",
    ),
    Mutant(
        "measures: codes above their bound counted as they are",
        "query/plan/linear_queries.py",
        '(ir.compared(">", term.code, signed(term.high)), signed(at(term.high))),',
        "",
        MEASURES,
    ),
    Mutant(
        "measures: a sum below zero said to rise",
        "query/plan/linear_queries.py",
        "monotonic=min(line.at(term.low), line.at(term.high)) >= 0,",
        "monotonic=True,",
        MEASURES,
    ),
    Mutant(
        "keys: K texts, and δ for one",
        "query/plan/partition_selection.py",
        "min(Fraction(1), 2 * exact / rows_per_person)",
        "min(Fraction(1), 2 * exact)",
        KEYS,
    ),
    Mutant(
        "keys: the threshold without the person's own weight",
        "query/plan/partition_selection.py",
        "return Selection(mechanism, exact, unit + tail)",
        "return Selection(mechanism, exact, tail)",
        KEYS,
    ),
    Mutant(
        "keys: δ not charged",
        "query/plan/partition_selection.py",
        "return self.mechanism.loss, Approximate(0, self.delta)",
        "return (self.mechanism.loss,)",
        f"{KEYS} {PLAN}",
    ),
    Mutant(
        "keys: rows that are no spot name texts",
        "query/plan/partition_selection.py",
        "return mark if where is None else ir.both(where, mark)",
        "return mark if where is None else where",
        f"{KEYS}::test_a_filter_does_not_let_a_person_touch_more_partitions",
    ),
    Mutant(
        "quantiles: sensitivity of the lesser part",
        "query/plan/quantiles.py",
        "max(share.numerator, share.denominator - share.numerator)",
        "min(share.numerator, share.denominator - share.numerator)",
        f"{QUANTILES}::test_mechanisms_are_built_for_the_larger_part_of_a_person_s_weight",
    ),
    Mutant(
        "quantiles: two choices charged, and three made",
        "query/plan/quantiles.py",
        "return self.value.loss, self.end.loss, self.end.loss",
        "return self.value.loss, self.end.loss",
        f"{QUANTILES}::test_a_quantile_costs_what_it_was_given",
    ),
    Mutant(
        "quantiles: ends without their reach",
        "query/plan/quantiles.py",
        "far, last = ranking.margin + 1, ranking.cells - 1",
        "far, last = 1, ranking.cells - 1",
        f"{QUANTILES}::test_intervals_hold_every_quantile_as_often_as_stated",
    ),
    Mutant(
        "plan: quantiles are free",
        "query/plan/plan.py",
        "return (*selected, *(noise.loss for noise in self.noises.values()), *ranks)",
        "return (*selected, *(noise.loss for noise in self.noises.values()))",
        PLAN,
    ),
    Mutant(
        "plan: twice the ρ of its epsilon",
        "query/plan/plan.py",
        "given if budget.pure else budget.rho_of(given)",
        "given if budget.pure else 2 * budget.rho_of(given)",
        PLAN,
    ),
    Mutant(
        "plan: texts beside the budget, not out of it",
        "query/plan/plan.py",
        "each = calibration.divide(made, total * (1 - selecting), setting)",
        "each = calibration.divide(made, total, setting)",
        f"{PLAN} {KEYS}",
    ),
    Mutant(
        "cells: rows without a key are in no group",
        "query/plan/group_index.py",
        "alone = width == 1 and self._declared[0].missing",
        "alone = False",
        "tests/query/answer/test_execute.py::test_rows_without_a_value_of_the_only_key_are_a_group_of_their_own",
    ),
    Mutant(
        "vault: the budget of the whole where an account is stricter",
        "kernel/payer.py",
        "return min(budgets, key=lambda budget: (budget.delta, budget.epsilon))",
        "return budgets[0]",
        "tests/vault/test_strict_accounts.py",
    ),
    Mutant(
        "vault: one answer for all versions of the rows",
        "query/cache_key.py",
        'return f"{metadata.name} version {metadata.version} ({mark}): {price}"',
        'return f"{metadata.name}: {price}"',
        f"{ASKING}::test_new_rows_are_another_question_under_the_same_ledger",
    ),
    Mutant(
        "vault: one answer for all tables of one version number",
        "query/cache_key.py",
        'return f"{metadata.name} version {metadata.version} ({mark}): {price}"',
        'return f"{metadata.name} version {metadata.version}: {price}"',
        f"{ASKING}::test_other_rows_of_the_same_version_number_are_another_question",
    ),
    Mutant(
        "place: rows are used with any description",
        "vault/storage/__init__.py",
        "if engine.fingerprint() != metadata.fingerprint:",
        "if False:",
        f"{ASKING}::test_a_description_that_its_rows_were_not_sealed_with_is_not_believed",
    ),
    Mutant(
        "description: rows_per_person not in its mark",
        "schema/metadata.py",
        "bounds = [self.version, self.sealed_at, self.person, self.rows_per_person]",
        "bounds = [self.version, self.sealed_at, self.person]",
        f"{ASKING}::test_a_description_that_its_rows_were_not_sealed_with_is_not_believed",
    ),
    Mutant(
        "belonging: any ledger is the vault's own",
        "vault/storage/ledger_binding.py",
        'return metadata.ledger not in ("", ledger.first.hash)',
        "return False",
        "tests/vault/storage/test_ledger_binding.py::test_the_ledger_of_another_vault_is_not_believed",
    ),
    Mutant(
        "description: its ledger not in its mark",
        "schema/metadata.py",
        "bound = [self.ledger] if self.ledger else []",
        "bound = list[str]()",
        "tests/vault/storage/test_ledger_binding.py::test_a_description_that_is_made_to_fit_a_new_ledger_does_not_fit_the_rows",
    ),
    Mutant(
        "within: every step as sure as the whole",
        "query/plan/relative_accuracy.py",
        "confidence=1 - alpha / 2 ** (i + 1)",
        "confidence=1 - alpha",
        "tests/query/plan/test_relative_accuracy.py",
    ),
    Mutant(
        "receipt: the promise is converted at all of δ",
        "release/receipt.py",
        "min(budget.key_delta, budget.delta - cost.delta)",
        "budget.delta",
        "tests/release/test_label.py",
    ),
    Mutant(
        "receipt: the proof of one release is that of several",
        "release/receipt.py",
        "losses=losses, proven=None)",
        "losses=losses)",
        "tests/release/test_label.py",
    ),
    Mutant(
        "refusal: what is offered is not checked",
        "vault/refusal.py",
        "return made if affordable(made) else None",
        "return made",
        "tests/vault/test_refusal.py",
    ),
    Mutant(
        "refusal: a pure release is offered all of a ρ",
        "kernel/refusal.py",
        'return largest_pure_epsilon(left) if pure and balance.unit == "ρ" else left',
        "return left",
        "tests/kernel/test_refusal.py",
    ),
]
