"""Define `discreet demo`: seal an invented city, ask it questions, and show its ledger, in under a minute.

The demo prints the commands that do the same. With --keep they can be tried on its files.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import output
from discreet.cli.progress import stages, waiting
from discreet.errors import BudgetExceeded, DiscreetError, QuestionRefused

if TYPE_CHECKING:
    from discreet.release.release import Release
    from discreet.vault.vault import Vault

SCHEMA = """\
# The columns of trips.parquet. Bounds come from what the columns mean, not from the rows.

[columns.age]
type = "integer"
lo = 0
hi = 110

[columns.district]
type = "category"
values = [{districts}]

[columns.income]  # a year
type = "real"
lo = 0
hi = 200000
step = 100

[columns.day]
type = "date"
lo = "{first}"
hi = "{last}"

[columns.mode]
type = "category"
values = [{modes}]
other = "another"

[columns.minutes]
type = "real"
lo = 0
hi = 180
step = "0.5"

[columns.bakery]  # the values cannot be listed: finding them costs budget
type = "text"
"""

QUESTIONS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("How many people live here?", "select count(distinct user_id) from trips", {"within": "200"}),
    (
        "What do they earn, by district?",
        "select district, count(distinct user_id) as persons, avg(income) as income from trips "
        "where district is not null group by district order by income desc",
        {"epsilon": "1.2"},
    ),
    (
        "How do people over 64 travel?",
        "select mode, count(*) as trips from trips where age >= 65 group by mode order by trips desc",
        {"epsilon": "0.6"},
    ),
    ("How long is the way?", "select median(minutes), quantile(minutes, 0.9) from trips", {"epsilon": "0.3"}),
    (
        "Which bakeries do they stop at? There is no list.",
        "select bakery, count(*) as stops from trips where bakery is not null group by bakery order by stops desc",
        {"epsilon": "0.6"},
    ),
)


def demo(
    persons: Annotated[
        int, typer.Option(min=1000, max=10_000_000, help="The number of persons in the city.")
    ] = 100_000,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep table, schema, vault and picture in a new directory.")
    ] = None,
) -> None:
    """Seal an invented city, ask it five questions, and show who spent what.

    [bold]Example[/bold]

    [cyan]discreet demo --keep demo[/cyan]
      keeps the vault, so that you can go on asking
    """
    import tempfile  # here, so that help is quick

    with tempfile.TemporaryDirectory() if keep is None else nullcontext(_made(keep)) as folder:
        tour(Path(folder), persons, kept=keep is not None)


def tour(folder: Path, persons: int, *, kept: bool) -> None:
    """Make a city, seal it and ask it, in a directory."""
    from discreet.cli.commands.ledger import show_accounts

    start = time.perf_counter()
    with _sealed(folder, persons) as vault:
        releases = [_answered(vault, *question) for question in QUESTIONS]
        _again(vault)
        _refused(vault)
        _heading("Who spent what")
        _typed("ledger trips.vault")
        show_accounts(vault.ledger)
        _picture(releases[1], folder / "income.svg", kept)
    output.say("", f"{time.perf_counter() - start:.0f} seconds, sealing included.", style="dim")
    if kept:
        output.say(f"Everything is in {folder}. Ask more:")
        output.command(f'discreet ask {folder / "trips.vault"} "select count(*) from trips" --spend 1%')
    else:
        output.say("Nothing was kept. To keep the vault and ask more, run:")
        output.command("discreet demo --keep demo")


# -- the steps --------------------------------------------------------------------------------------------------


def _sealed(folder: Path, persons: int) -> Vault:
    import pyarrow.parquet

    from discreet.cli.demo_data import city
    from discreet.ledger import Budget
    from discreet.sealing.draft import read_schema
    from discreet.vault.vault import Vault

    _heading(f"An invented city of {persons:,} people, and the trips they made in a year")
    with waiting("building the city"):
        pyarrow.parquet.write_table(city(persons), folder / "trips.parquet")
    (folder / "trips.toml").write_text(_schema(), encoding="utf-8")
    output.say("Each trip is a row, with the user_id of its person. The curator seals them, once:")
    _typed(
        "seal trips.parquet --schema trips.toml --person user_id --rows-per-person 8 --epsilon 2 --delta 1e-9 "
        "--to trips.vault"
    )
    with stages() as told:
        vault = Vault.seal(
            folder / "trips.parquet",
            to=folder / "trips.vault",
            budget=Budget(2, "1e-9"),
            columns=read_schema(folder / "trips.toml"),
            person="user_id",
            rows_per_person=8,
            progress=told,
        )
    output.say(
        "Now a person counts for at most 8 trips, and all answers together, whatever the questions, keep to the "
        "budget: ε = 2 at δ = 1e-9."
    )
    return vault


def _answered(vault: Vault, heading: str, question: str, price: dict[str, str]) -> Release:
    from discreet.cli.commands.ask import show

    _heading(heading)
    ((option, value),) = price.items()
    _typed(f'ask trips.vault "{question}" --{option} {value}')
    with waiting("asking"):
        release = vault.ask(question, **price)
    show(release, question=False)
    return release


def _again(vault: Vault) -> None:
    from discreet.release.render import cost

    heading, question, price = QUESTIONS[0]
    _heading("The same question again")
    output.say(f"{heading} {cost(vault.ask(question, **price))}")


def _refused(vault: Vault) -> None:
    from discreet.cli.fixes import rendered

    _heading("Questions that are refused before any row is read")
    asked: list[tuple[str, dict[str, Any]]] = [
        ("select user_id, income from trips", {"epsilon": "0.1"}),
        ("select count(*) from trips", {"epsilon": "3"}),
    ]
    for question, price in asked:
        _typed(f'ask trips.vault "{question}" --epsilon {price["epsilon"]}')
        try:
            vault.ask(question, **price)
        except (BudgetExceeded, QuestionRefused) as refusal:
            output.say(*rendered(refusal, "trips.vault").split("\n"))


def _picture(release: Release, file: Path, kept: bool) -> None:
    from discreet.cli.commands.ask import draw

    if not kept:
        return
    try:
        output.expect_pictures()
    except DiscreetError as missing:
        output.say("", str(missing))
        return
    draw(release, file)
    output.say("", f"The second answer as a picture: {file}")


def _schema() -> str:
    import json

    from discreet.cli.demo_data import DISTRICTS, FIRST, LAST, MODES

    listed = {"districts": DISTRICTS, "modes": MODES}
    return SCHEMA.format(
        first=FIRST, last=LAST, **{name: ", ".join(map(json.dumps, values)) for name, values in listed.items()}
    )


# -- output -----------------------------------------------------------------------------------------------------


def _heading(text: str) -> None:
    output.say("", text, style="bold")


def _typed(command: str) -> None:
    output.command(f"discreet {command}", prompt="$ ")


def _made(folder: Path) -> Path:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DiscreetError(
            "The directory for --keep exists already.", found=folder, fix="Name a new directory, or remove it."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiscreetError(f"The directory for --keep cannot be made: {error.strerror}.", found=folder) from error
    return folder
