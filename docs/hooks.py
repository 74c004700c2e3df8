"""What the documentation site does beyond Markdown: the page of all metrics, and a list of pages by task."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Iterator
from typing import Any

from mkdocs.structure.files import File, Files

from plainly.core import registry
from plainly.core.errors import PlainlyError
from plainly.metrics.evidence import evidence

# Pages by task, in the order in which people need them. What is not there is left out; what is not listed comes last.
NAVIGATION = {
    "Start": {"plainly": "index.md"},
    "By task": {
        "Score my system": "score.md",
        "Bring my files in": "inputs.md",
        "Compare systems": "compare.md",
        "Make a report": "report.md",
        "Choose a metric": "choose-a-metric.md",
        "Check a metric": "audit.md",
        "Does a metric agree with people?": "meta.md",
        "What do systems do?": "operations.md",
        "Use a language model as judge": "jury.md",
        "Evaluate documents": "documents.md",
        "Write for a level": "levels.md",
        "Find faults in texts": "doctor.md",
        "Check the facts": "facts.md",
        "Is this text plain?": "check.md",
        "Bring rules about wording": "rule-packs.md",
        "Rules and how often they fire": "rules.md",
        "Stop a bad text": "gate.md",
        "Use it in other tools": "integrations.md",
        "Plan a human evaluation": "plan.md",
        "Run a human evaluation": "studio.md",
        "Which system do people find better?": "results.md",
        "Train a metric": "train.md",
        "Use it at scale": "scale.md",
        "Reproduce the papers": "reproduce.md",
        "See the state of the field": "field.md",
        "Use public data, add a set": "data.md",
        "Add a metric": "add-a-metric.md",
    },
    "Metrics": {
        "All metrics": "metrics-reference.md",
        "SARI": "metrics-sari.md",
        "BLEU and its kin": "metrics-bleu.md",
        "Readability": "metrics-readability.md",
        "Edits and form": "metrics-edits.md",
        "Learned metrics": "learned-metrics.md",
    },
    "Languages": {
        "Other languages": "languages.md",
        "German": "language-de.md",
        "French": "language-fr.md",
        "Spanish": "language-es.md",
        "Italian": "language-it.md",
        "Portuguese": "language-pt.md",
        "Dutch": "language-nl.md",
    },
}


def on_files(files: Files, config: Any) -> Files:
    """Add the page that is written from the registry, and set the navigation to the pages that there are."""
    files.append(File.generated(config, "metrics-reference.md", content=metrics_reference()))
    there = {file.src_uri for file in files.documentation_pages()}
    listed = {page for pages in NAVIGATION.values() for page in pages.values()}
    navigation: list[dict[str, Any]] = []
    for title, pages in NAVIGATION.items():
        entries = [{name: page} for name, page in pages.items() if page in there]
        if entries:
            navigation.append({title: entries})
    rest = sorted(there - listed)
    if rest:
        navigation.append({"More": rest})
    config["nav"] = navigation
    return files


def metrics_reference() -> str:
    """All metrics, written from the registry: what each is, takes and gives, and what is known about it; Markdown."""
    parts = [
        "# All metrics",
        "",
        "Written from the registry of this version. The first output is the headline; parameters stand with their "
        "defaults: `sari(variant=easse)`.",
        "",
        "| metric | needs | better | what it measures |",
        "|---|---|---|---|",
    ]
    classes = dict(_classes())
    for name, cls in classes.items():
        needs = " and ".join({"source": "sources"}.get(need, need) for need in sorted(cls.needs)) or "outputs only"
        parts.append(f"| [`{name}`](#{name}) | {needs} | {cls.better} | {_cell(evidence(cls).measures)} |")
    for name, cls in classes.items():
        parts += ["", *_section(name, cls)]
    return "\n".join(parts) + "\n"


def _classes() -> Iterator[tuple[str, type[Any]]]:
    for name in registry.METRICS:
        try:
            yield name, registry.metric_class(name)
        except (PlainlyError, ImportError):  # an extra that is not installed where the page is built
            continue


def _section(name: str, cls: type[Any]) -> Iterator[str]:
    facts = evidence(cls)
    description = re.sub(r"``([^`]+)``", r"`\1`", inspect.cleandoc(cls.__doc__ or ""))
    yield from (f"## {name} {{#{name}}}", "", description, "")
    yield from (f"**Measures.** {facts.measures}", "", f"**Does not see.** {facts.blind}", "")
    if facts.papers:
        cited = (f"[{paper.short}]({paper.url})" if paper.url else paper.short for paper in facts.papers)
        yield from (f"**Papers.** {', '.join(cited)}.", "")
    parameters = [parameter for parameter in dataclasses.fields(cls) if parameter.init]
    if parameters:
        hints = typing.get_type_hints(cls)
        yield from ("| parameter | default | may be |", "|---|---|---|")
        for parameter in parameters:
            default = parameter.default
            text = str(default).lower() if isinstance(default, bool) else str(default) or '""'
            yield f"| `{parameter.name}` | `{text}` | {_cell(_may_be(hints[parameter.name]))} |"
        yield ""
    yield f"**Outputs.** {', '.join(f'`{output}`' for output in cls.outputs)}."
    if facts.page:
        yield from ("", f"More: [{facts.page}]({facts.page}.md).")


def _may_be(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return ", ".join(f"`{value}`" for value in typing.get_args(hint))
    if isinstance(hint, type):
        kinds = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "text"}
        return kinds.get(hint.__name__, hint.__name__)
    return " or ".join(_may_be(inner) for inner in typing.get_args(hint)) or str(hint)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
