"""Marking operations in the browser: mouse, touch and keys; ASSETann played back through the page itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from plainly_studio.creation import make_item
from plainly_studio.project import Project, parse_project
from plainly_studio.tasks import labels, labels_for
from studio.conftest import Make, Study, join, wait_for_item, wait_until_saved

SOURCE = "The committee was subsequently dissolved by the angry mayor ."
OUTPUT = "The mayor then closed the group . He was angry ."


def project(**more: Any) -> Project:
    return parse_project({"name": "Operations", "task": "operations", "data": {"tokens": "spaces"}, **more})


def item(source: str = SOURCE, output: str = OUTPUT, name: str = "1") -> dict[str, Any]:
    return make_item(source, [("secret-system", output)], name=name, tokens="spaces")


def token(page: Any, side: str, at: int) -> Any:
    return page.locator(f"[data-side={side}][data-token='{at}']")


def stored_answers(study: Study) -> list[Any]:
    return [json.loads(row.payload)["groups"] for row in study.query("SELECT payload FROM entry ORDER BY id")]


def start(make: Make, serve: Any, context: Any, items: list[dict[str, Any]] | None = None) -> tuple[Study, Any]:
    study = make(project(), items or [item(), item(name="2")])
    page = context.new_page()
    join(page, serve(study).url, study.link())
    wait_for_item(page)
    return study, page


def drag(page: Any, side: str, first: int, last: int) -> None:
    """One movement of the mouse over a range of words; a click where it is one word."""
    begin, end = (token(page, side, at).bounding_box() for at in (first, last))
    page.mouse.move(begin["x"] + begin["width"] / 2, begin["y"] + begin["height"] / 2)
    page.mouse.down()
    if last != first:
        page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=2)
    page.mouse.up()


def runs(tokens: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The unbroken stretches of a group's tokens."""
    ordered = sorted(tokens)
    first = 0
    for at in range(1, len(ordered) + 1):
        if at == len(ordered) or ordered[at] != ordered[at - 1] + 1:
            yield ordered[first], ordered[at - 1]
            first = at


def actions(group: Any) -> int:
    """What marking a group takes: one movement for each stretch of words, one choice of a label."""
    return len(list(runs(group.source))) + len(list(runs(group.output))) + 1


@pytest.mark.system
def test_mouse_ranges_gaps_several_labels_and_undo(make: Make, serve: Any, context: Any) -> None:
    study, page = start(make, serve, context)
    drag(page, "source", 6, 8)
    token(page, "source", 3).click()
    offered = page.locator("[data-label]").evaluate_all("found => found.map(one => one.dataset.label)")
    assert set(offered) == labels_for(True, False), "only labels for the source"
    page.click("[data-label=delmod]")
    drag(page, "source", 2, 4)
    token(page, "output", 3).click()
    offered = page.locator("[data-label]").evaluate_all("found => found.map(one => one.dataset.label)")
    assert set(offered) == labels_for(True, True)
    page.click("[data-label=p2a]")
    page.keyboard.press("e")
    page.click("[data-label=synonym]")
    token(page, "output", 6).click()
    page.keyboard.press("s")
    page.keyboard.press("z")
    assert page.locator(".groups li").count() == 2
    page.keyboard.press("y")
    token(page, "output", 7).click()
    token(page, "output", 9).click(modifiers=["Shift"])
    page.keyboard.press("p")
    page.keyboard.press("Enter")
    wait_until_saved(page, 1)
    assert stored_answers(study) == [
        [
            {"source": [3, 6, 7, 8], "output": [], "labels": ["delmod"]},
            {"source": [2, 3, 4], "output": [3], "labels": ["p2a", "synonym"]},
            {"source": [], "output": [6], "labels": ["split"]},
            {"source": [], "output": [7, 8, 9], "labels": ["inprop"]},
        ]
    ]


@pytest.mark.system
def test_err_stands_alone_and_undo_brings_the_rest_back(make: Make, serve: Any, context: Any) -> None:
    study, page = start(make, serve, context)
    token(page, "source", 3).click()
    page.keyboard.press("m")
    page.keyboard.press("x")
    assert page.locator(".groups li").count() == 1
    page.keyboard.press("z")
    assert "Delete a modifier" in page.locator(".groups li").inner_text()
    page.keyboard.press("x")
    token(page, "source", 3).click()
    page.keyboard.press("m")
    page.get_by_text("remove that first").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    wait_until_saved(page, 1)
    assert stored_answers(study) == [[{"source": [0], "output": [0], "labels": ["err"]}]]


@pytest.mark.system
def test_words_without_a_label_block_the_submit_and_focus_goes_to_the_labels(
    make: Make, serve: Any, context: Any
) -> None:
    study, page = start(make, serve, context)
    token(page, "source", 3).click()
    page.keyboard.press("Enter")
    page.locator("#notice", has_text="have no label").wait_for()
    assert page.evaluate("() => 'label' in document.activeElement.dataset")
    assert stored_answers(study) == []


