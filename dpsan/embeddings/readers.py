"""Readers of embedding files: text, word2vec's binary form, and numpy's ``.npz``.

Text is word2vec's, which is also fastText's ``.vec``, or GloVe's, which lacks the header::

    file    = [n *SP* d *LF*] row+
    row     = word *SP* number (*SP* number){d-1} [white space] *LF*
    word    = bytes without *LF*, UTF-8; it may contain spaces
    number  = decimal or exponent notation, nan, inf

The last d fields are the vector, the rest is the word.  A word that contains spaces must not end
in a number: such a row cannot be told from one with a number too many, and is refused as that.
Tabs and runs of white space separate as well, but are read slowly.  Without a header d is what most
of the first lines agree on, as words of GloVe 840B may contain spaces (``. . .``) or be numbers.

gensim's reader is not used: it allocates what the header says, takes 1_000 for a number, does not
say which line is wrong and is slower than the blocks parsed here.
"""

import io
import math
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from dpsan.embeddings.files import MAX_WORD, Lines, Rows, check_dimensions, refuse
from dpsan.errors import EmbeddingError

_HEADER: Final = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]*\r?\n?")
_FIRST: Final = 32
"""Lines that decide the number of dimensions where there is no header."""
_NO_HEADER: Final = 1 << 62
"""More rows than there are."""
_PLAIN: Final = b" +-.0123456789Ee"
_NUMBERS: Final = 1 << 18
"""Numbers parsed at a time: about 25 MB of Python objects."""


def header(line: bytes) -> tuple[int, int] | None:
    """Return the n and d of a header line; None if it is none."""
    match = _HEADER.fullmatch(line)
    return (int(match[1]), int(match[2])) if match else None


def _declared_sizes(line: bytes, path: Path) -> tuple[int, int]:
    """Return the n and d of a header.  Raises EmbeddingError."""
    n, d = header(line) or (0, 0)
    check_dimensions(path, d, line=1)
    if n < 1:
        raise EmbeddingError(path, "the header says 0 rows", line=1)
    return n, d


def read_text(stream: io.BufferedReader, path: Path, limit: int | None) -> Rows:
    """Read the first ``limit`` usable rows.

    Raises:
        EmbeddingError: the file is malformed, or not an embedding file at all.
    """
    lines = Lines(stream, path)
    if header(b"".join(lines.look(1))):
        n, d = _declared_sizes(lines.read(), path)
        return _read_rows(lines, Rows(path, d, limit), d, n)
    votes = Counter(_numbers_in(line) for line in lines.look(_FIRST) if line.strip())
    d = votes.most_common(1)[0][0] if votes else 0  # among equals the earliest
    if d < 2:  # one number may end each line of any list
        lines.read()  # refuses a first line that is too long
        hint = "word2vec, GloVe, .vec or .npz: a word and its numbers a line; dpsan train makes one"
        raise EmbeddingError(path, "not an embedding file", hint)
    check_dimensions(path, d)
    return _read_rows(lines, Rows(path, d, limit), d, _NO_HEADER)


def is_number(field: bytes) -> bool:
    """Return True if a field is a number; Python's ``1_000`` is a word."""
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def _numbers_in(line: bytes) -> int:
    """Return the number of numbers after the word of a line."""
    fields = line.split()
    run = sum(1 for _ in takewhile(is_number, reversed(fields)))
    # The word itself may be a number, unless the line starts with white space: an empty word.
    return run - 1 if run and run == len(fields) and not line[:1].isspace() else run


