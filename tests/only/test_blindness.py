"""With --only an output depends on groups alone: words are exchanged, and nothing else changes.

300,000 words of public texts are exchanged for others of their label; what is decided and what is
written must stay.  Programs that read something of the word must be caught.
"""

import csv
import json
import re
from dataclasses import replace
from itertools import islice

import pytest
from checks.blindness import Blindness
from checks.exchanged import Drawn
from support import SHARED, cases

from dpsan.only.decision import decide
from dpsan.only.forms import LARGE
from dpsan.sanitize.replacing import OnlyRewriter
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.letter_case import article_for

EXPLAINED: dict[str, str] = {}
"""By a pattern of the two texts, why an exchange may change what is decided."""
MOST = 1e-5
"""Share of the exchanges for which that may happen."""


def unexplained(found):
    assert not found.written
    assert len(found.decided) <= MOST * found.exchanges
    pairs = [f"{exchange.before}\0{exchange.after}" for exchange in found.decided]
    return [pair for pair in pairs if not any(re.search(why, pair) for why in EXPLAINED)]


@cases(
    "key others step",
    ("k", 1, 24),
    *(pytest.param(key, 10, 1, marks=pytest.mark.slow) for key in "kq"),
)
def test_another_word_of_its_label_changes_nothing_in_150_000_exchanges(
    sensitive, key, others, step
):
    """In a part of them where it is no slow test: one other word, in a few of the texts."""
    blindness = Blindness(sensitive, key.encode() * 32, others)
    found = blindness.run(islice(blindness.public_texts(), 0, None, step))
    assert found.exchanges >= 15_000 * others / step
    assert found.left < found.exchanged / 10
    assert not unexplained(found)


def real_texts():
    with (SHARED / "eval" / "ag_news" / "test.csv").open(encoding="utf-8", newline="") as file:
        news = [row[2] for row in csv.reader(file)][:2000]
    tickets = SHARED / "eval" / "pii" / "customer_support_tickets.csv"
    with tickets.open(encoding="utf-8", newline="") as file:
        described = [row["Ticket Description"] for row in csv.DictReader(file)][:1500]
    documents = json.loads((SHARED / "eval" / "pii" / "presidio_synth_dataset_v2.json").read_text())
    given = (SHARED.parent / "texts" / "given.jsonl").read_text().splitlines()
    return [
        *(json.loads(line)["text"] for line in given),
        *news,
        *described,
        *(document["full_text"] for document in documents[:1500]),
    ]


@pytest.mark.slow
def test_another_word_of_its_label_changes_nothing_in_5_000_real_texts(sensitive, shared):
    texts = real_texts()
    assert len(texts) >= 5000
    found = Blindness(sensitive, b"k" * 32, 1).run(texts, 1000)
    assert found.exchanges > 15_000
    assert not unexplained(found)


def test_words_of_lists_of_ones_own_are_exchanged_and_kept_words_pass(tmp_path):
    (tmp_path / "projects.txt").write_text("Bluebird\nfalcon\nheron\nosprey\nkestrel\nmerlin\n")
    own = Sanitizer(only=f"{tmp_path / 'projects.txt'},names", keep=["Paris", "smith"])
    texts = ["Project Falcon and heron met Smith in PARIS.", "A heron, an Osprey's nest"]
    found = Blindness(own, b"k" * 32, 3).run(texts)
    assert found.exchanged == 4
    assert found.exchanges > 8
    assert not found.decided
    assert not found.written


def suffix(places, token):
    return places.block[places.end[token] : places.after[token]]


def word(places, token):
    return places.block[places.start[token] : places.end[token]].lower()


def passes(view, places, decision, token):
    others = set(range(len(view.label))) - set(decision.at.tolist())
    return any(
        view.unit[other] == view.unit[token] and word(places, other) == word(places, token)
        for other in others
    )


def in_address(view, places, decision, token):
    return any(word(places, token) in word(places, other) for other in view.pieces)


READS = {
    "the length of a word": lambda view, places, decision, token: len(word(places, token)) > 6,
    "equality with a passing word": passes,
    "a piece of an e-mail address": in_address,
    "a possessive": lambda view, places, decision, token: len(suffix(places, token)) == 1,
}
TEXTS = [
    "A clerk met Grace Young, and the young man left. It was James' plan, Grace's idea.",
    "Write to thegracefan@mail.com; Grace is an Iranian nurse in Springfield, an old town.",
    "An Omaha man and a Dallas woman saw Peterson.",
]


def test_the_program_decides_without_the_hidden_word(sensitive):
    assert not Blindness(sensitive, b"k" * 32, 5).run(TEXTS).decided


