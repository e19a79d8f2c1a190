"""Pages and tables that people read: the HTML builder, sections of rows, plain sentences.

Open ``sections.py``.  Pages have no script and load nothing.  A verdict comes first, then what
passed unchanged, then figures with what they mean, parameters last.  Must not know what a command
measures.
"""
