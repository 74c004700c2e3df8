"""``plainly_lab.field``: the state of the field as a small site, built from nothing by one call."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plainly.core.errors import BadInput
from plainly.core.files import write_whole
from plainly.core.formatting import counted, size
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly_lab.field_site.survey import Field, survey

__all__ = ["FieldSite", "field"]

_GENERATOR = '<meta name="generator" content="plainly '  # in the head of every page that we wrote


@dataclass(frozen=True, repr=False)
class FieldSite(Result):
    """The field, and the site that shows it."""

    field: Field
    folder: Path
    files: tuple[Path, ...]
    size: int

    def records(self) -> list[Record]:
        return self.field.records()

    def json(self) -> Record:
        return {**self.field.json(), "site": str(self.folder / "index.html"), "files": len(self.files)}

    def tables(self) -> list[Table]:
        return self.field.tables()

    def notes(self) -> list[Note]:
        pages = sum(path.suffix == ".html" for path in self.files)
        wrote = f"Wrote {counted(pages, 'page')} ({size(self.size)}); open {self.folder / 'index.html'}."
        return [*self.field.notes(), Note(wrote)]


def field(
    sets: str | Sequence[str] | None = None,
    *,
    out: str | Path = "field",
    metrics: Sequence[str] | None = None,
    papers: Sequence[str] | None = None,
    newsela: str | Path | None = None,
    cache: str | Path | None = None,
    restart: bool = False,
    processes: int | None = None,
    progress: Progress = no_progress,
) -> FieldSite:
    """Score every public output and write a site about it into the directory ``out``.

    ``sets`` and ``metrics`` choose some (of all that have public outputs, and of what each allows), ``papers`` says
    which papers are computed again (all). ``newsela`` is a directory of licensed outputs for the paper that needs
    them. What was done is kept in ``cache`` and not done again, unless ``restart`` says so. What changed since the site
    in ``out`` was last built is listed.
    """
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"Cannot make the directory {folder}: {error.strerror or error}.") from error
    before = _before(folder)
    surveyed = survey(
        [sets] if isinstance(sets, str) else sets,
        metrics=metrics,
        papers=papers,
        newsela=newsela,
        cache=cache,
        restart=restart,
        processes=processes,
        before=before,
        progress=progress,
    )
    from plainly_lab.field_site.pages import pages

    files, written = [], 0
    for name, content in pages(surveyed, progress):
        write_whole(folder / name, content)
        files.append(folder / name)
        written += len(content.encode("utf-8"))
    if before is not None:
        _remove_others(folder, files)
    return FieldSite(surveyed, folder, tuple(files), written)


def _before(folder: Path) -> Record | None:
    """What the site said when it was last built, if it was."""
    try:
        said = json.loads((folder / "field.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) else None


def _remove_others(folder: Path, files: Sequence[Path]) -> None:
    """Remove pages of an earlier build that this one has not: nothing leads to them, and their numbers are old."""
    for path in set(folder.glob("*.html")) - set(files):
        if _GENERATOR in path.read_text(encoding="utf-8", errors="replace")[:2000]:
            path.unlink()
