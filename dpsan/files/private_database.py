"""A database of one's own: what runs remember of texts from one to the next, by keyed digests.

The file is 0600 in a directory that no other user may write to; SQLite gives its journal the same
mode.  It is made under another name and linked, so it is complete or absent: an empty one was
damaged.  SQLite finds a journal by the name of its database alone and removes it, so a database has
one name, keeps it while it is open, and is refused beside files that SQLite did not write.  Every
row has a tag under the key, and so have the totals of the file: SQLite itself compares no
checksums.  A rollback journal and ``synchronous=EXTRA`` make each commit complete, and on the disk
before anything that depends on it is written elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from dpsan.errors import OutputError
from dpsan.files import private_files as files
from dpsan.files.atomic_files import AtomicFile
from dpsan.files.database_files import check_sides, named_once, private
from dpsan.files.placing import sync_directory
from dpsan.files.same_files import side_files

Value = bytes | int | float
Totals = dict[str, int]

_PATIENCE: Final = 120.0
"""Seconds to wait for another run: it holds the lock while it pays for a batch, not longer."""
_NAP: Final = 200
"""Milliseconds that SQLite waits at a time; signals are heard in between."""
_SETTINGS: Final = (
    "PRAGMA journal_mode=DELETE",
    "PRAGMA synchronous=EXTRA",
    "PRAGMA secure_delete=ON",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA cell_size_check=ON",
)
_OWN: Final = "CREATE TABLE own (key BLOB NOT NULL, totals BLOB NOT NULL, tag BLOB NOT NULL)"


@dataclass(frozen=True)
class Kind:
    """What a database is for."""

    name: str
    """For messages."""
    number: int
    """SQLite's ``application_id``."""
    version: int
    """Changes whenever tables do; this one alone is read."""
    table: str
    """SQL that creates it."""
    totals: Totals
    """Of an empty one."""
    damaged: str
    """What to do about one that is damaged."""


