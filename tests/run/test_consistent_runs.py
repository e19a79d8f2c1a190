"""One draw for each distinct word, whatever way a run goes; and what it is said to cost."""

import csv
import io
import json
from contextlib import ExitStack
from functools import partial

import engine_here
import pytest
from support import make_embeddings

from dpsan.analysis.report import read_audit
from dpsan.embeddings import file_digest
from dpsan.embeddings.cache.store import Store
from dpsan.errors import InputError
from dpsan.formats.base import ReadOptions
from dpsan.run.audit import AuditWriter
from dpsan.run.ray import ClusterRun
from dpsan.run.run import Run
from dpsan.run.stream import Plan
from dpsan.run.workers import Pool
from dpsan.sanitize.accountant import Budget
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.request import RunSpec
from dpsan.sanitize.sanitizer import Sanitizer, run_key

UNITS = list(Unit)
# Two cells of a row; words inside and outside the vocabulary, and the same ones in both files.
ROWS = [
    (f"word{n % 7} zq{'xv'[n % 2]} word{n % 3}", f"Word{n % 7}, word{n % 11} zq{'xv'[n % 2]}!")
    for n in range(60)
]
RECORD_DRAWS = sum(
    len({*f"{a} {b}".lower().replace(",", "").replace("!", "").split()}) for a, b in ROWS
)
DISTINCT = 11 + 2


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    made = make_embeddings(n=20, d=3)
    rows = zip(made.index_to_key, made.vectors.tolist(), strict=True)
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows))
    return path


@pytest.fixture(scope="module")
def opened(vectors, store):
    def opened(unit, mechanism="knn-response", epsilon=2.0, **more):
        more = {"embeddings": vectors, "consistent": unit, "case": "vocabulary", **more}
        spec = RunSpec(epsilon, mechanism, **more)
        return Sanitizer.from_spec(spec, store)

    return opened


def inputs(folder, ending):
    """The rows in two files."""
    folder.mkdir(parents=True, exist_ok=True)
    out = []
    for name in "ab":
        path = folder / f"{name}.{ending}"
        if ending == "jsonl":
            path.write_text("".join(json.dumps({"t": a, "u": b}) + "\n" for a, b in ROWS))
        elif ending == "csv":
            with path.open("w", newline="") as file:
                csv.writer(file).writerows([("t", "u"), *ROWS])
        elif ending == "parquet":
            pa = pytest.importorskip("pyarrow")
            import pyarrow.parquet as pq

            columns = list(map(list, zip(*ROWS, strict=True)))
            pq.write_table(pa.table({"t": columns[0], "u": columns[1]}), path, row_group_size=7)
        else:
            path.write_text("".join(f"{a}\t{b}\n" for a, b in ROWS))
        out.append(path)
    return out


def cells(path):
    """The texts of an output."""
    if path.suffix == ".jsonl":
        return [tuple(json.loads(row).values()) for row in path.read_text().splitlines()]
    if path.suffix == ".csv":
        return list(map(tuple, csv.reader(io.StringIO(path.read_text()))))[1:]
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return [tuple(row.values()) for row in pq.read_table(path).to_pylist()]
    return [tuple(line.split("\t")) for line in path.read_text().splitlines()]


def plan_of(ending, **more):
    return Plan(options=ReadOptions(fields=() if ending == "txt" else ("t", "u")), **more)


