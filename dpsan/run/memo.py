"""The memo: each message is drawn once, and a message that is sent again gets its first output.

A message is one text: a line, a cell, a string of JSON.  An entry belongs to the message and to all
that the distribution of its output depends on, so under other settings the message is drawn again,
and the totals add up both draws.  An entry is on disk before the output is written anywhere else:
a run that is killed in between has been charged for an output that nobody saw, never the other way
round. The run that stores first wins: two runs at once never publish two noisings of one message.

Messages may have a unit, such as a conversation: within it each distinct word has one replacement,
in all runs and processes. :mod:`~dpsan.run.units` draws these.
"""

import threading
import warnings
from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, overload

from dpsan.errors import Hint, UsageError, counted, refuse
from dpsan.formats.objects import ObjectStrings
from dpsan.outcomes.ngrams import DECODER
from dpsan.privacy import randomness
from dpsan.restore.restoring import Originals
from dpsan.run.memo_file import UNITS, MemoFile
from dpsan.run.units import Pending, Units, is_context
from dpsan.run.workers import Inline, Workers, sanitized
from dpsan.sanitize.accountant import MemoTotals
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.result import Sanitized, Texts, merged
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text import spanned_tokens, tokens


class Memo(MemoFile):
    """An open memo; a context manager.  Threads may share it.

    >>> with Memo("chat", Sanitizer(epsilon=8)) as memo:  # doctest: +SKIP
    ...     memo.rewrite(["Hello Maria.", "How are you?"])

    Args:
        directory: made 0700, as are its parents, if it is not there.
        sanitizer: draws the messages that the memo lacks.

    Raises:
        UsageError: a seed, or equal words with one draw: those are of a whole record or run.
        OutputError: the directory cannot be used, or the memo is damaged.
    """

    def __init__(self, directory: Path | str, sanitizer: Sanitizer) -> None:
        if not isinstance(directory, str | PathLike):
            raise TypeError(f"directory must be a path (got {type(directory).__name__})")
        if not hasattr(sanitizer, "seeded"):
            what = 'sanitizer must be a Sanitizer, such as Sanitizer(only="people")'
            raise TypeError(f"{what} (got {type(sanitizer).__name__})")
        refuse(sanitizer.seeded, "a memo excludes a seed: its contents must stay private")
        unit = sanitizer.spec.consistent
        of_record = sanitizer.spec.only and unit is Unit.RECORD
        if unit is not None and unit is not Unit.UNIT and not of_record:
            what = "a memo stores whole messages: words of different messages cannot share a draw"
            raise UsageError(what, Hint("leave consistent out", "leave --consistent out"))
        self._sanitizer = sanitizer
        self._one_thread = threading.Lock()
        self._drawn = self._remembered = 0
        super().__init__(directory)
        self._settings = self._digest(b"dpsan settings", _settings(sanitizer))

    @cached_property
    def _units(self) -> Units:
        sanitizer = self._sanitizer.by_unit()
        roles = _bytes(f"only, roles {sanitizer.spec.roles}")
        # Replacements of a unit hold whatever classes are replaced, and with other lists.
        settings = roles if sanitizer.replacing else _settings(sanitizer)
        return Units(self, settings, sanitizer)

    # --- the entries -------------------------------------------------------------------------

    def _found(self, digest: bytes) -> str | None:
        """Return the output of a message under these settings; None without an entry."""
        row = self._row("message = ? AND settings = ?", digest, self._settings)
        return None if row is None else bytes(row[2]).decode("utf-8", "surrogatepass")

    # --- a batch -----------------------------------------------------------------------------

    def submit(self, workers: Workers, batch: Texts, units: Sequence[str] = ()) -> Pending:
        """Submit the texts of a batch that the memo lacks.

        Args:
            units: the unit of each; without them each text is one.
        """
        if units:
            return self._units.submit(workers, batch, units)
        digests = [self._digest(b"dpsan message", _bytes(text)) for text in batch.texts]
        spans = batch.spans or ()
        for index, of_text in enumerate(spans):
            if of_text:  # mostly all of the text, see Record.kinds
                whole = len(of_text) == 1 and of_text[0][:2] == (0, len(batch.texts[index]))
                typed = f"{of_text[0][2:] if whole else of_text}\0{batch.texts[index]}"
                digests[index] = self._digest(b"dpsan typed", _bytes(typed))
        remembered = {key for key in set(digests) if self._found(key) is not None}
        indices = [index for index, digest in enumerate(digests) if digest not in remembered]
        future = workers.submit(batch.chosen(indices))
        return Pending(self.settled, [future], (), batch, digests, indices)

    def settled(self, pending: Pending) -> Sanitized:
        """Return the outputs of a batch, see :meth:`Pending.result`."""
        done = sanitized(pending.futures[0])
        drawn = dict(zip(pending.indices, done.drawn, strict=True))
        lines = dict(zip(pending.indices, done.lines, strict=True))
        first: dict[bytes, str | None] = {}
        earlier: dict[int, str] = {}
        for position, digest in enumerate(pending.digests):
            if digest not in first:
                first[digest] = self._found(digest)
                if first[digest] is None and position not in drawn:
                    raise self._damage()  # it was there when the batch began
                if first[digest] is None and drawn[position]:
                    first[digest] = lines[position]
                    continue
            if (output := first[digest]) is not None:
                earlier[position] = output
        batch = pending.batch
        assert batch is not None  # noqa: S101 - of texts without units

        def survey(index: int) -> Sanitized:
            return self._sanitizer.survey(batch.part(index, index + 1)._replace(audit=False))

        return merged(batch.texts, pending.indices, done, earlier, survey)

    def store(self, pending: Pending, done: Sanitized) -> None:
        """Store the draws of a batch, in the :meth:`turn` in which it was settled.

        Raises:
            OutputError: it cannot be written, or a unit has too many words.
        """
        if pending.units:
            self._drawn += len(pending.units)
            self._units.store(pending)
            return
        fresh = [position for position, drawn in enumerate(done.drawn) if drawn]
        accountant = self._sanitizer.accountant()
        for position in fresh:
            self._count_again(pending.digests[position])
            cost = accountant.composed(done.charged[position])
            output = _bytes(done.lines[position])
            loss = float(cost.epsilon), float(cost.delta)
            self._put(pending.digests[position], self._settings, output, *loss)
        if fresh:
            self._count("entries", len(fresh))
        self._drawn += len(fresh)
        self._remembered += len(done.remembered)

    def totals(self) -> MemoTotals:
        """Return the totals of the memo and of this run.  Raises OutputError."""
        (row,) = self._ask(
            f"SELECT COUNT(*), MAX(e), MAX(d), SUM({UNITS}), SUM(n * ({UNITS})) FROM"  # noqa: S608 - our own
            " (SELECT message, SUM(epsilon) AS e, SUM(delta) AS d, COUNT(*) AS n"
            " FROM entries WHERE typeof(epsilon) = 'real' AND typeof(delta) = 'real'"
            " GROUP BY message)"
        )
        units = row[3] or 0
        return MemoTotals(
            self._drawn,
            self._remembered,
            messages=row[0] - units,
            draws=self._read_totals()["entries"] - (row[4] or 0),
            epsilon=row[1] or 0.0,
            delta=min(1.0, row[2] or 0.0),
            units=units,
            again=self.again,
        )

    # --- without files -----------------------------------------------------------------------

    @overload
    def rewrite(self, texts: str, unit: str | None = None) -> str: ...  # type: ignore[overload-overlap]

    @overload
    def rewrite(self, texts: Iterable[str], unit: str | None = None) -> list[str]: ...

    def rewrite(self, texts: str | Iterable[str], unit: str | None = None) -> str | list[str]:
        """Sanitize messages: one output for each, in order; equal ones have equal outputs.

        Args:
            texts: a string, or strings.
            unit: such as the name of a conversation: each distinct word of all its messages has
                one replacement.

        Returns:
            A string for a string, else a list.

        Raises:
            OutputError: the memo cannot be written; then no output may be used.
            TypeError: anything else than strings.
            UsageError: settings that exclude units.
        """
        if isinstance(texts, str):
            return self.rewrite([texts], unit)[0]
        if unit is not None:
            _check_unit(unit)
        every = spanned_tokens.strings_of(texts)
        lines = [line for line in every if line is not None]
        if len(lines) < len(every):
            raise TypeError("messages must be strings (got None)")
        return self._drawn_texts(Texts(lines, randomness.new_key(), range(len(lines))), unit)

    def _drawn_texts(self, batch: Texts, unit: str | None) -> list[str]:
        """Return the outputs of messages; those with one number are one context."""
        passing = None if unit is None else self._units.passing
        if unit is None or passing is None:
            return self._rewritten(batch, unit).lines
        digests, outputs = passing.digests(batch), self._units.outputs
        with self._one_thread:
            seen, new = self._units.seen(unit)
            if new and passing.issuperset(digests):  # else the others are stored
                self._units.begin(unit)
        pairs = [*zip(digests, batch.texts, strict=True)]
        known = {key: seen.get(key, line) for key, line in pairs if key in seen or key in passing}
        at = [index for index, key in enumerate(digests) if key not in known]
        if at:
            at = [*range(len(digests))] if is_context(batch) else at
            rest, fresh = batch.chosen(at), [digests[index] for index in at]
            done = self._rewritten(rest, unit)
            if seen and outputs.get(unit, (b"", {}))[1] is not seen:
                return self._drawn_texts(batch, unit)  # another process has changed it
            passing.learn(rest.texts, fresh, done)
            outputs.learn(unit, fresh, done.lines)
            known |= zip(fresh, done.lines, strict=True)
        return [known[key] for key in digests]

    def _rewritten(self, batch: Texts, unit: str | None) -> Sanitized:
        """Return the outputs of messages, which are stored."""
        sanitizer = self._sanitizer if unit is None else self._units.sanitizer
        with self._one_thread:
            units = [] if unit is None else [unit] * len(batch.texts)
            pending = self.submit(Inline(sanitizer), batch, units)
            with self.turn():
                done = pending.result()
                self.store(pending, done)
        if done.reused and unit is not None:
            many = counted(done.reused, "replacement")
            what = "stands for another word of the unit too, as a group is used up"
            warnings.warn(f"{many}: each {what}; restore leaves them", stacklevel=4)
        return done

    def rewrite_object(
        self,
        data: Any,
        unit: str,
        fields: str | Iterable[str] = "**",
        except_: str | Iterable[str] = (),
    ) -> Any:
        """Sanitize the strings of a value, see :meth:`Sanitizer.rewrite_object`, in a unit.

        A name that one string declares is replaced in all of them.

        Raises:
            OutputError, TypeError, UsageError: as :meth:`rewrite`, and a wrong path.
        """
        _check_unit(unit)
        strings = ObjectStrings(data, fields, except_)
        replacing = self._sanitizer.replacing
        spans = strings.spans() if replacing and replacing.draws_classes else None
        numbers = [0] * len(strings.texts)
        batch = Texts(strings.texts, randomness.new_key(), numbers, spans=spans)
        return strings.with_texts(self._drawn_texts(batch, unit))

    def passes(self, data: Any, except_: str | Iterable[str] = ()) -> bool:
        """Return whether it has been seen that :meth:`rewrite_object` leaves all strings of a value
        as they are, whatever the unit: agents send the same tools again.
        """
        strings, passing = ObjectStrings(data, "**", except_), self._units.passing
        if passing is None or strings.spans():
            return False
        texts = strings.texts
        return passing.issuperset(passing.digests(Texts(texts, b"", [0] * len(texts))))

    def restore(self, text: str, unit: str) -> str:
        """Return a text with the originals of a unit; what is no replacement stays.

        Raises:
            UsageError: the memo has no such unit: nothing was rewritten in it, or it is erased.
            OutputError: its words were drawn with an epsilon, or the memo is damaged.
        """
        _check_string(text, "restore takes a string", "restore_object(VALUE, UNIT) for values")
        return self.originals(unit).restore(text)

    def restore_object(self, data: Any, unit: str) -> Any:
        """Return a value with the originals of a unit in all of its strings, see :meth:`restore`.

        Raises:
            OutputError, TypeError, UsageError: as :meth:`restore` and :meth:`rewrite_object`.
        """
        strings = ObjectStrings(data)
        return strings.with_texts(map(self.originals(unit).restore, strings.texts))

    def originals(self, unit: str) -> Originals:
        """Return what puts the originals of a unit back, also into chunks of a stream
        (:class:`dpsan.restore.restoring.Chunks`).  Raises as :meth:`restore`.
        """
        _check_unit(unit)
        with self._one_thread:
            return Originals(self.rows(unit))

    def forget(self, unit: str) -> bool:
        _check_unit(unit)
        with self._one_thread:
            if units := vars(self).get("_units"):
                units.outputs.pop(unit, None)
            return super().forget(unit)


def _check_unit(unit: object) -> None:
    _check_string(unit, "units must be strings", "str(UNIT), one for all of a call")
    refuse(not unit, "a unit needs a name")


def _check_string(value: object, what: str, hint: str) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{what} (got {type(value).__name__}: {hint})")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _settings(sanitizer: Sanitizer) -> bytes:
    """Return all that the distribution of an output depends on, apart from the message."""
    spec, mechanism, guarantee = sanitizer.spec, sanitizer.mechanism, sanitizer.guarantee
    return _bytes(
        repr(
            (
                mechanism.name if spec.own_sha256 is None else (mechanism.name, spec.own_sha256),
                mechanism.epsilon,
                sorted((name, repr(getattr(mechanism, name))) for name in mechanism.parameters()),
                (guarantee.epsilon_ldp, guarantee.delta, False),  # as keys of earlier versions
                (sanitizer.embeddings.digest, sanitizer.embeddings.n, sanitizer.embeddings.d),
                (spec.tokenizer, tokens.RULES, spec.unknown, spec.case, spec.numbers),
                sorted(spec.keep),
                sorted(sanitizer.public),
                *spec.key(),
                *([("fluent", DECODER, sanitizer.language_model)] if spec.fluent else []),
            )
        )
    )
