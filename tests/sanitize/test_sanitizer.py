import io
import json
import pickle
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from identity import marker
from support import audit_rows, cases, embed, fits, make_embeddings, marked

import dpsan
from dpsan import Memo
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.privacy import randomness
from dpsan.sanitize import consistent
from dpsan.sanitize.consistent import Distinct, Unit
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.shape import INVISIBLE
from dpsan.text.tokens import folded

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
    assert support.write_gaps(rebuilt) == result.invisible
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
    starts = support.written_at(result.records).tolist()
    for record, at in zip(audit_rows(result.records), starts, strict=True):
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
    for wrong in (io.StringIO("the maria"), Path("maria.txt")):
        with pytest.raises(TypeError, match=r"got a \w+: rewrite\(file\.read\(\)\), or"):
            sanitizer.rewrite(wrong)


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
        with pytest.raises(TypeError, match=rf"strings, None if missing \(got {kind} as item \d\)"):
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


# Python values: every string is drawn, also in JSON inside of strings; all else stays.


MASK = marker()


def test_every_string_of_a_value_is_drawn_and_its_form_stays():
    content = [{"type": "text", "text": "one two"}, ("three", None, True)]
    value = {"role": "user", "content": content, 7: "four", "n": 1.5}
    assert MASK.rewrite_object(value, except_=["role", "**.type"]) == {
        "role": "user",
        "content": [{"type": "text", "text": "<unk> <unk>"}, ("<unk>", None, True)],
        7: "<unk>",
        "n": 1.5,
    }
    assert MASK.rewrite_object("a b") == "<unk> <unk>"
    assert MASK.rewrite_object(data=[None, 3]) == [None, 3]


def test_json_inside_of_a_string_stays_json():
    deep = '["x", "{\\"y\\": \\"z\\"}"]'
    inner = f'{{"to":"Ann","n":1.50,"deep":{json.dumps(deep)},"e":"\\u00e9\\n"}}'
    (out,) = MASK.rewrite_object([inner])
    wanted = inner
    for word in ("Ann", "x", "z", "\\u00e9"):
        wanted = wanted.replace(word, "<unk>")
    assert out == wanted
    assert json.loads(json.loads(json.loads(out)["deep"])[1]) == {"y": "<unk>"}
    for text in ("{no json", "[1, 2", '{"a": 1} b', "{'a': 1}"):
        assert "<unk>" in MASK.rewrite_object(text)
    assert MASK.rewrite_object({"a": '{"k": "b"}'}, fields="a") == {"a": '{"<unk>": "<unk>"}'}
    assert MASK.rewrite_object({"a": '{"k": "b"}'}, fields="a.k") == {"a": '{"k": "<unk>"}'}


def test_chosen_fields_alone():
    shapes = [{"content": "a"}, {"content": [{"text": "b", "id": "c"}]}, {"other": "d"}]
    out = MASK.rewrite_object(shapes, fields=["[].content.**?"], except_="**.id")
    assert out == [{"content": "<unk>"}, {"content": [{"text": "<unk>", "id": "c"}]}, shapes[2]]


@cases(
    "value how error",
    ({"a": b"secret"}, {}, TypeError),
    ([{"secret"}], {}, TypeError),
    ({"a": 1}, {"fields": "a"}, UsageError),
    ({"a": "secret"}, {"fields": "a.b"}, UsageError),
    ({"a": "secret"}, {"fields": "b"}, UsageError),
    ("secret", {"fields": "a..b"}, UsageError),
    ("secret", {"except_": "a["}, UsageError),
)
def test_what_cannot_be_drawn_is_refused_in_a_line_without_content(value, how, error):
    with pytest.raises(error) as caught:
        MASK.rewrite_object(value, **how)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@cases(
    "value told",
    ({"a": [{"b": b"secret"}]}, r"^a\[\].b must be of .* \(got bytes\)$"),
    ({"Grace Young": {1}}, r"^\* must be of .* \(got set\)$"),
    ({1}, r"^the value must be of .* \(got set\)$"),
)
def test_a_type_that_is_none_of_json_is_named_with_its_place(value, told):
    with pytest.raises(TypeError, match=told):
        MASK.rewrite_object(value)


def test_a_path_of_except_that_fits_nothing_is_told():
    value = {"a": {"b": "x"}, "c": '{"d": "x"}'}
    for path in ("a", "a.b", "c.d", "**.d", "z?"):
        MASK.rewrite_object(value, except_=path)  # a warning is an error
    for path in ("z", "a.z", "**.z", "a.b.c"):
        with pytest.warns(UserWarning, match=r"^no value has the path '.*' of except_ \(add \?"):
            MASK.rewrite_object(value, except_=["a?", path])


