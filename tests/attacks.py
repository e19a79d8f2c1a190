"""The tables of docs/attacks.md: ``python tests/attacks.py [PART ...]`` writes them anew.

Without a name all parts (``PARTS``); all but ``safe`` need the developers' data.
"""

import csv
import json
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import page_parts
from page_parts import table

from dpsan.analysis.evaluate.attack import attacks
from dpsan.analysis.evaluate.linkage import linkage as link
from dpsan.analysis.evaluate.linkage import read_candidates
from dpsan.analysis.evaluate.pairs import Inputs, read_pairs
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.embeddings.bundled import bundled_digest, bundled_language_model
from dpsan.embeddings.cache.store import Store
from dpsan.formats.base import ReadOptions
from dpsan.outcomes.emissions import Emissions
from dpsan.outcomes.language.ngrams import Ngrams
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.cached_index import open_space

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "attacks.md"
DATA = ROOT.parent / "shared" / "data"
FOLDER = tempfile.TemporaryDirectory()
MECHANISMS = ("optimal-response", "knn-response")
EPSILONS = (4, 6, 8, 10)
MOST = 600
"""Records of each text, and candidates."""
READ = 150
"""Records of each text whose words are read one by one."""


def _rows(path: str, column: str, quoting: int = csv.QUOTE_MINIMAL) -> Iterator[str]:
    with (DATA / "eval" / path).open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=quoting):
            yield row[column]


def _texts(name: str) -> Iterator[str]:
    folder = DATA / "eval"
    if name == "presidio":
        made = json.loads((folder / "pii/presidio_synth_dataset_v2.json").read_text())
        return (each["full_text"] for each in made)
    if name == "AG News":
        lines = (folder / "ag_news/alps_dev.tsv").read_text().splitlines()
        return (line.split("\t")[0] for line in lines)
    if name == "SST-2":
        return _rows("sst2/dev.tsv", "content")
    if name == "MultiDoGO":
        texts = _rows("multidogo/finance_dev.tsv", "utterance", csv.QUOTE_NONE)
    else:
        documents = json.loads((folder / "tab/tab_dev_2docs.json").read_text())
        texts = (part for each in documents for part in each["text"].split("\n"))
    return (text for text in texts if len(text.split()) >= 6)


NAMES = {
    "AG News": "AG News, news items",
    "SST-2": "SST-2, film reviews",
    "presidio": "presidio, made-up sentences",
    "MultiDoGO": "MultiDoGO, chat messages",
    "TAB": "TAB, paragraphs of two judgments",
}
TEXTS = (*NAMES,)


@cache
def original(name: str, most: int) -> Path:
    """The first different records of a text, as JSON lines."""
    path = Path(FOLDER.name) / f"{TEXTS.index(name)}-{most}.jsonl"
    some = list(dict.fromkeys(_texts(name)))[:most]
    path.write_text("".join(json.dumps({"t": text}) + "\n" for text in some))
    return path


@cache
def vocabulary() -> Any:
    """The bundled vocabulary, once for all."""
    embeddings, space = open_space(None, None, Store())
    return space, Vocabulary(embeddings, "unicode")


INPUTS = Inputs(options=ReadOptions(fields=("t",)))


def sanitized(name: str, mechanism: str, epsilon: int, most: int) -> Any:
    """A text and its sanitized version, aligned, and the mechanism."""

    first, safe = original(name, most), Path(FOLDER.name) / "safe.jsonl"
    sanitizer = Sanitizer(mechanism, epsilon=float(epsilon), seed="attacks")
    texts = [json.loads(line)["t"] for line in first.read_text().splitlines()]
    safe.write_text("".join(json.dumps({"t": text}) + "\n" for text in sanitizer.rewrite(texts)))
    _, words = vocabulary()
    return read_pairs(first, [safe], INPUTS, words), sanitizer.mechanism


@cache
def linked(name: str, mechanism: str, epsilon: int) -> Any:
    """What ``evaluate --candidates --words 6,12`` says, by reader and words."""
    pairs, built = sanitized(name, mechanism, epsilon, MOST)
    space, words = vocabulary()
    held = read_candidates(original(name, MOST), INPUTS, words, pairs)
    found = link(held, words, Emissions(built, space), (6, 12))
    return {(each.reader, each.words): each for each in found.readers}


