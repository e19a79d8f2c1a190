"""Lines of several words in a list of one's own are found as a whole (issue 60)."""

import json
from itertools import product

import pytest
from support import cases, tables, unmarked

from dpsan.errors import InputError
from dpsan.sanitize.classes import explained
from dpsan.sanitize.replacing import OnlyRewriter
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.settings import Settings

CASES = tables("only/cases")

LIST = ["Zorblax", "New Mills", "Grace Young", "van der Kron", "Saint-Denis", "of the Old Mill"]
TEXT = (
    "He left {0}, and {1}'s mill for {2}. The newer Mills stayed, Grace met {0}; old Young left.\n"
    'Of {1} ({2}) and "{0}" I know New things.\n'
)


@pytest.fixture
def own(tmp_path):
    def path(words=LIST, kind=""):
        file = tmp_path / "own.txt"
        file.write_text("".join(f"{word}\n" for word in words))
        return f"{file}{kind}"

    return path


def tokens(only, text):
    return explained(OnlyRewriter(Settings.read(only=only)), text)


@cases("marked", *tables("only/cases")["phrases"])
def test_a_phrase_is_found_as_a_whole_and_its_words_are_not(own, marked):
    text, marks = unmarked(marked)
    drawn = [row["token"].removesuffix("'s") for row in tokens(own(), text) if row["class"]]
    assert drawn == [phrase for phrase, _ in marks]


def test_the_longest_phrase_wins_and_one_of_the_request_comes_first(own):
    words = ["New York Road", "York", "Old New York"]
    rows = tokens(own(words) + ",places", "New York Road, Old New York Road, New York, York")
    told = [(row["token"], row["class"]) for row in rows if row["class"]]
    assert told[0] == ("New York Road", "own.txt")
    assert told[1] == ("Old New York", "own.txt")
    assert ("New York", "places") in told or ("York", "own.txt") in told
    assert told[-1] == ("York", "own.txt")


@cases("kind", "", ":names", ":places", ":health")
@cases("more", "", "people,", "sensitive,")
def test_which_phrase_stood_there_is_hidden(own, kind, more):
    """Whatever entries of the list stand in a text, one word or four: the output is the same."""
    sanitizer = Sanitizer(only=more + own(kind=kind))
    same = ["Zorblax", "New Mills", "Grace Young", "Saint-Denis"]  # of one pattern of capitals
    texts = [TEXT.format(*words) for words in product(same, repeat=3) if len({*words}) == 3]

    def written(text):
        return "".join(sanitizer.sanitize([text], b"k" * 32).lines)

    (output,) = {*map(written, texts)}
    assert "The newer Mills stayed" in output or more
    # The twin: a word that is not of the list is seen.
    assert written(TEXT.format("Zorblax", "the", "New Mills")) != output


def test_a_phrase_comes_back_with_a_map(own, dpsan, tmp_path):
    text = TEXT.replace("'s mill", "").format("New Mills", "Grace Young", "Zorblax")
    given = ("rewrite", "-q", "--only", own(), "--map", "map", "--seed", "1")
    done = dpsan(*given, stdin=text.encode(), cwd=tmp_path, status=0)
    assert done.stdout.decode() != text
    back = dpsan("restore", "--map", "map", stdin=done.stdout, cwd=tmp_path, status=0)
    assert back.stdout.decode() == text


@cases("line", *CASES["lines"])
def test_what_could_not_be_found_is_refused(own, line):
    with pytest.raises(InputError, match=r"own\.txt:2: "):
        Settings.read(only=own(["Zorblax", line]))


def test_blanks_are_one_and_classes_with_epsilon_take_words(own):
    (kind,) = Settings.read(only=own(["New  Mills ", "b"])).only
    assert kind.groups == (("New Mills", "b"),)
    with pytest.raises(InputError, match=r"own\.txt:1: not one token"):
        Settings.read(epsilon=8, classes=own(["New Mills", "b"]))


def test_no_phrase_goes_from_one_text_to_the_next(own):
    sanitizer = Sanitizer(only=own())
    assert sanitizer.rewrite_object(["Grace", "Young"]) == ["Grace", "Young"]


def test_a_phrase_that_a_line_cuts_is_the_same_one(own, dpsan, tmp_path):
    """It keeps the break, behind it, and its replacement; its row of the map has none."""
    text = "He left New Mills, and New\nMills left him. In\nNew\t Mills.\n"
    given = ("rewrite", "-q", "--only", own(), "--map", "map")
    done = dpsan(*given, stdin=text.encode(), cwd=tmp_path, status=0).stdout.decode()
    word = done.removeprefix("He left ").partition(", and ")[0]
    assert done == f"He left {word}, and {word}\n left him. In\n{word}.\n"
    rows = (tmp_path / "map").read_text().splitlines()[1:]
    assert [json.loads(row)["original"] for row in rows] == ["New Mills", "New\t Mills"]
