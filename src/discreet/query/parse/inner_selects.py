"""Refuse inner selects whose rows are not rows of the table, and say what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from discreet.errors import QuestionRefused
from discreet.query.parse import statement, unsupported


def refuse_queries(node: exp.Expression) -> None:
    """Refuse a select inside of an expression."""
    inside: Any = node.find(exp.Query)
    if inside is not None:
        raise unsupported.not_understood(inside)


def refuse_other_rows(node: exp.Expression, outer: exp.Expression) -> None:
    """Refuse aggregates and window functions in an inner select."""
    refuse_queries(node)
    window: Any = node.find(exp.Window, exp.Qualify)
    if window is not None:
        raise unsupported.not_understood(window)
    if node.find(exp.AggFunc) is not None:
        raise refused_clause("group", outer)


def refused_query(query: exp.Expression) -> QuestionRefused:
    """Return the refusal of an inner query that is not a select."""
    if isinstance(query, exp.SetOperation):
        return QuestionRefused(
            "A union, an intersection or a difference of rows is not answered.",
            fix="Join the conditions in one where: city = 'Oslo' or city = 'Bergen'.",
        )
    if isinstance(query, exp.Values):
        return statement.one_table()
    return unsupported.not_understood(query)


def refused_clause(clause: str, outer: exp.Expression) -> QuestionRefused:
    """Return the refusal of a clause that an inner select may not have, inside of an outer select."""
    if clause in ("group", "having"):
        return _aggregated(outer)
    problem, fix = _REFUSED.get(clause, (f"An inner select with {clause.strip('_')} is not understood.", ""))
    return QuestionRefused(problem, fix=fix or "Leave it out.")


def _aggregated(outer: exp.Expression) -> QuestionRefused:
    problem = "An inner select that aggregates is a question of its own."
    if _aggregates(outer.expressions):
        return QuestionRefused(
            problem,
            fix=[
                "Ask the inner select first, and compute with its answers.",
                "For totals of each person, let the curator seal one row for each person.",
            ],
        )
    return QuestionRefused(
        problem, fix="Ask it without the select around it: write its where as having; order by and limit follow."
    )


def _aggregates(nodes: Iterable[exp.Expression]) -> bool:
    return any(node.find(exp.AggFunc) is not None for node in nodes)


_ROWS = "picks single rows, so its answer would depend on their order."
_REFUSED = {
    "distinct": (
        "An inner select distinct merges rows of different persons.",
        "Leave distinct out; count(distinct user_id) counts persons, with the name of the person column.",
    ),
    "limit": (f"An inner limit {_ROWS}", "Write limit after the outer select, where it limits groups."),
    "offset": (f"An inner offset {_ROWS}", "Write offset after the outer select, where it skips groups."),
    "sample": (f"An inner sample {_ROWS}", "Leave it out: all rows take part."),
    "qualify": ("Window functions look at other people's rows.", "Use where, group by and having."),
    "windows": ("Window functions look at other people's rows.", "Use where, group by and having."),
    "joins": ("A question reads the vault's own table and no other.", "Join the tables before sealing."),
    "laterals": ("A question reads the vault's own table and no other.", "Join the tables before sealing."),
}
