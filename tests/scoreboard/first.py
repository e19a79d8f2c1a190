"""Concurrent first runs."""

# ruff: noqa: SIM905

import os
import time
from functools import partial
from pathlib import Path

from scoreboard import fork
from scoreboard.base import Row, Size, embedding_file, environment, row

_AT_ONCE = 8
_SECONDS = 30
"""Longest wait of a process that builds for the others."""


def meet(count: Path, arrived: Path) -> None:
    """Count in a file who builds an index, and let nobody build before all have found none.

    Without this, a loaded machine may run the eight one after the other, and then a program
    without a lock builds once too.
    """
    from filelock import FileLock

    from dpsan.space import cached_index

    load, acquire = cached_index.load, FileLock.acquire

    def watched(*arguments, **more):
        with count.open("a") as out:
            out.write("x")
        (arrived / str(os.getpid())).touch()
        latest = time.monotonic() + _SECONDS
        while len([*arrived.iterdir()]) < _AT_ONCE and time.monotonic() < latest:
            time.sleep(0.01)
        return load(*arguments, **more)

    def acquired(lock, *arguments, **more):
        if "index-" in lock.lock_file:  # only who found no entry comes here
            (arrived / str(os.getpid())).touch()
        return acquire(lock, *arguments, **more)

    cached_index.load, FileLock.acquire = watched, acquired


@row("first", "rounds of 8 concurrent first runs, empty cache", "≥ 50")
def first_runs(row: Row, size: Size, folder: Path) -> None:
    """Eight processes start at once with an empty cache: all succeed alike, one builds."""
    fork.preload()
    embedding_file(folder / "e.txt", size.of(1000, 3000, 3000))
    text = b"w1 w2 w3\n" * 9
    for number in range(size.of(1, 3, 50)):
        own = folder / f"c{number}"
        own.mkdir()
        os.link(folder / "e.txt", own / "e.txt")
        env = environment(own)
        count = own / "count"
        count.touch()
        arrived = own / "arrived"
        arrived.mkdir()
        counted = partial(meet, count, arrived)
        command = "rewrite -q -e 5 -m laplace -E e.txt --seed x".split()
        children = [fork.Forked(command, own, env, counted, text) for _ in range(_AT_ONCE)]
        done = [child.wait(60) for child in children]
        done.append(fork.run(command, own, env, counted, text))
        row.tried += 1
        row.count("failures", any(each.status for each in done))
        row.count("hung", any(each.hung for each in done))
        row.count("different outputs", len({each.out for each in done}) != 1)
        row.count("not one build", count.read_text() != "x")
        row.count("damaged entries", any(b"damaged" in each.err for each in done))
        left = [path for path in (own / "cache").rglob("*") if "tmp" in path.name]
        row.count("temporary left", bool(left))
