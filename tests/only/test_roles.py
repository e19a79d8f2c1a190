"""``--roles off``: names are one group and places another, so less is public."""

import pytest
from support import drawn_often

from dpsan import Sanitizer
from dpsan.errors import UsageError

TEXT = "We met {} {} in {}. Write to {}.x@mail.com."
OTHERS = [("Mary", "Young", "Paris"), ("Jones", "James", "France"), ("Robin", "Case", "Ohio")]


def texts():
    return [TEXT.format(*words, words[0].lower()) for words in OTHERS]


def drawn(text, **more):
    table = Sanitizer(only="people", **more).sanitize([text], b"k" * 32, audit=True).records
    return {reason[0] for reason in table.reasons if reason}


def test_names_are_one_group_and_places_another():
    assert [drawn(text, roles="off") for text in texts()] == [{"surname", "cityen", "email"}] * 3
    assert len({frozenset(drawn(text)) for text in texts()}) == 3


def test_texts_that_differ_in_roles_alone_have_one_output():
    sanitizer = Sanitizer(only="people", roles="off")
    outputs = {sanitizer.sanitize([text], b"k" * 32).lines[0] for text in texts()}
    assert len(outputs) == 1
    sanitizer = Sanitizer(only="people")
    assert len({sanitizer.sanitize([text], b"k" * 32).lines[0] for text in texts()}) == 3


def test_an_address_follows_its_name():
    for output in Sanitizer(only="people", roles="off").rewrite(texts()):
        assert f"Write to {output.split()[2].lower()}." in output


def test_the_statement_says_so(dpsan):
    told = [
        dpsan("rewrite", "--only", "people", *more, stdin=texts()[0].encode()).stderr.decode()
        for more in ([], ["--roles", "off"])
    ]
    assert "; group, form and capitals" in told[0]
    assert "; group (one for all names, one for all places), form and capitals" in told[1]


def test_a_mechanism_has_no_roles(dpsan):
    done = dpsan("rewrite", "-e", "8", "--roles", "off", stdin=b"a\n", status=2)
    assert done.stderr == b"dpsan: roles need only (use --only)\n"
    with pytest.raises(UsageError, match="roles"):
        Sanitizer(only="names", roles="some")


@pytest.mark.parametrize(("word", "group"), [("his", "given_m"), ("her", "given_f")])
def test_a_name_of_either_sex_follows_the_words_beside_it(outputs, word, group):
    names = {*outputs[group]}
    found = drawn_often(f"We met Zbynko Dvorak and {word} son.", 20)
    assert {text.split()[2] for text in found} <= names
    both = drawn_often("Zbynko Dvorak told his wife of her son.", 20)
    assert not {text.split()[0] for text in both} <= names
