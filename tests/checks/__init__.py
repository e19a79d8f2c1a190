"""What any program must do, whatever the mechanism and the settings are.

A check returns what is wrong in a sentence, and "" where nothing is.  What depends on a vocabulary
or lists of one's own is checked by ``dpsan verify``.
"""

KEY = b"k" * 32
"""Key of runs that are compared."""
