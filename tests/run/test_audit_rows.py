"""Rows put together from fragments are the bytes that orjson writes of plain rows."""

from __future__ import annotations

import os
import threading
import time
from types import SimpleNamespace

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import make_embeddings

from dpsan.errors import OutputError
from dpsan.files import atomic_files as files
from dpsan.run.audit import AuditWriter, fragments, writer
from dpsan.run.audit import rows as audit_rows
from dpsan.sanitize.result import ACTIONS, UNDRAWN, AuditTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import folded

EMBEDDINGS = make_embeddings(n=12, d=3)
N = EMBEDDINGS.n
KINDS = {
    "plain": Sanitizer("krr", epsilon=8, embeddings=EMBEDDINGS),
    "public": Sanitizer(
        "knn-response", epsilon=8, embeddings=EMBEDDINGS, public=["word2", "word3"]
    ),
    "line": Sanitizer("tldp", epsilon=1.7, embeddings=EMBEDDINGS, parameters={"tensor": "line"}),
}
STRINGS = st.text(
    st.sampled_from('ab"\\/\n\x00\x1f\x7fé😀\ud800\u2028') | st.characters(), min_size=1, max_size=6
) | st.just("long" * 20)
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
    gaps = [len(word[0]) for word in words]
    # In the input there was no gap, or one that was invisible.
    read = [
        (0 if at % 2 else 3) if changed else len(word[0])
        for texts, changed in batch
        for at, word in enumerate(texts)
    ]
    outputs = [spellings[usual] if usual >= 0 else out for _, _, out, _, _, usual, _ in words]
    columns = [np.array([word[place] for word in words], dtype=np.int64) for place in (3, 4, 5)]
    return AuditTable(
        np.array([len(texts) for texts, _ in batch], dtype=np.int64),
        np.array(gaps, dtype=np.int64),
        np.array(read, dtype=np.int64),
        columns[0],
        [word[1] for word in words],
        outputs,
        columns[1],
        columns[2],
        columns[2],
        np.array([word[6] for word in words], dtype=np.bool_) if consistent else None,
    )


def remembered_of(batch, memo):
    """Each text without words is one that was drawn earlier, if there is a memo."""
    return {
        at: {each: at + place for place, each in enumerate(UNDRAWN)}
        for at, (texts, _) in enumerate(batch)
        if memo and not texts
    }


def plain_rows(kind, file, batch, spellings, lines, *, consistent, memo, copies, originals):
    """The same rows, one after the other, as dictionaries."""
    sanitizer = KINDS[kind]
    before, number = None, 0
    remembered = remembered_of(batch, memo)
    for text, (line, (texts, changed)) in enumerate(zip(lines, batch, strict=True)):
        number = number + 1 if line == before else 1
        if text in remembered:
            row = {"type": "remembered", "file": file, "line": line, "text": number, "epsilon": 0}
            yield orjson.dumps(row | {str(a): n for a, n in remembered[text].items()}) + b"\n"
        before, read, written = line, 0, 0
        drawn = sum(word[4] >= 0 for word in texts)
        for at, (gap, original, out, action, given_id, usual, first) in enumerate(texts):
            output = spellings[usual] if usual >= 0 else out
            read += len(gap) if not changed else 0 if at % 2 else 3
            written += len(gap)
            epsilon = sanitizer.mechanism.epsilon
            if kind == "line":
                epsilon /= drawn or 1
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
                distance = rank = None
                if 0 <= given_id < N and usual >= 0:
                    found = sanitizer.space.ranks(given_id, np.array([usual]))
                    (distance,), (rank,) = (each.tolist() for each in map(np.asarray, found))
                row |= {"in": shown(original), "in_start": read, "in_end": read + len(original)}
                same = folded(original) == folded(output) or original == output
                row |= {"unchanged": same, "rank": rank, "distance": distance}
            yield orjson.dumps(row) + b"\n"
            read += len(original)
            written += len(output)