def _read_rows(lines: Lines, rows: Rows, d: int, declared: int) -> Rows:
    """Read all rows into ``rows``; ``declared`` is the header's count of them.

    Raises:
        EmbeddingError: a row or the number of rows is wrong; names the line.
    """
    step = max(1, _NUMBERS // d)
    rows_read = 0
    while not rows.full and rows_read < declared:
        first = lines.number + 1
        wanted = min(rows.room(step), declared - rows_read)
        block: list[bytes] = []
        while len(block) < wanted and (line := lines.read()).strip():
            block.append(line)
        if block:
            rows.add(*_parse(block, lines, first, d))
            rows_read += len(block)
        if len(block) < wanted:
            if not lines.only_blank():
                raise EmbeddingError(lines.path, f"0 numbers, expected {d}", line=lines.number)
            if declared < _NO_HEADER:
                ends = f"the file ends after {rows_read} of {declared} rows"
                raise EmbeddingError(lines.path, ends, line=first + len(block))
            return rows
    if not rows.full and not lines.only_blank():
        more = f"more rows than the header's {declared}"
        raise EmbeddingError(lines.path, more, line=lines.number + 1)
    return rows


def _parse(
    block: list[bytes], lines: Lines, first: int, d: int
) -> tuple[Sequence[bytes], NDArray[np.float64]]:
    """Return words and vectors (m, d) of a block whose first line has the number ``first``."""
    words, _, vectors = zip(*(line.rstrip().partition(b" ") for line in block), strict=True)
    if all(numbers.count(b" ") == d - 1 for numbers in vectors):  # no word with spaces, no bad row
        plain = plain_numbers(b" ".join(vectors))
        if plain is not None:
            return words, plain.reshape(-1, d)
    rows = (_parse_one(line, lines, first + at, d) for at, line in enumerate(block))
    words, table = zip(*rows, strict=True)
    return words, np.array(table)


def plain_numbers(joined: bytes) -> NDArray[np.float64] | None:
    """Return numbers with single spaces between them, many times as fast as
    :func:`_parse_one`.

    None where JSON might read something otherwise: that is for the slow way to judge.
    """
    if not joined or joined.translate(None, _PLAIN) or b"-0 " in joined or joined.endswith(b"-0"):
        return None  # JSON takes -0 for the integer 0
    try:
        numbers = orjson.loads(b"[%s]" % joined.replace(b" ", b","))
    except orjson.JSONDecodeError:
        return None
    return np.array(numbers, dtype=np.float64)


def _parse_one(line: bytes, lines: Lines, number: int, d: int) -> tuple[bytes, list[float]]:
    if (count := _numbers_in(line)) != d:
        raise EmbeddingError(lines.path, f"{count} numbers, expected {d}", line=number)
    parts = line.rstrip().rsplit(None, d)
    word = parts.pop(0) if len(parts) > d else b""
    return word, [float(part) for part in parts]


# word2vec binary, as the C tool and gensim write it.
#
# ::
#
#     file    = n *SP* d *LF* row{n}
#     row     = [*LF*] word *SP* float32{d}      little-endian; the C tool ends each row with LF
#     word    = bytes without *SP*, UTF-8
#
# gensim's reader is not used: it allocates what the header says.

_CHUNK: Final = 4 << 20
"""Bytes parsed at a time; more than the longest row."""


def read_binary(stream: io.BufferedReader, path: Path, limit: int | None) -> Rows:
    """Read the first ``limit`` usable rows.

    Raises:
        EmbeddingError: the file is malformed; names the row, from 1.
    """
    n, d = _declared_sizes(stream.readline(64), path)
    rows = Rows(path, d, limit)
    rows_read = 0
    data = b""
    while not rows.full:
        part = stream.read(_CHUNK)
        words, vectors, data = _cut(data + part, d, n - rows_read)
        if words:
            rows.add(words, np.frombuffer(vectors, dtype="<f4").reshape(-1, d))
            rows_read += len(words)
        if rows_read == n:
            while not rows.full and data and not data.strip(b"\n"):
                data = stream.read(_CHUNK)
            if not rows.full and data:
                raise EmbeddingError(path, f"row {n + 1}: more than the header's {n} rows")
            break
        if len(data) > _CHUNK or (len(data) > MAX_WORD and b" " not in data[: MAX_WORD + 2]):
            raise EmbeddingError(path, f"row {rows_read + 1}: a word longer than 1 MB")
        if not part:
            raise EmbeddingError(
                path, f"row {rows_read + 1}: the file ends after {rows_read} of {n} rows"
            )
    return rows


def _cut(data: bytes, d: int, most: int) -> tuple[list[bytes], bytes, bytes]:
    """Return words and vectors of the whole rows at the start of ``data``, at most ``most``; the
    rest.
    """
    words: list[bytes] = []
    vectors: list[bytes] = []
    at = 0
    while len(words) < most:
        space = data.find(b" ", at)
        end = space + 1 + 4 * d
        if space < 0 or end > len(data):
            break
        words.append(data[at:space].removeprefix(b"\n"))
        vectors.append(data[space + 1 : end])
        at = end
    return words, b"".join(vectors), data[at:]


# numpy's ``.npz``.
#
# ::
#
#     NAME.npz = zip of vectors.npy (n, d) and words.npy (n,), type <U or |S, and, if known,
#                counts.npy (n,), whole numbers: occurrences in public text, and spellings.npy (n,),
#                like words.npy: each word as it is usually written, the same but for capital
#                letters (what ``dpsan train`` writes has both)
#
# Object arrays are pickles, which numpy refuses.

_MOST: Final = 10**15
_FREE, _RATIO = 32 << 20, 200
"""Bytes that a member may always have, and bytes that one byte may unpack to."""
_EXPECTED: Final = {
    "vectors": ("fiu", 2, "real numbers of shape (n, d)"),
    "words": ("US", 1, "text of shape (n,)"),
    "counts": ("iu", 1, "whole numbers of shape (n,)"),
    "spellings": ("US", 1, "text of shape (n,)"),
}
"""Kinds of values of each array, and the number of its dimensions."""


def _check_sizes(stream: io.BufferedReader) -> None:
    """Raise ValueError where an array is larger than its member, or than bytes may unpack to."""
    size = stream.seek(0, io.SEEK_END)
    with zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            if info.filename.removesuffix(".npy") in _EXPECTED:
                with archive.open(info) as member:
                    version = np.lib.format.read_magic(member)
                    of_two = np.lib.format.read_array_header_2_0
                    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else of_two
                    shape, _, dtype = read(member)
                bound = _FREE + _RATIO * min(info.compress_size, size)
                if dtype.hasobject:
                    continue  # a pickle, which numpy refuses
                if not math.prod(shape) * dtype.itemsize < info.file_size <= bound:
                    raise ValueError("an array is not as large as its header says")
    stream.seek(0)


def read_npz(stream: io.BufferedReader, path: Path, limit: int | None) -> Rows:
    """Read the first ``limit`` usable rows of a seekable stream.

    Raises:
        EmbeddingError: the file is malformed, or holds a pickle.
    """
    try:
        _check_sizes(stream)
        with np.load(stream, allow_pickle=False) as archive:
            pickled = any(name.endswith(".pkl") for name in archive)  # PyTorch's
            arrays = {name: archive[name] for name in _EXPECTED if name in archive and not pickled}
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - zip files and headers of anybody's
        if "allow_pickle" in str(error):
            raise refuse(path) from None
        raise EmbeddingError(path, "damaged zip file, or one of other data") from None
    if pickled:
        raise refuse(path)
    for name in ("vectors", "words"):
        if name not in arrays:
            raise EmbeddingError(path, f"no array '{name}'")
    n = len(arrays["vectors"]) if arrays["vectors"].ndim else 0
    columns: dict[str, list[Any]] = {}
    for name, array in arrays.items():
        kinds, dimensions, wanted = _EXPECTED[name]
        if array.dtype.kind not in kinds or array.ndim != dimensions:
            raise EmbeddingError(path, f"{name}.npy: expected {wanted}")
        if len(array) != n:
            raise EmbeddingError(path, f"{len(array)} {name}, but {n} vectors")
        if name == "counts" and not ((array >= 0) & (array < _MOST)).all():
            raise EmbeddingError(path, "counts.npy: expected counts from 0 to below 10^15")
        if name != "vectors":
            try:
                columns[name] = array.tolist()
            except ValueError:
                raise EmbeddingError(path, f"{name}.npy: not valid Unicode") from None
    vectors = arrays["vectors"]
    check_dimensions(path, vectors.shape[1])
    rows = Rows(path, vectors.shape[1], limit)
    rows.add(columns.pop("words"), vectors, **columns)
    return rows
