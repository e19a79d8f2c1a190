"""Units of a run with a map, and of large batches: one replacement of each name, none is linked."""

import json
import os

import pytest

from dpsan import Memo, Sanitizer
from dpsan.run.units import RunUnits
from dpsan.run.workers import Inline
from dpsan.sanitize import decided
from dpsan.sanitize.result import Texts

ONLY = Sanitizer(only="people")
TEXTS = ["Yesterday Maria Lopez met us.", "Maria called Peter Novak.", "Ask maria.lopez@acme.com."]


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(folder, dpsan, *options):
    """The texts of three units in two files whose records take turns, and what they became."""
    rows = [{"id": unit, "text": text} for text in TEXTS for unit in ("a", "b", 7)]
    for name, part in (("one", rows[:5]), ("two", rows[5:])):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in part))
    command = ["rewrite", "-q", "--only", "people", "--map", "m", "--force", "--unit-field", "id"]
    command += ["-k", "text", "-O", "out", *options, "one.jsonl", "two.jsonl"]
    dpsan(*command, cwd=folder, status=0)
    out = [row for name in ("one", "two") for row in rows_of(folder / "out" / f"{name}.jsonl")]
    return rows, out


def test_rows_of_a_unit_anywhere_in_a_run_have_one_replacement_for_a_name(tmp_path, dpsan):
    rows, out = written(tmp_path, dpsan)
    of = {}
    for row, other in zip(rows, out, strict=True):
        assert row["id"] == other["id"]
        of.setdefault(row["id"], []).append(other["text"])
    for one, two, three in of.values():
        given, surname = one.split()[1:3]
        assert two.startswith(f"{given} called ")
        assert three.startswith(f"Ask {given}.{surname}@example.".lower().capitalize())
    assert len({texts[0] for texts in of.values()}) == 3
    back = ["restore", "--map", "m", "--unit-field", "id", "-k", "text"]
    for name in ("one", "two"):
        done = dpsan(*back, f"out/{name}.jsonl", cwd=tmp_path, status=0)
        assert done.stdout == (tmp_path / f"{name}.jsonl").read_bytes()


def test_a_seed_gives_the_same_whatever_the_batches(tmp_path, dpsan):
    ways = [], ["-j", "2"], ["--line-buffered"]
    outputs = [written(tmp_path, dpsan, "--seed", "x", *more)[1] for more in ways]
    assert outputs[0] == outputs[1] == outputs[2]


def test_a_replaced_name_of_a_unit_is_told(tmp_path, dpsan):
    """It is an id, which a path may take with all other strings: restore would find no unit."""
    name = "550e8400-e29b-41d4-a716-446655440000"
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": name, "text": TEXTS[0]}) + "\n")
    line = ["rewrite", "-q", "--only", "people", "-k", "**", "--unit-field", "id", "a.jsonl"]
    told = b"1 record: the name of the unit was replaced, and restore --unit-field fails (--except"
    for kept in ("--map", "--memo"):
        assert told in dpsan(*line, kept, kept[2:], cwd=tmp_path, status=0).stderr
        done = dpsan(*line, kept, f"{kept[2:]}2", "--except", "id", cwd=tmp_path, status=0)
        assert told not in done.stderr


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"id": 7, "text": "Maria"}\n\n{"id": "", "text": "Maria"}\n'),
        ("a.csv", "id,text\n7,Maria\n,Maria\n"),
    ],
)
def test_a_record_without_a_unit_is_refused(tmp_path, dpsan, name, content):
    """Restore would not find the one that it had for itself."""
    (tmp_path / name).write_text(content)
    line = ["rewrite", "--only", "people", "-k", "text", "--unit-field", "id", "--map", "m", name]
    done = dpsan(*line, cwd=tmp_path, status=1)
    assert f"{name}:3: no name in the field of units".encode() in done.stderr
    assert b"Maria" not in done.stdout


def test_a_field_of_units_that_is_left_out_is_told(tmp_path, dpsan):
    (tmp_path / "a.jsonl").write_text('{"a": {"id": "7"}, "text": "Maria", "other": 1}\n')
    (tmp_path / "a.csv").write_text("id,text,other\n7,Maria,1\n")
    line = ["rewrite", "-q", "--only", "people", "--map", "m", "--force", "--drop-other"]
    for name, unit in (("a.jsonl", "a.id"), ("a.csv", "id")):
        told = f"--drop-other leaves out '{unit}': restore --unit-field finds no unit"
        for fields in ("text", f"text,{unit}"):
            done = dpsan(*line, "--unit-field", unit, "-k", fields, name, cwd=tmp_path, status=0)
            assert (told in done.stderr.decode()) == (fields == "text")


def test_units_exclude_numbers_by_value(tmp_path, dpsan):
    """A number of a unit would be drawn, and paid, in each batch anew."""
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "It was 4711."}\n')
    line = ["rewrite", "--only", "sensitive", "--numbers", "value", "-e", "2", "--map", "m"]
    done = dpsan(*line, "--unit-field", "id", "-k", "text", "a.jsonl", cwd=tmp_path, status=2)
    assert b"units exclude numbers by value" in done.stderr


def test_a_unit_of_a_run_is_bytes_between_its_batches(monkeypatch):
    """It goes on where it was; one with too many words stays as it is, and begins anew."""
    only = ONLY.by_unit().replacing
    surnames = only.outputs["surname"]
    units = RunUnits(only, b"k" * 32, packs=True)

    def rewritten(*texts, names):
        return units.replaced(only.decided_unit(Texts(texts, b"", range(len(texts)))), names).lines

    first = rewritten(*TEXTS, names="aba")
    many = [f"Yesterday Ms. {name} met us." for name in surnames[:300]]
    drawn = rewritten(*many, names=["a"] * 300)
    assert rewritten(TEXTS[2], TEXTS[0], names="aa") == [first[2], first[0]]
    assert rewritten(*many[::-1], names=["a"] * 300) == drawn[::-1]
    assert len({*drawn, first[0]}) == 301  # no surname stands for two
    assert units._units["a"][1] > 301  # a stream for each word, and none twice
    size = sum(len(unit[2]) for unit in units._units.values())
    assert 300 * 50 < size < 300 * 90
    monkeypatch.setattr(decided, "MOST", 310)
    rewritten("Mr. Fischer, Mr. Cooper.", names="a")
    rewritten(*many[:20], names="a" * 20)
    assert rewritten(many[3], names="a") == rewritten(many[3], names="a")


def test_units_of_a_batch_of_many_blocks_stay_apart(tmp_path):
    """Behind the first million characters, messages were taken for those of its first units."""
    texts = [f"{TEXTS[0]} {'word ' * 13_000}", *[TEXTS[0]] * 40] * 20
    units = [str(number % 37) for number in range(len(texts))]
    with Memo(tmp_path / "m", ONLY) as memo:
        batch = Texts(texts, os.urandom(32), range(len(texts)), False)
        pending = memo.submit(Inline(ONLY.by_unit()), batch, units)
        with memo.turn():
            done = pending.result()
            memo.store(pending, done)
        names = {}
        for unit, line in zip(units, done.lines, strict=True):
            names.setdefault(unit, set()).add(line[:40].split(" met")[0])
        assert all(len(of_unit) == 1 for of_unit in names.values())
        assert len({*map(str, names.values())}) > 32
        for unit, (name,) in names.items():
            assert memo.restore(name, unit) == "Yesterday Maria Lopez"
