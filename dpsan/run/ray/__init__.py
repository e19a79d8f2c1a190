"""``dpsan rewrite --engine ray``: one run on many machines, with the words of a single process.

Three steps.  The driver *cuts* the inputs into pieces (bytes between separators, row groups; a
file that cannot be cut is one piece).  Tasks *count* the texts of each piece, so that every text
has the number that a single process would give it; a text's random stream depends on the run's key
and that number alone.  Actors, which hold one sanitizer each, *rewrite* pieces into files of a
private temporary directory, and the driver joins these in order.

A piece that is worked on twice gives the same bytes, and only the file named by the answer that
arrived is joined, so nothing is lost or doubled when a worker dies.

What passes through Ray: places of pieces, counts, and the job with its secret key; never text,
words or error messages of libraries.  Inputs, outputs, audit, embeddings and dpsan itself must be
found at the same paths on every machine (a shared file system).

:mod:`pieces` knows where files can be cut; :mod:`work` what is done to a piece; :mod:`join` how
pieces become outputs; :mod:`engine` is the only module that knows Ray; :mod:`run` puts them in
order.
"""

from dpsan.run.ray.run import ClusterRun

__all__ = ["ClusterRun"]
