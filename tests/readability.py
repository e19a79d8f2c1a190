"""The figures of docs/readability.md: ``python tests/readability.py [PART ...]`` writes them anew.

Everything is done by the program's own commands, which the page shows.  ``perplexity`` and
``fluent`` need the developers' data.
"""

import csv
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import page_parts
from page_parts import ROOT, table

sys.path.append(str(ROOT / "docs" / "studies"))

from perplexity import main as judged

from dpsan.analysis.evaluate.pairs import Inputs, records
from dpsan.formats.base import ReadOptions
from dpsan.mechanisms.tables.near_sets import Base
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import unit_rows

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
MORE: Final = (
    "The hospital moved her appointment to Tuesday morning.",
    "We need two more chairs for the meeting tomorrow.",
    "His brother found a new job at a bakery in Lyon.",
    "The old bridge was closed after the storm last night.",
    "Please tell Mr Baker that the parcel arrived broken.",
    "She learned to play the violin when she was six.",
    "The company will open three shops in Poland this year.",
    "I forgot my password and cannot read my messages.",
    "They planted apple trees behind the church.",
    "The judge asked the witness to speak more slowly.",
)
NOTES: Final = (
    "Mr. Case met Grace Young at Riverside Group, 12 Elm Street, on 3 May 2021. Grace was happy.",
    "Dear Ms. Whitfield, your order 4471209981 of $84.50 left Leeds on Tuesday, 14 March.",
    "Patient: Rosa Marin, a 62-year-old woman. Metoprolol 50 mg at 0800, BP 142/88, HR 72.",
    "2023-03-05 10:30:15 WARN login of jgreen@corp.example from 10.2.0.7 failed, retry 3 of 5",
    "Hey Tom, can you call Priya at (408) 555-0123? Priya's flight to Madrid leaves at 5 p.m.",
    "The University of Leeds and Harper & Sons signed an Irish-German agreement in the 1990s.",
    "Please e-mail me, e.g. at 5pm; I definately like Grace's version 3.2.1 of the app.",
)
_Files = dict[str, tuple[str, tuple[str, ...]]]
_SST2: Final = {"SST-2 dev": ("sst2/dev.tsv", ("-k", "content"))}
_TEXTS: Final[_Files] = {"AG News": ("ag_news/alps_dev.tsv", ("--no-header", "-k", "1")), **_SST2}
_TICKETS: Final = ("pii/customer_support_tickets.csv", ("-k", "Ticket Description"))
_FLUENT: Final[_Files] = {"AG News": ("ag_news/test.csv", ("--no-header", "-k", "3")), **_SST2}
_FLUENT |= {"MultiDoGO": ("multidogo/finance_dev.tsv", ("-k", "utterance")), "tickets": _TICKETS}
_JUDGES: Final[_Files] = {
    "AG News": _TEXTS["AG News"],
    "SST-2": ("sst2/train.tsv", ("-k", "sentence")),
    "MultiDoGO": ("multidogo/insurance_train.tsv", ("-k", "utterance")),
    "tickets": _TICKETS,
}
_SKIPPED: Final = {"tickets": 300}
"""Records that are measured, which the judge does not see."""


dpsan = partial(page_parts.run, "-m", "dpsan")
"""Standard output of a command."""


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
    words = "rewrite", "-q", "-e", "8", "--seed", "readability"
    columns = [dpsan(*words, "-m", each, text=text) for each in MECHANISMS]
    rows = zip(SENTENCES, *(column.splitlines() for column in columns), strict=True)
    return table(("original", *MECHANISMS), *rows)


def only() -> str:
    """Each note, and what ``--only sensitive`` writes."""
    text = "\n\n".join(NOTES) + "\n"
    written = dpsan("rewrite", "-q", "--only", "sensitive", "--seed", "readability", text=text)
    return table(("original", "written"), *zip(NOTES, written.strip().split("\n\n"), strict=True))


