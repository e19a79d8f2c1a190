"""Local parts of e-mail addresses: which words of the unit their pieces may be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain

import numpy as np

from dpsan.only import strings
from dpsan.only.hashes import Hashes
from dpsan.only.marks import DIGIT as ANY_DIGIT
from dpsan.only.marks import LARGE, SMALL
from dpsan.only.places import Places
from dpsan.only.view import Cut, View, among


def split_emails(view: View, places: Places) -> None:
    """Find the words of their unit that the pieces of local parts may be."""
    addresses = [view.labels.index(name) for name in ("email", "userip", "userhost")]
    at = among(view.label, addresses).nonzero()[0]
    if not len(at):
        return
    starts, ends = places.start[at].tolist(), places.end[at].tolist()
    written = [
        places.block[start:end].split("@")[0].lower()
        for start, end in zip(starts, ends, strict=True)
    ]
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
    read: dict[tuple[int, str], tuple[tuple[Cut, ...], ...]] = {}
    for i, local in zip(at.tolist(), written, strict=True):
        unit = int(view.unit[i])
        if (unit, local) not in read:
            of_unit = (
                _readings(piece, cuts[piece], unit, hashes, replaced) for piece in pieces[local]
            )
            read[unit, local] = tuple(of_unit)
        view.pieces[i] = read[unit, local]
        places.pieces[i] = tuple(map(whole.__getitem__, pieces[local]))


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
        return ((ANY_DIGIT * len(piece),),)
    if not piece.isalpha():
        return ((piece,),)
    out: list[Cut] = []
    least = 2 if len(piece) == 2 else 3
    for cut in cuts:
        read = [SMALL if len(word) == 1 else words.get((unit, hashes[word])) for word in cut]
        parts = [part for part in read if part is not None]
        if len(parts) == len(cut) and max(map(len, cut)) >= least:
            out.append(tuple(parts))
    return (*out, (SMALL if len(piece) == 1 else LARGE,))
