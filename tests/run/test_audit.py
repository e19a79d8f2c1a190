import hashlib
import json
import os
import time
from types import SimpleNamespace

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import at_first_epsilon, cases, change_row, make_embeddings, run_over

from dpsan.analysis.evaluate.vocabulary import read_run
from dpsan.analysis.report import read_audit
from dpsan.errors import InputError, OutputError
from dpsan.files import atomic_files as files
from dpsan.files.atomic_files import Sink
from dpsan.files.source import FileSource
from dpsan.formats.base import ReadOptions
from dpsan.mechanisms import MECHANISMS
from dpsan.run.audit import finite, read_rows
from dpsan.run.audit import writer as audit_rows
from dpsan.run.audit.writer import AuditWriter
from dpsan.run.plan import FileBatchSize, Plan
from dpsan.run.stream import Work, rewrite_stream
from dpsan.sanitize.result import ACTIONS, Action, AuditTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import folded

TEXT = "Maria Gonzalez's flight, the zyxwvq one, leaves at 10:30.\r\n\nNo 😀 words?\n".encode()


def run(dpsan, tmp_path, *more):
    path = tmp_path / "a.jsonl"
    done = dpsan("rewrite", "-e", "8", "--audit", str(path), *more, stdin=TEXT, status=0)
    return done.stdout, [json.loads(line) for line in path.read_bytes().splitlines()], path


def test_schema(dpsan, tmp_path):
    out, rows, _ = run(dpsan, tmp_path)
    header, words, file, totals = rows[0], rows[1:-2], rows[-2], rows[-1]
    assert (header["own"], header["private"]) == (None, True)
    guarantee = header["guarantee"]
    assert (guarantee["status"], guarantee["arithmetic"]) == ("PROVED", "on integers")
    assert guarantee["epsilon_ldp"] <= 8
    assert ({row["type"] for row in words}, file["type"]) == ({"word"}, "file")
    assert file["passing"] == totals["passing"] == {"fields": [], "noted": {}, "by_name": {}}
    assert (totals["type"], totals["complete"]) == ("totals", True)
    assert file["input_sha256"] == hashlib.sha256(TEXT).hexdigest()
    assert file["output_sha256"] == hashlib.sha256(out).hexdigest()
    assert totals["words"] == len(words)
    assert totals["epsilon_sum"] == sum(row["epsilon"] or 0 for row in words)
    for action in ("drawn", "unknown", "number", "masked", "kept", "outside"):
        assert totals[action] == sum(row["action"] == action for row in words)


def test_rows_match_the_output_words_and_hold_no_input_word(dpsan, tmp_path):
    out, rows, path = run(dpsan, tmp_path, "--unknown", "mask")
    lines = out.decode().split("\n")
    gaps = []
    for number, line in enumerate(lines, start=1):
        at = 0
        for row in [r for r in rows[1:-2] if r["line"] == number]:
            assert line[row["start"] : row["end"]] == row["out"]
            gaps.append(line[at : row["start"]])
            at = row["end"]
        gaps.append(line[at:])
    # Everything outside the rows is the input's, character by character.
    first, last = ["", " ", "'s ", ", ", " ", " ", ", ", " ", " ", ".\r"], ["", " ", " ", "?"]
    assert gaps == [*first, "", *last, ""]
    assert b"zyxwvq" not in path.read_bytes()
    assert "😀".encode() not in path.read_bytes()


def test_originals_and_a_seed(dpsan, tmp_path):
    _, rows, _ = run(dpsan, tmp_path, "--audit-originals", "--seed", "1")
    text = TEXT.decode().split("\n")
    assert (rows[0]["originals"], rows[0]["seeded"], rows[0]["private"]) == (True, True, False)
    for row in rows[1:-2]:
        assert text[row["line"] - 1][row["in_start"] : row["in_end"]] == row["in"]
        assert row["unchanged"] == (row["in"].lower() == row["out"].lower())
    assert "zyxwvq" in [row["in"] for row in rows[1:-2]]


# Every audit that can be written can be read, and adds up to the totals of its run.


EMBEDDINGS = make_embeddings(n=40, d=4)
SHAPES = [(name, {}) for name in MECHANISMS]
OPTIONS = [{}, {"unknown": "mask"}, {"unknown": "mask", "originals": True}]
OPTIONS += [{"keep": ["word3", "nobody"], "copies": 3}]
OPTIONS += [{"copies": 2, "originals": True, "unknown": "mask"}]
# Texts without words, with unknown words only, and two fields that are one record.
ROWS = [{"t": "word1 word2 word3", "u": "word3 nobody"}, {"t": "", "u": "nobody"}]
ROWS += [{"t": "...", "u": "word4 word5 word6 word7"}, {"t": "word8", "u": "- -"}]


