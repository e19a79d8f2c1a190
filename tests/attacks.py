"""The tables of docs/attacks.md: ``python tests/attacks.py [PART ...]`` writes them anew.

Without a name all parts (``PARTS``); all but ``safe`` need the developers' data.
"""

import csv
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent / "docs" / "studies"))

import page_parts
from linkage import linkage as link
from linkage import read_candidates
from page_parts import table

from dpsan.analysis.evaluate.accuracy import Labelled, judge
from dpsan.analysis.evaluate.attack import attacks
from dpsan.analysis.evaluate.pairs import Inputs, read_pairs
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.embeddings.loading import bundled_language_model
from dpsan.embeddings.store import Store
from dpsan.formats.base import ReadOptions
from dpsan.outcomes.distributions import Emissions
from dpsan.outcomes.ngrams import Ngrams
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
    return read_pairs(first, safe, INPUTS, words), sanitizer.mechanism


@cache
def linked(name: str, mechanism: str, epsilon: int) -> Any:
    """What docs/studies/linkage.py says of 6, 12 and all words, by reader and words."""
    pairs, built = sanitized(name, mechanism, epsilon, MOST)
    space, words = vocabulary()
    held = read_candidates(original(name, MOST), INPUTS, words, pairs)
    found = link(held, words, Emissions(built, space), (6, 12))
    return {(each.reader, each.words): each for each in found.readers}


def linkage() -> str:
    """Text, epsilon × readers, the default mechanism and knn-response."""
    sizes = {"6 words": 6, "12 words": 12, "whole": None}
    columns = {title: ("exact, in order", size) for title, size in sizes.items()}
    columns |= {"whole, TF-IDF": ("TF-IDF", None)}
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
    model = Ngrams.from_bytes(bundled_language_model() or b"")
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
    most = (f"{int(1000 * epsilon) / 1000:g}" for epsilon in proved.values())
    first = table(("words of the text", *proved), ("epsilon per word at most", *most))
    cells = ("over 1,000" if half is None else str(half) for half in halves.values())
    epsilons = ("epsilon per word", *(f"{each:g}" for each in halves))
    second = table(epsilons, ("words until half are linked", *cells))
    return f"{first}\n{second}"


def _written(texts: list[str], *options: str) -> list[str]:
    """What ``rewrite`` makes of texts; ``redact``: with one sign for all that ``--only`` draws."""
    first, safe, audit = (Path(FOLDER.name) / f"{name}.jsonl" for name in ("some", "new", "audit"))
    first.write_text("".join(json.dumps({"t": text}) + "\n" for text in texts))
    redact = options == ("redact",)
    given = ("--only", "sensitive") if redact else options
    run = ("rewrite", "-q", "--force", "--seed", "attacks", "-k", "t", *given, first, "-o", safe)
    page_parts.run("-m", "dpsan", *run, *(("-a", audit) if redact else ()))
    made = [json.loads(line)["t"] for line in safe.read_text().splitlines()]
    if redact:
        rows = [json.loads(line) for line in audit.read_text().splitlines()]
        drawn = (row for row in rows if row.get("action") == "drawn")
        for row in sorted(drawn, key=lambda row: -row["start"]):
            text = made[row["line"] - 1]
            made[row["line"] - 1] = text[: row["start"]] + "_" + text[row["end"] :]
    return made


ONLY, DRAWN = "`--only sensitive`", f"`{MECHANISMS[0]}`, epsilon 8"
WAYS: dict[str, tuple[str, ...]] = {
    "as they are": (),
    ONLY: ("--only", "sensitive"),
    "the same words redacted": ("redact",),
    **{f"`{name}`, epsilon 8": ("-e", "8", "-m", name) for name in (*MECHANISMS, "krr")},
    **{
        f"`{name}` at 8, no finite epsilon": ("-e", "8", "-m", name, "--allow-unproved")
        for name in ("custext", "santext-plus")
    },
}


