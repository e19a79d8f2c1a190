"""A private SQLite database: what runs keep about texts from one run to the next.

The file is 0600 in a directory that no other user may write to; SQLite gives its journal the same
mode.  It is made under another name and linked, so it is complete or absent: an empty one was
damaged.  SQLite finds a journal by the name of its database alone and removes it, so a database has
one name, keeps it while it is open, and is refused beside files that SQLite did not write.  Every
row has a tag under a secret key, and so have the totals of the file: SQLite itself compares no
checksums.  A rollback journal and ``synchronous=EXTRA`` make each commit complete, and durable
before anything that depends on it is written elsewhere.
"""

import hashlib
import json
import os
import sqlite3
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from dpsan.errors import OutputError
from dpsan.files import private_files as files
from dpsan.files.atomic_files import AtomicFile, made_once
from dpsan.files.private_files import check_sides, named_once, open_private
from dpsan.files.same_files import side_files

Value = bytes | int | float
Totals = dict[str, int]

_LOCK_SECONDS: Final = 120.0
"""Time to wait for another run, which holds the lock while it commits a batch, not longer."""
_NAP: Final = 0.2
"""Seconds that SQLite waits at a time; signals are handled in between."""
_SETTINGS: Final = (
    "PRAGMA journal_mode=DELETE",
    "PRAGMA synchronous=EXTRA",
    "PRAGMA secure_delete=ON",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA cell_size_check=ON",
)
_HEADER: Final = 72
"""Bytes of a database up to the end of its ``application_id``."""
_OWN: Final = "CREATE TABLE own (key BLOB NOT NULL, totals BLOB NOT NULL, tag BLOB NOT NULL)"
_REASONS: Final = {
    sqlite3.SQLITE_FULL: "no space left on device",
    sqlite3.SQLITE_READONLY: "read-only",
    sqlite3.SQLITE_CANTOPEN: "it, or its journal, cannot be opened",
    sqlite3.SQLITE_TOOBIG: "a text is too long for it",
}


