"""Units of a memo: within one each word has one replacement for ever; none is linked to another."""

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, product
from string import ascii_lowercase

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import make_embeddings

from dpsan import Memo, Sanitizer
from dpsan.errors import OutputError, UsageError
from dpsan.only.permutations import Permutation, permutation_of
from dpsan.only.plans import Plans
from dpsan.only.slots import Unit as Slots
from dpsan.run.memo_file import NAME
from dpsan.run.units import packed, unpacked
from dpsan.sanitize.decided import Shared
from dpsan.sanitize.result import Texts

ONLY = Sanitizer(only="sensitive")
EMBEDDINGS = make_embeddings(n=40, d=4)
DRAWN = Sanitizer("krr", epsilon=2.0, embeddings=EMBEDDINGS)
PEOPLE = ["Maria Lopez", "Grace Murphy", "Peter Novak", "Linda Nguyen", "Grace Lopez"]
MESSAGES = [
    *(f"Yesterday {name} met us." for name in PEOPLE),
    *(f"write to {name.lower().replace(' ', '.')}@acme.com" for name in PEOPLE),
    "MARIA's car is in Boston, Maria said on 3/4/2024.",
    "The first was on 25/12/2023, the other one on 3/4/2024.",
    "Call 555-201-3344 or mlopez@acme.com at 10:30.",
    "Dear Mrs. Murphy, the Germans of Germany like Grace.",
    "German beer from Munich, Germany.",
]
NAMES = {word.lower() for name in PEOPLE for word in name.split()}
QUICK = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


def became(pairs):
    """What each name became, in all pairs of a message and its output, in lower case."""
    found = {}
    for text, output in pairs:
        for word, other in zip(pieces(text), pieces(output), strict=True):
            if word in NAMES:
                found.setdefault(word, set()).add(other)
    return found


def pieces(text):
    text = re.sub(r"@\S+", "", text.lower())
    return re.findall(r"[^\W\d_]+", text.replace("'s", ""))


@QUICK
@given(calls=st.lists(st.lists(st.sampled_from(MESSAGES), max_size=4), max_size=6))
def test_a_message_of_a_unit_is_always_the_same_and_so_is_a_name(calls, tmp_path_factory):
    """In any order, in one call or several, in one run or several: an address may come first."""
    folder, outputs, pairs = tmp_path_factory.mktemp("memo"), {}, []
    for messages in calls:
        with Memo(folder, ONLY) as memo:
            written = memo.rewrite(messages, unit="a")
        for text, output in zip(messages, written, strict=True):
            assert outputs.setdefault(text, output) == output
            if "@" in text or "met" in text:
                pairs.append((text, output))
    found = became(pairs)
    assert all(len(names) == 1 for names in found.values())
    assert len({name for names in found.values() for name in names}) == len(found)


def test_messages_of_several_units_in_one_batch(dpsan, tmp_path):
    """Units take turns in a file; a second run and more processes write the same."""
    parts = [[{"text": text} for text in (*MESSAGES[:at], *MESSAGES[5:6])] for at in range(1, 6)]
    rows = [{"id": unit, "parts": part} for part in parts for unit in ("a", "b", 7)]
    (tmp_path / "chat.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    line = ["rewrite", "-q", "--only", "sensitive", "--memo", "m", "--unit-field", "id"]
    line += ["-k", "parts[].text", "chat.jsonl"]
    done = [dpsan(*line, *more, cwd=tmp_path) for more in ([], ["-j", "2"], ["--line-buffered"])]
    assert done[0].returncode == 0, done[0].stderr
    assert done[0].stdout == done[1].stdout == done[2].stdout
    units = {}
    for row, out in zip(rows, map(json.loads, done[0].stdout.splitlines()), strict=True):
        assert row["id"] == out["id"]
        pairs = zip(row["parts"], out["parts"], strict=True)
        units.setdefault(row["id"], []).extend((a["text"], b["text"]) for a, b in pairs)
    found = [became(pairs) for pairs in units.values()]
    assert all(len(names) == 1 for words in found for names in words.values())
    equal = sum(one[name] == other[name] for one, other in combinations(found, 2) for name in one)
    assert equal < 6  # of 24 pairs, each once in more than a thousand draws


def test_all_files_of_all_runs_may_be_of_one_unit(dpsan, tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"Yesterday Maria Lopez met us, {number}.\n")
    command = ("rewrite", "-q", "--only", "people", "--memo", "m", "--unit", "team", "-O", "out")
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "here"}\n')
    files = [f"{number}.txt" for number in range(3)]
    dpsan(*command, *files[:2], cwd=tmp_path, status=0)
    dpsan(*command, "--resume", "-j", "2", *files, cwd=tmp_path, status=0)
    outputs = {(tmp_path / "out" / name).read_text().partition(",")[0] for name in files}
    assert len(outputs) == 1
    assert "Maria" not in outputs.pop()
    answer = dpsan("restore", "--memo", "m", "--unit", "team", "out/2.txt", cwd=tmp_path).stdout
    assert answer == b"Yesterday Maria Lopez met us, 2.\n"
    for more, told in (
        ((), "--unit needs --memo"),
        (("--memo", "n", "--unit-field", "id"), "exclude"),
    ):
        done = dpsan(*command[:4], "-k", "text", "--unit", "team", *more, "a.jsonl", cwd=tmp_path)
        assert done.returncode == 2
        assert told in done.stderr.decode()


