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

PEOPLE = [
    *(("Maria Gonzalez", "mgonzalez"), ("Kwabena Osei", "kosei"), ("Ingrid Lindqvist", "ilind")),
    *(("Anna Chen", "achen42"), ("Tomasz Nowak", "nowak"), ("Grace Young", "gyoung")),
    ("Hope Walker", "walker"),
]
ERROR = """Traceback (most recent call last):
  File "/home/{login}/projects/billing/app/services/invoice_service.py", line 214, in create_invoice
    customer = CustomerRepository.find_by_email(session, email="{email}")
  File "/usr/lib/python3.11/site-packages/sqlalchemy/orm/session.py", line 2351, in execute
    self._handle_dbapi_exception(error, statement, parameters, cursor, context)
sqlalchemy.exc.IntegrityError: (psycopg2.errors.UniqueViolation) duplicate key value
KeyError: 'customer_id'"""
CODE = """import pandas as pd
from pathlib import Path

def load_orders(path: Path, *, limit: int | None = None) -> pd.DataFrame:
    # asked for by {name}
    orders = pd.read_csv(path).dropna().groupby("customer_id").agg({"total": "sum"})
    return orders.head(limit) if limit is not None else orders
"""
TRACE = [
    {"type": "message", "role": "user", "content": "{name} ({email}) cannot log in."},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "I look up the account of {name} first."}],
        "usage": {"input_tokens": 1284, "cost": 0.0150, "cached": False},
    },
    {
        "type": "tool_call",
        "name": "find_user",
        "arguments": json.dumps({"name": "{name}", "limit": 5, "fields": ["email", "last_login"]}),
    },
    {
        "type": "tool_result",
        "content": json.dumps({"found": True, "email": "{email}", "home": "/home/{login}/"}),
        "duration_ms": 41.5,
    },
    {"type": "tool_result", "is_error": True, "content": ERROR},
    {"type": "tool_call", "name": "write_file", "arguments": json.dumps({"text": CODE})},
    {"type": "tool_call", "name": "bash", "arguments": r"type C:\Users\{login}\AppData\app.log"},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "It raised an IntegrityError. I wrote to {email}."}],
    },
]  # fmt: skip
LOG = [
    "ERROR [worker-3] billing.tasks.SendInvoice: timeout, retrying (attempt 2/5) for {email}",
    "INFO nginx: {ip} - {login} [request] \"GET /api/v1/orders HTTP/1.1\" 200 1532 \"-\"",
    "WARN com.example.billing.InvoiceController - NullPointerException user={login}",
    "\tat java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1149)",
    "DEBUG kubectl get pods -n production; docker compose up -d; systemctl restart postgresql",
    "sudo: {login} : TTY=pts/0 ; PWD=/home/{login} ; USER=root ; COMMAND=/usr/bin/apt update",
    "thread 'main' panicked at src/main.rs:42:5: called `Option::unwrap()` on a `None` value",
    "AttributeError: 'NoneType' object has no attribute 'strip'; opened by {name}",
]  # fmt: skip
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
