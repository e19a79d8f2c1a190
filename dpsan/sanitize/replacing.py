"""Replace words of some classes: view, decide, draw, write.

A *unit* is who shares replacements: a record, or a file of text with its contexts in order.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.word_lists import NUMBERS, SPANS, STRINGS
from dpsan.errors import UsageError
from dpsan.only import engine, forms, hashes, strings
from dpsan.only.decision import NAMES, Decision, decide
from dpsan.only.draws import Draws
from dpsan.only.lexicon import Lexicon
from dpsan.only.plans import NOUNS, Plans
from dpsan.only.rules import OWN, Rules
from dpsan.only.scenarios import Scenarios
from dpsan.only.slots import Slots, stream_position
from dpsan.only.view import COLUMN, KEPT, LOWER, View
from dpsan.only.viewer import Viewer
from dpsan.privacy.randomness import KEY_BYTES, Streams, streams_by_word, streams_for
from dpsan.sanitize import consistent, result
from dpsan.sanitize import decided as deciding
from dpsan.sanitize.decided import Decided, DecidedTexts, Shared
from dpsan.sanitize.result import CODES, Action, together
from dpsan.sanitize.settings import Settings
from dpsan.text import number_forms, spanned_tokens
from dpsan.text.spanned_tokens import Spans, batches, blocks, context_numbers, without_invisible
from dpsan.text.tokens import folded


class OnlyRewriter:
    """Replaces words of some classes; all others pass.

    Args:
        spec: the request; without classes, it replaces those of all.
        epsilon: LDP epsilon of numbers by value, if the request has these.
        rules: content of rules.tsv.
    """

    def __init__(self, spec: Settings, epsilon: float = 0.0, rules: str = "") -> None:
        lists: dict[str, tuple[str, ...]] = {}
        for kind in spec.only:
            if not kind.english:
                name = kind.drawn or kind.name
                lists[name] = (*lists.get(name, ()), *kind.groups[0])
        self._names = {f"{OWN}{at}": name for at, name in enumerate(lists)}
        user_lists = dict(zip(self._names, lists.values(), strict=True))
        typed = {kind.drawn for kind in spec.only if kind.drawn}
        english = [kind.name for kind in spec.only if kind.english]
        chosen = typed.intersection(english)
        drawn_as = {label: name * (name in chosen) for label, name in self._names.items()}
        self.lexicon = Lexicon()
        labels = strings.labels_of(self.lexicon.labels, user_lists)
        self.rules = Rules(rules or forms.table_text("rules.tsv"), labels, drawn_as)
        if spec.only:
            self.rules.draw_classes([*english, *user_lists])
        if spec.roles == "off":
            self.rules.join_roles()
        self.marks = engine.marks(self.rules)
        self.viewer = Viewer(self.lexicon, [*self.rules.triggers], sorted(spec.keep), user_lists)
        self.keyed = spec.consistent in (consistent.Unit.FILE, consistent.Unit.RUN)
        if self.keyed:  # a town has one replacement in texts of all countries
            self.rules.shown = {}
        self._names_too = np.zeros(len(self.viewer.labels), np.bool_)
        names = self.rules.label_codes("person?")
        self._names_too[names] = self.rules.kept[self.rules.group("surname")]
        # Words of no English list, and English function words: a sum above 0 is hardly English.
        self._foreign = np.zeros(len(self.viewer.labels), np.int64)
        if {*english} - {*STRINGS, SPANS}:
            for label, weight in (("foreignw", 3), ("unknown", 3), ("func", -1)):
                self._foreign[self.viewer.labels.index(label)] = weight
        listed = {name: [*words] for name, words in user_lists.items()}
        self.outputs = {**self.lexicon.outputs, **listed}
        for name in (NAMES | NOUNS) & self.outputs.keys() if spec.mapped else ():
            pool = self.outputs["coined" if name in NOUNS else name]  # no ordinary words
            self.outputs[name] = [w for w in pool if not self.lexicon.plain(w.lower())]
        for label, name in self._names.items():
            if name in typed - chosen:  # only words of the list become such names
                self.outputs[label] = self.outputs[self.rules.type_groups[name]]
        scenarios = Scenarios(self.lexicon.scenarios, self.outputs, self.rules.areas)
        plans = Plans(self.outputs, scenarios, injective=not self.keyed)
        together = spec.consistent is not None
        self.draws = Draws(plans, self.lexicon.doses, together=together, pieces=self.rules.pieces)
        swapped = {label: words for label, words in user_lists.items() if not drawn_as[label]}
        self._sizes = deciding.label_sizes(self.lexicon, self.viewer.labels, swapped)
        by_value = spec.numbers == consistent.NumberPolicy.VALUE
        self._numbers = consistent.Numbers(epsilon, spec.consistent) if by_value else None
        self._mapped = spec.mapped

    def warm_up(self) -> None:
        """Replace the words of a text now, when nobody waits, and throw it away."""
        self.rewrite(result.Texts(["Maria"], bytes(KEY_BYTES), [0], spans=[[]]))

    def survey(self, text: result.Texts) -> result.Sanitized:
        """Return the counts of rewriting a text, without drawing a word and without a line.

        Its audit, if that is wanted, has no outputs.
        """
        decided, parts = self.decided_unit(text), []
        for block in decided.blocks:
            kinds = Counter(block.decision.group.tolist())
            written = [""] * (kinds.total() + len(block.decision.articles))
            table = block.table(written, (), self._rule_names) if text.audit else None
            about = [kinds.total()], [0], block.counts, table
            parts.append(result.Sanitized([], *about, by_kind=kinds))
        return replace(together(parts), invisible=decided.invisible)

    @property
    def _rule_names(self) -> list[str]:
        return [rule.name for rule in self.rules.rules]

    @cached_property
    def classes(self) -> tuple[str | None, ...]:
        """Class of each group, by its code."""
        names = self.rules.class_of | self._names
        return tuple(names.get(group) for group in self.rules.groups)

    @property
    def draws_classes(self) -> bool:
        """True if words of classes are drawn, false if those of spans alone."""
        return bool(self.rules.kept.any())

    @property
    def class_of(self) -> dict[str, str | None]:
        """Class of each group, by its name."""
        return dict(zip(self.groups, self.classes, strict=True))

    @property
    def groups(self) -> tuple[str, ...]:
        """Name of each group, by its code."""
        return tuple(self.rules.groups)

    def decided(self, contexts: result.Texts) -> Decided:
        """Decide what is drawn of some contexts, without invisible characters.

        Their numbers are those of their units; ``spans`` say what is drawn besides.
        """
        view, places = self.viewer.view(contexts.texts, contexts.numbers)
        marked, spans = None, contexts.spans
        if spans is not None:
            marked = deciding.marked_by(view, places, spans, self.marks)
        match = engine.Match(self.rules, view)
        decision = decide(view, self.rules, marked, match)
        return self._decided(view, places, decision, match if contexts.audit else None)

    def _decided(
        self, view: View, places: hashes.Places, decision: Decision, match: engine.Match | None
    ) -> Decided:
        edge, at, articles = view.edge, decision.at, decision.articles[:, 0]
        plural = decision.group == self.rules.group("surnamepl")
        keys = np.where(plural, places.stems[at], places.hashes[at])
        for row, (cut, *more) in decision.locals.items():
            if decision.form[row] < 0 and not more and not isinstance(cut[0], str):
                keys[row] ^= ~keys[cut[0]]  # an initial: each person has another one
        # Equal words become one word, those too that no rule compares.
        first, same = deciding.same_words(keys, decision.unit)
        decision = replace(decision, key=first[same])
        spots = np.concatenate([at, articles, edge.nonzero()[0]])
        order = spots.argsort(kind="stable")
        begin, end = places.start[spots[order]].tolist(), places.after[spots[order]].tolist()
        block = places.block
        between = [block[a:b] for a, b in zip(end, [*begin[1:], len(block)], strict=True)]
        breaks = dict[int, int]()
        if "\n" in block:
            points = np.frombuffer(block.encode("utf-32-le", "surrogatepass"), np.uint32)
            lines = (points == ord("\n")).nonzero()[0]
            rows = places.start[at].searchsorted(lines, "right") - 1
            broken = rows[lines < np.append(places.after[at], 0)[rows]]
            breaks = dict(Counter(broken.tolist()))
        pieces = {row: places.pieces[int(at[row])] for row in decision.locals}
        actions = np.full(len(edge), CODES[Action.PLAIN])
        actions[view.labelled(KEPT)] = CODES[Action.KEPT]
        actions[at] = np.where(decision.form < 0, CODES[Action.DRAWN], CODES[Action.STRING])
        by_value = self._by_value(places, decision)
        actions[at[[*by_value]]] = CODES[Action.NUMBER]
        plain_names = (
            (actions == CODES[Action.PLAIN]) & self._names_too[view.label] & (view.caps != LOWER)
        )
        words = np.bincount(actions, minlength=len(result.ACTIONS)).tolist()
        words[CODES[Action.PLAIN]] -= len(spots) - len(at) - len(articles)
        listed = self._sizes[COLUMN[decision.caps], view.label[at]]
        listed[[*by_value]] = 0  # none of them hides in a group
        listed = listed[listed > 0]
        tokens = None
        if match:
            inside = (~edge).nonzero()[0]
            rows = np.full(len(edge), -1)
            rows[spots[: len(at) + len(articles)]] = np.arange(len(at) + len(articles))
            previous = places.after[inside - 1]
            starts, ends = places.start[inside], places.after[inside]
            gaps, none = (starts - previous).astype(np.int64), np.full(len(inside), -1)
            tokens = result.AuditTable(
                np.bincount(view.text[inside], minlength=int(edge.sum()) - 1),
                gaps,
                gaps,
                actions[inside],
                [block[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)],
                outputs=[],
                input_ids=none,
                output_ids=rows[inside],
                passes=deciding.passed_by(match, places, self.lexicon, at, inside),
                labels=view.label[inside],
            )
        return Decided(
            decision,
            keys,
            pieces,
            between,
            order,
            breaks,
            dict(zip(result.ACTIONS, words, strict=True)),
            int(listed.min()) if len(listed) else 0,
            int(plain_names.sum()),
            int(self._foreign[view.label[view.caps == LOWER]].sum()),
            tokens,
            replace(places, end=places.after).words(at) if self._mapped else [],
            by_value,
        )

    def _by_value(self, places: hashes.Places, decision: Decision) -> dict[int, str]:
        """Return the drawn tokens that are numbers, where these are drawn by value."""
        if self._numbers is None:
            return {}
        texts, classes = places.words(decision.at), self.classes
        return {
            row: text
            for row, (text, group) in enumerate(zip(texts, decision.group.tolist(), strict=True))
            if classes[group] == NUMBERS and number_forms.formed_number(text) is not None
        }

    def drawn(
        self, done: Decided, key: bytes, units: Sequence[Shared], *, named: bool = False
    ) -> result.Sanitized:
        """Draw and write what is decided.

        Args:
            done: texts.
            key: of the file and copy.
            units: by their number in the decision; they grow.
            named: whether units have names: each may have other blocks, not in a row.
        """
        alike = (done.keys & np.uint64((1 << 63) - 1)).astype(np.int64)
        keys = alike if self.keyed else done.unit_keys(units)
        names = done.address_names(() if self.keyed else units, keys)
        decision = replace(done.decision, key=keys, locals=names)

        def source(slots: Slots, new: NDArray[np.intp]) -> Streams:
            if self.keyed:
                positions = [stream_position(plan.pool) for plan in slots.plans]
                pairs = zip(slots.key[new].tolist(), slots.pool[new].tolist(), strict=True)
                return streams_by_word(key, [], [(word, positions[pool]) for word, pool in pairs])
            of_slot = decision.unit[slots.row[new]]
            if named:
                return streams_by_word(key, [], [units[at].next_draw() for at in of_slot.tolist()])
            counts = np.bincount(of_slot)
            numbers = [units[at].number for at in counts.nonzero()[0].tolist()]
            # Several units are new, with one block each.
            before, units[0].drawn = units[0].drawn, units[0].drawn + len(new)
            return streams_for(key, numbers, counts[counts > 0].tolist(), before=before)

        charged = [0] * done.texts
        values, paid, same = self._values(done, charged, key, units)
        replacements = dict(enumerate(shared.replacements for shared in units))
        lasting = replacements if named or len(units) == 1 else None
        outputs = self.draws.outputs(decision, source, lasting, values)
        tokens = outputs.tokens
        for row, count in done.breaks.items():
            tokens[row] += "\n" * (count - tokens[row].count("\n"))  # numbers keep theirs
        written = [*tokens, *outputs.articles]
        table = None if done.tokens is None else done.table(written, paid, self._rule_names)
        sizes = np.bincount(decision.text, minlength=done.texts).tolist()
        smallest = min((size for size in (done.smallest, outputs.smallest) if size), default=0)
        replaced = done.replaced(tokens, self.classes) if self._mapped else []
        return result.Sanitized(
            done.lines(written),
            sizes,
            charged,
            done.counts,
            table,
            by_kind=Counter(decision.group.tolist()),
            reused=outputs.reused,
            plain_names=done.plain_names,
            foreign=done.foreign,
            replaced=replaced,
            forms=result.Forms(smallest, outputs.unchanged + same),
        )

    def _values(
        self, done: Decided, charged: list[int], key: bytes, units: Sequence[Shared]
    ) -> tuple[dict[int, str], list[int], float]:
        """Draw numbers by value, and charge each draw once in its unit.

        Returns:
            The numbers by their rows, the rows that are charged, and how many expect to stay.
        """
        if self._numbers is None or not done.numbers:
            return {}, [], 0.0
        decision, rows, words = done.decision, [*done.numbers], [*done.numbers.values()]
        of_row = [units[int(decision.unit[row])] for row in rows]
        paid = []
        for row, word, shared in zip(rows, words, of_row, strict=True):
            string = folded(word)
            if not self.draws.together or string not in shared.paid:
                shared.paid.add(string)
                charged[int(decision.text[row])] += 1
                paid.append(row)
        records = np.array([shared.number for shared in of_row])
        numbers_of = units[0].numbers if len(units) == 1 else None
        values = self._numbers.drawn_once(words, records, key, numbers_of)
        unchanged = self._numbers.forms(words).unchanged
        return dict(zip(rows, values, strict=True)), paid, unchanged

    def rewrite(self, batch: result.Texts) -> result.Sanitized:
        """Rewrite texts, each unit with the number of its record under the key.

        ``spans`` say what is drawn besides, in code points; texts of a record are in a row.
        """
        if batch.texts and batch.spans is None and not self.draws_classes:
            raise UsageError("only='spans' needs spans: else every word would pass")
        parts = []
        for first, last in batches(batch.texts, batch.numbers):
            part = batch.part(first, last)
            units = [Shared(number) for number in dict.fromkeys(part.numbers)]
            parts.append(self.in_units(self.decided_unit(part), batch.key, units))
        return together(parts)

    def decided_unit(self, batch: result.Texts) -> DecidedTexts:
        """Decide what is replaced in parts of units, which are contexts or have several.

        Short texts of a record are one context.
        """
        clean, spans, invisible = without_invisible(batch.texts, batch.spans)
        of_texts: Sequence[Spans | None] = spans or [None] * len(clean)
        pieces = [spanned_tokens.pieces(*pair) for pair in zip(clean, of_texts, strict=True)]
        counts = [*map(len, pieces)]
        contexts = batch._replace(
            texts=[piece for of_text in pieces for piece, _ in of_text],
            numbers=context_numbers(batch.numbers, counts),
            spans=None
            if spans is None
            else [marked for of_text in pieces for _, marked in of_text],
        )
        at_once = blocks(contexts.texts, contexts.numbers)
        decisions = [self.decided(contexts.part(*block)) for block in at_once]
        return DecidedTexts(decisions, counts, invisible)

    def in_units(
        self,
        decided: DecidedTexts,
        key: bytes,
        units: Sequence[Shared],
        of_text: Sequence[int] = (),
    ) -> result.Sanitized:
        """Replace what was decided in the next texts of a unit, or of several.

        Args:
            units: they may have had other texts, and grow.
            of_text: index of the unit of each text; without it each context of one block is a
                unit, or all are of the only unit.
        """
        of_piece, parts = np.repeat(of_text, decided.counts if of_text else 0), []
        for block in decided.blocks:
            unit = block.decision.unit
            if of_text:
                unit = of_piece[block.decision.text]  # numbered in their block
                of_piece = of_piece[block.texts :]
            elif len(units) == 1:
                unit = np.zeros_like(unit)
            parts.append(self.drawn(block.in_units(unit), key, units, named=bool(of_text)))
        return replace(result.joined(together(parts), decided.counts), invisible=decided.invisible)
