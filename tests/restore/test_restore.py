"""``dpsan restore``: originals come back, and nothing else changes."""

import json
import os
import random
import stat
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import cases, started, tables

from dpsan.errors import OutputError
from dpsan.restore.map_file import MapWriter, Row, read_map, rows_by_unit
from dpsan.restore.restoring import Chunks, Originals

CASES = tables("restore/cases")
TICKET = CASES["ticket"]


def originals(pairs):
    return Originals(Row("1", original, replacement) for original, replacement, _ in pairs)


def restored(text, pairs=TICKET):
    counts = Counter()
    return originals(pairs).restore(text, counts), dict(counts)


def write_map(path, units, **options):
    """Write a map of pairs; the lead's ``rewrite --map`` writes the same."""
    with MapWriter(path, "key", **options) as writer:
        for unit, pairs in units.items():
            writer.add(unit, pairs)
    return path


@cases("answer expected", *CASES["tokens"])
def test_whole_tokens_come_back_and_parts_of_others_stay(answer, expected):
    assert restored(answer)[0] == (answer if expected == "=" else expected)


def test_other_capitals_come_back_where_nothing_else_can_be_meant():
    """In those of the answer; an ordinary word, two originals and two letters stay."""
    pairs = [*TICKET, ("Kim", "Vince", "names"), ("KIM", "VINCE", "names"), ("Bo", "Hope", "names")]
    pairs += [("ann", "lynne", "names"), ("Ed", "Al", "names"), ("AB1 2CD", "NW1 6XE", "contacts")]
    pairs += [("Eva", "Lisa", "names"), ("EVE", "LISA", "names"), ("3 May", "7 February", "dates")]
    assert restored("vince, VINCE's and ViNCE; Lynne, LYNNE.", pairs) == (
        "kim, KIM's and Kim; Ann, ANN.",
        {"restored": 5},
    )
    assert restored("nw1 6xe, los angeles, LOS ANGELES, 7 february", pairs) == (
        "ab1 2cd, new york, NEW YORK, 3 may",
        {"restored": 4},
    )
    assert restored("I hope that al saw HOPE, lisa", pairs) == (
        "I hope that al saw HOPE, lisa",
        {"capitals": 3},
    )
    assert restored("Hope's Al, Lisa, LISA pam_x", pairs) == (
        "Bo's Ed, Eva, EVE pam_x",
        {"restored": 4},
    )


@cases("answer expected", *CASES["possessives"])
def test_a_possessive_is_that_of_the_original(answer, expected):
    pairs = [("Grace", "Elva"), ("Young", "Connors"), ("YOUNG", "CONNORS"), ("Williams", "Hobbs")]
    pairs += [("Jones", "Crum"), ("Jones'", "Crum's")]
    pairs = [(*pair, "names") for pair in pairs]
    assert restored(answer, pairs)[0] == expected
    chunks = Chunks(originals(pairs))
    streamed = "".join([*map(chunks.add, f"{answer} " * 3), chunks.end()])
    assert streamed == restored(f"{answer} " * 3, pairs)[0]


def test_possessives_of_a_run_come_back(tmp_path, dpsan):
    """Whatever is drawn: 20 units, so that names with and without an s stand for each."""
    text = (
        "Grace Young's book. The Youngs' house. Dr. Williams' dog. Mr. Jones's cat. MS. HALL'S.\n"
    )
    (tmp_path / "in.txt").write_text(text * 20)
    files = "--map", tmp_path / "map", tmp_path / "in.txt", "-o", tmp_path / "out"
    for _ in range(4):
        dpsan("rewrite", "--only", "people", "--force", *files, status=0)
        done = dpsan("restore", "--map", tmp_path / "map", tmp_path / "out", status=0)
        assert done.stdout.decode() == text * 20


def test_short_numbers_and_letters_stay_and_are_counted():
    assert restored("17 of 17, 80mg, vitamin P and 2014") == (
        "17 of 17, 80mg, vitamin P and 2021",
        {"short": 4, "restored": 1},
    )


