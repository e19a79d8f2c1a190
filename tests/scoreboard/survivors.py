"""Programs that ``dpsan verify`` once called kept, or that no test noticed: both must see each.

Each mutant stands here twice: for the row of the verdicts and for the row of the tests.  They name
a function, or a node of its syntax tree, and not its text.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from scoreboard.base import DPSAN, ROOT, AnyMutant, Rebuilt, Row, Size, Wrapped, environment

_SMALL: Final = ("--vocab-size", "2000", "-j", "1", "--draws", "10000")
_USUAL: Final = {"optimal-response": ("-e", "8", "--draws", "10000")}
_SETTINGS: Final = {
    "knn-response": ("-e", "8", "-m", "knn-response", *_SMALL),
    "public words": ("-e", "2", "--public", "function", *_SMALL),
    "exponential": ("-e", "4", "-m", "exponential", *_SMALL),
    "exponential, again": ("-e", "1", "-m", "exponential", *_SMALL),
}
"""The last two use one cache, one after the other."""
_TESTS: Final = (
    "mechanisms/test_knn_response.py::test_knn_response_outside_draws_every_other_word",
    "mechanisms/test_optimal_response.py::test_every_unit_of_the_base_can_be_drawn",
    "mechanisms/test_optimal_response.py::test_no_word_of_the_bundled_vocabulary_is_always_itself",
    "privacy/test_certificate.py::test_a_cached_certificate_is_that_of_its_own_epsilon",
    "privacy/test_rng.py::test_no_third_of_the_numbers_comes_more_often",
    "privacy/test_rng.py::test_every_block_of_a_long_record_has_numbers_of_its_own",
    "run/test_ledger.py::test_nobody_who_reads_a_ledger_can_test_guesses_of_its_records",
    "run/test_memo.py::test_nobody_who_reads_a_memo_can_test_guesses_of_its_messages",
    "run/test_shared_numbers.py",
    "sanitize/test_every_string.py",
    "sanitize/test_statement.py",
)


def verdicts(size: Size, folder: Path) -> Row:
    """``verify`` as most people call it, for the sound program: never VIOLATED."""
    return _verified(size, folder, _USUAL)


def settings(size: Size, folder: Path) -> Row:
    """The same of other mechanisms and settings, on the first 2,000 words."""
    return _verified(size, folder, _SETTINGS)


def _verified(size: Size, folder: Path, commands: dict[str, tuple[str, ...]]) -> Row:
    row = Row(f"verdicts of `dpsan verify`: {', '.join(commands)}", "≥ 5 each / 0")
    for _ in range(size.of(1, 1, 5)):
        for name, options in commands.items():
            row.tried += 1
            done = subprocess.run(
                [*DPSAN, "verify", *options, "--json"],
                cwd=folder,
                env=environment(folder),
                capture_output=True,
                text=True,
            )
            if done.returncode not in (0, 1):
                row.count(f"{name}: exit status {done.returncode}", True)
                continue
            checks = json.loads(done.stdout)["checks"]
            refuted = ", ".join(each["name"] for each in checks if each["held"] is False)
            refuted = refuted or "certificate or draws"
            row.count(f"{name}: VIOLATED ({refuted})", done.returncode == 1)
    return row


def regressions(size: Size, folder: Path) -> Row:
    """The tests that are nearest to the mutants below."""
    row = Row("tests that see what `verify` once did not", "0")
    tests = [str(ROOT / "tests" / each) for each in _TESTS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", *tests],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    row.tried = int(passed[1]) if passed else 0
    for failed in re.findall(r"^(?:FAILED|ERROR) \S*?::(\w+)", done.stdout, re.MULTILINE):
        row.count(failed, True)
    row.count(f"pytest: exit status {done.returncode}", done.returncode not in (0, 1))
    row.count("no test", not row.tried and not row.bad)
    return row


Change = Callable[[ast.AST], ast.AST | None]


def _assigned(name: str, source: str) -> Change:
    """``name = value`` becomes ``name = source``, where ``old`` stands for the value."""

    def change(node: ast.AST) -> ast.AST | None:
        if not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name):
            return None
        value = node.value

        class Old(ast.NodeTransformer):
            def visit_Name(self, inner: ast.Name) -> ast.expr:
                return value if inner.id == "old" else inner

        node.value = Old().visit(ast.parse(source, mode="eval").body)
        return node

    return change


def _argument(function: str, at: int | str, source: str) -> Change:
    """An argument of a call, by its place or name, becomes ``source``."""
    new = ast.parse(source, mode="eval").body

    def change(node: ast.AST) -> ast.AST | None:
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == function):
            return None
        if isinstance(at, int):
            node.args[at] = new
        else:
            next(each for each in node.keywords if each.arg == at).value = new
        return node

    return change


def _compared(old: type[ast.cmpop], new: type[ast.cmpop]) -> Change:
    """A comparison becomes another one."""

    def change(node: ast.AST) -> ast.AST | None:
        if not (isinstance(node, ast.Compare) and isinstance(node.ops[0], old)):
            return None
        node.ops[0] = new()
        return node

    return change


_BASE: Final = "dpsan.mechanisms.sampling.base_response:BaseResponseSampler"
_REWRITER: Final = "dpsan.sanitize.rewriting:Rewriter"
_OUTPUTS: Final = (
    "lambda original: lambda self, words, codes, drawing, chosen: ["
    "({}) for w, c, o in zip(words, codes, original(self, words, codes, drawing, chosen))]"
)
_DIGEST: Final = (
    "lambda original: lambda self, purpose, pieces: original(self, purpose, pieces) "
    "if purpose not in {} else hashlib.blake2b("
    "b''.join(pieces), key=bytes(32), person=purpose, digest_size=32).digest()"
)
_PATH: Final = (
    "lambda original: lambda key, *path: original("
    "key, *[min(part, 2) if before == {!r} else part "
    "for before, part in zip((None, *path), path)])"
)
_Made = Callable[[str], AnyMutant]


def _wrapped(name: str, where: str, by: str) -> _Made:
    return lambda row: Wrapped(row, name, where, by)


def _rebuilt(name: str, where: str, change: Change) -> _Made:
    return lambda row: Rebuilt(row, name, where, change)


_USUALLY: Final = [
    _wrapped(
        "the statement tells half of epsilon",
        "dpsan.sanitize.statement:_cost",
        "lambda original: lambda cost: original(Composed(cost.epsilon / 2, cost.delta, ''))",
    ),
    _rebuilt(
        "unknown words never draw the last unit of the base",
        f"{_BASE}.sample",
        _assigned("totals", "np.where(known, old, self.base.total - 1)"),
    ),
    _rebuilt(
        "known words never draw the last unit of the base",
        f"{_BASE}.sample",
        _assigned("totals", "old - np.where(known, self.scale, 0)"),
    ),
    _wrapped(
        "integers without rejection",
        "dpsan.privacy.randomness:Streams.integers",
        "lambda original: lambda self, label, bounds: "
        "self.bits(label)[:, 0] % np.asarray(bounds, dtype=np.uint64)",
    ),
    _rebuilt(
        "workers draw with twice the epsilon",
        "dpsan.run.workers:_serve",
        _argument(
            "Sanitizer.from_spec",
            0,
            "__import__('dataclasses').replace(spec, epsilon=2 * spec.epsilon)",
        ),
    ),
    _wrapped(
        "the records of a worker's batch are numbered from 0",
        "dpsan.run.workers:Pool.submit",
        "lambda original: lambda self, batch: "
        "original(self, batch._replace(numbers=range(len(batch.texts))))",
    ),
    _wrapped(
        "a worker passes a batch unchanged",
        "dpsan.run.workers:Batch.sanitized",
        "lambda original: lambda self, sanitizer: original(self, sanitizer) "
        "if parent_process() is None or 6 not in self.numbers else "
        "__import__('dataclasses').replace(original(self, sanitizer), lines=[*self.texts])",
    ),
    _wrapped(
        "files share their key from the third on",
        "dpsan.privacy.randomness:derive_key",
        _PATH.format("file"),
    ),
    _wrapped(
        "copies share their key from the third on",
        "dpsan.privacy.randomness:derive_key",
        _PATH.format("copy"),
    ),
    _wrapped(
        "blocks from the fifth on share numbers",
        "dpsan.privacy.randomness:streams_for",
        "lambda original: lambda *given, **more: (lambda found: Streams(found.key, tuple("
        "(record, min(block, 4), words) for record, block, words in found.blocks), found.skip))"
        "(original(*given, **more))",
    ),
    _wrapped(
        "one word of 32,900 copies itself",
        f"{_BASE}.sample",
        "lambda original: lambda self, ids, streams: "
        "np.where(ids == 17_000, ids, original(self, ids, streams))",
    ),
    _rebuilt(
        "the sampler has an epsilon that is 2 % larger",
        "dpsan.sanitize.building:build",
        _assigned("sampler", "replace(mechanism, epsilon=1.02 * mechanism.epsilon).prepare(space)"),
    ),
    _wrapped(
        "e-mail addresses are copied",
        f"{_REWRITER}._outputs",
        _OUTPUTS.format("w if '@' in w else o"),
    ),
    _wrapped(
        "unknown words above 24 letters are copied",
        f"{_REWRITER}._outputs",
        _OUTPUTS.format("w if len(w) > 24 and c == self._built.space.n else o"),
    ),
    _wrapped(
        "capitals of the input show",
        f"{_REWRITER}._outputs",
        _OUTPUTS.format("recased(w, o) if w[1:].isupper() else o"),
    ),
    _wrapped(
        "the stretches of a long line share numbers",
        f"{_REWRITER}._drawn",
        "lambda original: lambda self, batch, key, numbers, *, before=0, held=None: "
        "original(self, batch, key, numbers, held=held)",
    ),
    _wrapped(
        "words behind a hyphen are not counted",
        f"{_REWRITER}.rewrite",
        "lambda original: lambda self, texts, *given, **more: (lambda done: replace(done, drawn=["
        "max(0, drawn - str(text).count('-')) for drawn, text in zip(done.drawn, texts)]))"
        "(original(self, texts, *given, **more))",
    ),
]
"""Found by ``verify`` without options."""
_ELSEWHERE: Final = [
    _rebuilt(
        "knn: some outputs of each word never come",
        "dpsan.mechanisms.sampling.subset_response:SubsetResponseSampler._outside",
        _compared(ast.LtE, ast.Lt),
    ),
    _rebuilt(
        "a certificate of another epsilon is read from the cache",
        "dpsan.mechanisms.sampling.distance_scores:DistanceWeights.certificate",
        _argument("exp_certificate", "key", "self.name"),
    ),
    _wrapped(
        "public words are not counted",
        "dpsan.sanitize.accountant:Accountant.add",
        "lambda original: lambda self, copies, texts=None: (original(self, copies, texts), "
        "setattr(self, 'draws', self.draws - sum(each.public for each in copies)))[0]",
    ),
]
_UNSEEN: Final = [
    _wrapped(
        "a constant key for the digests of a memo",
        "dpsan.run.private_database:PrivateDatabase.digest",
        _DIGEST.format("(b'dpsan message', b'dpsan settings')"),
    ),
    _wrapped(
        "a constant key for the digests of a ledger",
        "dpsan.run.private_database:PrivateDatabase.digest",
        _DIGEST.format("(b'dpsan text', b'dpsan record')"),
    ),
]
"""What ``verify`` cannot see: it writes no memo and no ledger."""

MUTANTS: Final[list[AnyMutant]] = [
    *(made("verdicts") for made in _USUALLY),
    *(made("settings") for made in _ELSEWHERE),
    *(made("regressions") for made in (*_USUALLY, *_ELSEWHERE, *_UNSEEN)),
]