def _labelled(name: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Training and test texts with their labels."""
    if name == "AG News":
        lines = (DATA / "eval/ag_news/alps_dev.tsv").read_text().splitlines()[:3000]
        rows = [(text, label) for text, label, *_ in (line.split("\t") for line in lines)]
        return rows[600:], rows[:600]
    files = (("sst2/train.tsv", "sentence"), ("sst2/dev.tsv", "content"))
    train, test = ([*zip(_rows(path, of), _rows(path, "label"), strict=True)] for path, of in files)
    return train[:4000], test


def utility() -> str:
    """Ways to sanitize × accuracy after training on sanitized texts, on clean and sanitized."""
    found: dict[str, list[str]] = {way: [] for way in WAYS}
    for name in ("AG News", "SST-2"):
        train, test = _labelled(name)
        clean, labels = zip(*train, *test, strict=True)
        for way, options in WAYS.items():
            made = _written(clean, *options) if options else clean
            count = len(train)
            sides = (slice(0, count), slice(count, None))
            one, other = (Labelled(clean[of], made[of], labels[of]) for of in sides)
            pairs = judge(one, other).pairs
            shares = (pairs["sanitized", each].value or 0.0 for each in ("clean", "sanitized"))
            found[way] += [f"{share:.3f}" for share in shares]
    heads = [f"{name}, {on}" for name in ("AG News", "SST-2") for on in ("clean", "sanitized")]
    return table(("trained on", *heads), *((way, *cells) for way, cells in found.items()))


PHRASES = (1, 2, 3, 5)


def _phrases(text: str, n: int) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {*zip(*(words[at:] for at in range(n)), strict=False)}


def phrases() -> str:
    """Text × shares of outputs with a phrase that stands in their original and in no other one."""
    rows = []
    for name in TEXTS:
        texts = [json.loads(line)["t"] for line in original(name, MOST).read_text().splitlines()]
        cells = []
        ways = [_written(texts, *WAYS[way]) for way in (ONLY, DRAWN)]
        for n in PHRASES:
            there = Counter(phrase for text in texts for phrase in _phrases(text, n))
            pair = []
            for made in ways:
                pairs = zip(texts, made, strict=True)
                both = [_phrases(text, n) & _phrases(output, n) for text, output in pairs]
                links = [sum(there[phrase] == 1 for phrase in phrases) for phrases in both]
                pair.append(f"{np.mean([count > 0 for count in links]):.2f} ({np.mean(links):.1f})")
            cells.append(" / ".join(pair))
        rows.append((f"{NAMES[name]}, {len(texts):,}", *cells))
    return table(("text, originals", *(f"{n} word{'s' * (n > 1)}" for n in PHRASES)), *rows)


def _subjects(text: str, spans: list[Any]) -> Iterator[dict[str, Any]]:
    """Spans of persons without titles; two that share a word are about one person."""
    persons: list[tuple[set[str], list[dict[str, Any]]]] = []
    for first, end, kind in spans:
        if kind != "PERSON":
            continue
        title = re.match(r"(?:(?:mrs?|ms|dr)\b\.?\s*)?", text[first:end].lower())
        start = first + len(title[0] if title else "")
        names = {*re.findall(r"\w{2,}", text[start:end].lower())}
        span = {"start": start, "end": end, "type": kind}
        same = [each for each in persons if each[0] & names]
        persons = [each for each in persons if not each[0] & names]
        merged = [old for _, some in same for old in some]
        persons.append((names.union(*(each[0] for each in same)), [*merged, span]))
    for number, (_, some) in enumerate(persons):
        yield from ({**span, "subject": str(number)} for span in some)


def persons() -> str:
    """Ways to sanitize × names hidden, persons of whom no name can be read."""
    given = (ROOT.parent / "shared" / "texts" / "given.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in given]
    spans = Path(FOLDER.name) / "spans.jsonl"
    found = [[*_subjects(each["text"], each["spans"])] for each in records]
    spans.write_text("".join(json.dumps({"spans": each}) + "\n" for each in found))
    rows = []
    for way in (ONLY, DRAWN):
        _written([each["text"] for each in records], *WAYS[way])
        files = (Path(FOLDER.name) / f"{name}.jsonl" for name in ("some", "new"))
        known = () if "--only" in WAYS[way] else WAYS[way]
        command = ("evaluate", "--json", "-q", "--spans", spans, "-k", "t", *known, *files)
        shown = json.loads(page_parts.run("-m", "dpsan", *command))["spans"]
        best = shown["best_attack"]
        names, hidden = shown["by_attack"][best]["all"]["none"], shown["persons"][best]
        shares = (f"{each['share']:.3f} of {each['of']}" for each in (names, hidden))
        rows.append((way, best, *shares))
    return table(("written by", "best attack", "names hidden", "persons fully hidden"), *rows)


MADE = (linkage, layout, words, classes, safe, utility, phrases, persons)
PARTS = {each.__name__: each for each in MADE}


if __name__ == "__main__":
    page_parts.write(PAGE, PARTS, sys.argv[1:])
