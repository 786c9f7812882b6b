"""The oracle beside what one would do without it, on streams of 10,000 adaptive questions.

An analyst asks counts over conditions on one to three columns, and looks closer where an answer was large: half of
the questions narrow an earlier one. Two tables: eight columns of Adult (3.9 million cells, 48,842 persons), and
sixteen yes-no columns (2¹⁶ cells, 50,000 persons drawn from a mixture). Everyone has ε = 1 at δ = 1e-9 in all, and
an answer is good if it is within α of the rows.

* Laplace, whose noise is within α with 95 %, under advanced composition; and Gaussian noise under zCDP beside it.
* The lecture notes' private multiplicative weights, calibrated by their theorem.
* PMW-Bypass, written from its paper (Kostopoulou and others, SOSP 2023): answers go by the histogram where each
  bin of the question was updated often enough, and past it by Laplace noise elsewhere, which also updates it from
  outside; a check that fails costs 3ε to start again. The paper adds up ε; here it has zCDP, and the exact step
  instead of its learning rate, which both help it.
* This oracle, which measures first and tests predictions of the rest: the default of `vault.oracle`.
* The offline optimum: all ρ spent at once on all pairs of columns, for someone who knows that only these matter.

Afterwards `bench.oracle_spans` asks boxes of all tables of `bench.tables`.

Run: python -m bench.oracle [questions]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray

import discreet as dp
from bench import oracle_spans
from bench.figures import figure
from discreet.errors import BudgetExceeded
from discreet.mechanisms import Exact
from discreet.oracle.dense_table import project, scale, scale_box
from discreet.oracle.fit import Measurement
from discreet.oracle.hypothesis import Dense
from discreet.oracle.textbook.pmw import PrivateMultiplicativeWeights
from discreet.privacy.theorems import composition
from discreet.privacy.theorems.calibration import largest
from discreet.privacy.theorems.conversions import zcdp_to_approximate

EPSILON, DELTA = 1, "1e-9"
ALPHA = {"adult": "0.012", "binary": "0.011"}
"""Such that Laplace noise answers about a tenth of the stream: with more there would be nothing to compare."""

ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult"  # beside the project, if it is there
COLUMNS = ["age", "workclass", "education-num", "marital-status", "relationship", "race", "sex", "income>50K"]
STEADY = 0.2
"""The last part of a stream, in which everyone has learned what they can."""

Condition = tuple[int, frozenset[int]]
Question = tuple[Condition, ...]


@dataclass
class Rows:
    """A table of codes, and which of its columns are numbers."""

    names: list[str]
    sizes: list[int]
    codes: NDArray[np.int64]
    numbers: set[int]
    _met: dict[Condition, NDArray[np.bool_]] = field(default_factory=dict)

    def truth(self, question: Question) -> int:
        met = np.ones(len(self.codes), bool)
        for column, values in question:
            if (column, values) not in self._met:
                self._met[column, values] = np.isin(self.codes[:, column], list(values))
            met = met & self._met[column, values]
        return int(met.sum())

    def weights(self, question: Question) -> tuple[tuple[int, ...], NDArray[np.float64]]:
        columns = tuple(sorted(column for column, _ in question))
        table = np.ones([self.sizes[i] for i in columns])
        for column, values in question:
            inside = np.zeros(self.sizes[column])
            inside[list(values)] = 1
            table = table * inside.reshape([-1 if i == column else 1 for i in columns])
        return columns, table


def adult() -> Rows:
    header = (ADULT / "adult.csv").open().readline().strip().split(",")
    sizes = json.loads((ADULT / "adult-domain.json").read_text())
    codes = np.loadtxt(ADULT / "adult.csv", delimiter=",", skiprows=1, dtype=np.int64)
    names = [name.replace("-", "_").replace(">", "_") for name in COLUMNS]
    return Rows(names, [sizes[c] for c in COLUMNS], codes[:, [header.index(c) for c in COLUMNS]], {0, 2})


def binary(rows: int = 50_000, columns: int = 16, kinds: int = 6) -> Rows:
    """Yes-no columns that depend on each other through a few kinds of people."""
    rng = np.random.default_rng(16)
    chances = rng.beta(0.7, 1.2, (kinds, columns))
    kind = rng.choice(kinds, rows, p=rng.dirichlet(np.full(kinds, 2.0)))
    codes = (rng.random((rows, columns)) < chances[kind]).astype(np.int64)
    return Rows([f"a{i}" for i in range(columns)], [2] * columns, codes, set())


class Analyst:
    """Asks, and looks closer at what turned out large."""

    def __init__(self, rows: Rows, seed: int):
        self._rows, self._rng = rows, np.random.default_rng(seed)
        self._large: list[Question] = []

    def next(self) -> Question:
        rng, columns = self._rng, len(self._rows.sizes)
        if self._large and rng.random() < 0.5:
            kept = list(self._large[int(rng.integers(len(self._large)))])
            if len(kept) == 3:
                kept.pop(int(rng.integers(3)))
            free = [i for i in range(columns) if i not in {column for column, _ in kept}]
            return (*kept, self._condition(int(rng.choice(free))))
        chosen = rng.choice(columns, int(rng.choice([1, 2, 3], p=[0.15, 0.35, 0.5])), replace=False)
        return tuple(self._condition(int(column)) for column in chosen)

    def hears(self, question: Question, answer: float) -> None:
        if answer > 0.02 * len(self._rows.codes):
            self._large = [*self._large[-199:], question]

    def _condition(self, column: int) -> Condition:
        size, rng = self._rows.sizes[column], self._rng
        kind = rng.random()
        if column in self._rows.numbers and kind < 0.6:
            low, high = sorted(rng.integers(0, size, 2))
            return column, frozenset(range(int(low), int(high) + 1))
        if kind < 0.8 or size == 2:
            return column, frozenset([int(rng.integers(size))])
        count = int(rng.integers(2, max(3, size // 2 + 1)))
        return column, frozenset(int(code) for code in rng.choice(size, count, replace=False))


@dataclass
class Outcome:
    """What came of a stream: for each answer its error in rows, whether it was free, and if its interval held."""

    name: str
    errors: list[float] = field(default_factory=list)
    free: list[bool] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    seconds: float = 0.0

    def good(self, width: float) -> int:
        return sum(error <= width for error in self.errors)

    def line(self, width: float, questions: int) -> str:
        late = self.free[int((1 - STEADY) * questions) :]
        steady = f"{np.mean(late):8.1%}" if len(self.free) == questions and late else f"{'—':>8}"
        held = f"{np.mean(self.held):8.1%}" if self.held else f"{'—':>8}"
        middle = f"{np.median(self.errors):8.0f}" if self.errors else f"{'—':>8}"
        return (
            f"{self.name:34}{len(self.errors):9}{self.good(width):9}{np.mean(self.free or [False]):8.1%}{steady}"
            f"{held}{middle}{self.seconds:9.0f}"
        )


def stream(
    name: str,
    rows: Rows,
    seed: int,
    questions: int,
    ask: Callable[[Question], tuple[float, bool, bool | None] | None],
) -> Outcome:
    """Let the analyst ask until the questions or the budget end."""
    analyst, outcome, start = Analyst(rows, seed), Outcome(name), time.process_time()
    for _ in range(questions):
        question = analyst.next()
        said = ask(question)
        if said is None:
            break
        outcome.errors.append(abs(said[0] - rows.truth(question)))
        outcome.free.append(said[1])
        if said[2] is not None:
            outcome.held.append(said[2])
        analyst.hears(question, said[0])
    outcome.seconds = time.process_time() - start
    return outcome


def ours(rows: Rows, alpha: str, seed: int, questions: int) -> Outcome:
    columns = {
        name: dp.Integer(0, size - 1, missing=0)
        if i in rows.numbers
        else dp.Category([str(code) for code in range(size)], missing="0")
        for i, (name, size) in enumerate(zip(rows.names, rows.sizes, strict=True))
    }
    table = {
        name: rows.codes[:, i] if i in rows.numbers else rows.codes[:, i].astype(str)
        for i, name in enumerate(rows.names)
    }
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        vault = dp.Vault.seal(
            pyarrow.table(table),
            to=f"{folder}/people.vault",
            name="people",
            person=None,
            columns=columns,
            budget=dp.Budget(10, DELTA),
        )
        with (
            vault,
            vault.oracle(rows.names, epsilon=EPSILON, within=alpha, queries=questions) as opened,
        ):

            def ask(question: Question) -> tuple[float, bool, bool | None] | None:
                try:
                    answer = opened.ask(_written(rows, question))
                except BudgetExceeded:
                    return None
                return answer.value, answer.free, answer.low <= rows.truth(question) <= answer.high

            return stream("this oracle", rows, seed, questions, ask)


def _written(rows: Rows, question: Question) -> str:
    listed = [
        f"{rows.names[column]} in ({', '.join(_value(rows, column, value) for value in sorted(values))})"
        for column, values in sorted(question, key=lambda part: part[0])
    ]
    return f"select count(*) from people where {' and '.join(listed)}"


def _value(rows: Rows, column: int, value: int) -> str:
    return str(value) if column in rows.numbers else f"'{value}'"


def laplace_count(rows: int, alpha: str) -> int:
    """How many answers Laplace noise gives that is within α with 95 %, under advanced composition."""
    each = Fraction(np.log(20) / (float(alpha) * rows))
    low, high = 0, 1
    while composition.advanced(each, high, DELTA) <= EPSILON:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if composition.advanced(each, middle, DELTA) <= EPSILON else (low, middle)
    return low


def everything() -> Fraction:
    return largest(lambda rho: zcdp_to_approximate(rho, Fraction(DELTA)) <= EPSILON)


def paid(rows: Rows, alpha: str, seed: int, questions: int, *, gaussian: bool) -> Outcome:
    """Noise on every answer, until there is no more budget; the same question is free here too."""
    rng, width = np.random.default_rng(seed), float(alpha) * len(rows.codes)
    known: dict[frozenset[Condition], float] = {}
    draw: Callable[[], float]
    if gaussian:
        deviation = width / NormalDist().inv_cdf(0.975)
        most, draw = int(2 * everything() * Fraction(deviation) ** 2), lambda: rng.normal(0, deviation)
    else:
        most, draw = laplace_count(len(rows.codes), alpha), lambda: rng.laplace(0, width / np.log(20))

    def ask(question: Question) -> tuple[float, bool, bool | None] | None:
        key = frozenset(question)
        if key in known:
            return known[key], True, None
        if len(known) >= most:
            return None
        known[key] = rows.truth(question) + draw()
        return known[key], False, None

    name = "Gaussian, zCDP" if gaussian else "Laplace, advanced composition"
    return stream(name, rows, seed, questions, ask)


def bypass(rows: Rows, alpha: str, seed: int, questions: int, *, trained: int = 5) -> Outcome:
    """PMW-Bypass, from its paper."""
    rng, n = np.random.default_rng(seed), len(rows.codes)
    width = float(alpha) * n
    each = np.log(20) / width  # ε of an answer within α with 95 %
    left, known = float(everything()), dict[frozenset[Condition], float]()
    table, updates = np.full(rows.sizes, n / np.prod(rows.sizes)), np.zeros(rows.sizes, np.int16)
    line: list[float] = []

    def spend(epsilon: float) -> bool:
        nonlocal left
        left -= epsilon**2 / 2
        return left >= 0

    def learn(question: Question, target: float) -> None:
        columns, weights = rows.weights(question)
        inside = float((project(table, columns) * weights).sum())
        wanted = min(max(target, 1.0), n - 1.0)
        factor = np.where(weights > 0, wanted / max(inside, 1e-9), (n - wanted) / max(n - inside, 1e-9))
        scale(table, columns, factor)
        picked = np.ix_(*[np.array(sorted(dict(question).get(i, range(s)))) for i, s in enumerate(rows.sizes)])
        updates[picked] += 1

    def ask(question: Question) -> tuple[float, bool, bool | None] | None:
        key = frozenset(question)
        if key in known:
            return known[key], True, None
        truth = rows.truth(question)
        columns, weights = rows.weights(question)
        believed = float((project(table, columns) * weights).sum())
        picked = np.ix_(*[np.array(sorted(dict(question).get(i, range(s)))) for i, s in enumerate(rows.sizes)])
        if int(updates[picked].min()) < trained:
            if not spend(each):
                return None
            known[key] = truth + rng.laplace(0, 1 / each)
            if abs(known[key] - believed) > 0.01 * width:
                learn(question, known[key])
            return known[key], False, None
        if not line:
            if not spend(3 * each):
                return None
            line.append(width / 2 + rng.laplace(0, 1 / each))
        if abs(truth - believed) + rng.laplace(0, 1 / each) < line[0]:
            known[key] = believed
            return believed, True, None
        line.clear()
        if not spend(each):
            return None
        known[key] = truth + rng.laplace(0, 1 / each)
        learn(question, known[key])
        updates[picked] -= 1  # its bins must be learned better
        return known[key], False, None

    return stream("PMW-Bypass, zCDP", rows, seed, questions, ask)


def notes(rows: Rows, alpha: str, seed: int, questions: int) -> Outcome | None:
    """The lecture notes' run, on a domain that it can hold, with what its theorem makes of ε and δ."""
    cells = int(np.prod(rows.sizes))
    setting = {"cells": cells, "rows": len(rows.codes), "queries": questions, "failure": "0.05"}
    needed = PrivateMultiplicativeWeights.for_alpha(alpha, **setting)
    print(
        f"for α = {alpha} the notes' theorem needs {needed.most_updates:,} updates "
        f"at ε₀ = {float(needed.each):.3g}"
    )
    if cells > 2**17:
        return None
    made = PrivateMultiplicativeWeights.for_epsilon(EPSILON, delta=DELTA, **setting)
    print(f"at ε = {EPSILON}: {made.promise}")
    counts = np.bincount(np.ravel_multi_index(rows.codes.T, rows.sizes), minlength=cells)
    run = made.start(Exact(counts, sensitivity=1))

    def ask(question: Question) -> tuple[float, bool, bool | None] | None:
        columns, weights = rows.weights(question)
        shape = [rows.sizes[i] if i in columns else 1 for i in range(len(rows.sizes))]
        flat = np.broadcast_to(weights.reshape(shape), rows.sizes).ravel().astype(np.int64)
        try:
            answer: Any = run.ask(flat)
        except BudgetExceeded:
            return None
        return float(answer.value), not answer.paid, None

    return stream("the notes' PMW", rows, seed, questions, ask)


