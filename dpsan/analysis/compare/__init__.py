"""Compare mechanisms at the same certified LDP epsilon, on public words or on a user's text.

Open ``comparison.py`` first: it sets every mechanism to an epsilon, and writes the rows.
``measure.py`` has the texts and the figures.
Must not know command lines.  Results hold figures only: no word of a text, no label.
"""
