"""Oracles that measure first, on all tables of `bench.tables`, beside Gaussian answers paid for one by one.

An analyst asks 3,000 counts over boxes on one to three columns (15, 35, 50 %). Ordered columns are asked for
ranges three times of four, and all else for single levels; half of the questions narrow an earlier one whose
answer was large. ε = 1 at δ = 1e-9 in all. The margin is such that Gaussian noise could pay for N = 1,600, 2,400
or 3,200 answers one by one. Reported are answers in all, the first refusal, free answers, and intervals that
hold:

* for the analyst who narrows, and
* for a hostile analyst who knows the rows, so the noise, and asks the worst of fifty boxes that are free.

All answers of an oracle share the noise of its span, so the share of intervals that hold varies from oracle to
oracle by about 1 %. On few rows (200 to 1,300), where an analyst who narrows follows noise most, several oracles
are asked for that reason.

Run: python -m bench.oracle_spans [table … | few]
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import numpy as np

import discreet as dp
from bench import tables
from bench.figures import figure
from discreet.errors import BudgetExceeded
from discreet.oracle import OraclePlan
from discreet.oracle.span_oracle import SpanOracle

EPSILON, DELTA, QUESTIONS = 1, "1e-9", 3_000
PLAIN = (1_600, 2_400, 3_200)
HOSTILE, TRIED = 40, 50
FEW, FEW_ORACLES, FEW_QUESTIONS = (200, 500, 1_300), 10, 300
COVERED = ("adult", "adult_wide", "binary", "mixed")
"""Tables on which all questions are within reach of a span that promises "each"."""

Box = tuple[tuple[int, int, int], ...]


class Analyst:
    """Asks boxes; half of the questions narrow one whose answer was large."""

    def __init__(self, table: tables.Table, seed: int, *, narrows: bool = True):
        self.table, self.rng, self.narrows = table, np.random.default_rng(seed), narrows
        self.large: list[Box] = []

    def next(self) -> Box:
        rng, columns = self.rng, len(self.table.sizes)
        if self.narrows and self.large and rng.random() < 0.5:
            kept = list(self.large[int(rng.integers(len(self.large)))])
            if len(kept) == 3:
                kept.pop(int(rng.integers(3)))
            left = [i for i in range(columns) if i not in {part[0] for part in kept}]
            return tuple(sorted([*kept, self._part(int(rng.choice(left)))]))
        chosen = rng.choice(columns, int(rng.choice([1, 2, 3], p=[0.15, 0.35, 0.5])), replace=False)
        return tuple(sorted(self._part(int(i)) for i in chosen))

    def hears(self, box: Box, answer: float) -> None:
        if answer > 0.02 * len(self.table):
            self.large = [*self.large[-199:], box]

    def _part(self, i: int) -> tuple[int, int, int]:
        size, rng = self.table.sizes[i], self.rng
        if i in self.table.ordered and rng.random() < 0.75:
            low, high = sorted(int(x) for x in rng.integers(0, size, 2))
            return i, low, high
        low = int(rng.integers(size))
        return i, low, low


@dataclass
class Outcome:
    """What came of one stream."""

    plan: OraclePlan
    answered: int = 0
    free: int = 0
    first: int = QUESTIONS
    held: list[bool] = field(default_factory=list)
    hostile: list[bool] = field(default_factory=list)
    milliseconds: float = 0.0


def written(table: tables.Table, box: Box) -> str:
    parts = [
        f"{table.names[i]} between {low} and {high}"
        if i in table.ordered
        else f"{table.names[i]} = '{table.names[i]}{low}'"
        for i, low, high in box
    ]
    return f"select count(*) from people where {' and '.join(parts)}"


def truth(table: tables.Table, box: Box) -> int:
    met = np.ones(len(table), bool)
    for i, low, high in box:
        met &= (table.codes[:, i] >= low) & (table.codes[:, i] <= high)
    return int(met.sum())


def stream(table: tables.Table, vault: dp.Vault, promise: str, plain: int, seed: int) -> Outcome:
    rho = float(vault.ledger.balance().budget.rho_of(Fraction(EPSILON)))  # type: ignore[union-attr]
    within = math.ceil(NormalDist().inv_cdf(0.975) * math.sqrt(plain / (2 * rho)))
    with vault.oracle(
        list(table.names), epsilon=EPSILON, within=within, promise=promise, queries=QUESTIONS, name=f"{plain}"
    ) as oracle:
        assert isinstance(oracle, SpanOracle)
        outcome, analyst = Outcome(oracle.plan), Analyst(table, seed)
        spent = 0.0
        for t in range(QUESTIONS):
            box = analyst.next()
            question, start = written(table, box), time.process_time()
            try:
                answer = oracle.ask(question)
            except BudgetExceeded:
                outcome.first = min(outcome.first, t)
                continue
            finally:
                spent += time.process_time() - start
            outcome.answered, outcome.free = outcome.answered + 1, outcome.free + answer.free
            outcome.held.append(answer.low <= truth(table, box) <= answer.high)
            analyst.hears(box, answer.value)
        outcome.milliseconds = 1000 * spent / QUESTIONS
        if oracle.plan.share and plain == PLAIN[len(PLAIN) // 2]:
            outcome.hostile = list(hostile(table, oracle, seed, HOSTILE if promise == "every" else HOSTILE // 4))
    return outcome


def hostile(table: tables.Table, oracle: SpanOracle, seed: int, rounds: int) -> list[bool]:
    """Ask the worst of some boxes that are free, for an analyst who knows the true counts."""
    analyst, held = Analyst(table, seed + 900, narrows=False), []
    left = oracle.total - oracle.spent
    for _ in range(rounds):
        worst = 0.0
        for _ in range(TRIED):
            box = analyst.next()
            try:
                answer = oracle.ask(written(table, box))
            except BudgetExceeded:
                continue
            if answer.free and answer.how[0] in ("span", "certified"):
                middle = (answer.low + answer.high) / 2
                worst = max(worst, abs(truth(table, box) - middle) / max(answer.error, 1e-9))
        held.append(worst <= 1)
    assert oracle.total - oracle.spent <= left
    return held


def few_rows() -> None:
    """Report how many intervals hold for an analyst who narrows on few rows, over several oracles."""
    whole, shares = tables.small(), dict[str, list[float]]()
    for count in FEW:
        rows = np.random.default_rng(count).choice(len(whole), count)
        table = replace(whole, codes=whole.codes[rows])
        with tempfile.TemporaryDirectory() as folder, table.seal(folder, dp.Budget(60, DELTA)) as vault:
            for number in range(FEW_ORACLES):
                for promise in ("each", "every"):
                    share = few_answers(table, vault, promise, number)
                    shares.setdefault(promise, []).append(share)
    for promise, found in shares.items():
        print(f"{'few rows':12}{promise:8} held {np.mean(found):.3f}, from oracle to oracle ± {np.std(found):.3f}")
        figure(f"oracle_few_rows_{promise}_coverage", float(np.mean(found)), 0.95, at_least=True)


def few_answers(table: tables.Table, vault: dp.Vault, promise: str, number: int) -> float:
    """Return the share of intervals that hold in one short conversation."""
    with vault.oracle(
        list(table.names), epsilon=1, within=460, promise=promise, queries=QUESTIONS, name=f"{number}"
    ) as oracle:
        analyst, held = Analyst(table, number), []
        for _ in range(FEW_QUESTIONS):
            box = analyst.next()
            answer = oracle.ask(written(table, box))
            held.append(answer.low <= truth(table, box) <= answer.high)
            analyst.hears(box, answer.value)
    return float(np.mean(held))


def main(chosen: list[str]) -> None:
    memory = Path("/dev/shm")
    print(
        f"{'':12}{'promise':8}{'N':>6}{'share':>7}{'free':>7}{'floor':>7}{'answers':>9}{'refusal':>9}{'free':>7}"
        f"{'held':>7}{'hostile':>9}{'ms':>6}"
    )
    for table in [] if chosen == ["few"] else tables.every(*chosen):
        with (
            tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder,
            table.seal(folder, dp.Budget(20, DELTA)) as vault,
        ):
            times = []
            for promise in ("each", "every"):
                outcomes = []
                for plain in PLAIN:
                    outcomes.append(stream(table, vault, promise, plain, seed=plain))
                    print(line(table.name, promise, outcomes[-1]), flush=True)
                report(table.name, promise, outcomes)
                times += [found.milliseconds for found in outcomes]
        figure(f"oracle_{table.name}_ms_per_question", max(times), 5, at_least=False)
    if chosen in ([], ["few"]):
        few_rows()


def line(name: str, promise: str, found: Outcome) -> str:
    hostility = f"{np.mean(found.hostile):9.3f}" if found.hostile else f"{'—':>9}"
    return (
        f"{name:12}{promise:8}{found.plan.plain:6}{float(found.plan.share):7.2f}{found.plan.free:7.3f}"
        f"{found.plan.floor:7}{found.answered:9}{found.first:9}{found.free:7}{np.mean(found.held):7.3f}"
        f"{hostility}{found.milliseconds:6.1f}"
    )


def report(name: str, promise: str, outcomes: list[Outcome]) -> None:
    """Print the figures of one table: answers and first refusals in units of plain payments, and coverage."""
    plain = [min(found.plan.plain, QUESTIONS) for found in outcomes]
    wanted = [QUESTIONS if name in COVERED and promise == "each" else count for count in plain]
    answers = min(found.answered / goal for found, goal in zip(outcomes, wanted, strict=True))
    refusal = min(found.first / count for found, count in zip(outcomes, plain, strict=True))
    held = np.concatenate([found.held for found in outcomes])
    # Of some thousand answers that hold with 95 %, fewer do half of the time: three standard errors are allowed.
    slack = 3 * math.sqrt(0.05 * 0.95 / len(held))
    figure(f"oracle_{name}_{promise}_answers", answers, 1, at_least=True)
    figure(f"oracle_{name}_{promise}_first_refusal", refusal, 1, at_least=True)
    figure(f"oracle_{name}_{promise}_coverage", float(held.mean()), 0.95 - slack, at_least=True)
    asked = [kept for found in outcomes for kept in found.hostile]
    if promise == "every" and asked:
        figure(f"oracle_{name}_{promise}_hostile_coverage", float(np.mean(asked)), 0.95, at_least=True)


if __name__ == "__main__":
    main(sys.argv[1:])
