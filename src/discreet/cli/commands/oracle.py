"""Define `discreet oracle`: ask many questions on one charge, most of them free.

Questions come as arguments, from a pipe, or from a prompt. An answer is shown after it is written to the oracle's
journal, so asking again is free, even after a crash.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options, output
from discreet.cli.commands.ask import Analyst, Purpose
from discreet.cli.exit_codes import code_of, report
from discreet.cli.locations import Location, display_name, opened
from discreet.cli.progress import waiting
from discreet.errors import BudgetExceeded, DiscreetError, Fix, QuestionRefused

if TYPE_CHECKING:
    from discreet.ledger import Balance
    from discreet.oracle import Oracle, OracleAnswer
    from discreet.oracle.pricing import Terms
    from discreet.oracle.span_oracle import SpanOracle

_AFTERWARDS = "after that every new answer costs budget."
_AT_EASE = 6  # runs of the threshold test: with so many, the hypothesis may be wrong five times on the charge
_MOSTLY = 0.75  # the expected share of free answers from which "most" is fair
_MORE = (Fraction(3, 2), 2, 3, 5, 10, 20, 50, 100)


def oracle(
    vault: Location,
    epsilon: options.Epsilon = None,
    spend: options.Spend = None,
    columns: options.Columns = None,
    questions: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUESTION…", help="SQL, in quotes. Without any: one in each line of stdin."),
    ] = None,
    within: Annotated[str, typer.Option(help="The margin of error: 0.01 of the rows, or 200 rows.")] = "0.01",
    confidence: Annotated[str, typer.Option(help="The confidence of the intervals.")] = "0.95",
    queries: Annotated[int, typer.Option(help="The expected number of questions.")] = 10_000,
    bins: options.Bins = None,
    promise: Annotated[
        str,
        typer.Option(
            help="What intervals promise: to hold for every question however it is chosen, or for each that is "
            "chosen without looking at free answers (many more are free)."
        ),
    ] = "every",
    prior: options.Prior = None,
    name: Annotated[str, typer.Option(help="A name that separates two oracles of the same terms.")] = "",
    path: Annotated[str | None, typer.Option(metavar="FILE", help="The file that keeps its state.")] = None,
    unchecked: Annotated[
        bool, typer.Option(help="After the budget is used up, answer from the hypothesis, without an interval.")
    ] = False,
    analyst: Analyst = None,
    purpose: Purpose = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each answer as a JSON object on one line.")
    ] = False,
) -> None:
    """Ask many counts, sums and averages on one charge. Most answers are free, and each shows whether it is.

    The oracle is charged once, when it is made; the same command again opens it and costs nothing.

    [bold]Examples[/bold]

    [cyan]discreet oracle people.vault "select count(*) from people" --columns age,city --epsilon 1[/cyan]

    [cyan]discreet oracle people.vault --columns age,city,income --epsilon 1 --within 0.02 < questions.sql[/cyan]
      one question on each line; with a larger margin, more answers are free

    [cyan]discreet oracle people.vault --columns age,city,income --spend 20%[/cyan]
      a share of the whole budget; asks at a prompt, until Ctrl-D

    With --json, an error is a JSON object on stderr, with the question and its line.

    Exit status: as ask; 0 = all were answered; 3 = the budget of the vault or of the oracle is not sufficient; 4 =
    stderr names a question that was refused, and the others were answered.
    """
    chosen, price = options.names(columns), options.amount(epsilon, spend)
    start: dict[str, Any] = {"bins": options.bins(bins), "prior": options.prior(prior), "name": name, "path": path}
    terms: dict[str, Any] = {"within": within, "confidence": confidence, "queries": queries, "promise": promise}
    with opened(vault, analyst=analyst, purpose=purpose) as table:
        if chosen is None:
            raise DiscreetError(
                "The columns of the oracle are missing.", fix=Fix("columns", list(table.metadata.columns))
            )
        with waiting("opening the oracle"):
            made = table.oracle(chosen, **price, **terms, **start)
        with made:
            if not as_json:
                rows = table.metadata.rows_per_person
                agreed = _agreed(made, rows, prior is None, terms)
                larger = _larger(price, table.ledger.balance())
                output.say(*_greeting(made), _expected(made, agreed, larger), "")
            _converse(made, questions, unchecked, as_json, vault)


def _converse(made: Oracle, questions: list[str] | None, unchecked: bool, as_json: bool, vault: str) -> None:
    """Answer one question after the other. A question that is refused does not stop the next one."""
    from discreet.render.terminal import plain

    worst = 0
    for line, question in ((None, asked) for asked in questions) if questions else _lines():
        try:
            answer = made.ask(question, unchecked=unchecked)
        except (QuestionRefused, BudgetExceeded) as wrong:
            where = "" if line is None else f"line {line}: "
            shown: dict[str, Any] = {
                "vault": display_name(vault),
                "prefix": f"discreet: {where}{plain(question)}\n  ",
            }
            report(wrong, [vault], **shown, as_json=as_json, question=question, line=line)
            worst = max(worst, code_of(wrong))
            continue
        if as_json:
            output.data(_document(answer))
        else:
            output.say(question, style="bold")
            output.say(str(answer), indent=2)
    if worst:
        raise typer.Exit(worst)


def _greeting(made: Oracle) -> list[str]:
    from discreet.oracle import render

    return [f"Answers are within {render.width(made)}; {render.used(made.spent, made.total)}."]


def _agreed(made: Oracle, rows: int, alone: bool, given: dict[str, Any]) -> Terms:
    from discreet.oracle.pricing import terms
    from discreet.oracle.span_oracle import SpanOracle

    start = "span" if isinstance(made, SpanOracle) else "pairs" if alone else "singles"
    return terms(rho=made.total, rows_per_person=rows, start=start, **given)


def _expected(made: Oracle, agreed: Terms, larger: list[tuple[str, Fraction]]) -> str:
    """Describe whether answers will be free, from the terms and from the released number of rows."""
    from discreet.oracle.pricing import prices
    from discreet.oracle.span_oracle import SpanOracle

    if isinstance(made, SpanOracle):
        return _planned(made, agreed, larger)
    known = prices(agreed, made.rows)
    if known.runs >= _AT_EASE:
        return f"Most answers can be free. It can correct itself {known.runs - 1:,} times; {_AFTERWARDS}"
    if known.watch is None:
        paid = int((made.total - made.spent) / known.single) if known.payment else 0
        rest = f"at most {paid:,} more can be charged" if paid else "none can be charged either"
        few = f"No new answer will be free, because a check for so little budget has a larger margin; {rest}."
    else:
        times = "once" if known.runs == 2 else f"{known.runs - 1} times"
        few = f"Few answers will be free. It can correct itself {times}; {_AFTERWARDS}"
    better = _better(made, agreed, larger)
    more = f"More would be free with {' or '.join(better)}: that is another oracle, with a charge of its own."
    return f"{few} {more}" if better else few


def _planned(made: SpanOracle, agreed: Terms, larger: list[tuple[str, Fraction]]) -> str:
    """Describe the plan of an oracle that measures first."""
    plan = made.plan
    if plan.free >= _MOSTLY:
        return (
            f"Most answers can be free: {100 * plan.free:.3g} % are expected to be. At least {plan.floor:,} "
            "new questions are answered, whatever they are."
        )
    few = "No new answer will be free" if not plan.share else "Few answers will be free"
    few = f"{few}; {plan.floor:,} can be charged."
    better = _better(made, agreed, larger)
    more = f"More would be free with {' or '.join(better)}: that is another oracle, with a charge of its own."
    return f"{few} {more}" if better else few


def _larger(price: dict[str, Any], vault: Balance) -> list[tuple[str, Fraction]]:
    """Return options that spend more than the given one, each with its ρ at the vault's δ."""
    from discreet.kernel import amount_of
    from discreet.kernel.amount import share_of
    from discreet.rational import positive

    if "spend" in price:
        shares = [_rounded(100 * share_of(price["spend"]) * more) for more in _MORE]
        return [(f"--spend {s}%", amount_of([vault], spend=f"{s}%")) for s in shares if Fraction(s) <= 100]
    most = vault.budget.epsilon if vault.budget is not None else 0
    found = [_rounded(positive(price["epsilon"], "epsilon") * more) for more in _MORE]
    return [(f"--epsilon {e}", amount_of([vault], epsilon=e)) for e in found if Fraction(e) <= most]


