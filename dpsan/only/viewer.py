"""Makes views of texts: the only part of ``--only`` that reads what is hidden.

A label is a function of a word alone; equality, phrases and pieces of addresses are relations of
tokens of one unit.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, groupby
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only import dates, strings, sums
from dpsan.only.articles import far_words, no_triggers, one_article
from dpsan.only.characters import (
    APOSTROPHE,
    BETWEEN,
    CAPITAL,
    DIGIT,
    LETTER,
    ODD,
    ODDS,
    Block,
    camel,
    firsts,
    folded,
    gaps,
    pattern,
    running,
    spellings,
    zones,
)
from dpsan.only.forms import DIGIT as MARK
from dpsan.only.hashes import Hashes, Places, Words64
from dpsan.only.joining import Words, cut_words, join_phrases
from dpsan.only.lexicon import Lexicon
from dpsan.only.local_parts import find_initials, split_locals
from dpsan.only.numerals import below_ten
from dpsan.only.strings import VALUES, Strings, near_form
from dpsan.only.view import (
    COLUMN,
    EDGE,
    GAP,
    KEPT,
    LOWER,
    MIXED,
    NATIONS,
    NONE,
    TITLE,
    Codes,
    Flags,
    Ints,
    Labels,
    Sum,
    View,
    among,
    changes,
)
from dpsan.text.tokens import ARTICLES

CLOSED: Final = ("func", "funcname?", "trigname?", "title")
"""Labels of trigger words."""
_SMALL: Final = sums.LABELS["int1"]
"""Sort of numbers of one or two digits."""
_KNOWN: Final = 1 << 18
"""Labels of unlisted words that are kept."""


class Viewer:
    """Makes views with one lexicon and the trigger words of the rules.

    Args:
        lexicon: public lists.
        triggers: words that rules may know by name.
        keep: words that pass.
        own: by the name of a group, words that it has beside the lists.

    Raises:
        ValueError: a trigger word that no list holds; rules and lists are part of the program.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        triggers: Sequence[str],
        keep: Iterable[str] = (),
        lists: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        self.lexicon = lexicon
        self.labels = strings.labels_of(lexicon.labels, lists or ())
        self.code = {label: i for i, label in enumerate(self.labels)}
        self.trigger = np.zeros(len(lexicon.codes) + 1, np.int16)
        rows = lexicon.table.rows(Hashes.of_words([*triggers]))
        missing = [word for word, row in zip(triggers, rows, strict=True) if row < 0]
        if missing:
            raise ValueError(f"trigger words without a label: {missing}")
        self.trigger[rows] = np.arange(1, len(triggers) + 1)
        self.articles = [triggers.index(word) + 1 for word in ("a", "an")]
        self.of, self.to = (triggers.index(word) + 1 for word in ("of", "to"))
        self.letter_a = rows[triggers.index("a")]
        self.bits = lexicon.bits.copy()
        # What cannot be read is a letter: it does not pass for a mark.
        self.bits[0xD800:0xE000] |= LETTER
        self.bits[0xFFFD] |= LETTER
        self.bits[[*map(ord, ODDS)]] |= ODD
        pairs = ((name, word) for name, words in (lists or {}).items() for word in words)
        special = [(form, self.code[name]) for name, word in pairs for form in spellings(word)]
        kept = {folded(form) for word in keep for form in spellings(word)}
        kept |= ARTICLES if kept & ARTICLES else set()  # one of them keeps both
        special += [(word, self.code[KEPT]) for word in sorted(kept)]  # whatever lists them
        self.has_phrases = not all(word.isalpha() for word, _ in special)
        hashes = Hashes.of_words([folded(word) for word, _ in special]).tolist()
        codes = dict(zip(hashes, (code for _, code in special), strict=True))
        self.special = (
            np.array(sorted(codes), np.uint64),
            np.array([codes[value] for value in sorted(codes)], np.uint16),
        )
        """Hashes of words and strings of a request, ascending, and labels; these come first."""
        nations = lexicon.nations
        of_words, countries = map(Hashes.of_words, ([*nations], [*nations.values()]))
        order = of_words.argsort()
        self.nations = of_words[order], countries[order]
        """Hashes of words for nations, ascending, and of their countries."""
        self.sorts = np.array([dates.SORTS.get(label, 0) for label in self.labels], np.uint8)
        self.closed = np.array([label in CLOSED for label in self.labels])
        self.summed = np.array([sums.LABELS.get(label, 0) for label in self.labels], np.int32)

    def view(self, texts: Sequence[str], units: Sequence[int] | None = None) -> tuple[View, Places]:
        """Return view and places of texts.

        Args:
            texts: any strings.
            units: number of the unit of each text, those of a unit in a row; default one each.
        """
        text = BETWEEN + BETWEEN.join(texts) + BETWEEN
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        bits, small = self._characters(points)
        edges = np.array([*accumulate((len(text) + 1 for text in texts), initial=0)], np.int32)
        marks = (bits & APOSTROPHE != 0).nonzero()[0]
        capitals = running(bits & CAPITAL != 0)
        block = Block(text, points, small, bits, Hashes(small), capitals, marks, edges)
        letters = bits & LETTER != 0
        inner = marks[letters[marks - 1] & letters[marks + 1]]
        letters[inner] = True
        turns = (letters[1:] != letters[:-1]).nonzero()[0].astype(np.int32) + 1
        start, end = turns[::2], turns[1::2]
        read = self.strings(block, letters)
        if len(read.where):
            first = end.searchsorted(read.where[:, 0], "right")
            counts = np.maximum(start.searchsorted(read.where[:, 1]) - first, 0)
            inside = np.arange(counts.sum()) + np.repeat(first - counts.cumsum() + counts, counts)
            covered = np.zeros_like(end)
            covered[inside] = np.repeat(read.where[:, 1], counts)  # the last one
            keep = (covered < end).nonzero()[0]
            start, end = np.maximum(start, covered).take(keep), end.take(keep)
        words = self.words(block, start, end)
        of_text = np.arange(len(texts)) if units is None else np.asarray(units, dtype=np.int64)
        return self.assemble(block, words, read, of_text)

    def _characters(self, points: NDArray[np.uint32]) -> tuple[Codes, NDArray[np.uint32]]:
        """Return the class bits and the folded value of each character."""
        low = points.astype(np.intp)
        bits, small = self.bits.take(low, mode="clip"), self.lexicon.fold.take(low, mode="clip")
        if points.max() > 0xFFFF:
            for point in np.unique(points[points > 0xFFFF]).tolist():
                char, at = chr(point), points == point
                lower = char.lower()
                small[at] = ord(lower) if len(lower) == 1 else point
                category = unicodedata.category(char)
                kind = LETTER if category[0] in "LM" else DIGIT if category == "Nd" else 0
                bits[at] = kind | CAPITAL * (kind == LETTER and char.isupper())
        return bits, small

    def strings(self, block: Block, letters: Flags) -> Strings:
        """Return the strings of a block, and escapes."""
        first, last = zones(block, letters)
        counts = -((first - last) // strings.LONGEST)  # in pieces, so that no pattern looks far
        ahead = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
        begins = first.repeat(counts) + ahead * strings.LONGEST
        ends = np.minimum(begins + strings.LONGEST, last.repeat(counts))
        text, fixed = block.text, self.lexicon.fixed
        spans = [
            strings.spans(text[begin - 1 : end], fixed)
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        ]
        start, end, labels, forms = [*zip(*chain.from_iterable(spans), strict=True)] or [()] * 4
        where = np.array([start, end], np.int32)
        where += np.repeat(begins.astype(np.int32), [*map(len, spans)])
        return Strings(where.T, labels, forms)

    def words(self, block: Block, start: Ints, end: Ints) -> Words:
        """Return label, pattern, possessive and hash of each word."""
        lexicon, bits, small, hashes = self.lexicon, block.bits, block.small, block.hashes
        whole = hashes.of(start, end)
        row = lexicon.table.rows(whole)
        length = end - start
        mark = small.take(np.maximum(end - 2, 0)) == ord("'")
        possessive = (length > 2) & mark & (small.take(end - 1) == ord("s"))
        owned = possessive.nonzero()[0]
        after = end.copy()
        end = end.copy()
        listed = owned[row[owned] >= 0]
        label = lexicon.codes[row[listed], 0]
        passes = (label == lexicon.code["plain"]) | (label == lexicon.code["func"])
        possessive[listed[passes]] = False
        owned = possessive.nonzero()[0]
        end[owned] -= 2
        # an apostrophe behind a capitalised word, if its unit has not opened a quotation
        bare = (bits.take(after) & APOSTROPHE != 0).nonzero()[0]
        if len(bare):
            ahead, behind = bits[block.marks - 1], bits[block.marks + 1]
            opening = block.marks[(behind & LETTER != 0) & (ahead & (LETTER | DIGIT) == 0)]
            bare = bare[~possessive[bare] & (bits[start[bare]] & CAPITAL != 0)]
            first = block.edges[block.edges.searchsorted(start[bare]) - 1]
            bare = bare[
                (opening.searchsorted(start[bare]) == opening.searchsorted(first))
                & (bits[after[bare] + 1] & (LETTER | DIGIT) == 0)
            ]
            possessive[bare] = True
            after[bare] += 1
        whole[owned] = hashes.of(start[owned], end[owned])
        row[owned] = lexicon.table.rows(whole[owned])
        caps = pattern(block, start, end)
        label = lexicon.codes.ravel().take(row * 3 + COLUMN.take(caps)).astype(np.uint16)
        unknown = (row < 0).nonzero()[0]
        upper = block.capitals[end[unknown]] - block.capitals[start[unknown]]
        inner = (upper > 1) | (caps[unknown] == MIXED)
        label[unknown] = self.unknown_labels(
            block.text, whole[unknown], caps[unknown], inner, start[unknown], end[unknown]
        )
        at, codes = self.requested(whole)
        label[at], row[at] = codes, -1
        placed = {"start": start, "end": end, "after": after, "possessive": possessive}
        return placed | {"label": label, "caps": caps, "hash": whole, "row": row}

    def requested(self, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.intp], Labels]:
        """Return which hashes are those of words of the request, and their labels."""
        listed, codes = self.special
        if not len(listed):
            return np.zeros(0, np.intp), codes
        spot = np.minimum(listed.searchsorted(hashes), len(listed) - 1)
        at = (listed[spot] == hashes).nonzero()[0]
        return at, codes[spot[at]]

    def unknown_labels(
        self, text: str, hashes: Words64, caps: Codes, inner: Flags, start: Ints, end: Ints
    ) -> Labels:
        """Return the labels of words that no list holds; each different word is looked at once."""
        cache = self.lexicon.unknown
        if len(cache) > _KNOWN:
            cache.clear()
        keys = (hashes * np.uint64(16) + caps + inner * np.uint64(8)).tolist()
        for i, key in enumerate(keys):
            if key not in cache:
                word = text[start[i] : end[i]]
                mixed = inner[i] and caps[i] in (TITLE, MIXED) and len(word) < strings.LONGEST_NAME
                parts = camel(word) if mixed else ()
                plural = word[:-1].isupper()
                label = self.lexicon.unlisted(folded(word), int(caps[i]), parts, plural)
                cache[key] = self.code[label]
        return np.array([*map(cache.__getitem__, keys)], np.uint16)

    def assemble(
        self, block: Block, words: Words, strings: Strings, of_text: NDArray[np.int64]
    ) -> tuple[View, Places]:
        """Merge words, phrases, strings and edges into one view."""
        code, hashes, edges = self.code, block.hashes, block.edges
        cut_words(self.lexicon, code, block.text, words)
        own = self.requested if self.has_phrases else None
        keep = join_phrases(self.lexicon, code, self.closed, block, words, own)
        words = {name: values.take(keep) for name, values in words.items()}
        kinds = np.array([code.get(label, -1) for label in strings.labels], np.int16)
        inside = (kinds >= 0).nonzero()[0]  # no escapes
        where, kinds = strings.where[inside], kinds[inside].astype(np.uint16)
        begin, m, e = words["start"], len(where), len(edges)
        n = len(begin) + m + e
        order = np.argsort(np.concatenate([begin, where[:, 0], edges]), kind="stable")

        def filled(string: Any, edge: Any, word: Any, kind: Any) -> NDArray[Any]:
            """Return the values of strings, edges and words, in order of place."""
            values, last = np.empty(n, kind), n - e
            values[: last - m], values[last - m : last], values[last:] = word, string, edge
            return values.take(order)

        start = filled(where[:, 0], edges, begin, np.int32)
        forms: dict[str, int] = {}
        written = [*map(strings.forms.__getitem__, inside.tolist())]
        days = among(kinds, [code[name] for name in dates.LABELS]).nonzero()[0].tolist()
        if days:
            texts = edges.searchsorted(where[days, 0]).tolist()
            cities = words["start"][words["label"] == code["citygb"]]
            local = "£", "€", f"0{MARK}"
            pounds = where[[at for at, form in enumerate(written) if form.startswith(local)], 0]
            months = words["start"][self.summed.take(words["label"]) == sums.MONTHS]
            behind = months[np.isin(months - 1, where[self.summed.take(kinds) == _SMALL, 1])]
            british = {*edges.searchsorted([*cities, *pounds, *behind]).tolist()}
            of_days = dates.day_forms([written[i] for i in days], texts, british)
            for i, day_form in zip(days, of_days, strict=True):
                written[i] = day_form
        ids = [forms.setdefault(marks, len(forms)) for marks in written]
        form_of = np.array(ids, np.int32)
        keys, caps_of = hashes.of(where[:, 0], where[:, 1]), np.full(m, NONE, np.uint8)
        at, codes = self.requested(keys)
        kinds[at] = codes
        at = np.append(at, (kinds < len(self.lexicon.labels)).nonzero()[0])  # 14NOV, T2DM
        if len(at):
            caps_of[at] = pattern(block, where[at, 0], where[at, 1])
            form_of[at] = -1  # words, whatever their form
        end = filled(where[:, 1], edges + 1, words["end"], np.int32)
        after = filled(where[:, 1], edges + 1, words["after"], np.int32)
        label = filled(kinds, code[EDGE], words["label"], np.uint16)
        caps = filled(caps_of, NONE, words["caps"], np.uint8)
        form = filled(form_of, -1, -1, np.int32)
        hashed = filled(keys, 0, words["hash"], np.uint64)
        row = filled(-1, -1, words["row"], np.int32)
        text_of = (label == code[EDGE]).cumsum(dtype=np.int32) - np.int32(1)
        index = np.minimum(text_of, len(of_text) - 1, dtype=np.int32)
        unit = (changes(of_text).cumsum(dtype=np.int32) - np.int32(1)).take(index)
        gap = gaps(block, np.append(0, after[:-1]), start)
        closed = (row >= 0) & (self.closed.take(label) | (row == self.letter_a))
        trigger = self.trigger.take(row) * closed
        no_triggers(code, label, caps, gap, trigger)
        one_article(self.articles, code["func"], label, caps, gap, trigger)
        stem = hashed.copy()  # without a plural s where a rule could need it
        at = (label == code["surnamepl"]).nonzero()[0]
        stem[at] = hashes.of(start[at], end[at] - 1)
        at = among(label, [code[name] for name in NATIONS]).nonzero()[0]
        if len(at):  # of a country that may be drawn
            nations, countries = self.nations
            spot = np.minimum(nations.searchsorted(hashed[at]), len(nations) - 1)
            same = nations[spot] == hashed[at]
            stem[at[same]] = countries[spot[same]]
        common = (label == code["func"]) | ((label == code["plain"]) & (caps == LOWER))
        equal, first = firsts(hashed, stem, unit, (trigger == 0) & ~common)
        owns = filled(False, False, words["possessive"], np.bool_)
        sort = self.sorts.take(label)
        earlier, turns = dates.earlier(sort, block.text, start, end, index, form, [*forms])
        relations = form, trigger, equal, first, unit, index, earlier
        found_sums = self.sums(block.text, label, gap, start, end, index, trigger)
        found_sums += tuple(
            Sum(sums.OF_DAY + kind, tokens[0], tuple(tokens)) for kind, tokens in turns
        )
        values: list[int] = among(label, [code[name] for name in VALUES]).nonzero()[0].tolist()
        near = {token: near_form(block.text[start[token] : end[token]]) for token in values}
        members = {token for found in found_sums for token in (found.whole, *found.parts)}
        counts = {token: below_ten(block.text[start[token] : end[token]]) for token in members}
        names = self.code, tuple(forms)
        view = View(label, caps, owns, gap, *relations, *names, {}, {}, near, found_sums, counts)
        places = Places(block.text, start, end, after, hashed, stem, {})
        split_locals(view, places)
        find_initials(view, places)
        view.far_words.update(far_words(view, places, self.articles[0]))
        return view, places

    def sums(
        self,
        block: str,
        label: Codes,
        gap: Codes,
        start: Ints,
        end: Ints,
        text: Ints,
        trigger: NDArray[np.int16],
    ) -> tuple[Sum, ...]:
        """Return the numbers that follow from others of their text."""
        sort = self.summed.take(label)
        at = sort.nonzero()[0]
        if len(at) < 2:
            return ()
        counts = np.bincount(text[at] * 6 + sort[at], minlength=6 * (text[-1] + 1))
        _, amounts, days, years, clocks, months = counts.reshape(-1, 6).T
        dated = (days > 2) & (months > 0) | (years > 1)
        many = dated | (amounts > 0) & (amounts + days > 1) | (clocks > 1) & (clocks + days > 2)
        hyphen = among(gap, [GAP["hyphen"], GAP["dash"]]) & (start - np.append(0, end[:-1]) == 1)
        ranges = (trigger == self.to)[at - 1] & (sort[at - 2] == _SMALL) & (sort[at] == _SMALL)
        many[text[at[ranges | hyphen[at] & (sort[at - 1] > 0)]]] = True
        ends = at[ranges].tolist()
        at = at[many.take(text[at]) & (sort[at] < 5)]  # elsewhere there is none
        joined = {*at[hyphen[at]].tolist()}
        # of 450, of your 450
        wholes = {*at[(trigger[at - 1] == self.of) | (trigger[at - 2] == self.of)].tolist(), *ends}
        last = end[at] - (label[at] == self.code["agesex"])  # 66 of 66M
        rows = zip(
            text[at].tolist(),
            at.tolist(),
            map(self.labels.__getitem__, label[at].tolist()),
            map(block.__getitem__, map(slice, start[at].tolist(), last.tolist())),
            strict=True,
        )
        lines = np.cumsum(gap == GAP["line"])[at].tolist()
        line_of = dict(zip(at.tolist(), lines, strict=True))
        of_texts = ([row[1:] for row in part] for _, part in groupby(rows, itemgetter(0)))
        return tuple(
            chain.from_iterable(sums.sums_of(part, joined, wholes, line_of) for part in of_texts)
        )
