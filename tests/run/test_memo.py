"""The memo: each message is drawn once, counted once, and comes out as it did then."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import make_embeddings, written_at

from dpsan import Memo, Sanitizer
from dpsan.analysis.report import read_audit
from dpsan.errors import InputError, OutputError, UsageError
from dpsan.formats.base import ReadOptions
from dpsan.run.audit import AuditWriter, read_rows
from dpsan.run.dry_run import DryRun
from dpsan.run.memo import NAME
from dpsan.run.records import History
from dpsan.run.run import Run
from dpsan.run.stream import Plan
from dpsan.run.workers import Batch, Inline
from dpsan.sanitize.accountant import Budget
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import run_key
from dpsan.sanitize.statement import Statement

EMBEDDINGS = make_embeddings(n=40, d=4)
WORDS = " ".join(EMBEDDINGS.index_to_key[:12])
"""Equal by chance once in 40^12 draws."""


def made(**more):
    more = {"epsilon": 2.0, "embeddings": EMBEDDINGS, **more}
    return Sanitizer(more.pop("mechanism", "krr"), **more)


SANITIZER = made()
LINES = st.lists(
    st.sampled_from(["word1", "word2", "nobody", "kept", " ", ", ", ".", "\u200b", "\ud800"]),
    max_size=6,
).map("".join)


def run_of(folder, memo, chats, *, sanitizer=SANITIZER, name="out", kind=Run, **more):
    """A run over files of chats, one for each; its result, and what was written."""
    folder.mkdir(exist_ok=True)
    inputs = []
    for number, chat in enumerate(chats):
        inputs.append(folder / f"{number}.jsonl")
        rows = [{"messages": [{"content": text} for text in turn]} for turn in chat]
        inputs[-1].write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    plan = Plan(options=ReadOptions(fields=("messages[].content",)), **more.pop("plan", {}))
    run = kind(sanitizer, plan, run_key(None), inputs, folder / name, tree=True, **more)
    run.history = History(memo)
    result = run.execute()
    written = [
        [
            [message["content"] for message in json.loads(line)["messages"]]
            for line in (folder / name / path.name).read_text().splitlines()
        ]
        for path in inputs
        if (folder / name / path.name).exists() or not result.failed
        if kind is Run
    ]
    return result, written


def history(*texts):
    """A chat as it is sent: each turn with all messages before it."""
    return [list(texts[:end]) for end in range(1, len(texts) + 1)]


# --- what it is for --------------------------------------------------------------------------


def test_turns_of_a_chat_cost_one_draw_of_each_message(tmp_path):
    texts = [f"{WORDS} word20", f"{WORDS} word21", f"{WORDS} word22"]
    with Memo(tmp_path / "m", SANITIZER) as memo:
        result, (turns,) = run_of(tmp_path / "a", memo, [history(*texts)])
        assert turns == history(*turns[-1])
        assert len(set(turns[-1])) == 3
        assert turns[-1] != texts
        assert result.totals.draws == 3 * 13
        assert result.totals.counts[Action.REMEMBERED] == 3 * 13
    with Memo(tmp_path / "m", SANITIZER) as memo:  # another process, another day
        result, (again,) = run_of(tmp_path / "b", memo, [history(*texts)])
        assert again == turns
        assert (result.totals.draws, result.totals.epsilon_sum) == (0, 0)
        totals = memo.totals()
    assert (totals.drawn, totals.remembered, totals.messages, totals.draws) == (0, 6, 3, 3)
    assert totals.epsilon == pytest.approx(13 * SANITIZER.guarantee.epsilon_ldp)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(calls=st.lists(st.lists(LINES, max_size=5), max_size=4))
def test_equal_messages_are_equal_and_everything_else_is_counted(calls, tmp_path_factory):
    sanitizer = made(keep=["kept"])
    folder = tmp_path_factory.mktemp("memo") / "m"
    seen = {}
    with Memo(folder, sanitizer) as memo:
        for texts in calls:
            fresh = sanitizer.sanitize(texts, b"k" * 32, audit=True)
            pending = memo.submit(
                Inline(sanitizer), Batch(texts, b"k" * 32, range(len(texts)), True)
            )
            with memo.turn():
                done = pending.result()
                memo.store(pending, done)
            assert [seen.setdefault(*pair) for pair in zip(texts, done.lines, strict=True)] == (
                done.lines
            )
            drawn = sum(fresh.counts[each] for each in (Action.DRAWN, Action.UNKNOWN))
            now = sum(done.counts[each] for each in (Action.DRAWN, Action.UNKNOWN))
            assert now == sum(done.drawn) == drawn - done.counts[Action.REMEMBERED]
            assert done.counts[Action.KEPT] == fresh.counts[Action.KEPT]
            assert done.invisible == fresh.invisible
            # The rows of the audit are those of the words that were drawn now.
            assert len(done.records.sizes) == len(texts)
            for row in done.records:
                assert row.record not in done.remembered
                line = done.lines[row.record]
                at = written_at(done.records)[list(done.records).index(row)]
                assert line[at : at + len(row.output)] == row.output
        once = [text for text in seen if sanitizer.survey(text).drawn != [0]]
        assert memo.totals().draws == memo.totals().messages == len(once)
        most = max((sanitizer.survey(text).drawn[0] for text in once), default=0)
        assert memo.totals().epsilon == sanitizer.accountant().composed(most).epsilon


def test_nobody_who_reads_a_memo_can_test_guesses_of_its_messages(tmp_path):
    """Digests are keyed: those of one message in two memos have nothing in common."""
    seen = []
    for name in ("one", "two"):
        with Memo(tmp_path / name, SANITIZER) as memo:
            memo.rewrite([f"{WORDS} word20"])
        base = sqlite3.connect(tmp_path / name / NAME)
        seen += base.execute("SELECT message, settings FROM entries").fetchall()
        base.close()
    (first, second) = seen
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_nothing_depends_on_batches(tmp_path):
    """Neither what is written of messages, nor the audit's rows of those that come again."""
    chats = [[[f"{WORDS} {end}"] * 2 for end in range(5)] + [["...", "", f"{WORDS} 2"]]]
    found = []
    for batch in (1, 2, 1000):
        with ExitStack() as stack:
            path = tmp_path / f"audit-{batch}"
            memo = stack.enter_context(Memo(tmp_path / f"m{batch}", SANITIZER))
            audit = stack.enter_context(AuditWriter(path, SANITIZER, memo=True))
            folder = tmp_path / str(batch)
            result, _ = run_of(folder, memo, chats, plan={"batch": batch}, audit=audit)
        rows = [row for _, row in read_rows(path)]
        assert rows[0]["not_protected"][-1] == "which messages are equal"
        shape = [(row["type"], row.get("line"), row.get("text")) for row in rows]
        found.append((result.totals.counts, shape))
        report = read_audit(path)  # adds up
        assert report.files[1].draws == result.totals.draws == 5 * 13
        assert report.as_json()["files"][0]["remembered"] == 6 * 13
    assert found[0] == found[1] == found[2]


