"""A vocabulary from public text: which words, their vectors, counts and usual spellings.

The steps are those of the bundled vocabulary (vocab/README.md) without what is English in it:
tokens are counted, the words of widest use are chosen, gensim trains skip-gram vectors on the text
in random order, their mean is removed, and spellings are counted where a capital tells something.
"""

import io
import logging
import os
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import regex
from numpy.typing import NDArray

from dpsan.embeddings.files import blocks_of_all
from dpsan.embeddings.words import Progress, Watch, unseen
from dpsan.errors import GensimMissingError, InputError
from dpsan.files.compression import open_public
from dpsan.text.batch import BoundedCache
from dpsan.text.tokens import TOKENIZERS, folded, is_token, lookup_keys

_FEWEST: Final = 100
"""Words of a vocabulary: with fewer, neighbours have no meaning."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Training texts and settings."""

    texts: list[Path]
    """Public text in UTF-8, or gzip of it: its words, and how often they occur, get out."""
    words: int = 32_000
    """Words of the vocabulary, at most."""
    least: int = 10
    """Occurrences of a word, at least."""
    dimensions: int = 100
    epochs: int = 10
    """Passes over the text."""
    seed: int = 20261122
    threads: int = 1
    sample: float = 1e-4
    """Share of the text above which a word is sampled less often."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A vocabulary, most frequent word first, and the figures of its training."""

    words: list[str]
    vectors: NDArray[np.float16]
    """Shape (n, d), all different, unit length before rounding."""
    counts: NDArray[np.int64]
    """Occurrences in the text, shape (n,)."""
    spellings: list[str]
    """Usual spelling of each word."""
    running: int
    """Words of the text."""
    known: float
    """The share of them that the vocabulary knows, whole or in parts."""


def train(recipe: Recipe, folder: Path, watch: Watch = unseen) -> Trained:
    """Make a vocabulary.

    Args:
        folder: for temporary files, up to twice the size of the text without compression.

    Raises:
        InputError: a text cannot be read, or there are too few words.
        GensimMissingError: gensim is not installed.
        OSError: the folder is full.
    """
    try:
        import gensim  # noqa: F401 - heavy; here, before the text is read
    except ImportError:
        raise GensimMissingError("train") from None
    # It tells of itself what nobody can mend, such as another number of words than it expected.
    logging.getLogger("gensim").setLevel(logging.ERROR)
    for path in recipe.texts:
        open_public(path).close()
    text = TokenText(folder / "tokens")
    with watch("counting words") as progress:
        for block in blocks_of_all(recipe.texts, progress):
            text.add(block)
    text.finish()
    frequency = text.tokens
    chosen = most_used(text.blocks, frequency, recipe.words, recipe.least)
    where = recipe.texts[0] if len(recipe.texts) == 1 else "the texts"
    if len(chosen) < _FEWEST:
        few = f"{len(chosen)} words occur {recipe.least} times or more, and {_FEWEST} are needed"
        raise InputError(where, few, "take more text, or a smaller --least")
    rng = np.random.default_rng(recipe.seed)
    text.write_training_text(folder / "text", lambda word: frequency[word] >= recipe.least, rng)
    with watch("training vectors") as progress:
        trained, table = _train_vectors(folder / "text", recipe, progress)
    row = {word: at for at, word in enumerate(trained)}
    words = sorted((w for w in chosen if w in row), key=lambda w: (-frequency[w], w))
    vectors = centred(table[[row[word] for word in words]])
    halves = distinct_half_precision(vectors, np.random.default_rng(recipe.seed))
    reader, spellings = SpellingReader(words), Spellings()
    with watch("counting spellings") as progress:
        for block in blocks_of_all(recipe.texts, progress):
            for line in block:
                reader.read(line, spellings)
    counts = np.array([frequency[word] for word in words], dtype=np.int64)
    usual, known = usual_spellings([(spellings, 1.0)], words), int(counts.sum())
    share = known / max(1, frequency.total())
    return Trained(words, halves, counts, usual, text.running, share)


def _train_vectors(
    text: Path, recipe: Recipe, progress: Progress
) -> tuple[list[str], NDArray[np.float32]]:
    """Skip-gram vectors of a text of one sentence a line, shape (words, dimensions).

    With more than one thread the result differs a little from run to run: threads update shared
    vectors without locks.
    """
    from gensim.models import Word2Vec
    from gensim.models.callbacks import CallbackAny2Vec

    class Epochs(CallbackAny2Vec):  # type: ignore[misc]
        done = 0

        def on_epoch_end(self, model: object) -> None:
            self.done += 1
            progress(self.done / recipe.epochs)

    trained = Word2Vec(
        corpus_file=str(text),
        sg=1,
        window=3,
        negative=8,
        vector_size=recipe.dimensions,
        epochs=recipe.epochs,
        min_count=recipe.least,
        sample=recipe.sample,
        seed=recipe.seed,
        workers=recipe.threads,
        callbacks=[Epochs()],
    ).wv
    return list(trained.index_to_key), np.asarray(trained.vectors, dtype=np.float32)


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows at unit length."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def centred(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows minus their mean, at unit length."""
    out = unit(vectors)
    return unit(out - out.mean(axis=0))


