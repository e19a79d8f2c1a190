"""Results of checks, public strings as inputs, and outputs read back.

Outputs of single words are read as row numbers; whole documents are rewritten by the code of
``rewrite``.
"""

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count, islice
from typing import Any, Final, NamedTuple

import numpy as np

from dpsan.embeddings.word_lists import BUNDLED
from dpsan.errors import printable
from dpsan.files.atomic_files import Sink
from dpsan.files.source import FileSource
from dpsan.formats.base import ReadOptions
from dpsan.privacy.randomness import streams_for
from dpsan.run.plan import Outcome, Plan, Task
from dpsan.run.stream import Work, rewrite_stream
from dpsan.run.workers import Workers
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.settings import rows_of
from dpsan.space.arrays import Floats, Ids
from dpsan.text.tokens import lookup_keys


@dataclass(frozen=True)
class Check:
    """Result of one test of the program."""

    name: str
    """Name of the test, such as ``goodness of fit``."""
    held: bool | None
    """False: the verdict is VIOLATED.  None: could not be judged, so the verdict is never KEPT."""
    sentence: str
    """Finding, with the figure that decided.  Contains no word of an input."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Counts, and the bound on the probability of the finding."""


def log10(log: float) -> float:
    """Return a bound on a probability for JSON: its decimal logarithm, which is finite."""
    return max(-1e6, min(log, 0.0) / math.log(10))


def probability(log: float) -> str:
    """Return a bound on a probability in words, from its natural logarithm."""
    if log > math.log(0.001):
        return f"probability {min(1.0, math.exp(log)):.2g}"
    return f"probability below 1e{math.ceil(max(log, -1e6) / math.log(10))}"


def bonferroni(families: Mapping[str, Floats]) -> tuple[str, float]:
    """Return the family of tests with the least likely result, and the bound of all on ln P.

    Args:
        families: bounds on ln P, one for each test of a family.
    """
    best = {
        name: float(tails.min()) + math.log(len(families) * len(tails)) if len(tails) else 0.0
        for name, tails in families.items()
    }
    return min(best.items(), key=lambda tails: tails[1])


def in_random_order(n: int, key: bytes) -> Ids:
    """Return the rows of a vocabulary in random order, shape (n,)."""
    return np.argsort(streams_for(key, [0], [n]).bits("words")[:, 0], kind="stable")


def words_at_random(sanitizer: Sanitizer, most: int, key: bytes) -> Ids:
    """Return the rows of at most ``most`` words, ascending.

    Words that no single token stands for are left out: a text that holds one is several words, so
    it is no input of the mechanism.
    """
    n, keys = sanitizer.space.n, sanitizer.embeddings.index_to_key
    ids = np.sort(in_random_order(n, key)[:most])
    return np.array([w for w in ids.tolist() if sanitizer.input_of(keys[w]) == w], dtype=np.int64)


def drawn_rows(sanitizer: Sanitizer, texts: Sequence[str], key: bytes) -> Ids:
    """Return the outputs of texts of one word, through the code of ``rewrite``, shape (m,).

    -1 stands for an output that is not in the vocabulary.  Letter case is ignored.
    """

    @cache
    def row_of(output: str) -> int:
        rows = (sanitizer.row_of(spelling) for spelling in (output, output.lower()))
        return next((row for row in rows if row is not None), -1)

    lines = sanitizer.sanitize(texts, key).lines
    return np.fromiter(map(row_of, lines), dtype=np.int64, count=len(texts))


def name_of(sanitizer: Sanitizer, row: int) -> str:
    """Return the name of an input for messages; the vocabulary is public."""
    keys = sanitizer.embeddings.index_to_key
    return f"the word {printable(keys[row])}" if row < len(keys) else "an OOV word"


def may_hold(sanitizer: Sanitizer, gap: str) -> bool:
    """Return whether some output may contain a string."""
    embeddings = sanitizer.embeddings
    return any(gap in word for word in (*embeddings.index_to_key, *(embeddings.spellings or ())))


