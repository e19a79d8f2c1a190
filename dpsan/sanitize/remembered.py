"""Texts that were drawn now and texts whose earlier output is written again, in one result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from dpsan.sanitize.result import DRAWN, Action, AuditTable, Sanitized


@dataclass(frozen=True)
class MemoTotals:
    """Totals of a memo, and of one run with it."""

    drawn: int
    """Messages drawn in this run."""
    remembered: int
    """Messages of this run whose earlier output was written again."""
    messages: int
    """Different messages, over the life of the memo."""
    draws: int
    """Their draws: more than one for a message under several settings."""
    epsilon: float
    """Largest sum of LDP epsilons of one message, over all its draws."""
    delta: float
    """The same of deltas."""


@dataclass(frozen=True)
class LedgerTotals:
    """Totals of a ledger, and of one run with it."""

    charged: int
    """Records that this run charged."""
    records: int
    """Records that the ledger has."""
    limit: float | None
    """Most LDP epsilon that one may cost; None for no limit."""
    largest: tuple[tuple[float, float], ...]
    """Epsilon and delta of the records that have cost most, the largest first."""


def merged(
    texts: Sequence[str],
    indices: Sequence[int],
    done: Sanitized,
    earlier: Mapping[int, str],
    survey: Callable[[str], Sanitized],
) -> Sanitized:
    """Return the result for all texts of a batch.

    Args:
        texts: the batch.
        indices: positions in it of the texts that were sanitized; ascending.
        done: what became of these.
        earlier: outputs that are written instead, by position: for every text that is not in
            ``indices``, and for texts whose output another run wrote meanwhile.  The new draws of
            the latter are not published, so they do not count.
        survey: counts the words of a text without drawing any.
    """
    fresh = [index not in earlier for index in indices]
    counts, public, invisible = Counter(done.counts), done.public, done.invisible
    by_kind = Counter(done.by_kind)
    for index in indices:
        if index in earlier:
            unused = survey(texts[index])
            counts.subtract(unused.counts)
            by_kind.subtract(unused.by_kind)
            public -= unused.public
            invisible -= unused.invisible
    lines = dict(zip(indices, done.lines, strict=True))
    drawn = dict(zip(compress(indices, fresh), compress(done.drawn, fresh), strict=True))
    charged = dict(zip(compress(indices, fresh), compress(done.charged, fresh), strict=True))
    remembered = {}
    for index, output in earlier.items():
        seen = survey(texts[index])
        lines[index] = output
        now = {each: 0 if each in DRAWN else seen.counts[each] for each in Action}
        now[Action.REMEMBERED] = sum(seen.counts[each] for each in DRAWN)
        remembered[index] = now
        counts.update(now)
        invisible += seen.invisible
    return replace(
        done,
        lines=[lines[index] for index in range(len(texts))],
        drawn=[drawn.get(index, 0) for index in range(len(texts))],
        charged=[charged.get(index, 0) for index in range(len(texts))],
        by_kind=by_kind,
        counts={action: counts[action] for action in Action},
        records=None if done.records is None else _spread(done.records, indices, fresh, len(texts)),
        public=public,
        invisible=invisible,
        remembered=dict(sorted(remembered.items())),
    )


def _spread(
    table: AuditTable, indices: Sequence[int], chosen: Sequence[bool], texts: int
) -> AuditTable:
    """Return the rows of the chosen texts, in a table for more texts, of which the others have
    none.
    """
    kept, positions = np.array(chosen, dtype=np.bool_), np.array(indices, dtype=np.int64)
    rows = np.repeat(kept, table.sizes)
    sizes = np.zeros(texts, dtype=np.int64)
    sizes[positions] = np.where(kept, table.sizes, 0)
    return table.part(rows, sizes)
