"""What tests in every folder import: made-up words, streams, a statistical test."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from dpsan.embeddings.words import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.privacy import randomness
from dpsan.run.plan import Plan, Result
from dpsan.run.records import History
from dpsan.run.run import Run
from dpsan.sanitize import rewriting
from dpsan.sanitize.result import ACTIONS, Action, AuditTable
from dpsan.sanitize.sanitizer import Sanitizer, run_key
from dpsan.text import tokens
from dpsan.text.tokens import gaps_to_write

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
ALPHA = 1e-9
"""Significance of statistical tests: a sound program fails one in 10^9 runs per test."""


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file, which several tests walk through."""
    return ast.parse(path.read_text())


def hear_signals() -> None:
    """Undo what ``nohup`` and shells do for commands in the background, which inherit it.

    A program that is told to ignore Ctrl-C does so, and tests that send it would wait in vain.
    """
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, None)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual or signal.SIG_DFL)


@contextmanager
def started(*arguments: str, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A ``dpsan`` with pipes, a process of its own that does not outlive the block.

    Else a test that fails leaves it, and its pipes, to the garbage collector: in the middle of
    another test, which fails because of it.
    """
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-m", "dpsan", *arguments]
    with subprocess.Popen(command, **pipes | more) as child:
        try:
            yield child
        finally:
            child.kill()


_LAUNCHER = f"""
import json, os, sys
sys.path.append({str(ROOT / "tests" / "scoreboard")!r})
import fork
exec(sys.argv[1])
fork.preload()
for words in json.loads(sys.argv[2]):
    done = fork.run(words, ".", os.environ)
    print(json.dumps([done.status, done.out.decode(), done.err.decode()]))
"""


def launched(
    folder: Path, change: str, *commands: Sequence[str], **env: str
) -> list[tuple[int, str, str]]:
    """Status, output and messages of commands of one changed program, which is imported once.

    Args:
        folder: where they run; a package ``dpsan`` that lies there is the program.
        change: Python that runs before them, such as an entry in a table of the program.
        commands: words of each.
    """
    words = [sys.executable, "-c", _LAUNCHER, change, json.dumps(commands)]
    shown = subprocess.check_output(words, cwd=folder, text=True, env={**os.environ, **env})
    return [tuple(json.loads(line)) for line in shown.splitlines()]


def wait_for(sign: Callable[[], object]) -> None:
    """Wait until there is a sign; five minutes are for a program that hangs."""
    end = time.monotonic() + 300
    while not sign():
        assert time.monotonic() < end
        time.sleep(0.01)


def extra_is_installed(extra: str) -> bool:
    """Whether every package of an extra of pyproject.toml is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for requirement in project["optional-dependencies"][extra]:
        try:
            version(re.split(r"[\[>=<]", requirement)[0])
        except PackageNotFoundError:
            return False
    return True


def need_extra(extra: str) -> None:
    """Skip a test, loudly, where an extra is not installed."""
    if not extra_is_installed(extra):
        pytest.skip(f"LOUD: the extra '{extra}' is not installed, this was NOT tested")


NO_GENSIM = "LOUD: no gensim for this Python, this was NOT tested"
needs_gensim = pytest.mark.skipif(sys.version_info >= (3, 14), reason=NO_GENSIM)


def skip_without_extra(stderr: str) -> None:
    """Skip if a command asked for an extra, and that extra is truly missing."""
    for extra in re.findall(r"needs an extra \(pip install 'dpsan\[(\w+)\]'\)", stderr):
        need_extra(extra)
    if "needs gensim" in stderr and sys.version_info >= (3, 14):
        pytest.skip(NO_GENSIM)


def cases(names: str, *rows: Any, ids: Any = None) -> pytest.MarkDecorator:
    """Run a test for each row of a table, whose columns are the arguments of these names."""
    return pytest.mark.parametrize(",".join(names.split()), rows, ids=ids)


def _character(escape: re.Match[str]) -> str:
    return str(json.loads(f'"{escape[0]}"'))


def tables(name: str) -> dict[str, list[Any]]:
    r"""Return the rows of each table of tests/NAME.txt: strings, or tuples of cells between tabs.

    ``== name: what it is about`` is the head of a table, and ``# `` begins a remark.  ``\n``,
    ``\t``, ``\r`` and ``\u200b`` stand for characters.
    """
    read: dict[str, list[Any]] = {}
    escape = re.compile(r"\\([ntr]|u[0-9a-f]{4})")
    for line in (ROOT / "tests" / f"{name}.txt").read_text(encoding="utf8").split("\n"):
        if line.startswith("== "):
            rows = read[line[3:].split(":")[0]] = []
        elif line and not line.startswith("# "):
            cells = [escape.sub(_character, cell) for cell in line.split("\t")]
            rows.append(tuple(cells) if cells[1:] else cells[0])
    return read


def unmarked(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return a text without marks, and each marked word with its remark: ``«word|remark»``."""
    marks = re.compile("«([^»|]*)\\|?([^»]*)»")
    return marks.sub(r"\1", text), marks.findall(text)


def marked(mark: str, values: Iterable[Any], *chosen: Any) -> list[Any]:
    """Return values as parameters, where those that are chosen have a mark."""
    values, marks = [*values], getattr(pytest.mark, mark)
    assert all(each in values for each in chosen)
    return [pytest.param(each, marks=marks) if each in chosen else each for each in values]


def some_mutants(names: Iterable[str], *kept: str) -> list[Any]:
    """Return broken programs as parameters: those that are not kept have the mark ``mutants``."""
    assert {*kept} <= {*names}
    return marked("mutants", names, *({*names} - {*kept}))


def make_embeddings(n: int = 60, d: int = 5, seed: int = 7) -> Embeddings:
    """n made-up words with Gaussian vectors and Zipf counts."""
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(n, d)).astype(np.float32)
    words = [f"word{row}" for row in range(n)]
    counts = (1e6 / (np.arange(n) + 1)).astype(np.int64)
    return Embeddings(words, vectors, "made-up", f"made-up-{n}-{d}-{seed}", counts)


def embed(words: list[str], d: int = 4, seed: int = 7, **more: Any) -> Embeddings:
    """These words with Gaussian vectors, and without counts."""
    more = {"digest": f"{words[0]}-{len(words)}-{d}-{seed}", "counts": None, **more}
    return replace(make_embeddings(len(words), d, seed), index_to_key=words, **more)


def at_first_epsilon(name: str, make: Callable[..., Any], **more: Any) -> Any:
    """Make a sanitizer with the parameters that it needs, at the first epsilon that it takes."""
    known = MECHANISMS[name].parameters().items()
    values = {key: about.example for key, about in known if about.required} | more
    for epsilon in (2.0, 0.9, 8.0, 60.0, 300.0, 3000.0):
        with suppress(UsageError):
            return make(name, epsilon=epsilon, parameters=values)
    raise AssertionError(f"no epsilon found for {name}")


@cache
def _sensitive(**options: Any) -> Sanitizer:
    return Sanitizer(only="sensitive", **options)


def drawn_often(text: str, times: int = 40, **options: Any) -> list[str]:
    """What ``--only sensitive`` writes for a text, each time as a unit of its own."""
    return _sensitive(**options).sanitize([text] * times, randomness.seeded_key(text)).lines


def cut_long(patch: pytest.MonkeyPatch, stretch: int, ahead: int, long: int) -> None:
    """Let texts of so many characters be long, and cut them into stretches."""
    patch.setattr(tokens, "SEGMENT", stretch)
    patch.setattr(tokens, "AHEAD", ahead)
    patch.setattr(rewriting, "LONG", long)


def write_gaps(pieces: list[str]) -> int:
    """Let a split line have the gaps that will be written; how many characters they lose."""
    pieces[::2], dropped = gaps_to_write(pieces[::2])
    return dropped


def write_vectors(path: Path, embeddings: Embeddings) -> Path:
    """Write embeddings as a file of text; return its path."""
    rows = zip(embeddings.index_to_key, embeddings.vectors.tolist(), strict=True)
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows))
    return path


def run_over(
    folder: Path,
    files: Sequence[Sequence[Any]],
    sanitizer: Sanitizer,
    plan: Plan,
    *,
    history: History | None = None,
    **more: Any,
) -> tuple[Result, list[Any]]:
    """A run over files of JSON lines; the rows of each output, or None where there is none."""
    folder.mkdir(exist_ok=True)
    inputs = [folder / f"{number}.jsonl" for number in range(len(files))]
    for path, rows in zip(inputs, files, strict=True):
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    run = Run(sanitizer, plan, run_key(None), inputs, folder / "out", tree=True, **more)
    if history:
        run.history = history
    result = run.execute()
    outputs = [folder / "out" / path.name for path in inputs]
    texts = [path.read_text().splitlines() if path.exists() else None for path in outputs]
    return result, [text and [*map(json.loads, text)] for text in texts]


def change_row(path: Path, at: int, values: dict[str, Any]) -> None:
    """Change values of a row of JSON lines."""
    rows = [json.loads(row) for row in path.read_text().splitlines()]
    rows[at].update(values)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def asked(path: Path, line: str, *values: object) -> list[Any]:
    """What SQLite answers for a memo or a ledger."""
    with sqlite3.connect(path) as base:
        found = base.execute(line, values).fetchall()
    base.close()
    return found


def write_damaged(path: Path, data: bytes, at: int, flip: int) -> Path:
    """Write a private file with a byte changed, or with nothing from there on; return its path."""
    broken = bytearray(data)
    at %= len(broken)
    if flip:
        broken[at] ^= flip
    else:
        del broken[at:]
    path.touch(0o600)
    path.write_bytes(broken)
    return path


class AuditRow(NamedTuple):
    """Audit of one word."""

    record: int
    start: int
    end: int
    action: Action
    original: str
    output: str
    input_id: int
    output_id: int


def audit_rows(table: AuditTable) -> list[AuditRow]:
    """The words of an audit, with the number of the text and the place in it."""
    texts = np.repeat(np.arange(len(table.sizes)), table.sizes).tolist()
    starts = table.starts.tolist()
    ends = [start + len(word) for start, word in zip(starts, table.originals, strict=True)]
    actions = [ACTIONS[action] for action in table.actions.tolist()]
    ids = table.input_ids.tolist(), table.output_ids.tolist()
    columns = (texts, starts, ends, actions, table.originals, table.outputs, *ids)
    return [AuditRow(*row) for row in zip(*columns, strict=True)]


def written_at(table: AuditTable) -> np.ndarray:
    """Where each word starts in its output text."""
    return table.output_starts(np.array([len(each) for each in table.outputs], dtype=np.int64))


def records_of(some: randomness.Streams) -> Any:
    """Return the number of the record of each word of streams, shape (m,)."""
    records, _, words = zip(*some.blocks, strict=True)
    return np.repeat(records, words)[some.skip :]


def streams(m: int, key: bytes = b"k" * 32, first: int = 0) -> randomness.Streams:
    """Streams of m words, ten to a record."""
    full, rest = divmod(m, 10)
    words = [10] * full + ([rest] if rest else [])
    return randomness.streams_for(key, range(first, first + len(words)), words)


def largest_ratio(weights: np.ndarray, first: Iterable[int]) -> Fraction | None:
    """Largest exact ratio of P(u|x) to P(u|y), x of ``first`` and y of all; None: infinite."""
    totals = [int(row.sum()) for row in weights]
    pairs = zip(weights.tolist(), totals, strict=True)
    law = [[Fraction(weight, total) for weight in row] for row, total in pairs]
    rows = [law[x] for x in first]
    pairs = [(max(row[u] for row in rows), min(row[u] for row in law)) for u in range(len(law[0]))]
    held = [(high, low) for high, low in pairs if high]
    return max(high / low for high, low in held) if all(low for _, low in held) else None


def fits(observed: np.ndarray, law: np.ndarray) -> bool:
    """Chi-square test at ALPHA of counts against a law; rare outcomes are pooled."""
    total = observed.sum()
    expected = law * total
    rare = expected < 10
    if (observed[law == 0] > 0).any():
        return False
    pooled_observed = np.append(observed[~rare], observed[rare].sum())
    pooled_expected = np.append(expected[~rare], expected[rare].sum())
    keep = pooled_expected > 0
    statistic = ((pooled_observed - pooled_expected)[keep] ** 2 / pooled_expected[keep]).sum()
    return bool(stats.chi2.sf(statistic, max(keep.sum() - 1, 1)) > ALPHA)


def share_of_event(sanitizer, first, second, occurs, spans=None):
    """Share of the draws of a text that have an event, which those of another text never have."""
    single, drawn = sanitizer.by_text(), []
    for text, own in zip((first, second), spans or (None, None), strict=True):
        rows = None if own is None else [own] * 1000
        drawn.append(single.sanitize([text] * 1000, randomness.new_key(), spans=rows).lines)
    assert not any(map(occurs, drawn[1]))
    return sum(map(occurs, drawn[0])) / 1000


class Held:
    """A cache of tables in memory, for :class:`dpsan.space.metric_space.MetricSpace`."""

    def __init__(self):
        self.entries = {}

    def get(self, kind, key, build):
        if key not in self.entries:
            self.entries[key] = build()
        return self.entries[key]

    def many(self, beginning):
        return sum(entry.meta["table"].startswith(beginning) for entry in self.entries.values())
