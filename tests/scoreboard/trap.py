"""At the n-th call through :mod:`os` that concerns a folder, something happens: a fault, a kill."""

import json
import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CALLS = (
    *("open", "read", "readv", "pread", "write", "fsync", "fdatasync", "fchmod", "rename"),
    *("replace", "link", "mkdir", "truncate", "ftruncate", "sync"),
)
_SYNCS = ("fsync", "fdatasync")
_NAMES = ("rename", "replace", "link")
_READ_LINK, _WRITE, _OPEN = os.readlink, os.write, os.open


@dataclass(frozen=True)
class Call:
    """One call, in order: its name, the file and, where it names two, the new name."""

    name: str
    path: str
    new: str = ""


@dataclass
class Trap:
    """Installed in the process where the calls are made."""

    below: Path
    number: int = 0  # which call, from 1
    act: Callable[[], None] | None = None  # called in place of the call
    log: Path | None = None  # gets one row for each call
    after: bool = False  # do it when the call has been made
    sticky: bool = False  # and at every call of the same name from then on
    only: tuple[str, ...] = _CALLS

    def install(self) -> None:
        """From now on."""
        self._count, self._sprung = 0, ""
        self._inside = str(self.below.resolve()) + "/"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._out = _OPEN(self.log or os.devnull, flags, 0o600)
        for name in self.only:
            setattr(os, name, self._wrapped(name, getattr(os, name)))

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            directory = more.get("dir_fd", more.get("src_dir_fd"))
            path = _path(arguments[0], directory) if arguments else ""
            if not f"{path}/".startswith(self._inside) and name != "sync":
                return real(*arguments, **more)
            self._count += 1
            new = _path(arguments[1], more.get("dst_dir_fd")) if name in _NAMES else ""
            noted = json.dumps([name, path, new]).encode() + b"\n"
            _WRITE(self._out, noted)
            now = self._count == self.number or (self.sticky and self._sprung == name)
            if now and self.act is not None:
                if not self._sprung:
                    mark = _OPEN(self.below.parent / "sprung", os.O_WRONLY | os.O_CREAT, 0o600)
                    _WRITE(mark, noted)
                    os.close(mark)
                self._sprung = name
                try:
                    if self.after:
                        return real(*arguments, **more)
                finally:
                    self.act()
            return real(*arguments, **more)

        return call


def sprung(below: Path) -> Call | None:
    """The first call to which something happened; None if a run made fewer."""
    mark = below.parent / "sprung"
    return calls(mark)[0] if mark.exists() else None


def _path(where: Any, directory: int | None) -> str:
    if isinstance(where, int):
        try:
            return _READ_LINK(f"/proc/self/fd/{where}")
        except OSError:
            return ""
    base = "" if directory is None else _READ_LINK(f"/proc/self/fd/{directory}")
    return os.path.abspath(os.path.join(base, os.fsdecode(where)))


def calls(log: Path) -> list[Call]:
    """What a log holds."""
    return [Call(*json.loads(line)) for line in log.read_bytes().splitlines()]


def concerns(call: Call, name: str) -> bool:
    """Whether a call is about a file of this name, or about it before it got the name."""
    before = rf"\.{re.escape(name)}\.[0-9a-f]{{16}}\.tmp( \(deleted\))?"
    return re.fullmatch(rf"{re.escape(name)}|{before}", os.path.basename(call.path)) is not None


def fails(code: int) -> Callable[[], None]:
    """A call that fails."""

    def act() -> None:
        raise OSError(code, os.strerror(code))

    return act


def signalled(*numbers: int) -> Callable[[], None]:
    """The process gets signals, all at once."""

    def act() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        for number in numbers:
            os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)

    return act


def undurable(trace: list[Call], target: str) -> str:
    """Why a power cut could leave a part of a file under its final name, or ``""``."""

    def synced(some: list[Call], path: str) -> bool:
        return any(c.name == "sync" or (c.name in _SYNCS and c.path == path) for c in some)

    moved = [at for at, c in enumerate(trace) if c.name in _NAMES and c.new == target]
    if not moved:
        return "never given its final name"
    final = moved[-1]
    source = trace[final].path
    changes = [at for at, c in enumerate(trace) if c.name in ("write", "fchmod")]
    written = max((at for at in changes if trace[at].path == source), default=-1)
    if not synced(trace[written + 1 : final], source):
        return "not synced before it got its final name"
    folder = os.path.dirname(target)
    return "" if synced(trace[final:], folder) else "its name is not synced"
