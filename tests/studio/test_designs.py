"""Balanced designs: the plan by itself, and raters who come and leave; checks, repeats and identical outputs."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import plainly_studio as api
from plainly.core.errors import BadInput
from plainly.people.choices import read_rankings
from plainly.people.preferences import Preferences, rank
from plainly_studio import creation, designs
from plainly_studio.designs import Design, Size
from plainly_studio.project import parse_project
from studio.conftest import Make, Rater, Study, four, local_client, rater, rating_project
from studio.test_paid import act, figures
from studio.test_security import owner


@pytest.mark.long
def test_a_thousand_designs_are_balanced_or_refused_with_numbers_that_work() -> None:
    rng = random.Random(33)
    outcomes = Counter[str]()
    for _ in range(1000):
        design: Design = rng.choice(["latin-square", "blocks"])
        sources, conditions, overlap = rng.randint(1, 30), rng.randint(1, 7), rng.randint(1, 4)
        per_rater, raters = (rng.choice([0, rng.randint(1, most)]) for most in (45, 30))
        size = Size(sources, conditions, overlap, per_rater, raters)
        complete = designs.complete_size(design, size)
        outcomes["balanced" if complete else "refused"] += 1
        if complete:
            check_balance(design, complete, designs.make_plan(design, complete, rng))
            continue
        with pytest.raises(BadInput) as refusal:
            designs.require_size(design, size)
        alternatives = designs.list_alternatives(design, size)
        for name, numbers in alternatives.items():
            title = "[data] items" if name == "sources" else name
            assert f"{title} = {' or '.join(map(str, numbers))}" in str(refusal.value)
            for number in numbers:
                other = designs.complete_size(design, replace(size, **{name: number}))
                assert other is not None, (size, name, number)
                check_balance(design, other, designs.make_plan(design, other, rng))
        assert alternatives or "with per_rater = " in str(refusal.value), "there is always a way"
    assert min(outcomes.values()) > 200, outcomes


def check_balance(design: Design, size: Size, plan: designs.Plan) -> None:
    """Count everything again, from the plan alone."""
    assert [len(place) for place in plan] == [size.per_rater] * size.raters
    judged = Counter(cell for place in plan for cell in place)
    every = {(source, condition) for source in range(size.sources) for condition in range(size.conditions)}
    assert judged == dict.fromkeys(every, size.overlap), "every item has its raters"
    for place in plan:
        assert len(set(place)) == len(place), "no rater gets an item twice"
        conditions = Counter(cell.condition for cell in place)
        counts = [conditions[condition] for condition in range(size.conditions)]
        assert max(counts) - min(counts) <= 1
        if design == "latin-square":
            assert len({cell.source for cell in place}) == len(place), "each source once"
        else:
            assert set(Counter(cell.source for cell in place).values()) == {size.conditions}
    rows = {row["balance"]: (row["least"], row["most"]) for row in designs.measure_balance(plan, size)}
    assert rows["items for a rater"] == (size.per_rater, size.per_rater)
    assert rows["raters for an item"] == (size.overlap, size.overlap)


def test_a_coloured_graph_has_no_colour_twice_at_a_vertex() -> None:
    rng = random.Random(1)
    edges = sorted({(rng.randrange(8), rng.randrange(8)) for _ in range(40)})
    degree = max(max(Counter(edge[side] for edge in edges).values()) for side in (0, 1))
    colours = designs.colour_edges(edges, degree)
    for side in (0, 1):
        assert len({(edge[side], colour) for edge, colour in zip(edges, colours, strict=True)}) == len(edges)
    assert set(colours) <= set(range(degree))


def items_of(sources: int, systems: int) -> list[dict[str, Any]]:
    return [
        creation.make_item(f"Source {at}.", [(f"s{system}", f"Text {at} by {system}.")], name=str(at))
        for at in range(sources)
        for system in range(systems)
    ]


def is_full(study: Study) -> bool:
    return "This study is full" in local_client(study).get(f"/join/{study.link()}").text


def work(one: Rater, most: int = 1000, *, payload: Callable[[Any], Any] = lambda item: four(), ahead: int = 3) -> int:
    """Answer items; return how many were answered."""
    count = 0
    while count < most and (items := one.claim(min(ahead, most - count))["items"]):
        for item in items:
            assert one.answer(item, payload(item)).status_code == 201
            count += 1
    return count


def judged_items(study: Study) -> dict[str, list[tuple[str, str]]]:
    statement = (
        "SELECT pseudonym, name, system FROM entry JOIN rater ON rater.id = entry.rater_id "
        "JOIN item ON item.id = entry.item_id WHERE kind = 'main' ORDER BY entry.id"
    )
    by_rater = defaultdict(list)
    for row in study.query(statement):
        by_rater[row.pseudonym].append((row.name, row.system))
    return by_rater


def test_raters_of_a_latin_square_get_each_source_once_and_every_judgement_is_collected(
    make: Make, database: str
) -> None:
    project = rating_project(assignment={"design": "latin-square", "overlap": 1, "per_rater": 5})
    study = make(project, items_of(10, 3), database=database)
    people = [rater(study) for _ in range(6)]
    assert people[0].claim()["total"] == 5
    while sum(work(one, 1) for one in people):  # They take turns.
        pass
    judged = judged_items(study)
    assert len(judged) == 6
    for own in judged.values():
        assert len({source for source, _ in own}) == len(own) == 5
        counts = Counter(system for _, system in own)
        assert max(counts.values()) - min(counts[f"s{at}"] for at in range(3)) <= 1
    assert set(Counter(cell for own in judged.values() for cell in own).values()) == {1}
    assert sum(map(len, judged.values())) == 30
    assert is_full(study)
    (outcome,) = {row.outcome for row in study.query("SELECT outcome FROM rater WHERE place IS NOT NULL")}
    assert outcome == "complete"


def test_a_place_is_completed_by_others_when_its_rater_leaves_or_is_replaced(make: Make) -> None:
    study = make(rating_project(assignment={"design": "blocks", "overlap": 1, "per_rater": 6}), items_of(6, 2))
    leaves, replaced = rater(study), rater(study)
    assert work(leaves, 2) == 2
    assert is_full(study)
    assert leaves.post("/api/exit", {}).status_code == 200
    assert work(rater(study)) == 4
    assert work(replaced) == 6
    act(owner(study), "/owner/exclude", rater=replaced.name, why="test", replace="yes")
    assert work(rater(study)) == 6
    assert is_full(study)
    counted = [answer for name, own in judged_items(study).items() if name != replaced.name for answer in own]
    assert Counter(counted) == Counter((str(at), f"s{system}") for at in range(6) for system in range(2))


def test_the_plan_of_a_running_study_does_not_change(make: Make) -> None:
    study = make(rating_project(assignment={"design": "blocks", "overlap": 1}), items_of(4, 2))
    assert act(owner(study), "/owner/settings", **{"assignment.overlap": "2"}).status_code == 422
    assert act(owner(study), "/owner/settings", **{"assignment.lease_minutes": "20"}).status_code == 303


def write_texts(folder: Path, *, sources: int, systems: str) -> list[str]:
    (folder / "source.txt").write_text("".join(f"Source number {at}.\n" for at in range(sources)))
    for system in systems:
        (folder / f"{system}.txt").write_text("".join(f"Text {at} of {system}.\n" for at in range(sources)))
    return [f"{system}={system}.txt" for system in systems]


def test_create_shows_the_balance_and_refuses_what_cannot_be_balanced(tmp_path: Path) -> None:
    outputs = write_texts(tmp_path, sources=12, systems="abc")
    file = tmp_path / "study.toml"
    head = f'[project]\nname = "x"\n[data]\nsource = "source.txt"\noutputs = {json.dumps(outputs)}\n'
    file.write_text(f'{head}[assignment]\ndesign = "latin-square"\noverlap = 2\nper_rater = 7\n')
    with pytest.raises(BadInput, match=r"per_rater = 6 or 8;.*\[data\] items = 7"):
        api.create(file)
    assert not file.with_suffix(".db").exists()
    file.write_text(file.read_text().replace("per_rater = 7", "per_rater = 8"))
    project = api.create(file)
    (table,) = project.tables()
    assert table.rows == (
        ("items for a rater", "8", "8"),
        ("items of one system for a rater", "2", "3"),
        ("times that a rater gets a source", "1", "1"),
        ("raters for an item", "2", "2"),
    )
    assert project.json()["balance"][1] == {"balance": "items of one system for a rater", "least": 2, "most": 3}
    assert "9 places" in project.remark


def test_raters_of_a_free_design_share_the_items() -> None:
    project = rating_project(assignment={"raters": 4, "overlap": 3})
    assert creation.share_items(project, 10).assignment.per_rater == 8, "30 judgements, rounded up"
    with pytest.raises(BadInput, match="at least as many raters"):
        creation.share_items(rating_project(assignment={"raters": 2, "overlap": 3}), 10)


def answered_kinds(study: Study, name: str) -> list[tuple[str, str]]:
    rows = study.query(
        "SELECT pseudonym, kind, name FROM entry JOIN item ON item.id = entry.item_id "
        "JOIN rater ON rater.id = entry.rater_id ORDER BY entry.id"
    )
    return [(row.kind, row.name) for row in rows if row.pseudonym == name]


def test_checks_come_at_random_places_in_random_order(make: Make) -> None:
    checks = [
        creation.make_item("Check.", [("", f"Check {at}.")], name=f"check-{at}", kind="check", expected={"values": {}})
        for at in range(4)
    ]
    project = rating_project(quality={"check_every": 5}, assignment={"overlap": 20, "per_rater": 20, "ahead": 5})
    study = make(project, items_of(20, 1) + checks)
    positions, orders = [], []
    for _ in range(5):
        one = rater(study)
        assert one.claim()["total"] == 24, "the number of items is known beforehand"
        assert work(one, ahead=5) == 24
        kinds = answered_kinds(study, one.name)
        places = [at for at, (kind, _) in enumerate(kinds) if kind == "check"]
        before = [sum(kind == "main" for kind, _ in kinds[:at]) for at in places]
        assert [count // 5 for count in before] == [0, 1, 2, 3], "one in every five"
        positions.append(tuple(before))
        orders.append(tuple(name for kind, name in kinds if kind == "check"))
    assert len(set(positions)) > 2
    assert len(set(orders)) > 2


def test_repeated_items_show_how_far_raters_agree_with_themselves(make: Make, database: str) -> None:
    main = items_of(20, 1)
    project = rating_project(quality={"repeat_every": 5}, assignment={"overlap": 3})
    study = make(project, main + [{**row, "kind": "repeat"} for row in main], database=database)
    seen: Counter[str] = Counter()

    def change_mind(item: Any) -> Any:
        seen[item["outputs"][0]] += 1
        return four(2 + seen[item["outputs"][0]] + len(item["source"]) % 2)

    steady, fickle = rater(study), rater(study)
    assert steady.claim()["total"] == 23
    assert work(steady, payload=lambda item: four(1 + len(item["source"]) % 2)) == 23
    assert work(fickle, payload=change_mind) == 23
    for one in (steady, fickle):
        kinds = answered_kinds(study, one.name)
        for at, (kind, name) in enumerate(kinds):
            if kind == "repeat":
                first = kinds.index(("main", name))
                assert sum(other == "main" for other, _ in kinds[first + 1 : at]) >= 4, "not at once"
    rows = {row["name"]: row for row in figures(study)["self_agreement"]}
    assert rows["meaning"]["repeated"] == 6
    assert rows["meaning"]["same"] == 0.5
    assert rows["structural_simplicity"]["same"] == 1
    assert figures(study)["answers"] == 40, "a repeated item does not count as an answer"
    tables = api.status(study.file, database=study.database).tables()
    assert tables[1].rows[1][:2] == ("meaning", "0.500")


def test_identical_outputs_tie_and_are_not_shown(tmp_path: Path) -> None:
    outputs = write_texts(tmp_path, sources=6, systems="abc")
    same = (tmp_path / "a.txt").read_text().splitlines()
    other = (tmp_path / "b.txt").read_text().splitlines()
    (tmp_path / "b.txt").write_text("\n".join([f"{same[0]} ", same[1], *other[2:]]) + "\n")
    settings = {"name": "x", "task": "ranking", "data": {"source": "source.txt", "outputs": outputs}}
    pairs = creation.make_items(parse_project(settings), directory=tmp_path)
    assert Counter(row["kind"] for row in pairs) == {"main": 16, "tied": 2}
    best = {"method": "best-worst", "size": 3}
    groups = creation.make_items(parse_project({**settings, "ranking": best}), directory=tmp_path)
    assert Counter(row["kind"] for row in groups) == {"main": 6, "tied": 2}
    assert Counter(len(json.loads(row["outputs"])) for row in groups if row["kind"] == "main") == {3: 4, 2: 2}


def preferences_of(file: Path) -> Preferences:
    choices = read_rankings(file)
    assert choices
    return rank(choices)


@pytest.mark.parametrize("form", ["csv", "entries.jsonl"])
def test_automatic_ties_count_like_those_of_raters(make: Make, tmp_path: Path, form: str) -> None:
    project = parse_project({"name": "Pairs", "task": "ranking", "assignment": {"overlap": 2, "ahead": 10}})
    pairs = [
        creation.make_item(f"S {at}.", [("A", f"a {at}"), ("B", f"b {at}" if at else "a 0")], name=str(at), kind=kind)
        for at, kind in enumerate(["tied", "main", "main"])
    ]
    study = make(project, pairs)
    for one in (rater(study), rater(study)):
        for item in one.claim(10)["items"]:
            assert item["outputs"] != ["a 0", "a 0"]
            best = next(at for at, text in enumerate(item["outputs"]) if text.startswith("a"))
            one.answer(item, {"choice": {"best": best}})
    result = preferences_of(study.file).json()
    assert (result["rankings"], result["raters"]) == (6, 2)
    (first,) = [row for row in result["systems"] if row["system"] == "A"]
    assert (first["wins"], first["ties"]) == (4, 2)
    table = tmp_path / f"export.{form}"
    table.write_bytes(api.export(study.file, form))
    if form == "csv":
        assert preferences_of(table).json()["systems"] == result["systems"]
    api.import_set(tmp_path / "again.toml", str(table))
    assert preferences_of(tmp_path / "again.toml").json()["systems"] == result["systems"]
