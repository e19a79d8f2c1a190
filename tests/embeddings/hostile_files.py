"""Hostile embedding files; ``python hostile_files.py < names`` loads each in 2 GiB and 10 s."""

import builtins
import gzip
import io
import json
import os
import pickle
import random
import resource
import signal
import struct
import sys
import time
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from embedding_files import FORMATS, WORDS, binary_rows, text_rows, vectors, write_all

CANARY = "canary"
MUTATIONS = 6
PICKLED = "kv model pkl pt pth txt vec bin npz npy safetensors kv.gz txt.gz npy.gz"
KINDS = "<f4 <f8 <U9 |O <U999999999 |S0 |V99 <f99 <M8[s] <c16"
SHAPES = ((10**12, 6), (20, 6), (-1, 6), (20, 999999999999), (), (0, 6))


class Bomb:
    """Creates the canary when unpickled."""

    def __init__(self, canary: str) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return builtins.open, (self.canary, "w")


def cases(folder: Path) -> Iterator[tuple[str, str]]:
    """Write all files into ``folder``; yields name and what is expected of it.

    refused: as a pickle · error: an EmbeddingError · any: an error or a clean load.
    """
    canary = str(folder / CANARY)
    yield from pickles(folder, canary)
    good = vectors()
    text, binary = text_rows(WORDS, good), binary_rows(WORDS, good)
    huge = 10**12
    files: dict[str, bytes] = {
        "rows.txt": f"{huge} 6\n".encode() + text,
        "rows.bin": f"{huge} 6\n".encode() + binary,
        "rows_digits.txt": b"9" * 18 + b" 6\n" + text,
        "rows_many_digits.txt": b"9" * 5000 + b" 6\n" + text,
        "columns.txt": f"20 {huge}\n".encode() + text,
        "columns.bin": f"20 {huge}\n".encode() + binary,
        "columns_limit.bin": b"999999999 10000\n" + binary,
        "negative.txt": b"-1 -1\n" + text,
        "nothing.txt": b"0 0\n",
        "short.txt": b"20 7\n" + text,
        "long.txt": b"20 5\n" + text,
        "ragged.txt": text + b"x 1 2\n",
        "words_1mb.txt": b"x" * (1 << 20) + b" 1 2 3\n",
        "words_9mb.txt": b"2 3\n" + b"x" * (9 << 20) + b" 1 2 3\n",
        "words_9mb.bin": b"2 3\n\0" + b"x" * (9 << 20) + b" 12341234",
        "one_line.txt": b"1 " * (4 << 20),
        "only_newlines.txt": b"\n" * (4 << 20),
        "only_spaces.txt": b" " * (4 << 20),
        "only_nul.txt": b"\0" * (4 << 20),
        "header_only.txt": b"20 6",
        "magic_only.npy": b"\x93NUMPY",
        "magic_only.npz": b"PK\x05\x06" + bytes(18),
        "magic_only.gz": b"\x1f\x8b",
        "header_4gb.npz": _vectors(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'"),
        "truncated.gz": gzip.compress(text * 50)[:-400],
        "trailing.gz": gzip.compress(text) + b"more",
        "flipped.gz": gzip.compress(text)[:-8] + bytes(8),
        "bomb_line.gz": _bomb(b"\0" * (1 << 20), 1500),
        "bomb_rows.gz": _bomb(b"a 1 2\n" * (1 << 17), 1000),
        "bomb_words.gz": b"2 3\n",
        "ratio.bin.gz": gzip.compress(b"99999999 9999\n") + _bomb(bytes(1 << 20), 1500),
    }
    for words, count in ((b"a", "dup"), (b"", "empty"), (b"\0", "nul")):
        files[f"all_{count}.txt"] = (words + b" 1 2\n") * 200_000
    for value in (b"nan", b"inf", b"-inf", b"1e999", b"0", b"-0.0", b"1e-999"):
        rows = (b"w%d %b %b\n" % (number, value, value) for number in range(99))
        files[f"all_{value.decode()}.txt"] = b"".join(rows)
    for kind in KINDS.split():
        for shape in SHAPES:
            head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
            array = b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + good.tobytes()
            files[f"lie_{len(files)}.npz"] = _vectors(array)
    for head in (b"((" * 4000, b"__import__('os').system('touch %b')" % canary.encode(), b"{}"):
        array = b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head
        files[f"eval_{len(files)}.npz"] = _vectors(array)
    files["npz_bomb.npz"] = _zip(("vectors.npy", 3 << 30), ("words.npy", 8))
    for name, data in files.items():
        (folder / name).write_bytes(data)
        yield name, "any"
    yield from special(folder)
    yield from _mutations(folder)


def pickles(folder: Path, canary: str) -> Iterator[tuple[str, str]]:
    for protocol in range(6):
        data = pickle.dumps(Bomb(canary), protocol)
        for end in PICKLED.split():
            packed = gzip.compress(data) if end.endswith(".gz") else data
            (folder / f"p{protocol}.{end}").write_bytes(packed)
            yield f"p{protocol}.{end}", "refused"
        (folder / f"head{protocol}.txt").write_bytes(b"20 6\n" + data)
        yield f"head{protocol}.txt", "error"
        with zipfile.ZipFile(folder / f"torch{protocol}.bin", "w") as archive:
            archive.writestr("archive/data.pkl", data)
        yield f"torch{protocol}.bin", "refused"
    objects = np.array([Bomb(canary)] * 20, dtype=object)
    np.savez(folder / "object_words.npz", words=objects, vectors=vectors(), allow_pickle=True)
    np.savez(folder / "object_vectors.npz", words=np.array(WORDS), vectors=objects)
    for name in ("object_words.npz", "object_vectors.npz"):
        yield name, "refused"


def special(folder: Path) -> Iterator[tuple[str, str]]:
    os.mkfifo(folder / "fifo.txt")
    (folder / "folder.txt").mkdir()
    links = {"zero": "/dev/zero", "null": "/dev/null", "random": "/dev/urandom", "loop": "loop.txt"}
    for name, target in links.items():
        (folder / f"{name}.txt").symlink_to(target)
    names = "fifo.txt folder.txt zero.txt null.txt random.txt loop.txt"
    for name in (*names.split(), "not_there.txt", "x" * 300, "n\0ul"):
        yield name, "error"


def _mutations(folder: Path) -> Iterator[tuple[str, str]]:
    write_all(folder)
    chance = random.Random(5)
    for name in FORMATS:
        data = (folder / name).read_bytes()
        for i in range(MUTATIONS):
            mutant = bytearray(data)
            for _ in range(chance.choice((1, 3, 30))):
                mutant[chance.randrange(len(mutant))] = chance.randrange(256)
            if i % 3 == 2:
                del mutant[chance.randrange(1, len(mutant)) :]
            target = folder / f"m{i}" / name
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(mutant)
            yield f"m{i}/{name}", "any"


def _bomb(block: bytes, times: int) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as file:
        for _ in range(times):
            file.write(block)
    return buffer.getvalue()


def _vectors(array: bytes) -> bytes:
    """A zip file of these bytes for an array of vectors, and of good words."""
    words, buffer = io.BytesIO(), io.BytesIO()
    np.save(words, np.array(WORDS))
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("vectors.npy", array)
        archive.writestr("words.npy", words.getvalue())
    return buffer.getvalue()


def _zip(*sizes: tuple[str, int]) -> bytes:
    """A zip file of arrays that are mostly zeros."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, size in sizes:
            n = max(1, size // (4 * 10_000))
            kind, shape = ("<f4", (n, 10_000)) if name == "vectors.npy" else ("<U1", (n,))
            head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head)
                for _ in range(min(size >> 20, 300)):
                    member.write(bytes(1 << 20))
    return buffer.getvalue()


def child() -> None:
    """Load each file named on stdin (NUL-separated JSON list) under limits."""
    from dpsan.embeddings import load
    from dpsan.errors import DpsanError

    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    for name in json.load(sys.stdin):
        start = time.monotonic()
        signal.alarm(10)
        try:
            embeddings = load(name)
        except DpsanError as error:
            told: dict[str, object] = {"error": type(error).__name__, "message": str(error)}
        except BaseException as error:  # noqa: BLE001 (anything else is what the test looks for)
            told = {"error": type(error).__name__, "message": "unexpected"}
        else:
            keys, table = embeddings.index_to_key, embeddings.vectors
            valid = len(keys) == len(set(keys)) == len(table) and all(keys)
            valid = valid and bool(np.isfinite(table).all() and table.any(axis=1).all())
            told = {"valid": valid and table.dtype == np.float32}
            del embeddings, keys, table
        signal.alarm(0)
        told |= {"name": name, "seconds": time.monotonic() - start}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    child()
