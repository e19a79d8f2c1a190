"""What any program must do, whatever the mechanism and the settings are.

A check returns what is wrong in a sentence, and "" where nothing is.  What depends on a vocabulary
or lists of one's own is checked by ``dpsan verify``.
"""

KEY = b"k" * 32
"""Key of runs that are compared."""


def words_of(text, gaps):
    """Return the words between gaps, none of which they contain; None if a gap is missing."""
    out, at = [], 0
    for gap in gaps:
        end = text.find(gap, at)
        if end < 0:
            return None
        out.append(text[at:end])
        at = end + len(gap)
    return [*out, text[at:]]
