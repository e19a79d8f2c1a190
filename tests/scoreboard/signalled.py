"""Signals at the n-th call, at random moments, two at once, and while the program starts."""

# ruff: noqa: SIM905

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from scoreboard import fork
from scoreboard.base import DPSAN, TWO, Row, Size, environment, tree
from scoreboard.jobs import Job, Known, disturbed, judge, known
from scoreboard.patterns import mutants
from scoreboard.trap import Trap, signalled, sprung

_PAIRS: Final = [
    (signal.SIGTERM,), (signal.SIGINT,), (signal.SIGHUP,), (signal.SIGTERM, signal.SIGINT),
    (signal.SIGINT, signal.SIGINT), (signal.SIGHUP, signal.SIGTERM, signal.SIGINT),
]  # fmt: skip
_LINE: Final = b"here there, here\n"
_LINES: Final = 6_000
_STATUS: Final = "the wait status is not the signal"


def signals(size: Size, folder: Path) -> Row:
    """The status is the signal, nothing is left, every output is whole, nothing is shown."""
    row = Row(
        "signals at the n-th call and at random moments, one, two or three at once", "≥ 1,000"
    )
    fork.preload()
    jobs = [Job("txt", "O"), Job("csv", "-"), Job("jsonl", "i"), Job("txt", "o")]
    for number, job in enumerate(jobs[: size.of(2, 2, 4)]):
        own = folder / f"job{number}"
        own.mkdir()
        it = known(job, own, row)
        _at_calls(row, it, size)
    _at_random(row, size, folder / "random")
    return row


def _at_calls(row: Row, it: Known, size: Size) -> None:
    turns = itertools.cycle(_PAIRS)
    for _ in range(size.of(1, 1, 6)):
        for number in range(1, len(it.trace) + 1):
            pair = next(turns)
            # A file that was just made, and nobody has heard of yet, is the hardest to remove.
            after = number % 2 == 0 or it.trace[number - 1].name == "open"
            work, done = disturbed(
                it,
                lambda work, n=number, pair=pair, after=after: (
                    Trap(work, n, signalled(*pair), after=after).install
                ),
            )
            if sprung(work):
                row.tried += 1
                judge(row, it, work, done)
                _status(row, done, pair)
            shutil.rmtree(work.parent)
        next(turns)  # each call meets another signal


def _status(row: Row, done: fork.Done, sent: tuple[int, ...]) -> None:
    several = ", several signals" if len(sent) > 1 else ""
    wrong = -done.status not in sent
    row.count(_wrong_end(sent, done.status, done.err, "at a call") if wrong else _STATUS, wrong)
    row.count(f"traceback or other text{several}", not done.clear and done.err != b"")


def _wrong_end(sent: tuple[int, ...], status: int, told: bytes, when: str) -> str:
    """Tells what is needed to find out why; it is rare."""
    names = " ".join(signal.Signals(each).name for each in sent)
    last = told.decode(errors="replace").splitlines()[-1:]
    return f"{_STATUS}: {status} for {names} {when}, told {last}"


