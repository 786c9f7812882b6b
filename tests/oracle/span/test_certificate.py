"""A certificate: one number that bounds all errors of frozen tables, bought once and from credit alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from discreet.kernel.journal import Journal
from discreet.ledger import Budget
from discreet.ledger.costs import cost
from discreet.mechanisms import Exact, Gaussian
from discreet.noise import deterministic, discrete_gaussian
from discreet.oracle.linear_query import decompose
from discreet.oracle.pricing import FINE, terms
from discreet.oracle.span.box_search import largest_error
from discreet.oracle.span.certificate import Certificate
from discreet.oracle.span.certificate_price import certified_sets, certifier
from discreet.oracle.span.confidence import certificate_alpha, split
from discreet.oracle.span_oracle import SpanOracle
from discreet.query import cache_key
from discreet.schema import Category, Column, Integer
from discreet.schema.metadata import UNIT
from discreet.vault.vault import Vault
from tests.vault.sealed_tables import scratch

SIZES = {"a": 24, "b": 20, "c": 5, "d": 3}
ROWS = 400
GIVEN: dict[str, Any] = {"epsilon": 1, "within": 300, "queries": 20_000}
CODES = np.stack([np.random.default_rng(2).binomial(n - 1, 0.4, ROWS) for n in SIZES.values()], axis=1)


def sealed(folder: Path) -> Vault:
    """Few rows, and a margin of half of them: no table can be far off, and a span cannot answer all."""
    names = list(SIZES)
    columns: dict[str, Column] = {
        "a": Integer(0, 23, missing=0),
        "b": Integer(0, 19, missing=0),
        "c": Category([f"c{i}" for i in range(5)], missing="c0"),
        "d": Category([f"d{i}" for i in range(3)], missing="d0"),
    }
    table = {n: CODES[:, i] if i < 2 else [f"{n}{code}" for code in CODES[:, i]] for i, n in enumerate(names)}
    return Vault.seal(
        pyarrow.table(table),
        to=folder / "few.vault",
        name="people",
        person=None,
        columns=columns,
        budget=Budget(50, "1e-9"),
    )


@pytest.fixture(scope="module")
def vault() -> Iterator[Vault]:
    with scratch() as folder, sealed(folder) as made:
        yield made


@pytest.fixture
def fixed() -> Iterator[None]:
    """Draw fixed bits: whether a certificate fits into the margin is a matter of luck, nine times of ten."""
    with deterministic(3):
        yield


def opened(vault: Vault, **changes: Any) -> SpanOracle:
    found = vault.oracle(list(SIZES), **{**GIVEN, **changes})
    assert isinstance(found, SpanOracle)
    return found


def boxes() -> Iterator[tuple[str, int]]:
    """Yield questions on three columns, and their true counts."""
    rng = np.random.default_rng(3)
    while True:
        low, high = (sorted(int(end) for end in rng.integers(0, n, 2)) for n in (24, 20))
        c = int(rng.integers(5))
        met = (
            (CODES[:, 0] >= low[0]) & (CODES[:, 0] <= low[1]) & (CODES[:, 1] >= high[0]) & (CODES[:, 1] <= high[1])
        )
        text = f"a between {low[0]} and {low[1]} and b between {high[0]} and {high[1]} and c = 'c{c}'"
        yield f"select count(*) from people where {text}", int((met & (CODES[:, 2] == c)).sum())


def asked_until_bought(oracle: SpanOracle, most: int = 600) -> list[tuple[Any, int]]:
    found = []
    for question, truth in boxes():
        answer = oracle.ask(question)
        found.append((answer, truth))
        if answer.how == ("certified",) or len(found) == most:
            return found
    raise AssertionError


@pytest.mark.usefixtures("fixed")
def test_a_certificate_is_bought_from_credit_and_bounds_the_errors_of_all_boxes(tmp_path: Path) -> None:
    """Its noise is never below −6 deviations: so the largest error over all boxes is within the bound and that."""
    with sealed(tmp_path) as vault, opened(vault) as oracle:
        assert oracle.plan.certificate
        assert "certificate" in str(oracle.plan)
        assert "the largest error of a fitted table" in [noise.on for noise in oracle.label.noise]
        said = asked_until_bought(oracle)
        assert said[-1][0].how == ("certified",)
        single = oracle._prices.single
        assert oracle.spent <= oracle.plan.share * oracle.total + len(said) * single
        bought = oracle._certifier
        assert bought is not None
        certificate = bought.certificate
        assert certificate is not None
        assert certificate.bound <= oracle.width * UNIT
        worst = 0
        for columns, table in certificate.tables.items():
            sizes = [oracle.axes[i].size for i in columns]
            flat = np.ravel_multi_index([CODES[:, i] for i in columns], sizes)
            rows = np.bincount(flat, minlength=int(np.prod(sizes))).reshape(sizes) * UNIT
            worst = max(worst, largest_error(rows - table, [i < 2 for i in columns]))
        allowed = 6 * float(bought.noise.variance) ** 0.5 - bought._tail
        assert worst <= certificate.bound + allowed
        for (question, _), _ in zip(boxes(), range(len(said) + 50), strict=False):
            assert oracle.ask(question).free  # now all are


@pytest.mark.usefixtures("fixed")
def test_after_a_restart_the_certificate_is_the_same_and_it_is_never_bought_twice(tmp_path: Path) -> None:
    with sealed(tmp_path) as vault:
        with opened(vault) as oracle:
            said, path, spent = asked_until_bought(oracle)[-1][0], Path(oracle.path), oracle.spent
        with opened(vault) as again:
            answer = again.ask(said.question)
            assert (answer.value, answer.low, answer.high, again.spent) == (said.value, said.low, said.high, spent)
            assert answer.free
        journal = Journal.open(path)
        (record,) = [r for r in journal.begun.values() if r["begin"] == "certificate"]
        noise, _ = certifier(again._terms, again._prices.margin)
        exact = cost(noise.loss).rho
        journal.close()
        assert Fraction(record["rho"]) == exact == Fraction(UNIT**2, 2) / Fraction(noise.variance)
        lines = path.read_bytes().splitlines(keepends=True)
        place = next(i for i, line in enumerate(lines) if b'"noisy"' in line)
        path.write_bytes(b"".join(lines[:place]))  # killed after its cost was set aside
        with opened(vault) as lost:
            assert lost.spent == spent
            assert lost._certifier is not None
            assert lost._certifier.certificate is None
            assert not lost._certifier.open
            assert lost.ask(said.question).how == ("paid",)


@pytest.mark.usefixtures("fixed")
def test_its_cost_is_on_the_disk_before_its_noise_is_drawn(tmp_path: Path) -> None:
    release = Gaussian.release

    def interrupted(mechanism: Gaussian, exact: Exact) -> Any:
        if oracle._certifier is not None and mechanism == oracle._certifier.noise:
            raise KeyboardInterrupt
        return release(mechanism, exact)

    with sealed(tmp_path) as vault:
        with opened(vault) as oracle, pytest.MonkeyPatch.context() as patch:
            patch.setattr(Gaussian, "release", interrupted)
            with pytest.raises(KeyboardInterrupt):
                asked_until_bought(oracle)
            assert oracle._certifier is not None
            rho, path = oracle._certifier.rho, Path(oracle.path)
        journal = Journal.open(path)
        (record,) = [r for r in journal.begun.values() if r["begin"] == "certificate"]
        assert Fraction(record["rho"]) == rho
        assert record["n"] not in journal.ended
        journal.close()


def test_the_tail_of_a_certificate_misses_with_its_part_of_alpha_and_all_parts_are_alpha_together() -> None:
    """400,000 draws, and five standard errors: a false alarm has 3e-7."""
    agreed = terms(rho=Fraction(1, 70), within=5, confidence="0.6", queries=9, start="span", rows_per_person=1)
    noise, tail = certifier(agreed, 5 * FINE)
    alpha = certificate_alpha(agreed.alpha)
    missed = float((discrete_gaussian(noise.variance, 400_000) < -tail).mean())
    assert abs(missed - float(alpha)) <= 5 * (float(alpha) / 400_000) ** 0.5 + 1e-4
    for test in (False, True):
        span, paid = split(agreed.alpha, True, "every", test, certificate=True)
        bare, same = split(agreed.alpha, True, "every", test)
        assert span + alpha == bare
        assert paid == same


def test_only_boxes_of_certified_sets_are_answered_from_it(vault: Vault) -> None:
    with opened(vault, name="asked") as oracle:
        tables: dict[tuple[int, ...], Any] = {
            columns: np.ones([oracle.axes[i].size for i in columns], np.int64) for columns in [(0, 1, 2)]
        }
        certificate = Certificate(tables, 7, [True, True, False, False])

        def answered(condition: str, what: str = "count(*)") -> bool:
            question = f"select {what} from people where {condition}"
            wanted = decompose(cache_key.parsed(question, vault.metadata), oracle.axes)
            query = wanted.count if wanted.total is None else wanted.total
            return certificate.answer(query) is not None

        assert answered("a between 2 and 5 and b = 3 and c = 'c1'")
        assert answered("a between 2 and 5")
        assert answered("c = 'c1'")
        assert not answered("a in (2, 5)")
        assert not answered("c in ('c1', 'c2')")
        assert not answered("a = 2 and d = 'd1'")
        assert not answered("a < b")
        assert not answered("b = 3", "sum(a)")


def test_no_certificate_is_planned_where_intervals_promise_each_or_a_search_would_be_long(vault: Vault) -> None:
    assert not vault.plan_oracle(list(SIZES), **GIVEN, promise="each").certificate
    assert certified_sets([24, 20, 5, 3], [True, True, False, False]) == list(combinations(range(4), 3))
    assert certified_sets([100] * 4, [True] * 4) == []