def perplexity() -> str:
    """Of two texts and their versions at epsilon 8, and of the shuffled original."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (path, reading) in _TEXTS.items():
            original = DATA / "eval" / path
            cells = []
            for mechanism in MECHANISMS:
                safe = Path(folder) / f"{mechanism}.tsv"
                run = ("-q", *reading, original)
                given = ("-e", "8", "-m", mechanism, "--seed", "readability", "--force")
                dpsan("rewrite", *given, *run, "-o", safe)
                with redirect_stdout(io.StringIO()) as shown:
                    judged([*map(str, (*reading, original, safe))])
                found: dict[str, Any] = json.loads(shown.getvalue())["perplexity"]
                of = found["original"]
                cells.append(f"{found['sanitized']:,.0f} ({found['sanitized'] / of:.2f})")
            shuffled = found["original_shuffled"]
            rows.append((name, f"{of:,.0f}", f"{shuffled:,.0f} ({shuffled / of:.2f})", *cells))
    return table(("text", "original", "original shuffled", *MECHANISMS), *rows)


def fluent() -> str:
    """Four texts × epsilon: figures of drawn and of written words, each pair in one cell."""
    columns = ("cosine", "content", "unchanged", "perplexity")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        judge = [*_judging(Path(folder))]
        for name, (path, reading) in _FLUENT.items():
            data = str(DATA / "eval" / path)
            shown = page_parts.study("fluent.py", data, *reading, "--judge", *judge)
            for row in json.loads(shown):
                pairs = [f"{row[each]:.3f} → {row[f'{each}_fluent']:.3f}" for each in columns[:3]]
                pairs.append(f"{row['perplexity']:.2f} → {row['perplexity_fluent']:.2f}")
                title = name if row["epsilon"] == 8 else ""
                rows.append((title, f"{row['epsilon']:g}", *pairs))
    heads = ("mean cosine", "content words", "unchanged", "perplexity, times the original's")
    return table(("text", "epsilon", *heads), *rows)


def _judging(folder: Path) -> Iterator[str]:
    """Write the texts of the judge: of the same kinds, and none that is measured."""
    for name, (path, reading) in _JUDGES.items():
        inputs = Inputs("auto", ReadOptions(fields=reading[-1:], header=len(reading) < 3))
        texts = [each.texts[0] for each in records(DATA / "eval" / path, inputs)]
        out = folder / f"{name}.txt"
        lines = (" ".join(text.split()) for text in texts[_SKIPPED.get(name, 0) :])
        out.write_text("\n".join(lines), encoding="utf-8")
        yield str(out)


def decoded() -> str:
    """Twenty sentences as drawn at four epsilons and as written at three."""
    every = (*SENTENCES, *MORE)
    text = "\n".join(every) + "\n"
    parts = []
    for epsilon in ("6", "8", "10", "12"):
        given = ("rewrite", "-q", "-e", epsilon, "--seed", "readability")
        more: tuple[tuple[str, ...], ...] = ((),) if epsilon == "6" else ((), ("--fluent",))
        columns = [dpsan(*given, *each, text=text).splitlines() for each in more]
        heads = ("original", f"drawn at {epsilon}", "fluent")[: 1 + len(columns)]
        parts.append(table(heads, *zip(every, *columns, strict=True)))
    return "\n".join(parts)


def systematic() -> str:
    """Epsilon × shares of running words of which another word comes out in most draws."""
    rows = []
    for epsilon in (8, 10, 12):
        sanitizer = Sanitizer(epsilon=float(epsilon))
        base, space = sanitizer.sampler.base, sanitizer.space
        now = _shares(space, base, epsilon)
        wider = _shares(space, _widened(space, base), epsilon)
        outputs = f"{space.frequencies[base.words].sum():.3f}"
        cells = [f"{one:.3f} → {two:.3f}" for one, two in zip(now, wider, strict=True)]
        rows.append((str(epsilon), outputs, *cells))
    heads = ("another word in most draws", "in 9 of 10", "mean cosine")
    return table(("epsilon", "are outputs", *(f"{each}, now → wider" for each in heads)), *rows)


def _widened(space: Any, base: Any) -> Any:
    """Return the base with the most frequent words as outputs, .97 of running words, as a fifth."""
    order = np.argsort(-space.frequencies, kind="stable")
    count = int(np.searchsorted(np.cumsum(space.frequencies[order]), 0.97)) + 1
    weights = np.zeros(space.n, dtype=np.int64)
    weights[base.words] = base.weights
    new = order[:count][weights[order[:count]] == 0]
    root = np.sqrt(space.frequencies[new])
    weights[new] = np.maximum(1, np.round(0.2 * base.total * root / root.sum()))
    words = np.flatnonzero(weights)
    return Base(words.astype(np.int32), weights[words], base.mass)


def _shares(space: Any, base: Any, epsilon: float) -> tuple[float, float, float]:
    """Return the shares with another word above .5 and .9, and the mean cosine."""
    sampler, units = SparseTable(space, base, float(epsilon)), unit_rows(space.vectors)
    most, cosine = np.empty(space.n), 0.0
    for at in range(0, space.n, 1000):
        ids = np.arange(at, min(at + 1000, space.n))
        drawn = sampler.probabilities(ids)
        means = (drawn * (units[ids] @ units.T)).sum(axis=1)
        cosine += float(space.frequencies[ids] @ means)
        drawn[np.arange(len(ids)), ids] = 0
        most[ids] = drawn.max(axis=1)
    shares = [float(space.frequencies[most > bound].sum()) for bound in (0.5, 0.9)]
    return shares[0], shares[1], cosine


PARTS: Final = (only, study, sentences, perplexity, fluent, decoded, systematic)


if __name__ == "__main__":
    page_parts.write(PAGE, {each.__name__: each for each in PARTS}, sys.argv[1:])
