"""``dpsan index``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dpsan.cli import options
from dpsan.cli.cache import open_cache
from dpsan.cli.file_checks import check_files, read_embeddings
from dpsan.cli.options import flag, option
from dpsan.cli.output import cosine_and_bound, print_fields, print_json, print_table, say
from dpsan.errors import UsageError, failure, printable
from dpsan.text.numerals import number

if TYPE_CHECKING:
    from dpsan.embeddings.cache.entry import EntryInfo
    from dpsan.embeddings.cache.store import Store

_PIECE: Final = 8 << 20
"""Bytes written at a time."""


def index(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[EMBEDDINGS]...", help="Default: the bundled vocabulary."),
    ] = None,
    embeddings: options.Embeddings = None,
    vocab_size: options.VocabSize = None,
    list_: Annotated[bool, flag("--list", "List what is cached.")] = False,
    check: Annotated[bool, flag("--check", "Verify every cached byte.")] = False,
    clear: Annotated[bool, flag("--clear", "Remove everything cached.")] = False,
    epsilon: Annotated[
        float | None,
        option("--epsilon, -e X", "Also make what the default mechanism needs at this epsilon."),
    ] = None,
    optimize: Annotated[
        bool,
        flag(
            "--optimize",
            "With --epsilon: take minutes for a more exact distribution, which later runs use.",
        ),
    ] = False,
    unsafe_pickle: Annotated[
        bool,
        flag(
            "--unsafe-pickle",
            "Read a gensim .kv or .model file, which can run any code it contains, and "
            "store the vectors in the safe cache for later runs.",
        ),
    ] = False,
    export: Annotated[
        Path | None,
        option(
            "--export FILE",
            "Write the index for other programs as well: FILE, which faiss.read_index opens, "
            "and its words beside it, one a line, with the ending .words.txt.",
        ),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    verbose: Annotated[
        bool,
        flag(
            "--verbose, -v",
            "With --epsilon: the mean cosine of word and output, and what no mechanism can "
            "exceed, which takes minutes. With --list: those that are cached.",
        ),
    ] = False,
    quiet: options.Quiet = False,
) -> int:
    """Build, list, check or clear cached indexes of embeddings.

    dpsan index -e 8 glove.txt
    """
    if sum((list_, check, clear)) > 1 or (files and (list_ or check or clear)):
        raise UsageError("--list, --check and --clear stand alone")
    if options.given(context, "embeddings") and (files or list_ or check or clear):
        raise UsageError("--embeddings excludes other files, --list, --check and --clear")
    if embeddings is not None and not (files or list_ or check or clear):
        files = [embeddings]
    if export is not None and (list_ or check or clear or len(files or ()) > 1):
        raise UsageError("--export is for one file of embeddings")
    if epsilon is None and (optimize or (verbose and not list_)):
        raise UsageError(f"--{'optimize' if optimize else 'verbose'} needs --epsilon")
    if epsilon is not None:
        if list_ or check or clear:
            raise UsageError("--epsilon is for embeddings")
        options.check_epsilon(epsilon)
    if optimize and not files:
        raise UsageError("--optimize needs a file: what comes with dpsan stays as it is")

    store = open_cache(quiet)
    if list_ or check:
        return _entries(store, check, verbose, as_json)
    if clear:
        entries, size = store.clear()
        if as_json:
            print_json({"removed": entries, "bytes": size})
        else:
            typer.echo(f"removed {entries} entries, {size} bytes")
        return 0
    if unsafe_pickle and not files:
        raise UsageError("--unsafe-pickle needs a file")
    beside = export and export.with_name(f"{export.stem}.words.txt")
    uses = check_files(reads={}, writes={"--export": export, "the words of --export": beside})
    paths: list[Path | None] = [*files] if files else [None]
    for path in paths:
        read_embeddings(uses, path)

    from functools import partial

    from dpsan.mechanisms.description import prepare_default
    from dpsan.space.cached_index import describe

    more: dict[str, Any] = {}
    if epsilon is not None:
        also = partial(prepare_default, epsilon=epsilon, optimize=optimize, measure=verbose)
        more["also"] = lambda space: {"default": also(space)}
    reports: list[dict[str, Any]] = []
    failed = 0
    for path in paths:
        try:
            report = describe(path, vocab_size, store, unsafe_pickle=unsafe_pickle, **more)
            if export and beside:
                report["exported"] = _export(path, vocab_size, store, (export, beside), force)
        except Exception as error:  # noqa: BLE001 - one file's: the others go on
            failed += 1
            say(failure(path or "bundled vocabulary", error))
            continue
        reports.append(report)
        if not as_json:
            _print_report(report)
    if as_json:
        print_json(reports)
    if failed and files and len(files) > 1:
        say(f"{failed} of {len(files)} files failed")
    return 1 if failed else 0


def _export(
    path: Path | None, vocab_size: int | None, store: Store, targets: tuple[Path, Path], force: bool
) -> list[str]:
    """Write the index and the words beside it, both or none; returns their names."""
    from contextlib import ExitStack
    from itertools import chain

    from dpsan.embeddings.cache.faiss_file import header
    from dpsan.files.atomic_files import AtomicFile
    from dpsan.space.cached_index import open_space

    embeddings, space = open_space(path, vocab_size, store)
    vectors = space.vectors.data.cast("B")
    pieces = (bytes(vectors[at : at + _PIECE]) for at in range(0, len(vectors), _PIECE))
    words = "".join(f"{word}\n" for word in embeddings.index_to_key).encode()
    contents = (chain((header(space.n, space.d),), pieces), (words,))
    with ExitStack() as stack:
        sinks = []
        for target, parts in zip(targets, contents, strict=True):
            sinks.append(AtomicFile(target, force=force))
            stack.callback(sinks[-1].discard)
            for part in parts:
                sinks[-1].write(part)
        for sink in reversed(sinks):  # the index last
            sink.commit()
    return [str(target) for target in targets]


def _print_report(report: dict[str, Any]) -> None:
    dropped = ", ".join(f"{number(count)} {reason}" for reason, count in report["dropped"].items())
    near = report["nearest"]
    rows = [
        ("words", f"{number(report['words'])} of {number(report['dimensions'])} dimensions"),
        ("dropped rows", dropped or "none"),
        (
            f"nearest word, 5/50/95 % of {number(near['words'])}",
            " / ".join(number(near[place]) for place in ("p5", "p50", "p95")),
        ),
        (
            "diameter",
            number(report["diameter"]) + ("" if report["diameter_exact"] else " (upper bound)"),
        ),
        ("size", f"{number(report['bytes'])} bytes"),
        *_default_rows(report.get("default")),
        ("seconds", f"{report['seconds']:.2f}"),
        ("digest", report["digest"]),
        *(("exported", printable(name)) for name in report.get("exported", ())),
    ]
    typer.echo(printable(report["source"]))
    print_fields(rows)


def _default_rows(found: dict[str, Any] | None) -> list[tuple[str, str]]:
    """What was made for the default mechanism."""
    if found is None:
        return []
    rows = [("ready for", f"{found['mechanism']} at epsilon {number(found['epsilon'])}")]
    if found["mean_cosine"]:
        rows.append(("mean cosine", cosine_and_bound(**found["mean_cosine"])))
    return rows


def _entries(store: Store, check: bool, verbose: bool, as_json: bool) -> int:
    from dpsan.embeddings.cache.faiss_file import KIND

    found = store.check() if check else [(entry, None) for entry in store.entries()]
    rows = [
        {
            "kind": entry.kind,
            "source": entry.meta.get("source") or entry.meta.get("table", ""),
            "digest": entry.meta.get("digest", ""),
            "index": KIND if entry.kind == "index" and entry.ok else None,
            "words": entry.meta.get("words"),
            "dimensions": entry.meta.get("dimensions"),
            "bytes": entry.bytes,
            "created": entry.created,
            "ok": entry.ok if problem is None else False,
            "problem": problem,
            **({"mean_cosine": _kept_cosine(store, entry)} if verbose else {}),
        }
        for entry, problem in found
    ]
    bad = sum(not row["ok"] for row in rows)
    if as_json:
        print_json(rows)
        return 1 if check and bad else 0
    shown = []
    for row in sorted(rows, key=lambda row: (str(row["kind"]), str(row["source"]))):
        state = "ok" if row["ok"] else f"damaged: {row['problem'] or 'manifest'}"
        shown.append(
            (
                str(row["kind"]),
                f"{row['index']} {row['words']} x {row['dimensions']}" if row["index"] else "",
                str(row["digest"])[:12],
                f"{number(int(row['bytes']))} bytes",
                str(row["created"]),
                printable(str(row["source"])),
                "" if row.get("mean_cosine") is None else f"{row['mean_cosine']:.4f}",
                state if check or not row["ok"] else "",
            )
        )
    if shown:
        print_table((), shown, right={3}, spare=(2, 4, 3))
    damaged = f", {bad} damaged" if bad else ""
    typer.echo(f"{len(rows)} entries in {printable(str(store.root))}{damaged}")
    return 1 if check and bad else 0


def _kept_cosine(store: Store, entry: EntryInfo) -> float | None:
    """The mean cosine, or the bound on it, that an entry keeps."""
    if "cosine" not in str(entry.meta.get("table", "")):
        return None
    kept = store.load(entry.kind, entry.key)
    values = None if kept is None else kept.arrays.get("cosine")
    return None if values is None else float(values[0])
