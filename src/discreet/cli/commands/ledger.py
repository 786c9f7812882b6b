"""Define `discreet ledger` and `discreet budget`: see who spent what, verify it, and set who may spend what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import locations, output
from discreet.cli.locations import Location
from discreet.errors import DiscreetError, Fix

if TYPE_CHECKING:
    from discreet.ledger import Balance, Budget, Entry, Head, Ledger


_LARGE_EPSILON = 10  # beyond it, odds of 1 to 1 become 22,000 to 1
_LARGE_DELTA = Fraction(1, 10**5)  # beyond it, a table of some ten thousand persons is at risk


class Look(StrEnum):
    """The view of a ledger."""

    accounts = "accounts"
    entries = "entries"
    verify = "verify"


def ledger(
    vault: Location,
    look: Annotated[
        Look, typer.Argument(help="The accounts, every entry, or a check of the hash chain.")
    ] = Look.accounts,
    since: Annotated[
        str | None,
        typer.Option(metavar="NUMBER:HASH", help="verify: check that this entry, kept elsewhere, is there."),
    ] = None,
    after: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="entries: only those after this one.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show what share of its budget each account used, and what is left. --json has the amounts.

    [bold]Examples[/bold]

    [cyan]discreet ledger people.vault[/cyan]

    [cyan]discreet ledger "postgresql://host/database#people"[/cyan]

    [cyan]discreet ledger people.vault entries --json[/cyan]
      every question, allotment and answer

    [cyan]discreet ledger people.vault verify --since 12:9f86d0…[/cyan]
      checks that nothing was changed or cut off; verify prints the line to keep

    With --json, an error is a JSON object on stderr.

    Exit status: 1 = the entries do not follow from each other, or are gone; 75 = the ledger cannot be reached now,
    try again.
    """
    head = _head(since)
    if (head is not None and look is not Look.verify) or (after and look is not Look.entries):
        raise DiscreetError(
            "--since is for verify, and --after is for entries.",
            fix="Write discreet ledger VAULT verify --since …, or discreet ledger VAULT entries --after …",
        )
    with _opened(vault) as book:
        match look:
            case Look.accounts:
                show_accounts(book, as_json=as_json)
            case Look.entries:
                _show_entries(book, after, as_json)
            case Look.verify:
                _verify(book, vault, head, as_json)


def budget(
    vault: Location,
    allot: Annotated[
        bool, typer.Option("--allot", help="Give an analyst or a purpose a budget of its own.")
    ] = False,
    amend: Annotated[
        bool, typer.Option("--amend", help="Change a budget: of the whole vault unless an account is named.")
    ] = False,
    analyst: Annotated[str | None, typer.Option(metavar="NAME", help="The budget of this analyst.")] = None,
    purpose: Annotated[str | None, typer.Option(metavar="NAME", help="The budget of this purpose.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The ε of the budget.")] = None,
    delta: Annotated[
        str | None, typer.Option(help="The δ of the budget. [unchanged, or that of the whole vault]")
    ] = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="The reason, for the ledger. A budget is not raised without one.")
    ] = "",
    yes: Annotated[
        bool, typer.Option("--yes", help="Raise the budget without asking again. The ledger says so.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the accounts as JSON.")] = False,
) -> None:
    """Show the budgets, or set one. This is for the curator, and is recorded in the ledger.

    If a budget is raised after answers were seen, only the raised budget is guaranteed. So it needs a reason and a
    confirmation, and the ledger keeps both.

    [bold]Examples[/bold]

    [cyan]discreet budget people.vault --allot --analyst ana --epsilon 0.5[/cyan]

    [cyan]discreet budget people.vault --amend --epsilon 3 --reason "a second year"[/cyan]
    """
    with _opened(vault) as book:
        if allot or amend:
            _grant(book, allot, amend, {"analyst": analyst, "purpose": purpose}, epsilon, delta, reason, yes)
        elif any((analyst, purpose, epsilon, delta, reason, yes)):
            raise DiscreetError(
                "It is not clear what to do with the budget.",
                fix=[Fix("allot", True, note="a new budget"), Fix("amend", True, note="change an existing one")],
            )
        show_accounts(book, as_json=as_json)


# -- setting budgets --------------------------------------------------------------------------------------------