def offline(rows: Rows, seed: int, questions: int) -> Outcome:
    """All ρ at once, on all pairs."""
    rng, rho = np.random.default_rng(seed), float(everything())
    places = range(len(rows.sizes))
    marginals = [*((i,) for i in places), *combinations(places, 2)]
    shares = np.array(
        [0.1 / len(rows.sizes)] * len(rows.sizes) + [0.9 * 2 / (len(places) * (len(places) - 1))] * 999
    )
    measured = []
    for columns, share in zip(marginals, shares, strict=False):
        sizes = [rows.sizes[i] for i in columns]
        flat = np.ravel_multi_index(rows.codes[:, list(columns)].T, sizes)
        values = np.bincount(flat, minlength=int(np.prod(sizes))).reshape(sizes).astype(np.float64)
        variance = 1 / (2 * share * rho)
        measured.append(Measurement(columns, values + rng.normal(0, np.sqrt(variance), sizes), variance))
    believed = Dense(rows.sizes, Measurement((), np.array(float(len(rows.codes))), 1.0))
    believed.fit(measured)

    def ask(question: Question) -> tuple[float, bool, bool | None] | None:
        columns, weights = rows.weights(question)
        return float((believed.marginal(columns) * weights).sum()), True, None

    return stream("offline, all pairs at once", rows, seed, questions, ask)


