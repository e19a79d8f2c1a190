"""Cache files and embedding files: killed writers, damage, hostile content."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from scoreboard.base import DPSAN, ROOT, Row, embedding_file, environment


def killed_index(quick: bool, folder: Path) -> Row:
    """``kill -9`` while the cache is written; then every entry must verify and be right."""
    from dpsan.cache import Store
    from dpsan.embeddings import load

    row = Row("kill -9 at random moments of index", "≥ 500")
    source = embedding_file(folder / "e.txt", 4000)
    truth = load(source).vectors
    started = time.perf_counter()
    subprocess.run(
        [*DPSAN, "index", str(source)], env=environment(folder), capture_output=True, check=True
    )
    whole = time.perf_counter() - started
    generator = random.Random(2)

    def one(number: int) -> tuple[bool, bool]:
        own = folder / f"k{number}"
        own.mkdir()
        child = subprocess.Popen(
            [*DPSAN, "index", str(source)],
            env=environment(own),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(whole * generator.uniform(0.3, 1.3))
        child.kill()
        child.wait()
        store = Store(own / "cache")
        wrong = False
        for info in store.entries():
            entry = store.load(info.kind, info.key) if info.ok else None
            if entry is not None and "vectors" in entry.arrays:
                wrong |= not np.array_equal(entry.arrays["vectors"], truth)
        done = subprocess.run(
            [*DPSAN, "index", str(source)], env=environment(own), capture_output=True
        )
        shutil.rmtree(own)
        return wrong, done.returncode != 0

    with ThreadPoolExecutor(2) as pool:
        for wrong, stuck in pool.map(one, range(8 if quick else 500)):
            row.tried += 1
            row.count("valid but wrong", wrong)
            row.count("next run failed", stuck)
    return row


def corrupted_cache(quick: bool, folder: Path) -> Row:
    """A file of the cache is changed in some way: the load must say so."""
    from dpsan.cache import Entry, Store

    row = Row(
        "corrupted cache files tried (bit flip, truncation, growth, swap, version, empty, owner)",
        "≥ 5,000",
    )
    generator = random.Random(3)
    numbers = np.random.default_rng(3)
    store = Store(folder / "corrupt")
    entry = Entry(
        arrays={"a": numbers.normal(size=(40, 9)).astype(np.float32), "b": np.arange(50)},
        meta={"digest": "x"},
        strings={"words": [f"w{number}" for number in range(60)]},
    )
    store.save("index", "key", entry)
    home = next(path for path in (folder / "corrupt").rglob("manifest.json")).parent
    files = sorted(home.iterdir())
    good = {path: path.read_bytes() for path in files}
    kinds = ["flip", "flip", "flip", "truncate", "grow", "swap", "version", "empty", "missing"]
    if os.geteuid() == 0:
        kinds.append("owner")
    for _ in range(1500 if quick else 5000):
        kind = generator.choice(kinds)
        path = generator.choice(files)
        data = bytearray(good[path])
        if kind == "flip":
            data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        elif kind == "truncate":
            del data[generator.randrange(len(data)) :]
        elif kind == "grow":
            data += bytes(generator.randrange(1, 99))
        elif kind == "swap":
            other = generator.choice([each for each in files if good[each] != good[path]])
            data = bytearray(good[other])
        elif kind == "version":
            path = home / "manifest.json"
            data = bytearray(good[path].replace(b'"format":1', b'"format":0'))
            if bytes(data) == good[path]:
                continue
        elif kind == "empty":
            data = bytearray()
        if kind == "missing":
            path.unlink()
        else:
            path.write_bytes(bytes(data))
        if kind == "owner":
            os.chown(path, 12345, 12345)
        row.tried += 1
        found = store.load("index", "key")
        row.count("undetected", found is not None)
        if not home.exists() or kind == "missing" or kind == "owner":
            store.save("index", "key", entry)
            for each in files:
                good[each] = each.read_bytes()
        else:
            path.write_bytes(good[path])
    row.count("good entry refused", store.load("index", "key") is None)
    return row


def hostile_embeddings(quick: bool, folder: Path) -> Row:
    """Files that run code, lie or explode, each read in a child with 2 GiB and 10 s."""
    from hostile_files import CANARY, cases

    row = Row("hostile embedding files", "≥ 300")
    expected = dict(cases(folder))
    names = list(expected)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "embeddings" / "hostile_files.py")],
        input=json.dumps(names),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**environment(folder), "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    told = {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}
    row.tried = len(told)
    row.count("code executed", (folder / CANARY).exists())
    row.bad["process killed or over 2 GiB"] = len(expected) - len(told)
    row.bad["wrong answer"] = sum(
        not (line.get("valid") or line.get("error") in ("EmbeddingError", "ExtraMissingError"))
        for line in told.values()
    )
    return row
