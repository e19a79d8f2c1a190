"""``python -m dpsan`` and the ``dpsan`` command."""

import _signal  # type: ignore[import-not-found]  # is loaded; signal takes milliseconds

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    # Until the guard is up, Ctrl-C ends the program without a traceback.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from dpsan.cli.guard import main

if __name__ == "__main__":
    main()
