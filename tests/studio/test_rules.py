"""Exclusion rules of the study's file, and flags for raters: how often they are wrong, and whom they find."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plainly_studio as api
from plainly.core.errors import BadInput
from plainly_studio import creation, live, rules
from plainly_studio.exports import StudyAnswer, Unit
from plainly_studio.project import Project, parse_project
from studio.conftest import Make, four, rater, rating_project, simple_items
from studio.test_paid import act, figures, trail
from studio.test_security import owner

EXPECTED = {"values": {"meaning": 3.0}}


def make_unit(number: int, kind: str = "main", task: str = "rating") -> Unit:
    expected: Any = None if kind == "main" else EXPECTED if task == "rating" else {"best": "a"}
    outputs = (("a", "x"), ("b", "y"), ("c", "z")) if task == "ranking" else ((f"s{number % 3}", "text"),)
    return Unit(number, kind, str(number), "", "source", outputs, "words", expected)


def excluded_by(rule: dict[str, float], payloads: Sequence[Any], kind: str = "main", seconds: float = 9.0) -> str:
    """Return why a rater with these answers is excluded."""
    project = rating_project(exclusion=rule)
    items = {at: make_unit(at, kind) for at in range(len(payloads))}
    answers = [StudyAnswer(at, "r", payload, seconds=seconds) for at, payload in enumerate(payloads)]
    return rules.exclusions(project, items, answers).get("r", "")


def test_each_rule_excludes_from_its_limit_on() -> None:
    right, wrong = four(3), four(5)
    assert excluded_by({"checks_missed": 2}, [right, wrong, wrong], "check") == "checks_missed: 2 of 3"
    assert not excluded_by({"checks_missed": 2}, [right, right, wrong], "check")
    assert excluded_by({"gold_agreement": 0.7}, [right] * 3 + [wrong] * 2, "qualification")
    assert not excluded_by({"gold_agreement": 0.6}, [right] * 3 + [wrong] * 2, "qualification")
    assert not excluded_by({"gold_agreement": 0.7}, [wrong] * 4, "qualification"), "too few to tell"
    varied = [four(1 + at % 5) for at in range(10)]
    assert excluded_by({"minimum_seconds": 10}, varied) == "minimum_seconds: 9.0 s"
    assert not excluded_by({"minimum_seconds": 9}, varied)
    assert excluded_by({"straight_lining": 0.9}, [*[right] * 9, wrong]) == (
        "straight_lining: 9 of 10 answers are the same"
    )
    assert not excluded_by({"straight_lining": 0.9}, [*[right] * 8, wrong, wrong])
    assert not excluded_by({}, [wrong] * 10, "check"), "no rule, no exclusion"
    with pytest.raises(BadInput, match="from 0 to 1"):
        rating_project(exclusion={"straight_lining": 90})


def test_the_same_choice_is_that_of_the_same_position() -> None:
    project = parse_project({"name": "x", "task": "ranking", "exclusion": {"straight_lining": 1}})
    items = {at: make_unit(at, task="ranking") for at in range(6)}

    def reason(position: Callable[[int], int]) -> dict[str, str]:
        choices = [{"choice": {"best": position(at), "best_system": "abc"[at % 3]}} for at in range(6)]
        return rules.exclusions(project, items, [StudyAnswer(at, "r", choice) for at, choice in enumerate(choices)])

    assert reason(lambda at: 0)
    assert not reason(lambda at: at % 2)


def test_the_program_applies_the_rules_and_a_later_change_is_recorded(make: Make, tmp_path: Path) -> None:
    checks = [
        creation.make_item("Check.", [("", f"c {at}")], name=f"c{at}", kind="check", expected=EXPECTED)
        for at in range(2)
    ]
    project = rating_project(
        exclusion={"checks_missed": 2}, quality={"check_every": 3, "tolerance": 0}, assignment={"overlap": 2}
    )
    study = make(project, simple_items(6) + checks)
    manager = owner(study)
    assert act(manager, "/owner/settings", **{"exclusion.minimum_seconds": "1"}).status_code == 303
    assert figures(study)["rule_changes"] == [], "there was no answer yet"
    good, careless = rater(study), rater(study)
    for one, value in ((good, 3), (careless, 5)):
        while items := one.claim()["items"]:
            one.answer(items[0], four(value))
    study.store.write_now(lambda connection: connection.exec_driver_sql("UPDATE entry SET seconds = 9"))
    now = figures(study)
    assert now["excluded"] == [{"rater": careless.name, "why": "checks_missed: 2 of 2"}]
    assert now["answers"] == 6
    rows = api.export(study.file).decode().splitlines()
    assert sum(careless.name in row and row.endswith(",True") for row in rows) == 6 * 4, "kept, and marked"
    (people,) = [row for row in api.export(study.file, "people.csv").decode().splitlines() if careless.name in row]
    assert "complete" in people, "the rules are not about pay"
    assert act(manager, "/owner/settings", **{"exclusion.checks_missed": "3"}).status_code == 303
    now = figures(study)
    assert now["excluded"] == []
    (change,) = now["rule_changes"]
    assert change == {"rule": "checks_missed", "before": 2, "after": 3, "answers": 16}
    assert ("settings", {"exclusion.checks_missed": [2, 3]}) in trail(study)
    notes = [note.message for note in api.status(study.file).notes()]
    assert "The exclusion rule checks_missed was 2 and is 3: it was changed after 16 answers." in notes
    (tmp_path / "all.jsonl").write_bytes(api.export(study.file, "entries.jsonl"))
    api.import_set(tmp_path / "again.toml", str(tmp_path / "all.jsonl"))
    assert notes[-1] in [note.message for note in api.status(tmp_path / "again.toml").notes()]


@dataclass
class SimulatedLedger:
    """Answers as ``live`` reads them, without a database."""

    items: dict[int, Unit] = field(default_factory=dict)
    all_answers: list[StudyAnswer] = field(default_factory=list)

    def answers(self, kind: str = "main") -> list[StudyAnswer]:
        return [answer for answer in self.all_answers if self.items[answer.item].kind == kind]


RATERS, CHECKS = 12, 4


def simulate(
    rng: np.random.Generator, project: Project, *, items: int, overlap: int, level: float = 0.0, noise: float = 0.8
) -> SimulatedLedger:
    """Return a study by equally good raters, who differ in strictness and speed and miss 7 % of the checks.

    ``level`` moves all ratings towards the end of the scale, in standard deviations of the items.
    """
    ledger, task = SimulatedLedger(), project.task
    ledger.items = {at: make_unit(at, "main" if at < items else "check", task) for at in range(items + CHECKS)}
    quality = rng.normal(size=(items, len(project.scales)))
    strictness = rng.normal(scale=0.4, size=(RATERS, len(project.scales)))
    speed = rng.normal(scale=0.3, size=RATERS)
    preferences = rng.dirichlet(np.full(3, 1.5), size=items)
    load, cells = np.zeros(RATERS), list[tuple[int, int]]()
    for item in range(items):
        own = np.lexsort((rng.random(RATERS), load))[:overlap]  # those with the fewest items so far
        load[own] += 1
        cells += [(item, int(one)) for one in own]
    for item, one in rng.permutation(cells).tolist():
        payload: dict[str, Any] = {"choice": {"best_system": "abc"[rng.choice(3, p=preferences[item])]}}
        if task == "rating":
            signal = quality[item] + level + strictness[one] + rng.normal(scale=noise, size=len(project.scales))
            scales = zip(project.scales, signal.tolist(), strict=True)
            payload = {"values": {scale.name: place_on(scale, value) for scale, value in scales}}
        seconds = math.exp(3 + speed[one] + rng.normal(scale=0.5))
        ledger.all_answers.append(StudyAnswer(item, f"r{one}", payload, seconds=seconds))
    for one in range(RATERS):
        for at in range(CHECKS):
            is_right = rng.random() > 0.07
            payload = {"values": {"meaning": 3.0 if is_right else 5.0}, "choice": {"best_system": "ba"[is_right]}}
            ledger.all_answers.append(StudyAnswer(items + at, f"r{one}", payload))
    return ledger


def place_on(scale: Any, signal: float) -> float:
    """Return the point of a scale for a signal; two and a half standard deviations are half of it."""
    points = scale.points
    at = round((len(points) - 1) * (0.5 + signal / 5))
    return float(points[min(max(at, 0), len(points) - 1)])


def flag(ledger: Any, project: Project) -> dict[str, list[str]]:
    answers = ledger.answers()
    columns = list(live.agreement_columns(ledger, project, answers))
    return {row["rater"]: row["reasons"] for row in live.raters(ledger, project, answers, columns)}


PROJECTS = {
    "rating": rating_project(quality={"tolerance": 0}),
    "ranking": parse_project({"name": "x", "task": "ranking"}),
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("task", "design"),
    [
        ("rating", {"items": 60, "overlap": 12}),
        ("rating", {"items": 60, "overlap": 3}),
        ("rating", {"items": 180, "overlap": 2}),
        ("rating", {"items": 60, "overlap": 12, "level": 2.5}),
        ("rating", {"items": 60, "overlap": 3, "level": 2.5}),
        ("rating", {"items": 200, "overlap": 4, "noise": 1.5}),
        ("ranking", {"items": 120, "overlap": 3}),
    ],
)
def test_one_study_in_twenty_at_most_flags_anyone_of_twelve_equally_good_raters(
    task: str, design: dict[str, Any]
) -> None:
    rng, project, studies = np.random.default_rng(33), PROJECTS[task], 200
    flagged = sum(any(flag(simulate(rng, project, **design), project).values()) for _ in range(studies))
    assert flagged / studies <= 0.05


def test_raters_who_answer_at_random_or_always_the_same_are_flagged() -> None:
    rng, project = np.random.default_rng(1), PROJECTS["rating"]

    def answer_badly(answer: StudyAnswer) -> StudyAnswer:
        values = {scale.name: float(rng.choice(scale.points)) for scale in project.scales}
        same = {scale.name: float(scale.points[2]) for scale in project.scales}
        seconds = answer.seconds and answer.seconds / 8
        changes: dict[str, dict[str, Any]] = {
            "r0": {"payload": {"values": values}},
            "r1": {"payload": {"values": same}},
            "r2": {"seconds": seconds},
        }
        return replace(answer, **changes.get(answer.rater, {}))

    for _ in range(3):
        ledger = simulate(rng, project, items=240, overlap=3)
        ledger.all_answers = [answer_badly(answer) for answer in ledger.all_answers]
        assert {name for name, reasons in flag(ledger, project).items() if reasons} >= {"r0", "r1", "r2"}
