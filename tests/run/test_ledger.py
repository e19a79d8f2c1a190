"""The ledger: what a record has cost in all runs: never too little, never beyond the limit."""

import os
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import asked, make_embeddings, run_over, started, write_damaged, write_vectors

from dpsan import Memo, Sanitizer
from dpsan.errors import OutputError
from dpsan.formats.base import ReadOptions
from dpsan.privacy.guarantee import Loss
from dpsan.run.plan import Plan
from dpsan.run.records import History, Ledger
from dpsan.run.side_outputs import BadRecords
from dpsan.run.stream import _Flow
from dpsan.sanitize.statement import Statement

EMBEDDINGS = make_embeddings(n=40, d=4)
COSTS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 4)), max_size=6)
PLAN = Plan(options=ReadOptions(fields=("t", "u?")))


def made(mechanism="krr", **more):
    return Sanitizer(mechanism, embeddings=EMBEDDINGS, **{"epsilon": 2.0, **more})


SANITIZER = made()


def run_of(folder, files, ledger, *, sanitizer=SANITIZER, memo=None, aside=None, **more):
    """A run over files of records; its result, and the rows that were written of each."""
    plan = replace(PLAN, **more.pop("plan", {}))
    if aside:
        plan = replace(plan, options=replace(plan.options, reject=aside))
    history = History(memo, ledger, ledger and ledger.limit, plan.options.reject)
    return run_over(folder, files, sanitizer, plan, history=history, **more)


def rows(*texts):
    return [{"t": text} for text in texts]


def sums(path):
    return asked(path, "SELECT epsilon, delta FROM records ORDER BY epsilon")


def test_runs_add_up_until_a_record_has_had_enough(tmp_path):
    path = tmp_path / "ledger"
    files = [rows("word1 word2", "word3"), rows("word4", "word1 word2"), rows("word5", "...")]
    with Ledger(path, 8.0) as ledger:  # word1 word2 costs 4 each time, and comes twice
        result, written = run_of(tmp_path / "a", files, ledger)
        assert not result.failed
        assert [len(lines) for lines in written] == [2, 2, 2]
    assert [epsilon for epsilon, _ in sums(path)] == pytest.approx([2, 2, 2, 8])
    with Ledger(path, 8.0) as ledger:
        result, written = run_of(tmp_path / "b", files, ledger)
        assert [lines and len(lines) for lines in written] == [None, None, 2]
        assert [line.removeprefix(f"{tmp_path}/b/") for line in result.failed] == [
            f"{name}.jsonl:{line}: the ledger refuses this record: it would cost more than 8 in "
            "all (a larger --budget; --dry-run without one tells the cost)"
            for name, line in (("0", 1), ("1", 2))
        ]
        totals = ledger.totals()
    assert (totals.records, totals.charged, totals.limit) == (4, 2, 8.0)
    # What is before a refused record has paid, and is not written.
    assert [epsilon for epsilon, _ in totals.largest] == pytest.approx([8, 4, 4, 2])
    assert Statement(result.totals, "krr", 0.0, ledger=totals).lines(verbose=True)[1] == (
        "ledger: 2 records paid for now, 4 records in all; largest sums of at most 8 each: LDP "
        "epsilon 8, 4, 4, 2"
    )


def test_nobody_who_reads_a_ledger_can_test_guesses_of_its_records(tmp_path):
    """Digests are keyed: those of one record in two ledgers have nothing in common."""
    digests = []
    for name in ("one", "two"):
        path = tmp_path / name
        with Ledger(path) as ledger:
            run_of(tmp_path / f"{name}.d", [rows("word1 word2")], ledger)
            digests.append(ledger.digest(["word1 word2"]))
        assert asked(path, "SELECT record FROM records") == [(digests[-1],)]
    assert digests[0] != digests[1]


def test_the_fields_of_a_record_are_one_sum(tmp_path):
    with Ledger(tmp_path / "ledger") as ledger:
        run_of(tmp_path / "a", [[{"t": "word1", "u": "word2 word3"}, {"t": "word1"}]], ledger)
        one, two = ledger.digest(["word1", "word2 word3"]), ledger.digest(["word1"])
        assert ledger.spent(one)[0] == pytest.approx(6)
        assert ledger.spent(two)[0] == pytest.approx(2)
        assert ledger.spent(ledger.digest(["word1word2 word3"])) == (0, 0)
        assert ledger.spent(ledger.digest([])) == (0, 0)


