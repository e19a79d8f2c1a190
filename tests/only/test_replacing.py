"""``--only``: words of groups become other words of their group, and everything else stays."""

import csv
import gc
import io
import json
import math
import re
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import cases

import dpsan
from dpsan.embeddings.store import Store
from dpsan.embeddings.word_lists import CLASSES, only_classes
from dpsan.errors import UsageError
from dpsan.only.engine import Match
from dpsan.only.templates import choices, radices, string, template
from dpsan.only.view import View
from dpsan.privacy.randomness import derive_key
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.decided import Shared
from dpsan.sanitize.result import Texts
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.settings import Settings
from dpsan.sanitize.statement import Statement
from dpsan.text.spanned_tokens import CONTEXT, contexts

KEY = b"k" * 32
LINE = (
    "Please e-mail me, e.g. at 5 p.m.; the U.S. Take 250mg at 5pm on 3 May 2021. I definately like "
    "it. Mr. Case met Grace Young at Riverside Group, 12 Elm Street. Write to "
    "grace.young@mail.com or call 555-0199. Grace was happy."
)
FORM = re.compile(
    r"Please e-mail me, e\.g\. at (?:1[0-2]|[1-9]) [ap]\.m\.; the U\.S\. Take \d+mg at "
    r"(?:1[0-2]|[1-9])[ap]m on (?:[12]?\d) [A-Z]\w+ 20[0-2]\d\. I definately like it\. Mr\. "
    r"[A-Z][\w'-]+ met (?P<given>[A-Z]\w+) (?P<surname>[A-Z][\w'-]+) at [A-Z]\w+ [A-Z]\w+, \d\d "
    r"[A-Z][\w'-]+ [A-Z]\w+\. Write to (?P<mail>\S+)@example\.net or call 555-01\d\d\. "
    r"(?P<again>[A-Z]\w+) was happy\."
)


def test_the_line_reads_in_every_draw(sensitive):
    """Ten draws: each kind stays its kind, the address follows the name, Grace is one person."""
    for at in range(10):
        output = sensitive.sanitize([LINE], derive_key(KEY, at)).lines[0]
        found = FORM.fullmatch(output)
        assert found, output
        assert found["given"] == found["again"]
        assert found["mail"] == f"{found['given']}.{found['surname']}".lower()


def test_another_name_of_the_group_changes_nothing(sensitive):
    """The output is a function of groups, forms and equality: under one key it is the same."""
    other = LINE.replace("Grace", "Mary").replace("grace", "mary").replace("Elm", "Oak")
    other = (
        other.replace("5pm", "3pm")
        .replace("5 p.m.", "3 p.m.")
        .replace("555-0199", "212-4567")
        .replace("2021", "2003")
    )
    one, two = (sensitive.sanitize([text], KEY).lines for text in (LINE, other))
    assert one == two


def test_words_that_no_rule_finds_pass_as_they_are(sensitive):
    text = "The quick grey cat didn't jump over 'the' lazy dog\u2019s back, see step 2 of v1.2.3.\n"
    assert sensitive.rewrite(text) == text
    assert not sensitive.sanitize([text], KEY).drawn[0]


def test_no_vectors_are_opened():
    def opened():
        raise AssertionError("rules and lists say all")

    spec = Settings(epsilon=None, only=only_classes("people"), consistent=Unit.RECORD)
    sanitizer = Sanitizer.from_spec(spec, Store(None), opened=opened)
    assert "Grace" not in sanitizer.rewrite("Yesterday Grace Young called.")


@pytest.mark.parametrize("text", ["2023-02-10", "see 555-201-3344", "7/8/2023 a@b.com"])
def test_a_text_is_written_alike_alone_and_among_others(sensitive, text):
    """Lines of dates were cut in pieces as if they were one, and some became identifiers."""
    lines = sensitive.sanitize([text] * 200, KEY).lines
    for at in range(0, 200, 5):
        assert sensitive.sanitize([text], KEY, [at]).lines == lines[at : at + 1]


