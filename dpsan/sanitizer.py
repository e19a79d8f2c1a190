"""Text in, sanitized text out: tokenizer, unknown words, mechanism.

Knows strings and samplers.  Must not know files, streams or command lines: no I/O but for opening
the vocabulary in :func:`build`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
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
from dpsan.library import open_space, space_of
from dpsan.mechanisms import DEFAULT_MECHANISM
from dpsan.runspec import Action, AuditRecord, RunSpec, Sanitized
from dpsan.space import MetricSpace
from dpsan.text import TOKENIZERS, lookup_keys, subwords
from dpsan.unknown import MASK, UnknownPolicy

__all__ = ["Sanitizer", "run_key"]

_KEPT: Final = -1
_MASKED: Final = -2
_PASSED: Final = -3
_CACHE_TOKENS: Final = 200_000


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
    def from_spec(cls, spec: RunSpec, store: Store, seed: str | None = None) -> Sanitizer:
        """A sanitizer from a run's description."""
        self = cls.__new__(cls)
        self._open(spec, None, store, seed)
        return self

    def _open(
        self, spec: RunSpec, loaded: Embeddings | None, store: Store, seed: str | None
    ) -> None:
        kind = spec.kind()  # before the slow part: usage errors come at once
        if spec.epsilon is not None or spec.epsilon_ldp is None:
            self.mechanism = spec.build()
        self._loaded, self._store, self._seed = loaded, store, seed
        embeddings, space = (
            (loaded, space_of(loaded, store))
            if loaded is not None
            else open_space(spec.embeddings, spec.vocab_size, store)
        )
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

    def _set_up(self, embeddings: Embeddings, space: MetricSpace, certified: float) -> None:
        self.embeddings, self.space = embeddings, space
        self.mechanism = self.mechanism.with_vocabulary(embeddings.key_to_index).resolved(space)
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
        self._split = TOKENIZERS[self.spec.tokenizer].split
        self._words: NDArray[np.object_] = np.array(embeddings.index_to_key, dtype=object)
        self._row = embeddings.key_to_index
        self._keep = {key for word in self.spec.keep for key in lookup_keys(word)}
        self._unknown: int = {
            UnknownPolicy.SAMPLE: space.n,
            UnknownPolicy.MASK: _MASKED,
            UnknownPolicy.KEEP: _PASSED,
        }[self.spec.unknown]
        self._codes: dict[str, int | list[str]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.spec, self._loaded, self._store.root, self._seed)

    # -- looking words up ------------------------------------------------------------------------

    def input_of(self, text: str) -> int | None:
        """The mechanism's input that a one-word text stands for.

        Returns:
            A row number, n for ⊥, a negative number if nothing is drawn, None if the text is not
            one word.
        """
        pieces, codes = self._look_up(text)
        return codes[0] if len(codes) == 1 and pieces[1] == text else None

    def _code(self, token: str) -> int | list[str]:
        """Row number of a token, a negative code, or the pieces it must be split into."""
        if len(self._codes) >= _CACHE_TOKENS:
            self._codes.clear()
        code = self._resolve(token)
        self._codes[token] = code
        return code

    def _resolve(self, token: str) -> int | list[str]:
        row: int | None = None
        for key in lookup_keys(token):
            if key in self._keep:
                return _KEPT
            if row is None:
                row = self._row.get(key)
        if row is not None:
            return row
        pieces = subwords(token)
        if pieces is None or not self._useful(pieces):
            return self._unknown
        return pieces

    def _useful(self, pieces: list[str]) -> bool:
        """Contractions are split only into known words; everything else is split always."""
        if len(pieces) == 5 and pieces[2] == "":
            return all(isinstance(self._resolve(p), int) and self._known(p) for p in pieces[1::2])
        return True

    def _known(self, token: str) -> bool:
        return any(key in self._row or key in self._keep for key in lookup_keys(token))

    def _look_up(self, line: str) -> tuple[list[str], list[int]]:
        """Split a line: alternating pieces, and a code for each word."""
        pieces = self._split(line)
        get, code = self._codes.get, self._code
        codes = [found if (found := get(word)) is not None else code(word) for word in pieces[1::2]]
        if any(type(each) is list for each in codes):
            return self._expand(pieces)
        return pieces, codes  # type: ignore[return-value]

    def _expand(self, pieces: list[str]) -> tuple[list[str], list[int]]:
        """Put the pieces of unknown compounds in place, until every word has a code."""
        out, codes = [pieces[0]], []
        for at in range(1, len(pieces), 2):
            code = self._codes.get(pieces[at])
            if code is None:
                code = self._code(pieces[at])
            if isinstance(code, int):
                out += (pieces[at], pieces[at + 1])
                codes.append(code)
            else:
                inner, found = self._expand(code)
                out[-1] += inner[0]
                out += inner[1:]
                out[-1] += pieces[at + 1]
                codes += found
        return out, codes

    # -- sanitizing ------------------------------------------------------------------------------

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
        split = [self._look_up(text) for text in texts]
        n = self.space.n
        drawn = [sum(code >= 0 for code in codes) for _, codes in split]
        ids = np.array([c for _, codes in split for c in codes if c >= 0], dtype=np.int64)
        numbers = range(len(texts)) if records is None else records
        streams = rng.streams_for(key, numbers, drawn)
        chosen = np.empty(len(ids), dtype=np.int64)
        at = 0
        for part in streams.chunks(
            self._sampler.batch_words, whole_records=self._sampler.whole_records
        ):
            end = at + len(part)
            chosen[at:end] = self._sampler.sample(ids[at:end], part)
            at = end
        outputs: list[str] = self._words[chosen].tolist()
        counts = dict.fromkeys(Action, 0)
        counts[Action.UNKNOWN] = int((ids == n).sum())
        counts[Action.REPLACED] = len(ids) - counts[Action.UNKNOWN]
        rows: list[AuditRecord] | None = [] if audit else None
        lines: list[str] = []
        at = 0
        for record, (pieces, codes) in enumerate(split):
            if drawn[record] == len(codes) and rows is None and self.spec.case == "vocabulary":
                pieces[1::2] = outputs[at : at + len(codes)]
                at += len(codes)
            else:
                at = self._fill(record, pieces, codes, outputs, chosen, at, counts, rows)
            lines.append("".join(pieces))
        return Sanitized(lines, drawn, counts, rows)

    def _fill(
        self,
        record: int,
        pieces: list[str],
        codes: list[int],
        outputs: list[str],
        chosen: NDArray[np.int64],
        at: int,
        counts: dict[Action, int],
        rows: list[AuditRecord] | None,
    ) -> int:
        """Put the outputs of one text in place, the long way; returns the next output's place."""
        position = 0
        for word, code in enumerate(codes):
            place = 2 * word + 1
            original = pieces[place]
            output_id = -1
            if code >= 0:
                action = Action.UNKNOWN if code == self.space.n else Action.REPLACED
                output, output_id = outputs[at], int(chosen[at])
                if self.spec.case == "input":
                    output = _recase(original, output)
                at += 1
            elif code == _MASKED:
                action, output = Action.UNKNOWN, MASK
                counts[action] += 1
            else:
                action = Action.KEPT if code == _KEPT else Action.PASSED
                output = original
                counts[action] += 1
            pieces[place] = output
            if rows is not None:
                position += len(pieces[place - 1])
                end = position + len(original)
                rows.append(
                    AuditRecord(record, position, end, action, original, output, code, output_id)
                )
                position = end
        return at


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
