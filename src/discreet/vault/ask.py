"""Answer a question about a sealed table: parse, look up, plan, charge, execute, record.

The order is the argument. A question is parsed and planned from public facts alone, so a refusal says nothing
about the rows and costs nothing. The same question at the same cost is answered from the record and is free.
Ordering, having and limits are applied afterwards, to what was released.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetExceeded, Fix, ParameterError
from discreet.kernel import Job, Ready, SealedTable, amount_of, spend, strictest_budget, vault_budget
from discreet.ledger import cost
from discreet.ledger.balance import Balance
from discreet.ledger.charge import Charge, Standing
from discreet.ledger.costs import described
from discreet.query import cache_key
from discreet.query.answer.estimates import columns
from discreet.query.answer.label import label
from discreet.query.answer.postprocess import postprocess
from discreet.query.plan import relative_accuracy
from discreet.query.plan.plan import Plan, plan
from discreet.query.preview import Preview, columns_of
from discreet.query.question import Question
from discreet.rational import Rational, positive, rational
from discreet.release.receipt import Receipt
from discreet.release.release import Release
from discreet.render.numbers import percent
from discreet.vault.refusal import with_margins

if TYPE_CHECKING:
    from discreet.query.plan.calibration import Margins


@dataclass(frozen=True)
class Terms:
    """What an analyst asks of an answer: what it may cost or how accurate it must be, and with which confidence.

    Args:
        epsilon: The guarantee of this release alone, at the vault's δ.
        spend: A share of the whole budget, such as "5%".
        within: The largest margin of error.
        confidence: The probability that an interval holds.
        keys_delta: The δ of partition selection, for keys that are strings.
    """

    epsilon: Fraction | None
    spend: str | None
    within: Margins | None
    confidence: Rational
    keys_delta: Fraction | None

    @property
    def relative(self) -> str | None:
        """The margin as a percentage of the answer; None if it is not relative."""
        return self.within if isinstance(self.within, str) and self.within.strip().endswith("%") else None

    def amount(self, balances: tuple[Balance, ...], pure: bool) -> Fraction | None:
        """Return what the answer may cost; None if its margin decides that."""
        if self.epsilon is None and self.spend is None:
            return None
        return amount_of(balances, epsilon=self.epsilon, spend=self.spend, pure=pure)


def terms(
    epsilon: Rational | None,
    spend: str | None,
    within: Margins | None,
    confidence: Rational,
    keys_delta: Rational | None,
) -> Terms:
    """Check what was given: one of epsilon, spend and within, and epsilon as well with a relative margin."""
    found = Terms(
        None if epsilon is None else positive(epsilon, "epsilon"),
        spend,
        within,
        confidence,
        None if keys_delta is None else rational(keys_delta, "keys_delta"),
    )
    given = [name for name in ("epsilon", "spend", "within") if getattr(found, name) is not None]
    if len(given) != 1 and not (found.relative and "spend" not in given):
        raise ParameterError(
            "A question needs one of epsilon, spend and within.",
            found=", ".join(given) or "none of them",
            fix=[Fix("epsilon", "0.1"), Fix("spend", "5%"), Fix("within", 200)],
        )
    if found.relative and found.keys_delta is not None:
        raise ParameterError(
            "A relative margin is for questions without keys, which need no keys_delta.", found=found.relative
        )
    return found


def ask(table: SealedTable, question: Any, wanted: Terms) -> Release:
    """Answer a question, and charge it unless it is recorded."""
    query = cache_key.parsed(question, table.metadata)
    try:
        if wanted.relative is not None:
            return _step_by_step(table, query, wanted.relative, wanted)
        return postprocess(query, _released(table, _keys(table, query, wanted), _planner(table, query, wanted)))
    except BudgetExceeded as error:
        raise _refused(table, query, wanted, error) from None


def recorded(table: SealedTable, question: Any, wanted: Terms) -> Release | None:
    """Return the answer that the ledger has on record for a question at this price, or None. It never charges.

    Answers within a relative margin are found step by step and have no record of their own.
    """
    query = cache_key.parsed(question, table.metadata)
    for key in () if wanted.relative is not None else _keys(table, query, wanted):
        standing = table.payer.standing(key)
        if standing.answer is not None:
            return postprocess(query, _recorded(standing))
    return None


def preview(table: SealedTable, question: Any, wanted: Terms) -> Preview:
    """Say what a question would cost and how accurate its answer would be. No row is read."""
    from discreet.engines.statement import Rows
    from discreet.query.answer.execute import prepare

    query = cache_key.parsed(question, table.metadata)
    standings = [table.payer.standing(key) for key in _keys(table, query, wanted)]
    recorded = any(standing.answer is not None for standing in standings)
    balances = standings[-1].balances
    # A recorded answer was planned for the vault's own budget, and is free for accounts that are stricter.
    made = _planner(table, query, wanted)(balances[:1] if recorded else balances)
    prepare(made, Rows("rows", table.metadata.engine, table.metadata.limits))  # refuses what ask would refuse
    return Preview(
        question=query.text,
        expected=made.expected,
        plan=made.explanation,
        receipt=Receipt(cost(made.losses), tuple(described(made.losses)), balances),
        affordable=table.payer.can_afford(made.losses, balances),
        recorded=recorded,
        columns=columns_of(query),
    )


def _refused(table: SealedTable, query: Question, wanted: Terms, error: BudgetExceeded) -> BudgetExceeded:
    """Return the refusal with what could be had for what is left. It is planned from public facts, and free."""
    balances = table.payer.balances()

    def planned(spend: str | None = None, within: Margins | None = None) -> Plan:
        other = replace(wanted, epsilon=None, spend=spend, within=within)
        return _planner(table, query, other)(balances)

    return with_margins(error, planned, lambda made: table.payer.can_afford(made.losses))


def _planner(table: SealedTable, query: Question, wanted: Terms) -> Callable[[tuple[Balance, ...]], Plan]:
    def planned(balances: tuple[Balance, ...]) -> Plan:
        budget = strictest_budget(balances)
        return plan(
            query,
            table.metadata,
            amount=wanted.amount(balances, budget.pure),
            within=wanted.within,
            confidence=wanted.confidence,
            budget=budget,
            keys_delta=wanted.keys_delta,
        )

    return planned


def _keys(table: SealedTable, query: Question, wanted: Terms) -> list[str]:
    """Return what the ledger may know the answer by: as the vault pays, or as the strictest account does."""
    balances = table.payer.balances()
    found = []
    for budget in (vault_budget(balances), strictest_budget(balances)):
        amount = wanted.amount(balances, budget.pure)
        price = cache_key.price(query, amount, budget.pure, wanted.within, wanted.confidence, wanted.keys_delta)
        found.append(cache_key.text(table.metadata, price))
    return list(dict.fromkeys(found))


def _step_by_step(table: SealedTable, query: Question, within: str, wanted: Terms) -> Release:
    """Spend a little, look, and spend twice as much until the answer is accurate enough or the budget ends."""
    price = cache_key.price(query, None, True, within, wanted.confidence, None)
    steps: list[Release] = []
    plans: list[Plan] = []
    further: list[Iterator[Plan]] = []  # made when a step is not recorded: recorded ones need no plan

    def planned(balances: tuple[Balance, ...]) -> Plan:
        if not further:
            budget = strictest_budget(balances)
            most = wanted.amount(balances, budget.pure)
            further.append(
                relative_accuracy.doubling(
                    query, table.metadata, within=within, confidence=wanted.confidence, budget=budget, most=most
                )
            )
        while len(plans) <= len(steps):
            plans.append(next(further[0]))
        return plans[len(steps)]

    why = "no larger epsilon is tried" if wanted.epsilon is None else "epsilon allows no further step"
    while True:
        key = cache_key.text(table.metadata, f"{price} step {len(steps)}")
        try:
            # A later step is charged after rows were read for the one before: all have the time of the first.
            begun = next((step.at for step in steps if not step.free), None)
            steps.append(_released(table, [key], planned, time=begun))
        except BudgetExceeded:
            if not steps:
                raise
            why = "the budget does not reach further"
            break
        except StopIteration:  # there is no plan for a further step
            break
        if relative_accuracy.reached(relative_accuracy.estimates_of(steps[-1]), within):
            return _told(relative_accuracy.with_receipt(postprocess(query, steps[-1]), steps), steps, wanted)
    last = relative_accuracy.short(
        postprocess(query, steps[-1]), relative_accuracy.estimates_of(steps[-1]), within, why
    )
    return _told(relative_accuracy.with_receipt(last, steps), steps, wanted)


def _told(release: Release, steps: Sequence[Release], wanted: Terms) -> Release:
    """Return a release with a note on its confidence, which is above the one that was asked for."""
    asked, has = (percent(float(rational(c, "confidence"))) for c in (wanted.confidence, release.confidence))
    many = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    note = f"found in {many}. The intervals of all steps hold together with {asked}, so this one has {has}."
    return replace(
        release,
        aggregates=tuple(
            replace(answer, note=" ".join(filter(None, (answer.note, note)))) for answer in release.aggregates
        ),
    )


def _released(
    table: SealedTable,
    keys: list[str],
    planned: Callable[[tuple[Balance, ...]], Plan],
    *,
    time: str | None = None,
) -> Release:
    """Return the recorded answer, or plan, charge and execute. `time` is that of the charge; now by default."""
    from discreet.query.answer.execute import execute, prepare

    def prepared(ready: Ready) -> Job[Release]:
        made = planned(ready.balances)
        statements = prepare(made, ready.rows)  # what cannot be asked is refused here, and is free

        def run(charge: Charge) -> Release:
            groups, answers = columns(made.question, execute(statements, ready.engine))
            receipt = Receipt(charge.cost, tuple(described(made.losses)), charge.balances)
            return Release(
                question=made.question.text,
                keys=groups,
                aggregates=tuple(answers),
                label=label(made, table.metadata, receipt),
                confidence=made.confidence,
                plan=made.explanation,
                at=charge.time,
            )

        return Job(made.losses, run, _written, silent=True, time=time)

    return spend(table, keys, read=_recorded, prepare=prepared)


def _recorded(standing: Standing) -> Release:
    return Release.from_json(json.loads(standing.answer or "")).again(*standing.balances)


def _written(release: Release) -> str | None:
    """Return the record of a release; none of one that was made from test bits."""
    return None if release.test_bits else json.dumps(release.as_json(), ensure_ascii=False)
