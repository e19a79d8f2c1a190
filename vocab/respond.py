"""Make the tables that come with the vocabulary: public base distributions of
``optimal-response``, and the largest distance of two words, which noise mechanisms need.

    python vocab/respond.py     # writes vocab/en/tables/*.npz, and hashes in manifest.json

One base for each epsilon of a grid, with the mechanism's default parameters, as the first run
with other embeddings solves for it: ten seconds each.  Their content is the same on every machine.
To be run again whenever words, counts, vectors or defaults change.
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
sys.path[:0] = [str(_HERE.parent), str(_HERE.parent / "docs" / "studies")]  # of this source tree

from common.cosine_bound import COSINE, bound_name, certified  # noqa: E402

from dpsan.embeddings.loading import load_bundled  # noqa: E402
from dpsan.mechanisms.optimal_response import OptimalResponse  # noqa: E402
from dpsan.mechanisms.tables.public_base import GRID, base_table  # noqa: E402
from dpsan.space.metric_space import MetricSpace, diameter_bound  # noqa: E402


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
    parser.add_argument(
        "--bounds",
        type=float,
        nargs="*",
        default=[4.0, 6.0, 8.0, 10.0],
        help="epsilons whose certified bound comes too, a minute each (default: 4 6 8 10)",
    )
    chosen = parser.parse_args()
    space = MetricSpace(load_bundled(folder=chosen.folder))
    (chosen.folder / "tables").mkdir(exist_ok=True)
    bound, exact = diameter_bound(space.vectors)
    np.savez_compressed(chosen.folder / "tables" / "diameter.npz", bound=[bound], exact=[exact])
    for epsilon in chosen.epsilon:
        started = time.perf_counter()
        usual = OptimalResponse(epsilon)
        task = usual.task(space)
        found = base_table(space, task)
        np.savez_compressed(chosen.folder / "tables" / f"{task.name}.npz", **found)
        if epsilon in chosen.bounds:
            space.table(task.name, lambda found=found: found)  # as later runs find it
            bound = {COSINE: np.array([certified(space, epsilon)])}
            name = chosen.folder / "tables" / f"{bound_name(epsilon)}.npz"
            np.savez_compressed(name, **bound)
        seconds = time.perf_counter() - started
        print(f"epsilon {epsilon:g}: {len(found['words'])} outputs, {seconds:.0f} s", flush=True)
    record(chosen.folder)


if __name__ == "__main__":
    main()
