"""Solve for the public base distributions of ``optimal-response`` that come with the vocabulary.

    python vocab/respond.py     # writes vocab/en/tables/base-*.npz, and hashes in manifest.json

One table for each epsilon of a grid, one or two minutes each; their content is the same on every
machine.  To be run again whenever words, counts or vectors change.
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
from dpsan.mechanisms.sampling.public_base import GRID, base_table, table_name  # noqa: E402
from dpsan.space.metric_space import MetricSpace  # noqa: E402


def record(folder: Path) -> None:
    """Put the hashes of all tables of a vocabulary into its manifest."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    hashes = manifest["sha256"]
    for name in [name for name in hashes if name.startswith("tables/")]:
        del hashes[name]
    for file in sorted((folder / "tables").glob("*.npz")):
        hashes[f"tables/{file.name}"] = hashlib.sha256(file.read_bytes()).hexdigest()
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=_HERE / "en", help="of the vocabulary")
    parser.add_argument("--epsilon", type=float, nargs="+", default=list(GRID))
    parser.add_argument("--frequent", type=int, default=12_000, help="inputs (default: 12000)")
    parser.add_argument("--rare", type=int, default=5000, help="other inputs (default: 5000)")
    parser.add_argument("--outputs", type=int, default=8000, help="first outputs (default: 8000)")
    parser.add_argument("--rounds", type=int, default=60, help="(default: 60)")
    chosen = parser.parse_args()
    embeddings = load_bundled(place=chosen.folder)
    space = MetricSpace(embeddings)
    (chosen.folder / "tables").mkdir(exist_ok=True)
    usual = np.zeros(space.n)
    usual[: chosen.outputs] = np.sqrt(embeddings.counts[: chosen.outputs])
    for epsilon in chosen.epsilon:
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
        # Again with every word as an input, from there; outputs that were dropped may come back.
        start = 0.05 * usual / usual.sum()
        start[found["words"]] += found["base"] / found["base"].sum()
        found = base_table(
            space,
            epsilon,
            embeddings.counts,
            1.0,
            "cosine",
            frequent=space.n,
            rare=0,
            outputs=space.n,
            rounds=chosen.rounds,
            start=start,
            mass=float(found["mass"][0] / found["base"].sum()),
        )
        name = table_name(epsilon, 1.0, "cosine")
        np.savez_compressed(chosen.folder / "tables" / f"{name}.npz", **found)
        seconds = time.perf_counter() - started
        print(f"epsilon {epsilon:g}: {len(found['words'])} outputs, {seconds:.0f} s", flush=True)
    record(chosen.folder)


if __name__ == "__main__":
    main()
