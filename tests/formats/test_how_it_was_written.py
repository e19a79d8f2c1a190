"""How a text was written (quotes, escapes, entities) follows from its words alone."""

import csv
import html
import io
import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from identity import lettered, through

from dpsan.text.tokens import TOKENIZERS

MASK = lettered()
MASK.letter = "\u00e9/"
WORDS = ("maria", "jos\u00e9", "1,234", "https://a.example/b", "\u2615", "ann@b.example")
GAPS = (" ", ", ", "/", ' "', " \u2014 ", " & ", "\t", " <")


def table(delimiter, quoting):
    def write(text):
        out = io.StringIO()
        rows = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n")
        rows.writerows([("n", "t"), ("1", text)])
        return out.getvalue()

    return write


def lines(ascii_, slash):
    def write(text):
        return json.dumps({"t": text}, ensure_ascii=ascii_).replace("/", slash) + "\n"

    return write


def page(text):
    return f"<p>{html.escape(text)}</p>".encode("ascii", "xmlcharrefreplace").decode()


WRITERS = {
    "csv": ("csv", table(",", csv.QUOTE_MINIMAL)),
    "csv, all quoted": ("csv", table(",", csv.QUOTE_ALL)),
    "semicolons": ("csv", table(";", csv.QUOTE_MINIMAL)),
    "tsv": ("tsv", table("\t", csv.QUOTE_MINIMAL)),
    "jsonl in ASCII": ("jsonl", lines(True, "/")),
    "jsonl as PHP writes it": ("jsonl", lines(True, r"\/")),
    "jsonl": ("jsonl", lines(False, "/")),
    "json": ("json", lines(True, r"\/")),
    "html": ("html", page),
}


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=40)
@given(data=st.data())
def test_equal_but_for_the_words(name, data):
    kind, write = WRITERS[name]
    gaps = data.draw(st.lists(st.sampled_from(GAPS), max_size=4))
    options = {} if kind == "html" else {"fields": ("t",)}
    if name == "semicolons":
        options["delimiter"] = ";"
    texts = []
    for _ in range(2):
        words = [data.draw(st.sampled_from(WORDS)) for _ in range(len(gaps) + 1)]
        pieces = (word + gap for word, gap in zip(words, [*gaps, ""], strict=True))
        texts.append("".join(pieces))
    between = [TOKENIZERS["unicode"].split(text)[::2] for text in texts]
    assume(between[0] == between[1])
    first, second = (through(MASK, write(text).encode(), kind, **options)[0] for text in texts)
    assert first == second
    assert "\u00e9/".encode() in first
