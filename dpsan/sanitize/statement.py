"""Statement of a run: what it did and what is protected."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dpsan.errors import counted, number, percent
from dpsan.privacy.guarantee import Status
from dpsan.sanitize import accountant, consistent
from dpsan.sanitize.accountant import FACTS
from dpsan.sanitize.result import DRAWN, UNDRAWN, Action
from dpsan.sanitize.settings import Settings, rows_of

_DEFAULTS: Final = Settings()
_LONGEST: Final = 200 - len("dpsan: ")
"""Longest main line without ``-v``, in characters."""


def expected_share(unchanged: float, counts: Mapping[Action, int] | Mapping[str, int]) -> float:
    """Return the expected share of unchanged words among those that the mechanism drew.

    An out-of-vocabulary word is never unchanged: no output is such a word.

    Args:
        unchanged: the same for words of the vocabulary.
    """
    outside = counts[Action.UNKNOWN]
    inside = sum(counts[action] for action in (*DRAWN, Action.REMEMBERED)) - outside
    return unchanged * inside / (inside + outside) if outside else unchanged


@dataclass(frozen=True)
class Statement:
    """The lines at the end of a run.

    Args:
        totals: of the run.
        mechanism: its name.
        unchanged: expected share of words that stay unchanged.
        share: the same of the words that were drawn in this run; default as for any text.
        classes: class of each kind of words, see :class:`dpsan.sanitize.classes.Grouping`.
        files: how many inputs there were.
        settings: of the run.
        plain_drawn: drawn names that are expected to be ordinary words too, in one copy.
        spans: whether only words in spans were drawn.
        linked: by how many words a whole text is found again, in words.
        memo: of the messages that are drawn once.
        ledger: of the records whose costs are added up.
    """

    totals: accountant.Accountant
    mechanism: str
    unchanged: float
    share: float | None = None
    classes: tuple[str | None, ...] = ()
    copies: int = 1
    files: int = 1
    settings: Settings = _DEFAULTS
    plain_drawn: float = 0.0
    spans: bool = False
    linked: str | None = None
    memo: accountant.MemoTotals | None = None
    ledger: accountant.LedgerTotals | None = None

    def figures(self) -> accountant.Figures:
        """Return every number about draws and losses that the lines print."""
        totals, guarantee = self.totals, self.totals.guarantee
        charges = {
            "word": 1,
            "copies": self.copies,
            "record": self.copies * totals.largest_record,
            "file": totals.largest_file,
            "run": totals.charges,
        }
        out = accountant.Figures()
        for scope, n in charges.items():
            composed = totals.composed(n)
            out["loss", scope] = accountant.Figure(composed.epsilon, composed.delta, n)
        share = expected_share(self.unchanged, totals.counts) if self.share is None else self.share
        out["draws", "run"] = accountant.Figure(totals.draws)
        out["sum", "run"] = accountant.Figure(totals.epsilon_sum)
        out["unchanged", "run"] = accountant.Figure(share)
        out["public words", "vocabulary"] = accountant.Figure(guarantee.public_words)
        if names := totals.plain_names + self.plain_drawn:
            share = totals.plain_names / names
            out["names in plain sight", "run"] = accountant.Figure(share, charges=round(names))
        groups = enumerate(guarantee.groups)
        sizes = [group.words for kind, group in groups if totals.by_kind[kind]]
        sizes += [totals.forms.smallest] * bool(totals.forms.smallest)
        if sizes:
            out["smallest group", "run"] = accountant.Figure(min(sizes))
        for metric, epsilon in ((guarantee.metric, guarantee.epsilon_metric), *guarantee.also):
            if metric is not None and epsilon is not None:
                out["per unit", metric] = accountant.Figure(epsilon)
        return out

    def lines(self, *, verbose: bool = False) -> list[str]:
        """Return one line of at most 200 characters, and further lines for options and warnings.

        ``verbose`` adds every cost and the facts that are not protected.  A run that drew nothing
        gets no main line, only warnings and the number of words that passed unchanged.
        """
        totals, out = self.totals, list[str]()
        if totals.draws and totals.guarantee.only_groups:
            out += self._replaced()
        elif totals.draws:
            out += self._summary(short=not verbose)
        if totals.guarantee.only_groups and totals.records:
            plain = counted(totals.counts[Action.PLAIN], "word")
            classes = {self.classes[kind] for kind, words in totals.by_kind.items() if words}
            shown = accountant.of_guarantee(totals.guarantee, self.settings.roles)[1:]
            if self.settings.consistent:
                shown += [fact for name, fact in rows_of("equal") if name in ("", *classes)]
            again = ", as all copies show" if self.copies > 1 else ""
            out.append(f"NOT PROTECTED: {plain} that passed unchanged{again}; {'; '.join(shown)}")
        sight = self.figures().get(("names in plain sight", "run"))
        if totals.draws and totals.plain_names and sight:
            many, share = counted(sight.charges, "word"), percent(sight.value)
            again = "; the copies tell which" if self.copies > 1 else ""
            out.append(
                f"hiding in plain sight: about {many} with a capital in an output may be a "
                f"name (Young, Mark), and such a word is original with probability {share}{again}"
            )
        facts = self.settings.facts()
        if not totals.guarantee.only_groups:
            facts = accountant.of_guarantee(totals.guarantee) + facts
        if totals.draws and facts and not verbose:
            out.append(f"not protected here: {', '.join(facts)}")
        if totals.draws and self.settings.fluent:
            out.append(FACTS["fluent"])
        if self.spans and totals.guarantee.only_groups:
            out.append(f"words in spans are replaced: {FACTS['chosen']} is not protected")
        elif self.spans and totals.records:
            passed = counted(totals.counts[Action.OUTSIDE], "word")
            whole = f"{counted(totals.unmarked, 'record')} without a span"
            choice = f"{FACTS['choice']} is not protected"
            out.append(f"passed outside spans: {passed}, with {whole}; {choice}")
        unit = self.settings.consistent
        if totals.draws and unit and not totals.guarantee.only_groups:
            of = "the run" if unit is consistent.Unit.RUN else f"a {unit}"
            equal = rows_of("equal")[0][1]
            out.append(f"one draw for each distinct word of {of}: {equal} is not protected")
        if self.memo:
            out.append(self._memo(self.memo))
        if self.ledger:
            out.append(self._ledger(self.ledger, 5 if verbose else 1))
        if totals.counts[Action.NUMBER] and not totals.guarantee.only_groups:
            out.append(f"numbers drawn by form: {FACTS['forms']} is not protected")
        if totals.written:
            out += self._warnings()
        if totals.invisible:
            out.append(f"{counted(totals.invisible, 'invisible character')} between words dropped")
        return out + list(self._details()) if verbose and totals.draws else out

    def _ledger(self, ledger: accountant.LedgerTotals, most: int) -> str:
        """Describe the totals of the ledger, over all runs that named it; ``most`` of the sums."""
        limit = "" if ledger.limit is None else f" of at most {number(ledger.limit)} each"
        line = f"ledger: {counted(ledger.charged, 'record')} paid for now, "
        line += f"{counted(ledger.records, 'record')} in all"
        sums = [str(accountant.Figure(*pair)) for pair in ledger.largest[:most]]
        plural, name = "s" * (len(sums) > 1), self.totals.guarantee.loss_name
        return line + (f"; largest sum{plural}{limit}: {name} {', '.join(sums)}" if sums else "")

    def _memo(self, memo: accountant.MemoTotals) -> str:
        """Describe the totals of the memo, over its life."""
        name = self.totals.guarantee.loss_name
        most = f"{name} {accountant.Figure(memo.epsilon, memo.delta)}"
        if self.settings.consistent is consistent.Unit.UNIT:
            cost = f"; {most} for one of them at most" * (memo.epsilon > 0)
            units = f"{counted(memo.drawn, 'message')}; over its life {counted(memo.units, 'unit')}"
            return f"memo: {units}{cost}; which messages are of one unit is not protected"
        cost = f", {most} for one of them at most" * (memo.epsilon > 0)
        apart = "; a name is another one in each message (--unit-field NAME keeps it)"
        apart *= self.settings.only is not None
        once = "once each" if memo.draws == memo.messages else f"{number(memo.draws)} times"
        return (
            f"memo: {counted(memo.drawn, 'message')} drawn now, {number(memo.remembered)} "
            f"remembered at no cost; over its life {counted(memo.messages, 'message')} drawn "
            f"{once}{cost}; {FACTS['same']} is not protected{apart}"
        )

    def _replaced(self) -> list[str]:
        """Return the lines of a run that replaced words of some classes alone."""
        totals, guarantee = self.totals, self.totals.guarantee
        by_class = Counter[str]()
        for kind, words in totals.by_kind.items():
            by_class[self.classes[kind] or ""] += words
        replaced = ", ".join(f"{name} {number(n)}" for name, n in by_class.most_common() if n)
        figures = self.figures()
        once = ", equal ones alike" if self.settings.consistent else ""
        hidden = "which word of its group stood there is hidden completely"
        hidden += ", except of numbers by value" * (guarantee.epsilon_ldp > 0)
        group = figures.get(("smallest group", "run"))  # None: no word of a list was drawn
        size = counted(int(group.value), "word") if group is not None else ""
        smallest = size and f"; the smallest group that occurred has {size}"
        share = percent(figures["unchanged", "run"].value)
        share = share if share.startswith("under") else f"at most {share}"
        lines = [
            f"{counted(sum(by_class.values()), 'word')} replaced{once}: {replaced}",
            f"{guarantee.standing}: {hidden}{smallest}; by chance {share} stay as they were",
        ]
        if totals.reused:
            again = counted(totals.reused, "replacement")
            lines.append(f"{again} stood for another word of the unit too: a group was used up")
        if guarantee.epsilon_ldp:
            single, together = figures["loss", "copies"], figures["loss", "file"]
            whole = "the largest file" if self.files > 1 else "the whole text"
            lines.append(
                f"numbers by value: LDP epsilon {single} per number, {together} for {whole}"
            )
        return lines

    def _summary(self, *, short: bool) -> list[str]:
        """Return the main line, and a second one for the parts that make it too long if short."""
        totals, guarantee = self.totals, self.totals.guarantee
        whole = "the largest file" if self.files > 1 else "the whole text"
        if totals.counts[Action.REMEMBERED]:
            whole = f"what was drawn now of {whole}"
        figures = self.figures()
        cost, word = figures["loss", "file"], figures["loss", "copies"]
        copies = f" in {self.copies} copies" if self.copies > 1 else ""
        name = guarantee.loss_name
        part, total = f"no finite {name}", ""
        # How many of the words are public depends on them: the number of all is a bound.
        public = bool(guarantee.public_words)
        most, kind = ("at most ", " of the protected words") if public else ("", "")
        if word.value < math.inf:
            part = f"{name} {word} per {self._each}{copies}"
            total = f"{most}{cost} for {whole}"
        share = percent(figures["unchanged", "run"].value)
        where = " in spans" if self.spans else ""
        words, for_words = f"{counted(totals.draws, 'word')}{where} drawn", ""
        if self.settings.consistent:
            occurrences = sum(totals.counts[action] for action in DRAWN)
            words, for_words = counted(totals.draws, "draw"), f"for {counted(occurrences, 'word')}"
        before = " before they are made fluent" if self.settings.fluent else ""
        special = self._special()
        # The share is one of running words, and spans hold names.
        unchanged = "" if self.spans else f"expected unchanged: {share}{kind}{before}"
        movable = [  # each as it stands in the second line, and in the main one
            (special, f" ({special})"),
            (total and f"{name} {total}", f", {total}"),
            (unchanged, unchanged and f"; {unchanged}"),
            (for_words, f" {for_words}"),
        ]
        inline = [within if alone else "" for alone, within in movable]
        second: list[str] = []

        def line() -> str:
            special, total, unchanged, for_words = inline
            return (
                f"{words}{for_words}{special} by {self.mechanism}, {guarantee.grade}: "
                f"{part}{total}{unchanged}" + ". Not protected: see -v." * short
            )

        for index, (alone, _) in enumerate(movable):
            if short and alone and len(line()) > _LONGEST:
                inline[index] = ""
                second.append(alone)
        return [line(), *filter(None, ["; ".join(second)])]

    @property
    def _each(self) -> str:
        """Return the unit of the guarantee: a word, distinct or protected."""
        distinct = "distinct " * bool(self.settings.consistent)
        protected = "protected " * bool(self.totals.guarantee.public_words)
        return f"{distinct}{protected}word"

    def _special(self) -> str:
        """Return the counts of out-of-vocabulary words, numbers and words that were not drawn."""
        counts = self.totals.counts
        line = [f"{number(counts[Action.UNKNOWN])} unknown"] if counts[Action.UNKNOWN] else []
        if counts[Action.NUMBER]:
            line.append(f"{counted(counts[Action.NUMBER], 'number')} by form")
        if counts[Action.STRING]:
            line.append(f"{number(counts[Action.STRING])} made up")
        besides = [
            f"{number(counts[action])} {action}"
            for action in UNDRAWN
            if counts[action] and action is not Action.PLAIN
        ]
        return "; ".join(line + ([f"besides {', '.join(besides)}"] if besides else []))

    def _warnings(self) -> Iterator[str]:
        guarantee = self.totals.guarantee
        if guarantee.status is not Status.PROVED:
            yield f"NOT GUARANTEED: {guarantee.summary()}; {guarantee.why}"
        weak = accountant.weakness(guarantee, self.copies, self.unchanged)
        if weak:
            yield f"WEAK: {weak}"
        most, alone = self.figures()["loss", "copies"].value, guarantee.only_groups
        if self.totals.draws and not alone and round(most, 3) < accountant.RANDOM:
            yield f"nearly random: at LDP epsilon {number(most)} a drawn word tells little"

    def _details(self) -> Iterator[str]:
        totals, guarantee = self.totals, self.totals.guarantee
        name = guarantee.loss_name
        unused = [Action.PLAIN] * (not guarantee.only_groups)
        unused += [Action.STRING] * (not totals.counts[Action.STRING])
        counts = (
            f"{number(count)} {action}"
            for action, count in totals.counts.items()
            if action not in unused
        )
        yield f"{counted(totals.words, 'word')}: {', '.join(counts)}"
        figures = self.figures()
        parts = [
            f"epsilon {figure} per unit of {scope} distance{guarantee.rounding}"
            for (what, scope), figure in figures.items()
            if what == "per unit"
        ]
        single = figures["loss", "word"]
        noun = "number by value" if guarantee.only_groups else self._each
        if single.value or not guarantee.only_groups:
            yield f"per {noun}: {', '.join([*parts, f'{name} {single}'])}"
        sizes: dict[str, list[int]] = {}
        for group in guarantee.groups:
            sizes.setdefault(group.name, []).append(group.words)
        for of_class, words in sizes.items():
            groups = f"{counted(len(words), 'group')} of {', '.join(map(number, words))} words"
            yield f"class {of_class}: {groups}, one input each"
        facts = accountant.not_protected(guarantee, self.settings, spans=self.spans)
        if guarantee.only_groups and not guarantee.epsilon_ldp:
            yield f"not protected: {', '.join(facts)}"
            return
        if self.copies > 1:
            yield f"{self.copies} copies of every {noun}: {name} {figures['loss', 'copies']}"
        whole = "largest file" if self.files > 1 else "whole text"
        scopes = {"record": "largest record", "file": whole}
        scopes |= {"run": "all files"} if self.files > 1 else {}
        for scope, what in scopes.items():
            figure = figures["loss", scope]
            yield f"{what} ({counted(figure.charges, 'draw')}): {name} {figure}"
        if guarantee.public_words:
            yield "sums count all draws, as if every word were protected"
        yield f"sum of epsilon over all draws: {figures['sum', 'run']}"
        if self.linked:
            yield f"whole texts: {self.linked}"
        yield f"not protected: {', '.join(facts)}"
