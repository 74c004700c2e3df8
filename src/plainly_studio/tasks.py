"""What an answer may hold, task by task: checked on the way in, so that nothing has to be repaired on the way out."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from plainly_studio import wording
from plainly_studio.guard import invalid
from plainly_studio.project import Project

LONGEST_COMMENT = 4000
_WORDS = re.compile(r"\w+(?:[’'\-]\w+)*|[^\w\s]+|\S", re.UNICODE)


def spans(text: str, how: str) -> list[tuple[int, int]]:
    """Where the tokens of a text begin and end, in Unicode code points.

    The browser counts in UTF-16 and would be off by one after every emoji; it gets the tokens from here and only ever
    sends their numbers back. A mark that combines with the character before it stays in that character's token.
    """
    if how == "spaces":
        return [match.span() for match in re.finditer(r"\S+", text)]
    places: list[tuple[int, int]] = []
    for match in _WORDS.finditer(text):
        start, end = match.span()
        if places and places[-1][1] == start and _continues(text[start], text[start - 1]):
            places[-1] = (places[-1][0], end)
        else:
            places.append((start, end))
    return places


def tokens(text: str, how: str) -> list[str]:
    """The tokens of a text; joined with what stands between them they are the text again."""
    return [text[start:end] for start, end in spans(text, how)]


def check(project: Project, payload: object, item: Mapping[str, Any], candidates: int) -> dict[str, Any]:
    """The answer in its stored form, or a refusal that names the field."""
    if not isinstance(payload, Mapping):
        raise invalid("payload", "The answer must be an object.")
    for key in payload:
        if key not in ("cannot_judge", "comment", "values", "groups", "choice"):
            raise invalid(str(key), f"Unknown field {key!r}.")
    answer: dict[str, Any] = {}
    comment = payload.get("comment") or ""
    if not isinstance(comment, str) or len(comment) > LONGEST_COMMENT:
        raise invalid("comment", f"A comment is text of at most {LONGEST_COMMENT} characters.")
    if comment:
        answer["comment"] = comment
    if payload.get("cannot_judge"):
        if not project.cannot_judge:
            raise invalid("cannot_judge", "This project asks for a judgement of every item.")
        return {**answer, "cannot_judge": True}
    if project.task == "rating":
        answer["values"] = _values(project, payload.get("values"))
    elif project.task == "operations":
        lengths = {side: len(spans(item[side], item["tokens"])) for side in ("source", "output")}
        answer["groups"] = groups(payload.get("groups"), lengths)
    else:
        answer["choice"] = _choice(project, payload.get("choice"), candidates)
    return answer


def _values(project: Project, values: object) -> dict[str, float | None]:
    if not isinstance(values, Mapping):
        raise invalid("values", "A rating holds a value for each scale.")
    for name in values:
        if name not in {scale.name for scale in project.scales}:
            raise invalid(str(name), f"There is no scale {name!r}.")
    checked: dict[str, float | None] = {}
    for scale in project.scales:
        value = values.get(scale.name)
        if value is None and scale.name in values and project.cannot_judge:
            checked[scale.name] = None
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            raise invalid(scale.name, f"{scale.question} has no answer yet.")
        elif not scale.minimum <= value <= scale.maximum or not _on_step(value - scale.minimum, scale.step):
            raise invalid(scale.name, f"{value} is not on the scale from {scale.minimum:g} to {scale.maximum:g}.")
        else:
            checked[scale.name] = value
    return checked


def groups(marks: object, lengths: Mapping[str, int], *, lenient: bool = False) -> list[dict[str, Any]]:
    """Groups of tokens with their labels. ``lenient`` admits what published data holds against its own guide."""
    if not isinstance(marks, Sequence) or isinstance(marks, str):
        raise invalid("groups", "Operations are a list of groups.")
    checked: list[dict[str, Any]] = []
    for at, group in enumerate(marks):
        if not isinstance(group, Mapping) or set(group) - {"source", "output", "labels"}:
            raise invalid("groups", f"Group {at + 1} must hold source, output and labels.")
        sides = {side: _positions(group.get(side, ()), lengths[side], at) for side in ("source", "output")}
        named = group.get("labels")
        if not isinstance(named, Sequence) or isinstance(named, str) or not named:
            raise invalid("groups", f"Group {at + 1} has no label.")
        if not (sides["source"] or sides["output"]):
            raise invalid("groups", f"Group {at + 1} holds no words.")
        allowed = wording.allowed_labels(bool(sides["source"]), bool(sides["output"]))
        for label in named:
            if label not in wording.labels():
                raise invalid("groups", f"There is no label {label!r}.")
            if not lenient and label not in allowed:
                raise invalid("groups", f"{label} does not go with words on these sides (group {at + 1}).")
        checked.append({**sides, "labels": list(dict.fromkeys(named))})
    if not lenient and len(checked) > 1 and any(wording.ERROR in group["labels"] for group in checked):
        raise invalid("groups", "A version that is marked as erroneous has no other marks.")
    return checked


def _positions(positions: object, length: int, at: int) -> list[int]:
    if not isinstance(positions, Sequence) or isinstance(positions, str):
        raise invalid("groups", f"Group {at + 1} must list its words by number.")
    for position in positions:
        if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < length:
            raise invalid("groups", f"Group {at + 1} names the word {position!r}, which the sentence does not have.")
    return list(dict.fromkeys(positions))  # in the order marked, which alignment files keep


def _choice(project: Project, choice: object, candidates: int) -> dict[str, Any]:
    if not isinstance(choice, Mapping):
        raise invalid("choice", "A ranking holds a choice.")
    if choice.get("tie"):
        if not project.ranking.ties:
            raise invalid("choice", "This project asks for a decision in every case.")
        return {"tie": True}
    wanted = ("best",) if project.ranking.method == "pairwise" else ("best", "worst")
    checked = {name: choice.get(name) for name in wanted}
    for name, place in checked.items():
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < candidates:
            raise invalid(name, f"Choose the {name} version first.")
    if len(set(checked.values())) < len(checked):
        raise invalid("worst", "The best and the worst version cannot be the same.")
    return checked


def agrees(project: Project, answer: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Whether an answer to a training item or check is near enough to the expected one."""
    if answer.get("cannot_judge"):
        return bool(expected.get("cannot_judge"))
    if "values" in expected:
        values = answer.get("values", {})
        tolerance = project.quality.tolerance
        return all(
            values.get(name) is not None and abs(values[name] - value) <= tolerance
            for name, value in expected["values"].items()
        )
    if "labels" in expected:
        used = {label for group in answer.get("groups", ()) for label in group["labels"]}
        return set(expected["labels"]) <= used
    if "best" in expected:
        return bool(answer.get("choice", {}).get("best_system") == expected["best"])
    return True


def _continues(character: str, before: str) -> bool:
    """Whether a character goes on with the token that ends just before it."""
    if character in "\u200d\ufe0f" or before == "\u200d" or "\U0001f3fb" <= character <= "\U0001f3ff":
        return True
    marks = ("Mn", "Mc", "Me")
    after_mark = before != "\ufe0f" and unicodedata.category(before) in marks and character.isalnum()
    return after_mark or unicodedata.category(character) in marks


def _on_step(distance: float, step: float) -> bool:
    return abs(distance / step - round(distance / step)) < 1e-9
