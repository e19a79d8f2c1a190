"""JSON Schema, the part of it that docs/*.schema.json use: of samples, and what breaks it."""

TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array"}
TYPES |= {dict: "object", type(None): "null"}


def learned(samples, maps=(), name=""):
    """Return the schema of all samples of one place.

    Args:
        samples: values; a field that some of them lack is optional.
        maps: names of objects whose keys are data, such as words.
        name: of the place.
    """
    options = []
    kinds = {type(each) for each in samples}
    if kinds == {type(None)}:
        return {}  # anything: no sample says what it is where it is something
    if float in kinds:
        kinds.discard(int)
    for kind in sorted(kinds, key=lambda kind: TYPES[kind]):
        rule = {"type": TYPES[kind]}
        if kind is list:
            items = [item for each in samples if isinstance(each, list) for item in each]
            rule |= {"items": learned(items, maps)} if items else {}
        if kind is dict:
            rows = [each for each in samples if isinstance(each, dict)]
            rule |= _object(rows, maps, name)
        options.append(rule)
    return options[0] if len(options) == 1 else {"anyOf": options}


def _object(rows, maps, name):
    if name in maps:
        values = [value for row in rows for value in row.values()]
        return {"additionalProperties": learned(values, maps)} if values else {}
    names = list(dict.fromkeys(key for row in rows for key in row))
    values = {key: [row[key] for row in rows if key in row] for key in names}
    properties = {key: learned(values[key], maps, key) for key in names}
    required = [key for key in names if all(key in row for row in rows)]
    return {"properties": properties, "required": required, "additionalProperties": False}


def wrong(row, rule):
    """Yield why a value is not what a schema says."""
    if not rule:
        return
    if "anyOf" in rule:
        found = [[*wrong(row, each)] for each in rule["anyOf"]]
        if all(found):
            yield from min(found, key=len)
    elif "const" in rule:
        if row != rule["const"]:
            yield f"{row} is not {rule['const']}"
    elif not fits(row, rule["type"]):
        yield f"{type(row).__name__} is no {rule['type']}"
    elif rule["type"] == "array" and "items" in rule:
        for each in row:
            yield from wrong(each, rule["items"])
    elif rule["type"] == "object":
        properties = rule.get("properties", {})
        other = rule.get("additionalProperties", True)
        yield from (f"no {name}" for name in rule.get("required", ()) if name not in row)
        for name, each in row.items():
            if name in properties or isinstance(other, dict):
                inner = properties.get(name, other)
                yield from (f"{name}: {why}" for why in wrong(each, inner))
            elif not other:
                yield f"unknown {name}"


def fits(row, kind):
    if isinstance(row, bool):
        return kind == "boolean"
    kinds = {name: each for each, name in TYPES.items()} | {"number": (int, float)}
    return isinstance(row, kinds[kind])
