"""A project as its TOML file says it: the task, the scales, who sees what, and when enough is enough.

Every key that is not known is an error, because a misspelt ``overlapp`` that is ignored costs a week of ratings.
"""

import datetime
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import to_builtins
from msgspec.structs import replace

from plainly.core.errors import BadInput, UnknownName
from plainly.core.files import read_shipped, write_whole
from plainly.core.settings import Number, Settings, convert_settings, read_toml
from plainly.stats.agreement import AlphaDistance

TaskName = Literal["rating", "operations", "ranking"]
# For a study that does not say: with a fixed number of ratings more sentences always beat more raters, and beyond two
# raters a sentence nothing was gained (Schwarzer and Kauchak 2018, section 3.2). ``plainly plan`` works it out anew.
_OVERLAP = 2
_PROTOCOLS = Path(__file__).parent / "protocols"


class RatingScale(Settings, frozen=True):
    """One question with a numeric answer; ``level`` says how agreement on it is measured."""

    name: str
    question: str
    minimum: Number
    maximum: Number
    low: str = ""
    high: str = ""
    step: Number = 1
    level: AlphaDistance = "ordinal"

    def __post_init__(self) -> None:
        if not self.minimum < self.maximum or self.step <= 0:
            raise ValueError(f"The scale {self.name!r} must have minimum < maximum and a step above 0.")

    @property
    def points(self) -> tuple[Number, ...]:
        """Every value that can be given."""
        count = round((self.maximum - self.minimum) / self.step) + 1
        return tuple(self.minimum + at * self.step for at in range(count))


class Data(Settings, frozen=True):
    """Where items come from: files or a named set, and the systems whose outputs are judged."""

    test_set: str = ""
    source: str = ""
    references: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    items: int = 0  # how many sources to draw; 0 is all
    tokens: Literal["spaces", "words"] = "words"  # what operations are marked on


class Ranking(Settings, frozen=True):
    """Two outputs side by side, or the best and the worst of several."""

    method: Literal["pairwise", "best-worst"] = "pairwise"
    size: int = 4
    ties: bool = True
    question: str = "Which version is easier to read and understand?"

    def __post_init__(self) -> None:
        if not 3 <= self.size <= 8:
            raise ValueError(f"Best-worst ranking shows 3 to 8 outputs, not {self.size}.")


class Assignment(Settings, frozen=True):
    """Who gets what: how many people an item, how long it is theirs, how much one person does."""

    overlap: int = _OVERLAP
    early: int = 20  # so many items get all their people first, so that agreement is known from the first hour
    lease_minutes: Number = 30
    ahead: int = 3
    per_rater: int = 0  # 0: no limit

    def __post_init__(self) -> None:
        if self.overlap < 1 or self.lease_minutes <= 0 or not 1 <= self.ahead <= 10:
            raise ValueError("assignment needs overlap >= 1, lease_minutes > 0 and ahead from 1 to 10.")


class Stop(Settings, frozen=True):
    """When no more is handed out: after so many answers, or when every system's mean is known well enough."""

    answers: int = 0
    half_width: Number = 0.0


class QualityControl(Settings, frozen=True):
    """Items that teach, test and watch. Each file is JSONL with source, output, expected and feedback."""

    training: str = ""
    qualification: str = ""
    pass_share: Number = 0.7
    checks: str = ""
    check_every: int = 20
    tolerance: Number = 1.0
    time_limit_seconds: Number = 0.0


class Crowd(Settings, frozen=True):
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


class Project(Settings, frozen=True):
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
    data: Data = Data()
    ranking: Ranking = Ranking()
    assignment: Assignment = Assignment()
    stop: Stop = Stop()
    quality: QualityControl = QualityControl()
    crowd: Crowd = Crowd()

    def __post_init__(self) -> None:
        try:
            datetime.date.fromisoformat(self.personal_until or "2000-01-01")
        except ValueError:
            raise ValueError(f"personal_until must be a day such as 2027-01-31, not {self.personal_until!r}.") from None

    def to_json(self) -> str:
        """The project for the database, which holds what was decided even when the file changes."""
        return json.dumps(to_builtins(self), ensure_ascii=True)


class Protocol(Settings, frozen=True):
    """The scales and instructions of a paper."""

    title: str
    source: str
    instructions: str
    scales: tuple[RatingScale, ...]


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
    project = convert_settings(values, Project, where=where)
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
    protocol = convert_settings(
        read_shipped(__file__, f"protocols/{project.protocol}.toml"), Protocol, where=f"the protocol {project.protocol}"
    )
    return replace(project, scales=protocol.scales, instructions=project.instructions or protocol.instructions.strip())