def test_units_are_not_linked(dpsan, tmp_path):
    """The replacement of one name in 300 units: as many are equal as of independent draws."""
    rows = "".join(f'{{"id": {at}, "text": "Yesterday Maria met us."}}\n' for at in range(300))
    line = ["rewrite", "-q", "--only", "names", "--memo", "m", "--unit-field", "id"]
    done = dpsan(*line, "-f", "jsonl", "-k", "text", cwd=tmp_path, stdin=rows.encode())
    drawn = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    assert len(drawn) == 300
    equal = sum(many * (many - 1) // 2 for many in Counter(drawn).values())
    size = len(Sanitizer(only="names").by_unit().replacing.outputs["given_f"])
    expected = 300 * 299 / 2 / size
    assert expected / 2 < equal < 2 * expected + 20


def test_with_an_epsilon_each_word_of_a_unit_is_drawn_once(tmp_path):
    texts = ["word1 word2 word1", "word2 nobody word3", "Nobody word1 word9"]
    with Memo(tmp_path / "m", DRAWN) as memo:
        one = [memo.rewrite(text, unit="a") for text in texts]
        assert memo.rewrite(texts[::-1], unit="a") == one[::-1]
        words = zip(" ".join(texts).lower().split(), " ".join(one).lower().split(), strict=True)
        assert len({*words}) == 5
        totals = memo.totals()
        assert (totals.units, totals.messages, totals.draws) == (1, 0, 0)
        assert totals.epsilon == pytest.approx(5 * DRAWN.guarantee.epsilon_ldp)
        memo.rewrite(texts)
        assert (memo.totals().units, memo.totals().messages) == (1, 3)
        other = [memo.rewrite(texts[0], unit=f"b{at}") for at in range(40)]
        assert len({*other}) > 10
    with Memo(tmp_path / "m", DRAWN) as memo:
        assert memo.rewrite(texts, unit="a") == one


def test_the_cost_of_a_unit_is_that_of_its_new_words(dpsan, tmp_path):
    rows = [{"id": "a", "text": text} for text in ("one two", "two three", "one two three")]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    line = ["rewrite", "-e", "2", "-m", "krr", "--vocab-size", "100", "--memo", "m"]
    line += ["--unit-field", "id", "-k", "text", "in.jsonl", "-a", "audit", "--force"]
    done = [dpsan(*line, cwd=tmp_path) for _ in range(2)]
    assert b"3 draws for 7 words" in done[0].stderr
    assert b"one draw for each distinct word of a unit" in done[0].stderr
    assert b"memo: 3 messages; over its life 1 unit; LDP epsilon 6 for one" in done[0].stderr
    assert b"draws" not in done[1].stderr
    assert done[0].stdout == done[1].stdout
    assert dpsan("report", "audit", cwd=tmp_path).returncode == 0


def test_answers_are_restored_from_the_memo(dpsan, tmp_path):
    with Memo(tmp_path / "m", ONLY) as memo:
        sent = memo.rewrite(MESSAGES[:5], unit="a")
        other = memo.rewrite(MESSAGES[0], unit="b")
        assert [memo.restore(text, "a") for text in sent] == MESSAGES[:5]
        assert memo.restore(other, "b") == MESSAGES[0]
        for unit in ("e", "d"):  # first it is decided that it passes, then that is known
            assert memo.rewrite("Hello.", unit) == memo.restore("Hello.", unit) == "Hello."
        for call in (memo.restore, memo.restore_object):
            with pytest.raises(UsageError, match="the memo has no such unit"):
                call(sent[0], "c")
        value = {"said": MESSAGES[:2], "call": json.dumps({"to": MESSAGES[2]}), "n": [1, None]}
        drawn = memo.rewrite_object(value, "a")
        assert drawn != value
        assert memo.restore_object(drawn, "a") == value
    rows = [{"id": "a", "text": sent[1]}, {"id": "b", "text": other}, {"id": "c", "text": other}]
    data = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    line = ["restore", "--memo", "m", "--unit-field", "id", "-f", "jsonl", "-k", "text"]
    done = dpsan(*line, stdin=data, cwd=tmp_path)
    texts = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    assert texts == [MESSAGES[1], MESSAGES[0], other]
    assert b"1 record unchanged: the memo has no row of their unit" in done.stderr
    done = dpsan("restore", "--memo", "m", "--unit", "a", stdin=sent[2].encode(), cwd=tmp_path)
    assert done.stdout.decode() == MESSAGES[2]
    rows = [{"id": "d", "text": other}, {"id": "g", "text": "Hello."}]
    data = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    dpsan("rewrite", "--only", "people", *line[1:], stdin=data.splitlines()[1], cwd=tmp_path)
    done = dpsan(*line, stdin=data, cwd=tmp_path)  # units of which no word was replaced
    assert (done.stdout, b"no row of their unit" in done.stderr) == (data, False)
    with Memo(tmp_path / "m", DRAWN) as memo:
        memo.rewrite("word1", unit="f")
        with pytest.raises(OutputError, match="drawn with an epsilon"):
            memo.restore("word1", "f")
    for unit, told in (("f", b"drawn with an epsilon"), ("c", b"m: has no such unit")):
        done = dpsan("restore", "--memo", "m", "--unit", unit, stdin=b"a", cwd=tmp_path, status=1)
        assert told in done.stderr
    for more, told in (
        ([], b"--memo needs --unit-field NAME or --unit UNIT"),
        (["--unit", "a", "--map", "x"], b"--map and --memo exclude each other"),
    ):
        done = dpsan("restore", "--memo", "m", *more, stdin=b"", cwd=tmp_path)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_a_forgotten_unit_leaves_no_byte_and_begins_anew(dpsan, tmp_path):
    message = "Yesterday Wilhelmina Kowalczyk met us."
    with Memo(tmp_path / "m", ONLY) as memo:
        kept = memo.rewrite("Yesterday Maria Lopez met us.", unit="Kim")
        memo.rewrite([message, *MESSAGES], unit="Zoltan")
        first = memo.rewrite(message, unit="Zoltan")
    stored = (tmp_path / "m" / NAME).read_bytes()
    assert b"Wilhelmina" in stored  # the twin of the search below
    assert b"Zoltan" not in stored
    line = ["rewrite", "--memo", "m", "--forget", "Zoltan"]
    done = [dpsan(*line, cwd=tmp_path) for _ in range(2)]
    assert [each.returncode for each in done] == [0, 1]
    assert done[0].stderr == b"dpsan: the unit is erased\n"
    assert b"the memo has no such unit" in done[1].stderr
    assert [path.name for path in (tmp_path / "m").iterdir()] == [NAME]
    stored = (tmp_path / "m" / NAME).read_bytes()
    for word in ("Wilhelmina", "Kowalczyk", *first.split()[1:3], "Novak"):
        assert word.encode() not in stored
    with Memo(tmp_path / "m", ONLY) as memo:
        assert memo.rewrite("Yesterday Maria Lopez met us.", unit="Kim") == kept
        with pytest.raises(UsageError, match="no such unit"):
            memo.restore(first, "Zoltan")
        assert memo.rewrite(message, unit="Zoltan") != first
        assert memo.forget("Kim")
        assert memo.totals().units == 1
    done = dpsan("rewrite", "--forget", "a", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, b"dpsan: --forget needs --memo DIR\n")
    done = dpsan("rewrite", "--memo", "none", "--forget", "a", cwd=tmp_path)
    assert b"none: no memo of dpsan" in done.stderr


def test_threads_and_processes_share_units(tmp_path):
    """Two open memos of one file, four threads each: no name has two replacements."""
    with (
        Memo(tmp_path / "m", ONLY) as one,
        Memo(tmp_path / "m", Sanitizer(only="sensitive")) as two,
        ThreadPoolExecutor(4) as pool,
    ):
        calls = [(memo, text) for text in MESSAGES[:10] * 3 for memo in (one, two)]
        written = [*pool.map(lambda call: call[0].rewrite(call[1], unit="a"), calls)]
    found = became(zip((text for _, text in calls), written, strict=True))
    assert len(found) == len(NAMES)
    assert all(len(names) == 1 for names in found.values())


def test_other_lists_keep_what_a_unit_has(tmp_path):
    """Words that a later version draws no more stay, and its new words are other ones."""
    only = ONLY.by_unit().replacing
    shared = Shared(0)
    text = "Yesterday Maria Lopez met us in Boston."
    decided = only.decided_unit(Texts([text], b"", [0]))
    (first,) = only.in_units(decided, b"k" * 32, [shared], [0]).lines
    data = packed(shared, only.draws.plans)
    later = Sanitizer(only="sensitive").by_unit().replacing
    drawn = set(re.findall(r"\w+", first))
    for name, words in later.outputs.items():
        later.outputs[name] = [word for word in words if word not in drawn]
    later.draws.__init__(Plans(later.outputs, injective=True), together=True)
    again = unpacked(data, 0, later.draws.plans)
    done = later.in_units(later.decided_unit(Texts([text], b"", [0])), b"l" * 32, [again], [0])
    assert done.lines == [first]


@QUICK
@given(size=st.integers(1, 9), more=st.lists(st.integers(0, 10**6), max_size=25), data=st.data())
def test_a_permutation_goes_on_where_it_was(size, more, data):
    """After any numbers, the same numbers are free in one that was stored and read."""
    walks = data.draw(st.booleans())
    group, calendars = ("year" if walks else "surname"), Slots().calendars
    one, taken = permutation_of(group, "", size, calendars), []
    for value in more:
        taken.append(one.take(value % one.plan()))
        other = permutation_of(group, "", size, calendars)
        other.resume(taken)
        assert other.planned == one.planned
        if isinstance(one, Permutation) and not walks:
            assert free(other) == free(one)
        else:
            assert other.moved == one.moved


def free(permutation):
    return {permutation.moved.get(at, at) for at in range(permutation.used, permutation.size)}


def test_what_a_unit_takes_is_bounded(tmp_path, monkeypatch):
    """Fewer than 200 bytes for each name, and a limit behind which nothing is written."""
    surnames = ONLY.replacing.outputs["surname"][:1000]
    with Memo(tmp_path / "m", ONLY) as memo:
        memo.rewrite([f"Yesterday Maria {name} met us." for name in surnames], unit="a")
    size = (tmp_path / "m" / NAME).stat().st_size
    assert 50 * len(surnames) < size < 200 * len(surnames)
    monkeypatch.setattr("dpsan.run.memo_file.LARGEST", 1 << 16)
    with Memo(tmp_path / "m", ONLY) as memo:
        with pytest.raises(OutputError, match="a unit of more than 0 MiB"):
            memo.rewrite("Yesterday Peter met us.", unit="a")
        memo.rewrite("Yesterday Peter met us.", unit="b")


def test_what_cannot_be_is_refused(dpsan, tmp_path):
    with Memo(tmp_path / "m", ONLY) as memo:
        with pytest.raises(UsageError, match="a unit needs a name"):
            memo.rewrite("a", unit="")
        with pytest.raises(TypeError):
            memo.rewrite("a", unit=7)
    with Memo(tmp_path / "m", ONLY) as memo:
        memo.rewrite("Maria", "a")
        for call in (memo.restore, memo.restore_object, memo.rewrite_object):
            with pytest.raises(TypeError, match=r"units must be strings \(got NoneType"):
                call("Maria", None)
        with pytest.raises(TypeError, match=r"restore takes a string \(got NoneType: restore_ob"):
            memo.restore(None, "a")
    by_value = Sanitizer(only="sensitive", numbers="value", epsilon=2)
    with Memo(tmp_path / "n", by_value) as memo, pytest.raises(UsageError, match="by value"):
        memo.rewrite("a", unit="a")
    with pytest.raises(UsageError, match="unit"):
        Sanitizer(only="names", consistent="unit")
    (tmp_path / "a.csv").write_text("id,text\n1,Maria\n,Maria\n")
    line = ["rewrite", "--only", "names", "-k", "text", "a.csv"]
    done = dpsan(*line, "--unit-field", "id", cwd=tmp_path)
    assert b"--unit-field needs --map FILE or --memo DIR" in done.stderr
    done = dpsan(*line, "--unit-field", "id", "--memo", "m", cwd=tmp_path)
    assert b"a.csv:3: no name in the field of units" in done.stderr
    for more in (["a.csv"], ["--only", "people"], ["--unit", "a"], ["-o", "out"]):
        done = dpsan("rewrite", "--memo", "m", "--forget", "a", *more, cwd=tmp_path, status=2)
        assert b"--forget erases a unit, and rewrites nothing (" in done.stderr


def test_a_unit_that_is_erased_meanwhile_is_not_drawn_again(tmp_path):
    """With an epsilon the words that were drawn under its key are not published."""
    from dpsan.run.workers import Inline
    from dpsan.sanitize.result import Texts

    with Memo(tmp_path / "m", DRAWN) as memo:
        pending = memo.submit(
            Inline(DRAWN.by_unit()), Texts(["word1"], b"k" * 32, [0], False), ["a"]
        )
        memo.forget("a")
        with memo.turn(), pytest.raises(UsageError, match="erased"):
            pending.result()


def test_a_text_without_replaced_words_is_decided_once(tmp_path, monkeypatch):
    """A prompt of a system, the tools of an agent: in whatever unit, also with invisible marks."""
    passes, decided = ["Please wait.", "a\u200bb"], []
    texts = [*passes, *MESSAGES]
    with Memo(tmp_path, ONLY) as memo:
        first = memo.rewrite(texts, unit="a")
        submit = memo._units.submit
        monkeypatch.setattr(
            memo._units, "submit", lambda *given: decided.append(given[1].texts) or submit(*given)
        )
        assert memo.rewrite(texts, unit="a") == first
        assert decided == []
        other = memo.rewrite(texts, unit="b")
        assert decided == [texts[1:]]  # the other one loses its mark each time
        assert other[:2] == first[:2] == ["Please wait.", "ab"]
        assert not set(other[2:]) & set(MESSAGES)
        assert sum(one == two for one, two in zip(first, other, strict=True)) < len(texts) // 2
        assert memo.rewrite(passes[:1], unit="c") == passes[:1]


def test_what_an_erased_unit_had_is_not_written_again(tmp_path, monkeypatch):
    """Another process erases it before a call, or during one of an old message and a new one."""
    old, new = "Maria Lopez met us.", "Maria Lopez called Peter Novak."
    with Memo(tmp_path, ONLY) as one, Memo(tmp_path, ONLY) as two:
        one.rewrite(old, "a")
        two.forget("a")
        assert one.restore(one.rewrite(old, "a"), "a") == old
        rewritten = one._rewritten
        monkeypatch.setattr(
            one, "_rewritten", lambda *given, **how: two.forget("a") and rewritten(*given, **how)
        )
        assert [one.restore(line, "a") for line in one.rewrite([old, new], "a")] == [old, new]
        monkeypatch.setattr(one, "_rewritten", rewritten)
        assert one.forget("a")
        assert not one._units.outputs
        monkeypatch.setattr("dpsan.run.units._HELD", 10)
        assert one.rewrite([old, "Hi."], "a")
        assert not any(lines for _, lines in one._units.outputs.values())


def test_a_surname_in_an_address_beside_another_one_stays_itself_in_its_unit(tmp_path):
    """It was taken for a short form of the surname behind the given name, and was two people."""
    with Memo(tmp_path / "memo", ONLY) as memo:
        first = memo.rewrite("Ask Donna Patel, mail donna.novak@acme.com.", "chat")
        then = memo.rewrite("Mr. Novak came.", "chat")
    assert re.search(r"\.(\w+)@", first)[1] == then.split()[1].lower()


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        ({"name": "Hope Baker", "text": "Hope and Zork met. hope"}, ("name:names", "text")),
        ({"name": "Hope Baker", "text": "Hope and Zork met. hope"}, ("**",)),
        ({"note": "Dear Hope,", "text": "Hope springs"}, ("**",)),
    ],
)
def test_a_name_of_a_column_is_replaced_in_the_other_fields_of_its_record(
    row, fields, dpsan, tmp_path
):
    """Whoever names the unit; a message alone is always the same."""
    alone = {"id": "a", "text": row["text"]}
    records = (alone, {**row, "id": "a"}, alone)
    lines = "".join(f"{json.dumps(record)}\n" for record in records)
    (tmp_path / "in.jsonl").write_text(lines)
    chosen = [part for name in fields for part in ("-k", name)]
    for unit in (("--unit", "a"), ("--unit-field", "id")):
        memo = ("--memo", tmp_path / unit[0][2:], *unit)
        except_ = ("--except", "id") if "**" in fields else ()
        args = ("rewrite", "-q", "--only", "people", *memo, *chosen, *except_)
        done = dpsan(*args, tmp_path / "in.jsonl", status=0)
        first, other, last = map(json.loads, done.stdout.splitlines())
        assert first == last
        column = next(iter(row.values()))
        assert not {*pieces(column)} & {*pieces(other["text"])}


