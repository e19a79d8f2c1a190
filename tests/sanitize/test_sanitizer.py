import pickle
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import audit_rows, cases, embed, make_embeddings, written_at

import dpsan
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.privacy import randomness
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import INVISIBLE, write_gaps

KEY = b"k" * 32
WORDS = ["the", "maria", "john", "paris", "don't", "well-known", "it", "not", "may", "5", "café"]


def small(**options):
    given_ = {"embeddings": embed(WORDS, seed=0, source="small"), "parameters": {"mass": 0.3}}
    return Sanitizer(epsilon=2.0, **given_, **options)


@pytest.fixture(scope="module")
def sanitizer():
    return small()


@given(text=st.text())
def test_structure_is_kept(text):
    """Gaps come out in place; every word comes out as a word of the vocabulary."""
    sanitizer = small()
    result = sanitizer.sanitize([text], KEY, audit=True)
    rebuilt, at = [], 0
    for record in audit_rows(result.records):
        rebuilt += [text[at : record.start], record.output]
        at = record.end
        assert record.output.lower() in WORDS
        assert record.action in (Action.DRAWN, Action.UNKNOWN)
    rebuilt.append(text[at:])
    assert write_gaps(rebuilt)[1] == result.invisible
    assert "".join(rebuilt) == result.lines[0]
    assert len(sanitizer.rewrite(text)) > 0 or not INVISIBLE.sub("", text)
    for one, other in pairwise(audit_rows(result.records)):
        gap = text[one.end : other.start]
        assert not re.search(r"\w", gap.replace("_", "")) or gap in ("'s", "’s", "'S", "’S")


def test_compounds(sanitizer):
    def actions(text):
        records = audit_rows(sanitizer.sanitize([text], KEY, audit=True).records)
        return [(text[each.start : each.end], str(each.action)) for each in records]

    assert actions("Maria's") == [("Maria", "drawn")]
    assert actions("John-Maria") == [("John", "drawn"), ("Maria", "drawn")]
    assert actions("Well-Known") == [("Well", "unknown"), ("Known", "unknown")]  # as in no row
    assert actions("don’t") == [("don’t", "drawn")]
    assert actions("mayn't") == [("mayn't", "unknown")]  # "n't" is not in the vocabulary
    assert actions("xq-John's") == [("xq", "unknown"), ("John", "drawn")]
    assert actions("5.7") == [("5.7", "unknown")]
    assert actions("cafe\u0301") == [("cafe\u0301", "drawn")]


def test_unknown_policies():
    masked = small(unknown="mask").sanitize(["the zyx"], KEY)
    assert masked.lines[0].endswith(" <unk>")
    assert masked.counts[Action.MASKED] == 1
    with pytest.raises(UsageError, match="policy"):
        small(unknown="keep")


def test_words_are_not_glued_together():
    """Issue 13: ptb gave "youprogram"; so did contractions of the other tokenizers, and emoji."""
    masked = small(tokenizer="ptb", unknown="mask").rewrite("isn't, 😀😀 a😀")
    assert masked == "<unk> <unk>, <unk> <unk> <unk>"
    given_ = {"embeddings": embed(["you", "'ll", "x"], 2, 0), "tokenizer": "ptb"}
    split = Sanitizer("laplace", epsilon=1.0, **given_)
    assert len(split.rewrite("you'll").split(" ")) == 2


def test_no_watermark_survives():
    """Issue 13: what is invisible outside words is dropped and counted, inside them replaced."""
    text = "\u200b\u2060The\u200b \u202emaria\u202c,\x1b\u3164 jo\u200bhn\ufeff \u200d."
    sanitizer = small()
    result = sanitizer.sanitize([text, "", "\u200b"], KEY, audit=True)
    assert not INVISIBLE.search("".join(result.lines))
    assert result.invisible == 10
    assert result.counts[Action.DRAWN] == 3  # "john" is found
    for record, at in zip(
        audit_rows(result.records), written_at(result.records).tolist(), strict=True
    ):
        assert result.lines[0][at : at + len(record.output)] == record.output
    kept = small(keep=["Maria", "x\u200dy"]).sanitize(["Ma\u200bria x\u200dy"], KEY)
    assert kept.lines[0].endswith(" x\u200dy")  # as the list has it
    assert "\u200b" not in kept.lines[0]
    assert kept.counts[Action.KEPT] == 1


