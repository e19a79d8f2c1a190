"""One draw for each distinct word of a unit: equal words alike, different words independent."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import at_first_epsilon, audit_rows, cut_long, fits, make_embeddings, marked

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.privacy import randomness
from dpsan.sanitize import consistent
from dpsan.sanitize.consistent import Distinct, Unit
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import folded

EMBEDDINGS = make_embeddings(n=30, d=3)
FEW = make_embeddings(n=4, d=2)
KEY = b"k" * 32
UNITS = list(Unit)


def opened(unit, name="krr", epsilon=1.0, embeddings=EMBEDDINGS, **more):
    """A sanitizer of any unit, also of files, which is for files alone."""
    more = {"case": "vocabulary", "allow_unproved": True, **more}
    record = Sanitizer(name, epsilon=epsilon, embeddings=embeddings, consistent="record", **more)
    if unit is Unit.RECORD:
        return record
    spec = replace(record.spec, consistent=unit)
    pair = record.embeddings, record.space
    return Sanitizer.from_spec(spec, record._store, opened=lambda: pair)


def maps(done):
    """For each record of an audited call: input (a row, or a folded string) -> all its outputs."""
    out = {}
    for row in audit_rows(done.records):
        word = row.input_id if row.input_id < len(EMBEDDINGS.index_to_key) else folded(row.original)
        out.setdefault(row.record, {}).setdefault(word, set()).add(row.output_id)
    return out


@pytest.mark.parametrize(
    ("name", "unit"),
    [(name, UNITS[at % 3]) for at, name in enumerate(MECHANISMS)] + [("krr", u) for u in UNITS],
)
def test_equal_words_have_one_draw(name, unit):
    sanitizer = at_first_epsilon(name, partial(opened, unit))
    words = " ".join([*EMBEDDINGS.index_to_key, "nobody", "Nowhere", "NOWHERE"])
    lines = [words, f"{words} {words}", "nobody word3"]
    done = sanitizer.sanitize(lines, KEY, audit=True)
    found = maps(done)
    assert all(len(outputs) == 1 for each in found.values() for outputs in each.values())
    assert done.drawn == [32, 32, 2]
    # The draws of a word alone, in another batch of the same unit, are the same again.
    again = maps(sanitizer.sanitize(lines[::-1], KEY, [2, 1, 0], audit=True))
    assert [again[2 - record] for record in found] == list(found.values())
    assert (found[0] == found[1]) == (unit is not Unit.RECORD)
    assert maps(sanitizer.sanitize(lines, b"j" * 32, audit=True)) != found


TWO = [("word1 word3", (1, 3)), ("word1 zqvx", (1, 4)), ("zqvx zqvy", (4, 4))]


def independent(unit, text, ids, units=400):
    """Whether pairs of outputs have the product of the two distributions, over many units."""
    sanitizer = opened(unit, embeddings=FEW)
    if unit is Unit.RECORD:
        lines = sanitizer.sanitize([text] * units, randomness.new_key()).lines
    else:
        lines = [sanitizer.sanitize([text], randomness.new_key()).lines[0] for _ in range(units)]
    rows = EMBEDDINGS.key_to_index
    seen = np.array([[rows[word] for word in line.split()] for line in lines])
    first, second = sanitizer.sampler.probabilities(np.array(ids))
    return fits(np.bincount(seen @ [4, 1], minlength=16), np.outer(first, second).ravel())


@pytest.mark.parametrize("unit", marked("slow", UNITS, Unit.FILE))
def test_words_and_units_are_independent(unit, monkeypatch):
    """The twins: one place for all words of a unit, and one key for all units."""

    def broken(key, records):
        return randomness.Streams(key, tuple((record, 0, 1) for record in records))

    def by_word(key, rows, places):
        return broken(key, [0] * (len(rows) + len(places)))

    def by_record(key, records, counts):
        return broken(key, np.repeat(records, counts).tolist())

    for text, ids in TWO:
        assert independent(unit, text, ids)
    with monkeypatch.context() as patch:
        patch.setattr(consistent, "streams_by_word", by_word)
        patch.setattr(consistent, "streams_for", by_record)
        assert not independent(unit, *TWO[0])
        assert not independent(unit, *TWO[2])
    if unit is not Unit.RECORD:
        monkeypatch.setattr(consistent, "derive_key", lambda key, *_: KEY)
        assert not independent(unit, *TWO[0])


def test_no_string_has_the_place_of_a_row():
    strings = [f"s{number}" for number in range(1000)]
    places = randomness.string_positions(KEY, strings)
    assert len(set(places)) == 1000
    assert all(0 <= first < 1 << 63 <= second < 1 << 64 for first, second in places)
    assert places != randomness.string_positions(b"j" * 32, strings)
    streams = randomness.streams_by_word(KEY, range(1000), places)
    assert len(set(streams.blocks)) == len(np.unique(streams.bits("any"))) == 2000


_ANY = {unit: opened(unit) for unit in UNITS}


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_text_in_stretches(unit, monkeypatch):
    """No audit: stretches; with one, or among other texts of its record: as a whole."""
    cut_long(monkeypatch, 5000, 400, 6000)
    text = "".join(f"word{n % 9} zq{'xv'[n % 2]} zq{'jk' * (n // 1000)}\n" for n in range(4500))
    texts, sanitizer = ["word1", text, "zqx"], _ANY[unit]
    one, two = (sanitizer.sanitize(texts, KEY, audit=audit) for audit in (False, True))
    assert one.lines == two.lines
    assert one.drawn == two.drawn == [1, 9 + 2 + 5, 1]
    assert one.marks is None or one.marks.tolist() == two.marks.tolist()
    three = sanitizer.sanitize(texts, KEY, [0, 0, 0])
    assert three.drawn == [1, 15, 0]
    assert len(set(three.lines[1].split()) | set(three.lines[0].split())) <= 16


@pytest.mark.parametrize("unit", UNITS)
def test_words_that_are_not_drawn_cost_nothing(unit):
    sanitizer = opened(unit, unknown="mask", keep=["word3"])
    done = sanitizer.sanitize(["word3 Word1 zqvx word1 zqvx Word3"], KEY, audit=True)
    words = done.lines[0].split()
    assert [words[at] for at in (0, 2, 4, 5)] == ["word3", "<unk>", "<unk>", "Word3"]
    assert (words[1], done.drawn) == (words[3], [1])
    assert done.records.first.tolist() == [False, True, False, False, False, False]


def test_rewrite_of_strings():
    record = opened(Unit.RECORD, epsilon=0.1)
    texts = ["word1 word2 word1"] * 40
    done = [line.split() for line in record.rewrite(texts)]
    assert all(first == third for first, _, third in done)
    assert len({tuple(each) for each in done}) > 20
    given_ = {"epsilon": 0.1, "embeddings": EMBEDDINGS, "consistent": "run", "case": "vocabulary"}
    run = Sanitizer("krr", **given_)
    (only,) = set(run.rewrite(texts))
    assert run.rewrite(texts[0]) == only
    assert run.rewrite("word2 zqvx").split()[0] == only.split()[1]
    # A copy in another process is a run of its own: no key is ever pickled.
    copies = {pickle.loads(pickle.dumps(run)).rewrite(texts[0]) for _ in range(20)}
    assert len(copies) > 10
    assert run._key not in pickle.dumps(run)
    seeded = Sanitizer("krr", **given_, seed="s")
    copy = pickle.loads(pickle.dumps(seeded))
    assert copy.rewrite(texts[0]) == seeded.rewrite(texts[0])


def test_wrong_use():
    for unit, message in (("file", "'file' is for files"), ("recrd", "did you mean 'record'")):
        with pytest.raises(UsageError, match=message):
            Sanitizer("krr", epsilon=2, embeddings=EMBEDDINGS, consistent=unit)


@given(st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=8), st.integers(0, 12))
def test_distinct_words_are_never_counted_too_low(batches, most):
    """And exactly up to the number that are told apart; merged, or one after the other."""
    words = [word for batch in batches for word in batch]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consistent, "_COUNTED", most)
        whole, one_by_one, merged = Distinct(), Distinct(), Distinct()
        whole.add(words)
        for batch in batches:
            one_by_one.add(batch)
            part = Distinct()
            part.add(batch)
            merged.merge(part)
    assert whole == one_by_one
    for each in (whole, merged):
        assert len(set(words)) <= each.count <= len(words)
        assert len(each.marks) <= most
        if len(set(words)) <= most:
            assert each.count == len(set(words))


@given(st.lists(st.integers(0, 9), max_size=30), st.permutations(range(10)))
def test_the_count_depends_on_which_words_are_equal_alone(words, names):
    """A budget that ends tells no more: also where words are too many to be told apart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consistent, "_COUNTED", 4)
        one, other = Distinct(), Distinct()
        for word in words:
            assert one.add([word]) == other.add([1 << 63 | names[word]])


