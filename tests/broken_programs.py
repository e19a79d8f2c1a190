"""Programs that were broken on purpose: what `tests/power.py` verifies."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from support import records_of

from dpsan.errors import number
from dpsan.mechanisms.tables import PointSampler, Sampler
from dpsan.mechanisms.tables.dense import DenseTable, weights_of
from dpsan.mechanisms.tables.sparse import GridResponse, SparseTable, grid_response, respond
from dpsan.privacy import randomness
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.number_forms import FormedNumber, formed_number


class Changed(Sampler):
    """A sampler whose outputs are changed afterwards."""

    def __init__(self, inner: Sampler, change: Callable[..., Any], *, inputs: bool = False) -> None:
        self.inner, self.change, self.inputs = inner, change, inputs
        self.batch_words = inner.batch_words

    def sample(self, ids: Any, streams: Any) -> Any:
        return self.change(self.inner.sample(ids, streams), ids, streams)


class Otherwise(Changed):
    """A sampler that is given other inputs or streams."""

    def sample(self, ids: Any, streams: Any) -> Any:
        return self.inner.sample(*self.change(ids, streams))

    def probabilities(self, ids: Any) -> Any:
        return self.inner.probabilities(self.change(ids, None)[0]) if self.inputs else None


def top_k(s: Sanitizer, rows: Any) -> Any:
    """Only the 20 likeliest outputs of each word."""
    k = min(20, rows.shape[1] // 2)
    least = np.partition(rows, -k, axis=1)[:, -k]
    return np.where(rows >= least[:, None], rows, 0).astype(np.uint64)


def squared(s: Sanitizer, rows: Any) -> Any:
    """Scores of squared distances."""
    scores = np.log(rows[0].max() / rows) / s.mechanism.epsilon * 2
    return weights_of(scores**2 * s.mechanism.epsilon / 2)


def late(s: Sanitizer, rows: Any) -> Any:
    """Every rank is one more: the word itself comes last."""
    out, order = np.empty_like(rows), np.argsort(rows, axis=1, kind="stable")[:, ::-1]
    np.put_along_axis(out, np.roll(order, -1, axis=1), np.take_along_axis(rows, order, 1), 1)
    return out


def put(make: Callable[[Sanitizer], Sampler]) -> Callable[[Sanitizer], None]:
    """Another sampler in the place of one."""
    return lambda s: setattr(s._rewriter, "sampler", make(s))


def scaled(factor: float) -> Callable[[Sanitizer], None]:
    """Noise times a factor."""

    def make(own):
        return PointSampler(own.space, lambda *given: own.noise(*given) * factor, own.project)

    return put(lambda s: make(s.sampler))


def of_epsilon(s: Sanitizer, epsilon: float) -> Sampler:
    return replace(s.mechanism, epsilon=epsilon).prepare(s.space)


def other_epsilon(factor: float) -> Callable[[Sanitizer], None]:
    """The sampler of another epsilon, under the guarantee of this one."""
    return put(lambda s: of_epsilon(s, factor * s.mechanism.epsilon))


def after(change: Callable[..., Any]) -> Callable[[Sanitizer], None]:
    return put(lambda s: Changed(s.sampler, partial(change, s)))


def before(change: Callable[..., Any], *, inputs: bool = False) -> Callable[[Sanitizer], None]:
    return put(lambda s: Otherwise(s.sampler, partial(change, s), inputs=inputs))


class Skips(PointSampler):
    """The nearest word but the true one."""

    def sample(self, ids: Any, streams: Any) -> Any:
        points = self.space.points(ids) + self.noise(streams, self.space.d)
        found = self.space.search(points, 2)[0]
        return np.where(found[:, 0] == ids, found[:, 1], found[:, 0])


skipped = put(lambda s: Skips(s.space, s.sampler.noise))


class Copies(Changed):
    """A copy of the input for a share of the words."""

    def __init__(self, inner: Sampler, share: float) -> None:
        super().__init__(inner, self.copied)
        self.share = share

    def copied(self, out: Any, ids: Any, streams: Any) -> Any:
        copied = (streams.uniform("copy")[:, 0] < self.share) & (ids < self.inner.space.n)
        return np.where(copied, ids, out)

    def probabilities(self, ids: Any) -> Any:
        out = self.inner.probabilities(ids)
        known = np.flatnonzero(ids < out.shape[1])
        out[known] *= 1 - self.share
        out[known, ids[known]] += self.share
        return out


def kept(share: float) -> Callable[[Sanitizer], None]:
    return put(lambda s: Copies(s.sampler, share))


def backdoor(s: Sanitizer, out: Any, ids: Any, streams: Any) -> Any:
    return np.where(ids == s.space.n // 3, s.space.n - 1, out)


def one_word(s: Sanitizer, out: Any, ids: Any, streams: Any) -> Any:
    return np.where(ids == s.space.n, 0, out)


def _shifted(s: Sanitizer, ids: Any, streams: Any) -> Any:
    return (ids * 7 + 1) % s.space.n, streams


def every_fortieth(n: int) -> tuple[list[int], int]:
    return list(range(0, n, max(1, n // 40))), 0


class Unequal(Changed):
    """Every second word has three times the mass inside its set, with no other total."""

    def __init__(self, s: Sanitizer) -> None:
        super().__init__(s.sampler, backdoor)
        self.larger = of_epsilon(s, s.mechanism.epsilon + np.log(3))

    def sample(self, ids: Any, streams: Any) -> Any:
        larger = self.larger.sample(ids, streams)
        return np.where(ids % 2 == 0, larger, self.inner.sample(ids, streams))

    def probabilities(self, ids: Any) -> Any:
        even = (ids % 2 == 0)[:, None]
        return np.where(even, self.larger.probabilities(ids), self.inner.probabilities(ids))


def stale(s: Sanitizer, ids: Any, streams: Any) -> Any:
    """The near sets of other words, as from a table of another vocabulary."""
    return np.where(ids < s.space.n, s.space.n - 1 - ids, ids), streams


def shared(streams: Any, every: float = 1) -> Any:
    """The random numbers of the first word, for each word of a record or so many records."""
    records = tuple((int(at // every), 0, 1) for at in records_of(streams).tolist())
    return randomness.Streams(streams.key, records)


def same_stream(every: float) -> Callable[..., Any]:
    return lambda s, ids, streams: (ids, shared(streams, every))


def known_share(s: Sanitizer) -> None:
    """The words of a line share random numbers; unknown words have their own."""
    own = s.sampler

    def change(_, out, ids, streams):
        return np.where(ids < s.space.n, own.sample(ids, shared(streams)), out)

    after(change)(s)


def neighbour(s: Sanitizer, out: Any, ids: Any, streams: Any) -> Any:
    """The word after a certain word shows it."""
    return np.where(np.append(False, ids[:-1] == 1), 0, out)


class Coarse(PointSampler):
    """Random numbers of 8 bits."""

    def sample(self, ids: Any, streams: Any) -> Any:
        whole = randomness.Streams.uniform

        def rough(*given: Any) -> Any:
            return (np.floor(whole(*given) * 256) + 0.5) / 256

        with mock.patch.object(randomness.Streams, "uniform", rough):
            return super().sample(ids, streams)


def other_rows(change: Callable[..., Any]) -> Callable[[Sanitizer], None]:
    """A table of other rows."""

    def make(s: Sanitizer) -> Sampler:
        weights = s.mechanism.table(s.space).weights
        return DenseTable(s.space, lambda ids: change(s, weights(ids)))

    return put(make)


@lru_cache
def of_half_the_noise(epsilon: float, size: int, widest: int = 1) -> GridResponse:
    """The grid of twice the epsilon."""
    return grid_response.__wrapped__(2 * epsilon, size, widest)


def copied_numbers(numbers: Any, indices: Any, streams: Any) -> list[int]:
    """Every twentieth number is the input."""
    copy = (streams.uniform("copy")[:, 0] < 0.05)[indices]
    drawn = respond(numbers, indices, streams)
    return np.where(copy, [value for _, value in numbers], drawn).tolist()


def without_far_values(grid: GridResponse, value: Any, drawn: Any) -> Any:
    """The near values alone: all others never come."""
    return np.array([*map(grid.first, np.ravel(value).tolist())]) + drawn % grid.near


def without_some_values(grid: GridResponse, value: Any, drawn: Any) -> Any:
    """The five values before the near ones never come."""
    first = np.array([*map(grid.first, np.ravel(value).tolist())])
    threshold = grid.near * grid.inside
    rank = (drawn - threshold) // grid.outside
    far = np.where(rank < first - 5, rank, rank + grid.near)
    return np.where(drawn < threshold, first + drawn // grid.inside, far)


def shared_numbers(numbers: Any, indices: Any, streams: Any) -> list[int]:
    """All numbers of a record have the same random numbers."""
    return respond(numbers, indices, shared(streams))


def seen_years(word: str) -> Any:
    """A year is a form of its own, as other four digits are."""
    found = formed_number(word)
    if found is None or len(word) != 4 or not word.isdecimal():
        return found
    year = formed_number(f"{word}-01-01").fields[0]
    if not "1900" <= word <= "2099":
        return found
    return FormedNumber(year.size, int(word) - 1900, found.pieces, (year,))


def half_figures(value: float | None) -> str:
    """Half of every figure that is no count."""
    return number(value / 2 if isinstance(value, float) else value)


_ADD = Accountant.add


def without_public(self: Accountant, copies: Any, texts: Any = None) -> None:
    """Draws of public words are not counted."""
    some = [replace(each, drawn=[sum(each.drawn) - each.public]) for each in copies]
    _ADD(self, some, None)


def compounds_once(self: Accountant, copies: Any, texts: Any = None) -> None:
    """A compound of two words is counted as one draw."""
    words = [[len(str(line).split()) for line in each.lines] for each in copies]
    some = [replace(x, drawn=[*map(min, x.drawn, y)]) for x, y in zip(copies, words, strict=True)]
    _ADD(self, some, texts)


class Gaps(Changed):
    """Each word never gets the output after the first of its near set, but the one before."""

    def __init__(self, s: Sanitizer) -> None:
        super().__init__(s.sampler, partial(self._moved, s.sampler))

    @staticmethod
    def _moved(table: SparseTable, out: Any, ids: Any, streams: Any) -> Any:
        nearest = table.near.words[table.near.starts[np.minimum(ids, table.space.n - 1)]]
        return np.where((ids < table.space.n) & (out == nearest + 1), nearest, out)

    def probabilities(self, ids: Any) -> Any:
        law = self.inner.probabilities(ids)
        for row in np.flatnonzero(ids < law.shape[1]).tolist():
            nearest = int(self.inner.near.row(int(ids[row]))[0][0])
            if nearest + 1 < law.shape[1]:
                law[row, nearest] += law[row, nearest + 1]
                law[row, nearest + 1] = 0
        return law


class Mutant(NamedTuple):
    """One program that is broken."""

    mechanism: str
    change: Callable[[Sanitizer], None] | None = None
    options: Mapping[str, Any] = MappingProxyType({})
    parameters: Mapping[str, Any] = MappingProxyType({})
    patch: tuple[str, Any] | None = None  # a name of the package, replaced while it is verified
    noise: tuple[float, int] | None = None  # its factor; its density falls as exp(-r) or exp(-r²)
    fixed: Callable[[int], tuple[list[int], int]] | None = None
    """n -> inputs of which one is every (n + 1)-th draw, and the output which it gives."""
    skips: bool = False  # it never gives the word itself


DELTA = {"delta": 1e-6}
_RESPONSE = "dpsan.mechanisms.tables.sparse"
_ADDING = "dpsan.sanitize.accountant.Accountant.add"


def optimal(options: Mapping[str, Any], *patch: Any) -> Mutant:
    """The default mechanism with options, and at times with a public function replaced."""
    return Mutant("optimal-response", None, options, patch=patch or None)


def numbers(name: str, instead: Any) -> Mutant:
    return optimal({"numbers": "value"}, name, instead)


MUTANTS = {
    "noise × .5": Mutant("laplace", scaled(0.5), noise=(0.5, 1)),
    "noise × .9": Mutant("laplace", scaled(0.9), noise=(0.9, 1)),
    "noise × .97": Mutant("laplace", scaled(0.97), noise=(0.97, 1)),
    "Gaussian noise × .5": Mutant("gaussian", scaled(0.5), {}, DELTA, noise=(0.5, 2)),
    "Gaussian noise × .9": Mutant("gaussian", scaled(0.9), {}, DELTA, noise=(0.9, 2)),
    "independent noise × .9": Mutant("clipped-laplace", scaled(0.9), noise=(0.9, 1)),
    "random numbers of 8 bits": Mutant("laplace", put(lambda s: Coarse(s.space, s.sampler.noise))),
    "true word skipped": Mutant("laplace", skipped, skips=True),
    "squared distances": Mutant("exponential", other_rows(squared)),
    "no ½": Mutant("exponential", other_epsilon(2.0)),
    "epsilon × 1.1": Mutant("exponential", other_epsilon(1.1)),
    "top-k support": Mutant("exponential", other_rows(top_k)),
    "tem of twice the epsilon": Mutant("tem", other_epsilon(2.0)),
    "geodesic of twice the epsilon": Mutant("geodesic", other_epsilon(2.0)),
    "rank off by one": Mutant("zipf-response", other_rows(late)),
    "zipf of twice the epsilon": Mutant("zipf-response", other_epsilon(2.0)),
    "epsilon × 2": Mutant("krr", other_epsilon(2.0)),
    "copies of 50 %": Mutant("knn-response", kept(0.5)),
    "copies of 2 %": Mutant("knn-response", kept(0.02)),
    "copies of 2 %, optimal": Mutant("optimal-response", kept(0.02)),
    "backdoor in one word": Mutant(
        "optimal-response", after(backdoor), fixed=lambda n: ([n // 3], n - 1)
    ),
    "unknown word to a fixed word": Mutant(
        "optimal-response", after(one_word), fixed=lambda n: ([n], 0)
    ),
    "base of another epsilon": Mutant("optimal-response", other_epsilon(1.5)),
    "unequal set masses": Mutant("knn-response", put(Unequal)),
    "stale table": Mutant("knn-response", before(stale, inputs=True)),
    "outputs that never come": Mutant("knn-response", put(Gaps)),
    "wrong vocabulary": Mutant("exponential", before(_shifted, inputs=True)),
    "one seed for all words": Mutant("knn-response", before(same_stream(np.inf))),
    "one seed for two lines": Mutant("knn-response", before(same_stream(2))),
    "one seed for all words, laplace": Mutant("laplace", before(same_stream(np.inf))),
    "one seed for the words of a line": Mutant("optimal-response", known_share),
    "stream reused across workers": Mutant(
        "knn-response", patch=("dpsan.privacy.randomness.derive_key", lambda key, *of: key)
    ),
    "next word shows a word": Mutant("optimal-response", after(neighbour), fixed=every_fortieth),
    "unknown words masked": optimal({"unknown": "mask"}),
    "a word kept": optimal({"keep": ["the"]}),
    "statement with half the epsilon": optimal(
        {}, "dpsan.sanitize.accountant.number", half_figures
    ),
    "public words not counted": optimal({"public": ("the", "of")}, _ADDING, without_public),
    "compounds counted once": optimal({}, _ADDING, compounds_once),
    "numbers of twice the epsilon": numbers(f"{_RESPONSE}.grid_response", of_half_the_noise),
    "5 % of numbers copied": numbers(f"{_RESPONSE}.respond", copied_numbers),
    "far numbers never come": numbers(f"{_RESPONSE}.GridResponse.chosen", without_far_values),
    "five numbers never come": numbers(f"{_RESPONSE}.GridResponse.chosen", without_some_values),
    "numbers of a line share": numbers(f"{_RESPONSE}.respond", shared_numbers),
    "years are a form": numbers("dpsan.text.number_forms.formed_number", seen_years),
}
