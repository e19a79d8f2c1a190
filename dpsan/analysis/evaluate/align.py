"""Align the words of a sanitized line with the words of its original.

Gaps (white space, punctuation) pass a sanitizer unchanged, so the gaps of the original line cut the
sanitized one; a word of the output may hold characters that a gap is made of ("U.S."), so every cut
is tried whose words could have been written by a sanitizer, and the shortest words win where
several cuts are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

_STATES: Final = 4096
"""Positions in a line that are followed at once; hostile lines are given up beyond it."""


def aligned(
    gaps: Sequence[str],
    line: str,
    split: Callable[[str], list[str]],
    possible: Callable[[int, str], bool],
    longest: int,
) -> list[str] | None:
    """Return the output words of a line, or None if it cannot have come from these gaps.

    Args:
        gaps: of the original line, one more than words.
        split: the tokenizer: line -> alternating list of gaps and words.
        possible: (number of the word, string) -> whether a sanitizer can have written it there.
        longest: length of the longest such string.
    """
    pieces = split(line)
    words, alike = pieces[1::2], pieces[::2] == gaps
    if alike and all(possible(at, word) for at, word in enumerate(words)):
        return words
    found = cut(gaps, line, possible, longest)
    # Another program's words have the same positions all the same.
    return words if found is None and alike else found


def cut(
    gaps: Sequence[str], line: str, possible: Callable[[int, str], bool], longest: int
) -> list[str] | None:
    """Cut a line at gaps into possible words; None where there is no way.

    Args:
        gaps: in order, one more than words.
        possible: (number of the word, string) -> bool.
        longest: length of the longest possible string.
    """
    if not line.startswith(gaps[0]):
        return None
    if len(gaps) == 1:
        return [] if line == gaps[0] else None
    # Positions after each gap, with the position after the gap before: found forwards, all at once.
    layers: list[dict[int, int]] = [{len(gaps[0]): -1}]
    for at, gap in enumerate(gaps[1:]):
        last = at == len(gaps) - 2
        reached: dict[int, int] = {}
        for begin in layers[-1]:
            for end in _ends(line, begin, gap, longest, last=last):
                after = end + len(gap)
                if after not in reached and possible(at, line[begin:end]):
                    reached[after] = begin
        if not reached or len(reached) > _STATES:
            return None
        layers.append(reached)
    words = []
    index = len(line)
    for at in range(len(gaps) - 1, 0, -1):
        begin = layers[at][index]
        words.append(line[begin : index - len(gaps[at])])
        index = begin
    return words[::-1]


def _ends(line: str, begin: int, gap: str, longest: int, *, last: bool) -> list[int]:
    """Return possible ends of the word at ``begin``: before a gap, at most ``longest`` further."""
    if last:
        end = len(line) - len(gap)
        return [end] if begin < end <= begin + longest and line.endswith(gap) else []
    if not gap:
        return list(range(begin + 1, min(begin + longest, len(line)) + 1))
    out, end = [], begin
    while (end := line.find(gap, end + 1, begin + longest + len(gap))) >= 0:
        out.append(end)
    return out
