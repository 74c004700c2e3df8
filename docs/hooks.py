"""What the documentation site does beyond Markdown: the page of all metrics, and a list of pages by task."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

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
        "Find faults in texts": "doctor.md",
        "Plan a human evaluation": "plan.md",
        "Run a human evaluation": "studio.md",
        "Train a metric": "train.md",
        "Use it at scale": "scale.md",
        "Reproduce the papers": "reproduce.md",
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
}


def on_files(files: Files, config: Any) -> Files:
    """Add the page that is written from the registry, and set the navigation to the pages that there are."""
    from plainly.pages.reference import markdown

    files.append(File.generated(config, "metrics-reference.md", content=markdown()))
    there = {file.src_uri for file in files.documentation_pages()}
    listed = {page for pages in NAVIGATION.values() for page in pages.values()}
    navigation: list[dict[str, Any]] = []
    for title, pages in NAVIGATION.items():
        found = [{name: page} for name, page in pages.items() if page in there]
        if found:
            navigation.append({title: found})
    rest = sorted(there - listed)
    if rest:
        navigation.append({"More": rest})
    config["nav"] = navigation
    return files
