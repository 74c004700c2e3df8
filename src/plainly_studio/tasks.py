"""The three tasks: how texts are split into tokens, which labels there are, and what an answer may contain.

Answers are checked on the way in, so that nothing has to be repaired on the way out.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeGuard

from plainly.core.files import read_shipped
from plainly.text.words import token_spans
from plainly.typology import vocabulary
from plainly_studio.project import Project
from plainly_studio.store import InvalidField

LONGEST_COMMENT = 4000
ERROR = "err"


def tokens(text: str, method: str) -> list[str]:
    """Return the tokens of a text; joined with what stands between them they are the text again."""
    return [text[start:end] for start, end in token_spans(text, method)]


@cache
def labels() -> dict[str, dict[str, Any]]:
    """Return all labels by name, in the typology's order, as the page's script gets them."""
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
def labels_for(source: bool, output: bool) -> frozenset[str]:
    """Return the labels for a group with words in the source, in the output or in both."""
    side = "both" if source and output else "source" if source else "output"
    return frozenset(name for name, label in labels().items() if side in label["sides"])


def check(project: Project, payload: object, item: Mapping[str, Any], candidates: int) -> dict[str, Any]:
    """Return an answer in the form in which it is stored, or refuse it with the name of the field."""
    if not isinstance(payload, Mapping):
        raise InvalidField("payload", "The answer must be an object.")
    if unknown := [key for key in payload if key not in ("cannot_judge", "comment", "values", "groups", "choice")]:
        raise InvalidField(str(unknown[0]), f"Unknown field {unknown[0]!r}.")
    comment = payload.get("comment") or ""
    if not isinstance(comment, str) or len(comment) > LONGEST_COMMENT:
        raise InvalidField("comment", f"A comment is text of at most {LONGEST_COMMENT} characters.")
    answer: dict[str, Any] = {"comment": comment} if comment else {}
    if payload.get("cannot_judge"):
        if not project.cannot_judge:
            raise InvalidField("cannot_judge", "This project asks for a judgement of every item.")
        return {**answer, "cannot_judge": True}
    if project.task == "rating":
        return {**answer, "values": _check_values(project, payload.get("values"))}
    if project.task == "ranking":
        return {**answer, "choice": _check_choice(project, payload.get("choice"), candidates)}
    lengths = {side: len(token_spans(item[side], item["tokens"])) for side in ("source", "output")}
    return {**answer, "groups": check_groups(payload.get("groups"), lengths)}


def _check_values(project: Project, values: object) -> dict[str, float | None]:
    if not isinstance(values, Mapping):
        raise InvalidField("values", "A rating has a value for each scale.")
    if unknown := [name for name in values if name not in {scale.name for scale in project.scales}]:
        raise InvalidField(str(unknown[0]), f"There is no scale {unknown[0]!r}.")
    for scale in project.scales:
        value = values.get(scale.name)
        if value is None and scale.name in values and project.cannot_judge:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InvalidField(scale.name, f"{scale.question} has no answer yet.")
        is_inside = scale.minimum <= value <= scale.maximum
        if not is_inside or abs(math.remainder(value - scale.minimum, scale.step)) >= 1e-9 * scale.step:
            raise InvalidField(scale.name, f"{value} is not on the scale from {scale.minimum:g} to {scale.maximum:g}.")
    return {scale.name: values[scale.name] for scale in project.scales}


def check_groups(marks: object, lengths: Mapping[str, int], *, lenient: bool = False) -> list[dict[str, Any]]:
    """Return groups of tokens with their labels. ``lenient`` admits published data that breaks its own guide."""
    if not _is_list(marks):
        raise InvalidField("groups", "Operations are a list of groups.")
    groups: list[dict[str, Any]] = []
    for number, group in enumerate(marks, 1):
        if not isinstance(group, Mapping) or set(group) - {"source", "output", "labels"}:
            raise InvalidField("groups", f"Group {number} must have source, output and labels.")
        sides = {side: _check_positions(group.get(side, ()), lengths[side], number) for side in ("source", "output")}
        names = group.get("labels")
        if not _is_list(names) or not names:
            raise InvalidField("groups", f"Group {number} has no label.")
        if not (sides["source"] or sides["output"]):
            raise InvalidField("groups", f"Group {number} has no words.")
        for label in names:
            if label not in labels():
                raise InvalidField("groups", f"There is no label {label!r}.")
            if not lenient and label not in labels_for(bool(sides["source"]), bool(sides["output"])):
                raise InvalidField("groups", f"{label} does not go with words on these sides (group {number}).")
        groups.append({**sides, "labels": list(dict.fromkeys(names))})
    if not lenient and len(groups) > 1 and any(ERROR in group["labels"] for group in groups):
        raise InvalidField("groups", "A version that is marked as erroneous has no other marks.")
    return groups


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_index(value: object, length: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < length


def _check_positions(positions: object, length: int, number: int) -> list[int]:
    if not _is_list(positions):
        raise InvalidField("groups", f"Group {number} must list its words by number.")
    for position in positions:
        if not _is_index(position, length):
            raise InvalidField("groups", f"Group {number} has the word {position!r}, but the sentence does not.")
    return list(dict.fromkeys(positions))  # in the order marked, which alignment files keep


def _check_choice(project: Project, choice: object, candidates: int) -> dict[str, Any]:
    if not isinstance(choice, Mapping):
        raise InvalidField("choice", "A ranking has a choice.")
    if choice.get("tie"):
        if not project.ranking.ties:
            raise InvalidField("choice", "This project asks for a decision in every case.")
        return {"tie": True}
    ends = ("best",) if project.ranking.method == "pairwise" else ("best", "worst")
    for end in ends:
        if not _is_index(choice.get(end), candidates):
            raise InvalidField(end, f"Choose the {end} version first.")
    if len({choice[end] for end in ends}) < len(ends):
        raise InvalidField("worst", "The best and the worst version cannot be the same.")
    return {end: choice[end] for end in ends}


def is_as_expected(project: Project, answer: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Return whether an answer to a training item or check is close enough to the expected one."""
    if answer.get("cannot_judge"):
        return bool(expected.get("cannot_judge"))
    if "values" in expected:
        values = answer.get("values", {})
        return all(
            values.get(name) is not None and abs(values[name] - value) <= project.quality.tolerance
            for name, value in expected["values"].items()
        )
    if "labels" in expected:
        return set(expected["labels"]) <= {label for group in answer.get("groups", ()) for label in group["labels"]}
    if "best" in expected:
        return bool(answer.get("choice", {}).get("best_system") == expected["best"])
    return True
