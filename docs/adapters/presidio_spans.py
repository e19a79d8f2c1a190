#!/usr/bin/env python3
"""Convert results of Presidio into spans: ``presidio_spans.py < found.json > spans.jsonl``.

Read one JSON list with an item for each record: the list of results that Presidio's analyzer
returns, or an object of presidio-research's data sets, with ``full_text`` and ``spans``.
"""

import json
import sys

for record in json.load(sys.stdin):
    found = record["spans"] if isinstance(record, dict) else record
    row = {"text": record["full_text"]} if isinstance(record, dict) else {}
    row["spans"] = [
        {
            "start": each.get("start", each.get("start_position")),
            "end": each.get("end", each.get("end_position")),
            "type": each["entity_type"],
        }
        for each in found
    ]
    print(json.dumps(row))