def test_a_path_of_except_that_leaves_out_all_is_refused():
    """The value came back as it was; the command line refuses it, too."""
    for path in ("**", "*", "**?", ["a", "**"]):
        with pytest.raises(UsageError, match=r"^except_ '\*.* leaves nothing to replace \(such as"):
            MASK.rewrite_object({"a": "Maria Lopez"}, except_=path)


def test_a_value_inside_of_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(UsageError, match="inside of itself"):
        MASK.rewrite_object(value)
    assert MASK.rewrite_object({"a": b"secret", "b": "x"}, except_="a")["b"] == "<unk>"


def test_one_person_has_one_replacement_in_a_value():
    sanitizer = Sanitizer(only="people", seed="objects")
    inner = '{"c": "Maria Gonzalez", "d": "maria.gonzalez@example.org"}'
    value = {"a": "Maria Gonzalez", "b": inner}
    outs = [sanitizer.rewrite_object(value) for _ in range(5)]
    assert len({out["a"] for out in outs}) > 1
    for out in outs:
        inner = json.loads(out["b"])
        assert inner["c"] == out["a"] != value["a"]
        assert inner["d"].split("@")[0] == out["a"].lower().replace(" ", ".")


def test_texts_of_a_value_have_draws_of_their_own():
    """One stream for all of them would make equal texts equal."""
    sanitizer = Sanitizer("krr", epsilon=1.0, seed="objects", vocab_size=1000)
    assert len(set(sanitizer.rewrite_object(["house"] * 20))) > 10


# One draw for each distinct word of a unit: equal words alike, different words independent.


EMBEDDINGS = make_embeddings(n=30, d=3)
FEW = make_embeddings(n=4, d=2)
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
    sanitizer = support.at_first_epsilon(name, partial(opened, unit))
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


def independent(unit, text, ids, units=200):
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
    source = vars(randomness)
    with monkeypatch.context() as patch:
        worse = source | {"streams_by_word": by_word, "streams_for": by_record}
        patch.setattr(consistent, "randomness", SimpleNamespace(**worse))
        assert not independent(unit, *TWO[0])
        assert not independent(unit, *TWO[2])
    if unit is not Unit.RECORD:
        worse = source | {"derive_key": lambda key, *_: KEY}
        monkeypatch.setattr(consistent, "randomness", SimpleNamespace(**worse))
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
    support.cut_long(monkeypatch, 5000, 400, 6000)
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


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: Sanitizer("8"), r"unknown mechanism '8' \(name it: epsilon=8\)"),
        (lambda: Sanitizer("0.5"), r"name it: epsilon=0\.5"),
        (lambda: Sanitizer(eps=8), "unknown argument 'eps'; did you mean 'epsilon'"),
        (lambda: Sanitizer(epsilon=8, seeds=1), "unknown argument 'seeds'; did you mean 'seed'"),
        (lambda: Sanitizer(epsilon=8, map="m"), r"unknown argument 'map' \(dpsan\.Memo"),
        (lambda: Sanitizer(epsilon=8, cache=5), r"cache must be the name of .*\(got int\)"),
        (lambda: Sanitizer(only="names").rewrite(["a"], [5]), "spans of a text must be a list of"),
        (lambda: Sanitizer(epsilon=8, keep=[5]), r"keep must be a list of words \(got int\)"),
        (lambda: Sanitizer(epsilon=8, keep=5), r"keep must be a list of words \(got int\)"),
        (lambda: Sanitizer(epsilon=8, public=["a", None]), r"public must .*\(got NoneType\)"),
        (lambda: Sanitizer(only="names").rewrite("a", "b"), "several texts go into one list"),
        (lambda: Sanitizer(only="names").rewrite(["a"], 5), r"spans must be .*\(got int"),
        (lambda: Memo(None, Sanitizer(only="names")), r"directory must be a path \(got NoneType\)"),
    ],
)
def test_a_wrong_argument_is_named_in_one_line(call, told):
    with pytest.raises((UsageError, TypeError), match=told) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_words_of_a_generator_are_kept():
    sanitizer = Sanitizer(only="names", keep=(word for word in ["Maria", "Hope"]))
    assert sanitizer.rewrite("Maria Lopez").startswith("Maria ")
