"""Print the auditor's findings in a terminal: one table, and below it every refuted claim in full.

Below 140 columns a subject and its claim are a heading above its rows; from 140 on they have columns. A narrow
terminal leaves out the last columns, so that the others stay readable. Text from outside is never read as markup.
"""

from __future__ import annotations

from itertools import accumulate

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from discreet.audit.power import Power
from discreet.audit.report.findings import Findings, Visit, confidence, delta, epsilons, factor, summary, word
from discreet.audit.report.verdict import Report, Verdict

_WIDE, _WIDE_MUSEUM = 140, 120  # columns of the terminal from which headings become columns
_HEADINGS = ("attack", "verdict", "claimed ε", "found ε ≥", "δ", "confidence", "seconds")
_WIDTHS = (10, 9, 9, 9, 7, 10, 7)  # fixed, so that the numbers of all reports are aligned
_GAP = 2  # columns between columns


def show(findings: Findings, console: Console, *, quiet: bool = False, stories: bool = False) -> None:
    """Print the findings; if `quiet`, only what was caught. `stories` prints exhibits in full, without a table.

    >>> show(Findings(seconds=2.0), Console())
    0 mechanisms, 0 attacks, nothing caught, 2.0 s.
    """
    if findings.reports and not quiet:
        _reports(findings.reports, console)
    if findings.powers:
        console.print(_table_of_powers(findings.powers))
        console.print()
    if findings.visits and not (quiet or stories):
        console.print(_table_of_visits(findings.visits, wide=console.width >= _WIDE_MUSEUM))
        console.print()
    for report in findings.reports:
        _print_caught(report, console)
    for visit in findings.visits:
        if stories:
            _print_story(visit, console)
        elif not visit.as_expected:
            _print_unexpected(visit, console)
    if not quiet or findings.failed or findings.undecided:
        style = "bold red" if findings.failed else "bold yellow" if findings.undecided else "bold green"
        console.print(Text(summary(findings), style=style))


# -- mechanisms -------------------------------------------------------------------------------------------------


def _reports(reports: tuple[Report, ...], console: Console) -> None:
    if console.width >= _WIDE:
        console.print(_wide(reports, console.width))
        console.print()
        return
    fitting = _fitting(console.width)
    console.print(_with_columns(_table(), fitting))
    for report in reports:
        console.print(Text.assemble((report.subject, "bold"), (f" claims {report.claim}", "dim")))
        table = _with_columns(_table(headed=False), fitting)
        for cells in _rows(report):
            table.add_row(*cells[:fitting])
        console.print(table)
        console.print()


