"""An engine of ``--engine ray`` without a cluster."""

import pickle

from dpsan import __version__
from dpsan.run.cluster import rewrite


def start(_stack):
    """Run the last task first, and each task twice, as after the death of a worker."""

    def run(job, tasks):
        packed = pickle.dumps(job)
        for task in reversed(tasks):
            rewrite(__version__, packed, task)
            yield task, pickle.loads(pickle.dumps(rewrite(__version__, packed, task)))

    return run
