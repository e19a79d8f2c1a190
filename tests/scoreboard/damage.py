"""Files of the cache that are damaged: every one of them, in every way."""

# ruff: noqa: E501

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

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
    from dpsan.embeddings.cache.store import Entry, Store

    numbers = np.random.default_rng(3)
    notes: list[str] = []
    root = folder / "corrupt"
    store = Store(root, notes.append)
    vectors = numbers.normal(size=(40, 9)).astype(np.float32)
    entry = Entry(
        arrays={
            "index.faiss": vectors,
            "b": np.arange(50),
            "c": vectors.copy(),
            "words": np.frombuffer(b"w1 w2 w3", dtype=np.uint8),
        },
        meta={"digest": "x"},
    )
    store.save("index", "key", entry)
    store.save("index", "other", Entry(arrays={"index.faiss": vectors + 1}, meta={}))
    home = next(path for path in root.rglob("manifest.json") if b'"key":"key"' in path.read_bytes())
    home = home.parent
    other = next(path for path in home.parent.iterdir() if path != home and path.is_dir())
    good = {path: path.read_bytes() for path in sorted(home.iterdir())}
    kinds = [each for each in _KINDS if os.geteuid() == 0 or "owner" not in each]
    kinds += ["flip"] * 2  # of a manifest, few flips leave it a manifest
    damage = _Damage(good, other)
    for turn in range(size.of(400, 1500, 6000)):
        kind = kinds[turn % len(kinds)]
        path = damage.random.choice(sorted(good))
        getattr(damage, kind)(path)
        row.tried += 1
        names = {"index.faiss": ("index.faiss",), "manifest.json": None}
        names |= {f"{number}.raw": (name,) for number, name in enumerate(entry.arrays)}
        only = names[path.name] if turn % 2 else None
        only = None if kind == "lying_shape" else only
        found = store.load("index", "key", only)
        row.count(f"undetected: {kind.replace('_', ' ')}", found is not None)
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
        same = all(np.array_equal(whole.arrays[each], entry.arrays[each]) for each in entry.arrays)
        row.count("good entry changed", not same)


class _Damage:
    """What can happen to a file of an entry."""

    def __init__(self, good: dict[Path, bytes], other: Path) -> None:
        self.good, self.other, self.random = good, other, random.Random(3)

    def flip(self, path: Path) -> None:
        data = bytearray(self.good[path])
        data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
        path.write_bytes(data)

    def truncation(self, path: Path) -> None:
        path.write_bytes(self.good[path][: self.random.randrange(len(self.good[path]))])

    def growth(self, path: Path) -> None:
        path.write_bytes(self.good[path] + bytes(self.random.randrange(1, 99)))

    def swap(self, path: Path) -> None:
        others = [data for data in self.good.values() if data != self.good[path]]
        path.write_bytes(self.random.choice(others))

    def another_entry(self, path: Path) -> None:
        """Manifest and files of another entry: all whole, in the wrong place."""
        for each in self.other.iterdir():
            (path.parent / each.name).write_bytes(each.read_bytes())

    def version(self, path: Path) -> None:
        self._manifest(path.parent, lambda body: body.update(format=body["format"] + 1))

    def lying_shape(self, path: Path) -> None:
        """A manifest with a digest of its own that says an array is larger than it is."""
        large = {"shape": [10**9, 9], "size": 36 * 10**9}
        self._manifest(path.parent, lambda body: body["files"][0].update(large))

    def _manifest(self, home: Path, change: Callable[[dict[str, Any]], None]) -> None:
        path = home / "manifest.json"
        body = json.loads(path.read_bytes())["body"]
        change(body)
        raw = json.dumps(body, separators=(",", ":")).encode()
        digest = hashlib.sha256(raw).hexdigest().encode()
        path.write_bytes(b'{"sha256":"' + digest + b'","body":' + raw + b"}\n")

    def missing(self, path: Path) -> None:
        path.unlink()

    def link(self, path: Path) -> None:
        copy = self.other.parent / "elsewhere"
        path.rename(copy)
        path.symlink_to(copy)

    def fifo(self, path: Path) -> None:
        path.unlink()
        os.mkfifo(path, 0o600)

    def others_may_write(self, path: Path) -> None:
        path.chmod(0o622)

    def empty(self, path: Path) -> None:
        path.write_bytes(b"")

    def owner(self, path: Path) -> None:
        os.chown(path, 12345, 12345)

    def owner_of_the_folder(self, path: Path) -> None:
        os.chown(path.parent, 12345, 12345)


_KINDS = [name for name in vars(_Damage) if name[0] != "_"]


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
