"""The wall around every command: errors as one line, signals, exit status, no core files.

Nothing printed here contains input text: messages come from :mod:`dpsan.errors`, and only the type
and position of any other exception are shown.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import io
import os
import resource
import signal
import sys
from typing import Final, NoReturn

from dpsan.cli import signals
from dpsan.cli.output import say
from dpsan.cli.signals import Interrupted
from dpsan.errors import DpsanError, UnexpectedError, reason

# Open the wrong way round, so that reading from what nobody opened is an error, and writing to it
# too.  Only messages on standard error may vanish.
_WAYS: Final = {0: os.O_WRONLY, 1: os.O_RDONLY, 2: os.O_WRONLY}


def main() -> NoReturn:
    """Run the command line and end the process with the right status."""
    _open_missing()  # before anything else is opened
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no memory image with text in it
    status = 1
    try:
        signals.listen(_lost)
        status = _close_streams(_guarded())
        signals.finish()
    except Interrupted as interrupted:
        _clean_up()
        signals.die_of(interrupted.number)
    atexit._run_exitfuncs()
    os._exit(status)  # nothing is gained by taking modules and memory apart


def _guarded() -> int:
    try:
        from dpsan.cli.app import run

        return run()
    except DpsanError as error:
        say(error.on_command_line())
        return error.exit_status
    except Exception as error:  # noqa: BLE001 - the last wall: a traceback could show input text
        _clean_up()
        if isinstance(error, BrokenPipeError):
            return 128 + signal.SIGPIPE
        # Files have messages of their own: what was closed before the start is standard output.
        closed = isinstance(error, OSError) and error.errno == errno.EBADF
        say(f"{'standard output: cannot write: ' if closed else ''}{UnexpectedError(error)}")
        return 1


def _lost(error: BaseException) -> None:
    """Report an error that Python cannot raise where it would be caught."""
    if not isinstance(error, Interrupted):  # which is raised again
        say(str(error if isinstance(error, DpsanError) else UnexpectedError(error)))


def _clean_up() -> None:
    files = sys.modules.get("dpsan.files.atomic_files")  # else nothing was written
    if files is not None:
        files.discard_unfinished()


def _close_streams(status: int) -> int:
    """Flush what Python holds, so that a full disk or a closed pipe is not silent at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError) as error:
            # Replace the descriptor so that the interpreter's own flush cannot complain again.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if isinstance(error, BrokenPipeError):
                status = 128 + signal.SIGPIPE
            elif stream is sys.stdout and status == 0:
                why = reason(error) if isinstance(error, OSError) else "closed"
                say(f"standard output: cannot write: {why}")
                status = 1
    return status


def _open_missing() -> None:
    """Open the standard streams that the caller closed.

    Otherwise the first files that the program opens would become these descriptors: what is written
    to standard output, and messages, would end up in data files, also those of child processes.
    """
    for number, way in _WAYS.items():
        try:
            os.fstat(number)
        except OSError:
            # The lowest free descriptor is this one: those below it are open by now.
            os.set_inheritable(os.open(os.devnull, way), True)
    # Python has no streams for them.
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8")
    if sys.stdout is None:
        sys.stdout = _writer(1)
    if sys.stderr is None:
        sys.stderr = _writer(2)


def _writer(number: int) -> io.TextIOWrapper:
    raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=number == 2)
