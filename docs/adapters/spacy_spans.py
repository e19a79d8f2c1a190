#!/usr/bin/env python3
"""Convert documents of spaCy into spans: ``spacy_spans.py < docs.jsonl > spans.jsonl``.

Read a line for each record, as ``json.dumps(doc.to_json())`` writes it: its entities and the groups
of spans in it count.
"""

import json
import sys

for line in sys.stdin:
    doc = json.loads(line)
    found = sum(doc.get("spans", {}).values(), doc.get("ents", []))
    spans = [{"start": each["start"], "end": each["end"], "type": each["label"]} for each in found]
    print(json.dumps({"text": doc["text"], "spans": spans}))
