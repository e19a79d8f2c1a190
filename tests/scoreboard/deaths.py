"""Runs in several processes whose reader leaves or whose worker is killed."""

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path

from scoreboard.base import Row, Size, children, dpsan, embedding_file, environment, row, start

_SHOWN = (
    b"dpsan: a worker process died (out of memory? try a smaller -j)\n"
    b"dpsan: the output is not whole: it ends where the run failed\n"
)
_WORDS = 400


@row("deaths", "readers that left and workers killed, -j 2; lines compared, in order", "≥ 500")
def deaths(row: Row, size: Size, folder: Path) -> None:
    """Endless numbered lines, two workers: what was written is a beginning of the truth."""
    embedding_file(folder / "e.txt", _WORDS)
    env = environment(folder)
    generator = random.Random(8)
    dpsan("index e.txt", folder, env)
    for number in range(size.of(3, 6, 500)):
        what = ("worker", "reader", "both workers")[number % 3]
        moment = 0.0 if number < 3 and size is Size.MUTANT else generator.uniform(0.0, 0.6)
        row.tried += 1
        _one(row, folder, env, what, moment)
        if row.bad["hung"] and size is Size.MUTANT:
            break


def _line(number: int) -> bytes:
    at = number % _WORDS
    return b"w%d w%d, w%d!\n" % (at, (number // _WORDS) % _WORDS, (7 * at) % _WORDS)


def _feed(child: subprocess.Popen[bytes]) -> None:
    """Lines without end, all different."""
    number = 0
    with contextlib.suppress(OSError, ValueError):
        while True:
            child.stdin.write(b"".join(_line(number + each) for each in range(2000)))
            number += 2000


def _one(row, folder, env, what, moment):
    # So large an epsilon changes no word: every line of the output is known.
    command = "rewrite -q -e 100000 -m laplace -E e.txt -j2 --case vocabulary"
    child = start(command, folder, env)
    threading.Thread(target=_feed, args=(child,), daemon=True).start()
    pieces: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError, ValueError):
            while piece := os.read(child.stdout.fileno(), 1 << 20):
                pieces.append(piece)
                if what == "reader" and sum(map(len, pieces)) > 1 << 18:
                    time.sleep(moment / 3)
                    child.stdout.close()
                    return

    reader = threading.Thread(target=read)
    reader.start()
    if what != "reader":
        deadline = time.monotonic() + 30
        while not pieces and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(moment)
        for process in _workers(child.pid)[: 1 if what == "worker" else 2]:
            os.kill(process, signal.SIGKILL)
    hung = False
    try:
        status = child.wait(40)
    except subprocess.TimeoutExpired:
        hung = True
        for process in [*_workers(child.pid), child.pid]:
            os.kill(process, signal.SIGKILL)
        status = child.wait()
    reader.join()
    told = child.stderr.read()
    for stream in (child.stdin, child.stderr):
        with contextlib.suppress(OSError):
            stream.close()
    right = (128 + signal.SIGPIPE, b"") if what == "reader" else (1, _SHOWN)
    out = b"".join(pieces)
    lines = out.split(b"\n")[:-1]
    wrong = any(line + b"\n" != _line(number) for number, line in enumerate(lines))
    row.count("hung", hung)
    row.count("wrong status or message", not hung and (status, told) != right)
    row.count("output cut inside a record", what != "reader" and not out.endswith(b"\n"))
    row.count("lost, added, reordered or changed", wrong)
    row.count("nothing written before", not lines)


def _workers(parent: int) -> list[int]:
    """The processes that draw."""
    named = {each: Path(f"/proc/{each}/cmdline").read_bytes() for each in children(parent)}
    return [each for each, line in named.items() if b"multiprocessing-fork" in line]
