import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import make_embeddings

from dpsan.analysis.evaluate.align import aligned, cut
from dpsan.analysis.evaluate.pairs import Inputs, read_pairs
from dpsan.analysis.evaluate.vocabulary import MASKED, OTHER, Vocabulary, WordClass
from dpsan.embeddings.base import Embeddings
from dpsan.errors import InputError
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import TOKENIZERS, write_gaps

WORDS = ["don't", "do", "n't", "U.S.", "e-mail", "a", "ab", "b", "3.5", "the", "x y", "U", "S"]


@pytest.fixture(scope="module")
def awkward():
    """Words that hold what gaps are made of."""
    vectors = np.random.default_rng(3).normal(size=(len(WORDS), 4)).astype(np.float32)
    return Embeddings(WORDS, vectors, "awkward", "awkward-words")


def test_outputs_that_hold_gaps_are_cut_where_the_gaps_are():
    def split(line):
        return TOKENIZERS["unicode"].split(line)

    known = {"U.S.", "e-mail", "the", "x y"}

    def possible(at, word):
        return word in known

    assert aligned(["", " ", ", ", "."], "U.S. e-mail, the.", split, possible, 9) == [
        "U.S.",
        "e-mail",
        "the",
    ]
    assert aligned(["", " ", ""], "x y the", split, possible, 9) == ["x y", "the"]
    # Words of another program, in the same places.
    assert aligned(["", " ", ""], "foo bar", split, possible, 9) == ["foo", "bar"]
    assert aligned(["", " ", ""], "the", split, possible, 9) is None
    assert aligned(["", " ", ""], "the  the", split, possible, 9) is None


def test_empty_gaps_are_cut_by_the_words():
    def possible(at, word):
        return word in {"do", "n't", "ab", "c"}

    assert cut(["", "", " ", ""], "don't ab", possible, 3) == ["do", "n't", "ab"]
    assert cut(["", "", ""], "abc", possible, 3) == ["ab", "c"]
    assert cut(["", "", ""], "abd", possible, 3) is None
    assert cut([" - "], " - ", possible, 3) == []
    assert cut([" - "], " -- ", possible, 3) is None


PIECES = st.sampled_from(
    [*WORDS, "Maria's", "don’t", "well-known", "3,5", "Zürich", " ", "  ", ". ", "-", ",", "<", "é"]
)


@pytest.fixture(scope="module", params=sorted(TOKENIZERS))
def vocabulary(request, awkward):
    return Vocabulary(awkward, request.param)


@pytest.fixture(scope="module", params=["sample", "mask", "keep"])
def sanitizer(request, awkward, vocabulary, store):
    return Sanitizer(
        "krr",
        epsilon=1,
        embeddings=awkward,
        tokenizer=vocabulary.tokenizer.name,
        unknown=request.param,
        cache=store,
    )


@given(parts=st.lists(PIECES, max_size=12), seed=st.integers(0, 3))
def test_every_line_of_a_sanitizer_aligns(vocabulary, sanitizer, parts, seed):
    """And with exactly the words that the audit lists, where there is one way to cut."""
    line = "".join(parts)
    done = sanitizer.sanitize([line], randomness.seeded_key(f"align {seed}"), audit=True)
    pieces, _ = vocabulary.inputs(line)
    write_gaps(pieces)
    words = pieces[1::2]

    def possible(at, word):
        return word == words[at] or vocabulary.code(word) != OTHER

    found = aligned(pieces[::2], done.lines[0], vocabulary.split, possible, 200)
    assert found is not None
    assert len(found) == len(done.records)
    rebuilt = pieces.copy()
    rebuilt[1::2] = found
    assert "".join(rebuilt) == done.lines[0]
    # Where no word can hold a gap, there is one way only.
    if set(pieces[2:-1:2]) <= {" "} and "x y" not in done.lines[0]:
        assert found == [each.output for each in done.records]


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_words_codes_and_classes(tmp_path):
    vocabulary = Vocabulary(make_embeddings(6000), "unicode")
    one = write(tmp_path / "one", ["Word3 said Word5999 of 1999. Word7", "", "word1 word2"])
    two = write(tmp_path / "two", ["word3 word9 <unk> word0 word2. word7", "", "only"])
    pairs = read_pairs(one, [two], Inputs(), vocabulary)
    assert (pairs.records, pairs.unaligned, len(pairs.same)) == (3, 1, 6)
    assert pairs.inputs.tolist() == [3, 6000, 5999, 6000, 6000, 7]
    assert pairs.outputs.tolist() == [3, 9, MASKED, 0, 2, 7]
    assert pairs.same.tolist() == [True, False, False, False, False, True]
    assert pairs.spans[2].tolist() == [11, 19]
    expected = {
        WordClass.NUMBER: [4],
        WordClass.CAPITALISED: [0, 2, 5],
        WordClass.NAME: [2],
        WordClass.RARE: [1, 2, 3, 4],
        WordClass.UNKNOWN: [1, 3, 4],
        WordClass.STOP: [0, 5],
    }
    for kind, places in expected.items():
        assert np.flatnonzero(pairs.of(kind)).tolist() == places, kind


def test_another_number_of_records_names_both(tmp_path):
    vocabulary = Vocabulary(make_embeddings(), "unicode")
    one, two = write(tmp_path / "one", ["a"] * 3), write(tmp_path / "two", ["a"] * 6)
    with pytest.raises(InputError, match=r"two: 6 records where .*one has 3 \(.*--copies"):
        read_pairs(one, [two], Inputs(), vocabulary)
    with pytest.raises(InputError, match=r"one: 3 records where .*two has 6"):
        read_pairs(two, [one], Inputs(), vocabulary)
    pairs = read_pairs(one, [two], Inputs(max_records=3), vocabulary)
    assert pairs.records == 3