def _at_random(row: Row, size: Size, folder: Path) -> None:
    """Real commands, one or two workers; also while they start, and to the whole process group."""
    folder.mkdir()
    (folder / "two.txt").write_text(TWO)
    for number in range(4):
        (folder / f"in{number}.txt").write_bytes(_LINE * _LINES)
    names = [f"in{number}.txt" for number in range(4)]
    command = [*DPSAN, *"rewrite -q -e 1000 -m laplace -E two.txt -a audit -O out".split(), *names]
    command += ["--case", "vocabulary"]
    generator = random.Random(5)
    after = {}
    for jobs in ("1", "2"):
        started = time.perf_counter()
        done = subprocess.run([*command, "-j", jobs], cwd=folder, env=environment(folder))
        row.count("first run failed", done.returncode != 0)
        after[jobs] = time.perf_counter() - started
        (folder / "audit").unlink()
        shutil.rmtree(folder / "out")
        if size is Size.MUTANT:
            break

    def one(number: int) -> tuple[list[str], bool]:
        own = folder / f"s{number}"
        own.mkdir()
        for path in folder.glob("*.txt"):
            os.link(path, own / path.name)
        jobs = "2" if number % 3 == 2 and size is not Size.MUTANT else "1"
        sent = _PAIRS[number % len(_PAIRS)]
        child = subprocess.Popen(
            [*command, "-j", jobs],
            cwd=own,
            env=environment(own),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        time.sleep(generator.uniform(0.02, 1.0) * after[jobs])
        early = not (own / "audit").exists()
        for each in sent:  # a terminal signals the whole group
            if number % 2 and jobs == "2":
                os.killpg(child.pid, each)
            else:
                child.send_signal(each)
        try:
            out, told = child.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return ["hung"], early
        bad = _judged(own, child, told, sent, early=early) + (["output on stdout"] if out else [])
        shutil.rmtree(own)
        return bad, early

    with ThreadPoolExecutor(2) as pool:
        for bad, _ in pool.map(one, range(size.of(2, 12, 600))):
            row.tried += 1
            for kind in bad:
                row.count(kind, True)


def _judged(
    own: Path, child: subprocess.Popen[bytes], told: bytes, sent: tuple[int, ...], *, early: bool
) -> list[str]:
    bad = []
    several = ", several signals" if len(sent) > 1 else ""
    # What is left under a temporary name is counted on its own; here is what is said to be whole.
    files = tree(own / "out") if (own / "out").exists() else {}
    files = {name: data for name, data in files.items() if name.endswith(".txt")}
    if any(data != _LINE * _LINES for data in files.values()):
        bad.append("partial file under the final name")
    if any(path.name.endswith(".tmp") for path in own.rglob("*") if "cache" not in path.parts):
        bad.append("temporary left")
    finished = child.returncode == 0 and len(files) == 4
    # Python itself may be hit while it starts ("can't initialize sys standard streams", "Could not
    # import runpy module"): it says so, without a traceback at first, and ends with 1.
    python = early and b"KeyboardInterrupt" in told and b"/dpsan/" not in told
    if -child.returncode not in sent and not finished and not python:
        bad.append(_wrong_end(sent, child.returncode, told, "early" if early else "late"))
    # Before our first line runs, Python shows its own frames; none of them may be ours.
    if b"/dpsan/" in told if early else b"Traceback" in told or b"internal error" in told:
        bad.append(f"traceback or other text{several}")
    if _alive(child.pid):
        bad.append("worker left")
    if (own / "audit").exists() and _untrue(own / "audit", files):
        bad.append("the audit does not match the outputs")
    return bad


def _untrue(audit: Path, files: dict[str, bytes]) -> bool:
    """Each complete output has all its words in the audit, in the order of the outputs."""
    rows = [json.loads(line) for line in audit.read_bytes().split(b"\n")[:-1]]
    words: dict[int, list[int]] = {}
    for row in rows:
        if row["type"] == "word":
            words.setdefault(row["file"], []).append(row["line"])
    whole = [line for line in range(1, _LINES + 1) for _ in range(3)]
    if any(lines != whole[: len(lines)] for lines in words.values()):
        return True
    return any(words.get(int(name[2]) + 1) != whole for name in files)


def _alive(group: int) -> bool:
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True


MUTANTS: Final = mutants(
    "signals",
    r"""
a signal is not cleaned up after @ main
- _clean_up()
the status is a number, not the signal @ die_of
- os.kill(os.getpid(), number)
+ pass
SIGHUP is forgotten @ signals._SIGNALS
- (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
+ (signal.SIGINT, signal.SIGTERM)
SIGTERM is ignored @ _interrupt
- not _State.heard
+ not _State.heard and number != signal.SIGTERM
an interrupted output is finished @ rewrite_file
- sink.discard()
+ sink.commit()
a temporary is remembered too late @ AtomicFile.__init__
- _UNFINISHED.add(self._temporary)
the audit says complete after a signal @ Run.execute
- complete = False
+ complete = True
""",
)
