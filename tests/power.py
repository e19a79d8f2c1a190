"""What `dpsan verify` finds of mechanisms that were broken on purpose: mutant by setting.

    python tests/power.py [--quick] [--json FILE] [--only TEXT] [--setting TEXT] [--alarms N]

Not part of CI, which runs a few of these in tests/analysis/test_power.py. Each mutant is a program
that draws otherwise than its certificate or proof says; each is verified at epsilon 2 and 8 on the
first 40 and 2,000 words of the bundled vocabulary, and on all of them. `--alarms` runs sound
mechanisms instead. docs/reliability.md has the last table, and why a mutant may be missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.sampling.blocked import DistanceScores
from dpsan.mechanisms.sampling.samplers import PointSampler, RowSampler, Sampler
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Status
from dpsan.sanitize.sanitizer import Sanitizer

DRAWS: Final = 100_000
SIZES: Final = {"40": 40, "2,000": 2000, "bundled": None}
EPSILONS: Final = (2.0, 8.0)
SWEPT: Final = 2061
"""Inputs of a large vocabulary whose draws are compared."""
SURE: Final = 200.0
"""Nats on paper from which a mutant counts as one that the draws show.

About half of the draws are compared with the distribution, in some 400 cells.  A test that errs
with probability 1e-9 and does not know in which of them to look has to see the sum of squares grow
by six times its spread, sqrt(2·400): that is 170, twice the nats of those draws.
"""


class Changed(Sampler):
    """A sampler whose outputs are changed afterwards."""

    def __init__(self, inner: Sampler, change: Callable[..., Any]) -> None:
        self.inner, self.change = inner, change
        self.batch_words, self.whole_records = inner.batch_words, inner.whole_records

    def sample(self, ids: Any, streams: Any) -> Any:
        return self.change(self.inner.sample(ids, streams), ids, streams)


class Otherwise(Sampler):
    """A sampler that is given other inputs or streams."""

    def __init__(self, inner: Sampler, change: Callable[..., Any]) -> None:
        self.inner, self.change = inner, change
        self.batch_words, self.whole_records = inner.batch_words, inner.whole_records

    def sample(self, ids: Any, streams: Any) -> Any:
        return self.inner.sample(*self.change(ids, streams))


class TopK(RowSampler):
    """Only the 20 likeliest outputs of each word."""

    def weights(self, ids: Any) -> Any:
        full = super().weights(ids)
        k = min(20, full.shape[1] // 2)
        least = np.partition(full, -k, axis=1)[:, -k]
        return np.where(full >= least[:, None], full, 0).astype(np.uint64)


class Squared(DistanceScores):
    """Scores of squared distances."""

    def of(self, distances: Any) -> Any:
        return np.minimum(distances**2 * self.factor, self.cap)


def scaled(factor: float) -> Callable[[Sanitizer], None]:
    """Noise times a factor."""

    def change(s: Sanitizer) -> None:
        own = s.sampler
        s._rewriter.sampler = PointSampler(
            own.space, lambda streams, d: own.noise(streams, d) * factor, own.project
        )

    return change


def other_epsilon(factor: float) -> Callable[[Sanitizer], None]:
    """The sampler of another epsilon, under the guarantee of this one."""

    def change(s: Sanitizer) -> None:
        kind = type(s.mechanism)
        given = {name: getattr(s.mechanism, name) for name in kind.parameters()}
        s._rewriter.sampler = kind(s.mechanism.epsilon * factor, **given).prepare(s.space)

    return change


def after(change: Callable[..., Any]) -> Callable[[Sanitizer], None]:
    return lambda s: setattr(
        s._rewriter, "sampler", Changed(s.sampler, lambda *each: change(s, *each))
    )


def before(change: Callable[..., Any]) -> Callable[[Sanitizer], None]:
    return lambda s: setattr(
        s._rewriter, "sampler", Otherwise(s.sampler, lambda *each: change(s, *each))
    )


def skipped(s: Sanitizer) -> None:
    own = s.sampler

    class Skips(PointSampler):
        def sample(self, ids: Any, streams: Any) -> Any:
            points = self.space.points(ids) + self.noise(streams, self.space.d)
            found = self.space.search(points, 2)[0]
            return np.where(found[:, 0] == ids, found[:, 1], found[:, 0])

    s._rewriter.sampler = Skips(own.space, own.noise)


class Copies(Sampler):
    """A copy of the input for a share of the words."""

    def __init__(self, inner: Sampler, share: float) -> None:
        self.inner, self.share = inner, share
        self.batch_words = inner.batch_words

    def sample(self, ids: Any, streams: Any) -> Any:
        out = self.inner.sample(ids, streams)
        copied = (streams.uniform("copy")[:, 0] < self.share) & (ids < self.inner.space.n)
        return np.where(copied, ids, out)

    def probabilities(self, ids: Any) -> Any:
        out = self.inner.probabilities(ids)
        known = np.flatnonzero(ids < out.shape[1])
        out[known] *= 1 - self.share
        out[known, ids[known]] += self.share
        return out


def kept(share: float) -> Callable[[Sanitizer], None]:
    return lambda s: setattr(s._rewriter, "sampler", Copies(s.sampler, share))


def backdoor(s: Sanitizer, out: Any, ids: Any, streams: Any) -> Any:
    return np.where(ids == s.space.n // 3, s.space.n - 1, out)


def fixed(s: Sanitizer, out: Any, ids: Any, streams: Any) -> Any:
    return np.where(ids == s.space.n, 0, out)


def unequal(s: Sanitizer) -> None:
    """Every second word has three times the mass inside its set, with no other total."""
    kind = type(s.mechanism)
    given = {name: getattr(s.mechanism, name) for name in kind.parameters()}
    larger = kind(s.mechanism.epsilon + np.log(3), **given).prepare(s.space)
    own = s.sampler

    class Unequal(Changed):
        def sample(self, ids: Any, streams: Any) -> Any:
            return np.where(ids % 2 == 0, larger.sample(ids, streams), own.sample(ids, streams))

        def probabilities(self, ids: Any) -> Any:
            even = (ids % 2 == 0)[:, None]
            return np.where(even, larger.probabilities(ids), own.probabilities(ids))

    s._rewriter.sampler = Unequal(own, backdoor)


def stale(s: Sanitizer) -> None:
    """The near sets of other words, as from a table of another vocabulary."""
    s._rewriter.sampler = Otherwise(
        s.sampler,
        lambda ids, streams: (np.where(ids < s.space.n, s.space.n - 1 - ids, ids), streams),
    )


def same_stream(every: int) -> Callable[..., Any]:
    """The random numbers of one word for so many of them; all of them for 0."""

    def change(s: Sanitizer, ids: Any, streams: Any) -> Any:
        records = [0 if not every else record // every for record in streams.records.tolist()]
        again = randomness.Streams(streams.key, tuple((record, 0, 1) for record in records))
        return ids, again

    return change


def neighbour(s: Sanitizer, out: Any, ids: Any, streams: Any) -> Any:
    """The word after a certain word shows it."""
    moved = out.copy()
    if len(ids) > 1:
        moved[1:] = np.where(ids[:-1] == 1, 0, out[1:])
    return moved


def coarse(s: Sanitizer) -> None:
    """Random numbers of 8 bits."""
    own = s.sampler
    whole = randomness.Streams.uniform

    def rough(self: Any, label: str, width: int = 1) -> Any:
        return (np.floor(whole(self, label, width) * 256) + 0.5) / 256

    class Coarse(PointSampler):
        def sample(self, ids: Any, streams: Any) -> Any:
            with mock.patch.object(randomness.Streams, "uniform", rough):
                return super().sample(ids, streams)

    s._rewriter.sampler = Coarse(own.space, own.noise)


def rows(kind: type[RowSampler], factor: float = 0.5) -> Callable[[Sanitizer], None]:
    """The exponential distribution by another sampler."""

    def change(s: Sanitizer) -> None:
        s._rewriter.sampler = kind(s.space, DistanceScores(s.space, factor * s.mechanism.epsilon))

    return change


def squared(s: Sanitizer) -> None:
    s._rewriter.sampler = RowSampler(s.space, Squared(s.space, 0.5 * s.mechanism.epsilon))


def ranks(s: Sanitizer) -> None:
    """Every rank is one more: the word itself comes last."""
    own = s.sampler

    class Late(Changed):
        def sample(self, ids: Any, streams: Any) -> Any:
            rolled = type(own)(s.space, np.roll(own.weights, 1))
            return rolled.sample(ids, streams)

    s._rewriter.sampler = Late(own, backdoor)


class Mutant(NamedTuple):
    """One program that is broken."""

    mechanism: str
    change: Callable[[Sanitizer], None] | None = None
    options: Mapping[str, Any] = MappingProxyType({})
    parameters: Mapping[str, Any] = MappingProxyType({})
    patch: tuple[str, Any] | None = None
    """A name of the package that is replaced while it is verified."""
    one_word: bool = False
    """Only draws of one word show it, and only some words of a large vocabulary are drawn."""


_DELTA: Final = {"delta": 1e-6}
_derive = randomness.derive_key
MUTANTS: Final = {
    "noise × .5": Mutant("laplace", scaled(0.5)),
    "noise × .9": Mutant("laplace", scaled(0.9)),
    "noise × .97": Mutant("laplace", scaled(0.97)),
    "Gaussian noise × .5": Mutant("gaussian", scaled(0.5), {}, _DELTA),
    "Gaussian noise × .9": Mutant("gaussian", scaled(0.9), {}, _DELTA),
    "independent noise × .9": Mutant("clipped-laplace", scaled(0.9)),
    "random numbers of 8 bits": Mutant("laplace", coarse),
    "true word skipped": Mutant("laplace", skipped),
    "squared distances": Mutant("exponential", squared),
    "no ½": Mutant("exponential", other_epsilon(2.0)),
    "epsilon × 1.1": Mutant("exponential", other_epsilon(1.1)),
    "top-k support": Mutant("exponential", rows(TopK)),
    "tem of twice the epsilon": Mutant("tem", other_epsilon(2.0)),
    "geodesic of twice the epsilon": Mutant("geodesic", other_epsilon(2.0)),
    "rank off by one": Mutant("zipf-response", ranks),
    "zipf of twice the epsilon": Mutant("zipf-response", other_epsilon(2.0)),
    "epsilon × 2": Mutant("krr", other_epsilon(2.0)),
    "copies of 50 %": Mutant("knn-response", kept(0.5)),
    "copies of 2 %": Mutant("knn-response", kept(0.02)),
    "copies of 2 %, optimal": Mutant("optimal-response", kept(0.02)),
    "backdoor in one word": Mutant("optimal-response", after(backdoor), one_word=True),
    "unknown word to a fixed word": Mutant("optimal-response", after(fixed)),
    "base of another epsilon": Mutant("optimal-response", other_epsilon(1.5)),
    "unequal set masses": Mutant("knn-response", unequal),
    "stale table": Mutant("knn-response", stale),
    "wrong vocabulary": Mutant(
        "exponential", before(lambda s, ids, streams: ((ids * 7 + 1) % s.space.n, streams))
    ),
    "one seed for all words": Mutant("knn-response", before(same_stream(0))),
    "one seed for two lines": Mutant("knn-response", before(same_stream(2))),
    "one seed for all words, laplace": Mutant("laplace", before(same_stream(0))),
    "stream reused across workers": Mutant(
        "knn-response", patch=("dpsan.privacy.randomness.derive_key", lambda key, *of: key)
    ),
    "next word shows a word": Mutant("optimal-response", after(neighbour)),
    "unknown words copied": Mutant("optimal-response", None, {"unknown": "keep"}),
    "unknown words masked": Mutant("optimal-response", None, {"unknown": "mask"}),
    "a word kept": Mutant("optimal-response", None, {"keep": ["the"]}),
    "letter case kept": Mutant("optimal-response", None, {"case": "input"}),
}


def made(name: str, epsilon: float, words: int | None, **given: Any) -> Sanitizer:
    return Sanitizer(name, epsilon=epsilon, vocab_size=words, **given)


def run(mutant: Mutant, epsilon: float, words: int | None, draws: int) -> dict[str, Any]:
    """Verdict and what decided it, of one mutant in one setting."""
    started = time.perf_counter()
    sanitizer = made(
        mutant.mechanism, epsilon, words, parameters=dict(mutant.parameters), **mutant.options
    )
    with ExitStack() as stack:
        if mutant.patch is not None:
            stack.enter_context(mock.patch(*mutant.patch))
        if mutant.change is not None:
            mutant.change(sanitizer)
        found = verify(sanitizer, draws=draws)
        paper = on_paper(sanitizer, draws)
    by = [each.name for each in found.checks if each.held is False]
    by += ["configuration"] * any(each.probability > 0 for each in found.exposures)
    by += ["lower bound"] * found.empirical.violated
    return {
        "verdict": str(found.verdict),
        "by": by,
        "checks": {each.name: each.sentence for each in found.checks},
        "chance that it is drawn": round(min(1.0, SWEPT / (sanitizer.space.n + 1)), 3)
        if mutant.one_word
        else 1.0,
        "nats on paper": None if paper is None else round(paper, 1),
        "lower bound": round(found.empirical.epsilon_lower, 3),
        "allowed": round(found.empirical.allowed, 3),
        "ceiling": round(found.empirical.ceiling, 3),
        "seconds": round(time.perf_counter() - started, 1),
    }


def on_paper(sanitizer: Sanitizer, draws: int) -> float | None:
    """Nats by which so many draws speak for the mutant and against the stated distribution.

    The mean log-likelihood ratio of draws of 40 inputs: a test that errs with probability 1e-9
    needs about 20.7 of them on average, and some more to be sure.  None where the mutant's
    distribution is not known.
    """
    n = sanitizer.space.n
    ids = np.unique(np.linspace(0, n, 40).astype(np.int64))
    drawn = sanitizer.sampler.probabilities(ids)
    stated = sanitizer.mechanism.prepare(sanitizer.space).probabilities(ids)
    if drawn is None or stated is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(drawn > 0, drawn * np.log(drawn / stated), 0.0)
    return draws * float(parts.sum(axis=1).mean())


def alarms(runs: int) -> dict[str, Any]:
    """How often a sound mechanism is not kept, on small vocabularies, all mechanisms in turn."""
    from support import make_embeddings

    proved = [name for name, kind in MECHANISMS.items() if kind.status is Status.PROVED]
    done, bad = 0, []
    for number in range(10 * runs):
        name = proved[number % len(proved)]
        given = _DELTA if "delta" in MECHANISMS[name].parameters() else {}
        epsilon = (0.5, 1.0, 2.0, 8.0)[number // len(proved) % 4]
        try:
            embeddings = make_embeddings(n=30, d=3, seed=number)
            sanitizer = Sanitizer(name, epsilon=epsilon, embeddings=embeddings, parameters=given)
        except UsageError:  # beyond the domain of its theorem
            continue
        found = verify(sanitizer, words=10, draws=4000)
        done += 1
        if found.verdict is not Verdict.KEPT:
            held = [each.name for each in found.checks if not each.held]
            bad.append(f"{name} at {epsilon:g}, seed {number}: {found.verdict}, {held}")
        if done % 20 == 0 or done == runs:
            print(f"{done} runs, {len(bad)} not kept", flush=True)
        if done == runs:
            break
    return {"runs": done, "not kept": bad}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="40 words only")
    parser.add_argument("--json", type=Path, help="append a line for every run")
    parser.add_argument("--only", default="", help="mutants whose name has this")
    parser.add_argument("--setting", default="", help="settings whose name has this")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--alarms", type=int, help="so many runs of sound mechanisms instead")
    given = parser.parse_args()
    if given.alarms:
        found = alarms(given.alarms)
        print(json.dumps(found, indent=1))
        sys.exit(1 if found["not kept"] else 0)
    missed, done = 0, set()
    if given.json and given.json.exists():  # a table that was begun goes on
        rows = [json.loads(line) for line in given.json.read_text().splitlines()]
        done = {(row["mutant"], row["setting"]) for row in rows}
    for size, words in list(SIZES.items())[: 1 if given.quick else 3]:
        for epsilon in EPSILONS:
            setting = f"epsilon {epsilon:g}, {size}"
            for name, mutant in MUTANTS.items():
                if given.only not in name or given.setting not in setting:
                    continue
                if (name, setting) in done:
                    continue
                row = {"mutant": name, "setting": setting, "mechanism": mutant.mechanism}
                row |= run(mutant, epsilon, words, given.draws)
                by, paper = ", ".join(row["by"]), row["nats on paper"]
                if row["verdict"] != "violated":
                    chance = row["chance that it is drawn"]
                    few = paper is not None and paper < SURE
                    missed += not few and chance > 0.99
                    by = f"{paper} nats on paper: too few" if few else "MISSED"
                    by = by if chance > 0.99 else f"its word is drawn with probability {chance:g}"
                print(f"{row['verdict']:<9} {setting:<20} {name:<32} {by}", flush=True)
                if given.json:
                    with given.json.open("a") as file:
                        file.write(json.dumps(row) + "\n")
    print(f"{missed} missed that so many draws should show")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
