"""The page of all metrics, written from the registry: what each is, takes and gives, and what is known about it."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Iterator
from typing import Any

from plainly import registry
from plainly.errors import PlainlyError
from plainly.pages import evidence

_NEEDS = {"source": "sources", "references": "references"}


def markdown() -> str:
    """The page, in Markdown."""
    parts = [
        "# All metrics",
        "",
        "Written from the registry of this version. The first output is the headline; parameters stand with their "
        "defaults: `sari(variant=easse)`.",
        "",
        "| metric | needs | better | what it measures |",
        "|---|---|---|---|",
    ]
    found = dict(_classes())
    for name, cls in found.items():
        needs = " and ".join(_NEEDS[each] for each in sorted(cls.needs)) or "outputs only"
        parts.append(f"| [`{name}`](#{name}) | {needs} | {cls.better} | {_cell(evidence.of_class(cls).measures)} |")
    for name, cls in found.items():
        parts += ["", *_section(name, cls)]
    return "\n".join(parts) + "\n"


def _classes() -> Iterator[tuple[str, type[Any]]]:
    for name in registry.METRICS:
        try:
            yield name, registry.metric_class(name)
        except (PlainlyError, ImportError):  # an extra that is not installed where the page is built
            continue


def _section(name: str, cls: type[Any]) -> Iterator[str]:
    known = evidence.of_class(cls)
    yield f"## {name} {{#{name}}}"
    yield ""
    yield _prose(inspect.cleandoc(cls.__doc__ or ""))
    yield ""
    yield f"**Measures.** {known.measures}"
    yield ""
    yield f"**Does not see.** {known.blind}"
    yield ""
    if known.papers:
        shown = (f"[{paper.short}]({paper.url})" if paper.url else paper.short for paper in known.papers)
        yield f"**Papers.** {', '.join(shown)}."
        yield ""
    fields = [field for field in dataclasses.fields(cls) if field.init]
    if fields:
        hints = typing.get_type_hints(cls)
        yield "| parameter | default | may be |"
        yield "|---|---|---|"
        for field in fields:
            default = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
            yield f"| `{field.name}` | `{default or chr(34) * 2}` | {_cell(_may_be(hints[field.name]))} |"
        yield ""
    yield f"**Outputs.** {', '.join(f'`{output}`' for output in cls.outputs)}."


def _may_be(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return ", ".join(f"`{value}`" for value in typing.get_args(hint))
    if isinstance(hint, type):
        return {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "text"}.get(
            hint.__name__, hint.__name__
        )
    return " or ".join(_may_be(inner) for inner in typing.get_args(hint)) or str(hint)


def _prose(text: str) -> str:
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
