"""The cells of an OpenDocument sheet, with the standard library alone: the ratings are in sheets of a few columns."""

from __future__ import annotations

import io
import zipfile
from xml.etree import ElementTree

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


def rows(data: bytes) -> list[list[str]]:
    """The rows of the first sheet as text, without empty cells at the end of a row nor empty rows at the end.

    Numbers are written as they are stored, whole ones without a decimal point.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = ElementTree.fromstring(archive.read("content.xml"))
    sheet = next(content.iter(f"{_TABLE}table"))
    found: list[list[str]] = []
    blank = 0
    for row in sheet.iter(f"{_TABLE}table-row"):
        cells = _cells(row)
        times = int(row.get(f"{_TABLE}number-rows-repeated", "1"))
        if not cells:
            blank += times  # A sheet ends with a million of these; they count only if something follows.
            continue
        found += [[]] * blank
        blank = 0
        found += [list(cells) for _ in range(times)]
    return found


def _cells(row: ElementTree.Element) -> list[str]:
    cells: list[str] = []
    blank = 0
    for cell in row:
        if cell.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            continue
        text = cell.get(f"{_OFFICE}value") or "\n".join("".join(p.itertext()) for p in cell.iter(f"{_TEXT}p")).strip()
        times = int(cell.get(f"{_TABLE}number-columns-repeated", "1"))
        if not text:
            blank += times
            continue
        cells += [""] * blank + [text] * times
        blank = 0
    return cells
