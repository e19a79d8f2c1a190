import contextlib
import os
from concurrent.futures import ThreadPoolExecutor

import pytest


@pytest.fixture(scope="session")
def env(cache):
    """Variables of a command, without those of ours."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DPSAN_")}
    return {**clean, "DPSAN_CACHE_DIR": str(cache), "TERM": "xterm", "COLUMNS": "80"}


@pytest.fixture(scope="session")
def on_a_terminal(fork_server, env):
    """Run a command whose stderr is a terminal: its result, and what is shown there."""

    def run(*arguments, cwd, stdin=b"", more=None, streams=None):
        ours, theirs = os.openpty()
        streams = {2: theirs, **(streams or {})}
        with ThreadPoolExecutor(1) as reader:  # a command waits for whoever reads its terminal
            seen = reader.submit(_read, ours)
            done = fork_server.run(arguments, stdin, cwd, {**env, **(more or {})}, streams)
            os.close(theirs)
        os.close(ours)
        return done, seen.result()

    return run


def _read(terminal):
    seen = b""
    with contextlib.suppress(OSError):  # the other end is closed and all is read
        while data := os.read(terminal, 65536):
            seen += data
    return seen
