"""Text in, sanitized text out: tokenizer, unknown words, mechanism.

Knows strings and samplers.  Must not know files, streams or command lines: no I/O but for opening
the vocabulary in :func:`build`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.cache.store import Store
from dpsan.embeddings.word_lists import WordLists
from dpsan.errors import Hint, UnprovedError, UsageError, check_positive, unknown_name
from dpsan.mechanisms import DEFAULT_MECHANISM
from dpsan.outcomes.calibrate import Draft, epsilon_for_ldp
from dpsan.outcomes.retention import expected_unchanged
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Guarantee, Status
from dpsan.sanitize.request import ACTIONS, Action, AuditTable, RunSpec, Sanitized, together
from dpsan.space.library import Opening, space_of
from dpsan.space.metric_space import MetricSpace
from dpsan.text.long_text import LONG, LongText, Text, stretches
from dpsan.text.lookup import KEPT, MASKED, PASSED, Lookup
from dpsan.text.out_of_vocabulary import MASK, UnknownPolicy
from dpsan.text.tokens import TOKENIZERS, write_gaps

__all__ = ["Sanitizer", "run_key"]

Ids = NDArray[np.int64]

_ACTIONS: Final = {KEPT: Action.KEPT, MASKED: Action.MASKED, PASSED: Action.PASSED}
_PLACES: Final = np.array([ACTIONS.index(_ACTIONS[code]) for code in sorted(_ACTIONS)])
"""Places in ACTIONS of what negative codes mean, indexed by the code."""


class Sanitizer:
    """Sanitize texts word by word with differential privacy.

    Every call of :meth:`rewrite` draws a fresh secret key from the operating system, so copies of
    a sanitizer in other processes never share random numbers.

    Args:
        mechanism: registry name.
        epsilon: privacy parameter in the mechanism's unit, > 0.
        epsilon_ldp: instead of epsilon: the certified LDP epsilon to find it for, in nats.
        embeddings: file, loaded embeddings, or None for the bundled vocabulary.
        parameters: further parameters of the mechanism.
        unknown: ``sample`` (inside the guarantee), ``mask`` or ``keep`` (NOT PRIVATE).
        keep: words passed through unchanged, in any case; not protected.
        case: ``vocabulary``, or ``input`` to re-apply capitals (which leaks them).
        tokenizer: ``unicode``, ``ptb`` or ``whitespace``.
        vocab_size: use only the first so many words of the file.
        seed: repeatable output for tests; NOT PRIVATE.
        allow_unproved: accept a mechanism whose status is not PROVED.
        cache: directory for indexes and tables; default the user's cache.

    Raises:
        UsageError: a value outside its domain.
        EmbeddingError: the embedding file cannot be used.
    """

    def __init__(
        self,
        mechanism: str = DEFAULT_MECHANISM,
        *,
        epsilon: float | None = None,
        epsilon_ldp: float | None = None,
        embeddings: Path | str | Embeddings | None = None,
        parameters: dict[str, Any] | None = None,
        unknown: str = "sample",
        keep: Iterable[str] = (),
        case: str = "vocabulary",
        tokenizer: str = "unicode",
        vocab_size: int | None = None,
        seed: str | int | None = None,
        allow_unproved: bool = False,
        cache: Path | str | Store | None = None,
    ) -> None:
        if epsilon is not None and epsilon_ldp is not None:
            raise UsageError("epsilon and epsilon_ldp exclude each other")
        if epsilon_ldp is not None:
            check_positive("epsilon_ldp", epsilon_ldp)
        if isinstance(keep, str):  # its letters would be kept
            raise UsageError("keep must be a list of words (got a string)", "such as keep=['IBM']")
        if unknown not in list(UnknownPolicy):
            raise unknown_name("policy for unknown words", unknown, list(UnknownPolicy))
        loaded = embeddings if isinstance(embeddings, Embeddings) else None
        path = None if embeddings is None or loaded is not None else Path(str(embeddings))
        spec = RunSpec(
            epsilon=epsilon,
            mechanism=mechanism,
            parameters=dict(parameters or {}),
            embeddings=path,
            vocab_size=vocab_size,
            tokenizer=tokenizer,
            unknown=UnknownPolicy(unknown),
            keep=frozenset(keep),
            case=case,
            allow_unproved=allow_unproved,
            epsilon_ldp=epsilon_ldp,
        )
        store = cache if isinstance(cache, Store) else Store(None if cache is None else Path(cache))
        self._open(spec, loaded, store, None if seed is None else str(seed))

    @classmethod
    def from_spec(
        cls,
        spec: RunSpec,
        store: Store,
        seed: str | None = None,
        *,
        opened: Callable[[], tuple[Embeddings, MetricSpace]] | None = None,
        told: Callable[[str], None] = lambda _: None,
    ) -> Sanitizer:
        """A sanitizer from a run's description.

        Args:
            spec: the description.
            store: the cache.
            seed: makes the output repeatable, and not private.
            opened: gives what :func:`open_space` would for the same file: an :class:`Opening`
                begun earlier, or what several share.
            told: each epsilon that is tried for ``epsilon_ldp``.
        """
        self = cls.__new__(cls)
        self._open(spec, None, store, seed, opened, told)
        return self

    def _open(
        self,
        spec: RunSpec,
        loaded: Embeddings | None,
        store: Store,
        seed: str | None,
        opened: Callable[[], tuple[Embeddings, MetricSpace]] | None = None,
        told: Callable[[str], None] = lambda _: None,
    ) -> None:
        kind = spec.kind()  # before the slow part: usage errors come at once
        if spec.epsilon is not None or spec.epsilon_ldp is None:
            self.mechanism = spec.build()
        self._loaded, self._store, self._seed = loaded, store, seed
        if loaded is not None:
            embeddings, space = loaded, space_of(loaded, store)
        else:
            opened = opened or Opening(spec.embeddings, spec.vocab_size, store)
            embeddings, space = opened()
        certified = math.inf
        if spec.epsilon is None and spec.epsilon_ldp is not None:
            certified = spec.epsilon_ldp
            draft = Draft(kind, spec.parameters, embeddings.key_to_index)
            # Workers get the value that was found here.
            spec = replace(spec, epsilon=epsilon_for_ldp(draft, space, certified, told))
            self.mechanism = spec.build()
        self.spec = spec
        self._set_up(embeddings, space, certified)
        self._records = 0
        self._begun = False
        self._made: tuple[NDArray[np.object_], Lookup] | None = None

    def _set_up(self, embeddings: Embeddings, space: MetricSpace, certified: float) -> None:
        self.embeddings, self.space = embeddings, space
        self.mechanism = self.mechanism.with_vocabulary(WordLists(lambda: embeddings.key_to_index))
        self.mechanism = self.mechanism.resolved(space)
        guarantee = self.mechanism.guarantee(space)
        if certified < guarantee.epsilon_ldp:
            why = f"{guarantee.why}; the LDP epsilon by an exact certificate"
            guarantee = replace(guarantee, epsilon_ldp=certified, why=why)
        if guarantee.status is not Status.PROVED and not self.spec.allow_unproved:
            raise UnprovedError(
                f"{self.mechanism.name} is {guarantee.status}: {guarantee.summary()}; "
                f"{guarantee.why}",
                Hint(
                    "allow_unproved=True runs it all the same",
                    "--allow-unproved runs it all the same",
                ),
            )
        self.guarantee: Guarantee = guarantee
        self._sampler = self.mechanism.prepare(space)

    @property
    def seeded(self) -> bool:
        """Whether the random numbers are public."""
        return self._seed is not None

    @property
    def _words(self) -> NDArray[np.object_]:
        return self._strings()[0]

    @property
    def _lookup(self) -> Lookup:
        return self._strings()[1]

    def _strings(self) -> tuple[NDArray[np.object_], Lookup]:
        """The words as an array, and what finds them; made with the first text."""
        if self._made is None:
            self._made = np.array(self.embeddings.index_to_key, dtype=object), self._new_lookup()
        return self._made

    def _new_lookup(self) -> Lookup:
        unknown = {
            UnknownPolicy.SAMPLE: self.space.n,
            UnknownPolicy.MASK: MASKED,
            UnknownPolicy.KEEP: PASSED,
        }[self.spec.unknown]
        split = TOKENIZERS[self.spec.tokenizer].split
        return Lookup(split, self.embeddings.key_to_index, self.spec.keep, unknown)

    def warm_up(self) -> None:
        """Make the first draw now, when nobody waits, and throw it away: the next is quick."""
        if self._begin():
            self._strings()
            self._draw(
                np.zeros(1, dtype=np.int64),
                randomness.streams_for(bytes(randomness.KEY_BYTES), [0], [1]),
            )

    @cached_property
    def expected_unchanged(self) -> float:
        """Share of the vocabulary's words that are expected to come out as themselves; public."""
        self._begin()
        return expected_unchanged(self._sampler, self.space)

    def _begin(self) -> bool:
        """Whether it is the first time; then libraries load while threads read the vectors."""
        first, self._begun = not self._begun, True
        if first:
            self.embeddings.begin(vectors=self.mechanism.reads_vectors)
            self._sampler.load_libraries()
        return first

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.spec, self._loaded, self._store.root, self._seed)

    def input_of(self, text: str) -> int | None:
        """The mechanism's input that a one-word text stands for.

        Returns:
            A row number, n for ⊥, a negative number if nothing is drawn, None if the text is not
            one word.
        """
        split, _, codes = self._lookup.texts([text])
        return int(codes[0]) if len(codes) == 1 and split[0][1] == text else None

    def __repr__(self) -> str:
        # No word of the keep-list, and no seed.
        return (
            f"Sanitizer({self.mechanism.name!r}, epsilon={self.mechanism.epsilon:g}, "
            f"embeddings={self.embeddings!r}, status={str(self.guarantee.status)!r})"
        )

    @overload
    def rewrite(self, texts: str) -> str: ...  # type: ignore[overload-overlap]

    @overload
    def rewrite(self, texts: Iterable[str]) -> list[str]: ...

    @overload
    def rewrite(self, texts: Iterable[str | None]) -> list[str | None]: ...

    def rewrite(self, texts: str | Iterable[str | None]) -> str | list[str] | list[str | None]:
        """Sanitize a text, or texts: one output for each, in order.

        Works with any iterable of strings: lists, pandas and polars columns, batches of
        ``datasets.map``.

        Args:
            texts: a string, or an iterable of strings; None in it stays None.

        Returns:
            A string for a string, else a list.

        Raises:
            TypeError: anything else than strings and None.
        """
        if isinstance(texts, str):
            return self.rewrite([texts])[0]
        every = [_checked(text) for text in texts]
        places = [at for at, text in enumerate(every) if text is not None]
        lines = [text for text in every if text is not None]
        if self._seed is None:
            found = self.sanitize(lines, randomness.new_key()).lines
        else:
            # A public seed: later calls continue the numbering, so that they differ.
            first, self._records = self._records, self._records + len(every)
            key = randomness.derive_key(randomness.seeded_key(self._seed), "file", 0, "copy", 0)
            found = self.sanitize(lines, key, [first + at for at in places]).lines
        written = list(map(str, found))
        if len(lines) == len(every):
            return written
        rest = iter(written)
        return [None if text is None else next(rest) for text in every]

    def sanitize(
        self,
        texts: Sequence[Text],
        key: bytes,
        records: Sequence[int] | None = None,
        *,
        audit: bool = False,
    ) -> Sanitized:
        """Sanitize a batch of texts under a key.

        Args:
            texts: any strings; white space and punctuation are passed through, invisible
                characters are dropped.
            key: see :mod:`dpsan.privacy.randomness`; must be fresh and secret for the output to
                be private.
            records: the number of each text under this key, all different; default 0, 1, 2 ...
            audit: also return one record for each word.

        Returns:
            For each text one of the same kind: a string, or a long text.
        """
        self._begin()
        numbers = range(len(texts)) if records is None else records
        # Rows of an audit take more than the words do, and some noise is that of a whole text.
        whole = audit or self._sampler.whole_records
        long = [] if whole else [at for at, text in enumerate(texts) if len(text) > LONG]
        parts, at = [], 0
        for place in [*long, len(texts)]:
            split = [self._lookup.split(str(text)) for text in texts[at:place]]
            parts.append(self._sanitize(split, key, numbers[at:place], audit=audit))
            if place < len(texts):
                parts.append(self._in_stretches(texts[place], key, numbers[place]))
            at = place + 1
        return parts[0] if len(parts) == 1 else together(parts)

    def _in_stretches(self, text: Text, key: bytes, number: int) -> Sanitized:
        """A long text, as many words at a time as are soon done."""
        out: LongText | list[Text] = LongText() if isinstance(text, LongText) else []
        done, drawn = [], 0
        for pieces in stretches(text, self._lookup.split):
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
        split, words, codes = self._lookup.coded(split)
        sizes = np.fromiter(map(len, split), dtype=np.int64, count=len(split)) // 2
        drawing = codes >= 0
        drawn = sizes if drawing.all() else _sums(drawing, sizes)
        streams = randomness.streams_for(key, numbers, drawn.tolist(), before=before)
        chosen = self._draw(codes[drawing], streams)
        outputs = self._outputs(words, codes, drawing, chosen)
        actions = np.where(drawing, codes == self.space.n, _PLACES[np.minimum(codes, -1)])
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
        sampler = self._sampler
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
        new: NDArray[np.object_] = self._words[chosen]
        recased = self.spec.case == "input"
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


def run_key(seed: str | None) -> bytes:
    """The key of a run: fresh and secret, or public and repeatable with a seed."""
    return randomness.new_key() if seed is None else randomness.seeded_key(seed)


def _rebuild(spec: RunSpec, loaded: Embeddings | None, root: Path, seed: str | None) -> Sanitizer:
    self = Sanitizer.__new__(Sanitizer)
    self._open(spec, loaded, Store(root), seed)
    return self


def _checked(text: object) -> str | None:
    if text is not None and not isinstance(text, str):
        raise TypeError(f"texts must be strings or None (got {type(text).__name__})")
    return text


def _recase(original: str, output: str) -> str:
    """The output with the capital pattern of the original (all, first or none)."""
    if len(original) > 1 and original.isupper():
        return output.upper()
    if original[:1].isupper():
        return output[:1].upper() + output[1:]
    return output