class PrivateDatabase:
    """An open database; a context manager.

    Args:
        path: made if nothing is there.
        new_key: returns a random secret key; called when the file is made.

    Raises:
        OutputError: it cannot be made or used, is not ours alone, is damaged, of another kind or
            of another version.
    """

    _kind: ClassVar[str]
    """For messages."""
    _number: ClassVar[int]
    """SQLite's ``application_id``."""
    _version: ClassVar[int] = 1
    """Rises whenever the tables change; databases of other versions are refused."""
    _table: ClassVar[str]
    """Name of the table; the only total of an empty database, 0, counts its rows."""
    _columns: ClassVar[str]
    """Its columns, in SQL; those of the primary key come first."""
    _damaged: ClassVar[str]
    """Advice for a damaged database."""

    def __init__(self, path: Path, *, new_key: Callable[[], bytes]) -> None:
        self._path, self._new_key = path, new_key
        # The file that is checked is the file that is opened, whatever links lead there.
        path = Path(os.path.realpath(path.parent)) / path.name
        with self._one_line_errors():
            files.check_directory(path.parent)
            if not os.path.lexists(path):
                check_sides(path)
                made_once(path, self._fill)
            self._check_file(path)
            self._connection = _connect(path)
        try:
            with self._one_line_errors():
                self._open()
            self._check_rows()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    # --- opening -----------------------------------------------------------------------------

    def _fill(self, new: AtomicFile) -> None:
        """Make the tables of a new database."""
        key = self._new_key()
        totals = json.dumps({self._table: 0}).encode()
        table = f"CREATE TABLE {self._table} ({self._columns}) WITHOUT ROWID"
        ids = f"application_id={self._number}", f"user_version={self._version}"
        with closing(_connect(new.temporary)) as connection:
            for line in ("PRAGMA journal_mode=OFF", "BEGIN IMMEDIATE", _OWN, table):
                connection.execute(line)
            row = key, totals, _tag(key, (totals,))
            connection.execute("INSERT INTO own VALUES (?, ?, ?)", row)
            for line in (*map("PRAGMA {}".format, ids), "COMMIT"):
                connection.execute(line)

    def _check_file(self, path: Path) -> None:
        """Refuse a file that others may have written, can read or know by another name.

        Raises:
            OutputError, DamagedError: the file, or one beside it, is not as dpsan leaves it.
        """
        begins = files.first_bytes(path, _HEADER)
        if begins and int.from_bytes(begins[_HEADER - 4 :]) != self._number:
            raise self._other_kind()  # before advice on the rights of a file of somebody else
        check_sides(path)
        try:
            with open_private(side_files(path)[0], unread=True):  # the journal, if a run was killed
                pass
        except files.DamagedError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
        with open_private(path, unread=True) as (descriptor, size):
            if not size:
                raise self._damage("empty")
            self._opened = path, named_once(path, descriptor)

    def _open(self) -> None:
        """Check what is connected.  Raises OutputError."""
        for line in _SETTINGS:
            self._ask(line)
        [(version,)] = self._ask("PRAGMA user_version")
        if version != self._version:
            what = f"a {self._kind} of another version than {self._version}, which this dpsan reads"
            raise OutputError(f"{self._path}: {what}", "use the dpsan that wrote it")
        rows = self._ask("SELECT key FROM own")
        if len(rows) != 1 or not isinstance(rows[0][0], bytes):
            raise self._damage()
        self._key: bytes = rows[0][0]
        self._read_totals()

    # --- use ---------------------------------------------------------------------------------

    def _digest(self, purpose: bytes, *pieces: bytes) -> bytes:
        """Return a keyed digest of 32 bytes: without the key nobody can test guesses."""
        state = hashlib.blake2b(key=self._key, person=purpose, digest_size=32)
        for piece in pieces:
            state.update(piece)
        return state.digest()

    def _check_rows(self) -> None:
        """Read all rows in their order.  Raises OutputError: they are damaged."""
        self._ask("BEGIN")  # one state, whatever other runs write meanwhile
        count, last = 0, ()
        for row in self._each(f"SELECT * FROM {self._table}"):  # noqa: S608 - our own
            if not self._intact(row) or row <= last:
                raise self._damage()
            count, last = count + 1, row
        totals = self._read_totals()
        # Earlier versions of dpsan went on without damaged rows, and counted them.
        if count != totals[self._table] - totals.get("lost", 0):
            raise self._damage()
        self._ask("COMMIT")

    def _row(self, key: str, *values: Value) -> tuple[Any, ...] | None:
        """Return the row that some SQL chooses, if there is one.  Raises OutputError: damaged."""
        line = f"SELECT * FROM {self._table} WHERE {key}"  # noqa: S608 - our own
        row = next(iter(self._ask(line, values)), None)
        if row is not None and not self._intact(row):
            raise self._damage()
        return row

    def _put(self, *values: Value) -> None:
        """Write a row and, last, its tag.  Raises OutputError."""
        row = *values, _tag(self._key, values)
        marks = ", ".join("?" * len(row))
        self._ask(f"INSERT OR REPLACE INTO {self._table} VALUES ({marks})", row)  # noqa: S608 - our own

    def _intact(self, row: tuple[Any, ...]) -> bool:
        """Return whether a row is as it was written."""
        return bool(_tag(self._key, row[:-1]) == row[-1])

    def _ask(self, line: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """Execute one line of SQL and return all rows.  Raises OutputError."""
        with self._one_line_errors():
            return self._executed(line, values).fetchall()

    def _each(self, line: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a line of SQL, one at a time.  Raises OutputError."""
        with self._one_line_errors():
            yield from self._executed(line)

    def _read_totals(self) -> Totals:
        """Return the totals of the file.  Raises OutputError: they are damaged."""
        ((totals, tag),) = self._ask("SELECT totals, tag FROM own")
        if not isinstance(totals, bytes) or not self._intact((totals, tag)):
            raise self._damage()
        return {self._table: 0, **json.loads(totals)}

    def _count(self, name: str, more: int) -> None:
        """Add to one of the totals.  Raises OutputError."""
        totals = self._read_totals()
        data = json.dumps({**totals, name: totals[name] + more}).encode()
        self._ask("UPDATE own SET totals = ?, tag = ?", (data, _tag(self._key, (data,))))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the write lock.  On exit all new rows are on disk, or none is.

        Raises:
            OutputError: it cannot be written, or another run does not end.
        """
        self._ask("BEGIN IMMEDIATE")
        try:
            self._check_name()
            yield
            self._ask("COMMIT")
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
        path, opened = self._opened
        with suppress(OSError):
            if os.path.samestat(os.lstat(path), opened):
                return
        what = f"{self._path}: was removed, moved or replaced while this run used it"
        raise OutputError(what, self._damaged)

    # --- errors ------------------------------------------------------------------------------

    def _damage(self, what: str = "damaged") -> OutputError:
        """Return the error of a file that is not what was written."""
        return OutputError(f"{self._path}: {what}", self._damaged)

    def _other_kind(self) -> OutputError:
        return OutputError(f"{self._path}: not a {self._kind} of dpsan", "name another")

    def _executed(self, line: str, values: Sequence[Value] = ()) -> sqlite3.Cursor:
        """Execute one line of SQL, which may have to wait for another run."""
        ends = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                return self._connection.execute(line, values)
            except sqlite3.OperationalError as error:
                if _code(error) != sqlite3.SQLITE_BUSY:
                    raise
                if time.monotonic() > ends:
                    raise OutputError(f"{self._path}: another run uses it") from None

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        """Turn errors of SQLite and of the system into one line."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._problem(error) from None
        except (OSError, files.DamagedError) as error:
            hint = f"mkdir -p {self._path.parent}" * (not self._path.parent.exists())
            raise OutputError(
                f"{self._path}: cannot be used: {files.reason(error)}", hint
            ) from None

    def _problem(self, error: sqlite3.Error | UnicodeDecodeError) -> OutputError:
        """Return one line for an error: SQLite's own words could quote a value."""
        code = _code(error)
        if code == sqlite3.SQLITE_NOTADB:
            return self._other_kind()
        # UnicodeDecodeError: of a message that quotes damaged bytes.  ERROR: a table is missing.
        damage = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)
        if damage or isinstance(error, UnicodeDecodeError):
            return self._damage()
        if isinstance(error, sqlite3.ProgrammingError):
            return OutputError(f"{self._path}: is closed", "use it inside its with statement")
        reason = _REASONS.get(code, getattr(error, "sqlite_errorname", type(error).__name__))
        return OutputError(f"{self._path}: cannot be used: {reason}")


def _code(error: Exception) -> int:
    """Return SQLite's primary result code, 0 for other errors."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _connect(path: Path) -> sqlite3.Connection:
    """Connect to a file that is there.

    Who shares the connection among threads lets one at a time use it.
    """
    # A URI makes no file, and gives characters of the name no meaning.
    name = f"{path.as_uri()}?mode=rw"
    return sqlite3.connect(
        name, uri=True, isolation_level=None, timeout=_NAP, check_same_thread=False
    )


def _tag(key: bytes, values: Sequence[Value]) -> bytes:
    """Return the keyed digest that shows later that a row is as it was."""
    state = hashlib.blake2b(key=key, person=b"dpsan row", digest_size=16)
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode()
        state.update(struct.pack("<Q", len(data)) + data)
    return state.digest()
