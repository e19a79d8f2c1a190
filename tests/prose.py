"""List prose that is slow to read: ``python tests/prose.py [--list] [PATH …]``.

For each package of dpsan/, and for each page, count first lines of docstrings that have no verb and
no noun of their own ("Of each word", "What is asked"), words that dpsan used in a private sense
where a standard term exists, and sentences of more than 30 words.  ``--list`` shows each of them.
The list informs: nothing fails on it.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 30
"""Words of the longest sentence that is read once."""
PAGES = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "man/dpsan.1"]

_HEADLESS = re.compile(r"(Of|What|How|Whether|So many|Which|Where|When|As|That)\b")
_PRIVATE_SENSE = re.compile(
    r"\b(laws?|told|asked|behind|lately|limbs?|bets?|books?|pace|leftovers?|aside|stretch(es)?"
    r"|places?|neighbors?|near words?|readers? who|manners?|comes? out|came|said"
    r"|paid|remembered)\b",
    re.IGNORECASE,
)
_STANDARD_SENSE = re.compile(
    r"\b(in[ -]place|decimal places?|takes? place|(names?|persons?|people)(,| and| or) places?"
    r"|places?(,| and| or) (names?|organizations?))\b",
    re.IGNORECASE,
)
"""Uses of these words that are the standard term."""
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[)\"']*\s+(?=[A-Z\d`*\[(\"'-]|dpsan)|\n\s*\n|\n(?=\s*[-*|] )|(?<=:)\n"
)
_CODE = re.compile(r"``[^`]*``|`[^`]*`|:[a-z]+:`[^`]*`")


@dataclass(frozen=True)
class Remark:
    kind: str
    path: str
    line: int
    text: str


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each docstring, those of attributes included."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.lineno, text


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each block of comments."""
    first, last, block = 0, -1, ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            if line != last + 1 and block:
                yield first, block
                block = ""
            first = first if block else line
            block, last = f"{block} {token.string.lstrip('# ')}".strip(), line
    if block:
        yield first, block


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the words of each name that a file defines."""
    for node in ast.walk(tree):
        name = None
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        if name:
            words = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ")
            yield getattr(node, "lineno", 0), words.strip()


def prose(path: str, line: int, text: str) -> Iterator[Remark]:
    """Yield the private words and the long sentences of a text."""
    plain = _CODE.sub("X", text)
    kept = [match.span() for match in _STANDARD_SENSE.finditer(plain)]
    for match in _PRIVATE_SENSE.finditer(plain):
        if not any(start <= match.start() < end for start, end in kept):
            around = plain[max(0, match.start() - 40) : match.end() + 40]
            yield Remark("word", path, line, " ".join(around.split()))
    for sentence in _SENTENCE_END.split(plain):
        count = len(re.findall(r"[\w'’-]*[A-Za-z][\w'’-]*", sentence or ""))
        if count > LONGEST:
            yield Remark("long", path, line, f"({count}) " + " ".join(sentence.split()))


def python(path: Path) -> Iterator[Remark]:
    """Yield the remarks on a Python file: docstrings, comments and names."""
    shown, text = str(path.relative_to(ROOT)), path.read_text()
    tree = ast.parse(text)
    for line, docstring in docstrings(tree):
        if _HEADLESS.match(docstring.strip()):
            yield Remark("headless", shown, line, docstring.strip().splitlines()[0])
        yield from prose(shown, line, docstring)
    for line, comment in comments(text):
        yield from prose(shown, line, comment)
    for line, name in names(tree):
        if _PRIVATE_SENSE.search(name) and not _STANDARD_SENSE.search(name):
            yield Remark("name", shown, line, name)


def page(path: Path) -> Iterator[Remark]:
    """Yield the remarks on a page, without its code blocks and tables."""
    shown, text = str(path.relative_to(ROOT)), path.read_text()
    if path.suffix == ".1":
        text = re.sub(r"(?s)^\.nf.*?^\.fi", "", text, flags=re.M)
        text = re.sub(r"(?m)^\.(SH|SS|TP|PP|IP|RS|RE|EX|EE|TH).*$", "\n\n", text)
        text = re.sub(r"(?m)^\.[A-Z]+ ?", "", text)
        text = re.sub(r"\\f[BIRP]|\\&", "", text).replace("\\-", "-")
    else:
        text = re.sub(r"(?ms)^ *```.*?^ *```", "\n", text)
        text = re.sub(r"(?m)^(\|.*|#.*)$", "\n", text)
        text = re.sub(r"<!--.*?-->", "", re.sub(r"\]\([^)]*\)", "]", text), flags=re.S)
    yield from prose(shown, 0, text)


def help_texts() -> Iterator[Remark]:
    """Yield the remarks on the help of each command and option."""
    import typer.main

    from dpsan.cli.app import app

    group = typer.main.get_command(app)
    for name, command in getattr(group, "commands", {}).items():
        yield from prose(f"dpsan {name} --help", 0, command.help or "")
        for parameter in command.params:
            shown = f"dpsan {name} {parameter.opts[0]}"
            yield from prose(shown, 0, getattr(parameter, "help", None) or "")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="Files or folders; default: all.")
    parser.add_argument("--list", action="store_true", help="Show each remark.")
    options = parser.parse_args()
    pages = [ROOT / name for name in PAGES] + sorted((ROOT / "docs").glob("*.md"))
    given = [path.resolve() for path in options.paths]
    files = given or [ROOT / "dpsan", *pages, ROOT / "vocab/README.md"]
    remarks: list[tuple[str, Remark]] = []
    for path in files:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.suffix == ".py":
                package = str(file.relative_to(ROOT).parent)
                remarks += [("/".join(package.split("/")[:2]), remark) for remark in python(file)]
            else:
                remarks += [(str(file.relative_to(ROOT)), remark) for remark in page(file)]
    if not given:
        remarks += [("--help", remark) for remark in help_texts()]
    counts: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for where, remark in remarks:
        counts[where][remark.kind] += 1
        counts["sum"][remark.kind] += 1
        if options.list:
            print(f"{remark.path}:{remark.line}: {remark.kind}: {remark.text}")
    print(f"{'headless':>9}{'words':>7}{'names':>7}{'long':>6}")
    for where in [*sorted(set(counts) - {"sum"}), "sum"]:
        row = counts[where]
        print(f"{row['headless']:9}{row['word']:7}{row['name']:7}{row['long']:6}  {where}")


if __name__ == "__main__":
    main()
