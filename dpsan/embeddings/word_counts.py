"""Public counts of words from a file: how often each is written, for mechanisms that weigh inputs.

Knows the file's grammar (word TAB count, one a line, blank lines left out; UTF-8) and row numbers.
Must not know mechanisms.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dpsan.errors import InputError
from dpsan.errors import reason as os_reason
from dpsan.text.tokens import lookup_keys

__all__ = ["load_counts"]


def load_counts(path: Path | str, key_to_index: Mapping[str, int]) -> tuple[int, ...]:
    """Counts of all words of a vocabulary of n words, n values; 0 for words that are not listed.

    Listed words that the vocabulary lacks are left out; spellings of one word add up.

    Raises:
        InputError: missing, not UTF-8, or a line that is not "word TAB count"; names file and line
            only.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else os_reason(error)
        raise InputError(path, str(why)) from None
    except UnicodeDecodeError:
        raise InputError(path, "not UTF-8") from None
    out = [0] * len(key_to_index)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        word, tab, value = line.rstrip("\r").rpartition("\t")
        digits = value.strip()
        if not tab or not word.strip() or not (digits.isascii() and digits.isdigit()):
            raise InputError(path, "needs a word, a tab and a count", line=number)
        if len(digits) > 15:
            raise InputError(path, "the count must be below 10^15", line=number)
        for key in lookup_keys(word.strip()):
            if key in key_to_index:
                out[key_to_index[key]] += int(digits)
                break
    return tuple(out)