def test_a_damaged_row_of_an_audit_is_refused(tmp_path):
    path = tmp_path / "audit"
    with Memo(tmp_path / "m", SANITIZER) as memo, AuditWriter(path, SANITIZER) as audit:
        run_of(tmp_path / "a", memo, [[[WORDS, WORDS]]], audit=audit)
    rows = path.read_text().splitlines()
    (at,) = [at for at, row in enumerate(rows) if '"type":"remembered"' in row]
    for old, new, what in (
        ('"epsilon":0', '"epsilon":2', "an epsilon where nothing was drawn"),
        ('"remembered":12', '"remembered":11', "the words before it do not add up"),
        ('"kept":0', '"kept":null', "kept is of another type"),
    ):
        assert old in rows[at]
        changed = [*rows[:at], rows[at].replace(old, new), *rows[at + 1 :]]
        path.write_text("\n".join(changed) + "\n")
        with pytest.raises(InputError, match=what):
            read_audit(path)


# --- settings and sums -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        {"epsilon": 3.0},
        {"mechanism": "knn-response", "parameters": {"k": 3}},
        {"embeddings": make_embeddings(n=40, d=4, seed=8)},
        {"case": "vocabulary"},
        {"unknown": "mask"},
        {"keep": ["nobody"]},
        {"tokenizer": "whitespace"},
        {"numbers": "value"},
    ],
    ids=min,
)
def test_other_settings_are_another_draw_and_add_up(more, tmp_path):
    other = made(**more)
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


