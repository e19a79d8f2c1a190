"""Two runs on one memo with units, of which one is killed: no person with two names, no link."""

import json
import os
import random
import signal
import time
from collections import Counter, defaultdict
from functools import partial
from importlib import import_module
from itertools import combinations
from pathlib import Path

from fixed_keys import fix_keys

from scoreboard import fork
from scoreboard.base import Row, Size, embedding_file, environment, row

GIVEN = ["Maria", "Grace", "Linda", "Susan", "Karen", "Nancy", "Helen", "Donna", "Carol", "Ruth"]
SURNAMES = ["Lopez", "Nguyen", "Murphy", "Kowalski", "Schmidt", "Rossi", "Jensen", "Novak", "Patel"]
WORDS = [f"w{number}" for number in range(30)]
_DRAWN = {word.lower() for word in (*GIVEN, *SURNAMES, *WORDS)}
ONLY = "--only names,contacts"
EPSILON = "-e 1 -m krr -E e.txt"
COMMAND = "rewrite -q {} --memo memo --unit-field id -k text --line-buffered -f jsonl"
_BY_CHANCE = 20
"""Equal replacements of a word in two units: of 1,350 pairs fewer than two are expected, and more
than this once in 10^15 rows."""


def records(generator: random.Random, options: str, turn: int) -> list[dict[str, str]]:
    """Messages of units of a turn, which name people and an address of one of them."""
    made = []
    for _ in range(20):
        text = " ".join(generator.choices(WORDS, k=6))
        if options == ONLY:
            people = [(generator.choice(GIVEN), generator.choice(SURNAMES)) for _ in range(3)]
            first, second, third = map(" ".join, people)
            address = third.lower().replace(" ", ".")
            text = f"Ask {first} or {second} , mail {address}@acme.com today"
        made.append({"id": f"chat {turn} {generator.randrange(2)}", "text": text})
    return made


class Ledger:
    """What the words of each unit became in all that was published."""

    def __init__(self) -> None:
        self.became: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)

    def add(self, given: list[dict[str, str]], out: bytes) -> None:
        """Read the whole lines of an output, which may have been cut off."""
        for record, line in zip(given, out.split(b"\n")[:-1], strict=False):
            written = json.loads(line)["text"]
            for word, other in zip(_words(record["text"]), _words(written), strict=True):
                if word in _DRAWN:
                    self.became[record["id"]].setdefault(word, set()).add(other)

    def several(self) -> int:
        """Return how many words of a unit have more than one replacement."""
        return sum(len(found) > 1 for words in self.became.values() for found in words.values())

    def shared(self) -> int:
        """Return how many replacements of a unit stand for more than one person's word."""
        count = 0
        for words in self.became.values():
            names = Counter(next(iter(found)) for found in words.values())
            count += sum(number - 1 for number in names.values())
        return count

    def linked(self) -> int:
        """Return how often a word has the same replacement in two units."""
        units = combinations([*self.became.values()][:10], 2)
        shared = [(one[word], other[word]) for one, other in units for word in one.keys() & other]
        return sum(not first.isdisjoint(second) for first, second in shared)


def _words(text: str) -> list[str]:
    words = text.lower().replace(",", " ").split()
    return [word for each in words for word in each.partition("@")[0].split(".")]


@row("units", "kill -9 that landed in one of two runs on a memo with conversations", "≥ 200")
def conversations(row: Row, size: Size, folder: Path) -> None:
    """All that was published, also by runs that were killed, agrees within each unit."""
    fork.preload()
    for name in ("dpsan.sanitize.replacing", "dpsan.run.memo"):
        import_module(name)
    generator = random.Random(7)
    for name, options in (("only", ONLY), ("epsilon", EPSILON)):
        own = folder / name
        env = environment(own)
        embedding_file(own / "e.txt", 3000)
        ledger = Ledger()
        whole = landed = 0
        for turn in range(2):  # the first one fills the cache
            started = time.perf_counter()
            published(own, env, options, records(generator, options, turn), ledger, row)
            whole = time.perf_counter() - started
        for turn in range(2, size.of(10, 18, 502)):
            if landed >= size.of(4, 5, 100):
                break
            both = [records(generator, options, turn) for _ in range(2)]
            moment = generator.uniform(0.1, 1.2) * whole
            landed += killed(own, env, options, both, ledger, row, moment)
        row.tried += landed
        row.count("words with two replacements in a unit", ledger.several() > 0)
        if options == ONLY:
            row.count("replacements of two words of a unit", ledger.shared() > 0)
        row.count("replacements that link units", ledger.linked() > _BY_CHANCE)


def published(own, env, options, given, ledger, row):
    """A run that nothing disturbs."""
    data = "".join(f"{json.dumps(each)}\n" for each in given).encode()
    done = fork.run(COMMAND.format(options), own, env, partial(fix_keys, given[0]["id"]), data)
    row.count("undisturbed run failed", done.status != 0)
    ledger.add(given, done.out)


def killed(own, env, options, both, ledger, row, moment):
    """Two runs at once, of which the first is killed; return whether the kill landed."""
    children = []
    for number, given in enumerate(both):
        keys = partial(fix_keys, f"{number} {given[0]['id']}")  # each fork has keys of its own
        data = "".join(f"{json.dumps(each)}\n" for each in given).encode()
        children.append(fork.Forked(COMMAND.format(options), own, env, keys, data))
    time.sleep(moment)
    os.kill(children[0].pid, signal.SIGKILL)
    found = [child.wait() for child in children]
    row.count("the other run failed or hung", found[1].status != 0)
    for given, done in zip(both, found, strict=True):
        ledger.add(given, done.out)
    return found[0].status == -signal.SIGKILL