def shown(text):
    return text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(
    batches=st.lists(BATCHES, max_size=3),
    spellings=st.lists(STRINGS, min_size=N, max_size=N),
    consistent=st.booleans(),
    copies=st.integers(1, 2),
    originals=st.booleans(),
    rows=st.sampled_from([1, 3, 1 << 13]),
    most=st.sampled_from([300, 1 << 18]),
    few=st.sampled_from([0, 1 << 12]),
    together=st.booleans(),
    memo=st.booleans(),
    file=st.sampled_from([7, 123_456_789]),
    first=st.sampled_from([1, 5, 98, 10**15]),
)
def test_rows_are_those_of_orjson(
    kind,
    batches,
    spellings,
    consistent,
    copies,
    originals,
    rows,
    most,
    few,
    together,
    memo,
    file,
    first,
    tmp_path_factory,
):
    path = tmp_path_factory.mktemp("audit") / "a"
    options = {"copies": copies, "originals": originals}
    expected = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit_rows, "_ROWS", rows)
        patch.setattr(writer, "_FEW", few)
        patch.setattr(fragments, "_MOST", most)
        with AuditWriter(path, KINDS[kind], part=True, **options) as audit:
            for batch in batches:
                lines = [first if together else first + at for at in range(len(batch))]
                table = table_of(batch, spellings, consistent)
                audit.words(file, lines, table, 2, remembered_of(batch, memo))
                expected += plain_rows(
                    kind, file, batch, spellings, lines, consistent=consistent, memo=memo, **options
                )
    assert path.read_bytes().splitlines(keepends=True) == expected


@pytest.mark.parametrize("few", [0, 100])
def test_a_full_disk_is_told_by_whoever_waits_for_the_rows(few, tmp_path, monkeypatch):
    """Also where a thread writes them: then the next that is asked of the audit tells it."""
    monkeypatch.setattr(writer, "_FEW", few)
    monkeypatch.setattr(audit_rows, "_ROWS", 1)
    batch = [([(" ", "a", "b", 0, 1, 2, True)] * 9, False)]
    sent = []

    def write(_, data):
        sent.append(bytes(data))
        if len(sent) == 4:
            raise OSError(28, "No space left on device")
        return len(data)

    for ask in (
        lambda audit: audit.settle(),
        lambda audit: audit.words(1, [1], table_of(batch, ["c"] * N, False), 1),
        lambda audit: audit.send(b"more"),
        lambda audit: audit.hold(lambda: None),
        lambda audit: audit.file(1, "name", KINDS["plain"].accountant(), ("", "")),
        lambda audit: audit.totals(KINDS["plain"].accountant(), None, complete=True),
        lambda audit: audit.__exit__(None, None, None),
    ):
        sent.clear()
        audit = AuditWriter(tmp_path / "a", KINDS["plain"], part=True, force=True)
        with monkeypatch.context() as patch:
            patch.setattr(files, "os", SimpleNamespace(**vars(files.os) | {"write": write}))
            with pytest.raises(OutputError, match="No space left on device"):  # noqa: PT012
                audit.words(1, [1], table_of(batch, ["c"] * N, False), 1)
                ask(audit)
            assert len(sent) == 4  # nothing behind what was not written


def test_rows_that_a_thread_writes_come_before_what_follows(tmp_path, monkeypatch):
    """However slow the disk is; and no thread is left behind."""
    monkeypatch.setattr(writer, "_FEW", 0)
    batch = [([(" ", "a", "b", 0, 1, 2, True)] * 3, False)]
    table = table_of(batch, ["c"] * N, False)
    order = []

    def write(number, data):
        time.sleep(0.01)
        order.append(bytes(data)[:20])
        return os.write(number, data)

    before = threading.active_count()
    monkeypatch.setattr(files, "os", SimpleNamespace(**vars(files.os) | {"write": write}))
    with AuditWriter(tmp_path / "a", KINDS["plain"], part=True) as audit:
        audit.words(1, [1], table, 1)
        audit.send(b"between")
        audit.words(1, [1], table, 1)
        audit.hold(lambda: None)
        audit.words(1, [1], table, 1)
        held = audit.take()
        audit.words(1, [1], table, 1)
    word = b'{"type":"word","file'
    assert order == [word, b"between", word, word]
    assert held.count(word) == 3
    assert threading.active_count() == before


def test_what_passes_is_forgotten(tmp_path):
    """However many batches there are, only what may come again is kept."""
    table = table_of([([(" ", "a", "b", 0, 1, -1, True)] * 9, False)] * 3, ["c"] * N, False)
    with AuditWriter(tmp_path / "a", KINDS["plain"], part=True) as audit:
        counts = set()
        for _ in range(20):
            audit.words(1, [1, 2, 3], table, 1)
            counts.add(audit._rows._fragments.cells.count)
    assert len(counts) == 1
