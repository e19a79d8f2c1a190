import hashlib
import json

TEXT = "Maria Gonzalez's flight, the zyxwvq one, leaves at 10:30.\r\n\nNo 😀 words?\n".encode()


def run(dpsan, tmp_path, *more):
    path = tmp_path / "a.jsonl"
    done = dpsan("rewrite", "-e", "8", "--audit", str(path), *more, stdin=TEXT, status=0)
    return done.stdout, [json.loads(line) for line in path.read_bytes().splitlines()], path


def test_schema(dpsan, tmp_path):
    out, rows, _ = run(dpsan, tmp_path)
    header, words, file, totals = rows[0], rows[1:-2], rows[-2], rows[-1]
    assert (header["own"], header["private"]) == (None, True)
    guarantee = header["guarantee"]
    assert (guarantee["status"], guarantee["arithmetic"]) == ("PROVED", "on integers")
    assert guarantee["epsilon_ldp"] <= 8
    assert ({row["type"] for row in words}, file["type"]) == ({"word"}, "file")
    assert file["passing"] == totals["passing"] == {"fields": [], "noted": {}}
    assert (totals["type"], totals["complete"]) == ("totals", True)
    assert file["input_sha256"] == hashlib.sha256(TEXT).hexdigest()
    assert file["output_sha256"] == hashlib.sha256(out).hexdigest()
    assert totals["words"] == len(words)
    assert totals["epsilon_sum"] == sum(row["epsilon"] or 0 for row in words)
    for action in ("drawn", "unknown", "number", "masked", "kept", "outside"):
        assert totals[action] == sum(row["action"] == action for row in words)


def test_rows_match_the_output_words_and_hold_no_input_word(dpsan, tmp_path):
    out, rows, path = run(dpsan, tmp_path, "--unknown", "mask")
    lines = out.decode().split("\n")
    gaps = []
    for number, line in enumerate(lines, start=1):
        at = 0
        for row in [r for r in rows[1:-2] if r["line"] == number]:
            assert line[row["start"] : row["end"]] == row["out"]
            gaps.append(line[at : row["start"]])
            at = row["end"]
        gaps.append(line[at:])
    # Everything outside the rows is the input's, character by character.
    first, last = ["", " ", "'s ", ", ", " ", " ", ", ", " ", " ", ".\r"], ["", " ", " ", "?"]
    assert gaps == [*first, "", *last, ""]
    assert b"zyxwvq" not in path.read_bytes()
    assert "😀".encode() not in path.read_bytes()


def test_originals_and_a_seed(dpsan, tmp_path):
    _, rows, _ = run(dpsan, tmp_path, "--audit-originals", "--seed", "1")
    text = TEXT.decode().split("\n")
    assert (rows[0]["originals"], rows[0]["seeded"], rows[0]["private"]) == (True, True, False)
    for row in rows[1:-2]:
        assert text[row["line"] - 1][row["in_start"] : row["in_end"]] == row["in"]
        assert row["unchanged"] == (row["in"].lower() == row["out"].lower())
    assert "zyxwvq" in [row["in"] for row in rows[1:-2]]
