"""Products of small integers: the kernel of ONNX Runtime, tried before it is believed.

Processors without VNNI add two products of bytes in 16 bits, where large ones do not fit and are
cut off without a word.  So a kernel is first given the largest numbers there are.  If it fails it
is given 7 bits on one side, which fit; if it fails then, it is not used.

Since 1.29 ONNX Runtime sends telemetry over the network, from its import on.  dpsan talks to
nobody: such a version is not imported.
"""

import mmap
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_TELEMETRY: Final = (1, 29)
"""The first version that has it on Linux and macOS."""
SIGNED: Final = 127
"""The largest number of a point, which is signed; its least is -127."""
_LEVELS: Final = (127, 63)
"""The largest number of a row: of 8 bits, of 7."""
_SHAPES: Final = ((1, 1), (3, 17), (8, 64), (64, 40), (129, 260))
"""Points and rows of what is tried: kernels differ for few and many."""
_ALIGNED: Final = 32
"""Points that the kernel takes at once; of 500 each takes a half longer than of 512."""
_PAGE: Final = 1 << 21
"""Bytes of a large page of memory."""
_rooms: Final = threading.local()
"""Buffers for products, one for each thread."""

_UINT8, _INT8, _INT32 = 2, 3, 6  # numbers of ONNX
_INPUTS: Final = {"rows": _UINT8, "points": _INT8, "zero": _UINT8}


def _field(number: int, value: bytes | str | int) -> bytes:
    """Return a field of a protocol buffer: a number below 128, or as much as that."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    data = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(data)]) + data


def _model() -> bytes:
    """Return a graph of one node, as ONNX writes it: rows (less zero) times points."""

    def declared(name: str, kind: int) -> bytes:
        return _field(1, name) + _field(2, _field(1, _field(1, kind)))

    node = b"".join(_field(1, name) for name in _INPUTS) + _field(2, "values")
    graph = _field(1, node + _field(4, "MatMulInteger")) + _field(2, "product")
    graph += b"".join(_field(11, declared(*input_)) for input_ in _INPUTS.items())
    graph += _field(12, declared("values", _INT32))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))


def _version() -> str:
    """Return the version of ONNX Runtime without importing it."""
    from importlib.metadata import version  # slow to import

    return version("onnxruntime")


def _silent(named: str) -> bool:
    """Return True if a version of ONNX Runtime has no telemetry; unreadable ones may have it."""
    try:
        return tuple(map(int, named.split(".")[:2])) < _TELEMETRY
    except ValueError:
        return False


@cache
def _session() -> Any:
    """Return the kernel, without threads of its own."""
    if not _silent(_version()):
        raise ImportError("a version with telemetry")
    import onnxruntime  # heavy import

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(_model(), options, providers=["CPUExecutionProvider"])


Rows = Any
"""Rows as the kernel takes them."""


class Product:
    """Products of some points with many rows, exact.

    Args:
        points: whole numbers of at most 127 by size, shape (m, d).
        level: the largest number of a row by size, 127 or 63.
        rows: how many at a time; times m, a multiple of 32, they are 2^19 at most.
    """

    def __init__(self, points: NDArray[np.float64], level: int, rows: int) -> None:
        m, d = points.shape
        # No point but _ALIGNED of them: the kernel writes whole lines of the cache.
        small = np.zeros((d, m + -m % _ALIGNED), dtype=np.int8)
        small[:, :m] = points.T
        values = _room()[: rows * small.shape[1]].reshape(rows, -1)
        self._values = values[:, :m]
        zero = np.array(level + 1, dtype=np.uint8)
        self._held = small, zero  # as long as the kernel has their addresses
        self._session = _session()
        self._binding = self._session.io_binding()
        for name, array in zip(("points", "zero"), self._held, strict=True):
            self._binding.bind_input(name, "cpu", 0, array.dtype, *_aligned_start(array))
        self._binding.bind_output("values", "cpu", 0, np.int32, *_aligned_start(values))

    @staticmethod
    def rows(small: NDArray[np.uint8]) -> Rows:
        """Return rows (n, d), C order, given as ``level`` + 1 more than they are, made ready for
        calls.
        """
        import onnxruntime  # heavy import

        return onnxruntime.OrtValue.ortvalue_from_numpy(small)  # where they are, not a copy

    def __call__(self, rows: Rows) -> NDArray[np.int32]:
        """Return the products (n, m) with rows.  The thread's next call of any product overwrites
        them.
        """
        self._binding.bind_ortvalue_input("rows", rows)
        self._session.run_with_iobinding(self._binding)
        return self._values


def _room() -> NDArray[np.int32]:
    """Return this thread's buffer for products: in one large page of memory.

    Rows of products are kilobytes apart, so of small pages the kernel needs a new one with every
    row, and takes twice as long.
    """
    if not hasattr(_rooms, "values"):
        # Not from NumPy, which may take memory that was in use before, in small pages.
        memory = mmap.mmap(-1, 2 * _PAGE)
        if hasattr(mmap, "MADV_HUGEPAGE"):  # Linux
            with suppress(OSError):  # a kernel without them
                memory.madvise(mmap.MADV_HUGEPAGE)
        raw = np.frombuffer(memory, dtype=np.uint8)
        begin = -raw.ctypes.data % _PAGE
        _rooms.values = raw[begin : begin + _PAGE].view(np.int32)
    return _rooms.values  # type: ignore[no-any-return]


def _aligned_start(array: NDArray[Any]) -> tuple[tuple[int, ...], int]:
    return array.shape, array.ctypes.data


@cache
def levels() -> int:
    """Return the largest number that the kernel multiplies rightly: 127, 63, or 0: no kernel."""
    try:
        _session()
    except Exception:  # noqa: BLE001 - an extra that is missing or broken is not used
        return 0
    return next((level for level in _LEVELS if all(map(fits, _cases(level)))), 0)


Case = tuple[int, NDArray[np.float64], NDArray[np.int8]]


def _cases(level: int) -> Iterator[Case]:
    """Points and rows where every product, or every other one, is as large as it can be."""
    for m, n in _SHAPES:
        for d in (1, 2, 7, 64, 100, 301):
            for signs in (np.ones(d), -np.ones(d), (-1.0) ** np.arange(d)):
                points = np.outer(np.full(m, SIGNED), signs)
                yield level, points, np.full((n, d), level).astype(np.int8)
                yield level, points, np.outer(np.full(n, level), signs).astype(np.int8)
                yield level, points, np.full((n, d), -level).astype(np.int8)


def fits(case: Case) -> bool:
    """Return True if the kernel gives the same products as float64."""
    level, points, rows = case
    small = Product.rows((rows + np.int16(level + 1)).astype(np.uint8))
    values = Product(points, level, len(rows))(small)
    # All points are the same, and all rows.
    return bool((values == points[0] @ rows[0].astype(np.float64)).all())
