"""What raters read, in the study's language: one file a language, and English for what a file does not say."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from plainly.core.files import read_shipped

_FILES = Path(__file__).parent / "languages"
ENGLISH = "en"


def languages() -> tuple[str, ...]:
    """The languages that the interface speaks."""
    return tuple(sorted(path.stem for path in _FILES.glob("*.toml")))


@cache
def words(language: str) -> Mapping[str, dict[str, str]]:
    """The words by part (pages, page, refused) and name; a study in a language without a file is run in English."""
    spoken = language.partition("-")[0].lower()
    known = [name for name in (ENGLISH, spoken) if name in languages()]
    parts = [read_shipped(__file__, f"languages/{name}.toml") for name in known]
    return {part: {**parts[0][part], **parts[-1].get(part, {})} for part in parts[0]}


def said(language: str, name: str, **values: object) -> str:
    """A sentence of a page."""
    return words(language)["pages"][name].format(**values)


def refusal(language: str, code: str, message: str) -> str:
    """Why something was refused, in the study's language where its file says it."""
    if language.partition("-")[0].lower() == ENGLISH:
        return message
    return words(language)["refused"].get(code, message)
