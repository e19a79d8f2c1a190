"""Signals at the n-th call, at random moments, two at once, and while the program starts."""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scoreboard import fork
from scoreboard.base import TWO, Row, Size, dpsan, environment, row, start, tree
from scoreboard.jobs import Job, Known, judge
from scoreboard.trap import signalled, sprung

_PAIRS = [
    (signal.SIGTERM,), (signal.SIGINT,), (signal.SIGHUP,), (signal.SIGTERM, signal.SIGINT),
    (signal.SIGINT, signal.SIGINT), (signal.SIGHUP, signal.SIGTERM, signal.SIGINT),
]  # fmt: skip
_LINE = b"here there, here\n"
_LINES = 6_000
_NAMES = [f"in{number}.txt" for number in range(4)]
_COMMAND = "rewrite -q -e 1000 -m laplace -E two.txt -a audit -O out --case vocabulary"


@row(
    "signals",
    "signals at the n-th call and at random moments, one, two or three at once",
    "≥ 1,000",
)
def signals(row: Row, size: Size, folder: Path) -> None:
    """The status is the signal, nothing is left, every output is whole, nothing is shown."""
    fork.preload()
    for job in ("txt O", "csv -", "jsonl i", "txt o")[: size.of(2, 2, 4)]:
        _at_calls(row, Known(Job(*job.split()), folder / job, row), size)
    _at_random(row, size, folder / "random")


def _at_calls(row: Row, it: Known, size: Size) -> None:
    turns = itertools.cycle(_PAIRS)
    for _ in range(size.of(1, 1, 6)):
        for number, call in enumerate(it.trace, 1):
            sent = next(turns)
            # A file that was just made, and nobody has heard of yet, is the hardest to remove.
            after = number % 2 == 0 or call.name == "open"
            done = it.trapped(number, signalled(*sent), after=after)
            if sprung(it.work):
                row.tried += 1
                judge(row, it, done)
                if -done.status not in sent:
                    row.count(_wrong_end(sent, done.status, done.err, "at a call"), True)
                row.count(_text_of(sent), not done.clear and done.err != b"")
        next(turns)  # each call meets another signal


def _text_of(sent):
    return "traceback or other text" + ", several signals" * (len(sent) > 1)


def _wrong_end(sent, status, told, when):
    """Tells what is needed to find out why; it is rare."""
    names = " ".join(signal.Signals(each).name for each in sent)
    last = told.decode(errors="replace").splitlines()[-1:]
    return f"the wait status is not the signal: {status} for {names} {when}, told {last}"


def _at_random(row: Row, size: Size, folder: Path) -> None:
    """Real commands, one or two workers; also while they start, and to the whole process group."""
    env = environment(folder)
    (folder / "two.txt").write_text(TWO)
    for name in _NAMES:
        (folder / name).write_bytes(_LINE * _LINES)
    generator = random.Random(5)
    seconds = {}
    for jobs in "12"[: size.of(1, 2, 2)]:
        started = time.perf_counter()
        done = dpsan([*_COMMAND.split(), "-j", jobs, *_NAMES], folder, env)
        row.count("first run failed", done.returncode != 0)
        seconds[jobs] = time.perf_counter() - started
        (folder / "audit").unlink()
        shutil.rmtree(folder / "out")

    def one(number: int) -> list[str]:
        own = folder / f"s{number}"
        env = environment(own)
        for path in folder.glob("*.txt"):
            os.link(path, own / path.name)
        jobs = "2" if number % 3 == 2 and size is not Size.MUTANT else "1"
        sent = _PAIRS[number % len(_PAIRS)]
        command = f"{_COMMAND} -j {jobs} {' '.join(_NAMES)}"
        child = start(command, own, env, start_new_session=True, stdin=None)
        time.sleep(generator.uniform(0.02, 1.0) * seconds[jobs])
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
            return ["hung"]
        bad = ["output on stdout"] * bool(out) + _judged(own, child, told, sent, early)
        shutil.rmtree(own)
        return bad

    with ThreadPoolExecutor(2) as pool:
        for bad in pool.map(one, range(size.of(2, 12, 600))):
            row.tried += 1
            for kind in bad:
                row.count(kind, True)


def _judged(own, child, told, sent, early):
    # What is left under a temporary name is counted on its own; here is what is said to be whole.
    files = {name: data for name, data in tree(own / "out").items() if name.endswith(".txt")}
    left = [path for path in own.rglob("*.tmp") if "cache" not in path.parts]
    finished = child.returncode == 0 and len(files) == 4
    # Python itself may be hit while it starts ("can't initialize sys standard streams", "Could not
    # import runpy module"): it says so, without a traceback at first, and ends with 1.
    python = early and b"KeyboardInterrupt" in told and b"/dpsan/" not in told
    # Before our first line runs, Python shows its own frames; none of them may be ours.
    shown = b"/dpsan/" in told if early else b"Traceback" in told or b"internal error" in told
    wrong = _wrong_end(sent, child.returncode, told, "early" if early else "late")
    kinds = {
        "partial file under the final name": any(x != _LINE * _LINES for x in files.values()),
        "temporary left": left,
        wrong: -child.returncode not in sent and not finished and not python,
        _text_of(sent): shown,
        "worker left": _alive(child.pid),
        "the audit does not match the outputs": _untrue(own / "audit", files),
    }
    return [kind for kind, bad in kinds.items() if bad]


def _untrue(audit: Path, files: dict[str, bytes]) -> bool:
    """Each complete output has all its words in the audit, in the order of the outputs."""
    words = defaultdict(list)
    for line in audit.read_bytes().split(b"\n")[:-1] if audit.exists() else ():
        row = json.loads(line)
        if row["type"] == "word":
            words[row["file"]].append(row["line"])
    whole = [line for line in range(1, _LINES + 1) for _ in range(3)]
    cut = any(lines != whole[: len(lines)] for lines in words.values())
    return cut or (audit.exists() and any(words[int(name[2]) + 1] != whole for name in files))


def _alive(group: int) -> bool:
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True
