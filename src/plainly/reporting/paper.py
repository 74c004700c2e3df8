"""Texts for a paper: the table as LaTeX, Markdown and CSV, the methods paragraph with every signature, and BibTeX."""

import math
import re
from collections.abc import Callable
from functools import partial

import plainly
from plainly.core import tables
from plainly.core.formatting import interval, label, listed, visible
from plainly.core.registry import display_name
from plainly.core.result import Table
from plainly.core.tables import wide
from plainly.metrics.evidence import describe_for_methods
from plainly.reporting.overview import Overview, scope
from plainly.scoring.citations import collect

# Marks that renderers do not escape; texts that are made visible never contain them.
_BEST, _TIED, _END = "\ue000", "\ue001", "\ue002"
_MARKS = {
    "latex": {_BEST: r"\textbf{", _TIED: r"\underline{", _END: "}"},
    "markdown": {_BEST: "**", _TIED: "*", _END: ""},
}


def table(overview: Overview, form: str) -> str:
    """Return the score table as ``latex``, ``markdown`` or ``csv``: the best in bold, ties with it marked."""
    if form == "csv":
        records = wide(overview.evaluation.records())  # as --csv: one row per system
        names = list(dict.fromkeys(name for record in records for name in record))
        return tables.format_csv(names, [[record.get(name) for name in names] for record in records])
    specs, is_latex = overview.specs, form == "latex"
    sides = {"higher": "(higher)", "lower": "(lower)"} if is_latex else {"higher": "↑", "lower": "↓"}
    header = (
        "System",
        *(f"{display_name(spec)} {sides.get(overview.metric(spec).better, '')}".strip() for spec in specs),
    )
    rows = tuple(
        (re.sub("[\ue000-\ue002]", "", label(system)), *(_cell(overview, system, spec, form) for spec in specs))
        for system in overview.systems
    )
    text = tables.RENDERERS[form](Table(header, rows))
    for mark, code in _MARKS[form].items():
        text = text.replace(mark, code)
    note = _note(overview)
    return text + (f"\n% {note}\n% Needs \\usepackage{{booktabs}}." if is_latex else f"\n\n{note}")


def _cell(overview: Overview, system: str, spec: str, form: str) -> str:
    value = overview.value(system, spec)
    if math.isnan(value):
        return "–"
    score, space, brackets = interval(value, *overview.bounds(system, spec)).partition(" ")
    mark = {"best": _BEST, "tied": _TIED}.get(overview.standing(spec, system), "")
    end = mark if form == "markdown" else _END if mark else ""  # Markdown has the same stars on both sides
    return f"{mark}{score}{end}{space}{brackets}"


def _note(overview: Overview) -> str:
    if overview.comparisons is None:
        return f"{scope(overview)}."
    return f"{scope(overview)}. Bold: best; underlined or in italics: no difference from the best may be claimed."


def methods(overview: Overview) -> str:
    """Describe the evaluation in a paragraph for a paper, with the signature of every number."""
    where = f" on {visible(overview.evalset.name)}" if overview.evalset.name else ""
    text = f"We evaluated {scope(overview)}{where}, with plainly {plainly.__version__}. "
    metrics = [describe_for_methods(overview.metric(spec), spec) for spec in overview.specs]
    text += f"Metrics: {listed(metrics, most=20)}. "
    sampling, estimates, comparisons = overview.evaluation.sampling, overview.estimates, overview.comparisons
    if estimates and sampling is not None:
        text += f"Intervals are {estimates[0].level:.0%} ({estimates[0].method}, seed {sampling.seed}). "
    if comparisons is not None:
        further = f", {comparisons.further:,} where these are too few," if comparisons.further else ""
        text += (
            f"Differences between systems were tested by {comparisons.deciding.replace('-', ' ')} "
            f"({comparisons.trials:,} trials{further} over {comparisons.unit}, Riezler and Maxwell 2005) at the "
            f"{1 - comparisons.sampling.level:.0%} level, "
            "with Holm's correction for all pairs within a metric (Holm 1979). "
        )
    if overview.operations is not None:
        text += f"Operations were labelled automatically (labeller: {overview.operations.labeller}). "
    signatures = [str(next(iter(overview.evaluation.values()))[spec].signature) for spec in overview.specs]
    return text + "Signatures: " + "; ".join(signatures) + "."


def bibtex(overview: Overview) -> str:
    """Return entries for plainly, the data, the metrics, their models and the statistics."""
    return collect(
        metrics=[overview.metric(spec) for spec in overview.specs],
        sets=[overview.evalset.name],
        systems=overview.systems,
        has_intervals=bool(overview.estimates),
        has_tests=overview.comparisons is not None,
    ).bibtex


# Texts to paste: title on the page, file among the figures, and the function that writes it.
EXPORTS: tuple[tuple[str, str, Callable[[Overview], str]], ...] = (
    ("Methods paragraph", "methods.txt", methods),
    ("Table in LaTeX (booktabs)", "scores.tex", partial(table, form="latex")),
    ("Table in Markdown", "scores.md", partial(table, form="markdown")),
    ("Table in CSV", "scores.csv", partial(table, form="csv")),
    ("BibTeX", "references.bib", bibtex),
)
