"""Local parts of e-mail addresses and handles, and initials: which words their pieces may be."""

import re
from collections import defaultdict
from collections.abc import Mapping
from itertools import chain
from typing import Final

import numpy as np

from dpsan.only import forms, strings
from dpsan.only.hashes import Hashes, Places
from dpsan.only.view import EDGE, GAP, MIXED, TITLE, UPPER, Cut, View, among
from dpsan.text.letter_case import address_spellings

_ROLES: Final = (
    "admin billing bookings careers claims contact enquiries feedback hello help hr info invoices",
    "jobs mail marketing newsletter noreply office orders press privacy purchasing reception",
    "recruiting sales security service shop support team webmaster",
)
ROLES: Final = frozenset(" ".join(_ROLES).split())
"""Local parts that stay where no word of their unit is the same."""
NAMED: Final = ("given_f", "given_m", "given_u", "surname", "unknown")
"""Labels of words that have initials."""
_MAYBE: Final = ("given_f?", "given_x?", "surname?", "name?", "month?", "city", "cityen", "citygb")
"""Labels of words that have initials if they are names: Will D. beside Will Dlamini."""
_ACCENTED: Final = re.compile(r"[^\W\d_]*[^\W\d_\x00-\x7f][^\W\d_]*")


def split_locals(view: View, places: Places) -> None:
    """Find the words of their unit that the pieces of local parts and handles may be."""
    at = view.labelled("email", "userip", "userhost", "handle").nonzero()[0]
    if not len(at):
        return
    spans = zip(places.start[at].tolist(), places.end[at].tolist(), strict=True)
    texts = [places.block[start:end].lower() for start, end in spans]
    written = [text if text[0] == "@" else strings.NAMED["AT"].split(text)[0] for text in texts]
    pieces = {local: re.findall(r"[^\W\d_]+|\d+|.", local) for local in written}
    cuts = {piece: _cuts(piece) for piece in chain.from_iterable(pieces.values())}
    words = [*{word for of_piece in cuts.values() for cut in of_piece for word in cut}]
    values = Hashes.of_words(words)
    hashes = dict(zip(words, values.tolist(), strict=True))
    whole = {piece: hashes[piece] * piece.isalpha() for piece in cuts}
    values = np.append(np.sort(values), 0)
    replaced: dict[tuple[int, int], int] = {}
    member = values[np.searchsorted(values[:-1], places.hashes)] == places.hashes
    found = (member & (view.form < 0)).nonzero()[0]
    columns = (values.take(found).tolist() for values in (view.unit, places.hashes, view.equal))
    for unit, value, first in zip(*columns, strict=True):
        replaced.setdefault((unit, value), first)
    for value, token in _plainly_spelt(places):
        if view.form[token] < 0:
            replaced.setdefault((int(view.unit[token]), value), int(view.equal[token]))
    read: dict[tuple[int, str], tuple[tuple[Cut, ...], ...]] = {}
    for i, local in zip(at.tolist(), written, strict=True):
        unit = int(view.unit[i])
        if (unit, local) not in read:
            of_unit = (
                _readings(piece, cuts[piece], unit, hashes, replaced) for piece in pieces[local]
            )
            role = local in ROLES and (unit, hashes[local]) not in replaced
            read[unit, local] = (((local,),),) if role else tuple(of_unit)
        view.pieces[i] = read[unit, local]
        places.pieces[i] = tuple(map(whole.__getitem__, pieces[local]))