def test_an_account_in_groups_is_one_that_nobody_has(sensitive):
    """Its check digits are 00 or 01, also where the bank is written in letters."""
    for account in ("GB29 NWBK 6016 1331 9268 19", "DE89 3704 0044 0532 0130 00"):
        for output in sensitive.sanitize([f"Pay {account} now."] * 6, KEY).lines:
            assert re.fullmatch(r"Pay [A-Z]{2}0[01] [A-Z\d]{4}( \d{4}){3,4} \d\d now\.", output)


def test_two_initials_beside_one_surname_stay_two(sensitive):
    text = "Tom Jones met Q. Jones; later T. Jones left."
    for at in range(12):
        output = sensitive.sanitize([text], derive_key(KEY, at)).lines[0]
        first, second = re.findall(r"\b([A-Z])\. ", output)
        assert first != second


def test_an_initial_is_that_of_the_name_that_it_stands_for(sensitive):
    """Each of two people with one initial has another; before, behind a name, in small letters."""
    text = "Rosa Pillai and Mark Dlamini met Raj Vega: R. Pillai, R. Vega, Mark D. and m.dlamini."
    names = re.compile(
        r"(\w)\S* (\w+) and (\w+) (\w)\w+ met (\w)\w+ (\w+): "
        r"(\w)\. (\w+), (\w)\. (\w+), (\w+) (\w)\. and (\w)\.(\w+)\."
    )
    for at in range(12):
        a, of_a, b, last, c, of_c, *rest = names.fullmatch(
            sensitive.sanitize([text], derive_key(KEY, at)).lines[0]
        ).groups()
        assert rest[:-2] == [a, of_a, c, of_c, b, last]
        assert rest[-2] == b[0].lower()


def test_an_initial_in_an_address_is_that_of_the_given_name_before_the_surname(sensitive):
    """Also where the hidden one was another: nothing is read but that a letter stands there."""
    for initial in "pq":
        text = (
            f"Call Priya Nair or {initial}.nair@acme.org. Ask Mr. Jones: {initial}jones@acme.org."
        )
        names = re.compile(r"Call (\w)\S* (\S+) or (\w)\.(\S+)@\S+ Ask Mr\. \S+: (\w)\S+@\S+")
        outputs = [sensitive.sanitize([text], derive_key(KEY, at)).lines[0] for at in range(12)]
        found = [names.fullmatch(output).groups() for output in outputs]
        assert all((a.lower(), b.lower()) == (c, d) for a, b, c, d, _ in found)
        assert any(a.lower() != other for a, _, _, _, other in found)  # of him none is known


@cases(
    "text agrees",
    ("Ms. Nomvula Khumalo, nomvula.{x}@acme.org.", "surname"),
    ("Regards, R. Muthukumar, muthukumar.{x}@acme.org.", "given"),
    ids=["of the surname", "of the given name"],
)
def test_what_stands_behind_a_name_in_an_address_is_of_the_same_person(sensitive, text, agrees):
    """Whatever stood there: nothing is read but that a letter or a word does."""
    for at, hidden in product(range(8), "kqz"):
        out = sensitive.sanitize([text.format(x=hidden)], derive_key(KEY, at)).lines[0]
        given, surname, first, last = re.search(
            r"(\w+)\.? (\w+), (\w+)\.(\w+)@", out.lower()
        ).groups()
        told = {"surname": surname[0], "given": given[0]}[agrees]
        assert (first, last) == (surname if agrees == "given" else given, told)


def test_addresses_follow_earlier_names_however_much_is_decided_at_once(sensitive):
    """In a broken program the name was known in the next batch alone, which depends on the time."""
    texts = ["Yesterday Grace Young called.", "Write to grace@mail.com.", "Young@mail.com too."]
    rewriter = sensitive.replacing

    def lines(sizes):
        shared, out, at = Shared(0), [], 0
        for size in sizes:
            some = rewriter.decided_unit(Texts(texts[at : at + size], KEY, range(at, at + size)))
            out += rewriter.in_units(some, KEY, [shared]).lines
            at += size
        return out

    together = lines([3])
    assert together == lines([1, 1, 1]) == lines([2, 1])
    _, given, surname, _ = together[0].rstrip(".").lower().split()
    assert f"{given}@" in together[1]
    assert f"{surname}@" in together[2].lower()


