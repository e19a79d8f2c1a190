"""One run of ``rewrite``: all inputs to all outputs, the audit, the totals."""

import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Final

from dpsan.errors import InputError, OutputError, reason, refuse
from dpsan.files.atomic_files import AtomicFile, Sink
from dpsan.files.compression import packer_for
from dpsan.files.source import FileSource, appeared, opened_input, stream_number
from dpsan.formats.kinds import format_class
from dpsan.run.group import Group, rewrite_file
from dpsan.run.plan import Outcome, Result, Task
from dpsan.run.side_outputs import FileLog, RequestFile
from dpsan.run.stream import Work, rewrite_stream


def plan_outputs(
    paths: Sequence[Path], directory: Path, roots: Sequence[Path] = ()
) -> Iterator[Path]:
    """Yield the output of each input below ``directory``, keeping the tree.

    An input outside the working directory keeps its path from the directory in ``roots`` that it
    was found in, whose name comes first; one that was named itself keeps its name alone.

    Args:
        paths: inputs.
        directory: of the outputs.
        roots: directories that were searched for inputs.
    """
    tops = [Path(os.path.normpath(root)) for root in roots]
    for path in paths:
        clean = Path(os.path.normpath(path))
        if clean.is_absolute() or clean.parts[:1] == ("..",):
            top = next((top for top in tops if clean.is_relative_to(top)), clean)
            name = top.resolve().name if top.name == ".." else top.name
            clean = Path(name, clean.relative_to(top))
        yield directory / clean


def is_finished(path: Path, target: Path) -> bool:
    """Return whether ``--resume`` may take the file at ``target`` for the output of ``path``.

    Other programs leave empty files, so an empty file is the output of an empty input alone.
    """
    try:
        made = target.stat()
        return stat.S_ISREG(made.st_mode) and (made.st_size > 0 or not path.stat().st_size)
    except OSError:
        return False


STDIN: Final = Path("-")


