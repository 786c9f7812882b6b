"""`discreet ledger` and `discreet budget`: who spent what, whether the books hold, and who may spend how much."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import locations, output
from discreet.cli.locations import Place
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.ledger import Balance, Budget, Entry, Head, Ledger


_HARDLY = 10  # an ε beyond which odds of 1 to 1 become 22,000 to 1
_LIKELY = Fraction(1, 10**5)  # a δ that a table of some ten thousand persons feels


class Look(StrEnum):
    """What to see of a ledger."""

    accounts = "accounts"
    entries = "entries"
    verify = "verify"


def ledger(
    vault: Place,
    look: Annotated[
        Look, typer.Argument(help="Who spent what, every entry, or whether they follow from each other.")
    ] = Look.accounts,
    since: Annotated[
        str | None,
        typer.Option(metavar="NUMBER:HASH", help="verify: see that this entry, kept elsewhere, is there."),
    ] = None,
    after: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="entries: only those after this one.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show who spent what of a vault's budget, and what is left.

    [bold]Examples[/bold]

    [cyan]discreet ledger people.vault[/cyan]

    [cyan]discreet ledger "postgresql://host/database#people"[/cyan]

    [cyan]discreet ledger people.vault entries --json[/cyan]
      everything that was ever asked, allotted and answered

    [cyan]discreet ledger people.vault verify --since 12:9f86d0…[/cyan]
      that nothing was changed or cut off; verify prints the line to keep

    Exit status: 0, 1 if the entries do not follow from each other or are gone, 2 bad input, 75 it cannot be
    reached now: try again.
    """
    head = _head(since)
    if (head is not None and look is not Look.verify) or (after and look is not Look.entries):
        raise DiscreetError(
            "--since goes with verify, and --after with entries: discreet ledger VAULT verify --since …"
        )
    with _opened(vault) as books:
        match look:
            case Look.accounts:
                show_accounts(books, as_json=as_json)
            case Look.entries:
                _show_entries(books, after, as_json)
            case Look.verify:
                _verify(books, vault, head, as_json)


def budget(
    vault: Place,
    allot: Annotated[
        bool, typer.Option("--allot", help="Give an analyst or a purpose a budget of its own.")
    ] = False,
    amend: Annotated[
        bool, typer.Option("--amend", help="Change a budget, of the whole if nobody is named.")
    ] = False,
    analyst: Annotated[str | None, typer.Option(metavar="NAME", help="Whose budget.")] = None,
    purpose: Annotated[str | None, typer.Option(metavar="NAME", help="Or that of which purpose.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The ε of the budget.")] = None,
    delta: Annotated[str | None, typer.Option(help="Its δ. [as it is, or as of the whole vault]")] = None,
    reason: Annotated[str, typer.Option(help="Why, for the ledger.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the accounts as JSON.")] = False,
) -> None:
    """Show or set what may be spent, by whom. For the curator; it is recorded in the ledger.

    A budget that is raised after looking at answers promises only what it was raised to.

    [bold]Examples[/bold]

    [cyan]discreet budget people.vault --allot --analyst ana --epsilon 0.5[/cyan]

    [cyan]discreet budget people.vault --amend --epsilon 3 --reason "a second year"[/cyan]
    """
    with _opened(vault) as books:
        if allot or amend:
            _grant(books, allot, amend, {"analyst": analyst, "purpose": purpose}, epsilon, delta, reason)
        elif any((analyst, purpose, epsilon, delta, reason)):
            raise DiscreetError("Say what to do with the budget: --allot a new one, or --amend one that is there.")
        show_accounts(books, as_json=as_json)


# -- the curator's hand -----------------------------------------------------------------------------------------


def _grant(
    books: Ledger,
    allot: bool,
    amend: bool,
    whose: dict[str, str | None],
    epsilon: str | None,
    delta: str | None,
    reason: str,
) -> None:
    if allot and amend:
        raise DiscreetError("--allot gives a first budget, --amend changes it: take one.")
    if epsilon is None:
        raise DiscreetError("How much? Write --epsilon 0.5")
    present = books.balance(**whose).budget or books.balance().budget
    granted = _budget(epsilon, delta, present)
    warn(granted)
    whole = books.balance().budget
    if any(whose.values()) and whole is not None and granted.epsilon > whole.epsilon:
        typer.echo(
            f"discreet: that is more than the whole vault has ({whole}), whose limit comes first.", err=True
        )
    if allot:
        books.allot(budget=granted, reason=reason, **whose)
    else:
        books.amend(granted, reason=reason, **whose)


def _budget(epsilon: str, delta: str | None, present: Budget | None) -> Budget:
    """Without a word about δ it stays what it is: without one, an account could not pay for Gaussian noise."""
    from discreet.ledger import Budget

    if delta is not None:
        return Budget(epsilon, delta)
    return Budget(epsilon, present.delta) if present is not None else Budget(epsilon)


def warn(granted: Budget) -> None:
    """Say on stderr what a budget hardly promises. It is the curator's to decide."""
    from discreet.privacy.theorems.odds import explain
    from discreet.render import amounts as words

    if granted.epsilon > _HARDLY:
        typer.echo(
            f"discreet: ε = {words.left(granted.epsilon)} is hardly a promise. "
            f"{explain(granted.epsilon, granted.delta)} Below 1 is strong, and --epsilon 2 is usual.",
            err=True,
        )
    if granted.delta > _LIKELY:
        typer.echo(
            f"discreet: δ = {words.left(granted.delta)} is large: with that chance nothing is promised to a "
            "person, so it should be far below one over the number of persons, such as --delta 1e-9.",
            err=True,
        )


