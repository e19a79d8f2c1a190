"""What `dpsan estimate` says of groups of texts, and what counting words of the output says.

python docs/studies/estimate.py ag_news/test.csv -k 2 -k 3 --no-header --by 1 -e 8,4 --seeds 3
python docs/studies/estimate.py FILE... -k text --planted     # lists planted in a random half

Lists are the 1, 5, 20 and 60 nearest words of random words of the texts, half of them among the 300
most frequent; planted ones share no word.  True counts decide which are judged (20 in two groups),
and never reach an estimate.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np

from dpsan.analysis.estimate import Estimate, read_groups
from dpsan.analysis.evaluate.pairs import Inputs
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.formats.base import ReadOptions
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats, Ids, unit_rows

Texts = Sequence[str]
Lists = Sequence[Ids]
SIZES, RARE, COMMON = (1, 5, 20, 60), 20, 100


class Corpus:
    """Texts by group, and what is right about their sanitized versions."""

    def __init__(
        self, epsilon: float, seed: int, texts: Texts, by: Texts, out: dict[str, list[bool]]
    ) -> None:
        self.sanitizer, self.texts, self.by = Sanitizer(epsilon=epsilon, seed=seed), texts, by
        self.words, self.labels = Vocabulary(self.sanitizer.embeddings, "unicode"), sorted(set(by))
        self.random, self.out = np.random.default_rng(seed), out

    def counts(self, texts: Sequence[str]) -> Floats:
        """Return how often each word stands in each group, shape (groups, n + 1)."""
        out = np.zeros((len(self.labels), self.words.n + 1))
        for text, label in zip(texts, self.by, strict=True):
            np.add.at(out[self.labels.index(label)], self.words.inputs(text)[1], 1)
        return out

    def lists(self, each: int, planted: bool) -> list[Ids]:
        """Return the nearest words of random words of the texts, for each size."""
        units, counts = unit_rows(self.sanitizer.space.vectors), self.counts(self.texts).sum(axis=0)
        rows = np.flatnonzero(counts[:-1] >= RARE)
        rows = rows[rows >= COMMON]
        usual = rows if planted else rows[np.argsort(-counts[rows], kind="stable")[:300]]
        chosen = [self.random.choice(some, len(SIZES) * each // 2) for some in (rows, usual)]
        out, taken = [], [*range(COMMON * planted)]
        for row, size in zip(np.concatenate(chosen), [*SIZES] * each, strict=True):
            order = np.argsort(-(units @ units[row]), kind="stable")
            out.append(order[~np.isin(order, taken)][:size])
            taken += out[-1].tolist() * planted
        return out

    def plant(self, lists: Lists, times: int) -> None:
        """Make two random halves; in B words of the lists replace random other words."""
        self.by, self.labels = self.random.choice(["A", "B"], len(self.texts)).tolist(), ["A", "B"]
        split = [self.words.inputs(text) for text in self.texts]
        of_b = (each for each, label in zip(split, self.by, strict=True) if label == "B")
        half = [(pieces, place) for pieces, rows in of_b for place in enumerate(rows)]
        listed = set(np.concatenate(lists).tolist())
        free = [(pieces, at) for pieces, (at, row) in half if row not in listed]
        planted = [row for _, (_, row) in half if row in listed] * (times - 1)
        chosen = self.random.choice(len(free), len(planted), replace=False)
        for place, row in zip(chosen, planted, strict=True):
            free[place][0][2 * free[place][1] + 1] = self.words.words[row]
        self.texts = ["".join(pieces) for pieces, _ in split]

    def judge(self, lists: Lists, name: str = "") -> None:
        """Note what is right: of planted lists (which have a name) comparisons alone."""
        self.written, true = self.sanitizer.rewrite(self.texts), self.counts(self.texts)
        ratios, naive = log_ratios(true, lists, RARE), log_ratios(self.counts(self.written), lists)
        for pair, ratio in ratios.items():
            if ratio >= np.log(2):
                self.out[f"{name}2x: sign right by counting"].append(naive[pair] > 0)
        found, called = Estimate(self.written, self.by, self.sanitizer), set()
        asked = {str(at): [self.words.words[row] for row in rows] for at, rows in enumerate(lists)}
        for row in found.comparisons(asked):
            pair = (int(row["list"]), *(self.labels.index(row[side]) for side in ("more", "less")))
            if ratio := ratios.get(pair):
                called |= {pair, (pair[0], pair[2], pair[1])}
                self.out[f"{name}called: sign right"].append(ratio > 0)
                self.out[f"{name}called: at least R"].append(ratio >= np.log(row["times"]))
        for pair, ratio in ratios.items():
            if ratio > 0:
                kind = "2x: called" if ratio >= np.log(2) else "below 2x: called"
                self.out[name + kind].append(pair in called)
        for row in () if name else found.counts(asked):
            count = true[self.labels.index(row["group"]), lists[int(row["list"])]].sum()
            kind = "at most: holds" if row["low"] is None else "interval: holds"
            self.out[kind].append((row["low"] or 0) <= count <= row["high"])
        for row in () if name else found.top():
            group, counts = self.labels.index(row["group"]), true[:, self.words.row(row["word"])]
            expected = counts.sum() * true[group].sum() / true.sum()
            self.out["top 20: right"].append(counts[group] > expected)


def log_ratios(counts: Floats, lists: Lists, least: int = 0) -> dict[tuple[int, ...], float]:
    """Return the log ratio of the rates of each list in two groups that have it often enough."""
    sizes, out = counts.sum(axis=1), {}
    for at, rows in enumerate(lists):
        held = counts[:, rows].sum(axis=1)
        for a, b in permutations(range(len(sizes)), 2):
            if held[a] + held[b] >= least:
                rate = (held + 10 * sizes / (sizes[a] + sizes[b])) / sizes
                out[at, a, b] = float(np.log(rate[a] / rate[b]))
    return out


def main(given: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("-k", "--field", action="append", required=True)
    parser.add_argument("--by", help="field with the group of a record (default: its file)")
    parser.add_argument("--no-header", action="store_true")
    parser.add_argument("-e", "--epsilon", default="8", help="LDP epsilons (8)")
    parser.add_argument("--seeds", default="1", help="how many runs, or which, as 2-3 (1)")
    parser.add_argument("--planted", action="store_true", help="lists planted in a random half")
    asked = parser.parse_args(given)
    options = ReadOptions(fields=tuple(asked.field), header=not asked.no_header, force_text=True)
    texts, by = read_groups(asked.files, Inputs("auto", options), asked.by)
    first, _, last = asked.seeds.rpartition("-")
    for epsilon in map(float, asked.epsilon.split(",")):
        out = defaultdict[str, list[bool]](list)
        for seed in range(int(first or 1), int(last) + 1):
            for times in (1, 2, 4) if asked.planted else (0,):
                corpus = Corpus(epsilon, seed, texts, by, out)
                each = {0: 60, 1: 150}.get(times, 16)
                lists = corpus.lists(each, planted=times > 1)
                if times:
                    corpus.plant(lists, times)
                name = f"planted {times}x, " if times else ""
                corpus.judge(lists, name)
        for what, right in out.items():
            print(f"{epsilon:g}  {what:40} {np.mean(right):.3f} of {len(right)}", flush=True)


if __name__ == "__main__":
    main()
