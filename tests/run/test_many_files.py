"""What a run keeps of its input files does not grow with their number."""

import tracemalloc

from identity import identity

from dpsan.run.plan import Outcome, Result, Task


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