def updates() -> float:
    """The time of a dense update at 10⁷ cells, over that of reading and writing the table once."""
    sizes = (10,) * 7
    table = np.full(sizes, 1e-7)

    def best(work: Callable[[], object]) -> float:
        times = []
        for _ in range(9):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return min(times)

    once = best(lambda: np.multiply(table, 1.0, out=table))
    rng, ratios = np.random.default_rng(1), {}
    for columns in [(0, 1), (2, 5), (5, 6), (0, 6), (1, 3, 6)]:
        factor = 1 + 1e-9 * rng.random([10] * len(columns))
        ratios[columns] = best(lambda c=columns, f=factor: scale(table, c, f)) / once  # type: ignore[misc]
    box = [slice(2, 7) if i in (0, 3, 6) else slice(None) for i in range(7)]
    inside = best(lambda: scale_box(table, box, 1.0)) / once
    print(f"10⁷ cells: read and written once in {once * 1e3:.1f} ms; times that for a factor over some columns:")
    print(
        "  " + ", ".join(f"{c}: {ratio:.2f}" for c, ratio in ratios.items()) + f"; an eighth, a box: {inside:.2f}"
    )
    return max([*ratios.values(), inside])


def compared(name: str, rows: Rows, questions: int, seed: int) -> Iterator[Outcome]:
    alpha = ALPHA[name]
    yield paid(rows, alpha, seed, questions, gaussian=False)
    yield paid(rows, alpha, seed, questions, gaussian=True)
    if (found := notes(rows, alpha, seed, questions)) is not None:
        yield found
    yield bypass(rows, alpha, seed, questions)
    yield ours(rows, alpha, seed, questions)
    yield offline(rows, seed, questions)


