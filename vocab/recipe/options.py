"""Options that the scripts of a corpus share."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["parser_of"]

_VOCAB = Path(__file__).resolve().parent.parent


def parser_of(description: str) -> argparse.ArgumentParser:
    """Return a parser of --corpus, --folder and --processes.

    Args:
        description: of the script; its first line is shown.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    corpus = _VOCAB.parent.parent / "shared" / "data" / "corpus"
    parser.add_argument("--corpus", type=Path, default=corpus, metavar="DIR", help="text")
    parser.add_argument("--folder", type=Path, default=_VOCAB / "en", help="of the vocabulary")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="(default: 2)")
    return parser
