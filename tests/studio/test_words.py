"""The interface in every language: the same names, the same gaps to fill in, and pages that speak it."""

from __future__ import annotations

import html
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import plainly_studio
from plainly_studio.context import languages, read_words
from studio.conftest import (
    Make,
    join,
    local_client,
    rater,
    rating_project,
    simple_items,
    wait_for_item,
    wait_until_saved,
)

HERE = Path(plainly_studio.__file__).parent
FILES = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in (HERE / "languages").glob("*.toml")}


def gaps(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", text))


def test_every_language_has_the_same_names_and_gaps() -> None:
    assert set(languages()) == {"en", "de", "fr", "es"}
    english = FILES["en"]
    for language, parts in FILES.items():
        one = {part: {name for name in names if name.endswith("_one")} for part, names in parts.items()}
        assert all({name.removesuffix("_one") for name in one[part]} <= set(parts[part]) for part in parts)
        assert {part: [*names] for part, names in parts.items()} == {part: [*names] for part, names in english.items()}
        for part, names in parts.items():
            for name, text in names.items():
                spare = ["count"] if name in one[part] and "{count}" not in text else []
                other = english[part][name.removesuffix("_one")]
                assert sorted(gaps(text) + spare) == gaps(other), (language, part, name)


def test_one_is_not_many(make: Make) -> None:
    texts = {"en": ("1 item.", "1 minute."), "de": ("1 Aufgabe.", "1 Minute."), "es": ("1 elemento.", "1 minuto.")}
    for language, (item, minute) in {**texts, "fr": ("1 élément.", "1 minute.")}.items():
        study = make(rating_project(language=language, assignment={"per_rater": 1}), simple_items(1), name=language)
        page = html.unescape(local_client(study).get(f"/join/{study.link()}").text)
        assert item in page
        assert minute in page


def test_every_word_of_the_pages_exists() -> None:
    scripts = "\n".join(path.read_text(encoding="utf-8") for path in (HERE / "static").glob("*.js"))
    names = set(re.findall(r'\bt\("(\w+)"', scripts))
    assert names
    assert names <= set(FILES["en"]["page"])
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (HERE / "templates").glob("*.html"))
    assert set(re.findall(r'\bt\("(\w+)"', pages)) == {name.removesuffix("_one") for name in FILES["en"]["pages"]}


def test_a_language_without_a_file_gets_english() -> None:
    assert read_words("sv") == read_words("en")
    assert read_words("de-AT") == read_words("de")


@pytest.mark.parametrize("language", ["de", "fr", "es"])
def test_a_study_uses_its_language(make: Make, language: str) -> None:
    study, words = make(rating_project(language=language), simple_items(2)), FILES[language]
    client = local_client(study)
    page = client.get(f"/join/{study.link()}").text
    assert f'lang="{language}"' in page
    assert words["pages"]["start"] in page
    assert words["refused"]["no-invitation"] in html.unescape(client.get("/join/wrong").text)
    work_page = rater(study).client.get("/work").text
    assert json.dumps(words["page"]["submit"]) in html.unescape(work_page)


@pytest.mark.system
@pytest.mark.parametrize("language", ["de", "fr", "es"])
def test_longer_words_do_not_make_the_page_scroll_sideways(make: Make, serve: Any, context: Any, language: str) -> None:
    study = make(rating_project(language=language), simple_items(2))
    page = context.new_page()
    join(page, serve(study).url, study.link())
    wait_for_item(page)
    assert FILES[language]["page"]["submit"] in page.locator("#submit").inner_text()
    page.set_viewport_size({"width": 360, "height": 740})
    width = page.evaluate("() => [document.scrollingElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]


@pytest.mark.system
def test_conflicts_show_both_answers(make: Make, serve: Any, context: Any) -> None:
    study = make(rating_project(), simple_items(3))
    server = serve(study)
    first = context.new_page()
    join(first, server.url, study.link())
    second = context.new_page()
    second.goto(f"{server.url}/work")
    wait_for_item(second)  # Otherwise it would begin with what the first one has entered.
    for page, keys in ((first, "45211"), (second, "11111")):
        page.bring_to_front()
        wait_for_item(page)
        for key in keys[:4]:
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        if page is first:
            wait_until_saved(first, 1)
    notice = second.locator("#notice", has_text="answered elsewhere")
    notice.wait_for()
    rows = [row.locator("th, td").all_inner_texts() for row in notice.locator("tbody tr").all()]
    assert [row[1:] for row in rows[:2]] == [["4", "1 – not at all"], ["5 – completely", "1 – not at all"]]
    assert rows[0][0] == "Is the version fluent and grammatical?"
    assert "The committee subsequently reached decision" in notice.inner_text(), "the text that it is about"


@pytest.mark.system
def test_the_same_answer_from_two_tabs_is_no_conflict(make: Make, serve: Any, context: Any) -> None:
    study = make(rating_project(), simple_items(3))
    server = serve(study)
    first = context.new_page()
    join(first, server.url, study.link())
    second = context.new_page()
    second.goto(f"{server.url}/work")
    for page in (first, second):
        page.bring_to_front()
        wait_for_item(page)
        for key in ("4", "5", "2", "1", "Enter"):
            page.keyboard.press(key)
        wait_until_saved(page, 1)
    assert second.locator("#notice").is_hidden()
    assert len(study.query("SELECT id FROM entry")) == 1
