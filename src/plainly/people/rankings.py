"""Rankings: which of the outputs that somebody was shown is best, which is worst, or that there is no difference."""

import json
import pkgutil
from dataclasses import dataclass
from pathlib import Path

from plainly.io.files import suffixes
from plainly.io.tables import Sheet, table_format
from plainly.people import rating_tables, studio_exports

# As ``read.READERS``: a room above this one brings its own kind of file.
READERS: dict[str, str] = {".toml": "plainly_studio:rankings"}


@dataclass(frozen=True, slots=True)
class Choice:
    """What one rater chose among the systems shown for one item; all empty where they could not judge."""

    item: str
    rater: str
    shown: tuple[str, ...]
    best: str | None = None
    worst: str | None = None
    tie: bool = False


def read_rankings(path: str | Path) -> tuple[Choice, ...] | None:
    """The rankings of a study, or of a table that one exported; None for a file of another kind."""
    if (suffix := suffixes(path)[0]) in READERS:
        choices: tuple[Choice, ...] | None = pkgutil.resolve_name(READERS[suffix])(path)
        return choices
    if not Path(path).is_file() or table_format(path) is None:
        return None
    table = studio_exports.counted(rating_tables.table_of(path))
    return choices_in(table) if studio_exports.is_ours(table) and "shown" in table.columns else None


def choices_in(table: Sheet) -> tuple[Choice, ...]:
    """The rows of a table of rankings."""
    names = ("item", "rater", "shown", "best", "worst", "tie")
    rows = zip(*(table.columns[name] for name in names), strict=True)
    return tuple(
        Choice(
            str(item),
            str(rater),
            tuple(json.loads(str(shown))),
            str(best) if best else None,
            str(worst) if worst else None,
            studio_exports.true(tie),
        )
        for item, rater, shown, best, worst, tie in rows
    )
