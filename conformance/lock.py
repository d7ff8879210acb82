"""A folder of histories belongs to one run at a time: two would destroy each other's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from conformance.errors import UsageError

LOCK = ".running"
# The locks of this process.
_ours: set[Path] = set()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Have a folder for oneself, which is made where it is not there.

    Raises ``UsageError`` where another run has it, or where it cannot be written. What a run left
    that is dead is taken over.
    """
    path = folder.resolve() / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = _taken(path, folder)
    except OSError as error:
        raise cannot_write(folder, error) from None
    _ours.add(path)
    try:
        # Kept open, since Windows removes no file that somebody has open.
        with open(file, "w", encoding="ascii") as kept:
            kept.write(f"{os.getpid()}\n")
            kept.flush()
            yield
    finally:
        _ours.discard(path)
        with suppress(OSError):
            path.unlink()


def cannot_write(folder: Path, error: OSError) -> UsageError:
    return UsageError(
        f"cannot write the history to {folder} ({error.strerror or error}): pass --history PATH"
    )


def _taken(path: Path, folder: Path) -> int:
    """The lock, open; whoever made it has it. Raises ``UsageError`` where somebody has it."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    with suppress(FileExistsError):
        return os.open(path, flags)
    owner = _owner(path)
    if path in _ours or _is_at_work(owner):
        raise _refused(path, folder, owner)
    try:
        path.unlink(missing_ok=True)
        return os.open(path, flags)
    except (FileExistsError, PermissionError):
        # Another one was faster, or has it open.
        raise _refused(path, folder, _owner(path)) from None


def _refused(path: Path, folder: Path, owner: int) -> UsageError:
    whose = f" (process {owner})" if owner else ""
    return UsageError(
        f"another run{whose} writes its history to {folder}: pass --history PATH and --html and"
        f" --json of its own, or wait for its end; where there is none, remove {path}"
    )


def _owner(path: Path) -> int:
    """The process that a lock names; 0 where it names none."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _is_at_work(process: int) -> bool:
    """Whether a process lives. On Windows that is not asked: there to signal is to kill, and its
    lock cannot be removed."""
    if os.name == "nt" or process <= 0 or process == os.getpid():
        # One that has our number is dead: our own locks are known.
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        # It is somebody else's.
        return True
    return True
