"""The file of a memo: rows of messages and of units, without what draws them.

A row of a message holds its output.  A row of a unit holds what its words became: with ``--only``
each word and its replacement, so that answers can be restored, else the key of its draws and a
digest of each drawn word.  Names of units are stored as keyed digests.
"""

import json
from pathlib import Path
from typing import ClassVar, Final

from dpsan.errors import OutputError, reason, refuse
from dpsan.files.private_database import PrivateDatabase
from dpsan.files.private_files import make_private
from dpsan.restore.map_file import Row

NAME: Final = "memo.sqlite"
"""The file, in its directory."""
_UNIT: Final = b"u"
"""First byte of the digest of a unit, which is longer than that of a message."""
UNITS: Final = "length(message) = 33"
"""Condition for the rows of units, in SQL."""
LARGEST: Final = 1 << 25
"""Most bytes of a unit under one set of options."""


class MemoFile(PrivateDatabase):
    """An open memo, to read and to erase units; a context manager.

    Args:
        directory: made 0700, as are its parents, if it is not there.
        there: refuse a memo that is not there.

    Raises:
        OutputError: the directory cannot be used, or the memo is damaged.
    """

    _kind: ClassVar = "memo"
    _number: ClassVar = 0x64704D31
    # Without row numbers: what is scanned when it is opened is what is searched afterwards.
    _table: ClassVar = "entries"
    _columns: ClassVar = (
        "message BLOB NOT NULL, settings BLOB NOT NULL, output BLOB NOT NULL,"
        " epsilon REAL NOT NULL, delta REAL NOT NULL, tag BLOB NOT NULL,"
        " PRIMARY KEY (message, settings)"
    )
    _damaged: ClassVar = (
        "restore it; another draws each message again, and two outputs tell more than one"
    )

    again = 0
    """Messages and units that were drawn under other settings before, so far."""

    def __init__(self, directory: Path | str, *, there: bool = False) -> None:
        path = Path(directory)
        if path.is_file():
            what = f"{directory}: a file, and a memo is a directory"
            raise OutputError(what, "a ledger is a file: --ledger FILE")
        exists = (path / NAME).is_file()
        if there and not exists:
            raise OutputError(f"{directory}: no memo of dpsan", "rewrite --memo makes one")
        try:
            make_private(path.absolute())
            others = [entry.name for entry in path.iterdir() if NAME not in entry.name]
            mode = path.stat().st_mode
        except OSError as error:
            raise OutputError(f"{directory}: cannot use: {reason(error)}") from None
        if others and not exists:
            what = f"{directory}: has other files, and a memo is a directory of its own"
            raise OutputError(what, f"--memo {path / 'memo'}")
        if mode & 0o077:
            raise OutputError(f"{directory}: is open to other users", f"chmod 700 {directory}")
        super().__init__(path / NAME, new_key=_new_key)

    def _unit(self, unit: str) -> bytes:
        """Return what stands for a unit in its rows."""
        return _UNIT + self._digest(b"dpsan unit", unit.encode("utf-8", "surrogatepass"))

    def unit(self, unit: str, settings: bytes) -> bytes | None:
        """Return a unit under some settings; None without a row.  Raises OutputError."""
        row = self._row("message = ? AND settings = ?", self._unit(unit), self._of(settings))
        return None if row is None else bytes(row[2])

    def put_unit(self, unit: str, settings: bytes, data: bytes, *loss: float, new: bool) -> None:
        """Store a unit, in a :meth:`turn`.

        Args:
            loss: epsilon and delta of all that was drawn for it.
            new: whether the memo lacks it, as it was looked up in this turn.

        Raises:
            OutputError: it cannot be written, or is too large.
        """
        if len(data) > LARGEST:
            most = f"{LARGEST >> 20} MiB"
            raise OutputError(f"{self._path}: a unit of more than {most}", "name smaller units")
        if new:
            self._count_again(self._unit(unit))
            self._count("entries", 1)
        self._put(self._unit(unit), self._of(settings), data, *loss)

    def _count_again(self, message: bytes) -> None:
        """Count a message or unit that is new under its settings, if others have drawn it."""
        self.again += self._row("message = ?", message) is not None

    def _of(self, settings: bytes) -> bytes:
        """Return what stands for settings in a row."""
        return self._digest(b"dpsan settings", settings)

    def rows(self, unit: str) -> list[Row]:
        """Return what the replacements of a unit stand for.

        Raises:
            UsageError: the memo has no such unit.
            OutputError: its words were drawn with an epsilon, or the memo is damaged.
        """
        found = self._ask("SELECT * FROM entries WHERE message = ?", (self._unit(unit),))
        refuse(not found, "the memo has no such unit")
        if not all(map(self._intact, found)):
            raise self._damage()
        texts = [row[2] for row in found if row[2][:1] == b"{"]
        if not texts:  # it has a key
            what = "this unit was drawn with an epsilon, and its words stand for nothing"
            raise OutputError(f"{self._path}: {what}", "rewrite --only keeps originals")
        pairs = (pair for text in texts for pair in json.loads(text)["originals"])
        return [Row("", *pair) for pair in pairs]

    def forget(self, unit: str) -> bool:
        """Erase a unit; return whether the memo had it.

        SQLite writes zeros over its rows (``secure_delete``) and removes its journal.

        Raises:
            OutputError: the memo cannot be written.
        """
        digest = self._unit(unit)
        with self.turn():
            ((rows,),) = self._ask("SELECT COUNT(*) FROM entries WHERE message = ?", (digest,))
            self._ask("DELETE FROM entries WHERE message = ?", (digest,))
            self._count("entries", -rows)
        return bool(rows)


def _new_key() -> bytes:
    from dpsan.privacy.randomness import new_key  # numpy comes with it

    return new_key()
