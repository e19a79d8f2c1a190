"""``kill -9`` while an index or outputs are written."""

import os
import random
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from dpsan.embeddings.store import read_entry
from dpsan.files.private_files import DamagedError
from scoreboard import fork
from scoreboard.base import Row, Size, embedding_file, environment, row
from scoreboard.jobs import Job, Known, again, judge
from scoreboard.trap import Trap, calls, signalled

_INDEX = "index e.txt"
_REWRITE = "rewrite -q -e 5 -m laplace -E e.txt --seed s in.txt"
_KILL = signalled(signal.SIGKILL)


@row("kill", "kill -9 that landed in index and rewrite, at the n-th call and at random", "≥ 500")
def killed(row: Row, size: Size, folder: Path) -> None:
    """Only kills that landed count; entries, their arrays and later outputs are compared."""
    fork.preload()
    _index(row, size, folder / "index")
    for kind, mode in [("txt", "O"), ("csv", "o"), ("txt", "i")][: size.of(1, 3, 3)]:
        it = Known(Job(kind, mode), folder / f"{kind}{mode}", row)
        for call in range(1, len(it.trace) + 1, size.of(1, 5, 1)):
            done = it.trapped(call, _KILL, after=True)
            row.tried += done.status == -signal.SIGKILL
            # A kill leaves temporaries, which are nobody's output; so does a copy of a name.
            for path in [*it.work.rglob("*.tmp")]:
                path.unlink()
            if not judge(row, it, done):
                again(row, it)


def _index(row: Row, size: Size, folder: Path) -> None:
    folder.mkdir()
    source = embedding_file(folder / "e.txt", size.of(300, 2000, 4000))
    (folder / "in.txt").write_text("w1 w2 w3\n" * 20)

    def fresh(name):
        own = folder / name
        env = environment(own)
        for each in (source, folder / "in.txt"):
            os.link(each, own / each.name)
        return own, env

    own, env = fresh("truth")
    log = folder / "log"
    started = time.perf_counter()
    done = fork.run(_INDEX, own, env, Trap(own / "cache", log=log).install)
    whole = time.perf_counter() - started
    row.count("undisturbed index failed", done.status != 0)
    truth = _entries(own, row)
    told = fork.run(_REWRITE, own, env)
    row.count("undisturbed run failed", told.status != 0)
    generator = random.Random(2)
    planned: list[int | float] = [*range(1, len(calls(log)) + 1, size.of(2, 4, 1))]
    planned += [generator.uniform(0.02, 1.0) * whole for _ in range(size.of(2, 5, 500))]
    for number, moment in enumerate(planned):
        own, env = fresh(f"k{number}")
        if isinstance(moment, int):
            trap = Trap(own / "cache", moment, _KILL, after=moment % 4 > 1)
            landed = fork.run(_INDEX, own, env, trap.install).status
        else:
            child = fork.Forked(_INDEX, own, env)
            time.sleep(moment)
            os.kill(child.pid, signal.SIGKILL)
            landed = child.wait().status
        if landed == -signal.SIGKILL:
            row.tried += 1
            _judge_index(row, own, env, truth, told.out)
        shutil.rmtree(own)
        if row.bad.get("next index failed or hung", 0) > size.of(0, 2, 2):
            break  # each would take its time


def _judge_index(row, own, env, truth, told):
    found = _entries(own, row)
    row.count("valid but wrong", any(truth.get(name) != data for name, data in found.items()))
    done = fork.Forked(_INDEX, own, env).wait(20)
    row.count("next index failed or hung", done.status != 0)
    if done.hung:
        return
    row.count("a kill damaged an entry under its final name", b"damaged" in done.err)
    row.count("next index has other entries", _entries(own, row) != truth)
    out = fork.run(_REWRITE, own, env)
    row.count("next run failed or differs", out.status != 0 or out.out != told)
    shown = any(path.lstat().st_mode & 0o077 for path in (own / "cache").rglob("*"))
    row.count("files open to others", shown)


def _entries(own: Path, row: Row) -> dict[str, bytes]:
    """Every array of every entry that a load would hand out."""
    out: dict[str, bytes] = {}
    for path in (own / "cache").glob("v*/[!.]*"):
        if path.suffix == ".lock":
            continue
        arrays = {}
        with suppress(OSError, DamagedError):
            arrays = read_entry(path).arrays
        row.count("a kill damaged an entry under its final name", not arrays)
        for name, array in arrays.items():
            out[f"{path.name} {name}"] = np.asarray(array).tobytes()
    return out
