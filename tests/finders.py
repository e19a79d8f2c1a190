"""How much of what is sensitive a tool finds, and how much else it changes.

    python tests/finders.py [--given FILE] [--data FOLDER] [--set NAME ...]

A tool is a command that maps a JSONL of texts (field `text`) to a JSONL of texts; without
--command it is `dpsan rewrite -q --only sensitive -k text`. With --presidio it is the analyzer and
anonymizer of Presidio, if they and a spaCy model are installed.

How it is counted, for every set alike:
1. Tokens are the matches of \\w+ in the original, folded to small letters.
2. A token is sensitive if it overlaps a span. Titles, legal forms and function words (SKIP) are
   never sensitive; where they stand in a span, they count nowhere.
3. Original and output are compared as multisets of tokens, one document at a time: a word counts
   as changed as often as its count fell, first at its sensitive places.
4. Recall is the share of the sensitive tokens that changed; over-redaction is the share of the
   alphabetic tokens outside all spans that changed.
5. Intervals are 95 % percentiles of 2,000 bootstrap samples of documents with a fixed seed.

The sets (none belongs to the project; their paths are arguments):
* given: documents with marked spans, one JSON object {id, kind, text, spans} a line; also without
  the kind `german`, and the share of PERSON spans all of whose tokens changed.
* presidio: presidio_synth_dataset_v2.json; a TITLE is no sensitive span.
* tab: the court documents of TAB; mentions marked NO_MASK are not sensitive, and over-redaction is
  not counted in them.
* multidogo: chats in small letters, a document is a conversation, its utterances are its lines.
  A token of a slot that identifies (name, address, number, date, amount) is sensitive. What
  describes (model, reason, offer) is neither: it counts nowhere.
* tickets: customer support tickets hold no names in their texts and no marked spans, so each text
  is closed like a mail, with the customer's name and address; these are the spans. The
  description holds other numbers, so only its words in small letters count as over-redaction.
* agnews: news without spans: over-redaction alone, of words in small letters without a digit that
  are no number words, months or weekdays.
"""

import argparse
import collections
import csv
import json
import random
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

# The last three are reserved for inventions, so tools write them.
SKIP = {
    *("the", "of", "and", "in", "a", "to", "for", "on", "at", "de", "la", "von", "van", "mr"),
    *("mrs", "ms", "dr", "apt", "suite", "inc", "ltd", "llc", "gmbh", "mrn", "example"),
    *("555", "https"),
}
COUNTED = {
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
    *("hundred", "thousand", "million", "billion", "trillion", "hundreds", "thousands"),
    *("millions", "billions", "first", "second", "third", "fourth", "fifth"),
}
SLOTS = {
    *("name", "address", "ssn", "card_number", "account_number", "target_account_number"),
    *("charge_date", "lastuseddate", "charge_time", "lastusedtime", "charge_amount"),
    *("transferamount", "claimid", "policyid", "email_address", "phone_number"),
}
WORD = re.compile(r"\w+")
OVER, GONE, ALL = "over-redaction", "PERSON wholly gone", "all"
COMMAND = "dpsan rewrite -q --only sensitive -k text {in} -o {out}"


class Document:
    """A text, its sensitive spans (start, end, type), and the spans that count nowhere."""

    def __init__(self, text, spans, aside=(), kind=""):
        self.text, self.spans, self.kind = text, sorted(spans), kind
        self.aside = list(aside)


def given(path):
    """Documents with spans marked by hand."""
    for line in Path(path).read_text("utf-8").splitlines():
        row = json.loads(line)
        yield Document(row["text"], map(tuple, row["spans"]), kind=row.get("kind", ""))


def presidio(data):
    """Sentences filled into templates."""
    path = data / "eval/pii/presidio_synth_dataset_v2.json"
    for row in json.loads(path.read_text(encoding="utf-8")):
        spans = [(s["start_position"], s["end_position"], s["entity_type"]) for s in row["spans"]]
        yield Document(row["full_text"], [s for s in spans if s[2] != "TITLE"])


