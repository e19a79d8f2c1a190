"""``--resume`` after a change of one option: refused, unless the option decides no output."""

import dataclasses
import re
import shutil
from pathlib import Path
from typing import Any

from docx_files import document, paragraph

from dpsan.cli.rewrite_options import RewriteOptions
from scoreboard import fork
from scoreboard.base import Row, Size, embedding_file, environment, row

_FILES: dict[str, bytes] = {
    "a.txt": b"w1 w2 one\n",
    "b.txt": b"w3 w4 two\n",
    "a.csv": b"t,u\nw1 w2,w3\n",
    "b.csv": b"t,u\nw4 w5,w6\n",
    "a.docx": document(paragraph("w1 w2")),
    "b.docx": document(paragraph("w3 w4")),
    "a.jsonl": b'{"t": "w1 w2", "u": "w3"}\n',
    "b.jsonl": b'{"t": "w4 w5", "u": "w6"}\n',
    "keep": b"w1\nw3\n",
    "other-keep": b"w2\nw4\n",
    "public": b"w1\n",
    "spans": b'{"record": 1, "spans": [{"start": 0, "end": 2}]}\n',
}
_TEXT, _CSV, _DOCX = ("a.txt", "b.txt"), ("a.csv", "b.csv"), ("a.docx", "b.docx")
_KNN = "-e 5 -m knn-response -p k=5 -E words.txt"
_KRR = "-e 5 -m krr -E words.txt"
_OPTIMAL = "-e 8 -E words.txt"


def _named(options: str) -> dict[str, str]:
    """Options by the names that the parser knows."""
    return {each.split()[0].replace("-", "_"): f"--{each}" for each in options.split(",")}


_NOTICED: dict[str, list[tuple[Any, ...]]] = {
    # By the name that the parser knows: (the options of one run, those of another, inputs)
    "epsilon": [(_KRR, "-e 4 -m krr -E words.txt")],
    "mechanism": [(_KRR, "-e 5 -m exponential -E words.txt")],
    "param": [(_KNN, _KNN.replace("k=5", "k=6"))],
    "embeddings": [(_KRR, "-e 5 -m krr -E other.txt")],
    "keep": [(_KRR, "+ --keep keep"), (f"{_KRR} --keep keep", f"{_KRR} --keep other-keep")],
    "public": [(_KNN, "+ --public public")],
    "numbers": [(_KNN, "+ --numbers value")],
    "only": [("--only keep", "--only other-keep")],
    "roles": [("--only keep", "+ --roles off")],
    "classes": [(f"{_OPTIMAL} --class keep", f"{_OPTIMAL} --class other-keep")],
    "fluent": [("-e 8", "+ --fluent")],
    "field": [(f"{_KRR} -k t", f"{_KRR} -k u", _CSV)],
    "except_": [(f"{_KRR} -k **", "+ --except t", ("a.jsonl", "b.jsonl"))],
    "drop_other": [(f"{_KRR} -k t", "+ --drop-other", _CSV)],
    "spans": [(_KRR, "+ --spans spans", ("a.txt",))],
    "no_header": [(f"{_KRR} -k 1", "+ --no-header", _CSV)],
    "delimiter": [(f"{_KRR} -k 1", "+ --delimiter ;", _CSV)],
    "bad_records": [(f"{_KRR} -k t", "+ --bad-records bad", _CSV)],
    "seed": [(_KRR, "+ --seed 1"), (f"{_KRR} --seed 1", f"{_KRR} --seed 2")],
    "format_": [(_KRR, "+ -f text")],
    **{
        name: [(_KRR, f"+ {option}")]
        for name, option in _named(
            "vocab-size 20,unknown mask,case vocabulary,consistent file,tokenizer whitespace,"
            "allow-unproved,recursive,encoding latin-1,invalid error,"
            "budget 1000,memo memo,ledger ledger,copies 2"
        ).items()
    },
}
"""Behind a + stands what the second run has beside the options of the first."""
_SAME = {
    **_named("jobs 2,quiet,verbose,force,line-buffered,strict,audit audit,log-json log"),
    "audit_originals": "-a audit --audit-originals",
    "resume": "",
}
"""Options that decide no output."""
_OTHER_INPUTS = {"strict": _DOCX}
_OTHERS = {
    *("files", "output", "output_dir", "in_place", "dry_run", "engine", "address"),
    *("map_", "unit_field", "unit", "review", "forget", "policy"),
}
"""Two runs with other ones share no output, or exclude --resume; a policy is the options in it; or
a cluster does the work, which needs Ray."""