def test_addresses_follow_the_names_of_their_unit_where_a_long_file_begins_another(
    sensitive, monkeypatch
):
    """In a broken program the names of the unit that ended were no longer there: a KeyError."""
    monkeypatch.setattr("dpsan.sanitize.decided.MOST", 8)
    codes = " ".join(f"AB{number:06}C" for number in range(9))
    names = (codes, "Grace Young, Maria Lopez")
    texts = [f"{some} and Grace Young met at grace@mail.com." for some in names]
    shared = Shared(0)
    decided = sensitive.replacing.decided_unit(Texts(texts, KEY, range(2)))
    for line in sensitive.replacing.in_units(decided, KEY, [shared]).lines:
        given, address = re.search(r"and (\S+) \S+ met at ([^@]+)@", line).groups()
        assert given.lower() == address
    assert shared.units == 2


def test_an_address_is_written_where_its_name_is_a_month_in_the_next_unit(sensitive, monkeypatch):
    """Mr. May is of the unit that ended, in May of the new one: no name of it is in the address."""
    monkeypatch.setattr("dpsan.sanitize.decided.MOST", 8)
    codes = " ".join(f"AB{number:06}C" for number in range(9))
    texts = [f"{codes} Mr. May", "Mr. May met AB123456Z in May 2021. Write to may@mail.com."]
    shared = Shared(0)
    decided = sensitive.replacing.decided_unit(Texts(texts, KEY, range(2)))
    line = sensitive.replacing.in_units(decided, KEY, [shared]).lines[1]
    assert shared.units == 2
    assert re.fullmatch(r"Mr\. \S+ met \w+ in \w+ 20\d\d\. Write to \w+@example\.net\.", line)


PARTS = [
    *"\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\u200b\u00ad\x1b\ufeff\ud800 .,-'@$%a0",
    *("\x1b[31m", "Maria", "Kim", "Schmidt's", "in London", "12 May 1990", "0170 123"),
    *("Dr.", "a@b.org"),
]
"""What ends lines, what is invisible, and what is drawn or joined to it."""


@given(
    st.text(max_size=300) | st.lists(st.sampled_from(PARTS), max_size=30).map("".join),
    st.binary(max_size=4),
)
@example("it cost $\n0", b"")
@example("0\n%", b"")
@example("Maria\r\nSchmidt", b"")
@settings(max_examples=100)
def test_any_text_keeps_its_lines_and_audits_as_it_is_written(sensitive, text, seed):
    """Whatever it is: as many lines, no mark of the program, the same with and without an audit.

    A number keeps the line break between it and its currency or percent sign.
    """
    key = derive_key(KEY, seed.hex())
    alone = sensitive.sanitize([text, "Maria"], key)
    audited = sensitive.sanitize([text, "Maria"], key, audit=True)
    assert alone.lines == audited.lines
    assert alone.lines[0].count("\n") == text.count("\n")
    table = audited.records
    lengths = [len(output) for output in table.outputs]
    starts = table.output_starts(np.array(lengths, dtype=int)).tolist()
    at = 0
    for line, size in zip(audited.lines, table.sizes.tolist(), strict=True):
        for word in range(at, at + size):
            start = starts[word]
            assert line[start : start + lengths[word]] == table.outputs[word]
        at += size


def test_what_is_invisible_cuts_no_name_and_colours_stay(sensitive):
    one, other = (sensitive.sanitize([text], KEY) for text in ("Ma\u200bria met", "Maria met"))
    assert (one.lines, one.invisible) == (other.lines, 1)
    assert sensitive.rewrite("\x1b[31mERROR\x1b[0m not found") == "\x1b[31mERROR\x1b[0m not found"
    spans = [[(1, 7)]]
    done = sensitive.sanitize(["\u200bqzplain is here"], KEY, spans=spans)
    assert done.lines == sensitive.sanitize(["qzplain is here"], KEY, spans=[[(0, 6)]]).lines


def test_long_numbers_and_codes_have_their_length(sensitive):
    for text in ("7" * 200, "0" * 90 + "1", "A1" * 40, f"1.{'3' * 70}.{'4' * 30}", "f" * 50 + "0"):
        output = sensitive.sanitize([f"no {text} here"], KEY).lines[0]
        assert output != f"no {text} here"
        assert len(output) == len(text) + 8


