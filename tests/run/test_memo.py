"""The memo: each message is drawn once, counted once, and comes out as it did then."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import support
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import asked, cases, make_embeddings, run_over

from dpsan import Memo, Sanitizer
from dpsan.analysis.report import read_audit
from dpsan.errors import InputError, OutputError, UsageError
from dpsan.formats.base import ReadOptions
from dpsan.run.audit import read_rows
from dpsan.run.audit.writer import AuditWriter
from dpsan.run.memo_file import NAME
from dpsan.run.plan import Plan
from dpsan.run.records import History
from dpsan.run.stream import _Flow
from dpsan.run.workers import Inline
from dpsan.sanitize.result import Action, Texts

EMBEDDINGS = make_embeddings(n=40, d=4)
WORDS = " ".join(EMBEDDINGS.index_to_key[:12])
"""Equal by chance once in 40^12 draws."""


def made(**more):
    return Sanitizer(**{"mechanism": "krr", "epsilon": 2.0, "embeddings": EMBEDDINGS, **more})


SANITIZER = made()
PIECES = st.sampled_from(["word1", "word2", "nobody", "kept", " ", ", ", ".", "\u200b", "\ud800"])
LINES = st.lists(PIECES, max_size=6).map("".join)


def run_of(folder, memo, chats, *, sanitizer=SANITIZER, **more):
    """A run over files of chats, one for each; its result, and what was written."""
    plan = Plan(options=ReadOptions(fields=("messages[].content",)), **more.pop("plan", {}))
    files = [
        [{"messages": [{"content": text} for text in turn]} for turn in chat] for chat in chats
    ]
    kept = History(memo, limit=more.pop("limit", None))
    result, out = run_over(folder, files, sanitizer, plan, history=kept, **more)
    texts = [[[each["content"] for each in row["messages"]] for row in rows or ()] for rows in out]
    return result, [each for each in texts if each]


def history(*texts):
    """A chat as it is sent: each turn with all messages before it."""
    return [list(texts[:end]) for end in range(1, len(texts) + 1)]


def test_turns_of_a_chat_cost_one_draw_of_each_message(tmp_path):
    texts = [f"{WORDS} word20", f"{WORDS} word21", f"{WORDS} word22"]
    with Memo(tmp_path / "m", SANITIZER) as memo:
        result, (turns,) = run_of(tmp_path / "a", memo, [history(*texts)])
        assert turns == history(*turns[-1])
        assert len(set(turns[-1])) == 3
        assert turns[-1] != texts
        assert (result.totals.draws, result.totals.counts[Action.REMEMBERED]) == (3 * 13, 3 * 13)
    with Memo(tmp_path / "m", SANITIZER) as memo:  # another process, another day
        result, (again,) = run_of(tmp_path / "b", memo, [history(*texts)])
        assert (again, result.totals.draws, result.totals.epsilon_sum) == (turns, 0, 0)
        totals = memo.totals()
    assert (totals.drawn, totals.remembered, totals.messages, totals.draws) == (0, 6, 3, 3)
    assert totals.epsilon == pytest.approx(13 * SANITIZER.guarantee.epsilon_ldp)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(calls=st.lists(st.lists(LINES, max_size=5), max_size=4))
def test_equal_messages_are_equal_and_everything_else_is_counted(calls, tmp_path_factory):
    sanitizer = made(keep=["kept"])
    seen = {}
    with Memo(tmp_path_factory.mktemp("memo") / "m", sanitizer) as memo:
        for texts in calls:
            fresh = sanitizer.sanitize(texts, b"k" * 32, audit=True)
            batch = Texts(texts, b"k" * 32, range(len(texts)), True)
            pending = memo.submit(Inline(sanitizer), batch)
            with memo.turn():
                done = pending.result()
                memo.store(pending, done)
            assert [seen.setdefault(*pair) for pair in zip(texts, done.lines, strict=True)] == (
                done.lines
            )
            drawn, now = (
                each.counts[Action.DRAWN] + each.counts[Action.UNKNOWN] for each in (fresh, done)
            )
            assert now == sum(done.drawn) == drawn - done.counts[Action.REMEMBERED]
            assert done.counts[Action.KEPT] == fresh.counts[Action.KEPT]
            assert done.invisible == fresh.invisible
            # The rows of the audit are those of the words that were drawn now.
            assert len(done.records.sizes) == len(texts)
            starts = support.written_at(done.records).tolist()
            for row, at in zip(support.audit_rows(done.records), starts, strict=True):
                assert row.record not in done.remembered
                assert done.lines[row.record][at : at + len(row.output)] == row.output
        draws = [sanitizer.survey(Texts([text], b"", [0])).drawn[0] for text in seen]
        totals = memo.totals()
        assert totals.draws == totals.messages == sum(each > 0 for each in draws)
        assert totals.epsilon == sanitizer.accountant().composed(max([0, *draws])).epsilon


def test_nobody_who_reads_a_memo_can_test_guesses_of_its_messages(tmp_path):
    """Digests are keyed: those of one message in two memos have nothing in common."""
    seen = []
    for name in ("one", "two"):
        with Memo(tmp_path / name, SANITIZER) as memo:
            memo.rewrite([f"{WORDS} word20"])
        seen += asked(tmp_path / name / NAME, "SELECT message, settings FROM entries")
    (first, second) = seen
    assert first[0] != second[0]
    assert first[1] != second[1]
    assert len(first[0]) == 32  # two of one digest would share an output


def test_nothing_depends_on_batches(tmp_path):
    """Neither what is written of messages, nor the audit's rows of those that come again."""
    chats = [[[f"{WORDS} {end}"] * 2 for end in range(5)] + [["...", "", f"{WORDS} 2"]]]
    found = []
    for batch in (1, 2, 1000):
        path, folder = tmp_path / f"audit-{batch}", tmp_path / str(batch)
        with (
            Memo(folder / "m", SANITIZER) as memo,
            AuditWriter(path, SANITIZER, Plan(memo=True)) as audit,
        ):
            result, _ = run_of(folder, memo, chats, plan={"batch": batch}, audit=audit)
        rows = [row for _, row in read_rows(path)]
        assert rows[0]["not_protected"][-1] == "which messages are equal"
        shape = [(row["type"], row.get("line"), row.get("text")) for row in rows]
        found.append((result.totals.counts, shape))
        report = read_audit(path)  # adds up
        assert report["files"][0]["draws"] == result.totals.draws == 5 * 13
        assert report["files"][0]["remembered"] == 6 * 13
    assert found[0] == found[1] == found[2]


