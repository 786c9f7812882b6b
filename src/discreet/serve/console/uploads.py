"""Keep the tables that curators upload, until they are sealed: in a folder for the service's user alone.

An upload belongs to the curator who sent it. It is deleted when its vault is sealed, or after a day.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from litestar.datastructures import UploadFile

from discreet.errors import NotFound, ParameterError
from discreet.serve.accounts.secrets import new_id

ENDINGS = (".csv", ".tsv", ".parquet")
TABLES = "tables"
"""The folder of the operator whose files curators may seal without an upload."""
_FOLDER, _DAY, _BLOCK = ".uploads", 24 * 3600, 1 << 20


@dataclass(frozen=True)
class Upload:
    """A table that waits to be sealed.

    Args:
        id: A name that cannot be guessed.
        owner: The curator who sent it.
        name: The name of the file, without its folder and ending.
        source: The path of the file.
    """

    id: str
    owner: str
    name: str
    source: str


class Uploads:
    """The tables that wait to be sealed.

    Args:
        folder: The folder of the service.
    """

    def __init__(self, folder: Path):
        """Take the folder."""
        self._tables, self._folder = folder / TABLES, folder / _FOLDER

    def registered(self) -> list[str]:
        """Return the files that the operator put into the folder `tables`."""
        if not self._tables.is_dir():
            return []
        return sorted(path.name for path in self._tables.iterdir() if path.suffix in ENDINGS and path.is_file())

    def register(self, owner: str, name: str) -> Upload:
        """Take a file of the operator."""
        if name not in self.registered():
            raise NotFound("There is no such table.", found=name[:64], fix="Choose one of the list.")
        return self._keep(Upload(new_id(), owner, Path(name).stem, str(self._tables / name)))

    async def receive(self, owner: str, file: UploadFile) -> Upload:
        """Write an uploaded file to the private folder, block by block."""
        ending = Path(file.filename).suffix.lower()
        if ending not in ENDINGS:
            raise ParameterError("A table is a CSV, TSV or Parquet file.", found=ending or file.filename[:64])
        id_ = new_id()
        place = self._made(id_) / f"source{ending}"
        with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            while block := await file.read(_BLOCK):
                out.write(block)
        return self._keep(Upload(id_, owner, Path(file.filename).stem[:64], str(place)))

    def find(self, owner: str, id_: str) -> Upload:
        """Return an upload to its owner."""
        found = self._read(self._folder / id_) if id_.isalnum() else None
        if found is None or found.owner != owner:
            raise NotFound("There is no such upload of yours.", fix="Upload the table again.")
        return found

    def received(self, upload: Upload) -> bool:
        """Return whether a curator sent the file. Else the operator did, who decides how large it is."""
        return Path(upload.source).parent == self._folder / upload.id

    def forget(self, upload: Upload) -> None:
        """Delete an upload. A file of the operator stays where it is."""
        shutil.rmtree(self._folder / upload.id, ignore_errors=True)

    def _made(self, id_: str) -> Path:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for old in self._folder.iterdir():
            if old.stat().st_mtime < time.time() - _DAY:
                shutil.rmtree(old, ignore_errors=True)
        place = self._folder / id_
        place.mkdir(mode=0o700)
        return place

    def _keep(self, upload: Upload) -> Upload:
        place = self._folder / upload.id
        if not place.is_dir():
            self._made(upload.id)
        (place / "about.json").write_text(json.dumps(asdict(upload)))
        return upload

    def _read(self, place: Path) -> Upload | None:
        try:
            about: dict[str, Any] = json.loads((place / "about.json").read_text())
        except (OSError, ValueError):
            return None
        return Upload(**about)