def distinct_half_precision(
    vectors: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float16]:
    """Return rows rounded to float16; rows that coincide are moved apart by the smallest steps.

    Mechanisms on distances need words at positive distance from each other.
    """
    out = vectors.astype("<f2")
    while True:
        _, first = np.unique(out, axis=0, return_index=True)
        again = np.setdiff1d(np.arange(len(out)), first)
        if not len(again):
            break
        noise = rng.normal(0.0, 1e-3, (len(again), vectors.shape[1]))
        out[again] = (vectors[again] + noise).astype("<f2")
    if not np.isfinite(out).all() or not out.any(axis=1).all():
        raise ValueError("a vector is zero or not finite")
    return out


def packed(trained: Trained) -> bytes:
    """Return a vocabulary as the bytes of an ``.npz`` file, which ``load`` reads.

    Vectors (n, d) float16, words, counts and spellings (n,); no pickle, no time of day.
    """
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        vectors=np.ascontiguousarray(trained.vectors, dtype="<f2"),
        words=np.array(trained.words, dtype=np.str_),
        counts=trained.counts.astype("<i8"),
        spellings=np.array(trained.spellings, dtype=np.str_),
    )
    return buffer.getvalue()


def report_on(trained: Trained) -> dict[str, Any]:
    """Describe a vocabulary as JSON: its sizes."""
    return {
        "words": len(trained.words),
        "dimensions": trained.vectors.shape[1],
        "text_words": trained.running,
        "known": trained.known,
        "with_capitals": sum(map(str.__ne__, trained.words, trained.spellings)),
    }


# Find the usual spelling of each word of the vocabulary: Paris, IBM, I, McDonald, iPhone.
# A capital says something of a word only where nothing else asks for one.  Not counted: the first
# word of a line or sentence, what follows a colon, a quotation mark or a bracket, headings, and
# lines in capitals or without any.  A capital beside another (*Grand Central Station*) may be that
# of a name made of common words, so it counts for less than one among small letters.  A word keeps
# its small letters (*may*, *mark*, *us*) unless capitals clearly prevail.

_FEWEST_WORDS: Final = 6
"""Smallest number of words of a line that is not a heading."""
_MOST_CAPITALS: Final = 0.5
"""Share of capitalised words beyond which a line is a heading or a list of names."""
_BESIDE: Final = 0.25
"""Weight of an occurrence beside a capital; an occurrence among small letters counts 1."""
_LEAST: Final = 0.8
"""Share of occurrences with a capital that makes it the usual spelling."""
_CACHED: Final = 1 << 20
"""Tokens, and gaps, whose reading is cached."""
_BEGINS: Final = frozenset(".!?…:;\n\"“”‘`'([{<|*=•–—-/#_")
"""In a gap, what a capital may be due to."""


@dataclass(slots=True)
class Spellings:
    """Counts of each spelling, in positions where capitals carry information."""

    alone: Counter[str] = field(default_factory=Counter)
    """No word beside it has a capital."""
    beside: Counter[str] = field(default_factory=Counter)
    """A word beside it has one."""


class SpellingReader:
    """Finds the spellings of known words in lines."""

    def __init__(self, words: Iterable[str]) -> None:
        self._known = frozenset(words)
        self._split = TOKENIZERS["unicode"]
        self._form = BoundedCache(self._form_of, _CACHED)
        self._plain = BoundedCache(_BEGINS.isdisjoint, _CACHED)

    def read(self, line: str, spellings: Spellings) -> None:
        """Count the spellings of a line."""
        pieces = self._split(line)
        gaps, words = pieces[::2], pieces[1::2]
        capital = [word != word.lower() for word in words]
        if len(words) < _FEWEST_WORDS or not 0 < sum(capital) <= _MOST_CAPITALS * len(words):
            return
        # The capital of a sentence's first word is none of its own.
        plain = [self._plain[gap] for gap in gaps]
        plain[0] = False
        between = [*(has and follows for has, follows in zip(capital, plain, strict=False)), False]
        alone: list[str] = []
        beside: list[str] = []
        for at, word in enumerate(words):
            if plain[at]:
                near = between[at - 1] or between[at + 1]  # own[-1] of the first word is False
                (beside if near else alone).append(self._form[word])
        spellings.alone.update(filter(None, alone))
        spellings.beside.update(filter(None, beside))

    def _form_of(self, token: str) -> str:
        """Return a known word as the token writes it, or an empty string."""
        *others, small = lookup_keys(token)
        if small not in self._known:
            return ""
        return others[-1] if others and others[-1].lower() == small else small