SOME = ["word1", "Word1", "word2", "b\u0301x", "bx", "B\u00dcX", "w-x", "word1's"]
ANY = st.sampled_from(SOME) | st.binary(max_size=6).map(lambda b: b.decode("utf-8", "replace"))
TEXTS = st.lists(st.lists(ANY, max_size=12).map(" ".join), max_size=6)


@given(TEXTS, st.integers(0, 6), st.sampled_from(UNITS))
@settings(max_examples=50)
def test_any_text_in_any_batches(texts, cut, unit):
    sanitizer = _ANY[unit]
    numbers = range(len(texts))
    whole = sanitizer.sanitize(texts, KEY, numbers, audit=True)
    cuts = slice(cut), slice(cut, None)
    parts = [sanitizer.sanitize(texts[at], KEY, numbers[at], audit=True) for at in cuts]
    assert whole.lines == parts[0].lines + parts[1].lines
    assert whole.drawn == parts[0].drawn + parts[1].drawn
    found = maps(whole)
    assert [len(found.get(record, ())) for record in numbers] == whole.drawn
    if unit is Unit.RECORD:
        assert whole.marks is None
    else:
        together = {}
        for each in found.values():
            for word, outputs in each.items():
                together.setdefault(word, set()).update(outputs)
        assert all(len(outputs) == 1 for outputs in together.values())
        counts = Distinct(), Distinct()
        counts[0].add(whole.marks.tolist())
        for part in parts:
            counts[1].add(part.marks.tolist())
        assert (counts[0], counts[0].count) == (counts[1], len(together))
