"""Make an oracle, or open the one that the same parameters made before: one charge, one journal, one record.

The order is that of every release (`discreet.kernel.spend`): the journal's file is created, the whole ρ is
charged, the journal is written, and the ledger records which journal was charged for. The same call again opens
that journal and charges nothing. An oracle draws new noise for the analyst who asks, so it is for the account that
was charged. If the process is killed between charge and record, the charge is wasted and nothing was asked. Two
processes that make the same oracle at the same moment may both be charged, and one of the two oracles is not found
again.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import Fix, LawTooWide, NotForRelease, ParameterError
from discreet.kernel import Job, Ready, SealedTable, amount_of, expect_delta, strictest_budget, vault_budget
from discreet.kernel import spend as spend_on
from discreet.kernel.journal import Journal
from discreet.ledger.charge import Charge, Standing
from discreet.noise.testing import test_bits as bits_in_use
from discreet.oracle import prior as priors
from discreet.oracle.exact_sums import Sums
from discreet.oracle.label import receipt
from discreet.oracle.marginals import MOST_AT_START
from discreet.oracle.oracle import Oracle
from discreet.oracle.pricing import MOST_ROWS, Terms, margin_of, narrowest, prices, terms
from discreet.oracle.span.design import MOST_BINS
from discreet.oracle.span.plan import OraclePlan, plan
from discreet.oracle.span_oracle import SpanOracle
from discreet.oracle.threshold_oracle import ThresholdOracle
from discreet.privacy.losses import ZeroConcentrated
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.query import cache_key
from discreet.query.bins import Axis, Bins, axes_of
from discreet.rational import Rational, positive

if TYPE_CHECKING:
    from discreet.schema.metadata import TableMetadata

_LEAST = 1e-3  # an ε that is suggested: at a δ some ρ has none at all
_FUTILE = 10**6  # an ε that gives no protection


def oracle(
    table: SealedTable,
    columns: Sequence[str],
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    within: Rational = "0.01",
    confidence: Rational = "0.95",
    queries: int = 10_000,
    bins: Mapping[str, Bins] | None = None,
    start: str | None = None,
    prior: Any = None,
    name: str = "",
    path: str | Path | None = None,
    promise: str = "every",
    span: Rational | None = None,
) -> Oracle:
    """Make an oracle over some columns of a vault, or open the one that these parameters made before.

    The whole oracle is one charge. An oracle that could answer nothing about any number of rows is refused, and
    free; whether a share of a small table can be answered is not known before the charge, so for small tables give
    `within` as a number of rows.

    Args:
        table: The sealed rows, and who pays.
        columns: The columns that it answers questions about.
        epsilon: The guarantee of the oracle alone: it is (epsilon, δ)-DP at the vault's δ.
        spend: A share of the whole budget instead, such as "20%".
        within: The largest margin of error: a share of the rows, or from 1 on a number of rows.
        confidence: The probability that each interval holds; 0.95 by default.
        queries: About how many questions can be asked before good answers raise false alarms.
        bins: How many bins a column has, or where they begin.
        start: What is measured first: "span" by default, which answers by itself; or "pairs", "singles" or
            "nothing" for a hypothesis that a threshold test checks. With a prior, "singles".
        prior: A public table, or an earlier oracle over the same columns.
        name: Tells apart two oracles with the same parameters.
        path: The file of its state; beside the rows by default.
        promise: What intervals promise: "every" by default, or "each" (`discreet.oracle.span.plan.PROMISES`).
        span: The share of the budget that the span takes; by default what the plan finds, and 0 for none.
    """
    metadata = table.metadata
    earlier, axes = axes_of(metadata, columns, bins), _axes(metadata, columns, bins, start, prior)
    agreed = _terms(
        table,
        epsilon=epsilon,
        spend=spend,
        within=within,
        confidence=confidence,
        queries=queries,
        start=start or ("span" if prior is None else "singles"),
        promise=promise,
        span=span,
    )
    if agreed.start == "span" and prior is not None:
        raise ParameterError(
            "A span answers from what it measures, and has no use for a prior.",
            found="start='span' with a prior",
            fix=Fix("start", "singles"),
        )
    known = _prior(prior, axes, metadata)
    text = cache_key.text(metadata, _price(axes, agreed, _identity(prior, known), name))
    keys = {text: (agreed, axes)}
    if agreed.start == "span" and axes != earlier:
        # The same call made this oracle when a span divided columns of more than 128 levels into bins.
        keys = {cache_key.text(metadata, _price(earlier, agreed, "none", name)): (agreed, earlier), **keys}
    if start is None and prior is None and agreed.promise == "every" and agreed.span is None:
        # The same call made this oracle before there were spans; what was charged for then is opened again.
        before = replace(agreed, start="pairs")
        keys = {cache_key.text(metadata, _price(earlier, before, "none", name)): (before, earlier), **keys}

    def prepare(ready: Ready) -> Job[Journal]:
        _expect_use(agreed, len(axes), vault_budget(ready.balances).delta)
        return _job(table, text, agreed, known, path)

    journal = spend_on(table, [*keys], read=lambda standing: _found(table, [*keys], standing), prepare=prepare)
    try:
        charged, axes = keys[journal.header["question"]]
        sums = Sums(table.engine(), charged.sensitivity)
        believed = priors.restored(journal.header["prior"], axes)
        made: type[Oracle] = SpanOracle if charged.start == "span" else ThresholdOracle
        charge = receipt(charged, table.payer.balances())
        return made(journal, sums, axes=axes, terms=charged, metadata=metadata, prior=believed, receipt=charge)
    except BaseException:
        journal.close()
        raise


def plan_oracle(
    table: SealedTable,
    columns: Sequence[str],
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    within: Rational = "0.01",
    confidence: Rational = "0.95",
    queries: int = 10_000,
    bins: Mapping[str, Bins] | None = None,
    promise: str = "every",
    span: Rational | None = None,
    rows: int | None = None,
) -> OraclePlan:
    """Return the plan of the oracle that these parameters would make. It is free, and reads no row.

    Args:
        table: The sealed rows, and who would pay.
        columns: The columns that it would answer questions about.
        epsilon: The guarantee of the oracle alone.
        spend: A share of the whole budget instead, such as "20%".
        within: The largest margin of error: a share of the rows, or from 1 on a number of rows.
        confidence: The probability that each interval holds; 0.95 by default.
        queries: About how many questions will be asked.
        bins: How many bins a column has, or where they begin.
        promise: What intervals promise: "every" by default, or "each".
        span: The share of the budget that the span takes; by default what the plan finds.
        rows: About how many rows there are, if the margin is a share of them: the vault does not tell.
    """
    axes = _axes(table.metadata, columns, bins, "span", None)
    agreed = _terms(
        table,
        epsilon=epsilon,
        spend=spend,
        within=within,
        confidence=confidence,
        queries=queries,
        start="span",
        promise=promise,
        span=span,
    )
    if agreed.within < 1 and rows is None:
        raise ParameterError(
            "A margin that is a share of the rows needs their number, which is private.",
            fix=[Fix("rows", 50_000, note="about as many as you expect"), Fix("within", 500)],
        )
    _expect_use(agreed, len(axes), vault_budget(table.payer.balances()).delta)
    return plan(axes, agreed, margin_of(agreed, float(rows or 0)))


def _axes(
    metadata: TableMetadata, columns: Sequence[str], bins: Mapping[str, Bins] | None, start: str | None, prior: Any
) -> tuple[Axis, ...]:
    """Return the columns with their bins. A span keeps more levels, for it answers only what divides no bin."""
    narrow = axes_of(metadata, columns, bins)
    wide = axes_of(metadata, columns, bins, few=MOST_BINS - 1)  # with a bin for the missing value
    if isinstance(prior, Oracle):
        return wide if _sizes(prior.axes) == _sizes(wide) else narrow
    return wide if start == "span" or (start is None and prior is None) else narrow


def _sizes(axes: Sequence[Axis]) -> list[tuple[str, int]]:
    return [(axis.name, axis.size) for axis in axes]


def _terms(table: SealedTable, *, epsilon: Rational | None, spend: str | None, **given: Any) -> Terms:
    return terms(rho=_rho(table, epsilon, spend), rows_per_person=table.metadata.rows_per_person, **given)


def _rho(table: SealedTable, epsilon: Rational | None, spend: str | None) -> Fraction:
    balances = table.payer.balances()
    if epsilon is not None and positive(epsilon, "epsilon") > _FUTILE:
        raise ParameterError(
            "This epsilon is too large to protect a person.", found=epsilon, fix=Fix("epsilon", 1)
        )
    expect_delta(strictest_budget(balances), "An oracle")
    return amount_of(balances, epsilon=epsilon, spend=spend)


def _prior(given: Any, axes: Sequence[Axis], metadata: TableMetadata) -> list[dict[str, Any]]:
    if given is None:
        return []
    if not isinstance(given, Oracle):
        return priors.of_rows(given, axes, metadata)
    if _sizes(given.axes) != _sizes(axes):
        raise ParameterError(
            "The earlier oracle has other columns or bins.",
            fix="Make both over the same columns and bins.",
        )
    if given.test_bits and bits_in_use() is None:
        raise NotForRelease(
            "The earlier oracle was made from test bits, and cannot be a prior.", fix="Make it without test bits."
        )
    return priors.of_measurements(given.measured, given.rows)


def _identity(given: Any, known: list[dict[str, Any]]) -> str:
    """Return what tells priors apart: a digest of the public rows, or the identity of the earlier oracle."""
    if isinstance(given, Oracle):
        return given.identity
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16] if known else "none"


def _price(axes: Sequence[Axis], agreed: Terms, prior: str, name: str) -> str:
    over = ", ".join(f"{axis.name} in {len(axis.starts)}" for axis in axes)
    cuts = hashlib.sha256(json.dumps([axis.starts for axis in axes]).encode()).hexdigest()[:16]
    paid = f"rho {agreed.rho}, within {agreed.within}, confidence {agreed.confidence}, queries {agreed.queries}"
    called = f" {name!r}" if name else ""
    start = agreed.start
    if start == "span":
        start = f"span {'as planned' if agreed.span is None else agreed.span}, promise {agreed.promise}"
    return f"oracle{called} over {over} [{paid}, start {start}, bins {cuts}, prior {prior}]"


def _job(
    table: SealedTable, text: str, agreed: Terms, known: list[dict[str, Any]], path: str | Path | None
) -> Job[Journal]:
    """Return the job that makes an oracle: it takes the journal's file before the charge, and fills it after."""
    identity = secrets.token_hex(8)
    place = _place(table, identity, path)
    hold = Journal.place(place)
    create: list[Callable[..., Journal]] = []

    @contextmanager
    def held() -> Iterator[None]:
        with hold as make:
            create.append(make)
            yield

    def run(charge: Charge) -> Journal:
        facts = {
            "identity": identity,
            "charge": charge.number,
            "mark": table.metadata.fingerprint,
            "question": text,
            "prior": known,
            "test_bits": bits_in_use() is not None,
            "analyst": table.payer.analyst,
            "purpose": table.payer.purpose,
        }
        return create[0](agreed.rho, facts)

    named = str(place) if path is not None else place.name  # a vault that is moved takes its oracles along
    record = json.dumps({"oracle": named, "identity": identity})
    return Job(ZeroConcentrated(agreed.rho), run, lambda _: record, held())


