"""The public entry: build a request into a sanitizer of texts, with a key for each call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, TypeVar, overload

from dpsan.embeddings.store import Store
from dpsan.embeddings.words import Embeddings
from dpsan.errors import refuse, unknown_name
from dpsan.mechanisms.tables import Sampler
from dpsan.outcomes.distributions import expected_share_of, expected_unchanged
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Guarantee
from dpsan.sanitize import result, statement
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.classes import Grouping
from dpsan.sanitize.consistent import Distinct, NumberPolicy, Unit, check_unit_of_texts
from dpsan.sanitize.rewriting import Opened, Rewriter, build
from dpsan.sanitize.settings import DEFAULT_MECHANISM, ELSEWHERE, SETTINGS, Settings
from dpsan.space.cached_index import open_space, space_of
from dpsan.text.letter_case import LetterCase
from dpsan.text.spanned_tokens import Spans, spans_of, strings_of

if TYPE_CHECKING:
    from dpsan.outcomes.text_likelihood import HalfLinked
    from dpsan.sanitize.decided import DecidedTexts
    from dpsan.sanitize.replacing import OnlyRewriter

_Text = TypeVar("_Text", bound=str | None)


class Sanitizer:
    """Sanitize texts word by word with differential privacy.

    Every call of :meth:`rewrite` draws a fresh secret key from the operating system, so copies of
    a sanitizer in other processes never share random numbers.

    Args:
        mechanism: registry name.
        epsilon: privacy parameter in the mechanism's unit, > 0.
        embeddings: file, loaded embeddings, or None for the bundled vocabulary.
        parameters: further parameters of the mechanism.
        unknown: ``sample`` (inside the guarantee) or ``mask``.
        keep: words passed through unchanged, in any case; not protected: infinite loss.
        public: words that need no protection: ``function``, ``common``, or an iterable of words.
            The guarantee is for all other strings; an output among them says what the input was.
        case: ``natural`` (usual spellings, a capital where a sentence begins) or ``vocabulary``
            (as the vocabulary has it).
        tokenizer: ``unicode``, ``ptb`` or ``whitespace``.
        consistent: ``record`` gives equal words of a string one output, ``run`` all of this object;
            which are equal is not protected. Default ``off``, with ``only`` ``record``.
        numbers: ``word``, or ``value``: a number becomes one of the same form, mostly near it;
            which words are numbers, and their form, is then not protected.
        only: replace words of these classes only (``sensitive``, ``people``, ``names,places``, or
            ``spans`` alone) by random words of their groups; others pass, not protected.
        roles: ``off`` draws all names from one group and all places from another (``only``).
        classes: ``sensitive``: each group of these classes is one input of the mechanism, and a
            string of a kind (``contacts,ids``) becomes a made-up one.
        fluent: decode the drawn words by a public language model; the guarantee stays.
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
        embeddings: Path | str | Embeddings | None = None,
        parameters: dict[str, Any] | None = None,
        unknown: str = "sample",
        keep: Iterable[str] = (),
        public: str | Iterable[str] | None = None,
        case: str = LetterCase.NATURAL,
        tokenizer: str = "unicode",
        vocab_size: int | None = None,
        consistent: str | None = None,
        numbers: str = NumberPolicy.WORD,
        only: str | None = None,
        roles: str = "on",
        classes: str | None = None,
        fluent: bool = False,
        seed: str | int | None = None,
        allow_unproved: bool = False,
        cache: Path | str | Store | None = None,
        **more: Never,
    ) -> None:
        for name in more:
            hint = ELSEWHERE.get(name, "")
            refuse(hint, f"unknown argument '{name}'", hint)
            raise unknown_name("argument", name, [*SETTINGS, "seed", "cache"])
        wrong = not isinstance(cache, str | Path | Store | None)
        refuse(wrong, f"cache must be the name of a directory (got {type(cache).__name__})")
        given = {name: value for name, value in locals().items() if name in SETTINGS}
        loaded = embeddings if isinstance(embeddings, Embeddings) else None
        path = Path(str(embeddings)) if embeddings is not None and loaded is None else None
        check_unit_of_texts(consistent)
        spec = Settings.read(**given | {"embeddings": path})
        store = cache if isinstance(cache, Store) else Store(None if cache is None else Path(cache))
        self._loaded, self._store, self._seed = loaded, store, None if seed is None else str(seed)
        self._set_up(spec)

    @classmethod
    def from_spec(
        cls,
        spec: Settings,
        store: Store | Path,
        seed: str | None = None,
        loaded: Embeddings | None = None,
        *,
        opened: Opened | None = None,
    ) -> Sanitizer:
        """Return a sanitizer from a request.

        Args:
            spec: the request.
            store: the cache, or its directory.
            seed: makes the output repeatable, and not private.
            loaded: embeddings that are of no file.
            opened: gives what :func:`open_space` would for the same file, where several share it.
        """
        self = cls.__new__(cls)
        self._loaded, self._seed = loaded, seed
        self._store = store if isinstance(store, Store) else Store(store)
        self._set_up(spec, opened)
        return self

    def _set_up(self, spec: Settings, opened: Opened | None = None) -> None:
        loaded, store = self._loaded, self._store
        opened = opened or partial(open_space, spec.embeddings, spec.vocab_size, store)
        built = build(spec, opened if loaded is None else lambda: (loaded, space_of(loaded, store)))
        self.spec, self.embeddings, self.space = built.spec, built.embeddings, built.space
        self.mechanism = built.mechanism
        self.guarantee: Guarantee = built.guarantee
        self.public = built.public
        """Row numbers of public words, ascending."""
        self.language_model = built.language_model
        """SHA-256 of the language model that drawn words are decoded by."""
        self.grouping: Grouping = built.grouping
        """Groups of words that are one input."""
        self._rewriter: Rewriter | OnlyRewriter
        if spec.only:  # rules and lists are loaded where they are needed
            from dpsan.sanitize.replacing import OnlyRewriter

            self._rewriter = OnlyRewriter(spec, built.guarantee.epsilon_ldp)
        else:
            self._rewriter = Rewriter(built)
        self._records = 0
        # Never pickled: a copy in another process draws a key of its own.
        self._key = randomness.derive_key(run_key(self._seed), "run", "copy", 0)

    def by_text(self) -> Sanitizer:
        """Return the same for texts that have nothing in common: each is a unit of its own."""
        of_texts = self.spec.consistent in (None, Unit.RECORD)
        return self if of_texts else self._with(replace(self.spec, consistent=Unit.RECORD))

    def by_unit(self) -> Sanitizer:
        """Return the same for messages of units, see :class:`dpsan.run.memo.Memo`."""
        return self if self.spec.consistent is Unit.UNIT else self._with(self.spec.of_units())

    def _with(self, spec: Settings) -> Sanitizer:
        opened = self.embeddings, self.space
        return Sanitizer.from_spec(spec, self._store, self._seed, opened=lambda: opened)

    @property
    def seeded(self) -> bool:
        """Return True if the random numbers are public."""
        return self._seed is not None

    def accountant(self, *, whole_run: bool = False) -> Accountant:
        """Empty totals: of a file or a part of it, or of a whole run."""
        counts = self.spec.consistent in (Unit.RUN, *[Unit.FILE] * (not whole_run))
        distinct = Distinct() if counts else None
        return Accountant(self.guarantee, self.mechanism.epsilon, distinct=distinct)

    @property
    def sampler(self) -> Sampler:
        """Return the sampler of words; there is none where classes are replaced alone."""
        return self._drawing.sampler

    @property
    def _drawing(self) -> Rewriter:
        assert isinstance(self._rewriter, Rewriter)  # noqa: S101 - the caller knows the request
        return self._rewriter

    @property
    def replaced_classes(self) -> tuple[str | None, ...]:
        """Return the class of each kind of drawn words; empty without classes."""
        return (self.replacing or self.grouping).classes

    @property
    def replacing(self) -> OnlyRewriter | None:
        """Return what replaces words of some classes; None where a mechanism draws."""
        return None if isinstance(self._rewriter, Rewriter) else self._rewriter

    def warm_up(self) -> None:
        """Make the first draw now, when nobody waits, and throw it away: the next is quick."""
        self._rewriter.warm_up()

    @cached_property
    def expected_unchanged(self) -> float:
        """Expected share of unchanged words among those that are protected; public."""
        if self.spec.only:
            return 0.0
        self._drawing.begin()
        return expected_unchanged(self.sampler, self.space, self.public)

    def expected_share(self, totals: Accountant) -> float:
        """Return the expected share of unchanged words among the drawn words of a run.

        An out-of-vocabulary word is never unchanged: no output is such a word.
        """
        words, forms = totals.by_kind, totals.forms.unchanged
        if self.replacing:
            return forms / max(words.total(), 1)
        if not self.grouping.classed or not words.total():
            return statement.expected_share(self.expected_unchanged, totals.counts)
        kinds = self.grouping.kinds[: self.space.n]  # in each, public frequencies count
        share = partial(expected_share_of, self.sampler, self.space)
        return sum((n * share(kinds == kind) for kind, n in words.items()), forms) / words.total()

    @cached_property
    def half_linked(self) -> HalfLinked | None:
        """Words by which half of the texts are linked to their originals; None if not known."""
        from dpsan.outcomes.text_likelihood import half_linked

        # Unchanged words identify the text.
        return None if self.spec.only else half_linked(self.mechanism, self.space)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.from_spec, (self.spec, self._store.root, self._seed, self._loaded)

    def input_of(self, text: str) -> int | None:
        """Return the mechanism's input that a one-word text stands for.

        Returns:
            A row number, n for ⊥, more for what :class:`dpsan.sanitize.classes.Grouping` lists, a
            negative number if nothing is drawn, None if the text is not one word.
        """
        inputs = self.inputs_of(text)
        return inputs[0][1] if len(inputs) == 1 and inputs[0][0] == text else None

    def inputs_of(self, text: str) -> list[tuple[str, int]]:
        """Return the words of a text with their inputs; see :meth:`input_of`."""
        _, words, codes = self._drawing.lookup.texts([text])
        return list(zip(words, codes.tolist(), strict=True))

    def row_of(self, output: str) -> int | None:
        """Return the row of a word as :meth:`rewrite` writes it alone, None for other strings."""
        return self._drawing.rows.get(output)

    def survey(self, text: result.Texts) -> result.Sanitized:
        """Return the counts of :meth:`sanitize`, without drawing a word and without a line."""
        return self._rewriter.survey(text)

    def __repr__(self) -> str:  # no word of the keep-list, and no seed
        about = f"{self.mechanism.name!r}, epsilon={self.mechanism.epsilon:g}"
        status = str(self.guarantee.status)
        return f"Sanitizer({about}, embeddings={self.embeddings!r}, status={status!r})"

    @overload
    def rewrite(  # type: ignore[overload-overlap]
        self, texts: str, spans: Iterable[Sequence[int]] | None = None
    ) -> str: ...

    @overload
    def rewrite(
        self, texts: Iterable[_Text], spans: Iterable[Iterable[Sequence[int]]] | None = None
    ) -> list[_Text]: ...

    def rewrite(
        self, texts: str | Iterable[str | None], spans: Iterable[Any] | None = None
    ) -> str | list[Any]:
        """Sanitize a text, or texts: one output for each, in order.

        Works with any iterable of strings: lists, pandas and polars columns, batches of
        ``datasets.map``.

        Args:
            texts: a string, or an iterable of strings; None in it stays None.
            spans: start and end in code points (and a type, with ``only``), for each text a list of
                them: only the words that they touch are drawn, or with ``only`` these too. All else
                passes as it is, and the choice of spans is not protected.

        Returns:
            A string for a string, else a list.

        Raises:
            TypeError: anything else than strings and None; a dict or a table.
            UsageError: spans that are not in their texts, of other texts, or of no known type.
        """
        if isinstance(spans, str) or not isinstance(spans, Iterable | None):
            got = f"got {type(spans).__name__}: several texts go into one list"
            raise TypeError(f"spans must be pairs of whole numbers ({got})")
        if isinstance(texts, str):
            return self.rewrite([texts], None if spans is None else [spans])[0]
        every = strings_of(texts)
        lines = [text for text in every if text is not None]
        marked = None if spans is None else spans_of(every, list(spans))
        numbers = [at for at, text in enumerate(every) if text is not None]
        rest = iter(self._draw(lines, numbers, len(every), marked))
        return [None if text is None else next(rest) for text in every]

    def rewrite_object(
        self, data: Any, fields: str | Iterable[str] = "**", except_: str | Iterable[str] = ()
    ) -> Any:
        """Return a value with its strings sanitized, also in JSON inside of its strings.

        All strings of a value are one record. Keys, numbers, booleans and None pass.

        Args:
            data: dicts, lists and tuples of strings, numbers, booleans and None.
            fields: paths to the strings that are sanitized; all by default (docs/formats.md).
            except_: paths to what passes.

        Raises:
            TypeError: the value holds another type.
            UsageError: a wrong path, or one that leads to no string.
        """
        from dpsan.formats.objects import ObjectStrings

        strings = ObjectStrings(data, fields, except_)
        many = len(strings.texts)  # each has draws of its own unless equal words are drawn once
        numbers = [0] * many if self.spec.consistent or self.spec.only else range(many)
        spans = strings.spans() if self.replacing and self.replacing.draws_classes else None
        return strings.with_texts(self._draw(strings.texts, numbers, many, spans))

    def _draw(
        self,
        texts: Sequence[str],
        numbers: Sequence[int],
        many: int,
        spans: Sequence[Spans] | None = None,
    ) -> Sequence[str]:
        """Sanitize the texts of a call.

        Args:
            numbers: of the record of each text, from 0; ``many``: how many the call uses up.
        """
        if self.spec.consistent is Unit.RUN:
            return self.sanitize(texts, self._key, spans=spans).lines
        if self._seed is None:
            return self.sanitize(texts, randomness.new_key(), numbers, spans=spans).lines
        # A public seed: later calls continue the numbering, so that they differ.
        first, self._records = self._records, self._records + many
        key = randomness.derive_key(randomness.seeded_key(self._seed), "file", 0, "copy", 0)
        return self.sanitize(texts, key, [first + at for at in numbers], spans=spans).lines

    def sanitize(
        self,
        texts: Sequence[str],
        key: bytes = b"",
        records: Sequence[int] | None = None,
        *,
        audit: bool = False,
        spans: Sequence[Spans] | None = None,
    ) -> result.Sanitized:
        """Sanitize a batch of texts under a key.  Raises TypeError: a single text, or no key.

        Args:
            texts: any strings; white space and punctuation are passed through, invisible
                characters are dropped.
            key: see :mod:`dpsan.privacy.randomness`; must be fresh and secret for the output to
                be private.
            records: the number of each text under this key, all different; default 0, 1, 2 ...
            audit: also return one record for each word.
            spans: of each text, within it, in code points: only the words that they touch are
                drawn; everything else passes as it is, and the choice is not protected.
        """
        if isinstance(texts, str) or not (isinstance(key, bytes) and key):
            raise TypeError("sanitize takes a list of texts and a secret key; rewrite takes a text")
        numbers = range(len(texts)) if records is None else records
        return self._rewriter.rewrite(result.Texts(texts, key, numbers, audit, spans))

    def answer(self, batch: result.Texts) -> result.Sanitized | DecidedTexts:
        """Return the sanitized texts of a batch, or what is to be replaced in them."""
        if batch.undrawn and self.replacing:
            return self.replacing.decided_unit(batch)
        texts, key, numbers, audit, spans, _ = batch
        return self.sanitize(texts, key, numbers, audit=audit, spans=spans)


def run_key(seed: str | None) -> bytes:
    """Return the key of a run: fresh and secret, or public and repeatable with a seed."""
    return randomness.new_key() if seed is None else randomness.seeded_key(seed)