def test_strings_of_one_value_are_one_context(tmp_path):
    """A name that one of them declares was a plain word in the others."""
    value, alone = {"to": "Dear Hope,", "text": "Hope springs"}, {"text": "Hope springs"}
    with Memo(tmp_path, ONLY) as memo:
        assert memo.rewrite_object(alone, "a") == alone
        assert memo.passes(alone)
        drawn = memo.rewrite_object(value, "a")
        name = drawn["to"].removeprefix("Dear ").removesuffix(",")
        assert drawn == {"to": f"Dear {name},", "text": f"{name} springs"}
        assert name != "Hope"  # units draw no ordinary words
        assert memo.rewrite_object(value, "a") == drawn
        assert memo.rewrite_object(alone, "a") == alone
        assert memo.rewrite("Hope springs", "a") == "Hope springs"
        assert memo.restore_object(drawn, "a") == value
        assert not memo.passes(value)


def test_a_record_is_one_context_wherever_arrays_end(tmp_path):
    """Behind the first million characters of a batch, a name of its other string passed."""
    rest = ["the " * 249, "Dear Hope,", "Hope springs"]
    batch = Texts(["the " * ((1 << 18) - 253), *rest], b"k" * 32, [0, 1, 1, 1])
    decided = ONLY.by_unit().replacing.decided_unit(batch)
    assert sum(len(block.decision.at) for block in decided.blocks) == 2


