"""Tokens, gaps and what is invisible; possessive groups on every Python."""

import json
import re
import subprocess
import sys
import unicodedata
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import audit_rows, cases, cut_long, records_of, tables, write_gaps

from dpsan.cli.options import Sanitizing
from dpsan.privacy import randomness
from dpsan.sanitize import rewriting
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text import letter_case
from dpsan.text import shape as patterns
from dpsan.text.batch import Chunk
from dpsan.text.lookup import joined
from dpsan.text.shape import INVISIBLE
from dpsan.text.tokens import TOKENIZERS, is_token, lookup_keys, segments

CASES = tables("text/cases")

UNSEEN = st.sampled_from("\0\x1b\x1f\xad\u034f\u115f\u200b\u200c\u200d\u202e\ufe0f\ufeff\U000e0041")

NASTY = ["a\x85b\u2028c\x0bd\x0ce", "👨‍👩‍👧 👍🏽 🇫🇷 1️⃣", "Z̸̢̛̗͈a̶͓̓l̵̰̑g̴̺̋o̸"]
NASTY += ["\u202eevil\u202c \u2066bidi\u2069", "각 각", "é é", "\x00\x01\ufeff\ufffd"]
NASTY += ["don't Maria's state-of-the-art 3.14 1,000 408-247-8880", "a" * 10_000, "x " * 10_000]
NASTY += ["\ud800 lone", "المدرسة ‌می‌خواهم नमस्ते ภาษาไทย 漢字かな"]


@given(line=st.text())
def test_no_letter_or_digit_is_passed_through(line):
    """Letters, marks, digits and private use are on the word side, but for a possessive ending."""
    for gap in TOKENIZERS["unicode"](line)[::2]:
        for character in re.sub("^['’]s", "", INVISIBLE.sub("", gap), flags=re.I):
            category = unicodedata.category(character)
            assert category[0] not in "LMN"
            assert category != "Co"


def test_every_mark_is_a_word_of_its_own():
    marks = [each for each in map(chr, range(0x3000)) if unicodedata.category(each)[0] == "M"]
    seen = [each for each in marks if not INVISIBLE.match(each)]
    assert [each for each in seen if TOKENIZERS["unicode"](f"( {each} )")[1::2] != [each]] == []


def test_only_one_possessive_ending_passes():
    """Issue 13: a row of endings kept its tail."""
    for text in ("Maria's's", "Maria’S's", "x's\u200b's", "Maria's's's", "Maria" + "'s" * 300):
        first, _, last = TOKENIZERS["unicode"](text)
        assert (first, INVISIBLE.sub("", last)) == ("", "'s")


def words(line, tokenizer="unicode"):
    return TOKENIZERS[tokenizer](line)[1::2]


def test_words():
    """GloVe was trained on the tokens of ptb; whitespace keeps chunks, but no bare punctuation."""
    for name, line, expected in CASES["words"]:
        assert words(line, name) == expected.strip("-").split()


NASTY_LINES = st.sampled_from(NASTY)


@pytest.mark.parametrize("name", TOKENIZERS)
@given(line=st.text(UNSEEN | st.sampled_from("aB5 ,-'\n😀") | st.characters()) | NASTY_LINES)
def test_what_is_written_between_words(name, line):
    """Nothing invisible, no two words glued together, and nothing else changes."""
    pieces = TOKENIZERS[name](line)
    assert len(pieces) % 2 == 1
    assert "".join(pieces) == line
    written = pieces.copy()
    dropped = write_gaps(written)
    assert written[1::2] == pieces[1::2]
    assert dropped == sum(len(INVISIBLE.findall(gap)) for gap in pieces[::2])
    assert not INVISIBLE.search("".join(written[::2]))
    for place, (gap, new) in enumerate(zip(pieces[::2], written[::2], strict=True)):
        kept = INVISIBLE.sub("", gap)
        inner = 0 < place < len(pieces) // 2
        assert new == (kept or (" " if inner else ""))


