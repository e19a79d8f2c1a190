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

from dpsan.embeddings.cache.store import Entry, Store
from scoreboard.base import Row, Size, row
from scoreboard.patterns import mutants


@row(
    "cache",
    "corrupted cache files tried (bit flip, truncation, growth, swap, version, empty, owner,"
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
    arrays = {"index.faiss": vectors, "b": np.arange(50), "c": vectors.copy(), "words": words}
    store.save("index", "key", Entry(arrays=arrays, meta={"digest": "x"}))
    store.save("index", "other", Entry(arrays={"index.faiss": vectors + 1}, meta={}))
    home = next(path for path in root.rglob("manifest.json") if b'"key":"key"' in path.read_bytes())
    home = home.parent
    other = next(path for path in home.parent.iterdir() if path != home and path.is_dir())
    good = {path: path.read_bytes() for path in sorted(home.iterdir())}
    random = Random(3)

    def swap(_: Random, path: Path, data: bytes) -> None:
        path.write_bytes(random.choice([each for each in good.values() if each != data]))

    def another(_: Random, path: Path, data: bytes) -> None:
        shutil.copytree(other, home, dirs_exist_ok=True)

    acts = {**_KINDS, "swap": swap, "another entry": another}
    kinds = [each for each in acts if os.geteuid() == 0 or "owner" not in each]
    kinds += ["flip"] * 2  # of a manifest, few flips leave it a manifest
    for turn in range(size.of(400, 1500, 6000)):
        kind = kinds[turn % len(kinds)]
        path = random.choice(sorted(good))
        acts[kind](random, path, good[path])
        row.tried += 1
        names = {"index.faiss": ("index.faiss",)}
        names |= {f"{number}.raw": (name,) for number, name in enumerate(arrays)}
        only = names.get(path.name) if turn % 2 and kind != "lying shape" else None
        row.count(f"undetected: {kind}", store.load("index", "key", only) is not None)
        row.count("detected in silence", not notes)
        row.count("check does not see it", all(problem is None for _, problem in store.check()))
        notes.clear()
        for each in (home, *home.iterdir()):
            if each.is_symlink() or each.is_fifo():
                each.unlink()
        shutil.rmtree(home)
        home.mkdir(mode=0o700)
        for each, data in good.items():
            each.touch(mode=0o600)
            each.write_bytes(data)
    whole = store.load("index", "key")
    row.count("good entry refused", whole is None)
    if whole is not None:
        same = all(np.array_equal(whole.arrays[each], arrays[each]) for each in arrays)
        row.count("good entry changed", not same)


def _manifest(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Another body, with a digest of its own."""
    path = path.with_name("manifest.json")
    body = json.loads(path.read_bytes())["body"]
    change(body)
    raw = json.dumps(body, separators=(",", ":")).encode()
    digest = hashlib.sha256(raw).hexdigest().encode()
    path.write_bytes(b'{"sha256":"' + digest + b'","body":' + raw + b"}\n")


def _flip(random: Random, path: Path, data: bytes) -> None:
    flipped = bytearray(data)
    flipped[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(flipped)


def _link(random: Random, path: Path, data: bytes) -> None:
    copy = path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(copy)


_LARGE = {"shape": [10**9, 9], "size": 36 * 10**9}
_KINDS: dict[str, Callable[[Random, Path, bytes], object]] = {
    "flip": _flip,
    "truncation": lambda random, path, data: path.write_bytes(data[: random.randrange(len(data))]),
    "growth": lambda random, path, data: path.write_bytes(data + bytes(random.randrange(1, 99))),
    "version": lambda random, path, data: _manifest(path, lambda body: body.update(format=10**3)),
    "lying shape": lambda random, path, data: _manifest(
        path, lambda body: body["files"][0].update(_LARGE)
    ),
    "missing": lambda random, path, data: path.unlink(),
    "link": _link,
    "fifo": lambda random, path, data: (path.unlink(), os.mkfifo(path, 0o600)),
    "others may write": lambda random, path, data: path.chmod(0o622),
    "empty": lambda random, path, data: path.write_bytes(b""),
    "owner": lambda random, path, data: os.chown(path, 12345, 12345),
    "owner of the folder": lambda random, path, data: os.chown(path.parent, 12345, 12345),
}
"""What can happen to a file of an entry; two more need other files."""


mutants(r"""cache
no SHA-256 of the arrays @ _read_file
- files.read_hashed(file_fd, memory) != file.sha256
+ files.read_hashed(file_fd, memory) != file.sha256 and False
no SHA-256 of the manifest @ read_manifest
- frame != _frame(body)
+ False
the manifest of another entry @ read_manifest
- directory_name(manifest.kind, manifest.key) != folder.name
+ False
any format version @ _parse_manifest
- _typed(content["format"], int) != FORMAT_VERSION
+ False
files of others @ _distrust
- status.st_uid != os.geteuid()
+ False
files that others may write @ _distrust
- status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
+ False
links are followed @ open_private
- open_regular(path, follow=False)
+ open_regular(path)
damage is not told @ Store.load
- self._note(problem)
+ pass
""")
