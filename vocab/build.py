"""Build the bundled vocabulary: words with vectors whose neighbours can stand for them.

Run from anywhere, with gensim, numpy, scipy and regex installed:

    python vocab/build.py                      # the shipped vocabulary, see vocab/README.md
    python vocab/build.py --quick --out /tmp/v # speeches and dialogues only, under three minutes

Six steps, each kept in the work folder and reused when it is there: count tokens, choose words,
write the training text, train, count spellings, shape and write.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]  # recipe.*, and dpsan of this source tree

from classes import classify  # noqa: E402
from recipe.corpus import (  # noqa: E402
    SOURCES,
    Counts,
    Source,
    count_source,
    write_training_text,
)
from recipe.induce import contexts, induced  # noqa: E402
from recipe.package import distinct_half_precision, read_package, write_package  # noqa: E402
from recipe.polarity import polarised, read_signs  # noqa: E402
from recipe.shape import (  # noqa: E402
    Constraints,
    Shaping,
    counter_fit,
    read_constraints,
    shape_vectors,
)
from recipe.spelling import Spellings, count_spellings, usual_spellings  # noqa: E402
from recipe.train import Training, train_vectors  # noqa: E402
from recipe.words import (  # noqa: E402
    choose_words,
    mixed_counts,
    occurrences,
)

from dpsan.embeddings.loading import bundled_digest  # noqa: E402

_DATA = _HERE.parent.parent / "shared" / "data"
_LOG = logging.getLogger("vocab")
_CHOICES = {"model": ("skipgram", "cbow", "fasttext")}


def _add_settings(
    parser: argparse.ArgumentParser, title: str, settings: Any, leave_out: Sequence[str] = ()
) -> None:
    """One option for each field of a settings class, with its default."""
    group = parser.add_argument_group(title)
    for field in dataclasses.fields(settings):
        if field.name in leave_out:
            continue
        name = "--" + field.name.replace("_", "-")
        default = getattr(settings, field.name)
        if isinstance(default, bool):
            group.add_argument(
                name,
                action=argparse.BooleanOptionalAction,
                default=default,
                help=f"(default: {default})",
            )
        else:
            group.add_argument(
                name,
                type=type(default),
                default=default,
                choices=_CHOICES.get(field.name),
                metavar=None if field.name in _CHOICES else "X",
                help=f"(default: {default})",
            )


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="Build the bundled English vocabulary of dpsan from the training corpus.",
        epilog="The settings of a run are recorded in manifest.json. One training thread gives the "
        "same files every time; more are faster and differ a little from run to run. "
        "Settings are explained in recipe/train.py, recipe/shape.py and recipe/counter_fitting.py, "
        "sources in recipe/corpus.py.",
    )
    add = parser.add_argument
    add("--corpus", type=Path, default=_DATA / "corpus", metavar="DIR", help="training text")
    add(
        "--constraints",
        type=Path,
        default=_DATA / "constraints",
        metavar="DIR",
        help="pairs of synonyms and antonyms for counter-fitting",
    )
    add(
        "--out",
        type=Path,
        default=None,
        metavar="DIR",
        help="where to write words.tsv, vectors.npy and manifest.json (default: vocab/en; "
        "must be given with --quick)",
    )
    add(
        "--work",
        type=Path,
        default=None,
        metavar="DIR",
        help="keep the steps here (2 GB) and reuse those found; use a new folder after changing "
        "anything but the shaping (default: a temporary folder)",
    )
    add(
        "--quick",
        action="store_true",
        help="small files only: speeches and part of the dialogues; 4,000 words, four epochs "
        "and min-count 5 unless given; a vocabulary to test with, not to use",
    )
    add(
        "--extend",
        type=Path,
        default=None,
        metavar="DIR",
        help="keep the vectors of this vocabulary, which must not be shaped by polarity, and only "
        "find those of words that it lacks, without training",
    )
    add("--words", type=int, default=None, metavar="N", help="words to choose (default: 32900)")
    add(
        "--least",
        type=int,
        default=None,
        metavar="N",
        help="occurrences a word must have to be chosen (default: 40; numbers and listed words: 8)",
    )
    add(
        "--rated",
        type=float,
        default=2.0,
        metavar="X",
        help="multiplies the counts of the words of vocab/polar: people say more often than "
        "encyclopedias what they think of something (default: 2)",
    )
    add("--processes", type=int, default=2, metavar="N", help="for tokenising (default: 2)")
    add("--verbose", action="store_true", help="show gensim's progress")
    _add_settings(parser, "training", Training())
    _add_settings(parser, "shaping", Shaping(), leave_out=("seed",))
    options = parser.parse_args(arguments)
    if options.quick and options.out is None:
        parser.error("--quick needs --out: it must not replace the shipped vocabulary")
    if not options.corpus.is_dir():
        parser.error(f"no folder {options.corpus}: give --corpus DIR")
    if not options.constraints.is_dir():
        parser.error(f"no folder {options.constraints}: give --constraints DIR")
    return options


def _defaults(options: argparse.Namespace) -> None:
    """Fill in what depends on --quick."""
    options.out = options.out or _HERE / "en"
    options.words = options.words or (4_000 if options.quick else 32_900)
    options.least = options.least or (8 if options.quick else 40)
    if options.quick:
        for name, value in (("epochs", 4), ("min_count", 5)):
            if getattr(options, name) == getattr(Training(), name):
                setattr(options, name, value)


def _settings(kind: Any, options: argparse.Namespace) -> Any:
    return kind(**{field.name: getattr(options, field.name) for field in dataclasses.fields(kind)})


def _save_counts(path: Path, counts: Counts) -> None:
    text = {
        "total_documents": counts.total_documents,
        "tokens": counts.tokens,
        "documents": counts.documents,
    }
    path.write_text(json.dumps(text, ensure_ascii=False), encoding="utf-8")


def _load_counts(path: Path) -> Counts:
    text = json.loads(path.read_text(encoding="utf-8"))
    return Counts(Counter(text["tokens"]), Counter(text["documents"]), text["total_documents"])


def count(options: argparse.Namespace, work: Path, sources: Sequence[Source]) -> dict[str, Counts]:
    """Step 1: tokens of every source and their counts."""
    counts = {}
    for source in sources:
        kept = work / f"{source.name}.counts.json"
        if not kept.exists():
            found = count_source(
                source,
                options.corpus,
                work / f"{source.name}.tokens",
                options.processes,
                source.quick if options.quick else 0,
            )
            _save_counts(kept, found)
        counts[source.name] = _load_counts(kept)
        total = counts[source.name]
        _LOG.info("%s: %d words, %d documents", source.name, total.total(), total.total_documents)
    return counts


def lists() -> list[Path]:
    """The hand-written lists of words that belong in."""
    folders = (_HERE / "kinds", _HERE / "polar")
    return [*(path for folder in folders for path in folder.glob("*.txt")), _HERE / "everyday.txt"]


def training_text(options: argparse.Namespace, work: Path, sources: Sequence[Source]) -> Path:
    """Step 3."""
    text = work / "text"
    if not text.exists():
        rng = np.random.default_rng(options.seed)
        tokens = [work / f"{source.name}.tokens" for source in sources]
        size = write_training_text(tokens, text, rng)
        _LOG.info("training text: %d words", size)
    return text


def train(options: argparse.Namespace, work: Path, text: Path) -> tuple[list[str], np.ndarray]:
    """Step 4: words with vectors."""
    words, vectors = (work / name for name in ("trained.txt", "trained.npy"))
    if not words.exists():
        trained, table = train_vectors(text, _settings(Training, options))
        np.save(vectors, table)
        words.write_text("\n".join(trained), encoding="utf-8")
    return words.read_text(encoding="utf-8").split("\n"), np.load(vectors)


def extend(
    options: argparse.Namespace,
    counts: dict[str, Counts],
    text: Path,
    words: Sequence[str],
    constraints: Constraints,
) -> np.ndarray:
    """In place of training and counter-fitting: vectors of new words beside those of others."""
    old, _, vectors = read_package(options.extend)
    row = {word: at for at, word in enumerate(old)}
    table = np.zeros((len(words), vectors.shape[1]), dtype=np.float32)
    kept = np.array([word in row for word in words])
    table[kept] = vectors[[row[word] for word in words if word in row]]
    ids = {word: at for at, word in enumerate(words)}
    found = occurrences(counts, frozenset(words))
    number = np.array([found[word] for word in words], dtype=np.int64)
    _LOG.info("%d words get a vector", int((~kept).sum()))
    table = induced(contexts(text, ids, number, table, options.seed), number, table)
    return counter_fit(table, constraints, _settings(Shaping, options), free=~kept)


def spell(
    options: argparse.Namespace, work: Path, sources: Sequence[Source], words: Sequence[str]
) -> dict[str, Spellings]:
    """Step 5: how each source writes the words."""
    found = {}
    for source in sources:
        kept = work / f"{source.name}.spellings.json"
        if not kept.exists():
            documents = source.quick if options.quick else 0
            one = count_spellings(source, options.corpus, words, options.processes, documents)
            kept.write_text(json.dumps([one.alone, one.beside], ensure_ascii=False), "utf-8")
        alone, beside = json.loads(kept.read_text(encoding="utf-8"))
        found[source.name] = Spellings(Counter(alone), Counter(beside))
    return found


def build(options: argparse.Namespace, work: Path) -> None:
    """All steps; the last writes the vocabulary to options.out."""
    _defaults(options)
    sources = [source for source in SOURCES if source.quick or not options.quick]
    counts = count(options, work, sources)
    chosen = choose_words(
        counts,
        sources,
        options.words,
        options.least,
        lists(),
        least_must_have=min(8, options.least),
    )
    _LOG.info("%d words chosen", len(chosen))
    text = training_text(options, work, sources)
    frequency = mixed_counts(counts, sources, chosen)
    for word in read_signs(_HERE / "polar").keys() & chosen:
        frequency[word] = round(options.rated * frequency[word])
    words = sorted(chosen, key=lambda w: (-frequency[w], w))
    shaping = _settings(Shaping, options)
    if options.extend:
        constraints = read_constraints(options.constraints, words, _HERE / "kinds")
        vectors = extend(options, counts, text, words, constraints)
    else:
        trained, table = train(options, work, text)
        row = {word: at for at, word in enumerate(trained)}
        words = [word for word in words if word in row]
        constraints = read_constraints(options.constraints, words, _HERE / "kinds")
        vectors = shape_vectors(table[[row[word] for word in words]], constraints, shaping)
    listed = read_signs(_HERE / "polar")
    sign = np.array([listed.get(word, 0) for word in words])
    vectors = polarised(vectors, sign, shaping.polarity)
    about = {
        "settings": {
            "quick": options.quick,
            "words": options.words,
            "least": options.least,
            "rated": options.rated,
            "extends": bundled_digest(folder=options.extend) if options.extend else None,
            "training": dataclasses.asdict(_settings(Training, options)),
            "shaping": dataclasses.asdict(shaping),
            "synonyms": len(constraints.synonyms),
            "antonyms": len(constraints.antonyms),
        },
        "seed": options.seed,
        "sources": [
            {
                "name": source.name,
                "licence": source.licence,
                "weight": source.weight,
                "words": counts[source.name].total(),
            }
            for source in sources
        ],
    }
    spellings = usual_spellings(spell(options, work, sources, words), sources, words)
    half = distinct_half_precision(vectors, np.random.default_rng(options.seed))
    counted = [frequency[word] for word in words]
    write_package(options.out, words, counted, spellings, half, about)
    classify(options.out)
    _LOG.info("%d words written to %s", len(words), options.out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    options = parse(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    _LOG.setLevel(logging.INFO)
    if options.verbose:
        logging.getLogger("gensim").setLevel(logging.INFO)
    start = time.monotonic()
    if options.work is None:
        with TemporaryDirectory(prefix="dpsan-vocab-") as folder:
            build(options, Path(folder))
    else:
        options.work.mkdir(parents=True, exist_ok=True)
        build(options, options.work)
    _LOG.info("done in %.0f s", time.monotonic() - start)
    return 0


if __name__ == "__main__":
    sys.exit(main())
