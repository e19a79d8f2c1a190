"""``python -m dpsan`` and the ``dpsan`` command."""

import _signal  # type: ignore[import-not-found]  # is loaded; signal takes milliseconds
import os
import sys

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    # Until the guard is up, Ctrl-C ends the program without a traceback.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def leave_out_working_directory() -> None:
    """Let no Python file of the working directory run, here and in processes started from here.

    This process would look there after ``python -m`` or an empty entry in PYTHONPATH.
    """
    os.environ["PYTHONSAFEPATH"] = os.environ.get("PYTHONSAFEPATH") or "1"
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    absolute = [path for path in given if os.path.isabs(path)]
    if absolute != given:
        os.environ["PYTHONPATH"] = os.pathsep.join(absolute)
        home = os.path.dirname(os.path.dirname(__file__))
        try:  # contextlib would be imported
            relative = {"", *map(os.path.abspath, given)}.difference(absolute, [home])
        except OSError:  # the working directory is gone
            return
        sys.path[:] = [path for path in sys.path if path not in relative]


leave_out_working_directory()

from dpsan.cli.guard import main  # noqa: E402

if __name__ == "__main__":
    main()
