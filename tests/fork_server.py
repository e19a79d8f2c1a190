"""Commands as forks of a process that has imported dpsan: 20 ms instead of the start of Python.

A command is still a process of its own, with its own streams, folder, environment and exit status.
A test needs a real ``python -m dpsan`` for what a fork cannot show: what is imported when, signals
before ``main``, streams that are closed from the start, and what workers take for the main program.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pkgutil
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from itertools import pairwise

_SECONDS = 600
_runs = Counter[str]()
_MOST = 1 << 20
"""Bytes of a request: arguments and environment."""


class ForkServer:
    """A process that forks commands."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dpsan-fork-")
        self._path = f"{self._folder.name}/socket"
        ready, told = os.pipe()
        command = [sys.executable, __file__, self._path, str(told)]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            command,
            env=environment,
            pass_fds=[told],
            start_new_session=True,
            stdin=subprocess.PIPE,  # closed when we end, however we end
        )
        os.close(told)
        with open(ready, "rb") as file:
            assert file.read(), "the server has not started"

    def close(self) -> None:
        """End the server."""
        self._process.communicate()
        self._folder.cleanup()

    def run(self, arguments, stdin, folder, env, streams=None, longest=None, closed=(), change=""):
        """What ``subprocess.run`` returns for ``dpsan ARGUMENTS``.

        Args:
            streams: descriptors of ours that are its standard streams, by their numbers.
            longest: bytes of the largest record that it reads; None: the program's own.
            closed: numbers of standard streams that it begins without.
            change: Python that runs before the command, such as an entry in ``sys.path``.
        """
        pipes = [os.pipe() for _ in range(3)]
        (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = pipes
        theirs = [theirs_in, theirs_out, theirs_err]
        for number, descriptor in (streams or {}).items():
            os.dup2(descriptor, theirs[number])
        words = [os.fspath(each) for each in arguments]
        test = os.environ.get("PYTEST_CURRENT_TEST")
        asked = {"arguments": words, "folder": os.fspath(folder), "env": env, "test": test}
        given = {"longest": longest, "closed": closed, "change": change}
        request = json.dumps(asked | {"given": given})
        with socket.socket(socket.AF_UNIX) as server, ThreadPoolExecutor(3) as pool:
            server.settimeout(_SECONDS)
            server.connect(self._path)
            socket.send_fds(server, [request.encode() + b"\n"], theirs)
            for each in theirs:
                os.close(each)
            pool.submit(_write, ours_in, stdin)
            out, err = pool.submit(_read, ours_out), pool.submit(_read, ours_err)
            try:
                status = int(server.recv(20))
            finally:
                server.close()  # which kills a command that still runs
            words = ["dpsan", *arguments]
            return subprocess.CompletedProcess(words, status, out.result(), err.result())


def _write(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(descriptor, "wb") as file:
        file.write(data)


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def _serve(path: str, told: int) -> None:
    """Fork a command for each connection, which gets its exit status."""
    from scoreboard import fork
    from shared_vocabulary import share_vocabulary

    import dpsan
    from dpsan.cli import app
    from dpsan.errors import DpsanError
    from dpsan.sanitize.sanitizer import Sanitizer

    for each in pkgutil.walk_packages(dpsan.__path__, "dpsan."):
        if not each.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # of an extra
                import_module(each.name)
    share_vocabulary()
    for given in ({"only": "sensitive"}, {"only": "people"}, {"epsilon": 8.0}):  # read files once
        assert Sanitizer(**given).rewrite("Maria")
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        for command in app.COMMANDS:  # what the parser makes when it is first used
            sys.argv[1:] = [command, "no-such-file"]
            with contextlib.suppress(DpsanError):
                app.run()
    fork.preload()
    threads = os.listdir("/proc/self/task")
    assert len(threads) == 1, "a fork copies one thread only"
    wait = selectors.DefaultSelector()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        wait.register(listening, selectors.EVENT_READ)
        wait.register(0, selectors.EVENT_READ)
        os.write(told, b"ready")
        os.close(told)
        while True:
            for key, _ in wait.select():
                if key.fd == 0:
                    return  # the tests have ended
                if key.data is None:
                    _begin(listening.accept()[0], wait)
                elif key.fileobj in wait.get_map():
                    _end(wait, *key.data)


def _begin(client: socket.socket, wait: selectors.BaseSelector) -> None:
    from scoreboard import fork

    text, theirs, _, _ = socket.recv_fds(client, _MOST, 3)
    while not text.endswith(b"\n"):
        text += client.recv(_MOST)
    asked = json.loads(text)
    # The keys of a command follow from its test, its words and how often it had been run there.
    name = re.sub(r"\S*/pytest-\d+/(popen-gw\d+/)?", "", f"{asked['test']} {asked['arguments']}")
    _runs[name] += 1
    place = None if "EXPLORE" in os.environ else f"{name} {_runs[name]}"
    workers = 2 * (("-j", "2") in pairwise(asked["arguments"]))
    before = partial(_prepare, place, workers, **asked.get("given", {}))
    process = os.fork()
    if not process:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        fork.become(asked["arguments"], asked["folder"], asked["env"], before, theirs)
    for each in theirs:
        os.close(each)
    handle = os.pidfd_open(process)
    for each in (client, handle):
        wait.register(each, selectors.EVENT_READ, (process, handle, client))


def _prepare(place: str | None, workers: int, longest=None, closed=(), change="") -> None:
    """What a fork does before its command."""
    import spare_workers
    from fixed_keys import fix_keys

    from dpsan.formats.base import ReadOptions

    if workers:
        spare_workers.keep(workers)
    exec(change, {})  # noqa: S102 - of a test
    if longest:
        ReadOptions.max_record = longest
    if place:
        fix_keys(place)
    for number in closed:  # as Python begins
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)


def _end(wait: selectors.BaseSelector, process: int, handle: int, client: socket.socket) -> None:
    """The command has ended, or its client has gone."""
    for each in (client, handle):
        wait.unregister(each)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)  # it may have ended
    _, status = os.waitpid(process, 0)
    os.close(handle)
    with contextlib.suppress(OSError):
        client.sendall(b"%d" % os.waitstatus_to_exitcode(status))
    client.close()


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
