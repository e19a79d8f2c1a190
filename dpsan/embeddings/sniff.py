"""Finding out what a file is, by how its content begins.

::

    1F 8B                       gzip of any of the following (seen to by the caller)
    PK                          zip: .npz if it holds vectors.npy or words.npy, PyTorch if data.pkl
    80 02 ... 80 05             pickle; also by name: .kv .model .pkl .pickle .pt .pth, whatever the
                                content, as the oldest pickles are text
    BA 16 4F 2F                 fastText .bin
    N SP D LF                   word2vec: text if a line ends in numbers, else binary
    anything else               GloVe
"""

from __future__ import annotations

import re
from enum import Enum, auto
from pathlib import Path
from typing import Final

from dpsan.embeddings import numpy_files
from dpsan.embeddings.text_rows import header, is_number
from dpsan.errors import EmbeddingError

GZIP: Final = b"\x1f\x8b"
_PICKLE_NAMES: Final = frozenset({".kv", ".model", ".pkl", ".pickle", ".pt", ".pth"})
_PICKLE: Final = re.compile(rb"\x80[\x02-\x05]|[\]}(]q\x00")
_OLD_PICKLE: Final = re.compile(rb"\(?(c[\w.]+\n[\w.]+\n|\(?[dl]p[0-9]+\n|i[\w.]+\n[\w.]+\n)")
_FASTTEXT: Final = (793712314).to_bytes(4, "little")
"""First bytes of fastText's ``.bin``. Its vectors are sums of n-grams; ``.vec`` holds the sums."""
_OTHER: Final = {
    _FASTTEXT: "fastText .bin",
    numpy_files.MAGIC: ".npy, which has no words,",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x89HDF": "HDF5",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_HINTS: Final = {
    _FASTTEXT: "use the .vec, or: fasttext print-word-vectors MODEL.bin < WORDS > MODEL.vec",
    numpy_files.MAGIC: "save it by numpy.savez(PATH, words=words, vectors=vectors)",
}


class Kind(Enum):
    """The formats; NPZ stands for any zip file until its names are known."""

    WORD2VEC_TEXT = auto()
    WORD2VEC_BINARY = auto()
    GLOVE = auto()
    NPZ = auto()
    PICKLE = auto()


def sniff(head: bytes, path: Path) -> Kind:
    """Return the kind of a file that begins with ``head`` (a MB is enough).

    Raises:
        EmbeddingError: no embedding file starts so.
    """
    if not head:
        raise EmbeddingError(path, "empty file")
    unpacked = Path(path.name.lower().removesuffix(".gz"))
    if unpacked.suffix in _PICKLE_NAMES or _PICKLE.match(head):
        return Kind.PICKLE
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Kind.NPZ
    if head.startswith(GZIP):
        raise EmbeddingError(path, "compressed twice", "gunzip it once")
    for start, name in _OTHER.items():
        if head.startswith(start):
            hint = _HINTS.get(start, "convert it to plain text or .gz")
            raise EmbeddingError(path, f"{name} is not read", hint)
    if _OLD_PICKLE.match(head):
        return Kind.PICKLE
    first, _, body = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    sizes = header(first)
    if sizes is None:
        return Kind.GLOVE
    return Kind.WORD2VEC_TEXT if _is_text(body, sizes[1]) else Kind.WORD2VEC_BINARY


def _is_text(body: bytes, d: int) -> bool:
    """Return True if the rows after a word2vec header are text."""
    # Four fields that are numbers at the end of a line do not occur in float32 by chance.
    fields = max(1, min(d, 4))
    for line in body.split(b"\n", 50)[:50]:
        word, *last = line.rsplit(None, fields) or [b""]
        if word and len(last) == fields and all(map(is_number, last)):
            return True
    return not re.search(rb"[\x00-\x08\x0e-\x1f]", body[:4096])
