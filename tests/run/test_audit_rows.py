"""Rows put together from fragments are the bytes that orjson writes of plain rows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import make_embeddings

from dpsan.errors import OutputError
from dpsan.formats import atomic_files as files
from dpsan.run.audit import AuditWriter, fragments, writer
from dpsan.sanitize.result import ACTIONS, AuditTable
from dpsan.sanitize.sanitizer import Sanitizer

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
BATCHES = st.lists(st.tuples(st.lists(WORDS, max_size=5), STRINGS, st.booleans()), max_size=4)


def table_of(batch, spellings, consistent):
    words = [word for texts, _, _ in batch for word in texts]
    gaps = [len(gap) for texts, last, _ in batch for gap in [*[each[0] for each in texts], last]]
    # In the input there was no gap, or one that was invisible.
    read = [
        (0 if at % 2 else 3) if changed else len(gap)
        for texts, last, changed in batch
        for at, gap in enumerate([*[each[0] for each in texts], last])
    ]
    outputs = [spellings[usual] if usual >= 0 else out for _, _, out, _, _, usual, _ in words]
    columns = [np.array([word[place] for word in words], dtype=np.int64) for place in (3, 4, 5)]
    return AuditTable(
        np.array([len(texts) for texts, _, _ in batch], dtype=np.int64),
        np.array(gaps, dtype=np.int64),
        np.array(read, dtype=np.int64),
        columns[0],
        [word[1] for word in words],
        outputs,
        columns[1],
        columns[2],
        np.array(list(map(len, outputs)), dtype=np.int64),
        columns[2],
        np.array([word[6] for word in words], dtype=np.bool_) if consistent else None,
    )


def plain_rows(kind, batch, spellings, lines, *, consistent, copies, originals):
    """The same rows, one after the other, as dictionaries."""
    sanitizer = KINDS[kind]
    before, number = None, 0
    for line, (texts, _, changed) in zip(lines, batch, strict=True):
        number = number + 1 if line == before else 1
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
            row = {"type": "word", "file": 7, "line": line, "text": number}
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
                same = writer.folded(original) == writer.folded(output) or original == output
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
    most=st.sampled_from([300, 1 << 21]),
    together=st.booleans(),
)
def test_rows_are_those_of_orjson(
    kind, batches, spellings, consistent, copies, originals, rows, most, together, tmp_path_factory
):
    path = tmp_path_factory.mktemp("audit") / "a"
    options = {"copies": copies, "originals": originals}
    expected = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_ROWS", rows)
        patch.setattr(fragments, "_MOST", most)
        with AuditWriter(path, KINDS[kind], part=True, **options) as audit:
            for batch in batches:
                lines = [5 if together else 5 + at for at in range(len(batch))]
                audit.words(7, lines, table_of(batch, spellings, consistent), 2)
                expected += plain_rows(
                    kind, batch, spellings, lines, consistent=consistent, **options
                )
    assert path.read_bytes().splitlines(keepends=True) == expected


def test_a_full_disk_is_told_by_the_rows_that_met_it(tmp_path, monkeypatch):
    """Also where the rows before are written while the next are put together."""
    monkeypatch.setattr(writer, "_ROWS", 1)
    batch = [([(" ", "a", "b", 0, 1, 2, True)] * 9, ".", False)]
    sent = []

    def write(_, data):
        sent.append(bytes(data))
        if len(sent) == 4:
            raise OSError(28, "No space left on device")
        return len(data)

    with AuditWriter(tmp_path / "a", KINDS["plain"], part=True) as audit:
        monkeypatch.setattr(files, "os", SimpleNamespace(**vars(files.os) | {"write": write}))
        with pytest.raises(OutputError, match="No space left on device"):
            audit.words(1, [1], table_of(batch, ["c"] * N, False), 1)
        assert len(sent) == 4  # nothing behind what was not written
        monkeypatch.undo()