def _wide(reports: tuple[Report, ...], width: int) -> Table:
    room = width - sum(_WIDTHS) - _GAP * (len(_WIDTHS) + 2)
    subject = min(2 * room // 5, max(len("subject"), *(len(report.subject) for report in reports)))
    table = _table()
    table.add_column("subject", width=subject, overflow="fold")
    table.add_column("claim", width=room - subject, overflow="fold")
    _with_columns(table)
    for report in reports:
        titles = [Text(report.subject, style="bold"), Text(report.claim, style="dim")]
        for cells in _rows(report):
            table.add_row(*titles, *cells)
            titles = [Text(), Text()]
        table.add_section()
    return table


def _fitting(width: int) -> int:
    """Return how many columns fit: at least one, because rich cannot draw a table without columns."""
    ends = accumulate(_GAP + column for column in _WIDTHS)
    return max(1, sum(end - _GAP <= width for end in ends))


def _with_columns(table: Table, most: int = len(_WIDTHS)) -> Table:
    for heading, width in list(zip(_HEADINGS, _WIDTHS, strict=True))[:most]:
        table.add_column(heading, width=width, justify="left" if heading in ("attack", "verdict") else "right")
    return table


def _rows(report: Report) -> list[list[Text]]:
    return [_cells(verdict) for verdict in report.verdicts] or [[Text("none fits", style="dim")]]


def _cells(verdict: Verdict) -> list[Text]:
    claimed, found = epsilons(verdict)
    style = "bold red" if verdict.caught else ""
    return [
        Text(verdict.attack),
        _label(verdict),
        Text(claimed),
        Text(found, style=style),
        Text(delta(verdict)),
        Text(confidence(verdict)),
        Text(f"{verdict.seconds:.1f}"),
    ]


def _print_caught(report: Report, console: Console) -> None:
    for verdict in report.verdicts:
        if verdict.caught or (verdict.undecided and report.undecided):
            _print_verdict(console, report.subject, verdict, _label(verdict))


def _print_verdict(console: Console, name: str, verdict: Verdict, word: Text) -> None:
    console.print(Text.assemble((name, "bold"), ", ", verdict.attack, ": ", word))
    console.print(Padding(Text(verdict.words), (0, 0, 1, 2)))


def _table_of_powers(powers: tuple[Power, ...]) -> Table:
    table = _table()
    table.add_column("subject", overflow="fold")
    table.add_column("attack", no_wrap=True)
    table.add_column("weakened", no_wrap=True)
    table.add_column("caught from", justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    for power in powers:
        table.add_row(
            Text(power.subject, style="bold"),
            Text(power.attack or "sampling only"),
            Text(power.weakened or "–"),
            Text(factor(power)),
            Text(f"{power.seconds:.1f}"),
        )
    return table


# -- the museum -------------------------------------------------------------------------------------------------


def _table_of_visits(visits: tuple[Visit, ...], *, wide: bool) -> Table:
    table = _table()
    if wide:
        table.add_column("exhibit", no_wrap=True)
        table.add_column("what is wrong", ratio=4)
    else:
        table.add_column("exhibit, what is wrong", ratio=5, overflow="fold")
    table.add_column("attack", no_wrap=True)
    table.add_column("verdict", ratio=6, overflow="fold")
    table.add_column("mended", no_wrap=True)
    for visit in visits:
        name, title = Text(visit.exhibit.name, style="bold"), Text(visit.exhibit.title)
        says = Text.assemble(_museum_label(visit.broken), ": ", _first_sentence(visit.broken.words))
        titles = [name, title] if wide else [Text.assemble(name, "\n", title)]
        table.add_row(*titles, Text(visit.broken.attack), says, _label(visit.mended))
        table.add_section()
    return table


def _first_sentence(words: str) -> str:
    return words.partition(". ")[0].rstrip(".") + "."


def _print_unexpected(visit: Visit, console: Console) -> None:
    if not visit.broken.caught:
        _print_verdict(console, visit.exhibit.name, visit.broken, _museum_label(visit.broken))
    if visit.mended.caught:
        _print_verdict(console, f"{visit.exhibit.name}, mended", visit.mended, _label(visit.mended))


def _print_story(visit: Visit, console: Console) -> None:
    exhibit = visit.exhibit
    console.print(Text.assemble((exhibit.name, "bold"), ": ", exhibit.title))
    console.print()
    paragraphs = {
        "Story": Text(exhibit.story),
        "Sources": Text("\n".join(exhibit.sources)),
        "Broken": Text.assemble(_museum_label(visit.broken), f" ({visit.broken.attack}): ", visit.broken.words),
        "Mended": Text.assemble(_label(visit.mended), f" ({visit.mended.attack}): ", visit.mended.words),
        "Ours": Text(exhibit.ours),
    }
    page = Table.grid(padding=(0, 2, 1, 2))
    page.add_column(style="bold", no_wrap=True)
    page.add_column(overflow="fold")
    for heading, text in paragraphs.items():
        page.add_row(heading, text)
    console.print(page)


# -- both -------------------------------------------------------------------------------------------------------


def _table(*, headed: bool = True) -> Table:
    return Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        show_header=headed,
        pad_edge=False,
        padding=(0, _GAP - 1, 0, 0),  # and one for the box
        header_style="bold",
    )


def _label(verdict: Verdict) -> Text:
    said = word(verdict)
    return Text(said, style={"CAUGHT": "bold red", "undecided": "yellow"}.get(said, "green"))


def _museum_label(verdict: Verdict) -> Text:
    return Text("CAUGHT", style="green") if verdict.caught else Text("NOT CAUGHT", style="bold red")
