"""The cells of a spreadsheet file (.ods, .xlsx), in which people keep ratings."""

from plainly.core.errors import BadInput
from plainly.core.files import check_archive
from plainly.io.files import PathLike, label

SUFFIXES = (".ods", ".xlsx")


def read_cells(data: bytes, path: PathLike) -> list[list[object]]:
    """The rows of a file's first sheet. An empty cell is "", a whole number an int; empty rows at the end are none."""
    import io

    from python_calamine import CalamineError, CalamineWorkbook

    check_archive(data, label(path))
    try:
        sheet = CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_index(0)
        rows = sheet.to_python(skip_empty_area=False)
    except (CalamineError, IndexError, ValueError, OSError) as error:
        kinds = " or ".join(SUFFIXES)
        raise BadInput(f"{label(path)} is not a sheet that can be read: {error}. Save it again as {kinds}.") from None
    return [[int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in row] for row in rows]
