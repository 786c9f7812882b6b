"""`discreet oracle`: many questions on one charge, most of them free.

Questions come as arguments, from a pipe, or from whoever types them. An answer is shown when it is in the oracle's
journal, so whatever happens after it, asking again is free.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options, output
from discreet.cli.commands.ask import Analyst, Purpose
from discreet.cli.exit_codes import OVERSPENT, REFUSED
from discreet.cli.fixes import in_options
from discreet.cli.locations import Place, opened
from discreet.cli.progress import waiting
from discreet.errors import BudgetExceeded, DiscreetError, QuestionRefused

if TYPE_CHECKING:
    from discreet.oracle import Oracle, OracleAnswer
    from discreet.oracle.pricing import Terms

_AT_EASE = 6  # runs of the sentry: an oracle with so many may be wrong five times before it has to be paid
_MORE = (Fraction(3, 2), 2, 3, 5, 10, 20, 50, 100)


def oracle(
    vault: Place,
    epsilon: options.Epsilon,
    columns: options.Columns = None,
    questions: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUESTION…", help="SQL, in quotes. Without any: one in each line of stdin."),
    ] = None,
    within: Annotated[
        str, typer.Option(help="How far off answers may be: 0.01 of the rows, or 200 rows.")
    ] = "0.01",
    confidence: Annotated[str, typer.Option(help="How often an interval holds the truth.")] = "0.95",
    delta: options.Delta = None,
    queries: Annotated[int, typer.Option(help="About how many questions there will be.")] = 10_000,
    bins: options.Bins = None,
    prior: options.Prior = None,
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

    [cyan]discreet oracle people.vault --columns age,city,income --epsilon 1 --within 0.02 < questions.sql[/cyan]
      one question in each line; the wider an answer may be, the more of them are free

    [cyan]discreet oracle people.vault --columns age,city,income --epsilon 1[/cyan]
      asks at a prompt, until Ctrl-D

    Exit status: 0 all were answered, 3 the budget of the vault or of the oracle does not reach, 4 a question was
    refused, which stderr names; the others were answered. The rest as of discreet ask.
    """
    chosen = options.names(columns)
    start: dict[str, Any] = {"bins": options.bins(bins), "prior": options.prior(prior), "name": name, "path": path}
    terms: dict[str, Any] = {"within": within, "confidence": confidence, "delta": delta, "queries": queries}
    with opened(vault, analyst=analyst, purpose=purpose) as table:
        if chosen is None:
            raise DiscreetError(f"Which columns will be asked about? --columns {','.join(table.metadata.columns)}")
        with waiting("opening the oracle"):
            made = table.oracle(chosen, epsilon=epsilon, **terms, **start)
        with made:
            if not as_json:
                rows = table.metadata.rows_per_person
                agreed = _agreed(made, within, confidence, queries, prior is None, rows)
                output.say(*_greeting(made), _expected(made, agreed, epsilon if delta is None else None), "")
            _converse(made, questions, unchecked, as_json)


def _converse(made: Oracle, questions: list[str] | None, unchecked: bool, as_json: bool) -> None:
    """Answer one question after the other; one that cannot be answered does not keep the next from being asked."""
    from discreet.render.terminal import plain

    worst = 0
    for place, question in (("", asked) for asked in questions) if questions else _lines():
        try:
            answer = made.ask(question, unchecked=unchecked)
        except (QuestionRefused, BudgetExceeded) as wrong:
            typer.echo(f"discreet: {place}{plain(question)}\n  {in_options(str(wrong))}", err=True)
            worst = max(worst, REFUSED if isinstance(wrong, QuestionRefused) else OVERSPENT)
            continue
        if as_json:
            output.data(_document(answer))
        else:
            output.say(question, style="bold")
            output.say(str(answer), indent=2)
    if worst:
        raise typer.Exit(worst)


def _greeting(made: Oracle) -> list[str]:
    spent = f"ρ = {float(made.spent):.3g} of {float(made.total):.3g} is spent"
    return [f"Answers are within {made.width:,.0f} of about {made.rows:,.0f} rows; {spent}."]


def _agreed(made: Oracle, within: str, confidence: str, queries: int, alone: bool, rows: int) -> Terms:
    from discreet.oracle.pricing import terms

    start = "pairs" if alone else "singles"
    written: dict[str, Any] = {"within": within, "confidence": confidence, "queries": queries, "start": start}
    return terms(rho=made.total, rows_per_person=rows, **written)


def _expected(made: Oracle, agreed: Terms, epsilon: str | None) -> str:
    """Whether answers will be free, from the terms and from the number of rows as it was released."""
    from discreet.oracle.pricing import prices

    known = prices(agreed, made.rows)
    if known.runs >= _AT_EASE:
        return (
            f"Most answers can be free: it may be wrong {known.runs - 1:,} times before all have to be paid for."
        )
    if known.watch is None:
        paid = int((made.total - made.spent) / known.single) if known.payment else 0
        rest = f"{paid:,} more can be paid for at most" if paid else "none can be paid for either"
        few = f"No new answer will be free, for a check at so little ρ is wider than that; {rest}."
    else:
        times = "once" if known.runs == 2 else f"{known.runs - 1} times"
        few = f"Few answers will be free: it may be wrong {times} before all have to be paid for."
    better = _better(agreed, made.rows, epsilon)
    return f"{few} Most would be with {' or '.join(better)}: another oracle, at its own cost." if better else few


def _better(agreed: Terms, rows: float, epsilon: str | None) -> list[str]:
    """Options with which an oracle of these rows would be at ease: wider, or dearer."""
    from discreet.oracle.pricing import prices
    from discreet.rational import positive

    def at_ease(other: Terms) -> bool:
        return prices(other, rows).runs >= _AT_EASE

    most = Fraction(1, 5) if agreed.within < 1 else Fraction(rows) / 5  # wider answers hardly say anything
    widths = [_rounded(agreed.within * more) for more in _MORE]
    wider = [w for w in widths if Fraction(w) <= most and at_ease(replace(agreed, within=Fraction(w)))]
    spent = [] if epsilon is None else [_rounded(positive(epsilon, "epsilon") * more) for more in _MORE]
    dearer = [e for e in spent if Fraction(e) <= 10 and at_ease(replace(agreed, rho=Fraction(e) ** 2 / 2))]
    return [f"--within {w}" for w in wider[:1]] + [f"--epsilon {e}" for e in dearer[:1]]


def _rounded(x: Fraction) -> str:
    """Two digits, as one types them.

    >>> _rounded(Fraction(3, 200)), _rounded(Fraction(1234))
    ('0.015', '1200')
    """
    return f"{float(f'{float(x):.1e}'):g}"


def _lines() -> Iterator[tuple[str, str]]:
    """What is typed or piped, without empty lines, comments, and the semicolons that people are used to.

    Before it stands its line in the file: who sent a thousand questions has to find the one that was refused.
    """
    typed = sys.stdin.isatty()
    for number in itertools.count(1):
        if typed:
            typer.echo("ask> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return
        if (question := line.strip().rstrip(";").strip()) and not question.startswith("--"):
            yield "" if typed else f"line {number}: ", question


def _document(answer: OracleAnswer) -> dict[str, Any]:
    answer.expect_release("--json")
    return {
        "question": answer.question,
        "value": output.number(answer.value),
        "low": output.number(answer.low),
        "high": output.number(answer.high),
        "confidence": float(answer.confidence),
        "checked": answer.checked,
        "free": answer.free,
        "how": list(answer.how),
        "cost_rho": float(answer.cost),
        "spent_rho": float(answer.spent),
        "total_rho": float(answer.total),
    }
