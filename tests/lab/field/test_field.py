"""The state of the field: its numbers are those that score and compare give, and what was done is not done again."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import plainly
import plainly_lab
from plainly import data
from plainly.cli import main
from plainly.cli.show import FORMATS, show
from plainly.core.errors import PlainlyError
from plainly.core.formatting import abridge
from plainly.scoring.evaluate import evaluate
from plainly.scoring.score_file import save
from plainly_lab.field_site.build import FieldSite, changes
from plainly_lab.field_site.tasks import KINDS, LICENSED, SETTINGS, FieldTask, family, group_tasks, make_plan

pytestmark = pytest.mark.long


def test_every_public_output_is_scored_somewhere() -> None:
    sets = SETTINGS["default"]["sets"]
    cards = [card for card in data.cards() if card.kind == "outputs"]
    assert cards
    for card in cards:
        assert any(set(card.systems) <= set(data.system_names(name)) for name in sets), (
            f"no set of the field has {card.name}"
        )


def test_the_numbers_are_those_of_score_and_compare(site: FieldSite) -> None:
    evalset, outputs = data.demo()
    evaluation = plainly.score(evalset=evalset, outputs=outputs, metrics=["sari", "fkgl"])
    comparisons = plainly.compare(evaluation, tests=("approximate-randomisation",))
    demo = site.field.sets[0]
    for spec, standings in demo.standings.items():
        assert [row.system for row in standings.systems] == evaluation.ranking(spec)
        assert standings.clusters == len(comparisons.clusters(spec))
        for row in standings.systems:
            expected = evaluation[row.system][spec].json()
            assert row.value == pytest.approx(expected["value"])
            assert row.low == pytest.approx(expected["low"])
            assert row.signature == expected["signature"]


def test_several_trainings_are_one_system() -> None:
    assert family("muss_bart_access_mined/3") == "muss_bart_access_mined"
    assert family("GPLSI/run1_llama_knowledge") == "GPLSI/run1_llama_knowledge"


def test_a_metric_with_a_target_is_ranked_by_its_distance_from_it(tmp_path: Path) -> None:
    evalset, outputs = data.demo()
    evalset_with_target = replace(evalset[list(range(12))], columns={"target": ("B1",) * 12})
    some = {system: outputs[system][:12] for system in ("copy", "editor", "noisy")}
    save(str(tmp_path / "scores.npz"), evaluate(evalset_with_target, some, ["cefr"], sampling=None))
    standings = KINDS["standings"](FieldTask("standings", "demo", "cefr", path=str(tmp_path / "scores.npz")))
    assert (standings.output, standings.better) == ("rmse", "lower")
    values = [row.value for row in standings.systems]
    assert values == sorted(values)


def test_what_reads_the_same_texts_is_asked_in_one_process() -> None:
    specs = ("sari", "sle", "cefr", "quality")
    tasks = [FieldTask(kind, name, spec) for kind, name in (("audit", "a"), ("people", "p")) for spec in specs]
    groups = group_tasks([*tasks, FieldTask("paper", "sle")])
    assert [[task.spec for task in group] for group in groups] == [["sari"], ["cefr", "sle", "quality"]] * 2 + [[""]]
    assert [{(task.kind, task.name) for task in group} for group in groups][1:4:2] == [
        {("audit", "a")},
        {("people", "p")},
    ]


def test_names_in_the_margin_of_a_plot_stay_distinct() -> None:
    names = data.system_names("tsar2025/test")
    for most in (28, 32):
        labels = {abridge(name, most) for name in names}
        assert len(labels) == len(names)
        assert max(map(len, labels)) <= most


def test_every_number_on_a_page_carries_its_signature(site: FieldSite) -> None:
    page = (site.folder / "set-pwkp-test.html").read_text(encoding="utf-8")
    cells = re.findall(r'<td data-value="[^"]*" title="([^"]*)">', page)
    signatures = {row.signature for of in site.field.sets[1].standings.values() for row in of.systems}
    assert len(cells) == 2 * (len(data.system_names("pwkp/test")) - 1)  # the reference is not ranked
    assert "is a reference" in page
    assert {html.unescape(cell) for cell in cells} == signatures
    for signature in signatures:
        assert html.escape(signature, quote=False) in page.partition("How each number was made")[2]


def test_the_papers_page_shows_published_ours_and_sound(site: FieldSite) -> None:
    paper, _ = site.field.papers
    page = (site.folder / "papers.html").read_text(encoding="utf-8")
    cell = next(cell for cell in paper.cells if cell.table == "raters")
    assert cell.published != cell.sound != cell.ours
    for value in (cell.published, cell.ours, cell.sound):
        assert f'<td data-value="{value}">{value:.{cell.decimals}f}</td>' in page


def test_what_is_done_is_not_done_again_and_changes_are_listed(site: FieldSite, tmp_path: Path) -> None:
    cache = site.folder.parent / "cache"
    options = {"metrics": ["sari", "fkgl"], "papers": ["tradeoff", "fkgl-gaming"], "cache": cache, "processes": 1}
    again = plainly_lab.field(["demo", "pwkp/test"], out=tmp_path, **options)  # type: ignore[arg-type]
    assert again.field.done == 0
    assert len(again.field.changes) == 1  # there is nothing to compare it with
    (tmp_path / "of-somebody.html").write_text("<p>not ours</p>", encoding="utf-8")
    same = plainly_lab.field("demo", out=tmp_path, **options)  # type: ignore[arg-type]
    left = {path.name for path in tmp_path.glob("*.html")}
    assert left == {path.name for path in same.files if path.suffix == ".html"} | {"of-somebody.html"}
    assert "pwkp/test" in same.field.changes[0]
    record = json.loads((tmp_path / "field.json").read_text(encoding="utf-8"))
    assert record["schema"] == "plainly.field/1"
    assert record["built"] in changes(record, record)[0]
    record["sets"][0]["standings"]["sari"]["systems"][0]["value"] -= 1
    assert "editor by sari was" in changes(record, same.field.json())[0]
    assert changes({**record, "sets": []}, same.field.json()) == ["New test set: demo."]


def test_a_metric_page_says_what_fools_it_and_whom_it_agrees_with(site: FieldSite) -> None:
    page = (site.folder / "metric-fkgl.html").read_text(encoding="utf-8")
    assert "random-period" in page
    assert "simplicity-da" in page
    attacks_that_fool = {effect.attack for effect in site.field.metrics[1].audit.effects if effect.fooled}
    assert "random-period" in attacks_that_fool  # Tanprasert and Kauchak 2021


def test_links_lead_somewhere(site: FieldSite) -> None:
    names = {path.name for path in site.files}
    for path in site.files:
        if path.suffix == ".html":
            text = path.read_text(encoding="utf-8")
            assert set(re.findall(r'(?:href|src)="([\w.+-]+\.\w+)', text)) <= names, path.name
            assert "undefined" not in re.sub(r"<[^>]*>", "", text.partition("<main")[2].partition("Reasons to")[0])


def test_a_licensed_paper_is_named_and_its_attacks_are_shown_on_public_outputs(site: FieldSite) -> None:
    assert set(LICENSED) <= set(make_plan(None, None, None, None).papers)
    section = (site.folder / "papers.html").read_text(encoding="utf-8").partition('id="fkgl-gaming"')[2]
    assert "Its numbers are not computed here" in section
    assert "Not the paper's numbers" in html.unescape(section)
    row = section.partition(">random-period<")[2].partition("</tr>")[0]
    (effect,) = (row for row in site.field.metrics[1].audit.effects if row.attack == "random-period")
    assert f"{effect.gain:+.2f}" in row
    assert html.escape(site.field.metrics[1].audit.signature, quote=False) in row


@pytest.mark.long
def test_the_page_of_a_system_says_what_is_wrong_with_this_system(large_site: FieldSite) -> None:
    (hsplit,) = (of_set for of_set in large_site.field.sets if of_set.name == "hsplit/first70")
    alarm = next(alarm for alarm in hsplit.doubts.alarms if len(alarm.systems) > 8)
    system = next(name for name in alarm.systems if name not in alarm.message)  # one of those that "more" are
    (message,) = (text for text in hsplit.doubts.alarms_of[system] if text.startswith(f"{alarm.metric}: {system} ("))
    page = html.unescape((large_site.folder / f"system-{system.replace('^', '-')}.html").read_text(encoding="utf-8"))
    assert message in page


def test_sets_without_outputs_and_unknown_metrics_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlainlyError, match="asset/valid"):
        plainly_lab.field("asset/valid", out=tmp_path)
    with pytest.raises(PlainlyError, match="absent"):
        plainly_lab.field("demo", out=tmp_path, newsela=tmp_path / "absent")
    with pytest.raises(PlainlyError, match="sarri"):
        plainly_lab.field("demo", out=tmp_path, metrics=["sarri"])


def test_the_command_on_the_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["field", "demo", "-m", "sari", "--no-papers", "--processes", "1", "-o", str(tmp_path / "site")]
    assert main([*words, "--cache", str(tmp_path / "cache"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "plainly.field/1"
    assert (tmp_path / "site" / "index.html").read_text(encoding="utf-8").lstrip().startswith("<!doctype html>")


def test_the_result_shows_itself(site: FieldSite, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(site.to_pandas()) == len(site.records())
    assert all(record["signature"] for record in site.records())
    for form in (None, *FORMATS):
        show(site, form)
        assert capsys.readouterr().out.strip()


@pytest.mark.whole
def test_the_whole_field_is_built_and_built_again_from_what_is_kept(mirror: Path, tmp_path: Path) -> None:
    first = plainly_lab.field(out=tmp_path / "site", cache=tmp_path / "cache")
    assert {of_set.name for of_set in first.field.sets} == set(SETTINGS["default"]["sets"])
    asset = first.field.sets[0].standings["sari"].systems
    assert len(asset) == 29  # 21 systems, and eight of MUSS with five trainings each
    assert not any("/0" in alarm.message for of_set in first.field.sets for alarm in of_set.doubts.alarms)
    again = plainly_lab.field(out=tmp_path / "site", cache=tmp_path / "cache")
    assert again.field.done == 0
    assert again.field.changes == tuple(changes(first.field.json(), first.field.json()))
