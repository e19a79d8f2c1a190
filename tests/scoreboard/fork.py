"""The command line in a fork of this process: a process of its own, without the start of Python."""

# ruff: noqa: SIM115

import contextlib
import gc
import os
import select
import signal
import sys
import tempfile
import traceback
import types
from dataclasses import dataclass
from importlib import import_module

_NEEDED = (
    "dpsan.cli.app dpsan.cli.rewrite dpsan.run.run dpsan.run.audit dpsan.sanitize.sanitizer faiss"
    " dpsan.analysis.report dpsan.formats.text dpsan.formats.json dpsan.formats.csv scipy.special"
    " filelock dpsan.text.tokens dpsan.cli.output fractions zoneinfo"
)


def preload() -> None:
    """Import once what every fork would import."""
    for name in _NEEDED.split():
        with contextlib.suppress(ModuleNotFoundError):  # a module that moved is imported later
            import_module(name)
    from dpsan.mechanisms import MECHANISMS

    MECHANISMS["laplace"]
    gc.freeze()  # no fork copies what is only collected


@dataclass(frozen=True)
class Done:
    """What became of a command; the status is negative for a signal, as in ``subprocess``."""

    status: int
    out: bytes
    err: bytes
    hung: bool = False

    @property
    def traced(self) -> bool:
        """Whether a user was shown the insides of the program."""
        return b"Traceback" in self.err or b"internal error" in self.err

    @property
    def clear(self) -> bool:
        """Whether all that was said is lines by dpsan, at least one after a failure."""
        lines = self.err.splitlines()
        said = bool(lines) or self.status == 0
        return said and not self.traced and all(line.startswith(b"dpsan: ") for line in lines)


class Forked:
    """One running command; ``before`` is called in the new process first."""

    def __init__(self, arguments, folder, env, before=None, stdin=b""):
        self._files = [tempfile.TemporaryFile() for _ in range(3)]
        self._files[0].write(stdin)
        self._files[0].seek(0)
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if not self.pid:
            words = arguments.split() if isinstance(arguments, str) else arguments
            become(words, folder, env, before, [each.fileno() for each in self._files])

    def wait(self, timeout: float = 60) -> Done:
        """What became of it; it is killed when it takes too long."""
        handle = os.pidfd_open(self.pid)
        hung = not select.select([handle], [], [], timeout)[0]
        os.close(handle)
        if hung:
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        texts = []
        for stream in self._files:
            stream.seek(0)
            texts.append(stream.read())
            stream.close()
        return Done(os.waitstatus_to_exitcode(status), texts[1], texts[2], hung)


def run(arguments, folder, env, before=None, stdin=b"", timeout=60):
    """Run a command to its end."""
    return Forked(arguments, folder, env, before, stdin).wait(timeout)


def become(arguments, folder, env, before, streams):
    try:
        os.setsid()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        tempfile.tempdir = None
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
        os.closerange(3, 256)
        sys.stdin = open(0, closefd=False)
        sys.stdout = open(1, "w", closefd=False)
        sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)
        sys.argv = ["dpsan", *arguments]
        # Workers that are spawned must not take the scoreboard for the main program.
        sys.modules["__main__"] = types.ModuleType("__main__")
        if before:
            before()
        from dpsan.cli.guard import main

        main()
    except SystemExit as ended:
        os._exit(ended.code if isinstance(ended.code, int) else 1)
    except BaseException:  # noqa: BLE001 - as the interpreter would show it
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
