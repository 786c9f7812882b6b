"""Count the reports of a collection into one array of integers, and estimate from it.

The state of a collection is a number of reports, the sum of their states, and how many arrivals were refused for
which reason. States of parts add up to the state of the whole, in any order, so parts may be counted on any number
of machines. `update` takes untrusted bytes and never raises: what it cannot count it counts as refused. A report
id is counted once (`deduplicate`).

A report that several parts have counted is in the sum several times, and cannot be removed: `repeated` is the
number of these repetitions. Send equal ids to equal parts (by their first byte, for example) to have none. A
report that was counted m times adds m² to the variance, so standard errors are √(Σm²/n) times those of n reports.
That is all of the error if repeated reports have the same distribution as the others. Otherwise shares are also
biased towards them, and an answer says so.

Reports are not devices: within the window one device may send T = `collection.reports_of_a_device`, and nothing in
them says so. So the minimum cohort is compared with n/T, and under a policy with a memory, where a device repeats
its answer, standard errors are √T as large as those of n devices. A server that counts one period of the
collection by itself (`period=`, a day of it) has one report of each device, and needs neither.

The bytes of a state are stable: "DLPS", version, id of the collection, numbers of eight bytes (highest first),
the arrays (lowest first), and the SHA-256 of all before. An id occurs once for each part that has counted it. The
version is 1, or 2 for a state of one period, whose numbers begin with its first day (since 1970-01-01).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from types import MappingProxyType
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Code, Fix, ParameterError, QuestionRefused
from discreet.local.collection.collection import Collection
from discreet.local.collection.domains import Labels, Texts, Words
from discreet.local.device.wire import Layout, Rows, day_number, unpacked
from discreet.local.protocols.protocol import Coded, Payloads, Values
from discreet.local.protocols.strings.prefix_tree import PrefixTree
from discreet.local.protocols.strings.rappor import Rappor
from discreet.local.protocols.strings.sequence_fragments import FragmentPuzzle
from discreet.local.server.answer import Answer
from discreet.local.server.deduplicate import Seen, starts
from discreet.local.server.estimate import Estimate
from discreet.rational import Rational

REASONS = ("malformed", "other collection", "out of window", "invalid payload", "replayed", "without id")
"""The reasons for which arrivals are refused."""

_AGAIN = "Count its batches again."
FOUND = "words found, each unbiased over the choice of hashes"
_MAGIC = (b"DLPS\x01", b"DLPS\x02")  # the first of the whole window, the second of one period

Chosen = NDArray[np.bool_]


@runtime_checkable
class Open(Protocol):
    """A protocol that counts any candidates, given after the collection."""

    def frequencies(self, state: Values, n: int, items: Coded, /) -> Estimate:
        """Return the frequencies of a list of candidates."""
        ...


class Aggregator:
    """The state of one collection.

    >>> from discreet.local.device.wire import batch, frames
    >>> survey = Collection.design(
    ...     "colours", domain=["red", "green"], protocol="grr", epsilon=1, window=("2026-01-01", "2026-12-31")
    ... )
    >>> server = Aggregator(survey)
    >>> reports = frames(survey, survey.randomiser.encode(np.zeros(1000, np.int64)))
    >>> server.update(batch(reports)), server.update(b"nonsense")
    (1000, 0)
    >>> server.n, server.rejected["malformed"]
    (1000, 1)
    >>> Aggregator.read(server.written(), survey).n
    1000
    """

    def __init__(self, collection: Collection, *, identified: bool = False, period: date | None = None):
        """Count reports of a collection; `identified=True` refuses those without a report id.

        With `period`, a day, it counts the reports of that day's period, one of each device, and refuses those of
        other days. A report without a day counts as one of the period, unless `received` gives its day.
        """
        self.collection = collection
        self.identified = identified
        self.n, self.repeated = 0, 0
        self.state = collection.randomiser.state()
        self._rejected = dict.fromkeys(REASONS, 0)
        self._seen = Seen()
        self.period = None if period is None else collection.period(period)
        first, last = (day_number(day) for day in self.period or collection.window)
        self._days = (first, last)
        self._prefix = np.frombuffer(collection.id[:8], np.uint8)

    @classmethod
    def of(cls, collection: Collection, n: int, state: Values, rejected: Mapping[str, int]) -> Aggregator:
        """Return the state of reports that were counted elsewhere, each once, for estimates.

        Args:
            collection: The collection.
            n: How many reports there are.
            state: The sum of their states.
            rejected: How many arrivals were refused, by reason.
        """
        made = cls(collection, identified=True)
        made.n, made.state = n, state
        made._rejected.update({reason: rejected.get(reason, 0) for reason in REASONS})
        return made

    @property
    def ids(self) -> NDArray[np.uint64]:
        """The first eight bytes of the ids of the reports that were counted, sorted."""
        return self._seen.all()

    @property
    def rejected(self) -> Mapping[str, int]:
        """The number of refused arrivals by reason. A batch that cannot be read counts as one."""
        return MappingProxyType(self._rejected)

    def update(self, data: bytes, *, received: date | None = None) -> int:
        """Count a batch, and return how many of its reports were new and valid. No bytes make it raise.

        `received` is the day of arrival, for frames that have none of their own.
        """
        rows = unpacked(data)
        if rows is None:
            self._rejected["malformed"] += 1
            return 0
        before = self.n
        if len(rows):
            for first in np.unique(rows[:, 0]):
                self._frames(rows[rows[:, 0] == first], Layout.of(int(first)), received)
        return self.n - before

    def payloads(self, payloads: Payloads) -> int:
        """Count reports without frames, one in each row, and return how many were valid."""
        if payloads.ndim != 2 or payloads.shape[1] != self.collection.randomiser.payload_bytes:
            self._rejected["malformed"] += len(payloads)
            return 0
        good = self._kept(payloads, self.collection.randomiser.valid(payloads), "invalid payload")
        self.collection.randomiser.add(self.state, good)
        self.n += len(good)
        return len(good)

    def _frames(self, rows: Rows, layout: Layout | None, received: date | None) -> None:
        if layout is None or rows.shape[1] < layout.payload:
            self._rejected["malformed"] += len(rows)
            return
        rows = self._kept(rows, (rows[:, 1:9] == self._prefix).all(axis=1), "other collection")
        if rows.shape[1] != layout.payload + self.collection.randomiser.payload_bytes:
            self._rejected["malformed"] += len(rows)
            return
        rows = self._kept(rows, self._in_window(rows, layout.day, received), "out of window")
        valid = self.collection.randomiser.valid(rows[:, layout.payload :])
        rows = self._kept(rows, valid, "invalid payload")
        if layout.identity is not None:
            rows = self._kept(rows, self._seen.first_time(starts(rows[:, layout.identity :])), "replayed")
        elif self.identified:
            rows = self._kept(rows, np.zeros(len(rows), np.bool_), "without id")
        self.collection.randomiser.add(self.state, rows[:, layout.payload :])
        self.n += len(rows)

    def _kept(self, rows: Rows, good: Chosen, reason: str) -> Rows:
        if good.all():
            return rows
        self._rejected[reason] += int(np.count_nonzero(~good))
        return rows[good]

    def _in_window(self, rows: Rows, at: int | None, received: date | None) -> Chosen:
        if at is None:
            return np.full(len(rows), received is None or self._open_on(received))
        days = rows[:, at].astype(np.int64) << 8 | rows[:, at + 1]
        inside: Chosen = (days >= self._days[0]) & (days <= self._days[1])
        return inside

    def _open_on(self, day: date) -> bool:
        first, last = self.period or self.collection.window
        return first <= day <= last

    def merge(self, other: Aggregator) -> None:
        """Add the state of another part, which counted other reports. A state of the window takes any period."""
        if other.collection.id != self.collection.id:
            raise ParameterError(
                "These are states of two collections, which cannot be added.",
                found=f"{self.collection.id.hex()[:16]} and {other.collection.id.hex()[:16]}",
                fix="Merge states of one collection.",
            )
        if self.period is not None and other.period != self.period:
            raise ParameterError(
                f"This state is of the period of {self.period[0]}, and the other is not: a device may be in both.",
                fix=Fix("period", None, call="Aggregator", note="merge both into it"),
            )
        self._seen = Seen(np.concatenate([self._seen.all(), other._seen.all()]))
        self.repeated = self._repetitions()
        self.state += other.state
        self.n += other.n
        for reason, count in other.rejected.items():
            self._rejected[reason] += count

    def written(self) -> bytes:
        """Return the state as bytes, for a file, a database or another machine."""
        ids = self._seen.all()
        numbers = [self.n, self.repeated, *(self._rejected[reason] for reason in REASONS)]
        numbers += [len(self.state), len(ids)]
        if self.period is not None:
            numbers.insert(0, self._days[0])
        magic = _MAGIC[self.period is not None]
        head = magic + self.collection.id + b"".join(number.to_bytes(8, "big") for number in numbers)
        body = head + self.state.astype("<i8").tobytes() + ids.astype("<u8").tobytes()
        return body + hashlib.sha256(body).digest()

    @classmethod
    def read(cls, data: bytes, collection: Collection, *, identified: bool = False) -> Aggregator:
        """Return the state that was written, if it is intact and of this collection."""
        body, check = data[:-32], data[-32:]
        if body[:5] not in _MAGIC or hashlib.sha256(body).digest() != check:
            raise ParameterError(
                "This is not a state, or it is damaged.", fix="Read the bytes of a state, unchanged."
            )
        if body[5:37] != collection.id:
            raise ParameterError(
                f"This is not a state of the collection {collection.id.hex()[:16]}.",
                found=f"collection {body[5:37].hex()[:16]}",
                fix="Read it with its own collection.",
            )
        start = 45 if body[:5] == _MAGIC[1] else 37
        day = date(1970, 1, 1) + timedelta(int.from_bytes(body[37:45], "big")) if start == 45 else None
        part, count = cls(collection, identified=identified, period=day), 4 + len(REASONS)
        numbers = [int.from_bytes(body[start + 8 * i : start + 8 + 8 * i], "big") for i in range(count)]
        cells = np.frombuffer(body, "<i8", offset=start + 8 * count)
        if numbers[-2] != len(part.state) or len(cells) != numbers[-2] + numbers[-1]:
            raise ParameterError("This state has another length than the states of this collection.", fix=_AGAIN)
        part.n, part.repeated = numbers[:2]
        part._rejected = dict(zip(REASONS, numbers[2:], strict=False))
        part.state = cells[: numbers[-2]].astype(np.int64)
        part._seen = Seen(cells[numbers[-2] :].view("<u8").astype(np.uint64))
        if part.repeated != part._repetitions():
            raise ParameterError(
                f"This state counted {part.repeated} reports more than once, and does not say which.", fix=_AGAIN
            )
        return part

    def estimate(self) -> Answer:
        """Return the estimates with their errors; refuse below the minimum cohort of the collection.

        For a collection of words these are the words found. For texts, use `frequencies` with candidates.
        """
        match self.collection.domain:
            case Labels():
                return self._answer(self._wide(self.collection.randomiser.estimate(self.state, self._enough())))
            case Words():
                return self.found()
            case Texts():
                raise ParameterError(
                    f"The texts of {self.collection.name!r} are not listed, so the analyst must give candidates.",
                    fix=Fix("candidates", ["one", "another"], call="server.frequencies"),
                )

    def frequencies(self, candidates: Sequence[str]) -> Answer:
        """Return the shares of these words or texts, in a collection whose values cannot be listed."""
        domain, randomiser, n = self.collection.domain, self.collection.randomiser, self._enough()
        if isinstance(domain, Labels) or not isinstance(randomiser, Open):
            raise ParameterError(
                f"The values of {self.collection.name!r} are listed, so there are no candidates to give.",
                fix="Estimate all values at once.",
            )
        names = tuple(dict.fromkeys(candidates))
        if not names or not all(isinstance(name, str) for name in names):
            raise ParameterError(
                "Candidates must be a list of one text or more.", fix=Fix("candidates", ["one", "another"])
            )
        items = domain.coded(names)
        influence = randomiser.influence_on(items) if isinstance(randomiser, Rappor) else None
        return self._answer(self._wide(randomiser.frequencies(self.state, n, items)), names, influence)

    def found(self, *, confidence: Rational = "0.95", most: int = 100) -> Answer:
        """Return the words whose shares are significantly above zero, the most common first.

        With probability at most alpha = 1 − confidence there is a word among them that no device has. Each
        interval is that of one word by itself: of words that were barely found, more shares are too high than too
        low.
        """
        domain, randomiser, n = self.collection.domain, self.collection.randomiser, self._enough()
        if not isinstance(domain, Words) or not isinstance(randomiser, PrefixTree | FragmentPuzzle):
            raise ParameterError(
                f"{self.collection.name!r} is not a collection of words.", fix="Use estimate or frequencies."
            )
        words = randomiser.find(
            self.state, domain.alphabet, confidence=confidence, most=most, reports=self._spread
        )
        shares, errors = ([getattr(word, each) for word in words] for each in ("frequency", "standard_error"))
        estimate = Estimate(np.array(shares, np.float64), np.array(errors, np.float64), n, FOUND)
        return self._answer(estimate, tuple(word.text for word in words))

    @property
    def reports_of_a_device(self) -> int:
        """The largest number of counted reports that may be of one device."""
        return self.collection.reports_of_a_device if self.period is None else 1

    @property
    def _reports_per_device(self) -> int:
        """The largest number of reports that may repeat the answer of one device."""
        return 1 if self.collection.policy.policy == "none" else self.reports_of_a_device

    def _repetitions(self) -> int:
        """Return how often a report was counted that another part had counted."""
        return int((self._seen.times() - 1).sum())

    @property
    def _spread(self) -> float:
        """The factor of the variance over that of as many devices, each of them counted once."""
        times = self._seen.times() if self.repeated else np.ones(0, np.int64)
        return self._reports_per_device * (1 + float(np.sum(times * (times - 1))) / self.n)  # Σm² = n + Σm(m − 1)

    def _wide(self, estimate: Estimate) -> Estimate:
        return estimate.of_devices_with(self._spread)

    def _enough(self) -> int:
        """Return the number of reports, or refuse if they may be of too few devices."""
        most, wanted = self.reports_of_a_device, self.collection.minimum_cohort
        devices = -(-(self.n - self.repeated) // most)
        if devices < wanted:
            few = f" They may be of {_some(devices, 'device')}, as one may send {most:,}." if most > 1 else ""
            twice = f" ({self.repeated:,} of them repeated)" if self.repeated else ""
            one_period = [Fix("period", Code("day"), call="Aggregator", note="counts one period by itself")]
            are = "is" if self.n == 1 else "are"
            raise QuestionRefused(
                f"There {are} {_some(self.n, 'report')} of {self.collection.name!r}{twice}, "
                f"and the minimum cohort is {_some(wanted, 'device')}.{few}",
                fix=[*(one_period if most > 1 else []), "Ask again when there are more reports."],
            )
        return self.n

    def _answer(
        self, estimate: Estimate, names: tuple[str, ...] | None = None, influence: float | None = None
    ) -> Answer:
        return Answer(
            self.collection,
            estimate,
            dict(self._rejected),
            self.repeated,
            names,
            influence,
            period=self.period,
            reports_per_device=self._reports_per_device,
        )


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
