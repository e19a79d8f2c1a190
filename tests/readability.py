"""The figures of docs/readability.md: ``python tests/readability.py [PART ...]`` writes them anew.

Parts are ``study``, ``sentences`` and ``perplexity``; without a name all three.  Everything is done
by the program's own commands, which the page shows.  ``perplexity`` needs the developers' data.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import page_parts

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "readability.md"
DATA: Final = ROOT.parent / "shared" / "data"
MECHANISMS: Final = ("knn-response", "optimal-response")
EPSILONS: Final = "4,6,8,10"
SENTENCES: Final = (
    "The bank refused the loan because her salary was too low.",
    "My daughter starts school in Leeds next September.",
    "Could you please send me the invoice before Friday?",
    "The soup was cold and the waiter never came back.",
    "We missed the last train home because of the snow.",
    "He has taken two tablets a day since the operation.",
    "I bought a used bicycle for 120 dollars, and I love it.",
    "Our team lost the final, but everyone played well.",
    "They are moving to a smaller house near the river.",
    "Anna's lawyer says that the contract is not valid.",
)
_TEXTS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "AG News": ("ag_news/alps_dev.tsv", ("--no-header", "-k", "1")),
    "SST-2 dev": ("sst2/dev.tsv", ("-k", "content")),
}
_PUBLIC: Final = {"enwiki2021_tail": 12_000_000, "sgd_dialogues": 16_000_000}
"""Bytes of public text, as in docs/attacks.md."""


def dpsan(*arguments: str | Path, text: str = "") -> str:
    """Standard output of a command."""
    done = subprocess.run(
        [sys.executable, "-m", "dpsan", *map(str, arguments)],
        input=text,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return done.stdout


def table(*rows: tuple[str, ...]) -> str:
    """Markdown; the first row is the head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]) + "\n"


def study() -> str:
    """Epsilon × (mechanisms, bound)."""
    named = [part for each in MECHANISMS for part in ("-m", each)]
    shown = page_parts.study("own.py", "frontier", "-q", *named, "-e", EPSILONS, "--csv")
    rows = list(csv.DictReader(io.StringIO(shown)))
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        cells = found.setdefault(row["epsilon_ldp"], {})
        cells[row["mechanism"]] = f"{float(row['weighted_cosine']):.3f}"
        cells["bound"] = f"{float(row['cosine_bound']):.3f}"
    limits = [float(row[f"weighted_cosine_{end}"]) for row in rows for end in ("high", "low")]
    half = max(high - low for high, low in zip(limits[::2], limits[1::2], strict=True)) / 2
    names = (*MECHANISMS, "bound")
    body = [(f"{float(at):g}", *(cells[each] for each in names)) for at, cells in found.items()]
    return f"{table(('epsilon', *names), *body)}\n95 % limits: within {half:.4f}.\n"


def sentences() -> str:
    """Each sentence beside what becomes of it at epsilon 8."""
    text = "\n".join(SENTENCES) + "\n"
    columns = [
        dpsan("rewrite", "-q", "-e", "8", "-m", each, "--seed", "readability", text=text)
        for each in MECHANISMS
    ]
    rows = zip(SENTENCES, *(column.splitlines() for column in columns), strict=True)
    return table(("original", *MECHANISMS), *rows)


def perplexity() -> str:
    """Of two texts and their versions at epsilon 8, and of the shuffled original."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        public = Path(folder) / "public.txt"
        with public.open("wb") as file:
            for name, size in _PUBLIC.items():
                with lzma.open(DATA / "corpus" / f"{name}.txt.xz") as corpus:
                    file.write(corpus.read(size))
        for name, (path, reading) in _TEXTS.items():
            original = DATA / "eval" / path
            cells = []
            for mechanism in MECHANISMS:
                safe = Path(folder) / f"{mechanism}.tsv"
                run = ("-q", *reading, original)
                given = ("-e", "8", "-m", mechanism, "--seed", "readability", "--force")
                dpsan("rewrite", *given, *run, "-o", safe)
                shown = dpsan(
                    "evaluate", *run, safe, "--language-model", public, "--no-scores", "--json"
                )
                found: dict[str, Any] = json.loads(shown)["readability"]["perplexity"]
                of = found["original"]
                cells.append(f"{found['sanitized']:,.0f} ({found['sanitized'] / of:.2f})")
            shuffled = found["original_shuffled"]
            rows.append((name, f"{of:,.0f}", f"{shuffled:,.0f} ({shuffled / of:.2f})", *cells))
    return table(("text", "original", "original shuffled", *MECHANISMS), *rows)


PARTS: Final = {each.__name__: each for each in (study, sentences, perplexity)}


if __name__ == "__main__":
    page_parts.write(PAGE, PARTS, sys.argv[1:])
