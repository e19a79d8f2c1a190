"""Files of the cache that are damaged: every one of them, in every way."""

# ruff: noqa: E501

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from scoreboard.base import Row, Size
from scoreboard.patterns import mutants


def corrupted_cache(size: Size, folder: Path) -> Row:
    """A file of the cache is changed in some way: the load must say so, whatever it was asked for."""
    from dpsan.embeddings.cache.store import Entry, Store

    row = Row(
        "corrupted cache files tried (bit flip, truncation, growth, swap, version, empty, owner,"
        " link, FIFO, mode, lying manifest)",
        "≥ 5,000",
    )
    generator = random.Random(3)
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
    kinds = [*_KINDS] + (["owner", "owner of the folder"] if os.geteuid() == 0 else [])
    for turn in range(size.of(400, 1500, 6000)):
        kind = kinds[turn % len(kinds)]
        path = generator.choice(sorted(good))
        if kind in ("owner", "owner of the folder"):
            os.chown(path if kind == "owner" else home, 12345, 12345)
        elif not _KINDS[kind](path, generator, good, other):
            continue
        row.tried += 1
        names = {"index.faiss": ("index.faiss",), "manifest.json": None}
        names |= {f"{number}.raw": (name,) for number, name in enumerate(entry.arrays)}
        only = names[path.name] if turn % 2 else None
        only = None if kind == "lying shape" else only
        found = store.load("index", "key", only)
        row.count(f"undetected: {kind}", found is not None)
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
    return row


_Good = dict[Path, bytes]


def _flip(path: Path, generator: random.Random, good: _Good, _: Path) -> bool:
    data = bytearray(good[path])
    data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    return bool(path.write_bytes(data))


def _truncate(path: Path, generator: random.Random, good: _Good, _: Path) -> bool:
    path.write_bytes(good[path][: generator.randrange(len(good[path]))])
    return True


def _grow(path: Path, generator: random.Random, good: _Good, _: Path) -> bool:
    return bool(path.write_bytes(good[path] + bytes(generator.randrange(1, 99))))


def _swap(path: Path, generator: random.Random, good: _Good, _: Path) -> bool:
    others = sorted(each for each in good if good[each] != good[path])
    return bool(path.write_bytes(good[generator.choice(others)]))


def _foreign(path: Path, generator: random.Random, good: _Good, other: Path) -> bool:
    """Manifest and files of another entry: all whole, in the wrong place."""
    for each in other.iterdir():
        (path.parent / each.name).write_bytes(each.read_bytes())
    return True


def _version(path: Path, generator: random.Random, good: _Good, _: Path) -> bool:
    return _manifest(path.parent, lambda body: body.update(format=body["format"] + 1))


def _shape(path: Path, generator: random.Random, good: _Good, _: Path) -> bool:
    """A manifest with a digest of its own that says an array is larger than it is."""

    def change(body: dict[str, list[dict[str, object]]]) -> None:
        body["files"][0].update(shape=[10**9, 9], size=36 * 10**9)

    return _manifest(path.parent, change)


def _manifest(home: Path, change: Callable[..., None]) -> bool:
    import hashlib

    path = home / "manifest.json"
    body = json.loads(path.read_bytes())["body"]
    change(body)
    raw = json.dumps(body, separators=(",", ":")).encode()
    digest = hashlib.sha256(raw).hexdigest().encode()
    return bool(path.write_bytes(b'{"sha256":"' + digest + b'","body":' + raw + b"}\n"))


def _missing(path: Path, *_: object) -> bool:
    path.unlink()
    return True


def _link(path: Path, generator: random.Random, good: _Good, other: Path) -> bool:
    copy = other.parent / "elsewhere"
    copy.write_bytes(good[path])
    path.unlink()
    path.symlink_to(copy)
    return True


def _fifo(path: Path, *_: object) -> bool:
    path.unlink()
    os.mkfifo(path, 0o600)
    return True


def _mode(path: Path, *_: object) -> bool:
    path.chmod(0o622)
    return True


def _empty(path: Path, *_: object) -> bool:
    path.write_bytes(b"")
    return True


_KINDS: Final[dict[str, Callable[..., bool]]] = {
    "flip": _flip,
    "truncation": _truncate,
    "flip again": _flip,
    "growth": _grow,
    "swap": _swap,
    "another entry": _foreign,
    "version": _version,
    "lying shape": _shape,
    "missing": _missing,
    "link": _link,
    "FIFO": _fifo,
    "others may write": _mode,
    "empty": _empty,
}


MUTANTS: Final = mutants(
    "cache",
    r"""
no SHA-256 of the arrays @ _read_file
- files.read_hashed(file_fd, memory) != file.sha256
+ files.read_hashed(file_fd, memory) != file.sha256 and False
no SHA-256 of the index @ _read_file
- files.read_hashed(file_fd, memory) != file.sha256
+ files.read_hashed(file_fd, memory) != file.sha256 and (not head)
no SHA-256 of one array @ _read_file
- files.read_hashed(file_fd, memory) != file.sha256
+ files.read_hashed(file_fd, memory) != file.sha256 and file.name != "c"
no SHA-256 of the words @ _read_file
- files.read_hashed(file_fd, memory) != file.sha256
+ files.read_hashed(file_fd, memory) != file.sha256 and file.name != "words"
no SHA-256 of the manifest @ read_manifest
- frame != _frame(body)
+ False
the manifest of another entry @ read_manifest
- directory_name(manifest.kind, manifest.key) != folder.name
+ False
any format version @ _parse_manifest
- _typed(content["format"], int) != FORMAT_VERSION
+ False
longer files than said @ _read_file
- size != expected
+ size < expected
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
""",
)