def test_words_that_share_a_replacement_are_told_and_stay(tmp_path, dpsan):
    """A group of 1,427 surnames is used up by 1,500; restore cannot know which one was meant."""
    letters = product("aeioubcd", "klmnoprstvwz", ascii_lowercase[:16])
    surnames = [f"Mr. Zor{''.join(three)}ex called." for three in letters]
    with Memo(tmp_path / "m", ONLY) as memo:
        with pytest.warns(match=r"\d+ replacements: .*restore leaves them"):
            written = memo.rewrite(surnames, unit="a")
        assert memo.restore("\n".join(written), "a") != "\n".join(surnames)
    (tmp_path / "in.txt").write_text("\n".join(surnames) + "\n")
    rewrite = ("rewrite", "-q", "--only", "people", "--memo", "n", "--unit", "a", "in.txt")
    done = dpsan(*rewrite, cwd=tmp_path, status=0)
    many = int(re.search(rb"restore leaves (\d+) replacements that stand", done.stderr)[1])
    back = dpsan("restore", "--memo", "n", "--unit", "a", stdin=done.stdout, cwd=tmp_path, status=0)
    kept = int(
        re.search(rb"(\d+) tokens unchanged: the memo has several originals", back.stderr)[1]
    )
    assert kept == 2 * many > 0
    wrong = zip(back.stdout.splitlines(), "\n".join(surnames).encode().splitlines(), strict=True)
    assert sum(one != other for one, other in wrong) == kept


def test_a_date_is_the_same_one_in_all_records_of_a_unit(tmp_path):
    """The order of two dates is kept where they stand in one record, whichever came first."""
    with Memo(tmp_path, ONLY) as memo:
        late = memo.rewrite("It was on 2024-05-09.", "a").split()[-1].rstrip(".")
        both = memo.rewrite("From 2024-05-02 to 2024-05-09, and 2024-05-02.", "b")
        again = memo.rewrite_object(["2024-05-09", "Since 2024-05-09, then 2024-05-20."], "a")
    assert again[0] == late
    assert again[1].startswith(f"Since {late}, then ")
    first, second, third = re.findall(r"[\d-]{10}", both)
    assert first == third < second