def test_a_replacement_of_several_originals_stays_and_is_counted():
    pairs = [*TICKET, ("Bob", "Pam", "names"), ("Bob", "Lee", "names")]
    assert restored("Pam's Lee, pam@x.org", pairs) == (
        "Pam's Bob, pam@x.org",
        {"undecided": 2, "restored": 1},
    )


def test_two_spellings_of_an_address_are_one_original():
    pairs = [(each, "a.b@example.com", "contacts") for each in ("C.D@mail.com", "c.d@mail.com")]
    assert restored("A.B@EXAMPLE.COM", pairs)[0] == "C.D@MAIL.COM"
    pairs[1] = ("c.e@mail.com", *pairs[1][1:])
    assert restored("a.b@example.com", pairs) == ("a.b@example.com", {"undecided": 1})


names = st.from_regex(r"[A-Z][a-z]{2,8}", fullmatch=True)
other = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)


@given(st.lists(other), st.dictionaries(names, names, max_size=5))
@example(["a@", "@a", "://", "''", "_", "1.", "(", "www."], {"Abc": "Def"})
def test_an_answer_without_replacements_stays(pieces, pairs):
    """Whatever stands between: capitals are taken out, with which replacements begin."""
    text = " ".join(pieces).lower().replace("@", "")
    text = "".join(each for each in text if each == each.lower())
    rows = [(original, replacement, "names") for replacement, original in pairs.items()]
    assert restored(text, rows) == (text, {})


@given(
    st.dictionaries(names, names, min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 7), st.sampled_from([" ", ", ", "'s ", " - ", "/", "\r\n"]))),
)
def test_an_exact_answer_has_the_originals(pairs, answer):
    rows = [(original, replacement, "names") for replacement, original in pairs.items()]
    used = [(rows[at % len(rows)], gap) for at, gap in answer]
    text = "".join(replacement + gap for (_, replacement, _), gap in used)
    wanted = "".join(original + gap for (original, _, _), gap in used)
    assert restored(text, rows)[0] == wanted


@given(st.text("aP@.:/'_-1, (", max_size=200))
def test_any_signs_of_tokens_are_read(text):
    out, counts = restored(text, [("B", "aa", "x"), ("2020", "1111", "x"), ("c@d.e", "a@a.a", "x")])
    assert (out == text) or counts.get("restored")


# Names, words and numbers of made-up tickets: what a run draws is no ordinary word.
SYLLABLES = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "el", "or")]
WORDS = [a + b + "ing" for a in SYLLABLES for b in SYLLABLES]


def invented(rng, used):
    while (word := "".join(rng.choices(SYLLABLES, k=3)).capitalize()) in used:
        pass
    used.add(word)
    return word


def ticket(number):
    """Pairs of a unit: what ``rewrite --map`` says of a ticket."""
    rng, used = random.Random(f"ticket {number}"), set()
    people = [[invented(rng, used) for _ in range(4)] for _ in range(3)]
    pairs = []
    for given_name, surname, other_given, other_surname in people:
        pairs += [(given_name, other_given, "names"), (surname, other_surname, "names")]
        addresses = [
            f"{first}.{last}@{host}"
            for first, last, host in (
                (given_name, surname, "mail.com"),
                (other_given, other_surname, "example.com"),
            )
        ]
        pairs.append((*addresses, "contacts"))
    phones = [f"{rng.randrange(200, 999)}-555-{rng.randrange(10**4):04}" for _ in range(2)]
    dates = [f"{1950 + rng.randrange(70)}-0{rng.randint(1, 9)}-{rng.randint(10, 28)}" for _ in "ab"]
    pairs += [
        (*phones, "contacts"),
        (*dates, "numbers"),
        ("3", str(rng.randint(11, 28)), "numbers"),
    ]
    return pairs


def answer(number, pairs):
    """An answer that repeats replacements between 200 words, and what it should become."""
    rng = random.Random(f"answer {number}")
    words = [(each, each) for each in rng.choices(WORDS, k=200)]
    for original, replacement, _ in pairs:
        forms = [(replacement, original)]
        if "@" in replacement:
            forms.append((replacement.lower(), original.lower()))
        elif replacement.isalpha():
            forms += [(form % replacement, form % original) for form in ("%s's", "(%s),")]
        if replacement.isdigit():
            forms = [(replacement, replacement)]
        for form in forms:
            words.insert(rng.randrange(len(words)), form)
    return tuple(" ".join(column) for column in zip(*words, strict=True))


