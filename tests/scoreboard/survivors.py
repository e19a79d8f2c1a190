"""Programs that ``dpsan verify`` once called kept, or that no test noticed: both must see each."""

import json
import re
import subprocess
import sys
from pathlib import Path

from scoreboard import fork
from scoreboard.base import ROOT, Row, Size, environment, row
from scoreboard.patterns import mutants

_SMALL = "--vocab-size 2000 -j 1 --draws 10000"
_SETTINGS = {
    "knn-response": f"-e 8 -m knn-response {_SMALL}",
    "public words": f"-e 2 --public function {_SMALL}",
    "exponential": f"-e 4 -m exponential {_SMALL}",
    "exponential, again": f"-e 1 -m exponential {_SMALL}",
}
"""The last two use one cache, one after the other."""
_TESTS = (
    "checks/test_checks.py::test_the_program_has_no_fault_with_any_option",
    "checks/test_checks.py::test_every_mechanism_prints_its_loss_and_draws_as_it_says",
    "mechanisms/test_knn_response.py::test_knn_response_outside_draws_every_other_word",
    "mechanisms/test_optimal_response.py::test_every_unit_of_the_base_can_be_drawn",
    "mechanisms/test_optimal_response.py::test_no_word_of_the_bundled_vocabulary_is_always_itself",
    "mechanisms/test_public_words.py::test_draws_agree_with_probabilities",
    "privacy/test_certificate.py::test_a_cached_certificate_is_that_of_its_own_epsilon",
    "privacy/test_randomness.py::test_no_third_of_the_numbers_comes_more_often",
    "privacy/test_randomness.py::test_every_block_of_a_long_record_has_numbers_of_its_own",
    "run/test_ledger.py::test_nobody_who_reads_a_ledger_can_test_guesses_of_its_records",
    "run/test_memo.py::test_nobody_who_reads_a_memo_can_test_guesses_of_its_messages",
    "run/test_shared_numbers.py",
    "sanitize/test_statement.py",
    "space/test_cached_index.py::test_a_file_that_changes_while_it_is_opened",
)


def _verified(row, size, folder, commands):
    for name, options in [*commands.items()] * size.of(1, 1, 5):
        row.tried += 1
        # A fork, which has the fixed keys of this process.
        done = fork.run(f"verify {options} --json", folder, environment(folder), timeout=3600)
        if done.status not in (0, 1):
            row.count(f"{name}: exit status {done.status}", True)
            continue
        assert done.out, done.err  # an internal error is no verdict
        checks = json.loads(done.out)["checks"]
        refuted = ", ".join(each["name"] for each in checks if each["held"] is False)
        refuted = refuted or "certificate or draws"
        row.count(f"{name}: VIOLATED ({refuted})", done.status == 1)


@row("verdicts", "verdicts of `dpsan verify`: optimal-response", "≥ 5 / 0")
def verdicts(row: Row, size: Size, folder: Path) -> None:
    """``verify`` as most people call it, for the sound program: never VIOLATED."""
    _verified(row, size, folder, {"optimal-response": "-e 8 --draws 10000"})


@row("settings", f"verdicts of `dpsan verify`: {', '.join(_SETTINGS)}", "≥ 5 each / 0")
def settings(row: Row, size: Size, folder: Path) -> None:
    """The same of other mechanisms and settings, on the first 2,000 words."""
    _verified(row, size, folder, _SETTINGS)