def _better(made: Oracle, agreed: Terms, larger: list[tuple[str, Fraction]]) -> list[str]:
    """Return options with which most answers would be free: a larger margin, or a larger ε or share."""
    from discreet.oracle.pricing import margin_of, prices
    from discreet.oracle.span.plan import plan

    def at_ease(other: Terms) -> bool:
        if other.start == "span":
            return plan(made.axes, other, margin_of(other, made.rows)).free >= _MOSTLY
        return prices(other, made.rows).runs >= _AT_EASE

    # Answers with a larger margin are hardly useful. Without a span, nothing may be known about the rows.
    rows = made.rows if math.isfinite(made.rows) else math.inf
    most = Fraction(1, 5) if agreed.within < 1 else Fraction(min(rows, 1e9)) / 5
    widths = [_rounded(agreed.within * more) for more in _MORE]
    wider = (w for w in widths if Fraction(w) <= most and at_ease(replace(agreed, within=Fraction(w))))
    enough = (option for option, rho in larger if at_ease(replace(agreed, rho=rho)))
    return [f"--within {w}" for w in itertools.islice(wider, 1)] + list(itertools.islice(enough, 1))


def _rounded(x: Fraction) -> str:
    """Round to two digits, as an option.

    >>> _rounded(Fraction(3, 200)), _rounded(Fraction(1234))
    ('0.015', '1200')
    """
    return f"{float(f'{float(x):.1e}'):g}"


def _lines() -> Iterator[tuple[int | None, str]]:
    """Yield the typed or piped questions, without empty lines, comments, and semicolons at the end.

    Each piped question comes with its line number, so that a refused one can be found among a thousand.
    """
    typed = sys.stdin.isatty()
    for number in itertools.count(1):
        if typed:
            typer.echo("ask> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return
        if (question := line.strip().rstrip(";").strip()) and not question.startswith("--"):
            yield None if typed else number, question


def _document(answer: OracleAnswer) -> dict[str, Any]:
    answer.expect_release("--json")
    written = answer.to_json()
    return {
        "question": answer.question,
        "value": output.number(answer.value),
        "low": output.number(answer.low),
        "high": output.number(answer.high),
        "confidence": float(answer.confidence),
        "checked": answer.checked,
        "free": answer.free,
        "how": list(answer.how),
        "promise": answer.promise,
        "cost_rho": float(answer.cost),
        "spent_rho": float(answer.spent),
        "total_rho": float(answer.total),
        **{name: written[name] for name in ("cost", "spent", "total", "receipt")},
    }