def by_unit(form):
    return ["-f", form, "-k", "text", "--unit-field", "id"]


def test_tickets_come_back_whole(tmp_path, dpsan):
    """All originals, no other word; short numbers are counted and stay."""
    tickets = {f"T-{number}": ticket(number) for number in range(200)}
    path = write_map(tmp_path / "t.map", tickets)
    answers = {unit: answer(unit, pairs) for unit, pairs in tickets.items()}
    lines = [json.dumps({"id": unit, "text": text}) for unit, (text, _) in answers.items()]
    done = dpsan(
        *("restore", "--map", path, *by_unit("jsonl")),
        stdin="".join(f"{line}\n" for line in lines).encode(),
    )
    found = {row["id"]: row["text"] for row in map(json.loads, done.stdout.splitlines())}
    assert found == {unit: wanted for unit, (_, wanted) in answers.items()}
    assert done.stderr.decode().splitlines() == [
        "dpsan: 5,200 originals put back",
        "dpsan: 200 tokens unchanged: single letters, and numbers of fewer than four digits",
    ]


def test_a_map_of_which_few_replacements_occur_may_be_the_wrong_one(tmp_path, dpsan):
    pairs = [(f"Old{chr(97 + at)}", f"New{chr(97 + at)}", "names") for at in range(21)]
    done = dpsan(
        "restore", "-q", "--map", write_map(tmp_path / "t.map", {"a": pairs}), stdin=b"Newc"
    )
    told = (
        b"dpsan: 1 original put back, as 1 of 21 replacements of the map occur in the text (is it "
    )
    assert (done.stdout, done.stderr) == (b"Oldc", told + b"the map of this text's run?)\n")
    done = dpsan("restore", "-q", "--map", tmp_path / "t.map", stdin=b"Newc and Newa Newd")
    assert (done.stdout, done.stderr) == (b"Oldc and Olda Oldd", b"")


def test_without_a_unit_what_units_disagree_on_is_counted(tmp_path, dpsan):
    path = write_map(tmp_path / "t.map", {"a": TICKET, "b": [("Bob", "Pam", "names")]})
    done = dpsan("restore", "--map", path, stdin=b"Pam and Dickey\n")
    assert done.stdout == b"Pam and Young\n"
    assert done.stderr.decode().splitlines() == [
        "dpsan: 1 original put back",
        "dpsan: 1 token unchanged: the map has several originals",
    ]
    capitals = {"a": [("MARIA", "AGNES", "names")], "b": [("Grace", "Agnes", "names")]}
    other = write_map(tmp_path / "c.map", capitals)
    done = dpsan("restore", "--map", other, stdin=b"AGNES, Agnes\n")
    assert done.stdout == b"AGNES, Agnes\n"
    assert b"2 tokens unchanged: the map has several originals" in done.stderr
    csv = b'n,id,text\r\n1,b,"Pam\nPam"\r\n"2",a,Pam\r\n3,c,"Pam"\r\n'
    done = dpsan("restore", "--map", path, *by_unit("csv"), stdin=csv)
    assert done.stdout == b'n,id,text\r\n1,b,"Bob\nBob"\r\n"2",a,Grace\r\n3,c,"Pam"\r\n'
    assert b"1 record unchanged: the map has no row of their unit" in done.stderr


