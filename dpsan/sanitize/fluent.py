"""Decode the drawn words of texts by a public language model, as they stand in their texts.

:class:`Fluent` gets the outputs and the gaps between them, which a reader of the output has, and
public tables.  It gets no input.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.words import Embeddings
from dpsan.outcomes.decoding import Tables, decode
from dpsan.outcomes.ngrams import Gap, gap_kind
from dpsan.space.arrays import Ids
from dpsan.text.tokens import folded


class Fluent:
    """Decodes the words of texts.

    Args:
        tables: of the mechanism.
        embeddings: the vocabulary; of an English one *a* is written where *an* was drawn, and *an*
            where *a* was.
        split: the tokenizer.
        spellings: how each word is written.
    """

    def __init__(
        self,
        tables: Tables,
        embeddings: Embeddings,
        split: Callable[[str], list[str]],
        spellings: NDArray[np.object_],
    ) -> None:
        rows = embeddings.key_to_index
        self.tables, self._rows = tables, rows
        self._spellings = spellings
        n = tables.model.n
        self._first = np.arange(n)
        """Row that a reader sees first of each word."""
        if embeddings.english and {"a", "an"} <= rows.keys():
            self._first[rows["an"]] = rows["a"]
        self._parts: dict[int, list[str]] = {}
        """Pieces of words that are several for a reader (it's, well-known), as split."""
        for row in np.flatnonzero(tables.number >= 0).tolist():
            pieces = split(embeddings.index_to_key[row])
            if len(pieces) > 3 or pieces[0] or pieces[-1]:
                self._parts[row] = pieces
        self._several = np.zeros(n, dtype=np.bool_)
        self._several[[*self._parts]] = True

    def of_texts(self, rows: Ids, strings: list[str], kinds: Ids) -> tuple[Ids, list[str]]:
        """Decode the drawn words of whole texts; return their rows and all words.

        Args:
            rows: rows of the drawn words of all texts; elsewhere negative.  Shape (m,).
            strings: all words as they are written.
            kinds: kinds of the gaps before each word and after the last, shape (m + 1,).
        """
        shown, between, counts = self._read(rows, strings, kinds)
        return self._written(rows, strings, shown, counts, decode(shown, between, self.tables))

    def _symbol(self, word: str) -> int:
        """Return ``~symbol`` of a word that stays as it is."""
        return ~self._rows.get(folded(word), self.tables.model.n)

    def _part(self, word: str) -> int:
        row = self._rows.get(folded(word))
        return self._symbol(word) if row is None else int(self._first[row])

    def _read(self, rows: Ids, strings: list[str], kinds: Ids) -> tuple[Ids, Ids, Ids]:
        """Return words and kinds of gaps as a reader of the text sees them, and how many words each
        draw became, (m,).
        """
        rows = rows.copy()
        for at in np.flatnonzero(rows < 0).tolist():
            rows[at] = self._symbol(strings[at])
        drawn = np.maximum(rows, 0)
        counts = np.ones(len(rows), dtype=np.int64)
        shown = np.where(rows >= 0, self._first[drawn], rows)
        wide = np.flatnonzero((rows >= 0) & self._several[drawn])
        if not len(wide):
            return shown, kinds, counts
        parts = [self._parts[row] for row in rows[wide].tolist()]
        counts[wide] = [len(pieces) // 2 for pieces in parts]
        starts = np.cumsum(counts) - counts
        out = np.repeat(shown, counts)
        between = np.zeros(len(out) + 1, dtype=np.int64)
        between[starts], between[-1] = kinds[:-1], kinds[-1]
        for at, pieces in zip(starts[wide].tolist(), parts, strict=True):
            size = len(pieces) // 2
            out[at : at + size] = [self._part(word) for word in pieces[1::2]]
            between[at + 1 : at + size] = [gap_kind(gap) for gap in pieces[2:-1:2]]
            for index, gap in ((at, pieces[0]), (at + size, pieces[-1])):
                if gap and between[index] == Gap.SPACE:
                    between[index] = gap_kind(gap)
        return out, between, counts

    def _written(
        self, rows: Ids, strings: list[str], shown: Ids, counts: Ids, decoded: Ids
    ) -> tuple[Ids, list[str]]:
        """Return texts with what was decoded; an output that is several words keeps its row.

        Args:
            shown: rows as a reader sees them, shape (sum of counts,).
            counts: how many words each drawn word is for a reader, (m,).
            decoded: what is written instead, (sum of counts,).
        """
        outputs, rows = [*strings], rows.copy()
        starts = np.cumsum(counts) - counts
        changed = np.add.reduceat(shown != decoded, starts) > 0 if len(starts) else starts > 0
        for at in np.flatnonzero(changed & (rows >= 0)).tolist():
            first = int(starts[at])
            if counts[at] == 1:
                rows[at] = decoded[first]
                outputs[at] = self._spellings[rows[at]]
                continue
            pieces = [*self._parts[int(rows[at])]]
            for index in range(int(counts[at])):
                if decoded[first + index] != shown[first + index]:
                    pieces[2 * index + 1] = str(self._spellings[decoded[first + index]])
            outputs[at] = "".join(pieces)
        return rows, outputs