@pytest.mark.system
def test_touch(make: Make, serve: Any, chromium: Any) -> None:
    opened = chromium.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    opened.set_default_timeout(10_000)
    try:
        study, page = start(make, serve, opened)
        token(page, "source", 3).tap()
        token(page, "output", 2).tap()
        page.locator("[data-label=synonym]").tap()
        page.locator("#submit").tap()
        wait_until_saved(page, 1)
        assert stored_answers(study) == [[{"source": [3], "output": [2], "labels": ["synonym"]}]]
    finally:
        opened.close()


@pytest.mark.mirror
def test_assetann_takes_at_most_three_actions_a_group(mirror: Path) -> None:
    from plainly.typology import formats

    counts = [actions(group) for pair in formats.load("assetann/annotations") for group in pair.groups]
    assert len(counts) == 19_811
    assert sum(counts) / len(counts) <= 3  # 2.39 when this was written


def _gap(tokens: Sequence[int]) -> bool:
    return bool(tokens) and max(tokens) - min(tokens) != len(set(tokens)) - 1


def chosen_pairs(count: int) -> list[Any]:
    from plainly.typology import formats
    from plainly.typology.annotation import violations

    pairs = formats.load("assetann/annotations")
    odd = {finding.where for finding in violations(pairs)}
    sound = [pair for pair in pairs if pair.groups and pair.where not in odd and all(
        group.label in labels_for(bool(group.source), bool(group.output)) for group in pair.groups)]  # fmt: skip
    gaps = [
        pair for pair in sound if any(_gap(tokens) for group in pair.groups for tokens in (group.source, group.output))
    ]
    return [*sound[:: len(sound) // count][: count - 2], *gaps[:2]]


def check_replay(study: Study, pairs: Sequence[Any]) -> bool:
    names = {str(at): pair for at, pair in enumerate(pairs)}
    rows = study.query("SELECT name, payload FROM entry JOIN item ON item.id = entry.item_id")
    for row in rows:
        expected = [
            {"source": sorted(group.source), "output": sorted(group.output), "labels": [group.label]}
            for group in names[row.name].groups
        ]
        assert json.loads(row.payload)["groups"] == expected, row.name
    return len(rows) == len(pairs)


def pair_on_page(page: Any, pairs: Sequence[Any]) -> Any:
    wait_for_item(page)

    def text(side: str) -> tuple[str, ...]:
        tokens = page.locator(f"[data-side={side}]").evaluate_all("all => all.map(one => one.firstChild.textContent)")
        return tuple(tokens)

    source, output = text("source"), text("output")
    return next(pair for pair in pairs if pair.source_tokens == source and pair.output_tokens == output)


@pytest.mark.system
@pytest.mark.mirror
def test_replaying_assetann_with_the_mouse(mirror: Path, make: Make, serve: Any, context: Any) -> None:
    pairs = chosen_pairs(8)
    study, page = start(make, serve, context, [item(one.source, one.output, str(at)) for at, one in enumerate(pairs)])
    done = 0
    for number in range(len(pairs)):
        for group in pair_on_page(page, pairs).groups:
            for side in ("source", "output"):
                for first, last in runs(getattr(group, side)):
                    drag(page, side, first, last)
                    done += 1
            page.click(f"[data-label={group.label}]")
            done += 1
        page.click("#submit")
        wait_until_saved(page, number + 1)
    assert check_replay(study, pairs)
    assert done / sum(len(pair.groups) for pair in pairs) <= 3


@pytest.mark.system
@pytest.mark.mirror
def test_replaying_assetann_with_the_keyboard_alone(mirror: Path, make: Make, serve: Any, context: Any) -> None:
    pairs = chosen_pairs(5)
    study, page = start(make, serve, context, [item(one.source, one.output, str(at)) for at, one in enumerate(pairs)])
    page.mouse.click(1, 1)
    keys = {one["name"]: one["key"] for one in labels().values()}
    pressed = 0

    def press(key: str) -> None:
        nonlocal pressed
        pressed += 1
        page.keyboard.press(key)

    def go(side: str, at: int) -> None:
        cursor = page.evaluate(
            "() => [document.activeElement.dataset.side, Number(document.activeElement.dataset.token)]"
        )
        if cursor[0] != side:
            press("ArrowUp" if side == "source" else "ArrowDown")
            cursor = page.evaluate(
                "() => [document.activeElement.dataset.side, Number(document.activeElement.dataset.token)]"
            )
        many = page.locator(f"[data-side={side}]").count()
        here = cursor[1]
        ways = {"": abs(at - here), "Home": 1 + at, "End": 1 + many - 1 - at}
        best = min(ways, key=lambda way: ways[way])
        if best:
            press(best)
            here = 0 if best == "Home" else many - 1
        for _ in range(abs(at - here)):
            press("ArrowRight" if at > here else "ArrowLeft")

    for number in range(len(pairs)):
        pair = pair_on_page(page, pairs)
        press("ArrowUp")
        for group in pair.groups:
            for side in ("source", "output"):
                for first, last in runs(getattr(group, side)):
                    go(side, first)
                    if first == last:
                        press(" ")
                    for _ in range(last - first):
                        press("Shift+ArrowRight")
            press(keys[group.label])
        press("Enter")
        wait_until_saved(page, number + 1)
    assert check_replay(study, pairs)
    assert pressed / sum(len(pair.groups) for pair in pairs) < 20  # 12.2 when this was written
