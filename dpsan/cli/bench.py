"""``dpsan bench``: words per second, beside a bare FAISS search.

Knows options and tables.  Must not know how speed is measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpsan.cli import options
from dpsan.cli.completion import mechanism_names
from dpsan.cli.file_checks import check_files, read_embeddings
from dpsan.cli.options import option
from dpsan.cli.output import print_json, print_table
from dpsan.errors import UsageError, check_name

if TYPE_CHECKING:
    from dpsan.analysis.bench import Benchmark
    from dpsan.analysis.bench.comparison import Change, Stored

_TEXT_WORDS = 1_000_000
"""Words of the text from which runs of about three seconds take their part."""


def bench(
    mechanism: Annotated[
        list[str] | None,
        option(
            "-m, --mechanism NAME",
            "What to measure, repeatable; default: every proved mechanism.",
            complete=mechanism_names,
        ),
    ] = None,
    epsilon: Annotated[
        float,
        option(
            "-e, --epsilon X",
            "Speed hardly depends on it; a mechanism that is not defined there is measured where "
            "it is.",
        ),
    ] = 8.0,
    param: options.Parameters = None,
    embeddings: options.Embeddings = None,
    vocab_size: options.VocabSize = None,
    synthetic: Annotated[
        str | None,
        option("--synthetic N,D", "Random vectors instead of a file: N words in D dimensions."),
    ] = None,
    synthetic_words: Annotated[
        Path | None,
        option(
            "--synthetic-words FILE",
            "The words of the synthetic vocabulary, one a line (.gz allowed); default: numbered "
            "words.",
        ),
    ] = None,
    words: Annotated[
        int | None,
        option(
            "--words N", "Words of one run; default: as many as take about three seconds.", min=1
        ),
    ] = None,
    text: Annotated[
        Path | None,
        option(
            "--text FILE",
            "Text to sanitize, repeated; default: words of the vocabulary with Zipf's frequencies, "
            "20 a line.",
        ),
    ] = None,
    runs: Annotated[int, option("--runs N", "Runs; each figure is their median.", min=1)] = 3,
    jobs: Annotated[
        int,
        option(
            "-j, --jobs N",
            "Measure N processes, too (rewrite -j N), on the same words; 1: only one.",
            min=1,
        ),
    ] = 1,
    scale: Annotated[
        float,
        option(
            "--scale MB",
            "Size of the text on which -j 2 is measured beside -j 1, with the first mechanism, and "
            "256 small files; 0: neither.",
            min=0,
        ),
    ] = 16,
    compare: Annotated[
        Path | None,
        option(
            "--compare FILE",
            "Compare with a stored run (dpsan bench --json > FILE) by ratios, each within its own "
            "run; its mechanisms are the default. Exit status 1 if anything is worse.",
        ),
    ] = None,
    tolerance: Annotated[
        float,
        option("--tolerance PERCENT", "What differs by less than this is the same.", min=0),
    ] = 25,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure words per second end to end, beside a bare FAISS search.

    The bare search finds the nearest of the same vectors for as many random points, in one batch,
    in the same process and with the same threads. Each mechanism has a process of its own; each
    run has a new sampler and a warm cache on disk.

    dpsan bench -m optimal-response -m laplace
    """
    shape = None if synthetic is None else _shape(synthetic)
    if shape and embeddings is not None:
        raise UsageError("--synthetic and --embeddings exclude each other")
    if synthetic_words is not None and not shape:
        raise UsageError("--synthetic-words needs --synthetic")
    reads = {"--text": text, "--synthetic-words": synthetic_words, "--compare": compare}
    uses = check_files(reads=reads)
    read_embeddings(uses, embeddings)
    values = options.parameters(param)
    options.check_epsilon(epsilon)

    import tempfile
    from dataclasses import asdict

    from dpsan.analysis.bench import bench as measure
    from dpsan.analysis.bench import vocabulary
    from dpsan.analysis.bench.child import Task
    from dpsan.analysis.bench.comparison import compared, read_stored
    from dpsan.analysis.bench.workload import repeated_text, zipf_text
    from dpsan.cli.progress import count_progress
    from dpsan.embeddings import load
    from dpsan.mechanisms import MECHANISMS
    from dpsan.privacy.guarantee import Status
    from dpsan.sanitize.request import RunSpec

    stored = None if compare is None else read_stored(compare)
    for name in mechanism or ():
        check_name("mechanism", name, MECHANISMS)
        if stored and name not in stored.mechanisms:
            raise UsageError(f"{name} is not in the stored run", ", ".join(stored.mechanisms))
    if stored and not mechanism:
        mechanism = [name for name in stored.mechanisms if name in MECHANISMS]
    kinds = [MECHANISMS[name] for name in mechanism or ()]
    kinds = kinds or [kind for kind in MECHANISMS.values() if kind.status is Status.PROVED]
    with (
        tempfile.TemporaryDirectory(prefix="dpsan-bench-") as folder,
        vocabulary(embeddings, shape, synthetic_words) as (source, cache),
    ):
        path = Path(folder) / "text"
        if text is not None:
            repeated_text(path, text, words or _TEXT_WORDS)
        else:
            held = load(source, vocab_size=vocab_size)
            zipf_text(path, held.index_to_key, words or _TEXT_WORDS)
        spec = RunSpec(
            epsilon=epsilon,
            parameters=dict(values),
            embeddings=source,
            vocab_size=vocab_size,
            allow_unproved=True,
        )
        task = Task(spec, cache, path, words, runs, jobs)
        with count_progress("mechanisms", len(kinds), quiet) as progress:
            found = measure(kinds, task, progress, size=int(scale * 1e6), like=stored)
    value = _as_json(found, task)
    changes = compared(value, stored, tolerance / 100) if stored else []
    if as_json:
        print_json({**value, "comparison": [asdict(each) for each in changes]} if stored else value)
    else:
        _print(found, task)
    if stored and not as_json:
        _print_changes(changes, stored, tolerance)
    if any(each.verdict == "worse" for each in changes):
        raise typer.Exit(1)


