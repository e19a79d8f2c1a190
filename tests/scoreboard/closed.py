"""Standard streams that are closed, full or gone before the program starts."""

import itertools
import subprocess
from pathlib import Path

from support import tables

from scoreboard.base import DPSAN, TWO, Row, Size, environment, row, tree

_RUN = "rewrite -e 1000 -m laplace -E two.txt --case vocabulary"
_BODY = b"here there, here\n" * 50
_COMMANDS = {
    name: (command.replace("RUN", _RUN), "reads" in streams, "writes" in streams, int(status))
    for name, streams, status, command in tables("scoreboard/cases")["closed"]
}
_FULL = ("1>/dev/full", "2>/dev/full")
_FEW = ("", "1>&-", "0<&- 1>&- 2>&-", "2>&-")


@row("closed", "commands with standard streams closed, in every combination, or full", "≥ 80 / 0")
def closed_streams(row: Row, size: Size, folder: Path) -> None:
    """Every combination of the three: the right status, whole files, no traceback anywhere."""
    env = environment(folder)
    ends = itertools.product(("", "0<&-"), ("", "1>&-"), ("", "2>&-"))
    ways = [" ".join(filter(None, each)) for each in ends]
    for what, each in [*_COMMANDS.items()][: size.of(3, 5, None)]:
        some = ways if size is Size.FULL else _FEW[: 4 if what != "filter" else 2]
        for way in [*some, *_FULL][: size.of(5, 10, 10)]:
            row.tried += 1
            work = folder / f"w{row.tried}"
            work.mkdir()
            (work / "two.txt").write_text(TWO)
            (work / "a.txt").write_bytes(_BODY)
            _one(row, work, env, each, way)


def _one(row, work, env, each, way):
    command, reads, writes, status = each
    given = {"input": _BODY} if reads else {"stdin": subprocess.DEVNULL}
    words = ["sh", "-c", f'exec "$@" {way}', "sh", *DPSAN, *command.split()]
    try:
        done = subprocess.run(words, cwd=work, env=env, capture_output=True, timeout=60, **given)
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
    for name, data in tree(work).items():
        rows = all(line[:1] + line[-1:] == b"{}" for line in data.splitlines())
        wrong = b"dpsan: " in data or b"Traceback" in data or (name == "audit" and not rows)
        row.count("a message in a file", wrong)
        row.count("temporary left", name.endswith(".tmp"))
    row.count("a file changed", (work / "a.txt").read_bytes() != _BODY)