def _found(table: SealedTable, texts: Sequence[str], standing: Standing) -> Journal:
    """Open the journal that was charged for, and refuse any other, and one that another account paid for."""
    record = json.loads(standing.answer or "")
    journal = Journal.open(_folder(table) / record["oracle"])
    try:
        _check(journal, record["identity"], texts, table)
    except BaseException:
        journal.close()
        raise
    return journal


def _check(journal: Journal, identity: str, texts: Sequence[str], table: SealedTable) -> None:
    header, payer = journal.header, table.payer
    known = header["question"] in texts
    if not known or (header["identity"], header["mark"]) != (identity, table.metadata.fingerprint):
        raise ParameterError(
            f"{journal.path} is the state of another oracle.",
            fix=["Restore the file that was there.", Fix("name", "second", note="a new oracle, at its own cost")],
        )
    if (header["analyst"], header["purpose"]) != (payer.analyst, payer.purpose):
        raise ParameterError(  # whose it is, is not said: an analyst need not know what others opened
            "This oracle was charged to another account, and its new answers are for that account.",
            fix=[
                "Open the vault with the analyst and the purpose who opened it.",
                Fix("name", "mine", note="a new oracle, at its own cost"),
            ],
        )


def _expect_use(agreed: Terms, columns: int, delta: Fraction) -> None:
    """Refuse an oracle that could answer nothing for any number of rows: that much is public."""
    if _useful(agreed, columns):
        return
    enough, fixes = _enough(agreed, columns, delta), list[Fix]()
    if not _measurable(agreed, columns):
        problem = "This oracle would need noise that leaves int64."
    else:
        width = f"{float(agreed.within):g}"
        what = f"{width} rows" if agreed.within >= 1 else f"{width} of the rows, even of {MOST_ROWS:,},"
        problem = f"A single answer within {what} costs more than the whole oracle."
        fixes += [Fix("within", least, note="a number of rows") for least in [narrowest(agreed)] if least]
    if enough <= _FUTILE:
        fixes.append(Fix("epsilon", _rounded_up(enough)))
    raise ParameterError(problem, fix=fixes)


