"""List the mutants of validity: the shares of β, the transcript, the methods, and a holdout inside of a vault."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

BOUNDS = "tests/validity/theorems/test_bounds.py"
COVERAGE = "tests/validity/test_experiments.py"
HOLDOUT = "tests/validity/test_holdout.py"
JOURNAL = "tests/kernel/test_journal.py"
SEALED = "tests/validity/test_vault_holdout.py"
SKLEARN = "tests/validity/test_scikit_learn.py"
TRANSCRIPT = "tests/validity/test_transcript.py"

VALIDITY = [
    Mutant(
        "transcripts: every question has all of β",
        "validity/theorems/transcript.py",
        "    return (math.log(shared) + weights - surprises) - 1e-9",
        "    return 0.0",
        COVERAGE,
    ),
    Mutant(
        "transcripts: the values of surprises are not counted",
        "validity/theorems/transcript.py",
        "    surprises += _choices(values, f) if falling else f * math.log(values)",
        "    surprises += 0.0",
        BOUNDS,
    ),
    Mutant(
        "max-information: the tail under a fresh sample instead of the one that was seen",
        "validity/theorems/transfer.py",
        "        return math.exp(v / 2) * gauss",
        "        return math.exp(-t * t / (2 * v)) / 4 + 0 * gauss",
        BOUNDS,
    ),
    Mutant(
        "split: the same rows for every question",
        "validity/methods/split.py",
        "part = self._order[self.asked * self._each : (self.asked + 1) * self._each]",
        "part = self._order[: self._each]",
        COVERAGE,
    ),
    Mutant(
        "ladder: every score is told",
        "validity/methods/ladder.py",
        "better = self._best is None or loss * self._steps < self._best - 1",
        "better = True",
        HOLDOUT,
    ),
    Mutant(
        "thresholdout: an alarm is forgotten at a restart",
        "validity/methods/thresholdout.py",
        '            self._guard.end(int(reply.facts["over"]))',
        "            pass",
        TRANSCRIPT,
    ),
    Mutant(
        "transcript: a killed question is free",
        "validity/transcript.py",
        "                self.method.refuse(len(names), record, error=ended is not None)",
        "                pass",
        TRANSCRIPT,
    ),
    Mutant(
        "transcript: what other processes asked is not read",
        "validity/transcript.py",
        "        with self._lock, self.journal.turn():\n            self._replay()",
        "        with self._lock, self.journal.turn():",
        TRANSCRIPT,
    ),
    Mutant(
        "journal: a turn does not wait",
        "kernel/journal.py",
        "        fcntl.flock(self._handle, fcntl.LOCK_EX)\n        try:\n            if os.fstat",
        "        try:\n            if os.fstat",
        JOURNAL,
    ),
    Mutant(
        "scorer: copied to workers",
        "validity/scorer.py",
        "        raise TypeError(ONE_PROCESS)",
        "        return object.__reduce_ex__(self, protocol)",
        SKLEARN,
    ),
    Mutant(
        "vault: an answer that sets nothing aside",
        "validity/vault_holdout.py",
        'step = self._journal.begin("score", self._each, name=name)',
        'step = self._journal.begin("score", Fraction(0), name=name)',
        SEALED,
    ),
    Mutant(
        "split: every question has all of β",
        "validity/methods/split.py",
        "        logarithm = math.log(2 * self.terms.queries / self.beta)",
        "        logarithm = math.log(2 / self.beta)",
        HOLDOUT,
    ),
    Mutant(
        "split: an error that looks at all rows is free",
        "validity/methods/method.py",
        "        return self.terms.beta * refusals_share(self.terms.queries, self.errors)",
        "        return self.terms.beta",
        HOLDOUT,
    ),
    Mutant(
        "transcripts: a refusal is free",
        "validity/theorems/transcript.py",
        "    surprises += r * math.log(REASONS)",
        "    surprises -= _choices(t - 1 - f, r)",
        BOUNDS,
    ),
    Mutant(
        "thresholdout: an alarm is not chosen by its noise",
        "validity/theorems/sparse_answers.py",
        "    gap = max(over, under)",
        "    gap = under",
        BOUNDS,
    ),
    Mutant(
        "gaussian: one answer pays for all of them",
        "validity/methods/gaussian.py",
        "    return sampling_width(rows, queries, deviation, beta) + bound",
        "    return sampling_width(rows, 1, deviation, beta) + bound",
        f"{HOLDOUT} {BOUNDS}",
    ),
    Mutant(
        "transcript: an interrupted step is forgotten by the process that took it",
        "validity/transcript.py",
        "            self._restart()\n            raise",
        "            raise",
        HOLDOUT,
    ),
    Mutant(
        "metric: a message tells how many rows were returned",
        "validity/metric.py",
        '            found="another shape",',
        '            found=f"shape {array.shape}",',
        HOLDOUT,
    ),
    Mutant(
        "vault: a row that fails takes its batch along",
        "validity/rows_by_name.py",
        "    if count <= 1:",
        "    if True:",
        SEALED,
    ),
]
"""Mutants of validity."""