HUGE = 100_000 * b"x'y.1@z-"


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        ("", b"", b""),
        ("", b"\xef\xbb\xbfPam\r\n\n\r\nDickey", b"\xef\xbb\xbfGrace\r\n\n\r\nYoung"),
        ("", b"a \xff b\nPam\xff \xff\n", b"a \xff b\nGrace\xef\xbf\xbd \xef\xbf\xbd\n"),
        ("", b"Pam %s Pam" % HUGE, b"Grace %s Grace" % HUGE),
        ("-f jsonl -k t", b'{"t": "caf\\u00e9",  "n": 1.10}\n', None),
        ("-f jsonl -k t", b'{"t": "\\u0050am \\ud800"}\n', b'{"t": "Grace \\ud800"}\n'),
        ("-f jsonl -k t", b'{"t": "a \xff"}\n\n{"t": ""}', None),
        ("-f csv -k t", b't,u\n"a, b",Pam\n"c",\n"",x\n', None),
        ("-f csv -k t", b't\n"x ""Pam"""\nDickey\n', b't\n"x ""Grace"""\nYoung\n'),
        ("-f csv -k t", b"t,u\n\xff,1\n", None),
    ],
)  # fmt: skip
def test_bytes_of_whatever_is_no_replacement_stay(tmp_path, dpsan, options, before, after):
    path = write_map(tmp_path / "t.map", {"1": TICKET})
    done = dpsan("restore", "-q", "--map", path, *options.split(), stdin=before)
    after = before if after is None else after
    assert (done.stdout, done.returncode) == (after, int(after == before))  # nothing put back: 1
    assert done.stderr.startswith(b"dpsan: nothing was put back: " if after == before else b"")


def test_undecodable_bytes_of_changed_texts_are_counted_or_fail(tmp_path, dpsan):
    path = write_map(tmp_path / "t.map", {"1": TICKET})
    done = dpsan("restore", "--map", path, stdin=b"\xff\nPam \xff\n")
    assert b"1 undecodable byte sequence replaced by U+FFFD" in done.stderr
    done = dpsan("restore", "--map", path, "--invalid", "error", stdin=b"Pam\n\xff\n")
    assert (done.returncode, done.stdout) == (1, b"Grace\n")


@pytest.mark.parametrize("unit", ["", '"id": {"x": 1}, ', '"id": true, '])
def test_a_record_without_a_unit_is_named(tmp_path, dpsan, unit):
    path = write_map(tmp_path / "t.map", {"1": TICKET})
    good = '{"id": 1, "text": "Pam"}\n{"text": "Pam", "id": "1"}\n'
    command = ["restore", "--map", path, *by_unit("jsonl")]
    done = dpsan(*command, stdin=f'{good}{{{unit}"text": "a"}}\n'.encode())
    assert done.stdout.decode() == good.replace("Pam", "Grace")
    told = "standard input:3: no string or number in the field 'id'"
    assert done.stderr.decode() == f"dpsan: {told}\n"
    assert done.returncode == 1


def test_options_that_make_no_sense_are_refused(tmp_path, dpsan):
    path = write_map(tmp_path / "t.map", {"1": TICKET})
    for options, told in {
        (): "--map is required",
        ("--map", path, "--unit-field", "id"): "--unit-field is for jsonl, json, csv and tsv",
        ("--map", path, "-f", "csv"): "csv needs --field",
        ("--map", path, "-o", path): "output",
    }.items():
        done = dpsan("restore", *options, stdin=b"Pam\n")
        assert (done.returncode, done.stdout) == (2, b""), options
        assert told in done.stderr.decode()


def test_a_map_of_another_text_is_asked_about(tmp_path, dpsan):
    path = write_map(tmp_path / "t.map", {"1": TICKET})
    for text, asked in ((b"Nobody here\n", True), (b"Pam\n", False)):
        done = dpsan("restore", "--map", path, stdin=text)
        assert (b"nothing was put back: no replacement of the map" in done.stderr) == asked
        assert done.returncode == asked


def test_a_run_that_failed_leaves_no_map_in_the_way_of_the_next(tmp_path, dpsan):
    path = tmp_path / "t.map"
    assert dpsan("rewrite", "-q", "--only", "people", "--map", path, stdin=b"\0\n", status=1)
    assert path.exists()
    dpsan("rewrite", "-q", "--only", "people", "--map", path, stdin=b"Grace Young\n", status=0)
    assert [row.original for row in read_map(path)] == ["Grace", "Young"]
    dpsan("rewrite", "-q", "--only", "people", "--map", path, stdin=b"Grace Young\n", status=1)


