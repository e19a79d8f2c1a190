"""Words of the original beside those of the sanitized text."""

import json
import math
from types import SimpleNamespace

import numpy as np
import perplexity
import pytest
import read_back
from hypothesis import given
from hypothesis import strategies as st
from support import embed, make_embeddings, write_gaps

from dpsan import load_embeddings
from dpsan.analysis.evaluate import Question, evaluate, shown
from dpsan.analysis.evaluate.attack import hidden_persons, locate, recovered
from dpsan.analysis.evaluate.pairs import Inputs, aligned, cut, read_pairs
from dpsan.analysis.evaluate.vocabulary import MASKED, OTHER, Vocabulary, WordKind
from dpsan.analysis.pages import page
from dpsan.errors import InputError
from dpsan.outcomes.intervals import Share
from dpsan.outcomes.ngrams import Gap
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import TOKENIZERS

LINES = """The doctor told Maria Gonzalez in Paris that she was ill. "Is she?" asked an old man.
It took an hour. IBM's iPhone broke, and I don't know a better one!
paris
An apple a day; a university: an FBI agent, zzyqx and YouTube's X-ray.
"""
WORDS = ["don't", "do", "n't", "U.S.", "e-mail", "a", "ab", "b", "3.5", "the", "x y", "U", "S"]
AWKWARD = embed(WORDS, seed=3)
"""Words that hold what gaps are made of."""


def test_outputs_that_hold_gaps_are_cut_where_the_gaps_are():
    def words(gaps, line):
        split = TOKENIZERS["unicode"]
        return aligned(gaps, line, split, lambda _, word: word in WORDS, 9)

    found = words(["", " ", ", ", "."], "U.S. e-mail, the.")
    assert found == ["U.S.", "e-mail", "the"]
    assert words(["", " ", ""], "x y the") == ["x y", "the"]
    # Words of another program, in the same places.
    assert words(["", " ", ""], "foo bar") == ["foo", "bar"]
    assert words(["", " ", ""], "the") is None
    assert words(["", " ", ""], "the  the") is None

    def possible(at, word):
        return word in {"do", "n't", "ab", "c"}

    # Empty gaps are cut by the words.
    assert cut(["", "", " ", ""], "don't ab", possible, 3) == ["do", "n't", "ab"]
    assert cut(["", "", ""], "abc", possible, 3) == ["ab", "c"]
    assert cut(["", "", ""], "abd", possible, 3) is None
    assert cut([" - "], " - ", possible, 3) == []
    assert cut([" - "], " -- ", possible, 3) is None


PIECES = st.sampled_from(
    [*WORDS, "Maria's", "don’t", "well-known", "3,5", "Zürich", " ", "  ", ". ", "-", ",", "<", "é"]
)


@pytest.fixture(scope="module", params=sorted(TOKENIZERS))
def vocabulary(request):
    return Vocabulary(AWKWARD, request.param)


@pytest.fixture(scope="module", params=["sample", "mask"])
def sanitizer(request, vocabulary, store):
    given = {"tokenizer": vocabulary.tokenizer, "unknown": request.param, "cache": store}
    return Sanitizer("krr", epsilon=1, embeddings=AWKWARD, **given)


@given(parts=st.lists(PIECES, max_size=12), seed=st.integers(0, 3))
def test_every_line_of_a_sanitizer_aligns(vocabulary, sanitizer, parts, seed):
    """And with exactly the words that the audit lists, where there is one way to cut."""
    line = "".join(parts)
    done = sanitizer.sanitize([line], randomness.seeded_key(f"align {seed}"), audit=True)
    pieces, _ = vocabulary.inputs(line)
    write_gaps(pieces)

    def possible(at, word):
        return word == pieces[2 * at + 1] or vocabulary.code(word) != OTHER

    found = aligned(pieces[::2], done.lines[0], vocabulary.split, possible, 200)
    assert found is not None
    assert len(found) == len(done.records)
    rebuilt = pieces.copy()
    rebuilt[1::2] = found
    assert "".join(rebuilt) == done.lines[0]
    # Where no word can hold a gap, there is one way only.
    if set(pieces[2:-1:2]) <= {" "} and "x y" not in done.lines[0]:
        assert found == [*done.records.outputs]