def test_a_damaged_row_of_an_audit_is_refused(tmp_path):
    path = tmp_path / "audit"
    with Memo(tmp_path / "m", SANITIZER) as memo, AuditWriter(path, SANITIZER) as audit:
        run_of(tmp_path / "a", memo, [[[WORDS, WORDS]]], audit=audit)
    data = path.read_bytes()
    (at,) = [at for at, row in enumerate(data.splitlines()) if b'"type":"remembered"' in row]
    for values, what in (
        ({"remembered": 11}, "the words before it do not add up"),
        ({"kept": None}, "kept is of another type"),
    ):
        path.write_bytes(data)
        support.change_row(path, at, values)
        with pytest.raises(InputError, match=what):
            read_audit(path)


def test_other_settings_are_another_draw_and_add_up(tmp_path):
    other = made(epsilon=3.0)
    with Memo(tmp_path / "m", SANITIZER) as memo:
        first = memo.rewrite(WORDS)
    with Memo(tmp_path / "m", other) as memo:
        second = memo.rewrite(WORDS)
        totals = memo.totals()
    with Memo(tmp_path / "m", SANITIZER) as memo:
        assert memo.rewrite(WORDS) == first != second
    assert (totals.messages, totals.draws) == (1, 2)
    both = 12 * (SANITIZER.guarantee.epsilon_ldp + other.guarantee.epsilon_ldp)
    assert totals.epsilon == pytest.approx(both)