CASES: dict = {"copies": (SANITIZER, {"copies": 3}, (18, 0))}
CASES |= {unit: (made(consistent=unit), {}, (4, 0)) for unit in ("record", "run")}
CASES |= {"delta": (made("gaussian", parameters={"delta": 1e-6}), {}, (None, 3e-6))}


@pytest.mark.parametrize("case", CASES)
def test_the_cost_of_a_record_is_that_of_the_statement(case, tmp_path):
    sanitizer, plan, cost = CASES[case]
    with Ledger(tmp_path / "ledger") as ledger:
        files = [rows("word1 word2 word1")]
        result, _ = run_of(tmp_path / "a", files, ledger, sanitizer=sanitizer, plan=plan)
        told = result.totals.composed(plan.get("copies", 1) * result.totals.largest_record)
        spent = ledger.spent(ledger.digest(["word1 word2 word1"]))
    assert spent == pytest.approx((told.epsilon, told.delta))
    assert spent == pytest.approx((cost[0] or told.epsilon, cost[1]))


def test_what_has_no_finite_cost_is_refused_under_a_limit(tmp_path):
    sanitizer = made("santext-plus", allow_unproved=True)
    assert sanitizer.guarantee.epsilon_ldp == float("inf")
    with Ledger(tmp_path / "ledger") as ledger:
        assert not run_of(tmp_path / "a", [rows("word1")], ledger, sanitizer=sanitizer)[0].failed
    with Ledger(tmp_path / "ledger", 1e9) as ledger:
        assert run_of(tmp_path / "b", [rows("word2")], ledger, sanitizer=sanitizer)[0].failed
        result, _ = run_of(tmp_path / "c", [rows("word1")], ledger)
        assert result.failed
        (told,) = Statement(result.totals, "krr", 0.0, ledger=ledger.totals()).lines()
        assert told.endswith("each: LDP epsilon without bound")


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(batches=st.lists(COSTS, max_size=6), limit=st.none() | st.integers(1, 9))
def test_sums_are_never_too_small_and_never_beyond_the_limit(batches, limit, tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "l"
    model = Counter()
    for batch in batches:
        with Ledger(path, limit) as ledger:  # opened anew: every sum is read and checked
            records = [ledger.digest([name]) for name, _ in batch]
            costs = [Loss(float(cost), cost / 64) for _, cost in batch]
            with ledger.turn():
                refused = set(ledger.refused(records, costs))
                kept = [at for at in range(len(batch)) if at not in refused]
                ledger.charge([records[at] for at in kept], [costs[at] for at in kept])
            for at, (name, cost) in enumerate(batch):
                over = limit is not None and cost > 0 and model[name] + cost > limit
                assert (at in refused) == over
                model[name] += 0 if over else cost
            for name in "abcd":
                spent = ledger.spent(ledger.digest([name]))
                assert spent == (model[name], min(1.0, model[name] / 64))
                assert limit is None or spent[0] <= limit
            assert ledger.totals().records == len(+model)


@pytest.mark.parametrize("batch", [1, 1000])
def test_refused_records_are_set_aside(batch, tmp_path):
    told = []
    files = [rows("word1 word2", "word3", "word1 word2", "word4")]
    bad = BadRecords(tmp_path / "bad", force=False, complain=told.append)
    with Ledger(tmp_path / "ledger", 4.0) as ledger, bad:
        result, (lines,) = run_of(tmp_path / "a", files, ledger, aside=bad, plan={"batch": batch})
    assert not result.failed
    assert len(lines) == result.totals.records == 3
    assert (tmp_path / "bad").read_text() == '{"t": "word1 word2"}\n'
    assert len(told) == bad.of_input.total() == 1
    assert ":3: the ledger refuses this record" in told[0]


def test_what_the_memo_remembers_costs_nothing(tmp_path):
    files = [rows("word1 word2", "word3")]
    for name in "ab":
        with Ledger(tmp_path / "l", 4.0) as ledger, Memo(tmp_path / "m", SANITIZER) as memo:
            result, _ = run_of(tmp_path / name, files, ledger, memo=memo)
            assert not result.failed
            assert ledger.totals().charged == (2 if name == "a" else 0)
    assert [epsilon for epsilon, _ in sums(tmp_path / "l")] == pytest.approx([2, 4])


def test_a_message_pays_where_it_is_drawn(tmp_path):
    """The record in which it came first is set aside: then the next one draws it, and may pay."""
    first = {"t": "word1 word2", "u": "word3 word4"}
    files = [[first, {"t": "word1 word2", "u": "word5 word6"}, {"t": "word1 word2"}]]
    bad = BadRecords(tmp_path / "bad", force=False, complain=lambda _: None)
    with Ledger(tmp_path / "l", 6.0) as ledger, Memo(tmp_path / "m", SANITIZER) as memo, bad:
        _, (lines,) = run_of(tmp_path / "a", files, ledger, memo=memo, aside=bad)
        assert (len(lines), bad.of_input.total()) == (1, 2)
        assert ledger.spent(ledger.digest(["word1 word2"]))[0] == pytest.approx(4)
        assert memo.totals().draws == 1


def test_the_ledger_is_on_the_disk_first(tmp_path, monkeypatch):
    """Then the memo, then the output: killed in between, nothing has cost too little."""
    path = tmp_path / "l"

    def killed(line, *more):
        if line == "COMMIT" or isinstance(line, _Flow):
            assert [epsilon for epsilon, _ in sums(path)] == pytest.approx([2])
            raise KeyboardInterrupt
        return real(line, *more)

    with Ledger(path) as ledger, Memo(tmp_path / "m", SANITIZER) as memo:
        real = memo._ask
        monkeypatch.setattr(memo, "_ask", killed)
        with pytest.raises(KeyboardInterrupt):
            run_of(tmp_path / "a", [rows("word1")], ledger, memo=memo)
        monkeypatch.undo()
        assert (ledger.totals().records, memo.totals().draws) == (1, 0)
    path = tmp_path / "l2"
    with Ledger(path) as ledger, monkeypatch.context() as patch:
        patch.setattr(_Flow, "_write", killed)
        with pytest.raises(KeyboardInterrupt):
            run_of(tmp_path / "b", [rows("word1")], ledger)


def test_two_processes_pay_for_each_record_once_where_there_is_enough_for_one(tmp_path, cache):
    write_vectors(tmp_path / "words.txt", EMBEDDINGS)
    (tmp_path / "in.txt").write_text("".join(f"word1 word{at}\n" for at in range(2, 42)))
    tmp_path.chmod(0o700)
    more = ["-E", "words.txt", "--ledger", "l", "--budget", "4", "--line-buffered", "in.txt"]
    command = ("rewrite", "-q", "-e2", "-m", "krr", *more)
    how = {"cwd": tmp_path, "env": {**os.environ, "DPSAN_CACHE_DIR": str(cache)}}
    with started(*command, **how) as one, started(*command, **how) as other:
        done = [each.communicate(timeout=300) for each in (one, other)]
    assert sorted((one.returncode, other.returncode)) == [0, 1], done
    assert sorted(out.count(b"\n") for out, _ in done) == [0, 40]
    assert [said for _, said in done if said] == [
        b"dpsan: in.txt:1: the ledger refuses this record: it would cost more than 4 in all "
        b"(a larger --budget; --dry-run without one tells the cost)\n"
    ]
    assert [round(epsilon) for epsilon, _ in sums(tmp_path / "l")] == [4] * 40
    assert (tmp_path / "l").stat().st_mode & 0o777 == 0o600


MANY = 120  # more than a page of the file
CHANGES = {"PRAGMA user_version=9": "a ledger of another version than 1"}
CHANGES |= {"PRAGMA application_id=9": "not a ledger of dpsan"}  # such as a memo
CHANGES |= dict.fromkeys(["UPDATE records SET epsilon = 0", "DELETE FROM records"], "damaged")
CHANGES |= {"UPDATE own SET totals = '{}'": "damaged"}
CHANGES |= {"UPDATE own SET key = zeroblob(32)": "damaged"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "l"
    with Ledger(path) as ledger, ledger.turn():
        records = [ledger.digest([str(number)]) for number in range(MANY)]
        ledger.charge(records, [Loss(float(number + 1), 0.25) for number in range(MANY)])
    return path.read_bytes()


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(at=st.integers(0, 1 << 20), flip=st.integers(0, 255))
def test_no_damage_makes_a_sum_smaller(whole, at, flip, tmp_path_factory):
    path = write_damaged(tmp_path_factory.mktemp("broken") / "l", whole, at, flip)
    with suppress(OutputError), Ledger(path) as ledger:
        for number in range(MANY):
            assert ledger.spent(ledger.digest([str(number)])) == (number + 1, 0.25)


@pytest.mark.parametrize(("line", "told"), CHANGES.items())
def test_a_changed_ledger_is_refused(line, told, whole, tmp_path):
    path = write_damaged(tmp_path / "l", whole + b" ", -1, 0)  # as it is
    asked(path, line)
    with pytest.raises(OutputError, match=told):
        Ledger(path)


MINE = b"word1 word2, my only copy"
SIDES = [("x-journal", 0o600, False), ("x-journal", 0o600, True)]
SIDES += [("x-wal", 0o600, True), ("x-shm", 0o644, False)]


@pytest.fixture
def command(dpsan, tmp_path):
    """``dpsan rewrite`` with a ledger x, and what the folder holds afterwards."""
    write_vectors(tmp_path / "words", EMBEDDINGS)
    (tmp_path / "in.txt").write_text("word1 word2\n")

    def run(*arguments):
        fixed = ["rewrite", "-e", "2", "-m", "krr", "-E", "words", "--ledger", "x"]
        done = dpsan(*fixed, *arguments, cwd=tmp_path)
        return done, {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}

    return run


def test_the_command(command):
    done, _ = command("in.txt", "--budget", "6")
    assert done.returncode == 0
    assert b"ledger: 1 record paid for now, 1 record in all; largest sum of" in done.stderr
    done, found = command("in.txt", "--budget", "6", "-o", "out.txt")
    assert (done.returncode, "out.txt" in found) == (1, False)
    assert b"dpsan: in.txt:1: the ledger refuses this record: it would cost" in done.stderr
    excluded = {"--seed 1": b"--ledger excludes --seed", "-o x --force": b"are the same file"}
    for more, told in excluded.items():
        done, _ = command(*more.split(), "in.txt")
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(("side", "mode", "there"), SIDES)
def test_a_file_that_is_called_like_a_side_file_of_the_ledger_is_never_deleted(
    command, tmp_path, side, mode, there
):
    if there:
        command("in.txt")
    (tmp_path / side).write_bytes(MINE)
    (tmp_path / side).chmod(mode)
    for line in (
        "in.txt", side, f"-i {side}", f"-o {side} --force in.txt", f"-a {side} --force in.txt",
        f"--keep {side} in.txt",
    ):  # fmt: skip
        done, found = command(*line.split())
        assert (done.returncode, found[side]) == (1 if line == "in.txt" else 2, MINE), line
        (told,) = done.stderr.decode().splitlines()
        assert side in told
        assert "chmod" not in told
        assert ("x" in found) == there


@pytest.mark.parametrize("act", ["removed", "replaced"])
def test_a_ledger_that_is_removed_during_a_run_ends_it(tmp_path, act):
    path = tmp_path / "x"
    with Ledger(path) as ledger:
        run_of(tmp_path / "a", [rows("word1")], ledger)
        path.unlink()
        if act == "replaced":
            Ledger(path).close()
        result, written = run_of(tmp_path / "b", [rows("word2")], ledger)
        (line,) = result.failed
        assert written == [None]
        assert "was removed, moved or replaced while this run used it" in line
        with pytest.raises(OutputError, match="replaced"), ledger.turn():
            pass
    if act == "replaced":
        assert sums(path) == []
        path.unlink()
    with Ledger(path) as ledger, pytest.raises(OutputError, match="removed"), ledger.turn():
        path.unlink()  # while costs are written


def test_what_a_run_leaves_that_is_killed_while_it_makes_a_ledger_is_removed(tmp_path):
    path, left = tmp_path / "x", tmp_path / f".x.{'0' * 16}.tmp"
    left.write_bytes(b"")  # killed before the ledger had its name
    Ledger(path).close()
    left.hardlink_to(path)  # killed when it had both names
    Ledger(path).close()
    assert [each.name for each in tmp_path.iterdir()] == ["x"]
