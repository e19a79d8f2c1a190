"""Workers of a forked command as forks too, made before the command begins: no start of Python.

``multiprocessing`` starts a worker with a program and some descriptors; a spare worker gets both
through a socket.  It knows no more of the command than a new Python would.
"""

import fcntl
import json
import os
import signal
import socket
import sys
from multiprocessing import util

_HIGH = 500
"""Number above those of all descriptors that a worker is given."""


def keep(count: int) -> None:
    """Fork some workers, which wait until this process starts them."""
    spare: list[tuple[int, socket.socket]] = []
    for _ in range(count):
        ours, theirs = socket.socketpair()
        process = os.fork()
        if not process:
            for each in (ours, *(other for _, other in spare)):
                each.close()
            _wait(theirs)
        theirs.close()
        spare.append((process, ours))
    start = util.spawnv_passfds

    def started(path, words, descriptors):
        if not spare or words[-1] != "--multiprocessing-fork":
            return start(path, words, descriptors)
        process, ours = spare.pop()
        numbers = [*map(int, descriptors)]
        socket.send_fds(ours, [json.dumps([words[-2], numbers]).encode()], numbers)
        ours.close()
        return process

    util.spawnv_passfds = started


def _wait(command: socket.socket) -> None:
    """Become the worker that a command asks for; end with the command if it asks for none."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    asked, given, _, _ = socket.recv_fds(command, 1 << 16, 99)
    if not asked:
        os._exit(0)
    program, numbers = json.loads(asked)
    high = [fcntl.fcntl(each, fcntl.F_DUPFD, _HIGH) for each in given]
    os.closerange(3, _HIGH)
    for descriptor, number in zip(high, numbers, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.argv = ["-c", "--multiprocessing-fork"]
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    try:
        exec(program, {})  # noqa: S102 - of multiprocessing
    except SystemExit as ended:
        os._exit(ended.code if isinstance(ended.code, int) else 1)
    finally:
        os._exit(1)
