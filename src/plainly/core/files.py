"""Files: reading one whole within its limits, writing one whole or not at all."""

import contextlib
import hashlib
import io
import json
import os
import select
import stat
import tomllib
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, BinaryIO

from plainly.core import limits
from plainly.core.errors import BadInput

# Whether files that plainly did not write are refused as targets, as in commands without --force.
is_guarded: ContextVar[bool] = ContextVar("is_guarded", default=False)
# Whether only the cache is written, as in dry runs.
writes_nothing: ContextVar[bool] = ContextVar("writes_nothing", default=False)


def cache_directory() -> Path:
    """Return the directory for files that can be made or fetched again: ``$PLAINLY_CACHE``, or the platform's cache."""
    if directory := os.environ.get("PLAINLY_CACHE"):
        return Path(directory).expanduser()
    import platformdirs  # costs 15 ms

    return Path(platformdirs.user_cache_dir("plainly", appauthor=False))


def open_bytes(path: str | Path) -> BinaryIO:
    """Open a file for reading; wait for a pipe only as long as the limit allows."""
    mode = _mode(Path(path))
    if mode is not None and stat.S_ISCHR(mode) and str(path) != os.devnull:  # /dev/zero has no end
        raise BadInput(f"{path} is a device, not a file.")
    if mode is None or not stat.S_ISFIFO(mode):
        return open(path, "rb")
    seconds = limits.limit("wait")
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not select.select([handle], [], [], seconds)[0]:
            more = f"To wait longer: {limits.SETTING}=wait={10 * seconds}"
            raise BadInput(f"{path} is a pipe, and nothing was written to it for {seconds:,} seconds. {more}")
        os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_shipped(module: str, name: str) -> dict[str, Any]:
    """Read a TOML file that comes with plainly; ``name`` is relative to ``module``, the ``__file__`` of the caller."""
    return tomllib.loads((Path(module).parent / name).read_text(encoding="utf-8"))


def read_whole(path: str | Path) -> bytes:
    """Return all bytes of a file that is not too large to be read whole."""
    with open_bytes(path) as file:
        limits.check("file", os.fstat(file.fileno()).st_size, str(path))
        return read_bounded(file, str(path))


def read_bounded(file: IO[bytes], name: str) -> bytes:
    """Return all bytes of a stream, or raise if there are too many: its length may not be known before."""
    most = limits.limit("file")
    data = file.read(most + 1)
    limits.check("file", len(data), f"{name} (at least)" if len(data) > most else name)
    return data


def check_archive(data: bytes, name: str) -> None:
    """Raise if a zip archive (a sheet, saved scores) would unpack to more bytes than a file may have."""
    import zipfile

    size = 0
    # If the archive is damaged, its reader reports that.
    with contextlib.suppress(Exception), zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    limits.check("file", size, f"{name}, unpacked,")


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write through a temporary file beside it, so that a reader never sees half of it.

    A link stays a link and what it points to is written; a device or pipe is written to; a new file gets the
    permissions that the user's umask gives, an old one keeps its own.
    """
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    check_directory(path)
    if writes_nothing.get() and not target.is_relative_to(os.path.realpath(cache_directory())):
        return
    part = target.with_name(f".{target.name[:100]}.{os.urandom(4).hex()}.part")
    try:
        before = _mode(target)
        if before is not None and not stat.S_ISREG(before):
            target.write_bytes(data)  # a device or a pipe
            return
        if is_guarded.get():
            check_target(target)
        with open(part, "xb") as file:
            file.write(data)
        if before is not None:
            os.chmod(part, stat.S_IMODE(before))
        os.replace(part, target)
        _record(target, hashlib.sha256(data).hexdigest())
    except OSError as error:
        raise BadInput(
            f"Cannot write {path}: {error.strerror or error}. What was there before is unchanged."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()  # exists only after an error or an interrupt


def write_arrays(path: str | Path, arrays: Mapping[str, Any], about: Mapping[str, Any], *, compress: bool) -> None:
    """Write NumPy arrays and, under the name "about", JSON that describes them."""
    import numpy as np

    about_bytes = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    sink = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(sink, **arrays, about=about_bytes)
    write_whole(path, sink.getvalue())


def read_arrays(path: str | Path) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Read the arrays of such a file, unpacked when they are used, and their description."""
    import numpy as np

    data = read_whole(path)
    check_archive(data, str(path))
    arrays = np.load(io.BytesIO(data), allow_pickle=False)
    return arrays, json.loads(arrays["about"].tobytes())


def check_directory(path: str | Path) -> None:
    """Raise unless the directory of a file to be written exists; call it before the work."""
    parent = Path(os.path.realpath(path)).parent
    if not parent.is_dir():
        raise BadInput(f"Cannot write {path}: there is no directory {Path(path).parent}. Create it first.")


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def check_target(path: str | Path, *, inputs: Iterable[str | Path] = (), force: bool = False) -> None:
    """Raise unless a file may be written: its directory exists, it is not an input, and plainly wrote it or it is new.

    Called for every file before any work. A file that plainly did not write may be overwritten only with ``force``.
    """
    check_directory(path)
    target = Path(path)
    for source in inputs:
        if target.exists() and os.path.exists(source) and target.samefile(source):
            raise BadInput(f"{path} is one of the input files. Name another file to write to.")
    if target.is_dir():
        raise BadInput(f"Cannot write {path}: it is a directory. Name a file in it.")
    if not (force or not target.is_file() or is_written_by_plainly(target)):
        why = "was not written by plainly, or was changed since"
        raise BadInput(f"{path} exists and {why}. Name another file, or pass force=True.")


def record_written(path: str | Path) -> None:
    """Remember the content of a file that plainly has written, so that it may be overwritten while it is unchanged."""
    with open(path, "rb") as file:
        _record(Path(os.path.realpath(path)), hashlib.file_digest(file, "sha256").hexdigest())


def is_written_by_plainly(path: str | Path) -> bool:
    """Return whether a file is empty, or as plainly left it: one that the user has changed since is the user's."""
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return True
        with contextlib.suppress(OSError):
            digest = _receipt(Path(os.path.realpath(path))).read_text(encoding="ascii")
            return digest == hashlib.file_digest(file, "sha256").hexdigest()
    return False


def _record(target: Path, digest: str) -> None:
    receipt = _receipt(target)
    if target.is_relative_to(os.path.realpath(cache_directory())):
        return
    with contextlib.suppress(OSError):  # without it, the file is overwritten only with --force
        receipt.parent.mkdir(parents=True, exist_ok=True)
        receipt.write_text(digest, encoding="ascii")


def _receipt(target: Path) -> Path:
    """Return the file in the cache that holds the SHA-256 of what plainly wrote to ``target``."""
    return cache_directory() / "written" / hashlib.sha256(os.fsencode(target)).hexdigest()
