"""From a path to bytes: standard input, compressed files, glob patterns, and errors that say what to do next."""

import glob
import importlib
import io
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from plainly.core.errors import BadInput, did_you_mean
from plainly.core.files import bounded, open_bytes, read_whole

PathLike = str | os.PathLike[str]
STDIN = "-"
COMPRESSED = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2"}
_MAGIC = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\x00", ".bz2": b"BZh"}
_UNPACKERS = {".gz": "gzip", ".xz": "lzma", ".bz2": "bz2"}  # imported when met: most files are not compressed
_SHOWN = 6  # files of a folder that a message names
# What a file of outputs may end in without that being part of the system's name.
_SUFFIXES = frozenset(
    (*COMPRESSED, ".txt", ".text", ".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".out")
)


def label(path: PathLike) -> str:
    """How messages call a path."""
    return "standard input" if path == STDIN else os.fspath(path)


def read_bytes(path: PathLike) -> bytes:
    """The content of a file, unpacked if its suffix or its first bytes say so; ``-`` is standard input."""
    data = _read_stdin() if path == STDIN else _read_file(Path(path))
    data = _unpack(data, path)
    if not data:
        again = " Pipe the text in; it can be read only once, so give '-' once." if path == STDIN else ""
        raise BadInput(f"{label(path)} is empty.{again or ' Check that what wrote it finished, or give another file.'}")
    return data


def open_unpacked(path: str) -> IO[bytes]:
    """The content of a file as a stream, unpacked if its suffix says that it is packed; ``-`` is standard input."""
    if path == STDIN:
        return sys.stdin.buffer
    packed = suffixes(path)[1]
    stream: IO[bytes] = importlib.import_module(_UNPACKERS[packed]).open(path, "rb") if packed else open_bytes(path)
    return stream


def suffixes(path: PathLike) -> tuple[str, str]:
    """The suffix that says the format and the one that says the compression: ``.csv``, ``.gz``; either may be empty."""
    name = Path(path)
    packed = name.suffix.lower() if name.suffix.lower() in COMPRESSED else ""
    return (name.with_suffix("") if packed else name).suffix.lower(), packed


def stem(path: PathLike) -> str:
    """A file's name without suffixes that only say how it is stored: ``runs/ACCESS.tok.txt.gz`` is ``ACCESS.tok``."""
    if path == STDIN:
        return "stdin"
    name = Path(path).name
    while (cut := Path(name)).suffix.lower() in _SUFFIXES:
        name = cut.stem
    return name


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key under which ref.2 comes before ref.10."""
    pieces = re.split(r"([0-9]+)", text)
    return tuple((1, int(piece), "") if at % 2 else (0, 0, piece) for at, piece in enumerate(pieces))


def expand(paths: PathLike | Iterable[PathLike]) -> list[str]:
    """Paths as given, with glob patterns replaced by the files that match, in natural order."""
    expanded: list[str] = []
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        text = os.path.expanduser(os.fspath(path))
        if not glob.has_magic(text) or os.path.exists(text):
            expanded.append(text)
            continue
        matches = sorted((m for m in glob.glob(text, recursive=True) if not os.path.isdir(m)), key=natural_key)
        if not matches:
            folder = Path(text).parent
            hint = "" if glob.has_magic(str(folder)) else _holds(folder)
            raise BadInput(f"No file matches the pattern {text!r}.{hint}")
        expanded.extend(matches)
    return expanded


def named(spec: str) -> tuple[str, str]:
    """NAME=PATH as name and path; what has no "=", or is a path that holds one, has no name."""
    name, equals, path = spec.partition("=")
    return (name, path) if equals and not os.path.exists(spec) and "/" not in name else ("", spec)


def check_once(paths: Iterable[PathLike | None]) -> None:
    """Standard input can be read only once, so only one of these paths may be ``-``."""
    if sum(path == STDIN for path in paths if path is not None) > 1:
        raise BadInput("'-' (standard input) is given more than once. Give it once and name files for the others.")


def _read_stdin() -> bytes:
    buffer = getattr(sys.stdin, "buffer", None)
    if buffer is not None:
        return bounded(buffer, "standard input")
    if sys.stdin is None:
        raise BadInput("There is no standard input to read. Name a file instead of '-'.")
    return sys.stdin.read().encode("utf-8", "surrogateescape")


def _read_file(path: Path) -> bytes:
    try:
        return read_whole(path)
    except FileNotFoundError:
        if not glob.has_magic(str(path)):
            raise BadInput(_missing(path)) from None
        matches = expand(path)
        if len(matches) > 1:
            raise BadInput(f"{path} matches {len(matches)} files. Name one.") from None
        return _read_file(Path(matches[0]))
    except NotADirectoryError:
        raise BadInput(f"{path} cannot be: {path.parent} is a file, not a folder. Check the path.") from None
    except OSError as error:
        if path.is_dir():  # Windows does not say so: it answers "permission denied".
            raise BadInput(f"{path} is a folder, not a file. Name the file in it.{_holds(path)}") from None
        raise BadInput(
            f"{path} cannot be read: {error.strerror or error}. Check the path and its permissions."
        ) from None
    except ValueError as error:
        raise BadInput(f"{str(path)!r} is not a path: {error}.") from None


def _missing(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        inside = [entry.name for entry in _list(folder.parent) if entry.is_dir()]
        return f"There is no file {path}: the folder {folder} does not exist.{did_you_mean(folder.name, inside)}"
    hint = did_you_mean(path.name, [entry.name for entry in _list(folder)])
    return f"There is no file {path}.{hint or _holds(folder)}"


def _holds(folder: Path) -> str:
    names = sorted((entry.name for entry in _list(folder) if not entry.name.startswith(".")), key=natural_key)
    if not names:
        return f" The folder {folder} is empty." if folder.is_dir() else f" There is no folder {folder}."
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f" The folder {folder} holds: {', '.join(names[:_SHOWN])}{more}."


def _list(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _unpack(data: bytes, path: PathLike) -> bytes:
    claimed = "" if path == STDIN else suffixes(path)[1]
    if claimed and data and not data.startswith(_MAGIC[claimed]):
        raise BadInput(
            f"{label(path)} ends in {claimed} but is not {COMPRESSED[claimed]} data. "
            "Rename it if it is plain text, or download it again."
        )
    # The first bytes of gzip and xz can start no UTF-8 text; those of bzip2 can, so only its name counts.
    packed = claimed or next((suffix for suffix in (".gz", ".xz") if data.startswith(_MAGIC[suffix])), "")
    if not packed or not data:
        return data
    try:
        with importlib.import_module(_UNPACKERS[packed]).open(io.BytesIO(data)) as unpacked:
            return bounded(unpacked, label(path))
    except BadInput:
        raise
    except Exception as error:  # each library has its own for data that is damaged
        raise BadInput(
            f"{label(path)} is damaged or cut off: its {COMPRESSED[packed]} data does not unpack ({error}). "
            "Copy or download it again."
        ) from None