def opened(name, parameters, **more):
    """A sanitizer, at the first epsilon that it takes."""

    def make(*given, epsilon, parameters):
        how = {"embeddings": EMBEDDINGS, "parameters": parameters, "allow_unproved": True, **more}
        return Sanitizer(*given, epsilon=epsilon, **how)

    return at_first_epsilon(name, make, **parameters)


def written(folder, sanitizer, *, originals=False, copies=1):
    """The audit of a run over three files, of which one cannot be read; and the run's totals."""
    files = (ROWS, ROWS[:1], [{"t": "word1"}, "bad"])
    plan = Plan(options=ReadOptions(fields=("t?", "u?")), copies=copies, originals=originals)
    path = folder / "audit.jsonl"
    with AuditWriter(path, sanitizer, plan) as audit:
        result, _ = run_over(folder, files, sanitizer, plan, audit=audit)
    assert len(result.failed) == 1
    return path, result.totals


CASES = [
    (*shape, options)
    for number, shape in enumerate(SHAPES)
    for at, options in enumerate(OPTIONS)
    if at in (0, 1 + number % 4) or shape[0] in ("krr", "tldp")
]
"""Each mechanism without options and with some of them."""


@pytest.mark.parametrize(("name", "parameters", "options"), CASES)
def test_round_trip(name, parameters, options, tmp_path):
    options = dict(options)
    writing = {key: options.pop(key) for key in ("originals", "copies") if key in options}
    sanitizer = opened(name, parameters, **options)
    path, totals = written(tmp_path, sanitizer, **writing)
    told = read_audit(path)
    # The failed input has words too, which no total counts.
    done = [each for each in told["files"] if each["finished"]]
    assert len(done) == 2
    for action in Action:
        assert sum(each[action] for each in done) == totals.counts[action]
    assert sum(each["draws"] for each in done) == totals.draws > 0
    assert sum(each["epsilon_sum"] for each in done) == pytest.approx(totals.epsilon_sum)
    for key, copies in (("largest_record", told["copies"]), ("largest_file", 1)):
        composed = totals.composed(copies * getattr(totals, key))
        assert told[key] == {"epsilon_ldp": finite(composed.epsilon), "delta": composed.delta}
    assert read_run(path).settings().mechanism == name
    # The words of a text add up to what the text cost.
    rows = [row for _, row in read_rows(path)]
    words = [row for row in rows if row["type"] == "word" and row["file"] < 3]
    assert sum(row["epsilon"] or 0 for row in words) == pytest.approx(totals.epsilon_sum)
    assert {row["text"] for row in words} == {1, 2}


@cases("name parameters record file", ("gaussian", {"delta": 1e-6}, 5, 11), ("tldp", {}, 5, 11))
def test_a_record_is_all_its_texts(tmp_path, name, parameters, record, file):
    """Its fields are one person's: what it costs is their sum, times the copies."""
    path, totals = written(tmp_path, opened(name, parameters), copies=3)
    assert (totals.largest_record, totals.largest_file) == (record, 3 * file)
    last = [row for _, row in read_rows(path)][-1]
    deltas = [last[f"delta_{each}"] for each in ("sum", "largest_record", "largest_file")]
    one = parameters.get("delta", 0.0)
    assert deltas == pytest.approx([totals.draws * one, 3 * record * one, 3 * file * one])


@cases(
    "at values message",
    (0, {"schema": 1}, ":1: an audit of another schema than 16, which this version reads"),
    (0, {"guarantee": {}}, ":1: damaged audit row: no status"),
    (0, {"epsilon": None}, ":1: damaged audit row: epsilon is of another type"),
    (1, {"epsilon": "2"}, ":2: damaged audit row: epsilon is of another type"),
    (1, {"action": "replaced"}, ":2: damaged audit row: unknown action"),
    (1, {"in": "word1"}, ":2: damaged audit row: fields that no such row has"),
    (1, {"line": True}, ":2: damaged audit row: line is of another type"),
    (2, {"type": "header"}, ":3: damaged audit row: no schema"),
    (-1, {"draws": 0}, "damaged audit row: the words before it do not add up"),
)
def test_what_is_not_in_the_grammar(tmp_path, at, values, message):
    path, _ = written(tmp_path, opened("krr", {}))
    refused(path, at, values, message)


