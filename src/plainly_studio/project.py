"""The settings of a project, as its TOML file has them: the task, the scales, the assignment and the stop rules.

An unknown key is an error, because a misspelt ``overlapp`` that is ignored costs a week of ratings.
"""

import datetime
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import to_builtins
from msgspec.structs import replace

from plainly.core.errors import BadInput, UnknownName
from plainly.core.files import read_shipped, write_whole
from plainly.core.settings import Number, Settings, convert_settings, read_toml
from plainly.stats.agreement import AlphaDistance
from plainly_studio.designs import Design

TaskName = Literal["rating", "operations", "ranking"]
_PROTOCOLS = Path(__file__).parent / "protocols"
_SHARES = ("pass_share", "cannot_judge_share", "straight_lining", "gold_agreement", "bonus_checks")


class RatingScale(Settings, frozen=True):
    """A question with a numeric answer; ``level`` is the level of measurement for its agreement."""

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
        """All values of the scale."""
        count = round((self.maximum - self.minimum) / self.step) + 1
        return tuple(self.minimum + at * self.step for at in range(count))


class Data(Settings, frozen=True):
    """The source of the items: files or a named set, and the systems whose outputs are judged."""

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
    """How many people get an item, for how long, and how many items one person gets."""

    # With a fixed number of ratings, more sentences beat more raters; more than two raters per sentence gained nothing
    # (Schwarzer and Kauchak 2018, section 3.2). ``plainly plan`` computes it for other data.
    overlap: int = 2
    early: int = 20  # items that get all their people first, so that agreement is known from the first hour
    lease_minutes: Number = 30
    ahead: int = 3
    per_rater: int = 0  # 0: no limit
    replacements: int = 2  # how many people are replaced for an item because they could not judge it
    design: Design = "free"
    raters: int = 0  # who share the items; 0: as many as a planned design needs, or as people come

    def __post_init__(self) -> None:
        if self.overlap < 1 or self.lease_minutes <= 0 or not 1 <= self.ahead <= 10 or self.replacements < 0:
            raise ValueError(
                "assignment needs overlap >= 1, lease_minutes > 0, ahead from 1 to 10 and replacements >= 0."
            )


class Stop(Settings, frozen=True):
    """When to hand out no more items: after a number of answers, or when every system's mean is precise enough."""

    answers: int = 0
    half_width: Number = 0.0


class QualityControl(Settings, frozen=True):
    """Items for practice, test and checks. Each file is JSONL with source, output, expected and feedback."""

    training: str = ""
    qualification: str = ""
    pass_share: Number = 0.7
    checks: str = ""
    check_every: int = 20
    repeat_every: int = 0  # one in so many items comes a second time, for self-consistency; 0: none
    tolerance: Number = 1.0
    time_limit_seconds: Number = 0.0
    cannot_judge_share: Number = 0.25  # who could not judge more than this share has not done the agreed work


class Exclusion(Settings, frozen=True):
    """Whose answers do not count in the analysis, decided before the first answer; 0 turns a rule off."""

    checks_missed: int = 0  # this many missed checks
    minimum_seconds: Number = 0.0  # the median time for an item is below this
    straight_lining: Number = 0.0  # this share of all answers is the same answer
    gold_agreement: Number = 0.0  # a smaller share of test items and checks was answered as expected

    def __post_init__(self) -> None:
        if not (0 <= self.straight_lining <= 1 and 0 <= self.gold_agreement <= 1):
            raise ValueError("exclusion.straight_lining and exclusion.gold_agreement are shares from 0 to 1.")


class Crowd(Settings, frozen=True):
    """The parameters of a crowd platform's link, and the codes that it gets back."""

    parameters: tuple[str, ...] = (
        "PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "workerId", "assignmentId", "hitId", "turkSubmitTo",
    )  # fmt: skip
    person: tuple[str, ...] = ("PROLIFIC_PID", "workerId")
    require_id: bool = False  # refuse people whose link has none of the ids in ``person``
    completion_url: str = ""
    completion_code: str = ""  # empty: one made for each rater
    screened_out_code: str = ""
    returned_code: str = ""  # for people who stop early, or find no more work
    agreed: int = 0  # items that earn the completion code; 0: per_rater, or all there is
    bonus: Number = 0.0  # for complete work of people who count in the analysis and answered enough checks as expected
    bonus_checks: Number = 0.8
    frame: tuple[str, ...] = ()  # origins that may show the study in a frame, for example https://www.mturk.com

    def __post_init__(self) -> None:
        if self.completion_url and not re.match(r"https://[^/\s]", self.completion_url):
            raise ValueError(f"completion_url must begin with https://, not {self.completion_url!r}.")


