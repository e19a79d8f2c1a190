"""Embedding files that run code, lie or explode."""

# ruff: noqa: E501, SIM905

import json
import os
import subprocess
import sys
from pathlib import Path

from scoreboard.base import ROOT, Row, Size, environment, row

_MUST_FAIL = (
    "rows.txt rows.bin columns.txt columns.bin negative.txt nothing.txt short.txt long.txt ragged.txt"
    " header_only.txt magic_only.npy header_4gb.npz truncated.gz flipped.gz all_nan.txt all_inf.txt all_0.txt"
    " all_empty.txt all_nul.txt all_1e999.txt npz_bomb.npz only_nul.txt"
).split()


@row("hostile", "hostile embedding files", "≥ 300")
def hostile_embeddings(row: Row, size: Size, folder: Path) -> None:
    """Each is read in a child with 2 GiB and 10 s, and must be refused or give what is in it."""
    import hostile_files

    if size is Size.MUTANT:  # the same bombs, but small
        bomb = hostile_files._bomb
        hostile_files._bomb = lambda block, times: bomb(block, min(times, 20))
        hostile_files._zip = lambda *sizes: b"PK\x05\x06" + bytes(18)
    expected = dict(hostile_files.cases(folder))
    expected |= dict.fromkeys([each for each in _MUST_FAIL if each in expected], "error")
    for name, text in _MIXED.items():
        (folder / name).write_bytes(text)
        expected[name] = "valid"
    told = _told(list(expected), folder)
    row.tried = len(told)
    row.count("code executed", (folder / hostile_files.CANARY).exists())
    row.bad["process killed, over 2 GiB or over 10 s"] = len(expected) - len(told)
    for name, line in told.items():
        error = line.get("error")
        clean = line.get("valid") or error in ("EmbeddingError", "ExtraMissingError")
        row.count("wrong answer", not clean)
        row.count("read though it must be refused", expected[name] == "error" and error is None)
        row.count("refused though there are good rows", expected[name] == "valid" and bool(error))
        message = str(line.get("message"))
        said = error == "EmbeddingError" and ("pickle" in message or "object" in message)
        row.count("not refused as a pickle", expected[name] == "refused" and not said)
        special = name in ("fifo.txt", "zero.txt", "null.txt", "random.txt")
        row.count("a device or FIFO was read", special and "regular" not in message)
        path = os.path.join(folder, name.replace("\0", ""))
        short = os.path.isfile(path) and os.path.getsize(path) < 1 << 20
        row.count("memory taken for what a header says", short and "memory" in message)
        row.count("message of several lines", "\n" in message)


_MIXED = {
    # Rows that must be left out beside good ones: the child checks what stays.
    "mixed.txt": b"good 1 2\nbad nan 1\nzero 0 0\ngood 3 4\nn\0ul 1 2\nbetter 5 6\nbig 1e999 1\n",
    "mixed.vec": b"4 2\ngood 1 2\ngood 2 1\nbad inf 1\nbetter 5 6\n",
}


def _told(names: list[str], folder: Path) -> dict[str, dict[str, object]]:
    """What the child said of each file; a file that kills it is left out, and the rest read."""
    out: dict[str, dict[str, object]] = {}
    for _ in range(20):
        command = [sys.executable, ROOT / "tests" / "embeddings" / "hostile_files.py"]
        given = {"input": json.dumps(names), "cwd": folder, "env": environment(folder)}
        done = subprocess.run(command, capture_output=True, text=True, **given)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        out |= {line["name"]: line for line in lines}
        names = names[len(lines) + 1 :]
        if not names:
            break
    return out
