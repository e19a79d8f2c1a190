"""docs/field.md against the program."""

import field
import page_parts
import pytest

from dpsan.mechanisms import MECHANISMS


def rows(name):
    """The cells of a part's table, without its head."""
    lines = [
        line for line in page_parts.part(field.PAGE, name).splitlines() if line.startswith("|")
    ]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_row_has_the_status_and_the_proof_of_its_mechanism():
    """A mechanism that is newer than the page has no row yet."""
    for row in rows("claims"):
        name = row[0].strip("`")
        assert row[1] == str(MECHANISMS[name].status), "run python tests/field.py"
        assert row[5] == field.proof_link(name)


@pytest.fixture(scope="module")
def words():
    return field.opened()


@pytest.mark.parametrize("name", ["knn-response", "krr", "clusant", "diffractor", "rantext-paper"])
def test_rows_are_what_the_program_says(name, words):
    (shown,) = [row for row in rows("claims") if row[0] == f"`{name}`"]
    assert tuple(shown) == field.claim_row(name, words), "run python tests/field.py claims"


def test_comparison():
    found = {row[0].strip("`"): row[1:] for row in rows("equal")}
    assert list(found) == list(field._COMPARED)
    assert all(name in MECHANISMS for name in found)
    for name, row in found.items():
        certain = MECHANISMS[name].status.name != "PROVED"
        assert row[0] in (("none", "–") if certain else (row[0], "–"))
        assert (row[3] == "–") == certain
