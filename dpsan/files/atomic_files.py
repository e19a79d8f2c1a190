"""Write files that are complete or absent: under another name, then synced and renamed.

This is a privacy rule too: a run that repeats a half-published file publishes two noisings of it.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol, Self

from dpsan.errors import OutputError
from dpsan.errors import reason as os_reason
from dpsan.files import source

_ACL: Final = "system.posix_acl_access"
"""An access control list, which is not copied."""
_UNFINISHED: Final[set[Path]] = set()


def discard_unfinished() -> None:
    """Remove every temporary file of this process: after a signal or an error."""
    for path in list(_UNFINISHED):
        with suppress(OSError):
            path.unlink(missing_ok=True)
        _UNFINISHED.discard(path)


def write_all(descriptor: int, data: bytes | memoryview, name: str | Path) -> None:
    """Write all of ``data``.

    Raises:
        OutputError: the device is full or failed.
        BrokenPipeError: the reader has gone.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"{name}: cannot write: {os_reason(error)}") from None


class Packer(Protocol):
    """A compressor, as those of zlib and zstandard are."""

    def compress(self, data: bytes, /) -> bytes:
        """Return the compressed bytes that are ready."""

    def flush(self) -> bytes:
        """Return the other compressed bytes."""


class Sink:
    """An output; hashes the bytes that are written to it."""

    def __init__(self, name: str, descriptor: int, packer: Packer | None = None) -> None:
        self.name, self.descriptor, self._packer = name, descriptor, packer
        self._hash = hashlib.sha256()
        self.begun = False
        """True once a byte was written, even if the compressor still holds it."""
        self.owed = b""
        """The ending that the last record lacks: written before the next record."""
        self.header: bytes | None = None
        """The header of inputs that are joined."""

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes written so far, hexadecimal."""
        return self._hash.hexdigest()

    def write(self, data: bytes) -> None:
        """Write ``data``.  Raises as :func:`write_all`."""
        if data:
            self.begun = True
            self._send(self._packer.compress(data) if self._packer else data)

    def commit(self) -> None:
        """Write what the compressor holds.  Raises as :meth:`write`."""
        if self._packer:
            self._send(self._packer.flush())

    def _send(self, data: bytes) -> None:
        write_all(self.descriptor, data, self.name)
        self._hash.update(data)


class AtomicFile(Sink):
    """A new file that appears under its name only when :meth:`commit` is called; a context manager.

    Args:
        target: final name.
        force: replace an existing file.
        like: descriptor of a file whose owner and mode the new file gets.
        private: 0600 under every umask.
        packer: compresses the output.

    Raises:
        OutputError: it exists, or cannot be created.
    """

    def __init__(
        self,
        target: Path,
        *,
        force: bool = False,
        like: int | None = None,
        private: bool = False,
        packer: Packer | None = None,
    ) -> None:
        source.refuse_special(target)
        if not force and os.path.lexists(target):
            hint = "name another; --force replaces it, and it is lost" * private
            raise OutputError(f"{target}: exists", hint or "--force replaces it")
        self.target, self._force = target, force
        self._like, self._private = like, private
        source.sweep(target)
        self.temporary = target.with_name(source.temporary_name(target.name))
        """Name of the file until :meth:`publish`."""
        # Noted first: a signal may come as soon as the file is there.
        _UNFINISHED.add(self.temporary)
        try:
            descriptor = source.create_locked(self.temporary)
        except OSError as error:
            self._forget()
            hint = f"mkdir -p {target.parent}" * (not target.parent.exists())
            raise OutputError(f"{target}: cannot create: {os_reason(error)}", hint) from None
        super().__init__(str(target), descriptor, packer)
        if like is not None:
            with self._or_nothing():
                self._keep_owner(like)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()  # nothing after a commit

    def commit(self) -> None:
        """Sync and give the name.  Raises OutputError; then no file is left."""
        self.seal()
        self.sync()
        self.publish()
        with self._or_nothing():
            source.sync_directory(self.target.parent)

    def seal(self) -> None:
        """Write what the compressor holds, and set the mode.  Raises as :meth:`commit`."""
        with self._or_nothing():
            super().commit()
            os.fchmod(self.descriptor, self._mode())

    def _mode(self) -> int:
        if self._private:
            return 0o600
        if self._like is not None:
            mode = stat.S_IMODE(os.fstat(self._like).st_mode)
            with suppress(OSError, AttributeError):
                os.getxattr(self._like, _ACL)
                mode &= ~stat.S_IRWXG  # these bits are the mask of the list, not the group's
            return mode
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask

    def _keep_owner(self, like: int) -> None:
        """Give the file the owner and group of another.  Raises OutputError: we must not."""
        wanted, given = os.fstat(like), os.fstat(self.descriptor)
        if (wanted.st_uid, wanted.st_gid) == (given.st_uid, given.st_gid):
            return
        try:
            os.fchown(self.descriptor, wanted.st_uid, wanted.st_gid)
        except OSError:
            what = f"{self.name}: its owner and group cannot be kept"
            raise OutputError(what, "-o writes a file of your own") from None

    def sync(self) -> None:
        """Wait until the bytes are on disk.  Raises as :meth:`commit`."""
        with self._or_nothing():
            if self.descriptor >= 0:  # else it was synced before it was handed over
                os.fsync(self.descriptor)

    def publish(self) -> None:
        """Give the file its final name.  Raises as :meth:`commit`."""
        with self._or_nothing():
            source.publish(self.temporary, self.target, force=self._force)
        self.discard()  # the temporary name

    def hand_over(self) -> None:
        """Close the file and keep its temporary name, for another process to publish it."""
        descriptor, self.descriptor = self.descriptor, -1
        os.close(descriptor)
        _UNFINISHED.discard(self.temporary)

    def __getstate__(self) -> dict[str, Any]:
        """Return what the other process needs."""
        return vars(self) | {"_hash": None, "_packer": None}

    @contextmanager
    def _or_nothing(self) -> Iterator[None]:
        """Remove the file after any error; turn errors of the system into OutputError."""
        try:
            yield
        except OSError as error:
            self.discard()
            raise OutputError(f"{self.name}: cannot write: {os_reason(error)}") from None
        except OutputError:
            self.discard()
            raise

    def discard(self) -> None:
        """Remove the file, unless it has its final name."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):
                os.close(descriptor)
        self._forget()

    def _forget(self) -> None:
        """Remove the temporary name, if the file still has it."""
        with suppress(OSError):
            self.temporary.unlink(missing_ok=True)
            _UNFINISHED.discard(self.temporary)


