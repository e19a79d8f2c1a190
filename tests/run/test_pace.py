"""How large batches become, by the time that they take."""

import time

import pytest

from dpsan.run import batch_size as pace
from dpsan.run.batch_size import FilePace, Pace


def limits(each, speed, fixed=0.0, batches=30):
    """Sizes of full batches at so many characters a second and so many seconds for each batch."""
    sizes = []
    for _ in range(batches):
        sizes.append(each.limit)
        each.took(fixed + each.limit / speed, each.limit, full=True)
    return sizes


@pytest.mark.parametrize("each", [Pace(adaptive=True), FilePace()])
def test_the_first_batch_is_small(each):
    assert each.limit <= 4096


def test_batches_of_a_stream_end_at_a_size_and_those_of_a_file_at_a_larger_one():
    speed = pace._FAST / 2  # slow enough that words of a batch may share work
    assert max(limits(Pace(adaptive=True), speed)) == pace._BATCH_CHARACTERS
    sizes = limits(FilePace(), speed)
    assert pace._BATCH_CHARACTERS < max(sizes) <= pace._FILE_CHARACTERS
    assert sizes == sorted(sizes)
    assert max(sizes) / speed <= pace._FILE_SECONDS


def test_nothing_is_gained_by_larger_batches_of_a_fast_mechanism():
    assert max(limits(FilePace(), 10 * pace._FAST)) == pace._BATCH_CHARACTERS


@pytest.mark.parametrize("power", [0.5, 0.7])
def test_batches_grow_faster_where_their_words_share_work(power):
    """The time that a mechanism needs grows more slowly than the batch: it is measured."""

    def sizes(power):
        each, found = FilePace(), []
        for _ in range(5):
            found.append(each.limit)
            each.took((each.limit / 4096) ** power / 2, each.limit, full=True)
        return found

    shared, alone = sizes(power), sizes(1.0)
    assert shared[:2] == alone[:2]  # nothing is known yet
    assert shared[3] > 4 * alone[3]
    assert (shared[-1] / 4096) ** power / 2 <= pace._SHARED_SECONDS
    assert alone[-1] / 4096 / 2 <= pace._FILE_SECONDS


def test_the_first_batch_tells_nothing_of_shared_work():
    """Libraries load in it: the second looks cheap beside it."""
    each, sizes = FilePace(), []
    for warming in (2.0, *[0.0] * 9):
        sizes.append(each.limit)
        each.took(warming + each.limit / 20_000, each.limit, full=True)
    assert max(sizes) / 20_000 <= pace._FILE_SECONDS


@pytest.mark.parametrize("speed", [1e3, 1e4, 1e5])
def test_batches_of_a_file_take_a_few_seconds(speed):
    last = limits(FilePace(), speed)[-1]
    assert last / speed <= 2 * pace._FILE_SECONDS
    assert last == pace._FIRST_CHARACTERS or last / speed > pace._FILE_SECONDS / 4


@pytest.mark.parametrize("kind", [lambda: Pace(adaptive=True), FilePace])
def test_batches_shrink_where_they_take_too_long(kind):
    each = kind()
    limits(each, 1e6)
    grown = each.limit
    assert limits(each, 1e3)[-1] < grown / 10


def test_a_batch_that_is_not_full_says_little():
    each = FilePace()
    each.took(0.001, 5, full=False)
    assert each.limit == pace._FIRST_CHARACTERS


def test_sizes_that_must_not_depend_on_time_do_not():
    assert set(limits(Pace(adaptive=False), 1e2)) == {pace._BATCH_CHARACTERS}
    assert set(limits(Pace(adaptive=False), 1e9)) == {pace._BATCH_CHARACTERS}


def test_what_else_the_machine_does_makes_no_batch_of_a_file_small():
    """Time spent waiting does not count there; a reader of a stream waits too."""
    stream, file = Pace(adaptive=True), FilePace()
    for each in (stream, file):
        each.start()
    time.sleep(0.2)
    assert file.seconds() < 0.1 < stream.seconds()
    began = time.process_time()
    while time.process_time() < began + 0.05:
        pass
    assert file.seconds() >= 0.05