def test_a_budget_pays_for_draws_only_and_what_it_refuses_is_not_remembered(tmp_path):
    texts = ["word1 word2", "word3 word4", "word5 word6 word7"]
    enough = 2 * SANITIZER.guarantee.epsilon_ldp
    with Memo(tmp_path / "m", SANITIZER) as memo:
        result, _ = run_of(tmp_path / "a", memo, [history(*texts)], limit=enough)
        assert len(result.failed) == 1
        assert "0.jsonl:3: the budget refuses this record" in result.failed[0]
        assert memo.totals().draws == 2
        result, _ = run_of(tmp_path / "b", memo, [history(*texts)], limit=2 * enough)
        assert not result.failed
        result, _ = run_of(tmp_path / "c", memo, [history(*texts)], limit=enough / 9)
        assert not result.failed
        assert memo.totals().draws == 3


def test_whoever_stores_first_wins(tmp_path):
    """Both have drawn before either stores: the second writes what the first did."""
    with Memo(tmp_path / "m", SANITIZER) as one, Memo(tmp_path / "m", SANITIZER) as two:
        slow = one.submit(Inline(SANITIZER), Texts([WORDS, "word7"], b"1" * 32, range(2), True))
        drawn = slow.futures[0].result().lines[0]
        quick = two.rewrite(WORDS)
        assert drawn != quick
        with one.turn():
            done = slow.result()
            one.store(slow, done)
        assert (done.lines[0], done.drawn, done.counts[Action.REMEMBERED]) == (quick, [0, 1], 12)
        assert [row.record for row in support.audit_rows(done.records)] == [1]
        assert one.totals().draws == two.totals().draws == 2


def test_what_was_stored_and_never_written_is_written_later(tmp_path, monkeypatch):
    """Killed between the two: nothing is published that the memo does not hold."""

    def killed(*_):
        raise KeyboardInterrupt

    with Memo(tmp_path / "m", SANITIZER) as memo:
        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            patch.setattr(_Flow, "_write", killed)
            run_of(tmp_path / "a", memo, [[[WORDS]]])
        assert memo.totals().draws == 1
        result, _ = run_of(tmp_path / "b", memo, [[[WORDS]]])
        assert (result.totals.draws, memo.totals().draws) == (0, 1)


def test_threads_of_a_server_share_a_memo(tmp_path):
    """Every thread gets the first output of a message; each message is drawn once."""
    texts = [f"{WORDS} {end}" for end in range(12)]
    with Memo(tmp_path / "m", SANITIZER) as memo, ThreadPoolExecutor(4) as pool:
        outputs = [*pool.map(memo.rewrite, texts * 8)]
        assert len({*zip(texts * 8, outputs, strict=True)}) == len(texts)
        assert (memo.totals().draws, memo.totals().messages) == (len(texts), len(texts))
    with Memo(tmp_path / "m", SANITIZER) as memo:
        assert memo.rewrite(texts) == outputs[: len(texts)]


