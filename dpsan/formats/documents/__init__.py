"""Documents: pages, mails and Word files, which are read as a whole.

Open ``document`` first: the base class of all three.  What a person may have written is text and is
sanitized; what passes is on a list and is counted; everything else is refused or left out.  A new
kind of document subclasses ``Document``.  Nothing here knows mechanisms or how records are drawn.
"""
