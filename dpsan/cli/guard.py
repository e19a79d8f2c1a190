"""The wall around every command: errors as one line, signals, exit status, no core files.

Nothing printed here contains input text: messages come from :mod:`dpsan.errors`, and only the type
and position of any other exception are shown.  Of the signals that end the program the first one
decides, and what follows is not heard.
"""

import atexit
import contextlib
import errno
import io
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final, NoReturn

from dpsan.cli.output import say
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
        listen(_lost)
        status = _close_streams(_guarded())
        finish()
    except Interrupted as interrupted:
        _clean_up()
        die_of(interrupted.args[0])
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
    sys.stdout = sys.stdout or _writer(1)
    sys.stderr = sys.stderr or _writer(2)


def _writer(number: int) -> io.TextIOWrapper:
    raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=number == 2)


# --- signals --------------------------------------------------------------------------------

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_SECONDS: Final = 0.01
"""Interval in which the timer checks that a pending signal is being handled, in seconds."""
_IMPORT_LOOKS: Final = 500
"""An import that runs at so many checks, five seconds, is interrupted: it may be hanging."""


class Interrupted(BaseException):
    """Raised when a signal, whose number it has, requests the end of the program."""


class _State:
    """Signals that this process has received."""

    heard = 0
    """The first signal; 0 before any."""
    looks = 0
    """Checks since then that found an import running."""
    finished = False
    """True if nothing is left to clean up."""


def listen(report: Callable[[BaseException], None]) -> None:
    """From now on the first signal raises :class:`Interrupted` in the main thread.

    Args:
        report: takes each exception that Python cannot raise (in a destructor, in a callback of C,
            in a thread) and would print with its message, which may hold input text.
    """
    sys.unraisablehook = lambda hook: report(hook.exc_value or RuntimeError())
    sys.excepthook = lambda kind, error, trace: report(error)
    threading.excepthook = lambda hook: report(hook.exc_value or RuntimeError())
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, _raise_unless_handled)  # first: the others start its timer
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup keeps ignoring
            signal.signal(number, _interrupt)


def finish() -> None:
    """End the process at once on a signal that was dropped, or that arrives from now on."""
    _State.finished = True
    if _State.heard:
        die_of(_State.heard)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _State.finished:
        die_of(number)
    # The handler stays: Python reports a handler that is taken away while its signal waits.
    if not _State.heard:
        _State.heard = number
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS, _AGAIN_SECONDS)
        _raise_unless_handled(number, frame)


def _raise_unless_handled(_: int, frame: FrameType | None) -> None:
    """Raise the signal that was heard, unless an earlier raise of it is being handled.

    The timer calls this again and again, because Python drops an exception in a destructor and code
    in C may drop one anywhere.  An import is left to end first: a module in C that is interrupted
    there may go on without what it needs, or crash.
    """
    if not _State.heard:
        return  # another's alarm
    if _State.finished:
        die_of(_State.heard)
    error = sys.exception()
    while error is not None:
        if isinstance(error, Interrupted):
            return  # somebody cleans up
        error = error.__context__
    if _State.looks < _IMPORT_LOOKS and _imports(frame):
        _State.looks += 1
        return
    raise Interrupted(_State.heard)


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def die_of(number: int) -> NoReturn:
    """End by the real signal, so that the shell and make see what happened."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # the last: in a write already
        sys.stderr.flush()
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (number,))  # as while a worker is started
    os.kill(os.getpid(), number)
    os._exit(128 + number)
