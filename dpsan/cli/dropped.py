"""Commands, options and values that are no more, and what to type instead."""

from __future__ import annotations

from typing import Final

DROPPED: Final = {
    "smooth": "dpsan rewrite --fluent draws and decodes at once",
    "--progress": "a terminal shows progress; -q hides it",
    "--backup": "-O DIR writes outputs elsewhere; or copy the files first",
    "--epsilon-ldp": "dpsan calibrate --epsilon-ldp X -m M prints the command to run",
    "--case input": "nothing: the input's capitals told of its words; --keep FILE names what stays",
    "--unknown keep": "--keep FILE names the words that stay; --unknown mask hides the others",
    "--strings": "--class contacts,ids,dates,numbers makes up strings of the same kinds",
    "--max-record": "records of up to 64 MiB are read: split longer ones",
    **dict.fromkeys(("-z", "--null-data"), "tr '\\0' '\\n' < FILE | dpsan rewrite ..."),
    "--export": "faiss.read_index opens the files v3/index-* of the cache",
    "--plot": "--html FILE shows shares as bars; compare --csv has the figures for a picture",
    "--maximize": "optimal-response has the largest mean cosine; compare -p shows that of others",
    "--coverage": "dpsan rewrite --dry-run -E FILE TEXT says how many of its words are unknown",
    "--latex": "compare --csv > t.csv, then pandas.read_csv('t.csv').to_latex() in Python",
    "--no-scores": "leave it out; rouge-score and sacrebleu compare two files by ROUGE and BLEU",
    "--text": "-f text reads any file as text",
}
"""By the word, or the option and its value, as it was typed."""
