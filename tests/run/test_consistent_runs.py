"""One draw for each distinct word, whatever way a run goes; and what it is said to cost."""

import json
from contextlib import ExitStack
from dataclasses import replace

import engine_here
import pytest
from support import cases, change_row, make_embeddings, run_over, write_vectors

from dpsan.analysis.report import read_audit
from dpsan.embeddings import file_digest
from dpsan.errors import InputError
from dpsan.formats.base import ReadOptions
from dpsan.run.audit.writer import AuditWriter
from dpsan.run.cluster import ClusterRun
from dpsan.run.plan import Plan
from dpsan.run.run import Run
from dpsan.run.workers import Pool
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.sanitizer import Sanitizer, run_key
from dpsan.sanitize.settings import Settings

UNITS = [Unit.RECORD, Unit.FILE, Unit.RUN]  # units of a memo: test_units
# Two cells of a row; words inside and outside the vocabulary, and the same ones in both files.
ROWS = [
    (f"word{n % 7} zq{'xv'[n % 2]} word{n % 3}", f"Word{n % 7}, word{n % 11} zq{'xv'[n % 2]}!")
    for n in range(60)
]
DISTINCT = 11 + 2
COUNTS = [len({*f"{a} {b}".lower().replace(",", "").replace("!", "").split()}) for a, b in ROWS]
DRAWS = {Unit.RECORD: 2 * sum(COUNTS), Unit.FILE: 2 * DISTINCT, Unit.RUN: DISTINCT}
"""How many distinct words the units have, together."""
DRAWS[None] = 2 * 6 * len(ROWS)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    return write_vectors(path, make_embeddings(n=20, d=3))


@pytest.fixture(scope="module")
def opened(vectors, store):
    def opened(unit, mechanism="knn-response", epsilon=2.0, **more):
        more = {"embeddings": vectors, "consistent": unit, "case": "vocabulary", **more}
        return Sanitizer.from_spec(Settings(epsilon, mechanism, **more), store)

    return opened


def inputs(folder, ending):
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{ending}" for name in "ab"]
    for path in paths:
        rows = [f"{a}\t{b}" if ending == "txt" else json.dumps({"t": a, "u": b}) for a, b in ROWS]
        path.write_text("".join(f"{row}\n" for row in rows))
    return paths


def cells(path):
    lines = path.read_text().splitlines()
    if path.suffix == ".txt":
        return [tuple(line.split("\t")) for line in lines]
    return [tuple(json.loads(line).values()) for line in lines]


def plan_of(ending, **more):
    return Plan(options=ReadOptions(fields=() if ending == "txt" else ("t", "u")), **more)


def clustered(sanitizer, plan, paths, out):
    """A run on a cluster, which has no audit."""
    given = (sanitizer, plan, run_key("s"), paths, out)
    cluster = ClusterRun(*given, start=engine_here.start, cache=sanitizer._store.root)
    result = cluster.execute()
    assert not result.failed
    return result, {path.name: cells(out / path.name) for path in paths}


def rewritten(sanitizer, plan, paths, out, *, seed="s", workers=None, **more):
    """A run with an audit, which must read back as its totals say."""
    out.mkdir(parents=True, exist_ok=True)
    audit = out / "audit.jsonl"
    with AuditWriter(audit, sanitizer, replace(plan, force=True)) as writer:
        given = (sanitizer, plan, run_key(seed), paths, out)
        result = Run(*given, True, workers=workers, audit=writer, **more).execute()
    told = read_audit(audit)
    assert not result.failed
    assert told["draws"] == result.totals.draws
    assert told["epsilon_sum"] == result.totals.epsilon_sum
    assert told["consistent"] == sanitizer.spec.consistent
    for name, copies in (("largest_file", 1), ("largest_record", plan.copies)):
        largest = result.totals.composed(copies * getattr(result.totals, name))
        assert told[name] == {"epsilon_ldp": largest.epsilon, "delta": largest.delta}
    rows = [json.loads(row) for row in audit.read_text().splitlines()]
    return result, {path.name: cells(out / path.name) for path in paths}, rows[1:]


def outputs_of(done, unit):
    """All outputs of each word of each unit; a single one if equal words have one draw."""
    out = {}
    for name, rows in done.items():
        for number, ((a, b), row) in enumerate(zip(ROWS, rows, strict=True)):
            where = {Unit.RECORD: (name, number), Unit.FILE: name, Unit.RUN: ""}[unit]
            for word, output in zip(f"{a} {b}".split(), " ".join(row).split(), strict=True):
                kind = word.strip(",!").lower()
                out.setdefault((where, kind), set()).add(output.strip(",!"))
    return out


