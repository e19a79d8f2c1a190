"""The pool: a worker's death, at any moment, is an answer and never a wait without end."""

import gc
import os
import pickle
import signal
import struct
import time
import tracemalloc

import pytest
from identity import identity

from dpsan.embeddings import file_digest
from dpsan.errors import DpsanError, EmbeddingError, UnexpectedError
from dpsan.formats.text import TextFormat
from dpsan.run import workers
from dpsan.run.plan import BatchSize, FileBatchSize, Outcome, Plan, Result, Task
from dpsan.run.run import Run
from dpsan.run.workers import Pool
from dpsan.sanitize.result import Texts
from dpsan.sanitize.settings import Settings
from dpsan.text.lookup import Lookup

KEY = b"k" * 32
TEXTS = ["here there", "nowhere", ""] * 50


@pytest.fixture
def spec(folder):
    return Settings(8.0, "laplace", embeddings=folder / "two.txt", allow_unproved=True)


def digest(spec):
    return file_digest(spec.embeddings)


def texts():
    return Texts(TEXTS, KEY, range(150), False)


def dies_in_the_middle_of_an_answer(parent, *_):
    parent.recv()
    os.write(parent.fileno(), struct.pack("!i", 1 << 20) + b"only this")
    os.kill(os.getpid(), signal.SIGKILL)


def dies_before_it_reads(parent, *_):
    os.kill(os.getpid(), signal.SIGKILL)


def answers_what_cannot_be_read(parent, *_):
    parent.recv()
    parent.send_bytes(b"no pickle")


def never_answers(parent, *_):
    parent.recv()
    signal.pause()


BEFORE = pytest.param(dies_before_it_reads, marks=pytest.mark.slow)


@pytest.mark.parametrize("way", [dies_in_the_middle_of_an_answer, BEFORE])
def test_a_death_answers_all_work(spec, tmp_path, monkeypatch, way):
    monkeypatch.setattr(workers, "_serve", way)
    with Pool(spec, tmp_path, 2, digest(spec)) as pool:
        for answer in [pool.submit(texts()) for _ in range(5)]:
            with pytest.raises(DpsanError, match=r"^a worker process died "):
                answer.result(60)


def test_an_answer_that_cannot_be_read(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_serve", answers_what_cannot_be_read)
    with Pool(spec, tmp_path, 1, digest(spec)) as pool, pytest.raises(pickle.UnpicklingError):
        pool.submit(texts()).result(300)


def test_an_error_does_not_wait_for_the_workers(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_serve", never_answers)
    begun = time.monotonic()
    pool = Pool(spec, tmp_path, 2, digest(spec))
    answers = [pool.submit(texts()) for _ in range(5)]
    with pytest.raises(ZeroDivisionError), pool:
        raise ZeroDivisionError
    assert time.monotonic() - begun < 30
    assert all(answer.cancelled() or answer.exception(0) for answer in answers)
    assert not any(process.is_alive() for process in pool._processes)


def test_an_error_of_a_worker_is_its_answer(spec, tmp_path):
    with Pool(spec, tmp_path, 1, digest(spec)) as pool:
        with pytest.raises(UnexpectedError, match="TypeError"):  # numbers are no texts
            pool.submit(Texts([1, 2], KEY, range(2), False)).result(30)
        assert pool.submit(texts()).result(300).lines
    known = digest(spec)
    (tmp_path / "two.txt").unlink()
    with Pool(spec, tmp_path, 1, known) as pool:
        for _ in range(2):
            with pytest.raises(DpsanError, match=r"two\.txt: no such file"):
                pool.submit(texts()).result(300)


def test_a_worker_looks_for_cycles_of_objects_seldom(spec, tmp_path, monkeypatch):
    """As the program itself does: it takes a tenth of the time, and finds none."""
    seldom = []

    class Parent:
        def recv(self):
            if seldom:
                raise EOFError
            return texts()

        def send(self, done):
            seldom.append((len(done.lines), gc.get_threshold()[0] > 10_000))

    monkeypatch.setattr(signal, "signal", lambda *_: None)
    workers._serve(Parent(), spec, tmp_path, digest(spec))
    assert seldom == [(150, True)]
    assert gc.get_threshold()[0] < 10_000


def test_workers_open_the_vocabulary_of_the_guarantee(spec, tmp_path):
    known = digest(spec)
    (tmp_path / "two.txt").write_text("here 0 900\nthere 900 0\n")
    with Pool(spec, tmp_path, 2, known) as pool:
        for answer in [pool.submit(texts()) for _ in range(4)]:
            with pytest.raises(EmbeddingError, match=r"two\.txt: changed after the start"):
                answer.result(300)


def test_the_others_do_the_work_of_a_dead_worker(spec, tmp_path):
    with Pool(spec, tmp_path, 2, digest(spec)) as pool:
        assert pool.submit(texts()).result(300)
        pool._processes[0].kill()
        pool._processes[0].join()
        answers = [pool.submit(texts()) for _ in range(12)]
        died = [answer.exception(30) for answer in answers]
        assert sum(error is not None for error in died) <= 1
        assert len([answer for answer in answers if answer.exception() is None]) >= 11


@pytest.mark.parametrize("tree", [False, True])
def test_other_files_go_on(tmp_path, monkeypatch, capfdbinary, tree):
    """An exception that nobody foresaw fails one input, and no text is told."""
    paths = [tmp_path / f"{name}.txt" for name in ("a", "draws", "reads", "z")]
    for path in paths:
        path.write_text("Maria\n" if path.stem == "draws" else "here\n")
    real_read, real_batch = TextFormat.read, Lookup.batch

    def read(self, source, options):
        if source.name.endswith("reads.txt"):
            raise KeyError("Maria Gonzalez")
        return real_read(self, source, options)

    def batch(self, texts, spans=None):
        if "Maria" in texts:
            raise ValueError("Maria Gonzalez", {"not": "picklable"}, lambda: None)
        return real_batch(self, texts, spans)

    monkeypatch.setattr(TextFormat, "read", read)
    monkeypatch.setattr(Lookup, "batch", batch)
    out = tmp_path / "out"
    result = Run(identity(), Plan(), KEY, paths, out if tree else None, tree).execute()
    assert [line.rsplit(":", 1)[0] for line in result.failed] == [
        f"{tmp_path}/draws.txt: internal error: ValueError at test_workers.py",
        f"{tmp_path}/reads.txt: internal error: KeyError at test_workers.py",
    ]
    assert "Maria" not in "".join(result.failed)
    if tree:
        assert sorted(path.name for path in out.iterdir()) == ["a.txt", "z.txt"]
    else:
        assert capfdbinary.readouterr().out == b"here\nhere\n"


# What a run keeps of its input files does not grow with their number.


def test_a_result_takes_no_more_memory_for_more_files():
    sanitizer = identity()
    result = Result(sanitizer.accountant(whole_run=True))

    def add(first, last):
        for file in range(first, last):
            digests = f"{file:064}", f"{file + 1:064}"
            task, totals = Task(file), sanitizer.accountant()
            result.add(Outcome(task, totals, f"{file}.txt", digests))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        few, many = add(1, 100), add(100, 1100)
    finally:
        tracemalloc.stop()
    assert many - few < 20_000
    assert result.done == 1099


# How large batches become, by the time that they take.


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