def test_invisible_characters_inside_a_word_belong_to_it():
    for hidden in ("\xad", "\u200b", "\u200d", "\u202e", "\0", "\ufe0f", "\u3164", "\U000e0041"):
        assert words(f"(ma{hidden}ria{hidden} )") == [f"ma{hidden}ria"]
        assert words(f"well{hidden}-{hidden}known") == ["well", "known"]
        assert words(f"1{hidden},{hidden}000{hidden} {hidden}") == [f"1{hidden},{hidden}000"]
        assert list(lookup_keys(f"Ma{hidden}ria"))[-1] == "maria"


def test_emoji_are_words():
    hidden = "".join(chr(0xE0000 + ord(c)) for c in "secret")
    assert words(f"a {hidden}") == ["a"]
    whole = "©|®|™|↔️|▶️|◽|⤴|‼️|1️⃣|🇫🇷|👍🏽|👩‍👩‍👧|🙂‍↔️|🏴󠁧󠁢󠁿|😀😀👍🏽"
    visible = [INVISIBLE.sub("", each) for each in whole.split("|")]
    assert [INVISIBLE.sub("", each) for each in words(whole.replace("|", " "))] == visible


def test_lookup_keys():
    assert list(lookup_keys("Don’t")) == ["Don’t", "Don't", "don't"]
    assert list(lookup_keys("cafe\u0301"))[-1] == "café"
    assert list(lookup_keys("plain")) == ["plain"]


def test_what_can_be_kept_is_one_token():
    """A list entry of several tokens would never be found."""
    for word in ("Maria", "O'Brien", "don't", "10:30", "a@b.de", "😀", "n't", "ma\u200bria"):
        assert is_token(word, "unicode")
    for word in ("", "well-known", "New York", "Maria's", "C++", "U.S.", "...", "'s"):
        assert not is_token(word, "unicode")
    assert is_token("'s", "ptb")  # behind another word
    assert is_token("U.S.", "whitespace")


@pytest.mark.parametrize("broken", [True, False])
def test_a_group_that_fails_has_matched_nothing(monkeypatch, broken):
    """Before Python 3.11.5 the library re took ``1e`` for a number."""
    if not broken and patterns._BROKEN:
        pytest.skip("this Python has no other")
    monkeypatch.setattr(patterns, "_BROKEN", broken)
    number = patterns.compiled(rb"[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+")
    wanted = {b"1e": b"1", b"1.": b"1", b"1.5e+": b"1.5", b"1.5e+7x": b"1.5e+7"}
    assert {text: number.match(text)[0] for text in wanted} == wanted
    assert patterns.compiled("(?:a(?:b++c)?+)x", re.IGNORECASE).match("ABX") is None


ALL_PATTERNS = r"""
import pkgutil, re
from dpsan.text import shape as patterns
patterns._BROKEN = True  # from here on re has no possessive group to compile
import dpsan
def values(found):
    for each in list(found):
        yield each
        if isinstance(each, dict):
            yield from values(each.values())
        elif isinstance(each, (list, tuple)):
            yield from values(each)
group, seen = re.compile(r"\)[*+?]\+"), 0
for info in pkgutil.walk_packages(dpsan.__path__, "dpsan."):
    try:
        module = __import__(info.name, fromlist=["*"])
    except ImportError:  # of an extra
        continue
    for each in values(vars(module).values()):
        source = getattr(each, "pattern", "")
        text = source.decode("latin-1") if isinstance(source, bytes) else str(source)
        if group.search(text):
            seen += 1
            if isinstance(each, re.Pattern):
                print(info.name, text[:60])
print(seen > 11)
"""


@pytest.mark.slow
def test_all_such_patterns_are_compiled_there():
    assert subprocess.check_output([sys.executable, "-c", ALL_PATTERNS]) == b"True\n"


# Long texts, cut between words: the same words as at once, in a fraction of the memory.


KEY = b"k" * 32


@pytest.mark.parametrize("before", [1, 255, 256, 257, 700])
def test_streams_go_on_within_a_record(before):
    whole = randomness.streams_for(KEY, [3, 4], [1000, 5])
    rest = randomness.streams_for(KEY, [3, 4], [1000 - before, 5], before=before)
    assert len(rest) == len(whole) - before
    assert (rest.bits("x", 3) == whole.bits("x", 3)[before:]).all()
    assert (records_of(rest) == records_of(whole)[before:]).all()
    assert [row for part in rest.chunks(256) for row in part.bits("x")] == [*rest.bits("x")]
    assert len(randomness.streams_for(KEY, [3], [0], before=before)) == 0


