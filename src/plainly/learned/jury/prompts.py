"""Requests: texts in frames that they cannot close, the questions in shuffled order, and the schema of the answer."""

import hashlib
import random
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from plainly.core.evalset import EvalSet
from plainly.learned.jury.rubrics import SYSTEM, Rubric, fill, fill_values
from plainly.learned.jury.settings import JudgeSettings

_LINES = re.compile(
    r"^[^\S\n]*(?:(?:```|~~~).*|(?:[-*_][^\S\n]*){3,})$"  # fences of code, and rules
    r"|^[^\S\n]{0,3}#{1,6}[^\S\n]+",  # headings
    re.MULTILINE,
)
# What stands between two marks has a limit, so that a text of marks takes no time that grows with its square.
_MARKS = (
    (re.compile(r"!?\[([^\]\[]{0,500})\]\([^)\s]{0,2000}\)"), r"\1"),  # links and images
    (re.compile(r"(?<!\w)(\*{1,3}|_{1,3}|~~|`+)(?=\S)(.{1,500}?)(?<=\S)\1(?!\w)"), r"\2"),  # emphasis
    (re.compile(r"</?(?:b|i|u|em|strong|code|span)(?:\s[^<>]*)?>", re.IGNORECASE), ""),  # HTML within a line
    (re.compile(r"</?(?:p|br|hr|div|ul|ol|li|h[1-6])(?:\s[^<>]*)?/?>", re.IGNORECASE), " "),  # and of blocks
)
_BEGINNINGS = (
    re.compile(r"^[^\S\n]*(?:[-*+•‣▪]|>+)[^\S\n]+", re.MULTILINE),  # bullets and quotations
    re.compile(r"^[^\S\n]*(\d{1,2})[.)][^\S\n]+", re.MULTILINE),  # numbers
)
_WITHIN_WORDS = "\u00ad\u2060\ufeff"  # invisible, and not between words: soft hyphen, word joiner, byte-order mark
_OF_SPELLING = "\u200c\u200d"  # invisible, and part of how Persian and several languages of India are written


def normalise_layout(text: str) -> str:
    """Return a text without Markdown, HTML, control characters and layout, so that these cannot please a judge."""
    text = _remove_lists(_LINES.sub("", unicodedata.normalize("NFC", text)))
    for pattern, replacement in _MARKS:
        text = pattern.sub(replacement, text)
    return " ".join("".join(map(_visible, text)).split())


def _remove_lists(text: str) -> str:
    """Remove the marks of lists, but not a sign or a number that a line has for another reason: - 5 °C, 3. Oktober."""
    marks, numbers = (list(pattern.finditer(text)) for pattern in _BEGINNINGS)
    if len(marks) == 1 and text[marks[0].end() :][:1].isdigit():
        marks = []
    if len(numbers) == 1 or len({int(mark[1]) - at for at, mark in enumerate(numbers)}) > 1:
        numbers = []
    for mark in sorted((*marks, *numbers), key=re.Match.start, reverse=True):
        text = text[: mark.start()] + text[mark.end() :]
    return text


def _visible(character: str) -> str:
    if character in _WITHIN_WORDS:
        return ""
    is_hidden = unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") and character not in _OF_SPELLING
    return " " if is_hidden else character


def frame(name: str, text: str) -> str:
    """Return a text in a frame whose code follows from the text, which therefore cannot contain its own end."""
    code = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"[[begin {name} {code}]]\n{text}\n[[end {name} {code}]]"


def item_values(evalset: EvalSet, outputs: Sequence[str], *, level: str, keep_layout: bool) -> list[dict[str, str]]:
    """Return what the fields of a prompt stand for, for each item.

    A level may come from the column ``level``; what {question} stands for is in the column ``question``.
    """
    levels = evalset.columns.get("level", ()) if not level else ()
    places = evalset.columns.get("question", ())
    rows = []
    for at, output in enumerate(outputs):
        texts = [evalset.sources[at], output, *(evalset.references[at] if evalset.references else ())]
        source, own, *references = [text if keep_layout else normalise_layout(text) for text in texts]
        numbered = [frame(f"reference {number}", text) for number, text in enumerate(references, 1)]
        rows.append(
            {
                "source": frame("original", source),
                "output": frame("simplified", own),
                "references": "\n".join(numbered),
                "level": normalise_layout(levels[at] if levels else level),
                "language": evalset.language,
                "question": frame("place", places[at]) if places else "",
            }
        )
    return rows


def build_request(judge: JudgeSettings, rubric: Rubric, values: Mapping[str, str], repetition: int) -> dict[str, Any]:
    """Return the body of a request. The order of the criteria follows from the texts and the repetition."""
    criteria = list(rubric.criteria)
    random.Random(f"{values['source']}{values['output']}{repetition}").shuffle(criteria)
    questions = {criterion.name: fill_values(criterion.describe(), values) for criterion in criteria}
    schemas = {criterion.name: criterion.schema for criterion in criteria}
    parts = fill_values(rubric.task, values), fill(rubric.prompt, values)
    return build_body(judge, parts, questions, schemas, repetition)


def build_body(
    judge: JudgeSettings,
    parts: Sequence[str],
    questions: Mapping[str, str],
    schemas: Mapping[str, Mapping[str, object]],
    repetition: int,
) -> dict[str, Any]:
    """Return the body of a request with these parts of text, and with questions and schemas of answers by name."""
    form = "Answer with one JSON object that has exactly these keys, and with nothing else:"
    listed = "\n".join(f"- {question}" for question in questions.values())
    body: dict[str, Any] = {
        **judge.parameters,
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": "\n\n".join(part for part in (*parts, f"{form}\n{listed}") if part)},
        ],
    }
    if "seed" in body:
        body["seed"] = judge.seed + repetition
    if judge.schema:
        schema = {
            "type": "object",
            "properties": dict(schemas),
            "required": list(schemas),
            "additionalProperties": False,
        }
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": schema},
        }
    return body
