"""Plots in a real browser: no two labels overlap for any systems; marks respond to mouse, keyboard and links."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import browser
import plainly
from plainly import data
from plainly.core.sampling import Sampling
from plainly.reporting.curves import draw_correlations, draw_plan, save_attacks
from plainly.reporting.findings import habits, item_spreads, length_scores
from plainly.reporting.geometry import fit_scale, place_names
from plainly.reporting.report import Overview, Report
from plainly.scoring.compare import compare
from plainly.scoring.comparisons import DECIDING


def _drop_words(texts: Sequence[str], share: float, seed: int) -> tuple[str, ...]:
    """Texts without some of their words."""
    rng = random.Random(seed)
    return tuple(" ".join(word for word in text.split() if rng.random() > share) or text for text in texts)


def _outputs(kind: str) -> dict[str, tuple[str, ...]]:
    _, outputs = data.demo()
    editor = outputs["editor"]
    near = {f"near-{k}": _drop_words(editor, 0.01 * k, k) for k in range(9)}
    return {
        "two": {name: tuple(outputs[name]) for name in ("editor", "noisy")},
        "ten, one far off": {**near, "far-off": ("x",) * len(editor)},
        "forty with long names": {
            f"a system with a very long name, number {k}": _drop_words(editor, 0.02 * (k % 13) + 0.002 * k, k)
            for k in range(40)
        },
        "five metrics": {name: tuple(texts) for name, texts in outputs.items()},
        "one metric": {name: tuple(texts) for name, texts in outputs.items()},
    }[kind]


METRICS = {"one metric": ["sari"], "five metrics": ["sari", "bleu", "fkgl", "chrf", "edits"]}


@pytest.mark.parametrize("kind", ["two", "ten, one far off", "forty with long names", "five metrics", "one metric"])
@pytest.mark.system
def test_no_two_labels_meet_and_nothing_scrolls_sideways(kind: str, open_page: Any, tmp_path: Path) -> None:
    evalset, _ = data.demo()
    metrics = METRICS.get(kind, ["sari", "bleu", "fkgl"])
    outputs = _outputs(kind)
    evaluation = plainly.score(
        evalset=evalset, outputs=outputs, metrics=metrics, sampling=Sampling(resamples=100), advice=False
    )
    # Comparing every two of forty systems takes minutes, and only adds lines between rows.
    comparisons = compare(evaluation, tests=(DECIDING,)) if len(outputs) < 5 else None
    spreads, lengths = item_spreads(evaluation), length_scores(evaluation)
    drawn = Overview(evaluation, comparisons, spreads=spreads, lengths=lengths, habits=habits(evalset, outputs))
    path = Report(drawn, kind).write(tmp_path / "kind.html")
    for width in (360, 800, 1400):
        page = open_page(path, width=width)
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        page.wait_for_timeout(150)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        count, overlaps = browser.labels_that_meet(page, width)
        assert count > 20
        assert overlaps == []
        # Small multiples: no plot stands alone in its row beside an empty place.
        for plots in page.query_selector_all(".plots"):
            wide, ends = plots.evaluate(
                "e => [e.getBoundingClientRect().right, [...e.querySelectorAll(':scope > .plot')]"
                ".map(p => p.getBoundingClientRect()).map(b => [b.top, b.right])]"
            )
            last = max(top for top, _ in ends)
            assert max(right for top, right in ends if top == last) == pytest.approx(wide, abs=2)


@pytest.mark.parametrize("many", [2, 9, 40])
def test_names_of_points_meet_neither_each_other_nor_points_at_any_width(many: int) -> None:
    rng = random.Random(many)
    points = [(rng.uniform(0, 100), rng.uniform(0, 100)) for _ in range(many)]
    names = [f"system {'x' * rng.randrange(12)}" for _ in points]
    labels = place_names(names, points, (), width=500, height=380)
    assert len(labels) == many if many < 40 else 20 < len(labels) <= many
    for width in (500, 641, 999):
        boxes = [(x * width / 100 - 5, y * 3.8 - 5, x * width / 100 + 5, y * 3.8 + 5) for x, y in points]
        for name in labels:
            wide = 7.0 * len(name.text)  # narrower than what was reckoned with
            near, middle = width * name.point[0] / 100 + name.away, 3.8 * name.point[1] + name.down
            left = near - wide * (1 - name.side) / 2
            boxes.append((left, middle - 7, left + wide, middle + 7))
        overlaps = [
            (a, b) for a, b in combinations(boxes, 2) if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
        ]
        assert [pair for pair in overlaps if pair[1] in boxes[many:]] == []


def test_who_is_far_off_does_not_squeeze_the_others() -> None:
    near = {f"{k}": (40.0 + k,) for k in range(5)}
    axis = fit_scale({**near, "far": (2.0,)})
    assert axis.beyond == ("far",)
    assert 35 < axis.low < 40
    assert axis.at(2.0) == 0
    assert fit_scale(near).beyond == ()
    assert fit_scale({"a": (1.0,), "b": (2.0,), "c": (90.0,)}).beyond == (), "three values have no outlier"
    assert fit_scale({**near, "far": (2.0,)}, whole=True).beyond == ()
    gains = {"a": (3.0,), "b": (3.01,), "c": (3.02,), "none": (0.0,)}
    assert fit_scale(gains).beyond == ("none",)
    assert fit_scale(gains, [0.0, 1.0]).beyond == (), "0 is on the axis"
    assert fit_scale({**gains, "none": (90.0,)}, [0.0, 1.0]).beyond == ("none",)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (40.13, 41.02), (-3.0, 97.0), (0.001, 0.0012), (1e6, 3e6), (5.0, 5.0)])
def test_ticks_are_few_round_and_inside(ends: tuple[float, float]) -> None:
    axis = fit_scale({"a": ends})
    assert 2 <= len(axis.ticks) <= 6
    assert all(axis.low <= value <= axis.high for value, _ in axis.ticks)
    for value, label in axis.ticks:
        assert float(label.replace("−", "-")) == pytest.approx(value, rel=1e-9)
    assert len({label for _, label in axis.ticks}) == len(axis.ticks)


@pytest.mark.system
def test_clusters_are_those_of_compare(open_page: Any, demo_page: Path, demo: Report) -> None:
    comparisons = demo.overview.comparisons
    assert comparisons is not None
    page = open_page(demo_page)
    rows = "rows => rows.map(r => [r.dataset.name, r.classList.contains('end')])"
    drawn = page.eval_on_selector_all("#plot-scores-bleu .strip", rows)
    clusters: list[list[str]] = [[]]
    for name, end in drawn:
        clusters[-1].append(name)
        if end:
            clusters.append([])
    assert clusters == comparisons.clusters("bleu")
    matrix = page.locator("details.matrix").nth(1).locator("tbody tr")
    beaten = {
        matrix.nth(row).locator("td").nth(column).text_content()
        for row, system in enumerate(comparisons.ranking("bleu"))
        for column, other in enumerate(comparisons.ranking("bleu"))
        if comparisons.beats("bleu", system, other)
    }
    assert beaten == {"▲"}


@pytest.mark.system
def test_a_mark_tells_all_and_opens_its_items(open_page: Any, demo_page: Path, demo: Report) -> None:
    page = open_page(demo_page)
    page.get_by_role("button", name="BLEU", exact=True).first.click()
    strip = page.locator("#plot-scores-bleu .strip", has_text="copy")
    strip.hover()
    tip = page.locator("#tip").inner_text()
    assert tip.startswith("copy")
    assert f"{demo.overview.value('copy', 'bleu'):.2f} [" in tip
    assert "FKGL" in tip
    strip.click()
    assert page.locator("#system").input_value() == str(demo.overview.systems.index("copy"))
    assert page.locator("#metric").input_value() == "1"
    assert page.locator("#order").input_value() == "low"
    assert page.evaluate("document.activeElement.id") == "list"
    page.locator("#plot-habit-split .strip", has_text="noisy").click()
    split = int(demo.overview.split["noisy"].sum())
    assert page.locator("#count").inner_text() == f"{split} of 72 items"


@pytest.mark.system
def test_arrows_go_through_a_plot(open_page: Any, demo_page: Path, demo: Report) -> None:
    page = open_page(demo_page)
    page.locator("#plot-scores-sari .strip").first.focus()
    page.keyboard.press("ArrowDown")
    second = demo.overview.evaluation.ranking("sari")[1]
    assert page.evaluate("document.activeElement.dataset.name") == second
    assert page.locator("#tip").inner_text().startswith(second)
    page.keyboard.press("Enter")
    assert page.locator("#system").input_value() == str(demo.overview.systems.index(second))


@pytest.mark.system
def test_an_item_has_a_link(open_page: Any, demo_page: Path, demo: Report) -> None:
    page = open_page(demo_page)
    identifier = demo.overview.evalset.ids[40]
    page.locator("#search").fill("zzz")
    page.evaluate("id => { location.hash = `#item-${encodeURIComponent(id)}`; }", identifier)
    page.wait_for_function(
        "id => document.querySelector('#detail h3')?.textContent.startsWith(`Item ${id}`)", arg=identifier
    )
    assert page.locator("#detail h3 a").get_attribute("href") == f"#item-{identifier}"


@pytest.mark.system
def test_a_phone_gets_a_short_page(open_page: Any, demo_page: Path) -> None:
    page = open_page(demo_page, width=360)
    assert page.evaluate("document.documentElement.scrollHeight") < 8_000
    assert not page.locator("#facts .intro").is_visible()
    page.locator(".sentences a[href='#facts']").click()
    assert page.locator("#facts .intro").is_visible()


def test_the_page_says_how_it_was_made(demo: Report) -> None:
    made = demo.html.partition('id="made"')[2]
    for scores in next(iter(demo.overview.evaluation.values())).values():
        assert str(scores.signature) in made.replace("&#34;", '"')


@pytest.mark.system
@pytest.mark.parametrize("width", [360, 1400])
def test_pages_of_meta_plan_and_audit_fit_a_phone(width: int, open_page: Any, axe: str, tmp_path: Path) -> None:
    evalset, outputs = data.demo()
    rows = [
        {"system": system, "item": item, "rater": rater, "simplicity": (place * (rater + 2)) % 5 + len(system) % 3,
         "source": evalset.sources[place], "output": outputs[system][place]}
        for system in ("editor", "noisy", "copy") for place, item in enumerate(evalset.ids[:12]) for rater in (1, 2, 3)
    ]  # fmt: skip
    few = Sampling(resamples=20)
    result = plainly.meta(rows, metrics=["fkgl", "length"], compare=False, sampling=few)
    pages = [draw_correlations(result).save(tmp_path / "meta.html")]
    pages.append(draw_plan(plainly.plan(rows, sentences=[4, 8], raters=[1, 2], sampling=few)).save(tmp_path / "p.html"))
    audit = plainly.audit(
        evalset=evalset[:20], outputs={"editor": outputs["editor"][:20]}, metrics=["fkgl"], levels=(0.5, 1), trials=2
    )
    pages.append(save_attacks(audit, tmp_path)[0])
    for path in pages:
        page = open_page(path, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") == width, path.name
        assert page.locator("h1").inner_text().endswith("?")
        count, overlaps = browser.labels_that_meet(page, width)
        assert count > 10
        assert overlaps == []
        page.evaluate(axe)
        violations = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [(rule["id"], rule["nodes"][0]["html"][:160]) for rule in violations] == []
    entries = page.locator(".figure .entry").all_text_contents()
    assert any("a full stop between two words random-period" in text for text in entries), "words, then the code"