def refused(path, at, values, message):
    """Whether an audit is refused without its words if values of a row are changed."""
    change_row(path, at, values)
    with pytest.raises(InputError) as caught:
        read_audit(path)
    assert message in str(caught.value)
    assert "word1" not in str(caught.value)


# No text is written before its rows of the audit are.


LINES = 2200
LONG_TEXT = b"word1 word2, word3.\n" * LINES


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(FileBatchSize, "growth", 1)  # batches of 200 lines


def rewritten(tmp_path, monkeypatch, *, broken=None):
    """What was written, in order: texts and rows of words, and the error that ended it."""
    (tmp_path / "in").write_bytes(LONG_TEXT)
    order: list[tuple[str, bytes]] = []

    def write(number, data):
        kind = "text" if number == sink.descriptor else "rows"
        if kind == "rows":
            time.sleep(0.01)
        if kind == broken and len(order) > 6:
            raise OSError(28, "No space left on device")
        order.append((kind, bytes(data)))
        return os.write(number, data)

    sanitizer = Sanitizer("krr", epsilon=8, embeddings=make_embeddings(n=12, d=3))
    error = None
    with (
        (tmp_path / "in").open("rb") as source,
        (tmp_path / "out").open("wb") as out,
        AuditWriter(tmp_path / "audit", sanitizer) as audit,
    ):
        sink = Sink("out", out.fileno())
        monkeypatch.setattr(files, "os", SimpleNamespace(**vars(files.os) | {"write": write}))
        work = Work(sanitizer, Plan(format="text"), b"k" * 32, audit=audit)
        try:
            rewrite_stream(FileSource("in", source.fileno()), sink, work)
        except Exception as caught:  # noqa: BLE001
            error = caught
    return order, error


def words_of(order, kind):
    """How many words have been written by all writes of a kind."""
    data = b"".join(data for each, data in order if each == kind)
    return data.count(b'"type":"word"') if kind == "rows" else data.lower().count(b"word")


def test_rows_come_first(small_batches, tmp_path, monkeypatch):
    order, error = rewritten(tmp_path, monkeypatch)
    assert error is None
    assert len(order) > 20
    for at in range(len(order)):
        assert words_of(order[: at + 1], "text") <= words_of(order[: at + 1], "rows")
    assert words_of(order, "text") == words_of(order, "rows") == 3 * LINES


@pytest.mark.parametrize("broken", ["text", "rows"])
def test_nothing_is_written_behind_what_failed(broken, small_batches, tmp_path, monkeypatch):
    order, error = rewritten(tmp_path, monkeypatch, broken=broken)
    assert isinstance(error, OutputError)
    assert words_of(order, "text") < 3 * LINES
    if broken == "rows":
        assert words_of(order, "text") <= words_of(order, "rows")
    text = b"".join(data for kind, data in order if kind == "text")
    assert (tmp_path / "out").read_bytes() == text
    assert text.endswith(b".\n")


# Rows put together from columns are the bytes that orjson writes of plain rows.


SMALL = make_embeddings(n=12, d=3)
N = SMALL.n
KINDS = {"plain": Sanitizer("krr", epsilon=8, embeddings=SMALL)}
KINDS["public"] = Sanitizer("knn-response", epsilon=8, embeddings=SMALL, public=["word2"])
STRINGS = st.text(
    st.sampled_from('ab"\\/\n\x00\x1f\x7fé😀\ud800\u2028') | st.characters(), min_size=1, max_size=6
) | st.integers(40, 130).map("x".__mul__)
WORDS = st.tuples(
    STRINGS,  # gap before it
    STRINGS,  # original
    STRINGS,  # output, unless it is a usual spelling
    st.sampled_from(range(len(ACTIONS))),
    st.integers(-4, N + 1),  # input
    st.integers(-1, N - 1),  # the row of the output's usual spelling
    st.booleans(),  # the first of its kind
)
BATCHES = st.lists(st.tuples(st.lists(WORDS, max_size=5), st.booleans()), max_size=4)


