"""An agent's trace and a log with people in them, and a count of what a rewritten one changed.

    python tests/traces.py trace > trace.jsonl
    python tests/traces.py log > service.log
    python tests/traces.py trace safe.jsonl    # what differs: {name} and others, and nothing else

Texts are made of templates, so what a tool may change is known: the text between the braces has to
stay to the letter.  Nothing of it is about anybody.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

from support import ROOT, tables

PEOPLE = [
    *(("Maria Gonzalez", "mgonzalez"), ("Kwabena Osei", "kosei"), ("Ingrid Lindqvist", "ilind")),
    *(("Anna Chen", "achen42"), ("Tomasz Nowak", "nowak"), ("Grace Young", "gyoung")),
    ("Hope Walker", "walker"),
]
TRACE = json.loads((ROOT / "tests" / "traces.json").read_text(encoding="utf8"))
LOG = tables("cases")["log"]
_PLACE = re.compile(r"\{(name|email|login|ip)\}")


def values(number):
    """What stands between the braces of a record."""
    name, login = PEOPLE[number % len(PEOPLE)]
    email = f"{name.lower().replace(' ', '.')}@mail.com"
    return {"name": name, "login": login, "email": email, "ip": f"10.0.{number % 256}.17"}


def filled(template, number):
    """A text or a record with the values of a number."""
    if isinstance(template, dict):
        return {key: filled(each, number) for key, each in template.items()}
    if isinstance(template, list):
        return [filled(each, number) for each in template]
    if isinstance(template, str):
        return _PLACE.sub(lambda match: values(number)[match[1]], template)
    return template


def compare(template, out, number, counts):
    """Count the values that changed, those that stayed, and texts that changed elsewhere."""
    if isinstance(template, str) and template[:2] == '{"':  # the arguments of a tool
        template, out = json.loads(template), json.loads(out)
    if isinstance(template, dict | list):
        same = type(out) is type(template) and len(out) == len(template)
        same = same and (isinstance(out, list) or [*out] == [*template])
        counts["other form"] += not same
        keys = template if isinstance(template, dict) else range(len(template))
        for key in keys if same else ():
            compare(template[key], out[key], number, counts)
    elif not isinstance(template, str):
        counts["other value"] += out != template or type(out) is not type(template)
    else:
        parts = _PLACE.split(template)
        pattern = "".join("(.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
        match = re.fullmatch(pattern, out, re.DOTALL)
        counts["other text"] += match is None
        for kind, new in zip(parts[1::2], match.groups(), strict=True) if match else ():
            counts[f"{kind} {'stayed' if new == values(number)[kind] else 'replaced'}"] += 1


def records(kind, many):
    """Templates of the lines of a trace or of a log."""
    templates = TRACE if kind == "trace" else LOG
    return [templates[at % len(templates)] for at in range(many)]


def written(kind, many=200):
    """A trace or a log."""
    lines = [filled(template, at) for at, template in enumerate(records(kind, many))]
    return "".join((line if kind == "log" else json.dumps(line)) + "\n" for line in lines)


def counted(kind, text):
    """What a rewritten trace or log changed."""
    counts, lines = Counter(), text.splitlines()
    for at, (template, line) in enumerate(zip(records(kind, len(lines)), lines, strict=True)):
        compare(template, line if kind == "log" else json.loads(line), at, counts)
    return {what: count for what, count in sorted(counts.items()) if count}


if __name__ == "__main__":
    kind, *path = sys.argv[1:]
    sys.stdout.write(f"{counted(kind, Path(path[0]).read_text())}\n" if path else written(kind))
