"""Memory and latency of endless input."""

# ruff: noqa: SIM905

import contextlib
import math
import os
import random
import re
import select
import string
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from scoreboard.base import TWO, Row, Size, environment, row, start

_LATE = 0.1
_SILENT = 3.0
"""Seconds after which an answer is late, and after which none is waited for."""


@row("stream", "GB streamed / growth of peak memory after the first tenth", "≥ 10 / < 2 %")
def streamed(row: Row, size: Size, folder: Path) -> None:
    """Generated text through a pipe: the peak of memory after a tenth and at the end."""
    (folder / "long.txt").write_text(f"{'h' * 50} 0 9\n{'t' * 50} 9 0\n")
    env = environment(folder)
    laplace = "rewrite -q -e 1 -m laplace -E long.txt"
    words = size.of(1_500_000, 800_000, 20_000_000)
    _one(row, folder, env, laplace, _distinct(words), 0.4, "distinct words", size)
    if size is not Size.MUTANT:
        goal = size.of(0, 8 << 20, 10 << 30)
        _one(row, folder, env, "rewrite -q -e 8", _texts(goal), 0.1, "text", size)


def _distinct(count: int) -> Iterator[tuple[float, bytes]]:
    """Lines of long words that occur once, each with how much of all that is."""
    step = 20_000
    for first in range(0, count, step):
        words = [f"q{number}{'x' * 40}" for number in range(first, first + step)]
        lines = (" ".join(words[at : at + 20]) for at in range(0, step, 20))
        yield (first + step) / count, "".join(f"{line} here\n" for line in lines).encode()


def _texts(goal: int) -> Iterator[tuple[float, bytes]]:
    generator = random.Random(6)
    words = "the of and to in is that for it was hospital paris".split()
    sizes = [generator.randrange(4, 25) for _ in range(999)]
    words += ["".join(generator.choices(string.ascii_lowercase, k=size)) for size in sizes]
    # Drawing every word of ten gigabytes would take the generator longer than the sanitizer.
    lines = [" ".join(generator.choices(words, k=generator.randrange(30))) for _ in range(20_000)]
    sent = 0
    while sent < goal:
        rows = enumerate(generator.choices(lines, k=5000), sent)
        block = "".join(f"{line} {number}\n" for number, line in rows).encode()
        sent += len(block)
        yield sent / goal, block


def _one(row, folder, env, arguments, blocks, early_share, what, size):
    share = size.of(early_share, max(early_share, 0.3), 0.1)
    child = start(arguments, folder, env, stdout=subprocess.DEVNULL, stderr=None)
    sent = early = late = 0
    started = time.perf_counter()
    for done, block in blocks:
        child.stdin.write(block)
        sent += len(block)
        if not early and done >= share:
            early = _peak(child.pid)
        late = _peak(child.pid) or late
    child.stdin.close()
    row.count("failures", child.wait() != 0)
    seconds = time.perf_counter() - started
    row.tried = round(row.tried + sent / 2**30, 3)
    growth = 100 * (late - early) / max(early, 1)
    row.bad[f"% growth, {what}"] = round(growth, 2)
    row.count(f"growth of memory, {what}", growth >= size.of(10, 10, 2))
    row.note += f"{what}: peak {late >> 10} MiB, {sent / 2**20 / seconds:.2f} MiB/s; "


def _peak(process: int) -> int:
    """VmHWM in KiB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) if found else 0


class _Conversation:
    """A command that answers lines; time that others used the processor is not counted."""

    def __init__(self, arguments: str, folder: Path, env: dict[str, str]) -> None:
        self.child = start(arguments, folder, env, stderr=None)

    def ask(self, line: bytes) -> tuple[float, bytes]:
        """Seconds until the answer, and the answer; ``_SILENT`` if there is none."""
        waited, begun = self._waited(), time.perf_counter()
        self.child.stdin.write(line)
        self.child.stdin.flush()
        out = b""
        while not out.endswith(b"\n"):
            left = max(0, _SILENT - (time.perf_counter() - begun))
            there = select.select([self.child.stdout], [], [], left)[0]
            piece = os.read(self.child.stdout.fileno(), 1 << 16) if there else b""
            if not piece:
                return _SILENT, out
            out += piece
        return time.perf_counter() - begun - (self._waited() - waited), out

    def _waited(self) -> float:
        """Seconds for which the child, or we, could have run and others did."""
        total = 0
        for process in (self.child.pid, os.getpid()):
            for thread in Path(f"/proc/{process}/task").iterdir():
                with contextlib.suppress(OSError, IndexError):
                    total += int((thread / "schedstat").read_text().split()[1])
        return total / 1e9

    def ready(self) -> None:
        """Until the child has started and waits for input, doing nothing."""
        quiet, before = 0, -1
        deadline = time.monotonic() + 60
        while quiet < 8 and time.monotonic() < deadline:
            time.sleep(0.1)
            now = int(Path(f"/proc/{self.child.pid}/schedstat").read_text().split()[0])
            quiet = quiet + 1 if now == before and now > 2e8 else 0
            before = now

    def end(self) -> int:
        """Its status."""
        self.child.stdin.close()
        try:
            return self.child.wait(60)
        except subprocess.TimeoutExpired:
            self.child.kill()
            return self.child.wait()


@row("latency", "lines answered while the input stays open / later than 0.1 s", "≥ 1,000 / 0")
def latency(row: Row, size: Size, folder: Path) -> None:
    """Single lines, the input staying open: how long until each answer, the first included."""
    (folder / "two.txt").write_text(TWO)
    env = environment(folder)
    generator = random.Random(9)
    words = "the hospital in paris was here and there zzqx 42 a.b@c.de don't well-known IBM".split()
    times, firsts = [], []
    commands = ["rewrite -q -e 8 -m laplace -E two.txt", "rewrite -q -e 8"]
    # What the machine does once is no fault of the program; the full run counts every one.
    tries = size.of(3, 3, 1)
    for command in commands[: size.of(1, 2, 2)]:
        for attempt in range(tries):
            talk = _Conversation(command, folder, env)
            talk.ready()
            first, answer = talk.ask(b"hospital 0\n")
            row.count("not one line for one line", answer.count(b"\n") != 1)
            if not _LATE < first < _SILENT or attempt + 1 == tries:
                break
            talk.end()
        firsts.append(first)
        for number in range(1, size.of(40, 101, 1001)):
            line = " ".join(generator.choices(words, k=generator.randrange(1, 12))) + f" {number}\n"
            took = math.inf
            for _ in range(tries):
                once, answer = talk.ask(line.encode())
                took = min(took, once)
                row.count("not one line for one line", answer.count(b"\n") != 1)
                if not _LATE < once < _SILENT:
                    break
            times.append(took)
            if took >= _SILENT:
                break
            time.sleep(0.001)
        row.count("failures", talk.end() != 0)
    row.tried = len(times) + len(firsts)
    row.bad["late"] = sum(each > _LATE for each in times)
    row.bad["first line late"] = sum(each > _LATE for each in firsts)
    middle = sorted(times or [9])[len(times) // 2]
    row.note = f"median {1e3 * middle:.1f} ms, first {1e3 * max(firsts):.0f} ms"