def _shape(text: str) -> tuple[int, int]:
    n, comma, d = text.partition(",")
    if not comma or not (n.strip().isdecimal() and d.strip().isdecimal()):
        raise UsageError(f"--synthetic must be N,D (got {text})", "such as --synthetic 20000,100")
    if int(n) < 2 or int(d) < 1:
        raise UsageError(f"--synthetic needs at least 2 words and 1 dimension (got {text})")
    return int(n), int(d)


def _print(found: Benchmark, task: Any) -> None:
    from dpsan.analysis.bench import machine

    about = machine()
    bare = "numpy, faiss and a hash of the file" if task.spec.embeddings else "numpy and faiss"
    speed = ("words/s", "ratio", "with audit", "ratio")
    several = (f"-j {task.jobs}", "ratio") if task.jobs > 1 else ()
    starts = ("start s", "line", "bare")
    columns = ("mechanism", "search", *speed, "float32", "ratio", *several, "MB", *starts)
    rows = [
        (
            each.mechanism,
            each.search,
            f"{each.words_per_second:,.0f}",
            f"{each.ratio:.2f}",
            f"{each.words_per_second_audit:,.0f}",
            f"{each.ratio_audit:.2f}",
            _or_nothing(each.words_per_second_float32, ",.0f"),
            _or_nothing(each.ratio_float32, ".2f"),
            *(
                (
                    _or_nothing(each.words_per_second_jobs, ",.0f"),
                    _or_nothing(each.ratio_jobs, ".2f"),
                )
                if several
                else ()
            ),
            f"{each.peak_mb:.0f}",
            f"{each.startup_seconds:.2f}",
            f"{each.first_line_seconds:.2f}",
            f"{each.bare_startup_seconds:.2f}",
        )
        for each in found.mechanisms
    ]
    print_table(columns, rows, right=range(2, len(columns)))
    many = found.scale
    if many:
        each, bare_each = 1000 * many.seconds_per_file, 1000 * many.bare_seconds_per_file
        typer.echo(
            f"{many.mechanism}, {many.megabytes:.3g} MB: -j 2 is {many.jobs_gain:.2f} times as "
            f"fast as -j 1; {many.files} files of 1 kB: {each:.2f} ms each, "
            f"{bare_each:.2f} to write and sync them"
        )
    for line in (
        f"search: int8 with {about['integers']}; float32: the same run without it"
        if about["integers"]
        else "search: int8 needs dpsan[fast] and a processor that gains by it",
        f"bare FAISS search: {found.faiss_words_per_second:,.0f} words/s among {found.n:,} words "
        f"x {found.d}",
        f"start: without input; line: to the first line of output; bare: {bare}",
        f"{about['processor']}, {about['threads']} threads, {about['system']}",
        f"dpsan {about['dpsan']}, faiss {about['faiss']}, numpy {about['numpy']}, "
        f"Python {about['python']}",
    ):
        typer.echo(line)


def _or_nothing(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _print_changes(changes: list[Change], stored: Stored, tolerance: float) -> None:
    columns = ("mechanism", "quantity", "stored", "now", "change", "")
    rows = [
        (
            each.mechanism,
            each.quantity,
            f"{each.stored:.3g}",
            f"{each.now:.3g}",
            f"{each.percent:+.0f} %",
            each.verdict,
        )
        for each in changes
    ]
    typer.echo()
    print_table(columns, rows, right=(2, 3, 4))
    verdicts = [each.verdict for each in changes]
    typer.echo(
        f"beside the stored run (dpsan {stored.dpsan}): {verdicts.count('better')} better and "
        f"{verdicts.count('worse')} worse by more than {tolerance:g} %, "
        f"{verdicts.count('same')} the same"
    )


def _as_json(found: Benchmark, task: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from dpsan.analysis.bench import machine

    return {
        "machine": machine(),
        "embeddings": {"n": found.n, "d": found.d},
        "runs": task.runs,
        "jobs": task.jobs,
        "faiss_words_per_second": found.faiss_words_per_second,
        "mechanisms": [asdict(each) for each in found.mechanisms],
        "scale": None if found.scale is None else asdict(found.scale),
    }