def rewritten(sanitizer, plan, paths, out, *, cluster=False, seed="s", workers=None, **more):
    """A run with an audit, which must read back as its totals say."""
    out.mkdir(parents=True, exist_ok=True)
    audit = out / "audit.jsonl"
    with ExitStack() as stack:
        writer = stack.enter_context(AuditWriter(audit, sanitizer, copies=plan.copies, force=True))
        if cluster:
            root = sanitizer._store.root
            run = ClusterRun(
                *(sanitizer, plan, run_key(seed), paths, out),
                start=engine_here.start,
                cache=root,
                audit=writer,
                audit_path=audit,
                **more,
            )
        else:
            run = Run(sanitizer, plan, run_key(seed), paths, out, True, workers=workers, **more)
            run.audit = writer
        result = run.execute()
    told = read_audit(audit).as_json()
    assert not result.failed
    assert told["draws"] == result.totals.draws
    assert told["epsilon_sum"] == result.totals.epsilon_sum
    assert told["consistent"] == sanitizer.spec.consistent
    largest = result.totals.composed(result.totals.largest_file)
    assert told["largest_file"] == {"epsilon_ldp": largest.epsilon, "delta": largest.delta}
    largest = result.totals.composed(plan.copies * result.totals.largest_record)
    assert told["largest_record"] == {"epsilon_ldp": largest.epsilon, "delta": largest.delta}
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


@pytest.mark.parametrize("ending", ["txt", "jsonl", "csv", "parquet"])
@pytest.mark.parametrize("unit", UNITS)
def test_every_way_to_run_draws_the_same_words(unit, ending, opened, vectors, store, tmp_path):
    sanitizer = opened(unit)
    paths = inputs(tmp_path / "in", ending)
    result, done, rows = rewritten(sanitizer, plan_of(ending), paths, tmp_path / "one")
    assert all(len(outputs) == 1 for outputs in outputs_of(done, unit).values())
    draws = {Unit.RECORD: 2 * RECORD_DRAWS, Unit.FILE: 2 * DISTINCT, Unit.RUN: DISTINCT}[unit]
    assert result.totals.draws == draws
    assert result.totals.largest_file == draws if unit is Unit.RUN else draws // 2
    assert (done[paths[0].name] == done[paths[1].name]) == (unit is Unit.RUN)
    ways = [partial(rewritten, sanitizer, plan_of(ending, batch=batch), paths) for batch in (1, 7)]
    ways.append(partial(rewritten, sanitizer, plan_of(ending), paths, cluster=True))
    with Pool(sanitizer.spec, store.root, 2, file_digest(vectors)) as pool:
        ways.append(partial(rewritten, sanitizer, plan_of(ending, batch=7), paths, workers=pool))
        for number, way in enumerate(ways):
            again = way(tmp_path / str(number))
            assert again[0].totals == result.totals
            assert again[1:] == (done, rows)


@pytest.mark.parametrize("unit", UNITS)
def test_a_resumed_run_with_a_seed(unit, opened, tmp_path):
    sanitizer, paths = opened(unit), inputs(tmp_path / "in", "txt")
    _, done, _ = rewritten(sanitizer, plan_of("txt"), paths, tmp_path / "out")
    (tmp_path / "out" / "b.txt").unlink()
    result, again, _ = rewritten(sanitizer, plan_of("txt"), paths, tmp_path / "out", resume=True)
    assert (result.skipped, again) == (1, done)


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
    draws = {Unit.RECORD: 2 * RECORD_DRAWS, Unit.FILE: 2 * DISTINCT, Unit.RUN: DISTINCT}[unit]
    assert result.totals.draws == 3 * draws
    assert result.totals.composed(result.totals.charges).delta == pytest.approx(3 * draws * 1e-6)
    assert result.totals.largest_record == max(
        len({*f"{a} {b}".lower().replace(",", "").replace("!", "").split()}) for a, b in ROWS
    )


def test_without_a_seed_units_differ(opened, tmp_path):
    """Two runs, and two files of a run where the file is the unit."""
    paths = inputs(tmp_path / "in", "txt")
    seen = set()
    for turn in range(4):
        for unit in (Unit.FILE, Unit.RUN):
            sanitizer = opened(unit, "krr", 0.1)
            _, done, _ = rewritten(
                sanitizer, plan_of("txt"), paths, tmp_path / f"{turn}{unit}", seed=None
            )
            seen |= {tuple(rows) for rows in done.values()}
    assert len(seen) == 4 * 3  # 13 draws of about 20 words: alike once in 10^16


