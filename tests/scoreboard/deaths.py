"""Runs in several processes whose reader leaves or whose worker is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scoreboard.base import DPSAN, TWO, Row, environment

_TOLD = b"dpsan: a worker process died (out of memory? try a smaller -j)\n"


def deaths(quick: bool, folder: Path) -> Row:
    """Endless input, two workers: one is killed, or the reader leaves, at a random moment."""
    row = Row("readers that left and workers killed, -j 2", "≥ 500")
    (folder / "two.txt").write_text(TWO)
    env = environment(folder)
    generator = random.Random(8)
    moments = [(number % 2 == 0, generator.uniform(0.0, 0.3)) for number in range(1 << 12)]

    def one(killed: bool, moment: float) -> tuple[bool, bool, bool]:
        with (
            subprocess.Popen(["yes", "here there, here"], stdout=subprocess.PIPE) as words,
            subprocess.Popen(
                [*DPSAN, "rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt", "-j2"],
                cwd=folder,
                env=env,
                stdin=words.stdout,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as child,
        ):
            words.stdout.close()
            with ThreadPoolExecutor(1) as pool:
                written = pool.submit(_read, child, moment, not killed)
                if killed:
                    time.sleep(0.5 + moment)  # some before the first answer, most after it
                    _kill_worker(child.pid, moment)
                try:
                    status = child.wait(60)
                except subprocess.TimeoutExpired:
                    child.kill()
                    words.kill()
                    return True, False, False
                cut = not written.result()
            told = child.stderr.read()
            words.kill()
        right = (1, _TOLD) if killed else (128 + signal.SIGPIPE, b"")
        return False, (status, told) != right, cut

    with ThreadPoolExecutor(2) as pool:
        for hung, wrong, cut in pool.map(lambda each: one(*each), moments[: 16 if quick else 500]):
            row.tried += 1
            row.count("hung", hung)
            row.count("wrong status or message", wrong)
            row.count("output cut inside a record", cut)
    return row


def _read(child: subprocess.Popen[bytes], moment: float, leave: bool) -> bool:
    """Read all, or leave after the first lines and a moment; whether all lines were whole."""
    line = child.stdout.readline()
    whole = line in (b"", b"here there, here\n")
    if leave:
        time.sleep(moment / 3)
        child.stdout.close()
        return whole
    end = line
    while piece := child.stdout.read(1 << 20):
        end = piece
    return whole and end[-1:] in (b"", b"\n")


def _kill_worker(parent: int, moment: float) -> None:
    """Kill one of the two workers, when they have been started."""
    for _ in range(1000):
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        working = [
            each
            for each in children
            if b"multiprocessing-fork" in Path(f"/proc/{each}/cmdline").read_bytes()
        ]
        if len(working) == 2:
            os.kill(int(working[moment > 0.15]), signal.SIGKILL)
            return
        time.sleep(0.01)
