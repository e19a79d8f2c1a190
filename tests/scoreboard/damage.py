"""Files of the cache that are damaged: every one of them, in every way."""

# ruff: noqa: E501

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from dpsan.embeddings.cache.entry import read_entry
from dpsan.embeddings.cache.store import Entry, Store
from dpsan.files.names import remove
from dpsan.files.private_files import DamagedError
from scoreboard.base import Row, Size, row


@row(
    "cache",
    "corrupted cache files tried (bit flip, truncation, growth, version, empty, owner,"
    " link, FIFO, mode, lying manifest)",
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
        next(path for path in (root / "v4").iterdir() if mark in path.read_bytes())
        for mark in (b'"key":"key"', b'"key":"other"')
    )
    good = home.read_bytes()
    random = Random(3)

    def another(_: Random, path: Path, data: bytes) -> None:
        shutil.copyfile(other, path)

    acts = {**_KINDS, "another entry": another}
    kinds = [each for each in acts if os.geteuid() == 0 or "owner" not in each]
    kinds += ["flip"] * 2  # of a manifest, few flips leave it a manifest
    for turn in range(size.of(400, 1500, 6000)):
        kind = kinds[turn % len(kinds)]
        acts[kind](random, home, good)
        row.tried += 1
        only = random.choice([*arrays]) if turn % 2 and kind != "flip" else None
        row.count(f"undetected: {kind}", store.load("index", "key", only and (only,)) is not None)
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


def _manifest(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Another manifest, with a digest of its own."""
    data = path.read_bytes()
    end = len(data) - 40 - int.from_bytes(data[-8:], "little")
    body = json.loads(data[end:-40])
    change(body)
    raw = json.dumps(body, separators=(",", ":")).encode()
    path.write_bytes(
        data[:end] + raw + hashlib.sha256(raw).digest() + len(raw).to_bytes(8, "little")
    )


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
    "version": lambda random, path, data: _manifest(path, lambda body: body.update(format=10**3)),
    "lying shape": lambda random, path, data: _manifest(
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