@cases(
    "unit ending",
    (Unit.RUN, "txt"),
    (None, "txt"),
    *(pytest.param(unit, "txt", marks=pytest.mark.slow) for unit in UNITS[:2]),
    (Unit.RECORD, "jsonl"),
    (Unit.FILE, "jsonl"),
)
def test_every_way_to_run_draws_the_same_words(unit, ending, opened, vectors, store, tmp_path):
    """One by one or in batches, by workers or a cluster, and resumed."""
    sanitizer = opened(unit, "laplace") if unit is None else opened(unit)
    paths = inputs(tmp_path / "in", ending)
    result, done, rows = rewritten(sanitizer, plan_of(ending), paths, tmp_path / "one")
    if unit is not None:
        assert all(len(outputs) == 1 for outputs in outputs_of(done, unit).values())
    draws = DRAWS[unit]
    assert result.totals.draws == draws
    assert result.totals.largest_file == draws if unit is Unit.RUN else draws // 2
    assert (done[paths[0].name] == done[paths[1].name]) == (unit is Unit.RUN)
    on_cluster = clustered(sanitizer, plan_of(ending), paths, tmp_path / "cluster")
    assert (on_cluster[0].totals, on_cluster[1]) == (result.totals, done)
    ways: list[dict] = [{"batch": 1}, {"batch": 7}]
    with ExitStack() as stack:
        if ending == "txt":
            pool = Pool(sanitizer.spec, store.root, 2, file_digest(vectors))
            ways.append({"batch": 7, "workers": stack.enter_context(pool)})
        for number, way in enumerate(ways):
            plan = plan_of(ending, batch=way.pop("batch", 1 << 14))
            again = rewritten(sanitizer, plan, paths, tmp_path / str(number), **way)
            assert again[0].totals == result.totals
            assert again[1:] == (done, rows)
    (tmp_path / "one" / paths[1].name).unlink()
    again = rewritten(sanitizer, plan_of(ending), paths, tmp_path / "one", resume=True)
    assert (again[0].skipped, again[1]) == (1, done)


@pytest.mark.parametrize("unit", UNITS)
def test_copies_are_different_units(unit, opened, tmp_path):
    """Each copy has draws of its own, which are paid again; with a delta, that too."""
    sanitizer = opened(unit, "gaussian", 0.9, parameters={"delta": 1e-6})
    paths = inputs(tmp_path / "in", "txt")
    result, done, _ = rewritten(sanitizer, plan_of("txt", copies=3), paths, tmp_path / "out")
    each = [{name: rows[copy::3] for name, rows in done.items()} for copy in range(3)]
    assert each[0] != each[1] != each[2]
    for copy in each:
        assert all(len(outputs) == 1 for outputs in outputs_of(copy, unit).values())
    draws = 3 * DRAWS[unit]
    assert result.totals.draws == draws
    assert result.totals.composed(result.totals.charges).delta == pytest.approx(draws * 1e-6)
    assert result.totals.largest_record == max(COUNTS)


def test_the_audit_of_a_run_that_a_budget_ended_is_no_damage(dpsan, vectors, tmp_path):
    """What was written to standard output counts: only the totals say how much it was."""
    (tmp_path / "t.txt").write_text("word3\nword1 word2\nword4 word5\n")
    common = "rewrite", "-e", "2", "-E", vectors, "--budget", "3", "t.txt", "-a"
    for name, more in (("a", ()), ("b", ("--consistent", "file"))):
        done = dpsan(*common, name, *more, cwd=tmp_path)
        assert b"t.txt:2: the budget refuses this record" in done.stderr
        told = dpsan("report", "--json", name, cwd=tmp_path)
        assert (told.returncode, json.loads(told.stdout)[0]["complete"]) == (0, False)


def test_words_of_a_failed_file_are_no_draws_of_the_others(opened, tmp_path):
    """It was not written: what the run says of the next file must not take its words as paid."""
    files = [{"t": "word1 word2"}, "bad"], [{"t": "word1 word3"}]
    plan = Plan(options=ReadOptions(fields=("t",)))
    result, _ = run_over(tmp_path, files, opened(Unit.RUN), plan)
    assert (len(result.failed), result.totals.draws) == (1, 2)


def test_a_signal_that_ends_as_an_error_of_a_lock_is_no_failed_file(opened, tmp_path, monkeypatch):
    """Interrupted while a lock is taken, its release fails too: the run ends, as by the signal."""

    def interrupted(*_):
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    run = Run(opened(None), Plan(), run_key(None), inputs(tmp_path, "txt"), tmp_path / "out", False)
    monkeypatch.setattr("dpsan.run.run.rewrite_stream", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.execute()


DAMAGE: list = [("record", 1, {"epsilon": 0.0})]  # the first word of a record is always a draw
DAMAGE += [("record", 3, {"epsilon": 1.0}), ("record", -1, {"draws": 1})]
DAMAGE += [("file", -2, {"draws": each}) for each in (4, 1000)]  # one record has more than 4
DAMAGE += [("run", -1, {"draws": each}) for each in (3, 10**6)]
DAMAGE += [("run", 0, {"consistent": None})]


@pytest.mark.parametrize(("unit", "place", "values"), DAMAGE)
def test_an_audit_that_does_not_add_up(unit, place, values, opened, tmp_path):
    paths = inputs(tmp_path / "in", "jsonl")
    rewritten(opened(Unit(unit)), plan_of("jsonl"), paths, tmp_path / "out")
    path = tmp_path / "out" / "audit.jsonl"
    change_row(path, place, values)
    with pytest.raises(InputError, match="damaged audit row"):
        read_audit(path)


def test_wrong_use_and_what_can_be_resumed(dpsan, vectors, tmp_path):
    (tmp_path / "t.txt").write_text("word1\n")
    common = "rewrite", "-e", "2", "-E", vectors, "t.txt"
    for options, message in (
        (("--consistent", "line"), b"must be one of off, record, file, run (got line)"),
        (("--consistent", "run", "-O", "out", "--resume"), b"--consistent run cannot be resumed"),
    ):
        done = dpsan(*common, *options, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, b"")
        assert message in done.stderr
    for at, more in enumerate((["file"], ["run", "--seed", "s"])):
        for _ in range(2):
            done = dpsan(*common, "--resume", "-O", f"out{at}", "--consistent", *more, cwd=tmp_path)
            assert not done.returncode
    done = dpsan(*common, "--consistent", "run", cwd=tmp_path)
    assert b": one draw for each distinct word of the run: which words are equal" in done.stderr