@pytest.mark.parametrize("fault", READS)
def test_a_decision_that_reads_something_of_the_word_is_found(sensitive, fault, monkeypatch):
    true, reads = OnlyRewriter._decided, READS[fault]

    def broken(self, view, places, decision, *more):
        group = decision.group.copy()
        for row, token in enumerate(decision.at.tolist()):
            if reads(view, places, decision, token):
                group[row] = self.rules.group("city")
        return true(self, view, places, replace(decision, group=group), *more)

    monkeypatch.setattr(OnlyRewriter, "_decided", broken)
    assert Blindness(sensitive, b"k" * 32, 5).run(TEXTS).decided


def test_an_address_with_a_passing_word_behind_a_letter_is_written_like_any_other(sensitive):
    texts = [f"The house is old. Mail {name}@clinic.org." for name in ("jhouse", "pqrstu")]
    assert len({sensitive.sanitize([text], b"k" * 32).lines[0] for text in texts}) == 1


def test_a_program_that_reads_a_passing_word_in_an_address_is_found(sensitive, monkeypatch):
    text = "The house is old. Mail pqrstu@clinic.org."
    assert not Blindness(sensitive, b"k" * 32, 5).run([text]).decided
    monkeypatch.setattr(
        "dpsan.only.decision._read",
        lambda cuts, key_of: tuple(p if isinstance(p, str) else LARGE for p in cuts[0]),
    )
    assert Blindness(sensitive, b"k" * 32, 5).run([text]).decided


def drawn_word(sensitive, text, word):
    """The drawn word of a text, as it is exchanged."""
    viewer = sensitive.by_text().replacing.viewer
    view, places = viewer.view([text])
    decision = decide(view, sensitive.by_text().replacing.rules)
    rows = [row for row, old in enumerate(places.words(decision.at)) if old == word]
    assert rows
    addresses = [int(decision.at[row]) for row in decision.locals]
    return Drawn(view, places, decision, rows, addresses, text, 1)


def test_a_surname_with_a_plural_s_stays_equal_to_its_address(sensitive):
    text = "Write to agees.leaphart@mail.com (Agees Poudrier) or gagees@example.org."
    assert drawn_word(sensitive, text, "Agees").exchanged("miller") == (
        "Write to millers.leaphart@mail.com (Millers Poudrier) or gmillers@example.org."
    )


def test_a_word_that_makes_a_phrase_with_one_word_of_the_next_phrase_is_not_taken(sensitive):
    drawn = drawn_word(sensitive, "They saw Springfield East Hampton.", "Springfield")
    assert not drawn.relates("ahmadpur", frozenset())
    assert drawn.relates("ahmadpur", frozenset(["ahmadpur", "east"]))  # Ahmadpur East is a city


def test_an_article_that_tells_the_first_letter_is_found(sensitive, monkeypatch):
    monkeypatch.setattr("dpsan.only.viewer.one_article", lambda *given: None)
    assert Blindness(sensitive, b"k" * 32, 5).run(TEXTS).decided


def test_an_article_follows_the_word_behind_tags(sensitive):
    """Neither tags with words in them nor the end of one and the beginning of another part them."""
    first = ["He got an <strong>$8,000 loan", "She met an <a title='old one' href=x>Italian"]
    other = ["He got a <strong>$9,000 loan", "She met a <a title='old one' href=x>German"]
    first, other = [*first, "an</b> <i>Italian</i>"], [*other, "a</b> <i>German</i>"]
    for number in range(20):
        key = number.to_bytes(32, "big")
        lines = sensitive.sanitize(first, key).lines
        assert sensitive.sanitize(other, key).lines == lines
        for line in lines:
            article, word = re.findall(r"\b(an?)\b.*>(\$?\w+)", line.removesuffix("</i>"))[0]
            assert article == article_for(word), line


def test_a_draw_that_reads_the_word_is_found(sensitive, monkeypatch):
    true = OnlyRewriter.drawn

    def broken(self, done, key, units, **more):
        drawn = true(self, done, key, units, **more)
        odd = int(done.keys.sum()) % 2 == 1
        return replace(drawn, lines=[line + "." for line in drawn.lines] if odd else drawn.lines)

    monkeypatch.setattr(OnlyRewriter, "drawn", broken)
    # Of one key, both parities come out alike in two of five.
    found = (Blindness(sensitive, bytes([key]) * 32, 8).run(TEXTS) for key in range(24))
    assert any(each.written and not each.decided for each in found)


def test_equal_words_that_are_function_words_become_one_word(sensitive):
    lines = sensitive.sanitize(
        ["Mr. Thou met Mrs. Thou. My name is sedan, my name is sedan."], b"k" * 32
    )
    words = re.findall(r"\w+", lines.lines[0])
    assert words[1] == words[4]
    assert words[8] == words[12]
    found = Blindness(sensitive, b"k" * 32, 8).run(
        ["Mr. Thou met Mrs. Thou.", "Mr. Thou met Mrs. Been."]
    )
    assert found.exchanges > 8
    assert not found.written
