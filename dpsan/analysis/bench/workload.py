"""What is sanitized and searched in a benchmark: text with Zipf's frequencies, random vectors.

Knows words and public random numbers.  Must not know mechanisms.
"""

from __future__ import annotations

from itertools import cycle, islice
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.frequencies import word_frequencies
from dpsan.errors import InputError, file_reason
from dpsan.privacy import randomness
from dpsan.text.tokens import TOKENIZERS

_LINE: Final = 20
"""Words of a line."""
_ROWS: Final = 1 << 14


def _normal(key: str, rows: int, d: int) -> NDArray[np.float32]:
    """Standard normal numbers, shape (rows, d)."""
    out = np.empty((rows, d), dtype=np.float32)
    for at in range(0, rows, _ROWS):
        part = range(at, min(at + _ROWS, rows))
        streams = randomness.streams_for(randomness.seeded_key(key), part, [1] * len(part))
        out[at : at + len(part)] = streams.normal("vectors", d)
    return out


def synthetic_file(folder: Path, n: int, d: int, names: Path | None) -> Path:
    """An embedding file of random vectors in ``folder``.

    Args:
        folder: a directory.
        n: words.
        d: dimensions.
        names: a file whose first n lines are the words; default numbered words.

    Raises:
        InputError: ``names`` cannot be read or has fewer lines.
    """
    words = [f"w{number}" for number in range(n)] if names is None else _lines(names, n)
    path = folder / "synthetic.npz"
    np.savez(path, vectors=_normal("dpsan bench vectors", n, d), words=np.array(words))
    return path


def _lines(path: Path, count: int) -> list[str]:
    import gzip

    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
            lines = [line.strip() for line in islice(file, count)]
    except (OSError, EOFError) as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise InputError(path, reason) from None
    except UnicodeDecodeError:
        raise InputError(path, "not UTF-8") from None
    words = list(dict.fromkeys(filter(None, lines)))
    if len(words) < count:
        raise InputError(path, f"{len(words)} words, {count} needed")
    return words


def zipf_text(path: Path, words: list[str], count: int) -> None:
    """Write lines of 20 words whose frequencies follow Zipf's law by row number, with punctuation.

    Args:
        path: to be written.
        words: the vocabulary, most frequent first.
        count: words of the text.
    """
    weights = np.cumsum(word_frequencies(len(words), None))
    with path.open("w", encoding="utf-8") as out:
        for at in range(0, count, 1 << 18):
            size = min(1 << 18, count - at)
            streams = randomness.streams_for(
                randomness.seeded_key("dpsan bench text"), [at], [size]
            )
            uniform = streams.uniform("words")[:, 0]
            rows = np.searchsorted(weights, uniform * weights[-1])
            drawn = [words[row] for row in np.minimum(rows, len(words) - 1).tolist()]
            out.writelines(
                " ".join(drawn[line : line + _LINE // 2])
                + ", "
                + " ".join(drawn[line + _LINE // 2 : line + _LINE])
                + ".\n"
                for line in range(0, size, _LINE)
            )


def repeated_text(path: Path, source: Path, count: int) -> None:
    """Write the lines of a text file again and again, until they have ``count`` words.

    Raises:
        InputError: the file cannot be read or has no words.
    """
    try:
        lines = source.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    except OSError as error:
        raise InputError(source, file_reason(error)) from None
    split = TOKENIZERS["unicode"].split
    sizes = [len(split(line)) // 2 for line in lines]
    if not sum(sizes):
        raise InputError(source, "has no words")
    left = count
    with path.open("w", encoding="utf-8") as out:
        for line, size in cycle(zip(lines, sizes, strict=True)):
            if left <= 0:
                return
            out.write(line if line.endswith("\n") else line + "\n")
            left -= size


def random_points(vectors: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Points like noisy words: normal with the mean square of the vectors, shape (count, d)."""
    scale = float(np.sqrt(np.mean(np.square(vectors[:_ROWS], dtype=np.float64))))
    return _normal("dpsan bench points", count, vectors.shape[1]) * np.float32(scale)