def table_of(batch, spellings, consistent):
    words = [word for texts, _ in batch for word in texts]
    # In the input there was no gap, or one that was invisible.
    rows = [(changed, at, word) for texts, changed in batch for at, word in enumerate(texts)]
    read = [(0 if at % 2 else 3) if changed else len(word[0]) for changed, at, word in rows]
    sizes = integers(len(texts) for texts, _ in batch)
    gaps, originals = integers(len(word[0]) for word in words), [word[1] for word in words]
    outputs = [spellings[usual] if usual >= 0 else out for _, _, out, _, _, usual, _ in words]
    actions, ids, usual = (integers(word[place] for word in words) for place in (3, 4, 5))
    first = np.array([word[6] for word in words], dtype=np.bool_) if consistent else None
    columns = sizes, gaps, integers(read), actions, originals, outputs, ids, usual
    return AuditTable(*columns, first)


def integers(values):
    return np.array([*values], dtype=np.int64)


def plain_rows(kind, file, batch, spellings, lines, *, consistent, copies, originals):
    """The same rows, one after the other, as dictionaries."""
    sanitizer = KINDS[kind]
    before, number = None, 0
    for line, (texts, changed) in zip(lines, batch, strict=True):
        number = number + 1 if line == before else 1
        before, read, written = line, 0, 0
        for at, (gap, original, out, action, given_id, usual, first) in enumerate(texts):
            output = spellings[usual] if usual >= 0 else out
            read += len(gap) if not changed else 0 if at % 2 else 3
            written += len(gap)
            epsilon = sanitizer.mechanism.epsilon
            if consistent and not first:
                epsilon = 0.0
            if given_id < 0 or (given_id in sanitizer.public and (first or not consistent)):
                epsilon = None
            row = {"type": "word", "file": file, "line": line, "text": number}
            row |= {"start": written, "end": written + len(output)}
            row |= {"action": str(ACTIONS[action]), "out": shown(output), "epsilon": epsilon}
            if copies > 1:
                row["copy"] = 2
            if originals:
                row |= {"in": shown(original), "in_start": read, "in_end": read + len(original)}
                same = folded(original) == folded(output) or original == output
                row["unchanged"] = same
            yield orjson.dumps(row) + b"\n"
            read += len(original)
            written += len(output)


def shown(text):
    return text.encode("utf-8", "replace").decode()


SETTINGS = {
    "rows": st.sampled_from([1, 3, 1 << 13]),
    "together": st.booleans(),
    "file": st.sampled_from([7, 123_456_789]),
    "first": st.sampled_from([1, 5, 98, 10**15]),
    "consistent": st.booleans(),
    "options": st.fixed_dictionaries({"copies": st.integers(1, 2), "originals": st.booleans()}),
    "batches": st.lists(BATCHES, max_size=3),
    "spellings": st.lists(STRINGS, min_size=N, max_size=N),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(how=st.fixed_dictionaries(SETTINGS).map(lambda found: SimpleNamespace(**found)))
def test_rows_are_those_of_orjson(kind, how, tmp_path_factory):
    path = tmp_path_factory.mktemp("audit") / "a"
    expected = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit_rows, "_ROWS", how.rows)
        with AuditWriter(path, KINDS[kind], Plan(**how.options)) as audit:
            for batch in how.batches:
                lines = [how.first if how.together else how.first + at for at in range(len(batch))]
                audit.words(how.file, lines, table_of(batch, how.spellings, how.consistent), 2)
                more = {"consistent": how.consistent, **how.options}
                expected += plain_rows(kind, how.file, batch, how.spellings, lines, **more)
    assert path.read_bytes().splitlines(keepends=True)[1:] == expected


def test_a_torn_last_row_says_how_to_read_the_others(dpsan, tmp_path):
    """Issue 60: a run that was killed leaves a row without its end."""
    given = ("rewrite", "-q", "--only", "people", "-a", "audit")
    dpsan(*given, stdin=b"Grace Young met Anna.\n", cwd=tmp_path, status=0)
    data = (tmp_path / "audit").read_bytes()
    rows = data.count(b"\n")
    (tmp_path / "audit").write_bytes(data[:-20])
    done = dpsan("report", "audit", cwd=tmp_path, status=1)
    assert done.stderr.decode() == (
        f"dpsan: audit:{rows}: damaged audit row: not JSON (its end is missing: was the run "
        f"killed, or the copy? head -n {rows - 1} takes the rows before it)\n"
    )
    (tmp_path / "audit").write_bytes(b"".join(data.splitlines(keepends=True)[: rows - 1]))
    dpsan("report", "audit", cwd=tmp_path, status=0)
