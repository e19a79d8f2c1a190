"""Fragments put together by their numbers are the bytes of joining them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpsan.run.audit.cells import WIDTH, Cells

LENGTHS = st.sampled_from([1, WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH, 1000]) | st.integers(0, 70)
FRAGMENTS = st.builds(
    lambda length, byte: bytes([byte]) * length, LENGTHS, st.sampled_from([1, 32, 34, 255])
)


@given(data=st.data(), kept=st.lists(FRAGMENTS, max_size=5))
def test_joined(data, kept):
    cells = Cells()
    for each in range(0, len(kept), 2):
        cells.add(kept[each : each + 2])
    count = cells.count
    numbers, fragments = [], []
    for _ in range(3):
        passing = data.draw(st.lists(FRAGMENTS, max_size=5))
        numbers, fragments = cells.add(passing).tolist(), passing
        order = data.draw(st.permutations(range(len(passing))))
        chosen = np.array([numbers[at] for at in order], dtype=np.int64)
        assert bytes(cells.joined(chosen)) == b"".join(fragments[at] for at in order)
        cells.keep(count)


def test_many_fragments():
    fragments = [b"%d" % number for number in range(5000)]
    cells = Cells()
    numbers = np.concatenate([cells.add(fragments[at : at + 77]) for at in range(0, 5000, 77)])
    assert bytes(cells.joined(numbers[::-1])) == b"".join(fragments[::-1])
