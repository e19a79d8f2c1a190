"""Rows put together from columns are the bytes that orjson writes of plain rows."""

from types import SimpleNamespace

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import make_embeddings

from dpsan.run.audit import AuditWriter
from dpsan.run.audit import writer as audit_rows
from dpsan.run.plan import Plan
from dpsan.sanitize.result import ACTIONS, AuditTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import folded

EMBEDDINGS = make_embeddings(n=12, d=3)
N = EMBEDDINGS.n
KINDS = {
    "plain": Sanitizer("krr", epsilon=8, embeddings=EMBEDDINGS),
    "public": Sanitizer("knn-response", epsilon=8, embeddings=EMBEDDINGS, public=["word2"]),
}
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
    read = [
        (0 if at % 2 else 3) if changed else len(word[0])
        for texts, changed in batch
        for at, word in enumerate(texts)
    ]
    sizes = integers(len(texts) for texts, _ in batch)
    gaps, originals = integers(len(word[0]) for word in words), [word[1] for word in words]
    outputs = [spellings[usual] if usual >= 0 else out for _, _, out, _, _, usual, _ in words]
    actions, ids, usual = (integers(word[place] for word in words) for place in (3, 4, 5))
    first = np.array([word[6] for word in words], dtype=np.bool_) if consistent else None
    columns = sizes, gaps, integers(read), actions, originals, outputs, ids, usual, usual
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