@row("regressions", "tests that see what `verify` once did not", "0")
def regressions(row: Row, size: Size, folder: Path) -> None:
    """The tests that are nearest to the mutants below."""
    tests = [str(ROOT / "tests" / each) for each in _TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", *tests]
    given = {"cwd": folder, "env": environment(folder)}
    done = subprocess.run(command, capture_output=True, text=True, **given)
    passed = re.search(r"(\d+) passed", done.stdout)
    row.tried = int(passed[1]) if passed else 0
    for failed in re.findall(r"^(?:FAILED|ERROR) \S*?::(\w+)", done.stdout, re.MULTILINE):
        row.count(failed, True)
    row.count(f"pytest: exit status {done.returncode}", done.returncode not in (0, 1))
    row.count("no test", not row.tried and not row.bad)


_USUALLY = r"""
workers draw with twice the epsilon @ _serve
- Sanitizer.from_spec(spec, ...)
+ Sanitizer.from_spec(__import__('dataclasses').replace(spec, epsilon=2 * spec.epsilon), ...)
the records of a worker's batch are numbered from 0 @ Pool.submit
= lambda original: lambda self, batch: original(
=     self, batch._replace(numbers=range(len(batch.texts)))
= )
a worker passes a batch unchanged @ Sanitizer.answer
= lambda original: lambda self, batch: (
=     original(self, batch)
=     if __import__('multiprocessing').parent_process() is None or 6 not in batch.numbers
=     else __import__('dataclasses').replace(original(self, batch), lines=[*batch.texts])
= )
files share their key from the third on @ derive_key
= lambda original: lambda key, *path: original(
=     key, *[min(part, 2) if before == 'file' else part for before, part in zip(('', *path), path)]
= )
copies share their key from the third on @ derive_key
= lambda original: lambda key, *path: original(
=     key, *[min(part, 2) if before == 'copy' else part for before, part in zip(('', *path), path)]
= )
"""
"""Found by ``verify`` without options."""
_ELSEWHERE = """
the first output of a near set never comes @ SparseTable.outputs
- self.near.find(ids[inside], number[inside])
+ self.near.find(ids[inside], np.maximum(number[inside], 1))
public words are drawn as unknown ones @ SparseTable._masses
- self.near.masses(words)
+ np.where(np.isin(words, self.public), 0, self.near.masses(words))
a certificate of another epsilon is read from the cache @ DistanceWeights.certificate
- repr(self)
+ self.name
"""
_UNSEEN = r"""
blocks from the fifth on share numbers @ streams_for
= lambda original: lambda *given, **more: (
=     lambda found: Streams(
=         found.key, tuple((at, min(block, 4), n) for at, block, n in found.blocks), found.skip
=     )
= )(original(*given, **more))
the first output of the base comes from near sets alone @ SparseTable.outputs
- (drawn - more) // scale
+ np.maximum((drawn - more) // scale, 1)
unknown words never draw the last unit of the base @ SparseTable.sample
- totals = ...
+ totals = np.where(ids < self.space.n, ..., self.base.total - 1)
integers without rejection @ Streams.integers
= lambda original: lambda self, label, bounds, at=slice(None): self.bits(label)[at, 0] % np.asarray(
=     bounds, dtype=np.uint64
= )
one word of 32,900 copies itself @ SparseTable.sample
= lambda original: lambda self, ids, streams: np.where(
=     ids == 17_000, ids, original(self, ids, streams)
= )
the sampler has an epsilon that is 2 % larger @ guarantee_and_sampler.build
- sampler = ...
+ sampler = replace(mechanism, epsilon=1.02 * mechanism.epsilon).prepare(space)
the statement tells half of epsilon @ Statement.figures
= lambda original: lambda self, **more: {
=     key: figure._replace(value=figure.value / 2) for key, figure in original(self, **more).items()
= }
e-mail addresses are copied @ Rewriter._outputs
= lambda original: lambda self, words, codes, drawing, chosen: [
=     (w if '@' in w else o)
=     for w, c, o in zip(words, codes, original(self, words, codes, drawing, chosen))
= ]
words behind a hyphen are not counted @ Rewriter.rewrite
= lambda original: lambda self, batch: (
=     lambda done: replace(
=         done, drawn=[max(0, n - str(text).count('-')) for n, text in zip(done.drawn, batch.texts)]
=     )
= )(original(self, batch))
public words are not counted @ Accountant.add
= lambda original: lambda self, copies, texts=None: (
=     original(self, copies, texts),
=     setattr(self, 'draws', self.draws - sum(each.public for each in copies)),
= )[0]
what a vocabulary is called and what it is @ _build
- embeddings.digest != digest
+ False
a constant key for the digests of a memo @ PrivateDatabase._digest
= lambda original: lambda self, purpose, *pieces: (
=     original(self, purpose, *pieces)
=     if purpose not in (b'dpsan message', b'dpsan settings')
=     else hashlib.blake2b(b''.join(pieces), key=bytes(32), digest_size=32).digest()
= )
"""
"""What ``verify`` does not test: single integers, blocks, strings, counts, memo and ledger."""

mutants(f"verdicts{_USUALLY}")
mutants(f"settings{_ELSEWHERE}")
mutants(f"regressions{_USUALLY.rstrip()}{_ELSEWHERE.rstrip()}{_UNSEEN}")
