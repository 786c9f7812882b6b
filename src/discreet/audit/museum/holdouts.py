"""Show holdouts that leak their rows, although their answers are rare.

The exhibit is a threshold test on a count of a few rows, as Thresholdout makes it, for neighbours that differ in
one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discreet import privacy
from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.verdict import Verdict
from discreet.kernel.threshold_test import Watch, start
from discreet.mechanisms import Exact, Sensitivity

EPSILON = 2
WATCH = Watch(EPSILON, threshold=1, monotonic=True)

Counts = Sequence[int]


def _gaps(counts: Counts, *, forgetful: bool) -> list[int | None]:
    """Return what a run shows: one that forgets its alarms goes on with the same threshold."""
    run, shown = start(WATCH, "up", 0), list[int | None]()
    for count in counts:
        gap = run.gap(Exact(count, Sensitivity(entries=1, each=1, monotonic="up")))
        shown.append(None if gap is None else int(gap))
        if run.over and not forgetful:
            break
        run.over = False
    return shown


def forgetful(counts: Counts) -> list[int | None]:
    """Resume a run from a file that holds its threshold, and not its alarms."""
    return _gaps(counts, forgetful=True)


def remembering(counts: Counts) -> list[int | None]:
    """End the run at its first alarm, wherever it happens."""
    return _gaps(counts, forgetful=False)


def _attacked(name: str, release: Callable[[Counts], list[int | None]]) -> Verdict:
    pairs = [((3, 3), (2, 2))]
    return exact.attack(
        Subject(name=name, release=release, loss=privacy.Pure(EPSILON), pairs=pairs), unexplored="1e-3"
    )


FORGETFUL_RUN = Exhibit(
    name="forgetful-holdout",
    title="A holdout that forgets its overfits when the notebook restarts",
    story=(
        "Thresholdout may correct a fixed number of wrong guesses: each correction costs privacy, and with it the "
        "validity of all later answers. A guard that keeps this count in the memory of a process starts again "
        "with a full budget after every restart of the notebook, and in every worker that it is copied to. "
        "scikit-learn with n_jobs=2 does that silently: the parent counts no question at all. The analyst sees "
        "corrections without end, each of them about the same rows."
    ),
    sources=(
        "Dwork, Feldman, Hardt, Pitassi, Reingold and Roth 2015, Thresholdout",
        "prototypes of reusable holdouts, whose state is an attribute of a Python object",
    ),
    broken=lambda: _attacked("a run that goes on after its alarm", forgetful),
    mended=lambda: _attacked("a run that ends at its alarm", remembering),
    ours=(
        "The transcript is on the disk before an answer is seen, a scorer refuses to be pickled, and a forked "
        "child is refused (test_a_question_that_was_killed_counts_as_asked in tests/validity/test_transcript.py, "
        "test_workers_are_refused_with_what_to_do_instead in tests/validity/test_scikit_learn.py)."
    ),
)

EXHIBITS = (FORGETFUL_RUN,)