def test_keep_list():
    sanitizer = small(keep=["Maria", "GoPro"])
    result = sanitizer.sanitize(["MARIA's GoPro, gopro and Paris"], KEY, audit=True)
    assert result.lines[0].startswith("MARIA's GoPro, gopro ")
    assert result.counts[Action.KEPT] == 3
    # A possessive ending that was not kept has no capital.
    assert small().sanitize(["MARIA'S"], KEY).lines[0].endswith("'s")


def test_copies_and_words_of_a_line_are_independent(sanitizer):
    """Issue 3: no two lines or runs share a stream, and a shared one would be seen."""
    line = "the maria john paris it not may 5"
    out = sanitizer.rewrite([line] * 1000)
    again = sanitizer.rewrite([line] * 1000)
    assert len(set(out)) > 900
    assert sum(a == b for a, b in zip(out, again, strict=True)) < 5
    # The planted failure: the same record number for every line.
    same = sanitizer.sanitize([line] * 1000, randomness.new_key(), [0] * 1000).lines
    assert len(set(same)) == 1
    # One seed for all words would give every copy of a word the same output.
    counts = Counter(sanitizer.rewrite("maria " * 1000).lower().split())
    assert len(counts) > len(WORDS) / 2  # a word may be no output at all
    assert max(counts.values()) < 500


def test_seed():
    first, second = small(seed=1), small(seed="1")
    line = ["the maria john paris"] * 20
    assert first.rewrite(line) == second.rewrite(line)
    assert first.rewrite(line) != small(seed=1).rewrite(line)  # later calls go on numbering
    assert small().rewrite(line) != small().rewrite(line)


def test_any_batching_and_any_copy_give_the_same(sanitizer):
    texts = ["the maria", "", "john zyx " * 700, "paris"] * 3
    key = randomness.new_key()
    together = sanitizer.sanitize(texts, key).lines
    alone = [sanitizer.sanitize([text], key, [at]).lines[0] for at, text in enumerate(texts)]
    assert together == alone
    copy = pickle.loads(pickle.dumps(sanitizer))
    assert copy.sanitize(texts, key).lines == together
    assert copy.rewrite(texts) != sanitizer.rewrite(texts)


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars"])
def test_tables_are_refused(sanitizer, kind):
    """They iterate over names of columns: those were rewritten, and the texts were not."""
    table = {"maria": ["the zyx"]}
    if kind != "dict":
        table = pytest.importorskip(kind).DataFrame(table)
    with pytest.raises(TypeError, match=r"got a \w+: choose one of its columns") as caught:
        sanitizer.rewrite(table)
    assert "maria" not in str(caught.value)


@pytest.mark.parametrize("name", ["optimal-response", "laplace", "tldp", "krr"])
def test_the_draw_that_warms_up_changes_nothing(name, embeddings):
    kind = MECHANISMS[name]
    needed = {each: about.example for each, about in kind.parameters().items() if about.required}
    given_ = {"embeddings": embeddings, "parameters": needed, "seed": 3, "allow_unproved": True}
    warm, cold = (Sanitizer(name, epsilon=4.0, **given_) for _ in range(2))
    texts = ["the word of the day", "is unheardof", ""] * 3
    for _ in range(2):
        warm.warm_up()
        assert warm.rewrite(texts) == cold.rewrite(texts)


def test_issue_13_a_string_in_a_string_out():
    """Its characters were taken for texts."""
    sanitizer = small(seed="1")
    out = sanitizer.rewrite("the maria, john")
    assert isinstance(out, str)
    assert re.fullmatch(r"[\w'-]+ [\w'-]+, [\w'-]+", out)
    assert out == small(seed="1").rewrite(["the maria, john"])[0]
    for wrong, kind in ((None, "NoneType"), (5, "int")):
        with pytest.raises(TypeError, match=rf"a string or strings \(got {kind}\)"):
            Sanitizer(only="people").rewrite(wrong)
    with pytest.raises(TypeError, match="got bytes: decode them first"):
        sanitizer.rewrite(b"the maria")


