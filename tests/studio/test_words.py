"""The interface in every language: the same names, the same gaps to fill in, and pages that speak it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import plainly_studio
from plainly_studio.wording import languages, words
from studio.conftest import Make, join, rating_project, saved, settled, simple_items

HERE = Path(plainly_studio.__file__).parent
FILES = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in (HERE / "languages").glob("*.toml")}


def gaps(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", text))


def test_every_language_says_everything_and_fills_in_the_same() -> None:
    assert set(languages()) == {"en", "de", "fr", "es"}
    english = FILES["en"]
    for language, parts in FILES.items():
        assert {part: [*names] for part, names in parts.items()} == {part: [*names] for part, names in english.items()}
        for part, names in parts.items():
            for name, text in names.items():
                assert gaps(text) == gaps(english[part][name]), (language, part, name)


def test_every_word_that_the_page_asks_for_is_there() -> None:
    scripts = "\n".join(path.read_text(encoding="utf-8") for path in (HERE / "static").glob("*.js"))
    asked = set(re.findall(r'\bt\("(\w+)"', scripts))
    assert asked
    assert asked <= set(FILES["en"]["page"])
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (HERE / "templates").glob("*.html"))
    assert set(re.findall(r'\bt\("(\w+)"', pages)) == set(FILES["en"]["pages"])


def test_a_language_without_a_file_gets_english() -> None:
    assert words("sv") == words("en")
    assert words("de-AT") == words("de")


@pytest.mark.parametrize(
    ("language", "start", "submit"),
    [
        ("de", "Beginnen", "Speichern und weiter"),
        ("fr", "Commencer", "Enregistrer et continuer"),
        ("es", "Empezar", "Guardar y seguir"),
    ],
)
def test_a_study_speaks_its_language(
    make: Make, serve: Any, context: Any, language: str, start: str, submit: str
) -> None:
    place = make(rating_project(language=language), simple_items(2))
    server = serve(place)
    page = context.new_page()
    page.goto(f"{server.url}/join/{place.link()}")
    assert page.locator("button.primary").inner_text() == start
    assert page.evaluate("() => document.documentElement.lang") == language
    page.goto(f"{server.url}/join/wrong")
    assert "not valid" not in page.locator("main").inner_text()
    join(page, server.url, place.link())
    settled(page)
    assert submit in page.locator("#submit").inner_text()
    page.set_viewport_size({"width": 360, "height": 740})
    width = page.evaluate("() => [document.scrollingElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1], "longer words do not make the page scroll sideways"


def test_conflicts_show_both_answers(make: Make, serve: Any, context: Any) -> None:
    place = make(rating_project(), simple_items(3))
    server = serve(place)
    first = context.new_page()
    join(first, server.url, place.link())
    second = context.new_page()
    second.goto(f"{server.url}/work")
    for page, keys in ((first, "45211"), (second, "11111")):
        page.bring_to_front()
        settled(page)
        for key in keys[:4]:
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        if page is first:
            saved(first, 1)
    notice = second.locator("#notice", has_text="answered elsewhere")
    notice.wait_for()
    assert "grammaticality 4, meaning 5" in notice.inner_text()
    assert "grammaticality 1, meaning 1" in notice.inner_text()
