"""``--only identifiers``: the eighteen kinds of the Safe Harbor method, 45 CFR 164.514(b)(2)."""

import re

import pytest

from dpsan.sanitize.sanitizer import Sanitizer

KINDS = [
    ("names", "Seen by Dr. Helen Murray with Tom Alvarez.", "Helen Murray Tom Alvarez"),
    (
        "places below a state",
        "Lives at 42 Blevins Street, Springfield, IL 62704.",
        "42 Blevins 62704",
    ),
    ("dates", "Born on 12 March 1950, seen 2021-05-03.", "12 2021-05-03"),
    ("ages over 89", "A 93-year-old woman.", "93"),
    ("telephone numbers", "Call (217) 555-0142 or 217-555-0143.", "555-0142 217-555-0143"),
    ("fax numbers", "Fax: 217-555-0188.", "217-555-0188"),
    ("e-mail addresses", "Write to h.murray@clinic.org today.", "h.murray@clinic.org"),
    ("social security numbers", "SSN 123-45-6789 on file.", "123-45-6789"),
    ("medical record numbers", "MRN 00482913 was opened.", "00482913"),
    ("health plan numbers", "Plan member XJ4471209 was billed.", "XJ4471209"),
    ("account numbers", "Account 4471209981 was charged.", "4471209981"),
    ("licence numbers", "Licence D4471-2098-11 expires.", "D4471-2098-11"),
    ("vehicle identifiers", "VIN 1HGCM82633A004352 was towed.", "1HGCM82633A004352"),
    ("device identifiers", "Pump serial SN48-2291-77 failed.", "SN48-2291-77"),
    ("web addresses", "See https://example.com/p/helen.", "https://example.com/p/helen"),
    ("IP addresses", "Login from 192.168.4.23 failed.", "192.168.4.23"),
    ("biometric identifiers", "Template 5f3a9c0d77e1b2a4 was stored.", "5f3a9c0d77e1b2a4"),
    (
        "other unique codes",
        "Case 7f9c1e2a-33b4-4d5e-8f60-1a2b3c4d5e6f.",
        "7f9c1e2a-33b4-4d5e-8f60-1a2b3c4d5e6f",
    ),
]
"""Kind, text, and what must not be in the output. Photographs are no text."""


@pytest.fixture(scope="module")
def identifiers():
    return Sanitizer(only="identifiers")


@pytest.mark.parametrize(("kind", "text", "gone"), KINDS)
def test_none_of_the_eighteen_kinds_stays(identifiers, kind, text, gone):
    for at in range(3):
        output = identifiers.sanitize([text], bytes([at]) * 32).lines[0]
        kept = [word for word in gone.split() if word in output.replace(",", " ").split()]
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
