"""From messy files to an evaluation set and outputs that fit it, or an error that names file, line and next step."""

from plainly.io.consistency import check_references
from plainly.io.evalsets import read_evalset, read_outputs
from plainly.io.files import read_lines
from plainly.io.tables import Sheet, read_table
from plainly.io.texts import TextArguments, Texts

__all__ = [
    "Sheet",
    "TextArguments",
    "Texts",
    "check_references",
    "read_evalset",
    "read_lines",
    "read_outputs",
    "read_table",
]
