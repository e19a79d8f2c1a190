"""What a run that is ended by a signal says: what is complete, and how to go on."""

import fcntl
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from support import cases, started, wait_for

from dpsan.cli.rewrite_options import Completed, RewriteOptions

BASE = ("rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt", "--case", "vocabulary")


@cases(
    "output message",
    (
        ["-o", "o.txt", "-a", "audit"],
        b"interrupted: o.txt was not written (the same command begins again); audit is "
        b"incomplete: remove it, or name another\n",
    ),
    (
        [],
        b"interrupted: the output is not complete (discard it before you begin again: "
        b"two outputs tell more than one)\n",
    ),
)
def test_issue_13_one_output(folder, env, output, message):
    with started(*BASE, *output, cwd=folder, env=env) as child:
        child.stdin.write(b"here\n")
        child.stdin.flush()
        if output:  # the run has begun when it has an audit and has read the line
            wait_for((folder / "audit").exists)
            wait_for(lambda: not any(fcntl.ioctl(child.stdin, termios.FIONREAD, bytes(4))))
        else:
            assert child.stdout.readline() == b"here\n"
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=300)
    assert (child.returncode, told) == (-signal.SIGINT, b"dpsan: " + message)


def test_files_in_place_are_told_by_what_they_are(tmp_path):
    """Not by what the program believes: that is one signal behind."""
    inputs = [tmp_path / f"{name}.txt" for name in "abc"]
    for path in inputs:
        path.write_text("here there\n")
    completed = Completed(RewriteOptions(files=inputs, in_place=True))
    none = completed.message()
    assert none.startswith(f"interrupted: 0 of 3 files are rewritten, not {inputs[0]} and")
    for path in inputs[:2]:
        (tmp_path / "new").write_text("there\n")
        (tmp_path / "new").rename(path)
    assert f"2 of 3 files are rewritten, not {inputs[2]} and" in completed.message()


def test_files_of_an_earlier_run_count_where_they_are_skipped(tmp_path):
    inputs, out = [tmp_path / f"{name}.txt" for name in "abc"], tmp_path / "out"
    out.mkdir()
    (out / "a.txt").write_text("there\n")
    first = Completed(RewriteOptions(files=inputs, output_dir=out, force=True))
    resumed = Completed(RewriteOptions(files=inputs, output_dir=out, resume=True))
    (out / "b.txt").write_text("there\n")
    assert "2 of 3 files are complete" in resumed.message()
    assert "1 of 3 files are complete" in first.message()


def test_what_excludes_resume_names_no_resume(tmp_path):
    inputs, out = [tmp_path / "a.txt"], tmp_path / "out"
    for name, told in (("map_", False), ("review", False), ("audit", True)):
        files = RewriteOptions(files=inputs, output_dir=out, **{name: tmp_path / "file"})
        message = Completed(files).message()
        assert "0 of 1 files are complete (" in message
        assert ("--resume" in message) == told


# Signals where Python cannot raise; the scoreboard sends them early, late and at once.


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
HEAD = "import gc, os, signal, sys, time\nfrom dpsan.__main__ import main\n"
TAIL = "sys.argv = ['dpsan', 'mechanisms']\nmain()\n"
TAKE = "import dpsan.cli.app as app\ndef run():\n"


def end_of(body, sent, folder=None):
    """Status and outputs of a command that does this; it imports from the folder too."""
    code = HEAD + (f"sys.path.append({str(folder)!r})\n" if folder else "") + TAKE
    code += body.replace("SENT", str(int(sent))) + "app.run = run\n" + TAIL
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


