"""``--only identifiers``: the eighteen kinds of the Safe Harbor method, 45 CFR 164.514(b)(2)."""

import re

import pytest
from support import cases, tables, unmarked

from dpsan.sanitize.sanitizer import Sanitizer


@pytest.fixture(scope="module")
def identifiers():
    return Sanitizer(only="identifiers")


@cases("kind marked", *tables("only/cases")["identifiers"])
def test_none_of_the_eighteen_kinds_stays(identifiers, kind, marked):
    text, marks = unmarked(marked)
    for at in range(3):
        output = identifiers.sanitize([text], bytes([at]) * 32).lines[0]
        kept = [word for word, _ in marks if word in output.replace(",", " ").split()]
        assert len(kept) <= (kind in ("places below a state", "dates", "ages over 89")), output
        assert output != text


PHONES = [
    *("06 12 34 56 78", "+33 1 42 68 53 00", "(0221) 5557788", "07911 123456", "+43 1 58858 123"),
    *("030/901820", "+49 221 5557788", "+44 7911 123456", "90391 55508", "+49 (0)221 5557788"),
    *("0471 / 31 66 09", "0688 471 318822", "08-471 226 31", "040 – 771 23 46", "03571 / 6 40 12"),
]


@pytest.mark.parametrize("number", PHONES)
def test_no_part_of_a_telephone_number_stays_with_people(number):
    """The class of numbers is not chosen, so what the kind of telephones leaves out would pass."""
    people = Sanitizer(only="people")
    for output in people.rewrite([f"Please phone me at {number} or write."] * 5):
        middle = output.removeprefix("Please phone me at ").removesuffix(" or write.")
        kept = {part for part in re.findall(r"\d+", number) if len(part) > 3}
        assert not kept & {*re.findall(r"\d+", middle)}, output
        assert middle != number


def test_a_name_of_a_column_is_one_in_the_other_columns(dpsan, tmp_path):
    """Also in small letters, and where no list has it; another record knows nothing of it."""
    rows = (
        'customer,body\nTom Brown,"brown called, and Xqzt too"\nXqzt Vwpl,xqzt said vwpl is brown\n'
    )
    (tmp_path / "a.csv").write_text(rows)
    command = ("rewrite", "-q", "--only", "names", "-k", "customer:names,body", "a.csv")
    for _ in range(5):
        out = dpsan(*command, cwd=tmp_path).stdout.decode().splitlines()
        (first, body), (second, other) = (line.split(",", 1) for line in out[1:])
        _given, surname = first.lower().split()
        assert surname != "brown"
        assert body.strip('"').lower().startswith(f"{surname} called, and ")
        assert other == "{} said {} is brown".format(*second.lower().split())
