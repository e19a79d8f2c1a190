"""``explain --only``: which rule drew each token, and by which list the others pass."""

import json

import pytest
from support import cases

TEXT = "Mr. Case hugged Grace on Monday, version 3: an old Zxqvar."


def explained(dpsan, *arguments, text=b""):
    done = dpsan("explain", "--json", "--only", *arguments, stdin=text, status=0)
    return [{row["token"]: row for row in tokens} for tokens in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def tokens(dpsan):
    (found,) = explained(dpsan, "names,numbers", TEXT)
    return found


@cases(
    "token word_class group rule",
    ("Case", "names", "surname", "title 1"),
    ("Grace", "names", "given_f", "sure"),
    ("Zxqvar", "names", "surname", "unknown"),
)
def test_a_drawn_token_has_its_row_of_the_rules(tokens, token, word_class, group, rule):
    row = tokens[token]
    assert (row["class"], row["group"], row["rule"]) == (word_class, group, rule)
    assert row["passes"] is None
    assert row["why"]


@cases(
    "token passes",
    ("Mr", "list titles"),
    ("hugged", "list vocabulary"),
    ("on", "list function words"),
    ("3", "rule counted"),
    ("Monday", "class dates is not chosen"),
)
def test_a_token_that_passes_names_its_list_or_rule(tokens, token, passes):
    assert tokens[token]["passes"] == passes
    assert tokens[token]["group"] is None


def test_a_list_of_ones_own_is_named(dpsan, tmp_path):
    (tmp_path / "projects.txt").write_text("bluebird\nredwing\n")
    done = dpsan("explain", "--json", "--only", "projects.txt", "Bluebird flies", cwd=tmp_path)
    first, second = json.loads(done.stdout)[0]
    assert (first["class"], first["rule"]) == ("projects.txt", "own list")
    assert second["passes"].startswith("list ")


def test_texts_and_standard_input_are_units_of_their_own(dpsan):
    first, second = explained(dpsan, "names", "Grace", "-", text=b"Olsen\nand Grace\n")
    assert [*first] == ["Grace"]
    assert [*second] == ["Olsen", "and", "Grace"]


def test_the_table_shows_the_same(dpsan):
    done = dpsan("explain", "--only", "sensitive", TEXT)
    rows = {line.split()[0]: line for line in done.stdout.decode().splitlines()}
    assert "title 1" in rows["Case"]
    assert rows["hugged"].endswith("list vocabulary")


def test_standard_input_that_is_no_text_is_named_by_line(dpsan):
    done = dpsan("explain", "--only", "names", "-", stdin=b"Grace\n\xff\n", status=2)
    assert done.stderr == b"dpsan: standard input:2: not UTF-8\n"
