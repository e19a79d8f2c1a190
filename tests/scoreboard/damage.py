"""Files that are damaged or hostile: of the cache, of embeddings, of Parquet."""

# ruff: noqa: E501

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from dpsan.embeddings.store import Entry, Store, read_entry
from dpsan.files.private_files import DamagedError
from dpsan.files.source import remove
from scoreboard.base import ROOT, TWO, Row, Size, dpsan, environment, row


@row(
    "cache",
    "corrupted cache files tried (bit flip, truncation, growth, key, empty, owner,"
    " link, FIFO, mode, lying head)",
    "≥ 5,000",
)
def corrupted_cache(row: Row, size: Size, folder: Path) -> None:
    """A file of the cache is changed in some way: the load must say so, whatever it was asked for."""
    numbers = np.random.default_rng(3)
    notes: list[str] = []
    root = folder / "corrupt"
    store = Store(root, notes.append)
    vectors = numbers.normal(size=(40, 9)).astype(np.float32)
    words = np.frombuffer(b"w1 w2 w3", dtype=np.uint8)
    arrays = {"vectors": vectors, "b": np.arange(50), "c": vectors.copy(), "words": words}
    store.save("index", "key", Entry(arrays=arrays, meta={"digest": "x"}))
    store.save("index", "other", Entry(arrays={"vectors": vectors + 1}, meta={}))
    home, other = (
        next(path for path in (root / "v5").iterdir() if mark in path.read_bytes())
        for mark in (b'"key":"key"', b'"key":"other"')
    )
    good = home.read_bytes()
    random = Random(3)

    def another(_: Random, path: Path, data: bytes) -> None:
        shutil.copyfile(other, path)

    acts = {**_KINDS, "another entry": another}
    kinds = [each for each in acts if os.geteuid() == 0 or "owner" not in each]
    for turn in range(size.of(400, 1500, 6000)):
        kind = kinds[turn % len(kinds)]
        acts[kind](random, home, good)
        row.tried += 1
        row.count(f"undetected: {kind}", store.load("index", "key") is not None)
        row.count("detected in silence", not notes)
        row.count("check does not see it", _sound(home))
        notes.clear()
        remove(home)
        home.touch(mode=0o600)
        home.write_bytes(good)
    whole = store.load("index", "key")
    row.count("good entry refused", whole is None)
    if whole is not None:
        same = all(np.array_equal(whole.arrays[each], arrays[each]) for each in arrays)
        row.count("good entry changed", not same)


def _sound(path: Path) -> bool:
    try:
        read_entry(path)
    except (OSError, DamagedError):
        return False
    return True


def _head(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Another head, with a digest of its own."""
    data = path.read_bytes()
    end = int.from_bytes(data[8:16], "little")
    body = json.loads(data[16:end])
    change(body)
    raw = json.dumps(body, separators=(",", ":")).encode().ljust(end - 16)
    new = data[:16] + raw + data[end:-32]
    path.write_bytes(new + hashlib.sha256(new).digest())


def _flip(random: Random, path: Path, data: bytes) -> None:
    flipped = bytearray(data)
    flipped[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(flipped)


def _link(random: Random, path: Path, data: bytes) -> None:
    copy = path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(copy)


_KINDS: dict[str, Callable[[Random, Path, bytes], object]] = {
    "flip": _flip,
    "truncation": lambda random, path, data: path.write_bytes(data[: random.randrange(len(data))]),
    "growth": lambda random, path, data: path.write_bytes(data + bytes(random.randrange(1, 99))),
    "another key": lambda random, path, data: _head(path, lambda body: body.update(key="kex")),
    "lying shape": lambda random, path, data: _head(
        path, lambda body: body["arrays"]["b"].__setitem__(1, [10**9, 9])
    ),
    "lying note": lambda random, path, data: path.write_bytes(
        data.replace(b'"digest":"x"', b'"digest":"y"')
    ),
    "link": _link,
    "fifo": lambda random, path, data: (path.unlink(), os.mkfifo(path, 0o600)),
    "others may write": lambda random, path, data: path.chmod(0o622),
    "empty": lambda random, path, data: path.write_bytes(b""),
    "owner": lambda random, path, data: os.chown(path, 12345, 12345),
}
"""What can happen to a file of an entry; two more need other files."""


# Embedding files that run code, lie or explode.


# ruff: noqa: E501, SIM905


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
            row.count(
                "a damaged file without a line or an output", names - named - written != set()
            )
            left = {name for name in written - names if name != whole.name}
            row.count("a temporary was left", bool(left - {".dpsan-request"}))
            wrong = [x for x in told if not x.startswith("dpsan: ") or "internal error" in x]
            row.count("not a line for the user", bool(wrong))
