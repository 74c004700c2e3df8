"""Writing a file whole or not at all."""

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from plainly.errors import BadInput, way

# How files of ours begin: a page, every item's scores, rows set aside, JSON of any command, figures.
_MARKS = (
    b'content="plainly', b"system,id,", b"system\tid\t", b'{"system": ', b'{"file": ', b'"schema": "plainly.', b"vega",
    b'class="marks"',
)  # fmt: skip
_LOOKED_AT = 4096


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


def check_target(path: str | Path, *, inputs: Iterable[str | Path] = (), force: bool = False) -> None:
    """Raise unless a file may be written: its directory exists, it is no input, and nobody else's work is lost.

    Asked for every file before the first second of work. A file that plainly wrote may be written again; another only
    with ``force``.
    """
    check_directory(path)
    target = Path(path)
    for source in inputs:
        with contextlib.suppress(OSError):
            if os.path.samefile(path, source):
                raise BadInput(f"{path} is one of the files that are read. Write to another.")
    if target.is_dir():
        raise BadInput(f"Cannot write {path}: it is a directory. Name a file in it.")
    if force or not target.is_file() or ours(target):
        return
    raise BadInput(
        f"{path} exists and is not a file that plainly wrote. Name another, or {way('force=True', '--force')}."
    )


def ours(path: str | Path) -> bool:
    """Whether a file is empty or carries the marks of what plainly writes: nothing is lost by writing it again."""
    with open(path, "rb") as file:
        start = file.read(_LOOKED_AT)
    if not start or any(mark in start for mark in _MARKS):
        return True
    if start.startswith(b"PK"):  # rows and states are archives whose table of contents names "about"
        import zipfile

        try:
            with zipfile.ZipFile(path) as archive:
                return "about.npy" in archive.namelist()
        except zipfile.BadZipFile:
            return False
    return False
