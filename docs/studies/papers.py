"""docs/papers.md: run the commands of its items, and write or compare its tables that need data.

python docs/studies/papers.py --run              every item's command, with its seconds
python docs/studies/papers.py --items            the papers' numbered items and their verdicts
python docs/studies/papers.py --write [TABLE...]
python docs/studies/papers.py --compare [TABLE...]

The environment says where the data are: GLOVE and GLOVE50 are files of vectors, SST2 and AG are
folders. Each table stands on the page between two marks with its name.
"""

from __future__ import annotations

import argparse
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
_COMMAND = r"^<!-- (\w+) -->\n.*?^`python docs/studies/([^`]+)`, \d+ s\."
COMMANDS = dict(re.findall(_COMMAND, PAGE.read_text(), re.M | re.S))
"""The command of each marked table, which stands below it."""


def items():
    """Yield the cells of every row of the tables of items."""
    for table in re.findall(r"^\| item \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE.read_text(), re.M):
        for line in table.splitlines():
            yield [each.strip() for each in line.strip("|").split(" | ")]


NUMBERED = {
    "TrLap": "Definition 1 2, Algorithm 1, Theorem 1 2 3 4, Remark 1, Table 1 2 3 4 5, "
    "Figure 1 2 3 4 5 6",
    "Curse": "Definition 3.1 3.2 5.2, Theorem 4.1 4.2 4.3 5.1 5.3 5.5 5.7 5.8 5.9 6.1, Lemma 5.4, "
    "Corollary 5.6 5.10, Table 1 2, Figure 1 2 3 4 5 6 7 8 9 10",
    "TLDP": "Definition 1 2, Algorithm 1 2, Theorem 1 2 3, Table I II III IV V, Figure 1 2 3",
    "TGumbel": "Definition 1, Algorithm 1 2, Theorem 1, Lemma 1, Table 1 2 3, Figure 1 2",
}
"""All that has a number in the papers."""
_NAMES = r"(Definition|Algorithm|Theorem|Remark|Lemma|Corollary|Table|Figure)"
_NUMBER = r"(?:\d+(?:\.\d+)?|[IV]+)\b"


def numbered():
    """Yield paper, name, number and verdict of every numbered item that a row is about."""
    for paper, text in re.findall(r"^## \[(\w+)\](.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S):
        for line in re.findall(r"^\| (?!item|---)(.*) \|$", text, re.M):
            cells = line.split(" | ")
            for name, numbers in re.findall(rf"{_NAMES}s? ({_NUMBER}(?:, {_NUMBER})*)", cells[0]):
                yield from ((paper, name, each, cells[-1]) for each in numbers.split(", "))


def figures_in(text):
    """Return the words and numbers of an output."""
    return {*re.findall(r"[\w.]+", text), *text.split()}


def command_of(cell):
    """Return the words of a command, and the variables that are not set."""
    words = shlex.split(os.path.expandvars(cell.strip("`")))
    module = {"python": [], "dpsan": ["-m", "dpsan"]}[words[0]]
    return [sys.executable, *module, *words[1:]], re.findall(r"\$(\w+)", " ".join(words))


def run_all():
    """Run the items; return how many print other figures than the bold ones of the page."""
    wrong = 0
    for name, cell, _, _, here, *_ in items():
        command, unset = command_of(cell) if cell != "-" else ([], [])
        if not command or unset:
            print(f"{'':>9}{f'{unset[0]} is not set' if unset else 'no command':<20}{name}")
            continue
        began = time.perf_counter()
        root, pipe = FOLDER.parent.parent, subprocess.PIPE
        done = subprocess.run(command, check=False, cwd=root, stdout=pipe, stderr=pipe, text=True)
        bold = set(re.findall(r"\*\*([^*]+)\*\*", here))
        right = not done.returncode and bold <= figures_in(done.stdout)
        wrong += not right
        seconds = time.perf_counter() - began
        print(f"{seconds:7.1f} s {'as the page says' if right else 'WRONG':<20}{name}", flush=True)
        if not right:
            print(done.stderr, file=sys.stderr)
    return wrong


def figures(name):
    """Return the record of a study and the seconds that it took."""
    command, _ = command_of(f"python {FOLDER}/{COMMANDS[name]}")
    began = time.perf_counter()
    done = subprocess.run([*command, "-q", "--json"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout), time.perf_counter() - began


def short(row, column, digits=2):
    """Return a share without its leading zero, with half its interval."""
    half = row.get(f"{column}_high")
    half = "" if half is None else f"±{half - row[column]:.2f}".replace("0.", ".")
    return f"{row[column]:.{digits}f}".removeprefix("0") + half


def by_epsilon(record, first, columns):
    """Return rows of figures by what stands first, with a column for each epsilon."""
    cells: dict[str, dict[float, str]] = {}
    for row in record["rows"]:
        shown = " ".join(
            short(row if each == "accuracy" else {each: row[each]}, each, digits)
            for each, digits in columns
        )
        name = " ".join(row[each].split(".w2v")[0] for each in first)
        cells.setdefault(name, {})[row["epsilon"]] = shown
    epsilons = list(next(iter(cells.values())))
    yield " ".join(first), *(f"{each:g}" for each in epsilons)
    for name, own in cells.items():
        yield name, *(own.get(each, "-") for each in epsilons)


def by_training(record, columns):
    """Return rows of figures by the texts that a classifier was trained on."""
    yield "trained on", *columns.values()
    for row in record["rows"]:
        yield row["trained_on"], *(short(row, each) for each in columns)


_ATTACKS = {"clean": "as they are", "random": "random", "greedy": "greedy", "genetic": "genetic"}
_LAYOUTS = {
    "embeddings": lambda made: by_epsilon(made, ("embeddings", "mechanism"), [("accuracy", 2)]),
    "robustness": lambda made: by_training(made, _ATTACKS),
    "membership": lambda made: by_training(made, {"auc": "AUC", "accuracy": "accuracy"}),
}


def utility(record):
    """Return rows of words kept, ROUGE-1 recall and accuracy, by mechanism and epsilon."""
    columns = [("kept", 4), ("rouge_recall", 2), ("accuracy", 2)]
    return by_epsilon(record, ("mechanism",), columns)


def table(name):
    """Return a table in Markdown, with its command and seconds."""
    record, seconds = figures(name)
    head, *rows = _LAYOUTS.get(name, utility)(record)
    lines = [head, ["---"] * len(head), *rows]
    note = f"`python docs/studies/{COMMANDS[name]}`, {seconds:.0f} s."
    if name not in _LAYOUTS:
        note += (
            f" Texts as they are: accuracy {short(record, 'original_accuracy')}, the majority "
            f"{short(record, 'majority')}; the most frequent word is "
            f"{short(record, 'most_frequent_word', 3)} of all."
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\n{note}\n"


def part(name):
    """Return what stands on the page between the marks of a table."""
    found = re.search(rf"<!-- {name} -->\n\n(.*?)\n<!-- /{name} -->", PAGE.read_text(), re.S)
    if not found:
        raise LookupError(f"the page lacks the table {name}")
    return found[1]


def same(one, other):
    """Return whether two tables agree in all but their seconds."""
    first, second = (re.sub(r", \d+ s\.", "", each).strip() for each in (one, other))
    return first == second


def main():
    """Run from the command line; the exit status is 1 where the page is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    for each in ("run", "items", "write", "compare"):
        what.add_argument(f"--{each}", action="store_true")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(COMMANDS))
    asked = parser.parse_args()
    if asked.items:
        print("\n".join(f"[{paper}] {name} {at}: {told}" for paper, name, at, told in numbered()))
        return 0
    wrong = run_all() if asked.run else 0
    for name in () if asked.run else asked.tables or COMMANDS:
        old, new = part(name), table(name)
        if asked.write:
            marked = f"<!-- {name} -->\n\n{{}}\n<!-- /{name} -->"
            PAGE.write_text(PAGE.read_text().replace(marked.format(old), marked.format(new)))
        elif not same(old, new):
            wrong += 1
        print(f"{name}: {'as the page says' if same(old, new) else 'other figures'}\n{new}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
