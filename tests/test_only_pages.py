"""Tables of docs/classes.md and docs/strings.md about ``--only``, against its rules and lists.

``python tests/test_only_pages.py [PART ...]`` writes them anew.
"""

import html
import sys
from collections import Counter

import pytest
from page_parts import ROOT, part, table, write

from dpsan import Sanitizer
from dpsan.privacy.randomness import seeded_key
from dpsan.sanitize.replacing import OnlyRewriter
from dpsan.sanitize.settings import Settings

STRINGS = """
e-mail address: grace.young@mail.com | login: root@10.2.0.7 | handle: @grace_y
URL: https://mail.com/a?b=1 | IP address: 192.168.1.1 | telephone number: (408) 555-0123
with its country: +44 20 7946 0123 | social security number: 123-45-6789
card: 4511 8170 8658 0174 | IBAN: GB00 EXMP 0161 3319 2681 90
UUID: 7f9c1e2a-33b4-4d5e-8f60-1a2b3c4d5e6f | MAC address: 00:1B:44:11:3A:B7
IPv6 address: 2001:db8:85a3::8a2e:370:7334 | hash: 5f3a9c0d77e1b2a45f3a9c0d | code: AB-1234-X
password: hunter!2pass | ISO date: 2023-03-05 | ISO date and time: 2023-03-05T10:30:00+01:00
date with slashes: 03/05/2023 | date with dots: 5.3.2023 | date in words: 5 March 2023
date and time without marks: 20210503T100000Z | quarter: Q3 FY24
clock, 12 hours: 10:30pm | clock, 24 hours: 14:02:31 | decade: 1980s | range of years: 1985-1990
age: a 45-year-old | dose: 250mg | blood pressure: BP 120/80 | pulse: HR 72
temperature: temp 37 | ordinal: 21st | amount: $1,284.50 | millions: £1.5m | per cent: 10%
decimal number: 3.14 | coordinates: 40.7128, -74.0060 | many digits: 4471209981
number of one digit: 5 | 0 and 1: 0 | list mark: 3. Wash it | version: version 3.2.1
escape: say\\n\\u00e9 | entity: A&nbsp;B | abbreviation: e.g. | acronym: XQZ
"""


def groups() -> str:
    """Each class with its groups: listed words, outputs, and the first of these."""
    rewriter = OnlyRewriter(Settings())
    rules, lexicon = rewriter.rules, rewriter.lexicon
    listed = Counter[str]()
    for code, label in enumerate(lexicon.labels):
        column = max((lexicon.codes == code).sum(axis=0))
        group = rules.groups[rules.own_group[rewriter.viewer.labels.index(label)]]
        listed[group] += int(column + (lexicon.phrase_codes == code).sum())
    rows = [("class", "group", "listed words", "outputs", "such as")]
    for name, members in rules.classes.items():
        words = [group for group in members if group in lexicon.outputs]
        for group in words:
            outputs = lexicon.outputs[group]
            few = ", ".join(outputs[:3])
            rows.append((name, f"`{group}`", f"{listed[group]:,}", f"{len(outputs):,}", few))
        if forms := ", ".join(f"`{group}`" for group in members if group not in words):
            rows.append((name, forms, "by form", "by form", ""))
    return table(*rows)


def rules() -> str:
    """Each rule: its name, pattern and reason, in the order in which they run."""
    rows = [("rule", "pattern", "why")]
    for rule in OnlyRewriter(Settings()).rules.rules:
        pattern = f"<code>{html.escape(rule.body).replace('|', '&#124;')}</code>"
        rows.append((rule.name, pattern, html.escape(rule.why).replace("|", "&#124;")))
    return table(*rows)


def kinds() -> str:
    """Each kind of strings with one draw."""
    sanitizer = Sanitizer(only="sensitive")
    rows = [("kind", "written", "a draw")]
    for pair in STRINGS.strip().replace("\n", " | ").split(" | "):
        kind, text = pair.split(": ", 1)
        (output,) = sanitizer.sanitize([text], seeded_key(kind)).lines
        rows.append((kind, f"`{text}`", f"`{output}`" if output != text else "passes"))
    return table(*rows)


def types() -> str:
    """Each type of spans: its names, and from which groups its words are drawn."""
    rows = [("type", "a word of no such list", "groups")]
    for row in OnlyRewriter(Settings()).rules.types:
        last, before = row.groups[:2]
        other = f"`{last}`" if last == before else f"`{last}` at the end, before it `{before}`"
        drawn = ", ".join(f"`{group}`" for group in dict.fromkeys(row.groups))
        rows.append((", ".join(row.names), other, drawn))
    return table(*rows)


PARTS = {ROOT / "docs" / "classes.md": {"groups": groups, "rules": rules}}
PARTS |= {
    ROOT / "docs" / "formats.md": {"types": types},
    ROOT / "docs" / "strings.md": {"kinds": kinds},
}
"""Functions that make the marked parts, by page."""
ALL = [(page, name) for page, parts in PARTS.items() for name in parts]


@pytest.mark.parametrize(("page", "name"), ALL, ids=[name for _, name in ALL])
def test_the_tables_are_those_of_the_rules_and_lists(page, name):
    assert part(page, name) == PARTS[page][name](), "run python tests/test_only_pages.py"


if __name__ == "__main__":
    for page, parts in PARTS.items():
        chosen = [name for name in sys.argv[1:] or parts if name in parts]
        if chosen:
            write(page, parts, chosen)
