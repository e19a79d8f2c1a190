import hashlib
import json

import pytest
from support import at_first_epsilon, cases, change_row, make_embeddings, run_over

from dpsan.analysis.evaluate.setting import read_run
from dpsan.analysis.report import read_audit
from dpsan.errors import InputError
from dpsan.formats.base import ReadOptions
from dpsan.mechanisms import MECHANISMS
from dpsan.run.audit import AuditWriter, read_rows
from dpsan.run.audit.schema import finite
from dpsan.run.plan import Plan
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer

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
    assert file["passing"] == totals["passing"] == {"fields": [], "noted": {}}
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
    report = read_audit(path)
    told = report.as_json()
    # The failed input has words too, which no total counts.
    done = [each for each in told["files"] if each["finished"]]
    assert len(done) == 2
    for action in Action:
        assert sum(each[action] for each in done) == totals.counts[action]
    assert sum(each["draws"] for each in done) == totals.draws > 0
    assert sum(each["epsilon_sum"] for each in done) == pytest.approx(totals.epsilon_sum)
    for key, copies in (("largest_record", report.copies), ("largest_file", 1)):
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
