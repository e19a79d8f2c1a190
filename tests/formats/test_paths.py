"""Paths with ``*`` and ``**``, ``--except``, and JSON inside of strings."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity import identity, marker, through
from support import cases

from dpsan.errors import InputError, UsageError
from dpsan.formats.json_scan import pruned
from dpsan.formats.objects import ObjectStrings
from dpsan.formats.passing import Fields, Passing, shown_names
from dpsan.formats.paths import Wild, did_you_mean, parse_field, parse_fields, places

SAME, MASK = identity(), marker()


def run(data, *fields, sanitizer=MASK, kind="jsonl", **options):
    out, outcome = through(sanitizer, data, kind, fields=fields, **options)
    return out, [*outcome.passing.lines()]


def test_grammar():
    deep, one = Wild(deep=True), Wild()
    assert parse_field("**") == ("**", (deep,), True)
    assert parse_field("a.**").steps == ("a", deep)
    assert not parse_field("a.**").optional
    assert parse_field("*.x*[].**?") == ("*.x*[].**", (one, Wild("x"), None, deep), True)
    assert parse_field(r"\*.a\*b").steps == ("*", "a*b")
    for wrong in ("a**", "***", "*a", "a*b", "**a", "a.*b"):
        with pytest.raises(UsageError, match="--except: not a path"):
            parse_field(wrong, "--except")


# A slow reference: does a path lead to a place?
def leads(pattern, steps):
    if not pattern:
        return not steps
    first, *rest = pattern
    if isinstance(first, Wild) and first.deep:
        return leads(rest, steps) or (bool(steps) and leads(pattern, steps[1:]))
    if not steps:
        return False
    named = isinstance(steps[0], str)
    fits = first == steps[0]
    if isinstance(first, Wild):
        fits = steps[0].startswith(first.stem) if named else not first.stem
    return fits and leads(rest, steps[1:])


STEPS = st.lists(st.sampled_from(["a", "ab", None]), max_size=5)
_PATH = st.sampled_from(["a", "ab", "*", "a*", "**", "a[]", "*[]"])
PATHS = st.lists(_PATH, min_size=1, max_size=4)


@given(st.lists(PATHS, min_size=1, max_size=3), st.lists(PATHS, max_size=2), STEPS)
def test_a_place_is_chosen_where_a_path_leads(fields, excluded, steps):
    chosen, left_out = (parse_fields(map(".".join, paths)) for paths in (fields, excluded))
    place = places(chosen, left_out)
    for step in steps:
        place = place and place.child(step)
    ends = [field for field in chosen if leads(field.steps, steps)]
    prefixes = [steps[:at] for at in range(len(steps) + 1)]
    out = any(leads(field.steps, prefix) for field in left_out for prefix in prefixes)
    assert (place is not None and place.field is not None) == (bool(ends) and not out)
    if ends and not out:
        named = [field for field in ends if not field.wild] or ends
        assert chosen[place.field] == named[0]


def test_every_string_is_drawn_and_all_else_keeps_its_bytes():
    data = (
        b'{"id":1.10,"t":"word \\u00e9","l":[ "a",["b",null], {"c":"d"}, true ],"j":'
        b'"{\\"to\\": \\"Ann\\", \\"n\\": 1.50e3, \\"l\\":[\\"x\\\\ny\\", {}]}"}\n'
    )
    out, told = run(data, "**")
    assert out == (
        b'{"id":1.10,"t":"<unk> <unk>","l":[ "<unk>",["<unk>",null], {"c":"<unk>"}, true ],"j":'
        b'"{\\"to\\": \\"<unk>\\", \\"n\\": 1.50e3, \\"l\\":[\\"<unk>\\\\n<unk>\\", {}]}"}\n'
    )
    assert told == [
        "3 of 8 fields pass unchanged: id, l[], j.n",
        "8 keys pass unchanged: id, t, l, l[].c, j, j.to, j.n, j.l",
    ]
    kept, _ = run(data, "**", sanitizer=SAME, keep_equal=True)
    assert kept == data


def test_what_is_left_out_passes_with_all_that_is_inside_of_it():
    data = (
        rb'{"a":"x","b":{"type":"y","c":[{"type":"z"}]},"m":{"k":"v"},"s":"{\"type\":\"w\"}"}'
        + b"\n"
    )
    out, told = run(data, "**", excluded=("**.type", "m"))
    assert out == data.replace(b'"x"', b'"<unk>"')
    assert told[0] == "4 of 5 fields pass unchanged: b.type, b.c[].type, m.k, s.type"
    assert run(data, "**", excluded=("b.*", "m.k"))[0].count(b"<unk>") == 2
    assert run(data, "b.**", excluded=("b.c",))[0] == data.replace(b'"y"', b'"<unk>"')
    listed = b"[" + data.strip() + b"]"
    for same in ("a", "[].a"):
        assert b'"a":"x"' in run(listed, "**", kind="json", excluded=(same,))[0]


def test_two_shapes_of_a_field_need_one_path():
    data = b'{"content":"one"}\n{"content":[{"text":"two","type":"t"},"three"]}\n{"content":null}\n'
    out, _ = run(data, "content.**", excluded=("**.type",))
    assert out.decode().split("\n")[:2] == [
        '{"content":"<unk>"}',
        '{"content":[{"text":"<unk>","type":"t"},"<unk>"]}',
    ]


NO_JSON = ["{maria", "[1, 2", "{} x", '{"maria": tru}', "17", '"maria"', "true", ""]


@cases("text", *NO_JSON, "{'a': 'maria'}")
def test_a_string_that_holds_no_object_or_list_is_text(text):
    out, told = run(json.dumps({"t": text}).encode(), "**")
    assert json.loads(out)["t"] == MASK.rewrite(text)
    assert "maria" not in str(told)


def test_a_named_field_is_text_whatever_it_holds():
    """Its keys and numbers are drawn, as the guarantee says."""
    data = b'{"t":"{\\"maria\\": 5}"}\n'
    assert run(data, "t")[0] == b'{"t":"{\\"<unk>\\": <unk>}"}\n'
    assert run(data, "t", "**")[0] == run(data, "t")[0]
    assert run(data, "t.**?")[0] == data
    assert run(b'{"t":"{\\"maria\\": \\"x\\"}"}\n', "t.maria")[0].count(b"<unk>") == 1
    with pytest.raises(InputError, match="field 't' is a string, not an object"):
        run(b'{"t":"secret"}\n', "t.maria")
    with pytest.raises(InputError, match=r"field 't\.a' is a number, not a string"):
        run(b'{"t":"{\\"a\\": 1}"}\n', "t.a")


def test_a_path_that_can_be_misspelt_must_lead_somewhere():
    data = b'{"messages":[{"content":"secret","n":1}]}\n'
    for wrong in ("mesages.**", "**.contnet", "messages[].cont.*"):
        with pytest.raises(InputError, match="no record up to line 1 has the field"):
            run(data, wrong)
    with pytest.raises(InputError, match="field 'messages' is a string, not a list"):
        run(b'{"messages":"secret"}\n', "messages[].**")
    assert run(b'{"n":1}\n', "**")[0] == b'{"n":1}\n'


def test_keys_that_hold_a_name_or_an_address_are_counted_and_not_shown():
    user = b'{"a.chen@example.org":"x","phone_of_gonzalez":{"k":2}}'
    data = b'{"Maria":1,"u":%s,"first_name":"y"}\n' % user
    _, told = run(data * 2, "**")
    assert told == [
        "2 of 4 fields pass unchanged: *, u.*.k",
        "5 keys pass unchanged: *, u, u.*, u.*.k, first_name",
        "passed unchanged, and may hold text: 6 identifying keys",
    ]
    assert "chen" not in str(told)
    many = b"".join(b'{"u":{"u%d@example.org":"x","k%d":1}}\n' % (at, at) for at in range(300))
    assert run(many, "**")[1][-1].endswith(": 300 identifying keys")
    inside = json.dumps({"t": '{"maria": 1}'}).encode()
    assert run(inside, "**")[1][-1].endswith(": 1 identifying key")
    told = run(data, "first_name")[1]  # who names a field knows the others, but not who reads this
    assert told == ["3 of 4 fields pass unchanged: *, u.*, u.*.k"]
    with pytest.raises(InputError) as error:
        run(data, "first_name", "none")
    assert "(fields: first_name, *, u.*, u.*.k; add ?" in str(error.value)
    with pytest.raises(UsageError, match=r"the field 'u\.\*' must be a list"):
        ObjectStrings({"u": {"a.chen@example.org": "x"}}, r"u.a\.chen@example\.org[]")


def test_columns_that_hold_a_name_or_an_address_are_not_shown():
    fields = Fields("column", others={"id": None, "a.chen@example.org": None, "Maria": None})
    fields.chosen, fields.requested = {"maria": None}, ("maria",)
    fields.typed = {"Maria.name": "party"}
    passing = Passing()
    passing.add([fields])
    assert [*passing.lines()] == [
        "3 of 4 columns pass unchanged: id, *, *",
        "column '*' differs from --field '*' in letter case and is not sanitized",
    ]
    assert passing.row()["by_name"] == {"*": "party"}
    assert shown_names(["id", "Maria"]) == "id, *"
    assert did_you_mean("Maria Gomes", ["Maria Gomez"]) == ""
    assert did_you_mean("Martial", ["Marital"]) == "did you mean 'Marital'?"


def test_names_that_are_data_keep_what_is_chosen_below_them():
    lines = [b'{"u":{"x%d":"a","k%d":{"type":"b","t":"c"}}}\n' % (at, at) for at in range(200)]
    out, told = run(b"".join(lines), "u.x*", "u.*.t", excluded=("**.x7",))
    assert out.count(b"<unk>") == 200 + 199
    assert b'"x7":"a"' in out
    assert told[0].startswith("2 of 4 fields pass unchanged: u.")
    deep = b'{"a":' * 100 + b'{"type":"x","b":"y"}' + b"}" * 100
    assert run(deep, "**", excluded=("**.type",))[0] == deep.replace(b'"y"', b'"<unk>"')


def test_dropped_values_are_those_that_are_not_chosen():
    data = (
        rb'{"n":1,"t":"a","x":{"type":"b","c":["d",2,null]},"s":"{\"n\": 1, \"e\": \"f\"}"}' + b"\n"
    )
    out, told = run(data, "**", drop_other=True, excluded=("**.type",))
    assert json.loads(out) == {"t": "<unk>", "x": {"c": ["<unk>", None]}, "s": '{"e":"<unk>"}'}
    left = "4 of 6 fields are left out: n, x.type, x.c[], s.n"
    assert told == [left, "5 keys pass unchanged: t, x, x.c, s, s.e"]
    assert pruned(b"5", places(parse_fields(["**"]))) == b"null"


def test_a_value_of_any_depth_is_written_or_refused_in_a_line():
    deep = b'{"t":' + b"[" * 50_000 + b'"word"' + b"]" * 50_000 + b"}"
    assert run(deep, "**")[0] == deep.replace(b"word", b"<unk>")
    assert run(json.dumps({"s": deep.decode()}).encode(), "**")[0].count(b"<unk>") == 1
    with pytest.raises(InputError, match=r"test:1: a value is too deep for --drop-other$"):
        run(deep, "**", drop_other=True)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | inner.map(json.dumps)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_any_value_keeps_its_form(value):
    """Python's reader agrees: what is no string is the same, every string is what text becomes."""

    def masked(value):
        if isinstance(value, str):
            try:
                inner = json.loads(value)
            except ValueError:
                inner = None
            if isinstance(inner, list | dict):
                return masked(inner)
            return MASK.rewrite(value)
        if isinstance(value, dict):
            return {key: masked(each) for key, each in value.items()}
        return [masked(each) for each in value] if isinstance(value, list) else value

    def parsed(value):
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            try:
                return parsed(json.loads(value))
            except ValueError:
                return value
        if isinstance(value, dict):
            return {key: parsed(each) for key, each in value.items()}
        return [parsed(each) for each in value] if isinstance(value, list) else value

    out, _ = run(json.dumps({"v": value}).encode(), "**")
    assert parsed(json.loads(out)["v"]) == masked(value)
    assert parsed(MASK.rewrite_object(value)) == masked(value)
