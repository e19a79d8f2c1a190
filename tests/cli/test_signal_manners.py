"""Signals early, late, at once, and where Python cannot raise: the first decides, in silence."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
HEAD = "import gc, os, signal, sys, time\nfrom dpsan.__main__ import main\n"
TAIL = "sys.argv = ['dpsan', 'mechanisms']\nmain()\n"
TAKE = "import dpsan.cli.app as app\ndef run():\n"


def child(code, env=None, **more):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
        **more,
    )


def end_of(body, sent, folder=None):
    """Status and outputs of a command that does this; it imports from the folder too."""
    code = HEAD + (f"sys.path.append({str(folder)!r})\n" if folder else "") + TAKE
    ended = child(code + body.replace("SENT", str(int(sent))) + "app.run = run\n" + TAIL)
    out, told = ended.communicate(timeout=30)
    return ended.returncode, out, told


INTERRUPTED = re.compile(rb"(dpsan: interrupted: [^\n]*\n)?")
"""What ``rewrite`` says of its outputs, once it has begun; nothing else is told."""


@pytest.mark.parametrize(("first", "second"), [(a, b) for a in SIGNALS for b in SIGNALS if a != b])
def test_two_at_once(first, second):
    """Both come inside one call of C: when it ends, Python would take them by number."""
    code = HEAD + TAKE + "    import subprocess\n"
    kill = f"sleep .3; kill -{int(first)} $PPID; sleep .1; kill -{int(second)} $PPID"
    code += f"    subprocess.Popen(['sh', '-c', '{kill}'])\n    sum(range(50_000_000))\n"
    ended = child(code + "    time.sleep(9)\napp.run = run\n" + TAIL)
    out, told = ended.communicate(timeout=30)
    assert (ended.returncode, out, told) == (-first, b"", b"")


@pytest.mark.parametrize("sent", SIGNALS)
@pytest.mark.parametrize(
    "where",
    [
        # A destructor and a callback of the collector: Python prints what is raised there.
        "    class Dying:\n        def __del__(self): os.kill(os.getpid(), SENT); time.sleep(9)\n"
        "    Dying()\n    time.sleep(9)\n    print('went on', flush=True)\n",
        "    gc.callbacks.append(lambda *a: (os.kill(os.getpid(), SENT), time.sleep(9)))\n"
        "    gc.collect()\n    time.sleep(9)\n    print('went on', flush=True)\n",
        # In a destructor that is the last thing to happen: there is no moment later.
        "    class Dying:\n        def __del__(self): os.kill(os.getpid(), SENT)\n"
        "    Dying()\n    return 0\n",
        # Inside something that drops whatever is raised, as code in C may.
        "    try: os.kill(os.getpid(), SENT); time.sleep(9)\n"
        "    except BaseException: pass\n    time.sleep(9)\n    print('went on', flush=True)\n",
        "    try: os.kill(os.getpid(), SENT); time.sleep(9)\n    except BaseException: return 0\n",
        # While an error is told.
        "    from dpsan.errors import UsageError\n"
        "    class Error(UsageError):\n"
        "        def on_command_line(self): os.kill(os.getpid(), SENT); time.sleep(9)\n"
        "    raise Error('x')\n",
        # While the last output is written.
        "    real = sys.stdout\n    class Out:\n"
        "        def flush(self): os.kill(os.getpid(), SENT); time.sleep(9)\n"
        "        def __getattr__(self, name): return getattr(real, name)\n"
        "    sys.stdout = Out()\n    return 0\n",
        # Where it is blocked by the time the program ends.
        "    try: os.kill(os.getpid(), SENT); time.sleep(9)\n"
        "    finally: signal.pthread_sigmask(signal.SIG_BLOCK, [SENT])\n",
        # At the very end.
        "    import atexit\n"
        "    atexit.register(lambda: (os.kill(os.getpid(), SENT), time.sleep(9)))\n"
        "    return 0\n",
    ],
    ids=[
        *("destructor", "collector", "last destructor", "dropped", "dropped at the end"),
        *("telling", "flushing", "blocked", "exit"),
    ],
)
def test_wherever_it_comes(where, sent):
    assert end_of(where, sent) == (-sent, b"", b"")


@pytest.mark.parametrize("sent", SIGNALS)
def test_a_signal_in_a_destructor_ends_the_command_by_its_usual_way(sent):
    """Python swallows what is raised there: what a command says last must be said all the same."""
    code = "    class Dying:\n        def __del__(self): os.kill(os.getpid(), SENT)\n"
    code += "    try:\n        [Dying() for _ in range(3)]\n        time.sleep(9)\n"
    code += "    finally: print('the last words', file=sys.stderr)\n"
    assert end_of(code, sent) == (-sent, b"", b"the last words\n")


@pytest.mark.parametrize("sent", SIGNALS)
def test_who_cleans_up_is_left_alone(sent):
    """However long it takes, in a context that is left and behind another error."""
    code = "    from contextlib import contextmanager\n    @contextmanager\n"
    code += "    def slow():\n        try: yield\n        finally: time.sleep(.2)\n"
    code += (
        "    try:\n        with slow(): os.kill(os.getpid(), SENT); time.sleep(9)\n    finally:\n"
    )
    code += "        try: {}['x']\n        except KeyError: time.sleep(.2)\n"
    code += "        print('the last words', file=sys.stderr)\n"
    assert end_of(code, sent) == (-sent, b"", b"the last words\n")


@pytest.mark.parametrize("sent", SIGNALS)
def test_an_import_is_not_torn(tmp_path, sent):
    """A module in C may fall over an exception that it does not expect."""
    code = "import os, time\ntry: os.kill(os.getpid(), SENT); time.sleep(.2)\n"
    code += "except BaseException: os.abort()\nprint('whole', flush=True)\n"
    (tmp_path / "fragile.py").write_text(code.replace("SENT", str(int(sent))))
    assert end_of("    import fragile\n    time.sleep(9)\n", sent, tmp_path) == (
        -sent,
        b"whole\n",
        b"",
    )


def test_an_import_that_hangs_is_left(tmp_path):
    """After five seconds."""
    code = "import os, time\nos.kill(os.getpid(), SENT)\ntime.sleep(99)\n"
    (tmp_path / "stuck.py").write_text(code.replace("SENT", str(int(signal.SIGTERM))))
    told = end_of("    import stuck\n", signal.SIGTERM, tmp_path)
    assert told == (-signal.SIGTERM, b"", b"")


@pytest.mark.parametrize("sent", SIGNALS)
def test_while_it_starts(sent):
    """At moments after our first line, while modules are imported and vectors read."""
    for number in range(0, 8, 2):
        code = "import threading\n" + HEAD
        code += f"send = threading.Timer({number / 16}, os.kill, (os.getpid(), {int(sent)}))\n"
        code += "sys.argv = ['dpsan', 'rewrite', '-q', '-e', '8']\nsend.start()\nmain()\n"
        with child(code, stdin=subprocess.PIPE) as ended:  # which stays open
            ended.wait(timeout=30)
            out, told = ended.stdout.read(), ended.stderr.read()
        assert (ended.returncode, out) == (-sent, b"")
        assert INTERRUPTED.fullmatch(told)


def test_the_package_reads_no_other_file_before_the_guard():
    """While Python imports for it, Ctrl-C would show a traceback."""
    code = "import sys\nbefore = {*sys.modules}\nimport dpsan\nprint(*{*sys.modules} - before)"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=root, capture_output=True)
    assert (done.stdout, done.stderr) == (b"dpsan\n", b"")


def test_a_message_of_what_nobody_can_catch_holds_no_text():
    code = (
        HEAD
        + TAKE
        + (
            "    import threading\n"
            "    class Dying:\n        def __del__(self): raise KeyError('Maria')\n"
            "    Dying()\n    def fail(): raise KeyError('Maria')\n"
            "    one = threading.Thread(target=fail)\n    one.start()\n    one.join()\n"
            "    return 0\n"
        )
        + "app.run = run\n"
        + TAIL
    )
    ended = child(code)
    _, told = ended.communicate(timeout=30)
    assert ended.returncode == 0
    assert told.count(b"dpsan: internal error: KeyError at <string>:") == 2
    assert told.count(b"\n") == 2


@pytest.mark.parametrize("sent", SIGNALS)
def test_while_workers_start(tmp_path, cache, sent):
    """To the program alone, at some moments: no worker is left half-started, complaining."""
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    command = ["rewrite", "-q", "-e", "8", "-m", "laplace", "-E", "two.txt", "-j", "3"]
    hook = (
        "import os, sys, threading, time\nfrom multiprocessing.process import BaseProcess\n"
        "real = BaseProcess.start\nseen = []\ndef start(self):\n    seen.append(self)\n"
        "    if len(seen) == 2: threading.Timer(DELAY, os.kill, (os.getpid(), SENT)).start()\n"
        "    real(self)\nBaseProcess.start = start\nfrom dpsan.__main__ import main\n"
    )
    for number in range(0, 4, 2):
        code = hook.replace("SENT", str(int(sent))).replace("DELAY", str(number / 200))
        code += f"if __name__ == '__main__':\n    sys.argv = {['dpsan', *command]!r}\n    main()\n"
        ended = child(
            code,
            {"DPSAN_CACHE_DIR": str(cache)},
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        out, told = ended.communicate(timeout=30)
        assert out == b""
        assert INTERRUPTED.fullmatch(told)
        assert ended.returncode in (-sent, 0)
