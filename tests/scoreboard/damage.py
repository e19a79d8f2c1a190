"""Files that are damaged or hostile: of embeddings, of Parquet."""

# ruff: noqa: E501, SIM905

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from scoreboard.base import ROOT, TWO, Row, Size, dpsan, environment, row

# Embedding files that run code, lie or explode.


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


# Damaged Parquet files in a batch: Arrow's C++ must not end the process.


_BATCH = 400
_CHANGES = (0x80, 0x01, 0xFF, 0x20, 0x55)


@row(
    "footers",
    "Parquet footers with a damaged byte in a batch / processes that died, files without a line",
    "≥ 3,000 / 0",
)
def damaged_footers(row: Row, size: Size, folder: Path) -> None:
    """Every byte of the footer is changed; the last file of each batch is whole."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    (folder / "two.txt").write_text(TWO)
    whole = folder / "whole.parquet"
    write_table(pa.table({"t": ["here there"], "n": [1]}), whole, store_schema=False)
    data = whole.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    damaged = []
    for change in _CHANGES[: size.of(2, 2, 5)]:
        for at in range(start, len(data)):
            path = folder / f"{len(damaged)}.parquet"
            path.write_bytes(data[:at] + bytes([data[at] ^ change]) + data[at + 1 :])
            damaged.append(path)
    for first in range(0, len(damaged), _BATCH):
        batch = damaged[first : first + _BATCH]
        for more in ([], ["--drop-other"]):
            out = folder / f"out-{first}{''.join(more)}"
            command = f"rewrite -q -e 8 -m krr -E two.txt -k t -O {out}".split()
            done = dpsan([*command, *more, *batch, whole], folder)
            told = done.stderr.decode().splitlines()
            named = {name for line in told for name in re.findall(r"\d+\.parquet", line)}
            written = {path.name for path in out.iterdir()}
            names = {path.name for path in batch}
            row.tried += len(batch)
            row.count("the process died", done.returncode != 1)
            row.count("the next file was not done", whole.name not in written)
            row.count("a damaged file without a line or an output", bool(names - named - written))
            left = {name for name in written - names if name != whole.name}
            row.count("a temporary was left", bool(left - {".dpsan-request"}))
            wrong = [x for x in told if not x.startswith("dpsan: ") or "internal error" in x]
            row.count("not a line for the user", bool(wrong))
