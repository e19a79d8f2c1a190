"""Compare mechanisms at the same certified LDP epsilon, on public words or on a user's text.

Open ``comparison.py`` first: it sets every mechanism to an epsilon and calls the others.
``texts.py`` has the texts, ``measure.py`` the figures, ``table.py`` rows as text, CSV, LaTeX.
Must not know command lines.  Results hold figures only: no word of a text, no label.
"""