SENT = "os.kill(os.getpid(), SENT)"
PLACES = {
    # Python prints what is raised in a destructor and in a callback of the collector.
    "destructor": "    class Dying:\n"
    f"        def __del__(self): {SENT}; time.sleep(9)\n"
    "    Dying()\n    time.sleep(9)\n    print('went on', flush=True)\n",
    "collector": f"    gc.callbacks.append(lambda *a: ({SENT}, time.sleep(9)))\n"
    "    gc.collect()\n    time.sleep(9)\n    print('went on', flush=True)\n",
    # There is no moment later.
    "last destructor": f"    class Dying:\n        def __del__(self): {SENT}\n"
    "    Dying()\n    return 0\n",
    # Inside something that drops whatever is raised, as code in C may.
    "dropped": f"    try: {SENT}; time.sleep(9)\n"
    "    except BaseException: pass\n    time.sleep(9)\n    print('went on', flush=True)\n",
    "dropped at the end": f"    try: {SENT}; time.sleep(9)\n    except BaseException: return 0\n",
    "while an error is told": "    from dpsan.errors import UsageError\n"
    "    class Error(UsageError):\n"
    f"        def on_command_line(self): {SENT}; time.sleep(9)\n"
    "    raise Error('x')\n",
    "while the last output is written": "    real = sys.stdout\n    class Out:\n"
    f"        def flush(self): {SENT}; time.sleep(9)\n"
    "        def __getattr__(self, name): return getattr(real, name)\n"
    "    sys.stdout = Out()\n    return 0\n",
    "blocked by the time the program ends": f"    try: {SENT}; time.sleep(9)\n"
    "    finally: signal.pthread_sigmask(signal.SIG_BLOCK, [SENT])\n",
    "exit": f"    import atexit\n    atexit.register(lambda: ({SENT}, time.sleep(9)))\n"
    "    return 0\n",
}
LAST = "        print('the last words', file=sys.stderr)\n"
CLEANING = {
    # Python swallows what is raised there: what a command says last must be said all the same.
    "destructors": f"    class Dying:\n        def __del__(self): {SENT}\n"
    "    try:\n        [Dying() for _ in range(3)]\n        time.sleep(9)\n"
    f"    finally:\n{LAST}",
    # However long it takes, in a context that is left and behind another error.
    "slow": "    from contextlib import contextmanager\n    @contextmanager\n"
    "    def slow():\n        try: yield\n        finally: time.sleep(.2)\n"
    f"    try:\n        with slow(): {SENT}; time.sleep(9)\n    finally:\n"
    f"        try: {{}}['x']\n        except KeyError: time.sleep(.2)\n{LAST}",
}


@pytest.mark.parametrize(("number", "where"), [*enumerate(PLACES)])
def test_wherever_it_comes(number, where):
    sent = SIGNALS[number % 3]
    assert end_of(PLACES[where], sent) == (-sent, b"", b"")


@pytest.mark.parametrize(("sent", "how"), [*zip(SIGNALS, CLEANING, strict=False)])
def test_who_cleans_up_is_left_alone(sent, how):
    assert end_of(CLEANING[how], sent) == (-sent, b"", b"the last words\n")


def test_an_import_is_not_torn(tmp_path):
    """A module in C may fall over an exception that it does not expect."""
    sent = signal.SIGINT
    code = "import os, time\ntry: os.kill(os.getpid(), SENT); time.sleep(.2)\n"
    code += "except BaseException: os.abort()\nprint('whole', flush=True)\n"
    (tmp_path / "fragile.py").write_text(code.replace("SENT", str(int(sent))))
    told = end_of("    import fragile\n    time.sleep(9)\n", sent, tmp_path)
    assert told == (-sent, b"whole\n", b"")


def test_an_import_that_hangs_is_left(tmp_path):
    """After five seconds."""
    code = "import os, time\nos.kill(os.getpid(), SENT)\ntime.sleep(99)\n"
    (tmp_path / "stuck.py").write_text(code.replace("SENT", str(int(signal.SIGTERM))))
    told = end_of("    import stuck\n", signal.SIGTERM, tmp_path)
    assert told == (-signal.SIGTERM, b"", b"")


def test_the_package_reads_no_other_file_before_the_guard():
    """While Python imports for it, Ctrl-C would show a traceback."""
    code = "import sys\nbefore = {*sys.modules}\nimport dpsan\nprint(*{*sys.modules} - before)"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=root, capture_output=True)
    assert (done.stdout, done.stderr) == (b"dpsan\n", b"")


def test_a_message_of_what_nobody_can_catch_holds_no_text():
    status, _, told = end_of(
        "    import threading\n"
        "    class Dying:\n        def __del__(self): raise KeyError('Maria')\n"
        "    Dying()\n    def fail(): raise KeyError('Maria')\n"
        "    one = threading.Thread(target=fail)\n    one.start()\n    one.join()\n"
        "    return 0\n",
        0,
    )
    assert status == 0
    assert told.count(b"dpsan: internal error: KeyError at <string>:") == 2
    assert told.count(b"\n") == 2