class PrivateDatabase:
    """An open database.

    Args:
        path: made if nothing is there.
        kind: of database.
        new_key: returns a random secret key; called when the file is made.
        scratch: work on a copy that is thrown away; nothing is made or changed.

    Raises:
        OutputError: it cannot be made or used, is not ours alone, is damaged, of another kind or
            of another version.
    """

    def __init__(
        self, path: Path, kind: Kind, *, new_key: Callable[[], bytes], scratch: bool = False
    ) -> None:
        self.path, self._kind, self._new_key = path, kind, new_key
        self._opened: tuple[Path, os.stat_result] | None = None
        # What is checked is what is opened, whatever links lead there.
        path = Path(os.path.realpath(path.parent)) / path.name
        with self._told(), self._folder(path.parent, scratch) as folder:
            there = folder is not None and os.path.lexists(path)
            if folder is not None and not there and not scratch:
                self._make(path)
                there = True
            if there:
                assert folder is not None  # noqa: S101 - narrowed above
                self._check(path, folder)
            self._connection = _connected(path) if there else sqlite3.connect(":memory:")
        try:
            with self._told():
                if not there:
                    self._create(self._connection)
                elif scratch:
                    self._connection = _copied(self._connection)
                self._open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    # --- opening -----------------------------------------------------------------------------

    @contextmanager
    def _folder(self, path: Path, scratch: bool) -> Iterator[int | None]:
        """A descriptor of the directory; None if there is none, and none is to be made."""
        if scratch and not path.is_dir():
            yield None
            return
        with files.open_directory(path) as descriptor:
            yield descriptor

    def _make(self, path: Path) -> None:
        """A new database, complete or not at all; whoever is first makes it."""
        check_sides(path)
        try:
            new = AtomicFile(path)
            try:
                os.fchmod(new.descriptor, 0o600)  # under every umask
                with closing(_connected(new.temporary)) as connection:
                    connection.execute("PRAGMA journal_mode=OFF")
                    self._create(connection)
                new.sync()
                new.place()
            finally:
                new.discard()
        except OutputError:
            if not os.path.lexists(path):
                raise
        sync_directory(path.parent)

    def _create(self, connection: sqlite3.Connection) -> None:
        kind, key = self._kind, self._new_key()
        connection.isolation_level = None
        totals = json.dumps(kind.totals).encode()
        for line in ("BEGIN IMMEDIATE", _OWN, kind.table):
            connection.execute(line)
        connection.execute("INSERT INTO own VALUES (?, ?, ?)", (key, totals, _tag(key, (totals,))))
        connection.execute(f"PRAGMA application_id={kind.number}")
        connection.execute(f"PRAGMA user_version={kind.version}")
        connection.execute("COMMIT")

    def _check(self, path: Path, folder: int) -> None:
        """Refuse what others may have written, can read or know by another name.

        Raises:
            OutputError, DamagedError: the file, or one beside it, is not as dpsan leaves it.
        """
        check_sides(path)
        try:
            with private(side_files(path)[0], folder):
                pass
        except files.DamagedError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
        with private(path, folder) as (descriptor, size):
            if not size:
                raise self.damage("empty")
            self._opened = path, named_once(path, descriptor)

    def _open(self) -> None:
        """Make ready what is connected.  Raises OutputError."""
        kind = self._kind
        for line in _SETTINGS:
            self.ask(line)
        ((number,),), ((version,),) = (
            self.ask("PRAGMA application_id"),
            self.ask("PRAGMA user_version"),
        )
        if number != kind.number:
            raise OutputError(f"{self.path}: not a {kind.name} of dpsan", "name another")
        if version != kind.version:
            what = f"a {kind.name} of another version than {kind.version}, which this dpsan reads"
            raise OutputError(f"{self.path}: {what}", "use the dpsan that wrote it")
        rows = self.ask("SELECT key FROM own")
        if len(rows) != 1 or not isinstance(rows[0][0], bytes):
            raise self.damage()
        self._key: bytes = rows[0][0]
        _ = self.totals

    # --- use ---------------------------------------------------------------------------------

    def digest(self, purpose: bytes, pieces: Iterable[bytes]) -> bytes:
        """A keyed digest of 32 bytes: without the key nobody can test guesses of what it is of."""
        state = hashlib.blake2b(key=self._key, person=purpose, digest_size=32)
        for piece in pieces:
            state.update(piece)
        return state.digest()

    def put(self, table: str, *values: Value) -> None:
        """Write a row, and last what shows later that it is as it was.  Raises OutputError."""
        row = *values, _tag(self._key, values)
        places = ", ".join("?" * len(row))
        self.ask(f"INSERT OR REPLACE INTO {table} VALUES ({places})", row)  # noqa: S608 - our own

    def intact(self, row: tuple[Any, ...]) -> bool:
        """Whether a row is as it was written."""
        return bool(_tag(self._key, row[:-1]) == row[-1])

    def ask(self, line: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """Do one line of SQL and return all rows.  Raises OutputError."""
        rows = self._patiently(lambda: self._connection.execute(line, values).fetchall())
        return list(rows)

    def each(self, line: str) -> Iterator[tuple[Any, ...]]:
        """Rows, one at a time, of a line of SQL.  Raises OutputError."""
        rows = self._patiently(lambda: self._connection.execute(line))
        with self._told():
            yield from rows

    @property
    def totals(self) -> Totals:
        """Numbers of the whole file.  Raises OutputError: they are damaged."""
        ((totals, tag),) = self.ask("SELECT totals, tag FROM own")
        if not isinstance(totals, bytes) or not self.intact((totals, tag)):
            raise self.damage()
        return {**self._kind.totals, **json.loads(totals)}

    def count(self, name: str, more: int) -> None:
        """Add to a number of the whole file.  Raises OutputError."""
        totals = self.totals
        data = json.dumps({**totals, name: totals[name] + more}).encode()
        self.ask("UPDATE own SET totals = ?, tag = ?", (data, _tag(self._key, (data,))))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What is read is of one moment.  Raises OutputError."""
        self.ask("BEGIN")
        try:
            yield
        finally:
            self.ask("COMMIT")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Nobody else writes meanwhile; what was written is on the disk behind it, or nothing is.

        Raises:
            OutputError: it cannot be written, or another run does not end.
        """
        self.ask("BEGIN IMMEDIATE")
        try:
            self._check_name()
            yield
            self.ask("COMMIT")
            self._check_name()
        except BaseException:
            with suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            raise

    def _check_name(self) -> None:
        """Refuse to go on once the open file is no longer the one under its name.

        Raises:
            OutputError: the next run would not find what this one writes.
        """
        if self._opened is None:
            return
        path, opened = self._opened
        try:
            same = os.path.samestat(os.lstat(path), opened)
        except OSError:
            same = False
        if not same:
            what = f"{self.path}: was removed, moved or replaced while this run used it"
            raise OutputError(what, self._kind.damaged)

    def damage(self, what: str = "damaged") -> OutputError:
        """The error of a file that is not what was written."""
        return OutputError(f"{self.path}: {what}", self._kind.damaged)

    def _patiently(self, step: Callable[[], Any]) -> Any:
        """Do what may have to wait for another run."""
        ends = time.monotonic() + _PATIENCE
        while True:
            try:
                return step()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise self._problem(error) from None
                if time.monotonic() > ends:
                    raise OutputError(f"{self.path}: another run holds it") from None
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise self._problem(error) from None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of SQLite and of the system as one line."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._problem(error) from None
        except (OSError, files.DamagedError) as error:
            raise OutputError(f"{self.path}: cannot be used: {files.reason(error)}") from None

    def _problem(self, error: sqlite3.Error | UnicodeDecodeError) -> OutputError:
        """One line for an error: SQLite's own words could quote a value."""
        if isinstance(error, UnicodeDecodeError):  # of a message that quotes what is damaged
            return self.damage()
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            return OutputError(f"{self.path}: not a {self._kind.name} of dpsan", "name another")
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR):  # ERROR: a table is missing
            return self.damage()
        known = {
            sqlite3.SQLITE_FULL: "no space left on device",
            sqlite3.SQLITE_READONLY: "read-only",
            sqlite3.SQLITE_CANTOPEN: "it, or its journal, cannot be opened",
            sqlite3.SQLITE_TOOBIG: "a text is too long for it",
        }
        told = known.get(code, getattr(error, "sqlite_errorname", type(error).__name__))
        return OutputError(f"{self.path}: cannot be used: {told}")


