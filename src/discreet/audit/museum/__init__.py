"""The museum of broken mechanisms: ways in which people really got it wrong, each caught by the auditor.

Every exhibit is a small re-creation with its story and its sources, the attack that catches it, and the same
attack on a mended twin, which must pass: an attack that catches everything proves nothing. `discreet audit
--museum` is the guided tour.
"""

from __future__ import annotations

import importlib
import pkgutil

from discreet.audit.museum.exhibit import Exhibit

__all__ = ["Exhibit", "exhibits"]


def exhibits() -> tuple[Exhibit, ...]:
    """Return every exhibit of every room, in order of the rooms.

    >>> len({exhibit.name for exhibit in exhibits()}) == len(exhibits()) > 20
    True
    """
    rooms = (importlib.import_module(f"{__name__}.{room.name}") for room in pkgutil.iter_modules(__path__))
    return tuple(exhibit for room in rooms for exhibit in getattr(room, "EXHIBITS", ()))
