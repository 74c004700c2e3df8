"""Files: reading one whole within its limits, writing one whole or not at all."""

import contextlib
import io
import json
import os
import select
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar, cast

from plainly.core import limits
from plainly.core.errors import BadInput, did_you_mean, way

# How files of ours begin: a page, every item's scores, rows set aside, JSON of any command, figures.
_MARKS = (
    b'content="plainly', b"system,id,", b"system\tid\t", b'{"system": ', b'{"file": ', b'"schema": "plainly.', b"vega",
    b'class="marks"',
)  # fmt: skip
_LOOKED_AT = 4096
_TYPES: Mapping[str, Any] = {"str": str, "int": int, "float": (int, float), "bool": bool, "tuple[str, ...]": tuple}
T = TypeVar("T")


def open_bytes(path: str | Path) -> BinaryIO:
    """A file to read from; a pipe that nobody writes to is waited for only as long as the limit says."""
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
            raise BadInput(f"{path} is a pipe, and nobody wrote to it for {seconds:,} seconds. {more}")
        os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_shipped(module: str, name: str) -> dict[str, Any]:
    """A TOML file of ours, named by where it lies beside the module (its ``__file__``) that asks."""
    return tomllib.loads((Path(module).parent / name).read_text(encoding="utf-8"))


def read_whole(path: str | Path) -> bytes:
    """All bytes of a file that is not too large to be read whole."""
    with open_bytes(path) as file:
        limits.check("file", os.fstat(file.fileno()).st_size, str(path))
        return bounded(file, str(path))


def read_toml(path: str | Path) -> dict[str, Any]:
    """A TOML file that somebody wrote, or an error that says what is wrong with it."""
    try:
        return tomllib.loads(read_whole(path).decode("utf-8"))
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    except TypeError:
        raise BadInput(f"{path!r} is no path to a TOML file.") from None
    except ValueError as error:  # not TOML, not UTF-8, or no name for a file
        raise BadInput(f"{path} is not TOML: {error}.") from None


def check_keys(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Raise where such a file has a setting that nobody reads."""
    for key in table:
        if key not in known:
            said = f"{where}: unknown setting {key!r}.{did_you_mean(key, known)}"
            raise BadInput(f"{said} It may hold: {', '.join(sorted(known))}")


def typed(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """A dataclass from a table of a TOML file, or an error that names the key; lists become tuples.

    The module of the dataclass keeps its annotations as text (``from __future__ import annotations``).
    """
    if not isinstance(values, Mapping):
        raise BadInput(f"{where}: expected a table, not {values!r}.")
    known = {entry.name: entry for entry in fields(cast("Any", kind))}
    check_keys(values, known, where)
    for name, entry in known.items():
        if name not in values and entry.default is MISSING and entry.default_factory is MISSING:
            raise BadInput(f"{where}: {name!r} is missing.")
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    for key, value in plain.items():
        declared = str(known[key].type)
        wrong_bool = isinstance(value, bool) and declared in _TYPES and declared != "bool"
        if wrong_bool or not isinstance(value, _TYPES.get(declared, object)):
            raise BadInput(f"{where}: {key} must be {declared}, not {value!r}.")
    return kind(**plain)


def bounded(file: IO[bytes], name: str) -> bytes:
    """All bytes of a stream, unless there are too many: what is packed or endless does not say how long it is."""
    most = limits.limit("file")
    data = file.read(most + 1)
    limits.check("file", len(data), f"{name} (at least)" if len(data) > most else name)
    return data


def check_archive(data: bytes, name: str) -> None:
    """Raise where a zip archive (a sheet, saved scores) would unpack to more than a file may have."""
    import zipfile

    size = 0
    # Whatever is wrong with it, its reader will say.
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
        raise BadInput(
            f"Cannot write {path}: {error.strerror or error}. What was there before is unchanged."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()  # there only if something went wrong, or somebody stopped it


def write_arrays(path: str | Path, arrays: Mapping[str, Any], about: Mapping[str, Any], *, compress: bool) -> None:
    """Write NumPy arrays and, beside them under the name "about", what JSON can hold."""
    import numpy as np

    described = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    sink = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(sink, **arrays, about=described)
    write_whole(path, sink.getvalue())


def read_arrays(path: str | Path) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """The arrays of such a file, unpacked when they are used, and what it says about them."""
    import numpy as np

    data = read_whole(path)
    check_archive(data, str(path))
    arrays = np.load(io.BytesIO(data), allow_pickle=False)
    return arrays, json.loads(arrays["about"].tobytes())


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
