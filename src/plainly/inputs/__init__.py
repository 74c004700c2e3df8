"""From messy files to an evaluation set and outputs that fit it, or an error that names file, line and next step."""

from plainly.inputs.checks import check_references
from plainly.inputs.evalsets import read_evalset
from plainly.inputs.lines import read_lines
from plainly.inputs.outputs import read_outputs
from plainly.inputs.tables import Sheet, read_table

__all__ = ["Sheet", "check_references", "read_evalset", "read_lines", "read_outputs", "read_table"]