def _grant(
    book: Ledger,
    allot: bool,
    amend: bool,
    whose: dict[str, str | None],
    epsilon: str | None,
    delta: str | None,
    reason: str,
    yes: bool,
) -> None:
    if allot and amend:
        raise DiscreetError(
            "--allot and --amend cannot be combined.",
            fix=[Fix("allot", True, note="gives a first budget"), Fix("amend", True, note="changes it")],
        )
    if epsilon is None:
        raise DiscreetError("The ε of the budget is missing.", fix=Fix("epsilon", "0.5"))
    present = book.balance(**whose).budget or book.balance().budget
    granted = _budget(epsilon, delta, present)
    warn(granted)
    whole = book.balance().budget
    if any(whose.values()) and whole is not None and granted.epsilon > whole.epsilon:
        typer.echo(
            f"discreet: this is more than the budget of the whole vault ({whole}), which is the limit.", err=True
        )
    if allot:
        book.allot(budget=granted, reason=reason, **whose)
    else:
        owned = book.balance(**whose)
        raised = owned.budget is not None and (
            granted.epsilon > owned.budget.epsilon or granted.delta > owned.budget.delta
        )
        confirmed = _confirmed(owned, granted, reason, yes) if raised else ""
        book.amend(granted, analyst=whose["analyst"], purpose=whose["purpose"], reason=reason, confirmed=confirmed)


def _confirmed(owned: Balance, granted: Budget, reason: str, yes: bool) -> str:
    """Return how the curator confirmed that a budget is raised, for the ledger. Refuse without a reason."""
    from discreet.render import numbers

    if not reason.strip():
        raise DiscreetError(
            "A budget is raised only for a reason, which the ledger keeps.", fix=Fix("reason", "a second year")
        )
    if yes:
        return "--yes"
    answer = numbers.left(granted.epsilon)
    typer.echo(
        f"This raises the budget of {owned.account} from {owned.budget} to {granted}. Then only the larger "
        "budget is promised to the persons in the table, for the answers already given as well.",
        err=True,
    )
    try:
        typed = typer.prompt(f"Type {answer} to confirm", default="", show_default=False, err=True)
    except typer.Abort:
        typed = ""
    if typed.strip() != str(answer):
        raise DiscreetError(
            "The budget was not raised, because that was not confirmed.",
            found=typed.strip() or "nothing",
            fix=Fix("yes", True, note="confirms it in a script"),
        )
    return f"typed {answer}"


def _budget(epsilon: str, delta: str | None, present: Budget | None) -> Budget:
    """Return the budget. By default its δ is unchanged: an account without δ cannot be charged Gaussian noise."""
    from discreet.ledger import Budget

    if delta is not None:
        return Budget(epsilon, delta)
    return Budget(epsilon, present.delta) if present is not None else Budget(epsilon)


def warn(granted: Budget) -> None:
    """Warn on stderr about a budget that protects little. The curator decides."""
    from discreet.privacy.theorems.odds import explain
    from discreet.render import numbers

    if granted.epsilon > _LARGE_EPSILON:
        typer.echo(
            f"discreet: ε = {numbers.left(granted.epsilon)} protects little. "
            f"{explain(granted.epsilon, granted.delta)} Below 1 is strong, and --epsilon 2 is usual.",
            err=True,
        )
    if granted.delta > _LARGE_DELTA:
        typer.echo(
            f"discreet: δ = {numbers.left(granted.delta)} is large: with this probability a person has no "
            "guarantee. It should be far below one over the number of persons, such as --delta 1e-9.",
            err=True,
        )


# -- input and output -------------------------------------------------------------------------------------------


def _opened(vault: str) -> Ledger:
    from discreet.vault.storage import storage_at

    storage = storage_at(vault)
    storage.metadata()  # raises a clear error if there is no vault
    return storage.ledger()


def _head(written: str | None) -> Head | None:
    from discreet.ledger import Head

    if written is None:
        return None
    number, _, digest = written.strip().partition(":")
    if not number.isdecimal() or len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise DiscreetError(
            "--since is not an entry of a ledger.",
            found=written,
            fix="Write number:hash, as discreet ledger VAULT verify prints it.",
        )
    return Head(int(number), digest)


