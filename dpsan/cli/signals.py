"""Signals that end the program: the first one decides, and what follows is not heard.

Knows signals.  Must not know commands.
"""

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
_AGAIN_SECONDS: Final = 0.002
"""How soon an interruption that Python could not raise is raised once more."""


class Interrupted(BaseException):
    """A signal asked the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _State:
    """What this process knows of its signals."""

    arrivals = -1
    """Descriptor of a pipe: one byte for each signal, in the order in which they came."""
    ending = False
    """Whether a signal was heard."""
    finished = False
    """Whether nothing is left to clean up."""
    lost: Interrupted | None = None
    """What was raised where nobody could catch it, until it is raised again."""


def listen(report: Callable[[BaseException], None]) -> None:
    """From now on the first signal raises :class:`Interrupted` in the main thread.

    Args:
        report: takes each exception that Python cannot raise (in a destructor, in a callback of C,
            in a thread) and would print with its message, which may hold input text.
    """
    _State.arrivals, ours = os.pipe()
    for each in (_State.arrivals, ours):
        os.set_blocking(each, False)
    signal.set_wakeup_fd(ours, warn_on_full_buffer=False)
    sys.unraisablehook = lambda hook: report(hook.exc_value or RuntimeError())
    sys.excepthook = lambda kind, error, trace: report(error)
    threading.excepthook = lambda hook: report(hook.exc_value or RuntimeError())
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup keeps ignoring
            signal.signal(number, _interrupt)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, _interrupt_again)


def raise_again(lost: Interrupted) -> None:
    """Raise in the main thread, a moment later, what was raised in a destructor or in a callback.

    Python ends the destructor and goes on as if nothing had come; at once would be inside it still.
    """
    _State.lost = lost
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)


def _interrupt_again(_: int, __: FrameType | None) -> None:
    lost, _State.lost = _State.lost, None
    if lost is not None:
        if _State.finished:
            die_of(lost.number)
        raise lost


def finish() -> None:
    """A signal that comes from now on ends the process at once."""
    _State.finished = True


def _interrupt(number: int, _: FrameType | None) -> None:
    if _State.finished:
        die_of(number)
    # The handler stays: Python reports a handler that is taken away while its signal waits.
    if not _State.ending:
        _State.ending = True
        raise Interrupted(_first(number))


def _first(number: int) -> int:
    """Which signal came first: Python runs handlers by number when several wait."""
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
    os.kill(os.getpid(), number)
    os._exit(128 + number)