class Project(Settings, frozen=True):
    """All settings of the TOML file, with the defaults of the protocol filled in."""

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
    exclusion: Exclusion = Exclusion()
    crowd: Crowd = Crowd()

    def __post_init__(self) -> None:
        try:
            datetime.date.fromisoformat(self.personal_until or "2000-01-01")
        except ValueError:
            raise ValueError(f"personal_until must be a day such as 2027-01-31, not {self.personal_until!r}.") from None

    def to_json(self) -> str:
        """Return the settings as the database stores them; they stay when the file changes."""
        return json.dumps(to_builtins(self), ensure_ascii=True)


def protocols() -> tuple[str, ...]:
    """Return the names of the papers' protocols."""
    return tuple(sorted(path.stem for path in _PROTOCOLS.glob("*.toml")))


def read_project(path: Path) -> Project:
    """Read a project from a TOML file; an error names the key."""
    if not path.exists():
        raise BadInput(f"There is no {path}. Create it: plainly studio create {path} --help")
    project = parse_project(read_toml(path), where=str(path))
    check_numbers(project, where=str(path))
    return project


def check_numbers(project: Project, *, where: str) -> None:
    """Refuse negative numbers and shares above 1 in what an owner has written."""
    for section, settings in to_builtins(project).items():
        if section == "scales" or not isinstance(settings, dict):
            continue
        for name, value in settings.items():
            most = 1 if name in _SHARES else math.inf
            if isinstance(value, (int, float)) and not (0 <= value <= most and value < math.inf):
                allowed = "a share from 0 to 1" if name in _SHARES else "0 or more"
                raise BadInput(f"{where}: {section}.{name} must be {allowed}, not {value:g}.")


def write_project(path: Path, settings: Mapping[str, Mapping[str, Any]], *, demo: bool = False) -> bool:
    """Write a project's file from settings by section and return True; with an existing file, refuse them."""
    sections = {title: {key: value for key, value in rows.items() if value} for title, rows in settings.items()}
    if path.exists():
        if names := [key for rows in sections.values() for key in rows]:
            raise BadInput(f"{path} exists; set {', '.join(names)} there, or choose another name.")
        return False
    data = sections["data"]
    if not (demo or data.get("test_set") or data.get("source")):
        raise BadInput(f"There is no {path}. Pass -t NAME, --source FILE or --demo to create it.")
    if data.get("source"):
        data["source"] = os.path.relpath(data["source"], path.parent)
    if data.get("outputs"):
        data["outputs"] = [
            change_path(spec, lambda file: os.path.relpath(file, path.parent)) for spec in data["outputs"]
        ]
    project = {"name": path.stem, "task": "rating", "protocol": "tradeoff-2018", **sections["project"]}
    if project["task"] != "rating":
        del project["protocol"]
    # Strings, numbers and lists are written in the same way in JSON and TOML.
    parts = [
        "\n".join([f"[{title}]", *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in rows.items())])
        for title, rows in {**sections, "project": project}.items()
        if rows or title == "data"
    ]
    head = "# What people are asked to do. All settings: docs/studio.md\n"
    write_whole(path, head + "\n\n".join(parts) + "\n")
    return True


def change_path(spec: str, change: Callable[[str], object]) -> str:
    """Return ``PATH`` or ``NAME=PATH`` with another path."""
    *name, path = spec.split("=", 1)
    return "=".join([*name, str(change(path))])


def parse_project(content: Mapping[str, Any], *, where: str = "the project") -> Project:
    """Return a project from the tables of a TOML file or from ``Project.to_json``."""
    values = dict(content)
    if isinstance(head := values.get("project"), Mapping):
        values = {**head, **{key: value for key, value in values.items() if key != "project"}}
    project = convert_settings(values, Project, where=where)
    if project.task != "rating":
        guide = read_shipped(__file__, "guides.toml")[project.task].strip()
        return replace(project, scales=(), instructions=project.instructions or guide)
    if project.scales:
        own = {"protocol": "own", "instructions": project.instructions or project.name}
        return project if "protocol" in values else replace(project, **own)
    if project.protocol not in protocols():
        raise UnknownName("protocol", project.protocol, protocols(), see="docs/studio.md")
    protocol = read_shipped(__file__, f"protocols/{project.protocol}.toml")
    values |= {"scales": protocol["scales"], "instructions": project.instructions or protocol["instructions"].strip()}
    return convert_settings(values, Project, where=f"the protocol {project.protocol}")
