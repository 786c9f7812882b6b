"""Run a stream: take counts, show values, and keep the state.

    ready ─▶ add, add, add … ─▶ state to the file, if there is one ─▶ value

A stream has a secret state, noise that is drawn once: so it refuses to be pickled or copied, takes counts from one
thread at a time, and refuses to go on in a forked process. A stream with a `path` is durable: a value is shown
only after the state that has it is on the disk (`snapshot`), and none after `close`. If a closed stream went on
beside the file, the same noise would be seen with two counts. A count that is refused changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetExceeded, DiscreetError, Fix, NotForRelease, ParameterError
from discreet.mechanisms import tails
from discreet.noise.random_bits import generation
from discreet.noise.testing import test_bits as bits_in_use
from discreet.rational import Rational
from discreet.release.estimate import Estimate
from discreet.release.label import Label
from discreet.stream.answer import StreamAnswer
from discreet.stream.snapshot import Snapshot
from discreet.stream.terms import MOST, checked_count

Integers = NDArray[np.int64]


_CLOSED = -1


class Session:
    """What all streams share: a lock, a file, a label, and answers."""

    kind = "stream"

    def __init__(self, *, name: str, label: Label, confidence: Rational, path: str | Path | None):
        self.name, self.label = name, label
        self.alpha = tails.alpha(confidence)
        self.test_bits = bits_in_use() is not None
        self._lock, self._generation, self._saved = Lock(), generation(), -1
        self._snapshot = None if path is None else Snapshot(path)

    # -- what each kind of stream defines ----------------------------------------------------------------------

    @property
    def tick(self) -> int:
        """The ticks so far: where a source has to go on."""
        raise NotImplementedError

    @property
    def horizon(self) -> int | None:
        """The number of ticks that the stream takes; None without an end."""
        return None

    def _state(self) -> dict[str, Any]:
        raise NotImplementedError

    def _restore(self, state: dict[str, Any]) -> None:
        raise NotImplementedError

    # -- the state ---------------------------------------------------------------------------------------------

    def _open(self, facts: dict[str, Any]) -> None:
        """Go on from the file, or write the first state into it. To be called when the stream is ready."""
        self._facts = json.loads(json.dumps({"kind": self.kind, "name": self.name, **facts}))
        if self._snapshot is None:
            return
        try:
            found = self._snapshot.read()
            if found is None:
                self._save()
                return
            if found["facts"] != self._facts:
                changed = [key for key in self._facts if found["facts"].get(key) != self._facts[key]]
                raise ParameterError(
                    "This file holds a stream of other terms.",
                    found=", ".join(f"{key} {found['facts'].get(key)}" for key in changed),
                    fix=["Give the terms that it was made with.", Fix("path", "another.stream")],
                )
            if found["test_bits"] and not self.test_bits:
                raise NotForRelease(
                    "This stream was made from test bits.", fix="Make another one, without test bits."
                )
            self._restore(found["state"])
            self._saved = self.tick
        except BaseException:
            self._snapshot.close()
            raise

    def save(self) -> None:
        """Write the state to the file now. A stream without a file has nothing to do."""
        with self._lock:
            self._save()

    def _save(self) -> None:
        """Write the state. A forked process has an old one, in which what was seen since is not counted."""
        if self._snapshot is None:
            return
        self._expect_process()
        self._expect_same_bits()
        self._snapshot.write({"facts": self._facts, "state": self._state(), "test_bits": self.test_bits})
        self._saved = self.tick

    def close(self) -> None:
        """Save the state, and give the file back."""
        with self._lock:
            if self._snapshot is not None:
                self._save()
                self._snapshot.close()
                # From here on the file may be opened again, with the same noise: this object must not use it.
                self._snapshot, self._generation = None, _CLOSED

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def expect_ticks(self, ticks: Sequence[Any]) -> None:
        """Refuse ticks of which one could not be added, before any is, so that a batch is added whole or not."""
        self._expect_room(len(ticks))
        for tick in ticks:
            self._counted(tick)

    # -- for subclasses ----------------------------------------------------------------------------------------

    def _counted(self, events: Any) -> Any:
        """Return the exact count of a tick, or refuse what is none."""
        return checked_count(events)

    def _before_showing(self) -> None:
        """Put the state on the disk before a value of it is seen."""
        self._expect_process()
        if self._snapshot is not None and self._saved != self.tick:
            self._save()

    def _answer(
        self, values: Any, margins: Any, ticks: tuple[int, ...], keys: tuple[str, ...] = ()
    ) -> StreamAnswer:
        found, around = np.atleast_1d(values), np.atleast_1d(margins)
        estimate = self._estimate(found, found - around, found + around)
        return StreamAnswer(estimate, ticks, keys, label=self.label)

    def _estimate(self, values: Any, low: Any, high: Any) -> Estimate:
        return Estimate(
            self.name,
            values,
            low,
            high,
            test_bits=self.test_bits or self._marked() or None,
            confidence=1 - Fraction(self.alpha),
        )

    def _marked(self) -> bool:
        """Return whether noise was drawn from test bits after the stream was made."""
        return False

    def _expect_room(self, ticks: int) -> None:
        horizon = self.horizon
        if horizon is not None and self.tick + ticks > horizon:
            left = horizon - self.tick
            raise BudgetExceeded(
                f"This stream was made for {horizon:,} ticks, and {left:,} of them are left.",
                found=f"{ticks:,} more",
                fix=[
                    Fix("horizon", 2 * horizon, note="another stream, at its own cost"),
                    Fix("horizon", None, note="a stream without end"),
                    "Nothing was added, and the value stays.",
                ],
            )

    def _expect_process(self) -> None:
        if self._generation == _CLOSED:
            raise DiscreetError("This stream is closed.", fix="Open it again, with the same parameters.")
        if generation() != self._generation:  # process ids come again, generations do not
            raise DiscreetError(
                "This stream was started by another process.", fix="Make or open it in this process."
            )

    def _expect_same_bits(self) -> None:
        if (bits_in_use() is not None) != self.test_bits:
            raise NotForRelease(
                "A real stream takes no noise from test bits, and one of test bits no other.",
                fix="Make one stream for tests, and use it inside of noise.deterministic(…).",
            )

    def __repr__(self) -> str:
        end = "" if self.horizon is None else f" of {self.horizon:,}"
        return f"<{self.kind} {self.name!r}, tick {self.tick:,}{end}>"

    def __single(self, *_: object) -> NoReturn:
        raise TypeError("A stream cannot be copied or pickled: its noise would be used twice. Give it a path.")

    __copy__ = __deepcopy__ = __getstate__ = __reduce__ = __reduce_ex__ = __single


def checked_counts(counts: Any, keys: int | None) -> Integers:
    """Return the counts of many ticks as integers, or refuse all of them.

    Args:
        counts: A sequence of counts, or one row of counts per tick.
        keys: The number of keys; None for a single count.

    >>> checked_counts([3, 0, 4], None).tolist()
    [3, 0, 4]
    """
    try:
        array = np.asarray(counts)
        if not array.size:
            array = array.reshape((0,) if keys is None else (0, keys)).astype(np.int64)
        fits = array.dtype.kind in "iuf" and array.ndim == (1 if keys is None else 2)
        fits = fits and (keys is None or array.shape[1] == keys)
    except (TypeError, ValueError):
        fits = False
    if fits:
        with np.errstate(invalid="ignore"):
            fits = bool(((array >= 0) & (array <= MOST) & (array == np.floor(array))).all())
    if not fits:
        shape = "one row of counts per tick, one column per key" if keys is not None else "a sequence"
        raise ParameterError(
            f"Counts must be whole numbers from 0 to {MOST}, as {shape}.",
            found=f"{type(counts).__name__} of shape {np.shape(array)}"
            if "array" in locals()
            else type(counts).__name__,
            fix="Nothing was added. Check for negative counts, missing values and fractions.",
        )
    return array.astype(np.int64)
