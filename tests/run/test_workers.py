"""The pool: a worker's death, at any moment, is an answer and never a wait without end."""

import os
import pickle
import signal
import struct
import threading
import time

import pytest
from support import make_embeddings

from dpsan.embeddings import file_digest
from dpsan.embeddings.cache.store import Store
from dpsan.errors import (
    DpsanError,
    EmbeddingError,
    ExtraMissingError,
    InputError,
    UnexpectedError,
)
from dpsan.files.atomic_files import Sink
from dpsan.files.source import FileSource
from dpsan.run import workers
from dpsan.run.stream import Plan, Work, rewrite_stream
from dpsan.run.workers import Batch, Inline, Pool
from dpsan.sanitize.request import RunSpec
from dpsan.sanitize.sanitizer import Sanitizer

KEY = b"k" * 32
TEXTS = ["here there", "nowhere", ""] * 50


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    return RunSpec(8.0, "laplace", embeddings=tmp_path / "two.txt", allow_unproved=True)


def digest(spec):
    return file_digest(spec.embeddings)


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


def test_as_in_one_process(spec, tmp_path):
    inline = Inline(Sanitizer.from_spec(spec, Store(tmp_path)))
    every = [None, [[(0, 1)], [], []] * 50] * 5
    with Pool(spec, tmp_path, 2, digest(spec)) as pool:
        answers = [
            pool.submit(Batch(TEXTS, KEY, range(150 * at, 150 * at + 150), True, spans))
            for at, spans in enumerate(every)
        ]
        for at, (spans, answer) in enumerate(zip(every, answers, strict=True)):
            here = inline.submit(
                Batch(TEXTS, KEY, range(150 * at, 150 * at + 150), True, spans)
            ).result()
            there = answer.result(30)
            assert (here.lines, here.drawn, here.counts) == (there.lines, there.drawn, there.counts)
            assert list(here.records) == list(there.records)
    assert not any(process.is_alive() for process in pool._processes)


@pytest.mark.parametrize("way", [dies_in_the_middle_of_an_answer, dies_before_it_reads])
def test_a_death_answers_all_work(spec, tmp_path, monkeypatch, way):
    monkeypatch.setattr(workers, "_serve", way)
    with Pool(spec, tmp_path, 2, digest(spec)) as pool:
        for answer in [pool.submit(Batch(TEXTS, KEY, range(150), False)) for _ in range(5)]:
            with pytest.raises(DpsanError, match=r"^a worker process died "):
                answer.result(30)


def test_an_answer_that_cannot_be_read(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_serve", answers_what_cannot_be_read)
    with Pool(spec, tmp_path, 1, digest(spec)) as pool, pytest.raises(pickle.UnpicklingError):
        pool.submit(Batch(TEXTS, KEY, range(150), False)).result(30)


def test_an_error_does_not_wait_for_the_workers(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_serve", never_answers)
    begun = time.monotonic()
    pool = Pool(spec, tmp_path, 2, digest(spec))
    answers = [pool.submit(Batch(TEXTS, KEY, range(150), False)) for _ in range(5)]
    with pytest.raises(ZeroDivisionError), pool:
        raise ZeroDivisionError
    assert time.monotonic() - begun < 30
    assert all(answer.cancelled() or answer.exception(0) for answer in answers)
    assert not any(process.is_alive() for process in pool._processes)


def test_an_error_of_a_worker_is_its_answer(spec, tmp_path):
    with Pool(spec, tmp_path, 1, digest(spec)) as pool:
        with pytest.raises(UnexpectedError, match="TypeError"):  # numbers are no texts
            pool.submit(Batch([1, 2], KEY, range(2), False)).result(30)
        assert pool.submit(Batch(TEXTS, KEY, range(150), False)).result(30).lines
    known = digest(spec)
    (tmp_path / "two.txt").unlink()
    with Pool(spec, tmp_path, 1, known) as pool:
        for _ in range(2):
            with pytest.raises(DpsanError, match=r"two\.txt: no such file"):
                pool.submit(Batch(TEXTS, KEY, range(150), False)).result(30)


def test_workers_open_the_vocabulary_of_the_guarantee(spec, tmp_path):
    known = digest(spec)
    (tmp_path / "two.txt").write_text("here 0 900\nthere 900 0\n")
    with Pool(spec, tmp_path, 2, known) as pool:
        for answer in [pool.submit(Batch(TEXTS, KEY, range(150), False)) for _ in range(4)]:
            with pytest.raises(EmbeddingError, match=r"two\.txt: changed after the start"):
                answer.result(30)


def test_the_others_do_the_work_of_a_dead_worker(spec, tmp_path):
    with Pool(spec, tmp_path, 2, digest(spec)) as pool:
        assert pool.submit(Batch(TEXTS, KEY, range(150), False)).result(30)
        pool._processes[0].kill()
        pool._processes[0].join()
        answers = [pool.submit(Batch(TEXTS, KEY, range(150), False)) for _ in range(12)]
        died = [answer.exception(30) for answer in answers]
        assert sum(error is not None for error in died) <= 1
        assert len([answer for answer in answers if answer.exception() is None]) >= 11


def test_errors_travel():
    made = [
        DpsanError("what", "hint"), InputError("f.txt", "what", "hint", line=3),
        EmbeddingError("e.txt", "what", line=2), ExtraMissingError("this", "plot"),
        workers._DiedError(),
    ]  # fmt: skip
    for error in made:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
        assert (again.args, vars(again)) == (error.args, vars(error))
        assert again.exit_status == error.exit_status


def test_an_idle_input_is_used_to_warm_up(tmp_path):
    """Before the first line is there, not after it."""
    sanitizer = Sanitizer(epsilon=8, embeddings=make_embeddings(), cache=tmp_path)
    warm = threading.Event()
    made = sanitizer.warm_up
    sanitizer.warm_up = lambda: (made(), warm.set())
    reading, writing = os.pipe()

    def write():
        assert warm.wait(20)
        os.write(writing, b"word1 word2\n")
        os.close(writing)

    writer = threading.Thread(target=write)
    writer.start()
    with open(tmp_path / "out", "wb") as out:
        sink = Sink("out", out.fileno())
        rewrite_stream(FileSource("in", reading), sink, Work(sanitizer, Plan(), b"k" * 32))
    writer.join()
    os.close(reading)
    assert warm.is_set()
    assert (tmp_path / "out").read_bytes().lower().count(b"word") == 2
