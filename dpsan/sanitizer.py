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
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan import rng
from dpsan.cache import Store
from dpsan.calibrate import Draft, epsilon_for_ldp
from dpsan.embeddings.base import Embeddings
from dpsan.errors import UnprovedError, UsageError, unknown_name
from dpsan.guarantee import Guarantee, Status
from dpsan.library import Opening, space_of
from dpsan.lookup import KEPT, MASKED, PASSED, Lookup
from dpsan.mechanisms import DEFAULT_MECHANISM
from dpsan.retention import expected_unchanged
from dpsan.runspec import ACTIONS, Action, AuditTable, RunSpec, Sanitized
from dpsan.space import MetricSpace
from dpsan.text import TOKENIZERS
from dpsan.unknown import MASK, UnknownPolicy

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
        if epsilon is not None and epsilon_ldp is not None:
            raise UsageError("epsilon and epsilon_ldp exclude each other")
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
    ) -> Sanitizer:
        """A sanitizer from a run's description.

        Args:
            spec: the description.
            store: the cache.
            seed: makes the output repeatable, and not private.
            opened: gives what :func:`open_space` would for the same file: an :class:`Opening`
                begun earlier, or what several share.
        """
        self = cls.__new__(cls)
        self._open(spec, None, store, seed, opened)
        return self

    def _open(
        self,
        spec: RunSpec,
        loaded: Embeddings | None,
        store: Store,
        seed: str | None,
        opened: Callable[[], tuple[Embeddings, MetricSpace]] | None = None,
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
            spec = replace(spec, epsilon=epsilon_for_ldp(draft, space, certified))
            self.mechanism = spec.build()
        self.spec = spec
        self._set_up(embeddings, space, certified)
        self._records = 0
        self._begun = False
        self._made: tuple[NDArray[np.object_], Lookup] | None = None

    def _set_up(self, embeddings: Embeddings, space: MetricSpace, certified: float) -> None:
        self.embeddings, self.space = embeddings, space
        self.mechanism = self.mechanism.with_vocabulary(lambda: embeddings.key_to_index)
        self.mechanism = self.mechanism.resolved(space)
        guarantee = self.mechanism.guarantee(space)
        if certified < guarantee.epsilon_ldp:
            why = f"{guarantee.why}; the LDP epsilon by an exact certificate"
            guarantee = replace(guarantee, epsilon_ldp=certified, why=why)
        if guarantee.status is not Status.PROVED and not self.spec.allow_unproved:
            raise UnprovedError(
                f"{self.mechanism.name} is {guarantee.status}: {guarantee.summary()}; "
                f"{guarantee.why}",
                "--allow-unproved runs it all the same",
            )
        self.guarantee: Guarantee = guarantee
        self._sampler = self.mechanism.prepare(space)

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
            self._draw(np.zeros(1, dtype=np.int64), rng.streams_for(bytes(rng.KEY_BYTES), [0], [1]))

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

    def rewrite(self, texts: Iterable[str]) -> list[str]:
        """Sanitize texts; one output for each, in order.

        Works with any iterable of strings: lists, pandas and polars columns, batches of
        ``datasets.map``.
        """
        lines = [_checked(text) for text in texts]
        if self._seed is None:
            return self.sanitize(lines, rng.new_key()).lines
        # A public seed: later calls continue the numbering, so that they differ.
        first, self._records = self._records, self._records + len(lines)
        key = rng.derive_key(rng.seeded_key(self._seed), "file", 0, "copy", 0)
        return self.sanitize(lines, key, range(first, self._records)).lines

    def sanitize(
        self,
        texts: Sequence[str],
        key: bytes,
        records: Sequence[int] | None = None,
        *,
        audit: bool = False,
    ) -> Sanitized:
        """Sanitize a batch of texts under a key.

        Args:
            texts: any strings; white space and punctuation are passed through.
            key: see :mod:`dpsan.rng`; must be fresh and secret for the output to be private.
            records: the number of each text under this key, all different; default 0, 1, 2 ...
            audit: also return one record for each word.
        """
        self._begin()
        split, words, codes = self._lookup.texts(texts)
        sizes = np.fromiter(map(len, split), dtype=np.int64, count=len(split)) // 2
        drawing = codes >= 0
        drawn = sizes if drawing.all() else _sums(drawing, sizes)
        numbers = range(len(texts)) if records is None else records
        chosen = self._draw(codes[drawing], rng.streams_for(key, numbers, drawn.tolist()))
        outputs = self._outputs(words, codes, drawing, chosen)
        actions = np.where(drawing, codes == self.space.n, _PLACES[np.minimum(codes, -1)])
        table = None
        if audit:
            output_ids = np.full(len(codes), -1, dtype=np.int64)
            output_ids[drawing] = chosen
            starts = _starts(split, sizes)
            table = AuditTable(sizes, starts, actions, words, outputs, codes, output_ids)
        at = 0
        for pieces, size in zip(split, sizes.tolist(), strict=True):
            pieces[1::2] = outputs[at : at + size]
            at += size
        counts = np.bincount(actions, minlength=len(Action)).tolist()
        return Sanitized(
            list(map("".join, split)), drawn.tolist(), dict(zip(Action, counts, strict=True)), table
        )

    def _draw(self, ids: Ids, streams: rng.Streams) -> Ids:
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
    return rng.new_key() if seed is None else rng.seeded_key(seed)


def _rebuild(spec: RunSpec, loaded: Embeddings | None, root: Path, seed: str | None) -> Sanitizer:
    self = Sanitizer.__new__(Sanitizer)
    self._open(spec, loaded, Store(root), seed)
    return self


def _checked(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"texts must be strings (got {type(text).__name__})")
    return text


def _recase(original: str, output: str) -> str:
    """The output with the capital pattern of the original (all, first or none)."""
    if len(original) > 1 and original.isupper():
        return output.upper()
    if original[:1].isupper():
        return output[:1].upper() + output[1:]
    return output
