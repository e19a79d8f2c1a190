"""One seed, many ways to run: one output."""

# ruff: noqa: E501

import gzip
import itertools
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpsan.embeddings import file_digest
from dpsan.embeddings.store import Store
from dpsan.errors import DpsanError
from dpsan.formats.base import ReadOptions
from dpsan.mechanisms import MECHANISMS
from dpsan.run.plan import Plan
from dpsan.run.run import Run
from dpsan.run.workers import Pool
from dpsan.sanitize.sanitizer import Sanitizer, run_key
from dpsan.sanitize.settings import Settings
from scoreboard.base import Row, Size, embedding_file, required, row, tree

_QUICK = ("laplace", "exponential", "knn-response", "optimal-response", "tldp", "geodesic")
"""Each has a sampler of its own.  That draws of all mechanisms depend on nothing else is tested."""
_FORMATS = ("txt", "jsonl", "csv", "parquet", "txt.gz")


@row(
    "seed",
    "configurations with one seed (mechanism × jobs × batch × threads × format × gz × cluster"
    " tasks × resume × cold cache)",
    "≥ 100",
)
def configurations(row: Row, size: Size, folder: Path) -> None:
    """Jobs, batches, threads, formats, tasks of a cluster, resumed runs, cold and warm caches."""
    source = embedding_file(folder / "e.txt", size.of(200, 400, 1000), 8)
    digest = file_digest(source)
    inputs = _inputs(folder / "in", size.of(60, 60, 400))
    names = size.of(["laplace", "exponential"], [*_QUICK], [*MECHANISMS])
    count = 0
    left_out = []
    for name in names:
        given = {"parameters": required(name), "embeddings": source, "allow_unproved": True}
        spec = Settings(epsilon=4.0, mechanism=name, **given)
        try:
            sanitizer = Sanitizer.from_spec(spec, Store(folder / "cache"))
        except DpsanError:  # this epsilon, or this vocabulary, is outside its domain
            left_out.append(name)
            continue
        count += 1
        it = _Compared(row, folder / name, inputs)
        it.run("one", sanitizer)
        ways = itertools.product((1, 7, 4096), (1, 2))
        for batch, threads in ((1, 1), (7, 2)) if size is Size.QUICK else ways:
            it.run(f"batch {batch}", sanitizer, batch=batch, threads=threads)
        cold = Sanitizer.from_spec(spec, Store(folder / f"cold-{name}"))
        it.run("cold", cold, resume=True)
        it.cluster(sanitizer, Store(folder / "cache").root)
        several = (2, 4) if size is Size.FULL else (2,)
        heavy = name in ("laplace", "exponential", "knn-response") or size is Size.FULL
        for jobs in several if heavy and not (size is Size.MUTANT and name != "laplace") else ():
            with Pool(spec, folder / f"pool-{jobs}", jobs, digest) as pool:
                it.run(f"jobs {jobs}", sanitizer, batch=7, pool=pool, resume=True)
    row.note = f"{count} mechanisms, {len(_FORMATS)} formats; left out: {', '.join(left_out) or 'none'}; Ray: see tests/run/test_ray.py"


def _inputs(folder: Path, lines: int) -> list[Path]:
    """The same lines in every format, each file twice: the second has a key of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = random.Random(7)
    folder.mkdir()
    texts = [
        " ".join(f"w{generator.randrange(500)}" for _ in range(generator.randrange(9)))
        for _ in range(lines)
    ]
    texts[lines // 2] = " ".join(f"w{number % 300}" for number in range(700))  # more than a block
    bodies = {
        "txt": "\n".join(texts) + "\n",
        "jsonl": "".join(json.dumps({"t": text}) + "\n" for text in texts),
        "csv": "t\n" + "".join(f'"{text}"\n' for text in texts),
    }
    out = []
    for turn, ending in itertools.product((1, 2), _FORMATS):
        path = folder / f"{turn}.{ending}"
        if ending == "parquet":
            pq.write_table(pa.table({"t": texts}), path, row_group_size=23)
        elif ending == "txt.gz":
            path.write_bytes(gzip.compress(bodies["txt"].encode(), mtime=0))
        else:
            path.write_text(bodies[ending])
        out.append(path)
    return out


def _texts(name: str, data: bytes) -> list[str]:
    """The texts of an output, whatever its format."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if name.endswith("parquet"):
        return pq.read_table(pa.BufferReader(data)).column("t").to_pylist()
    lines = (gzip.decompress(data) if name.endswith("gz") else data).decode().splitlines()
    if name.endswith("jsonl"):
        return [json.loads(each)["t"] for each in lines]
    return [each.strip('"') for each in lines[1:]] if name.endswith("csv") else lines


class _Compared:
    """Runs of one mechanism, all compared with the first."""

    def __init__(self, row: Row, folder: Path, inputs: list[Path]) -> None:
        self.row, self.out, self.inputs = row, folder / "out", inputs
        self.first: dict[str, bytes] = {}

    def _given(self, sanitizer: Any, batch: int) -> Iterator[tuple[Any, ...]]:
        """For each format what a run of its inputs is given; outputs of other runs are gone."""
        shutil.rmtree(self.out, ignore_errors=True)
        for ending in _FORMATS:
            fields = () if "txt" in ending else ("t",)
            inputs = [each for each in self.inputs if each.name[2:] == ending]
            plan = Plan(options=ReadOptions(fields=fields), batch=batch)
            yield sanitizer, plan, run_key("s"), inputs, self.out

    def run(self, what, sanitizer, *, batch=1 << 14, threads=1, pool=None, resume=False):
        """All inputs of a format in one run; then the second output again, resumed."""
        import faiss

        faiss.omp_set_num_threads(threads)
        for given in self._given(sanitizer, batch):
            for again in (False, True)[: 1 + resume]:
                result = Run(*given, tree=True, resume=again, workers=pool).execute()
                self.row.count("failed", bool(result.failed))
                self.row.count("not resumed", result.skipped != int(again))
                if resume and not again:
                    (self.out / given[3][1].name).unlink()
        faiss.omp_set_num_threads(1)
        self._compare(what)

    def cluster(self, sanitizer: Any, cache: Path) -> None:
        """One task per file, the last one first, each run twice: as on a cluster with deaths."""
        import engine_here

        from dpsan.run.cluster import ClusterRun

        for given in self._given(sanitizer, 7):
            run = ClusterRun(*given, start=engine_here.start, cache=cache)
            self.row.count("failed", bool(run.execute().failed))
        self._compare("tasks of a cluster")

    def _compare(self, what: str) -> None:
        files = {Path(name).name: data for name, data in tree(self.out).items()}
        if not self.first:
            self.first = files
            for turn in "12":
                texts = [_texts(n, d) for n, d in files.items() if n.startswith(turn)]
                self.row.count("formats differ", any(each != texts[0] for each in texts))
            self.row.count("two files with the same words", files["1.txt"] == files["2.txt"])
        kind = what.rstrip("0123456789 ")
        self.row.count(f"different outputs: {kind}", files != self.first)
        self.row.tried += len(files)
