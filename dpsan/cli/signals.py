"""Signals that end the program: the first one decides, and what follows is not heard."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final, NoReturn

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """Raised when a signal requests the end of the program."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _State:
    """Signals that this process has received."""

    arrivals = -1
    """Descriptor of a pipe: one byte for each signal, in the order of arrival."""
    heard = 0
    """The first signal; 0 before any."""
    finished = False
    """True if nothing is left to clean up."""


def listen(report: Callable[[BaseException], None], clean_up: Callable[[], None]) -> None:
    """From now on the first signal raises :class:`Interrupted` in the main thread.

    Where Python or code in C drops that, the next signal raises it again, and the process ends of
    the first one at the latest when it is done.

    Args:
        clean_up: removes what is not finished.
        report: takes each exception that Python cannot raise (in a destructor, in a callback of C,
            in a thread) and would print with its message, which may hold input text.
    """
    _State.arrivals, ours = os.pipe()
    for each in (_State.arrivals, ours):
        os.set_blocking(each, False)
    signal.set_wakeup_fd(ours, warn_on_full_buffer=False)

    def end(number: int) -> NoReturn:
        clean_up()
        die_of(number)

    def lost(error: BaseException | None) -> None:
        if isinstance(error, Interrupted):
            end(error.number)
        report(error or RuntimeError())

    def interrupt(number: int, frame: FrameType | None) -> None:
        if _State.finished:
            die_of(number)
        _State.heard = _State.heard or _first(number)
        error = sys.exception()
        while error is not None:
            if isinstance(error, Interrupted):
                return  # somebody cleans up
            error = error.__context__
        if _imports(frame):  # a module in C that is interrupted may crash, or lack what it needs
            end(_State.heard)
        raise Interrupted(_State.heard)

    sys.unraisablehook = lambda hook: lost(hook.exc_value)
    sys.excepthook = lambda kind, error, trace: lost(error)
    threading.excepthook = lambda hook: lost(hook.exc_value)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup keeps ignoring
            signal.signal(number, interrupt)


def finish() -> None:
    """End the process at once on a signal that was dropped, or that arrives from now on."""
    _State.finished = True
    if _State.heard:
        die_of(_State.heard)


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _first(number: int) -> int:
    """Return the first signal: Python runs handlers by number if several wait."""
    with contextlib.suppress(OSError):
        for each in os.read(_State.arrivals, 1 << 10):
            if each in _SIGNALS:
                return each
    return number


def die_of(number: int) -> NoReturn:
    """End by the real signal, so that the shell and make see what happened."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # the last: in a write already
        sys.stderr.flush()
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (number,))  # as while a worker is started
    os.kill(os.getpid(), number)
    os._exit(128 + number)
