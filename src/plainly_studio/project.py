"""A project as its TOML file says it: the task, the scales, who sees what, and when enough is enough.

Every key that is not known is an error, because a misspelt ``overlapp`` that is ignored costs a week of ratings.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from plainly.core.errors import BadInput, UnknownName, did_you_mean
from plainly.core.files import read_shipped, read_toml, typed, write_whole
from plainly.stats.agreement import AlphaDistance

TaskName = Literal["rating", "operations", "ranking"]
TASKS: tuple[TaskName, ...] = get_args(TaskName)
# For a study that does not say: with a fixed number of ratings more sentences always beat more raters, and beyond two
# raters a sentence nothing was gained (Schwarzer and Kauchak 2018, section 3.2). ``plainly plan`` works it out anew.
_OVERLAP = 2
_PROTOCOLS = Path(__file__).parent / "protocols"


@dataclass(frozen=True)
class RatingScale:
    """One question with a numeric answer; ``level`` says how agreement on it is measured."""

    name: str
    question: str
    minimum: float
    maximum: float
    low: str = ""
    high: str = ""
    step: float = 1
    level: AlphaDistance = "ordinal"

    def __post_init__(self) -> None:
        if not self.minimum < self.maximum or self.step <= 0:
            raise BadInput(f"The scale {self.name!r} must have minimum < maximum and a step above 0.")
        if self.level not in get_args(AlphaDistance):
            known = ", ".join(get_args(AlphaDistance))
            raise BadInput(f"The scale {self.name!r} has level {self.level!r}. Known: {known}.")

    @property
    def points(self) -> tuple[float, ...]:
        """Every value that can be given."""
        count = round((self.maximum - self.minimum) / self.step) + 1
        return tuple(self.minimum + at * self.step for at in range(count))


@dataclass(frozen=True)
class Data:
    """Where items come from: files or a named set, and the systems whose outputs are judged."""

    test_set: str = ""
    source: str = ""
    references: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    items: int = 0  # how many sources to draw; 0 is all
    tokens: Literal["spaces", "words"] = "words"  # what operations are marked on


@dataclass(frozen=True)
class Ranking:
    """Two outputs side by side, or the best and the worst of several."""

    method: Literal["pairwise", "best-worst"] = "pairwise"
    size: int = 4
    ties: bool = True
    question: str = "Which version is easier to read and understand?"

    def __post_init__(self) -> None:
        if self.method not in ("pairwise", "best-worst"):
            raise BadInput(f"Unknown ranking method {self.method!r}. Known: pairwise, best-worst.")
        if not 3 <= self.size <= 8:
            raise BadInput(f"Best-worst ranking shows 3 to 8 outputs, not {self.size}.")


@dataclass(frozen=True)
class Assignment:
    """Who gets what: how many people an item, how long it is theirs, how much one person does."""

    overlap: int = _OVERLAP
    early: int = 20  # so many items get all their people first, so that agreement is known from the first hour
    lease_minutes: float = 30
    ahead: int = 3
    per_rater: int = 0  # 0: no limit

    def __post_init__(self) -> None:
        if self.overlap < 1 or self.lease_minutes <= 0 or not 1 <= self.ahead <= 10:
            raise BadInput("assignment needs overlap >= 1, lease_minutes > 0 and ahead from 1 to 10.")


@dataclass(frozen=True)
class Stop:
    """When no more is handed out: after so many answers, or when every system's mean is known well enough."""

    answers: int = 0
    half_width: float = 0.0


@dataclass(frozen=True)
class QualityControl:
    """Items that teach, test and watch. Each file is JSONL with source, output, expected and feedback."""

    training: str = ""
    qualification: str = ""
    pass_share: float = 0.7
    checks: str = ""
    check_every: int = 20
    tolerance: float = 1.0
    time_limit_seconds: float = 0.0


@dataclass(frozen=True)
class Crowd:
    """What a crowd platform passes in the link, and what it wants back."""

    parameters: tuple[str, ...] = (
        "PROLIFIC_PID",
        "STUDY_ID",
        "SESSION_ID",
        "workerId",
        "assignmentId",
        "hitId",
        "turkSubmitTo",
    )
    person: tuple[str, ...] = ("PROLIFIC_PID", "workerId")
    completion_url: str = ""
    completion_code: str = ""  # empty: one made for each rater
    screened_out_code: str = ""
    returned_code: str = ""  # for who stops early, or finds no more work
    agreed: int = 0  # items that earn the completion code; 0: per_rater, or all there is
    frame: tuple[str, ...] = ()  # origins that may show the study in a frame, for example https://www.mturk.com