def show_accounts(book: Ledger, *, as_json: bool = False) -> None:
    """Print the accounts: what each may spend, has spent, and has left."""
    balances, unfinished = book.balances(), len(book.unfinished())
    if as_json:
        accounts = [_account(balance) for balance in balances]
        output.data({"strict": book.strict, "accounts": accounts, "unfinished": unfinished})
        return
    heads = ("account", "asked", "used", "left")
    output.table(heads, _rows(balances), right=(1, 2, 3), whole=(1, 2, 3))
    if unfinished:
        were = "question was" if unfinished == 1 else "questions were"
        output.say(
            "", f"{unfinished} {were} charged and not answered: running now, or lost in a crash. It stays spent."
        )
    if book.strict:
        output.say("", "This ledger is strict: only analysts and purposes with a budget of their own may ask.")


def _rows(balances: Sequence[Balance]) -> list[tuple[str, ...]]:
    from discreet.ledger import render

    return [
        (account if granted == "–" else f"{account}\n{granted}", asked, used, left)
        for account, granted, used, left, asked in render.rows(balances)
    ]


def _account(balance: Balance) -> dict[str, Any]:
    from discreet.release.receipt import largest_question
    from discreet.render import numbers

    most, budget = largest_question(balance), balance.budget
    limits = {
        "epsilon": None if budget is None else float(numbers.left(budget.epsilon)),
        "delta": None if budget is None else float(numbers.left(budget.delta)),
        "total": None if balance.total is None else float(numbers.left(balance.total)),
        "left": None if balance.remaining is None else float(numbers.left(balance.remaining)),
        "largest_question": None if most is None else float(numbers.left(most)),
    }
    return {
        "role": balance.account.role,
        "name": balance.account.analyst or balance.account.purpose,
        "unit": "epsilon" if balance.unit == "ε" else "rho",
        "spent": float(numbers.spent(balance.used)),
        **limits,
        "questions": balance.charges,
    }


def _show_entries(book: Ledger, after: int, as_json: bool) -> None:
    entries = [*book.entries(after=after)]
    if as_json:
        output.data([{**asdict(entry), "body": entry.content} for entry in entries])
        return
    from discreet.render.numbers import utc

    answered = {entry.content["charge"] for entry in entries if entry.kind == "release"}
    for entry in entries:
        if entry.kind not in ("release", "failure"):
            who, amount, what = _described(entry, answered)
            output.say("  ".join(filter(None, (f"{entry.number:>5}", utc(entry.time), who, amount))), style="bold")
            output.say(what, indent=7)


def _described(entry: Entry, answered: set[int]) -> tuple[str, str, str]:
    """Return the account, the amount and the content of an entry."""
    content = entry.content
    who = ", ".join(content[role] for role in ("analyst", "purpose") if content.get(role))
    if entry.kind == "charge":
        missing = "" if entry.number in answered else " (no answer was recorded)"
        return who, _amount(content), content["question"] + missing
    confirmed = f" (confirmed: {content['confirmed']})" if content.get("confirmed") else ""
    return who, _granted(content), ": ".join(filter(None, (entry.kind, content.get("reason")))) + confirmed


def _amount(content: dict[str, Any]) -> str:
    """Return the charge, as a share of the budget of the whole vault at that time."""
    from discreet.ledger import Account
    from discreet.ledger.balance import read, read_cost
    from discreet.release.receipt import Receipt

    whole = read(Account(), content["after"]["vault"])
    return Receipt(cost=read_cost(content["cost"]), losses=(), balances=[whole]).used


def _granted(content: dict[str, Any]) -> str:
    from discreet.ledger import Account
    from discreet.ledger.balance import read

    account = Account(content.get("analyst"), content.get("purpose"))
    return str(read(account, content["after"][account.role]).budget)


def _verify(book: Ledger, vault: str, since: Head | None, as_json: bool) -> None:
    import shlex

    head = book.verify(since=since)
    if as_json:
        output.data({"number": head.number, "hash": head.hash})
        return
    kept = "" if since is None else f", and entry {since.number} is the one that was kept"
    follow = (
        "The only entry is unchanged, and its sums are right"
        if head.number == 1
        else f"All {head.number:,} entries are unchanged, and their sums are right"
    )
    output.say(f"{follow}{kept}.")
    if not book.guarded:
        output.say(
            "An older Discreet made this ledger: a role with INSERT on it can raise budgets. Its owner can end "
            "that in Python: vault.ledger.trust(ROLE), with the role of the service."
        )
    output.say(
        "Deleted last entries cannot be detected here; keep this line elsewhere, and run it to detect them:"
    )
    output.command(
        f"discreet ledger {shlex.quote(locations.display_name(vault))} verify --since {head.number}:{head.hash}"
    )
