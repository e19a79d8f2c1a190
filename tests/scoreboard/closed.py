"""Standard streams that are closed, full or gone before the program starts."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from typing import Final

from scoreboard.base import DPSAN, TWO, Row, Size, environment
from scoreboard.patterns import mutants

_RUN: Final = "rewrite -e 1000 -m laplace -E two.txt --case vocabulary"
_BODY: Final = b"here there, here\n" * 50
_COMMANDS: Final = {
    # What it is: (command, whether it reads stdin, whether it writes stdout, status otherwise)
    "file to file": (f"{_RUN} -a audit -o out.txt a.txt", False, False, 0),
    "file to stdout": (f"{_RUN} -a audit a.txt", False, True, 0),
    "filter": (f"{_RUN} -q", True, True, 0),
    "filter to file": (f"{_RUN} -o out.txt", True, False, 0),
    "no such file": (f"{_RUN} nofile", False, False, 1),
    "one of two": (f"{_RUN} -a audit -O out a.txt nofile", False, False, 1),
    "usage error": ("rewrite -e 0 a.txt", False, False, 2),
    "help": ("--help", False, True, 0),
    "mechanisms": ("mechanisms", False, True, 0),
    "two workers": (f"{_RUN} -j 2 -o out.txt a.txt", False, False, 0),
    "index": ("index two.txt", False, True, 0),
}


def closed_streams(size: Size, folder: Path) -> Row:
    """Every combination of the three: the right status, whole files, no traceback anywhere."""
    row = Row("commands with standard streams closed, in every combination, or full", "≥ 80 / 0")
    env = environment(folder)
    quick = ("file to file", "filter", "no such file", "one of two", "two workers")
    number = 0
    for what, each in _COMMANDS.items():
        if what not in size.of(quick[:3], quick, [*_COMMANDS]):
            continue
        ways = [
            " ".join(f"{at}{'<' if at == 0 else '>'}&-" for at in closed)
            for count in range(4)
            for closed in itertools.combinations(range(3), count)
        ]
        if size is not Size.FULL:
            ways = ["", "1>&-", "0<&- 1>&- 2>&-", "2>&-"][: 4 if what != "filter" else 2]
        for way in [*ways, "1>/dev/full", "2>/dev/full"][: size.of(5, 10, 10)]:
            number += 1
            work = folder / f"w{number}"
            work.mkdir()
            (work / "two.txt").write_text(TWO)
            (work / "a.txt").write_bytes(_BODY)
            _one(row, work, env, each, way)
            row.tried += 1
    return row


def _one(
    row: Row, work: Path, env: dict[str, str], each: tuple[str, bool, bool, int], way: str
) -> None:
    command, reads, writes, status = each
    try:
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {way}', "sh", *DPSAN, *command.split()],
            cwd=work,
            env=env,
            input=_BODY if reads else None,
            stdin=None if reads else subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        row.count("hung", True)
        return
    impossible = (reads and "0<" in way) or (writes and "1>" in way)
    wanted = 1 if impossible and status == 0 else status
    where = f" with {way}" if way else ""
    row.count(f"wrong status{where}", done.returncode != wanted)
    traced = b"Traceback" in done.stderr or b"internal error" in done.stderr
    row.count(f"traceback or internal error{where}", traced)
    row.count("no message", wanted != 0 and not done.stderr and "2>" not in way)
    if wanted == 0 and "-o out.txt" in command:
        out = (work / "out.txt").read_bytes() if (work / "out.txt").exists() else b""
        row.count("output wrong", out != _BODY)
    if wanted == 0 and "-e 1000" in command and writes and "1>" not in way:
        row.count("output wrong", done.stdout != _BODY)
    # A descriptor that was free may be a file's now: no message may be written into that.
    for path in [*work.glob("*.*"), *work.glob("*/*"), *work.glob("audit")]:
        data = path.read_bytes()
        wrong = b"dpsan: " in data or b"Traceback" in data
        if path.name == "audit":
            wrong = wrong or not all(_is_json(line) for line in data.splitlines())
        row.count("a message in a file", wrong)
        row.count("temporary left", path.name.endswith(".tmp"))
    row.count("a file changed", (work / "a.txt").read_bytes() != _BODY)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


MUTANTS: Final = mutants(
    "closed",
    r"""
output that cannot be written is no error @ write_all
- raise OutputError(f"{name}: cannot write: {os_reason(error)}") from None
+ return
+ raise OutputError(f"{name}: cannot write: {os_reason(error)}") from None
an error has the status 0 @ say_result
- 1 if result.failed or not enough else 0
+ 0
nothing is said of an error @ say
- sys.stderr.write(f"dpsan: {printable(message)}\n")
+ pass
a file that fails is an internal error @ Run._fail
- self.complain(line)
+ raise RuntimeError
""",
)
