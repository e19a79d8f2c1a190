"""Learn where a word that is usually small has a capital, and write vocab/en/capitals.tsv.

    python vocab/capitals.py     # two minutes

*university* is small, and has a capital after a capital: *Oxford University*.  Counted are words of
the vocabulary between two others of a line, with single spaces; the capital of the first word of a
sentence says nothing, and neither do those of abbreviations and of *I*.  A line of the file is a
word, the spelling that it has there, and letters for the places:

    a  after a capital (Oxford University)       b  before one (President Lee)
    m  between two (World War II)                t  after *the*, all in capitals (the US, the WHO)
    o  after *the*, before a word with *a* (the Royal Navy)
    s  a title: where it begins a sentence, its capital is that of a name (Judge Hope)

Function words have no place but *t*.
"""

from __future__ import annotations

import argparse
import lzma
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]  # recipe.*, and dpsan of this source tree

from recipe.package import record_file  # noqa: E402

_FILES = {"enwiki2015.txt.xz": 750_000, "enwiki2021_tail.txt.xz": 250_000}
"""Lines that are read of each file."""
_TOKEN = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_FEWEST = 10
_LEAST = {"a": 0.7, "b": 0.8, "m": 0.7, "t": 0.8, "o": 0.78}
"""Share of the occurrences of a place that have a capital."""
_TITLES = """
admiral archbishop aunt bishop brother captain chancellor colonel commander congressman constable
corporal count countess deputy detective dr duchess duke emperor empress father general governor
inspector judge justice king lady lieutenant lord major marshal mayor minister miss mother mr mrs ms
nurse officer pastor pope premier president prince princess professor queen rabbi saint secretary
senator sergeant sheriff sir sister sultan uncle
"""
_NO_NAMES = "am an can get if led may must ran sat will"
"""Words that are left out: they are hardly ever names, and stand everywhere."""

Counts = defaultdict[str, defaultdict[str, Counter[str]]]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, default=_HERE.parent / "../shared/data/corpus")
    parser.add_argument("--folder", type=Path, default=_HERE / "en")
    options = parser.parse_args()
    rows = (line.split("\t") for line in (options.folder / "words.tsv").read_text().splitlines())
    small = {row[0] for row in rows if len(row) < 3 or not row[2]}
    counts: Counts = defaultdict(lambda: defaultdict(Counter))
    for name, most in _FILES.items():
        with lzma.open(options.corpus / name, "rt", encoding="utf-8") as lines:
            for line in islice(lines, most):
                for place, word in _places(line):
                    if word.lower() in small and len(word) > 1:
                        counts[place][word.lower()][word] += 1
    text = "".join(f"{line}\n" for line in _table(counts, small))
    (options.folder / "capitals.tsv").write_text(text)
    record_file(options.folder, "capitals.tsv")
    print(f"{text.count(chr(10)):,} words")


def _places(line: str) -> Iterator[tuple[str, str]]:
    """Yield place and word of each word of a line that stands in one of the places."""
    found = [*_TOKEN.finditer(line)]
    words = [each[0] for each in found]
    capital = [word[0].isupper() for word in words]
    if len(words) < 6 or not 0 < sum(capital) <= len(words) / 2:
        return
    ends = pairwise(found)
    spaced = [False, *(line[one.end() : two.start()] == " " for one, two in ends), False]
    own = [
        has and space and not word.isupper()
        for has, space, word in zip(capital, spaced, words, strict=False)
    ]
    for at in range(1, len(words)):
        if spaced[at]:
            before = spaced[at + 1] and own[at + 1]
            place = ("m" if before else "a") if own[at - 1] else "b" if before else ""
            place = "t" if words[at - 1].lower() == "the" else place
            if place:
                yield place, words[at]


def _table(counts: Counts, small: set[str]) -> Iterator[str]:
    text = (_HERE / "public" / "function.txt").read_text()
    function = {line for line in text.splitlines() if not line.startswith("#")}
    function.add("us")
    for word in sorted(small - {*_NO_NAMES.split()}):
        forms: Counter[str] = Counter()
        letters = ""
        for place in "t" if word in function else "abmto":
            found = counts[place.replace("o", "t")][word]
            capitals = Counter({form: n for form, n in found.items() if form != word})
            # A word of content may stand after "the" too: the smiles, the fir.
            times = (3 if word in function else 5) if place == "t" else 1
            enough = found.total() >= times * _FEWEST
            if not enough or capitals.total() < _LEAST[place] * found.total():
                continue
            if place == "t":
                loud = Counter({form: n for form, n in capitals.items() if form.isupper()})
                if 4 * loud.total() < found.total():  # The Who were a band
                    continue
                capitals = loud
            letters += place
            forms += capitals
        letters += "s" * (word in _TITLES.split())
        if letters:
            form = forms.most_common(1)[0][0] if forms else word.title()
            yield f"{word}\t{form}\t{letters}"


if __name__ == "__main__":
    main()