@pytest.mark.parametrize(
    "pair",
    [
        [{"parameters": {"k": 3}}, {"parameters": {"k": 4}}],
        [{"public": ["word1"]}, {"public": ["word2"]}],
        [{"epsilon": 4.0}, {"epsilon": 5.0}],  # neither of which is a finite LDP epsilon
    ],
    ids=["parameters", "public", "epsilon"],
)
def test_what_a_guarantee_does_not_tell_is_a_setting(pair, tmp_path):
    found = set()
    for more in pair:
        infinite = "epsilon" in more
        mechanism = "santext-plus" if infinite else "knn-response"
        sanitizer = made(mechanism=mechanism, **{"epsilon": 4.0, **more}, allow_unproved=infinite)
        with Memo(tmp_path / "m", sanitizer) as memo:
            found.add(memo.rewrite(WORDS))
    assert len(found) == memo_draws(tmp_path / "m") == 2


def test_thousands_of_messages_are_told_from_one_another(tmp_path):
    """Two of one digest would share an output, and say nothing of it."""
    messages = [f"word{first} word{second}" for first in range(40) for second in range(40)]
    with Memo(tmp_path / "m", SANITIZER) as memo:
        memo.rewrite(messages)
        assert memo.totals().messages == 1600
    with sqlite3.connect(tmp_path / "m" / NAME) as base:
        assert base.execute("SELECT MIN(LENGTH(message)) FROM entries").fetchone() == (32,)
    base.close()


def test_what_is_known_is_not_drawn(tmp_path):
    with Memo(tmp_path / "m", SANITIZER) as memo:
        memo.rewrite(WORDS)
        pending = memo.submit(
            Inline(SANITIZER), Batch([WORDS, "word1"], b"k" * 32, range(2), False)
        )
        assert pending.indices == [1]


def test_a_commit_is_on_the_disk_and_leaves_nothing(tmp_path):
    with Memo(tmp_path / "m", SANITIZER) as memo:
        for name, value in (("synchronous", 3), ("secure_delete", 1), ("journal_mode", "delete")):
            assert memo._ask(f"PRAGMA {name}") == [(value,)]


def memo_draws(folder):
    with sqlite3.connect(folder / NAME) as base:
        (count,) = base.execute("SELECT COUNT(*) FROM entries").fetchone()
    base.close()
    return count


def test_what_is_said(tmp_path):
    with Memo(tmp_path / "m", SANITIZER) as memo:
        result, _ = run_of(tmp_path / "a", memo, [history("word1 word2", "word3")])
        result.memo = memo.totals()
    summary, told, *_ = Statement(result.totals, "krr", 0.1, memo=result.memo).lines()
    assert "3 words drawn (besides 2 remembered)" in summary
    assert "for what was drawn now of the whole text" in summary
    assert told == (
        "memo: 2 messages drawn now, 1 remembered at no cost; over its life 2 messages drawn once "
        "each, LDP epsilon 4 for one of them at most; which messages are equal is not protected"
    )


def test_a_budget_pays_for_draws_only_and_what_it_refuses_is_not_remembered(tmp_path):
    texts = ["word1 word2", "word3 word4", "word5 word6"]
    with Memo(tmp_path / "m", SANITIZER) as memo:
        result, _ = run_of(tmp_path / "a", memo, [history(*texts)], budget=Budget(8.0))
        assert len(result.failed) == 1
        assert "0.jsonl:3: the budget ends here: 8 of 8 spent" in result.failed[0]
        assert memo.totals().draws == 2
        result, _ = run_of(tmp_path / "b", memo, [history(*texts)], budget=Budget(4.0))
        assert not result.failed
        assert memo.totals().draws == 3


