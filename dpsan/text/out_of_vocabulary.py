"""Words that the mechanism does not see as themselves: unknown ones and a user's keep-list."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dpsan.errors import InputError, check_name, file_reason
from dpsan.text.tokens import TOKENIZERS, is_token

MASK: Final = "<unk>"
SEVERAL: Final = "not one token, so that it could never be found"
SEVERAL_HINT: Final = "list its parts; spaces, hyphens, punctuation and 's end a token"


LONGEST: Final = 64 << 20
"""Bytes of a list: some millions of words."""
_FILE_OF_WORDS: Final = "a FILE of words, one a line"


def read_word_list(path: Path, tokenizer: str | None = None) -> list[str]:
    """Read a list of words: one a line, without blank lines and lines that start with #.

    Args:
        tokenizer: every word must be one token of this tokenizer; default: any string.

    Raises:
        InputError: missing, not UTF-8, or a word of several tokens.
    """
    if tokenizer is not None:
        check_name("tokenizer", tokenizer, TOKENIZERS)
    words = []
    for number, line in enumerate(read_utf8(path).split("\n"), 1):
        if (word := line.strip()) and not word.startswith("#"):
            if tokenizer is not None and not is_token(word, tokenizer):
                raise InputError(path, SEVERAL, SEVERAL_HINT, line=number)
            words.append(word)
    return words


def read_utf8(path: Path, encoding: str = "utf-8") -> str:
    """Return the text of a file.

    Raises:
        InputError: missing, too long, or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST + 1)
        if len(data) > LONGEST:
            raise InputError(path, f"longer than {LONGEST} bytes", "is it a list of words?")
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise InputError(path, file_reason(error), _FILE_OF_WORDS) from None
    except UnicodeDecodeError:
        raise InputError(path, "not UTF-8", _FILE_OF_WORDS) from None
