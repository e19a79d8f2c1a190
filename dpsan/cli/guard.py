"""The wall around every command: errors as one line, signals, exit status, no core files.

Knows exit statuses and signals.  Must not know commands.  Nothing printed here contains input
text: messages come from :mod:`dpsan.errors`, and of any other exception only its type and place
are told.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

from dpsan.errors import DpsanError, printable
from dpsan.errors import reason as os_reason

__all__ = ["Interrupted", "main", "say"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asked the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def say(message: str) -> None:
    """One line on stderr, whatever a file's name holds; silent when nobody can read it."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"dpsan: {printable(message)}\n")
        sys.stderr.flush()


def main() -> NoReturn:
    """Run the command line and end the process with the right status."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no memory image with text in it
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup keeps ignoring
            signal.signal(number, _interrupt)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    status = _close_streams(_guarded(_run))
    for number in _SIGNALS:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_DFL)  # nothing is left to clean up
    atexit._run_exitfuncs()
    os._exit(status)  # nothing is gained by taking modules and memory apart


def _interrupt(number: int, _: FrameType | None) -> None:
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)  # cleaning up is not interrupted again
    raise Interrupted(number)


def _run() -> int:
    from dpsan.cli.app import run

    return run()


def _guarded(run: Callable[[], int]) -> int:
    try:
        return run()
    except DpsanError as error:
        say(error.on_command_line())
        return error.exit_status
    except BrokenPipeError:
        _clean_up()
        return 128 + signal.SIGPIPE
    except Interrupted as interrupted:
        _clean_up()
        _die_of(interrupted.number)
    except MemoryError:
        _clean_up()
        say("out of memory")
        return 1
    except OSError as error:
        _clean_up()
        say(os_reason(error))
        return 1
    except RecursionError:
        _clean_up()
        say("internal error: recursion too deep")
        return 1
    except Exception as error:  # noqa: BLE001 - the last wall: a traceback could show input text
        _clean_up()
        say(f"internal error: {_place(error)} (please report this line)")
        return 1


def _clean_up() -> None:
    from dpsan.files import discard_unfinished

    discard_unfinished()


def _die_of(number: int) -> NoReturn:
    """End by the real signal, so that the shell and make see what happened."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _place(error: BaseException) -> str:
    """Type and place of an exception, without its message."""
    frames: list[Any] = traceback.extract_tb(error.__traceback__)
    if not frames:
        return type(error).__name__
    return f"{type(error).__name__} at {Path(frames[-1].filename).name}:{frames[-1].lineno}"


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
                reason = os_reason(error) if isinstance(error, OSError) else "closed"
                say(f"standard output: cannot write: {reason}")
                status = 1
    return status