def test_a_dry_run_changes_nothing(tmp_path):
    chats = [history(WORDS, f"{WORDS} word20")]
    with Memo(tmp_path / "m", SANITIZER, scratch=True) as memo:
        result, _ = run_of(tmp_path / "a", memo, chats, kind=DryRun)
        assert (result.totals.draws, memo.totals().remembered) == (25, 1)
    assert not (tmp_path / "m").exists()
    with Memo(tmp_path / "m", SANITIZER) as memo:
        memo.rewrite(WORDS)
    before = (tmp_path / "m" / NAME).read_bytes()
    with Memo(tmp_path / "m", SANITIZER, scratch=True) as memo:
        result, _ = run_of(tmp_path / "a", memo, chats, kind=DryRun)
        assert (result.totals.draws, memo.totals().remembered) == (13, 2)
    assert (tmp_path / "m" / NAME).read_bytes() == before
    assert os.listdir(tmp_path / "m") == [NAME]


# --- two at once, and what stops in between --------------------------------------------------


def test_whoever_stores_first_wins(tmp_path):
    """Both have drawn before either stores: the second writes what the first did."""
    with Memo(tmp_path / "m", SANITIZER) as one, Memo(tmp_path / "m", SANITIZER) as two:
        slow = one.submit(Inline(SANITIZER), Batch([WORDS, "word7"], b"1" * 32, range(2), True))
        drawn = slow.future.result().lines[0]
        quick = two.rewrite(WORDS)
        assert drawn != quick
        with one.turn():
            done = slow.result()
            one.store(slow, done)
        assert done.lines[0] == quick
        assert done.drawn == [0, 1]
        assert done.counts[Action.REMEMBERED] == 12
        assert [row.record for row in done.records] == [1]
        assert one.totals().draws == two.totals().draws == 2