@pytest.mark.parametrize(
    ("unit", "limit", "lines"),
    [
        # Rows "word0 zqx word0 <TAB> Word0, word0 zqx!" and "word1 zqv word1 <TAB> Word1, ...".
        (Unit.RECORD, 2 * 2, 1),
        (Unit.FILE, 2 * DISTINCT, 60),
        (Unit.FILE, 4 * DISTINCT, 120),
        (Unit.RUN, 2 * DISTINCT, 120),
        (Unit.RUN, 2 * DISTINCT - 1, 10),
        (Unit.FILE, 2 * DISTINCT + 3, 60),
    ],
)
def test_a_budget_pays_each_draw_once(unit, limit, lines, opened, tmp_path):
    paths = inputs(tmp_path / "in", "txt")
    out, audit = tmp_path / "out.txt", tmp_path / "audit.jsonl"
    sanitizer = opened(unit)
    budget = Budget(limit)
    with AuditWriter(audit, sanitizer) as writer:
        run = Run(sanitizer, plan_of("txt"), run_key(None), paths, out, budget=budget, audit=writer)
        result = run.execute()
    written = len(out.read_text().splitlines())
    assert written == lines
    assert bool(result.failed) == (written < 120)
    assert result.totals.epsilon_sum == budget.spent <= limit
    read_audit(audit)


def test_a_budget_ends_where_a_word_is_new(opened, tmp_path):
    """Words that were paid cost nothing, however often: the first new one is one too many."""
    (tmp_path / "in.txt").write_text("word1 word2\n" * 50 + "word2 word1 word1\nword3\nword1\n")
    for unit, spent, lines in ((Unit.RECORD, 4 * 3, 3), (Unit.FILE, 4, 51), (Unit.RUN, 4, 51)):
        for batch in (1, 7, 1000):
            out = tmp_path / f"{unit}{batch}"
            run = Run(
                *(opened(unit), plan_of("txt", batch=batch), run_key(None)),
                [tmp_path / "in.txt"],
                out,
                budget=Budget(spent + 1),
            )
            result = run.execute()
            assert len(out.read_text().splitlines()) == lines
            assert result.totals.epsilon_sum == spent


@pytest.mark.parametrize("unit", [None, *UNITS])
def test_the_audit_of_a_budget_that_ended_is_no_damage(unit, dpsan, vectors, tmp_path):
    """What was written to standard output counts: only the totals say how much it was."""
    (tmp_path / "t.txt").write_text("word1 word2\nword3\nword4 word5\n")
    common = "rewrite", "-e", "2", "-E", vectors, "--budget", "7", "-a", "audit.jsonl", "t.txt"
    done = dpsan(*common, *(("--consistent", unit) if unit else ()), cwd=tmp_path)
    assert b"the budget ends here: 6 of 7 spent" in done.stderr
    told = dpsan("report", "--json", "audit.jsonl", cwd=tmp_path)
    assert (told.returncode, json.loads(told.stdout)[0]["complete"]) == (0, False)


def test_words_of_a_failed_file_are_no_draws_of_the_others(opened, tmp_path):
    """It was not written: what the run says of the next file must not take its words as paid."""
    bad, good = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    bad.write_text('{"t": "word1 word2"}\nbad\n')
    good.write_text('{"t": "word1 word3"}\n')
    plan = Plan(options=ReadOptions(fields=("t",)))
    run = Run(opened(Unit.RUN), plan, run_key(None), [bad, good], tmp_path / "out", True)
    result = run.execute()
    assert (len(result.failed), result.totals.draws) == (1, 2)