def test_an_output_is_for_its_owner_and_replaces_nothing(tmp_path, dpsan):
    path = write_map(tmp_path / "t.map", {"1": TICKET})
    source, out = tmp_path / "a.txt", tmp_path / "out.txt"
    source.write_text("Pam\n")
    assert dpsan("restore", "-q", "--map", path, source, "-o", out).returncode == 0
    assert out.read_text() == "Grace\n"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    done = dpsan("restore", "-q", "--map", path, source, "-o", out)
    assert b"exists (name another; --force replaces it, and it is lost)" in done.stderr
    dpsan("restore", "-q", "--map", path, source, "-o", out, "--force", status=0)


DAMAGED = dict(CASES["damaged"]) | {"": ":1: not a map of dpsan"}
DAMAGED["HEADER\n" + 100_000 * "[" + "\n"] = ":2: damaged row of a map"


@pytest.mark.parametrize("content", DAMAGED)
@pytest.mark.parametrize("by_unit", [False, True])
def test_a_damaged_map_is_named_by_line(tmp_path, content, by_unit, dpsan):
    header = '{"type": "map", "schema": 1, "dpsan": "0", "run": "key"}'
    path = tmp_path / "bad.map"
    path.write_text(content.replace("HEADER", header))
    path.chmod(0o600)
    options = ["-f", "csv", "-k", "1", "--unit-field", "1"] if by_unit else []
    done = dpsan("restore", "--map", path, *options, stdin=b"Pam\n")
    assert (done.returncode, done.stdout) == (1, b"")
    told = done.stderr.decode()
    assert told.startswith(f"dpsan: {path}{DAMAGED[content]}")
    assert told.count("\n") == 1
    assert "SECR" not in told


def test_a_map_is_private_complete_and_replaces_nothing(tmp_path):
    path = tmp_path / "t.map"
    with MapWriter(path, "key") as writer:
        writer.add("1", [("Grace", "Pam", "names"), ("Grace", "Pam", "names")])
        writer.add("1", [("Grace", "Pam", "names"), ("\ud800\n", "x", "names")])
        writer.sync()
        assert [*read_map(path)] == [Row("1", "Grace", "Pam"), Row("1", "\ud800\n", "x")]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(OutputError, match="exists"):
        MapWriter(path, "key")
    before = path.read_bytes()
    with MapWriter(path, "other", force=True) as writer:
        assert path.read_bytes() == before
    assert [*read_map(path)] == []
    MapWriter(path, "key").close()  # a map without a row is replaced


def test_an_old_map_stays_where_a_new_one_fails(tmp_path):
    path = write_map(tmp_path / "t.map", {"1": TICKET})
    before = path.read_bytes()
    with pytest.raises(ValueError, match="shorter"), MapWriter(path, "new", force=True) as writer:
        writer.add("1", [*TICKET, ("a row that is too short",)])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["t.map"]


def test_a_row_that_could_not_be_written_leaves_whole_lines(tmp_path, monkeypatch):
    """On a full disk; what comes later is complete."""
    path = tmp_path / "t.map"
    real, room = os.write, [100]

    def write(descriptor, data):
        taken = min(len(data), room[0])
        room[0] -= taken
        if not taken:
            raise OSError(28, "full")
        return real(descriptor, data[:taken])

    writer = MapWriter(path, "key")
    writer.add("1", TICKET)
    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OutputError, match="cannot write"):
        writer.sync()
    assert path.read_bytes() == b""
    room[0] = 1 << 20
    writer.sync()
    writer.close()
    assert len([*read_map(path)]) == len(TICKET)


def test_rows_of_a_unit_are_read_wherever_they_stand(tmp_path, dpsan):
    path = tmp_path / "t.map"
    with MapWriter(path, "key") as writer:
        for number in range(2000):
            writer.add(f"{number % 7}", [(f"Grace{number}", f"Pam{number}", "names")])
    found = [row.original for row in rows_by_unit(path)["3"]]
    assert found == [f"Grace{number}" for number in range(3, 2000, 7)]