def find_initials(view: View, places: Places) -> None:
    """Find which two capitals are the initials of one pair of words in their text, and which letter
    beside a word is that of the one with which it is such a pair.
    """
    word = (view.form < 0) & (view.trigger == 0) & ~view.labelled(EDGE, "func")
    two = (word & (view.caps == UPPER) & (places.end - places.start == 2)).nonzero()[0]
    name = word & view.labelled(*NAMED, *_MAYBE)
    one = (view.labelled("letter") & (view.trigger == 0)).nonzero()[0]
    equal = np.zeros(len(name), np.bool_)  # to a name
    equal[view.equal[name]] = True
    one = one[equal[view.equal[one + 1]] | equal[view.equal[one - 1]]]
    lettered = np.append(two, one)
    if not len(lettered):
        return
    beside = np.append((name[:-1] & name[1:]) & (view.gap[1:] == GAP["space"]), False)
    beside[:-1] &= np.isin(view.text[:-1], view.text[lettered])
    pairs = [(token, token + 1) for token in beside.nonzero()[0].tolist()]
    pairs += [(token, token + 2) for token in (beside[:-1] & beside[1:]).nonzero()[0].tolist()]
    named = among(view.caps, [TITLE, MIXED]) & view.labelled(*NAMED)
    of_letters: defaultdict[tuple[int, int | None, str], set[Cut]] = defaultdict(set)
    for first, last in pairs:
        text, *both = int(view.text[first]), int(view.equal[first]), int(view.equal[last])
        letters = [places.block[at] for at in places.start[[first, last]].tolist()]
        if named[first] and named[last] and last == first + 1:
            of_letters[text, None, "".join(letters)].add((*both,))
        of_letters[text, both[1], letters[0].lower()].add((both[0],))
        of_letters[text, ~both[0], letters[1].lower()].add((both[1],))
    for token in lettered.tolist() if of_letters else ():
        text, written = int(view.text[token]), places.block[places.start[token] : places.end[token]]
        ahead, behind = int(view.equal[token + 1]), ~int(view.equal[token - 1])
        sides = (ahead, behind) if len(written) == 1 else (None,)
        written = written if None in sides else written.lower()
        found = (of_letters.get((text, side, written), set[Cut]()) for side in sides)
        names = next((min(of_key) for of_key in found if len(of_key) == 1), ())
        if names:
            view.pieces[token] = tuple(((of_name,), (forms.LARGE,)) for of_name in names)
            places.pieces[token] = (0,) * len(names)


def _plainly_spelt(places: Places) -> list[tuple[int, int]]:
    """Return the hashes of words with accents as addresses spell them, and their tokens."""
    if places.block.isascii():
        return []
    words = [(match.start(), match[0].lower()) for match in _ACCENTED.finditer(places.block)]
    tokens = places.start.searchsorted([start for start, _ in words])
    pairs = []
    for (start, word), token in zip(words, tokens.tolist(), strict=True):
        if token < len(places.start) and places.start[token] == start:
            pairs += [(spelling, token) for spelling in sorted(address_spellings(word)) if spelling]
    values = Hashes.of_words([spelling for spelling, _ in pairs]).tolist()
    return [(value, token) for value, (_, token) in zip(values, pairs, strict=True)]


def _cuts(piece: str) -> list[tuple[str, ...]]:
    """Return a piece whole and, if it has letters, cut in two at each place."""
    cuts: list[tuple[str, ...]] = [(piece,)]
    if piece.isalpha() and len(piece) <= strings.LONGEST_NAME:
        cuts += [(piece[:i], piece[i:]) for i in range(1, len(piece))]
    return cuts


def _readings(
    piece: str,
    cuts: list[tuple[str, ...]],
    unit: int,
    hashes: Mapping[str, int],
    words: Mapping[tuple[int, int], int],
) -> tuple[Cut, ...]:
    """Return a piece as words of the unit: whole, behind a letter, or two; the last is a mark."""
    if piece.isdigit():
        return ((forms.DIGIT * len(piece),),)
    if not piece.isalpha():
        return ((piece,),)
    out: list[Cut] = []
    least = 2 if len(piece) == 2 else 3
    for cut in cuts:
        read = [forms.SMALL if len(word) == 1 else words.get((unit, hashes[word])) for word in cut]
        parts = [part for part in read if part is not None]
        if len(parts) == len(cut) and max(map(len, cut)) >= least:
            out.append(tuple(parts))
    return (*out, (forms.SMALL if len(piece) == 1 else forms.LARGE,))
