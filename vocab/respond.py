"""Solve for the public base distributions of ``optimal-response`` that come with the vocabulary.

    python vocab/respond.py            # writes vocab/en/bases.npz and its hash in manifest.json

One base for each whole epsilon of the grid; the result is the same on every machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE.parent)]  # dpsan of this source tree

from dpsan.embeddings.bundled import load_bundled  # noqa: E402
from dpsan.mechanisms.sampling.public_base import GRID, base_table  # noqa: E402
from dpsan.space import MetricSpace  # noqa: E402


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=_HERE / "en")
    parser.add_argument("--epsilon", type=int, nargs="+", default=list(GRID))
    parser.add_argument("--frequent", type=int, default=10_000, help="inputs (default: 10000)")
    parser.add_argument("--rare", type=int, default=6000, help="other inputs (default: 6000)")
    parser.add_argument("--outputs", type=int, default=8000, help="first outputs (default: 8000)")
    parser.add_argument("--rounds", type=int, default=48, help="(default: 48)")
    parser.add_argument("--out", type=Path, help="default: bases.npz in the folder")
    chosen = parser.parse_args()
    embeddings = load_bundled(place=chosen.folder)
    space = MetricSpace(embeddings)
    arrays: dict[str, np.ndarray] = {}
    for epsilon in sorted(chosen.epsilon):
        started = time.perf_counter()
        found = base_table(
            space,
            epsilon,
            embeddings.counts,
            1.0,
            "cosine",
            frequent=chosen.frequent,
            rare=chosen.rare,
            outputs=chosen.outputs,
            rounds=chosen.rounds,
        )
        arrays |= {f"{epsilon}/{name}": value for name, value in found.items()}
        seconds = time.perf_counter() - started
        print(f"epsilon {epsilon}: {len(found['words'])} outputs, {seconds:.0f} s", flush=True)
        np.savez_compressed(chosen.out or chosen.folder / "bases.npz", **arrays)
    if chosen.out is None:
        path = chosen.folder / "manifest.json"
        manifest = json.loads(path.read_text(encoding="utf-8"))
        data = (chosen.folder / "bases.npz").read_bytes()
        manifest["sha256"]["bases.npz"] = hashlib.sha256(data).hexdigest()
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
