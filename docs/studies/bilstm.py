"""[TrLap] Tables 1 to 3: the auto-encoder of the paper, which needs PyTorch (no extra of dpsan).

python docs/studies/bilstm.py VECTORS TRAIN.tsv TEST.tsv --text COLUMN [--epochs N] ...

A bidirectional LSTM of one layer reads the noisy clipped vectors of a sentence and names its words.
As in the paper: dropout .5, Adam with rate .01 and betas .5 and .999, noise in training and at
test.  Smaller than there: few sentences, epochs and words, vectors that are not trained.  Words
beyond the most frequent of the training sentences are <unk> on both sides and not kept.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dpsan.cli.options import Vocabulary
from dpsan.mechanisms.clipped_noise import ClippedLaplacePaper, GaussianPaper, TrLaplacePaper
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats

_KINDS = {"trlaplace": TrLaplacePaper, "gaussian": GaussianPaper, "laplace": ClippedLaplacePaper}


def sentences(path: Path, column: int, count: int) -> list[list[str]]:
    """Return the words of the first records of a file with a header, split at spaces."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row[column - 1].split() for row in islice(rows, 1, count + 1)]


class Noise:
    """Clipped vectors of words, and the noise of one mechanism at one epsilon."""

    def __init__(self, space: Any, name: str, epsilon: float, clip: float) -> None:
        kind = _KINDS.get(name, TrLaplacePaper)
        self._sampler = kind(epsilon or 1.0, clip=clip).noise(space)
        self._plain, self._turn = name == "none", 0
        self._points = self._sampler.space.points(np.arange(space.n + 1))

    def __call__(self, ids: Any) -> Floats:
        """Vectors of words (m,), with noise that is new at every call, (m, d)."""
        points = self._points[ids]
        if self._plain:
            return np.asarray(points)
        self._turn += 1
        key = randomness.seeded_key(f"dpsan study bilstm {self._turn}")
        streams = randomness.streams_for(key, [0], [len(ids)])
        return np.asarray(points + self._sampler.noise(streams, points.shape[1]))


def network(d: int, hidden: int, classes: int) -> Any:
    """Return the encoder and the layer that names words."""
    from torch import nn

    class AutoEncoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(d, hidden, batch_first=True, bidirectional=True)
            self.drop, self.words = nn.Dropout(0.5), nn.Linear(2 * hidden, classes)

        def forward(self, vectors: Any) -> Any:
            return self.words(self.drop(self.lstm(vectors)[0]))

    return AutoEncoder()


def run(asked: argparse.Namespace, name: str, epsilon: float) -> dict[str, float]:
    """Train on sentences with one noise; return words kept and the loss on test sentences."""
    import torch

    torch.manual_seed(0)
    embeddings, space = Vocabulary(embeddings=asked.vectors, quiet=True).open_space()
    index, n = embeddings.key_to_index, space.n
    parts = [
        sentences(path, asked.text, count)
        for path, count in ((asked.train, asked.sentences), (asked.test, asked.tests))
    ]
    common = Counter(word for words in parts[0] for word in words if word in index)
    number = {word: at for at, (word, _) in enumerate(common.most_common(asked.words), 1)}
    noise = Noise(space, name, epsilon, asked.clip)
    model = network(space.d, asked.hidden, len(number) + 1)
    steps = torch.optim.Adam(model.parameters(), lr=0.01, betas=(0.5, 0.999))

    def batches(texts: list[list[str]]) -> Any:
        order = sorted((each for each in texts if each), key=len)
        groups = [order[at : at + asked.batch] for at in range(0, len(order), asked.batch)]
        for turn in np.random.default_rng(0).permutation(len(groups)):
            group = groups[turn]
            shape = len(group), max(map(len, group))
            ids, truth = np.full(shape, n), np.full(shape, -1)
            for row, words in enumerate(group):
                ids[row, : len(words)] = [index.get(word, n) for word in words]
                truth[row, : len(words)] = [number.get(word, 0) for word in words]
            vectors = np.zeros((*shape, space.d), np.float32)
            inside = truth >= 0
            vectors[inside] = noise(ids[inside])
            yield torch.from_numpy(vectors), torch.from_numpy(truth)

    def loss_of(scores: Any, truth: Any) -> Any:
        return torch.nn.functional.cross_entropy(
            scores.flatten(0, 1), truth.flatten(), None, ignore_index=-1
        )

    model.train()
    for _ in range(asked.epochs):
        for vectors, truth in batches(parts[0]):
            steps.zero_grad()
            loss_of(model(vectors), truth).backward()
            steps.step()
    model.eval()
    kept = total = 0
    losses = []
    with torch.no_grad():
        for vectors, truth in batches(parts[1]):
            scores = model(vectors)
            losses.append(float(loss_of(scores, truth)))
            kept += int(((scores.argmax(dim=2) == truth) & (truth > 0)).sum())
            total += int((truth >= 0).sum())
    named = [number.get(word, 0) for words in parts[1] for word in words]
    most = Counter(each for each in named if each).most_common(1)[0][1] / len(named)
    return {"kept": kept / total, "loss": float(np.mean(losses)), "most_frequent_word": most}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("vectors", "train", "test"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--text", type=int, default=2)
    parser.add_argument("--clip", type=float, default=1.0)
    for name, value in (
        ("sentences", 3000),
        ("tests", 400),
        ("words", 1000),
        ("hidden", 128),
        ("epochs", 5),
        ("batch", 64),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--runs", default="none:0,trlaplace:.05,gaussian:.05,laplace:.05")
    asked = parser.parse_args()
    for each in asked.runs.split(","):
        name, _, epsilon = each.partition(":")
        began = time.perf_counter()
        found = run(asked, name, float(epsilon))
        shown = " ".join(f"{key} {value:.3f}" for key, value in found.items())
        print(f"{name} {epsilon}: {shown} ({time.perf_counter() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
