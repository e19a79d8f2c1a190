"""Local parts of e-mail addresses: which of their pieces are words of the unit."""

from __future__ import annotations

import re

import numpy as np

from dpsan.only import strings
from dpsan.only.hashes import Hashes
from dpsan.only.marks import DIGIT as ANY_DIGIT
from dpsan.only.marks import LARGE, SMALL
from dpsan.only.places import Places
from dpsan.only.view import View


def split_emails(view: View, places: Places) -> None:
    """Find the pieces of local parts that are words of their unit."""
    at = np.flatnonzero(
        np.isin(view.label, [view.labels.index(name) for name in ("email", "userip", "userhost")])
    )
    if not len(at):
        return
    known: dict[tuple[int, int], int] = {}
    member = np.isin(view.unit, np.unique(view.unit[at])) & (view.form < 0)
    for i in np.flatnonzero(member).tolist():
        known.setdefault((int(view.unit[i]), int(places.hashes[i])), int(view.equal[i]))
    for i in at.tolist():
        local = places.block[places.start[i] : places.end[i]].split("@")[0].lower()
        parts: list[str | int] = []
        hashes: list[int] = []
        for piece in re.findall(r"[^\W\d_]+|\d+|.", local):
            if piece.isdigit():
                parts.append(ANY_DIGIT * len(piece))
            elif not piece.isalpha():
                parts.append(piece)
            else:
                parts += names_in(piece, int(view.unit[i]), known)
                if parts[-1] == LARGE:
                    hashes += [0] * (len(parts) - 1 - len(hashes))
                    hashes += Hashes.of_words([piece]).tolist()
        view.pieces[i] = tuple(parts)
        places.pieces[i] = tuple(hashes + [0] * (len(parts) - len(hashes)))


def names_in(piece: str, unit: int, known: dict[tuple[int, int], int]) -> list[str | int]:
    """Return a piece as words of the unit: whole, behind a letter, or two; else a mark."""
    cuts: list[tuple[str, ...]] = [(piece,)]
    if len(piece) <= strings.LONGEST_NAME:
        cuts += [(piece[:i], piece[i:]) for i in range(1, len(piece))]
    hashes = iter(Hashes.of_words([part for cut in cuts for part in cut]).tolist())
    for cut in cuts:
        found = [(part, known.get((unit, next(hashes)))) for part in cut]
        words = all(equal is not None or len(part) == 1 for part, equal in found)
        if words and any(len(part) > 2 for part in cut):
            return [SMALL if equal is None or len(part) == 1 else equal for part, equal in found]
    return [SMALL] if len(piece) == 1 else [LARGE]
