"""What raters read: sentences in the study's language, and the labels of operations.

There is one file for each language, and English for what a file does not have.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from plainly.core.files import read_shipped
from plainly.typology import vocabulary

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


def page_text(language: str, name: str, **values: object) -> str:
    """A sentence of a page."""
    return words(language)["pages"][name].format(**values)


def translate_refusal(language: str, code: str, message: str) -> str:
    """Why something was refused, in the study's language where its file says it."""
    if language.partition("-")[0].lower() == ENGLISH:
        return message
    return words(language)["refused"].get(code, message)


ERROR = "err"


@cache
def labels() -> dict[str, dict[str, Any]]:
    """All labels by name, in the typology's order, as the page's script gets them."""
    own = read_shipped(__file__, "labels.toml")
    return {
        operation.label: {
            "name": operation.label,
            "title": operation.title,
            "sides": [operation.side, *own["more_sides"].get(operation.label, ())],
            "key": own["keys"].get(operation.label, ""),
            "hint": operation.definition,
            "class": operation.linguistic,
        }
        for operation in vocabulary.operations()
    }


@cache
def allowed_labels(source: bool, output: bool) -> frozenset[str]:
    """The labels for a group with words in the source, in the output or in both."""
    side = "both" if source and output else "source" if source else "output"
    return frozenset(name for name, label in labels().items() if side in label["sides"])