def test_a_signal_that_ends_as_an_error_of_a_lock_is_no_failed_file(opened, tmp_path, monkeypatch):
    """Interrupted while a lock is taken, its release fails too: the run ends, as by the signal."""
    (tmp_path / "a.txt").write_text("word1\n")

    def interrupted(*_):
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    run = Run(opened(None), Plan(), run_key(None), [tmp_path / "a.txt"], tmp_path / "out", False)
    monkeypatch.setattr(run, "_stream", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.execute()


@pytest.mark.parametrize(
    ("unit", "place", "values"),
    [
        ("record", 1, {"epsilon": 0.0}),  # the first word of a record is always a draw
        ("record", 3, {"epsilon": 1.0}),
        ("record", -1, {"draws": 1}),
        ("file", -2, {"draws": 4}),  # less than the draws of one record
        ("file", -2, {"draws": 1000}),
        ("run", -1, {"draws": 3}),
        ("run", -1, {"draws": 10**6}),
        ("run", 0, {"consistent": None}),
    ],
)
def test_an_audit_that_does_not_add_up(unit, place, values, opened, tmp_path):
    paths = inputs(tmp_path / "in", "csv")
    rewritten(opened(Unit(unit)), plan_of("csv"), paths, tmp_path / "out")
    path = tmp_path / "out" / "audit.jsonl"
    rows = path.read_text().splitlines()
    rows[place] = json.dumps({**json.loads(rows[place]), **values})
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(InputError, match="damaged audit row"):
        read_audit(path)


def test_the_command(dpsan, vectors, tmp_path):
    (tmp_path / "t.txt").write_text("word1 word2 Word1\nword1\n")
    common = "rewrite", "-e", "2", "-m", "krr", "-E", vectors, "--case", "vocabulary"
    for unit, draws in (("record", 3), ("file", 2), ("run", 2)):
        done = dpsan(*common, "--consistent", unit, "t.txt", cwd=tmp_path)
        first, _, third, fourth = done.stdout.decode().split()
        assert first == third
        assert unit == "record" or fourth == first
        said = done.stderr.decode().splitlines()
        assert said[0].startswith(
            f"dpsan: {draws} draws for 4 words by krr, PROVED on integers: LDP epsilon 2"
        )
        where = "the run" if unit == "run" else f"a {unit}"
        assert said[1] == (
            f"dpsan: one draw for each distinct word of {where}: which words are equal (and so "
            "how often each occurs) is not protected"
        )
    pool = dpsan(*common, "--consistent", "run", "--seed", "s", "-j", "2", "t.txt", cwd=tmp_path)
    one = dpsan(*common, "--consistent", "run", "--seed", "s", "t.txt", cwd=tmp_path)
    assert pool.stdout == one.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--consistent", "line"), b"--consistent must be one of record, file, run (got line)"),
        (("--consistent", "run", "-O", "out", "--resume"), b"--consistent run cannot be resumed"),
        (("--consistent", "run", "-m", "tldp", "-p", "tensor=line"), b"cannot share a draw"),
    ],
)
def test_wrong_use(dpsan, vectors, tmp_path, options, message):
    (tmp_path / "t.txt").write_text("word1\n")
    done = dpsan("rewrite", "-e", "2", "-E", vectors, *options, "t.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert not done.stdout


def test_what_can_be_resumed(dpsan, vectors, tmp_path):
    (tmp_path / "t.txt").write_text("word1\n")
    common = "rewrite", "-q", "-e", "2", "-E", vectors, "--resume", "t.txt"
    for at, more in enumerate((["file"], ["run", "--seed", "s"])):
        for _ in range(2):
            done = dpsan(*common, "-O", f"out{at}", "--consistent", *more, cwd=tmp_path)
            assert not done.returncode


def test_a_cache_of_its_own_is_not_needed(vectors, tmp_path):
    """A worker has nothing but its spec and the key that comes with the work."""
    spec = RunSpec(2.0, "krr", embeddings=vectors, consistent=Unit.RUN)
    texts = ["word1 zqx word1"] * 3
    first, second = (
        Sanitizer.from_spec(spec, Store(tmp_path / name)).sanitize(texts, b"k" * 32)
        for name in "ab"
    )
    assert first.lines == second.lines
    assert len(set(first.lines)) == 1
