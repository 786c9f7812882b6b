"""Keep what a statistical-query oracle has spent and answered: in memory, or in a journal beside a vault.

Every measurement is begun, which spends its share, before noise is drawn, and ended with its noisy value before
the analyst sees it. In memory the shares are charged to a `privacy.Session`. For a vault all shares are charged to
its ledger at once, when the oracle is opened (`discreet.kernel.spend`), and the journal of `discreet.kernel` keeps
the measurements: a process that is killed may lose an answer that was paid for, but no measurement is drawn twice,
and no share is spent twice. The same call opens the same journal again, with its answers, and costs nothing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from discreet import privacy
from discreet.errors import BudgetExceeded, Fix, ParameterError
from discreet.kernel import Job, Ready, SealedTable
from discreet.kernel import spend as spend_on
from discreet.kernel.journal import Journal
from discreet.learn.statistical_queries.pricing import Price
from discreet.ledger.charge import Charge, Standing
from discreet.noise.testing import test_bits as bits_in_use

MEASURED = "measured"


class State(Protocol):
    """The shares that are left, and the noisy sums so far."""

    def known(self, key: str) -> int | None:
        """Return the noisy sum under this key; None if it was not measured."""

    def begin(self, key: str) -> int:
        """Spend one share before noise is drawn, and return the number of the measurement."""

    def end(self, number: int, key: str, noisy: int) -> None:
        """Keep a noisy sum before it is seen."""

    @property
    def left(self) -> int:
        """The number of measurements that may still be made."""

    def close(self) -> None:
        """Close what is open."""


class MemoryState:
    """The state of an oracle over a sample: a session, and the noisy sums."""

    def __init__(self, price: Price):
        budget = privacy.Pure(price.amount) if price.pure else privacy.ZeroConcentrated(price.amount)
        self._session, self._price = privacy.Session(budget), price
        self._sums: dict[str, int] = {}
        self._begun = 0

    def known(self, key: str) -> int | None:
        """Return the noisy sum under this key."""
        return self._sums.get(key)

    def begin(self, key: str) -> int:
        """Charge the session for one measurement."""
        if not self.left:
            raise used_up(self._price)
        self._session.charge(self._price.mechanism.loss)  # type: ignore[arg-type]
        self._begun += 1
        return self._begun

    def end(self, number: int, key: str, noisy: int) -> None:
        """Keep a noisy sum."""
        self._sums[key] = noisy

    @property
    def left(self) -> int:
        """The number of measurements that may still be made."""
        return self._price.measurements - self._begun

    def close(self) -> None:
        """Forget nothing: there is nothing to close."""


class JournalState:
    """The state of an oracle over a vault: a journal, each line of which is on the disk before it counts."""

    def __init__(self, journal: Journal, price: Price):
        self._journal, self._price = journal, price
        self._share = price.amount / price.measurements
        ended = journal.ended
        self._sums: dict[str, int] = {
            record["question"]: int(ended[number]["noisy"])
            for number, record in journal.begun.items()
            if number in ended
        }

    def known(self, key: str) -> int | None:
        """Return the noisy sum under this key."""
        return self._sums.get(key)

    def begin(self, key: str) -> int:
        """Set aside one share, on the disk."""
        if not self.left:
            raise used_up(self._price)
        return self._journal.begin(MEASURED, self._share, question=key)

    def end(self, number: int, key: str, noisy: int) -> None:
        """Write a noisy sum to the disk."""
        self._journal.end(number, noisy=int(noisy))
        self._sums[key] = int(noisy)

    @property
    def left(self) -> int:
        """The number of measurements that may still be made. One that was begun and lost is spent."""
        return int(self._journal.left / self._share)

    @property
    def test_bits(self) -> bool:
        """Whether the oracle was made from test bits."""
        return bool(self._journal.header.get("test_bits"))

    def close(self) -> None:
        """Close the journal. Nothing is lost."""
        self._journal.close()


def used_up(price: Price) -> BudgetExceeded:
    """Return the refusal of a query beyond those that were declared."""
    return BudgetExceeded(
        "All queries that this oracle was made for are used up.",
        found=f"{price.queries:,} queries",
        fix=Fix("queries", 2 * price.queries, note="another oracle, at its own cost"),
    )


def opened(table: SealedTable, text: str, price: Price, path: str | Path | None) -> JournalState:
    """Open the journal that was charged for under this text, or charge for a new one.

    Args:
        table: The sealed rows, and who pays.
        text: The canonical text of the oracle.
        price: What is charged.
        path: The file of the journal; beside the rows by default.
    """

    def prepare(_: Ready) -> Job[Journal]:
        return _job(table, text, price, path)

    journal = spend_on(table, [text], read=lambda standing: _found(table, text, standing), prepare=prepare)
    return JournalState(journal, price)


def _job(table: SealedTable, text: str, price: Price, path: str | Path | None) -> Job[Journal]:
    identity = secrets.token_hex(8)
    place = _place(table, identity, path)
    create: list[Callable[..., Journal]] = []

    @contextmanager
    def held() -> Iterator[None]:
        with Journal.place(place) as make:
            create.append(make)
            yield

    def run(charge: Charge) -> Journal:
        facts = {
            "identity": identity,
            "charge": charge.number,
            "mark": table.metadata.fingerprint,
            "question": text,
            "test_bits": bits_in_use() is not None,
            "analyst": table.payer.analyst,
            "purpose": table.payer.purpose,
        }
        return create[0](Fraction(price.amount), facts)

    named = str(place) if path is not None else place.name  # a vault that is moved takes its oracles along
    record = json.dumps({"oracle": named, "identity": identity})
    return Job(price.losses, run, lambda _: record, held())


def _found(table: SealedTable, text: str, standing: Standing) -> Journal:
    """Open the journal that was charged for; refuse any other, and one that another account paid for."""
    record = json.loads(standing.answer or "")
    journal = Journal.open(_folder(table) / record["oracle"])
    header, payer = journal.header, table.payer
    same = (record["identity"], text, table.metadata.fingerprint, payer.analyst, payer.purpose)
    if (*(header[name] for name in ("identity", "question", "mark", "analyst", "purpose")),) != same:
        journal.close()
        raise ParameterError(
            f"{journal.path} is the state of another oracle, or another account paid for it.",
            fix=["Open the vault as the analyst who paid.", Fix("name", "mine", note="at its own cost")],
        )
    return journal


def _place(table: SealedTable, identity: str, path: str | Path | None) -> Path:
    if path is not None:
        return Path(path).absolute()
    if table.folder is None:
        raise ParameterError(
            "This vault is not a directory, so it cannot hold the state of an oracle.",
            found=table.display_name,
            fix=Fix("path", "people.oracle"),
        )
    return _folder(table) / f"{identity}.oracle"


def _folder(table: SealedTable) -> Path:
    """Return the directory in which a vault of files keeps its oracles. Elsewhere paths are absolute."""
    return Path(table.folder or "/").absolute()
