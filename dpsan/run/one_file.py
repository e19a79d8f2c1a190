"""One input into one file, which has its name once it is complete."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from dpsan.errors import OutputError, reason
from dpsan.files.atomic_files import AtomicFile
from dpsan.files.compression import packer_for
from dpsan.files.in_place import Original, refuse_unusual
from dpsan.files.source import FileSource, open_input
from dpsan.run.stream import Outcome, Work, rewrite_stream


@dataclass
class Finished:
    """An input whose rewriting is complete, but has no name yet and may not be on the disk."""

    sink: AtomicFile
    outcome: Outcome
    original: Original | None = None

    def publish(self) -> None:
        """Give the output its name.

        Raises:
            InputError, OutputError: then the target is as it was, and no temporary file is left.
        """
        try:
            if self.original is None:
                self.sink.publish()
            else:
                self.original.replace(self.sink.publish)
        except OSError as error:
            raise OutputError(f"{self.outcome.name}: {reason(error)}") from None
        finally:
            self.sink.discard()  # nothing to discard once it has its name


def rewrite_file(path: Path, target: Path | None, work: Work, file: int = 1) -> Finished:
    """Sanitize one input into a file that is then to be synced and published.

    Args:
        target: None for the input itself.

    Raises:
        BudgetError, InputError, OutputError: then the target is as it was, and no temporary file
            is left.
    """
    if target is None:
        refuse_unusual(path)
    descriptor = open_input(path)
    try:
        original = None
        if target is None:
            original = Original(path, descriptor)
            sink = AtomicFile(path, force=True, like=descriptor, packer=packer_for(path.name))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            sink = AtomicFile(target, force=work.plan.force, packer=packer_for(target.name))
        try:
            outcome = rewrite_stream(FileSource(str(path), descriptor), sink, work, file=file)
            sink.seal()
            outcome = replace(outcome, sha256=(outcome.sha256[0], sink.sha256))  # compressed
        except BaseException:
            sink.discard()
            raise
        return Finished(sink, outcome, original)
    except OSError as error:
        # The system's own words for the number: nothing that a library may have put in.
        raise OutputError(f"{path}: {os.strerror(error.errno or 0)}") from None
    finally:
        os.close(descriptor)
