"""Kinds of words: 200 to look at, and which words count as of the same kind.

Lists are written by hand; a word may be on several (*paris*, *jordan*, *may*).  Those in
vocab/kinds also say which words must be in the vocabulary and which are kin when vectors are
shaped; those in vocab/kinds/judged only judge the neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["SHOWN", "kind_predicates"]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


SHOWN: Final = {
    "first names": "james mary robert jennifer michael susan david emma sarah daniel anna peter "
    "maria thomas laura kevin julia brian alice george",
    "surnames": "smith johnson williams garcia miller davis martinez wilson anderson taylor "
    "thompson moore lopez clark walker murphy nguyen o'brien schmidt cohen",
    "cities": "london paris berlin chicago boston tokyo madrid rome moscow sydney toronto houston "
    "seattle mumbai cairo dublin vienna manchester dallas beijing",
    "countries": "france germany spain italy japan china india brazil canada mexico egypt kenya "
    "sweden poland australia",
    "months": "january february march april may june july august september october november "
    "december",
    "weekdays": "monday tuesday wednesday thursday friday saturday sunday",
    "numbers": "one two seven twelve twenty hundred 3 7 10 25 42 100 1,000 1985 2012",
    "relations": "mother father brother sister wife husband daughter uncle grandmother friend",
    "jobs": "doctor nurse lawyer teacher engineer farmer actor soldier carpenter secretary",
    "diseases": "cancer diabetes pneumonia malaria asthma influenza tuberculosis depression",
    "food": "bread cheese apple coffee chicken rice beer soup",
    "money": "dollars euros bank salary loan price tax cheap",
    "nouns": "house car tree book phone city school river idea problem music war hospital "
    "computer window",
    "verbs": "go said eat think buy write killed running made believe sell help",
    "adjectives": "good bad hot cold big small happy sad old new beautiful angry rich red",
    "others": "quickly never she they because very",
}

_DIGITS: Final = re.compile(r"\d[\d.,]*")
_WORD_NUMBERS: Final = _set(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty "
    "ninety hundred hundreds thousand thousands million millions billion billions trillion dozen "
    "dozens couple several half both many few first second third"
)


def _is_number(word: str) -> bool:
    parts = word.split("-")
    return bool(_DIGITS.fullmatch(word)) or all(part in _WORD_NUMBERS for part in parts)


def kind_predicates(folder: Path) -> dict[str, Callable[[str], bool]]:
    """For each judged kind of SHOWN, whether a neighbour is of that kind.

    Countries count with provinces, states and continents.  First names and surnames stand in for
    each other: many words are both, and either is a name.
    """

    def listed(name: str) -> frozenset[str]:
        return frozenset((folder / f"{name}.txt").read_text(encoding="utf-8").split())

    names = listed("first_names") | listed("surnames") | listed("judged/names")
    cities = listed("cities") | listed("judged/cities")
    countries = listed("countries") | listed("judged/countries")
    return {
        "first names": names.__contains__,
        "surnames": names.__contains__,
        "cities": cities.__contains__,
        "countries": countries.__contains__,
        "months": listed("months").__contains__,
        "weekdays": listed("weekdays").__contains__,
        "numbers": _is_number,
    }
