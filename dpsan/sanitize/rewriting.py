"""Texts in, sanitized texts out: words are looked up, drawn and put in their places.

Knows strings and samplers.  Must not know how a sampler is made, nor whose key it draws with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.privacy import randomness
from dpsan.sanitize.building import Built
from dpsan.sanitize.consistent import Held, OneDraw
from dpsan.sanitize.numbers import NumberPolicy, Numbers
from dpsan.sanitize.result import ACTIONS, Action, AuditTable, Sanitized, together
from dpsan.text.letter_case import LetterCase, NaturalCase, recased
from dpsan.text.long_text import LONG, LongText, Text, stretches
from dpsan.text.lookup import KEPT, MASKED, OUTSIDE, PASSED, Lookup
from dpsan.text.out_of_vocabulary import MASK, UnknownPolicy
from dpsan.text.spans import Spans, clipped, inside, widened, write_gaps_inside
from dpsan.text.tokens import TOKENIZERS, write_gaps

__all__ = ["Rewriter"]

Ids = NDArray[np.int64]

_ACTIONS: Final = {
    KEPT: Action.KEPT,
    MASKED: Action.MASKED,
    PASSED: Action.PASSED,
    OUTSIDE: Action.OUTSIDE,
}
_PLACES: Final = np.array([ACTIONS.index(_ACTIONS[code]) for code in sorted(_ACTIONS)])
"""Places in ACTIONS of what negative codes mean, indexed by the code."""
_DRAWN, _UNKNOWN, _NUMBER = map(ACTIONS.index, (Action.DRAWN, Action.UNKNOWN, Action.NUMBER))


@dataclass(frozen=True, slots=True)
class _DrawnTexts:
    """Texts whose words are drawn, and not yet written into their places."""

    split: list[list[str]]
    """The pieces of each text, with the gaps that will be written."""
    gaps: list[str]
    """The gaps of each text as one string."""
    sizes: Ids
    words: list[str]
    codes: Ids
    rows: Ids
    """The row number of each output, negative where nothing was drawn."""
    outputs: list[str]
    drawn: list[int]
    invisible: int
    starts: Ids | None
    """First character of each word in its input text, for an audit."""
    first: NDArray[np.bool_] | None
    """Where equal words have the same draw: whether the word is the first of its kind."""
    marks: NDArray[np.uint64] | None
    public: int
    public_marks: NDArray[np.uint64] | None
    """These three: see :class:`dpsan.sanitize.result.Sanitized`."""


class Rewriter:
    """Rewrites texts by a sampler.

    Args:
        built: vocabulary, mechanism and sampler.
    """

    def __init__(self, built: Built) -> None:
        self.sampler = built.sampler
        self._built = built
        self._begun = False
        unit = built.spec.consistent
        self._one_draw = None if unit is None else OneDraw(unit, built.space.n)
        self._number = built.space.n + 1
        """The code of numbers that are drawn by value: the mechanism takes them for ⊥."""
        self._numbers = None
        if built.spec.numbers == NumberPolicy.VALUE:
            self._numbers = Numbers(built.guarantee.epsilon_ldp, unit)
        self._public = np.zeros(built.space.n + 2, dtype=np.bool_)
        self._public[list(built.public)] = True
        self._strings: tuple[NDArray[np.object_], Lookup] | None = None
        self._natural: NaturalCase | None = None
        self._rows: dict[str, int] | None = None

    @property
    def lookup(self) -> Lookup:
        """Finds words in texts."""
        return self._vocabulary()[1]

    def _vocabulary(self) -> tuple[NDArray[np.object_], Lookup]:
        """The words as they are written, and what finds them; made with the first text."""
        if self._strings is None:
            embeddings = self._built.embeddings
            words = embeddings.index_to_key
            if self._built.spec.case == LetterCase.NATURAL:
                self._natural = NaturalCase(embeddings.key_to_index, english=embeddings.english)
                words = embeddings.spellings or words
            self._strings = np.array(words, dtype=object), self._new_lookup()
        return self._strings

    def row_of(self, output: str) -> int | None:
        """The row number of a word as it is written alone, None for all other strings."""
        if self._rows is None:
            self._rows = {word: row for row, word in enumerate(self._vocabulary()[0].tolist())}
        return self._rows.get(output)

    def _new_lookup(self) -> Lookup:
        spec = self._built.spec
        unknown = {
            UnknownPolicy.SAMPLE: self._built.space.n,
            UnknownPolicy.MASK: MASKED,
            UnknownPolicy.KEEP: PASSED,
        }[spec.unknown]
        split = TOKENIZERS[spec.tokenizer].split
        number = None if self._numbers is None else self._number
        return Lookup(split, self._built.embeddings.key_to_index, spec.keep, unknown, number)

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
        spans: Sequence[Spans] | None = None,
    ) -> Sanitized:
        """Rewrite a batch of texts: see :meth:`dpsan.sanitize.sanitizer.Sanitizer.sanitize`."""
        self.begin()
        numbers = range(len(texts)) if records is None else records
        # Rows of an audit take more than the words do, and some noise is that of a whole text.
        whole = audit or self.sampler.whole_records
        long = [] if whole else [at for at, text in enumerate(texts) if len(text) > LONG]
        if self._one_draw and long:  # the texts of a record share their draws
            shared = Counter(numbers)
            long = [at for at in long if shared[numbers[at]] == 1]
        parts, at = [], 0
        for place in [*long, len(texts)]:
            split = [self.lookup.split(str(text)) for text in texts[at:place]]
            own = None if spans is None else spans[at:place]
            one = self._drawn(split, key, numbers[at:place], audit=audit, spans=own)
            parts.append(self._written(one))
            if place < len(texts):
                whole_text = None if spans is None else spans[place]
                parts.append(self._in_stretches(texts[place], key, numbers[place], whole_text))
            at = place + 1
        return parts[0] if len(parts) == 1 else together(parts)

    def _in_stretches(self, text: Text, key: bytes, number: int, spans: Spans | None) -> Sanitized:
        """A long text, as many words at a time as are soon done."""
        out: LongText | list[Text] = text.blank() if isinstance(text, LongText) else []
        done: list[Sanitized] = []
        previous: str | None = None
        drawn, pending, at = 0, None, 0
        held: Held = {}

        def write(one: _DrawnTexts, following: tuple[str, str] | None) -> None:
            written = self._written(one, previous=previous, following=following)
            out.append(str(written.lines[0]))
            done.append(replace(written, lines=[]))

        for pieces in stretches(text, self.lookup.split):
            end = at + sum(map(len, pieces))
            own = None if spans is None else [clipped(spans, at, end)]
            one = self._drawn([pieces], key, [number], before=drawn, held=held, spans=own)
            drawn, at = drawn + one.drawn[0], end
            if pending is not None:
                write(pending, (one.split[0][0], one.outputs[0]) if one.outputs else None)
                previous = pending.split[0][-3]
            pending = one
        if pending is not None:
            write(pending, None)
        line = out if isinstance(out, LongText) else "".join(map(str, out))
        return replace(together(done), lines=[line], drawn=[drawn])

    def _drawn(
        self,
        split: list[list[str]],
        key: bytes,
        numbers: Sequence[int],
        *,
        audit: bool = False,
        before: int = 0,
        held: Held | None = None,
        spans: Sequence[Spans] | None = None,
    ) -> _DrawnTexts:
        """Draw the words of texts that are split.

        Args:
            before: words of the first text that were drawn before.
            held: of the first text, where equal words have the same draw: what was drawn before.
            spans: of each text: nothing else is drawn.
        """
        found = None
        within = None
        if spans is not None:
            found = list(map(widened, split, spans))
            within = np.concatenate([np.empty(0, np.bool_), *map(inside, split, found)])
        split, words, codes = self.lookup.coded(split, within)
        sizes = np.fromiter(map(len, split), dtype=np.int64, count=len(split)) // 2
        drawing = codes >= 0
        every = bool(drawing.all())
        drawn = sizes if every else _sums(drawing, sizes)
        first: NDArray[np.bool_] | None = None
        marks = None
        streams = None
        inputs = np.minimum(codes, self._built.space.n)
        if self._one_draw:
            places = np.flatnonzero(drawing)
            chosen, new, marks = self._one_draw(
                self._draw,
                inputs[drawing],
                lambda at: [words[place] for place in places[at].tolist()],
                drawn,
                numbers,
                key,
                held,
            )
            drawn = _sums(new, drawn)
            first = np.zeros_like(drawing)
            first[drawing] = new
        else:
            streams = randomness.streams_for(key, numbers, drawn.tolist(), before=before)
            chosen = self._draw(inputs[drawing], streams)
        rows = chosen
        if not every:
            rows = np.full(len(codes), -1, dtype=np.int64)
            rows[drawing] = chosen
        outputs = self._outputs(words, codes, drawing, chosen)
        if self._numbers and len(at := np.flatnonzero(codes == self._number)):
            numbered = [words[place] for place in at.tolist()]
            if streams is None:
                values = self._numbers.drawn_once(numbered, np.repeat(numbers, sizes)[at], key)
            else:
                among = (np.cumsum(drawing) - 1)[at].tolist()
                values = self._numbers.drawn(numbered, among, streams)
            for place, number in zip(at.tolist(), values, strict=True):
                outputs[place] = number
            rows[at] = -1
        starts = _starts(split, sizes) if audit else None
        if found is None:
            passed = list(map(write_gaps, split))
        else:
            passed = list(map(write_gaps_inside, split, found))
        gaps, dropped = [gaps for gaps, _ in passed], sum(count for _, count in passed)
        return _DrawnTexts(
            split,
            gaps,
            sizes,
            words,
            codes,
            rows,
            outputs,
            drawn.tolist(),
            dropped,
            starts,
            first,
            marks,
            *self._public_of(codes[drawing if first is None else first], marks),
        )

    def _public_of(
        self, codes: Ids, marks: NDArray[np.uint64] | None
    ) -> tuple[int, NDArray[np.uint64] | None]:
        """How many of the draws are of public words, and their marks."""
        if not self._built.public:
            return 0, None
        public = self._public[codes]
        return int(public.sum()), None if marks is None else marks[public]

    def _written(
        self,
        one: _DrawnTexts,
        *,
        previous: str | None = None,
        following: tuple[str, str] | None = None,
    ) -> Sanitized:
        """Put the drawn words into their places.

        Args:
            one: texts, or a stretch of a long one.
            previous: for a stretch, the gap before the last word of the one before it.
            following: for a stretch, the gap and the output behind it.
        """
        split, outputs, codes = one.split, one.outputs, one.codes
        if self._natural is not None:
            self._natural.write(
                split, one.gaps, outputs, one.rows, previous=previous, following=following
            )
        at = 0
        for pieces, size in zip(split, one.sizes.tolist(), strict=True):
            pieces[1::2] = outputs[at : at + size]
            at += size
        n = self._built.space.n
        kinds = np.select([codes < n, codes == n], [_DRAWN, _UNKNOWN], _NUMBER)
        actions = np.where(codes >= 0, kinds, _PLACES[np.minimum(codes, -1)])
        table = None
        if one.starts is not None:
            written = _starts(split, one.sizes)
            table = AuditTable(
                one.sizes,
                one.starts,
                written,
                actions,
                one.words,
                outputs,
                codes,
                one.rows,
                one.first,
            )
        counts = np.bincount(actions, minlength=len(Action)).tolist()
        return Sanitized(
            list(map("".join, split)),
            one.drawn,
            dict(zip(Action, counts, strict=True)),
            table,
            one.public,
            one.invisible,
            one.marks,
            one.public_marks,
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
        like_input = self._built.spec.case == LetterCase.INPUT
        written: list[str] = new.tolist()
        if len(chosen) == len(words) and not like_input:
            return written
        out = np.array(words, dtype=object)
        if like_input:
            new[:] = list(map(recased, out[drawing].tolist(), written))
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
