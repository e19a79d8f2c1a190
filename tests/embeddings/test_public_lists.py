"""Lists of public words: what is in them, what must not be, and how they are looked up."""

import re

import pytest
from support import ROOT

from dpsan.embeddings.bundled import load_bundled
from dpsan.embeddings.word_lists import PublicWords, public_words
from dpsan.errors import InputError, UsageError

_SENSITIVE = """
cancer aids hiv diabetes sick ill illness disease pain doctor hospital surgery medicine pill drug
drugs alcohol drunk drink wine beer sober smoke addict pregnant pregnancy abortion baby birth born
miscarriage depressed depression anxiety therapy suicide mental blind deaf disabled weight blood
test positive negative period sex sexual gay lesbian straight bisexual trans queer male female man
woman men women boy girl he she him her his hers himself herself he's she's sir madam mr mrs ms
muslim islam christian jewish jew catholic hindu buddhist church mosque god faith religion pray
atheist bible vote party democrat republican liberal conservative communist union protest election
president wife husband partner married marriage wedding divorce divorced single widow mother
father mom dad son daughter sister brother parents child children kids family friend boyfriend
girlfriend love affair prison jail arrested police crime criminal guilty court trial lawyer judge
murder kill killed rape abuse victim gun weapon war army soldier dollars dollar money debt loan
salary bank rich poor price cost paid pay buy sell tax bankrupt rent rob job boss fired hired
unemployed manager teacher nurse engineer student school university college degree black white
asian african american english indian chinese russian french german arab mexican immigrant refugee
citizen passport visa race native foreign london paris chicago europe america city state country
home house street airport us may will mark bill grant grace rose hope joy frank jack john mary
smith january march april august monday friday one two three first second third 1 2 1990 hundred
million dozen half twice age aged old young teenager birthday die died dead death funeral body eye
hand skin naked hair angry sad afraid lonely tired hungry fear meat pork vegan yes
"""


@pytest.mark.parametrize("name", ["function", "common"])
def test_no_word_of_the_lists_is_sensitive(name):
    words = public_words(name).words
    assert sorted(words & set(_SENSITIVE.split())) == []
    assert sorted(word for word in words if re.search(r"\d", word)) == []
    kinds = {
        word
        for path in (ROOT / "vocab" / "kinds").glob("*.txt")
        for word in path.read_text(encoding="utf-8").split()
        if not path.read_text(encoding="utf-8").startswith("#")
    }
    assert len(kinds) > 1000
    # A surname, but as a word far too common to stand for a person.
    assert sorted(words & kinds) == ["little"]


def test_common_is_function_and_more():
    function, common = (public_words(name).words for name in ("function", "common"))
    assert {"the", "of", "we", "is", "not", "don't", "with"} <= function < common
    assert {"good", "time", "make", "people"} <= common - function
    assert 250 < len(function) < 400 < 1000 < len(common)


@pytest.mark.parametrize("name", ["function", "common"])
def test_lists_are_one_word_a_line_and_known(name):
    lines = (ROOT / "vocab" / "public" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert "Written by hand for this project (Apache-2.0" in "\n".join(lines[:3])
    words = [line for line in lines if not line.startswith("#")]
    assert len(set(words)) == len(words)
    assert all(re.fullmatch(r"[a-z]+('[a-z]+)?", word) for word in words)
    known = load_bundled().key_to_index
    assert sum(word in known for word in words) > 0.95 * len(words)


_OTHERS = {
    "de": "der und nicht wir im zwischen würde|er sie sein ihr frau mann krebs krank ja geld jahr",
    "fr": "le et ne nous dans entre serait|il elle été femme homme mari malade argent oui an",
    "es": "el y no nosotros entre sería del|él ella mujer hombre cáncer enfermo dinero año hoy",
}


@pytest.mark.parametrize("language", _OTHERS)
def test_lists_of_other_languages(language):
    """Words that tell the sex of a person are no public words, in any language."""
    words = public_words(f"function-{language}").words
    there, never = (set(each.split()) for each in _OTHERS[language].split("|"))
    assert len(there - words) <= 1
    assert not never & words
    assert 250 < len(words) < 400
    assert all(re.fullmatch(r"[^\W\d_]+", word) and word == word.lower() for word in words)
    assert PublicWords(f"function-{language}", words).rows({w: i for i, w in enumerate(words)})
    with pytest.raises(UsageError, match=f"of the language of function-{language}"):
        PublicWords(f"function-{language}", words).rows(load_bundled().key_to_index)


def test_lists_are_in_the_wheel():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"vocab/public" = "dpsan/_vocab/public"' in text


def test_look_up():
    """As words of a text are; what the vocabulary lacks is left out, and so protected."""
    rows = {"the": 3, "Will": 1, "will": 2, "don't": 0}
    found = PublicWords("list", frozenset(["THE", "Will", "don\u2019t", "nobody"]))
    assert found.rows(rows) == (0, 1, 3)
    with pytest.raises(UsageError, match="none of the public words"):
        PublicWords("list", frozenset(["nobody"])).rows(rows)
    assert "nobody" not in repr(found)
    same = PublicWords("other", frozenset(["nobody", "don\u2019t", "Will", "THE"]))
    assert same.sha256 == found.sha256 != PublicWords("list", frozenset(["the"])).sha256


def test_files(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("# ours\nthe\n\n of \n")
    assert public_words(path) == PublicWords("list", frozenset(["the", "of"]))
    path.write_text("# none\n")
    with pytest.raises(InputError, match="lists no word"):
        public_words(str(path))
    with pytest.raises(InputError, match="no such file"):
        public_words(str(tmp_path / "none"))