def tab(data):
    """Court documents of the text anonymization benchmark."""
    path = data / "eval/tab/tab_dev_2docs.json"
    for row in json.loads(path.read_text(encoding="utf-8")):
        marks = [m for a in row["annotations"].values() for m in a["entity_mentions"]]
        spans = {True: set(), False: set()}
        for m in marks:
            span = m["start_offset"], m["end_offset"], m["entity_type"]
            spans[m["identifier_type"] != "NO_MASK"].add(span)
        yield Document(row["text"], spans[True], [s[:2] for s in spans[False]])


def multidogo(data):
    """Conversations of customers with an agent, in small letters."""
    for name in ("finance_dev", "finance_test", "insurance_train"):
        path = data / f"eval/multidogo/{name}.tsv"
        with open(path, encoding="utf-8", newline="") as file:
            rows = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
        talks = collections.defaultdict(list)
        for row in rows:
            talks[row["conversationId"]].append(row)
        for talk in talks.values():
            text, spans, aside = "", [], []
            for row in talk:
                words = (row["utterance"] or "").split(" ")
                for word, slot in zip(words, (row["slot-labels"] or "").split(" "), strict=False):
                    place = (len(text), len(text) + len(word))
                    if slot in SLOTS:
                        spans.append((*place, "PERSON" if slot == "name" else slot))
                    elif slot != "O":
                        aside.append(place)
                    text += word + " "
                text = text[:-1] + "\n"
            yield Document(text, spans, aside)


def small_only(text, start=0):
    """Places of words with a capital or of a list of numbers: they count nowhere."""
    for match in WORD.finditer(text, start):
        if not match[0].islower() or match[0] in COUNTED:
            yield match.span()


