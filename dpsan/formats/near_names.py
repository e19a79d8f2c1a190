"""The name of a field that is nearly what was typed.

Where a table lacks its header, a name is text: one that nearly is what was typed tells little.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final

_CUTOFF: Final = 0.75
_RECORDS: Final = 16
_LARGEST: Final = 1 << 16


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The hint that names the one near name; empty if there is none."""
    names = [*names]
    near = difflib.get_close_matches(name, names, n=1, cutoff=_CUTOFF) or [
        each for each in names if each.casefold() == name.casefold()
    ]
    return f"did you mean '{near[0]}'?" if near else ""


def near_path(steps: Collection[str | None], records: Iterable[bytes]) -> str:
    """The same for a path into JSON: the hint names what stands where the path ends too early.

    Args:
        steps: from the outside in; None stands for every item of a list.
        records: JSON, of which the first few are looked at; what is none is left out.
    """
    import orjson

    for raw in islice((each for each in records if len(each) < _LARGEST), _RECORDS):
        try:
            places: list[object] = [orjson.loads(raw)]
        except orjson.JSONDecodeError:
            continue
        for step in steps:
            if step is None:
                lists = [each for each in places if isinstance(each, list)]
                places = [item for each in lists for item in each] if lists else places
                continue
            found = [each for each in places if isinstance(each, dict)]
            places = [each[step] for each in found if step in each]
            if not places:
                if hint := did_you_mean(step, dict.fromkeys(key for each in found for key in each)):
                    return hint
                break
    return ""
