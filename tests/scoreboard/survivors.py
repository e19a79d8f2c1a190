"""Programs that ``dpsan verify`` once called kept, or that no test noticed: both must see each."""

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

from support import tables

from scoreboard import fork
from scoreboard.base import ROOT, Row, Size, environment, row

_SMALL = "--vocab-size 2000 -j 1 --draws 10000"
_SETTINGS = {
    "knn-response": f"-e 8 -m knn-response {_SMALL}",
    "public words": f"-e 2 --public function {_SMALL}",
    "exponential": f"-e 4 -m exponential {_SMALL}",
    "exponential, again": f"-e 1 -m exponential {_SMALL}",
}
"""The last two use one cache, one after the other."""
TESTS: dict[str, tuple[str, ...]] = {}
"""Rows that are tests, which must find the mutants of these rows."""
for _name, _path in tables("scoreboard/cases")["tests"]:
    TESTS[_name] = (*TESTS.get(_name, ()), _path)


def _verified(row, size, folder, commands):
    for name, options in [*commands.items()] * size.of(1, 1, 5):
        row.tried += 1
        # A fork, which has the fixed keys of this process.
        done = fork.run(f"verify {options} --json", folder, environment(folder), timeout=3600)
        if done.status not in (0, 1):
            row.count(f"{name}: exit status {done.status}", True)
            continue
        assert done.out, done.err  # an internal error is no verdict
        checks = json.loads(done.out)["checks"]
        refuted = ", ".join(each["name"] for each in checks if each["held"] is False)
        refuted = refuted or "certificate or draws"
        row.count(f"{name}: VIOLATED ({refuted})", done.status == 1)


@row("verdicts", "verdicts of `dpsan verify`: optimal-response", "≥ 5 / 0")
def verdicts(row: Row, size: Size, folder: Path) -> None:
    """``verify`` as most people call it, for the sound program: never VIOLATED."""
    _verified(row, size, folder, {"optimal-response": "-e 8 --draws 10000"})


@row("settings", f"verdicts of `dpsan verify`: {', '.join(_SETTINGS)}", "≥ 5 each / 0")
def settings(row: Row, size: Size, folder: Path) -> None:
    """The same of other mechanisms and settings, on the first 2,000 words."""
    _verified(row, size, folder, _SETTINGS)


def _tested(tests: tuple[str, ...], row: Row, size: Size, folder: Path) -> None:
    paths = [str(ROOT / "tests" / each) for each in tests]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", *paths]
    command += ["-m", "not (coq or long or mutants)", *["-x"] * (size is Size.MUTANT)]
    given = {"cwd": folder, "env": environment(folder)}
    done = subprocess.run(command, capture_output=True, text=True, **given)
    passed = re.search(r"(\d+) passed", done.stdout)
    row.tried = int(passed[1]) if passed else 0
    for failed in re.findall(r"^(?:FAILED|ERROR) \S*?::(\w+)", done.stdout, re.MULTILINE):
        row.count(failed, True)
    row.count(f"pytest: exit status {done.returncode}", done.returncode not in (0, 1))
    row.count("no test", not row.tried and not row.bad)


for _name, _tests in TESTS.items():
    row(_name, f"tests of the row {_name}", "0")(partial(_tested, _tests))
