"""Python values: every string is drawn, also in JSON inside of strings; all else stays."""

import json

import pytest
from identity import marker
from support import cases

from dpsan.errors import UsageError
from dpsan.sanitize.sanitizer import Sanitizer

MASK = marker()


def test_every_string_of_a_value_is_drawn_and_its_form_stays():
    value = {
        "role": "user",
        "content": [{"type": "text", "text": "one two"}, ("three", None, True)],
        7: "four",
        "n": 1.5,
    }
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


def test_a_value_inside_of_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(UsageError, match="inside of itself"):
        MASK.rewrite_object(value)
    assert MASK.rewrite_object({"a": b"secret", "b": "x"}, except_="a")["b"] == "<unk>"


def test_one_person_has_one_replacement_in_a_value():
    sanitizer = Sanitizer(only="people", seed="objects")
    value = {
        "a": "Maria Gonzalez",
        "b": '{"c": "Maria Gonzalez", "d": "maria.gonzalez@example.org"}',
    }
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
