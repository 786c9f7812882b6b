"""Take over a survey that an older version stored: a file of reports as they arrived, and passes in the accounts.

The reports are counted, the passes become entries, and then what told the order is deleted. A server that is
killed meanwhile begins again: counts and passes are one change, which is not made twice.
"""

from __future__ import annotations

from pathlib import Path

from discreet.local import Aggregator, Collection
from discreet.serve.accounts.passes import CODE, TICKET, Passes
from discreet.serve.survey.tally import Tally

_REPORTS, _SIZE = "reports", 4


def take_over(folder: Path, collection: Collection, passes: Passes, counted: Tally, exchanged: Tally) -> None:
    """Move what an older version stored into the tallies of a survey; nothing happens if there is none.

    Args:
        folder: The folder of the survey; its name is the id.
        collection: The collection.
        passes: Where the older version kept the passes that were used.
        counted: The tally of reports.
        exchanged: The tally of codes that were exchanged for tickets.
    """
    reports = folder / _REPORTS
    with exchanged.locked(), counted.locked():
        if not reports.exists():
            return
        found = passes.of(folder.name)
        kind = CODE if collection.tickets is None else TICKET
        if kind == TICKET and not exchanged.entries:
            exchanged.add({key.encode(): _use(what) for which, key, what in found if which == CODE})
        if not counted.entries:
            whole = _counted(reports, collection)
            uses = {key.encode(): _use(what) for which, key, what in found if which == kind}
            ids = {id_.tobytes(): bytes(16) for id_ in whole.ids}
            counted.add({**uses, **ids}, whole.n, whole.state)
        passes.forget(folder.name)
        reports.unlink()


def _use(what: str) -> bytes:
    return bytes.fromhex(what)[:16]


def _counted(reports: Path, collection: Collection) -> Aggregator:
    whole = Aggregator(collection, identified=True)
    with reports.open("rb") as file:
        while len(head := file.read(_SIZE)) == _SIZE:
            whole.update(file.read(int.from_bytes(head, "big")))
    return whole
