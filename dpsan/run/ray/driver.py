"""Hand out one task per input file, and publish the outputs in the order of the inputs.

An engine runs the tasks: nothing here imports Ray.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from dpsan.errors import DpsanError, InputError, OutputError, reason
from dpsan.files.final_name import publish, sync_directory
from dpsan.files.temporaries import sweep
from dpsan.run.ray.task import Answer, Job, Task
from dpsan.run.run import Result, Run, plan_outputs, replaceable

Engine: TypeAlias = Callable[[Job, Sequence[Task]], Iterator[tuple[Task, Answer]]]
"""Runs tasks; the answers come in any order."""

_CHUNK: Final = 1 << 20


@dataclass(kw_only=True)
class ClusterRun(Run):
    """A run of files to a directory whose inputs are rewritten by an engine."""

    start: Callable[[ExitStack], Engine]
    """Starts the engine; the stack stops it."""
    cache: Path
    audit_path: Path | None = None
    originals: bool = False

    def _do(self, result: Result) -> None:
        assert isinstance(self.output, Path)  # noqa: S101 - a cluster needs a directory
        targets = [*plan_outputs(self.inputs, self.output, self.roots)]
        tasks = []
        for file, (path, target) in enumerate(zip(self.inputs, targets, strict=True), start=1):
            if not self._skip(result, file, path, target):
                tasks.append(Task(file, path, target))
        answers = {task: _refused(task) for task in tasks if not replaceable(task.path)}
        audit = [] if self.audit_path is None else [self.audit_path]
        sweep(*audit, again=True)  # a run that was killed left rows there
        with ExitStack() as stack:
            # First on the stack: temporary files are removed after the engine has stopped.
            stack.callback(sweep, *audit, *targets, again=True)
            umask = os.umask(0)
            os.umask(umask)
            job = Job(
                self.sanitizer.spec,
                self.cache.absolute(),
                self.sanitizer.embeddings.digest,
                self.plan,
                self.key,
                self.audit_path,
                self.originals,
                umask=umask,
            )
            rest = [task for task in tasks if task not in answers]
            arriving = self.start(stack)(job, rest) if rest else iter(())
            for task in tasks:
                while task not in answers:
                    done, answer = next(arriving)
                    answers[done] = answer
                self._take(result, task, answers.pop(task))

    def _take(self, result: Result, task: Task, answer: Answer) -> None:
        """Publish an output, after its rows of the audit log."""
        self.passing.merge(answer.passing)
        if self.audit and answer.rows:
            _move(answer.rows, self.audit.send)
        try:
            if answer.outcome is None or answer.output is None:
                raise answer.error or DpsanError("a worker sent no answer")
            if self.audit:
                self.audit.place()
            if self.requests:
                self.requests.add_outputs([(task.target, answer.outcome.sha256[0])])
            publish(answer.output, task.target, force=self.plan.force)
            sync_directory(task.target.parent)
        except OSError as error:
            problem = OutputError(f"{task.target}: cannot write: {reason(error)}")
            self._fail(result, task.file, task.path, problem)
        except DpsanError as error:
            self._fail(result, task.file, task.path, self._race(task.path, task.target, error))
        else:
            self._record(result, task.file, answer.outcome)
        if self.progress:
            self.progress(task.path.stat().st_size if task.path.exists() else 0)


def _refused(task: Task) -> Answer:
    problem = InputError(task.path, "not a regular file", "--engine ray needs files")
    return Answer(error=problem)


def _move(rows: Path, send: Callable[[bytes], None]) -> None:
    """Append the rows of a task to the audit log.  Raises OutputError."""
    try:
        with rows.open("rb") as file:
            while data := file.read(_CHUNK):
                send(data)
        rows.unlink()
    except OSError as error:
        raise OutputError(f"{rows}: cannot read: {reason(error)}") from None