def test_two_processes_publish_one_noising_of_each_message(tmp_path, cache):
    (tmp_path / "words.txt").write_text(
        "".join(f"{word} {at % 7} {at % 5}\n" for at, word in enumerate(EMBEDDINGS.index_to_key, 1))
    )
    lines = "".join(f"{WORDS} {number}\n" for number in range(60))
    (tmp_path / "in.txt").write_text(lines)
    line = ["rewrite", "-e2", "-mkrr", "-E", "words.txt", "--memo", "new/m", "--line-buffered"]
    env = {**os.environ, "DPSAN_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "dpsan", *line, "in.txt"]
    both = [
        subprocess.Popen(
            command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    (one, said), (two, _) = [each.communicate(timeout=120) for each in both]
    assert [each.returncode for each in both] == [0, 0], said
    assert one == two != lines.encode()
    assert len(set(one.splitlines())) == 60 == memo_draws(tmp_path / "new" / "m")
    for path, mode in (("new", 0o700), ("new/m", 0o700), (f"new/m/{NAME}", 0o600)):
        assert (tmp_path / path).stat().st_mode & 0o777 == mode
    assert os.listdir(tmp_path / "new" / "m") == [NAME]


def test_what_was_stored_and_never_written_is_written_later(tmp_path, monkeypatch):
    """Killed between the two: nothing is published that the memo does not hold."""
    from dpsan.run.stream import _Flow

    def killed(*_):
        raise KeyboardInterrupt

    with Memo(tmp_path / "m", SANITIZER) as memo:
        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            patch.setattr(_Flow, "_write", killed)
            run_of(tmp_path / "a", memo, [[[WORDS]]])
        assert memo.totals().draws == 1
        result, _ = run_of(tmp_path / "b", memo, [[[WORDS]]])
        assert (result.totals.draws, memo.totals().draws) == (0, 1)


def test_a_full_disk_publishes_nothing(tmp_path):
    with Memo(tmp_path / "m", SANITIZER) as memo:
        first = memo.rewrite(WORDS)
        ((pages,),) = memo._ask("PRAGMA page_count")
        memo._ask(f"PRAGMA max_page_count={pages}")
        result, _ = run_of(tmp_path / "a", memo, [[[f"{WORDS} {end}" for end in range(60)]]])
        assert result.failed == [f"{tmp_path}/m/{NAME}: cannot be used: no space left on device"]
        assert not (tmp_path / "a" / "out" / "0.jsonl").exists()
        assert memo.totals().draws == 1  # all or nothing
        assert memo.rewrite(WORDS) == first


# --- damage ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A memo, and what it remembers."""
    folder = tmp_path_factory.mktemp("whole") / "m"
    texts = [f"{WORDS} {end}" for end in range(8)]
    with Memo(folder, SANITIZER) as memo:
        outputs = memo.rewrite(texts)
    return folder / NAME, dict(zip(texts, outputs, strict=True))


@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(at=st.integers(0, 1 << 20), flip=st.integers(0, 255))
def test_no_damage_goes_unnoticed(whole, at, flip, tmp_path_factory):
    """Refused, or told of; a message that is told of nobody comes out as it did."""
    path, remembered = whole
    broken = bytearray(path.read_bytes())
    at %= len(broken)
    if flip:
        broken[at] ^= flip
    else:
        del broken[at:]
    folder = tmp_path_factory.mktemp("broken")
    folder.chmod(0o700)
    path = folder / NAME
    path.touch(0o600)
    path.write_bytes(broken)
    notes = []
    try:
        with Memo(folder, SANITIZER, note=notes.append) as memo:
            outputs = memo.rewrite(remembered)
            totals = memo.totals()
    except OutputError:
        return
    lost = sum(a != b for a, b in zip(outputs, remembered.values(), strict=True))
    assert totals.draws == 8 + lost
    assert totals.lost == lost
    assert bool(notes) == bool(lost)


def test_a_damaged_entry_is_drawn_again_and_counted(tmp_path):
    with Memo(tmp_path / "m", SANITIZER) as memo:
        first, other = memo.rewrite([WORDS, f"{WORDS} word20"])
    with sqlite3.connect(tmp_path / "m" / NAME) as base:
        base.execute("UPDATE entries SET output = 'x' WHERE output = ?", (first.encode(),))
    base.close()
    notes = []
    for _ in range(2):  # told once
        with Memo(tmp_path / "m", SANITIZER, note=notes.append) as memo:
            again = memo.rewrite([WORDS, f"{WORDS} word20"])
            totals = memo.totals()
        assert again[0] != first
        assert again[1] == other
        assert (totals.draws, totals.lost, totals.messages) == (3, 1, 2)
    assert notes == [
        f"{tmp_path}/m: damaged or lost entries: 1 (a message that was among them is drawn again "
        "when it comes, and costs twice)"
    ]
    with sqlite3.connect(tmp_path / "m" / NAME) as base:
        base.execute("DELETE FROM entries WHERE output = ?", (other.encode(),))
    base.close()
    with Memo(tmp_path / "m", SANITIZER, note=notes.append) as memo:
        assert memo.totals().lost == 2
    assert len(notes) == 2


def test_another_key_is_refused(tmp_path):
    with Memo(tmp_path / "m", SANITIZER) as memo:
        memo.rewrite(WORDS)
    with sqlite3.connect(tmp_path / "m" / NAME) as base:
        base.execute("UPDATE own SET key = ?", (b"k" * 32,))
    base.close()
    with pytest.raises(OutputError, match="damaged"):
        Memo(tmp_path / "m", SANITIZER)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda path: path.write_bytes(b""), "empty"),
        (lambda path: path.write_bytes(b"no database" * 99), "not a memo of dpsan"),
        (lambda path: path.chmod(0o640), "others may read it"),
        (lambda path: path.chmod(0o620), "other users may write to it"),
        (lambda path: path.parent.chmod(0o777), "other users may write to it"),
        (lambda path: path.rename(path.with_name("x")).with_name(NAME).symlink_to("x"), "symbolic"),
        (lambda path: (path.unlink(), path.mkdir()), "is a directory"),
        (lambda path: path.with_name("x").hardlink_to(path), "has other names"),
        (lambda path: os.mkfifo(f"{path}-journal"), "not a regular file"),
        (lambda path: Path(f"{path}-journal").symlink_to(NAME), "journal: is a symbolic"),
        (lambda path: changed(path, "PRAGMA user_version=2"), "of another version than 1"),
        (lambda path: changed(path, "PRAGMA application_id=2"), "not a memo of dpsan"),
        (lambda path: changed(path, "DROP TABLE entries"), "damaged"),
        (lambda path: changed(path, "DELETE FROM own"), "damaged"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"TE T", b"\xd4E T")), "damaged"),
    ],
)
def test_what_is_not_ours_alone_or_not_a_memo_is_refused(spoil, told, tmp_path):
    path = tmp_path / "m" / NAME
    with Memo(path.parent, SANITIZER) as memo:
        memo.rewrite(WORDS)
    spoil(path)
    with pytest.raises(OutputError, match=told) as caught:
        Memo(path.parent, SANITIZER)
    assert "word1" not in str(caught.value)