@row(
    "resume", "runs continued with one option changed / not noticed", "every option, both ways / 0"
)
def changed_options(row: Row, size: Size, folder: Path) -> None:
    """Half of the outputs are there, one option differs."""
    fork.preload()
    env = environment(folder)
    embedding_file(folder / "words.txt", 40, 4)
    embedding_file(folder / "other.txt", 41, 4)
    options = {each.name for each in dataclasses.fields(RewriteOptions) if each.metadata}
    row.count("an option that this row does not know", options != {*_NOTICED, *_SAME, *_OTHERS})
    changes = [(name, *each) for name, some in _NOTICED.items() for each in some]
    changes += [
        (name, _KRR, f"+ {option}", _OTHER_INPUTS.get(name, _TEXT))
        for name, option in _SAME.items()
    ]
    for name, first, second, *more in sorted(changes)[:: size.of(4, 2, 1)]:
        inputs = more[0] if more else _TEXT
        other = second.replace("+", first)
        noticed = name in _NOTICED and "16384k" not in second
        for runs in ((first, other), (other, first))[: size.of(1, 1, 2)]:
            _tried(row, folder, env, inputs, runs, noticed)
    # Outputs of which nobody knows how they were made.
    _fresh(folder)
    _run(folder, env, _KRR, _TEXT)
    (folder / "out" / ".dpsan-request").unlink(missing_ok=True)
    (folder / "out" / _TEXT[1]).unlink()
    done = _run(folder, env, f"{_KRR} --resume", _TEXT)
    row.count("outputs without a file of requests are taken", done.status != 2)
    # An input that has changed since its output was made.
    for name in _TEXT:
        _fresh(folder)
        _run(folder, env, _KRR, _TEXT)
        before = (folder / "out" / name).read_bytes()
        (folder / name).write_bytes(_FILES[name][::-1])
        done = _run(folder, env, f"{_KRR} --resume", _TEXT)
        told = done.status == 1 and f"{name}: has changed".encode() in done.err
        row.count("the old output of a changed input is taken", not told)
        row.count("a changed input is drawn again", before != (folder / "out" / name).read_bytes())
        row.tried += 1


def _run(folder, env, options, inputs):
    return fork.run(["rewrite", *options.split(), "-O", "out", *inputs], folder, env)


def _fresh(folder: Path) -> None:
    for name in ("out", "memo"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for path in folder.glob("*"):
        if path.is_file() and path.name not in ("words.txt", "other.txt", "one.npz", "two.npz"):
            path.unlink()
    for name, data in _FILES.items():
        (folder / name).write_bytes(data)


def _tried(row, folder, env, inputs, runs, noticed):
    _fresh(folder)
    first = _run(folder, env, runs[0], inputs)
    if first.status:
        row.count("the first run failed", True)
        row.note = f"{runs[0]}: {first.err[-200:]!r}"
        return
    row.tried += 1
    done = folder / "out" / inputs[0]
    before = done.read_bytes()
    for each in inputs[1:]:
        (folder / "out" / each).unlink()
    for each in ("audit", "bad"):
        (folder / each).unlink(missing_ok=True)
    second = _run(folder, env, f"{runs[1]} --resume", inputs)
    files = {path.name for path in (folder / "out").iterdir()} - {".dpsan-request"}
    if noticed:
        row.count("a change is not noticed", second.status != 2)
        row.count("something was written all the same", files != {inputs[0]})
        told = re.findall(rb"epsilon [0-9.]+", second.err)
        differ = len({*re.findall(r"-e \S+", " ".join(runs))}) > 1
        row.count("the message does not name both epsilons", differ and len(told) < 2)
        if second.status != 2:
            row.note += f" {runs}: {second.status} {second.err[-200:]!r}"
    else:
        row.count("the same request is refused", second.status != 0)
        row.count("an output is missing", files != {*inputs})
    row.count("a finished output was written again", done.read_bytes() != before)
    requests = folder / "out" / ".dpsan-request"
    open_ = requests.exists() and requests.stat().st_mode & 0o777 != 0o600
    row.count("others may read the file of requests", open_)