@dataclass(frozen=True)
class Project:
    """Everything that the TOML file says, with the protocol's and the papers' defaults filled in."""

    name: str
    task: TaskName = "rating"
    protocol: str = "tradeoff-2018"
    instructions: str = ""
    consent: str = ""
    language: str = "en"
    direction: Literal["ltr", "rtl", "auto"] = "auto"
    personal_until: str = ""  # the day after which platform ids and notes on links are deleted, as 2027-01-31
    seed: int = 1
    comments: bool = True
    cannot_judge: bool = True
    scales: tuple[RatingScale, ...] = ()
    data: Data = field(default_factory=Data)
    ranking: Ranking = field(default_factory=Ranking)
    assignment: Assignment = field(default_factory=Assignment)
    stop: Stop = field(default_factory=Stop)
    quality: QualityControl = field(default_factory=QualityControl)
    crowd: Crowd = field(default_factory=Crowd)

    def __post_init__(self) -> None:
        try:
            datetime.date.fromisoformat(self.personal_until or "2000-01-01")
        except ValueError:
            raise BadInput(f"personal_until must be a day such as 2027-01-31, not {self.personal_until!r}.") from None

    def to_json(self) -> str:
        """The project for the database, which holds what was decided even when the file changes."""
        return json.dumps(asdict(self), ensure_ascii=True)


_SECTIONS: Mapping[str, Any] = {
    entry.name: entry.default_factory for entry in fields(Project) if entry.default_factory is not MISSING
}


def protocols() -> tuple[str, ...]:
    """The papers' protocols by name."""
    return tuple(sorted(path.stem for path in _PROTOCOLS.glob("*.toml")))


def read_project(path: Path) -> Project:
    """The project in a TOML file, or an error that names the key."""
    if not path.exists():
        raise BadInput(f"There is no {path}. Make one: plainly studio create {path} --help")
    return parse_project(read_toml(path), where=str(path))


def write_project(path: Path, options: Mapping[str, Any], *, demo: bool = False) -> bool:
    """Write a project's file, unless there is one; then nothing may be said twice. Whether it was written."""
    if path.exists():
        if options:
            raise BadInput(f"{path} exists; say {', '.join(options)} there, or choose another name.")
        return False
    if not (demo or options.get("test_set") or options.get("source")):
        raise BadInput(f"There is no {path}. Give -t NAME, --source FILE or --demo, and it is written for you.")
    task = options.get("task", "rating")
    project = {"name": path.stem, "task": task}
    if task == "rating":
        project["protocol"] = options.get("protocol", "tradeoff-2018")
    data: dict[str, Any] = {name: options[name] for name in ("test_set", "systems", "items") if options.get(name)}
    if source := options.get("source"):
        data["source"] = os.path.relpath(source, path.parent)
    if outputs := options.get("outputs"):
        data["outputs"] = [with_path(spec, lambda file: os.path.relpath(file, path.parent)) for spec in outputs]
    sections = {"project": project, "data": data}
    if overlap := options.get("overlap"):
        sections["assignment"] = {"overlap": overlap}
    # JSON's strings, numbers and lists of them are TOML's.
    parts = [
        "\n".join([f"[{title}]", *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in rows.items())])
        for title, rows in sections.items()
    ]
    head = "# What people are asked to do. All settings: docs/studio.md\n"
    write_whole(path, head + "\n\n".join(parts) + "\n")
    return True


def with_path(spec: str, change: Callable[[str], object]) -> str:
    """What ``PATH`` or ``NAME=PATH`` says, with the path changed."""
    *name, path = spec.split("=", 1)
    return "=".join([*name, str(change(path))])


def parse_project(content: Mapping[str, Any], *, where: str = "the project") -> Project:
    """A project from the tables of a TOML file or from ``Project.to_json``."""
    values = dict(content)
    if isinstance(head := values.get("project"), Mapping):
        values = {**head, **{key: value for key, value in values.items() if key != "project"}}
    task = values.get("task", "rating")
    if task not in TASKS:
        raise BadInput(f"{where}: unknown task {task!r}.{did_you_mean(str(task), TASKS)} Known: {TASKS}")
    rows = values.pop("scales", ())
    if not isinstance(rows, (list, tuple)):
        raise BadInput(f"{where}: scales are tables, [[scales]], not {rows!r}.")
    scales = tuple(typed(RatingScale, row, f"{where}, scales") for row in rows)
    sections = {name: typed(kind, values.pop(name, {}), f"{where}, [{name}]") for name, kind in _SECTIONS.items()}
    project = typed(Project, {**values, "scales": scales, **sections}, where)
    return _with_protocol(project, values)


def _with_protocol(project: Project, values: Mapping[str, Any]) -> Project:
    if project.task != "rating":
        guide = read_shipped(__file__, "guides.toml")[project.task].strip()
        return replace(project, scales=(), instructions=project.instructions or guide)
    if project.scales and "protocol" not in values:
        return replace(project, protocol="own", instructions=project.instructions or project.name)
    if project.scales:
        return project
    if project.protocol not in protocols():
        raise UnknownName("protocol", project.protocol, protocols(), see="docs/studio.md")
    paper = read_shipped(__file__, f"protocols/{project.protocol}.toml")
    scales = tuple(typed(RatingScale, row, project.protocol) for row in paper["scales"])
    return replace(project, scales=scales, instructions=project.instructions or paper["instructions"].strip())