@dataclass
class Run(Work):
    """Inputs, outputs and how to go from one to the other.

    ``output`` is a file for everything together, a directory for one file each (``tree``), or None
    for standard output.  With ``samples`` nothing is written.
    """

    inputs: list[Path]
    output: Path | None = None
    tree: bool = False
    in_place: bool = False
    """Write over the inputs."""
    resume: bool = False
    requests: RequestFile | None = None
    """Gets the input of each output, by which ``--resume`` knows inputs that have changed."""
    complain: Callable[[str], None] = lambda _: None
    """Called with each failed input at once."""
    log: FileLog | None = None
    """Gets a line for each input."""
    begun: Callable[[int, Path], None] = lambda number, path: None
    """Called with each input when it begins, and its number from 1 on."""
    roots: Sequence[Path] = ()
    """Directories that were searched for the inputs, see :func:`plan_outputs`."""

    def execute(self) -> Result:
        """Do it; failed inputs do not stop the others.

        Raises:
            OutputError, BrokenPipeError: a common output failed.
        """
        result = Result(self.sanitizer.accountant(whole_run=True))
        complete = False
        try:
            if self.samples is None and (self.tree or self.in_place):
                self._each(result)
            else:
                self._together(result)
            complete = not result.failed
            if self.log:
                self.log.run(result)
        finally:
            if self.audit:
                self.audit.totals(result, complete=complete)
        return result

    def _tasks(self, result: Result) -> Iterator[Task]:
        """Yield the inputs that have outputs of their own, without those that are finished."""
        targets: Iterable[Path | None] = repeat(None, len(self.inputs))
        if not self.in_place:
            targets = plan_outputs(self.inputs, self.output or Path(), self.roots)
        for file, (path, target) in enumerate(zip(self.inputs, targets, strict=True), start=1):
            task = Task(file, path, target)
            if target is None or not self.resume or not is_finished(path, target):
                yield task
            else:
                self._settle(result, self._skipped(task, path, target))

    def _skipped(self, task: Task, path: Path, target: Path) -> Outcome:
        """Return what becomes of an input whose output is finished: failed if of another input."""
        outcome = Outcome(task, self.sanitizer.accountant(), str(path), skipped=True)
        try:
            if self.requests:
                self.requests.check_input(path, target)
            if self.progress:
                self.progress(path.stat().st_size if path.exists() else 0)
        except InputError as error:
            outcome.error = error
        return outcome

    def _each(self, result: Result) -> None:
        """One output for each input."""
        group = Group(self.audit, self.requests, partial(self._settle, result))
        try:
            with closing(self._outcomes(self._tasks(result), group)) as outcomes:
                for outcome in outcomes:
                    group.add(outcome)
            group.flush()
        finally:
            group.abandon()

    def _outcomes(self, tasks: Iterator[Task], group: Group) -> Generator[Outcome]:
        """Rewrite inputs in their order, each to a file that has no name yet."""
        for task in tasks:
            self._begin(task)
            yield rewrite_file(task, self)

    def _together(self, result: Result) -> None:
        """All inputs one after the other into one output.

        A dry run writes nothing.  Words are drawn as in any run, so counts, costs and bad records
        are those of a run.
        """
        dry = self.samples is not None
        with ExitStack() as stack:
            sink = self._common(stack)
            for file, path in enumerate(self.inputs, start=1):
                outcome = Outcome(Task(file, path), self.sanitizer.accountant(), str(path))
                try:
                    self._begin(outcome.task)
                    with _opened(path) as source:
                        rewrite_stream(source, sink, self, outcome)
                except (OutputError, BrokenPipeError):
                    raise
                except Exception as error:  # noqa: BLE001 - one input's: the others go on
                    outcome.error = error
                    if not (dry or isinstance(sink, AtomicFile)):
                        result.totals.merge(outcome.totals)  # what was written counts
                else:
                    if file == len(self.inputs) and not result.failed:
                        if self.audit and isinstance(sink, AtomicFile):
                            self.audit.place()
                        sink.commit()
                        outcome.sha256 = outcome.sha256[0], sink.sha256
                self._settle(result, outcome)
                if dry:
                    sink = Sink(sink.name, sink.descriptor)

    def _begin(self, task: Task) -> None:
        self.begun(task.file, task.path)
        if self.log:
            self.log.begin(task.file)

    def _settle(self, result: Result, outcome: Outcome) -> None:
        """Take in what became of an input."""
        if outcome.totals.records:
            result.passing.add(outcome.passing.fields.values(), outcome.passing.noted)
        task, error = outcome.task, outcome.error
        mine = task.target if self.resume and isinstance(error, OutputError) else None
        if mine is not None and is_finished(task.path, mine):  # another run was faster
            outcome.error = appeared(mine)
        # A signal inside a lock's code can end as an error of that lock: it is no file's failure.
        cause: BaseException | None = outcome.error
        while cause is not None:
            if not isinstance(cause, Exception | GeneratorExit):
                raise cause
            cause = cause.__context__
        result.add(outcome)
        if outcome.error:
            self.complain(result.failed[-1])
        if self.log:
            self.log.end(outcome)
        if self.audit and outcome.status == "complete":
            self.audit.file(outcome)

    def _common(self, stack: ExitStack) -> Sink:
        """Return the output of all inputs together.  Raises OutputError, UsageError."""
        if self.samples is not None:
            return Sink(os.devnull, stack.enter_context(Path(os.devnull).open("wb")).fileno())
        for path in self.inputs if len(self.inputs) > 1 else ():
            kind = format_class(self.plan.format, str(path))
            what = f"{kind.name} files cannot be joined", "-O DIR writes one output for each"
            refuse(not kind.joinable, *what)
        if self.output is None:
            return Sink("standard output", 1)
        packer = packer_for(self.output.name)
        stream = stream_number(self.output)
        if stream is not None or not replaceable(self.output):
            # A device or a pipe: there is nothing to replace.  An open stream goes on where it is.
            try:
                if stream is not None:
                    descriptor = os.dup(stream)
                else:
                    descriptor = os.open(self.output, os.O_WRONLY | os.O_CLOEXEC)
            except OSError as error:
                raise OutputError(f"{self.output}: cannot write: {reason(error)}") from None
            stack.callback(os.close, descriptor)
            return Sink(str(self.output), descriptor, packer)
        new = AtomicFile(self.output, force=self.plan.force, packer=packer)
        return stack.enter_context(new)


def _opened(path: Path) -> AbstractContextManager[FileSource]:
    """Return an open input."""
    return nullcontext(FileSource("standard input", 0)) if path == STDIN else opened_input(path)


def replaceable(path: Path) -> bool:
    """Return whether a path is no pipe and no device; a directory fails by itself."""
    return not path.exists() or path.is_file() or path.is_dir()
