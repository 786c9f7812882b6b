"""Make the reports of one device: charge them, randomise them, and stop at the limit.

    value ─▶ as the domain has it ─▶ charged  ─▶ permanent answer ─▶ fresh noise ─▶ frame
             (null if outside it)    on disk      (keyed, if the     (two-step,
                                                  policy asks)        or none)

Permanent answers are drawn with `Keyed(secret, id ‖ key)`, the key being that of the value (`domains`): the same
value gives the same answer for ever, without a table of answers, and the answers of two collections are
independent. Protocols with a memory of their own (`remembered`) have few cases, each with one answer, and are
counted by the case. A device answers for the first `distinct` values (or cases) of a collection, and repeats the
last answer afterwards; of these it keeps the (already random) answers and a keyed hash of the value, not the
value.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np

from discreet.errors import BudgetExceeded, ParameterError
from discreet.local.collection.collection import Collection
from discreet.local.collection.domains import One, Value
from discreet.local.device.device_ledger import DeviceLedger
from discreet.local.device.wire import frame
from discreet.local.primitives.randomness import Keyed
from discreet.local.protocols.longitudinal import Cohorted, Longitudinal, Remembering
from discreet.rational import Rational, positive, whole


def _today() -> date:
    return datetime.now(UTC).date()


class Device:
    """The client of one device, with its secret and its ledger in a directory of its own.

    >>> import tempfile
    >>> from discreet.local.protocols.frequency.two_step_grr import TwoStepGRR
    >>> survey = Collection.design(
    ...     "smoking", domain=["yes", "no"], protocol=TwoStepGRR.for_losses(2, lifetime="2", each="1"),
    ...     longitudinal="two-step", window=("2026-01-01", "2026-12-31"),
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     device = Device(folder, lifetime=8, per_period=2, today=lambda: date(2026, 5, 1))
    ...     report = device.report(survey, "no")
    ...     print(len(report), float(device.spent))
    26 2.0
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        lifetime: Rational,
        per_period: Rational,
        days: int = 1,
        today: Callable[[], date] = _today,
    ):
        """Use the directory of a device, and make it if it is new.

        Args:
            directory: Where the secret and the ledger are.
            lifetime: The limit of ε for all reports of the device.
            per_period: The limit of ε for the reports of one period.
            days: The length of a period in days; 1 by default.
            today: Returns the current day; the day in UTC by default.
        """
        folder = Path(directory)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        limits = positive(lifetime, "lifetime"), positive(per_period, "per_period")
        self._ledger = DeviceLedger(folder / "device.sqlite", *limits, whole(days, "days"))
        self._today = today
        if not self._ledger.path.exists():
            self._ledger.create()

    @property
    def spent(self) -> Fraction:
        """The cost of all reports so far."""
        return self._ledger.spent()

    def report(self, collection: Collection, value: Value, *, dated: bool = False) -> bytes:
        """Return a frame to send. It is charged when this returns; a refused report costs nothing.

        Call it on a schedule that does not depend on the value: for example once in every period.
        """
        today = self._today()
        if not collection.open_on(today):
            first, last = collection.window
            raise BudgetExceeded(
                f"Today is outside the window of {collection.name!r}, {first} to {last}.",
                found=today,
                fix="Report within the window.",
            )
        held = collection.one(value)
        self._ledger.charge(collection, today)
        return frame(collection, self._answer(collection, held), day=today if dated else None)

    def _answer(self, collection: Collection, held: One) -> bytes:
        randomiser = collection.randomiser
        if collection.policy.policy == "none":
            return randomiser.encode(held.row).tobytes()
        permanent = self._permanent(collection, held)
        if collection.policy.policy == "memoised":
            return permanent
        if not isinstance(randomiser, Longitudinal):
            raise ParameterError(f"The protocol {randomiser.name} has no second step.")
        return randomiser.instant(np.frombuffer(permanent, np.uint8).reshape(1, -1)).tobytes()

    def _permanent(self, collection: Collection, held: One) -> bytes:
        secret = self._ledger.secret()
        answer, context = permanent_answer(collection, held, secret)
        # No message of Keyed begins so, and the tag is independent of its draws.
        tag = hmac.new(secret, b"admitted" + context, hashlib.sha256).digest()[:16]
        return self._ledger.admit(collection, tag, answer)


def permanent_answer(collection: Collection, held: One, secret: bytes) -> tuple[bytes, bytes]:
    """Return the permanent answer to a value that follows from a secret, and the context of its tag.

    >>> survey = Collection.design(
    ...     "smoking", domain=["yes", "no"], protocol="grr", epsilon=1, longitudinal="memoised",
    ...     window=("2026-01-01", "2026-12-31"),
    ... )
    >>> permanent_answer(survey, survey.one("no"), b"secret")[0]
    b'\\x01'
    """
    randomiser, context = collection.randomiser, collection.id + held.key
    if isinstance(randomiser, Remembering):
        # The context is the case, not its answer: two cases may have drawn the same answer, and each case that is
        # reported costs ε.
        value = int(held.row[0])
        answer = randomiser.remembered(value, secret, collection.id).tobytes()
        return answer, collection.id + randomiser.case(value, secret, collection.id).to_bytes(8, "big")
    if collection.policy.policy != "two-step" or not isinstance(randomiser, Longitudinal):
        return randomiser.encode(held.row, Keyed(secret, context)).tobytes(), context
    group = {}
    if isinstance(randomiser, Cohorted):  # a device has one cohort for all its values
        group["cohorts"] = randomiser.cohort(1, Keyed(secret, collection.id + b"|cohort"))
    return randomiser.permanent(held.row, Keyed(secret, context), **group).tobytes(), context
