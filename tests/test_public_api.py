"""What users build on does not change by accident: names, arguments and options, stored in a list.

``python tests/test_public_api.py`` writes the list again; the change is then seen in review, and
CONTRIBUTING.md says what it owes to users.
"""

import inspect
import sys

import typer
from support import ROOT

import dpsan
from dpsan.cli.app import app
from dpsan.mechanisms import MECHANISMS

STORED = ROOT / "tests" / "public_api.txt"


METHODS = {"Embeddings": ("key_to_index",), "Estimate": ("comparisons", "counts", "top")}
METHODS |= {"Memo": ("rewrite", "totals"), "Sanitizer": ("rewrite", "rewrite_object")}
"""Members that users are promised; the others serve the command line."""


def arguments(function):
    """The signature without annotations, which can be written in several ways."""
    shown = [
        each.replace(
            annotation=inspect.Parameter.empty,
            default=str(each.default) if isinstance(each.default, str) else each.default,
        )
        for each in inspect.signature(function).parameters.values()
    ]
    return str(inspect.Signature(shown))


def python_lines():
    for name in sorted(dpsan.__all__):
        value = getattr(dpsan, name)
        yield f"{name}{arguments(value) if callable(value) else ''}"
        for member in METHODS.get(name, ()):
            inner = inspect.getattr_static(value, member)
            yield f"{name}.{member}{arguments(inner) if inspect.isfunction(inner) else ''}"


def command_lines():
    group = typer.main.get_command(app)
    for name, command in {"": group, **dict(sorted(group.commands.items()))}.items():
        for each in command.params:
            many = " ..." if getattr(each, "multiple", False) or each.nargs < 0 else ""
            option = each.param_type_name == "option"
            shown = ", ".join(sorted(each.opts, key=len)) if option else each.name
            yield " ".join(f"dpsan {name} {shown}{many}".split())


def mechanism_lines():
    for name, kind in sorted(MECHANISMS.items()):
        yield f"{name}: {' '.join(kind.parameters())}".rstrip(" :")


def listing(mechanisms=mechanism_lines):
    parts = {"Python": python_lines(), "Command line": command_lines(), "Mechanisms": mechanisms()}
    return "\n".join(f"# {name}\n" + "".join(f"{each}\n" for each in parts[name]) for name in parts)


def test_the_public_interface_is_the_stored_one():
    """Mechanisms that are not in the list yet are promised nothing before the next release."""
    stored = STORED.read_text()
    promised = stored.partition("# Mechanisms\n")[2].splitlines()
    known = listing(lambda: [each for each in mechanism_lines() if each in promised])
    assert known == stored, "run python tests/test_public_api.py if this is meant"


if __name__ == "__main__":
    STORED.write_text(listing())
    sys.stdout.write(f"{STORED}\n")
