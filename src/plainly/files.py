"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from plainly.errors import BadInput


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write through a temporary file beside it, so that a reader never sees half of it.

    A link stays a link and what it points to is written; a device or pipe is written to; a new file gets the
    permissions that the user's umask gives, an old one keeps its own.
    """
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    check_directory(path)
    part = target.with_name(f".{target.name[:100]}.{os.urandom(4).hex()}.part")
    try:
        before = _mode(target)
        if before is not None and not stat.S_ISREG(before):
            with open(target, "wb") as device:
                device.write(data)
            return
        with open(part, "xb") as file:
            file.write(data)
        if before is not None:
            os.chmod(part, stat.S_IMODE(before))
        os.replace(part, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise BadInput(
            f"Cannot write {path}: {error.strerror or error}. What was there before is unchanged."
        ) from error


def check_directory(path: str | Path) -> None:
    """Raise unless the directory of a file to be written exists; asked before the work, not after it."""
    parent = Path(os.path.realpath(path)).parent
    if not parent.is_dir():
        raise BadInput(f"Cannot write {path}: there is no directory {Path(path).parent}. Make it first.")


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