def usual_spellings(texts: Iterable[tuple[Spellings, float]], words: Sequence[str]) -> list[str]:
    """Return the usual spelling of each word, from what was found in texts, each with its
    weight.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    for spellings, weight in texts:
        total = spellings.alone.total() + spellings.beside.total()
        for counts, share in ((spellings.alone, weight), (spellings.beside, _BESIDE * weight)):
            for form, number in counts.items():
                weights[form] += share * number / total
    forms: dict[str, list[str]] = {}
    for form in sorted(weights):
        forms.setdefault(form.lower(), []).append(form)
    return [_usual(word, forms.get(word, ()), weights) for word in words]


def _usual(word: str, forms: Iterable[str], weights: Mapping[str, float]) -> str:
    capitals = [form for form in forms if form != word]
    share = sum(weights[form] for form in capitals)
    enough = share >= _LEAST * (share + weights.get(word, 0.0))
    return max(capitals, key=weights.__getitem__) if capitals and enough else word


# Count the tokens of public text, write them down for training, and choose the words.
#
# Where there are too many different tokens, the rarest are forgotten; the text itself is on disk.

_MOST: Final = 2_000_000
"""Different tokens that are counted at a time; about 300 bytes each."""
# gensim cuts a sentence at 10,000 words; paragraphs are far shorter, this is a fuse.
_LONGEST_LINE: Final = 5_000
_WORD: Final = regex.compile(r"\p{L}[\p{L}\p{M}]{0,29}(?:['·-][\p{L}\p{M}]{1,20}){0,3}")
_NUMBER: Final = regex.compile(r"\d{1,4}|\d{1,2}[.,]\d|\d{1,3}[.,]000")


class TokenText:
    """The tokens of a text in a file, in blocks that can be read in any order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self._ends = array("q", [0])
        self._split = TOKENIZERS["unicode"]
        self._spelling = BoundedCache(folded, _CACHED)
        self._rarest = 0
        self.running = 0
        """Tokens in all."""
        self.tokens: Counter[str] = Counter()
        """Count of each token."""
        self.blocks: Counter[str] = Counter()
        """In how many blocks."""

    def add(self, block: list[str]) -> None:
        """Take in lines that belong together."""
        different: set[str] = set()
        for line in block:
            words = [self._spelling[token] for token in self._split(line)[1::2]]
            if words:
                self.running += len(words)
                self.tokens.update(words)
                different.update(words)
                self._file.write(f"{' '.join(words)}\n".encode())
        self.blocks.update(different)
        self._ends.append(self._file.tell())
        if len(self.tokens) > _MOST:
            while len(self.tokens) > _MOST // 2:
                self._rarest += 1
                self.tokens = Counter({w: c for w, c in self.tokens.items() if c > self._rarest})
            self.blocks = Counter({w: c for w, c in self.blocks.items() if w in self.tokens})

    def finish(self) -> None:
        self._file.close()

    def write_training_text(
        self, out: Path, keep: Callable[[str], bool], rng: np.random.Generator
    ) -> None:
        """Write every block in random order, one line of words a line.

        The order matters: the learning rate falls along the file, so texts must be mixed.
        """
        with out.open("w", encoding="utf-8") as file, self._path.open("rb") as tokens:
            for at in rng.permutation(len(self._ends) - 1):
                begin, end = self._ends[at : at + 2]
                block = os.pread(tokens.fileno(), end - begin, begin).decode()
                for line in block.split("\n"):
                    words = list(filter(keep, line.split()))
                    for start in range(0, len(words), _LONGEST_LINE):
                        file.write(f"{' '.join(words[start : start + _LONGEST_LINE])}\n")


def admissible(word: str) -> bool:
    """Return whether a string can be a word of any language: no address, no long number."""
    return bool(_NUMBER.fullmatch(word) or _WORD.fullmatch(word)) and is_token(word, "unicode")


def handicap(word: str) -> float:
    """Return by how much a word must be more used than a plain word to be preferred to it.

    317 says little that 300 does not.
    """
    plain = len(word) < 3 or word.endswith("00") or not word.isdigit()
    return 1.0 if plain or 1700 <= int(word) <= 2030 else 2.0


def most_used(
    width: Mapping[str, float], total: Counter[str], size: int, least: int
) -> frozenset[str]:
    """Return the ``size`` most widely used admissible words.

    Args:
        width: how widely each token is used.
        total: occurrences of each token.
        least: occurrences of a word.
    """
    fit = (word for word in width if total[word] >= least and admissible(word))
    ranked = sorted(fit, key=lambda word: (-width[word] / handicap(word), word))
    return frozenset(ranked[:size])
