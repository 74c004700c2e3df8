"""From a path to bytes, text or lines: standard input, compressed files, glob patterns, encodings.

``str.splitlines`` also ends a line at U+2028, U+0085, form feeds and five other characters that sentences scraped from
the web do contain; every sentence after such a character is then compared with its neighbour. Here only line feeds end
lines (with any carriage returns before them), or carriage returns in a file that has no line feed at all.
"""

import codecs
import glob
import importlib
import io
import os
import re
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from plainly.core.errors import BadInput, did_you_mean
from plainly.core.files import open_bytes, read_bounded, read_whole

PathLike = str | os.PathLike[str]
STDIN = "-"
COMPRESSED = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2"}
_MAGIC = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\x00", ".bz2": b"BZh"}
_UNPACKERS = {".gz": "gzip", ".xz": "lzma", ".bz2": "bz2"}  # imported on first use: most files are not compressed
_MOST_NAMES = 6  # files of a folder that a message names
# Endings of a file of outputs that are not part of the system's name.
_SUFFIXES = frozenset(
    (*COMPRESSED, ".txt", ".text", ".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".out")
)
_BOMS = (  # UTF-32 first: its little-endian mark begins with UTF-16's.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Files that are not text, by their first bytes: an error about an encoding would not help.
_NOT_TEXT = {
    b"PAR1": "a Parquet table, not lines of text. Give it as a table",
    b"PK\x03\x04": "a zip archive or an Office document; unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Office document; save the sheet as CSV, or the text as UTF-8",
    b"%PDF-": "a PDF; extract its text, one sentence a line",
    b"{\\rtf": "a rich-text document; save it as plain text, UTF-8",
}


def label(path: PathLike) -> str:
    """Return the name of a path in messages."""
    return "standard input" if path == STDIN else os.fspath(path)


def read_bytes(path: PathLike) -> bytes:
    """Read a file, unpacked if its suffix or its first bytes indicate compression; ``-`` is standard input."""
    data = _unpack(_read_stdin() if path == STDIN else _read_file(Path(path)), path)
    if not data:
        step = "Check that the program that wrote it finished, or give another file."
        if path == STDIN:
            step = "Pipe the text in; it can be read only once, so give '-' once."
        raise BadInput(f"{label(path)} is empty. {step}")
    return data


def open_unpacked(path: str) -> IO[bytes]:
    """Open a file as a stream of bytes, unpacked if its suffix names a compression; ``-`` is standard input."""
    if path == STDIN:
        return sys.stdin.buffer
    compression = suffixes(path)[1]
    stream: IO[bytes] = (
        importlib.import_module(_UNPACKERS[compression]).open(path, "rb") if compression else open_bytes(path)
    )
    return stream


def suffixes(path: PathLike) -> tuple[str, str]:
    """Return the suffix of the format and that of the compression: ``.csv``, ``.gz``; either may be empty."""
    name = Path(path)
    compression = name.suffix.lower() if name.suffix.lower() in COMPRESSED else ""
    return (name.with_suffix("") if compression else name).suffix.lower(), compression


def stem(path: PathLike) -> str:
    """Return a file's name without storage suffixes: ``runs/ACCESS.tok.txt.gz`` gives ``ACCESS.tok``."""
    if path == STDIN:
        return "stdin"
    name = Path(path).name
    while (cut := Path(name)).suffix.lower() in _SUFFIXES:
        name = cut.stem
    return name


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key under which ref.2 comes before ref.10."""
    pieces = re.split(r"([0-9]+)", text)
    return tuple((1, int(piece), "") if at % 2 else (0, 0, piece) for at, piece in enumerate(pieces))


def expand(paths: PathLike | Iterable[PathLike]) -> list[str]:
    """Replace glob patterns among paths by the files that match, in natural order."""
    files: list[str] = []
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        text = os.path.expanduser(os.fspath(path))
        if not glob.has_magic(text) or os.path.exists(text):
            files.append(text)
            continue
        matches = sorted((m for m in glob.glob(text, recursive=True) if not os.path.isdir(m)), key=natural_key)
        if not matches:
            folder = Path(text).parent
            hint = "" if glob.has_magic(str(folder)) else _describe_folder(folder)
            raise BadInput(f"No file matches the pattern {text!r}.{hint}")
        files.extend(matches)
    return files


def split_name(spec: str) -> tuple[str, str]:
    """Split NAME=PATH into name and path; the name is empty without "=", or if the whole is a path with an "="."""
    name, equals, path = spec.partition("=")
    return (name, path) if equals and not os.path.exists(spec) and "/" not in name else ("", spec)


def check_once(paths: Iterable[PathLike | None]) -> None:
    """Raise if more than one of these paths is standard input (``-``), which can be read only once."""
    if sum(path == STDIN for path in paths if path is not None) > 1:
        raise BadInput("'-' (standard input) is given more than once. Give it once and name files for the others.")


def _read_stdin() -> bytes:
    buffer = getattr(sys.stdin, "buffer", None)
    if buffer is not None:
        return read_bounded(buffer, "standard input")
    if sys.stdin is None:
        raise BadInput("There is no standard input to read. Name a file instead of '-'.")
    return sys.stdin.read().encode("utf-8", "surrogateescape")


def _read_file(path: Path) -> bytes:
    try:
        return read_whole(path)
    except FileNotFoundError:
        if not glob.has_magic(str(path)):
            raise BadInput(f"There is no file {path}{_hint_at_missing(path)}") from None
        matches = expand(path)
        if len(matches) > 1:
            raise BadInput(f"{path} matches {len(matches)} files. Name one.") from None
        return _read_file(Path(matches[0]))
    except NotADirectoryError:
        raise BadInput(f"{path} does not exist: {path.parent} is a file, not a folder. Check the path.") from None
    except OSError as error:
        if path.is_dir():  # Windows reports "permission denied" instead.
            raise BadInput(f"{path} is a folder, not a file. Name the file in it.{_describe_folder(path)}") from None
        reason = error.strerror or error
        raise BadInput(f"{path} cannot be read: {reason}. Check the path and its permissions.") from None
    except ValueError as error:
        raise BadInput(f"{str(path)!r} is not a path: {error}.") from None


def _hint_at_missing(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        inside = [entry.name for entry in _list(folder.parent) if entry.is_dir()]
        return f": the folder {folder} does not exist.{did_you_mean(folder.name, inside)}"
    return f".{did_you_mean(path.name, [entry.name for entry in _list(folder)]) or _describe_folder(folder)}"


def _describe_folder(folder: Path) -> str:
    names = sorted((entry.name for entry in _list(folder) if not entry.name.startswith(".")), key=natural_key)
    if not names:
        return f" The folder {folder} is empty." if folder.is_dir() else f" There is no folder {folder}."
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f" The folder {folder} holds: {', '.join(names[:_MOST_NAMES])}{more}."


def _list(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _unpack(data: bytes, path: PathLike) -> bytes:
    suffix = "" if path == STDIN else suffixes(path)[1]
    if suffix and data and not data.startswith(_MAGIC[suffix]):
        raise BadInput(
            f"{label(path)} ends in {suffix} but is not {COMPRESSED[suffix]} data. "
            "Rename it if it is plain text, or download it again."
        )
    # UTF-8 text cannot start with the first bytes of gzip or xz, but with those of bzip2, so only its suffix counts.
    compression = suffix or next((suffix for suffix in (".gz", ".xz") if data.startswith(_MAGIC[suffix])), "")
    if not compression or not data:
        return data
    try:
        with importlib.import_module(_UNPACKERS[compression]).open(io.BytesIO(data)) as stream:
            return read_bounded(stream, label(path))
    except BadInput:
        raise
    except Exception as error:  # each library has its own exception for damaged data
        raise BadInput(
            f"{label(path)} is damaged or cut off: its {COMPRESSED[compression]} data does not unpack ({error}). "
            "Copy or download it again."
        ) from None


def read_lines(path: PathLike) -> list[str]:
    """Read the lines of a text file, without their ends; ``-`` is standard input; .gz, .xz and .bz2 are unpacked."""
    return split_lines(read_text(path))


def read_text(path: PathLike) -> str:
    """Read a file's text: UTF-8 with or without a byte-order mark, or UTF-16 or UTF-32 with one."""
    return decode(read_bytes(path), path)


def split_lines(text: str, *, end: str = "") -> list[str]:
    """Split a text into lines; a final newline does not start another line. ``end`` is the line end, if known."""
    end = end or ("\n" if "\n" in text else "\r")  # without a line feed: either one line or an old Macintosh file
    lines = text.replace("\r\n", "\n").split(end)
    if lines[-1] == "":
        lines.pop()
    return [line.rstrip("\r") for line in lines] if end == "\n" and "\r" in text else lines


def decode(data: bytes, path: PathLike) -> str:
    """Decode the bytes of ``path``, or raise an error that names the line and the next step."""
    _refuse_binary(data, label(path))
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    if encoding == "utf-8" and (guess := _unmarked_utf16(data)):
        raise BadInput(f"{label(path)} looks like UTF-16 without a byte-order mark. {_convert(path, guess)}")
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise BadInput(_undecodable(data, error, path, encoding)) from None


def check_encoding(start: bytes, name: str) -> None:
    """Raise unless these bytes can begin a file of UTF-8 text: only such files can be read from the middle."""
    _refuse_binary(start, name)
    marks = (*_BOMS, (_MAGIC[".gz"], "gzip"))
    kind = next((kind for mark, kind in marks if start.startswith(mark)), "")
    if kind:
        raise BadInput(f"{name} is {kind}, not lines of UTF-8 text. Convert it, or give it the suffix of its format.")


def _refuse_binary(data: bytes, name: str) -> None:
    for magic, description in _NOT_TEXT.items():
        if data.startswith(magic):
            raise BadInput(f"{name} is {description}.")


def _undecodable(data: bytes, error: UnicodeDecodeError, path: PathLike, encoding: str) -> str:
    if encoding != "utf-8":
        return (
            f"{label(path)} starts with a {encoding.upper()} byte-order mark, but the bytes at offset {error.start} "
            f"are not {encoding.upper()}. It may have been cut off: copy it again, or save it as UTF-8."
        )
    line = data.count(b"\n" if b"\n" in data else b"\r", 0, error.start) + 1
    problem = f"{label(path)}:{line}: byte 0x{data[error.start]:02x} at byte offset {error.start} is not UTF-8"
    # A single byte at the end of ASCII text may be one last Latin-1 letter.
    is_multibyte = len(data) - error.start > 1 or not data[: error.start].isascii()
    if error.reason == "unexpected end of data" and is_multibyte:
        return f"{problem}: the file ends in the middle of a character. It may have been cut off: copy it again."
    if _looks_western(data):
        return f"{problem}; the file looks like Latin-1 or Windows-1252. {_convert(path, 'WINDOWS-1252')}"
    return f"{problem}. Find out which encoding the file is in. {_convert(path, 'ENCODING')}"


def _convert(path: PathLike, encoding: str) -> str:
    if path == STDIN:
        return f"Convert it: … | iconv -f {encoding} -t UTF-8 | plainly …"
    file, compression = shlex.quote(label(path)), suffixes(path)[1]
    if compression:
        return f"Convert it: {COMPRESSED[compression]} -dc {file} | iconv -f {encoding} -t UTF-8 > utf8.txt"
    return f"Convert it: iconv -f {encoding} -t UTF-8 {file} > utf8.txt"


def _unmarked_utf16(data: bytes) -> str:
    """Return the kind of UTF-16 where every second byte is NUL, else an empty string; single NULs are text."""
    even, odd = data[0:64:2], data[1:64:2]
    for kind, zeros, others in (("UTF-16LE", odd, even), ("UTF-16BE", even, odd)):
        if len(odd) == 32 and not zeros.strip(b"\0") and b"\0" not in others:
            return kind
    return ""


def _looks_western(data: bytes) -> bool:
    """Return whether bytes may be Western one-byte text: valid, with less than a quarter outside ASCII."""
    few = len(re.findall(rb"[\x80-\xff]", data)) * 4 <= len(data)
    return few and not re.search(rb"[\x81\x8d\x8f\x90\x9d]", data)  # not in Windows-1252