def tickets(data):
    """Support tickets, closed with the name and the address of the customer."""
    csv.field_size_limit(1 << 30)
    with open(data / "eval/pii/customer_support_tickets.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            body = row["Ticket Description"].strip() + "\n\nRegards,\n"
            name, address = row["Customer Name"], row["Customer Email"]
            text = f"{body}{name}\n{address}\n"
            second = len(body) + len(name) + 1
            person = len(body), len(body) + len(name), "PERSON"
            contact = second, second + len(address), "CONTACT"
            yield Document(text, [person, contact], small_only(body))


def agnews(data):
    """News without spans."""
    path = data / "eval/ag_news/test.csv"
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            text = " ".join(row[1:])
            yield Document(text, [], small_only(text))


SETS = {each.__name__: each for each in (presidio, tab, multidogo, tickets, agnews)}


def counts(document, out):
    """Pairs (changed, total) of one document by figure, and its missed and wrongly changed ones."""
    had = collections.Counter(word.lower() for word in WORD.findall(document.text))
    has = collections.Counter(word.lower() for word in WORD.findall(out))
    fell = {word: max(0, n - has[word]) for word, n in had.items()}
    tally = collections.defaultdict(lambda: [0, 0])
    left, missed, wrong, other = {}, [], [], []
    aside = {i for a, b in document.aside for i in range(a, b)}
    spans, first = document.spans, 0
    for match in WORD.finditer(document.text):
        word, (start, end) = match[0].lower(), match.span()
        while first < len(spans) and spans[first][1] <= start:
            first += 1
        inside = [i for i in range(first, len(spans)) if spans[i][0] < end and start < spans[i][1]]
        if not inside:
            if word.isalpha() and start not in aside:
                other.append(word)
            continue
        changed = fell[word] > 0
        fell[word] -= changed
        if word in SKIP:
            continue
        if not changed:
            missed.append((spans[inside[0]][2], match[0]))
        for figure in {spans[inside[0]][2], ALL}:
            tally[figure][0] += changed
            tally[figure][1] += 1
        for i in inside:
            left[i] = left.get(i, 0) + (not changed)
    for word in other:
        changed = fell[word] > 0
        fell[word] -= changed
        tally[OVER][0] += changed
        tally[OVER][1] += 1
        if changed:
            wrong.append(word)
    for i, count in left.items():
        if spans[i][2] == "PERSON":
            tally[GONE][0] += count == 0
            tally[GONE][1] += 1
    return tally, missed, wrong


def interval(tallies, figure, rounds=2000):
    """Share of a figure and its interval over documents."""
    pairs = [tuple(t[figure]) for t in tallies if figure in t]
    changed, total = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    rng, values = random.Random(1), []
    for _ in range(rounds if len(pairs) > 1 else 0):
        sample = rng.choices(pairs, k=len(pairs))
        values.append(sum(a for a, _ in sample) / max(1, sum(b for _, b in sample)))
    values.sort()
    low, high = (values[rounds // 40], values[-1 - rounds // 40]) if values else (None, None)
    return changed, total, low, high


def by_command(command, texts):
    """Outputs of a command that maps a JSONL file to a JSONL file."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.jsonl"), Path(folder, "out.jsonl")
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        names = {"{in}": str(source), "{out}": str(target)}
        subprocess.run([names.get(part, part) for part in shlex.split(command)], check=True)
        return [json.loads(line)["text"] for line in target.read_text("utf-8").splitlines()]


def by_presidio(texts):
    """Outputs of Presidio with its default recognizers, each span replaced by its type."""
    try:
        from presidio_analyzer import AnalyzerEngine
        from presidio_anonymizer import AnonymizerEngine
    except ImportError:
        sys.exit("finders: Presidio is not installed: install presidio-analyzer and its model")
    analyzer, anonymizer = AnalyzerEngine(), AnonymizerEngine()
    spans = [analyzer.analyze(text=text, language="en") for text in texts]
    return [anonymizer.anonymize(*each).text for each in zip(texts, spans, strict=True)]


def report(name, documents, outs, listed, rounds=2000):
    """Print the figures of a set."""
    tallies, missed, wrong = [], collections.defaultdict(collections.Counter), collections.Counter()
    for document, out in zip(documents, outs, strict=True):
        tally, lost, extra = counts(document, out)
        tallies.append(tally)
        for kind, word in lost:
            missed[kind][word] += 1
        wrong.update(extra)
    figures = collections.Counter(f for tally in tallies for f in tally)
    rank = [ALL, OVER, GONE]
    kinds = sorted(set(figures) - set(rank))
    print(f"{name}, {len(documents)} documents")
    for figure in [f for f in [*rank, *kinds] if f in figures]:
        changed, total, low, high = interval(tallies, figure, rounds)
        span = "" if low is None else f"   {low:.3f} .. {high:.3f}"
        print(f"  {figure:<24}{changed / total:.4f}  {changed:>6} of {total:<6}{span}")
    if listed:
        for kind, words in missed.items():
            print(f"  missed {kind}:", *(f"{w}*{n}" for w, n in words.most_common(listed)))
        print("  changed:", *(f"{w}*{n}" for w, n in wrong.most_common(listed)))


def main():
    """Measure a tool on the sets whose files are given."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--given", type=Path, metavar="FILE", help="documents with marked spans")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="the folder of public sets")
    parser.add_argument("--set", nargs="*", choices=SETS, default=list(SETS), dest="sets")
    parser.add_argument("--kind", help="of --given, only this kind of documents")
    parser.add_argument("--most", type=int, metavar="N", help="the first N documents of a set")
    parser.add_argument("--command", default=COMMAND, help=f"default: {COMMAND}")
    parser.add_argument("--presidio", action="store_true", help="measure Presidio")
    parser.add_argument("--words", type=int, default=0, metavar="N", help="list N words a type")
    parser.add_argument("--rounds", type=int, default=2000, help="bootstrap samples")
    options = parser.parse_args()
    if not (options.given or options.data):
        parser.error("name the files with --given or --data")
    sets = {}
    if options.given:
        sets["given"] = [d for d in given(options.given) if options.kind in (None, d.kind)]
    for name in options.sets if options.data else ():
        sets[name] = [*SETS[name](options.data)][: options.most]
    for name, documents in sets.items():
        texts = [document.text for document in documents]
        outs = by_presidio(texts) if options.presidio else by_command(options.command, texts)
        report(name, documents, outs, options.words, options.rounds)
        english = [i for i, document in enumerate(documents) if document.kind != "german"]
        if len(english) < len(documents):
            chosen = [[part[i] for i in english] for part in (documents, outs)]
            report(f"{name} without german", chosen[0], chosen[1], options.words, options.rounds)


if __name__ == "__main__":
    main()
