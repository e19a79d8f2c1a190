"""How large batches become, by the time that they take."""

import time

import pytest

from dpsan.run.batch_size import BatchSize, FileBatchSize

FIRST, FAST = 4096, 2_000_000


def limits(each, speed, fixed=0.0, batches=30):
    """Sizes of full batches at so many characters a second and so many seconds for each batch."""
    sizes = []
    for _ in range(batches):
        sizes.append(each.limit)
        each.took(fixed + each.limit / speed, each.limit, full=True)
    return sizes


@pytest.mark.parametrize("each", [BatchSize(), FileBatchSize()])
def test_the_first_batch_is_small(each):
    assert each.limit == FIRST


def test_batches_of_a_stream_end_at_a_size_and_those_of_a_file_at_a_larger_one():
    speed = FAST / 2  # slow enough that words of a batch may share work
    assert max(limits(BatchSize(), speed)) == BatchSize.most
    sizes = limits(FileBatchSize(), speed)
    assert BatchSize.most < max(sizes) <= FileBatchSize.most
    assert sizes == sorted(sizes)
    assert max(sizes) / speed <= FileBatchSize.aim


def test_nothing_is_gained_by_larger_batches_of_a_fast_mechanism():
    assert max(limits(FileBatchSize(), 10 * FAST)) == BatchSize.most


def test_batches_grow_where_their_words_share_work():
    """The time that a mechanism needs grows more slowly than the batch."""
    each = FileBatchSize()
    for _ in range(9):
        seconds = (each.limit / FIRST) ** 0.6 / 2
        each.took(seconds, each.limit, full=True)
    assert FileBatchSize.aim / 4 < seconds <= FileBatchSize.aim
    assert each.limit > max(limits(FileBatchSize(), 2 * FIRST))  # that of the same speed at first


def test_a_slow_first_batch_does_no_harm():
    """Libraries load in it."""
    each, sizes = FileBatchSize(), []
    for warming in (2.0, *[0.0] * 9):
        sizes.append(each.limit)
        each.took(warming + each.limit / 20_000, each.limit, full=True)
    assert FileBatchSize.aim / 4 < max(sizes) / 20_000 <= FileBatchSize.aim


@pytest.mark.parametrize("speed", [1e3, 1e4, 1e5])
def test_batches_of_a_file_take_a_few_seconds(speed):
    last = limits(FileBatchSize(), speed)[-1]
    assert last / speed <= 2 * FileBatchSize.aim
    assert last == FIRST or last / speed > FileBatchSize.aim / 4


@pytest.mark.parametrize("kind", [BatchSize, FileBatchSize])
def test_batches_shrink_where_they_take_too_long(kind):
    each = kind()
    limits(each, 1e6)
    grown = each.limit
    assert limits(each, 1e3)[-1] < grown / 10


def test_a_batch_that_is_not_full_says_little():
    each = FileBatchSize()
    each.took(0.001, 5, full=False)
    assert each.limit == FIRST


def test_sizes_that_must_not_depend_on_time_do_not():
    assert set(limits(BatchSize(adaptive=False), 1e2)) == {BatchSize.most}
    assert set(limits(BatchSize(adaptive=False), 1e9)) == {BatchSize.most}


def test_what_else_the_machine_does_makes_no_batch_of_a_file_small():
    """Time spent waiting does not count there; a reader of a stream waits too."""
    stream, file = BatchSize(), FileBatchSize()
    for each in (stream, file):
        each.start()
    time.sleep(0.2)
    assert file.seconds() < 0.1 < stream.seconds()
    began = time.process_time()
    while time.process_time() < began + 0.05:
        pass
    assert file.seconds() >= 0.05
