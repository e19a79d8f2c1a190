"""Local parts of e-mail addresses: which words of the unit their pieces may be."""

from __future__ import annotations

import re

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
    at = np.flatnonzero(among(view.label, addresses))
    if not len(at):
        return
    known: dict[tuple[int, int], int] = {}
    member = np.isin(view.unit, np.unique(view.unit[at])) & (view.form < 0)
    for i in np.flatnonzero(member).tolist():
        known.setdefault((int(view.unit[i]), int(places.hashes[i])), int(view.equal[i]))
    read: dict[tuple[int, str], tuple[tuple[tuple[Cut, ...], ...], tuple[int, ...]]] = {}
    for i in at.tolist():
        local = places.block[places.start[i] : places.end[i]].split("@")[0].lower()
        unit = int(view.unit[i])
        if (unit, local) not in read:
            pieces = re.findall(r"[^\W\d_]+|\d+|.", local)
            hashes = map(int.__mul__, Hashes.of_words(pieces).tolist(), map(str.isalpha, pieces))
            read[unit, local] = (
                tuple(cuts_of(piece, unit, known) for piece in pieces),
                tuple(hashes),
            )
        view.pieces[i], places.pieces[i] = read[unit, local]


def cuts_of(piece: str, unit: int, known: dict[tuple[int, int], int]) -> tuple[Cut, ...]:
    """Return a piece as words of the unit: whole, behind a letter, or two; the last is a mark."""
    if piece.isdigit():
        return ((ANY_DIGIT * len(piece),),)
    if not piece.isalpha():
        return ((piece,),)
    cuts: list[tuple[str, ...]] = [(piece,)]
    if len(piece) <= strings.LONGEST_NAME:
        cuts += [(piece[:i], piece[i:]) for i in range(1, len(piece))]
    hashes = iter(Hashes.of_words([part for cut in cuts for part in cut]).tolist())
    out: list[Cut] = []
    least = 2 if len(piece) == 2 else 3
    for cut in cuts:
        equal = [known.get((unit, next(hashes))) for _ in cut]
        parts = [SMALL if len(part) == 1 else word for part, word in zip(cut, equal, strict=True)]
        if None not in parts and max(map(len, cut)) >= least:
            out.append(tuple(part for part in parts if part is not None))
    return (*out, (SMALL if len(piece) == 1 else LARGE,))