def main() -> None:
    questions = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for name, rows in (("adult", adult()), ("binary", binary())):
        width = float(ALPHA[name]) * len(rows.codes)
        print(
            f"\n{name}: {questions:,} adaptive questions at ε = {EPSILON}, δ = {DELTA}, "
            f"α = {ALPHA[name]} ({width:.0f} rows)"
        )
        outcomes: dict[str, Outcome] = {}
        for outcome in compared(name, rows, questions, seed=1):
            if not outcomes:
                heads = ("answered", "within α", "free", "late", "held", "median", "CPU s")
                print(
                    f"{'':34}" + "".join(f"{head:>{9 if i in (0, 1, 6) else 8}}" for i, head in enumerate(heads))
                )
            outcomes[outcome.name] = outcome
            print(outcome.line(width, questions), flush=True)
        mine = outcomes["this oracle"]
        good = {other: outcome.good(width) for other, outcome in outcomes.items()}
        over = good["this oracle"] / max(1, good["Laplace, advanced composition"])
        figure(f"oracle_{name}_over_laplace", over, 10, at_least=True)
        figure(
            f"oracle_{name}_over_bypass", good["this oracle"] / max(1, good["PMW-Bypass, zCDP"]), 2, at_least=True
        )
        late = mine.free[int((1 - STEADY) * questions) :] if len(mine.free) == questions else mine.free[-500:]
        figure(f"oracle_{name}_free_late", float(np.mean(late)), 0.95, at_least=True)
        figure(f"oracle_{name}_coverage", float(np.mean(mine.held)), 0.95, at_least=True)
    figure("oracle_dense_update", updates(), 3, at_least=False)
    oracle_spans.main([])


if __name__ == "__main__":
    main()
