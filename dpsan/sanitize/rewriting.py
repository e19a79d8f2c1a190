"""Texts in, sanitized texts out: words are looked up, drawn and put in their places.

Knows strings and samplers.  Must not know how a sampler is made, nor whose key it draws with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.privacy import randomness
from dpsan.sanitize.building import Built
from dpsan.sanitize.result import ACTIONS, Action, AuditTable, Sanitized, together
from dpsan.text.long_text import LONG, LongText, Text, stretches
from dpsan.text.lookup import KEPT, MASKED, PASSED, Lookup
from dpsan.text.out_of_vocabulary import MASK, UnknownPolicy
from dpsan.text.tokens import TOKENIZERS, write_gaps

__all__ = ["Rewriter"]

Ids = NDArray[np.int64]

_ACTIONS: Final = {KEPT: Action.KEPT, MASKED: Action.MASKED, PASSED: Action.PASSED}
_PLACES: Final = np.array([ACTIONS.index(_ACTIONS[code]) for code in sorted(_ACTIONS)])
"""Places in ACTIONS of what negative codes mean, indexed by the code."""


class Rewriter:
    """Rewrites texts by a sampler.

    Args:
        built: vocabulary, mechanism and sampler.
    """

    def __init__(self, built: Built) -> None:
        self.sampler = built.sampler
        self._built = built
        self._begun = False
        self._strings: tuple[NDArray[np.object_], Lookup] | None = None

    @property
    def lookup(self) -> Lookup:
        """Finds words in texts."""
        return self._vocabulary()[1]

    def _vocabulary(self) -> tuple[NDArray[np.object_], Lookup]:
        """The words as an array, and what finds them; made with the first text."""
        if self._strings is None:
            words = np.array(self._built.embeddings.index_to_key, dtype=object)
            self._strings = words, self._new_lookup()
        return self._strings

    def _new_lookup(self) -> Lookup:
        spec = self._built.spec
        unknown = {
            UnknownPolicy.SAMPLE: self._built.space.n,
            UnknownPolicy.MASK: MASKED,
            UnknownPolicy.KEEP: PASSED,
        }[spec.unknown]
        split = TOKENIZERS[spec.tokenizer].split
        return Lookup(split, self._built.embeddings.key_to_index, spec.keep, unknown)

    def begin(self) -> bool:
        """Whether it is the first time; then libraries load while threads read the vectors."""
        first, self._begun = not self._begun, True
        if first:
            self._built.embeddings.begin(vectors=self._built.mechanism.reads_vectors)
            self.sampler.load_libraries()
        return first

    def warm_up(self) -> None:
        """Make the first draw now, when nobody waits, and throw it away: the next is quick."""
        if self.begin():
            self._vocabulary()
            self._draw(
                np.zeros(1, dtype=np.int64),
                randomness.streams_for(bytes(randomness.KEY_BYTES), [0], [1]),
            )

    def rewrite(
        self,
        texts: Sequence[Text],
        key: bytes,
        records: Sequence[int] | None = None,
        *,
        audit: bool = False,
    ) -> Sanitized:
        """Rewrite a batch of texts: see :meth:`dpsan.sanitize.sanitizer.Sanitizer.sanitize`."""
        self.begin()
        numbers = range(len(texts)) if records is None else records
        # Rows of an audit take more than the words do, and some noise is that of a whole text.
        whole = audit or self.sampler.whole_records
        long = [] if whole else [at for at, text in enumerate(texts) if len(text) > LONG]
        parts, at = [], 0
        for place in [*long, len(texts)]:
            split = [self.lookup.split(str(text)) for text in texts[at:place]]
            parts.append(self._sanitize(split, key, numbers[at:place], audit=audit))
            if place < len(texts):
                parts.append(self._in_stretches(texts[place], key, numbers[place]))
            at = place + 1
        return parts[0] if len(parts) == 1 else together(parts)

    def _in_stretches(self, text: Text, key: bytes, number: int) -> Sanitized:
        """A long text, as many words at a time as are soon done."""
        out: LongText | list[Text] = LongText() if isinstance(text, LongText) else []
        done, drawn = [], 0
        for pieces in stretches(text, self.lookup.split):
            one = self._sanitize([pieces], key, [number], before=drawn)
            out.append(str(one.lines[0]))
            drawn += one.drawn[0]
            done.append(replace(one, lines=[]))
        line = out if isinstance(out, LongText) else "".join(map(str, out))
        return replace(together(done), lines=[line], drawn=[drawn])

    def _sanitize(
        self,
        split: list[list[str]],
        key: bytes,
        numbers: Sequence[int],
        *,
        audit: bool = False,
        before: int = 0,
    ) -> Sanitized:
        """The same for texts that are split; ``before``: words of the first that are drawn."""
        split, words, codes = self.lookup.coded(split)
        sizes = np.fromiter(map(len, split), dtype=np.int64, count=len(split)) // 2
        drawing = codes >= 0
        drawn = sizes if drawing.all() else _sums(drawing, sizes)
        streams = randomness.streams_for(key, numbers, drawn.tolist(), before=before)
        chosen = self._draw(codes[drawing], streams)
        outputs = self._outputs(words, codes, drawing, chosen)
        actions = np.where(drawing, codes == self._built.space.n, _PLACES[np.minimum(codes, -1)])
        starts = _starts(split, sizes) if audit else None
        dropped = sum(map(write_gaps, split))
        at = 0
        for pieces, size in zip(split, sizes.tolist(), strict=True):
            pieces[1::2] = outputs[at : at + size]
            at += size
        table = None
        if starts is not None:
            output_ids = np.full(len(codes), -1, dtype=np.int64)
            output_ids[drawing] = chosen
            written = _starts(split, sizes)
            table = AuditTable(sizes, starts, written, actions, words, outputs, codes, output_ids)
        counts = np.bincount(actions, minlength=len(Action)).tolist()
        return Sanitized(
            list(map("".join, split)),
            drawn.tolist(),
            dict(zip(Action, counts, strict=True)),
            table,
            dropped,
        )

    def _draw(self, ids: Ids, streams: randomness.Streams) -> Ids:
        """One output for each input, a bounded number at a time."""
        sampler = self.sampler
        chosen = np.empty(len(ids), dtype=np.int64)
        at = 0
        for part in streams.chunks(sampler.batch_words, whole_records=sampler.whole_records):
            end = at + len(part)
            chosen[at:end] = sampler.sample(ids[at:end], part)
            at = end
        return chosen

    def _outputs(
        self, words: list[str], codes: Ids, drawing: NDArray[np.bool_], chosen: Ids
    ) -> list[str]:
        """What is written for each word."""
        new: NDArray[np.object_] = self._vocabulary()[0][chosen]
        recased = self._built.spec.case == "input"
        written: list[str] = new.tolist()
        if len(chosen) == len(words) and not recased:
            return written
        out = np.array(words, dtype=object)
        if recased:
            new[:] = list(map(_recase, out[drawing].tolist(), written))
        out[drawing] = new
        out[codes == MASKED] = MASK
        return list(out)


def _sums(values: NDArray[Any], sizes: Ids) -> Ids:
    """Sums of consecutive runs of values, of these sizes."""
    total = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    ends = np.cumsum(sizes)
    return np.asarray(total[ends] - total[ends - sizes], dtype=np.int64)


def _starts(split: list[list[str]], sizes: Ids) -> Ids:
    """For each word where it starts in its text."""
    lengths = np.fromiter(map(len, chain.from_iterable(split)), dtype=np.int64)
    before = np.cumsum(lengths) - lengths
    firsts = 2 * (np.cumsum(sizes) - sizes) + np.arange(len(sizes))  # piece that begins each text
    texts = np.repeat(np.arange(len(sizes)), sizes)
    places = 2 * np.arange(len(texts)) + texts + 1
    return np.asarray(before[places] - before[firsts][texts], dtype=np.int64)


def _recase(original: str, output: str) -> str:
    """The output with the capital pattern of the original (all, first or none)."""
    if len(original) > 1 and original.isupper():
        return output.upper()
    if original[:1].isupper():
        return output[:1].upper() + output[1:]
    return output
