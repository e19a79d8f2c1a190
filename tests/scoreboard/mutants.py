"""Runs each row on programs that are broken on purpose: ``tests/reliability.py --mutants``."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from scoreboard.base import PROGRAM_VARIABLE, ROOT, Row, Size, children
from scoreboard.patterns import Mutant, MutantError

_SECONDS = {Size.MUTANT: 300, Size.QUICK: 3600, Size.FULL: 12 * 3600}


@dataclass(frozen=True)
class Verdict:
    """What became of a row on one program: the mutant, or "" for the program as it is."""

    row: str
    mutant: str
    red: list[str]
    problem: str
    """Why it counts as a failure, or ``""``."""
    seconds: float


def copied(mutant: Mutant | None, folder: Path) -> Path:
    """A folder with the program, mutated.  Raises MutantError."""
    program = folder / "program"
    shutil.copytree(ROOT / "dpsan", program / "dpsan")  # with what is compiled: it saves minutes
    for beside in ("vocab", "docs"):  # what a checkout has beside the program, and it reads
        (program / beside).symlink_to(ROOT / beside)
    if mutant is not None:
        path, text = mutant.mutated(program / "dpsan")
        path.write_text(text)
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()
        module = ".".join(path.relative_to(program).with_suffix("").parts)
        code = f"import {module.removesuffix('.__init__')} as it; print(it.__file__)"
        given = {"cwd": program, "env": environment_of(program), "capture_output": True}
        done = subprocess.run([sys.executable, "-c", code], text=True, **given)
        if done.stdout.strip() != str(path):
            raise MutantError(f"INVALID: cannot be imported: {done.stderr[-200:]}")
    return program


def environment_of(program: Path) -> dict[str, str]:
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, PROGRAM_VARIABLE: str(program), "PYTHONPATH": str(program), **threads}


def _end(process: int) -> None:
    """Kill it, and all that it began."""
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGSTOP)  # begins no more
        for each in children(process):
            _end(each)
        os.kill(process, signal.SIGKILL)


def measured(name: str, size: Size, program: Path) -> Row:
    """A row in a process of its own.  Raises MutantError: it died or did not end."""
    script = ROOT / "tests" / "reliability.py"
    with tempfile.TemporaryDirectory(prefix=f"dpsan-reliability-{name}-") as folder:
        words = [sys.executable, script, "--child", name, "--size", size.name, "--folder", folder]
        given = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE) | {"cwd": folder}
        # In a folder of its own: python -m finds what stands there before it looks elsewhere.
        child = subprocess.Popen(words, env=environment_of(program), text=True, **given)
        try:
            out, told = child.communicate(timeout=_SECONDS[size])
        except subprocess.TimeoutExpired:
            _end(child.pid)  # with what it began, which would write into the folder
            child.communicate()
            raise MutantError("THE ROW DID NOT END") from None
    if child.returncode:
        raise MutantError(f"THE ROW DIED: {told[-2000:]}")
    return Row(**json.loads(out.splitlines()[-1]))


def verdicts(mutants: list[Mutant], rows: list[str], jobs: int) -> Iterator[Verdict]:
    """The program as it is, then every mutant, so many at a time."""

    def one(row: str, mutant: Mutant | None, known: list[str]) -> Verdict:
        started, red, problem = time.perf_counter(), list[str](), ""
        with tempfile.TemporaryDirectory(prefix="dpsan-mutant-") as folder:
            try:
                found = measured(row, Size.MUTANT, copied(mutant, Path(folder)))
                red = [kind for kind in found.red if kind not in known]
            except MutantError as error:
                problem = str(error)
        if not problem and bool(red) != bool(mutant):
            problem = "SURVIVED" if mutant else "RED WITHOUT A MUTANT"
        name = mutant.name if mutant else ""
        return Verdict(row, name, red, problem, time.perf_counter() - started)

    with ThreadPoolExecutor(jobs) as pool:
        controls = [*pool.map(lambda row: one(row, None, []), rows)]
        yield from controls
        known = {each.row: each.red for each in controls}
        yield from pool.map(lambda each: one(each.row, each, known[each.row]), mutants)
