"""One sentence a line, where a line is what the writer meant by it.

``str.splitlines`` also ends a line at U+2028, U+0085, form feeds and five other characters that sentences scraped from
the web do contain; every sentence after such a character is then compared with its neighbour. Here only line feeds end
lines (with any carriage returns before them), or carriage returns in a file that has no line feed at all.
"""

import codecs
import re
import shlex

from plainly.core.errors import BadInput
from plainly.io.files import COMPRESSED, STDIN, PathLike, label, read_bytes, suffixes

_BOMS = (  # UTF-32 first: its little-endian mark begins with UTF-16's.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What people have on disk beside text: an error about bytes would not help them.
_NOT_TEXT = {
    b"PAR1": "a Parquet table, not lines of text. Give it as a table",
    b"PK\x03\x04": "a zip archive or an Office document; unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Office document; save the sheet as CSV, or the text as UTF-8",
    b"%PDF-": "a PDF; extract its text, one sentence a line",
    b"{\\rtf": "a rich-text document; save it as plain text, UTF-8",
}


def read_lines(path: PathLike) -> list[str]:
    """The lines of a text file, without their ends; ``-`` is standard input; .gz, .xz and .bz2 are unpacked."""
    return split_lines(read_text(path))


def read_text(path: PathLike) -> str:
    """A file's text: UTF-8 with or without a byte-order mark, or UTF-16 or UTF-32 with one."""
    return decode(read_bytes(path), path)


def split_lines(text: str, *, end: str = "") -> list[str]:
    """Lines of a text; a newline at its very end starts no further line. ``end`` ends them, where that is known."""
    end = end or ("\n" if "\n" in text else "\r")  # without a line feed: either one line or an old Macintosh file
    lines = text.replace("\r\n", "\n").split(end)
    if lines[-1] == "":
        lines.pop()
    return [line.rstrip("\r") for line in lines] if end == "\n" and "\r" in text else lines


def decode(data: bytes, path: PathLike) -> str:
    """The text of bytes that came from ``path``, or an error that names the line and the next step."""
    _refuse_binary(data, label(path))
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    if encoding == "utf-8" and (guess := _unmarked_utf16(data)):
        raise BadInput(f"{label(path)} looks like UTF-16 without a byte-order mark. {_convert(path, guess)}")
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise BadInput(_undecodable(data, error, path, encoding)) from None


def check_encoding(start: bytes, name: str) -> None:
    """Raise where these bytes do not begin a file of UTF-8 text: only such files can be read from the middle."""
    _refuse_binary(start, name)
    kind = next((encoding.upper() for mark, encoding in _BOMS if start.startswith(mark)), "")
    if kind or start.startswith(b"\x1f\x8b"):
        step = "Convert it, or give it the suffix that says what it is."
        raise BadInput(f"{name} is {kind or 'gzip'}, not lines of UTF-8 text. {step}")


def _refuse_binary(data: bytes, name: str) -> None:
    for magic, what in _NOT_TEXT.items():
        if data.startswith(magic):
            raise BadInput(f"{name} is {what}.")


def _undecodable(data: bytes, error: UnicodeDecodeError, path: PathLike, encoding: str) -> str:
    if encoding != "utf-8":
        return (
            f"{label(path)} starts with a {encoding.upper()} byte-order mark, but what stands at byte offset "
            f"{error.start} is not {encoding.upper()}. It may have been cut off: copy it again, or save it as UTF-8."
        )
    line = data.count(b"\n" if b"\n" in data else b"\r", 0, error.start) + 1
    what = f"{label(path)}:{line}: byte 0x{data[error.start]:02x} at byte offset {error.start} is not UTF-8"
    begun = len(data) - error.start > 1 or not data[: error.start].isascii()  # else it may be one last Latin-1 letter
    if error.reason == "unexpected end of data" and begun:
        return f"{what}: the file ends in the middle of a character. It may have been cut off: copy it again."
    if _looks_western(data):
        return f"{what}; the file looks like Latin-1 or Windows-1252. {_convert(path, 'WINDOWS-1252')}"
    return f"{what}. Find out which encoding the file is in. {_convert(path, 'ENCODING')}"


def _convert(path: PathLike, encoding: str) -> str:
    if path == STDIN:
        return f"Convert it: … | iconv -f {encoding} -t UTF-8 | plainly …"
    file, packed = shlex.quote(label(path)), suffixes(path)[1]
    if packed:
        return f"Convert it: {COMPRESSED[packed]} -dc {file} | iconv -f {encoding} -t UTF-8 > utf8.txt"
    return f"Convert it: iconv -f {encoding} -t UTF-8 {file} > utf8.txt"


def _unmarked_utf16(data: bytes) -> str:
    """Every second byte NUL is UTF-16 whose mark was lost; single NULs are the writer's own and stay."""
    even, odd = data[0:64:2], data[1:64:2]
    if len(odd) == 32 and not odd.strip(b"\0") and b"\0" not in even:
        return "UTF-16LE"
    return "UTF-16BE" if len(odd) == 32 and not even.strip(b"\0") and b"\0" not in odd else ""


def _looks_western(data: bytes) -> bool:
    """Western one-byte text has few letters outside ASCII; where a quarter are, naming an encoding would mislead."""
    if len(re.findall(rb"[\x80-\xff]", data)) * 4 > len(data):
        return False
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    return True
