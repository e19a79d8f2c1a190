# mypy: implicit-reexport
"""The vocabulary with its distance: what mechanisms may know about words.

Inputs are row numbers 0 ... n-1 and ``n`` for ⊥, the one input that every unknown string becomes;
its point is the public centroid.  Outputs are row numbers only.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings import loading, words
from dpsan.embeddings.store import Entry, Store
from dpsan.errors import Hint, fewer_words
from dpsan.space.arrays import Floats, Floats32, Ids, Lattice, blocks, norms
from dpsan.space.exact_search import FlatIndex

T = TypeVar("T")
Arrays = dict[str, NDArray[Any]]


TABLE_KIND = "table"
"""Kind of the cache's entries that hold derived tables."""
_EAGER_FLOPS: Final = 2e12
"""Work (2·n²·d) up to which whole-vocabulary tables are computed; about 20 s on two cores."""
_SLOWNESS: Final = {1: 50, 2: 2}
"""By the norm: the share of that work after which a diameter is a bound."""
_FAR: Final = 512
"""Rows that are compared with others at once."""


class MetricSpace:
    """n words in d dimensions with the Euclidean distance.

    Args:
        embeddings: words and vectors, which become read-only.
        store: where derived tables are cached.
        digest: names the vocabulary in their keys.
        bundled: whether it is the whole default vocabulary, which brings some tables.
        centroid: what :func:`centroid_of` gives for the vectors, if it is known.
        norm: what :func:`largest_norm` gives for them, if it is known.
    """

    def __init__(
        self,
        embeddings: words.Embeddings,
        store: Store | None = None,
        digest: str = "",
        *,
        bundled: bool = False,
        centroid: Floats | None = None,
        norm: float | None = None,
    ) -> None:
        self._norm = norm
        self._index: FlatIndex | None = None
        self.n, self.d = embeddings.n, embeddings.d
        self.counts = embeddings.counts
        self.classes = embeddings.classes
        self._embeddings: words.Embeddings | None = embeddings  # its words may be read later
        self.name = ""
        """Names how the words were moved, in the keys of tables."""
        self._store, self._digest, self._bundled = store, digest, bundled
        self._owner = ""
        self._memory: dict[str, Arrays] = {}
        self._made: dict[Hashable, Any] = {}
        self.centroid = centroid_of(self.vectors) if centroid is None else centroid

    @property
    def index(self) -> FlatIndex:
        """The vectors and their search."""
        # Not a cached_property: in Python 3.11 that holds a lock while others read, and fork.
        if self._index is None:
            assert self._embeddings is not None  # noqa: S101 - made before it was pickled
            self._index = FlatIndex(self._embeddings.vectors, self._norm)
        return self._index

    @property
    def vectors(self) -> Floats32:
        """Shape (n, d), read-only."""
        return self.index.vectors

    @property
    def frequencies(self) -> Floats:
        """Public frequencies of the words, shape (n,); they sum to 1."""
        return words.word_frequencies(self.n, self.counts)

    @property
    def letters(self) -> NDArray[np.uint32]:
        """Code points of the words, shape (n, longest); 0 after the last one of a word."""

        def build() -> NDArray[np.uint32]:
            assert self._embeddings is not None  # noqa: S101 - made before it was pickled
            return np.array(self._embeddings.index_to_key).view(np.uint32).reshape(self.n, -1)

        return self.once("letters", build)

    def table(
        self, name: str, build: Callable[[], Arrays], *, of_mechanism: bool = False
    ) -> Arrays:
        """Arrays derived from this space alone: from memory, else the cache, else built.

        Args:
            of_mechanism: they depend on a mechanism too.  Code that changes may do so without its
                file, by what it imports: its mechanisms' tables are not kept.
        """
        if (arrays := self._memory.get(name)) is not None:
            return arrays
        key, full = self._key(name)
        arrays = loading.bundled_table(full) if self._bundled else None
        if arrays is None and self._store and not (self._owner and of_mechanism):
            meta = {"digest": self._digest, "table": full}
            arrays = self._store.get(TABLE_KIND, key, lambda: Entry(build(), meta)).arrays
        self._memory[name] = build() if arrays is None else arrays
        return self._memory[name]

    def number(self, name: str, build: Callable[[], float]) -> float:
        """Return a number derived from this space alone, kept as a table is."""
        (value,) = self.table(name, lambda: {"number": np.array([build()])}).values()
        return float(value[0])

    def moved(self, axes: Floats, centre: Floats | float = 0.0) -> Floats32:
        """Return the vectors less a centre (d,) along some axes (d, m), rounded to 32 bits."""
        out = np.empty((self.n, axes.shape[1]), dtype=np.float32)
        for ids in self.in_blocks("moving words", self.n, 8192):
            with np.errstate(over="ignore"):
                out[ids] = np.subtract(self.vectors[ids], centre, dtype=np.float64) @ axes
        return out

    def _key(self, name: str) -> tuple[str, str]:
        """Return the key of a table in the cache, and its name there."""
        full = f"{self.name}{name}-{self._owner}" if self._owner else f"{self.name}{name}"
        return f"{self._digest}/{full}", full

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return an object made from this space and the key alone; the first call makes it.

        The object must not hold the space, which would then refer to itself.
        """
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]  # type: ignore[no-any-return]

    def for_code_that_changes(self, digest: str | None) -> "MetricSpace":
        """Return the same with the tables of one program: a cache knows dpsan's by name alone.

        Args:
            digest: of the file with the program.  None: nobody knows it, and nothing is kept.
        """
        store = None if digest is None else self._store
        return self._with(_store=store, _bundled=False, _owner=digest or "")

    def _with(self, **changes: Any) -> "MetricSpace":
        """Return the same but for some attributes; nothing that was made from it is kept."""
        out = object.__new__(MetricSpace)
        vars(out).update(vars(self) | {"_memory": {}, "_made": {}} | changes)
        return out

    def in_blocks(self, what: str, n: int, size: int) -> Iterator[Ids]:
        """Yield the numbers 0 ... n - 1, so many at a time, and show how much is done.

        Args:
            what: is being made.
        """
        return words.shown(what, [*blocks(n, size)])

    def transformed(self, name: str, vectors: Floats32) -> "MetricSpace":
        """Return the same words at other points (clipped, whitened, projected).

        Args:
            name: names the transform and its parameters, part of the key of every cached table.
            vectors: shape (n, d'), a public deterministic function of the original vectors, which
                does not change any more.
        """
        index, centroid = FlatIndex(vectors), centroid_of(vectors)
        return self._with(_index=index, d=index.d, name=f"{self.name}{name}/", centroid=centroid)

    def points(self, ids: Ids) -> Floats:
        """Return the points of inputs (⊥ allowed), shape (m, d)."""
        unknown = ids == self.n
        if not unknown.any():
            return self.vectors[ids].astype(np.float64)
        out = self.vectors[np.where(unknown, 0, ids)].astype(np.float64)
        out[unknown] = self.centroid
        return out

    def search(self, points: Floats, k: int) -> tuple[Ids, Floats]:
        """Exact k nearest words of points (m, d): row numbers and distances, each (m, k)."""
        return self.index.search(points, k)

    def distances(self, ids: Ids) -> Floats:
        """Euclidean distances from inputs (⊥ allowed) to every word, shape (m, n).

        Each is a function of its two rows alone, symmetric, and exactly 0 from a word to itself.
        """
        return self.lattice.distances(ids)

    @property
    def lattice(self) -> Lattice:
        """Return the same points where distances are exact; made when first needed."""
        return self.once("lattice", lambda: Lattice(self.vectors, self.centroid))

    def eager(self, outputs: int) -> bool:
        """Return True if a table of all words against ``outputs`` words is cheap to build."""
        return bool(2.0 * self.n * outputs * self.d <= _EAGER_FLOPS)

    @property
    def fewer(self) -> Hint:
        """Return a hint for a space that is too large: the number of words that works."""
        return fewer_words((_EAGER_FLOPS / (2 * self.d)) ** 0.5)

    def neighbors(self, ids: Ids, k: int, outputs: NDArray[np.int32] | None = None) -> Ids:
        """Return the k nearest outputs of each word, (m, k).

        A word that is itself an output comes first; ties go to the smaller row number.

        Args:
            ids: words, not ⊥.
            outputs: ascending row numbers; default all words.
        """
        if outputs is None:
            nearest, listed = self.search(self.points(ids), k)[0], ids >= 0
        else:
            rows = outputs
            part = self.once(("rows", rows.tobytes()), lambda: FlatIndex(self.vectors[rows]))
            nearest = rows[part.search(self.points(ids), k)[0]].astype(np.int64)
            listed = np.isin(ids, rows)
        # Each output before others that have the same vector and a smaller row number.
        for row in np.flatnonzero(listed & (nearest[:, 0] != ids)):
            rest = nearest[row][nearest[row] != ids[row]][: k - 1]
            nearest[row] = np.concatenate(([ids[row]], rest))
        return nearest

    @property
    def diameter(self) -> float:
        """Largest distance between two inputs, exact or bounded from above (see the table)."""
        return float(self._diameter()["bound"][0])

    @property
    def diameter_is_exact(self) -> bool:
        """Return True if :attr:`diameter` is exact up to rounding upwards."""
        return bool(self._diameter()["exact"][0])

    def nearest_distances(self) -> Floats:
        """Distance from each word to its nearest other word, ascending.

        All words where that is cheap, else the most frequent ones (for display, not for proofs).
        """
        sample = self.n if self.eager(self.n) else min(self.n, 5000)

        def build() -> Arrays:
            out = np.empty(sample)
            for ids in self.in_blocks("finding the nearest word of each", sample, 4096):
                out[ids] = self.search(self.points(ids), 2)[1][:, 1]
            return {"nearest": np.sort(out)}

        if self.n < 2:
            return np.zeros(0)
        return self.table(f"nearest-{sample}", build)["nearest"]

    def variance(self) -> tuple[Floats, Floats]:
        """Variances along the directions in which the words vary, ascending and of sum d, shape
        (d,), and these directions, the columns of (d, d); equal vectors vary alike in all.
        """

        def build() -> Arrays:
            scatter = np.zeros((self.d, self.d))
            for ids in self.in_blocks("finding directions of variance", self.n, 8192):
                apart = self.vectors[ids] - self.centroid
                scatter += apart.T @ apart
            trace = float(np.trace(scatter))
            scatter = scatter * (self.d / trace) if trace > 0 else np.eye(self.d)
            values, axes = np.linalg.eigh(scatter)
            # The sign of an eigenvector is arbitrary: its largest component is made positive.
            axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(self.d)])
            return {"values": np.maximum(values, 0.0), "axes": axes}

        table = self.table("variance", build)
        return table["values"], table["axes"]

    def _diameter(self) -> Arrays:
        def build() -> Arrays:
            bound, exact = diameter_bound(self.vectors)
            return {"bound": np.array([bound]), "exact": np.array([exact])}

        return self.table("diameter", build)

    def __getstate__(self) -> dict[str, Any]:
        state = {**vars(self), "_index": self.index, "_embeddings": None}
        letters = {name: made for name, made in self._made.items() if name == "letters"}
        kept = {"_memory": {}, "_made": letters, "_store": None, "_bundled": False}
        return state | kept


def centroid_of(vectors: Floats32) -> Floats:
    """Return the mean of vectors (n, d), shape (d,): the point of ⊥."""
    mean: Floats = vectors.mean(axis=0, dtype=np.float64)
    return mean


def diameter_bound(vectors: Floats32, norm: int = 2) -> tuple[float, bool]:
    """Return an upper bound on the largest distance between rows, and whether it is the exact
    value.

    Two rows at distance >= L have radii (distances from the centroid) that sum to at least L.  So
    with L from a walk to far points and rows by falling radius each row meets the first ones only.
    Where too many are left, twice the largest radius is the bound.

    Args:
        vectors: shape (n, d).
        norm: 1 or 2.
    """
    centroid = centroid_of(vectors)
    radii = norms(vectors, centroid, norm)
    best, here = 0.0, int(np.argmax(radii))
    for _ in range(8):  # each step goes to the row farthest from the present one
        far = norms(vectors, vectors[here].astype(np.float64), norm)
        here = int(np.argmax(far))
        if far[here] <= best:
            break
        best = float(far[here])
    rounding = 1 + 1e-9  # float64 sums of at most 10^4 terms are good to 1e-12; safe side
    order = np.argsort(-radii, kind="stable")
    radii = radii[order]
    ends = np.searchsorted(-radii, -(best - radii) * (1 - 1e-6), side="right")
    ends = ends[ends > np.arange(len(ends))]  # the others meet no row after themselves
    pairs = float((ends - np.arange(len(ends))).sum())
    if 2 * pairs * vectors.shape[1] > _EAGER_FLOPS / _SLOWNESS[norm]:
        ranges = vectors.max(axis=0).astype(np.float64) - vectors.min(axis=0)
        return min(2 * float(radii[0]), float(np.linalg.norm(ranges, norm))) * rounding, False

    def farthest(rows: Floats, others: Floats) -> float:
        if norm == 1:
            from scipy.spatial.distance import cdist  # heavy import

            return float(cdist(rows, others, "cityblock").max())
        product = rows @ others.T
        product *= -2
        product += np.einsum("nd,nd->n", rows, rows)[:, None]
        product += np.einsum("nd,nd->n", others, others)
        return float(np.sqrt(max(product.max(), 0.0)))

    for at in words.shown("comparing words far out", range(0, len(ends), _FAR)):
        rows = vectors[order[at : at + _FAR]] - centroid
        for other in range(at, int(ends[at]), 16 * _FAR):
            others = vectors[order[other : min(other + 16 * _FAR, int(ends[at]))]] - centroid
            best = max(best, farthest(rows, others))
    return best * rounding, True