TEXTS = ["word1 word2", "word3, unknown's x-ray—word4-word5 é\u0301 \ud800 " * 60, ""]
TEXTS += ["\U0001f600 word6 " * 90, "word7"]


@cases("mechanism unknown", ("knn-response", "sample"), ("laplace", "sample"), ("krr", "mask"))
def test_words_do_not_depend_on_stretches(monkeypatch, embeddings, store, mechanism, unknown):
    made = Sanitizer(mechanism, epsilon=5, embeddings=embeddings, cache=store, unknown=unknown)
    whole = made.sanitize(TEXTS, KEY, [7, 8, 9, 11, 12])
    cut_long(monkeypatch, 300, 40, 301)
    cut = []
    monkeypatch.setattr(rewriting, "segments", lambda *a: cut.append(a) or segments(*a))
    done = made.sanitize(TEXTS, KEY, [7, 8, 9, 11, 12])
    assert len(cut) == 2
    assert done.lines == whole.lines != TEXTS
    assert (done.drawn, done.counts) == (whole.drawn, whole.counts)


def test_an_audit_needs_the_line(monkeypatch, embeddings, store):
    """It has a row for each word: no line is cut."""
    word = Sanitizer("krr", epsilon=5, embeddings=embeddings, cache=store)

    def done():
        return audit_rows(word.sanitize(TEXTS, KEY, audit=True).records)

    expected = done()
    cut_long(monkeypatch, 16, 6, 32)
    assert done() == expected


@pytest.fixture
def base(tmp_path):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    return ["rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt"]


@pytest.mark.slow
def test_long_lines_are_those_of_short_ones(tmp_path, dpsan, base):
    """A line over 1 MB, its word order and its neighbours; the record limit; invalid bytes."""
    line = b"here there, HERE \xe2\x80\x94 " * 52_000
    text = b"here\n" + line + b"\r\nthere\n"
    done = dpsan(*base, cwd=tmp_path, stdin=text)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == text.replace(b"HERE", b"here").replace(b"\nhere t", b"\nHere t")
    assert dpsan(*base, "-j", "2", cwd=tmp_path, stdin=text).stdout == done.stdout
    done = dpsan(*base, cwd=tmp_path, stdin=text, longest=1 << 20)
    assert done.stdout == b"here\n"
    assert b":2: record longer than" in done.stderr
    broken = line + b"\xff here\n"
    done = dpsan(*base, cwd=tmp_path, stdin=broken)
    assert done.stdout.split()[-2] in (b"here", b"there")  # what is no UTF-8 is drawn
    done = dpsan(*base, "--invalid", "error", cwd=tmp_path, stdin=broken)
    assert done.stdout == b""
    assert f":1: invalid utf-8 at byte {len(line) + 1}".encode() in done.stderr


def test_long_cells_and_strings_are_those_of_short_ones(tmp_path, dpsan, base):
    base = [*base, "-k", "t", "--case", "vocabulary"]
    cell = 'here "there", HERE \u2014/\n' * 46_000
    row = 't,x\n"' + cell.replace('"', '""') + '",HERE\nhere,b\n'
    done = dpsan(*base, "--format", "csv", cwd=tmp_path, stdin=row.encode())
    assert (done.returncode, done.stderr) == (0, b"dpsan: 1 of 2 columns passes unchanged: x\n")
    assert done.stdout.decode() == row.replace("HERE \u2014", "here \u2014")
    line = json.dumps({"a": "HERE", "t": cell, "b": [1]}, ensure_ascii=False) + "\n"
    done = dpsan(*base, "--format", "jsonl", cwd=tmp_path, stdin=line.encode())
    assert done.stderr == b"dpsan: 2 of 3 fields pass unchanged: a, b[]\n"
    assert done.stdout.decode() == line.replace(", HERE ", ", here ")


# Natural case: where sentences begin, a or an, all of it read from the output alone.


def test_the_command_line_knows_the_same_cases():
    option = {each.name: each for each in fields(Sanitizing)}["case"].metadata["parser"]
    assert list(letter_case.LetterCase) == option.metavar.split("|")


