"""What `dpsan verify` and tests/checks find of programs broken on purpose: mutant by setting.

    python tests/power.py [--json FILE] [--table]
    python tests/power.py --alarms N

`--alarms` runs sound mechanisms instead; `--table` prints the table of docs/reliability.md.
"""

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import page_parts
from broken_programs import DELTA, MUTANTS, Mutant
from checks.every import CHECKS, faults

from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.tables import Sampler
from dpsan.privacy.guarantee import Status
from dpsan.privacy.randomness import new_key, streams_for
from dpsan.sanitize.sanitizer import Sanitizer

DRAWS = 100_000
SIZES = {"40": 40, "2,000": 2000, "bundled": None}
EPSILONS = (2.0, 8.0)
ERROR = 1e-9
"""Of the test on paper, as of each check of the program."""
EXPECTED = 0.99
"""Probability on paper above which a mutant that is not found counts as missed."""


def made(name: str, epsilon: float, words: int | None, **given: Any) -> Sanitizer:
    return Sanitizer(name, epsilon=epsilon, vocab_size=words, **given)


def run(
    mutant: Mutant, epsilon: float, words: int | None, draws: int, names: Iterable[str] = CHECKS
) -> dict[str, Any]:
    """Verdict and what decided it, of one mutant in one setting, by ``verify`` and these checks."""
    options = {"parameters": dict(mutant.parameters), **mutant.options}
    sanitizer = made(mutant.mechanism, epsilon, words, **options)
    with mock.patch(*mutant.patch) if mutant.patch else nullcontext():
        if mutant.change is not None:
            mutant.change(sanitizer)
        found, wrong = verify(sanitizer, draws=draws), faults(sanitizer, names)
        nats, chance = on_paper(mutant, sanitizer, draws)
    by = [each.name for each in found.checks if each.held is False]
    by += ["configuration"] * any(not each.stated for each in found.configuration)
    by += ["lower bound"] * found.empirical.violated
    return {
        "verdict": "violated" if wrong else str(found.verdict),
        "by": [*by, *wrong],
        "checks": {each.name: each.sentence for each in found.checks} | wrong,
        "nats on paper": None if nats is None else round(nats, 1),
        "probability on paper": round(chance, 6),
        "expected": chance > EXPECTED,
    }


def on_paper(mutant: Mutant, sanitizer: Sanitizer, draws: int) -> tuple[float | None, float]:
    """Nats by which so many draws speak for the mutant, and the probability that they are enough.

    The test is that of Neyman and Pearson, which errs with probability ERROR; the log-likelihood
    ratio is taken to be normal.  None where single words have the same distribution (a mutant that
    shares random numbers, looks at other inputs, or writes what is not drawn): it shows for sure.
    """
    n, share = sanitizer.space.n, 1.0
    if mutant.noise is not None:
        factor, power = mutant.noise
        each = (factor**power - 1) / power - math.log(factor)
        nats = draws * sanitizer.sampler.space.d * each
        return nats, _chance(nats, 2 * nats)
    stated = sanitizer.mechanism.prepare(sanitizer.space)
    if mutant.skips:  # that none of so many draws is the word itself: as many nats as should be
        nats = float(_unchanged(stated, n, draws))
        return nats, _chance(nats, 0.0)
    if mutant.fixed is not None:
        inputs, output = mutant.fixed(n)
        law = stated.probabilities(np.array(inputs))
        drawn, share = np.zeros_like(law), 1 / (n + 1)
        drawn[:, output] = 1.0
    else:
        ids = np.unique(np.linspace(0, n, 40).astype(np.int64))
        drawn, law = sanitizer.sampler.probabilities(ids), stated.probabilities(ids)
        if drawn is None or law is None or mutant.change is None or mutant.patch is not None:
            return None, 1.0
    if (alien := drawn[law <= 0].sum() / len(law)) > 0:  # outputs that cannot come
        return math.inf, 1 - (1 - float(alien)) ** (draws * share)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(drawn > 0, np.log(drawn / law), 0.0)
    means = (drawn * logs).sum(axis=1)
    spread = (drawn * logs**2).sum(axis=1) - means**2
    nats = draws * share * float(means.mean())
    return nats, _chance(nats, draws * share * float(spread.mean()))


