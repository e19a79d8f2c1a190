"""Signals and concurrent first runs."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scoreboard.base import DPSAN, TWO, Row, embedding_file, environment, leftovers

_LINES = 6_000


def signals(quick: bool, folder: Path) -> Row:
    """A signal at a random moment of a batch with two outputs and an audit."""
    row = Row("signals at random moments", "≥ 1,000")
    (folder / "two.txt").write_text(TWO)
    line = b"here there, here\n"
    generator = random.Random(5)
    for number in range(4):
        (folder / f"in{number}.txt").write_bytes(line * _LINES)
    command = [
        *DPSAN, "rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt", "-a", "audit",
        *(f"in{number}.txt" for number in range(4)), "-O", "out",
    ]  # fmt: skip

    after = {}
    for jobs in ("1", "2"):
        child = subprocess.Popen([*command, "-j", jobs], cwd=folder, env=environment(folder))
        _wait_for(folder / "audit", child)
        started = time.perf_counter()
        row.count("first run failed", child.wait() != 0)
        after[jobs] = time.perf_counter() - started
        (folder / "audit").unlink()
        shutil.rmtree(folder / "out")

    def one(number: int) -> tuple[int, int, bool, bool, bool]:
        own = folder / f"s{number}"
        own.mkdir()
        for path in folder.glob("*.txt"):
            os.link(path, own / path.name)
        jobs = ["-j", "2"] if number % 5 == 4 else []
        sent = generator.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        child = subprocess.Popen(
            [*command, *jobs],
            cwd=own,
            env=environment(own),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        if number % 10 == 7:  # while it starts
            time.sleep(generator.uniform(0.1, 1.0))
        else:
            _wait_for(own / "audit", child)
            time.sleep(generator.uniform(0.0, 1.1) * after["2" if jobs else "1"])
        child.send_signal(sent)
        try:
            _, told = child.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return 0, 1, False, False, False
        outputs = list((own / "out").glob("*.txt")) if (own / "out").exists() else []
        partial = any(path.read_bytes() != line * _LINES for path in outputs)
        left = bool(leftovers(own))
        traced = b"Traceback" in told or b"internal error" in told
        status = child.returncode not in (-sent, 0)
        # Before the guard is up a signal ends the interpreter its own way.
        early = not (own / "audit").exists()
        orphans = _alive(child.pid)
        shutil.rmtree(own)
        return (
            int(not early),
            int(status and not early),
            partial,
            left,
            (traced and not early) or orphans,
        )

    goal, number = (16, 0) if quick else (1000, 0)
    with ThreadPoolExecutor(2) as pool:
        while row.tried < goal and number < 3 * goal:
            for counted, status, partial, left, traced in pool.map(one, range(number, number + 20)):
                row.tried += counted
                row.count("wrong wait status", bool(status))
                row.count("partial file under the final name", partial)
                row.count("temporary left", left)
                row.count("traceback or worker left", traced)
            number += 20
    row.note = "signals before the program was up are not counted"
    return row


def _wait_for(path: Path, child: subprocess.Popen[bytes]) -> None:
    """Until the program has made a file, or has ended."""
    while not path.exists() and child.poll() is None:
        time.sleep(0.002)


def _alive(group: int) -> bool:
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True


_COUNTING = """
import os, sys, dpsan.library as library
real = library.load
def load(*a, **k):
    with open(os.environ["COUNT"], "a") as out: out.write("x")
    return real(*a, **k)
library.load = load
sys.argv = ["dpsan", *sys.argv[1:]]
from dpsan.cli.guard import main
main()
"""


def first_runs(quick: bool, folder: Path) -> Row:
    """Eight processes start at once with an empty cache: all succeed, one builds."""
    row = Row("rounds of 8 concurrent first runs, empty cache", "≥ 50")
    source = embedding_file(folder / "e.txt", 3000)
    for number in range(2 if quick else 50):
        own = folder / f"c{number}"
        own.mkdir()
        env = {**environment(own), "COUNT": str(own / "count")}
        children = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    _COUNTING,
                    "rewrite",
                    "-q",
                    "-e",
                    "5",
                    "-m",
                    "laplace",
                    "-E",
                    str(source),
                    "--seed",
                    "x",
                ],
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(8)
        ]
        outs = {child.communicate(b"w1 w2 w3\n" * 9)[0] for child in children}
        row.tried += 1
        row.count("failures", any(child.returncode for child in children))
        row.count("different outputs", len(outs) != 1)
        row.count("rounds with more than one build", (own / "count").read_text() != "x")
    return row
