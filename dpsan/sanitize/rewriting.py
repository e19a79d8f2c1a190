"""Build the mechanism of a request, and rewrite texts by its sampler.

:func:`build` is where a run's guarantee is computed, and refused if it is not proved.
:class:`Rewriter` looks words up, draws outputs, and puts these in their positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.loading import bundled_capitals
from dpsan.embeddings.word_lists import lists_digest
from dpsan.embeddings.words import Embeddings
from dpsan.errors import Hint, UnprovedError, UsageError, refuse
from dpsan.mechanisms import randomized_response, registry
from dpsan.mechanisms.mechanism import BaseResponse, Mechanism
from dpsan.mechanisms.tables import Sampler
from dpsan.mechanisms.tables.near_sets import words_in_groups
from dpsan.outcomes.ngrams import gap_kinds, model_for
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Guarantee, Status
from dpsan.sanitize import consistent, result
from dpsan.sanitize.classes import Grouping, class_rows, class_rules, number_rules
from dpsan.sanitize.settings import Settings
from dpsan.space.metric_space import MetricSpace
from dpsan.text.batch import Batch, Ids, Mask, Words
from dpsan.text.letter_case import LetterCase, NaturalCase, agree
from dpsan.text.lookup import MASKED, OUTSIDE, Lookup
from dpsan.text.spanned_tokens import clipped
from dpsan.text.tokens import ARTICLES, LONG, MASK, TOKENIZERS, segments

if TYPE_CHECKING:
    from dpsan.outcomes.decoding import Tables
    from dpsan.sanitize.fluent import Fluent

Opened = Callable[[], tuple[Embeddings, MetricSpace]]
"""Opens a vocabulary, as :func:`dpsan.space.cached_index.open_space` does."""


@dataclass(frozen=True)
class Built:
    """Mechanism, guarantee and sampler of one request on one vocabulary."""

    spec: Settings
    embeddings: Embeddings
    space: MetricSpace
    mechanism: Mechanism
    guarantee: Guarantee
    sampler: Sampler | None
    """None where words of some classes are replaced, and no mechanism draws."""
    grouping: Grouping
    """Groups of words that are one input."""
    public: tuple[int, ...] = ()
    """Row numbers of public words, ascending."""
    decoding: Tables | None = None
    """The decoder's tables if the drawn words are decoded, else None."""
    language_model: str | None = None
    """SHA-256 of the file of the model that they have."""


def build(spec: Settings, opened: Opened) -> Built:
    """Open the vocabulary and prepare the mechanism on it.

    Args:
        spec: the request.
        opened: opens the vocabulary; called after the request was checked, if that needs one.

    Raises:
        UsageError: a value outside its domain.
        UnprovedError: the guarantee is not proved, and the request does not allow that.
        EmbeddingError: the vocabulary cannot be used.
    """
    kind = spec.kind()
    if spec.only:
        # Rules and lists say what is drawn: no vectors are read.
        words = Embeddings([], np.zeros((0, 1), np.float32), "lists", lists_digest())
        space = MetricSpace(words, centroid=np.zeros(1))
        replacing = randomized_response.GroupResponse(spec.epsilon or 0.0)
        promise = replacing.guarantee(space)
        consistent.check_numbers(spec.numbers, promise)
        return Built(spec, words, space, replacing, promise, None, Grouping((), 0))
    user_file = registry.own_file(kind.name)
    if user_file is not None:  # workers may run in another directory
        spec = replace(spec, mechanism=user_file.name, own_sha256=user_file.sha256)
    reviewed = not registry.is_own(kind.name)
    mechanism = spec.build()  # before the slow part: usage errors first
    embeddings, space = opened()
    space = registry.space_for(space, kind.name)
    public = () if spec.public is None else spec.public.rows(embeddings.key_to_index)
    groups = Grouping(class_rows(spec.classes, embeddings), space.n, bool(spec.classes))
    mechanism = mechanism.with_public(public).resolved(space)
    if isinstance(mechanism, BaseResponse) and spec.classes:  # others were refused
        mechanism = replace(mechanism, groups=groups.groups)  # no epsilon changes
    guarantee = replace(mechanism.guarantee(space), groups=groups.sizes, reviewed=reviewed)
    if not reviewed and guarantee.status is Status.PROVED:  # docs/proofs.md does not prove it
        claimed = mechanism.status is Status.PROVED
        guarantee = replace(guarantee, status=Status.CLAIMED if claimed else mechanism.status)
    if guarantee.status is not Status.PROVED and not spec.allow_unproved:
        runs = "runs it all the same"
        hint = Hint(f"allow_unproved=True {runs}", f"--allow-unproved {runs}")
        raise UnprovedError(f"{mechanism.name} is {guarantee.standing}: {guarantee.why}", hint)
    consistent.check_numbers(spec.numbers, guarantee)
    sampler = mechanism.prepare(space)
    built = Built(spec, embeddings, space, mechanism, guarantee, sampler, groups, public)
    return _decoding(built) if spec.fluent else built


