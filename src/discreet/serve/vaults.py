"""Find the vaults of the service: directories in its folder, and places that the settings name.

The server opens no vault itself: a worker does, as the analyst who is signed in. A vault that an account may not
use is reported like one that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from discreet.errors import NotFound, ParameterError
from discreet.schema.metadata import FILE
from discreet.serve.accounts.records import Actor

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
SUFFIX = ".vault"


class Vaults:
    """The registry of vaults.

    Args:
        folder: The directory that holds vaults, as `NAME.vault` or `NAME`.
        named: Other places by name: paths, or addresses of PostgreSQL schemas.
    """

    def __init__(self, folder: Path, named: Mapping[str, str] | None = None):
        """Take the folder. It is read with every request, so that a new vault appears by itself."""
        self._folder, self._named = folder, dict(named or {})
        for name in self._named:
            _expect_name(name)

    def places(self) -> dict[str, str]:
        """Return the places of all vaults by name."""
        found = {
            path.parent.name.removesuffix(SUFFIX): str(path.parent)
            for path in sorted(self._folder.glob(f"*/{FILE}"))
            if _NAME.fullmatch(path.parent.name.removesuffix(SUFFIX))
        }
        return {**found, **self._named}

    def names_for(self, actor: Actor) -> list[str]:
        """Return the vaults that an account may see."""
        return sorted(name for name in self.places() if actor.may_see(name))

    def place_for(self, actor: Actor, name: str) -> str:
        """Return the place of a vault, or report that it is not there for this account."""
        place = self.places().get(name)
        if place is None or not actor.may_see(name):
            raise NotFound("There is no such vault for you.", found=name[:64], fix="List the vaults you may use.")
        return place

    def new_place(self, name: str) -> Path:
        """Return the directory for a new vault."""
        _expect_name(name)
        if name in self.places():
            raise ParameterError(
                "There is already a vault with this name.", found=name, fix="Choose another name."
            )
        return self._folder / f"{name}{SUFFIX}"


def _expect_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ParameterError(
            "The name of a vault has 1 to 64 letters, digits, - and _, and begins with a letter or digit.",
            found=name[:64],
        )