def unknown_words(sanitizer: Sanitizer, many: int = 2) -> list[str]:
    """Return different strings outside the vocabulary and the keep list, each one token."""
    # Of the lists alone: a program that drew no OOV word at all would call every string kept.
    kept = {key for word in sanitizer.spec.keep for key in lookup_keys(word)}
    letters, rows = "qzxjkvw", sanitizer.embeddings.key_to_index
    digits = (np.base_repr(number, len(letters)) for number in count())
    words = ("qzx" + "".join(letters[int(digit)] for digit in numbers) for numbers in digits)
    return [*islice((word for word in words if word not in rows and word not in kept), many)]


def unknown_strings(sanitizer: Sanitizer, many: int) -> list[str]:
    """Return the same where they are drawn as one token each; else nothing."""
    words = unknown_words(sanitizer, many)
    return words if all(sanitizer.input_of(word) == sanitizer.space.n for word in words) else []


def rewritten(
    sanitizer: Sanitizer,
    documents: Sequence[bytes],
    key: bytes,
    *,
    format: str = "text",  # noqa: A002 - the name it has everywhere
    fields: tuple[str, ...] = (),
    copies: int = 1,
    workers: Workers | None = None,
    batch: int = 1 << 14,
    files: Iterable[int] | None = None,
    totals: Accountant | None = None,
) -> list[bytes]:
    """Rewrite each document as a file of one run, without an audit log.

    Args:
        key: key of the run.
        workers: processes; default this one.
        batch: number of records that are sanitized at once.
        files: number of each file in the run; default 1, 2, 3 ...
        totals: accountant to which the totals of all files are added.
    """
    plan = Plan(format, ReadOptions(fields=fields), copies, batch=batch)
    work = Work(sanitizer, plan, key, workers=workers)
    out = []
    for number, document in zip(files or count(1), documents, strict=False):
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
            source.write(document)
            source.seek(0)
            sink = Sink("verify", target.fileno())
            given = FileSource("verify", source.fileno())
            outcome = Outcome(Task(number), sanitizer.accountant())
            rewrite_stream(given, sink, work, outcome)
            if totals is not None:
                totals.merge(outcome.totals)
            sink.commit()
            target.seek(0)
            out.append(target.read())
    return out


def between(sanitizer: Sanitizer) -> str | None:
    """Return a gap that passes unchanged and that no output contains; None if there is none.

    It ends no sentence, and no article agrees with the word after it.
    """
    return next((gap for gap in (" | ", " / ", " = ") if not may_hold(sanitizer, gap)), None)


# Settings that let an attacker tell inputs apart with certainty, whatever the mechanism draws.
#
# A certificate is about drawn words.  Each setting below writes something fixed for some inputs. So
# there is an event, a set of outputs, that one input gives and another never gives.  The loss is
# infinite, and the guarantee of the mechanism is not that of the configuration.  Tests draw each
# event (tests/analysis/test_verify.py).
#
# Some events are part of the stated guarantee.  With public words the guarantee is for all other
# inputs.  Where only classes of words are drawn it is for two words of one group.  With numbers by
# value it is for two numbers of one form, and for two words that are not numbers.


class Exposure(NamedTuple):
    """A setting with infinite loss, described without any word of a list or text."""

    option: str
    """Name of the setting, as an argument of :class:`Sanitizer`."""
    value: str
    event: str
    """Event that one input can have and another cannot."""
    left_out: str = ""
    """Pairs of inputs that the guarantee leaves out, if it says so."""

    @property
    def setting(self) -> str:
        """Return the option as it is typed."""
        return f"--{self.option} {self.value or 'FILE'}"

    @property
    def stated(self) -> bool:
        """True if the guarantee leaves such pairs out, and says so."""
        return bool(self.left_out)

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        told = {"setting": self.setting, "event": self.event, "stated": self.stated}
        return {"loss": "infinite", **told}


_SPANS: Final = Exposure("spans", "", "a word outside of spans is always written unchanged")


def exposures(sanitizer: Sanitizer, *, spans: bool = False) -> tuple[Exposure, ...]:
    """Return the settings of a sanitizer that have infinite loss.

    Args:
        spans: True if only words in spans would be drawn.
    """
    spec = sanitizer.spec
    named = spec.public and spec.public.name
    values = {"consistent": str(spec.consistent), "public": named if named in BUNDLED else ""}
    those = [Exposure(*row) for condition, *row in rows_of("event") if spec.has(condition)]
    return tuple(
        exposure._replace(value=values.get(exposure.option) or exposure.value)
        for exposure in [*those, *[_SPANS] * spans]
    )
