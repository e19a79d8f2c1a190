"""Write the tables of docs/papers.md that need data: ``python docs/studies/papers.py [NAME ...]``.

The environment says where the data are: GLOVE is a file of vectors, SST2 and AG are folders.  The
tables are ``sst2``, ``ag`` and ``robustness``; each stands between two marks with its name.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parent / "papers.md"
COMMANDS = {
    "sst2": "trlaplace.py tables-1-3 --train $SST2/train.tsv --test $SST2/dev.tsv --text 2 "
    "--label 1 --records 800 -e .05,1,5,10,20 -E $GLOVE",
    "ag": "trlaplace.py tables-1-3 --train $AG/alps_dev.tsv --header no --text 1 --label 2 "
    "--records 300 -e .05,1,5,20 -E $GLOVE",
    "robustness": "tgumbel.py tables-2-3 --train $AG/alps_dev.tsv --header no --text 1 --label 2 "
    "--records 1000 --attacked 60 -e 8",
}


def figures(name):
    """Return the record of a study and the seconds that it took."""
    script, *words = shlex.split(os.path.expandvars(COMMANDS[name]))
    command = [sys.executable, str(FOLDER / script), *words, "-q", "--json"]
    began = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout), time.perf_counter() - began


def short(value, digits=2):
    """Return a share without its leading zero."""
    return f"{value:.{digits}f}".removeprefix("0")


def utility(record):
    """Return rows of words kept, ROUGE-1 recall and accuracy, by mechanism and epsilon."""
    cells: dict[str, dict[float, str]] = {}
    for row in record["rows"]:
        shown = short(row["kept"], 4), short(row["rouge_recall"]), short(row["accuracy"])
        cells.setdefault(row["mechanism"], {})[row["epsilon"]] = " ".join(shown)
    epsilons = list(next(iter(cells.values())))
    yield "mechanism", *(f"{each:g}" for each in epsilons)
    for name, own in cells.items():
        yield f"`{name}`", *(own.get(each, "-") for each in epsilons)


def robustness(record):
    """Return rows of accuracies under attack, by the texts that a classifier was trained on."""
    attacks = ("clean", "random", "greedy", "genetic")
    yield "trained on", "as they are", *attacks[1:]
    for row in record["rows"]:
        yield row["trained_on"], *(short(row[each]) for each in attacks)


def table(name):
    """Return a table in Markdown, with its command and seconds."""
    record, seconds = figures(name)
    head, *rows = (robustness if name == "robustness" else utility)(record)
    lines = [head, ["---"] * len(head), *rows]
    note = f"`python docs/studies/{COMMANDS[name]}`, {seconds:.0f} s."
    if name != "robustness":
        note += (
            f" Texts as they are: accuracy {short(record['original_accuracy'])}, the majority "
            f"{short(record['majority'])}; the most frequent word is "
            f"{short(record['most_frequent_word'], 3)} of all."
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\n{note}\n"


def part(name):
    """Return what stands on the page between the marks of a table."""
    found = re.search(rf"<!-- {name} -->\n\n(.*?)\n<!-- /{name} -->", PAGE.read_text(), re.S)
    if not found:
        raise LookupError(f"the page lacks the table {name}")
    return found[1]


def main():
    """Write the tables named, or all."""
    for name in sys.argv[1:] or COMMANDS:
        marked = f"<!-- {name} -->\n\n{{}}\n<!-- /{name} -->"
        new = marked.format(table(name))
        PAGE.write_text(PAGE.read_text().replace(marked.format(part(name)), new))
        print(new)


if __name__ == "__main__":
    main()
