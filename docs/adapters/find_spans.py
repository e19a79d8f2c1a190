#!/usr/bin/env python3
"""Find personal data with Presidio or spaCy, as spans for ``dpsan rewrite --spans``.

    find_spans.py presidio tickets.csv -k body > spans.jsonl
    dpsan rewrite -e 8 -k body --spans spans.jsonl tickets.csv -o safe.csv

FILE has lines of text, or a column (-k) of CSV, TSV or JSON Lines, by its suffix; UTF-8.  ``spacy``
takes ``--model``, the name or folder of a pipeline.  What the finder misses passes unchanged, and
which words it finds is not protected.  docs/formats.md describes the output.
"""

import argparse
import csv
import json
import sys


def texts(path, field):
    """The text of each record that has one."""
    with open(path, encoding="utf-8-sig", newline="\n" if field is None else "") as file:
        if field is None:
            yield from (line.removesuffix("\n") for line in file)
        elif path.endswith((".csv", ".tsv")):
            for row in csv.DictReader(file, delimiter="\t" if path.endswith(".tsv") else ","):
                if row[field] is not None:
                    yield row[field]
        else:
            for line in filter(str.strip, file):
                value = json.loads(line)
                for key in field.split("."):
                    value = value.get(key) if isinstance(value, dict) else None
                if isinstance(value, str):
                    yield value


def presidio(model):
    from presidio_analyzer import AnalyzerEngine

    engine = AnalyzerEngine()
    return lambda text: [
        (each.start, each.end, each.entity_type)
        for each in engine.analyze(text=text, language=model or "en")
    ]


def spacy(model):
    import spacy

    nlp = spacy.load(model or "en_core_web_sm")
    return lambda text: [(each.start_char, each.end_char, each.label_) for each in nlp(text).ents]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("finder", choices=["presidio", "spacy"])
    parser.add_argument("file")
    parser.add_argument("-k", "--field", help="column, or key of JSON Lines (a.b for b in a)")
    parser.add_argument("--model", help="pipeline of spaCy, or language of Presidio")
    given = parser.parse_args()
    find = {"presidio": presidio, "spacy": spacy}[given.finder](given.model)
    for text in texts(given.file, given.field):
        spans = [dict(zip(("start", "end", "type"), each, strict=True)) for each in find(text)]
        print(json.dumps({"text": text, "spans": spans}))


if __name__ == "__main__":
    sys.exit(main())