def test_a_commit_is_on_the_disk_and_a_full_disk_publishes_nothing(tmp_path):
    with Memo(tmp_path / "m", SANITIZER) as memo:
        for name, value in (("synchronous", 3), ("secure_delete", 1), ("journal_mode", "delete")):
            assert memo._ask(f"PRAGMA {name}") == [(value,)]
        first = memo.rewrite(WORDS)
        ((pages,),) = memo._ask("PRAGMA page_count")
        memo._ask(f"PRAGMA max_page_count={pages}")
        result, _ = run_of(tmp_path / "a", memo, [[[f"{WORDS} {end}" for end in range(60)]]])
        assert result.failed == [f"{tmp_path}/m/{NAME}: cannot be used: no space left on device"]
        assert not (tmp_path / "a" / "out" / "0.jsonl").exists()
        assert memo.totals().draws == 1  # all or nothing
        assert memo.rewrite(WORDS) == first


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A memo, and what it remembers."""
    folder = tmp_path_factory.mktemp("whole") / "m"
    texts = [f"{WORDS} {end}" for end in range(8)]
    with Memo(folder, SANITIZER) as memo:
        outputs = memo.rewrite(texts)
    return (folder / NAME).read_bytes(), dict(zip(texts, outputs, strict=True))


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(at=st.integers(0, 1 << 20), flip=st.integers(0, 255))
def test_no_damage_goes_unnoticed(whole, at, flip, tmp_path_factory):
    data, remembered = whole
    folder = tmp_path_factory.mktemp("broken")
    folder.chmod(0o700)
    support.write_damaged(folder / NAME, data, at, flip)
    with suppress(OutputError), Memo(folder, SANITIZER) as memo:
        assert memo.rewrite([*remembered]) == [*remembered.values()]
        assert memo.totals().draws == 8


@cases(
    "spoil told",
    (lambda path: path.write_bytes(b""), "empty"),
    (lambda path: path.write_bytes(b"no database" * 99), "not a memo of dpsan"),
    (lambda path: path.chmod(0o640), "others may read it"),
    (lambda path: path.chmod(0o620), "other users may write to it"),
    (lambda path: path.parent.chmod(0o777), "is open to other users"),
    (lambda path: path.rename(path.with_name("x")).with_name(NAME).symlink_to("x"), "symbolic"),
    (lambda path: (path.unlink(), path.mkdir()), "is a directory"),
    (lambda path: path.with_name("x").hardlink_to(path), "has other names"),
    (lambda path: os.mkfifo(f"{path}-journal"), "not a regular file"),
    (lambda path: Path(f"{path}-journal").symlink_to(NAME), "journal: is a symbolic"),
    (lambda path: asked(path, "PRAGMA user_version=2"), "of another version than 1"),
    (lambda path: asked(path, "PRAGMA application_id=2"), "not a memo of dpsan"),
    (lambda path: asked(path, "DROP TABLE entries"), "damaged"),
    (lambda path: asked(path, "DELETE FROM own"), "damaged"),
    (lambda path: asked(path, "DELETE FROM entries"), "damaged"),
    (lambda path: asked(path, "UPDATE entries SET output = 'x'"), "damaged"),
    (lambda path: asked(path, "UPDATE entries SET epsilon = 0"), "damaged"),
    (lambda path: asked(path, "UPDATE own SET key = zeroblob(32)"), "damaged"),
    (lambda path: path.write_bytes(path.read_bytes().replace(b"TE T", b"\xd4E T")), "damaged"),
)
def test_what_is_not_ours_alone_or_not_a_memo_is_refused(spoil, told, tmp_path):
    path = tmp_path / "m" / NAME
    with Memo(path.parent, SANITIZER) as memo:
        memo.rewrite(WORDS)
    spoil(path)
    with pytest.raises(OutputError, match=told) as caught:
        Memo(path.parent, SANITIZER)
    assert "word1" not in str(caught.value)


def test_a_directory_that_has_other_files_or_readers_becomes_no_memo(tmp_path, dpsan):
    """It may be that of the inputs; what came beside a memo later is let be."""
    folder = tmp_path / "m"
    folder.mkdir(0o700)
    (folder / "notes.txt").write_text("Maria\n")
    with pytest.raises(OutputError, match=r"m: has other files.*\(--memo .*m/memo\)"):
        Memo(folder, SANITIZER)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    folder.chmod(0o755)
    line = ["rewrite", "--only", "names", "--memo", "m"]
    done = dpsan(*line, stdin=b"Maria met us.\n", cwd=tmp_path, status=1)
    assert done.stderr == b"dpsan: m: is open to other users (chmod 700 m)\n"
    assert not [*folder.iterdir()]
    folder.chmod(0o700)
    with Memo(folder, SANITIZER) as memo:
        memo.rewrite(WORDS)
    (folder / ".DS_Store").touch()
    Memo(folder, SANITIZER).close()


def test_another_owner_is_refused(tmp_path, monkeypatch):
    Memo(tmp_path / "m", SANITIZER).close()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(OutputError, match="it belongs to another user"):
        Memo(tmp_path / "m", SANITIZER)


def test_a_run_that_holds_it_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("dpsan.files.private_database._LOCK_SECONDS", 0.0)
    with Memo(tmp_path / "m", SANITIZER) as one, Memo(tmp_path / "m", SANITIZER) as two:
        with one.turn(), pytest.raises(OutputError, match="another run uses it"):
            two.rewrite(WORDS)
        assert two.rewrite(WORDS) == one.rewrite(WORDS)


def test_python_refuses_what_cannot_be(tmp_path):
    for more, told in (({"seed": 1}, "excludes a seed"), ({"consistent": "record"}, "whole mess")):
        with pytest.raises(UsageError, match=told):
            Memo("nowhere", made(**more))
    assert not Path("nowhere").exists()
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file/m: cannot use: Not a directory"):
        Memo(tmp_path / "file" / "m", SANITIZER)


def test_python_takes_strings_alone(tmp_path):
    with Memo(tmp_path / "m", SANITIZER) as memo:
        assert memo.rewrite([]) == []
        assert memo.rewrite(word for word in ["...", ""]) == ["...", ""]
        for other in (["word1", None], [b"word1"]):
            with pytest.raises(TypeError, match="must be strings"):
                memo.rewrite(other)
        assert memo.totals().draws == 0


def test_the_command(dpsan, tmp_path):
    rows = [{"messages": [{"content": each} for each in turn]} for turn in history("1 a", "2 a")]
    (tmp_path / "chat.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    support.write_vectors(tmp_path / "words.txt", EMBEDDINGS)
    line = ["rewrite", "-e", "2", "-m", "krr", "-E", "words.txt", "--memo", "new/m"]
    chat = ["-k", "messages[].content", "chat.jsonl"]
    done = [dpsan(*line, *chat, cwd=tmp_path) for _ in range(2)]
    assert [each.returncode for each in done] == [0, 0], done[1].stderr
    assert done[0].stdout == done[1].stdout
    assert (
        b"memo: 2 messages drawn now, 1 remembered at no cost; over its life 2 messages drawn once "
        b"each, LDP epsilon 4 for one of them at most; which messages are equal is not protected"
    ) in done[0].stderr
    assert b"for what was drawn now of the whole text" in done[0].stderr
    assert b"memo: 0 messages drawn now, 3 remembered at no cost" in done[1].stderr
    for path, mode in (("new", 0o700), ("new/m", 0o700), (f"new/m/{NAME}", 0o600)):
        assert (tmp_path / path).stat().st_mode & 0o777 == mode
    assert os.listdir(tmp_path / "new" / "m") == [NAME]
    for more, told in (
        (["--seed", "1"], b"--memo excludes --seed (what it holds must stay private)"),
        (["--engine", "ray", "-O", "x"], b"--engine ray excludes --audit, --budget"),
        (["-o", f"new/m/{NAME}", "--force"], b"are the same file"),
    ):
        done = dpsan(*line, *chat, *more, cwd=tmp_path)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("unit", [[], ["--unit", "a"]])
def test_other_options_draw_again_and_say_so(dpsan, tmp_path, unit):
    """Also with -q: two outputs tell more than one."""
    (tmp_path / "in.txt").write_text("one two\nthree\n")
    line = ("rewrite", "-q", "-m", "krr", "--vocab-size", "100", "--memo", "m", *unit, "in.txt")
    for epsilon, many in (("2", 0), ("2", 0), ("4", 1 if unit else 2), ("4", 0), ("2", 0)):
        done = dpsan(*line, "-e", epsilon, cwd=tmp_path, status=0)
        told = f"drawn again, under other options, messages or units that the memo has: {many};"
        assert (told.encode() in done.stderr) == (many > 0)
        assert (b"drawn again" in done.stderr) == (many > 0)
