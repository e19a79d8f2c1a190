"""The scoreboard of reliability: ``python tests/reliability.py [--quick] [--json] [ROW ...]``.

Every row is a count of attempts and the bad outcomes among them; the targets are those of the full
run, and what was done is printed beside them.  Exit status 1 if anything bad happened.

``--mutants`` asks the rows themselves: each stands beside a list of mutants, the program broken on
purpose, and must turn red for every one of them.  Exit status 1 if a mutant survives, is stale, or
a row is red without one.  ``--mutants --quick`` takes the first mutants of each list, for CI;
``--named PATTERN`` takes those with such a name, ``--jobs 1`` one after the other.
"""

import argparse
import datetime
import hashlib
import json
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

_FOR_CI = 3
"""Mutants of each row: CI has half an hour for everything."""
_AT_ONCE = 3
"""Mutants: on two cores, for they wait for kills, pauses and workers that hang."""
ROOT = Path(__file__).resolve().parent.parent
_PROGRAM = os.environ.get("RELIABILITY_PROGRAM", str(ROOT))
sys.path[:0] = [str(ROOT / "tests" / "formats"), str(ROOT / "tests" / "embeddings"), _PROGRAM]

from fixed_keys import fix_keys  # noqa: E402
from scoreboard import MUTANTS, ROWS  # noqa: E402
from scoreboard.base import Row, Size  # noqa: E402
from scoreboard.mutants import measured, verdicts  # noqa: E402
from scoreboard.patterns import MutantError  # noqa: E402
from scoreboard.survivors import TESTS  # noqa: E402


def row_of(name: str, size: Size) -> Row:
    """A row, in a process of its own."""
    started, before = time.perf_counter(), source_digest()
    try:
        row = measured(name, size, ROOT)
    except MutantError as error:
        row = Row(name, "", 0, {str(error): 1})
    # New processes import what is on disk now: such a row says nothing.
    row.count("INVALID: the source changed meanwhile", source_digest() != before)
    row.seconds = round(time.perf_counter() - started, 1)
    return row


def source_digest() -> str:
    """Of the program that is measured."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "dpsan").rglob("*.py")):
        digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def machine() -> dict[str, str]:
    """Where and when."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ).stdout.strip()

    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    changed = " with changes" if git("status", "--porcelain", "dpsan") else ""
    return {
        "machine": f"{model[1] if model else 'unknown'}, {os.cpu_count()} cores, {system}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": git("rev-parse", "--short", "HEAD") + changed,
    }


def scoreboard(names: list[str], size: Size, *, as_json: bool) -> int:
    """Print the table of the rows."""
    rows = []
    # Two at once in the quick run, as they mostly wait.
    with ThreadPoolExecutor(2 if size is Size.QUICK else 1) as pool:
        for row in pool.map(lambda name: row_of(name, size), names):
            rows.append(row)
            told = f": {', '.join(row.red)}" if row.red else ""
            print(f"{row.seconds:6.1f} s  {row.figure}{told}", file=sys.stderr, flush=True)
    about = machine() | {"run": size.name.lower()}
    if as_json:
        print(json.dumps({**about, "rows": [asdict(row) for row in rows]}, indent=2))
    else:
        print("{machine}; {date}; commit {commit}; {run} run\n".format(**about))
        print("| figure | target of the full run | done | bad outcomes |\n|---|---|---|---|")
        for row in rows:
            shown = [kind for kind in row.bad if kind in row.red or kind.startswith("%")]
            bad = ", ".join(f"{kind}: {row.bad[kind]:g}" for kind in shown)
            bad = bad if row.red else ", ".join(filter(None, [f"0 of {len(row.bad)} kinds", bad]))
            note = f" ({row.note})" if row.note else ""
            print(f"| {row.figure} | {row.target} | {row.tried:,} | {bad}{note} |")
    return int(any(row.red for row in rows))


def mutants(names: list[str], most: int | None, pattern: str, jobs: int) -> int:
    """Print the table of the mutants whose names match, at most so many of each row."""
    known = [each for each in MUTANTS if re.search(pattern, each.name)]
    chosen = [each for row in names for each in [m for m in known if m.row == row][:most]]
    print("| row | mutant | seconds | turned red by |\n|---|---|---|---|", flush=True)
    failed = 0
    for each in verdicts(chosen, names, jobs):
        failed += bool(each.problem)
        what = "; ".join(filter(None, [each.problem, *each.red]))
        name = each.mutant or "(none: the program as it is)"
        print(f"| {each.row} | {name} | {each.seconds:.0f} | {what} |", flush=True)
    print(f"\n{len(chosen)} mutants, {failed} failures")
    return int(failed > 0 or not chosen)


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--quick", action="store_true", help="fewer and smaller: for CI")
    parser.add_argument("--mutants", action="store_true", help="are the rows able to turn red?")
    parser.add_argument("--named", metavar="PATTERN", default="", help="mutants of these names")
    parser.add_argument("--jobs", type=int, default=_AT_ONCE, help="mutants that run at once")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--size", default="QUICK", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := set(given.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(sorted(unknown))}")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if given.child:
        # Who starts us in the background has SIGINT ignored, and so would every command we run.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if given.size != Size.FULL.name and "EXPLORE" not in os.environ:
            fix_keys(given.child)  # CI fails for what somebody changed, never by chance
        row = ROWS[given.child](Size[given.size], given.folder)
        print(json.dumps(asdict(row)), flush=True)
        # As dpsan itself ends.  Python takes its own data apart while threads of Arrow may still
        # read a bad file through it, and then C++ ends the process.
        os._exit(0)
    # The tests that some rows run are part of pytest, and CI runs that too.
    left_out = {*TESTS} if given.quick and not given.mutants else set()
    names = given.rows or [name for name in ROWS if name not in left_out]
    if given.mutants:
        return mutants(names, _FOR_CI if given.quick else None, given.named, given.jobs)
    return scoreboard(names, Size.QUICK if given.quick else Size.FULL, as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