class Book(ABC):
    """What remembers in a private database; a context manager.  Raises OutputError."""

    def __init__(
        self, path: Path, kind: Kind, *, new_key: Callable[[], bytes], scratch: bool
    ) -> None:
        self._base = PrivateDatabase(path, kind, new_key=new_key, scratch=scratch)
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def turn(self) -> AbstractContextManager[None]:
        """Within it no other run writes anything.  Raises OutputError."""
        return self._base.turn()

    @abstractmethod
    def _check(self) -> None:
        """Read all that is remembered.  Raises OutputError: it is damaged."""


def _connected(path: Path) -> sqlite3.Connection:
    """A connection to a file that is there."""
    # Never makes one, and takes no signs in a name for its own.
    address = f"{path.as_uri()}?mode=rw"
    return sqlite3.connect(address, uri=True, isolation_level=None, timeout=_NAP / 1000)


def _copied(connection: sqlite3.Connection) -> sqlite3.Connection:
    """A copy without a name, gone when it is closed."""
    copy = sqlite3.connect("", isolation_level=None)
    try:
        connection.backup(copy)
    except BaseException:
        copy.close()
        raise
    finally:
        connection.close()
    return copy


def _tag(key: bytes, values: Sequence[Value]) -> bytes:
    state = hashlib.blake2b(key=key, person=b"dpsan row", digest_size=16)
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode()
        state.update(struct.pack("<Q", len(data)) + data)
    return state.digest()
