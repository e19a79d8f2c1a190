"""Tables of docs/classes.md and docs/strings.md about ``--only``, against its rules and lists.

``python tests/test_only_pages.py [PART ...]`` writes them anew.
"""

import html
import sys
from collections import Counter

import pytest
from page_parts import ROOT, part, table, write
from support import tables

from dpsan import Sanitizer
from dpsan.privacy.randomness import seeded_key
from dpsan.sanitize.replacing import OnlyRewriter
from dpsan.sanitize.settings import Settings


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
    for kind, text in tables("only/cases")["strings"]:
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
