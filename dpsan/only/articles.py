"""Articles: *a* and *an* are one trigger, and each stands before a word.

Which of both stood in a text would show how the word behind it began.  That word may stand behind
tags, ``an <b>Italian``, or in the next text of a page, where the tag ends this one.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from dpsan.only.hashes import Places
from dpsan.only.local_parts import NAMED
from dpsan.only.view import GAP, LOWER, ONE, TITLE, Codes, Shorts, View, among

BEHIND_ARTICLE: Final = [GAP[name] for name in ("space", "line", "open", "dash")]
"""Gaps between an article and its word."""
_TAG: Final = 16
"""Most words of a tag that stands between an article and its word."""


def one_article(
    pair: list[int], func: int, label: Codes, caps: Codes, gap: Codes, trigger: Shorts
) -> None:
    """Let *a* and *an* be one trigger, in place; before a dot or a hyphen they are letters.

    Args:
        pair: the triggers of *a* and *an*.
        func: label of function words.
    """
    at = ((trigger == pair[0]) | (trigger == pair[1])).nonzero()[0]
    if not len(at):
        return
    behind = gap[np.minimum(at + 1, len(gap) - 1)]
    joined = ~among(behind, BEHIND_ARTICLE)
    joined |= (behind == GAP["line"]) & (caps[at] == ONE)  # a mark of a list
    trigger[at[joined]] = 0
    at = at[~joined]
    trigger[at] = pair[0]
    label[at] = func
    caps[at] = np.where(caps[at] == LOWER, LOWER, ONE)


def no_triggers(
    code: Mapping[str, int], label: Codes, caps: Codes, gap: Codes, trigger: Shorts
) -> None:
    """Let function words be words, in place, where they are surnames: Mr. Im, mr case, Hui Min.

    Args:
        code: code of each label.
    """
    capital = (label == code["funcname?"]) & (caps == TITLE)
    behind_title = label[:-1] == code["title"]
    trigger[1:][(capital | (label == code["trigname?"]))[1:] & behind_title] = 0
    behind_name = among(label, [code[name] for name in NAMED])[:-1] & (gap[1:] == GAP["space"])
    behind_name |= (label[:-1] == code["letter"]) & (gap[1:] == GAP["stop"])
    trigger[1:][capital[1:] & behind_name] = 0


def far_words(view: View, places: Places, article: int) -> dict[int, int]:
    """Return the words of the articles that do not stand right before them.

    Args:
        article: the trigger of articles.
    """
    at = (view.trigger == article).nonzero()[0]
    if not len(at):
        return {}
    marks = at[view.gap[at + 1] != GAP["space"]]
    words = {
        token: _behind_tags(places, token + 1)
        for token, place in zip(marks.tolist(), (places.start[marks + 1] - 1).tolist(), strict=True)
        if places.block[place] in "</"
    }
    for i in at[view.edge[at + 1]].tolist():
        follows = i + 2
        goes_on = follows < len(view.label) and view.unit[i] == view.unit[i + 1]
        if goes_on and view.gap[follows] in (*BEHIND_ARTICLE, GAP["none"]):
            words[i] = follows
    return words


def _behind_tags(places: Places, token: int) -> int:
    """Return the first token behind the tags that begin before a token; itself if none ends."""
    follows = token
    while "<" in _gap(places, follows).rpartition(">")[2]:
        inside = range(follows + 1, min(follows + _TAG, len(places.start)))
        ends = (later for later in inside if ">" in _gap(places, later))
        if (end := next(ends, None)) is None:
            return token
        follows = end
    return follows


def _gap(places: Places, token: int) -> str:
    """Return what stands before a token."""
    return places.block[places.after[token - 1] : places.start[token]]