def _enough(agreed: Terms, columns: int, delta: Fraction) -> float:
    """Return an ε that suffices, at most about twice the least that does."""
    richer = replace(agreed, rho=max(agreed.rho, Fraction(1, 10**30)))
    while not _useful(richer, columns):
        richer = replace(richer, rho=4 * richer.rho)
    return max(float(zcdp_to_approximate(richer.rho, delta / 2)), _LEAST)


def _useful(agreed: Terms, columns: int) -> bool:
    return _measurable(agreed, columns) and prices(agreed, MOST_ROWS).answers(agreed)


def _measurable(agreed: Terms, columns: int) -> bool:
    """Return whether the noise of every marginal at the start can be drawn: the least ρ has the widest."""
    shares = [("total", 1), ("singles", 2 * columns), ("pairs", MOST_AT_START)]
    try:
        agreed.marginal(min(part for of, among in shares if (part := agreed.part(of, among))))
    except LawTooWide:
        return False
    return True


def _rounded_up(x: float) -> str:
    """Return two digits of a positive number, rounded up.

    >>> _rounded_up(0.01234), _rounded_up(3.0)
    ('0.013', '3')
    """
    step = Fraction(10) ** (math.floor(math.log10(x)) - 1)
    return f"{float(math.ceil(Fraction(x) / step) * step):g}"


def _place(table: SealedTable, identity: str, path: str | Path | None) -> Path:
    if path is not None:
        return Path(path).absolute()
    if table.folder is None:
        raise ParameterError(
            "This vault is not a directory, so it cannot hold the state of an oracle.",
            found=table.display_name,
            fix=Fix("path", "people.oracle"),
        )
    return _folder(table) / f"{identity}.oracle"


def _folder(table: SealedTable) -> Path:
    """Return the directory in which a vault of files keeps its oracles. Elsewhere paths are absolute."""
    return Path(table.folder or "/").absolute()
