"""Keep linear algebra on one thread while a model is trained.

A learner multiplies small matrices, a batch at a time. Threads of a BLAS library spin between them: with two, a
fit to a million rows took fifteen times the CPU.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import threadpool_limits  # it comes with scikit-learn


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which linear algebra runs on one thread.

    >>> with one_thread():
    ...     pass
    """
    found: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return found
