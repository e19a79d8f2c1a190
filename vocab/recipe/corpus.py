"""The training text: where it is, how it is read, tokenised and put in order.

Knows the corpus files and the project's tokenizer.  Must not know which words are chosen or how
vectors are trained.

A *document* is what stands between blank lines (an article, a dialogue, a speech, a book); its
lines are paragraphs or utterances.  Tokens are stored as the tool looks them up: the last spelling
of `lookup_keys`, so that what is trained is what will be found.
"""

from __future__ import annotations

import csv
import lzma
import multiprocessing
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np

from dpsan.text.batch import BoundedCache
from dpsan.text.tokens import TOKENIZERS, folded

__all__ = [
    "SOURCES",
    "Counts",
    "Source",
    "batches_of",
    "count_source",
    "write_training_text",
]

_BATCH_CHARACTERS: Final = 400_000
# gensim cuts a sentence at 10,000 words; paragraphs are far shorter, this is a fuse.
_LONGEST_LINE: Final = 5_000
# Books are documents of 100,000 words: they are shuffled in pieces of this many lines.
_SHUFFLED_LINES: Final = 200


@dataclass(frozen=True, slots=True)
class Source:
    """One corpus: its file below the corpus folder, its licence and its weight in the counts."""

    name: str
    path: str
    licence: str
    weight: float
    """Share of this source in the mixed word frequencies (scaled to sum to 1 over those used)."""
    quick: int = 0
    """Documents read by a --quick build; 0 leaves the source out."""


# The weights make everyday and spoken words count: by running words alone, five sixths of the
# vocabulary order would be the encyclopedia's.
SOURCES: Final = (
    Source("enwiki2015", "enwiki2015.txt.xz", "CC BY-SA 3.0", 0.48),
    Source("enwiki2021", "enwiki2021_tail.txt.xz", "CC BY-SA 3.0", 0.33),
    Source("gutenberg", "gutenberg.part.txt.xz", "public domain (US)", 0.05),
    Source("sgd", "sgd_dialogues.txt.xz", "CC BY-SA 4.0", 0.08, quick=9_000),
    Source("state_union", "nltk_state_union.txt.xz", "public domain", 0.02, quick=10**9),
    Source("inaugural", "nltk_inaugural.txt.xz", "public domain", 0.01, quick=10**9),
    Source("taskmaster4", "taskmaster4.txt.xz", "CC BY 4.0", 0.01, quick=10**9),
    Source("multidogo", "../eval/multidogo", "CDLA-Permissive 1.0", 0.01),
)


@dataclass(slots=True)
class Counts:
    """How often tokens occur in a source, and in how many of its documents."""

    tokens: Counter[str] = field(default_factory=Counter)
    documents: Counter[str] = field(default_factory=Counter)
    total_documents: int = 0

    def total(self) -> int:
        """Running words."""
        return sum(self.tokens.values())


def _lines(path: Path) -> Iterator[str]:
    """Lines of a corpus file without line ends; a folder is read as MultiDoGO tables."""
    if path.is_dir():
        for table in sorted(path.glob("*.tsv")):
            talk = ""
            with table.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                    if row["conversationId"] != talk:
                        talk = row["conversationId"]
                        yield ""
                    yield (row["utterance"] or "").strip()
        return
    with lzma.open(path, "rt", encoding="utf-8", errors="replace") as file:
        for line in file:
            yield line.strip()


def batches_of(source: Source, corpus: Path, documents: int = 0) -> Iterator[list[list[str]]]:
    """Documents as lists of lines, in batches for one task; 0 of them stands for all."""
    lines = _lines(corpus / source.path)
    batch: list[list[str]] = []
    document: list[str] = []
    size = seen = 0
    for line in chain(lines, [""]):
        if line:
            document.append(line)
            size += len(line)
        elif document:
            batch.append(document)
            document = []
            seen += 1
            if size > _BATCH_CHARACTERS:
                yield batch
                batch, size = [], 0
            if documents and seen == documents:
                break
    if batch:
        yield batch


_lookup_spelling = BoundedCache(folded, 1 << 20)  # one per worker process


def _tokenise(batch: list[list[str]]) -> tuple[str, Counts]:
    split = TOKENIZERS["unicode"]
    counts = Counts(total_documents=len(batch))
    text: list[str] = []
    for document in batch:
        seen: set[str] = set()
        for line in document:
            words = [_lookup_spelling[token] for token in split(line)[1::2]]
            if words:
                counts.tokens.update(words)
                seen.update(words)
                text.append(" ".join(words))
        counts.documents.update(seen)
        text.append("")
    return "\n".join(text) + "\n", counts


def count_source(
    source: Source, corpus: Path, tokens: Path, processes: int, documents: int = 0
) -> Counts:
    """Pass 1: write a source's tokens (line by line, blank between documents) and count them."""
    counts = Counts()
    batches = batches_of(source, corpus, documents)
    with tokens.open("w", encoding="utf-8") as out, multiprocessing.Pool(processes) as pool:
        for text, part in pool.imap(_tokenise, batches, chunksize=1):
            out.write(text)
            counts.tokens.update(part.tokens)
            counts.documents.update(part.documents)
            counts.total_documents += part.total_documents
    return counts


def _short_lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        words = line.split()
        for start in range(0, len(words), _LONGEST_LINE):
            yield " ".join(words[start : start + _LONGEST_LINE])


def write_training_text(tokens: Iterable[Path], out: Path, rng: np.random.Generator) -> int:
    """Pass 2: write every document in random order.

    The order matters: the learning rate falls along the file and each training thread reads its
    own stretch of it, so sources must be mixed.  Returns the number of running words.
    """
    documents: list[str] = []
    for path in tokens:
        for document in path.read_text(encoding="utf-8").split("\n\n"):
            lines = document.split("\n")
            documents += (
                "\n".join(lines[at : at + _SHUFFLED_LINES])
                for at in range(0, len(lines), _SHUFFLED_LINES)
            )
    words = 0
    with out.open("w", encoding="utf-8") as file:
        for at in rng.permutation(len(documents)):
            for line in _short_lines(documents[at]):
                words += line.count(" ") + 1
                file.write(line + "\n")
    return words