def linkage() -> str:
    """Text, epsilon × readers, the default mechanism and knn-response."""
    columns = {
        "6 words": ("exact, in order", 6),
        "6, order unknown": ("exact, any order", 6),
        "12 words": ("exact, in order", 12),
        "whole": ("exact, in order", None),
        "whole, TF-IDF": ("TF-IDF", None),
    }
    rows = []
    for name, epsilon in product(TEXTS, EPSILONS):
        both = [linked(name, each, epsilon) for each in MECHANISMS]
        count = both[0]["exact, in order", None].candidates
        title = f"{NAMES[name]}, {count:,}" if epsilon == EPSILONS[0] else ""
        found = ([each[key].first.value for each in both] for key in columns.values())
        cells = [" / ".join(f"{value:.2f}" for value in values) for values in found]
        rows.append((title, str(epsilon), *cells))
    return table(("text, candidates", "epsilon", *columns), *rows)


def layout() -> str:
    """What needs no word at all."""
    rows = []
    for name in TEXTS:
        found = linked(name, MECHANISMS[0], EPSILONS[0])
        shares = [found[each, None].first.value for each in ("number of words", "layout")]
        rows.append((NAMES[name], *(f"{share:.2f}" for share in shares)))
    return table(("text", "number of words alone", "and punctuation, white space"), *rows)


@cache
def _read(name: str, epsilon: int) -> Any:
    """The shares of ``evaluate``, by attack and class of words."""
    pairs, built = sanitized(name, MECHANISMS[0], epsilon, READ)
    space, words = vocabulary()
    model = Ngrams.from_bytes(bundled_language_model() or b"", bundled_digest())[0]
    found, _ = attacks(pairs, words, space, built, model)
    shares = {each.attack: each.success.items() for each in found}
    return {name: {str(kind): share for kind, share in items} for name, items in shares.items()}


MODELLED = ("context, with this model", "all other words known, with this model")
"""Heads of what depends on the model of the language: a stronger one reads more."""


def words() -> str:
    """Text, epsilon × what readers guess."""
    rows = []
    for name, epsilon in product(TEXTS, EPSILONS):
        found = _read(name, epsilon)
        total = found["verbatim"]["all"].total
        title = f"{NAMES[name]}, {total:,} words" if epsilon == EPSILONS[0] else ""
        keys = ("verbatim", "one-word", "context", "informed")
        cells = [f"{found[each]['all'].value:.2f}" for each in keys]
        rows.append((title, str(epsilon), *cells))
    return table(("text", "epsilon", "unchanged", "single words", *MODELLED), *rows)


def classes() -> str:
    """Kinds of words × readers, ranges over the texts, at epsilon 8."""
    found = [_read(name, 8) for name in TEXTS]
    rows = []
    for kind in ("stop word", "capitalised", "capitalised inside", "number", "rare", "unknown"):
        cells = []
        for attack in ("one-word", "context", "informed"):
            shares = [each[attack][kind] for each in found]
            every = [each.value for each in shares if each.total >= 50]
            cells.append(f"{min(every):.2f}–{max(every):.2f}")
        rows.append((kind, *cells))
    return table(("words", "single words", *MODELLED), *rows)


def safe() -> str:
    """Words of a text × epsilon up to which nobody links more than half of such texts."""
    ways = ("-e 1 --words 1", f"-m {MECHANISMS[0]} -e 0.25,0.5,1,2,4 --words 1000")
    command = ("own.py", "linkage", "-q", "--json")
    some, found = (json.loads(page_parts.study(*command, *each.split())) for each in ways)
    proved = some["epsilon_not_linked"]
    halves = {row["epsilon"]: row["half_linked"] for row in found["rows"]}
    first = table(
        ("words of the text", *proved),
        ("epsilon per word at most", *(f"{int(1000 * most) / 1000:g}" for most in proved.values())),
    )
    cells = ("over 1,000" if half is None else str(half) for half in halves.values())
    second = table(
        ("epsilon per word", *(f"{each:g}" for each in halves)),
        ("words until half are linked", *cells),
    )
    return f"{first}\n{second}"


PARTS = {each.__name__: each for each in (linkage, layout, words, classes, safe)}


if __name__ == "__main__":
    page_parts.write(PAGE, PARTS, sys.argv[1:])