def _decoding(built: Built) -> Built:
    """Return the same with tables by which drawn words are decoded.

    Raises:
        UsageError: this mechanism cannot be decoded, or the vocabulary has no language model.
    """
    from dpsan.outcomes.decoding import LEAST_EPSILON, tables_for

    model = model_for(built.embeddings)
    if model is None:
        need = "fluent output needs the bundled vocabulary, which has a language model"
        raise UsageError(need, "without fluent output any vocabulary will do")
    epsilon = built.guarantee.epsilon_ldp
    need = f"fluent output needs an LDP epsilon of {LEAST_EPSILON:g} or more (got {epsilon:g})"
    refuse(epsilon < LEAST_EPSILON, need, "below it a decoder invents the text")
    rows = words_in_groups(getattr(built.mechanism, "groups", ()))
    tables = tables_for(built.mechanism, built.space, model[0], epsilon, rows)
    return replace(built, decoding=tables, language_model=model[1])


class Rewriter:
    """Rewrites texts by a sampler.

    Args:
        built: vocabulary, mechanism and sampler.
    """

    def __init__(self, built: Built) -> None:
        assert built.sampler is not None  # noqa: S101 - a mechanism draws
        self.sampler = built.sampler
        self._built, self._begun = built, False
        n, unit, spec = built.space.n, built.spec.consistent, built.spec
        self._codes = built.grouping
        draw, inputs = self.sampler.sample_all, self._codes.inputs
        self._one_draw = None if unit is None else consistent.OneDraw(unit, inputs, n, draw)
        by_value = spec.numbers == consistent.NumberPolicy.VALUE
        self._classes = number_rules(n) if by_value else None
        if spec.classes:
            self._classes = class_rules(spec, built.grouping, built.embeddings.key_to_index)
        self._numbers = None
        if self._classes is not None:
            epsilon = built.guarantee.epsilon_ldp if by_value else None
            self._numbers = consistent.Numbers(epsilon, unit, strings=bool(spec.classes))
        self._public = np.zeros(len(self._codes.inputs), dtype=np.bool_)
        self._public[list(built.public)] = True
        kept = ARTICLES & {word.lower() for word in built.spec.keep}
        self._articles_agree = built.embeddings.english and not kept
        """True if *a* and *an* that pass are written as a drawn word after them asks for."""
        self._natural: NaturalCase | None = None
        if spec.case == LetterCase.NATURAL:
            vocabulary = built.embeddings
            usual = vocabulary.spellings or vocabulary.index_to_key
            capitals = bundled_capitals() if vocabulary.english else ()
            self._natural = NaturalCase(
                vocabulary.key_to_index, usual, english=vocabulary.english, capitals=capitals
            )
        self._drawn_articles = [] if self._natural is None else self._natural.articles
        """Rows of *a* and *an* where one of them is written for the other."""

    # What the first text needs is made with it.

    @cached_property
    def words(self) -> NDArray[np.object_]:
        """Words of the vocabulary as they are written."""
        embeddings = self._built.embeddings
        usual = embeddings.spellings if self._natural is not None else None
        return np.array(usual or embeddings.index_to_key, dtype=object)

    @cached_property
    def rows(self) -> dict[str, int]:
        """Row number of each word as it is written alone."""
        return {word: row for row, word in enumerate(self.words.tolist())}

    @cached_property
    def _fluent(self) -> Fluent:
        from dpsan.sanitize.fluent import Fluent

        assert self._built.decoding is not None  # noqa: S101 - the caller knows
        embeddings = self._built.embeddings
        return Fluent(self._built.decoding, embeddings, self.lookup.split, self.words)

    @cached_property
    def lookup(self) -> Lookup:
        """Finds words in texts."""
        spec = self._built.spec
        unknown = MASKED if spec.unknown == "mask" else self._built.space.n
        split = TOKENIZERS[spec.tokenizer]
        rows = self._built.embeddings.key_to_index
        return Lookup(split, rows, spec.keep, unknown, self._classes)

    def begin(self) -> bool:
        """Return True for the first call; then libraries load."""
        first, self._begun = not self._begun, True
        if first:
            self.sampler.load_libraries()
        return first

    def warm_up(self) -> None:
        """Make the first draw now, when nobody waits, and throw it away: the next is quick."""
        if self.begin():
            self.words, self.lookup  # noqa: B018 - made now
            self.sampler.sample_all(
                np.zeros(1, dtype=np.int64),
                randomness.streams_for(bytes(randomness.KEY_BYTES), [0], [1]),
            )

    def rewrite(self, batch: result.Texts) -> result.Sanitized:
        """Rewrite a batch of texts: see :meth:`dpsan.sanitize.sanitizer.Sanitizer.sanitize`."""
        self.begin()
        texts, audit = batch.texts, batch.audit
        # Rows of an audit take more than the words do, equal draws are those of a whole text, and a
        # decoder reads all of it.
        whole = audit or self._one_draw is not None or self._built.decoding is not None
        long = [] if whole else [at for at, text in enumerate(texts) if len(text) > LONG]
        parts, at = [], 0
        for position in [*long, len(texts)]:
            part = batch.part(at, position)
            parts.append(self._rewrite(self.lookup.batch(part.texts, part.spans), part))
            if position < len(texts):
                parts.append(self._in_segments(batch.part(position, position + 1)))
            at = position + 1
        return result.together(parts)

    def _in_segments(self, alone: result.Texts) -> result.Sanitized:
        """Rewrite a long text in segments of bounded size."""
        done: list[result.Sanitized] = []
        drawn = at = 0
        for pieces in segments(alone.texts[0], self.lookup.split):
            end = at + sum(map(len, pieces))
            marked = None if alone.spans is None else [clipped(alone.spans[0], at, end)]
            segment = self.lookup.of_split([pieces], marked)
            done.append(self._rewrite(segment, alone, before=drawn, continued=at > 0))
            drawn, at = drawn + done[-1].drawn[0], end
        return result.joined(result.together(done), [len(done)])

    def _rewrite(
        self, batch: Batch, texts: result.Texts, *, before: int = 0, continued: bool = False
    ) -> result.Sanitized:
        """Draw the words of texts and put them into their positions.

        Args:
            batch: the texts as they were looked up, or a segment of a long one.
            before: words of the first text that were drawn before.
            continued: whether it is a segment that is not the first.
        """
        words, codes, sizes = batch.words, batch.codes, batch.sizes
        key, numbers = texts.key, texts.numbers
        drawing = codes >= 0
        drawn = sizes if drawing.all() else result.sums_of_runs(drawing, sizes)
        first: NDArray[np.bool_] | None = None
        marks = None
        streams = None
        if self._one_draw:
            indices = np.flatnonzero(drawing)
            drawn_words = Words(len(indices), lambda at: words.some(indices[at]))
            chosen, new, marks = self._one_draw(codes[drawing], drawn_words.some, drawn, texts)
            drawn = result.sums_of_runs(new, drawn)
            first = np.zeros_like(drawing)
            first[drawing] = new
        else:
            streams = randomness.streams_for(key, numbers, drawn.tolist(), before=before)
            chosen = self.sampler.sample_all(self._codes.inputs[codes[drawing]], streams)
        rows = np.full(len(codes), -1, dtype=np.int64)
        rows[drawing] = chosen
        outputs = self._outputs(words, codes, drawing, chosen)
        forms, at = result.Forms(), self._codes.formed(codes)
        if self._numbers and len(at):
            numbered, records = words.some(at), np.repeat(numbers, sizes)[at]
            forms = self._numbers.forms(numbered)
            if streams is None:
                values = self._numbers.drawn_once(numbered, records, key)
            else:
                among = np.searchsorted(np.flatnonzero(drawing), at)
                values = self._numbers.drawn(numbered, among, streams)
            for position, number in zip(at.tolist(), values, strict=True):
                outputs[position] = number
            rows[at] = -1
        public, public_marks = self._public_of(codes, drawing if first is None else first, marks)
        actions = result.actions_of(codes, self._built.space.n)
        lines, outputs = self._written(batch, rows, outputs, continued=continued)
        table = None
        if texts.audit:
            undecoded = None
            if self._built.decoding is not None:
                undecoded = [None if row < 0 else self.words[row] for row in rows.tolist()]
            gaps, read = batch.gap_lengths()
            table = result.AuditTable(
                sizes, gaps, read, actions, [*words], outputs, codes, rows, first, undecoded
            )
        many, kinds = drawn.tolist(), self._codes.by_kind(codes[drawing])
        about = result.counts_of(actions), table, public, batch.invisible, marks, public_marks
        return result.Sanitized(lines, many, many, *about, by_kind=kinds, forms=forms)

    def _public_of(
        self, codes: Ids, drawn: Mask, marks: NDArray[np.uint64] | None
    ) -> tuple[int, NDArray[np.uint64] | None]:
        """Return the number of draws of public words, and their marks."""
        if not self._built.public:
            return 0, None
        public = self._public[codes[drawn]]
        return int(public.sum()), None if marks is None else marks[public]

    def _written(
        self, batch: Batch, rows: Ids, outputs: list[str], *, continued: bool
    ) -> tuple[list[str], list[str]]:
        """Decode the drawn words if they are to read; return texts, and what stands in them.

        Args:
            rows: the row number of each drawn word, negative where nothing was drawn.
            outputs: the string that is written for each word.
            continued: see :meth:`_rewrite`.
        """
        codes = batch.codes
        if self._built.decoding is not None:
            rows, outputs = self._fluent.of_texts(rows, outputs, gap_kinds(batch))
        articles = np.isin(rows, self._drawn_articles)
        may_be = articles | (codes == OUTSIDE) if self._articles_agree else articles
        hidden = (codes >= 0) | (codes == MASKED)
        agree(outputs, batch.gaps, hidden, np.flatnonzero(may_be).tolist())
        if self._natural is not None:
            self._natural.write(batch, outputs, rows, continued=continued)
        return batch.lines(outputs), outputs

    def survey(self, text: result.Texts) -> result.Sanitized:
        """Return the counts of rewriting a text, without drawing a word and without a line."""
        parts = []
        for pieces in segments(text.texts[0], self.lookup.split):
            batch = self.lookup.of_split([pieces])
            drawing = batch.codes >= 0
            public, _ = self._public_of(batch.codes, drawing, None)
            counts = result.counts_of(result.actions_of(batch.codes, self._built.space.n))
            drawn, kinds = [int(drawing.sum())], self._codes.by_kind(batch.codes[drawing])
            about = counts, None, public, batch.invisible
            parts.append(result.Sanitized([], drawn, drawn, *about, by_kind=kinds))
        return result.joined(result.together(parts), [len(parts)])

    def _outputs(self, words: Words, codes: Ids, drawing: Mask, chosen: Ids) -> list[str]:
        """Return the output string of each word."""
        written: list[str] = self.words[chosen].tolist()
        if len(chosen) == len(codes):
            return written
        out = np.full(len(codes), MASK, dtype=object)
        out[drawing] = written
        passing = np.flatnonzero((codes < 0) & (codes != MASKED))
        out[passing] = words.some(passing)
        return [*out]
