"""List the mutants of streams: sensitivity, the private state, what survives a crash, and intervals of alarms."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ALERT = "tests/stream/test_alert.py"
COUNTER = "tests/stream/test_counter.py"
DURABLE = "tests/stream/test_durable.py"
LAWS = "tests/audit/shipped/test_streams.py"
OPEN = "tests/stream/test_open.py"
PAN = "tests/stream/test_pan_private.py"
TICKS = "tests/stream/test_ticks.py"
TOEPLITZ = "tests/stream/factorisations/test_toeplitz.py"
TREE = "tests/stream/factorisations/test_tree.py"

STREAM = [
    Mutant(
        "toeplitz: rounding is not in the norm of a column",
        "stream/factorisations/toeplitz.py",
        "    return Scales(strategy, horizon, grid=grid, rounding=maker.rounding)",
        "    return Scales(strategy, horizon, grid=grid, rounding=0.0)",
        TOEPLITZ,
    ),
    Mutant(
        "toeplitz: an event that changes several keys pays for one",
        "stream/factorisations/toeplitz.py",
        "        self.sensitivity_squared = math.ceil(self.grid**2 * each**2 * entries * factor)",
        "        self.sensitivity_squared = math.ceil(self.grid**2 * each**2 * factor)",
        f"{TOEPLITZ} {COUNTER}",
    ),
    Mutant(
        "toeplitz: what an event adds is not in the sensitivity",
        "stream/factorisations/toeplitz.py",
        "        self.sensitivity_squared = math.ceil(self.grid**2 * each**2 * entries * factor)",
        "        self.sensitivity_squared = math.ceil(self.grid**2 * entries * factor)",
        f"{TOEPLITZ} {COUNTER}",
    ),
    Mutant(
        "toeplitz: noise that was drawn ahead is drawn again after a restart",
        "stream/factorisations/toeplitz.py",
        '            "ahead": [_listed(one) for one in self._ahead],',
        '            "ahead": [],',
        DURABLE,
    ),
    Mutant(
        "toeplitz: the filter forgets its noise at a restart",
        "stream/factorisations/toeplitz.py",
        '        self._filter.restore([self._read(one, self._dtype) for one in state["filter"]])',
        "        pass",
        DURABLE,
    ),
    Mutant(
        "units: events of a person add up like independent ones",
        "stream/factorisations/units.py",
        "        return Fraction(count**2)",
        "        return Fraction(count)",
        f"{TOEPLITZ} {COUNTER}",
    ),
    Mutant(
        "units: columns of events that keep apart are orthogonal",
        "stream/factorisations/units.py",
        "        bound += 2 * (count - step) * min(1.0, cosine + extra)",
        "        bound += 0.0",
        f"{TOEPLITZ} {COUNTER}",
    ),
    Mutant(
        "tree: an event is charged for one level",
        "stream/factorisations/tree.py",
        "        self.sensitivity_l1 = self.levels * each * unit.events * entries",
        "        self.sensitivity_l1 = each * unit.events * entries",
        f"{TREE} {LAWS}",
    ),
    Mutant(
        "tree: the events of a person in one node add up like independent ones",
        "stream/factorisations/tree.py",
        "        return int(unit.events**2)",
        "        return int(unit.events)",
        f"{TREE} {COUNTER}",
    ),
    Mutant(
        "tree: an open node of a private state has no noise",
        "stream/factorisations/tree.py",
        "        if self.pan_private:\n            return self._draw()",
        "        if self.pan_private:\n            return 0 * self._draw()",
        LAWS,
    ),
    Mutant(
        "tree: a private state is released with the noise that a look has shown",
        "stream/factorisations/tree.py",
        "        released, draws = self._open[level] + self._draw(), self._draws[level]",
        "        released = self._open[level] + (0 if self.pan_private else self._draw())\n"
        "        draws = self._draws[level]",
        f"{TREE} {LAWS}",
    ),
    Mutant(
        "tree: the noise of a private state comes from a key that stays in memory",
        "stream/factorisations/tree.py",
        "        drawn = draw(self.scale, count if self.keys is None else (count, self.keys), fresh=True)",
        "        drawn = draw(self.scale, count if self.keys is None else (count, self.keys))",
        PAN,
    ),
    Mutant(
        "tree: a refresh adds nothing",
        "stream/factorisations/tree.py",
        "            self._open[level] = self._open[level] + self._draw()",
        "            self._open[level] = self._open[level] + 0 * self._draw()",
        f"{TREE} {LAWS}",
    ),
    Mutant(
        "distinct: every look has all of ε",
        "stream/distinct.py",
        "        self.chance = odds(half / self.looks)",
        "        self.chance = odds(half)",
        PAN,
    ),
    Mutant(
        "distinct: every release has all of ε",
        "stream/distinct.py",
        "        self.scale = self.releases / half",
        "        self.scale = 1 / half",
        PAN,
    ),
    Mutant(
        "alert: every alarm has all of ε",
        "stream/alert.py",
        "            epsilon=agreed.loss.epsilon / self.alerts,",
        "            epsilon=agreed.loss.epsilon,",
        ALERT,
    ),
    Mutant(
        "alert: the noise of an alarm is that of a comparison which was given",
        "stream/alert.py",
        "        share = self.alpha / 2 * Fraction(6, 10) / self._tick**2",
        "        share = self.alpha / 2",
        ALERT,
    ),
    Mutant(
        "session: a value is shown before its state is on the disk",
        "stream/session.py",
        "        if self._snapshot is not None and self._saved != self.tick:",
        "        if False:",
        DURABLE,
    ),
    Mutant(
        "session: a closed stream goes on beside its file",
        "stream/session.py",
        "                self._snapshot, self._generation = None, _CLOSED",
        "                self._snapshot = None",
        DURABLE,
    ),
    Mutant(
        "session: a forked process writes its old state",
        "stream/session.py",
        "        self._expect_process()\n        self._expect_same_bits()\n        self._snapshot.write",
        "        self._expect_same_bits()\n        self._snapshot.write",
        DURABLE,
    ),
    Mutant(
        "snapshot: a state that was changed is taken",
        "stream/snapshot.py",
        '        if mark.decode("ascii", "replace") != _sum(text):',
        "        if not text:",
        DURABLE,
    ),
    Mutant(
        "ticks: Spark's batches are in memory only",
        "stream/ticks.py",
        "        stream.save()",
        "        pass",
        TICKS,
    ),
    Mutant(
        "open: a ledger of persons pays for single events",
        "stream/open.py",
        '    if metadata.person is not None and unit == "event":',
        "    if False:",
        OPEN,
    ),
]
"""Mutants of streams."""
