"""What the studio's actions return, each a ``Result``: all are parts of the schema plainly_studio/1."""

from dataclasses import asdict, dataclass
from typing import Any

from plainly.core import formatting
from plainly.core.result import Note, Record, Result, Table

SCHEMA = "plainly_studio/1"
LOCAL_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True, repr=False)
class NewProject(Result):
    """A project that was made: where its data are, what it began with, and the path of its first owner's link."""

    project: str
    database: str
    owner_path: str
    items: int
    raters: int = 0
    answers: int = 0
    file: str = ""
    wrote_file: bool = False

    def records(self) -> list[Record]:
        return [{name: value for name, value in asdict(self).items() if name not in ("file", "wrote_file")}]

    def json(self) -> Record:
        return {"schema": SCHEMA, **self.records()[0]}

    def tables(self) -> list[Table]:
        return []

    def notes(self) -> list[Note]:
        wrote = [Note(f"Wrote {self.file}.")] if self.wrote_file else []
        return [
            Note(f"{LOCAL_URL}{self.owner_path}", "claim"),
            Note("This is your owner link: it is shown only now, and works until you revoke it."),
            *wrote,
            Note(f"{self.project}: {self.items} items, {self.raters} raters, {self.answers} answers."),
            Note(f"It is ready in {self.database}. Next: plainly studio serve {self.file}"),
        ]


@dataclass(frozen=True, repr=False)
class Invitations(Result):
    """Links for people; they are shown here and never again."""

    links: tuple[str, ...]

    def records(self) -> list[Record]:
        return [{"link": link} for link in self.links]

    def json(self) -> Record:
        return {"schema": SCHEMA, "links": list(self.links)}

    def tables(self) -> list[Table]:
        return []

    def notes(self) -> list[Note]:
        return [Note(link, "claim") for link in self.links]


@dataclass(frozen=True, repr=False)
class Status(Result):
    """A running project in figures: those of the owner's page (see ``live.overview``)."""

    figures: dict[str, Any]

    def records(self) -> list[Record]:
        return [{name: value for name, value in row.items() if name != "growth"} for row in self.figures["agreement"]]

    def json(self) -> Record:
        return {"schema": SCHEMA, **self.figures}

    def tables(self) -> list[Table]:
        figures = self.figures
        caption = f"{figures['answers']} of {figures['wanted']} answers by {len(figures['raters'])} raters"
        rows = [
            (row["name"], *(formatting.number(row[name], 3) for name in ("alpha", "low", "high")), str(row["compared"]))
            for row in figures["agreement"]
        ]
        return [Table(("of", "alpha", "low", "high", "compared"), tuple(rows), caption=caption)]

    def notes(self) -> list[Note]:
        flagged = [row for row in self.figures["raters"] if row["reasons"]]
        return [Note(f"Rater {row['rater']}: {'; '.join(row['reasons'])}") for row in flagged]