# -- what goes in and out ---------------------------------------------------------------------------------------


def _opened(vault: str) -> Ledger:
    from discreet.vault.storage import storage_at

    place = storage_at(vault)
    place.metadata()  # says in words if there is no vault
    return place.ledger()


def _head(written: str | None) -> Head | None:
    from discreet.ledger import Head

    if written is None:
        return None
    number, _, digest = written.strip().partition(":")
    if not number.isdecimal() or len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise DiscreetError(
            f"--since {written} is no entry: write number:hash, as discreet ledger VAULT verify prints it."
        )
    return Head(int(number), digest)


def show_accounts(books: Ledger, *, as_json: bool = False) -> None:
    """Print who may spend what, has spent, and has left."""
    balances, unfinished = books.balances(), len(books.unfinished())
    if as_json:
        accounts = [_account(balance) for balance in balances]
        output.data({"strict": books.strict, "accounts": accounts, "unfinished": unfinished})
        return
    heads = ("account", "asked", "spent", "share", "left", "one more of")
    output.table(heads, map(_row, balances), right=(1, 3), whole=(1, 2, 3, 4, 5))
    if unfinished:
        were = "question was" if unfinished == 1 else "questions were"
        output.say(
            "", f"{unfinished} {were} charged and not answered: at work now, or lost in a crash. It stays spent."
        )
    if books.strict:
        output.say("", "This ledger is strict: only analysts and purposes with a budget of their own may ask.")


def _row(balance: Balance) -> tuple[str, ...]:
    from discreet.ledger import render
    from discreet.release.receipt import largest_question
    from discreet.render import amounts as words

    account, granted, spent, share, left, _, asked = render.rows([balance])[0]
    most = largest_question(balance)
    fits = "–" if most is None else f"ε ≤ {words.left(most)}"
    return (f"{account}\n{granted}" if balance.budget else account, asked, spent, share, left, fits)


def _account(balance: Balance) -> dict[str, Any]:
    from discreet.release.receipt import largest_question
    from discreet.render import amounts as words

    most, budget = largest_question(balance), balance.budget
    limits = {
        "epsilon": None if budget is None else float(words.left(budget.epsilon)),
        "delta": None if budget is None else float(words.left(budget.delta)),
        "total": None if balance.total is None else float(words.left(balance.total)),
        "left": None if balance.remaining is None else float(words.left(balance.remaining)),
        "largest_question": None if most is None else float(words.left(most)),
    }
    return {
        "role": balance.account.role,
        "name": balance.account.analyst or balance.account.purpose,
        "unit": "epsilon" if balance.unit == "ε" else "rho",
        "spent": float(words.spent(balance.used)),
        **limits,
        "questions": balance.charges,
    }


def _show_entries(books: Ledger, after: int, as_json: bool) -> None:
    entries = [*books.entries(after=after)]
    if as_json:
        output.data([{**asdict(entry), "body": entry.content} for entry in entries])
        return
    from discreet.render.numbers import utc

    answered = {entry.content["charge"] for entry in entries if entry.kind == "release"}
    for entry in entries:
        if entry.kind != "release":
            who, amount, words = _told(entry, answered)
            output.say("  ".join(filter(None, (f"{entry.number:>5}", utc(entry.time), who, amount))), style="bold")
            output.say(words, indent=7)


def _told(entry: Entry, answered: set[int]) -> tuple[str, str, str]:
    """Who, how much, and what for."""
    content = entry.content
    who = ", ".join(content[role] for role in ("analyst", "purpose") if content.get(role))
    if entry.kind == "charge":
        missing = "" if entry.number in answered else " (no answer was recorded)"
        return who, _amount(content), content["question"] + missing
    return who, _granted(content), ": ".join(filter(None, (entry.kind, content.get("reason"))))


def _amount(content: dict[str, Any]) -> str:
    """What was charged, in the amount that the whole ledger adds up."""
    from discreet.ledger import Account
    from discreet.ledger.balance import read, read_cost
    from discreet.release.receipt import Receipt

    whole = read(Account(), content["after"]["vault"])
    return Receipt(cost=read_cost(content["cost"]), losses=(), balances=[whole]).spent


def _granted(content: dict[str, Any]) -> str:
    from discreet.ledger import Account
    from discreet.ledger.balance import read

    account = Account(content.get("analyst"), content.get("purpose"))
    return str(read(account, content["after"][account.role]).budget)


def _verify(books: Ledger, vault: str, since: Head | None, as_json: bool) -> None:
    import shlex

    head = books.verify(since=since)
    if as_json:
        output.data({"number": head.number, "hash": head.hash})
        return
    kept = "" if since is None else f", and entry {since.number} is still the one that was kept"
    follow = (
        "1 entry holds, and so do its sums"
        if head.number == 1
        else (f"{head.number:,} entries follow from each other, and so do their sums")
    )
    output.say(f"{follow}{kept}.")
    output.say("A tail that is cut off cannot be seen from inside. Keep this elsewhere, and verify against it:")
    output.command(
        f"discreet ledger {shlex.quote(locations.words(vault))} verify --since {head.number}:{head.hash}"
    )