def _unchanged(stated: Sampler, n: int, draws: int) -> int:
    """How many of so many draws are the word itself, drawn by a sound sampler."""
    ids, found = np.arange(draws) * 7919 % n, 0
    for part in np.array_split(ids, max(1, draws // 8192)):
        streams = streams_for(new_key(), range(len(part)), [1] * len(part))
        found += int((stated.sample(part, streams) == part).sum())
    return found


def _chance(nats: float, variance: float) -> float:
    """Power of the best test, from mean and variance of its statistic under the mutant."""
    from scipy.special import log_ndtr, ndtr

    if variance < 1e-9:
        return float(nats >= -math.log(ERROR))
    deviation, low, high = math.sqrt(variance), -50.0, -math.log(ERROR)
    for _ in range(50):  # P(statistic >= c) without the mutant = E e^-statistic above c with it
        c = (low + high) / 2
        above = variance / 2 - nats + log_ndtr((nats - variance - c) / deviation)
        low, high = (c, high) if above > math.log(ERROR) else (low, c)
    return float(ndtr((nats - high) / deviation))


def alarms(runs: int) -> dict[str, Any]:
    """How often a sound mechanism is refuted, on small vocabularies, all mechanisms in turn."""
    from support import make_embeddings

    proved = [name for name, kind in MECHANISMS.items() if kind.status is Status.PROVED]
    done, bad, unjudged = 0, list[str](), Counter[str]()
    for number in range(10 * runs):
        name = proved[number % len(proved)]
        given = DELTA if "delta" in MECHANISMS[name].parameters() else {}
        epsilon = (0.5, 1.0, 2.0, 8.0)[number // len(proved) % 4]
        try:
            embeddings = make_embeddings(n=30, d=3, seed=number)
            sanitizer = Sanitizer(name, epsilon=epsilon, embeddings=embeddings, parameters=given)
        except UsageError:  # beyond the domain of its theorem
            continue
        found = verify(sanitizer, words=10, draws=4000)
        done += 1
        held = [each.name for each in found.checks if not each.held]
        if found.verdict is Verdict.VIOLATED:
            bad.append(f"{name} at {epsilon:g}, seed {number}: {held}")
        unjudged[f"{name} at {epsilon:g}: {held}"] += found.verdict is Verdict.INCONCLUSIVE
        if done == runs:
            break
    return {"runs": done, "false alarms": bad, "unjudged": dict(+unjudged)}


_SHORT = {"goodness of fit": "fit", "non-interference": "interference"}
_SHORT |= {"numbers by value": "numbers", "lower bound": "bound"}
"""Names of checks in the table, where they are shorter there."""


def table(rows: Sequence[dict[str, Any]]) -> str:
    """What refuted each mutant, as Markdown; of those that were not, the figures on paper."""
    settings = [f"epsilon {epsilon:g}, {size}" for size in SIZES for epsilon in EPSILONS]
    cells = {(row["mutant"], row["setting"]): row for row in rows}
    lines = [("mutant (of mechanism)", *(each.replace("epsilon", "ε =") for each in settings))]
    for name, mutant in MUTANTS.items():
        told = [_told(cells.get((name, setting))) for setting in settings]
        lines.append((f"{name} ({mutant.mechanism})", *told))
    return page_parts.table(*lines).rstrip()


def _told(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if row["verdict"] == "violated":
        return ", ".join(_SHORT.get(each, each) for each in row["by"])
    figure = f"{row['nats on paper']} nats, {row['probability on paper']:.2g}"
    return f"**{row['verdict']}** ({figure})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="append a line for every run")
    parser.add_argument("--table", action="store_true", help="of the file of --json, nothing else")
    parser.add_argument("--alarms", type=int, help="so many runs of sound mechanisms instead")
    given = parser.parse_args()
    if given.alarms:
        found = alarms(given.alarms)
        print(json.dumps(found, indent=1))
        sys.exit(1 if found["false alarms"] else 0)
    missed, rows = 0, list[dict[str, Any]]()
    if given.json and given.json.exists():  # a table that was begun goes on
        rows = [json.loads(line) for line in given.json.read_text().splitlines()]
    if given.table:
        print(table(rows))
        return
    done = {(row["mutant"], row["setting"]) for row in rows}
    for size, epsilon, (name, mutant) in product(SIZES, EPSILONS, MUTANTS.items()):
        setting = f"epsilon {epsilon:g}, {size}"
        if (name, setting) in done:
            continue
        row = {"mutant": name, "setting": setting, "mechanism": mutant.mechanism}
        row |= run(mutant, epsilon, SIZES[size], DRAWS)
        missed += row["expected"] and row["verdict"] != "violated"
        expected = "expected" if row["expected"] else "not expected"
        print(f"{setting:<20} {name:<32} {expected}: {_told(row)}", flush=True)
        if given.json:
            with given.json.open("a") as file:
                file.write(json.dumps(row) + "\n")
    print(f"{missed} missed that so many draws should show")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
