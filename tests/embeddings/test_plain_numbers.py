"""Numbers of a text file, read the fast way: the same bits as float(), or left to the slow way."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpsan.embeddings.text_rows import plain_numbers

NUMBERS = (
    st.floats().map(repr)
    | st.integers().map(str)
    | st.text("0123456789+-.eE", max_size=8)
    | st.from_regex(r"-?[0-9]{1,25}\.[0-9]{1,25}(e-?[0-9]{1,3})?", fullmatch=True)
    | st.sampled_from(["-0", "-0.0", "1_0", "[1]", "true", "1,2", "\t1", "1e999", "NaN"])
)


@given(st.lists(NUMBERS, min_size=1, max_size=6))
def test_the_same_bits_as_float(fields):
    joined = " ".join(fields).encode()
    found = plain_numbers(joined)
    if found is not None:
        expected = [float(each) for each in joined.split(b" ")]
        assert found.tobytes() == np.array(expected).tobytes()


def test_usual_rows_are_read_the_fast_way():
    found = plain_numbers(b"0.25 -1.5 3e-05 7 -0.0")
    assert found is not None
    assert found.tolist() == [0.25, -1.5, 3e-05, 7.0, 0.0]
    for odd in (b"-0", b"-0 1", b"1  2", b"1,2", b"true", b"0x1", b".5", b"+1", b""):
        assert plain_numbers(odd) is None, odd