BEGIN = """. |! |? |… |... |.  |.\t|." |.) |.” |. "|. (|. “|! ¿|?! | . | ' . "| ? |? "|. - """
CONTINUE = """ ||, |; |: |.|?|!|-| - | "| (|.,|., |?" |!” |." , |?), | ? " | ! '' |...|’s |. , """


def test_where_a_sentence_begins():
    lines = [".\u00a0", '.\n"', "\n", "\r\n", ",\n", "\u2028"]
    assert [gap for gap in BEGIN.split("|") + lines if not letter_case.begins_sentence(gap)] == []
    assert [gap for gap in CONTINUE.split("|") if letter_case.begins_sentence(gap)] == []
    for unit in (". ", ".", '."', '." ', "! ", "!   ", ".)", ", ", ".,", "? ''"):
        # A regular expression that goes back would take hours for a gap of a megabyte.
        letter_case.begins_sentence(unit * 200_000 + ",")
        letter_case.begins_sentence(unit * 200_000 + "x")


def test_capitals():
    words = ["the", "iPhone", "I'm", "8th", "o'clock", "élan", "ǆ", ""]
    written = ["The", "iPhone", "I'm", "8th", "O'clock", "Élan", "ǅ", ""]
    assert list(map(letter_case.capitalised, words)) == written


def test_articles():
    for article, words in CASES["articles"]:
        assert [word for word in words.split() if letter_case.article_for(word) != article] == []
    assert {letter_case.article_for(word) for word in ("Ж", "東京", "", "٣", "$", "(€9)")} == {"a"}
    assert {
        letter_case.article_for(word) for word in ("$8,000", "@adam", "(€8)", "<unk>", "-11")
    } == {"an"}


ROWS = {"the": 0, "a": 1, "an": 2, "hour": 3, "Paris": 4, "iPhone": 5, "house": 6}


@pytest.mark.parametrize("english", [True, False])
def test_written(english):
    """Words that were drawn, as they stand there; *an* is *on* in German, and no article."""
    own = dict(CASES["written"]) | {"": ""} if english else {"the an house": "The an house"}
    for text, written in own.items():
        pieces = TOKENIZERS["unicode"](text)
        outputs = pieces[1::2]
        write_gaps(pieces)
        batch = joined([Chunk(pieces[::2], outputs, [0] * len(outputs))])
        rows = np.array([ROWS.get(word, -1) for word in outputs], dtype=np.int64)
        natural = letter_case.NaturalCase(ROWS, english=english)
        articles = np.flatnonzero(np.isin(rows, natural.articles)).tolist()
        letter_case.agree(outputs, batch.gaps, rows >= 0, articles)
        natural.write(batch, outputs, rows)
        assert batch.lines(outputs) == [written]


SPELLINGS = "the judge hope us war royal navy new York I IBM university in"
USUAL = SPELLINGS.split()
NAMES = {word.lower(): row for row, word in enumerate(USUAL)}
CAPITALS = [("hope", "Hope", "abm"), ("judge", "Judge", "bs"), ("us", "US", "t")]
CAPITALS += [("war", "War", "a"), ("royal", "Royal", "o"), ("navy", "Navy", "a")]
CAPITALS += [("new", "New", "bm"), ("university", "University", "a"), ("absent", "Absent", "a")]


def test_names_of_several_words_have_capitals():
    """Words that were drawn, single spaces and public data decide; what passed has no say."""
    for written in CASES["names"]:
        pieces = TOKENIZERS["unicode"](written.lower())
        rows = np.array([NAMES.get(word, -1) for word in pieces[1::2]], dtype=np.int64)
        drawn = zip(pieces[1::2], rows.tolist(), strict=True)
        outputs = [word if row < 0 else USUAL[row] for word, row in drawn]
        batch = joined([Chunk(pieces[::2], outputs, [0] * len(outputs))])
        natural = letter_case.NaturalCase(NAMES, USUAL, english=True, capitals=CAPITALS)
        changed = natural.write(batch, outputs, rows)
        assert batch.lines(outputs) == [written]
        plain = [word if row < 0 else USUAL[row] for word, row in zip(outputs, rows, strict=True)]
        assert {at for at, word in enumerate(outputs) if word != plain[at]} <= {*changed.tolist()}
