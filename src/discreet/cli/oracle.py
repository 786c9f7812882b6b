"""`discreet oracle`: many questions on one charge, most of them free.

Questions come as arguments, from a pipe, or from whoever types them. An answer is shown when it is in the oracle's
journal, so whatever happens after it, asking again is free. Tested in tests/cli/test_oracle.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import many, screen
from discreet.cli.ask import Analyst, Purpose
from discreet.cli.conversation import OVERSPENT, REFUSED, in_options
from discreet.cli.places import Place, opened
from discreet.cli.progress import waiting
from discreet.errors import BudgetExceeded, DiscreetError, QuestionRefused

if TYPE_CHECKING:
    from discreet.oracle import Oracle, OracleAnswer


def oracle(
    vault: Place,
    epsilon: many.Epsilon,
    columns: many.Columns = None,
    questions: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUESTION…", help="SQL, in quotes. Without any: one in each line of stdin."),
    ] = None,
    within: Annotated[
        str, typer.Option(help="How far off answers may be: 0.01 of the rows, or 200 rows.")
    ] = "0.01",
    confidence: Annotated[str, typer.Option(help="How often an interval holds the truth.")] = "0.95",
    delta: many.Delta = None,
    queries: Annotated[int, typer.Option(help="About how many questions there will be.")] = 10_000,
    bins: many.Bins = None,
    prior: many.Prior = None,
    name: Annotated[str, typer.Option(help="Tells two oracles of the same terms apart.")] = "",
    path: Annotated[str | None, typer.Option(metavar="FILE", help="Where its state is kept.")] = None,
    unchecked: Annotated[
        bool, typer.Option(help="Where its budget ends, say what the hypothesis says, without an interval.")
    ] = False,
    analyst: Analyst = None,
    purpose: Purpose = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print an object in a line for every answer.")] = False,
) -> None:
    """Ask many counts, sums and averages on one charge. Most answers are free, and each says so.

    The oracle is charged once, when it is made; the same command again opens it and costs nothing.

    [bold]Examples[/bold]

    [cyan]discreet oracle people.vault "select count(*) from people" --columns age,city --epsilon 1[/cyan]

    [cyan]discreet oracle people.vault --columns age,city,income --epsilon 1 < questions.sql[/cyan]
      one question in each line

    [cyan]discreet oracle people.vault --columns age,city,income --epsilon 1[/cyan]
      asks at a prompt, until Ctrl-D

    Exit status: 0 all were answered, 3 the budget of the vault or of the oracle does not reach, 4 a question was
    refused; the others were answered.
    """
    chosen = many.names(columns)
    start: dict[str, Any] = {"bins": many.bins(bins), "prior": many.prior(prior), "name": name, "path": path}
    terms: dict[str, Any] = {"within": within, "confidence": confidence, "delta": delta, "queries": queries}
    with opened(vault, analyst=analyst, purpose=purpose) as table:
        if chosen is None:
            raise DiscreetError(
                f"Which columns will be asked about? --columns {','.join(table.description.columns)}"
            )
        with waiting("opening the oracle"):
            made = table.oracle(chosen, epsilon=epsilon, **terms, **start)
        with made:
            _converse(made, questions, unchecked, as_json)


def _converse(made: Oracle, questions: list[str] | None, unchecked: bool, as_json: bool) -> None:
    """Answer one question after the other; one that cannot be answered does not keep the next from being asked."""
    worst = 0
    if not as_json:
        screen.say(*_greeting(made))
    for question in questions or _lines():
        try:
            answer = made.ask(question, unchecked=unchecked)
        except (QuestionRefused, BudgetExceeded) as wrong:
            typer.echo(f"discreet: {in_options(str(wrong))}", err=True)
            worst = max(worst, REFUSED if isinstance(wrong, QuestionRefused) else OVERSPENT)
            continue
        if as_json:
            screen.data(_document(answer))
        else:
            screen.say(question, style="bold")
            screen.say(str(answer), indent=2)
    if worst:
        raise typer.Exit(worst)


def _greeting(made: Oracle) -> list[str]:
    spent = f"ρ = {float(made.spent):.3g} of {float(made.total):.3g} is spent"
    return [f"Answers are within {made.width:,.0f} of about {made.rows:,.0f} rows; {spent}.", ""]


def _lines() -> Iterator[str]:
    """What is typed or piped, without empty lines, comments, and the semicolons that people are used to."""
    typed = sys.stdin.isatty()
    while True:
        if typed:
            typer.echo("ask> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return
        if (question := line.strip().rstrip(";").strip()) and not question.startswith("--"):
            yield question


def _document(answer: OracleAnswer) -> dict[str, Any]:
    answer.expect_release("--json")
    return {
        "question": answer.question,
        "value": screen.number(answer.value),
        "low": screen.number(answer.low),
        "high": screen.number(answer.high),
        "confidence": float(answer.confidence),
        "checked": answer.checked,
        "free": answer.free,
        "how": list(answer.how),
        "cost_rho": float(answer.cost),
        "spent_rho": float(answer.spent),
        "total_rho": float(answer.total),
    }