def made_once(path: Path, fill: Callable[[AtomicFile], object]) -> bool:
    """Make a private file, complete or not at all; return False if there is one.

    Args:
        path: the file, which another process may be making, too.
        fill: writes what it holds.

    Raises:
        OSError, OutputError: it cannot be made, or its name cannot be made durable.
    """
    if os.path.lexists(path):
        return False
    made = True
    try:
        with AtomicFile(path, private=True) as sink:
            fill(sink)
            sink.seal()
            sink.sync()
            sink.publish()
    except OutputError:
        if not os.path.lexists(path):
            raise
        made = False  # another process was faster
    source.sync_directory(path.parent)
    return made


class PrivateFile:
    """A file for the owner alone, 0600 under every umask, that grows; a context manager.

    Args:
        path: created.
        force: replace an existing file, which stays until :meth:`place`.

    Raises:
        OutputError: it exists or cannot be created.
    """

    def __init__(self, path: Path, *, force: bool) -> None:
        self._path = path
        self._new: AtomicFile | None = AtomicFile(path, force=force, private=True)
        """The file while it has no name."""
        self._new.seal()
        self._descriptor = os.dup(self._new.descriptor)
        if not os.path.lexists(path):
            self.place()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it; one that was not placed is removed."""
        os.close(self._descriptor)
        if self._new:
            self._new.discard()

    def send(self, data: bytes) -> None:
        """Write all of some bytes, or nothing.  Raises OutputError."""
        with _all_or_nothing(self._descriptor):
            write_all(self._descriptor, data, self._path)

    def place(self) -> None:
        """Give it its name, and replace an old file.  Raises OutputError."""
        if self._new:
            self._new.publish()
            self._new = None

    def to_disk(self, *, place: bool = True) -> None:
        """Wait until it is on the disk, under its name if it is placed.  Raises OutputError."""
        try:
            os.fsync(self._descriptor)
            if place:
                self.place()
            source.sync_directory(self._path.parent)
        except OSError as error:
            raise OutputError(f"{self._path}: cannot write: {os_reason(error)}") from None


@contextmanager
def _all_or_nothing(descriptor: int) -> Iterator[None]:
    """Take back what was appended to a file before an error."""
    size = os.fstat(descriptor).st_size
    try:
        yield
    except BaseException:
        os.ftruncate(descriptor, size)
        os.lseek(descriptor, size, os.SEEK_SET)
        raise


def append_synced(path: Path, line: bytes) -> None:
    """Append a line to a regular file and sync it: all of the line, or none of it.

    Raises:
        OSError: the file cannot be opened or synced.
        OutputError: it is not a regular file, or cannot be written.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with source.closing_descriptor(os.open(path, flags)) as descriptor:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OutputError(f"{path}: not a regular file", "move it away")
        with _all_or_nothing(descriptor):
            write_all(descriptor, line, path)
            os.fsync(descriptor)


def check_writable(path: Path, *, force: bool) -> None:
    """Create a file and remove it again, before the long work.  Raises as :func:`write_whole`."""
    AtomicFile(path, force=force).discard()


def write_whole(path: Path, data: bytes, *, force: bool, private: bool = False) -> None:
    """Write a file that is complete or absent.

    Args:
        private: for the owner alone, 0600 under every umask.

    Raises:
        OutputError: it exists and ``force`` is not given, or it cannot be written.
    """
    with AtomicFile(path, force=force, private=private) as sink:
        sink.write(data)
        sink.commit()