def test_issue_13_none_stays_none(sanitizer):
    out = sanitizer.rewrite(["the", None, "", None, "maria"])
    assert [each is None for each in out] == [False, True, False, True, False]
    assert out[0] in WORDS
    assert out[4] in WORDS
    assert sanitizer.rewrite([None]) == [None]
    # Under a seed the other texts keep their numbers.
    seeded = small(seed="1").rewrite(["the maria", "x", "john it"])
    assert small(seed="1").rewrite(["the maria", None, "john it"]) == [seeded[0], None, seeded[2]]
    for wrong, kind in ((float("nan"), "float"), (5, "int")):
        with pytest.raises(TypeError, match=rf"strings, None if missing \(got {kind}\)"):
            sanitizer.rewrite(["the", wrong])
    for wrongly in (("the", KEY), (["the"],), (["the"], "key")):
        with pytest.raises(TypeError, match="rewrite takes a text"):
            sanitizer.sanitize(*wrongly)


def test_issue_13_repr_is_short_and_tells_no_secret():
    result = small().sanitize(["maria zyx"], KEY, audit=True)
    assert "zyx" not in repr(result)
    assert "maria" not in repr(result.records)
    sanitizer = small(keep=["Maria"], seed="open sesame")
    told = repr(sanitizer)
    assert len(told) < 200
    assert "optimal-response" in told
    assert "epsilon=2" in told
    assert not re.search("(?i)maria|sesame", told + repr(sanitizer.spec))
    assert repr(sanitizer.embeddings) == "<11 words of 4 dimensions from 'small'>"
    assert len(repr(dpsan.load_embeddings())) < 100


@cases(
    "arguments message",
    ({"epsilon": "8"}, r"epsilon must be a number > 0 \(got '8', a str\)"),
    ({"epsilon": True}, "epsilon must be a number > 0"),
    ({"epsilon": 1, "vocab_size": 0}, "vocab_size must be >= 1"),
    ({"epsilon": 1, "keep": "IBM"}, "keep must be a list of words"),
    ({"epsilon": 1, "mechanism": "gaussian"}, r"such as parameters={'delta': 1e-6}"),
    ({"epsilon": 1, "mechanism": "custext"}, r"\(allow_unproved=True runs it all the same\)"),
    ({"epsilon": 1, "mechanism": "knn-respnse"}, "did you mean 'knn-response'"),
    ({"epsilon": 1, "tokenizer": "words"}, "tokenizer"),
    ({"epsilon": 1, "case": "upper"}, "case"),
)
def test_issue_13_errors_name_arguments(arguments, message):
    with pytest.raises(UsageError, match=message) as caught:
        Sanitizer(**arguments)
    assert "--" not in str(caught.value)
    assert not re.search("=True|parameters=", caught.value.on_command_line())


def test_epsilon_may_be_any_real_number():
    for epsilon in (2, np.float32(2), np.int64(2)):
        assert Sanitizer("krr", epsilon=epsilon, embeddings=make_embeddings()).rewrite("word1")
    with pytest.raises(AttributeError):
        _ = dpsan.nothing


@cases(
    "options told",
    ({"mechanism": 8}, r"mechanism must be a str \(got int\) \(name it: epsilon=8"),
    ({"only": 7}, r"only must be a str \(got int\)"),
    ({"only": "people", "roles": False}, r"roles must be a str \(got bool\)"),
    ({"epsilon": 8, "parameters": ["k=20"]}, r"parameters must be a dict \(got list\)"),
    ({"epsilon": 8, "vocab_size": "100"}, r"vocab_size must be a int \(got str\)"),
)
def test_an_argument_of_another_type_is_one_of_our_errors(options, told):
    with pytest.raises(UsageError, match=told):
        Sanitizer(**options)


def test_classes_may_be_a_list():
    assert Sanitizer(only=["names", "places"]).rewrite("We met Maria.") != "We met Maria."