def test_words_codes_and_classes(tmp_path):
    vocabulary = Vocabulary(make_embeddings(6000), "unicode")
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("Word3 said Word5999 of 1999. Word7\n\nword1 word2\n")
    two.write_text("word3 word9 <unk> word0 word2. word7\n\nonly\n")
    pairs = read_pairs(one, two, Inputs(), vocabulary)
    assert (pairs.records, pairs.unaligned, len(pairs.same)) == (3, 1, 6)
    assert pairs.inputs.tolist() == [3, 6000, 5999, 6000, 6000, 7]
    assert pairs.outputs.tolist() == [3, 9, MASKED, 0, 2, 7]
    assert pairs.same.tolist() == [True, False, False, False, False, True]
    assert pairs.spans[2].tolist() == [11, 19]
    expected = {"NUMBER": [4], "CAPITALISED": [0, 2, 5], "INSIDE": [2], "STOP": [0, 5]}
    expected |= {"RARE": [1, 2, 3, 4], "UNKNOWN": [1, 3, 4]}
    for kind, places in expected.items():
        assert np.flatnonzero(pairs.of(WordKind[kind])).tolist() == places, kind


@pytest.mark.slow
def test_audit_and_evaluate_agree_on_what_is_unchanged(tmp_path, dpsan):
    """Capitals change no word; an a that had to become an does, for both."""
    original, sanitized, audit = (tmp_path / name for name in ("in.txt", "out.txt", "a.jsonl"))
    original.write_text(LINES * 40)
    command = "rewrite -q -e 11 -o out.txt -a a.jsonl --audit-originals in.txt"
    done = dpsan(*command.split(), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    rows = [json.loads(row) for row in audit.read_text().splitlines()]
    assert rows[0]["case"] == "natural"
    words = [row for row in rows if row["type"] == "word"]
    lines = sanitized.read_text().split("\n")
    assert all(lines[row["line"] - 1][row["start"] : row["end"]] == row["out"] for row in words)
    pairs = read_pairs(original, sanitized, Inputs(), Vocabulary(load_embeddings(), "unicode"))
    assert pairs.unaligned == 0
    assert pairs.same.tolist() == [row["unchanged"] for row in words]
    assert 0.1 < pairs.same.mean() < 0.9
    cased = [row for row in words if row["unchanged"] and row["in"] != row["out"]]
    assert {row["out"] for row in cased} & {"Paris", "The"}


def two_texts():
    """Two texts: "call Ann Lee now" and "to 555-1" (two words of a number)."""
    return SimpleNamespace(
        original=["call Ann Lee now", "to 555-1"],
        lines=[2, 4],
        text=np.array([0, 0, 0, 0, 1, 1, 1]),
        spans=np.array([[0, 4], [5, 8], [9, 12], [13, 16], [0, 2], [3, 6], [7, 8]]),
    )


def recovery(*counts):
    shares = [Share(each, sum(counts)) for each in counts]
    return dict(zip(("fully", "partly", "none"), shares, strict=True))


ROWS = [
    [{"start": 5, "end": 12, "type": "NAME"}, {"start": 4, "end": 5}],
    [{"start": 3, "end": 8, "type": "PHONE"}, {"start": 1, "end": 2}],
]


@pytest.mark.parametrize("numbers", [[{}, {}], [{"record": 2}, {"record": 4}]])
def test_by_hand(tmp_path, numbers):
    path = tmp_path / "spans.jsonl"
    rows = [number | {"spans": row} for number, row in zip(numbers, ROWS, strict=True)]
    path.write_text("\n".join(map(json.dumps, rows)))
    table = locate(path, two_texts())
    assert table.left_out == 1  # the span that is only a blank
    right = np.array([True, True, False, True, True, True, True])
    found = recovered(table, right)
    kinds = {"NAME": recovery(0, 1, 0), "PHONE": recovery(1, 0, 0)}
    assert found == {"all": recovery(2, 1, 0), **kinds}
    assert recovered(table, np.zeros(7, dtype=bool))["all"] == recovery(0, 0, 3)


def test_a_person_is_hidden_where_no_word_about_them_is_read(tmp_path):
    """A subject is a name within its record; spans without one count for nobody."""
    path = tmp_path / "spans.jsonl"
    about = [["a", "b", "a"], ["a", None, ""]]
    places = [[(0, 4), (5, 8), (9, 12)], [(3, 8), (0, 2), (0, 2)]]
    rows = [zip(*each, strict=True) for each in zip(places, about, strict=True)]
    spans = [[{"start": x, "end": y, "subject": who} for (x, y), who in row] for row in rows]
    path.write_text("".join(json.dumps({"spans": each}) + "\n" for each in spans))
    table = locate(path, two_texts())
    for read, hidden in (([], 3), ([1], 2), ([0, 2], 2), ([2, 6], 1), ([3, 4], 3)):
        right = np.isin(np.arange(7), read)
        assert hidden_persons(table, right) == Share(hidden, 3), read
    path.write_text(json.dumps({"spans": [{"start": 0, "end": 2, "subject": 5}]}))
    with pytest.raises(InputError, match=":1: not an object with a list of spans"):
        locate(path, two_texts())


# Readability: perplexities by hand, and what they tell of order, case and unknown words.


LANGUAGE = [" ".join(f"w{(start + step) % 9}" for step in range(12)) for start in range(9)] * 20
VOCABULARY = Vocabulary(read_back.small([1] * 9), "unicode")


def learn(lines):
    return read_back.learn(lines, VOCABULARY)


def judge(original, sanitized):
    return perplexity.readability(original, sanitized, VOCABULARY, learn(LANGUAGE))


def log(model, *symbols):
    """ln p(last|two before it)."""
    one, two, three = (np.array([each]) for each in symbols)
    below, _ = model.pairs(two, three)
    return float(model.triples(model.pairs(one, two)[1], three, below)[0])


def test_perplexity_by_hand():
    """Four words: the first of a text behind the end of a line, an unknown one is a symbol too."""
    model = learn(["w0 w1, x w1", "w0 w2"])
    n = VOCABULARY.n
    line, clause = n + Gap.LINE, n + Gap.CLAUSE
    steps = [(line, line, 0), (line, 0, 1), (1, clause, n), (n, line, 2)]
    logs = [log(model, *each) for each in steps]
    found = perplexity.readability(["W0 w1, unheard!", "w2"], ["", "..."], VOCABULARY, model)
    assert found.original == pytest.approx(math.exp(-sum(logs) / 4), rel=1e-6)
    assert found.sanitized is None
    assert found.verdict is None
    assert found.public_words == 6


def test_order_is_what_counts():
    """The right words in random order are the anchor: the language itself is far below it."""
    found = judge(LANGUAGE, LANGUAGE)
    assert found.original == found.sanitized < 2
    assert found.shuffled > 4
    assert found.verdict is None
    rng = np.random.default_rng(3)
    again = judge(LANGUAGE, [" ".join(rng.permutation(line.split())) for line in LANGUAGE])
    assert again.sanitized == pytest.approx(found.shuffled, rel=0.05)
    assert again.shuffled == found.shuffled  # a public key
    uniform = [" ".join(f"w{word}" for word in rng.integers(0, 9, 12)) for _ in LANGUAGE]
    worse = judge(LANGUAGE, uniform)
    assert worse.sanitized > worse.shuffled
    assert worse.verdict == "no more readable than the original's words in random order"


def test_a_language_model_adds_two_attackers(monkeypatch, tmp_path):
    embeddings = read_back.small([1] * 9)
    monkeypatch.setattr("dpsan.analysis.evaluate.model_for", lambda _: (learn(LANGUAGE), ""))
    krr = Sanitizer(mechanism="krr", epsilon=9.0, embeddings=embeddings, seed="x")
    for name, lines in {"o.txt": LANGUAGE, "near.txt": krr.rewrite(LANGUAGE)}.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    question = Question(tmp_path / "o.txt", tmp_path / "near.txt", mechanism=krr.mechanism)
    near = evaluate(question, embeddings, krr.space)
    names = ["verbatim", "one-word", "context", "informed"]
    assert [attack["attack"] for attack in near.as_json()["attacks"]] == names
    assert "others known" in page("", [shown(near)])


def test_the_study_of_perplexity(tmp_path, capsys):
    """Of the bundled vocabulary: words in another order read worse."""
    (tmp_path / "o.txt").write_text("she said that it was the end of the year\n" * 3)
    (tmp_path / "s.txt").write_text("year the of end the was it that said she\n" * 3)
    files = (tmp_path / "o.txt", tmp_path / "s.txt")
    assert perplexity.main([*map(str, files)]) == 0
    found = json.loads(capsys.readouterr().out)["perplexity"]
    assert found["original"] < found["original_shuffled"]
    assert found["original"] < found["sanitized"]
    assert perplexity.main([str(tmp_path / "none.txt"), str(files[0])]) == 1


def test_a_vocabulary_without_a_language_model_has_a_note(dpsan, tmp_path):
    """The mechanism need not be known."""
    vectors = "".join(f"w{i} {i % 3} {i // 3} {i * i % 5}\n" for i in range(9))
    (tmp_path / "v.txt").write_text(vectors)
    (tmp_path / "o.txt").write_text("\n".join(LANGUAGE) + "\n")

    def run(*arguments):
        return dpsan("evaluate", "-E", "v.txt", *arguments, cwd=tmp_path, status=0)

    assert b"language model" not in run("o.txt", "o.txt").stderr
    known = run("-m", "krr", "-e", "9", "o.txt", "o.txt", "--json")
    assert b"no attack that reads context" not in known.stderr  # --json has the notes
    assert "no attack that reads context" in json.loads(known.stdout)["notes"][0]
