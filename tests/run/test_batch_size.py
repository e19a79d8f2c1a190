"""How large batches become, by the time that they take."""

import pytest

from dpsan.run.batches import BatchSize, FileBatchSize

FIRST, FAST = 4096, 2_000_000


def limits(each, speed):
    """Sizes of full batches at so many characters a second."""
    sizes = []
    for _ in range(30):
        sizes.append(each.limit)
        each.took(each.limit / speed, each.limit, full=True)
    return sizes


def test_batches_of_a_stream_end_at_a_size_and_those_of_a_file_at_a_larger_one():
    speed = FAST / 2  # slow enough that words of a batch may share work
    stream, sizes = limits(BatchSize(), speed), limits(FileBatchSize(), speed)
    assert stream[0] == sizes[0] == FIRST
    assert max(stream) == max(limits(FileBatchSize(), 10 * FAST)) == BatchSize.most < max(sizes)
    assert max(sizes) <= min(FileBatchSize.most, FileBatchSize.aim * speed)


@pytest.mark.parametrize("speed", [1e3, 1e4, 1e5])
def test_batches_take_a_few_seconds_however_slow_the_first_is(speed):
    each, grown = FileBatchSize(), BatchSize()
    each.took(0.001, 5, full=False)  # which says little
    assert each.limit == FIRST
    each.took(2 + each.limit / speed, each.limit, full=True)
    last = limits(each, speed)[-1]
    assert last / speed <= 2 * FileBatchSize.aim
    assert last == FIRST or last / speed > FileBatchSize.aim / 4
    largest = max(limits(grown, 1e6))
    assert limits(grown, 1e3)[-1] < largest / 10
    assert {*limits(BatchSize(adaptive=False), speed)} == {BatchSize.most}
