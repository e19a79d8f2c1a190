"""Which words make the vocabulary, and in what order.

Knows counts and spelling rules.  Must not know vectors, nor any test set: words are chosen by
general frequency only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from dpsan.embeddings.training import handicap
from recipe.corpus import Counts, Source

__all__ = [
    "choose_words",
    "mixed_counts",
    "must_have",
    "occurrences",
    "read_list",
    "usage",
]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# A letter is Latin; a word has no digits, or is one of the numeric forms below.
_LETTERS: Final = r"[a-zß-öø-ÿāăąćĉčďđēęěğģħīĭįıķĺļľłńņňōŏőœŕřśşšţťūŭůűųŵŷźżž]"
_WORD: Final = re.compile(rf"{_LETTERS}{{1,24}}(?:['-]{_LETTERS}{{1,16}}){{0,3}}")
_INTEGER: Final = re.compile(r"\d{1,4}")
# 1.5 and 2,500 and 100,000, not 408-247-8880 nor 3.14159.
_SEPARATED: Final = re.compile(r"\d{1,2}\.\d|\d{1,3}(?:,\d{3})*,(?:000|500)")
_WITH_DIGITS: Final = re.compile(
    r"\d{1,4}(?:st|nd|rd|th|s)|\d{1,2}(?:am|pm)|\d{1,3}(?:km|mm|cm|kg|mph|gb|mb)|[234]d|[345]g"
    r"|mp[34]|(?:\d{1,3}|[a-z]{1,8})-(?:[a-z]{3,9}|\d{1,2})|\d{1,2}(?:st|nd|rd|th)-[a-z]{3,9}"
)
# Remains of addresses and of page mark-up; none is a word of a text.
_JUNK: Final = _set(
    "http https www htm html php aspx nbsp quot amp lt gt br hr td colspan rowspan bgcolor "
    "margin-left margin-right margin-top margin-bottom text-align valign cellpadding cellspacing "
    "font-size font-weight background-color px img href src isbn issn oclc doi pmid non-families"
)
# A possessive is its noun and grammar ("Maria's" protects "Maria"); with these words 's is a verb.
_VERBAL_S: Final = _set(
    "it's that's there's what's let's he's she's who's here's where's how's when's everything's "
    "everyone's something's nothing's"
)
# Of two letters anything occurs; these are words, titles, units, states or common abbreviations.
_SHORT: Final = _set(
    "ad ah am an as at ax be by do eh go ha he hi ho if in is it ma me my no of oh ok on or ow ox "
    "pa so to uh um up us we ya ye yo tv uk us eu un pc cd dj iq id ip ai os dc la ny nj tx fl va "
    "ca pm bc ce dr mr ms mt st jr sr ft lb oz kg mg km cm mm mb gb hz ed co vs er et al de le el "
    "du da di en un des ii iv vi ix xi xv xx xl th nd rd st ll ve re pr hr hq gp mp bp hp gm bo "
    "jo al li wu bn tn xu yu ng lu ma jo cv ph ac rv wi ex op ol ps im ur"
)
_ROMAN: Final = _set("ii iii xx xxx ll")
_NUMBER_WORDS: Final = (  # and the clitics that Penn Treebank tokens end in
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
    " hundred thousand million billion trillion dozen first second third fourth fifth sixth"
    " seventh eighth ninth tenth eleventh twelfth twenty-one twenty-two twenty-three twenty-four"
    " twenty-five twenty-six twenty-seven twenty-eight twenty-nine thirty-one thirty-five"
    " forty-five n't ll ve re"
)


def _ordinal(number: int) -> str:
    teens = 10 <= number % 100 <= 20
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def read_list(path: Path) -> list[str]:
    """The words of a hand-written list; a line that begins with # is a remark."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [word for line in lines if not line.startswith("#") for word in line.split()]


def must_have(lists: Iterable[Path]) -> list[str]:
    """Numbers, and the words of hand-written lists: names, places, dates, everyday words.

    They belong in even where other words are more frequent: a name that the vocabulary lacks is
    replaced by a word of any kind, one that it has by another name; and encyclopedias hardly use
    the words in which people say what they think.
    """
    words = _NUMBER_WORDS.split()
    words += [str(number) for number in range(101)]
    words += [f"{number:02d}" for number in range(10)]
    words += [str(number) for number in (*range(110, 1000, 10), *range(1000, 10_000, 500))]
    words += [f"{number},000" for number in (*range(1, 21), *range(20, 101, 10), 200, 500)]
    words += [str(year) for year in range(1900, 2031)]
    words += [_ordinal(number) for number in range(1, 32)]
    for listed in sorted(lists):
        words += read_list(listed)
    return list(dict.fromkeys(words))


def _admissible(word: str) -> bool:
    if word in _JUNK or (word.endswith("'s") and word not in _VERBAL_S):
        return False
    if len(word) == 2 and word.isalpha() and word not in _SHORT:
        return False
    if _WORD.fullmatch(word):  # no "aaa" nor "zz", but "ii"
        return len(word) == 1 or len(set(word)) > 1 or word in _ROMAN
    return any(rule.fullmatch(word) for rule in (_INTEGER, _SEPARATED, _WITH_DIGITS))


def usage(counts: Mapping[str, Counts], sources: Iterable[Source]) -> dict[str, float]:
    """How widely a token is used: its share of document frequency, mixed over the sources.

    Documents rather than occurrences keep the hero of one article or one book out.
    """
    mixed: dict[str, float] = {}
    for source in sources:
        documents = counts[source.name].documents
        share = source.weight / documents.total()
        for word, number in documents.items():
            mixed[word] = mixed.get(word, 0.0) + share * number
    return mixed


def choose_words(
    counts: Mapping[str, Counts],
    sources: Iterable[Source],
    size: int,
    least: int,
    lists: Iterable[Path],
    least_must_have: int = 15,
) -> frozenset[str]:
    """The `size` most widely used admissible words with `least` occurrences, and the must-haves."""
    width = usage(counts, sources)
    total: Counter[str] = Counter()
    for source in sources:
        total.update(counts[source.name].tokens)
    must = {word for word in must_have(lists) if total[word] >= least_must_have}
    fit = (w for w in width if total[w] >= least and w not in must and _admissible(w))
    ranked = sorted(fit, key=lambda w: (-width[w] / handicap(w), w))
    return frozenset(must.union(ranked[: size - len(must)]))


def occurrences(counts: Mapping[str, Counts], words: frozenset[str]) -> Counter[str]:
    """Occurrences of words in the training text."""
    found: Counter[str] = Counter()
    for part in counts.values():
        found.update({word: part.tokens[word] for word in words})
    return found


def mixed_counts(
    counts: Mapping[str, Counts], sources: Iterable[Source], words: frozenset[str]
) -> dict[str, int]:
    """Occurrences of each word in a corpus of the same size with the sources in their weights."""
    sources = list(sources)
    size = sum(counts[source.name].total() for source in sources)
    weights = sum(source.weight for source in sources)
    mixed = dict.fromkeys(words, 0.0)
    for source in sources:
        tokens = counts[source.name].tokens
        share = size * source.weight / weights / tokens.total()
        for word in words:
            mixed[word] += share * tokens[word]
    return {word: max(1, round(number)) for word, number in mixed.items()}