def changed(path, line):
    base = sqlite3.connect(path)
    base.execute(line)
    base.commit()
    base.close()


def test_another_owner_is_refused(tmp_path, monkeypatch):
    Memo(tmp_path / "m", SANITIZER).close()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(OutputError, match="it belongs to another user"):
        Memo(tmp_path / "m", SANITIZER)


def test_where_no_directory_can_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file/m: cannot create: Not a directory"):
        Memo(tmp_path / "file" / "m", SANITIZER)


def test_a_run_that_holds_it_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("dpsan.files.private_database._LOCK_SECONDS", 0.0)
    with Memo(tmp_path / "m", SANITIZER) as one, Memo(tmp_path / "m", SANITIZER) as two:
        with one.turn(), pytest.raises(OutputError, match="another run uses it"):
            two.rewrite(WORDS)
        assert two.rewrite(WORDS) == one.rewrite(WORDS)


# --- the command -----------------------------------------------------------------------------


def test_python_refuses_what_cannot_be():
    with pytest.raises(UsageError, match="excludes a seed"):
        Memo("nowhere", made(seed=1))
    with pytest.raises(UsageError, match="whole messages"):
        Memo("nowhere", made(consistent="record"))
    assert not Path("nowhere").exists()


def test_python_takes_strings_alone(tmp_path):
    with Memo(tmp_path / "m", SANITIZER) as memo:
        assert memo.rewrite([]) == []
        assert memo.rewrite(word for word in ["...", ""]) == ["...", ""]
        for other in (["word1", None], [b"word1"]):
            with pytest.raises(TypeError, match="must be strings"):
                memo.rewrite(other)
        assert memo.totals().draws == 0


def test_the_command(dpsan, tmp_path):
    (tmp_path / "chat.jsonl").write_text(
        "".join(
            json.dumps({"messages": [{"role": "user", "content": each} for each in turn]}) + "\n"
            for turn in history(f"{WORDS} 1", f"{WORDS} 2")
        )
    )
    (tmp_path / "words.txt").write_text(
        "".join(f"{word} {at % 7} {at % 5}\n" for at, word in enumerate(EMBEDDINGS.index_to_key, 1))
    )
    line = ["rewrite", "-e", "2", "-m", "krr", "-E", "words.txt", "--memo", "m"]
    chat = ["-k", "messages[].content", "chat.jsonl"]
    done = [dpsan(*line, *chat, *more, cwd=tmp_path) for more in ([], ["-j", "2"])]
    assert [each.returncode for each in done] == [0, 0], done[1].stderr
    assert done[0].stdout == done[1].stdout
    assert b"memo: 2 messages drawn now, 1 remembered at no cost" in done[0].stderr
    assert b"memo: 0 messages drawn now, 3 remembered at no cost" in done[1].stderr
    for more, told in (
        (["--seed", "1"], b"--memo excludes --copies, --consistent and --seed"),
        (["--engine", "ray", "-O", "x"], b"--memo cannot be kept by --engine ray"),
        (["-o", f"m/{NAME}", "--force"], b"are the same file"),
    ):
        done = dpsan(*line, *chat, *more, cwd=tmp_path)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr
