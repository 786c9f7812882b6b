"""Invent a day of visits, minute by minute, for demonstrations and pictures.

Few come at night, many in the morning and after work, and a message on the radio brings a crowd at half past two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet import noise

MINUTES = 1440


def rates(visits: int) -> NDArray[np.float64]:
    """Return how many visits each minute expects, about `visits` in all.

    >>> bool(abs(rates(6000).sum() - 6000) < 1)
    True
    """
    hour = np.arange(MINUTES) / 60
    peaks = ((8.2, 1.1, 3.0), (12.6, 1.6, 2.2), (18.4, 1.8, 3.4), (14.5, 0.12, 6.0))
    shape = np.full(MINUTES, 0.12)
    for at, width, height in peaks:
        shape += height * np.exp(-(((hour - at) / width) ** 2))
    found: NDArray[np.float64] = visits * shape / shape.sum()
    return found


def day(visits: int = 6000) -> NDArray[np.int64]:
    """Return the visits of each minute: they vary about the rate as counts of independent visitors do.

    >>> len(day())
    1440
    """
    expected = rates(visits)
    normal = noise.discrete_gaussian(10**8, MINUTES) / 10**4
    return np.maximum(np.rint(expected + np.sqrt(expected) * normal), 0).astype(np.int64)