def test_long_texts_are_cut_and_put_together(sensitive):
    """A text of many contexts: one person stays one person, and the audit has every word."""
    text = "Maria Gonzalez called. It was late.\n" * (3 * CONTEXT // 36)
    assert len(list(contexts(text))) > 2
    done = sensitive.sanitize([text, "Maria"], KEY, [7, 8], audit=True)
    words = Counter(re.findall(r"\w+", done.lines[0]))
    assert len(words) == 6
    assert len(set(words.values())) == 1
    assert (
        done.records.sizes.tolist() == [6 * 3 * (CONTEXT // 12) // 3, 1]
        or sum(done.records.sizes.tolist()) == words.total() + 1
    )
    assert sensitive.sanitize([text], KEY, [7]).lines == done.lines[:1]


def test_nothing_of_a_batch_stays_in_memory_until_cycles_are_searched(sensitive):
    """Few objects hold large arrays, so the collector would come late: gigabytes later."""
    texts = Texts(["Grace Young met Dr. Case in Ripon."] * 3, bytes(32), [0, 1, 2])
    sensitive.replacing.rewrite(texts)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        sensitive.replacing.rewrite(texts)
        gc.collect()
        kept = [each for each in gc.garbage if isinstance(each, View | Match | np.ndarray)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not kept


def test_a_result_does_not_depend_on_batches(sensitive):
    texts = [
        f"{name} met Anna Schmidt on {day} May." for name in ("Maria", "Bob") for day in (3, 4)
    ]
    whole = sensitive.sanitize(texts, KEY, range(4)).lines
    assert whole == [
        sensitive.sanitize([text], KEY, [at]).lines[0] for at, text in enumerate(texts)
    ]
    assert sensitive.sanitize(texts, KEY, [0, 0, 1, 1]).lines != whole


@cases("text", "from 250mg to 500mg", "from 17mg to 40mg", "$20, $31", "3.50, 3.47")
def test_two_doses_and_two_prices_stay_two_whatever_their_forms(sensitive, text):
    """Round numbers and others have strings of their own, which are partly the same."""
    for at in range(100):
        words = re.findall(r"\$?[\d.]*\d", sensitive.sanitize([text], derive_key(KEY, at)).lines[0])
        assert len({*words}) == 2


def test_a_price_before_a_comma_is_the_same_price_behind_it(sensitive):
    """The comma was part of it: two prices, of which each had a replacement."""
    for at in range(20):
        line = sensitive.sanitize(["It was $20, then $20."], derive_key(KEY, at)).lines[0]
        first, second = re.fullmatch(r"It was (\$\d0), then (\$\d0)\.", line).groups()
        assert first == second


def test_the_numbers_of_a_conversation_stay_two_in_all_its_messages(sensitive):
    for at in range(20):
        shared = Shared(0)
        doses = [
            sensitive.replacing.in_units(
                sensitive.replacing.decided_unit(Texts([f"Take {dose}mg."], KEY, [0])),
                derive_key(KEY, at),
                [shared],
            ).lines[0]
            for dose in (250, 500, 133, 100, 400, 800)
        ]
        assert len({*doses}) == 6


def test_numbers_that_no_string_is_left_for_are_counted(sensitive):
    text = ", ".join(f"{dose}mg" for dose in (250, 500, 133, 100, 400, 800, 120))
    done = sensitive.sanitize([text], KEY)
    assert len({*done.lines[0].split(", ")}) == 6
    assert done.reused == 1


def test_people_are_kept_apart_and_together(sensitive):
    """40 people in a record, in a file, and in 200 records: nobody is two, and no two are one."""
    given_names = ["Mary", "Anna", "John", "Paul", "Ruth", "Emma", "Noah", "Liam", "Olga", "Ivan"]
    surnames = ["Smith", "Jones", "Davis", "Clark"]
    people = [f"{first} {last}" for first in given_names for last in surnames]
    record = " and ".join(people) + " met."
    for text in (record, "\n".join(f"{person} called." for person in people)):
        output = sensitive.sanitize([text], KEY).lines[0]
        found = re.findall(r"[A-Z][\w'-]+ [A-Z][\w'-]+", output)
        assert len(found) == len(people)
        pairs = {
            (a, b)
            for one, two in zip(people, found, strict=True)
            for a, b in zip(one.split(), two.split(), strict=True)
        }
        assert len({a for a, _ in pairs}) == len(pairs) == len({b for _, b in pairs})
    done = sensitive.sanitize(["Mary Smith met Mary Smith."] * 200, KEY).lines
    assert all(len(set(re.findall(r"[A-Z][\w'-]+", line))) == 2 for line in done)
    assert len(set(done)) > 190  # each record has its own


def test_a_group_that_is_used_up_begins_again(sensitive, tmp_path):
    (tmp_path / "own.txt").write_text("alpha\nbeta\ngamma\n")
    sanitizer = Sanitizer(only=str(tmp_path / "own.txt"), keep=["delta"])
    done = sanitizer.sanitize(["alpha beta gamma Alpha delta ALPHA's"], KEY)
    words = done.lines[0].split()
    assert sorted(words[:3]) == ["alpha", "beta", "gamma"]
    assert words[3].lower() == words[0]
    assert words[4] == "delta"
    assert words[5] == words[0].upper() + ("'" if words[0].endswith("s") else "'S")
    assert not done.reused
    months = "January February March April June July August September October November December"
    done = sensitive.sanitize([f"In {months.replace(' ', ', in ')}, in May 2021."], KEY)
    assert not done.reused


@cases("more", "", ",names", ",contacts,{folder}/more.txt:names")
def test_words_of_a_file_become_names_of_the_lists(more, tmp_path, lexicon):
    """A name that was missed goes, though its file has one word, and no other name does."""
    (tmp_path / "own.txt").write_text("accounting\n")
    (tmp_path / "more.txt").write_text("spring\n")
    only = f"{tmp_path}/own.txt:names{more.format(folder=tmp_path)}"
    text = "Accounting met Grace in spring, and accounting left."
    words = dpsan.Sanitizer(only=only, seed=1).rewrite([text] * 9)
    listed = {name.lower() for name in lexicon.outputs["surname"]}
    for first, _, grace, _, spring, _, again, _ in map(str.split, words):
        assert first.istitle()
        assert first.lower() == again
        assert again in listed
        assert (grace == "Grace") == (more != ",names")
        assert (spring.rstrip(",") in listed) == ("more" in more)


def test_a_class_beside_an_epsilon_takes_no_file_with_a_class(tmp_path):
    (tmp_path / "own.txt").write_text("alpha\nbeta\n")
    with pytest.raises(UsageError, match="no class and no file"):
        dpsan.Sanitizer(epsilon=8, classes=f"{tmp_path}/own.txt:names")


def test_off_draws_each_mention_anew_and_file_the_same_word_everywhere():
    text = " ".join(["Maria"] * 40)
    found = {}
    for unit in ("off", "record", "run"):
        sanitizer = Sanitizer(only="names", consistent=unit)
        lines = sanitizer.sanitize([text, text], KEY).lines
        found[unit] = [set(line.split()) for line in lines]
    assert len(found["off"][0]) > 20
    assert [len(words) for words in found["record"]] == [1, 1]
    assert found["record"][0] != found["record"][1]
    assert found["run"][0] == found["run"][1]
    assert len(found["run"][0]) == 1


def test_numbers_by_value_are_charged_once_in_a_unit():
    sanitizer = Sanitizer(only="sensitive", numbers="value", epsilon=2)
    done = sanitizer.sanitize(["12 of 34 and 12 in Paris, 77 boxes", "12"], KEY)
    assert done.charged == [3, 1]
    assert done.lines[0].split()[0] == done.lines[0].split()[4]


@pytest.mark.parametrize(("unit", "draws"), [("off", 5), ("record", 2), ("file", 2)])
def test_statement_and_report_count_numbers_by_value_alike(unit, draws, dpsan, tmp_path):
    """With ``off`` each mention has a draw of its own, and costs one."""
    (tmp_path / "in.txt").write_text("12 12\n12\n\n12 345\n")
    command = ("rewrite", "--only", "numbers", "--numbers", "value", "-e", "1", "--seed", "3")
    given = (*command, "--consistent", unit, "in.txt", "-v")
    done = dpsan(*given, "-a", "audit.jsonl", cwd=tmp_path)
    assert f"sum of epsilon over all draws: {draws}\n".encode() in done.stderr
    (told,) = json.loads(dpsan("report", "--json", "audit.jsonl", cwd=tmp_path).stdout)
    assert told["epsilon_sum"] == told["files"][0]["epsilon_sum"] == draws
    assert (len({*done.stdout.split()}) > 2) == (unit == "off")


def test_the_audit_of_a_run_with_a_memo_is_read_again(dpsan, tmp_path):
    (tmp_path / "in.txt").write_text("Maria met John\nMaria has 12\nMaria met John\n")
    given = ("rewrite", "-q", "--only", "sensitive", "--memo", "memo", "-a", "audit.jsonl")
    assert dpsan(*given, "in.txt", cwd=tmp_path).returncode == 0
    (told,) = json.loads(dpsan("report", "--json", "audit.jsonl", cwd=tmp_path).stdout)
    assert (told["drawn"], told["string"], told["remembered"]) == (3, 1, 2)


def test_numbers_by_value_stay_as_often_as_a_run_says():
    """They have no group: none is used up, and none is the smallest that occurred."""
    sanitizer = Sanitizer(only="numbers", numbers="value", epsilon=8)
    texts = [f"{number}" for number in range(10, 100)] * 30
    done, totals = sanitizer.sanitize(texts, KEY), sanitizer.accountant()
    totals.add([done])
    same = sum(a == b for a, b in zip(texts, done.lines, strict=True)) / len(texts)
    assert sanitizer.expected_share(totals) == pytest.approx(same, abs=0.05)
    assert same > 0.15
    totals.add([sanitizer.sanitize([" ".join(texts[:90])] * 3, KEY, [0] * 3)])
    assert totals.reused == 0
    totals.records = len(texts)
    lines = Statement(totals, "group-response", 0.0, same, sanitizer.replaced_classes).lines()
    assert "hidden completely, except of numbers by value; by chance at most" in lines[1]


@cases(
    "options words",
    ({"epsilon": 2.0}, "only and epsilon exclude each other"),
    ({"mechanism": "krr"}, "no mechanism"),
    ({"embeddings": "x.vec"}, "no vocabulary"),
    ({"unknown": "mask"}, "no policy for unknown words"),
    ({"case": "vocabulary"}, "no letter case"),
    ({"tokenizer": "ptb"}, "no tokenizer"),
    ({"fluent": True}, "only takes no fluent output"),
    ({"classes": "sensitive"}, "only and class exclude each other"),
    ({"public": "function"}, "exclude public words"),
    ({"only": "names,names"}, "twice"),
    ({"only": "nmes"}, "no class and no file"),
    ({"only": "names=2"}, "no epsilon"),
    ({"only": ""}, "no class of words"),
)
def test_what_only_excludes(options, words):
    with pytest.raises(UsageError, match=words):
        Sanitizer(**{"only": "sensitive", **options})


def test_classes_and_presets():
    assert [each.name for each in only_classes("sensitive")] == [*CLASSES]
    assert [each.name for each in only_classes("people")] == ["names", "places", "contacts", "ids"]
    text = "Maria paid $50 in Paris; mail a@b.com, SSN 123-45-6789."
    assert Sanitizer(only="contacts").rewrite(text).startswith("Maria paid $50 in Paris; mail ")
    assert "$50" in Sanitizer(only="people").rewrite(text)
    assert "Paris" not in Sanitizer(only="people").rewrite(text)


def test_the_command_treats_a_file_as_one_unit(dpsan, tmp_path):
    """Whatever -j, batches and --resume: the same words, and one person in a file."""
    text = "".join(f"Grace Young called {at}.\nGrace was happy.\n\n" for at in range(40))
    (tmp_path / "in.txt").write_text(text)
    outputs = [
        dpsan(
            "rewrite", "--only", "people", "--seed", "1", "-q", *more, "in.txt", cwd=tmp_path
        ).stdout.decode()
        for more in ([], ["-j", "2"], ["--line-buffered"])
    ]
    assert outputs[0] == outputs[1] == outputs[2]
    names = set(re.findall(r"[A-Z]\w+", outputs[0]))
    assert len(names) == 2


def test_records_are_units_over_all_their_fields(dpsan, tmp_path):
    rows = [{"name": "Grace Young", "text": "Grace was happy.", "n": 1}] * 3
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = dpsan(
        "rewrite", "--only", "people", "-q", "-k", "name", "-k", "text", "in.jsonl", cwd=tmp_path
    )
    found = [json.loads(line) for line in done.stdout.decode().splitlines()]
    for row in found:
        assert row["text"].split()[0] == row["name"].split()[0]
        assert row["n"] == 1
    assert len({row["name"] for row in found}) == 3


def test_an_audit_has_class_group_and_rule_of_each_line(dpsan, tmp_path):
    (tmp_path / "in.txt").write_text("Mr. Case called.\nHe met Grace\n\nin Paris.\n")
    done = dpsan("rewrite", "--only", "people", "-q", "-a", "a.jsonl", "in.txt", cwd=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    words = [row for row in rows if row["type"] == "word"]
    lines = done.stdout.decode().split("\n")
    for row in words:
        assert lines[row["line"] - 1][row["start"] : row["end"]] == row["out"]
    drawn = {(row["line"], row["class"], row["group"], row["rule"]) for row in words if row["rule"]}
    assert drawn == {
        (1, "names", "surname", "title 1"),
        (2, "names", "given_f", "sure"),
        (4, "places", "city", "sure"),
    }


def test_csv_and_memo(dpsan, tmp_path):
    (tmp_path / "in.csv").write_text("id,text\r\n1,Grace met Bob\r\n2,Grace\r\n")
    done = dpsan("rewrite", "--only", "names", "-q", "-k", "text", "in.csv", cwd=tmp_path)
    rows = list(csv.reader(io.StringIO(done.stdout.decode())))
    assert [row[0] for row in rows] == ["id", "1", "2"]
    assert " met " in rows[1][1]
    twice = [
        dpsan(
            *("rewrite", "--only", "names", "-q", "--memo", "m"),
            cwd=tmp_path,
            stdin=b"Grace met Bob\n",
        ).stdout
        for _ in "12"
    ]
    assert twice[0] == twice[1]
    assert b" met " in twice[0]


@given(
    st.sampled_from(["int", "iso", "clock", "phone", "code", "money", "quantity", "uuid"]),
    st.data(),
)
def test_numbers_of_a_form_are_its_strings(group, data):
    """Each number below the capacity is a string of its own."""
    forms = {
        "int": "\x01\x01\x01",
        "iso": "D\x01\x01\x01\x01-\x01\x01-\x01\x01",
        "clock": "p1x\x01:\x01\x01",
        "phone": "\x01\x01\x01-\x01\x01\x01\x01",
        "code": "\x03\x03\x01\x01\x01",
        "money": "$\x01\x01.\x01\x01",
        "quantity": "\x01\x01kg",
        "uuid": "\x05" * 12,
    }
    pieces = template(group, forms[group])
    sizes = radices(pieces)
    assert math.prod(map(choices, pieces)) == math.prod(sizes)
    two = data.draw(st.lists(st.integers(0, sizes[0] - 1), min_size=2, max_size=2, unique=True))
    rest = [0] * (len(sizes) - 1)
    one, other = (string(pieces, [number, *rest]) for number in two)
    assert one != other
    assert len(one) == len(string(pieces, [0, *rest]))


def test_all_classes_together_draw_every_group(sensitive):
    """A group of no class would pass with all classes named."""
    rules, outputs = sensitive.replacing.rules, sensitive.replacing.lexicon.outputs
    in_class = {group for groups in rules.classes.values() for group in groups}
    drawn = {
        position.group
        for rule in rules.rules
        for pattern in rule.patterns
        for position in pattern
        if position.group not in (None, "own", "pass")
    }
    assert drawn <= in_class
    assert set(rules.groups) & set(outputs) <= in_class


def test_an_empty_unit_is_empty(sensitive):
    """A byte order mark alone has no block of tokens."""
    assert sensitive.sanitize([""], KEY).lines == [""]
    assert sensitive.sanitize(["\ufeff"], KEY).lines in (["\ufeff"], [""])


def test_a_word_to_keep_is_no_part_of_a_phrase():
    """``--keep york`` keeps the word in New York, too."""
    for at in range(5):
        output = Sanitizer(only="sensitive", keep=["york"]).sanitize(
            ["We met in New York today."], derive_key(KEY, at)
        )
        assert "York" in output.lines[0]


def test_a_string_in_a_span_becomes_a_word_of_some_kind(sensitive):
    """Also one that always passes, such as a version: it has no strings of its own."""
    for text in ("v1.2.3", "B12"):
        assert sensitive.sanitize([f"see {text} here"], KEY).lines == [f"see {text} here"]
        spans = [[(4, 4 + len(text))]]
        output = sensitive.sanitize([f"see {text} here"], KEY, spans=spans).lines[0]
        assert re.fullmatch(r"see \w[\w.'-]* here", output)
        assert output != f"see {text} here"


def test_each_mention_of_an_address_is_drawn_anew_with_off():
    sanitizer = Sanitizer(only="sensitive", consistent="off")
    line = "Grace Young: grace.young@mail.com or grace.young@mail.com"
    output = sanitizer.sanitize([line], KEY).lines[0]
    first, second = re.findall(r"[\w.]+@\S+", output)
    assert first != second


def test_equal_dates_are_equal_in_all_records_of_a_run():
    sanitizer = Sanitizer(only="sensitive", consistent="run")
    texts = ["born 3 May 1961", "seen 4 June 1990 and 3 May 1961", "until 3 May 1961"]
    lines = sanitizer.sanitize(texts, KEY).lines
    assert len({line[-11:].lstrip("n d") for line in lines}) == 1


def test_numbers_and_codes_of_lists_are_words_of_them(tmp_path):
    """``--keep 911`` keeps 911, and one's own codes become other codes of their list."""
    (tmp_path / "codes.txt").write_text("QX7300\n4411\nbluebird\n")
    text = "Call 911 or 912 about qx7300, 4411 and B747; mail @911 on 9/11."
    for at in range(5):
        key = derive_key(KEY, at)
        kept = Sanitizer(only="sensitive", keep=["911", "b747"]).sanitize([text], key).lines[0]
        words = re.findall(r"[\w@/]+", kept)
        assert (words[1], words[-5]) == ("911", "B747")
        assert "@911" not in words
        assert not {"qx7300", "4411"} & {*words}
        own = Sanitizer(only=str(tmp_path / "codes.txt")).sanitize([text], key)
        words = re.findall(r"[\w@/]+", own.lines[0].lower())
        before = re.findall(r"[\w@/]+", text.lower())
        assert {words[5], words[6]} < {"qx7300", "4411", "bluebird"}
        assert own.drawn == [2]
        assert words[:5] + words[7:] == before[:5] + before[7:]
    other = "any A-B-CHe met Anna0487 of Rome 12"
    assert kept_alike(other, [], key) == kept_alike(other, ["grace", "the", "young", "911"], key)


def kept_alike(text, keep, key):
    return Sanitizer(only="sensitive", keep=keep).sanitize([text], key).lines


def test_the_smallest_group_is_one_that_can_be_counted():
    """A derived word stands on no list: the group of all such words was said to have one word."""
    one = Sanitizer(only="identifiers")
    done = one.sanitize(["Her union representative, nick-named Bluebird, knows."], bytes(32))
    assert done.forms.smallest == 0


def test_a_string_whose_pieces_are_words_of_its_unit_is_written():
    """Words in it are those of other tokens of it: a KeyError once."""
    text = "907046bf8c4d32367394caf0fbde6db9aafb758a1e6bcfd10e305644c9fc"
    text += "7a2921ef91ea6c470971baf6fbaf2efbaf"
    (written,) = Sanitizer(only="sensitive").rewrite([text])
    assert "6c470971" not in written


@pytest.mark.parametrize(
    "text", ["Write to Maria Lopez, @marialopez.", "Maria Lopez (@maria_l) left."]
)
def test_a_handle_hides_among_the_names_that_it_follows(text):
    """The statement said that the smallest group has 1 word."""
    sanitizer = Sanitizer(only="people")
    figures = sanitizer.sanitize([text], b"k" * 32).forms
    names = sanitizer.sanitize([text.partition("@")[0]], b"k" * 32).forms
    assert figures.smallest == names.smallest > 1000