def test_a_line_is_answered_before_the_next_one_comes(tmp_path):
    """As ``tail -f`` needs it; a program that waits for more would never end this test."""
    path = write_map(tmp_path / "t.map", {"1": TICKET})
    with started("restore", "-q", "--map", str(path)) as program:
        for line, wanted in ((b"Pam\n", b"Grace\n"), (b"Dickey's\n", b"Young's\n")):
            program.stdin.write(line)
            program.stdin.flush()
            assert program.stdout.readline() == wanted
        program.stdin.close()
        assert program.wait(300) == 0


def test_a_date_comes_back_whole(tmp_path, dpsan):
    """Its day alone is too short, and the month of the original beside a drawn day is no date."""
    text = "Came on 14 March 2023, 2023-03-20 10:30 and Tuesday, 21 March. Went 2023 in May.\n"
    (tmp_path / "in.txt").write_text(f"{text}\nAged 14, May 2020\n")
    files = "--map", tmp_path / "map", tmp_path / "in.txt", "-o", tmp_path / "out"
    assert dpsan("rewrite", "--only", "dates", *files).returncode == 0
    out = (tmp_path / "out").read_text()
    assert out.splitlines()[0] != text.strip()
    done = dpsan("restore", "--map", tmp_path / "map", tmp_path / "out")
    assert done.stdout.startswith(text.encode())


def test_what_is_short_comes_back_beside_its_word(tmp_path, dpsan):
    """A house number, a postal code, a day before its month; elsewhere they may be any number."""
    text = "Robert died on 2 September at 221 Baker Street, London NW1 6XE. P Dickey left."
    (tmp_path / "in.txt").write_text(text + "\n")
    files = "--map", tmp_path / "map", tmp_path / "in.txt", "-o", tmp_path / "out"
    assert dpsan("rewrite", "--only", "sensitive", *files).returncode == 0
    out = (tmp_path / "out").read_text()
    assert out != text + "\n"
    done = dpsan("restore", "--map", tmp_path / "map", tmp_path / "out")
    assert done.stdout.decode() == text + "\n"


@cases("answer expected torn", *CASES["days"])
def test_a_date_comes_back_whole_or_not_at_all(answer, expected, torn):
    """Its month and year came back, and its day stayed: a date that neither text has."""
    found, counts = restored(answer, CASES["dates"])
    assert found == (answer if expected == "=" else expected)
    assert counts.get("dates", 0) == int(torn)


def test_what_a_document_leaves_out_is_said(dpsan, tmp_path):
    mail = "From: ann@a.org\nSubject: Grace\nX-Ticket: 5\n\nDear Grace Young,\nwrite.\n"
    (tmp_path / "a.eml").write_text(mail)
    dpsan("rewrite", "-q", "--only", "names", "--map", "m", "-o", "b.eml", "a.eml", cwd=tmp_path)
    answer = (tmp_path / "b.eml").read_text()
    (tmp_path / "b.eml").write_text("From: eve@a.org\n" + answer)
    done = dpsan("restore", "-q", "--map", "m", "b.eml", cwd=tmp_path, status=0)
    assert b"Dear Grace Young," in done.stdout
    assert b"From" not in done.stdout
    assert done.stderr.startswith(b"dpsan: left out: 1 From header (man dpsan, ")


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_map_that_others_may_read_is_refused(dpsan, tmp_path, mode):
    path = write_map(tmp_path / "t.map", {"1": TICKET})
    path.chmod(mode)
    done = dpsan("restore", "--map", path, stdin=b"Pam", status=1)
    assert done.stdout == b""
    assert done.stderr == f"dpsan: {path}: others may read the map (chmod 600 {path})\n".encode()


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("date", ["10 March 2001", "2001 Mar 10", "March 10th, 2001", "5 March"])
def test_a_date_that_chunks_cut_stays_whole(date, size):
    text = f"Pam came on {date}, and Pam left after a while with all of her things."
    chunks = Chunks(originals(CASES["dates"]))
    parts = [chunks.add(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join([*parts, chunks.end()]) == text.replace("Pam", "Lee")
    assert sum(map(bool, parts)) > 2
