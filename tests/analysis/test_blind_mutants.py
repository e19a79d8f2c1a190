"""Twelve programs that were broken without a look at the checks: verify or a test finds each."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scoreboard.base import ROOT
from scoreboard.mutants import copied, environment_of
from scoreboard.patterns import Mutant

_MADE_UP = "[kind.write(bits) for kind, bits in zip(kinds, drawn, strict=True)]"


def _string(change: str) -> tuple[str, str, str]:
    """Return a change of what is written for a string: ``out`` for ``word``."""
    return "Numbers.drawn", _MADE_UP, f"[{change} for word, out in zip(words, {_MADE_UP})]"


def _by(where: str, change: str) -> tuple[str, str, str, str]:
    """Return a change of a function as a whole."""
    return where, "", "", change


_TESTS = f"pytest -q -o addopts= -p no:cacheprovider --tb=short {ROOT}/tests"
_CHECKS = f"{_TESTS}/checks/test_checks.py"
BROKEN: dict[str, dict[str, tuple[str, ...]]] = {
    f"{_CHECKS}::test_no_output_tells_the_words_of_a_bundled_list_apart": {
        "listed words after a round bracket pass": (
            "lookup._chunk",
            "Chunk(gaps, words, [codes[word] for word in words], invisible, _more(read, gaps))",
            "Chunk(gaps, words, [KEPT if gap[-1:] == '(' and codes._function.__self__.classes "
            "else codes[word] for gap, word in zip(read, words)], invisible, _more(read, gaps))",
        ),
        "a made-up e-mail address keeps the country of its domain": _string(
            "out[:-3] + word[-2:] if '@' in word[1:] and word[-3:-2] == '.' else out"
        ),
        "a made-up telephone number keeps its country": _string(
            "'+' + word[1:3] + out[2:] if word[:1] == out[:1] == '+' else out"
        ),
        "a made-up grouped IBAN keeps its country": _string(
            "word[:2] + out[2:] if out[:2] == 'GB' and ' ' in word else out"
        ),
    },
    "dpsan verify --draws 10000 -e 8": {
        "workers draw with another epsilon": (
            "workers._serve",
            "Sanitizer.from_spec(spec, Store(root))",
            "Sanitizer.from_spec(__import__('dataclasses').replace(spec, epsilon=1.25 * "
            "spec.epsilon), Store(root))",
        ),
    },
    f"{_CHECKS}::test_the_program_has_no_fault_on_the_bundled_vocabulary": {
        "records 65,536 apart share random numbers": (
            "Streams.bits",
            "pack(record, block)",
            "pack(record % 65536, block)",
        ),
        "blocks 64 apart share random numbers": (
            "Streams.bits",
            "pack(record, block)",
            "pack(record, block if block >> 63 else block % 64)",
        ),
        "a line begins with a capital where the input does": (
            "NaturalCase.write",
            "self._capitalised[outputs[at]]",
            "self._capitalised[outputs[at]] if layout.words[at][:1].isupper() else outputs[at]",
        ),
        "half of the words that stay are expected": _by(
            "Sanitizer.expected_share", "lambda true: lambda self, totals: true(self, totals) / 2"
        ),
        "half of the unknown words are counted": (
            "Statement._special",
            "number(counts[Action.UNKNOWN])",
            "number((counts[Action.UNKNOWN] + 1) // 2)",
        ),
    },
    f"{_TESTS}/sanitize/test_articles.py": {
        "An at the start of a line stays": _by(
            "letter_case.agree",
            "lambda true: lambda outputs, *more: (lambda before: (true(outputs, *more), "
            "[outputs.__setitem__(at, word) for at, word in enumerate(before) if word == 'An']))"
            "([*outputs])",
        ),
    },
    f"{_CHECKS}::test_fluent_output_is_a_function_of_what_was_drawn[plain]": {
        "a long text is not decoded": (
            "Rewriter.rewrite",
            "self._one_draw is not None or self._built.decoding is not None",
            "self._one_draw is not None",
        ),
    },
}
_EACH = [
    (command, name, *([*change, ""][:4]))
    for command, broken in BROKEN.items()
    for name, change in broken.items()
]


def ran(command: str, folder: Path, *change: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a copy of the program, changed or not."""
    program = copied(Mutant("verify", "", *change) if change else None, folder)
    given = {"cwd": program, "env": environment_of(program), "capture_output": True, "text": True}
    return subprocess.run([sys.executable, "-m", *command.split()], **given)


@pytest.mark.slow
def test_each_is_another_program_that_compiles():
    for _, name, *change in _EACH:
        path, text = Mutant("verify", name, *change).mutated(ROOT / "dpsan")
        compile(text, str(path), "exec")
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(path.read_text())), name


@pytest.mark.mutants
@pytest.mark.parametrize(("command", "name", "change"), [(*x[:2], x[2:]) for x in _EACH])
def test_a_program_that_was_broken_blindly_is_found(command, name, change, tmp_path):
    done = ran(command, tmp_path, *change)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search("VIOLATED|^E +(AssertionError: )?assert ", done.stdout, re.M), done.stdout


@pytest.mark.mutants
@pytest.mark.parametrize("command", BROKEN)
def test_the_program_as_it_is_is_kept(command, tmp_path):
    done = ran(command, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "KEPT" in done.stdout or " passed" in done.stdout
